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
 * may not alias inputs and stay untouched on failure. The distributions of
 * tremolo_pld are the one exception: they own memory, and making their FFT
 * plans is serialised inside.
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

/* rho = mu^2 / 2, the zCDP parameter. */
struct tremolo_certified tremolo_gaussian_rho(const struct tremolo_gaussian *cost);

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
 * zCDP and its two conversions. */
enum tremolo_conversion {
    TREMOLO_CONVERSION_PAPER, /* epsilon = rho + 2 sqrt(rho ln(1/delta)) */
    TREMOLO_CONVERSION_TIGHT, /* the best bound over all Renyi orders */
};

/* rho > 0; delta in (0, 1); epsilon >= 0. The paper's conversion answers
 * delta = 1 when epsilon <= rho, where it says nothing. rho->lower is safe. */
TREMOLO_MUST_USE enum tremolo_status tremolo_zcdp_delta(struct tremolo_certified *delta,
                                                        enum tremolo_conversion conversion,
                                                        double rho, double epsilon);
TREMOLO_MUST_USE enum tremolo_status tremolo_zcdp_epsilon(struct tremolo_certified *epsilon,
                                                          enum tremolo_conversion conversion,
                                                          double rho, double delta);
TREMOLO_MUST_USE enum tremolo_status tremolo_zcdp_rho(struct tremolo_certified *rho,
                                                      enum tremolo_conversion conversion,
                                                      double epsilon, double delta);

/* ------------------------------------------------------------------------
 * Calibration by name. */
enum tremolo_rule {
    TREMOLO_RULE_EXACT,      /* Gaussian composition, nothing lost */
    TREMOLO_RULE_ZCDP,       /* zCDP with the paper's conversion */
    TREMOLO_RULE_ZCDP_TIGHT, /* zCDP with the tight conversion */
    TREMOLO_RULE_CLASSICAL,  /* sqrt(2 ln(1.25/delta))/epsilon, basic composition */
};

/* The noise sd for each of `releases` equal releases; sigma->upper, which is
 * also sigma->value, suffices. The classical rule is proved for
 * epsilon / releases <= 1 only and answers INVALID_CALIBRATION beyond it
 * unless `force` is set: the result is then the formula's number and no
 * guarantee, and the caller must say so. */
TREMOLO_MUST_USE enum tremolo_status tremolo_rule_sigma(struct tremolo_certified *sigma,
                                                        enum tremolo_rule rule, double epsilon,
                                                        double delta, double sensitivity,
                                                        uint64_t releases, bool force);

/* What a composition of equal or unequal releases costs under a rule other
 * than the classical one, which knows equal releases only (BAD_ARGUMENT). */
TREMOLO_MUST_USE enum tremolo_status tremolo_composed_epsilon(struct tremolo_certified *epsilon,
                                                              enum tremolo_rule rule,
                                                              const struct tremolo_gaussian *cost,
                                                              double delta);
TREMOLO_MUST_USE enum tremolo_status tremolo_composed_delta(struct tremolo_certified *delta,
                                                            enum tremolo_rule rule,
                                                            const struct tremolo_gaussian *cost,
                                                            double epsilon);

/* What `releases` equal releases cost under a rule. The classical rule splits delta
 * evenly and adds epsilons; INVALID_CALIBRATION when its epsilon per release
 * exceeds 1, unless forced. */
TREMOLO_MUST_USE enum tremolo_status tremolo_rule_epsilon(struct tremolo_certified *epsilon,
                                                          enum tremolo_rule rule, double sigma,
                                                          double sensitivity, uint64_t releases,
                                                          double delta, bool force);
TREMOLO_MUST_USE enum tremolo_status tremolo_rule_delta(struct tremolo_certified *delta,
                                                        enum tremolo_rule rule, double sigma,
                                                        double sensitivity, uint64_t releases,
                                                        double epsilon, bool force);

/* ------------------------------------------------------------------------
 * Sensitivity of the modulated map
 *     g(x) = (1-alpha) x + (lambda/sqrt m) sum_j cos(omega <x,v_j> + phi_j) v_j
 * between samples at most `distance` apart. */
struct tremolo_modulation {
    double alpha;     /* in [0, 1) */
    double lambda;    /* >= 0 */
    double omega;     /* >= 0 */
    unsigned vectors; /* m; 0 means no modulation */
};

