/* pairs.c -- two neighbours are distinguished no better than is claimed.
 *
 * Pairs of people differ along every axis, near every axis, along every broadcast vector,
 * across all vectors, along random directions and the domain's diagonal, as far as the study's
 * neighbours may; and in a mixed pair in another direction in each report. A device of either
 * person makes all its reports, and the test is the likelihood ratio of all of them together:
 *
 *     loss = sum over reports and directions of ln f(r - kept_0) - ln f(r - kept_1)
 *
 * No test is better against a build that does what it says, and against one that does not, a
 * bound from its rates still holds. Two thresholds are fixed beforehand: the claimed epsilon,
 * where the claimed delta is used up, and 0, which tells most about mu. For the pair that gets
 * half of all devices a third is set where the bound on epsilon is expected to be largest. */
#include "accountant.h"
#include "audit_parts.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum kind { AXIS, NEAR, VECTOR, ACROSS, RANDOM, MIXED, DIAGONAL, KINDS };
enum { RANDOM_PAIRS = 4, AT_EPSILON = 0, AT_EVEN, AT_BEST, THRESHOLDS };
_Static_assert((int)KINDS == (int)TREMOLO_AUDIT_PAIR_KINDS, "a result has a place for each kind");

static const char *const kind_names[KINDS] = {"axis",   "near an axis", "vector",  "across vectors",
                                              "random", "mixed",        "diagonal"};

/* Two people, and what tests of their devices gave. The test of a device is a sum of log
 * likelihood ratios over its reports; each threshold counts how often the sum exceeds it. */
struct pair {
    enum kind kind;
    unsigned index;
    struct audit_sample person[2];
    double apart[AUDIT_COORDINATES_MAX]; /* kept_0 - kept_1 along the frame */
    double mu2;                          /* that noise alone gives, over all reports */
    struct audit_rates rates[THRESHOLDS];
};

/* All pairs of one frame, and the sums over all of their reports. */
struct pairs {
    const struct audit_frame *frame;
    struct audit_battery *battery;
    struct pair *pair;
    unsigned count;
    double threshold[THRESHOLDS];
};

/* ---------------------------------------------------------------- making pairs */

/* Neighbours as far apart as the study allows, in every direction in which an implementation
 * could treat coordinates differently: one axis alone, one axis with a little of all others (a
 * clip by the wrong norm shows there), along a broadcast vector, where the modulation hides a
 * part of the difference, and across all of them, where it hides nothing. */

/* The direction in which a pair of this kind differs, not yet scaled. */
static void find_direction(double *direction, enum kind kind, unsigned index,
                           const struct audit_frame *frame)
{
    const struct audit_scene *scene = frame->scene;
    unsigned n = scene->n;
    memset(direction, 0, n * sizeof *direction);
    for (unsigned i = 0; i < n; i++) {
        const double *row = frame->row + (size_t)i * n;
        double weight = tremolo_random_normal(&scene->audit->random);
        switch (kind) {
        case AXIS: direction[i] = i == index; break;
        case NEAR: direction[i] = i == index ? 1.0 : weight > 0.0 ? 0.3 : -0.3; break;
        case VECTOR: direction[i] = frame->row[(size_t)index * n + i]; break;
        case ACROSS:
            for (unsigned k = 0; k < n && i >= scene->m; k++) {
                direction[k] += weight * row[k];
            }
            break;
        case RANDOM: direction[i] = weight; break;
        default: direction[i] = 1.0; break;
        }
    }
}

/* How far each person goes along a direction: to the box, or half of the distance that makes
 * neighbours, a little less so that rounding to the device's integers never exceeds it. */
static double reach(const double *direction, const struct audit_scene *scene)
{
    double most = 0.0;
    double square = 0.0;
    for (unsigned i = 0; i < scene->n; i++) {
        most = fmax(most, fabs(direction[i]));
        square += direction[i] * direction[i];
    }
    double box = 1.0 / most;
    double near = 0.5 * scene->study.distance / scene->study.unit / sqrt(square) * (1.0 - 1e-6);
    return scene->study.distance != 0 ? fmin(near, box) : box;
}

