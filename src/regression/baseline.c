/* baseline.c -- what private estimates are compared with: three methods that read raw data.
 *
 * Ordinary least squares, as accurately as doubles allow, and R^2 on rows; one clipped and noised
 * gradient step per client and round (dp-sgd); noisy sums on a trusted server (AdaSSP). The last two
 * are private by noise that the caller calibrates; the first gives no privacy. None of them runs on
 * a server of ours: they are for simulations and for reproducing the paper.
 *
 * Columns are scaled by powers of two (exactly), factored by Householder QR with
 * column pivoting, and the solution is refined on the augmented system
 *     r + X b = y,   X' r = 0
 * with residuals in extended precision, which brings nearly all digits back even
 * where X is ill-conditioned. This is the reference that private estimates are
 * compared with; it sees raw data and gives no privacy. */
#include "linear.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "regression.h"

#include <lapacke.h>

enum { REFINEMENTS = 6 };

struct ols {
    lapack_int rows;
    lapack_int columns;
    double *memory; /* of all arrays of doubles */
    double *X;      /* scaled, column-major */
    double *scale;  /* column j of X is 2^-e times the design's */
    double *qr;     /* factored copy */
    double *tau;
    double *inverse; /* columns^2 */
    lapack_int *pivot;
    long double *solution; /* columns; extended, or rounding one coefficient would move the rest */
    long double *residual; /* rows */
    double *f;             /* rows */
    double *g;             /* columns */
    double *h;             /* columns */
};

static bool problem_allocate(struct ols *p, size_t rows, size_t columns)
{
    p->rows = (lapack_int)rows;
    p->columns = (lapack_int)columns;
    p->pivot = calloc(columns, sizeof *p->pivot);
    p->solution = calloc(columns, sizeof *p->solution);
    p->residual = calloc(rows, sizeof *p->residual);
    p->memory = LINEAR_NEW({&p->X, rows * columns}, {&p->qr, rows * columns}, {&p->scale, columns},
                           {&p->tau, columns}, {&p->inverse, columns * columns}, {&p->f, rows},
                           {&p->g, columns}, {&p->h, columns});
    return p->pivot && p->solution && p->residual && p->memory;
}

static void problem_free(struct ols *p)
{
    free(p->memory);
    free(p->pivot);
    free(p->solution);
    free(p->residual);
}

/* The design with its column of ones last. Scaling by powers of two is exact, and keeps columns of
 * very different size from spoiling the rank. */
static void load_design(struct ols *p, const double *X, size_t dimension)
{
    size_t rows = (size_t)p->rows;
    size_t columns = (size_t)p->columns;
    for (size_t j = 0; j < columns; j++) {
        double largest = 0.0;
        for (size_t i = 0; i < rows; i++) {
            double value = j < dimension ? X[i * dimension + j] : 1.0;
            p->X[j * rows + i] = value;
            largest = fmax(largest, fabs(value));
        }
        int exponent = 0;
        (void)frexp(largest, &exponent);
        p->scale[j] = ldexp(1.0, -exponent);
        for (size_t i = 0; i < rows; i++) {
            p->X[j * rows + i] *= p->scale[j];
        }
    }
    memcpy(p->qr, p->X, rows * columns * sizeof *p->qr);
}

/* Factor, and return the numerical rank: how many diagonal entries of R are above rounding. */
static size_t ols_factor(struct ols *p)
{
    lapack_int failed =
        LAPACKE_dgeqp3(LAPACK_COL_MAJOR, p->rows, p->columns, p->qr, p->rows, p->pivot, p->tau);
    if (failed != 0) {
        return 0;
    }
    size_t rows = (size_t)p->rows;
    size_t rank = 0;
    double limit = fabs(p->qr[0]) * DBL_EPSILON * (double)p->columns;
    while (rank < (size_t)p->columns && fabs(p->qr[rank * rows + rank]) > limit) {
        rank++;
    }
    return rank;
}

/* f = y - r - X b and g = -X' r in extended precision. */
static void ols_residuals(struct ols *p, const double *y)
{
    size_t rows = (size_t)p->rows;
    size_t columns = (size_t)p->columns;
    for (size_t i = 0; i < rows; i++) {
        long double sum = (long double)y[i] - p->residual[i];
        for (size_t j = 0; j < columns; j++) {
            sum -= (long double)p->X[j * rows + i] * p->solution[j];
        }
        p->f[i] = (double)sum;
    }
    for (size_t j = 0; j < columns; j++) {
        long double sum = 0.0L;
        for (size_t i = 0; i < rows; i++) {
            sum -= (long double)p->X[j * rows + i] * p->residual[i];
        }
        p->g[j] = (double)sum;
    }
}

