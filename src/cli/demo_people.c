/* demo_people.c -- a made-up population with a known truth.
 *
 * Resting pulse rises with age and falls with steps and sleep; older people
 * walk less, active people sleep a little longer. Everything stays within the
 * study's public bounds but for rare extremes, which the device clamps. */
#include "demo.h"

#include <math.h>

const char *const demo_names[DEMO_FEATURES + 1] = {"age", "steps", "sleep", "(intercept)"};
/* Per year, per thousand steps, per hour; at age 0 without steps or sleep. */
const double demo_truth[DEMO_FEATURES + 1] = {0.15, -0.9, -1.2, 71.0};

const double demo_distance = 0.25;
const char demo_study[] =
    "{\"tremolo\": 1, \"title\": \"Does activity predict resting pulse, given age and sleep?\",\n"
    " \"features\": [{\"name\": \"age\", \"unit\": \"years\", \"low\": 18, \"high\": 88},\n"
    "              {\"name\": \"steps\", \"unit\": \"thousands a day\", \"low\": 0, \"high\": "
    "18},\n"
    "              {\"name\": \"sleep\", \"unit\": \"hours\", \"low\": 4, \"high\": 10}],\n"
    " \"response\": {\"name\": \"pulse\", \"unit\": \"beats a minute\", \"low\": 35, \"high\": "
    "95},\n"
    " \"privacy\": {\"epsilon\": 1, \"delta\": 1e-5, \"neighbours\": {\"distance\": 0.25},\n"
    "             \"protects\": \"features\"},\n"
    " \"protocol\": {\"kind\": \"one-shot\"}}\n";

static uint64_t mix(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static double uniform(uint64_t *state)
{
    return ((double)(mix(state) >> 11) + 0.5) * 0x1p-53;
}

static double gaussian(uint64_t *state)
{
    return sqrt(-2.0 * log(uniform(state))) * cos(6.283185307179586 * uniform(state));
}

void demo_person(double features[DEMO_FEATURES], double *pulse, size_t index, uint64_t seed)
{
    uint64_t state = seed * 0x2545f4914f6cdd1du + index;
    double age = 18.0 + 62.0 * uniform(&state);
    double steps = 9.5 - 0.05 * (age - 49.0) + 3.8 * gaussian(&state);
    double sleep = 7.0 + 0.08 * (steps - 9.5) + 1.2 * gaussian(&state);
    features[0] = age;
    features[1] = fmin(fmax(steps, 0.0), 18.0);
    features[2] = fmin(fmax(sleep, 4.0), 10.0);
    *pulse = demo_truth[DEMO_FEATURES] + 3.0 * gaussian(&state);
    for (size_t i = 0; i < DEMO_FEATURES; i++) {
        *pulse += demo_truth[i] * features[i];
    }
}
