/* plan_noise.c -- how much noise a planned release needs.
 *
 * The accountant calibrates for sensitivity 1 and we scale: exact noise does not
 * depend on alpha once alpha is undone, and the paper's rule adds the modulation's
 * share of the sensitivity to zCDP. */
#include "plan.h"
#include "tremolo_privacy.h"

#include <math.h>

double plan_sensitivity(const struct plan_request *request)
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

double plan_noise(const struct plan_request *request, enum plan_calibration calibration,
                  double epsilon, long rounds)
{
    struct tremolo_certified sigma;
    enum tremolo_rule rule = calibration == PLAN_EXACT ? TREMOLO_RULE_EXACT : TREMOLO_RULE_ZCDP;
    if (tremolo_rule_sigma(&sigma, rule, epsilon, request->delta, plan_sensitivity(request),
                           (uint64_t)(rounds * request->samples), false) != TREMOLO_OK) {
        return INFINITY; /* tremolo_plan refuses it */
    }
    double noise = sigma.upper;
    if (calibration == PLAN_PAPER && request->guess.vectors > 0) {
        double wave = request->lambda * request->omega / sqrt((double)request->guess.vectors);
        noise *= 1.0 + wave / (1.0 - request->alpha);
    }
    return noise;
}

struct tremolo_plan_input plan_input(const struct plan_request *request, double epsilon)
{
    return plan_input_at(request, plan_noise(request, request->calibration, epsilon, 1));
}

struct tremolo_plan_input plan_input_at(const struct plan_request *request, double noise_sd)
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

enum tremolo_status plan_expect(struct tremolo_plan_result *result,
                                const struct plan_request *request,
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