/* Place both people, and find how far apart their kept samples are along the frame: that is what
 * the test looks for. */
static void make_pair(struct pair *pair, const struct audit_frame *frame)
{
    const struct audit_scene *scene = frame->scene;
    unsigned n = scene->n;
    double direction[AUDIT_COORDINATES_MAX + 1] = {0.0};
    double kept[2][AUDIT_COORDINATES_MAX];
    find_direction(direction, pair->kind, pair->index, frame);
    double length = reach(direction, scene);
    for (unsigned person = 0; person < 2; person++) {
        double place[AUDIT_COORDINATES_MAX + 1] = {0.0};
        double norm;
        for (unsigned i = 0; i < n; i++) {
            place[i] = (person == 0 ? length : -length) * direction[i];
        }
        audit_sample_at(&pair->person[person], &scene->study, place);
        audit_kept(kept[person], &norm, scene, &pair->person[person]);
    }
    for (unsigned j = 0; j < n; j++) {
        for (unsigned i = 0; i < n; i++) {
            pair->apart[j] += frame->row[(size_t)j * n + i] * (kept[0][i] - kept[1][i]);
        }
        pair->mu2 += pair->apart[j] * pair->apart[j] / (scene->sd * scene->sd) *
                     (double)tremolo_audit_releases(scene->audit->plan);
    }
}

/* Make pairs of every kind. The mixed pair uses another of the pairs before it in each report, so
 * its mu^2 is their mean. */
static bool make_pairs(struct pairs *pairs)
{
    const struct audit_scene *scene = pairs->frame->scene;
    const unsigned members[KINDS] = {scene->n,     scene->n, scene->m, scene->m < scene->n ? 2 : 0,
                                     RANDOM_PAIRS, 1,        1};
    unsigned count = 0;
    for (unsigned kind = 0; kind < KINDS; kind++) {
        count += members[kind];
    }
    pairs->pair = calloc(count, sizeof *pairs->pair);
    if (pairs->pair == NULL) {
        return audit_goes_on(scene->audit, TREMOLO_NO_MEMORY);
    }
    for (unsigned kind = 0; kind < KINDS; kind++) {
        for (unsigned index = 0; index < members[kind]; index++) {
            struct pair *pair = &pairs->pair[pairs->count++];
            pair->kind = (enum kind)kind;
            pair->index = index;
            make_pair(pair, pairs->frame);
            if (kind == MIXED) { /* one after the other, the same as their mean */
                pair->mu2 = 0.0;
                for (unsigned k = 0; k + 1 < pairs->count; k++) {
                    pair->mu2 += pairs->pair[k].mu2 / (pairs->count - 1);
                }
            }
        }
    }
    return true;
}

/* ---------------------------------------------------------------- thresholds */

/* A bound on epsilon from finitely many trials depends on the threshold of the test: a high one
 * has few false positives and so a wide interval, a low one a small ratio. The best one is
 * computed from the claim, never from the data. */

/* The bound on epsilon that "loss > limit" is expected to give if the mechanism is exactly mu. */
static double expected_bound(double limit, double mu, double delta, double trials)
{
    const double width = 2.3; /* standard errors of a bound at 98% */
    double true_positive = tremolo_normal_cdf(0.5 * mu - limit / mu);
    double false_positive = tremolo_normal_cdf(-0.5 * mu - limit / mu);
    /* What Clopper-Pearson bounds will be, by the normal approximation: it only chooses a
     * threshold, so it need not be exact. */
    double low = true_positive - width * sqrt(true_positive / trials) - delta;
    double high = false_positive + width * sqrt(false_positive / trials) + 2.0 / trials;
    return low > 0.0 ? log(low / high) : -INFINITY;
}

/* The limit with the largest expected bound, chosen before any data. */
static double best_threshold(double mu, double delta, double trials)
{
    double best = 0.0;
    double best_bound = -INFINITY;
    for (int i = 0; i <= 500; i++) {
        double limit = mu * (0.01 * i - 0.5 * mu);
        double bound = expected_bound(limit, mu, delta, trials);
        if (bound > best_bound) {
            best_bound = bound;
            best = limit;
        }
    }
    return best;
}