/* One correction: with X P = Q R, h = R'^-1 P'g, Q'f = (d1, d2),
 * dr = Q (h, d2), db = P R^-1 (d1 - h). */
static bool ols_correct(struct ols *p)
{
    size_t columns = (size_t)p->columns;
    for (size_t k = 0; k < columns; k++) {
        p->h[k] = p->g[p->pivot[k] - 1];
    }
    if (LAPACKE_dtrtrs(LAPACK_COL_MAJOR, 'U', 'T', 'N', p->columns, 1, p->qr, p->rows, p->h,
                       p->columns) != 0 ||
        LAPACKE_dormqr(LAPACK_COL_MAJOR, 'L', 'T', p->rows, 1, p->columns, p->qr, p->rows, p->tau,
                       p->f, p->rows) != 0) {
        return false;
    }
    for (size_t k = 0; k < columns; k++) {
        p->g[k] = p->f[k] - p->h[k];
        p->f[k] = p->h[k];
    }
    if (LAPACKE_dtrtrs(LAPACK_COL_MAJOR, 'U', 'N', 'N', p->columns, 1, p->qr, p->rows, p->g,
                       p->columns) != 0 ||
        LAPACKE_dormqr(LAPACK_COL_MAJOR, 'L', 'N', p->rows, 1, p->columns, p->qr, p->rows, p->tau,
                       p->f, p->rows) != 0) {
        return false;
    }
    for (size_t k = 0; k < columns; k++) {
        p->solution[p->pivot[k] - 1] += p->g[k];
    }
    for (size_t i = 0; i < (size_t)p->rows; i++) {
        p->residual[i] += p->f[i];
    }
    return true;
}

/* Squared length of row j of R^-1 P', the factor of coefficient j's variance. */
static void ols_variances(double *variance, const struct ols *p)
{
    size_t columns = (size_t)p->columns;
    double *inverse = p->inverse;
    for (size_t k = 0; k < columns; k++) {
        inverse[k * columns + k] = 1.0;
    }
    (void)LAPACKE_dtrtrs(LAPACK_COL_MAJOR, 'U', 'N', 'N', p->columns, p->columns, p->qr, p->rows,
                         inverse, p->columns);
    for (size_t j = 0; j < columns; j++) {
        double sum = 0.0;
        for (size_t k = 0; k < columns; k++) {
            sum += inverse[k * columns + j] * inverse[k * columns + j];
        }
        variance[p->pivot[j] - 1] = sum;
    }
}

/* What a fit without features leaves unexplained. */
static double total_of_squares(const double *y, size_t rows)
{
    double mean = 0.0;
    for (size_t i = 0; i < rows; i++) {
        mean += y[i] / (double)rows;
    }
    double total = 0.0;
    for (size_t i = 0; i < rows; i++) {
        total += (y[i] - mean) * (y[i] - mean);
    }
    return total;
}

/* What features add to a prediction beyond the reach. */
static double beyond(const double *x, const double *beta, size_t dimension, double reach)
{
    double sum = 0.0;
    for (size_t i = 0; i < dimension; i++) {
        sum += fabs(x[i]) > reach ? beta[i] * (x[i] - copysign(reach, x[i])) : 0.0;
    }
    return sum;
}

double tremolo_r2(const double *beta, double intercept, const double *X, const double *y,
                  size_t rows, size_t dimension, double reach)
{
    double residual = 0.0;
    for (size_t i = 0; i < rows; i++) {
        const double *x = X + i * dimension;
        double error = y[i] - intercept - linear_dot(x, beta, dimension);
        error += beyond(x, beta, dimension, reach);
        residual += error * error;
    }
    return 1.0 - residual / total_of_squares(y, rows);
}

