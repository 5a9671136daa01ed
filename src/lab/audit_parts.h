/* audit_parts.h -- what the files of the audit share. */
#ifndef TREMOLO_LAB_AUDIT_PARTS_H
#define TREMOLO_LAB_AUDIT_PARTS_H

#include "tremolo_audit.h"

enum {
    AUDIT_COORDINATES_MAX = TREMOLO_MAX_DIMENSION + 1,
    AUDIT_RESIDUES = 16,   /* of the wire values, for the porosity test */
    AUDIT_VALUES = 1 << 12 /* wire values nearest to 0 that are counted one by one */
};
#define AUDIT_P_MIN 1e-6 /* a smaller p-value is no accident */

/* What came out of the devices. */
struct audit_counts {
    uint64_t above[TREMOLO_AUDIT_TESTS][2];                     /* by person */
    uint64_t residue[2][AUDIT_COORDINATES_MAX][AUDIT_RESIDUES]; /* of wire values */
    uint32_t seen[2][AUDIT_COORDINATES_MAX][AUDIT_VALUES];      /* wire value + 2^11 */
    double square_error; /* sum |x^ - (1-alpha) x|^2, wire units */
};

/* What both ways of making a plan share: from plan->study, its bounds and the distance
 * of the two people from the middle, in fine units, to everything but thresholds. */
enum tremolo_status audit_plan_finish(struct tremolo_audit_plan *plan, double half_distance);

/* The same of ballots. */
enum tremolo_status audit_plan_ballot_finish(struct tremolo_audit_plan *plan);

/* Where reports are counted: of noisy samples or of ballots, the other is NULL. */
struct ballot_counts;
struct audit_sink {
    struct audit_counts *samples;
    struct ballot_counts *ballots;
};

/* Run 2 * pairs enrolled devices through the real core and count. */
enum tremolo_status audit_count(const struct audit_sink *sink,
                                const struct tremolo_audit_plan *plan,
                                const struct tremolo_progress *progress);

/* A lower bound on epsilon from how often a test said "person 0" of each person. */
enum tremolo_status audit_bound_epsilon(struct tremolo_audit_result *result,
                                        const uint64_t above[2],
                                        const struct tremolo_audit_plan *plan);

/* The tail of chi-squared, for even degrees. */
double audit_chi_squared_tail(double x, unsigned degrees);

/* Count one decoded ballot of a person; run and judge a plan for ballots. */
enum tremolo_status audit_ballot_report(struct ballot_counts *counts,
                                        const struct tremolo_audit_plan *plan, unsigned person,
                                        const struct tremolo_report *report);
enum tremolo_status audit_ballot_run(struct tremolo_audit_result *result,
                                     const struct tremolo_audit_plan *plan,
                                     const struct tremolo_progress *progress);

#endif
