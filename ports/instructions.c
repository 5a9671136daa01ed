/* instructions.c -- make a few reports between two marks.
 *
 * bench/ports.sh runs this one instruction at a time and counts those between
 * the marks. The number of random bytes a report takes varies, hence several
 * reports with different entropy. */
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
    prepare_study(WAVES, REPORTS, TREMOLO_RESPONSE_PUBLIC, NULL);
    status = call_enrol();
    for (i = 0; i < REPORTS; i++) {
        entropy[0] = (uint8_t)(i + 1);
        mark_begin();
        status |= call_report(i);
        mark_end();
    }
    printf("reports=%d status=%d\n", REPORTS, status);
    return status;
}
