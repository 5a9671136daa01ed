/* tremolo_privacy.h -- what a release costs.
 *
 * Every number here is an interval: lower <= truth <= upper is proved (see
 * docs/reference/proofs.md for the error argument), and `value` lies between. A delta
 * or an epsilon to be promised is `upper`; a noise level to be used is
 * `upper` too, so that rounding always adds noise.
 *
 *     struct tremolo_gaussian cost = {0};
 *     struct tremolo_certified epsilon;
 *     if (tremolo_gaussian_add(&cost, 1.0, 4.0, 40) == TREMOLO_OK
 *         && tremolo_gaussian_epsilon(&epsilon, &cost, 1e-9) == TREMOLO_OK) {
 *         printf("40 releases cost at most %g\n", epsilon.upper);
 *     }
 *
 * All functions are pure: no state, no output, safe from any thread; outputs
 * may not alias inputs and stay untouched on failure.
 *
 * Limits: epsilon up to TREMOLO_EPSILON_MAX, mu in TREMOLO_MU_MIN..
 * TREMOLO_MU_MAX, delta in [DBL_MIN, 1). Beyond these the answer is a
 * status, never a guess. */
#ifndef TREMOLO_PRIVACY_H
#define TREMOLO_PRIVACY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tremolo_status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TREMOLO_EPSILON_MAX  1e6
#define TREMOLO_MU_MIN       1e-100
#define TREMOLO_MU_MAX       1e4
#define TREMOLO_RELEASES_MAX 1000000000u

/* A number known to lie in [lower, upper]. */
struct tremolo_certified {
    double lower;
    double value;
    double upper;
};

/* ------------------------------------------------------------------------
 * Gaussian releases, composed exactly.
 *
 * Releases with noise sd sigma_t and l2 sensitivity Delta_t, chosen in
 * advance or adaptively, cost together what one release with
 * mu^2 = sum (Delta_t / sigma_t)^2 costs. The sum is kept to about 100 bits;
 * {0} is the empty composition. */
struct tremolo_gaussian {
    double mu_squared;      /* leading part of the sum */
    double mu_squared_tail; /* what it misses */
};

/* Add `releases` equal releases. Sensitivity and sigma are positive, finite
 * and in the same unit; releases is 1..TREMOLO_RELEASES_MAX. OVERFLOWED when
 * mu would leave its range. */
TREMOLO_MUST_USE enum tremolo_status tremolo_gaussian_add(struct tremolo_gaussian *cost,
                                                          double sensitivity, double sigma,
                                                          uint64_t releases);

/* mu, the distance between neighbours in noise standard deviations; exact
 * zero for the empty composition. */
struct tremolo_certified tremolo_gaussian_mu(const struct tremolo_gaussian *cost);

/* The smallest delta for which the composition is (epsilon, delta)-private:
 *     delta = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu).
 * The relative width is below 1e-12 wherever delta is a normal double; below
 * that range lower is 0 and upper is positive. 0 <= lower, upper <= 1. */
TREMOLO_MUST_USE enum tremolo_status tremolo_gaussian_delta(struct tremolo_certified *delta,
                                                            const struct tremolo_gaussian *cost,
                                                            double epsilon);

/* The smallest epsilon >= 0 at which delta is reached. */
TREMOLO_MUST_USE enum tremolo_status tremolo_gaussian_epsilon(struct tremolo_certified *epsilon,
                                                              const struct tremolo_gaussian *cost,
                                                              double delta);

/* The largest mu that is (epsilon, delta)-private. mu->lower is safe to use,
 * and is also mu->value. */
TREMOLO_MUST_USE enum tremolo_status tremolo_gaussian_mu_for(struct tremolo_certified *mu,
                                                             double epsilon, double delta);

/* ------------------------------------------------------------------------
 * Calibration by name. */
enum tremolo_rule {
    TREMOLO_RULE_EXACT,     /* Gaussian composition, nothing lost */
    TREMOLO_RULE_ZCDP,      /* zCDP with the paper's conversion */
    TREMOLO_RULE_CLASSICAL, /* sqrt(2 ln(1.25/delta))/epsilon, basic composition */
};

/* The noise sd for each of `releases` equal releases; sigma->upper, which is also sigma->value,
 * suffices. The classical rule is proved for epsilon / releases <= 1 only and answers
 * INVALID_CALIBRATION beyond it. */
TREMOLO_MUST_USE enum tremolo_status tremolo_rule_sigma(struct tremolo_certified *sigma,
                                                        enum tremolo_rule rule, double epsilon,
                                                        double delta, double sensitivity,
                                                        uint64_t releases);

/* How often an attacker who has to tell two equally likely neighbours apart is right at best,
 * under mu-Gaussian privacy: Phi(mu/2). */
TREMOLO_MUST_USE enum tremolo_status tremolo_attack_accuracy(struct tremolo_certified *accuracy,
                                                             double mu);

/* ------------------------------------------------------------------------
 * Ballots. A device orders N = 256 public answers by its sample and sends the
 * one at a rank drawn beforehand: with probability top / 2^32 uniform among
 * the `first` that fit best, else uniform among the others. Whatever the
 * sample is, an answer has one of two probabilities, so that their ratio is
 * e^epsilon at most for any two samples, with delta = 0 (docs/reference/proofs.md).
 * first is 1..128, and a first answer is more likely than another. */
#define TREMOLO_RANK_ANSWERS     256
#define TREMOLO_RANK_EPSILON_MIN 1e-3
#define TREMOLO_RANK_EPSILON_MAX 15.9
struct tremolo_rank_law {
    unsigned first; /* T */
    uint32_t top;   /* q */
};