enum tremolo_status tremolo_ols(double *beta, double *constant, double *standard_error,
                                const double *X, const double *y, size_t rows, size_t dimension,
                                bool intercept)
{
    size_t columns = dimension + (intercept ? 1 : 0);
    if (beta == NULL || X == NULL || y == NULL || dimension == 0 || (intercept && !constant) ||
        rows > INT32_MAX / 2 || dimension > TREMOLO_MAX_FEATURES) {
        return TREMOLO_BAD_ARGUMENT;
    }
    if (rows < columns) {
        return TREMOLO_TOO_FEW;
    }
    struct ols p = {0};
    enum tremolo_status status = TREMOLO_NO_MEMORY;
    double variance[TREMOLO_MAX_FEATURES + 1];
    if (!problem_allocate(&p, rows, columns)) {
        goto done;
    }
    load_design(&p, X, dimension);
    status = TREMOLO_SINGULAR;
    if (ols_factor(&p) < columns) {
        goto done;
    }
    status = TREMOLO_NOT_CONVERGED;
    for (int k = 0; k < REFINEMENTS; k++) {
        ols_residuals(&p, y);
        if (!ols_correct(&p)) {
            goto done;
        }
    }
    status = TREMOLO_OK;
    ols_variances(variance, &p);
    double rss = 0.0;
    for (size_t i = 0; i < rows; i++) {
        rss += (double)(p.residual[i] * p.residual[i]);
    }
    double s2 = rows > columns ? rss / (double)(rows - columns) : 0.0;
    for (size_t j = 0; j < columns; j++) {
        *(j < dimension ? &beta[j] : constant) = (double)p.solution[j] * p.scale[j];
        if (standard_error != NULL) {
            standard_error[j] = sqrt(s2 * variance[j]) * p.scale[j];
        }
    }
done:
    problem_free(&p);
    return status;
}

/* ---------------------------------------------------------------- dp-sgd
 *
 * One clipped, noised gradient step per client and round.
 *
 * Every client holds one row. A replaced row moves its clipped gradient by at
 * most 2C, so the noise is calibrated for sensitivity 2C (by the caller). This
 * needs raw rows because it plays the clients; nothing of it runs on a server. */

/* Each client scales its gradient down to the clip radius; the server averages. */
static void mean_clipped_gradient(double *gradient, const double *beta, const double *X,
                                  const double *y, size_t rows, size_t d, double clip)
{
    memset(gradient, 0, d * sizeof *gradient);
    for (size_t i = 0; i < rows; i++) {
        const double *x = X + i * d;
        double residual = linear_dot(x, beta, d) - y[i];
        double length = fabs(residual) * sqrt(linear_dot(x, x, d));
        double factor = residual * (length > clip ? clip / length : 1.0) / (double)rows;
        for (size_t j = 0; j < d; j++) {
            gradient[j] += factor * x[j];
        }
    }
}