/* ---------------------------------------------------------------- devices */

/* The log likelihood ratio of one report between the pair's two people. `person` says to which of
 * them the device belongs. */
static double loss_of(const struct audit_view *view, const struct pair *pair,
                      const struct audit_scene *scene, unsigned person)
{
    double loss = 0.0;
    for (unsigned i = 0; i < scene->n; i++) {
        double apart = pair->apart[i];
        /* The residue is known for the device's own person. For the other one it lies the
         * difference of the kept samples away. */
        double from[2] = {view->along[i] + (person == 0 ? 0.0 : -apart),
                          view->along[i] + (person == 0 ? apart : 0.0)};
        if (i < scene->m) {
            loss += audit_wave_law(scene, from[0]).log_density -
                    audit_wave_law(scene, from[1]).log_density;
        } else {
            loss += 0.5 * (from[1] * from[1] - from[0] * from[0]) / (scene->sd * scene->sd);
        }
    }
    return loss;
}

/* A device's whole life: all its reports, the sum of their losses, and whether it exceeds each
 * threshold. */
static void one_device(struct pairs *pairs, struct pair *pair, unsigned person)
{
    const struct audit_scene *scene = pairs->frame->scene;
    struct audit_view view;
    double loss = 0.0;
    unsigned releases = (unsigned)tremolo_audit_releases(scene->audit->plan);
    bool good = audit_enrol(scene->audit, UINT32_MAX, UINT32_MAX);
    for (unsigned k = 0; k < releases && good; k++) {
        /* A mixed pair differs in another direction in each report. */
        const struct pair *now = pair->kind == MIXED ? &pairs->pair[k % (pairs->count - 2)] : pair;
        good = audit_look(&view, pairs->frame, &now->person[person], k);
        if (good) {
            view.family = 9;
            loss += loss_of(&view, now, scene, person);
            good = audit_battery_add(pairs->battery, &view);
        }
    }
    for (unsigned k = 0; k < THRESHOLDS; k++) {
        pair->rates[k].trials[person]++;
        pair->rates[k].above[person] += loss > pairs->threshold[k];
    }
}

/* Run 2 * devices devices. Every second pair of devices is the last pair of people, the
 * diagonal's; the others take turns. */
static void run_frame(struct pairs *pairs, struct audit *audit, uint64_t devices)
{
    for (uint64_t i = 0; i < devices && audit->status == TREMOLO_OK; i++) {
        bool last = i % 2 == 0 || pairs->count == 1;
        struct pair *pair =
            &pairs->pair[last ? pairs->count - 1 : (unsigned)(i / 2 % (pairs->count - 1))];
        one_device(pairs, pair, 0);
        if (audit->status == TREMOLO_OK) {
            one_device(pairs, pair, 1);
        }
        audit->status = tremolo_progress_add(audit->progress, 1, audit->status);
    }
}

/* ---------------------------------------------------------------- judging */

/* Note what the tests of one pair say about epsilon, delta and mu. */
static void judge_pair(const struct pair *pair, const struct pairs *pairs, struct audit *audit)
{
    const struct tremolo_audit_claim *claim = &audit->plan->claim;
    const struct audit_rates *far = &pair->rates[AT_EPSILON];
    const char *kind = kind_names[pair->kind];
    for (unsigned k = 0; k < THRESHOLDS; k++) {
        const struct audit_rates *rates = &pair->rates[k];
        double bound = audit_bound(rates, AUDIT_EPSILON, claim->delta, 1.0 - 0.99);
        audit_note(
            audit, CHECK_EPSILON, audit_p_rates(rates, AUDIT_EPSILON, claim->epsilon, claim->delta),
            bound, claim->epsilon,
            "people apart along %s %u are distinguished with epsilon %.4g or more, claimed %.4g",
            kind, pair->index, bound, claim->epsilon);
    }
    /* What delta would have to be at the claimed epsilon. */
    double tail = audit_rate(far, 0) -
                  exp(claim->epsilon) * (double)far->above[1] / fmax(1.0, (double)far->trials[1]);
    audit_note(audit, CHECK_DELTA, audit_p_rates(far, AUDIT_EPSILON, claim->epsilon, claim->delta),
               tail, claim->delta,
               "people apart along %s %u: delta is %.3g beyond the claimed epsilon, claimed %.3g",
               kind, pair->index, tail, claim->delta);
    double mu = audit_bound(&pair->rates[AT_EVEN], AUDIT_MU, 0.0, 1.0 - 0.99);
    audit_note(audit, CHECK_MU, audit_p_rates(&pair->rates[AT_EVEN], AUDIT_MU, claim->mu_most, 0.0),
               mu, claim->mu_most,
               "people apart along %s %u (%s): mu is %.4g or more, claimed %.4g", kind, pair->index,
               pairs->frame->name, mu, claim->mu_most);
}

