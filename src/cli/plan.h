/* plan.h -- what `tremolo plan` was asked, and what its parts share. */
#ifndef TREMOLO_CLI_PLAN_H
#define TREMOLO_CLI_PLAN_H

#include <jansson.h>
#include <stdbool.h>

#include "convergence.h"
#include "tremolo_regression.h"
#include "tremolo_study_file.h"

enum plan_calibration { PLAN_EXACT, PLAN_ZCDP, PLAN_PAPER };

struct plan_request {
    struct tremolo_plan_input guess;
    double epsilon;
    double delta;
    double distance;                  /* neighbours within this distance; 0: any two people */
    double radius;                    /* of the clip, for any two people; 0: clips nothing */
    bool response_private;            /* it is one more coordinate of the release */
    struct tremolo_study_file *study; /* NULL without one */
    enum plan_calibration calibration;
    double alpha;
    double lambda;
    double omega;
    long rounds;
    long samples; /* of a device in each round that its noise pays for */
    double half_width;
    double power;
    double effect;
    bool json;
    bool force;
    bool theory; /* the paper's rounds and their bounds, too */
    const char *figure;
};

/* One way to spend the same budget, beside the request's own. */
struct plan_alternative {
    const char *name;
    double noise_sd; /* as if one release had it */
    struct tremolo_plan_result result;
};

enum { PLAN_ALTERNATIVES = 4 };

struct plan_answer {
    struct tremolo_plan_input input;
    struct tremolo_plan_result result;
    double devices_for_width; /* 0: not asked, or out of reach */
    double devices_for_power;
    struct plan_alternative alternatives[PLAN_ALTERNATIVES];
    struct convergence convergence; /* of the rounds, each with its share of the budget */
};

/* What it comes to, in scaled units. */
struct plan_verdict {
    bool told;      /* coefficients of the guessed size will be told from zero */
    double least;   /* coefficient that is told, in four studies of five */
    double guessed; /* coefficient */
    double devices; /* needed for the guessed one; 0: no number that could be had */
};

struct plan_verdict plan_verdict(const struct plan_request *request,
                                 const struct plan_answer *answer);
void plan_verdict_print(const struct plan_request *request, const struct plan_verdict *verdict);
json_t *plan_verdict_json(const struct plan_verdict *verdict);

/* The l2 sensitivity in scaled units, alpha not yet applied. */
double plan_sensitivity(const struct plan_request *request);

/* Noise sd per coordinate of one of `rounds` equal releases, alpha undone. */
double plan_noise(const struct plan_request *request, enum plan_calibration calibration,
                  double epsilon, long rounds);

/* The guess with the noise of one release of this request filled in, or with a
 * noise that is given. A private response carries that noise, too: it counts as
 * more variance that nothing explains. */
struct tremolo_plan_input plan_input(const struct plan_request *request, double epsilon);
struct tremolo_plan_input plan_input_at(const struct plan_request *request, double noise_sd);

/* tremolo_plan() of such an input, with R^2 and what is compared with referring
 * to the response as it is, without its noise. */
TREMOLO_MUST_USE enum tremolo_status plan_expect(struct tremolo_plan_result *result,
                                                 const struct plan_request *request,
                                                 const struct tremolo_plan_input *input);

/* How well the mean of a hidden response is known, in the study's own units; in scaled ones its
 * error is given. */
void plan_study_print_mean(const struct tremolo_study_file *study, double standard_error);

/* Half widths in the study's own units. */
void plan_study_print(const struct tremolo_study_file *study, double half_width, double level);

/* The whole answer; exit code of the second. */
void plan_print_text(const struct plan_request *request, const struct plan_answer *answer);
int plan_print_json(const struct plan_request *request, const struct plan_answer *answer);

/* Draw the figure with gnuplot; the format follows the file's ending. Returns an
 * exit code and has said what went wrong. */
int plan_figure(const struct plan_request *request);

#endif
