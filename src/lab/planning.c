/* planning.c -- what a study will find: its noise, the devices needed, what each choice costs.
 *
 * A plan puts guesses about people through the formulas that estimates obey. Noisy samples are
 * planned by regression/plan.c, from the standard deviation of their noise. Ballots are planned
 * by tremolo_ballot_plan(), from the integers of the study that would be written. So a plan and
 * the study file agree about every constant.
 *
 * The accountant calibrates for sensitivity 1 and we scale. Exact noise does not depend on alpha
 * once alpha is undone. The paper's rule adds the modulation's share of the sensitivity to zCDP.
 *
 * Planning answers before anything is written or measured, so every number rests on guesses of
 * the caller: how much features vary, how they correlate, and what share of the response they
 * explain. The result is an expectation, not a bound; only the attacks are upper bounds, by the
 * accountant. */
#include "tremolo_planning.h"

#include <math.h>
#include <stdio.h>

#include "accountant.h"
#include "estimate_json.h"
#include "explain.h"
#include "refuse.h"
#include "study_internal.h"
#include "regression.h"
#include "release.h"
#include "tremolo_study_file.h"

/* More devices than could be had: searches end here and say UNREACHABLE. */
#define MAX_DEVICES 1e15
/* The probability with which an effect of the asked size is found, by convention. */
static const double wanted_power = 0.8;

/* The other release is a noisy sample. */
static bool is_ballot(const struct tremolo_plan_request *request)
{
    return request->release == TREMOLO_RELEASE_BALLOT;
}

/* ---------------------------------------------------------------- the request */

/* The usual guesses hold for features within their ranges, by TREMOLO_PLAN_SD. */
void tremolo_plan_begin(struct tremolo_plan_request *request)
{
    *request = (struct tremolo_plan_request){
        .guess = {.feature_variance = TREMOLO_PLAN_SD * TREMOLO_PLAN_SD,
                  .response_variance = TREMOLO_PLAN_SD * TREMOLO_PLAN_SD,
                  .r2 = TREMOLO_PLAN_R2,
                  .level = 0.95},
        .release = TREMOLO_RELEASE_BALLOT,
        .epsilon = NAN,
        .delta = 1e-5,
        .response_private = true,
        .samples = 1,
        .half_width = NAN,
        .effect = NAN,
    };
}

/* The number of devices is the caller's: a study's limit need not be what is expected. A clip
 * that equals the box is stored as 0, "clips nothing", so that a plan with fewer features does
 * not keep the radius of the larger box. */
void tremolo_plan_take_study(struct tremolo_plan_request *request,
                             const struct tremolo_study_file *study)
{
    const struct tremolo_study_terms *terms = tremolo_study_file_terms(study);
    request->guess.dimension = tremolo_study_file_dimension(study);
    request->guess.vectors = terms->vectors;
    request->epsilon = terms->epsilon;
    request->release = terms->release;
    if (terms->release == TREMOLO_RELEASE_SAMPLE) {
        request->delta = terms->delta;
        /* A study that clips nothing has no radius: with fewer features the box is smaller. */
        double box = sqrt((double)(request->guess.dimension + terms->response_private));
        request->radius = terms->distance > 0.0 || terms->clip == box ? 0.0 : terms->clip;
    }
    request->alpha = terms->alpha;
    request->lambda = terms->lambda;
    request->omega = terms->omega;
    request->samples = (long)terms->samples;
    request->distance = terms->distance;
    request->response_private = terms->response_private;
    request->calibration = terms->calibration;
    request->least_variance = tremolo_release_least_variance(study);
}

/* A ballot's epsilon is limited by the integers of its law. Each ballot of a device has a share
 * of the budget. False with the member that is at fault. */
static bool check_ballot(const struct tremolo_plan_request *request,
                         struct tremolo_refusal *refusal)
{
    double epsilon = request->epsilon / (double)request->samples;
    if (request->distance > 0.0) {
        return refuse_member(refusal, "neighbours",
                             "must be any for ballots, which protect any two people; a distance "
                             "needs the release sample");
    }
    return (epsilon >= TREMOLO_RANK_EPSILON_MIN && epsilon <= TREMOLO_RANK_EPSILON_MAX) ||
           refuse_member(refusal, "epsilon", "must be %g to %g for each ballot of a device",
                         TREMOLO_RANK_EPSILON_MIN, TREMOLO_RANK_EPSILON_MAX);
}

