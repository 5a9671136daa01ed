/* stack.c -- how deep does the core's stack go, and how much RAM does it need?
 *
 * The stack below the caller is painted, the core is called with the largest
 * study the build allows, and the paint that is gone is counted. The test's
 * callbacks replace the embedder's: they copy bytes and need little. */
#include <stdio.h>

#include "largest_study.h"

#ifdef TREMOLO_WITHOUT_MAC
#define MAC_KEY NULL
#else
#define MAC_KEY entropy
#endif

enum { PAINT = 0xa5, DEPTH = 1024, OWN_FRAME = 64 };

static int enrol(void)
{
    return call_enrol();
}

static int make_report(void)
{
    return call_report(0);
}

/* Bytes of stack that `call` used, through a volatile pointer so that the
 * compiler cannot merge the frames. */
__attribute__((noinline)) static size_t stack_of(int (*volatile call)(void), int *status)
{
    volatile uint8_t *here = (volatile uint8_t *)__builtin_frame_address(0);
    volatile uint8_t *low = here - DEPTH;
    volatile uint8_t *at;
    for (at = low; at < here - OWN_FRAME; at++) {
        *at = PAINT;
    }
    *status = call();
    for (at = low; at < here && *at == PAINT; at++) {
    }
    return (size_t)(here - at);
}

int main(void)
{
    int enrolled;
    int reported;
    size_t reporting;
    size_t most;
    prepare_ballot(LARGEST_D, 1, TREMOLO_RESPONSE_PRIVATE, MAC_KEY);
    most = stack_of(enrol, &enrolled);
    reporting = stack_of(make_report, &reported);
    most = reporting > most ? reporting : most;
#ifndef TREMOLO_WITHOUT_SAMPLE
    study.release = TREMOLO_RELEASE_SAMPLE;
    prepare_study(LARGEST_D, 1, TREMOLO_RESPONSE_PRIVATE, MAC_KEY);
    enrolled |= call_enrol() | reported;
    reporting = stack_of(make_report, &reported);
    most = reporting > most ? reporting : most;
#endif
    printf("stack=%u work=%u report=%u slot=%u status=%d\n", (unsigned)most, (unsigned)sizeof work,
           (unsigned)sizeof report, (unsigned)sizeof(struct tremolo_slot), enrolled | reported);
    return enrolled | reported;
}