/* The logarithm of the ratio. */
TREMOLO_MUST_USE enum tremolo_status tremolo_rank_epsilon(struct tremolo_certified *epsilon,
                                                          const struct tremolo_rank_law *law);

/* The law with the least variance that costs epsilon at most, also as a device
 * rounds it; epsilon in TREMOLO_RANK_EPSILON_MIN..MAX. */
TREMOLO_MUST_USE enum tremolo_status tremolo_rank_law_for(struct tremolo_rank_law *law,
                                                          double epsilon);

/* How often an attacker who must tell two equally likely samples apart from one
 * ballot is right, at best. */
struct tremolo_rank_attack {
    struct tremolo_certified any;        /* whatever the samples and directions are */
    struct tremolo_certified correlated; /* on average over ids, when directions are
                                            normal and the two points' product >= 0 */
    struct tremolo_certified budget;     /* what epsilon alone says */
};
TREMOLO_MUST_USE enum tremolo_status tremolo_rank_attack(struct tremolo_rank_attack *attack,
                                                         const struct tremolo_rank_law *law);

/* Equal ballots and Gaussian releases of one device, chosen in advance or adaptively. Ballots may
 * be NULL: none; the cost of Gaussian releases may be {0}; not both for an epsilon. */
struct tremolo_ballots {
    struct tremolo_rank_law law;
    uint64_t count; /* 1..TREMOLO_RELEASES_MAX */
};
TREMOLO_MUST_USE enum tremolo_status tremolo_mixture_delta(struct tremolo_certified *delta,
                                                           const struct tremolo_ballots *ballots,
                                                           const struct tremolo_gaussian *cost,
                                                           double epsilon);

/* The smallest epsilon at delta, which may be 0 for ballots alone, and what a
 * ledger charges in its place. */
struct tremolo_mixture_cost {
    struct tremolo_certified exact;
    double sum;      /* pure + gaussian, never below exact */
    double pure;     /* of all ballots, at delta = 0 */
    double gaussian; /* epsilon(mu, delta); 0 without releases */
};
TREMOLO_MUST_USE enum tremolo_status tremolo_mixture_epsilon(struct tremolo_mixture_cost *mixture,
                                                             const struct tremolo_ballots *ballots,
                                                             const struct tremolo_gaussian *cost,
                                                             double delta);

/* ------------------------------------------------------------------------
 * Words. */

enum tremolo_neighbours {
    TREMOLO_NEIGHBOURS_DISTANCE, /* two samples at most `distance` apart */
    TREMOLO_NEIGHBOURS_ANY,      /* any two samples in the study's domain */
};

/* The guarantee for two samples that differ in one particular way. What it
 * says is rounded up: mu and epsilon to four digits, attacker_right to a tenth
 * of a percent. Beyond the accountant's range, where an attacker is always right,
 * mu and epsilon are infinite and attacker_right is 1. For ballots,
 * which protect at any distance, distance and mu are infinite. */
#define TREMOLO_DIFFERENCE_BYTES 256
struct tremolo_difference {
    char name[TREMOLO_DIFFERENCE_BYTES];
    char words[TREMOLO_DIFFERENCE_BYTES]; /* the same in the features' own units, or "" */
    double distance;                      /* in the promise's unit */
    double mu;                            /* over all releases */
    double epsilon;                       /* at the promise's delta */
    double attacker_right;                /* share of guesses at even odds */
};

/* A number that people differ in, from one end of its range to the other. */
struct tremolo_extent {
    const char *name;
    const char *unit; /* its own; "" without one */
    double range;     /* in its own unit */
    double distance;  /* the same in the promise's unit */
};

#define TREMOLO_EXPLAIN_WAYS 8 /* ways to differ that a promise may name */

/* Of Gaussian releases, or, with a law, of ballots, for which distance,
 * diameter, dimension, mu, clip, delta and ways mean nothing and neighbours are
 * any two. */
struct tremolo_promise {
    struct tremolo_rank_law law; /* of the rank; all zero: Gaussian releases */
    enum tremolo_neighbours neighbours;
    double distance;       /* r, in the study's unit; for ANY the domain's diameter */
    double diameter;       /* of the domain, for the row "any two"; 0: unbounded or unknown */
    unsigned dimension;    /* features, for the typical pair */
    double mu;             /* between neighbours, over all releases */
    uint64_t releases;     /* of a device; neighbours may differ in all of them */
    uint64_t samples;      /* of a device in each round, which divides releases; 0: not said */
    double clip;           /* norm that longer samples are shortened to; 0: none, or not said */
    double delta;          /* at which epsilon is quoted */
    bool response_private; /* y is part of the release */
    bool modulated;        /* so are random phases */
    const char *features;  /* what is protected, a list in words; NULL: not named */
    const char *response;  /* its name; NULL: not named */
    bool standardised;     /* distances are in standard deviations, not in half ranges */
    /* Numbers that distances are also given in, in their own units. */
    const struct tremolo_extent *extents;
    size_t extent_count;
    /* Ways to differ that get a row, at most TREMOLO_EXPLAIN_WAYS: names and distances count.
     * Without any, the whole range of each extent gets one, the last of too many together; without
     * either, distance 1. */
    const struct tremolo_difference *ways;
    size_t way_count;
    bool
        answers; /* some of the ways are other answers or levels, which are the whole range apart */
    /* mu between people so far apart, over all releases, as proved of the device's integers,
     * infinite beyond the accountant's range; NULL: in proportion to the distance. */
    double (*mu_at)(const void *context, double distance);
    const void *context;
};

/* What devices allow a study by default, between any two people. */
#define TREMOLO_POLICY_EPSILON 2.0
#define TREMOLO_POLICY_DELTA   1e-5

#ifdef __cplusplus
}
#endif

#endif