/* What is missing comes first, so that no message is about a number that was never given. */
bool tremolo_plan_settle(struct tremolo_plan_request *request, struct tremolo_refusal *refusal)
{
    const struct tremolo_plan_input *guess = &request->guess;
    double d = (double)guess->dimension;
    const char *missing = guess->dimension == 0     ? "dimension"
                          : !(guess->devices > 0.0) ? "devices"
                          : isnan(request->epsilon) ? "epsilon"
                                                    : NULL;
    if (missing != NULL) {
        return refuse_member(refusal, missing, "is needed");
    }
    if (request->effect == 0.0) {
        return refuse_member(refusal, "effect", "must be other than 0");
    }
    if (d > 1.0 && !(guess->correlation > -1.0 / (d - 1.0))) {
        return refuse_member(refusal, "correlation",
                             "must be above %.4g: %g features cannot all differ more",
                             -1.0 / (d - 1.0), d);
    }
    if (guess->vectors > guess->dimension) {
        return refuse_member(refusal, "dimension", "must be at least the study's %zu vectors",
                             guess->vectors);
    }
    if (request->distance > 0.0) {
        request->radius = 0.0; /* a study's clip is for any two people */
    }
    return !is_ballot(request) || check_ballot(request, refusal);
}

/* ---------------------------------------------------------------- guesses */

/* The coefficient of features that share the guessed R^2 equally, scaled. d uncorrelated features
 * with the coefficient b explain d b^2 v of the response's variance, with v the variance of one;
 * set equal to R^2 times that variance this gives b. */
static double guessed_coefficient(const struct tremolo_plan_request *request)
{
    const struct tremolo_plan_input *guess = &request->guess;
    return sqrt(guess->r2 * guess->response_variance /
                ((double)guess->dimension * guess->feature_variance));
}

/* How many times wider than guessed the interval of the least varying feature is: noise counts by
 * one over the variance. 1 without a study, which alone says how little a feature can vary. */
static double widening(const struct tremolo_plan_request *request)
{
    double least = request->least_variance;
    return least > 0.0 ? fmax(request->guess.feature_variance / least, 1.0) : 1.0;
}

/* Half the width of an interval in standard errors, by Student's law as in estimates. The
 * jackknife's degrees of freedom are one less than the number of buckets. */
static double interval_quantile(double level)
{
    return tremolo_student_quantile(0.5 + 0.5 * level, TREMOLO_BUCKETS - 1);
}

/* Documents have null, and tables "no number", for devices without end. */
static double finite_or_none(double devices)
{
    return isfinite(devices) ? devices : 0.0;
}

/* ---------------------------------------------------------------- noisy samples */

/* Two samples differ by at most the distance, or by the diameter of the ball that all of them are
 * clipped to. The whole box has the radius sqrt(coordinates). In half ranges, l2: a coordinate
 * runs from -1 to 1, so a box of k coordinates has corners at sqrt(k) from its middle, and two
 * opposite ones are twice that apart. */
double tremolo_plan_sensitivity(const struct tremolo_plan_request *request)
{
    if (request->distance > 0.0) {
        return request->distance;
    }
    double radius =
        request->radius > 0.0
            ? request->radius
            : sqrt((double)request->guess.dimension + (request->response_private ? 1.0 : 0.0));
    return 2.0 * radius;
}

/* Noise sd of one release, per coordinate, alpha undone. Infinite when no noise satisfies the
 * request; the plan then has no finite error. All of a device's samples are paid for together,
 * which is why their number enters here. */
static double noise_of(const struct tremolo_plan_request *request)
{
    struct tremolo_certified sigma;
    enum tremolo_rule rule =
        request->calibration == TREMOLO_CALIBRATION_EXACT ? TREMOLO_RULE_EXACT : TREMOLO_RULE_ZCDP;
    if (tremolo_rule_sigma(&sigma, rule, request->epsilon, request->delta,
                           tremolo_plan_sensitivity(request),
                           (uint64_t)request->samples) != TREMOLO_OK) {
        return INFINITY; /* tremolo_plan refuses it */
    }
    double noise = sigma.upper;
    if (request->calibration == TREMOLO_CALIBRATION_PAPER && request->guess.vectors > 0) {
        double wave = request->lambda * request->omega / sqrt((double)request->guess.vectors);
        noise *= 1.0 + wave / (1.0 - request->alpha);
    }
    return noise;
}

/* The guesses with the noise of this request. A wave adds its mean square along each of the
 * directions, and alpha is undone as for the noise. The mean square of a wave of amplitude lambda
 * / sqrt(m) is lambda^2 / (2 m), with m vectors; dividing by (1 - alpha)^2 brings it to the scale
 * on which alpha is undone. */
static struct tremolo_plan_input sample_input(const struct tremolo_plan_request *request)
{
    struct tremolo_plan_input input = request->guess;
    double keep = 1.0 - request->alpha;
    input.noise_sd = noise_of(request);
    input.response_private = request->response_private;
    if (input.vectors > 0) {
        input.modulation =
            request->lambda * request->lambda / (2.0 * (double)input.vectors * keep * keep);
    }
    return input;
}

/* How often an attacker is right at most about two people `distance` apart. Gaussian noise of sd
 * sigma on two points that are `distance` apart is mu-GDP with mu = distance / sigma, and k
 * samples of a device compose to sqrt(k) times that. 1 where the accountant refuses. */
