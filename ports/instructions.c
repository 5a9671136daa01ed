/* instructions.c -- make a few reports between two marks.
 *
 * bench/ports.sh runs this one instruction at a time and counts those between
 * the marks. The number of random bytes a noisy sample takes varies, so
 * several reports with different entropy. With BALLOT, the number of features,
 * they are ballots of different samples. */
#include <stdio.h>

#include "largest_study.h"

#ifndef WAVES
#define WAVES 1
#endif
enum { REPORTS = 8 };

__attribute__((noinline)) void mark_begin(void)
{
    __asm__ volatile("");
}

__attribute__((noinline)) void mark_end(void)
{
    __asm__ volatile("");
}

int main(void)
{
    int status;
    unsigned i;
#ifdef BALLOT
    prepare_ballot(BALLOT, REPORTS, TREMOLO_RESPONSE_PRIVATE, NULL);
#else
    prepare_study(WAVES, REPORTS, TREMOLO_RESPONSE_PUBLIC, NULL);
#endif
    status = call_enrol();
    for (i = 0; i < REPORTS; i++) {
        unsigned number = i;
#ifdef BALLOT
        /* A fresh device with the same randomness for other samples: the same number of
         * instructions. */
        unsigned j;
        number = 0;
        prepare_ballot(BALLOT, REPORTS, TREMOLO_RESPONSE_PRIVATE, NULL);
        status |= call_enrol();
        for (j = 0; j < LARGEST_D; j++) {
            features[j] = (int32_t)((i * 977 + j * 3331 + i * i * 71) % 9001) - 4500;
        }
#else
        entropy[0] = (uint8_t)(i + 1);
#endif
        mark_begin();
        status |= call_report(number);
        mark_end();
    }
    printf("reports=%d status=%d\n", REPORTS, status);
    return status;
}
