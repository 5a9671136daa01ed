/* tremolo_planning.h -- what a study will find, computed before anyone reports.
 *
 *     struct tremolo_plan_request request;
 *     struct tremolo_plan_answer answer;
 *     struct tremolo_refusal refusal;
 *     tremolo_plan_begin(&request);
 *     request.guess.dimension = 3;
 *     request.guess.devices = 50000;
 *     request.epsilon = 2;
 *     if (tremolo_plan_settle(&request, &refusal)) {
 *         status = tremolo_plan_study(&answer, &request);
 *     }
 *
 * Everything is in scaled units: a feature or response from -1 to 1 between its
 * public bounds, or with standard deviation 1. Pure functions, safe from any thread. */
#ifndef TREMOLO_PLANNING_H
#define TREMOLO_PLANNING_H

#include <stdbool.h>

#include "tremolo_mechanism.h"
#include "tremolo_refusal.h"
#include "tremolo_regression.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tremolo_study_file;

struct tremolo_plan_request {
    struct tremolo_plan_input guess;   /* the plan fills in the noise */
    enum tremolo_release_kind release; /* a ballot protects any two people, never a distance */
    double epsilon;
    double delta;          /* of noisy samples */
    double distance;       /* neighbours within this distance; 0: any two people */
    bool response_private; /* the response is one more coordinate of the release */
    double half_width;     /* wanted of an interval; NaN: not asked */
    double effect;         /* coefficient to detect with 80% power; NaN: not asked */
    /* What only a study file fixes. */
    double radius; /* of the clip, for any two people; 0: clips nothing */
    enum tremolo_calibration calibration;
    double alpha, lambda, omega;
    long samples;          /* of a device in each round that its noise pays for */
    double least_variance; /* tremolo_release_least_variance(); 0: as guessed */
};

/* Ballots for any two people, everything protected, the usual guesses, nothing asked; the
 * dimension and devices are 0, epsilon is NaN. */
void tremolo_plan_begin(struct tremolo_plan_request *request);

/* Take what a study fixes; the number of devices stays. */
void tremolo_plan_take_study(struct tremolo_plan_request *request,
                             const struct tremolo_study_file *study);

/* Check that the request can be answered, and settle what depends on what. False with the reason.
 */
bool tremolo_plan_settle(struct tremolo_plan_request *request, struct tremolo_refusal *refusal);

/* A lever changes one thing of the request. */
enum tremolo_plan_lever_kind {
    TREMOLO_LEVER_NONE,     /* the request itself */
    TREMOLO_LEVER_RELEASE,  /* the other release, or any two people instead of a distance */
    TREMOLO_LEVER_EPSILON,  /* half and double */
    TREMOLO_LEVER_FEATURES, /* half as many, with the same R^2 */
    TREMOLO_LEVER_PROTECT,  /* features only, or all */
    TREMOLO_LEVER_DISTANCE, /* people half a range apart instead of any two */
    TREMOLO_LEVER_TRUST,    /* a server that sees samples and adds noise to their sums */
};

enum { TREMOLO_PLAN_LEVERS_MAX = 9, TREMOLO_PLAN_NAME_BYTES = 80 };

struct tremolo_plan_lever {
    enum tremolo_plan_lever_kind kind;
    char name[TREMOLO_PLAN_NAME_BYTES]; /* in words: "epsilon 4" */
    struct tremolo_plan_request request;
    double devices; /* needed; 0: no number that could be had */
    double r2;      /* expected with the devices there are */
    double attack;  /* how often an attacker telling any two people apart is right at most */
};

/* A coefficient is significant when a test at the level 0.95 finds it in four studies of five.
 * Features share the guessed R^2 equally. */
struct tremolo_plan_verdict {
    bool told;      /* coefficients of the guessed size will be significant */
    double least;   /* the smallest coefficient that will be */
    double guessed; /* the guessed coefficient */
    double devices; /* needed for it; 0: no number that could be had */
    double liars;   /* so many devices that lie together turn its sign */
    size_t instead; /* lever to try when there are fewer devices; 0: none */
    /* Standard errors say nothing where noise may hide the features' own moments. Score sets then
     * take the place of intervals, whether or not coefficients are significant. */
    bool identified;           /* the noise ratio is at most ratio_max */
    double ratio_max;          /* up to which intervals hold for this release */
    double devices_identified; /* with which it is that small */
};

/* How often an attacker who tells two people apart is right at most, noisy samples at a distance.
 */
struct tremolo_plan_attacks {
    double promised;         /* people as far apart as the guarantee's neighbours */
    double ends;             /* at the two ends of one feature's range */
    double typical, any_two; /* a typical pair, and the two people farthest apart */
    double typical_distance, widest;
    double mu; /* between neighbours, of all of a device's samples */
};

struct tremolo_plan_answer {
    struct tremolo_plan_result result;
    double noise_sd;          /* of one release; NaN for ballots, as are the two errors */
    double sensitivity;       /* l2, of noisy samples, alpha undone */
    double devices_for_width; /* 0: not asked */
    double devices_for_power;
    struct tremolo_plan_attacks attacks;                       /* all 0 for any two people */
    struct tremolo_plan_lever levers[TREMOLO_PLAN_LEVERS_MAX]; /* the first is the request */
    size_t lever_count;
    struct tremolo_plan_verdict verdict;
};

/* UNREACHABLE when no number of devices is enough for the width or effect asked for. */
TREMOLO_MUST_USE enum tremolo_status tremolo_plan_study(struct tremolo_plan_answer *answer,
                                                        const struct tremolo_plan_request *request);

/* Why tremolo_plan_study() failed. */
const char *tremolo_plan_sentence(enum tremolo_status status);

/* The document that 'tremolo plan --json' prints, as text that the caller frees; NULL without
 * memory. */
char *tremolo_plan_json(const struct tremolo_plan_request *request,
                        const struct tremolo_plan_answer *answer);

/* The l2 sensitivity of noisy samples, alpha undone. */
double tremolo_plan_sensitivity(const struct tremolo_plan_request *request);

/* How many devices that lie together, within what the robust estimate keeps, turn the sign of a
 * coefficient of the guessed size; NaN when it cannot be said. */
double tremolo_plan_liars(const struct tremolo_plan_request *request);

#ifdef __cplusplus
}
#endif

#endif
