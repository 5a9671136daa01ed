/* planning.c -- what a study will say: its noise, other ways to spend the budget, a verdict.
 *
 * The accountant calibrates for sensitivity 1 and we scale: exact noise does not
 * depend on alpha once alpha is undone, and the paper's rule adds the modulation's
 * share of the sensitivity to zCDP. */
#include "planning_parts.h"

#include <math.h>

#include "tremolo_privacy.h"
#include "regression.h"

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

/* Noise sd per coordinate of one of `rounds` equal releases, alpha undone. */
static double plan_noise(const struct tremolo_plan_request *request,
                         enum tremolo_calibration calibration, long rounds)
{
    struct tremolo_certified sigma;
    enum tremolo_rule rule =
        calibration == TREMOLO_CALIBRATION_EXACT ? TREMOLO_RULE_EXACT : TREMOLO_RULE_ZCDP;
    if (tremolo_rule_sigma(&sigma, rule, request->epsilon, request->delta,
                           tremolo_plan_sensitivity(request), (uint64_t)(rounds * request->samples),
                           false) != TREMOLO_OK) {
        return INFINITY; /* tremolo_plan refuses it */
    }
    double noise = sigma.upper;
    if (calibration == TREMOLO_CALIBRATION_PAPER && request->guess.vectors > 0) {
        double wave = request->lambda * request->omega / sqrt((double)request->guess.vectors);
        noise *= 1.0 + wave / (1.0 - request->alpha);
    }
    return noise;
}

/* The guess at a noise that is given. */
static struct tremolo_plan_input plan_input_at(const struct tremolo_plan_request *request,
                                               double noise_sd)
{
    struct tremolo_plan_input input = request->guess;
    double keep = 1.0 - request->alpha;
    input.noise_sd = noise_sd;
    input.response_private = request->response_private;
    if (input.vectors > 0) {
        input.modulation =
            request->lambda * request->lambda / (2.0 * (double)input.vectors * keep * keep);
    }
    return input;
}

double tremolo_plan_noise(const struct tremolo_plan_request *request)
{
    return plan_noise(request, request->calibration, 1);
}

static enum tremolo_status expect_at(struct tremolo_plan_result *result,
                                     const struct tremolo_plan_request *request, double noise_sd)
{
    const struct tremolo_plan_input input = plan_input_at(request, noise_sd);
    return tremolo_plan(result, &input);
}

enum tremolo_status tremolo_plan_expect(struct tremolo_plan_result *result,
                                        const struct tremolo_plan_request *request)
{
    return request->release == TREMOLO_RELEASE_BALLOT
               ? plan_ballot_expect(result, request)
               : expect_at(result, request, tremolo_plan_noise(request));
}

double tremolo_plan_mu(const struct tremolo_plan_request *request, double distance)
{
    return sqrt((double)request->samples) * distance / tremolo_plan_noise(request);
}

double tremolo_plan_attack(const struct tremolo_plan_request *request, double distance)
{
    struct tremolo_certified accuracy;
    double mu = tremolo_plan_mu(request, distance);
    return tremolo_attack_accuracy(&accuracy, mu) == TREMOLO_OK ? accuracy.upper : 1.0;
}

/* ---------------------------------------------------------------- the answer */

double plan_guessed(const struct tremolo_plan_request *request)
{
    const struct tremolo_plan_input *guess = &request->guess;
    return sqrt(guess->r2 * guess->response_variance /
                ((double)guess->dimension * guess->feature_variance));
}

double plan_wider(const struct tremolo_plan_request *request)
{
    double least = request->least_variance;
    return least > 0.0 ? fmax(request->guess.feature_variance / least, 1.0) : 1.0;
}

double plan_devices(const struct tremolo_plan_request *request)
{
    if (request->release == TREMOLO_RELEASE_BALLOT) {
        return plan_ballot_devices(request);
    }
    const struct tremolo_plan_input input = plan_input_at(request, tremolo_plan_noise(request));
    double wider = plan_wider(request); /* errors fall with the root of the devices */
    return plan_finite_or_none(wider * wider * tremolo_plan_needed(&input));
}

static void fill_verdict(struct tremolo_plan_answer *answer,
                         const struct tremolo_plan_request *request)
{
    struct tremolo_plan_verdict *verdict = &answer->verdict;
    bool ballot = request->release == TREMOLO_RELEASE_BALLOT;
    verdict->least = TREMOLO_PLAN_STANDS_OUT * answer->result.standard_error * plan_wider(request);
    verdict->guessed = plan_guessed(request);
    verdict->devices = answer->levers[0].devices;
    verdict->liars = tremolo_plan_liars(request);
    verdict->told = verdict->devices > 0 && request->guess.devices >= verdict->devices;
    verdict->ratio_max = ballot ? TREMOLO_PLAN_RATIO_BALLOT : TREMOLO_PLAN_RATIO_SAMPLE;
    /* Either release's ratio falls with the root of the number of devices. */
    double excess = answer->result.noise_ratio / verdict->ratio_max;
    verdict->identified = excess <= 1.0;
    verdict->devices_identified = ceil(request->guess.devices * excess * excess);
}