static double sample_attack(double *mu, const struct tremolo_plan_request *request, double distance)
{
    struct tremolo_certified accuracy;
    *mu = sqrt((double)request->samples) * distance / noise_of(request);
    return tremolo_attack_accuracy(&accuracy, *mu) == TREMOLO_OK ? accuracy.upper : 1.0;
}

/* A promise for near pairs says little about others. These are the pairs that a reader thinks of.
 * No typical pair is farther apart than the widest one, which a clip can bring closer than the
 * box. */
static void fill_attacks(struct tremolo_plan_attacks *attacks,
                         const struct tremolo_plan_request *request)
{
    struct tremolo_plan_request any = *request;
    double other;
    any.distance = 0.0;
    attacks->widest = tremolo_plan_sensitivity(&any);
    attacks->typical_distance =
        fmin(tremolo_typical_distance((unsigned)request->guess.dimension), attacks->widest);
    attacks->promised = sample_attack(&attacks->mu, request, request->distance);
    attacks->ends = sample_attack(&other, request, 2.0);
    attacks->typical = sample_attack(&other, request, attacks->typical_distance);
    attacks->any_two = sample_attack(&other, request, attacks->widest);
}

/* As `study` files are calibrated: in half ranges, one round, all samples of a device paid for.
 * The study is built by the same call as a study file, so that rounding to integers is the
 * file's. */
static enum tremolo_status fill_samples(struct tremolo_study *study,
                                        const struct tremolo_plan_request *request)
{
    struct tremolo_mechanism_request asked = TREMOLO_MECHANISM_DEFAULTS;
    struct tremolo_mechanism_scales scales;
    bool modulated = request->guess.vectors > 0;
    double released = (double)request->guess.dimension + (request->response_private ? 1.0 : 0.0);
    asked.dimension = request->guess.dimension;
    asked.response_private = request->response_private;
    asked.radius = request->radius > 0.0 ? request->radius : sqrt(released);
    asked.neighbours =
        request->distance > 0.0 ? TREMOLO_NEIGHBOURS_DISTANCE : TREMOLO_NEIGHBOURS_ANY;
    asked.distance = fmin(request->distance, 2.0 * asked.radius);
    asked.epsilon = request->epsilon;
    asked.delta = request->delta;
    asked.rounds = (uint16_t)request->samples;
    asked.calibration = request->calibration;
    asked.alpha = request->alpha;
    asked.vectors = request->guess.vectors;
    asked.lambda = modulated ? request->lambda : 0.0;
    asked.omega = modulated ? request->omega : 0.0;
    return tremolo_mechanism_fill(study, &scales, &asked);
}

/* ---------------------------------------------------------------- ballots */

/* The study of one round that would be written. Its integers give h, g and the law of ballots,
 * and the noise of samples. It has no bounds. The bounds are needed while it is made and are this
 * function's own, so the pointer is cleared before it returns. */
static enum tremolo_status study_of(struct tremolo_study *study,
                                    const struct tremolo_plan_request *request)
{
    struct tremolo_bounds bounds[TREMOLO_MAX_DIMENSION];
    for (size_t i = 0; i < TREMOLO_MAX_DIMENSION; i++) {
        bounds[i] = (struct tremolo_bounds){-1, 1};
    }
    *study = (struct tremolo_study){.bounds = bounds, .response_bounds = {-1, 1}};
    enum tremolo_status status =
        is_ballot(request)
            ? tremolo_mechanism_ballot(study, request->guess.dimension, request->response_private,
                                       request->epsilon / (double)request->samples)
            : fill_samples(study, request);
    study->bounds = NULL;
    return status;
}

/* Of the ballot's rank. */
static struct tremolo_rank_law law_of(const struct tremolo_study *study)
{
    return (struct tremolo_rank_law){study->rank_first, study->rank_top};
}

/* The integers of the study give h, g and the scale of an answer; all else is guessed. *input is
 * filled in either case; after a failure its numbers are of no use. */
static enum tremolo_status ballot_input(struct tremolo_ballot_plan_input *input,
                                        const struct tremolo_plan_request *request)
{
    const struct tremolo_plan_input *guess = &request->guess;
    struct tremolo_study study;
    double scale = 0;
    enum tremolo_status status = study_of(&study, request);
    if (status == TREMOLO_OK) {
        const struct tremolo_rank_law law = law_of(&study);
        status = tremolo_rank_scale(&scale, &law);
    }
    *input = (struct tremolo_ballot_plan_input){
        .dimension = guess->dimension,
        .response_public = !request->response_private,
        .h = study.constant / (double)TREMOLO_BALLOT_ONE,
        .g = study.response_weight / (double)TREMOLO_BALLOT_ONE,
        .devices = guess->devices,
        .c = scale,
        .feature_variance = guess->feature_variance,
        .correlation = guess->correlation,
        .r2 = guess->r2,
        .response_variance = guess->response_variance,
        .wider = widening(request),
    };
    return status;
}

