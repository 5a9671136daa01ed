/* main_loop.c -- the loop around firmware.c: measure, report, try again, stop.
 *
 * The report is made once and sent until the other side has it, across resets and power
 * cuts: firmware_report() gives the same bytes at no cost, whatever was measured since. What each
 * status asks for is the table of docs/how-to/microcontroller.md. */
#include "tremolo_the_study.h"

/* firmware.c */
enum tremolo_status firmware_enrol(void);
enum tremolo_status firmware_report(const int32_t *features, int32_t response);

/* The board's own. */
int board_is_in_factory(void);                           /* a strap, a fuse, a test jig */
int board_measure(int32_t *features, int32_t *response); /* 0 when there is a sample */
uint32_t board_random_below(uint32_t limit);             /* for the pauses; need not be secret */
void board_sleep(uint32_t seconds);

/* What the board's reset handler calls; the status it ended with. */
enum tremolo_status firmware_main_loop(void);

enum { PAUSE_FIRST_S = 60, PAUSE_MAX_S = 6 * 3600 };

/* Can the same call succeed later? */
static int is_passing(enum tremolo_status status)
{
    switch (status) {
    case TREMOLO_NETWORK_FAILED: /* no answer came: the same bytes, later */
    case TREMOLO_STORAGE_FAILED: /* the flash did not take it: stored or not, never twice */
    case TREMOLO_NO_ENTROPY: /* the generator is not ready: nothing was charged */ return 1;
    default: return 0; /* done, spent, or a ledger that must not be mended */
    }
}

/* Half to all of a pause, so that a fleet that lost its gateway does not return at once. */
static void pause_for(uint32_t seconds)
{
    board_sleep(seconds / 2 + board_random_below(seconds / 2 + 1));
}

enum tremolo_status firmware_main_loop(void)
{
    int32_t features[TREMOLO_MAX_DIMENSION];
    int32_t response;
    uint32_t pause = PAUSE_FIRST_S;
    enum tremolo_status status;
    if (board_is_in_factory()) {
        return firmware_enrol();
    }
    while (board_measure(features, &response) != 0) {
        pause_for(PAUSE_FIRST_S);
    }
    while (is_passing(status = firmware_report(features, response))) {
        pause_for(pause);
        pause = pause > PAUSE_MAX_S / 2 ? PAUSE_MAX_S : 2 * pause;
    }
    return status;
}
