/* adassp.c -- the baseline of a trusted server: least squares from noisy sums (AdaSSP).
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
#include "linear.h"
#include "tremolo_random.h"
#include "tremolo_regression.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* That the ridge suffices fails with this probability, as in the paper's experiments. */
static const double failure = 0.05;

/* Sums over rows, shortened to the radius that the noise is for. */
static void add_rows(double *A, double *z, const double *X, const double *y, size_t rows, size_t d,
                     const struct tremolo_adassp_options *options)
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

static void add_noise(double *A, double *z, size_t n, double sd_products, double sd_response,
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
static enum tremolo_status solve(double *z, double *work, const double *A, size_t n, double ridge,
                                 double least_step)
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
    add_rows(A, z, X, y, rows, dimension, options);
    if (least_eigenvalue(&least, work, A, n, options->noise_sd * (r * r + 1.0), options->delta,
                         &random)) {
        double count = (double)n;
        double needed = sd_products * sqrt(count * log(2.0 * count * count / failure));
        add_noise(A, z, n, sd_products, sd_response, &random);
        status = solve(z, work, A, n, fmax(0.0, needed - least), sd_products);
    }
    if (status == TREMOLO_OK) {
        memcpy(beta, z + 1, dimension * sizeof *beta);
        *intercept = z[0];
    }
    free(memory);
    return status;
}
