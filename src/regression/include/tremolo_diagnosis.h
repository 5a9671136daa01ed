/* tremolo_diagnosis.h -- what an analyst asks after a table of coefficients.
 *
 *     struct tremolo_diagnosis diagnosis;
 *     status = tremolo_diagnose(&diagnosis, evidence, NULL, beta, &fit, &units, 0.95);
 *     ...
 *     tremolo_diagnosis_free(&diagnosis);
 *
 * All of it comes from the same sums in buckets as the coefficients do, of noisy samples or of
 * ballots (weighted as tremolo_ballot.h says), so it costs no privacy; uncertainty is the group
 * jackknife's over the buckets, with Student's t. What noise hides is NaN. */
#ifndef TREMOLO_DIAGNOSIS_H
#define TREMOLO_DIAGNOSIS_H

#include "tremolo_ballot.h"
#include "tremolo_regression.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A number with the interval that holds it at the level; NaN when it is not known. */
struct tremolo_measured {
    double estimate, low, high;
};

/* Do all slopes together differ from zero? By the covariances of features and response, which
 * are zero under the hypothesis whatever the features' own moments are: Hotelling's statistic
 * over the buckets, so that the level is kept at any noise. NaN with as many features as
 * buckets. */
struct tremolo_f_test {
    double f;
    double numerator, denominator; /* degrees of freedom */
    double p;
};

struct tremolo_diagnosis {
    size_t features; /* d */
    /* Of the unbiased coefficients in own units, intercept last; (d + 1)^2 numbers, or NULL
     * when the moment of the features is not positive without some bucket. Its diagonal is the
     * square of tremolo_infer()'s standard errors. */
    double *covariance;
    /* By how much the variance of each coefficient grows because the other features resemble
     * its own; d of them or NULL, as above. NaN where the interval spans a factor of ten. */
    struct tremolo_measured *inflation;
    struct tremolo_measured residual_sd; /* of the prediction that was given, own units */
    struct tremolo_f_test f_test;
};

/* From the evidence of samples or from ballots, the other being NULL; `beta` and `fit` are the
 * prediction, scaled units, whose residuals are judged; a residual_variance of NaN is taken from
 * the moments. BAD_ARGUMENT, NO_MEMORY; *diagnosis is then empty. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_diagnose(struct tremolo_diagnosis *diagnosis, const struct tremolo_debiased *evidence,
                 const struct tremolo_ballot *ballots, const double *beta,
                 const struct tremolo_fit *fit, const struct tremolo_units *units, double level);
void tremolo_diagnosis_free(struct tremolo_diagnosis *diagnosis);
void tremolo_diagnosis_begin(struct tremolo_diagnosis *diagnosis); /* nothing is known */

#ifdef __cplusplus
}
#endif

#endif
