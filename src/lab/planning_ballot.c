/* planning_ballot.c -- plans for ballots, and for a server that is trusted instead. */
#include "planning_parts.h"

#include <math.h>

#include "regression.h"
#include "accountant.h"
#include "study_internal.h"

#define MAX_DEVICES 1e15

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

enum tremolo_status plan_study_of(struct tremolo_study *study,
                                  const struct tremolo_plan_request *request)
{
    struct tremolo_bounds bounds[TREMOLO_MAX_DIMENSION];
    for (size_t i = 0; i < TREMOLO_MAX_DIMENSION; i++) {
        bounds[i] = (struct tremolo_bounds){-1, 1};
    }
    *study = (struct tremolo_study){.bounds = bounds, .response_bounds = {-1, 1}};
    enum tremolo_status status =
        request->release == TREMOLO_RELEASE_BALLOT
            ? tremolo_mechanism_ballot(study, request->guess.dimension, request->response_private,
                                       request->epsilon / (double)request->samples)
            : fill_samples(study, request);
    study->bounds = NULL;
    return status;
}

static struct tremolo_rank_law law_of(const struct tremolo_study *study)
{
    return (struct tremolo_rank_law){study->rank_first, study->rank_top};
}

static enum tremolo_status ballot_input(struct tremolo_ballot_plan_input *input,
                                        const struct tremolo_plan_request *request)
{
    const struct tremolo_plan_input *guess = &request->guess;
    struct tremolo_study study;
    double scale = 0;
    enum tremolo_status status = plan_study_of(&study, request);
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
        .wider = plan_wider(request),
    };
    return status;
}

enum tremolo_status plan_ballot_expect(struct tremolo_plan_result *result,
                                       const struct tremolo_plan_request *request)
{
    struct tremolo_ballot_plan_input input;
    struct tremolo_ballot_plan plan;
    struct tremolo_plan_input bare = request->guess;
    struct tremolo_plan_result made;
    enum tremolo_status status = ballot_input(&input, request);
    status = status == TREMOLO_OK ? tremolo_ballot_plan(&plan, &input) : status;
    if (status == TREMOLO_OK) {
        status = tremolo_plan(&made, &bare); /* without any noise */
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    made.standard_error = plan.standard_error;
    made.half_width = plan.standard_error * plan_quantile(bare.level);
    made.r2_auto = plan.r2;
    made.noise_ratio = plan.noise_ratio;
    made.prediction_error = NAN;
    made.estimation_error = NAN;
    *result = made;
    return TREMOLO_OK;
}

/* The standard error falls as devices grow, and faster than their root while noise hides
 * the features' moments. */
enum tremolo_status plan_ballot_devices_for(double *devices,
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

double plan_finite_or_none(double devices)
{
    return isfinite(devices) ? devices : 0.0;
}

double plan_ballot_devices(const struct tremolo_plan_request *request)
{
    struct tremolo_ballot_plan_input input;
    struct tremolo_ballot_plan plan;
    if (ballot_input(&input, request) != TREMOLO_OK ||
        tremolo_ballot_plan(&plan, &input) != TREMOLO_OK) {
        return 0.0;
    }
    return plan_finite_or_none(plan.devices_needed);
}

static double attack_by_epsilon(double epsilon)
{
    struct tremolo_certified accuracy;
    return tremolo_attack_accuracy_budget(&accuracy, epsilon, 0.0) == TREMOLO_OK ? accuracy.upper
                                                                                 : 1.0;
}

/* All ballots of a device together, as a study's guarantee has it: at even odds the best test is
 * right (1 + delta(0)) / 2 of the time; of too many to compose epsilon alone tells. */
double plan_ballot_attack(const struct tremolo_plan_request *request)
{
    const struct tremolo_gaussian none = {0};
    struct tremolo_certified delta;
    struct tremolo_study study;
    if (plan_study_of(&study, request) != TREMOLO_OK) {
        return attack_by_epsilon(request->epsilon);
    }
    const struct tremolo_ballots ballots = {law_of(&study), (uint64_t)request->samples};
    return tremolo_mixture_delta(&delta, &ballots, 1, &none, 0.0) == TREMOLO_OK
               ? 0.5 * (1.0 + delta.upper)
               : attack_by_epsilon(request->epsilon);
}

/* Sums of two people's samples differ by at most sqrt2, and noise of density
 * exp(-epsilon |z| / sqrt2) on n of them is normal with a variance of 4 t^2 / epsilon^2,
 * t^2 ~ Gamma((n + 1) / 2). The best test asks which of the two is nearer, so it is right
 * E Phi(epsilon / (sqrt8 t)) of the time: a mean over t, whose density has its mode near the
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

/* The server needs no ballots, but the points' bounded products: it protects all. */
void plan_trusted(struct tremolo_plan_lever *lever)
{
    struct tremolo_plan_request *request = &lever->request;
    struct tremolo_ballot_plan_input input;
    struct tremolo_ballot_plan plan;
    double epsilon = request->epsilon;
    request->release = TREMOLO_RELEASE_BALLOT;
    request->response_private = true;
    request->distance = 0.0;
    request->epsilon = 1.0; /* of a ballot that is not cast, for h and g */
    request->samples = 1;
    enum tremolo_status status = ballot_input(&input, request);
    request->epsilon = epsilon;
    input.c = 0.0;
    input.summed_noise = tremolo_ballot_trusted_noise(request->guess.dimension, epsilon);
    lever->attack = attack_on_sums(input.summed_noise, epsilon);
    lever->r2 = NAN;
    if (status == TREMOLO_OK && tremolo_ballot_plan(&plan, &input) == TREMOLO_OK) {
        lever->devices = plan_finite_or_none(plan.devices_needed);
        lever->r2 = plan.r2;
    }
}