/* Add the counts of one test to those of another. */
static void add_rates(struct audit_rates *sum, const struct audit_rates *rates)
{
    for (unsigned person = 0; person < 2; person++) {
        sum->above[person] += rates->above[person];
        sum->trials[person] += rates->trials[person];
    }
}

/* Judge all pairs of a kind together, which gives tighter bounds, and keep the numbers that are
 * shown. */
static void judge_kinds(struct audit *audit, const struct pairs pairs[2])
{
    const struct tremolo_audit_plan *plan = audit->plan;
    for (unsigned kind = 0; kind < KINDS; kind++) {
        struct tremolo_audit_pairs *shown = &audit->result->pairs[kind];
        struct audit_rates rates = {0};
        double square = 0.0;
        for (unsigned f = 0; f < 2; f++) {
            for (unsigned k = 0; k < pairs[f].count; k++) {
                const struct pair *pair = &pairs[f].pair[k];
                if (pair->kind == kind) {
                    /* Pairs are weighted by their devices, as the rates are. */
                    square += (double)pair->rates[AT_EVEN].trials[0] * pair->mu2;
                    add_rates(&rates, &pair->rates[AT_EVEN]);
                }
            }
        }
        shown->kind = kind_names[kind];
        shown->devices = rates.trials[0] + rates.trials[1];
        shown->mu_own = sqrt(square / fmax(1.0, (double)rates.trials[0]));
        shown->mu_seen = shown->devices > 0 ? audit_bound(&rates, AUDIT_MU, 0.0, 1.0) : NAN;
        shown->mu_lower = audit_bound(&rates, AUDIT_MU, 0.0, 1.0 - plan->confidence);
        audit_note(audit, CHECK_MU, audit_p_rates(&rates, AUDIT_MU, plan->claim.mu_most, 0.0),
                   shown->mu_lower, plan->claim.mu_most,
                   "people apart along %s: mu is %.4g or more, claimed %.4g", kind_names[kind],
                   shown->mu_lower, plan->claim.mu_most);
    }
}

/* The bounds that are shown, from the pair with most devices in both frames. */
static enum tremolo_status show_bounds(struct tremolo_audit_result *result,
                                       const struct pairs pairs[2],
                                       const struct tremolo_audit_plan *plan)
{
    struct audit_rates best = {0};
    struct audit_rates even = {0};
    struct tremolo_gaussian cost = {0.0, 0.0};
    struct tremolo_certified epsilon = {0.0, 0.0, 0.0};
    enum tremolo_status status = TREMOLO_OK;
    for (unsigned f = 0; f < 2; f++) {
        assert(pairs[f].pair != NULL); /* a frame has at least its axes */
        const struct pair *last = &pairs[f].pair[pairs[f].count - 1];
        add_rates(&best, &last->rates[AT_BEST]);
        add_rates(&even, &last->rates[AT_EVEN]);
    }
    result->true_positive = audit_rate(&best, 0);
    result->false_positive = audit_rate(&best, 1);
    result->epsilon_lower =
        audit_bound(&best, AUDIT_EPSILON, plan->claim.delta, 1.0 - plan->confidence);
    result->mu_lower = audit_bound(&even, AUDIT_MU, 0.0, 1.0 - plan->confidence);
    if (result->mu_lower > 0.0) {
        status = tremolo_gaussian_add(&cost, result->mu_lower, 1.0, 1);
        if (status == TREMOLO_OK) {
            status = tremolo_gaussian_epsilon(&epsilon, &cost, plan->claim.delta);
        }
        result->epsilon_by_mu = epsilon.lower;
    }
    return status;
}

