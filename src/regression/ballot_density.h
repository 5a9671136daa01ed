/* ballot_density.h -- how likely moments are, given those of ballots; for this module only.
 *
 * Parameters are all standard normal a priori but for those of means. See
 * ballot_density.c for what they mean. */
#ifndef TREMOLO_BALLOT_DENSITY_H
#define TREMOLO_BALLOT_DENSITY_H

#include "ballot.h"
#include "tremolo_random.h"

/* More are told apart by few fleets, and one column is the mean. */
enum { DENSITY_FACTORS_MAX = 15 };

/* What is expected of moments before any ballot: x lies within -1..1 for about nine of ten
 * devices, and w within -g..g. */
#define VARIANCE_CENTRE (-1.0498221244986778) /* log 0.35: a normal one's is 0.37 */
#define SCALE_CENTRE    0.59160797830996161   /* its root */
#define VARIANCE_SPREAD 1.0
#define PUBLIC_SPREAD   0.3 /* of the log variance of a public response about its own */
#define SHARE_CENTRE    0.0 /* logit of the part of a feature's variance that is common */
#define SHARE_SPREAD    2.0
#define PART_SPREAD     2.0    /* of the logits of what each factor has of that */
#define SHARES_END      6.0    /* of the parameters of shares: beyond it slopes have no size */
#define WSHARE_CENTRE   (-4.0) /* logit of the part of w that the features explain */
#define WSHARE_SPREAD   4.0
#define MEAN_SPREAD     0.6 /* of means, which are */
#define NEAR_SHARE      0.5 /* with this probability */
#define NEAR_SPREAD     0.2 /* so much nearer to the middle */

/* Where each kind of parameter begins. */
struct density_layout {
    size_t A;     /* d * q: loadings of the features on the common factors */
    size_t b;     /* d: slopes */
    size_t t;     /* r: log variances */
    size_t z;     /* r: means */
    size_t share; /* 2: logits of the common part of a feature, the explained part of w */
    size_t part;  /* q: logits of what each factor has of the common part */
    size_t count;
};

/* 1/variance of the entries of M, by block. */
struct density_weight {
    double corner, mean, square, product;
    double mean_w, product_w, square_w;
};

struct density {
    const struct tremolo_ballot *ballots;
    struct density_weight weight;
    struct density_layout at;
    double w_centre; /* of the log variance of w */
    double w_spread;
    double w_mean_sd;
    size_t n;
    size_t d;
    size_t r; /* d + 1: coordinates of (x, w) */
    size_t q; /* common factors */
    size_t g; /* columns of G: factors, means, and zeros up to whole registers */
    double *memory;
    double *O;    /* d * d: the features' part of the M that ballots gave */
    double OO;    /* the sum of its squares */
    double *G;    /* d * g: loadings, and the mean in column q */
    double *OG;   /* d * g */
    double *C;    /* g * g: G'G */
    double *HG;   /* d * g: gradient by T of features times G */
    double *part; /* q: of the variance of a standardised feature */
    double *root; /* q: of the common share of it */
    double *mean; /* r */
    double *scale;
    double *own;     /* d: variances */
    double *square;  /* d: T_ii, T = M / mass */
    double *slope;   /* d */
    double *joint;   /* d: T_iw */
    double *pull;    /* d: dE/dT_iw */
    double *tied[2]; /* q each: sums of loadings by slopes and by pulls */
    double *seen;    /* q * d: directions of the factors that stand out of the noise */
    size_t factors;  /* so many, by density_start() */
    double explained;
    double common;
    double residual;   /* variance of w */
    double w_variance; /* all of it */
    double mass;
};

/* False when there is no memory; free density->memory. */
bool density_new(struct density *density, const struct tremolo_ballot *ballots);

/* Minus the log density at a position, up to a constant, and its gradient. */
double density_energy(struct density *density, double *gradient, const double *position);

/* False where shares are beyond SHARES_END, six prior standard deviations away: as good as
 * impossible, and next to a division by zero. */
bool density_has(const struct density *density, const double *position);

/* All but OG, C, HG and pulls at a position. */
void density_place(struct density *density, const double *position);

/* New shares that leave M as it is; see ballot_rescale.c. */
void density_rescale(double *position, struct density *density, struct tremolo_random *random);

/* OG <- O G */
void density_multiply(struct density *density);

/* sum <- sum + share M at a position; its upper triangle only. */
void density_add_moments(double *sum, double share, struct density *density,
                         const double *position);

/* R^2 of theta as moments at a position have it. */
double density_explained(struct density *density, const double *position, const double *theta);

/* A place to start from, where the noisy M lies; see ballot_start.c. */
void density_start(double *position, struct density *density);

/* exp to 1e-14 relative, without the C library's; 0 for what is no number. */
double density_exponential(double x);

double density_logarithm(double value);

/* The common part of a feature or the explained part of w, from its parameter. */
double density_share(double logit, bool response);

/* Prior standard deviation of the mean of a coordinate. */
double density_mean_sd(const struct density *density, size_t i);

#endif