/* exact:       the phase stays on the device, so only (1-alpha) distance counts;
 * known_phase: the worst case over all pairs when the phase is published,
 *              (1-alpha) r + 2 lambda sin(min(pi/2, omega r / (2 sqrt m)));
 * paper:       the Lipschitz bound ((1-alpha) + lambda omega / sqrt m) r.
 * exact <= known_phase <= paper. known_phase is attained when
 * omega r <= pi sqrt m and an upper bound beyond. */
struct tremolo_sensitivity {
    struct tremolo_certified exact;
    struct tremolo_certified known_phase;
    struct tremolo_certified paper;
};
TREMOLO_MUST_USE enum tremolo_status
tremolo_sensitivity_of(struct tremolo_sensitivity *sensitivity,
                       const struct tremolo_modulation *modulation, double distance);

/* ------------------------------------------------------------------------
 * Hypothesis tests: the same guarantee as error rates of an attacker. */

/* The least false-negative rate of any test with the given false-positive
 * rate in [0, 1] between two neighbours under mu-Gaussian privacy. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_tradeoff_gaussian(struct tremolo_certified *false_negative, double mu,
                          double false_positive);

/* The same under nothing but (epsilon, delta):
 * max(0, 1 - delta - e^epsilon a, e^-epsilon (1 - delta - a)). */
TREMOLO_MUST_USE enum tremolo_status
tremolo_tradeoff_budget(struct tremolo_certified *false_negative, double epsilon, double delta,
                        double false_positive);

/* How often an attacker who must tell two equally likely neighbours apart is
 * right, at best: Phi(mu/2). */
TREMOLO_MUST_USE enum tremolo_status tremolo_attack_accuracy(struct tremolo_certified *accuracy,
                                                             double mu);

/* The same from (epsilon, delta) alone: (e^epsilon + delta)/(1 + e^epsilon). */
TREMOLO_MUST_USE enum tremolo_status
tremolo_attack_accuracy_budget(struct tremolo_certified *accuracy, double epsilon, double delta);

/* ------------------------------------------------------------------------
 * The discrete Gaussian, for comparison: noise on the integers with
 * probability proportional to exp(-k^2 / (2 variance)), integer sensitivity.
 * It is not what the device emits (that is a rounded Gaussian). variance is
 * in [1e-2, 1e10], sensitivity in 1..10^6. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_discrete_gaussian_delta(struct tremolo_certified *delta, double variance,
                                uint32_t sensitivity, double epsilon);

/* ------------------------------------------------------------------------
 * Privacy loss distributions on a grid of losses, composed by FFT.
 *
 * Each object holds two distributions, one that rounds every loss outward
 * (delta can only grow) and one that rounds inward, and so answers with
 * intervals. */
struct tremolo_pld; /* opaque */

/* A distribution given by its masses: mass[i] at loss (first + i) * step, and
 * infinity_mass at +infinity. Masses are nonnegative and sum with
 * infinity_mass to 1 within 1e-9; for upper bounds what is missing counts as
 * infinite loss. The caller frees with tremolo_pld_free. */
TREMOLO_MUST_USE enum tremolo_status tremolo_pld_from_masses(struct tremolo_pld **pld,
                                                             const double *mass, size_t count,
                                                             int64_t first, double step,
                                                             double infinity_mass);

/* The loss between two samples that differ by `shift` along a modulation
 * vector, when the noise there is amplitude * cos(uniform phase) plus
 * N(0, sigma^2): amplitude = lambda / sqrt m; 0 is the plain Gaussian.
 * shift/sigma is in [1e-6, 50], amplitude/sigma at most 16. cells is
 * the resolution, the number of cells per sigma (8..4096). */
TREMOLO_MUST_USE enum tremolo_status tremolo_pld_modulated(struct tremolo_pld **pld, double shift,
                                                           double sigma, double amplitude,
                                                           unsigned cells);

/* delta of `releases` independent releases, each with this distribution. The
 * convolution is tilted toward the losses that matter at this epsilon, so
 * relative accuracy survives down to delta = 1e-300. */
TREMOLO_MUST_USE enum tremolo_status tremolo_pld_delta(struct tremolo_certified *delta,
                                                       const struct tremolo_pld *pld,
                                                       uint64_t releases, double epsilon);
TREMOLO_MUST_USE enum tremolo_status tremolo_pld_epsilon(struct tremolo_certified *epsilon,
                                                         const struct tremolo_pld *pld,
                                                         uint64_t releases, double delta);
void tremolo_pld_free(struct tremolo_pld *pld); /* accepts NULL */

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