/* One evaluation at the guessed number of devices. */
static enum tremolo_status plan_ballots(struct tremolo_ballot_plan *plan,
                                        const struct tremolo_plan_request *request)
{
    struct tremolo_ballot_plan_input input;
    enum tremolo_status status = ballot_input(&input, request);
    return status == TREMOLO_OK ? tremolo_ballot_plan(plan, &input) : status;
}

/* Devices for a standard error, which falls as devices grow, and faster than their root while
 * noise hides the features' moments. So the number is found by bisection. Halving is done on the
 * logarithm, because the answer may be 10^3 or 10^12. The largest number is tried first: if it is
 * not enough, none is. *devices is untouched on failure. */
static enum tremolo_status ballots_for_error(double *devices,
                                             const struct tremolo_plan_request *request,
                                             double standard_error)
{
    struct tremolo_ballot_plan_input input;
    struct tremolo_ballot_plan plan;
    double low = 2.0;
    double high = MAX_DEVICES;
    enum tremolo_status status = ballot_input(&input, request);
    while (status == TREMOLO_OK && high > low * (1.0 + 1e-9)) {
        input.devices = high < MAX_DEVICES ? sqrt(low * high) : high;
        status = tremolo_ballot_plan(&plan, &input);
        if (status == TREMOLO_OK && plan.standard_error <= standard_error) {
            high = fmin(input.devices, MAX_DEVICES * (1.0 - 1e-9));
        } else if (input.devices == MAX_DEVICES) {
            return TREMOLO_UNREACHABLE;
        } else {
            low = input.devices;
        }
    }
    if (status == TREMOLO_OK) {
        *devices = ceil(high);
    }
    return status;
}

/* What pure epsilon alone allows: e^epsilon / (1 + e^epsilon). An upper bound for every mechanism
 * with that epsilon; 1 where the accountant refuses. */
static double attack_by_epsilon(double epsilon)
{
    struct tremolo_certified accuracy;
    return tremolo_attack_accuracy_budget(&accuracy, epsilon, 0.0) == TREMOLO_OK ? accuracy.upper
                                                                                 : 1.0;
}

/* All ballots of a device together, as in a study's guarantee: at even odds the best test is right
 * (1 + delta(0)) / 2 of the time. Where that is out of range, epsilon alone bounds it. */
static double ballot_attack(const struct tremolo_plan_request *request)
{
    const struct tremolo_gaussian none = {0};
    struct tremolo_certified delta;
    struct tremolo_study study;
    if (study_of(&study, request) != TREMOLO_OK) {
        return attack_by_epsilon(request->epsilon);
    }
    const struct tremolo_ballots ballots = {law_of(&study), (uint64_t)request->samples};
    return tremolo_mixture_delta(&delta, &ballots, &none, 0.0) == TREMOLO_OK
               ? 0.5 * (1.0 + delta.upper)
               : attack_by_epsilon(request->epsilon);
}

/* ---------------------------------------------------------------- a trusted server */

/* Sums of two people's samples differ by at most sqrt2, and noise of density
 * exp(-epsilon |z| / sqrt2) on n of them is normal with a variance of 4 t^2 / epsilon^2,
 * t^2 ~ Gamma((n + 1) / 2). The best test asks which of the two is nearer, so it is right
 * E Phi(epsilon / (sqrt8 t)) of the time: a mean over t, with a density that has its mode near the
 * middle of a span of 24 standard deviations, which are below 1/2. `noise` is that of one sum,
 * sqrt(2 (n + 1)) / epsilon. */
static double attack_on_sums(double noise, double epsilon)
{
    enum { STEPS = 2000 };
    const double span = 12.0, margin = 1e-9; /* of rounding and of what is beyond the span */
    double twice_shape = 0.5 * noise * noise * epsilon * epsilon;
    double mode = sqrt(0.5 * (twice_shape - 1.0));
    double right = 0.0, total = 0.0;
    for (int k = 0; k <= STEPS; k++) {
        double t = mode + span * (k / (double)STEPS - 0.5);
        if (t > 0.0) {
            double density = exp((twice_shape - 1.0) * log(t / mode) - (t - mode) * (t + mode));
            right += density * tremolo_normal_cdf(epsilon / (sqrt(8.0) * t));
            total += density;
        }
    }
    return fmin(right / total + margin, attack_by_epsilon(epsilon));
}

/* Pure epsilon for any two people, everything protected. The server needs no ballots, only the
 * points' bounded products. The lever's request is changed to what was evaluated, apart from
 * epsilon, which is put back. */
