/* audit.h -- what the files of `tremolo audit` share. */
#ifndef TREMOLO_CLI_AUDIT_H
#define TREMOLO_CLI_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "tremolo_device.h"
#include "tremolo_status.h"

enum {
    AUDIT_DIMENSION_MAX = 32,
    AUDIT_TESTS = 2,       /* thresholds tried on every report */
    AUDIT_RESIDUES = 16,   /* of the wire values, for the porosity test */
    AUDIT_VALUES = 1 << 12 /* wire values, 12 bits */
};

/* What is audited: a study, two neighbouring samples as far apart as the
 * study allows, and how to read a report. */
struct audit_plan {
    struct tremolo_study study;
    struct tremolo_bounds bounds[AUDIT_DIMENSION_MAX];
    int32_t sample[2][AUDIT_DIMENSION_MAX]; /* the two people's features */
    int16_t vectors[AUDIT_DIMENSION_MAX];   /* one, orthogonal to their difference */
    double centre[AUDIT_DIMENSION_MAX];     /* of person 0 in wire units; person 1 is -centre */
    double direction[AUDIT_DIMENSION_MAX];  /* unit vector from person 1 to person 0 */
    double noise_sd;                        /* in wire units, rounding included */
    double threshold[AUDIT_TESTS];          /* say "person 0" above it; fixed beforehand */
    uint64_t pairs;
    uint64_t seed;
    bool seeded; /* else entropy comes from the operating system */
};

/* What came out of the devices. */
struct audit_counts {
    uint64_t above[AUDIT_TESTS][2];                           /* by person */
    uint64_t residue[2][AUDIT_DIMENSION_MAX][AUDIT_RESIDUES]; /* of wire values */
    uint32_t seen[2][AUDIT_DIMENSION_MAX][AUDIT_VALUES];      /* wire value + 2^11 */
    double square_error;                                      /* sum |x^ - x|^2, wire units */
};

/* Build a study whose claim is mu (any two people), with unit noise of 2^20
 * fine units. clip_factor 1 is the honest study; more makes its samples
 * larger than claimed, which is the same as too little noise. */
enum tremolo_status audit_plan_make(struct audit_plan *plan, unsigned dimension, double mu,
                                    double clip_factor, bool modulated);

/* Run 2 * pairs enrolled devices through the real core and count. */
enum tremolo_status audit_run(struct audit_counts *counts, const struct audit_plan *plan,
                              void (*progress)(uint64_t done, uint64_t all));

/* P(chi-squared with `degrees`, even, exceeds x). */
double audit_chi_squared_tail(double x, unsigned degrees);

#endif