/* c: what the signed sum of a sent answer's five directions, each entry divided
 * by its own standard deviation and the sum by sqrt 5, is to be multiplied by to
 * have the sample's point for its mean; c^2 is about a coordinate's variance.
 * Exact to 1e-5, for normal directions. No privacy depends on it. */
TREMOLO_MUST_USE enum tremolo_status tremolo_rank_scale(double *scale,
                                                        const struct tremolo_rank_law *law);

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

/* Ballots of several laws and Gaussian releases of one device, chosen in advance
 * or adaptively. The cost of Gaussian releases may be {0}, the count 0, not
 * both. OVERFLOWED when the laws' numbers of ballots K have a product of
 * 2 K + 1 above TREMOLO_MIXTURE_ATOMS. */
#define TREMOLO_MIXTURE_ATOMS 32768
struct tremolo_ballots {
    struct tremolo_rank_law law;
    uint64_t count; /* >= 1 */
};
TREMOLO_MUST_USE enum tremolo_status
tremolo_mixture_delta(struct tremolo_certified *delta, const struct tremolo_ballots *ballots,
                      size_t count, const struct tremolo_gaussian *cost, double epsilon);

/* The smallest epsilon at delta, which may be 0 for ballots alone, and what a
 * ledger charges in its place. */
struct tremolo_mixture_cost {
    struct tremolo_certified exact;
    struct tremolo_certified sum;      /* pure + gaussian, never below exact */
    struct tremolo_certified pure;     /* of all ballots, at delta = 0 */
    struct tremolo_certified gaussian; /* epsilon(mu, delta); 0 without releases */
};
TREMOLO_MUST_USE enum tremolo_status
tremolo_mixture_epsilon(struct tremolo_mixture_cost *mixture, const struct tremolo_ballots *ballots,
                        size_t count, const struct tremolo_gaussian *cost, double delta);

/* ------------------------------------------------------------------------
 * Reconstruction: how far off any attacker must be about one sample. */
struct tremolo_reconstruction_setup {
    struct tremolo_modulation modulation;
    unsigned dimension;      /* d >= 1; modulation.vectors <= d */
    double sigma;            /* noise sd of one release */
    uint64_t releases;       /* of the same sample; noise averages out */
    bool response_in_clear;  /* y is sent as it is */
    double coefficient_norm; /* |beta*|, used when y is in the clear */
    double response_noise;   /* sd of y around <x, beta*>; > 0 when in the clear */
    double prior_sd;         /* the attacker's Gaussian prior per coordinate; 0: none */
};

/* Lower bounds on the mean squared error per coordinate (1/d) E|x^ - x|^2.
 * The first four bind unbiased attackers, the last any attacker with the
 * stated prior. `conditional` takes the phases as known, at the phase that
 * helps the attacker most (sin theta = -1); `conditional_average` is the
 * paper's phase average; both are the paper's d^2/trace form. */
struct tremolo_reconstruction {
    double conditional;          /* paper, phase known, worst phase */
    double phase_averaged;       /* paper, corollary as printed */
    double phase_averaged_trace; /* the same information, exact trace of the inverse */
    double marginal;             /* phase unknown: exact Fisher information, exact trace */
    double bayes;                /* van Trees with the prior; 0 when none is given */
    double without_response;     /* `marginal` had y stayed on the device */
    double information_along_v;  /* exact marginal information along each v_j */
};
TREMOLO_MUST_USE enum tremolo_status
tremolo_reconstruction_bounds(struct tremolo_reconstruction *bounds,
                              const struct tremolo_reconstruction_setup *setup);

/* The Fisher information about a location in amplitude * cos(phase) +
 * N(0, sigma^2), in units of 1/sigma^2, for contrast = amplitude / sigma in
 * [0, 64]; relative accuracy 1e-10. It falls from 1 as contrast grows. */
TREMOLO_MUST_USE enum tremolo_status tremolo_arcsine_information(double *information,
                                                                 double contrast);

/* ------------------------------------------------------------------------
 * Counting: exact confidence bounds for a proportion (Clopper-Pearson). Each
 * side errs with probability at most `error`; successes <= trials,
 * 1 <= trials <= 10^12, error in [1e-15, 0.5]. Bounds are rounded outward. */
TREMOLO_MUST_USE enum tremolo_status tremolo_binomial_bounds(double *lower, double *upper,
                                                             uint64_t successes, uint64_t trials,
                                                             double error);

