/* infer.c -- standard errors, tests and intervals for the unbiased estimator.
 *
 * The estimate solves the debiased normal equations S beta = Z. Its standard error is that of the
 * group jackknife over the hash buckets. It assumes nothing about residuals or noise, needs only
 * the buckets' sums, and pays with Student's quantile for (buckets - 1) degrees of freedom.
 *
 * Samples and ballots go through the same steps: solve, score sets, and the estimates without each
 * bucket. Only the score set differs. A coefficient counts as identified when its score set is
 * bounded. */
#include "evidence.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linear.h"

/* ---------------------------------------------------------------- solving */

/* S and Z of S beta = Z. */
static void equations(double *S, double *Z, const struct system *system)
{
    size_t p = system->p;
    size_t q = system->q;
    for (size_t i = 0; i < p; i++) {
        for (size_t j = 0; j < p; j++) {
            S[i * p + j] = system->raw[i * q + j] - system->bias[i * q + j];
        }
        Z[i] = system->raw[i * q + p] - system->bias[i * q + p];
    }
}

/* Solve the debiased normal equations. By the inverse, which finds S singular by its eigenvalues:
 * a rule that must not depend on how LAPACK estimates a condition. `work` holds p * p. */
static enum tremolo_status solve(double *beta, double *work, const struct system *system)
{
    double right[INFER_MAX];
    equations(work, right, system);
    enum tremolo_status status = linear_inverse(work, system->p);
    if (status == TREMOLO_OK) {
        linear_apply(beta, work, right, system->p);
    }
    return status;
}

/* ---------------------------------------------------------------- score sets
 *
 * Confidence sets that keep their level when S is nearly singular.
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

/* The score-test set of w'beta for any w. */
struct score_set {
    size_t p;
    double *memory;
    double *inverse; /* of the quadric's matrix, p * p */
    double *centre;  /* p */
    double minimum;  /* of the quadric; at most 0 when it is convex */
    size_t negative; /* negative eigenvalues of its matrix */
    bool usable;     /* false when the matrix is singular: every set is ALL */
};

/* From the quadric T in (beta, -1): the inverse, centre and minimum that every combination of
 * coefficients needs. A singular T is no failure: all sets are the whole line then. */
static enum tremolo_status score_from_quadric(struct score_set *set, const double *T, size_t p)
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
static enum tremolo_status score_of_samples(struct score_set *set, const struct system *system,
                                            double level)
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

/* The set of w'beta by the three cases above. */
static enum tremolo_interval_shape score_interval(double *low, double *high,
                                                  const struct score_set *set, const double *w)
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

/* ---------------------------------------------------------------- standard errors */

/* All that the lines of a table are made of: an estimate, how it moves without each bucket, and
 * its score sets. */
struct analysis {
    size_t p;
    size_t groups;                 /* buckets in use */
    double share[TREMOLO_BUCKETS]; /* K / m of each */
    double *memory;
    double *left_out; /* groups * p: estimates without one bucket */
    double *beta;     /* p */
    double *work;     /* p * p */
    struct score_set score;
    double devices_needed;
};

static bool analysis_new(struct analysis *analysis, size_t p)
{
    *analysis = (struct analysis){.p = p};
    analysis->memory = LINEAR_NEW({&analysis->left_out, TREMOLO_BUCKETS * p}, {&analysis->beta, p},
                                  {&analysis->work, p * p});
    return analysis->memory != NULL;
}

static void analysis_drop(struct analysis *analysis)
{
    free(analysis->memory);
    free(analysis->score.memory);
}

/* The planner's number at its usual guesses and this noise. Reports that hide a coefficient give no
 * better guesses, and an analyst who planned the study reads the same number again. Scaled features
 * lie in -1..1, or have the variance 1 where larger ones are released. */
static double sample_devices(const struct tremolo_debiased *evidence)
{
    size_t d = evidence->d;
    double noise = 0.0;
    double sd = fabs(evidence->largest - 1.0) < 1e-6 ? TREMOLO_PLAN_SD : 1.0;
    for (size_t i = 0; i < d; i++) {
        noise += evidence->bias[i * evidence->n + i] / (double)d;
    }
    const struct tremolo_plan_input input = {.dimension = d,
                                             .devices = fmax(evidence->devices, 2.0),
                                             .noise_sd = sqrt(noise),
                                             .feature_variance = sd * sd,
                                             .r2 = TREMOLO_PLAN_R2,
                                             .response_variance = sd * sd,
                                             .response_private = evidence->response_private};
    return tremolo_plan_needed(&input);
}

