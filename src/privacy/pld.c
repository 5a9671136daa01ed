/* pld.c -- privacy loss distributions: objects and questions.
 *
 * The pair of sides makes an interval: delta is between the lower side's
 * lower bound and the upper side's upper bound. How a side is composed is in
 * pld_compose.c, how the modulated mechanism becomes two sides in
 * pld_modulated.c. */
#include "accountant.h"
#include "pld.h"

#include <stdlib.h>
#include <string.h>

void tremolo_pld_free(struct tremolo_pld *pld)
{
    if (pld != NULL) {
        free(pld->upper.mass);
        free(pld->lower.mass);
        free(pld->upper.log_mass);
        free(pld->lower.log_mass);
        free(pld);
    }
}

/* What the masses miss of 1, to many more digits than they have; NaN when one of them
 * is no probability. */
static double missing_of(const double *mass, size_t count, double infinity_mass)
{
    struct dd missing = dd_add(dd_of(1.0), dd_of(-infinity_mass));
    for (size_t i = 0; i < count; i++) {
        if (!(mass[i] >= 0.0 && mass[i] <= 1.0)) {
            return (double)NAN;
        }
        missing = dd_add(missing, dd_of(-mass[i]));
    }
    return missing.hi;
}

bool pld_side_finish(struct pld_side *side)
{
    side->log_mass = malloc(side->count * sizeof *side->log_mass);
    for (size_t i = 0; side->log_mass != NULL && i < side->count; i++) {
        side->log_mass[i] = side->mass[i] > 0.0 ? log(side->mass[i]) : -INFINITY;
    }
    return side->log_mass != NULL;
}

/* The masses, with `excess` taken from the largest losses. */
static bool copy_masses(struct pld_side *side, const double *mass, double excess)
{
    side->mass = malloc(side->count * sizeof *mass);
    if (side->mass == NULL) {
        return false;
    }
    memcpy(side->mass, mass, side->count * sizeof *mass);
    double *at = &side->infinity_mass;
    for (size_t i = side->count; excess > 0.0; i--) {
        double taken = fmin(*at, excess);
        *at = fmax(0.0, nextafter(*at - taken, 0.0));
        excess = i > 0 ? excess - taken : 0.0;
        at = i > 0 ? &side->mass[i - 1] : at;
    }
    return pld_side_finish(side);
}

enum tremolo_status tremolo_pld_from_masses(struct tremolo_pld **pld, const double *mass,
                                            size_t count, int64_t first, double step,
                                            double infinity_mass)
{
    const int64_t first_max = INT64_C(1) << 40;
    if (pld == NULL || mass == NULL || count < 1 || count > PLD_ATOMS_MAX || first < -first_max ||
        first > first_max || !(step >= 1e-12 && step <= TREMOLO_EPSILON_MAX) ||
        !(infinity_mass >= 0.0 && infinity_mass <= 1.0)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    double missing = missing_of(mass, count, infinity_mass);
    if (!(fabs(missing) <= 1e-9)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    struct tremolo_pld *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    /* Each mass was rounded once, from decimals or by a computation. What is missing beyond
     * that may lie anywhere: at infinity for the upper side. What is too much may be wrong
     * where it matters most: the lower side does without. */
    struct pld_side side = {NULL, NULL, count, first, step, 0.0, infinity_mass, UNIT_ROUNDOFF};
    made->upper = side;
    made->lower = side;
    double least = 2.0 * UNIT_ROUNDOFF;
    if (missing > least) {
        made->upper.infinity_mass = fmin(1.0, infinity_mass + missing * (1.0 + 0x1p-40));
    }
    if (!copy_masses(&made->upper, mass, 0.0) ||
        !copy_masses(&made->lower, mass, missing < -least ? -missing : 0.0)) {
        tremolo_pld_free(made);
        return TREMOLO_NO_MEMORY;
    }
    *pld = made;
    return TREMOLO_OK;
}

enum tremolo_status tremolo_pld_delta(struct tremolo_certified *delta,
                                      const struct tremolo_pld *pld, uint64_t releases,
                                      double epsilon)
{
    if (delta == NULL || pld == NULL || !is_releases(releases) || !is_epsilon(epsilon)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    struct tremolo_certified upper;
    struct tremolo_certified lower;
    struct pld_workspace work = {0};
    enum tremolo_status status = pld_side_delta(&upper, &pld->upper, releases, epsilon, &work);
    if (status == TREMOLO_OK) {
        status = pld_side_delta(&lower, &pld->lower, releases, epsilon, &work);
    }
    pld_workspace_free(&work);
    if (status == TREMOLO_OK) {
        *delta =
            (struct tremolo_certified){lower.lower, 0.5 * (upper.upper + lower.lower), upper.upper};
    }
    return status;
}

/* One bound as a point function, so that each can be inverted by itself. */
struct bound_question {
    const struct pld_side *side;
    uint64_t releases;
    bool is_upper;
    struct pld_workspace *work;
    enum tremolo_status *status;
};

static struct tremolo_certified log_bound(double epsilon, const void *context)
{
    const struct bound_question *question = context;
    struct tremolo_certified delta = {0.0, 0.0, 0.0};
    enum tremolo_status status =
        pld_side_delta(&delta, question->side, question->releases, epsilon, question->work);
    if (status != TREMOLO_OK) {
        *question->status = status;
    }
    double bound = question->is_upper ? delta.upper : delta.lower;
    double value = bound > 0.0 ? log(bound) : -1e4;
    double slack = 4.0 * UNIT_ROUNDOFF * fabs(value);
    return (struct tremolo_certified){value - slack, value, value + slack};
}

static enum tremolo_status invert_bound(struct tremolo_certified *epsilon,
                                        const struct tremolo_pld *pld, bool is_upper,
                                        uint64_t releases, double delta, struct pld_workspace *work)
{
    enum tremolo_status inner = TREMOLO_OK;
    const struct bound_question question = {is_upper ? &pld->upper : &pld->lower, releases,
                                            is_upper, work, &inner};
    struct inversion problem = {log_bound, &question, log(delta), INVERT_DECREASING, true};
    if (log_bound(0.0, &question).upper <= problem.target) {
        *epsilon = interval_exact(0.0);
        return inner;
    }
    double high = 1.0;
    while (inner == TREMOLO_OK && log_bound(high, &question).value > problem.target) {
        high *= 4.0;
        if (high > TREMOLO_EPSILON_MAX) {
            return TREMOLO_UNREACHABLE; /* more mass at infinity than delta */
        }
    }
    enum tremolo_status status = invert(epsilon, &problem, 0.0, high * 1.01);
    return inner != TREMOLO_OK ? inner : status;
}

enum tremolo_status tremolo_pld_epsilon(struct tremolo_certified *epsilon,
                                        const struct tremolo_pld *pld, uint64_t releases,
                                        double delta)
{
    if (epsilon == NULL || pld == NULL || !is_releases(releases) || !is_delta(delta)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    struct pld_workspace work = {0};
    struct tremolo_certified upper;
    struct tremolo_certified lower;
    enum tremolo_status status = invert_bound(&upper, pld, true, releases, delta, &work);
    if (status == TREMOLO_OK) {
        status = invert_bound(&lower, pld, false, releases, delta, &work);
    }
    pld_workspace_free(&work);
    if (status == TREMOLO_OK) {
        *epsilon =
            (struct tremolo_certified){lower.lower, 0.5 * (lower.lower + upper.upper), upper.upper};
    }
    return status;
}
