/* shrink.c -- the `auto` estimator: a penalised likelihood for the hidden moments.
 *
 * What we see is a covariance with known noise. Let P be the joint second moment
 * of (x, y) without noise and D the known noise, so that a released row has
 * moment A = P + D. We maximise
 *     -K/2 [log det A + tr(A^-1 M)]                    what the reports say
 *     -nu/2 [log det S + tr(T S^-1)]                   S is near T
 *     -1/2 [kappa mu |beta|^2 + omega yy] / s2 - omega/2 log s2
 * over P = (S, S beta; ., s2 + beta' S beta), S > 0, s2 > 0. M is the raw joint
 * moment. The first line is the likelihood of Gaussian rows; for other rows it
 * is a sensible discrepancy, and it is what keeps P positive: explained variance
 * can never exceed the response's, which is the strongest thing known about S
 * when noise is large. The other lines are worth nu, kappa and omega
 * pseudo-devices without noise. They lose their weight as K grows or noise falls.
 *
 * The constants come from the same moments:
 *   mu     the mean eigenvalue of S, as its posterior mean under a flat prior above
 *          the bound |Z|^2/(d yy) <= mu, plus one standard deviation: too small a
 *          mu makes coefficients overshoot, too large a one only shrinks them;
 *   T      mu I, raised along Z to what the reports say of z'Sz, as far as they say
 *          it clearly. Coefficients mostly point along Z, and where features are
 *          correlated that is a direction of large variance, in which a target of
 *          mu would let them overshoot;
 *   nu     from the spread of S's eigenvalues beyond noise: for an inverse-Wishart S,
 *          E|S - mu I|_F^2 = mu^2 d (d+1)/nu. The estimate is averaged with
 *          NU_PRIOR by precision, since at large noise the spread is unknowable;
 *   kappa  from r = |Z|^2/(mu yy), a rough R^2, taken two standard deviations high
 *          because noise must not talk us out of a real signal: d (1-r)/r is the
 *          ratio of the residual's to a coefficient's variance.
 *
 * A private response adds noise to yy and Z as well, and may hide both. Then yy is
 * its posterior mean between 0 and what public bounds allow, and the coefficients
 * are multiplied by |Z|^2/(|Z|^2 + noise), |Z|^2 likewise between 0 and the mu yy
 * that Cauchy and Schwarz leave it: with nothing to be seen the prediction is the mean.
 *
 * Where Z does not stand out from what it is without any signal the coefficients are
 * halved, whatever the response is: the prediction falls back towards the mean.
 *
 * The search for the maximum comes first below, then the constants. */
#include "evidence.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "linear.h"
#include "regression.h"

#define NU_PRIOR        20.0
#define NU_SPREAD_FLOOR 0.6          /* of the prior's spread, while noise hides the real one */
#define NU_SPREAD_LEAST 0.05         /* the same once the spread is seen */
#define MU_CAUTION      1.0          /* standard deviations added to mu */
#define ALONG_PRIOR     (1.0 / 16.0) /* sd of z'Sz about mu before reports, in units of mu d */
#define KAPPA_OPTIMISM  2.0          /* standard deviations added to |Z|^2 for kappa */
#define LARGEST_SIGNAL  0.98
#define IDENTIFIED_SDS  2.0 /* by which yy, S and Z must stand out for an R^2 */
#define CLEAR_SDS       1.5 /* by which Z must stand out for whole coefficients */
#define LEAST_TRUST     0.5 /* keeps 3/4 of what is explained, at 1/4 of the cost of nothing */
#define EVEN_SHARE      (1.0 / 3.0)
#define QUADRATURE      256
#define SHRINK_OMEGA    0.15 /* pseudo-devices that pull s2 to yy */

/* What the penalties are. */
struct shrink_constants {
    double mu;
    double raise; /* T = mu I + raise z z' */
    double z[TREMOLO_MAX_FEATURES];
    double nu;
    double kappa;
    double yy;
    double trust;    /* by which beta is multiplied */
    bool identified; /* noise leaves enough of yy, S and Z to speak of an R^2 */
};

