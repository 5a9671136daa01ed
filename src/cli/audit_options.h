/* audit_options.h -- what the command line of `tremolo audit` says, for tremolo-audit. */
#ifndef TREMOLO_CLI_AUDIT_OPTIONS_H
#define TREMOLO_CLI_AUDIT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum audit_releases { AUDIT_BOTH, AUDIT_SAMPLE, AUDIT_BALLOT };

struct audit_options {
    const char *study; /* NULL: the built-in ones, made for the claim */
    double epsilon;    /* NaN: not given, as is the next */
    double delta;
    double false_alarm;
    bool under_noised;
    bool timing;
    enum audit_releases release;
    uint64_t pairs;
    uint64_t seed;
    bool json;
};

#endif
