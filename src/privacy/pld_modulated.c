/* pld_modulated.c -- the modulated mechanism along one v_j as a distribution
 * of losses.
 *
 * In units of sigma the release there is n + z, n = c cos(uniform), z normal;
 * neighbours shift it by s. With f the density of n + z the loss is
 * l(x) = ln f(x) - ln f(x - s). The line is cut into cells; p and q are a
 * cell's masses under the two samples.
 *
 * lower: a cell is merged into one atom at ln(p/q) (merging is processing, so
 *   delta can only fall). Atoms within one grid bin are merged again, and the
 *   largest distance by which a bin's atom lies below its grid point is
 *   subtracted from every loss. For a Gaussian ln(p/q) = l (1 - w^2/12) up to
 *   fourth order, so a grid that much finer leaves next to nothing to
 *   subtract.
 * upper: a cell whose losses lie in [a, b] is replaced by two atoms at a and
 *   b that keep p and q (the cell is a processing of those, so delta can only
 *   grow); a and b are moved out to the grid. Edges that belong on the grid
 *   but miss it by rounding are snapped, and SNAP steps are added to every
 *   loss in return: from the valid atoms a - SNAP, b + SNAP the first is
 *   raised to a + SNAP, which again can only enlarge delta.
 *
 * Losses between a cell's edges stay within B w^2/8 of the chord, where
 * B = |l''| <= min(c^2, 0.77 s c^3): l'' is a difference of posterior
 * variances of n in [-c, c], their derivative a third central moment, at most
 * (2c)^3/(6 sqrt 3). For c = 0 the loss is exactly linear.
 *
 * f is a mean over the phase, computed with N equal steps. For entire
 * periodic integrands that is accurate beyond any need: shifting the contour
 * by tau, the relative error is at most 2.4 N exp(37 c (cosh tau - 1) +
 * c^2 sinh^2(tau)/2 - N tau), below 1e-16 with the N of mixture_make(). Cell
 * masses come from ten-point Gauss-Legendre, all terms positive; the relative
 * remainder is below 1e-18 for cells of at most sigma/16. Beyond 37 sigma
 * everything counts as certain ruin: mass at infinity, below 2e-299. */
#include "accountant.h"
#include "pld.h"

#include <stdlib.h>

#define REACH_SIGMAS 37.0
#define RUIN_MASS    2e-299
#define SNAP         0x1p-24 /* in grid steps */

enum {
    PHASES_MAX = 256, /* distinct values of the cosine, counting each sign */
    CELLS_MIN = 16,
    CELLS_MAX = 4096,
};

struct mixture {
    double at[PHASES_MAX];
    size_t count;
    double contrast; /* c */
};

/* N phases at odd multiples of pi/N; theta and -theta share a cosine, so N/2
 * values remain. */
static void mixture_make(struct mixture *mixture, double contrast)
{
    const double pi = 3.14159265358979323846;
    mixture->count = contrast == 0.0 ? 1 : contrast <= 1.0 ? 32 : contrast <= 4.0 ? 64 : 256;
    mixture->contrast = contrast;
    for (size_t i = 0; i < mixture->count; i++) {
        double angle = pi * ((double)i + 0.5) / (double)mixture->count;
        mixture->at[i] = contrast == 0.0 ? 0.0 : contrast * cos(angle);
    }
}

/* Half the squared distance from x to [-c, c]: the density's rough exponent. */
static double anchor_of(const struct mixture *mixture, double x)
{
    double beyond = fmax(0.0, fabs(x) - mixture->contrast);
    return 0.5 * beyond * beyond;
}

/* f(x) e^anchor sqrt(2 pi). */
static double density(const struct mixture *mixture, double x, double anchor)
{
    double sum = 0.0;
    for (size_t i = 0; i < mixture->count; i++) {
        double away = x - mixture->at[i];
        sum += exp(anchor - 0.5 * away * away);
    }
    return sum / (double)mixture->count;
}

static double log_density(const struct mixture *mixture, double x)
{
    double anchor = anchor_of(mixture, x);
    return log(density(mixture, x, anchor)) - anchor;
}

static double log_mass(const struct mixture *mixture, double centre, double width)
{
    double anchor = anchor_of(mixture, centre);
    double sum = 0.0;
    for (int i = 0; i < GAUSS_HALF; i++) {
        double away = 0.5 * width * gauss_node[i];
        sum += gauss_weight[i] *
               (density(mixture, centre - away, anchor) + density(mixture, centre + away, anchor));
    }
    return log(0.5 * width * sum * 0.39894228040143267794) - anchor;
}

/* Logs are off by the rounding of exponents of size z^2/2 <= 3800 and of
 * nodes; 2^-39 = 1.8e-12 is three times that. */
#define LOG_ERROR(z) ((8.0 + 2.0 * (z) * (z)) * UNIT_ROUNDOFF)

struct cell_plan {
    struct mixture mixture;
    double shift;  /* s */
    double width;  /* of a cell */
    double step;   /* of the loss grid */
    double bend;   /* B w^2 / 8 */
    double error;  /* of a log mass */
    int64_t cells; /* on each side of s/2 */
};

static void plan_make(struct cell_plan *plan, double shift, double contrast, unsigned cells)
{
    mixture_make(&plan->mixture, contrast);
    plan->shift = shift;
    plan->width = 1.0 / cells;
    plan->step = shift * plan->width;
    double bend = fmin(contrast * contrast, 0.77 * shift * contrast * contrast * contrast);
    plan->bend = bend * plan->width * plan->width / 8.0;
    double reach = REACH_SIGMAS + contrast + 0.5 * shift;
    plan->cells = (int64_t)ceil(reach / plan->width) + 1;
    plan->error = LOG_ERROR(REACH_SIGMAS + 2.0 * contrast + shift);
}

