/* audit_options.h -- what the command line of `tremolo audit` says, for tremolo-audit.
 *
 * Both programs parse by one table (audit.c). `tremolo audit` does it only to refuse a wrong
 * command line, and hands on the words as typed; tremolo-audit fills the struct and uses it. */
#ifndef TREMOLO_CLI_AUDIT_OPTIONS_H
#define TREMOLO_CLI_AUDIT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* Of the built-in studies; in the order of the words of --release. */
enum audit_releases { AUDIT_BOTH, AUDIT_SAMPLE, AUDIT_BALLOT };

struct audit_options {
    const char *study; /* NULL: the built-in ones, made for the claim */
    double epsilon;    /* NaN: not given, as is the next */
    double delta;
    /* Probability that a sound build fails, of all checks together. */
    double false_alarm;
    /* Audit a mechanism that is wrong on purpose, which must be caught. */
    bool under_noised;
    /* Compare running times, too. */
    bool timing;
    enum audit_releases release;
    /* Of devices, shared by all pairs of people. */
    uint64_t pairs;
    /* 0 also when it was not given: options_has() says which. */
    uint64_t seed;
    bool json;
};

#endif
