/* explain.h -- a guarantee in words, and costs rounded for people.
 *
 * Every number that people read here is rounded so that it never promises more than was
 * proved: costs up, what is left down. */
#ifndef TREMOLO_EXPLAIN_H
#define TREMOLO_EXPLAIN_H

#include "tremolo_privacy.h"

/* So many significant digits, rounded up, for costs that people read. What
 * exceeds them by less than a billionth of the last one is the accountant's
 * own rounding: a claim of epsilon 1 is to read 1. */
double tremolo_digits_up(double x, int digits);

/* The same rounded down, for lower bounds and for what is left of a budget. */
double tremolo_digits_down(double x, int digits);

/* A share as people read it, rounded up to a tenth of a percent: "79.2%" or "60%"; ">99.9%" for what
 * rounds up to all and is less (`below`). Returns `text`. */
#define TREMOLO_PERCENT_BYTES 16
const char *tremolo_percent_text(char text[TREMOLO_PERCENT_BYTES], double share, bool below);

/* A promise for the reviewer and for the participant, in words, and the same
 * for samples that differ in other ways: the promise's own ways, a typical
 * pair, what is promised, any two. The words round up as the numbers do. */
#define TREMOLO_EXPLAIN_BYTES 2048
#define TREMOLO_EXPLAIN_NAMES 400 /* longer names or lists are not named */
#define TREMOLO_EXPLAIN_ROWS  (TREMOLO_EXPLAIN_WAYS + 3)

/* How far a typical pair differs in so many features of standard deviation 1. */
double tremolo_typical_distance(unsigned dimension);

/* The name and distance of one row for `count` more numbers, so far apart at most. */
void tremolo_difference_of_more(struct tremolo_difference *way, size_t count, double distance);

/* From a promised epsilon beyond this on noise protects hardly anything. */
#define TREMOLO_EPSILON_HARDLY 10.0

/* A promise compared with the policy and with TREMOLO_EPSILON_HARDLY. */
enum tremolo_strength {
    TREMOLO_STRENGTH_POLICY, /* devices allow it by default */
    TREMOLO_STRENGTH_PAST,   /* they refuse it: people far apart are protected less */
    TREMOLO_STRENGTH_HARDLY, /* it protects hardly at all */
};

struct tremolo_explanation {
    char reviewer[TREMOLO_EXPLAIN_BYTES];
    char participant[TREMOLO_EXPLAIN_BYTES];
    struct tremolo_difference differences[TREMOLO_EXPLAIN_ROWS];
    size_t difference_count;
    size_t any_two; /* which of them is about any two people; difference_count: none */
    enum tremolo_strength strength;
};
TREMOLO_MUST_USE enum tremolo_status tremolo_explain(struct tremolo_explanation *explanation,
                                                     const struct tremolo_promise *promise);

#endif
