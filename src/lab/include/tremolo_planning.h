/* tremolo_planning.h -- what a study will say before anyone reports.
 *
 *     struct tremolo_plan_request request = {.guess = {...}, .epsilon = 1, ...};
 *     struct tremolo_plan_answer answer;
 *     status = tremolo_plan_study(&answer, &request);
 *
 * Everything is in scaled units: a feature or response from -1 to 1 between its
 * public bounds, or with standard deviation 1. Pure functions, safe from any thread. */
#ifndef TREMOLO_PLANNING_H
#define TREMOLO_PLANNING_H

#include <stdbool.h>

#include "tremolo_mechanism.h"
#include "tremolo_regression.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tremolo_plan_request {
    struct tremolo_plan_input guess; /* its noise is filled in by the plan */
    double epsilon;
    double delta;
    double distance;       /* neighbours within this distance; 0: any two people */
    double radius;         /* of the clip, for any two people; 0: clips nothing */
    bool response_private; /* it is one more coordinate of the release */
    enum tremolo_calibration calibration;
    double alpha;
    double lambda;
    double omega;
    long rounds;
    long samples;      /* of a device in each round that its noise pays for */
    double half_width; /* wanted of an interval; 0: not asked */
    double power;      /* wanted against `effect`; 0: not asked */
    double effect;
};

/* One way to spend the same budget, beside the request's own. */
struct tremolo_plan_alternative {
    const char *name;
    double noise_sd; /* as if one release had it */
    struct tremolo_plan_result result;
};

enum { TREMOLO_PLAN_ALTERNATIVES = 4 };

/* What it comes to. A coefficient is told from zero when a test at the plan's level
 * finds it in four studies of five. */
struct tremolo_plan_verdict {
    bool told;      /* coefficients of the guessed size will be told from zero */
    double least;   /* coefficient that is told */
    double guessed; /* coefficient */
    double devices; /* needed for the guessed one; 0: no number that could be had */
};

struct tremolo_plan_answer {
    struct tremolo_plan_input input;
    struct tremolo_plan_result result;
    double devices_for_width; /* 0: not asked */
    double devices_for_power;
    struct tremolo_plan_alternative alternatives[TREMOLO_PLAN_ALTERNATIVES];
    struct tremolo_convergence_answer convergence; /* of the rounds, each with its share */
    struct tremolo_plan_verdict verdict;
};

/* UNREACHABLE when no number of devices is enough for the width or power asked for. */
TREMOLO_MUST_USE enum tremolo_status tremolo_plan_study(struct tremolo_plan_answer *answer,
                                                        const struct tremolo_plan_request *request);

/* The l2 sensitivity, alpha not yet applied. */
double tremolo_plan_sensitivity(const struct tremolo_plan_request *request);

/* The guess with the noise of one release of this request at `epsilon` filled in. A
 * private response carries that noise, too: it counts as more variance that nothing
 * explains. */
struct tremolo_plan_input tremolo_plan_guess(const struct tremolo_plan_request *request,
                                             double epsilon);

/* tremolo_plan() of such an input, with R^2 and what is compared with referring
 * to the response as it is, without its noise. */
TREMOLO_MUST_USE enum tremolo_status tremolo_plan_expect(struct tremolo_plan_result *result,
                                                         const struct tremolo_plan_request *request,
                                                         const struct tremolo_plan_input *input);

#ifdef __cplusplus
}
#endif

#endif