/* ---------------------------------------------------------------- the maximum
 *
 * Twice the negated objective is a function of the joint moment P = (S, zeta; zeta', yy), with
 * beta = S^-1 zeta and s2 = yy - zeta' beta:
 *     K [log det A + tr(A^-1 M)] + nu [log det S + tr(T S^-1)]
 *         + [kappa mu |beta|^2 + omega yy_0] / s2 + omega log s2,     A = P + D.
 * In the basis in which M's features are diagonal, with noise that has no direction, features
 * meet through the response alone: the solution is close to diagonal, so is the matrix of second
 * derivatives, and the products that the gradient takes are one symmetric half each. So:
 *   - the start is the best diagonal S, one root for each feature, and the reports' Z;
 *   - steps are those of L-BFGS about the diagonal of second derivatives at each point, plus
 *     the one direction in which s2 changes, which is stiff where beta explains much;
 *   - a step is halved until S and s2 are positive and the loss falls.
 * Coordinates are P itself: the likelihood knows Z and yy well and S badly, and apart. Five to
 * thirty evaluations do; where noise hides nearly all of many features it may be the limit, with
 * a loss that is off by hundredths then. */

#define DECREMENT_TOLERANCE 1e-4 /* of twice the log-likelihood, where 4 is a standard interval */
#define SUFFICIENT          1e-4 /* share of the promised decrease that a step must bring */
#define CURVATURE_LEAST     0.25 /* of what the information alone would give */
#define EXPLAINED_MOST      0.99 /* of yy, at the start: */
#define EXPLAINED_AT_START  0.5  /* the share kept of an excess */

enum { PAIRS = 12, EVALUATIONS_MAX = 80, HALVINGS_MAX = 30, BISECTIONS = 60 };

/* Everything in the basis; matrices are n * n, features first. */
struct search {
    const struct shrink_problem *problem;
    const struct shrink_constants *constants;
    size_t d;
    size_t n;
    double *basis;                  /* d * d: eigenvectors of M's features, one after the other */
    double m[TREMOLO_MAX_FEATURES]; /* their eigenvalues, ascending */
    double w[TREMOLO_MAX_FEATURES + 1]; /* M's last column, its last entry halved */
    double z[TREMOLO_MAX_FEATURES];
    double *D;
    double *P, *G;           /* where we are: the moment, and the gradient there */
    double *next_P, *next_G; /* the same where we look */
    double *step;
    double *inverse, *scaled, *gram; /* what an evaluation needs */
    double *diagonal;                /* second derivatives */
    double *tilt;                    /* how s2 changes */
    double *moved[PAIRS];            /* the last steps, the newest last, */
    double *turned[PAIRS];           /* and what they did to the gradient */
    double product[PAIRS];
    size_t pairs;
    size_t negative; /* of m: pooled rounds may have such */
    /* At the last point that was evaluated: */
    double beta[TREMOLO_MAX_FEATURES];
    double s2;
    double stiffness;                   /* second derivative in s2 */
    double gamma[TREMOLO_MAX_FEATURES]; /* A_xx^-1 A_xy: of the response on noisy features, */
    double c;                           /* and what it leaves of A_yy */
};

/* ---------------------------------------------------------------- the loss */

/* The features' prior: G <- nu (S^-1 - S^-1 T S^-1), beta and s2. False outside the domain. */
static bool prior_of_features(struct search *search, double *loss, double *G, const double *P)
{
    const struct shrink_constants *c = search->constants;
    size_t d = search->d;
    size_t n = search->n;
    double *inverse = search->inverse;
    double v[TREMOLO_MAX_FEATURES];
    double trace = 0.0;
    double logdet = 0.0;
    linear_block(inverse, P, d, n);
    if (!linear_positive_inverse(inverse, &logdet, d)) {
        return false;
    }
    linear_apply(search->beta, inverse, P + d * n, d);
    linear_apply(v, inverse, search->z, d);
    search->s2 = P[n * n - 1] - linear_dot(P + d * n, search->beta, d);
    memset(search->gram, 0, d * d * sizeof *G);
    linear_gram(search->gram, 1.0, inverse, d, d);
    for (size_t i = 0; i < d; i++) {
        trace += inverse[i * d + i];
        for (size_t j = 0; j <= i; j++) {
            double pulled = c->mu * search->gram[i * d + j] + c->raise * v[i] * v[j];
            G[i * n + j] = c->nu * (inverse[i * d + j] - pulled);
        }
    }
    *loss = c->nu * (logdet + c->mu * trace + c->raise * linear_dot(v, search->z, d));
    /* S^-1 beta, which the prior of beta needs, in the last row. */
    linear_apply(G + d * n, inverse, search->beta, d);
    return search->s2 > 0.0;
}

