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
 * Costs by rule. zcdp answers delta = 1 where epsilon <= rho: its conversion says nothing there. The
 * classical rule has no answer here (BAD_ARGUMENT): it calibrates equal releases. */
TREMOLO_MUST_USE enum tremolo_status tremolo_rule_epsilon(struct tremolo_certified *epsilon,
                                                          enum tremolo_rule rule,
                                                          const struct tremolo_gaussian *cost,
                                                          double delta);
TREMOLO_MUST_USE enum tremolo_status tremolo_rule_delta(struct tremolo_certified *delta,
                                                        enum tremolo_rule rule,
                                                        const struct tremolo_gaussian *cost,
                                                        double epsilon);

/* The largest rho of Gaussian releases that (epsilon, delta) allows. rho->lower is safe, and is also
 * rho->value. */
TREMOLO_MUST_USE enum tremolo_status tremolo_rule_rho(struct tremolo_certified *rho,
                                                      enum tremolo_rule rule, double epsilon,
                                                      double delta);

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
 * Privacy loss distributions on a grid, of any mechanism under which two samples give its
 * outcomes probabilities P and Q; the loss of an outcome is ln(P / Q). Composed, they bound delta
 * and epsilon from both sides.
 *
 *     tremolo_losses_new(&losses, step, widest, error);
 *     for (each outcome) tremolo_losses_put(losses, P, loss, 0.0);
 *     tremolo_losses_compose(losses, releases);
 *     tremolo_losses_delta(&delta, losses, &gaussian, epsilon);
 *     tremolo_losses_free(losses);
 */
struct tremolo_losses; /* opaque */

/* Nothing yet, for one release. Losses that are put are at most `widest` in size, which is below
 * 2044 steps. Two errors are at most `error`: the relative one of each mass, the absolute one of
 * each loss. A loss that is a multiple of the step stays exact. The caller frees the object. */
TREMOLO_MUST_USE enum tremolo_status tremolo_losses_new(struct tremolo_losses **losses, double step,
                                                        double widest, double error);

/* Add outcomes with P = `mass` in all and Q = mass e^-loss, each with a loss at most `spread` from
 * this one; 0 for a single outcome. `loss` is INFINITY where Q is 0. The masses must add up to 1. */
TREMOLO_MUST_USE enum tremolo_status tremolo_losses_put(struct tremolo_losses *losses, double mass,
                                                        double loss, double spread);

/* Make it the distribution of `releases` independent releases, or of ones chosen adaptively among
 * those with this distribution. After a failure the object can only be freed. */
TREMOLO_MUST_USE enum tremolo_status tremolo_losses_compose(struct tremolo_losses *losses,
                                                            uint64_t releases);

/* delta at an epsilon, or epsilon at a delta, together with Gaussian releases; {0}: without any.
 * UNREACHABLE when delta is below the probability of infinite loss. */
TREMOLO_MUST_USE enum tremolo_status tremolo_losses_delta(struct tremolo_certified *delta,
                                                          const struct tremolo_losses *losses,
                                                          const struct tremolo_gaussian *cost,
                                                          double epsilon);
TREMOLO_MUST_USE enum tremolo_status tremolo_losses_epsilon(struct tremolo_certified *epsilon,
                                                            const struct tremolo_losses *losses,
                                                            const struct tremolo_gaussian *cost,
                                                            double delta);
void tremolo_losses_free(struct tremolo_losses *losses); /* accepts NULL */

/* The loss between two samples that differ by `shift` along a modulation vector, when the noise
 * there is amplitude * cos(uniform phase) plus N(0, sigma^2): amplitude = lambda / sqrt m; 0 is the
 * plain Gaussian. shift / sigma is in [1e-6, 50], amplitude / sigma at most 16: OVERFLOWED. */
TREMOLO_MUST_USE enum tremolo_status tremolo_losses_modulated(struct tremolo_losses **losses,
                                                              double shift, double sigma,
                                                              double amplitude);

/* c: what the signed sum of a sent answer's five directions, each entry divided
 * by its own standard deviation and the sum by sqrt 5, is to be multiplied by to
 * have the sample's point for its mean; c^2 is about a coordinate's variance.
 * Exact to 1e-5, for normal directions. No privacy depends on it. */
TREMOLO_MUST_USE enum tremolo_status tremolo_rank_scale(double *scale,
                                                        const struct tremolo_rank_law *law);

/* ------------------------------------------------------------------------
 * Reconstruction: how far off any unbiased attacker must be about one sample. */
struct tremolo_reconstruction_setup {
    struct tremolo_modulation modulation;
    unsigned dimension; /* d >= 1; modulation.vectors <= d */
    double sigma;       /* noise sd of one release */
    uint64_t releases;  /* of the same sample; noise averages out */
    double signal; /* |beta*| / s_y of y = <x, beta*> + N(0, s_y^2) in the clear; 0: y is not */
};

/* Lower bounds on the mean squared error per coordinate (1/d) E|x^ - x|^2. `conditional` takes the
 * phases as known, at the phase that helps the attacker most (sin theta = -1); `phase_averaged` is
 * the paper's phase average; both are the paper's d^2/trace form. */
struct tremolo_reconstruction {
    double conditional;          /* paper, phase known, worst phase */
    double phase_averaged;       /* paper, corollary as printed */
    double phase_averaged_trace; /* the same information, exact trace of the inverse */
    double marginal;             /* phase unknown: exact Fisher information, exact trace */
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