/* ---------------------------------------------------------------- ballots
 *
 * With c = (theta, -1) the estimate makes G = M_a c zero. Entries of M have independent
 * noise of variance V_ij, so Cov G = Omega + sampling,
 *     Omega_ii = sum_j c_j^2 V_ij,    Omega_ij = c_i c_j V_ij,
 *     sampling = E s^2 r^2 M_aa / K   for residuals of equal variance.
 *
 * The jackknife holds while noise sqrt(d) / lambda_min is at most 0.21. The score set needs no such
 * condition: at the true theta G has mean zero whatever M_aa is.
 * V_ij is v/2 off and v on the diagonal and V_iw for the response, so
 *     Omega <= c' diag(v .. v, V_iw) c I,
 * sampling <= lambda_max c'Mc / K I with the positive part of M, and
 *     |G|^2 <= z^2 c' [diag(v .. v, V_iw) + lambda_max M / K] c
 * is a quadric in c as for samples, conservative by at most a factor of two in variance. */

/* M <- its positive part; returns the largest eigenvalue, or -1 when LAPACK does not
 * converge. `work` holds n * n. */
static double positive_part(double *M, double *work, size_t n)
{
    double values[BALLOT_MAX];
    memcpy(work, M, n * n * sizeof *M);
    if (!linear_eigen(values, work, n)) {
        return -1.0;
    }
    memset(M, 0, n * n * sizeof *M);
    for (size_t k = 0; k < n; k++) {
        const double *vector = work + k * n;
        for (size_t i = 0; values[k] > 0.0 && i < n; i++) {
            double part = values[k] * vector[i];
            for (size_t j = 0; j < n; j++) {
                M[i * n + j] += part * vector[j];
            }
        }
    }
    return fmax(values[n - 1], 0.0);
}

/* The quadric of the section's head, with the first equation weighted down where its noise is larger. */
static enum tremolo_status score_of_ballots(struct score_set *set,
                                            const struct tremolo_ballot *ballots, double level)
{
    size_t n = ballots->n;
    size_t p = n - 1;
    double z = tremolo_normal_quantile(0.5 + 0.5 * level);
    double *P, *T;
    double *memory = LINEAR_NEW({&P, n * n}, {&T, n * n});
    if (memory == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    memcpy(P, ballots->M, n * n * sizeof *P);
    double largest = positive_part(P, T, n);
    /* The response's noise may be larger in the first equation than in the others; where it is
     * smaller, that of the features is not, and the equation counts as the others do. */
    double response = ballot_variance(ballots, 1, p);
    double first = fmin(1.0, response / ballot_variance(ballots, 0, p));
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            const double *left = ballots->M + i * n;
            const double *right = ballots->M + j * n;
            double score = linear_dot(left, right, p) - (1.0 - first) * left[0] * right[0];
            double noise = i != j ? 0.0 : i == p ? response : ballot_variance(ballots, 0, 0);
            T[i * n + j] = score - z * z * (noise + largest * P[i * n + j] / ballots->devices);
        }
    }
    enum tremolo_status status =
        largest < 0.0 ? TREMOLO_NOT_CONVERGED : score_from_quadric(set, T, p);
    free(memory);
    return status;
}

/* The same for ballots. */
static double ballot_devices(const struct tremolo_ballot *ballots)
{
    const struct tremolo_ballot_plan_input input = {
        .dimension = ballots->d,
        .response_public = ballots->response_public,
        .h = ballots->h,
        .g = sqrt(ballots->rest),
        .devices = ballots->devices,
        .c = sqrt(2.0 * ballots->devices * ballot_variance(ballots, 0, 1)),
        .feature_variance = TREMOLO_PLAN_SD * TREMOLO_PLAN_SD,
        .r2 = TREMOLO_PLAN_R2,
        .response_variance = TREMOLO_PLAN_SD * TREMOLO_PLAN_SD,
    };
    struct tremolo_ballot_plan plan;
    return tremolo_ballot_plan(&plan, &input) == TREMOLO_OK ? plan.devices_needed : INFINITY;
}

/* ---------------------------------------------------------------- the analysis */

/* The estimates without each bucket in turn. */
static enum tremolo_status leave_out(struct analysis *analysis, const struct source *source)
{
    for (size_t b = 0; b < TREMOLO_BUCKETS; b++) {
        if (!(source->count[b] > 0.0)) {
            continue;
        }
        struct system part;
        enum tremolo_status status = system_take(&part, source, b);
        if (status != TREMOLO_OK) {
            return status;
        }
        double *row = analysis->left_out + analysis->groups * analysis->p;
        equations(analysis->work, row, &part);
        status = linear_solve(row, analysis->work, analysis->p);
        free(part.memory);
        if (status != TREMOLO_OK) {
            return status;
        }
        analysis->share[analysis->groups++] = source->devices / source->count[b];
    }
    return analysis->groups >= 2 ? TREMOLO_OK : TREMOLO_TOO_FEW;
}