static void evaluate_trust(struct tremolo_plan_lever *lever)
{
    struct tremolo_plan_request *request = &lever->request;
    struct tremolo_ballot_plan_input input;
    struct tremolo_ballot_plan plan;
    double epsilon = request->epsilon;
    request->release = TREMOLO_RELEASE_BALLOT;
    request->response_private = true;
    request->distance = 0.0;
    request->epsilon = 1.0; /* h and g do not depend on it; any valid one will do */
    request->samples = 1;
    enum tremolo_status status = ballot_input(&input, request);
    request->epsilon = epsilon;
    input.c = 0.0;
    input.summed_noise = tremolo_ballot_trusted_noise(request->guess.dimension, epsilon);
    lever->attack = attack_on_sums(input.summed_noise, epsilon);
    lever->r2 = NAN;
    if (status == TREMOLO_OK && tremolo_ballot_plan(&plan, &input) == TREMOLO_OK) {
        lever->devices = finite_or_none(plan.devices_needed);
        lever->r2 = plan.r2;
    }
}

/* ---------------------------------------------------------------- either release */

/* What the request will give. R^2 and what is compared with refer to the response as it is,
 * without its noise. The public-response error and the minimax errors come from tremolo_plan()
 * for either release. *result is untouched on failure. */
static enum tremolo_status expect(struct tremolo_plan_result *result,
                                  const struct tremolo_plan_request *request)
{
    const struct tremolo_plan_input input = is_ballot(request) ? request->guess /* no noise */
                                                               : sample_input(request);
    struct tremolo_ballot_plan plan = {.r2 = 0.0};
    struct tremolo_plan_result made;
    enum tremolo_status status = is_ballot(request) ? plan_ballots(&plan, request) : TREMOLO_OK;
    status = status == TREMOLO_OK ? tremolo_plan(&made, &input) : status;
    if (status != TREMOLO_OK) {
        return status;
    }
    if (is_ballot(request)) {
        made.standard_error = plan.standard_error;
        made.half_width = plan.standard_error * interval_quantile(input.level);
        made.r2_auto = plan.r2;
        made.noise_ratio = plan.noise_ratio;
        made.prediction_error = NAN;
        made.estimation_error = NAN;
    }
    *result = made;
    return TREMOLO_OK;
}

/* Devices with which a coefficient of the guessed size is significant; 0: no number that could be
 * had. */
static double devices_needed(const struct tremolo_plan_request *request)
{
    struct tremolo_ballot_plan plan;
    if (is_ballot(request)) {
        return plan_ballots(&plan, request) == TREMOLO_OK ? finite_or_none(plan.devices_needed)
                                                          : 0.0;
    }
    const struct tremolo_plan_input input = sample_input(request);
    double wider = widening(request); /* errors fall with the root of the devices */
    return finite_or_none(wider * wider * tremolo_plan_needed(&input));
}

/* Devices for a half width, or for an effect where that is NaN. An effect is found with
 * probability p when it is t + z_p standard errors from zero, t being the quantile of the
 * interval and z_p the normal one of p. */
static enum tremolo_status devices_for(double *devices, const struct tremolo_plan_request *request,
                                       double half_width, double effect)
{
    double t = interval_quantile(request->guess.level);
    double wider = widening(request);
    if (is_ballot(request)) {
        double wanted = half_width > 0.0
                            ? half_width / t
                            : fabs(effect) / (t + tremolo_normal_quantile(wanted_power));
        return ballots_for_error(devices, request, wanted / wider);
    }
    struct tremolo_plan_input input = sample_input(request);
    return tremolo_plan_devices(devices, &input, half_width > 0.0 ? half_width / wider : 0.0,
                                isnan(effect) ? 0.0 : wanted_power,
                                isnan(effect) ? 0.0 : effect / wider);
}

/* ---------------------------------------------------------------- levers */

/* Each lever is compared at its attack on any two people, also one that promises a distance: the
 * attacker does not care what was promised. */
static void evaluate(struct tremolo_plan_lever *lever)
{
    const struct tremolo_plan_request *request = &lever->request;
    struct tremolo_plan_request any = *request;
    struct tremolo_plan_result result;
    double mu;
    any.distance = 0.0;
    lever->devices = devices_needed(request);
    lever->r2 = expect(&result, request) == TREMOLO_OK ? result.r2_auto : NAN;
    lever->attack = is_ballot(request)
                        ? ballot_attack(request)
                        : sample_attack(&mu, request, tremolo_plan_sensitivity(&any));
}

