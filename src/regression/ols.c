/* ols.c -- ordinary least squares on raw data, as accurately as doubles allow, and R^2 there.
 *
 * Columns are scaled by powers of two (exactly), factored by Householder QR with
 * column pivoting, and the solution is refined on the augmented system
 *     r + X b = y,   X' r = 0
 * with residuals in extended precision, which brings nearly all digits back even
 * where X is ill-conditioned. This is the reference that private estimates are
 * compared with; it sees raw data and gives no privacy. */
#include "linear.h"
#include "tremolo_regression.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <lapacke.h>

enum { REFINEMENTS = 6 };

struct problem {
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

static bool problem_allocate(struct problem *p, size_t rows, size_t columns)
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

static void problem_free(struct problem *p)
{
    free(p->memory);
    free(p->pivot);
    free(p->solution);
    free(p->residual);
}

static void load_design(struct problem *p, const double *X, size_t dimension)
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

static size_t factor(struct problem *p)
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
static void residuals(struct problem *p, const double *y)
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
static bool correct(struct problem *p)
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
static void variances(double *variance, const struct problem *p)
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

static double total_of_squares(const double *y, size_t rows, bool centred)
{
    double mean = 0.0;
    for (size_t i = 0; i < rows && centred; i++) {
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
    return 1.0 - residual / total_of_squares(y, rows, true);
}

enum tremolo_status tremolo_ols(double *beta, double *constant, double *standard_error, double *r2,
                                size_t *rank, const double *X, const double *y, size_t rows,
                                size_t dimension, bool intercept)
{
    size_t columns = dimension + (intercept ? 1 : 0);
    if (beta == NULL || X == NULL || y == NULL || dimension == 0 || (intercept && !constant) ||
        rows > INT32_MAX / 2 || dimension > TREMOLO_MAX_FEATURES || rows < columns) {
        return TREMOLO_BAD_ARGUMENT;
    }
    struct problem p = {0};
    enum tremolo_status status = TREMOLO_NO_MEMORY;
    double variance[TREMOLO_MAX_FEATURES + 1];
    if (!problem_allocate(&p, rows, columns)) {
        goto done;
    }
    load_design(&p, X, dimension);
    size_t found = factor(&p);
    if (rank != NULL) {
        *rank = found;
    }
    status = TREMOLO_SINGULAR;
    if (found < columns) {
        goto done;
    }
    status = TREMOLO_NOT_CONVERGED;
    for (int k = 0; k < REFINEMENTS; k++) {
        residuals(&p, y);
        if (!correct(&p)) {
            goto done;
        }
    }
    status = TREMOLO_OK;
    variances(variance, &p);
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
    if (r2 != NULL) {
        *r2 = 1.0 - rss / total_of_squares(y, rows, intercept);
    }
done:
    problem_free(&p);
    return status;
}