/* T rounds of equal noise s: pooled moments are as noisy as one release of
 * s / T^(1/4), and s itself grows with sqrt(T). */
static void fill_alternatives(struct tremolo_plan_answer *answer,
                              const struct tremolo_plan_request *request)
{
    double T = (double)request->rounds;
    double round_noise = plan_noise(request, TREMOLO_CALIBRATION_EXACT, request->rounds);
    struct tremolo_plan_alternative *list = answer->alternatives;
    list[0] = (struct tremolo_plan_alternative){
        .name = "one release, exact",
        .noise_sd = plan_noise(request, TREMOLO_CALIBRATION_EXACT, 1)};
    list[1] = (struct tremolo_plan_alternative){
        .name = "one release, zCDP", .noise_sd = plan_noise(request, TREMOLO_CALIBRATION_ZCDP, 1)};
    list[2] = (struct tremolo_plan_alternative){
        .name = "one release, paper's L",
        .noise_sd = plan_noise(request, TREMOLO_CALIBRATION_PAPER, 1)};
    list[3] = (struct tremolo_plan_alternative){.name = "all rounds pooled, exact",
                                                .noise_sd = round_noise / pow(T, 0.25)};
    for (int i = 0; i < TREMOLO_PLAN_ALTERNATIVES; i++) {
        if (expect_at(&list[i].result, request, list[i].noise_sd) != TREMOLO_OK) {
            list[i].result = (struct tremolo_plan_result){0};
        }
    }
}

/* The paper's rounds need bounds where a plan has guesses: without a clip radius,
 * and for the response, three standard deviations. */
static enum tremolo_status fill_convergence(struct tremolo_plan_answer *answer,
                                            const struct tremolo_plan_request *request)
{
    const struct tremolo_plan_input *guess = &request->guess;
    double noise = plan_noise(request, request->calibration, request->rounds);
    double typical = sqrt((double)guess->dimension * guess->feature_variance);
    struct tremolo_convergence_answer *convergence = &answer->convergence;
    convergence->input = (struct tremolo_convergence_input){
        .mechanism = {.dimension = guess->dimension,
                      .devices = guess->devices,
                      .alpha = request->alpha,
                      .lambda = guess->vectors > 0 ? request->lambda : 0.0,
                      .sigma = (1.0 - request->alpha) * noise,
                      .response_private = request->response_private},
        .rounds = (double)request->rounds,
        .R = request->distance > 0.0 ? 3.0 * typical : 0.5 * tremolo_plan_sensitivity(request),
        .M = 3.0 * sqrt(guess->response_variance),
    };
    enum tremolo_status status = tremolo_convergence_guess(&convergence->input, guess);
    convergence->known = status == TREMOLO_OK;
    if (convergence->known) {
        convergence->result = tremolo_convergence_of(&convergence->input);
    }
    return status;
}

double plan_quantile(double level)
{
    return tremolo_student_quantile(0.5 + 0.5 * level, TREMOLO_BUCKETS - 1);
}

static enum tremolo_status devices_for(double *devices, const struct tremolo_plan_request *request,
                                       double half_width, double power)
{
    double t = plan_quantile(request->guess.level);
    double wider = plan_wider(request);
    if (request->release == TREMOLO_RELEASE_BALLOT) {
        double wanted = half_width > 0.0
                            ? half_width / t
                            : fabs(request->effect) / (t + tremolo_normal_quantile(power));
        return plan_ballot_devices_for(devices, request, wanted / wider);
    }
    struct tremolo_plan_input input = plan_input_at(request, tremolo_plan_noise(request));
    return tremolo_plan_devices(devices, &input, half_width / wider, power,
                                request->effect / wider);
}

enum tremolo_status tremolo_plan_study(struct tremolo_plan_answer *answer,
                                       const struct tremolo_plan_request *request)
{
    bool sample = request->release == TREMOLO_RELEASE_SAMPLE;
    *answer = (struct tremolo_plan_answer){.noise_sd = sample ? tremolo_plan_noise(request) : NAN};
    enum tremolo_status status = tremolo_plan_expect(&answer->result, request);
    if (status == TREMOLO_OK && request->half_width > 0.0) {
        status = devices_for(&answer->devices_for_width, request, request->half_width, 0.0);
    }
    if (status == TREMOLO_OK && request->power > 0.0) {
        status = devices_for(&answer->devices_for_power, request, 0.0, request->power);
    }
    if (status == TREMOLO_OK) {
        plan_fill_levers(answer, request);
        fill_verdict(answer, request);
    }
    if (status == TREMOLO_OK && sample) {
        fill_alternatives(answer, request);
        status = fill_convergence(answer, request);
    }
    return status;
}
