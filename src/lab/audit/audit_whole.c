/* audit_whole.c -- a report's noise as a whole.
 *
 * Noise can have its law in every coordinate and every pair of them and still be worth nothing:
 * a report in a hundred goes without any, a coordinate does once in a thousand, or two signs
 * give away the third. So norms are held against their chi-squared law, signs of three
 * coordinates, and of all, against a coin, and it is counted how often a wire value is the very
 * one that the sample has without noise. All of it is exact but for the shares of the norms. */
#include "audit_parts.h"

#include <math.h>
#include <stdlib.h>

enum { CELLS = 32, SMALL_MAX = 8 /* coordinates of which all threes are looked at */ };

static const double rare = 1e-3;

struct audit_whole {
    const struct audit_scene *scene;
    const struct audit_frame *frame;
    double count;
    uint32_t cell[CELLS]; /* of the norms' shares */
    double least;         /* reports whose norm is among the smallest thousandth */
    double most;
    unsigned threes;
    double *plus;     /* reports in which three signs multiply to plus; at last, all of them */
    double *bare;     /* n: values that are the sample's own */
    double *expected; /* n: as many would be */
};

struct audit_whole *audit_whole_new(const struct audit_scene *scene,
                                    const struct audit_frame *frame)
{
    unsigned n = scene->n;
    struct audit_whole *whole = calloc(1, sizeof *whole);
    unsigned threes = n < 3 ? 0 : n <= SMALL_MAX ? n * (n - 1) * (n - 2) / 6 : n - 2;
    double *numbers = calloc((size_t)threes + 1 + 2 * (size_t)n, sizeof *numbers);
    if (whole == NULL || numbers == NULL) {
        free(whole);
        free(numbers);
        return NULL;
    }
    whole->scene = scene;
    whole->frame = frame;
    whole->threes = threes;
    whole->plus = numbers;
    whole->bare = numbers + threes + 1;
    whole->expected = whole->bare + n;
    return whole;
}

void audit_whole_free(struct audit_whole *whole)
{
    if (whole != NULL) {
        free(whole->plus);
        free(whole);
    }
}

/* The k-th three of coordinates: all of a few, else those that stand side by side. */
static void three_of(unsigned at[3], unsigned k, unsigned n)
{
    if (n > SMALL_MAX) {
        at[0] = k;
        at[1] = k + 1;
        at[2] = k + 2;
        return;
    }
    for (at[0] = 0; at[0] < n; at[0]++) {
        for (at[1] = at[0] + 1; at[1] < n; at[1]++) {
            for (at[2] = at[1] + 1; at[2] < n; at[2]++) {
                if (k-- == 0) {
                    return;
                }
            }
        }
    }
}

static void add_signs(struct audit_whole *whole, const double *score)
{
    unsigned n = whole->scene->n;
    bool minus = false;
    for (unsigned k = 0; k < whole->threes; k++) {
        unsigned at[3] = {0};
        three_of(at, k, n);
        whole->plus[k] += ((score[at[0]] < 0.0) != (score[at[1]] < 0.0)) == (score[at[2]] < 0.0);
    }
    for (unsigned i = 0; i < n; i++) {
        minus = minus != (score[i] < 0.0);
    }
    whole->plus[whole->threes] += !minus;
}

static void add_norm(struct audit_whole *whole, const double *score)
{
    unsigned normals = whole->scene->n - whole->scene->m; /* scores along vectors are uniform */
    double square = 0.0;
    if (normals == 0) {
        return;
    }
    for (unsigned i = whole->scene->m; i < whole->scene->n; i++) {
        square += score[i] * score[i];
    }
    double beyond = audit_p_chi_squared(square, normals);
    whole->cell[(unsigned)fmin(beyond * CELLS, CELLS - 1.0)]++;
    whole->least += beyond > 1.0 - rare;
    whole->most += beyond < rare;
}

static void add_bare(struct audit_whole *whole, const struct audit_view *view)
{
    const struct audit_scene *scene = whole->scene;
    double noise = ldexp(1.0, scene->study.noise_log2);
    for (unsigned i = scene->m; i < scene->n && whole->frame->axes; i++) {
        double nearest = rint(view->kept[i] / scene->step);
        double off = nearest * scene->step - view->kept[i];
        whole->bare[i] += view->wire[i] == nearest;
        whole->expected[i] += audit_normal_cdf((off + 0.5 * scene->step) / noise) -
                              audit_normal_cdf((off - 0.5 * scene->step) / noise);
    }
}

void audit_whole_add(struct audit_whole *whole, const struct audit_view *view, const double *score)
{
    whole->count++;
    add_signs(whole, score);
    add_norm(whole, score);
    add_bare(whole, view);
}

static void judge_signs(const struct audit_whole *whole, struct audit *audit)
{
    for (unsigned k = 0; k <= whole->threes; k++) {
        unsigned at[3] = {0, 1, whole->scene->n - 1};
        if (k < whole->threes) {
            three_of(at, k, whole->scene->n);
        }
        audit_note(audit, CHECK_NOISE_REPORT, audit_p_binomial(whole->plus[k], whole->count, 0.5),
                   whole->plus[k], 0.5 * whole->count,
                   "the signs of the noise of coordinates %u, %u %s %u multiply to plus in %.0f of "
                   "%.0f reports (%s)",
                   at[0], at[1], k < whole->threes ? "and" : "to", at[2], whole->plus[k],
                   whole->count, whole->scene->name);
    }
}

/* Of values that have probabilities of their own the binomial law of their mean is the wider one. */
static void judge_bare(const struct audit_whole *whole, struct audit *audit)
{
    for (unsigned i = whole->scene->m; i < whole->scene->n && whole->frame->axes; i++) {
        audit_note(
            audit, CHECK_NOISE_REPORT,
            audit_p_binomial(whole->bare[i], whole->count, whole->expected[i] / whole->count),
            whole->bare[i], whole->expected[i],
            "coordinate %u is sent as without noise %.0f times, %.1f expected (%s)", i,
            whole->bare[i], whole->expected[i], whole->scene->name);
    }
}

void audit_whole_judge(const struct audit_whole *whole, struct audit *audit)
{
    const char *name = whole->scene->name;
    judge_signs(whole, audit);
    judge_bare(whole, audit);
    if (whole->scene->n == whole->scene->m) {
        return;
    }
    audit_note(audit, CHECK_NOISE_REPORT, audit_p_binomial(whole->least, whole->count, rare),
               whole->least, rare * whole->count,
               "%.0f of %.0f reports have next to no noise, %.1f expected (%s)", whole->least,
               whole->count, rare * whole->count, name);
    audit_note(audit, CHECK_NOISE_REPORT, audit_p_binomial(whole->most, whole->count, rare),
               whole->most, rare * whole->count,
               "%.0f of %.0f reports have very much noise, %.1f expected (%s)", whole->most,
               whole->count, rare * whole->count, name);
    audit_note(audit, CHECK_NOISE_REPORT, audit_p_uniform(whole->cell, CELLS), whole->cell[0],
               whole->count / CELLS, "the norms of the noise have not their law (%s)", name);
}
