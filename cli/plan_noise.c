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
        request->radius > 0.0 ? request->radius : sqrt((double)request->guess.dimension);
    return 2.0 * radius;
}

double plan_noise(const struct plan_request *request, enum plan_calibration calibration,
                  double epsilon, long rounds)
{
    struct tremolo_certified sigma;
    enum tremolo_rule rule = calibration == PLAN_EXACT ? TREMOLO_RULE_EXACT : TREMOLO_RULE_ZCDP;
    if (tremolo_rule_sigma(&sigma, rule, epsilon, request->delta, plan_sensitivity(request),
                           (uint64_t)rounds, false) != TREMOLO_OK) {
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
    struct tremolo_plan_input input = request->guess;
    double keep = 1.0 - request->alpha;
    input.noise_sd = plan_noise(request, request->calibration, epsilon, 1);
    if (input.vectors > 0) {
        input.modulation =
            request->lambda * request->lambda / (2.0 * (double)input.vectors * keep * keep);
    }
    return input;
}
