/* dpsgd.c -- the baseline: one clipped, noised gradient step per client and round.
 *
 * Every client holds one row. A replaced row moves its clipped gradient by at
 * most 2C, so the noise is calibrated for sensitivity 2C (by the caller). This
 * needs raw rows because it plays the clients; nothing of it runs on a server. */
#include "linear.h"
#include "tremolo_random.h"
#include "tremolo_regression.h"

#include <math.h>
#include <string.h>

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