/* The prior of beta and s2; the last row of G holds S^-1 beta before and its gradient after. */
static void prior_of_response(struct search *search, double *loss, double *G)
{
    const struct shrink_constants *c = search->constants;
    size_t d = search->d;
    size_t n = search->n;
    const double *beta = search->beta;
    double *row = G + d * n;
    double s2 = search->s2;
    double ridge = c->kappa * c->mu / s2;
    double penalty = c->kappa * c->mu * linear_dot(beta, beta, d) + SHRINK_OMEGA * c->yy;
    double slope = SHRINK_OMEGA / s2 - penalty / (s2 * s2);
    *loss += penalty / s2 + SHRINK_OMEGA * log(s2);
    search->stiffness = fmax(2.0 * penalty / s2 - SHRINK_OMEGA, SHRINK_OMEGA) / (s2 * s2);
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j <= i; j++) {
            G[i * n + j] +=
                slope * beta[i] * beta[j] - ridge * (row[i] * beta[j] + beta[i] * row[j]);
        }
    }
    for (size_t i = 0; i < d; i++) {
        row[i] = ridge * row[i] - slope * beta[i];
    }
    row[d] = slope;
}

/* The likelihood: M is diagonal except for its last row and column, so A^-1 M A^-1 is a product of
 * scaled columns with themselves and two of one column with another. */
static bool likelihood(struct search *search, double *loss, double *G, const double *P)
{
    size_t d = search->d;
    size_t n = search->n;
    double K = search->problem->devices;
    double *inverse = search->inverse;
    double v[TREMOLO_MAX_FEATURES + 1];
    double logdet = 0.0;
    double trace = 0.0;
    for (size_t i = 0; i < n * n; i++) {
        inverse[i] = P[i] + search->D[i];
    }
    if (!linear_positive_inverse(inverse, &logdet, n)) {
        return false;
    }
    const double *last = inverse + d * n;
    linear_apply(v, inverse, search->w, n);
    search->c = 1.0 / last[d];
    for (size_t i = 0; i < d; i++) {
        search->gamma[i] = -last[i] * search->c;
        double root = sqrt(fabs(search->m[i]));
        trace += search->m[i] * inverse[i * n + i];
        for (size_t j = 0; j < n; j++) {
            search->scaled[i * n + j] = root * inverse[i * n + j];
        }
    }
    size_t negative = search->negative;
    memset(search->gram, 0, n * n * sizeof *G);
    linear_gram(search->gram, -1.0, search->scaled, n, negative);
    linear_gram(search->gram, 1.0, search->scaled + negative * n, n, d - negative);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            double seen = search->gram[i * n + j] + v[i] * last[j] + last[i] * v[j];
            G[i * n + j] += K * (inverse[i * n + j] - seen);
        }
    }
    *loss += K * (logdet + trace + 2.0 * v[d]);
    return true;
}

/* The loss at P, infinite outside the domain, and its gradient G. Both are symmetric, G for the
 * inner product over all entries. */
static double loss_at(struct search *search, double *G, const double *P)
{
    size_t n = search->n;
    double loss = 0.0;
    if (!prior_of_features(search, &loss, G, P)) {
        return INFINITY;
    }
    prior_of_response(search, &loss, G);
    if (!likelihood(search, &loss, G, P) || !isfinite(loss)) {
        return INFINITY;
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++) {
            G[j * n + i] = G[i * n + j];
        }
    }
    return loss;
}

/* ---------------------------------------------------------------- steps */

/* Second derivatives along each entry once the response is replaced by what gamma leaves of it, as
 * if S and A were diagonal then. `tilt` says how s2 changes. */