/* The mean squared error of the unbiased attack, which divides a report by 1 - alpha, with its
 * bounds. Every report counts for itself. */
static enum tremolo_status show_attack(struct tremolo_audit_result *result,
                                       const struct pairs pairs[2])
{
    const struct audit_scene *scene = pairs[0].frame->scene;
    const struct tremolo_study *study = &scene->study;
    double clip = study->clip;
    double count[2];
    double error = audit_battery_error(pairs[0].battery, &count[0]) +
                   audit_battery_error(pairs[1].battery, &count[1]);
    double numbers = count[0] + count[1];
    const struct tremolo_reconstruction_setup setup = {
        .modulation = {1.0 - scene->keep, study->amplitude * sqrt((double)study->vectors) / clip,
                       6.283185307179586 * study->frequency * clip / ldexp(1.0, 40),
                       study->vectors},
        .dimension = scene->n,
        .sigma = ldexp(1.0, study->noise_log2) / clip,
        .releases = 1,
    };
    struct tremolo_reconstruction bounds;
    enum tremolo_status status = tremolo_reconstruction_bounds(&bounds, &setup);
    if (status == TREMOLO_OK) {
        result->mse = error / numbers / (clip * scene->keep) / (clip * scene->keep);
        /* Errors of the coordinates are nearly normal, so that a mean of n squares has
         * relative variance 2 / n. */
        result->mse_error = result->mse * sqrt(2.0 / numbers);
        result->mse_bound = bounds.marginal;
        result->mse_paper = bounds.phase_averaged;
    }
    return status;
}

/* Half of the devices in each of two frames, then the judgement. */
static void run_pairs(struct audit *audit, const struct audit_scene *scene)
{
    const struct tremolo_audit_plan *plan = audit->plan;
    const struct tremolo_audit_claim *claim = &plan->claim;
    /* Fixed before any report is made, so that bounds from the rates hold. */
    double best = best_threshold(claim->mu, claim->delta, 0.5 * (double)plan->pairs);
    struct pairs pairs[2] = {{0}};
    for (unsigned f = 0; f < 2 && audit->status == TREMOLO_OK; f++) {
        pairs[f] = (struct pairs){
            .frame = &scene->frame[f],
            .battery = audit_battery_new(&scene->frame[f]),
            .threshold = {[AT_EPSILON] = claim->epsilon, [AT_BEST] = best},
        };
        if (pairs[f].battery != NULL && make_pairs(&pairs[f])) {
            run_frame(&pairs[f], audit, (plan->pairs + f) / 2);
        }
        if (audit->status == TREMOLO_OK) {
            audit_battery_judge(pairs[f].battery);
        }
        /* The last has most devices: where nothing is found, it is the one to be shown. */
        for (unsigned k = pairs[f].count; k-- > 0 && audit->status == TREMOLO_OK;) {
            judge_pair(&pairs[f].pair[k], &pairs[f], audit);
        }
    }
    if (audit->status == TREMOLO_OK) {
        judge_kinds(audit, pairs);
        if (audit_goes_on(audit, show_bounds(audit->result, pairs, plan))) {
            (void)audit_goes_on(audit, show_attack(audit->result, pairs));
        }
    }
    for (unsigned f = 0; f < 2; f++) {
        audit_battery_free(pairs[f].battery);
        free(pairs[f].pair);
    }
}

void audit_pairs_run(struct audit *audit)
{
    struct audit_scene scene;
    if (audit->status != TREMOLO_OK) {
        return;
    }
    if (audit_scene_open(&scene, "the study", &audit->plan->study, audit)) {
        run_pairs(audit, &scene);
    }
    audit_scene_close(&scene);
}
