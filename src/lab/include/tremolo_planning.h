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
    struct tremolo_plan_input guess;   /* its noise is filled in by the plan */
    enum tremolo_release_kind release; /* a ballot is for any two people alone */
    double epsilon;
    double delta;          /* of noisy samples */
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
    double least_variance; /* tremolo_release_least_variance() of a study; 0: as guessed */
};

enum { TREMOLO_PLAN_ERROR_BYTES = 512 };

/* What is refused where it would have no effect; names as a command line has them. */
enum tremolo_plan_option {
    TREMOLO_PLAN_RADIUS,
    TREMOLO_PLAN_CALIBRATION,
    TREMOLO_PLAN_ALPHA,
    TREMOLO_PLAN_LAMBDA,
    TREMOLO_PLAN_OMEGA,
    TREMOLO_PLAN_VECTORS,
    TREMOLO_PLAN_ROUNDS,
    TREMOLO_PLAN_THEORY,
    TREMOLO_PLAN_OPTIONS,
};
extern const char *const tremolo_plan_option_names[TREMOLO_PLAN_OPTIONS];

struct tremolo_study_file;

/* Any two people, all of a sample, ballots, the usual guesses; NaN where nothing is asked,
 * dimension and devices 0. */
void tremolo_plan_begin(struct tremolo_plan_request *request);

/* What a study fixes of a request, but for the number of devices. */
void tremolo_plan_take_study(struct tremolo_plan_request *request,
                             const struct tremolo_study_file *study);

/* Check that the request can be answered and that what was asked for (bits 1 << OPTION of
 * `given`) has an effect; NaN becomes "not asked". False with a sentence, in which `dashes`
 * ("--" or "") are before the names of options. */
bool tremolo_plan_settle(struct tremolo_plan_request *request, uint32_t given, const char *dashes,
                         char error[TREMOLO_PLAN_ERROR_BYTES]);

/* One way to spend the same budget, beside the request's own. */
struct tremolo_plan_alternative {
    const char *name;
    double noise_sd; /* as if one release had it */
    struct tremolo_plan_result result;
};

enum { TREMOLO_PLAN_ALTERNATIVES = 4 };

/* What one could do instead: each lever changes one thing of the request. */
enum tremolo_plan_lever_kind {
    TREMOLO_LEVER_NONE,     /* the request itself */
    TREMOLO_LEVER_RELEASE,  /* the other release, or any two people instead of a distance */
    TREMOLO_LEVER_EPSILON,  /* half and double */
    TREMOLO_LEVER_FEATURES, /* half as many, with the same R^2 */
    TREMOLO_LEVER_PROTECT,  /* features only, or all */
    TREMOLO_LEVER_DISTANCE, /* people half a range apart instead of any two */
    TREMOLO_LEVER_TRUST,    /* a server that sees samples and adds noise to their sums */
};

struct tremolo_plan_lever {
    enum tremolo_plan_lever_kind kind;
    struct tremolo_plan_request request;
    double devices; /* needed; 0: no number that could be had */
    double r2;      /* expected with the devices there are */
    double attack;  /* how often one who tells any two people apart is right at best, even odds */
};

enum { TREMOLO_PLAN_LEVERS_MAX = 9 };

/* What it comes to. A coefficient is told from zero when a test at the level 0.95
 * finds it in four studies of five; features share the guessed R^2 equally. */
struct tremolo_plan_verdict {
    bool told;      /* coefficients of the guessed size will be told from zero */
    double least;   /* coefficient that is told */
    double guessed; /* coefficient */
    double devices; /* needed for the guessed one, however many there are; 0: no number that
                     * could be had */
    double liars;   /* among the devices, who turn the sign of the guessed one together */
    size_t instead; /* lever to try when there are fewer; 0: none */
    /* Sizes are told by standard errors, which say nothing where noise may hide the features' own
     * moments: then, told or not, score sets take the intervals' place. */
    bool identified;           /* the noise ratio is no larger than ratio_max */
    double ratio_max;          /* up to which intervals hold for this release */
    double devices_identified; /* with which it is that small */
};

struct tremolo_plan_answer {
    struct tremolo_plan_result result;
    double noise_sd;          /* of one release; NaN for ballots, as are the two errors */
    double devices_for_width; /* 0: not asked */
    double devices_for_power;
    /* Of noisy samples alone. */
    struct tremolo_plan_alternative alternatives[TREMOLO_PLAN_ALTERNATIVES];
    struct tremolo_convergence_answer convergence; /* of the rounds, each with its share */
    struct tremolo_plan_lever levers[TREMOLO_PLAN_LEVERS_MAX]; /* the first is the request */
    size_t lever_count;
    struct tremolo_plan_verdict verdict;
};

/* UNREACHABLE when no number of devices is enough for the width or power asked for. */
TREMOLO_MUST_USE enum tremolo_status tremolo_plan_study(struct tremolo_plan_answer *answer,
                                                        const struct tremolo_plan_request *request);

/* Why tremolo_plan_study() failed. */
const char *tremolo_plan_sentence(enum tremolo_status status);

/* The document that 'tremolo plan --json' prints, as text that the caller frees; NULL without
 * memory. */
char *tremolo_plan_json(const struct tremolo_plan_request *request,
                        const struct tremolo_plan_answer *answer);

/* The l2 sensitivity, alpha not yet applied. */
double tremolo_plan_sensitivity(const struct tremolo_plan_request *request);

/* Noise sd of one release of noisy samples, per coordinate, alpha undone. */
double tremolo_plan_noise(const struct tremolo_plan_request *request);

/* What the request will give, R^2 and what is compared with referring to the response as
 * it is, without its noise. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_plan_expect(struct tremolo_plan_result *result, const struct tremolo_plan_request *request);

/* How many of the devices turn the sign of a coefficient of the guessed size when they lie together
 * and stay within what the robust estimate keeps; NaN when it cannot be said. */
double tremolo_plan_liars(const struct tremolo_plan_request *request);

/* Between two people `distance` apart, of all noisy samples of a device. */
double tremolo_plan_mu(const struct tremolo_plan_request *request, double distance);

/* How often an attacker is right at best about two people `distance` apart, noisy samples. */
double tremolo_plan_attack(const struct tremolo_plan_request *request, double distance);

#ifdef __cplusplus
}
#endif

#endif
