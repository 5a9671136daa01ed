/* score.c -- confidence sets that keep their level when S is nearly singular.
 *
 * Let b = (beta, -1), M the raw joint moment, D its known bias, x~ a released
 * feature row and v = u'b its noisy residual. At the true beta the score
 * G = (M - D)_x b has mean zero whatever S is, and for Gaussian noise and equal
 * residual variance K Cov(G) = (b'Mb) M_xx + (D_x b)(D_x b)', where M_xx includes
 * the noise and is therefore never near singular. Since c c' <= (c'A^-1 c) A,
 *     K G' M_xx^-1 G <= z^2 b'[M + D_x' M_xx^-1 D_x] b
 * holds at the true beta with at least the probability of the exact score test. Both
 * sides are quadratic forms in b, so the beta that satisfy it are the inside of a
 * quadric b'Qb <= 0. For one combination w'beta the other coefficients are
 * nuisances; minimising over them means projecting the quadric, and because the
 * estimate solves as many equations as there are coefficients, the minimum is
 * compared with one degree of freedom (z^2). With weak nuisances that is
 * conservative, never the other way.
 *
 * The projection of {b'Qb <= 0} onto w'beta, Q_xx the block of beta:
 *     Q_xx positive definite               an interval
 *     one negative eigenvalue, w'Q_xx^-1 w < 0   outside an interval, or the line
 *     otherwise                            the whole line. */
#include "infer.h"
#include "linear.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum tremolo_status score_from_quadric(struct score_set *set, const double *T, size_t p)
{
    size_t q = p + 1;
    double values[INFER_MAX];
    double right[INFER_MAX];
    double *vectors;
    *set = (struct score_set){.p = p};
    set->memory = LINEAR_NEW({&set->inverse, p * p}, {&set->centre, p}, {&vectors, p * p});
    if (set->memory == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    linear_block(set->inverse, T, p, q);
    linear_block(vectors, T, p, q);
    if (!linear_eigen(values, vectors, p)) {
        return TREMOLO_NOT_CONVERGED;
    }
    for (size_t k = 0; k < p; k++) {
        set->negative += values[k] < 0.0;
        right[k] = T[k * q + p];
    }
    enum tremolo_status status = linear_inverse(set->inverse, p);
    set->usable = status == TREMOLO_OK;
    if (set->usable) {
        linear_apply(set->centre, set->inverse, right, p);
        set->minimum = T[p * q + p] - linear_dot(right, set->centre, p);
    }
    return status == TREMOLO_SINGULAR ? TREMOLO_OK : status;
}

/* From T = K (M-D)_x' M_xx^-1 (M-D)_x - z^2 (M + D_x' M_xx^-1 D_x), q * q. */
enum tremolo_status score_new(struct score_set *set, const struct system *system, double level)
{
    size_t p = system->p;
    size_t q = system->q;
    double z = tremolo_normal_quantile(0.5 + 0.5 * level);
    enum tremolo_status status = TREMOLO_OK;
    double *T, *factor, *solved;
    double *H; /* column k: (M - D)_x e_k; then those of B */
    double *memory =
        LINEAR_NEW({&T, q * q}, {&factor, p * p}, {&H, 2 * p * q}, {&solved, 2 * p * q});
    *set = (struct score_set){.p = p};
    if (memory == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    double *B = H + p * q; /* column k: D_x e_k */
    linear_block(factor, system->raw, p, q);
    for (size_t i = 0; i < p; i++) {
        for (size_t k = 0; k < q; k++) {
            B[k * p + i] = system->bias[i * q + k];
            H[k * p + i] = system->raw[i * q + k] - system->bias[i * q + k];
        }
    }
    if (!linear_cholesky(factor, p)) {
        goto done; /* not usable: every set is the whole line */
    }
    memcpy(solved, H, 2 * p * q * sizeof *H);
    linear_cholesky_solve(solved, factor, p, 2 * q);
    for (size_t i = 0; i < q; i++) {
        for (size_t k = 0; k < q; k++) {
            double score = linear_dot(H + i * p, solved + k * p, p);
            double extra = linear_dot(B + i * p, solved + p * q + k * p, p);
            T[i * q + k] = system->devices * score - z * z * (system->raw[i * q + k] + extra);
        }
    }
    status = score_from_quadric(set, T, p);
done:
    free(memory);
    return status;
}

enum tremolo_interval_shape score_interval(double *low, double *high, const struct score_set *set,
                                           const double *w)
{
    *low = -INFINITY;
    *high = INFINITY;
    if (!set->usable || set->negative > 1) {
        return TREMOLO_INTERVAL_ALL;
    }
    double middle = linear_dot(w, set->centre, set->p);
    double spread = linear_form(w, set->inverse, w, set->p);
    double square = -set->minimum * spread;
    if (set->negative == 0) {
        double half = sqrt(fmax(square, 0.0));
        *low = middle - half;
        *high = middle + half;
        return TREMOLO_INTERVAL_BOUNDED;
    }
    if (spread < 0.0 && square > 0.0) {
        *low = middle - sqrt(square);
        *high = middle + sqrt(square);
        return TREMOLO_INTERVAL_OUTSIDE;
    }
    return TREMOLO_INTERVAL_ALL;
}