/* What differs between samples and ballots: the score sets and the planner's number. */
static enum tremolo_status model(struct analysis *analysis, const struct system *system,
                                 const struct source *source, double level)
{
    if (source->ballots != NULL) {
        analysis->devices_needed = ballot_devices(source->ballots);
        return score_of_ballots(&analysis->score, source->ballots, level);
    }
    analysis->devices_needed = sample_devices(source->samples);
    return score_of_samples(&analysis->score, system, level);
}

static enum tremolo_status analyse(struct analysis *analysis, const struct source *source,
                                   double level)
{
    struct system system;
    enum tremolo_status status = system_take(&system, source, TREMOLO_BUCKETS);
    if (status != TREMOLO_OK) {
        return status;
    }
    status = analysis_new(analysis, system.p) ? solve(analysis->beta, analysis->work, &system)
                                              : TREMOLO_NO_MEMORY;
    if (status == TREMOLO_OK) {
        status = model(analysis, &system, source, level);
    }
    if (status == TREMOLO_OK) {
        status = leave_out(analysis, source);
    }
    free(system.memory);
    if (status != TREMOLO_OK) {
        analysis_drop(analysis);
    }
    return status;
}

/* Delete-a-group jackknife for groups of unequal size: pseudo-values
 * h theta - (h - 1) theta_without, h = K / m, compared with their mean. */
static double jackknife_variance(const struct analysis *analysis, const double *w)
{
    double full = linear_dot(w, analysis->beta, analysis->p);
    double g = (double)analysis->groups;
    double centre = g * full;
    for (size_t k = 0; k < analysis->groups; k++) {
        double without = linear_dot(w, analysis->left_out + k * analysis->p, analysis->p);
        centre -= (1.0 - 1.0 / analysis->share[k]) * without;
    }
    double variance = 0.0;
    for (size_t k = 0; k < analysis->groups; k++) {
        double h = analysis->share[k];
        double without = linear_dot(w, analysis->left_out + k * analysis->p, analysis->p);
        double off = h * full - (h - 1.0) * without - centre;
        variance += off * off / (h - 1.0) / g;
    }
    return variance;
}

/* ---------------------------------------------------------------- one line */

/* One line of the table, for one combination w of the coefficients plus a constant. */
static void describe(struct tremolo_coefficient *row, const struct analysis *analysis,
                     const double *w, double constant, double level)
{
    struct tremolo_coefficient line = {0};
    line.estimate = linear_dot(w, analysis->beta, analysis->p) + constant;
    line.standard_error = sqrt(jackknife_variance(analysis, w));
    line.degrees = (double)(analysis->groups - 1);
    double t = tremolo_student_quantile(0.5 + 0.5 * level, line.degrees);
    line.z = line.estimate / line.standard_error;
    line.p = 2.0 * tremolo_student_cdf(-fabs(line.z), line.degrees);
    line.low = line.estimate - t * line.standard_error;
    line.high = line.estimate + t * line.standard_error;
    line.score_shape = score_interval(&line.score_low, &line.score_high, &analysis->score, w);
    line.score_low += constant;
    line.score_high += constant;
    line.identified = line.score_shape == TREMOLO_INTERVAL_BOUNDED;
    line.devices_needed = analysis->devices_needed;
    *row = line;
}

/* own coefficient j = scaled' (beta, intercept) + the returned constant. */
static double carry(double *scaled, size_t j, size_t d, const struct tremolo_units *units)
{
    memset(scaled, 0, (d + 1) * sizeof *scaled);
    scaled[j] = 1.0;
    if (units == NULL) {
        return 0.0;
    }
    double on_constant = j == d ? 1.0 : 0.0;
    for (size_t i = 0; i < d; i++) {
        double slope = units->response_scale / units->feature_scale[i];
        scaled[i] = slope * (scaled[i] - on_constant * units->feature_centre[i]);
    }
    scaled[d] = units->response_scale * on_constant;
    return on_constant * units->response_centre;
}

/* What is solved for in ballots is theta = (intercept / h, beta) in units of w, with y = w_scale w +
 * w_mean: turn weights of (beta, intercept) into weights of theta. Returns the constant. */
static double to_theta(double *weights, const double *scaled, const struct tremolo_ballot *ballots)
{
    size_t d = ballots->d;
    weights[0] = ballots->h * ballots->w_scale * scaled[d];
    for (size_t i = 0; i < d; i++) {
        weights[i + 1] = ballots->w_scale * scaled[i];
    }
    return ballots->w_mean * scaled[d];
}