static void curvature(struct search *search)
{
    const struct shrink_constants *c = search->constants;
    size_t d = search->d;
    size_t n = search->n;
    double K = search->problem->devices;
    double a[TREMOLO_MAX_FEATURES + 1] = {0}, s[TREMOLO_MAX_FEATURES] = {0};
    double b[TREMOLO_MAX_FEATURES + 1] = {0};
    double data[TREMOLO_MAX_FEATURES + 1] = {0}, prior[TREMOLO_MAX_FEATURES] = {0};
    data[d] = 2.0 * search->w[d];
    for (size_t i = 0; i < d; i++) {
        s[i] = search->P[i * n + i];
        a[i] = s[i] + search->D[i * n + i];
        b[i] = search->gamma[i] - search->beta[i];
        data[i] = search->m[i] / a[i];
        data[d] += search->gamma[i] * (search->gamma[i] * search->m[i] - 2.0 * search->w[i]);
        prior[i] = (c->mu + c->raise * search->z[i] * search->z[i]) / s[i];
    }
    a[d] = search->c;
    b[d] = 1.0;
    data[d] /= search->c;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = fmax(data[i] + data[j] - 1.0, CURVATURE_LEAST) * K / (a[i] * a[j]);
            if (i < d) {
                sum += fmax(prior[i] + prior[j] - 1.0, CURVATURE_LEAST) * c->nu / (s[i] * s[j]);
            } else if (j < d) {
                sum += c->kappa * c->mu / (search->s2 * s[j] * s[j]);
            }
            search->diagonal[i * n + j] = search->diagonal[j * n + i] = sum;
            search->tilt[i * n + j] = search->tilt[j * n + i] = b[i] * b[j];
        }
    }
}

/* x <- the inverse of those second derivatives times x. A gradient is carried to the replaced
 * response, (x, y - gamma'x), and a step back from it. */
static void precondition(const struct search *search, double *x)
{
    size_t d = search->d;
    size_t n = search->n;
    const double *gamma = search->gamma;
    double row[TREMOLO_MAX_FEATURES + 1] = {0};
    double along = 0.0;
    double own = 0.0;
    memcpy(row, x + d * n, n * sizeof *row);
    for (size_t i = 0; i < d; i++) {
        linear_add(x + i * n, gamma[i], row, n);
        linear_add(x + i * n, x[i * n + d], gamma, d);
        x[d * n + i] = x[i * n + d];
    }
    for (size_t i = 0; i < n * n; i++) {
        double by = search->tilt[i] / search->diagonal[i];
        along += by * x[i];
        own += by * search->tilt[i];
    }
    double pull = search->stiffness * along / (1.0 + search->stiffness * own);
    for (size_t i = 0; i < n * n; i++) {
        x[i] = (x[i] - pull * search->tilt[i]) / search->diagonal[i];
    }
    memcpy(row, x + d * n, n * sizeof *row);
    for (size_t i = 0; i < d; i++) {
        double carried = linear_dot(x + i * n, gamma, d);
        x[i * n + d] = x[d * n + i] = row[i] + carried;
        x[n * n - 1] += gamma[i] * (2.0 * row[i] + carried);
    }
}

/* step <- minus the inverse of second derivatives, as far as the last steps tell, times G. */
static void choose_step(struct search *search)
{
    size_t count = search->n * search->n;
    double share[PAIRS] = {0};
    double *step = search->step;
    memcpy(step, search->G, count * sizeof *step);
    for (size_t k = search->pairs; k-- > 0;) {
        share[k] = linear_dot(search->moved[k], step, count) / search->product[k];
        linear_add(step, -share[k], search->turned[k], count);
    }
    precondition(search, step);
    for (size_t k = 0; k < search->pairs; k++) {
        double back = linear_dot(search->turned[k], step, count) / search->product[k];
        linear_add(step, share[k] - back, search->moved[k], count);
    }
    for (size_t i = 0; i < count; i++) {
        step[i] = -step[i];
    }
}

/* Remember the step from P to next_P, unless the loss does not curve upwards along it. */
static void remember(struct search *search)
{
    size_t count = search->n * search->n;
    if (search->pairs == PAIRS) {
        double *moved = search->moved[0];
        double *turned = search->turned[0];
        for (size_t k = 1; k < PAIRS; k++) {
            search->moved[k - 1] = search->moved[k];
            search->turned[k - 1] = search->turned[k];
            search->product[k - 1] = search->product[k];
        }
        search->moved[PAIRS - 1] = moved;
        search->turned[PAIRS - 1] = turned;
        search->pairs--;
    }
    double *moved = search->moved[search->pairs];
    double *turned = search->turned[search->pairs];
    for (size_t i = 0; i < count; i++) {
        moved[i] = search->next_P[i] - search->P[i];
        turned[i] = search->next_G[i] - search->G[i];
    }
    double product = linear_dot(moved, turned, count);
    if (product > 0.0) {
        search->product[search->pairs++] = product;
    }
}

/* ---------------------------------------------------------------- the search */

/* The root of the derivative in one feature's variance, the others apart; it lies between what
 * the reports say of it and what the prior does. */
