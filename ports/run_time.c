/* run_time.c -- make reports of very different samples between two marks.
 *
 * Each is made by a fresh device with the same randomness, so that nothing but the
 * sample differs. tools/test-ports counts the instructions between the marks under
 * QEMU. With TRACE a core compiled with -fsanitize-coverage=trace-pc tells of every
 * basic block it enters, and a line for each report has their number and a hash of
 * their places in order. SAMPLES noisy samples with a public response come first,
 * then as many with a private one, then fewer ballots of both: they take longer. */
#include <stdio.h>

#include "largest_study.h"

enum { SAMPLES = 8, BALLOTS = 3, WAVES = 2 };

#ifdef TRACE
static unsigned long blocks;
static unsigned long long path;

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
    blocks++;
    path = (path ^ (unsigned long long)(size_t)__builtin_return_address(0)) * 1099511628211u;
}
#endif

__attribute__((noinline)) void mark_begin(void)
{
    __asm__ volatile("");
#ifdef TRACE
    blocks = 0;
    path = 0;
#endif
}

__attribute__((noinline)) void mark_end(void)
{
    __asm__ volatile("");
#ifdef TRACE
    printf("path %lu %llx\n", blocks, path);
#endif
}

/* Bounds are 0..100. The middle, corners within and beyond the clip and the bounds,
 * and a few between them. */
static int32_t value_of(unsigned sample, unsigned feature)
{
    static const int32_t same[] = {50, 100, 0, INT32_MAX, INT32_MIN};
    return sample < 5 ? same[sample] : (int32_t)((sample * 977 + feature * 3331) % 211) - 55;
}

static int report_of(int ballot, int private_response, unsigned number)
{
    unsigned i;
    int status;
    study.release = TREMOLO_RELEASE_SAMPLE;
    if (ballot) {
        prepare_ballot(LARGEST_D, 1, private_response, entropy);
    } else {
        prepare_study(WAVES, 1, private_response, entropy);
    }
    for (i = 0; i < LARGEST_D; i++) {
        features[i] = value_of(number, i);
    }
    response = value_of(SAMPLES - 1 - number, LARGEST_D);
    status = call_enrol();
    mark_begin();
    status |= call_report(0);
    mark_end();
    return status;
}

int main(void)
{
    int status = 0;
    unsigned kind;
    unsigned number;
    for (kind = 0; kind < 4; kind++) {
        for (number = 0; number < (unsigned)(kind < 2 ? SAMPLES : BALLOTS); number++) {
            status |= report_of(kind >= 2, (int)(kind & 1), number);
        }
    }
    printf("status=%d\n", status);
    return status;
}
