/* explain.h -- distances in people's own units; for explain.c only. */
#ifndef TREMOLO_EXPLAIN_INTERNAL_H
#define TREMOLO_EXPLAIN_INTERNAL_H

#include "tremolo_privacy.h"

/* " in half ranges" or " in standard deviations"; "" where nobody said. */
const char *explain_unit(const struct tremolo_promise *promise);

/* The way to differ that is a number's whole range: "age, 70 years apart". */
void explain_extent(struct tremolo_difference *way, const struct tremolo_extent *extent);

/* "age 15 years, sleep 2.2 hours": so far apart in each number, at most its whole range; empty
 * without extents. Ends in "..." when not all of them fit. */
void explain_apart(char *text, size_t bytes, const struct tremolo_promise *promise,
                   double distance);

/* Say in the promise's extents what the rows after the first `ways` mean: a typical pair,
 * what is promised, any two. */
void explain_in_units(struct tremolo_explanation *made, size_t ways,
                      const struct tremolo_promise *promise);

#endif
