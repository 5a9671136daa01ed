/* audit_parts.h -- what the files of the audit share. */
#ifndef TREMOLO_LAB_AUDIT_PARTS_H
#define TREMOLO_LAB_AUDIT_PARTS_H

#include "tremolo_audit.h"

enum {
    AUDIT_COORDINATES_MAX = TREMOLO_MAX_DIMENSION + 1,
    AUDIT_RESIDUES = 16,   /* of the wire values, for the porosity test */
    AUDIT_VALUES = 1 << 12 /* wire values nearest to 0 that are counted one by one */
};

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

/* Run 2 * pairs enrolled devices through the real core and count. */
enum tremolo_status audit_count(struct audit_counts *counts, const struct tremolo_audit_plan *plan,
                                const struct tremolo_progress *progress);

#endif