static double best_alone(const struct search *search, size_t i)
{
    const struct shrink_constants *c = search->constants;
    double K = search->problem->devices;
    double noise = search->D[i * search->n + i];
    double target = c->mu + c->raise * search->z[i] * search->z[i];
    double seen = fmax(search->m[i] - noise, 0.0);
    double low = fmin(seen, target);
    double high = fmax(seen, target);
    for (int k = 0; k < BISECTIONS; k++) {
        double s = 0.5 * (low + high);
        double a = s + noise;
        bool falls = K * (a - search->m[i]) / (a * a) + c->nu * (s - target) / (s * s) < 0.0;
        low = falls ? s : low;
        high = falls ? high : s;
    }
    return high;
}

/* The best diagonal S, and Z as far as it explains no more than a part of yy. */
static void start(struct search *search)
{
    size_t d = search->d;
    size_t n = search->n;
    double *P = search->P;
    double explained = 0.0;
    memset(P, 0, n * n * sizeof *P);
    for (size_t i = 0; i < d; i++) {
        double Z = search->w[i] - search->D[d * n + i];
        P[i * n + i] = best_alone(search, i);
        P[d * n + i] = Z;
        explained += Z * Z / P[i * n + i];
    }
    double yy = search->constants->yy;
    double keep = explained < EXPLAINED_MOST * yy ? 1.0 : sqrt(EXPLAINED_AT_START * yy / explained);
    for (size_t i = 0; i < d; i++) {
        P[d * n + i] *= keep;
        P[i * n + d] = P[d * n + i];
    }
    P[n * n - 1] = yy;
}

static void swap(double **a, double **b)
{
    double *kept = *a;
    *a = *b;
    *b = kept;
}

/* Look along the step, nearer and nearer; false when nothing there is better. */
static bool advance(struct search *search, double *loss, double slope, size_t *evaluations)
{
    size_t count = search->n * search->n;
    double share = 1.0;
    for (int k = 0; k < HALVINGS_MAX; k++, share *= 0.5) {
        memcpy(search->next_P, search->P, count * sizeof(double));
        linear_add(search->next_P, share, search->step, count);
        double there = loss_at(search, search->next_G, search->next_P);
        (*evaluations)++;
        if (there <= *loss + SUFFICIENT * share * slope) {
            *loss = there;
            return true;
        }
    }
    return false;
}

/* Until the next step promises next to nothing. False when not even the start can be evaluated,
 * which positive penalties rule out. */
static bool descend(struct search *search)
{
    size_t count = search->n * search->n;
    double loss = loss_at(search, search->G, search->P);
    size_t evaluations = 1;
    while (isfinite(loss) && evaluations < EVALUATIONS_MAX) {
        curvature(search);
        choose_step(search);
        double slope = linear_dot(search->G, search->step, count);
        if (-slope <= DECREMENT_TOLERANCE) {
            break;
        }
        if (advance(search, &loss, slope, &evaluations)) {
            remember(search);
            swap(&search->P, &search->next_P);
            swap(&search->G, &search->next_G);
        } else if (search->pairs > 0) {
            search->pairs = 0; /* they mislead: from here on without them */
            loss = loss_at(search, search->G, search->P);
        } else {
            break;
        }
    }
    /* beta and s2 are those of the last point that was looked at. */
    return isfinite(loss_at(search, search->G, search->P));
}

/* ---------------------------------------------------------------- the basis */

/* to <- Q' from Q, the features' part turned into the basis; `work` holds n * n. */
static void turn(double *to, const struct search *search, const double *from, double *work)
{
    size_t d = search->d;
    size_t n = search->n;
    linear_block(work, from, d, n);
    linear_multiply(search->gram, work, search->basis, d, false);
    linear_multiply(work, search->basis, search->gram, d, true);
    for (size_t i = 0; i < d; i++) {
        memcpy(to + i * n, work + i * d, d * sizeof *to);
        to[i * n + d] = linear_dot(search->basis + i * d, from + d * n, d);
        to[d * n + i] = to[i * n + d];
    }
    to[n * n - 1] = from[n * n - 1];
}

