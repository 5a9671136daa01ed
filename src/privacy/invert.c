/* invert.c -- solve f(x) = target for a monotone f with proved bounds.
 *
 * First find the root of the computed values by false position with the
 * Illinois correction, falling back to halving whenever a step gains little.
 * Then walk outward from it, doubling the stride, until f's own bounds prove
 * that the lower end is below the solution and the upper end above it. Only
 * that second part carries the proof; the first may be as careless as it
 * likes. */
#include "interval.h"

#include <stdbool.h>

enum {
    ROOT_STEPS_MAX = 200,
    PROOF_STEPS_MAX = 200,
};

/* f(x) - target, negative left of the solution. */
static double signed_gap(const struct inversion *problem, double x)
{
    return (problem->f(x, problem->context).value - problem->target) * (double)problem->direction;
}

static double find_root(const struct inversion *problem, double low, double high, double gap_low,
                        double gap_high)
{
    double width = high - low;
    for (int step = 0; step < ROOT_STEPS_MAX; step++) {
        double x = low + (high - low) * (gap_low / (gap_low - gap_high));
        if (!(x > low && x < high) || step % 4 == 3) {
            /* Every fourth step must at least have quartered the bracket. */
            if (high - low > 0.25 * width || !(x > low && x < high)) {
                x = 0.5 * (low + high);
            }
            width = high - low;
        }
        if (!(x > low && x < high)) {
            break;
        }
        double gap = signed_gap(problem, x);
        if (fabs(gap) <= 4.0 * UNIT_ROUNDOFF * (fabs(problem->target) + 1.0)) {
            return x;
        }
        if (gap < 0.0) {
            low = x;
            gap_low = gap;
            gap_high *= 0.5;
        } else {
            high = x;
            gap_high = gap;
            gap_low *= 0.5;
        }
        if (high - low <= 2.0 * UNIT_ROUNDOFF * fmax(fabs(low), fabs(high))) {
            break;
        }
    }
    return 0.5 * (low + high);
}

/* Is x proved to lie at or beyond the solution (above), or before it? */
static bool proved(const struct inversion *problem, double x, bool above)
{
    struct tremolo_certified f = problem->f(x, problem->context);
    double slack = 4.0 * UNIT_ROUNDOFF * fabs(problem->target);
    if (above == (problem->direction == INVERT_INCREASING)) {
        return f.lower >= problem->target + slack;
    }
    return f.upper <= problem->target - slack;
}

static bool walk_until_proved(double *end, const struct inversion *problem, double root, bool above,
                              double limit)
{
    /* A root at or near 0 has no scale of its own; the bracket lends one. */
    double stride = 2.0 * UNIT_ROUNDOFF * fmax(fabs(root), 0x1p-40 * fabs(limit - root));
    stride = fmax(stride, DBL_MIN);
    for (int step = 0; step < PROOF_STEPS_MAX; step++) {
        double x = above ? fmin(root + stride, limit) : fmax(root - stride, limit);
        if (proved(problem, x, above)) {
            *end = x;
            return true;
        }
        if (x == limit) {
            *end = limit;
            return !above && problem->low_is_safe;
        }
        stride *= 2.0;
    }
    return false;
}

enum tremolo_status invert(struct tremolo_certified *x, const struct inversion *problem, double low,
                           double high)
{
    double gap_low = signed_gap(problem, low);
    double gap_high = signed_gap(problem, high);
    if (!(gap_low <= 0.0 && gap_high >= 0.0)) {
        return TREMOLO_UNREACHABLE;
    }
    struct tremolo_certified found;
    found.value = gap_low == 0.0    ? low
                  : gap_high == 0.0 ? high
                                    : find_root(problem, low, high, gap_low, gap_high);
    if (!walk_until_proved(&found.upper, problem, found.value, true, high) ||
        !walk_until_proved(&found.lower, problem, found.value, false, low)) {
        return TREMOLO_NOT_CONVERGED;
    }
    *x = found;
    return TREMOLO_OK;
}
