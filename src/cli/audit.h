/* audit.h -- what the files of `tremolo audit` share. */
#ifndef TREMOLO_CLI_AUDIT_H
#define TREMOLO_CLI_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "tremolo_device.h"
#include "tremolo_status.h"

enum {
    AUDIT_DIMENSION_MAX = 32, /* of the built-in study */
    AUDIT_COORDINATES_MAX = TREMOLO_MAX_DIMENSION + 1,
    AUDIT_TESTS = 2,       /* thresholds tried on every device */
    AUDIT_RESIDUES = 16,   /* of the wire values, for the porosity test */
    AUDIT_VALUES = 1 << 12 /* wire values nearest to 0 that are counted one by one */
};

/* What is said to hold for all releases of a device together. */
struct audit_claim {
    double epsilon;
    double delta;
    double mu;       /* rounded so that it claims no less than is meant */
    double mu_most;  /* rounded the other way */
    double distance; /* between neighbours, scaled; 0: any two people */
    char study[64];  /* the id of the study file; "" without one */
};

/* What is audited: a study, two neighbouring samples as far apart as the
 * study allows, and how to read a report. */
struct audit_plan {
    struct tremolo_study study;
    struct tremolo_bounds bounds[TREMOLO_MAX_DIMENSION];
    int32_t value[2]; /* of every coordinate: the two people's */
    int16_t vectors[TREMOLO_MAX_VECTORS * TREMOLO_MAX_DIMENSION]; /* the same in all rounds */
    unsigned coordinates;                                         /* that are released */
    double centre;                 /* of person 0's in wire units; person 1 is at -centre */
    double noise_sd;               /* in wire units, rounding included */
    double threshold[AUDIT_TESTS]; /* say "person 0" above it; fixed beforehand */
    uint64_t pairs;
    uint64_t seed;
    bool seeded; /* else entropy comes from the operating system */
};

/* What came out of the devices. */
struct audit_counts {
    uint64_t above[AUDIT_TESTS][2];                             /* by person */
    uint64_t residue[2][AUDIT_COORDINATES_MAX][AUDIT_RESIDUES]; /* of wire values */
    uint32_t seen[2][AUDIT_COORDINATES_MAX][AUDIT_VALUES];      /* wire value + 2^11 */
    double square_error; /* sum |x^ - (1-alpha) x|^2, wire units */
};

/* Build a study whose claim is mu (any two people), with unit noise of 2^20
 * fine units. clip_factor 1 is the honest study; more makes its samples
 * larger than claimed, which is the same as too little noise. */
enum tremolo_status audit_plan_make(struct audit_plan *plan, unsigned dimension, double mu,
                                    double clip_factor, bool modulated);

/* The same for the mechanism of a study file. The claim is what the file promises
 * over all releases at `delta`, or at its own delta when that is 0. CLI_DONE, or
 * the exit code after a message. */
int audit_study_read(struct audit_plan *plan, struct audit_claim *claim, const char *path,
                     double delta, double clip_factor);

/* What both ways of making a plan share: from plan->study, its bounds and the distance
 * of the two people from the middle, in fine units, to everything but thresholds. */
enum tremolo_status audit_plan_finish(struct audit_plan *plan, double half_distance);

/* How many reports a device makes. */
uint64_t audit_releases(const struct audit_plan *plan);

/* Run 2 * pairs enrolled devices through the real core and count. */
enum tremolo_status audit_run(struct audit_counts *counts, const struct audit_plan *plan,
                              void (*progress)(uint64_t done, uint64_t all));

/* P(chi-squared with `degrees`, even, exceeds x). */
double audit_chi_squared_tail(double x, unsigned degrees);

#endif
