/* accountant.h -- the rest of the accountant, for the program's own modules.
 *
 * tremolo_privacy.h has what embedders need and the rules that hold here, too: numbers come as
 * intervals that contain the truth, functions are pure, outputs stay untouched on failure. */
#ifndef TREMOLO_ACCOUNTANT_H
#define TREMOLO_ACCOUNTANT_H

#include "tremolo_privacy.h"

/* rho = mu^2 / 2, the zCDP parameter. */
struct tremolo_certified tremolo_gaussian_rho(const struct tremolo_gaussian *cost);

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

/* tremolo_attack_accuracy() from (epsilon, delta) alone: (e^epsilon + delta)/(1 + e^epsilon). */
TREMOLO_MUST_USE enum tremolo_status
tremolo_attack_accuracy_budget(struct tremolo_certified *accuracy, double epsilon, double delta);

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

/* c: what the signed sum of a sent answer's five directions, each entry divided
 * by its own standard deviation and the sum by sqrt 5, is to be multiplied by to
 * have the sample's point for its mean; c^2 is about a coordinate's variance.
 * Exact to 1e-5, for normal directions. No privacy depends on it. */
TREMOLO_MUST_USE enum tremolo_status tremolo_rank_scale(double *scale,
                                                        const struct tremolo_rank_law *law);

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

#endif