/* Tables and documents show the name, so it says what changes and nothing else. */
static void name_lever(struct tremolo_plan_lever *lever)
{
    const struct tremolo_plan_request *request = &lever->request;
    const char *release = is_ballot(request) ? "ballots" : "noisy samples";
    char *name = lever->name;
    size_t bytes = sizeof lever->name;
    switch (lever->kind) {
    case TREMOLO_LEVER_NONE: (void)snprintf(name, bytes, "as planned: %s", release); break;
    case TREMOLO_LEVER_RELEASE:
        (void)snprintf(name, bytes, "%s for any two people", release);
        break;
    case TREMOLO_LEVER_EPSILON:
        (void)snprintf(name, bytes, "epsilon %g", tremolo_digits_up(request->epsilon, 6));
        break;
    case TREMOLO_LEVER_FEATURES:
        (void)snprintf(name, bytes, "%zu feature%s with the same R^2", request->guess.dimension,
                       request->guess.dimension == 1 ? "" : "s");
        break;
    case TREMOLO_LEVER_PROTECT:
        (void)snprintf(name, bytes, "response %s",
                       request->response_private ? "protected as well" : "in the clear");
        break;
    case TREMOLO_LEVER_DISTANCE:
        (void)snprintf(name, bytes, "noisy samples for distance=%g", request->distance);
        break;
    case TREMOLO_LEVER_TRUST:
        (void)snprintf(name, bytes, "a trusted server, any two people");
        break;
    }
}

/* The next lever: the request, for the caller to change. There is room for all levers of
 * fill_levers(): TREMOLO_PLAN_LEVERS_MAX is at least their number. */
static struct tremolo_plan_request *add(struct tremolo_plan_answer *answer,
                                        enum tremolo_plan_lever_kind kind,
                                        const struct tremolo_plan_request *request)
{
    struct tremolo_plan_lever *lever = &answer->levers[answer->lever_count++];
    lever->kind = kind;
    lever->request = *request;
    return &lever->request;
}

/* The other release, or the same one for other neighbours. */
static void add_release(struct tremolo_plan_answer *answer, enum tremolo_plan_lever_kind kind,
                        const struct tremolo_plan_request *request,
                        enum tremolo_release_kind release, double distance)
{
    struct tremolo_plan_request *changed = add(answer, kind, request);
    changed->release = release;
    changed->distance = distance;
}

/* Half and double, unless no ballot has that epsilon. */
static void add_epsilon(struct tremolo_plan_answer *answer,
                        const struct tremolo_plan_request *request, double epsilon)
{
    double each = epsilon / (double)request->samples;
    if (!is_ballot(request) ||
        (each >= TREMOLO_RANK_EPSILON_MIN && each <= TREMOLO_RANK_EPSILON_MAX)) {
        add(answer, TREMOLO_LEVER_EPSILON, request)->epsilon = epsilon;
    }
}

/* The lever that needs fewest devices without helping an attacker. A release that does so at the
 * same guarantee, or protects more pairs of people, comes before all others. */
static size_t best_lever(const struct tremolo_plan_answer *answer)
{
    const struct tremolo_plan_lever *own = answer->levers;
    size_t best = 0;
    for (size_t i = 1; i < answer->lever_count; i++) {
        const struct tremolo_plan_lever *lever = &answer->levers[i];
        double now = answer->levers[best].devices;
        bool fewer = lever->devices > 0.0 && (now == 0.0 || lever->devices < now);
        bool release = lever->kind == TREMOLO_LEVER_RELEASE;
        bool as_safe = lever->attack <= own->attack || (release && own->request.distance == 0.0);
        if (fewer && as_safe && lever->kind != TREMOLO_LEVER_TRUST) {
            best = i;
            if (release) {
                break;
            }
        }
    }
    return best;
}

/* The order is the table's: the request, releases, epsilon, features, protection, distance,
 * trust. All but the last are evaluated alike. */
static void fill_levers(struct tremolo_plan_answer *answer,
                        const struct tremolo_plan_request *request)
{
    (void)add(answer, TREMOLO_LEVER_NONE, request);
    if (!is_ballot(request)) {
        add_release(answer, TREMOLO_LEVER_RELEASE, request, TREMOLO_RELEASE_BALLOT, 0.0);
    }
    if (is_ballot(request) || request->distance > 0.0) {
        add_release(answer, TREMOLO_LEVER_RELEASE, request, TREMOLO_RELEASE_SAMPLE, 0.0);
    }
    add_epsilon(answer, request, request->epsilon / 2.0);
    add_epsilon(answer, request, request->epsilon * 2.0);
    if (request->guess.dimension > 1) {
        struct tremolo_plan_input *fewer = &add(answer, TREMOLO_LEVER_FEATURES, request)->guess;
        fewer->dimension /= 2;
        fewer->vectors = fewer->vectors < fewer->dimension ? fewer->vectors : fewer->dimension;
    }
    add(answer, TREMOLO_LEVER_PROTECT, request)->response_private = !request->response_private;
    if (request->distance == 0.0) {
        add_release(answer, TREMOLO_LEVER_DISTANCE, request, TREMOLO_RELEASE_SAMPLE, 1.0);
    }
    (void)add(answer, TREMOLO_LEVER_TRUST, request);
    for (size_t i = 0; i < answer->lever_count; i++) {
        struct tremolo_plan_lever *lever = &answer->levers[i];
        (lever->kind == TREMOLO_LEVER_TRUST ? evaluate_trust : evaluate)(lever);
        name_lever(lever);
    }
    answer->verdict.instead = best_lever(answer);
}

