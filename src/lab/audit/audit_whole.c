/* audit_whole.c -- a report's noise as a whole.
 *
 * Noise can have its law in every coordinate and every pair of them and still be worth nothing:
 * a report in a hundred goes without any, a coordinate does once in a thousand, or two signs
 * give away the third. So norms are held against their chi-squared law, signs of three
 * coordinates, and of all, against a coin, and it is counted how often a wire value is the very
 * one that the sample has without noise. All of it is exact but for the shares of the norms. */
#include "audit_battery.h"

#include <math.h>

enum { SMALL_MAX = 8 /* coordinates of which all threes are looked at */ };

static const double rare = 1e-3;

unsigned audit_whole_threes(unsigned n)
{
    return n < 3 ? 0 : n <= SMALL_MAX ? n * (n - 1) * (n - 2) / 6 : n - 2;
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

static void add_signs(struct audit_battery *battery, const double *score)
{
    unsigned n = battery->scene->n;
    bool minus = false;
    for (unsigned k = 0; k < battery->threes; k++) {
        unsigned at[3] = {0};
        three_of(at, k, n);
        battery->plus[k] += ((score[at[0]] < 0.0) != (score[at[1]] < 0.0)) == (score[at[2]] < 0.0);
    }
    for (unsigned i = 0; i < n; i++) {
        minus = minus != (score[i] < 0.0);
    }
    battery->plus[battery->threes] += !minus;
}

static void add_norm(struct audit_battery *battery, const double *score)
{
    unsigned normals = battery->scene->n - battery->scene->m; /* scores along vectors are uniform */
    double square = 0.0;
    if (normals == 0) {
        return;
    }
    for (unsigned i = battery->scene->m; i < battery->scene->n; i++) {
        square += score[i] * score[i];
    }
    double beyond = tremolo_chi2_tail(normals, 0.0, square);
    battery->norm[(unsigned)fmin(beyond * CELLS, CELLS - 1.0)]++;
    battery->least += beyond > 1.0 - rare;
    battery->most += beyond < rare;
}

static void add_bare(struct audit_battery *battery, const struct audit_view *view)
{
    const struct audit_scene *scene = battery->scene;
    double noise = ldexp(1.0, scene->study.noise_log2);
    for (unsigned i = scene->m; i < scene->n && battery->frame->axes; i++) {
        double nearest = rint(view->kept[i] / scene->step);
        double off = nearest * scene->step - view->kept[i];
        battery->direction[i].bare += view->wire[i] == nearest;
        battery->direction[i].expected += audit_normal_cdf((off + 0.5 * scene->step) / noise) -
                                          audit_normal_cdf((off - 0.5 * scene->step) / noise);
    }
}

void audit_whole_add(struct audit_battery *battery, const struct audit_view *view,
                     const double *score)
{
    add_signs(battery, score);
    add_norm(battery, score);
    add_bare(battery, view);
}

static void judge_signs(const struct audit_battery *battery)
{
    for (unsigned k = 0; k <= battery->threes; k++) {
        unsigned at[3] = {0, 1, battery->scene->n - 1};
        if (k < battery->threes) {
            three_of(at, k, battery->scene->n);
        }
        audit_note(battery->audit, CHECK_NOISE_REPORT,
                   audit_p_binomial(battery->plus[k], battery->count, 0.5), battery->plus[k],
                   0.5 * battery->count,
                   "the signs of the noise of coordinates %u, %u %s %u multiply to plus in %.0f of "
                   "%.0f reports (%s)",
                   at[0], at[1], k < battery->threes ? "and" : "to", at[2], battery->plus[k],
                   battery->count, battery->scene->name);
    }
}

/* Of values that have probabilities of their own the binomial law of their mean is the wider one. */
static void judge_bare(const struct audit_battery *battery)
{
    for (unsigned i = battery->scene->m; i < battery->scene->n && battery->frame->axes; i++) {
        const struct direction *direction = &battery->direction[i];
        audit_note(
            battery->audit, CHECK_NOISE_REPORT,
            audit_p_binomial(direction->bare, battery->count, direction->expected / battery->count),
            direction->bare, direction->expected,
            "coordinate %u is sent as without noise %.0f times, %.1f expected (%s)", i,
            direction->bare, direction->expected, battery->scene->name);
    }
}

static void judge_rare(const struct audit_battery *battery, double reports, const char *how)
{
    double expected = rare * battery->count;
    audit_note(battery->audit, CHECK_NOISE_REPORT, audit_p_binomial(reports, battery->count, rare),
               reports, expected, "%.0f of %.0f reports have %s noise, %.1f expected (%s)", reports,
               battery->count, how, expected, battery->scene->name);
}

void audit_whole_judge(const struct audit_battery *battery)
{
    judge_signs(battery);
    judge_bare(battery);
    if (battery->scene->n > battery->scene->m) {
        judge_rare(battery, battery->least, "next to no");
        judge_rare(battery, battery->most, "very much");
        audit_note(battery->audit, CHECK_NOISE_REPORT, audit_p_uniform(battery->norm, CELLS),
                   battery->norm[0], battery->count / CELLS,
                   "the norms of the noise have not their law (%s)", battery->scene->name);
    }
}
