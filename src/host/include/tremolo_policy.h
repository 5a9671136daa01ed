/* tremolo_policy.h -- what this device allows, whatever a study asks.
 *
 * A JSON file, every key optional:
 *
 *     {"epsilon_per_study": 2, "epsilon_total": 8, "delta": 1e-5,
 *      "distance": {"age": 10, "steps": 2500, "smoker": false},
 *      "studies": ["NZ...", "8a..."]}
 *
 * A study's epsilon means little without its neighbours, which the server
 * chooses: at a tiny distance, or with narrow bounds, a small epsilon
 * protects nothing. Both maxima are therefore counted between people this policy
 * calls neighbours: "distance": "any" two (the default), or those who differ by
 * at most a number in each feature, in the unit in which this device gives it:
 * ten years of age alone, or 2500 steps alone, or a share of each (the squares of the shares
 * add up to at most 1; not ten years and 2500 steps at once). For a choice of answers, and for a
 * number, too, true means any difference, together with all others; false means that people who
 * differ there are not protected. A study with a distance is refused unless all of its features,
 * and a private response, are named. Its bounds turn the numbers into half ranges, the unit in
 * which the device core charges. A policy cannot name half ranges itself: their size in
 * years or steps would be the server's choice.
 *
 * Ballots cost pure epsilon, noisy samples mu^2. epsilon_total is over both: the
 * sum of what ballots cost and of epsilon(mu, delta) of all noisy samples.
 *
 * epsilon_total becomes the ledger's budget when the device is enrolled and
 * cannot be raised afterwards; the others are asked for every study. Reports
 * are charged for the policy's neighbours. After a change of these the total holds for
 * people who were neighbours before and after it. */
#ifndef TREMOLO_POLICY_H
#define TREMOLO_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tremolo_device.h"
#include "tremolo_privacy.h"
#include "tremolo_study_file.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TREMOLO_POLICY_MAX_STUDIES = 256,
    TREMOLO_POLICY_MAX_FEATURES = 64,
    TREMOLO_POLICY_MAX_BYTES = 64 * 1024
};

/* How far apart neighbours may be in one feature. */
struct tremolo_policy_feature {
    char name[TREMOLO_STUDY_MAX_NAME + 1];
    double apart; /* in its own unit; INFINITY: by any difference; 0: not at all */
};

struct tremolo_policy {
    double epsilon_per_study;
    double epsilon_total;
    double delta;         /* at which both are counted */
    size_t feature_count; /* of `features`; 0: between any two people */
    struct tremolo_policy_feature features[TREMOLO_POLICY_MAX_FEATURES];
    bool only_listed;   /* the file lists studies, be it none */
    size_t study_count; /* of `studies` */
    uint8_t studies[TREMOLO_POLICY_MAX_STUDIES][TREMOLO_STUDY_ID_BYTES];
};

/* Without a file: epsilon 2 a study and 8 in total at delta 1e-5, between any
 * two people, any study. */
#define TREMOLO_POLICY_DEFAULTS                                                                    \
    {                                                                                              \
        .epsilon_per_study = TREMOLO_POLICY_EPSILON, .epsilon_total = 8.0,                         \
        .delta = TREMOLO_POLICY_DELTA                                                              \
    }

/* Read a policy; keys that are left out have the defaults. BAD_POLICY with a
 * sentence in why[0..bytes) for anything else; the policy is untouched then. */
TREMOLO_MUST_USE enum tremolo_status tremolo_policy_parse(struct tremolo_policy *policy, char *why,
                                                          size_t bytes, const char *json,
                                                          size_t length);

#ifdef __cplusplus
}
#endif

#endif