/* ---------------------------------------------------------------- liars
 *
 * Liars are taken to work together, to push one coefficient of the guessed size, and to stay within
 * what the robust estimate keeps (tremolo_honest.h). A coefficient b of a feature of variance v
 * adds b v to the mean product of feature and response; a liar adds the largest product
 * to their sum, so f of n turn the sign when f push = (n - f) b v. Features are taken to be
 * uncorrelated. */

/* Feature and response share the norm where both are released; a public response ends at its
 * bound. The norm is the one at which reports are set aside, in half ranges. */
static void sample_liars(double *honest, double *push, const struct tremolo_plan_request *request,
                         const struct tremolo_study *study, const struct tremolo_honest *law)
{
    double half_range = (double)study->unit * study->keep / TREMOLO_KEEP_ONE;
    double cut =
        ldexp(sqrt((double)law->limits.norm2[TREMOLO_TAIL_CUT]), study->wire_shift) / half_range;
    *honest = guessed_coefficient(request) * request->guess.feature_variance;
    *push = request->response_private ? cut * cut / 2.0 : cut;
}

/* The entry of a feature's product with the response, as far from zero as honest rows are. */
static bool ballot_liars(double *honest, double *push, const struct tremolo_plan_request *request,
                         const struct tremolo_study *study, const struct tremolo_honest *law)
{
    const struct tremolo_plan_input *guess = &request->guess;
    const struct tremolo_rank_law rank = law_of(study);
    double scale;
    if (tremolo_rank_scale(&scale, &rank) != TREMOLO_OK) {
        return false;
    }
    double h = study->constant / (double)TREMOLO_BALLOT_ONE;
    double g = study->response_weight / (double)TREMOLO_BALLOT_ONE;
    double norm2 = h * h + g * g + (double)guess->dimension * guess->feature_variance;
    *honest = M_SQRT2 * (request->response_private ? g : h) / norm2 * guessed_coefficient(request) *
              guess->feature_variance;
    *push = scale * law->limits.value / law->unit;
    return true;
}

/* The robust estimate keeps rows up to the law's limits, so a careful liar stays just below them.
 * f push = (n - f) b v solved for f, rounded up to whole devices. */
double tremolo_plan_liars(const struct tremolo_plan_request *request)
{
    struct tremolo_study study;
    struct tremolo_honest law;
    double honest, push;
    if (study_of(&study, request) != TREMOLO_OK) {
        return NAN;
    }
    tremolo_honest_law(&law, &study);
    if (!is_ballot(request)) {
        sample_liars(&honest, &push, request, &study, &law);
    } else if (!ballot_liars(&honest, &push, request, &study, &law)) {
        return NAN;
    }
    return ceil(request->guess.devices * honest / (honest + push));
}

/* ---------------------------------------------------------------- the answer */

/* The least coefficient is for the feature that varies least, as the number of devices is. The
 * ratio falls with the root of the number of devices n, so n times the square of the excess
 * brings it to its limit. */
static void fill_verdict(struct tremolo_plan_answer *answer,
                         const struct tremolo_plan_request *request)
{
    struct tremolo_plan_verdict *verdict = &answer->verdict;
    verdict->least = TREMOLO_PLAN_STANDS_OUT * answer->result.standard_error * widening(request);
    verdict->guessed = guessed_coefficient(request);
    verdict->devices = answer->levers[0].devices;
    verdict->liars = tremolo_plan_liars(request);
    verdict->told = verdict->devices > 0 && request->guess.devices >= verdict->devices;
    verdict->ratio_max = is_ballot(request) ? TREMOLO_PLAN_RATIO_BALLOT : TREMOLO_PLAN_RATIO_SAMPLE;
    /* Either release's ratio falls with the root of the number of devices. */
    double excess = answer->result.noise_ratio / verdict->ratio_max;
    verdict->identified = excess <= 1.0;
    verdict->devices_identified = ceil(request->guess.devices * excess * excess);
}

/* Levers and verdict need a result that exists; attacks need a distance. */
enum tremolo_status tremolo_plan_study(struct tremolo_plan_answer *answer,
                                       const struct tremolo_plan_request *request)
{
    *answer = (struct tremolo_plan_answer){.noise_sd = is_ballot(request) ? NAN : noise_of(request),
                                           .sensitivity = tremolo_plan_sensitivity(request)};
    enum tremolo_status status = expect(&answer->result, request);
    if (status == TREMOLO_OK && request->half_width > 0.0) {
        status = devices_for(&answer->devices_for_width, request, request->half_width, NAN);
    }
    if (status == TREMOLO_OK && !isnan(request->effect)) {
        status = devices_for(&answer->devices_for_power, request, NAN, request->effect);
    }
    if (status == TREMOLO_OK) {
        fill_levers(answer, request);
        fill_verdict(answer, request);
    }
    if (request->distance > 0.0) {
        fill_attacks(&answer->attacks, request);
    }
    return status;
}

