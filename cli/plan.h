/* plan.h -- what `tremolo plan` was asked, and what its parts share. */
#ifndef TREMOLO_CLI_PLAN_H
#define TREMOLO_CLI_PLAN_H

#include <stdbool.h>

#include "tremolo_regression.h"

enum plan_calibration { PLAN_EXACT, PLAN_ZCDP, PLAN_PAPER };

struct plan_request {
    struct tremolo_plan_input guess;
    double epsilon;
    double delta;
    double distance; /* neighbours within this distance; 0: any two people */
    double radius;   /* of the clip, for any two people; 0: sqrt(d) */
    enum plan_calibration calibration;
    double alpha;
    double lambda;
    double omega;
    long rounds;
    double half_width;
    double power;
    double effect;
    bool json;
    bool force;
    const char *figure;
};

/* The l2 sensitivity in scaled units, alpha not yet applied. */
double plan_sensitivity(const struct plan_request *request);

/* Noise sd per coordinate of one of `rounds` equal releases, alpha undone. */
double plan_noise(const struct plan_request *request, enum plan_calibration calibration,
                  double epsilon, long rounds);

/* The guess with the noise of one release of this request filled in. */
struct tremolo_plan_input plan_input(const struct plan_request *request, double epsilon);

/* Draw the figure with gnuplot; the format follows the file's ending. Returns an
 * exit code and has said what went wrong. */
int plan_figure(const struct plan_request *request);

#endif
