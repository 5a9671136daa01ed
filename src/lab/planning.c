/* planning.c -- what a study will say: its noise, other ways to spend the budget, a verdict.
 *
 * The accountant calibrates for sensitivity 1 and we scale: exact noise does not
 * depend on alpha once alpha is undone, and the paper's rule adds the modulation's
 * share of the sensitivity to zCDP. */
#include "tremolo_planning.h"

#include <math.h>

#include "tremolo_privacy.h"

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
                         enum tremolo_calibration calibration, double epsilon, long rounds)
{
    struct tremolo_certified sigma;
    enum tremolo_rule rule =
        calibration == TREMOLO_CALIBRATION_EXACT ? TREMOLO_RULE_EXACT : TREMOLO_RULE_ZCDP;
    if (tremolo_rule_sigma(&sigma, rule, epsilon, request->delta, tremolo_plan_sensitivity(request),
                           (uint64_t)(rounds * request->samples), false) != TREMOLO_OK) {
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
    if (request->response_private) {
        input.response_variance += noise_sd * noise_sd;
        input.r2 *= request->guess.response_variance / input.response_variance;
    }
    if (input.vectors > 0) {
        input.modulation =
            request->lambda * request->lambda / (2.0 * (double)input.vectors * keep * keep);
    }
    return input;
}

struct tremolo_plan_input tremolo_plan_guess(const struct tremolo_plan_request *request,
                                             double epsilon)
{
    return plan_input_at(request, plan_noise(request, request->calibration, epsilon, 1));
}

enum tremolo_status tremolo_plan_expect(struct tremolo_plan_result *result,
                                        const struct tremolo_plan_request *request,
                                        const struct tremolo_plan_input *input)
{
    struct tremolo_plan_result bare;
    struct tremolo_plan_input without = *input;
    enum tremolo_status status = tremolo_plan(result, input);
    if (status != TREMOLO_OK || !request->response_private) {
        return status;
    }
    without.response_variance = request->guess.response_variance;
    without.r2 = request->guess.r2;
    status = tremolo_plan(&bare, &without);
    result->standard_error_public = bare.standard_error_public;
    result->prediction_minimax = bare.prediction_minimax;
    result->estimation_minimax = bare.estimation_minimax;
    result->r2_auto *= input->response_variance / without.response_variance;
    return status;
}

/* ---------------------------------------------------------------- the answer */

static const double verdict_power = 0.8;

/* Features that share the guessed R^2 equally are what must be told from zero; without a
 * moment that is well identified, standard errors say little, and tremolo_plan_devices()
 * asks for enough of both. */
static struct tremolo_plan_verdict verdict_of(const struct tremolo_plan_request *request,
                                              const struct tremolo_plan_answer *answer)
{
    const struct tremolo_plan_input *guess = &request->guess;
    double z =
        tremolo_normal_quantile(0.5 + 0.5 * guess->level) + tremolo_normal_quantile(verdict_power);
    struct tremolo_plan_verdict verdict = {
        .least = z * answer->result.standard_error,
        .guessed = sqrt(guess->r2 * guess->response_variance /
                        ((double)guess->dimension * guess->feature_variance)),
    };
    if (verdict.guessed > 0 && tremolo_plan_devices(&verdict.devices, &answer->input, 0.0,
                                                    verdict_power, verdict.guessed) != TREMOLO_OK) {
        verdict.devices = 0; /* no number that could be had */
    }
    verdict.told = verdict.devices > 0 && guess->devices >= verdict.devices;
    return verdict;
}

/* T rounds of equal noise s: pooled moments are as noisy as one release of
 * s / T^(1/4), and s itself grows with sqrt(T). */
static void fill_alternatives(struct tremolo_plan_answer *answer,
                              const struct tremolo_plan_request *request)
{
    double T = (double)request->rounds;
    double round_noise =
        plan_noise(request, TREMOLO_CALIBRATION_EXACT, request->epsilon, request->rounds);
    struct tremolo_plan_alternative *list = answer->alternatives;
    list[0] = (struct tremolo_plan_alternative){
        .name = "one release, exact",
        .noise_sd = plan_noise(request, TREMOLO_CALIBRATION_EXACT, request->epsilon, 1)};
    list[1] = (struct tremolo_plan_alternative){
        .name = "one release, zCDP",
        .noise_sd = plan_noise(request, TREMOLO_CALIBRATION_ZCDP, request->epsilon, 1)};
    list[2] = (struct tremolo_plan_alternative){
        .name = "one release, paper's L",
        .noise_sd = plan_noise(request, TREMOLO_CALIBRATION_PAPER, request->epsilon, 1)};
    list[3] = (struct tremolo_plan_alternative){.name = "all rounds pooled, exact",
                                                .noise_sd = round_noise / pow(T, 0.25)};
    for (int i = 0; i < TREMOLO_PLAN_ALTERNATIVES; i++) {
        struct tremolo_plan_input input = plan_input_at(request, list[i].noise_sd);
        if (tremolo_plan_expect(&list[i].result, request, &input) != TREMOLO_OK) {
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
    double noise = plan_noise(request, request->calibration, request->epsilon, request->rounds);
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

enum tremolo_status tremolo_plan_study(struct tremolo_plan_answer *answer,
                                       const struct tremolo_plan_request *request)
{
    *answer = (struct tremolo_plan_answer){.input = tremolo_plan_guess(request, request->epsilon)};
    enum tremolo_status status = tremolo_plan_expect(&answer->result, request, &answer->input);
    if (status == TREMOLO_OK && request->half_width > 0.0) {
        status = tremolo_plan_devices(&answer->devices_for_width, &answer->input,
                                      request->half_width, 0.0, 0.0);
    }
    if (status == TREMOLO_OK && request->power > 0.0) {
        status = tremolo_plan_devices(&answer->devices_for_power, &answer->input, 0.0,
                                      request->power, request->effect);
    }
    if (status == TREMOLO_OK) {
        fill_alternatives(answer, request);
        answer->verdict = verdict_of(request, answer);
        status = fill_convergence(answer, request);
    }
    return status;
}