/* UNREACHABLE has another meaning here than for a calibration. */
const char *tremolo_plan_sentence(enum tremolo_status status)
{
    return status == TREMOLO_UNREACHABLE ? "no number of devices that could be had is enough for "
                                           "that width or effect at this "
                                           "noise"
                                         : tremolo_status_sentence(status);
}

/* ---------------------------------------------------------------- the document */

/* As study files name it. */
static const char *release_name(const struct tremolo_plan_request *request)
{
    return is_ballot(request) ? "ballot" : "sample";
}

/* As options and study files name it. */
static const char *protect_name(const struct tremolo_plan_request *request)
{
    return request->response_private ? "all" : "features";
}

/* Null for devices without end. */
static json_t *positive(double value)
{
    return value > 0.0 ? json_real(value) : json_null();
}

/* A trusted server has no release of this table: it adds noise to sums. */
static json_t *lever_json(const struct tremolo_plan_lever *lever)
{
    const struct tremolo_plan_request *request = &lever->request;
    bool trusted = lever->kind == TREMOLO_LEVER_TRUST;
    return json_pack("{s:s, s:s, s:f, s:i, s:s, s:f, s:b, s:o, s:o, s:f}", "name", lever->name,
                     "release", trusted ? "sums" : release_name(request), "epsilon",
                     request->epsilon, "dimension", (int)request->guess.dimension, "protect",
                     protect_name(request), "distance", request->distance, "trusted", trusted,
                     "devices_needed", positive(lever->devices), "r2", json_latch_number(lever->r2),
                     "attack_success", lever->attack);
}

/* The keys are a part of the interface and keep their names. */
static json_t *verdict_json(const struct tremolo_plan_verdict *verdict)
{
    return json_pack("{s:b, s:f, s:f, s:o, s:i, s:o, s:b, s:f, s:f}", "told_from_zero",
                     verdict->told, "least_coefficient", verdict->least, "guessed_coefficient",
                     verdict->guessed, "devices_needed", positive(verdict->devices), "lever",
                     (int)verdict->instead, "liars_turn_sign", json_latch_number(verdict->liars),
                     "identified", verdict->identified, "noise_ratio_max", verdict->ratio_max,
                     "devices_identified", verdict->devices_identified);
}

/* The errors of prediction and estimation are known for noisy samples only. */
static json_t *result_json(const struct tremolo_plan_result *r)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:o, s:f, s:o, s:f}", "standard_error",
                     r->standard_error, "standard_error_public", r->standard_error_public,
                     "half_width", r->half_width, "r2", r->r2_auto, "noise_ratio", r->noise_ratio,
                     "prediction_error", json_latch_number(r->prediction_error),
                     "prediction_minimax", r->prediction_minimax, "estimation_error",
                     json_latch_number(r->estimation_error), "estimation_minimax",
                     r->estimation_minimax);
}

/* The calibration, sensitivity and noise belong to noisy samples alone. Keys that were not asked
 * for are left out. A failure of any allocation ends in NULL, because the document latches it. */
char *tremolo_plan_json(const struct tremolo_plan_request *request,
                        const struct tremolo_plan_answer *answer)
{
    char neighbours[64] = "any";
    json_t *levers = json_array();
    char *text = NULL;
    if (request->distance > 0.0) {
        (void)snprintf(neighbours, sizeof neighbours, "distance=%g", request->distance);
    }
    for (size_t i = 0; i < answer->lever_count; i++) {
        json_latch_append(&levers, lever_json(&answer->levers[i]));
    }
    json_t *root =
        json_pack("{s:i, s:f, s:{s:s, s:f, s:f, s:s, s:s}, s:o, s:o, s:o}", "dimension",
                  (int)request->guess.dimension, "devices", request->guess.devices, "privacy",
                  "release", release_name(request), "epsilon", request->epsilon, "delta",
                  is_ballot(request) ? 0.0 : request->delta, "neighbours", neighbours, "protect",
                  protect_name(request), "expected", result_json(&answer->result), "levers", levers,
                  "verdict", verdict_json(&answer->verdict));
    if (!is_ballot(request)) {
        json_t *noise = json_pack("{s:s, s:f, s:f}", "calibration",
                                  tremolo_calibration_names[request->calibration], "sensitivity",
                                  answer->sensitivity, "noise_sd", answer->noise_sd);
        (void)json_object_update_new(json_object_get(root, "privacy"), noise);
    }
    if (answer->devices_for_width > 0.0) {
        json_latch_set(&root, "devices_for_half_width", json_real(answer->devices_for_width));
    }
    if (answer->devices_for_power > 0.0) {
        json_latch_set(&root, "devices_for_power", json_real(answer->devices_for_power));
    }
    return json_latch_text(&text, root, ESTIMATE_JSON_PRETTY) == TREMOLO_OK ? text : NULL;
}