/* Into the basis in which M's features are diagonal; false when LAPACK does not converge. */
static bool turn_problem(struct search *search)
{
    const struct shrink_problem *problem = search->problem;
    size_t d = search->d;
    size_t n = search->n;
    linear_block(search->basis, problem->raw, d, n);
    if (!linear_eigen(search->m, search->basis, d)) {
        return false;
    }
    for (size_t k = 0; k < d; k++) {
        const double *u = search->basis + k * d;
        search->negative += search->m[k] < 0.0;
        search->w[k] = linear_dot(u, problem->raw + d * n, d);
        search->z[k] = linear_dot(u, search->constants->z, d);
    }
    search->w[d] = 0.5 * problem->raw[n * n - 1];
    turn(search->D, search, problem->bias, search->scaled);
    return true;
}

/* S and beta as the caller's features have them. */
static void turn_back(double *beta, double *S, struct search *search)
{
    size_t d = search->d;
    size_t n = search->n;
    memset(beta, 0, d * sizeof *beta);
    for (size_t k = 0; k < d; k++) {
        linear_add(beta, search->beta[k], search->basis + k * d, d);
    }
    linear_block(search->scaled, search->P, d, n);
    linear_multiply(search->gram, search->basis, search->scaled, d, false);
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j < d; j++) {
            search->scaled[i * d + j] = search->gram[j * d + i];
        }
    }
    linear_multiply(S, search->basis, search->scaled, d, false);
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j < i; j++) {
            S[j * d + i] = S[i * d + j] = 0.5 * (S[i * d + j] + S[j * d + i]);
        }
    }
}

/* ---------------------------------------------------------------- its entry */

/* All matrices lie in one piece of memory; NULL when there is none. */
static double *search_allocate(struct search *search)
{
    size_t size = search->n * search->n;
    double *memory =
        LINEAR_NEW({&search->basis, size}, {&search->D, size}, {&search->P, size},
                   {&search->G, size}, {&search->next_P, size}, {&search->next_G, size},
                   {&search->step, size}, {&search->inverse, size}, {&search->scaled, size},
                   {&search->gram, size}, {&search->diagonal, size}, {&search->tilt, size},
                   {&search->moved[0], PAIRS * size}, {&search->turned[0], PAIRS * size});
    for (size_t k = 1; memory != NULL && k < PAIRS; k++) {
        search->moved[k] = search->moved[0] + k * size;
        search->turned[k] = search->turned[0] + k * size;
    }
    return memory;
}

static enum tremolo_status shrink_search(double *beta, double *S, double *s2,
                                         const struct shrink_problem *problem,
                                         const struct shrink_constants *constants)
{
    struct search search = {
        .problem = problem, .constants = constants, .d = problem->d, .n = problem->d + 1};
    enum tremolo_status status = TREMOLO_NOT_CONVERGED;
    double *memory = search_allocate(&search);
    if (memory == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    if (turn_problem(&search)) {
        start(&search);
        if (descend(&search)) {
            turn_back(beta, S, &search);
            *s2 = search.s2;
            status = TREMOLO_OK;
        }
    }
    free(memory);
    return status;
}

/* ---------------------------------------------------------------- constants */

/* Mean of N(estimate, sd^2) conditioned on exceeding `lower`: the posterior mean
 * under a flat prior. */
static double truncated_mean(double estimate, double lower, double sd)
{
    if (!(sd > 0.0)) {
        return fmax(estimate, lower);
    }
    double t = (lower - estimate) / sd;
    double hazard =
        t > 30.0 ? t + 1.0 / t : exp(-0.5 * t * t) / sqrt(2.0 * M_PI) / (0.5 * erfc(t / sqrt(2.0)));
    return estimate + sd * hazard;
}

/* The same within [lower, upper]; by the midpoint rule, from where the density
 * is largest to eight standard deviations off. */
static double bounded_mean(double estimate, double lower, double upper, double sd)
{
    double mode = fmin(fmax(estimate, lower), upper);
    double from = fmax(lower, mode - 8.0 * sd);
    double to = fmin(upper, mode + 8.0 * sd);
    double mass = 0.0;
    double sum = 0.0;
    if (!(to > from)) {
        return mode;
    }
    for (int k = 0; k < QUADRATURE; k++) {
        double x = from + (to - from) * (k + 0.5) / QUADRATURE;
        double a = (x - estimate) / sd;
        double b = (mode - estimate) / sd;
        double weight = exp(0.5 * (b * b - a * a));
        mass += weight;
        sum += weight * x;
    }
    return sum / mass;
}

/* |S - mean(S) I|_F^2 beyond what noise alone would give, and its standard
 * deviation; `mu` is the best guess of the mean eigenvalue. */
static double spread_of(double *sd, const struct shrink_problem *problem, double mean, double mu)
{
    size_t d = problem->d;
    size_t n = d + 1;
    double noise = problem->noise;
    double dd = (double)d;
    double raw = 0.0;
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j < d; j++) {
            double s = problem->raw[i * n + j] - problem->bias[i * n + j];
            double off = s - (i == j ? mean : 0.0);
            raw += off * off;
        }
    }
    double known = (noise * noise * (dd * (dd + 1.0) - 2.0) + 2.0 * noise * (dd + 1.0) * dd * mu) /
                   problem->devices;
    double unit = (noise * noise + 2.0 * noise * mu) / problem->devices;
    double spread = raw - known;
    *sd = 2.0 * sqrt(dd * (dd + 1.0)) * unit + 2.0 * sqrt(fmax(spread, 0.0) * 2.0 * unit);
    return spread;
}

