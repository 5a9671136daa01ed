/* demo.c -- a made-up population with a known truth.
 *
 * Resting pulse rises with age and falls with steps and sleep; older people
 * walk less, active people sleep a little longer. Everything stays within the
 * study's public bounds but for rare extremes, which the device clamps. */
#include "tremolo_demo.h"

#include <math.h>

#include "regression.h"

const char *const tremolo_demo_names[TREMOLO_DEMO_FEATURES + 1] = {"age", "steps", "sleep",
                                                                   "(intercept)"};
/* Per year, per thousand steps, per hour; at age 0 without steps or sleep. */
const double tremolo_demo_truth[TREMOLO_DEMO_FEATURES + 1] = {0.15, -0.9, -1.2, 71.0};

#define QUESTION(release)                                                                          \
    "{\"tremolo\": 1, \"title\": \"Does activity predict resting pulse, given age and sleep? "     \
    "(" release ")\",\n"
#define AGE   "\"name\": \"age\", \"unit\": \"years\", "
#define STEPS "\"name\": \"steps\", \"unit\": \"thousands a day\", "
#define SLEEP "\"name\": \"sleep\", \"unit\": \"hours\", "
#define PULSE "\"name\": \"pulse\", \"unit\": \"beats a minute\", "

/* Bounds for the noisy sample; for the ballot the range that nine of ten lie in. */
const struct tremolo_demo_study tremolo_demo_study[TREMOLO_DEMO_STUDIES] = {
    [TREMOLO_DEMO_PAPER] =
        {"the paper's release",
         QUESTION("noisy samples") " \"features\": [{" AGE "\"low\": 18, \"high\": 88},\n"
                                   "              {" STEPS "\"low\": 0, \"high\": 18},\n"
                                   "              {" SLEEP "\"low\": 4, \"high\": 10}],\n"
                                   " \"response\": {" PULSE "\"low\": 35, \"high\": 95},\n"
                                   " \"privacy\": {\"epsilon\": 2, \"delta\": 1e-5,\n"
                                   "             \"neighbours\": {\"distance\": 0.25},\n"
                                   "             \"protects\": \"features\"},\n"
                                   " \"protocol\": {\"kind\": \"iterative\", \"rounds\": 2, "
                                   "\"vectors\": 1,\n"
                                   "              \"alpha\": 0.2, \"lambda\": 0.2, "
                                   "\"omega\": 1}}\n",
         "{\"distance\": {\"age\": 8.75, \"steps\": 2.25, \"sleep\": 0.75}}", 2},
    [TREMOLO_DEMO_BALLOT] =
        {"ballots",
         QUESTION("ballots") " \"features\": [{" AGE "\"low\": 20, \"high\": 78},\n"
                             "              {" STEPS "\"low\": 3, \"high\": 16},\n"
                             "              {" SLEEP "\"low\": 5, \"high\": 9}],\n"
                             " \"response\": {" PULSE "\"low\": 50, \"high\": 73},\n"
                             " \"privacy\": {\"epsilon\": 2, \"neighbours\": \"any\",\n"
                             "             \"protects\": \"all\"},\n"
                             " \"protocol\": {\"release\": \"ballot\"}}\n",
         "{\"distance\": \"any\"}", 1},
};
const double tremolo_demo_epsilon = 2;
const double tremolo_demo_r2 = 0.76;

void tremolo_demo_person(double features[TREMOLO_DEMO_FEATURES], double *pulse, size_t index,
                         uint64_t seed)
{
    struct tremolo_random random = {seed * 0x2545f4914f6cdd1du + index};
    double age = 18.0 + 62.0 * tremolo_random_uniform(&random);
    double steps = 9.5 - 0.05 * (age - 49.0) + 3.8 * tremolo_random_normal(&random);
    double sleep = 7.0 + 0.08 * (steps - 9.5) + 1.2 * tremolo_random_normal(&random);
    features[0] = age;
    features[1] = fmin(fmax(steps, 0.0), 18.0);
    features[2] = fmin(fmax(sleep, 4.0), 10.0);
    *pulse = tremolo_demo_truth[TREMOLO_DEMO_FEATURES] + 3.0 * tremolo_random_normal(&random);
    for (size_t i = 0; i < TREMOLO_DEMO_FEATURES; i++) {
        *pulse += tremolo_demo_truth[i] * features[i];
    }
}
