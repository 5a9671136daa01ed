/* planning_liars.c -- how many liars turn a sign.
 *
 * They are taken to work together, to push one coefficient of the guessed size, and to stay within
 * what the robust estimate keeps (tremolo_honest.h). A coefficient b of a feature of variance v
 * adds b v to the mean product of feature and response; a liar adds the largest product
 * to their sum, so f of n turn the sign when f push = (n - f) b v. Features are taken to be
 * uncorrelated. */
#include "planning_parts.h"

#include <math.h>

#include "release.h"
#include "accountant.h"

static double turning(double devices, double honest, double push)
{
    return ceil(devices * honest / (honest + push));
}

/* Feature and response share the norm where both are released; a public response ends at its
 * bound. The norm is the one at which reports are set aside, in half ranges. */
static double sample_liars(const struct tremolo_plan_request *request,
                           const struct tremolo_study *study, const struct tremolo_honest *law)
{
    const struct tremolo_plan_input *guess = &request->guess;
    double half_range = (double)study->unit * study->keep / TREMOLO_KEEP_ONE;
    double cut =
        ldexp(sqrt((double)law->limits.norm2[TREMOLO_TAIL_CUT]), study->wire_shift) / half_range;
    double push = request->response_private ? cut * cut / 2.0 : cut;
    return turning(guess->devices, plan_guessed(request) * guess->feature_variance, push);
}

/* The entry of a feature's product with the response, as far from zero as honest rows are. */
static double ballot_liars(const struct tremolo_plan_request *request,
                           const struct tremolo_study *study, const struct tremolo_honest *law)
{
    const struct tremolo_plan_input *guess = &request->guess;
    const struct tremolo_rank_law rank = {study->rank_first, study->rank_top};
    double scale;
    if (tremolo_rank_scale(&scale, &rank) != TREMOLO_OK) {
        return NAN;
    }
    double h = study->constant / (double)TREMOLO_BALLOT_ONE;
    double g = study->response_weight / (double)TREMOLO_BALLOT_ONE;
    double norm2 = h * h + g * g + (double)guess->dimension * guess->feature_variance;
    double honest = M_SQRT2 * (request->response_private ? g : h) / norm2 * plan_guessed(request) *
                    guess->feature_variance;
    return turning(guess->devices, honest, scale * law->limits.value / law->unit);
}

double tremolo_plan_liars(const struct tremolo_plan_request *request)
{
    struct tremolo_study study;
    struct tremolo_honest law;
    if (plan_study_of(&study, request) != TREMOLO_OK) {
        return NAN;
    }
    tremolo_honest_law(&law, &study);
    return request->release == TREMOLO_RELEASE_BALLOT ? ballot_liars(request, &study, &law)
                                                      : sample_liars(request, &study, &law);
}