/* The spread of eigenvalues as far as it stands out of noise, else the prior's. */
static double choose_nu(const struct shrink_problem *problem, double mean, double mu)
{
    double d = (double)problem->d;
    double sd = 0.0;
    double spread = spread_of(&sd, problem, mean, mu);
    double prior = mu * mu * d * (d + 1.0) / NU_PRIOR;
    double variance = sd * sd;
    double trust = prior * prior / (prior * prior + variance);
    double combined = trust * spread + (1.0 - trust) * prior;
    double floor_share = NU_SPREAD_FLOOR * (1.0 - trust) + NU_SPREAD_LEAST * trust;
    return mu * mu * d * (d + 1.0) / fmax(combined, floor_share * prior);
}

/* Set z, the direction of Z, and how far T exceeds mu along it: the precision-
 * weighted mean of mu and the reports' z'Sz, never below mu. */
static void choose_direction(struct shrink_constants *c, const struct shrink_problem *problem,
                             double z_length)
{
    size_t d = problem->d;
    size_t n = d + 1;
    double noise = problem->noise;
    double along = 0.0;
    for (size_t i = 0; i < d; i++) {
        c->z[i] = (problem->raw[i * n + d] - problem->bias[i * n + d]) / z_length;
    }
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j < d; j++) {
            along += c->z[i] * c->z[j] * (problem->raw[i * n + j] - problem->bias[i * n + j]);
        }
    }
    /* one direction can hold anything up to the trace, so the doubt grows with d */
    double doubt = ALONG_PRIOR * c->mu * (double)d;
    double prior = doubt * doubt;
    double variance = (2.0 * noise * noise + 4.0 * noise * fmax(along, c->mu)) / problem->devices;
    double weight = prior / (prior + variance);
    c->raise = fmax(weight * (along - c->mu), 0.0);
    if (d == 1) {
        c->raise = 0.0; /* mu is all there is */
    }
}

/* A ratio of variances from a rough R^2, bounded at both ends. */
static double choose_kappa(size_t d, double signal, double mu, double yy)
{
    double r = fmin(signal / (mu * yy), LARGEST_SIGNAL);
    double odds = fmin((1.0 - r) / r, 1e6);
    return (double)d * odds;
}

/* The response's variance, and how far it is known. */
static double choose_yy(double *sd, const struct shrink_problem *problem)
{
    size_t n = problem->d + 1;
    double raw = problem->raw[n * n - 1];
    double noise = problem->bias[n * n - 1];
    *sd = noise > 0.0 ? raw * sqrt(2.0 / problem->devices) : 0.0;
    if (noise > 0.0 && problem->largest > 0.0) {
        return bounded_mean(raw - noise, 0.0, problem->largest, *sd);
    }
    return truncated_mean(raw - noise, 0.0, *sd);
}

/* A second moment as far as the reports show it; where they do not, at most that
 * of values spread evenly between the bounds, since few coordinates have more. */
static double plausible(const struct shrink_problem *problem, double value, double seen, double sd)
{
    bool hidden = seen < IDENTIFIED_SDS * sd;
    return hidden && problem->largest > 0.0 ? fmin(value, EVEN_SHARE * problem->largest) : value;
}

/* The share of Z that is signal, for a private response: |Z|^2 is `excess` beyond
 * its `noise`, give or take `sd`, and at most `most`. */
