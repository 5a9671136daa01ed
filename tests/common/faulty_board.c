/* faulty_board.c -- a board for examples/main_loop.c on which everything fails in turn.
 *
 * A bad day, replayed for each moment at which the power may go: the generator is not ready, the
 * flash refuses, the radio is silent, and the device restarts at step K. However
 * it goes, every report that was on the air has the same bytes, the ledger was charged once, and
 * pauses grow, though they begin again with a restart. Afterwards a ledger that stays damaged ends the loop at once. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include "fake_entropy.h"
#include "tremolo_the_study.h"

int board_random(uint8_t *bytes, size_t length);
int board_flash_read(unsigned slot, uint8_t *bytes, size_t length);
int board_flash_write(unsigned slot, const uint8_t *bytes, size_t length);
int board_send(const uint8_t *bytes, size_t length);
int board_is_in_factory(void);
int board_measure(int32_t *features, int32_t *response);
uint32_t board_random_below(uint32_t limit);
void board_sleep(uint32_t seconds);
enum tremolo_status firmware_main_loop(void);

enum { LOSSES = 3, STEPS = 40 };

static struct fake_entropy entropy;
static struct tremolo_slot flash[2];
static uint8_t on_air[TREMOLO_MAX_REPORT_BYTES];
static size_t on_air_length;
static jmp_buf power;
static int in_factory, steps_left, refusals, losses, sleeps, sent, differing, measured;
static uint32_t longest;

/* The power goes when the steps are used up. */
static void step(void)
{
    if (steps_left-- == 0) {
        longjmp(power, 1);
    }
}

int board_random(uint8_t *bytes, size_t length)
{
    step();
    return !in_factory && refusals++ == 0 ? 1 : fake_entropy_fill(&entropy, bytes, length);
}

int board_flash_read(unsigned slot, uint8_t *bytes, size_t length)
{
    memcpy(bytes, &flash[slot], length);
    return 0;
}

/* A write that is cut short leaves half of it behind. */
int board_flash_write(unsigned slot, const uint8_t *bytes, size_t length)
{
    memcpy(&flash[slot], bytes, length / 2);
    step();
    if (!in_factory && refusals++ == 1) {
        return 1;
    }
    memcpy(&flash[slot], bytes, length);
    step();
    return 0;
}

int board_send(const uint8_t *bytes, size_t length)
{
    if (sent++ > 0) {
        differing |= length != on_air_length || memcmp(bytes, on_air, length) != 0;
    }
    memcpy(on_air, bytes, length);
    on_air_length = length;
    step();
    return losses-- > 0;
}

int board_is_in_factory(void)
{
    return in_factory;
}

int board_measure(int32_t *features, int32_t *response)
{
    for (int i = 0; i < tremolo_the_study.dimension; i++) {
        features[i] = 1000 * ++measured; /* another sample after every restart */
    }
    *response = -measured;
    return measured == tremolo_the_study.dimension; /* the first one comes late */
}

uint32_t board_random_below(uint32_t limit)
{
    return limit - 1;
}

void board_sleep(uint32_t seconds)
{
    sleeps++;
    longest = seconds > longest ? seconds : longest;
    step();
}

static enum tremolo_status live(int until)
{
    steps_left = until;
    if (setjmp(power) != 0) {
        steps_left = 1 << 20;
    }
    return firmware_main_loop();
}

static int day(int until)
{
    memset(flash, 0, sizeof flash);
    entropy.state = 1;
    refusals = sleeps = sent = differing = measured = 0;
    losses = LOSSES;
    longest = 0;
    in_factory = 1;
    if (live(1 << 20) != TREMOLO_OK) {
        return 1;
    }
    in_factory = 0;
    return live(until) != TREMOLO_OK || differing || sent < LOSSES + 1 || sleeps < LOSSES ||
           longest < 120 || flash[0].spent != flash[1].spent ||
           flash[0].spent != tremolo_study_charge(&tremolo_the_study);
}

int main(void)
{
    int failures = 0;
    for (int until = 0; until < STEPS; until++) {
        int wrong = day(until);
        failures += wrong;
        if (wrong) {
            printf("cut at %d: sent %d, differing %d, sleeps %d, longest %lu\n", until, sent,
                   differing, sleeps, (unsigned long)longest);
        }
    }
    for (int slot = 0; slot < 2; slot++) {
        flash[slot].spent ^= 1;
    }
    sent = 0;
    enum tremolo_status status = live(1 << 20);
    printf("%d days, %d wrong; a damaged ledger: status %d, sent %d\n", STEPS, failures,
           (int)status, sent);
    return failures;
}
