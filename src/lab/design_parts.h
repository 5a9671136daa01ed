/* design_parts.h -- what the two halves of a design share: what each column is, and the rows. */
#ifndef TREMOLO_DESIGN_PARTS_H
#define TREMOLO_DESIGN_PARTS_H

#include "tremolo_design.h"
#include "tremolo_study_file.h"

struct column_plan {
    size_t column;
    size_t levels; /* 0 for a numeric column */
    bool question; /* no and yes, in this order: named after itself, as in a study */
    const char *level[TREMOLO_DESIGN_LEVELS_MAX];
    const struct tremolo_study_feature *feature; /* of the study; NULL without */
    const char *fill;                            /* the study's level for a missing word, or NULL */
    double missing; /* the value that stands for a missing one; NAN: none */
};

/* Find inputs, names and numbers of a design whose columns are planned. (design_rows.c) */
bool design_fill(struct tremolo_design *design, const struct tremolo_table *table,
                 struct column_plan *plans, size_t count, size_t response,
                 const struct tremolo_design_wish *wish, char *error);

#endif