static enum tremolo_status infer(struct tremolo_coefficient *rows, const struct source *source,
                                 const struct tremolo_units *units, double level)
{
    struct analysis analysis;
    double scaled[INFER_MAX];
    double weights[INFER_MAX];
    enum tremolo_status status = analyse(&analysis, source, level);
    if (status != TREMOLO_OK) {
        return status;
    }
    for (size_t j = 0; j < analysis.p; j++) {
        double constant = carry(scaled, j, source->d, units);
        if (source->ballots != NULL) {
            constant += to_theta(weights, scaled, source->ballots);
        }
        describe(&rows[j], &analysis, source->ballots != NULL ? weights : scaled, constant, level);
    }
    analysis_drop(&analysis);
    return TREMOLO_OK;
}

enum tremolo_status tremolo_infer(struct tremolo_coefficient *rows,
                                  const struct tremolo_debiased *evidence,
                                  const struct tremolo_units *units, double level)
{
    if (rows == NULL || evidence == NULL || !(level > 0.0 && level < 1.0)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    const struct source source = source_of_samples(evidence);
    return infer(rows, &source, units, level);
}

enum tremolo_status tremolo_ballot_infer(struct tremolo_coefficient *rows,
                                         const struct tremolo_ballot *ballots,
                                         const struct tremolo_units *units, double level)
{
    if (rows == NULL || ballots == NULL || !(level > 0.0 && level < 1.0)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    const struct source source = source_of_ballots(ballots);
    return infer(rows, &source, units, level);
}

/* ---------------------------------------------------------------- what noise hides, in a sentence
 *
 * The number of devices that would do is the planner's, at its usual guesses, so it is said in two
 * digits and with them. Where as many have reported and a coefficient is hidden, the
 * guesses do not fit, and that is said: its feature varies too little by itself. */

enum {
    NAMES_SAID = 6,   /* of the rows that are not identified; the rest is counted */
    COUNT_BYTES = 32, /* of a number with its commas */
    FEW = 64,         /* reports: two for each of the jackknife's buckets */
};

/* Beyond this a count says no more than "out of reach". */
#define COUNT_MAX 1e15

/* Append, always terminated; what does not fit is left out. */
static void append(char *text, size_t capacity, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void append(char *text, size_t capacity, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text + used, capacity - used, format, arguments);
    va_end(arguments);
}

/* Two significant digits, rounded up, in groups of three: 38,912.4 -> 39,000. */
static void say_count(char text[COUNT_BYTES], double count)
{
    char digits[COUNT_BYTES];
    double step = pow(10.0, fmax(0.0, floor(log10(count)) - 1.0));
    int length = snprintf(digits, sizeof digits, "%.0f", ceil(count / step) * step);
    size_t at = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) {
            text[at++] = ',';
        }
        text[at++] = digits[i];
    }
    text[at] = '\0';
}

/* The second half of the sentence: how many devices would do. */
static void say_needed(char *text, size_t capacity, double needed, uint64_t devices)
{
    char count[COUNT_BYTES];
    bool enough = needed <= (double)devices;
    append(text, capacity, " at this noise: %llu devices reported, ", (unsigned long long)devices);
    if (!(needed <= COUNT_MAX)) {
        append(text, capacity, "and no number of devices that could be had would do");
        return;
    }
    say_count(count, needed);
    append(text, capacity, "about %s %s for unrelated features with effects of a usual size%s",
           count, enough ? "are enough" : "would be needed",
           enough ? "; here they vary less, as rare answers do, or are more alike" : "");
}

void tremolo_identification_summary(char *text, size_t capacity, const char *const *names,
                                    const struct tremolo_coefficient *rows, size_t count,
                                    uint64_t devices)
{
    size_t hidden = 0, said = 0;
    double needed = 0.0;
    if (capacity == 0) {
        return;
    }
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        hidden += !rows[i].identified;
        needed = rows[i].identified ? needed : rows[i].devices_needed;
    }
    if (hidden == 0) {
        return;
    }
    if (devices < (count + 2 > FEW ? count + 2 : FEW)) {
        append(text, capacity,
               "too few reports yet: %llu devices reported, and %zu coefficients with standard "
               "errors need at least %zu",
               (unsigned long long)devices, count, count + 2 > FEW ? count + 2 : (size_t)FEW);
        return;
    }
    size_t listed = hidden > NAMES_SAID ? NAMES_SAID - 1 : hidden;
    for (size_t i = 0; i < count && said < listed; i++) {
        if (!rows[i].identified) {
            const char *joint = said == 0 ? "" : said + 1 == hidden ? " and " : ", ";
            append(text, capacity, "%s%s", joint, names[i]);
            said++;
        }
    }
    if (said < hidden) {
        append(text, capacity, " and %zu more", hidden - said);
    }
    append(text, capacity, hidden == 1 ? " is not identified" : " are not identified");
    say_needed(text, capacity, needed, devices);
}