static double choose_trust(double excess, double sd, double noise, double most)
{
    double signal = bounded_mean(excess, 0.0, most, sd);
    return signal / (signal + noise);
}

/* False when the response or the features show nothing to work with. */
static bool choose_constants(struct shrink_constants *constants,
                             const struct shrink_problem *problem)
{
    size_t d = problem->d;
    size_t n = d + 1;
    double K = problem->devices;
    double noise = problem->noise;
    double response_noise = problem->bias[n * n - 1];
    double trace = 0.0;
    double z2 = 0.0;
    for (size_t i = 0; i < d; i++) {
        double z = problem->raw[i * n + d] - problem->bias[i * n + d];
        trace += problem->raw[i * n + i] - problem->bias[i * n + i];
        z2 += z * z;
    }
    double mean = trace / (double)d;
    double raw_yy = problem->raw[n * n - 1];
    double yy_sd = 0.0;
    double yy = choose_yy(&yy_sd, problem);
    double floor_mu = fmax(mean, 0.0);
    double z_noise = (noise * raw_yy + response_noise * floor_mu) / K;
    double signal = fmax(z2 - (double)d * z_noise, 0.1 * z_noise);
    if (!(yy > 0.0)) {
        return false;
    }
    double bound = fmax(z2 - (double)d * z_noise, 0.0) / (yy * (double)d);
    double sd = sqrt((2.0 * noise * noise + 4.0 * noise * fmax(mean, bound)) / (K * (double)d));
    double mu = truncated_mean(mean, bound, sd);
    if (!(mu > 0.0) || !(signal > 0.0) || !isfinite(mu) || !isfinite(yy)) {
        return false;
    }
    constants->mu = mu + MU_CAUTION * sd;
    constants->yy = yy;
    choose_direction(constants, problem, sqrt(fmax(z2, DBL_MIN)));
    constants->nu = choose_nu(problem, mean, constants->mu);
    double signal_sd = sqrt(z_noise * (2.0 * (double)d * z_noise + 4.0 * signal));
    constants->kappa = choose_kappa(d, signal + KAPPA_OPTIMISM * signal_sd, mu, yy);
    double excess = z2 - (double)d * z_noise;
    double most =
        plausible(problem, mu, mean, sd) * plausible(problem, yy, raw_yy - response_noise, yy_sd);
    constants->trust =
        response_noise > 0.0 ? choose_trust(excess, signal_sd, (double)d * z_noise, most) : 1.0;
    constants->trust *=
        shrink_trust(z2, (noise + floor_mu) * raw_yy / K, (double)d, LEAST_TRUST, CLEAR_SDS);
    constants->identified = mean >= IDENTIFIED_SDS * sd &&
                            raw_yy - response_noise >= IDENTIFIED_SDS * yy_sd &&
                            excess >= IDENTIFIED_SDS * sqrt(2.0 * (double)d) * z_noise;
    return true;
}

/* ---------------------------------------------------------------- entry */

/* Nothing to learn from: predict the mean. */
static void answer_nothing(double *beta, double *S, struct tremolo_fit *fit,
                           const struct shrink_problem *problem)
{
    size_t d = problem->d;
    memset(beta, 0, d * sizeof(double));
    memset(S, 0, d * d * sizeof(double));
    for (size_t i = 0; i < d; i++) {
        S[i * d + i] = 1.0;
    }
    *fit =
        (struct tremolo_fit){.r2 = NAN, .residual_variance = problem->raw[(d + 1) * (d + 1) - 1]};
}

enum tremolo_status shrink_solve(double *beta, double *S, struct tremolo_fit *fit,
                                 const struct shrink_problem *problem)
{
    struct shrink_constants constants;
    double s2 = 0.0;
    if (!choose_constants(&constants, problem)) {
        answer_nothing(beta, S, fit, problem);
        return TREMOLO_OK;
    }
    enum tremolo_status status = shrink_search(beta, S, &s2, problem, &constants);
    if (status != TREMOLO_OK) {
        return status;
    }
    double explained = linear_form(beta, S, beta, problem->d);
    double trust = constants.trust;
    for (size_t i = 0; i < problem->d; i++) {
        beta[i] *= trust;
    }
    double residual = s2 + explained - trust * (2.0 - trust) * explained;
    *fit = (struct tremolo_fit){
        .r2 = constants.identified ? 1.0 - residual / (s2 + explained) : NAN,
        .residual_variance = residual,
    };
    return TREMOLO_OK;
}
