/* planning_settle.c -- from what somebody asked of a plan to a request that can be answered. */
#include "tremolo_planning.h"

#include "refuse.h"

#include <math.h>

#include "release.h"
#include "tremolo_study_file.h"

const char *const tremolo_plan_option_names[TREMOLO_PLAN_OPTIONS] = {
    [TREMOLO_PLAN_RADIUS] = "radius", [TREMOLO_PLAN_CALIBRATION] = "calibration",
    [TREMOLO_PLAN_ALPHA] = "alpha",   [TREMOLO_PLAN_LAMBDA] = "lambda",
    [TREMOLO_PLAN_OMEGA] = "omega",   [TREMOLO_PLAN_VECTORS] = "vectors",
    [TREMOLO_PLAN_ROUNDS] = "rounds", [TREMOLO_PLAN_THEORY] = "theory",
};

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
        .radius = NAN,
        .response_private = true,
        .rounds = 10,
        .samples = 1,
        .half_width = NAN,
        .power = NAN,
        .effect = NAN,
    };
}

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
        /* The whole box is that of each lever's own features. */
        double box = sqrt((double)(request->guess.dimension + terms->response_private));
        request->radius = terms->distance > 0.0 || terms->clip == box ? NAN : terms->clip;
    }
    request->alpha = terms->alpha;
    request->lambda = terms->lambda;
    request->omega = terms->omega;
    request->rounds = terms->rounds > 1 ? (long)terms->rounds : request->rounds;
    request->samples = (long)terms->samples;
    request->distance = terms->distance;
    request->response_private = terms->response_private;
    request->calibration = terms->calibration;
    request->least_variance = tremolo_release_least_variance(study);
}

/* What has no meaning for ballots is refused, not passed over. */
static bool check_ballot(const struct tremolo_plan_request *request, uint32_t given,
                         const char *dashes, char *error)
{
    double epsilon = request->epsilon / (double)request->samples;
    if (request->release != TREMOLO_RELEASE_BALLOT) {
        return true;
    }
    if (request->distance > 0.0) {
        return refuse(error, "a ballot protects any two people; a distance needs %srelease sample",
                      dashes);
    }
    for (unsigned i = 0; i < TREMOLO_PLAN_OPTIONS; i++) {
        if ((given & 1u << i) != 0) {
            return refuse(error, "%s%s has no effect on ballots; it needs %srelease sample", dashes,
                          tremolo_plan_option_names[i], dashes);
        }
    }
    return (epsilon >= TREMOLO_RANK_EPSILON_MIN && epsilon <= TREMOLO_RANK_EPSILON_MAX) ||
           refuse(error, "%sepsilon must be %g to %g for each ballot of a device", dashes,
                  TREMOLO_RANK_EPSILON_MIN, TREMOLO_RANK_EPSILON_MAX);
}

/* What each number alone cannot show. */
static bool check_together(const struct tremolo_plan_request *request, uint32_t given,
                           const char *dashes, char *error)
{
    double d = (double)request->guess.dimension, level = request->guess.level;
    if (request->guess.dimension == 0 || !(request->guess.devices > 0) || isnan(request->epsilon)) {
        return refuse(error, "%sdimension, %sdevices and %sepsilon are needed", dashes, dashes,
                      dashes);
    }
    if (request->effect == 0.0) {
        return refuse(error, "%seffect must be other than 0", dashes);
    }
    if (request->power <= 0.5 * (1.0 - level)) {
        return refuse(error,
                      "%spower %g needs no devices: a test at level %g has as much by chance",
                      dashes, request->power, level);
    }
    if (d > 1.0 && !(request->guess.correlation > -1.0 / (d - 1.0))) {
        return refuse(error, "%scorrelation must be above %.4g: %g features cannot all differ more",
                      dashes, -1.0 / (d - 1.0), d);
    }
    if (request->guess.vectors > request->guess.dimension) {
        return refuse(error, "%svectors must not exceed %sdimension", dashes, dashes);
    }
    return (given & 1u << TREMOLO_PLAN_RADIUS) == 0 || !(request->distance > 0.0) ||
           refuse(error, "%sradius is for %sneighbours any", dashes, dashes);
}

static double or_nothing(double value)
{
    return isnan(value) ? 0.0 : value;
}

bool tremolo_plan_settle(struct tremolo_plan_request *request, uint32_t given, const char *dashes,
                         char error[TREMOLO_PLAN_ERROR_BYTES])
{
    if (!check_together(request, given, dashes, error) ||
        !check_ballot(request, given, dashes, error)) {
        return false;
    }
    /* A study's clip is for any two people, as every radius is. */
    request->radius = request->distance > 0.0 ? 0.0 : or_nothing(request->radius);
    request->half_width = or_nothing(request->half_width);
    request->power = or_nothing(request->power);
    request->effect = or_nothing(request->effect);
    return true;
}

const char *tremolo_plan_sentence(enum tremolo_status status)
{
    return status == TREMOLO_UNREACHABLE
               ? "no number of devices that could be had is enough for that width or power at this "
                 "noise"
               : tremolo_status_sentence(status);
}
