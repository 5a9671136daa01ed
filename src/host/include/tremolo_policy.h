/* tremolo_policy.h -- what this device allows, whatever a study asks.
 *
 * A JSON file, every key optional:
 *
 *     {"epsilon_per_study": 2, "epsilon_total": 8, "delta": 1e-5,
 *      "distance": "any", "studies": ["NZ...", "8a..."]}
 *
 * A study's epsilon means little without its neighbours, which the server
 * chooses: at a tiny distance a small epsilon protects nothing. Both maxima are
 * therefore counted between people this policy calls neighbours: "any" two,
 * or those at most a distance apart (in half ranges of the features).
 *
 * Ballots cost pure epsilon, noisy samples mu^2. epsilon_total is over both: the
 * sum of what ballots cost and of epsilon(mu, delta) of all noisy samples.
 *
 * epsilon_total becomes the ledger's budget when the device is enrolled and
 * cannot be raised afterwards; the others are asked for every study. Reports
 * are charged at the policy's distance. Whoever changes it later has a total
 * that holds for the smallest distance a report was charged at. */
#ifndef TREMOLO_POLICY_H
#define TREMOLO_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tremolo_device.h"
#include "tremolo_study_file.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TREMOLO_POLICY_MAX_STUDIES = 256, TREMOLO_POLICY_MAX_BYTES = 64 * 1024 };

struct tremolo_policy {
    double epsilon_per_study;
    double epsilon_total;
    double delta;       /* at which both are counted */
    double distance;    /* between whom: half ranges; 0: any two people */
    bool only_listed;   /* the file lists studies, be it none */
    size_t study_count; /* of `studies` */
    uint8_t studies[TREMOLO_POLICY_MAX_STUDIES][TREMOLO_STUDY_ID_BYTES];
};

/* Without a file: epsilon 2 a study and 8 in total at delta 1e-5, between any
 * two people, any study. */
#define TREMOLO_POLICY_DEFAULTS                                                                    \
    {                                                                                              \
        .epsilon_per_study = 2.0, .epsilon_total = 8.0, .delta = 1e-5                              \
    }

/* Read a policy; keys that are left out have the defaults. BAD_POLICY with a
 * sentence in why[0..bytes) for anything else; the policy is untouched then. */
TREMOLO_MUST_USE enum tremolo_status tremolo_policy_parse(struct tremolo_policy *policy, char *why,
                                                          size_t bytes, const char *json,
                                                          size_t length);

/* May this device take part? POLICY_REFUSED with a sentence. */
TREMOLO_MUST_USE enum tremolo_status tremolo_policy_ask(const struct tremolo_policy *policy,
                                                        char *why, size_t bytes,
                                                        const struct tremolo_study_file *file);

/* The ledger's budget of mu^2, and of epsilon, under this policy: each of them alone is
 * all of it. */
TREMOLO_MUST_USE enum tremolo_status tremolo_policy_budget(uint32_t *budget,
                                                           const struct tremolo_policy *policy);
uint32_t tremolo_policy_epsilon(const struct tremolo_policy *policy);

/* What a release of this kind may cost in all, when so much of both was spent. 0 when
 * there is nothing left for it. */
TREMOLO_MUST_USE enum tremolo_status tremolo_policy_allows(uint32_t *allowed,
                                                           const struct tremolo_policy *policy,
                                                           enum tremolo_release_kind kind,
                                                           const uint32_t spent[2]);

#ifdef __cplusplus
}
#endif

#endif
