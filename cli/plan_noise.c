/* plan_noise.c -- how much noise a planned release needs.
 *
 * The exact rule is the Gaussian mechanism's own curve, solved for the noise; zcdp
 * and the paper's rule follow their closed forms. Everything is in units of the
 * sensitivity, so one solution serves every study. */
#include "plan.h"

#include <math.h>

enum { BISECTIONS = 200 };

/* delta of a Gaussian release at distance mu, for a given epsilon. */
static double delta_at(double mu, double epsilon)
{
    double a = tremolo_normal_cdf(mu / 2.0 - epsilon / mu);
    double b = tremolo_normal_cdf(-mu / 2.0 - epsilon / mu);
    return a - exp(epsilon) * b;
}

/* The largest mu that keeps (epsilon, delta): delta grows with mu. The lower end
 * of the last bracket is returned, so rounding errs on the side of more noise. */
static double exact_mu(double epsilon, double delta)
{
    double low = 1e-9;
    double high = 1e4;
    for (int i = 0; i < BISECTIONS; i++) {
        double middle = sqrt(low * high);
        if (delta_at(middle, epsilon) > delta) {
            high = middle;
        } else {
            low = middle;
        }
    }
    return low;
}

/* rho with epsilon = rho + 2 sqrt(rho ln(1/delta)). */
static double zcdp_rho(double epsilon, double delta)
{
    double log_term = log(1.0 / delta);
    double root = epsilon / (sqrt(log_term + epsilon) + sqrt(log_term));
    return root * root;
}

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
    double sensitivity = plan_sensitivity(request);
    if (calibration == PLAN_EXACT) {
        return sensitivity * sqrt((double)rounds) / exact_mu(epsilon, request->delta);
    }
    double noise = sensitivity * sqrt((double)rounds / (2.0 * zcdp_rho(epsilon, request->delta)));
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