/* P(B < x), or with `above` P(B > x), of a Beta(a, b) variable, a and b
 * positive; relative accuracy about 1e-13. What the bounds above and Student's
 * distribution are made of. */
double tremolo_beta_tail(double a, double b, double x, bool above);

/* ------------------------------------------------------------------------
 * Words. */

/* So many significant digits, rounded up, for costs that people read. What
 * exceeds them by less than a billionth of the last one is the accountant's
 * own rounding: a claim of epsilon 1 is to read 1. */
double tremolo_digits_up(double x, int digits);

/* The same rounded down, for what is only known to be at least so much, or is left. */
double tremolo_digits_down(double x, int digits);

/* A share that must not be understated in percent, rounded up to a tenth. */
double tremolo_percent_up(double share);

/* The same as people read it, "79.2%" or "60%"; ">99.9%" for what rounds up to all and is less
 * (`below`). Returns `text`. */
#define TREMOLO_PERCENT_BYTES 16
const char *tremolo_percent_text(char text[TREMOLO_PERCENT_BYTES], double share, bool below);

enum tremolo_neighbours {
    TREMOLO_NEIGHBOURS_DISTANCE, /* two samples at most `distance` apart */
    TREMOLO_NEIGHBOURS_ANY,      /* any two samples in the study's domain */
};

/* The guarantee for two samples that differ in one particular way. What it
 * says is rounded up: mu and epsilon to four digits, attacker_right to a tenth
 * of a percent. Beyond the accountant's range, where anybody can be told from
 * anybody, mu and epsilon are infinite and attacker_right is 1. For ballots,
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
    /* Numbers that distances are told in, in their own units. */
    const struct tremolo_extent *extents;
    size_t extent_count;
    /* Ways to differ that are to be told of, at most TREMOLO_EXPLAIN_WAYS: names
     * and distances count. Without any, the whole range of each extent is told of, the
     * last of too many together; without either, distance 1. */
    const struct tremolo_difference *ways;
    size_t way_count;
    bool
        answers; /* some of the ways are other answers or levels, which are the whole range apart */
    /* mu between people so far apart, over all releases, as proved of the device's integers,
     * infinite beyond the accountant's range; NULL: in proportion to the distance. */
    double (*mu_at)(const void *context, double distance);
    const void *context;
};

/* A promise for the reviewer and for the participant, in words, and the same
 * for samples that differ in other ways: the promise's own ways, a typical
 * pair, what is promised, any two. The words round up as the numbers do. */
#define TREMOLO_EXPLAIN_BYTES 2048
#define TREMOLO_EXPLAIN_NAMES 400 /* longer names or lists are not named */
#define TREMOLO_EXPLAIN_WAYS  8
#define TREMOLO_EXPLAIN_ROWS  (TREMOLO_EXPLAIN_WAYS + 3)

/* How far a typical pair differs in so many features of standard deviation 1. */
double tremolo_typical_distance(unsigned dimension);

/* The way to differ that stands for `count` more of them, so far apart at most. */
void tremolo_difference_of_more(struct tremolo_difference *way, size_t count, double distance);

/* What devices allow a study unless they are told otherwise: so much between any two people. */
#define TREMOLO_POLICY_EPSILON 2.0
#define TREMOLO_POLICY_DELTA   1e-5
/* From a promised epsilon beyond this on noise protects hardly anything. */
#define TREMOLO_EPSILON_HARDLY 10.0

/* A promise beside these two. */
enum tremolo_strength {
    TREMOLO_STRENGTH_POLICY, /* devices allow it by default */
    TREMOLO_STRENGTH_PAST,   /* they refuse it: people far apart are protected less */
    TREMOLO_STRENGTH_HARDLY, /* nobody is protected */
};
const char *tremolo_strength_name(enum tremolo_strength strength); /* "policy", "past", "hardly" */

struct tremolo_explanation {
    char reviewer[TREMOLO_EXPLAIN_BYTES];
    char participant[TREMOLO_EXPLAIN_BYTES];
    struct tremolo_difference differences[TREMOLO_EXPLAIN_ROWS];
    size_t difference_count;
    size_t any_two; /* which of them is about any two people; difference_count: none */
    enum tremolo_strength strength;
};
TREMOLO_MUST_USE enum tremolo_status tremolo_explain(struct tremolo_explanation *explanation,
                                                     const struct tremolo_promise *promise);

#ifdef __cplusplus
}
#endif

#endif