static bool side_make(struct pld_side *side, const struct cell_plan *plan)
{
    /* |l| <= s (|x - s/2| + c), and two spare steps at each end. */
    double widest =
        plan->shift * ((double)(plan->cells + 1) * plan->width + plan->mixture.contrast);
    int64_t most = (int64_t)ceil(widest / plan->step) + 4;
    side->count = (size_t)(2 * most + 1);
    side->first = -most;
    side->step = plan->step;
    side->infinity_mass = 0.0;
    /* A mass is exp of a log mass, split by a factor known to a few units. */
    side->mass_error = plan->error + 32.0 * UNIT_ROUNDOFF;
    side->mass = side->count <= PLD_ATOMS_MAX ? calloc(side->count, sizeof *side->mass) : NULL;
    return side->mass != NULL;
}

/* ---- upper side */

static void split_cell(struct pld_side *side, const struct cell_plan *plan, double log_p,
                       double log_ratio, double low, double high)
{
    double slack = plan->bend + 2.0 * plan->error;
    double from = floor((low - slack) / plan->step + SNAP);
    double to = ceil((high + slack) / plan->step - SNAP);
    double p = exp(log_p);
    double share = 1.0;
    if (to > from) {
        double margin = SNAP * plan->step;
        double above = log_ratio + 2.0 * plan->error - (from * plan->step - margin);
        double whole = (to - from) * plan->step + 2.0 * margin;
        share = fmin(1.0, fmax(0.0, expm1(-above) / expm1(-whole)) * (1.0 + 16.0 * UNIT_ROUNDOFF));
    }
    side->mass[(int64_t)to - side->first] += p * share;
    side->mass[(int64_t)from - side->first] += p * (1.0 - share);
}

static void fill_upper(struct pld_side *side, const struct cell_plan *plan)
{
    const struct mixture *mixture = &plan->mixture;
    double s = plan->shift;
    double edge = 0.5 * s - (double)plan->cells * plan->width;
    double loss = log_density(mixture, edge) - log_density(mixture, edge - s);
    for (int64_t i = -plan->cells; i < plan->cells; i++) {
        double centre = 0.5 * s + ((double)i + 0.5) * plan->width;
        double next_edge = 0.5 * s + (double)(i + 1) * plan->width;
        double next = log_density(mixture, next_edge) - log_density(mixture, next_edge - s);
        double log_p = log_mass(mixture, centre, plan->width);
        double log_q = log_mass(mixture, centre - s, plan->width);
        split_cell(side, plan, log_p, log_p - log_q, fmin(loss, next), fmax(loss, next));
        loss = next;
    }
    side->infinity_mass = RUIN_MASS;
    side->shift = SNAP * plan->step;
}

/* ---- lower side */

static bool fill_lower(struct pld_side *side, const struct cell_plan *plan)
{
    const struct mixture *mixture = &plan->mixture;
    double *other = calloc(side->count, sizeof *other); /* q e^loss, beside p */
    double step = plan->step * (1.0 - plan->width * plan->width / 12.0);
    if (other == NULL) {
        return false;
    }
    for (int64_t i = -plan->cells; i <= plan->cells; i++) {
        double centre = 0.5 * plan->shift + (double)i * plan->width;
        double log_p = log_mass(mixture, centre, plan->width);
        double log_q = log_mass(mixture, centre - plan->shift, plan->width);
        double bin = nearbyint((log_p - log_q) / step);
        double p = exp(log_p);
        int64_t slot = (int64_t)bin - side->first;
        side->mass[slot] += p;
        other[slot] += exp(log_q + bin * step);
    }
    /* An atom sits ln(other/p) below its grid point. */
    double deepest = 0.0;
    for (size_t j = 0; j < side->count; j++) {
        if (side->mass[j] > 0.0) {
            deepest = fmax(deepest, log(other[j] / side->mass[j]));
        }
    }
    free(other);
    side->step = step;
    side->shift = -(deepest + 4.0 * plan->error);
    return true;
}

enum tremolo_status tremolo_pld_modulated(struct tremolo_pld **pld, double shift, double sigma,
                                          double amplitude, unsigned cells)
{
    if (pld == NULL || !is_positive(shift) || !is_positive(sigma) || !(amplitude >= 0.0) ||
        cells < CELLS_MIN || cells > CELLS_MAX) {
        return TREMOLO_BAD_ARGUMENT;
    }
    double s = shift / sigma;
    double contrast = amplitude / sigma;
    if (!(s >= 1e-6 && s <= 50.0) || !(contrast <= 16.0)) {
        return TREMOLO_OVERFLOWED;
    }
    /* A hair more shift and less modulation above, the reverse below, for the
     * two roundings: delta grows with the first and falls with the second. */
    const double hair = 4.0 * UNIT_ROUNDOFF;
    struct cell_plan plan;
    struct tremolo_pld *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    plan_make(&plan, s * (1.0 - hair), contrast * (1.0 + hair), cells);
    bool filled = side_make(&made->lower, &plan) && fill_lower(&made->lower, &plan);
    plan_make(&plan, s * (1.0 + hair), contrast * (1.0 - hair), cells);
    filled = filled && side_make(&made->upper, &plan);
    if (filled) {
        fill_upper(&made->upper, &plan);
        filled = pld_side_finish(&made->lower) && pld_side_finish(&made->upper);
    }
    if (!filled) {
        tremolo_pld_free(made);
        return TREMOLO_NO_MEMORY;
    }
    *pld = made;
    return TREMOLO_OK;
}
