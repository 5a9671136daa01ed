/* planning_parts.h -- what the files of the planner share. */
#ifndef TREMOLO_PLANNING_PARTS_H
#define TREMOLO_PLANNING_PARTS_H

#include "tremolo_planning.h"

/* The coefficient of features that share the guessed R^2 equally, scaled. */
double plan_guessed(const struct tremolo_plan_request *request);

/* How many times wider than as guessed is the interval of the feature that varies least: noise
 * counts by one over the variance. */
double plan_wider(const struct tremolo_plan_request *request);

/* Devices with which one of that size is told from zero; 0: no number that could be had. */
double plan_devices(const struct tremolo_plan_request *request);
double plan_finite_or_none(double devices); /* 0 for what is infinite */

/* Half the width of an interval by standard errors: Student's quantile, as the tables have it. */
double plan_quantile(double level);

/* The study of one round that would be written: its integers give h, g and the law of ballots,
 * and the noise of samples. It has no bounds. */
enum tremolo_status plan_study_of(struct tremolo_study *study,
                                  const struct tremolo_plan_request *request);

/* Ballots: what to expect; devices for a standard error (UNREACHABLE when there is no such
 * number); devices needed as above; an attacker's success. */
enum tremolo_status plan_ballot_expect(struct tremolo_plan_result *result,
                                       const struct tremolo_plan_request *request);
enum tremolo_status plan_ballot_devices_for(double *devices,
                                            const struct tremolo_plan_request *request,
                                            double standard_error);
double plan_ballot_devices(const struct tremolo_plan_request *request);
double plan_ballot_attack(const struct tremolo_plan_request *request);

/* A trusted server that gives any two people pure epsilon. */
void plan_trusted(struct tremolo_plan_lever *lever);

void plan_fill_levers(struct tremolo_plan_answer *answer,
                      const struct tremolo_plan_request *request);

#endif
