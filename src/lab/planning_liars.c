/* planning_liars.c -- how many liars turn a sign.
 *
 * They are taken to work together, to push one coefficient of the guessed size, and to stay within
 * what the robust estimate keeps (tremolo_honest.h). A coefficient b of a feature of variance v
 * adds b v to the mean product of feature and response; a liar adds his largest product to
 * their sum, so f of n turn the sign when f push = (n - f) b v. Features are taken to be
 * uncorrelated. */
#include "planning_parts.h"

#include <math.h>

#include "tremolo_honest.h"
#include "tremolo_privacy.h"

static double turning(double devices, double honest, double push)
{
    return ceil(devices * honest / (honest + push));
}

/* Feature and response share the norm where both are released; a public response ends at its
 * bound. */
static double sample_liars(const struct tremolo_plan_request *request)
{
    const struct tremolo_plan_input *guess = &request->guess;
    unsigned released = (unsigned)guess->dimension + (request->response_private ? 1 : 0);
    double noise = tremolo_plan_noise(request);
    double reach = (request->radius > 0.0 ? request->radius : sqrt(released)) / noise;
    double cut =
        noise * sqrt(tremolo_chi2_quantile(released, reach * reach, TREMOLO_CUT_PROBABILITY));
    double push = request->response_private ? cut * cut / 2.0 : cut;
    return turning(guess->devices, plan_guessed(request) * guess->feature_variance, push);
}

/* The entry of a feature's product with the response, as far from zero as honest rows are. */
static double ballot_liars(const struct tremolo_plan_request *request)
{
    const struct tremolo_plan_input *guess = &request->guess;
    struct tremolo_study study;
    struct tremolo_honest law;
    double scale;
    if (plan_ballot_study(&study, request) != TREMOLO_OK) {
        return NAN;
    }
    const struct tremolo_rank_law rank = {study.rank_first, study.rank_top};
    if (tremolo_rank_scale(&scale, &rank) != TREMOLO_OK) {
        return NAN;
    }
    tremolo_honest_law(&law, &study);
    double h = study.constant / (double)TREMOLO_BALLOT_ONE;
    double g = study.response_weight / (double)TREMOLO_BALLOT_ONE;
    double norm2 = h * h + g * g + (double)guess->dimension * guess->feature_variance;
    double honest = M_SQRT2 * (request->response_private ? g : h) / norm2 * plan_guessed(request) *
                    guess->feature_variance;
    return turning(guess->devices, honest, scale * law.limits.value / law.unit);
}

double tremolo_plan_liars(const struct tremolo_plan_request *request)
{
    return request->release == TREMOLO_RELEASE_BALLOT ? ballot_liars(request)
                                                      : sample_liars(request);
}