enum tremolo_status tremolo_dpsgd(double *beta, const double *X, const double *y, size_t rows,
                                  size_t dimension, const struct tremolo_dpsgd_options *options)
{
    if (beta == NULL || X == NULL || y == NULL || options == NULL || rows == 0 || dimension == 0 ||
        dimension > TREMOLO_MAX_FEATURES || options->rounds == 0 || !(options->clip > 0.0) ||
        !(options->step > 0.0) || !(options->noise_sd >= 0.0)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    double now[TREMOLO_MAX_FEATURES] = {0};
    double gradient[TREMOLO_MAX_FEATURES];
    struct tremolo_random random = tremolo_random_from(options->seed, 0);
    double noise = options->noise_sd / sqrt((double)rows);
    for (size_t t = 0; t < options->rounds; t++) {
        mean_clipped_gradient(gradient, now, X, y, rows, dimension, options->clip);
        for (size_t j = 0; j < dimension; j++) {
            now[j] -= options->step * (gradient[j] + noise * tremolo_random_normal(&random));
        }
    }
    memcpy(beta, now, dimension * sizeof *beta);
    return TREMOLO_OK;
}

/* ---------------------------------------------------------------- AdaSSP
 *
 * Least squares from noisy sums on a trusted server.
 *
 * Wang, "Revisiting differentially private linear regression" (2018), algorithm 2: release
 * the least eigenvalue of X'X, then X'X and X'y, each with Gaussian noise, and solve with
 * the ridge that the eigenvalue shows to be needed, and no more. X has a column of ones,
 * which is the same for everybody.
 *
 * Neighbours differ in one row, which is replaced: with u = (1, x) and |x| <= r,
 *     upper triangle of uu' - vv':  at most sqrt(2 r^4 + 4 r^2), of which the first
 *                                   corner is 0 and its row x - z
 *     least eigenvalue:             at most r^2 + 1
 *     X'y, |y| <= b:                at most 2 b r, or 2 b sqrt(1 + r^2) when y changes, too
 * This needs raw rows because it plays the server; nothing of it runs on ours. */

/* That the ridge suffices fails with this probability, as in the paper's experiments. */
static const double failure = 0.05;

/* Sums over rows, shortened to the radius that the noise is for. */
static void adassp_rows(double *A, double *z, const double *X, const double *y, size_t rows,
                        size_t d, const struct tremolo_adassp_options *options)
{
    size_t n = d + 1;
    double u[TREMOLO_MAX_FEATURES + 1] = {1.0};
    for (size_t r = 0; r < rows; r++) {
        const double *x = X + r * d;
        double length = sqrt(linear_dot(x, x, d));
        double factor = length > options->radius ? options->radius / length : 1.0;
        double response = fmin(fmax(y[r], -options->response_bound), options->response_bound);
        for (size_t j = 0; j < d; j++) {
            u[j + 1] = factor * x[j];
        }
        for (size_t i = 0; i < n; i++) {
            z[i] += response * u[i];
            for (size_t j = 0; j < n; j++) {
                A[i * n + j] += u[i] * u[j];
            }
        }
    }
}

/* The private lower bound of A's least eigenvalue; false when LAPACK fails. */
static bool least_eigenvalue(double *least, double *work, const double *A, size_t n, double sd,
                             double delta, struct tremolo_random *random)
{
    double values[TREMOLO_MAX_FEATURES + 1];
    memcpy(work, A, n * n * sizeof *A);
    bool good = linear_eigen(values, work, n);
    *least = good ? fmax(0.0, values[0] + sd * tremolo_random_normal(random) -
                                  sd * sqrt(log(6.0 / delta)))
                  : 0.0;
    return good;
}

/* The first corner of A counts rows, which neighbours agree on, so it gets no noise. */
static void adassp_noise(double *A, double *z, size_t n, double sd_products, double sd_response,
                         struct tremolo_random *random)
{
    for (size_t i = 0; i < n; i++) {
        z[i] += sd_response * tremolo_random_normal(random);
        for (size_t j = i; j < n; j++) {
            double noise = i + j > 0 ? sd_products * tremolo_random_normal(random) : 0.0;
            A[i * n + j] += noise;
            A[j * n + i] = A[i * n + j];
        }
    }
}

/* (A + ridge I)^-1 z in place of z; twice the ridge while that is not positive definite,
 * which costs no privacy. */
static enum tremolo_status adassp_solve(double *z, double *work, const double *A, size_t n,
                                        double ridge, double least_step)
{
    for (int tries = 0; tries < 64; tries++) {
        for (size_t i = 0; i < n * n; i++) {
            work[i] = A[i] + (i % (n + 1) == 0 ? ridge : 0.0);
        }
        if (linear_cholesky(work, n)) {
            linear_cholesky_solve(z, work, n, 1);
            return TREMOLO_OK;
        }
        ridge = fmax(2.0 * ridge, least_step);
    }
    return TREMOLO_SINGULAR;
}

enum tremolo_status tremolo_adassp(double *beta, double *intercept, const double *X,
                                   const double *y, size_t rows, size_t dimension,
                                   const struct tremolo_adassp_options *options)
{
    if (beta == NULL || intercept == NULL || X == NULL || y == NULL || options == NULL ||
        rows == 0 || dimension == 0 || dimension > TREMOLO_MAX_FEATURES ||
        !(options->radius > 0.0) || !(options->response_bound > 0.0) ||
        !(options->noise_sd > 0.0) || !(options->delta > 0.0 && options->delta < 1.0)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    size_t n = dimension + 1;
    double r = options->radius, least = 0.0;
    double sd_products = options->noise_sd * sqrt(2.0 * r * r * r * r + 4.0 * r * r);
    double sd_response = options->noise_sd * 2.0 * options->response_bound *
                         (options->response_private ? sqrt(1.0 + r * r) : r);
    struct tremolo_random random = tremolo_random_from(options->seed, 0);
    double *A, *work, *z;
    double *memory = LINEAR_NEW({&A, n * n}, {&work, n * n}, {&z, n});
    enum tremolo_status status = TREMOLO_NOT_CONVERGED;
    if (memory == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    adassp_rows(A, z, X, y, rows, dimension, options);
    if (least_eigenvalue(&least, work, A, n, options->noise_sd * (r * r + 1.0), options->delta,
                         &random)) {
        double count = (double)n;
        double needed = sd_products * sqrt(count * log(2.0 * count * count / failure));
        adassp_noise(A, z, n, sd_products, sd_response, &random);
        status = adassp_solve(z, work, A, n, fmax(0.0, needed - least), sd_products);
    }
    if (status == TREMOLO_OK) {
        memcpy(beta, z + 1, dimension * sizeof *beta);
        *intercept = z[0];
    }
    free(memory);
    return status;
}
