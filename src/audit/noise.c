/* noise.c -- what is gathered over reports of noisy samples, to see whether their noise has the stated
 * law.
 *
 * Along the directions of a frame each report gives one score a direction: mean 0, variance 1, and
 * under the claim independent of everything else. Normal scores are the residues over the noise's
 * standard deviation; along a vector they are uniform, from the distribution of a cosine plus a normal.
 * So every way in which a build can go wrong shows as a score of another law, or as one that is
 * correlated with something: another coordinate, another report, another device, the sample.
 *
 * Noise can have its law in every coordinate and every pair of them and still protect nothing: one
 * report in a hundred has none, a coordinate has none once in a thousand, or two signs determine the
 * third. So norms are compared with their chi-squared law, signs of three coordinates, and of all, with
 * a coin, and the audit counts how often a wire value is the very one that the sample has without
 * noise. All of it is exact except the shares of the norms.
 *
 * noise_judge.c judges the sums at the end. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "audit_battery.h"
#include "regression.h"
#include "release.h"

/* ---------------------------------------------------------------- whole reports */

/* Noise can have its law in every coordinate and every pair of them and still protect nothing:
 * one report in a hundred has none, a coordinate has none once in a thousand, or two signs
 * determine the third. So norms are compared with their chi-squared law, signs of three
 * coordinates, and of all, with a coin, and the audit counts how often a wire value is the very
 * one that the sample has without noise. All of it is exact except the shares of the norms. */

/* How many threes of n coordinates have their signs multiplied: all of a few, else those of
 * neighbours. */
static unsigned whole_threes(unsigned n)
{
    return n < 3 ? 0 : n <= SMALL_MAX ? n * (n - 1) * (n - 2) / 6 : n - 2;
}

/* Count the threes with signs that multiply to plus, and whether all signs do. */
static void add_signs(struct audit_battery *battery, const double *score)
{
    unsigned n = battery->scene->n;
    bool minus = false;
    for (unsigned k = 0; k < battery->threes; k++) {
        unsigned at[3] = {0};
        three_of(at, k, n);
        battery->plus[k] += ((score[at[0]] < 0.0) != (score[at[1]] < 0.0)) == (score[at[2]] < 0.0);
    }
    for (unsigned i = 0; i < n; i++) {
        minus = minus != (score[i] < 0.0);
    }
    battery->plus[battery->threes] += !minus;
}

/* Count the norm of the normal scores by its chi-squared tail. */
static void add_norm(struct audit_battery *battery, const double *score)
{
    unsigned normals = battery->scene->n - battery->scene->m; /* scores along vectors are uniform */
    double square = 0.0;
    if (normals == 0) {
        return;
    }
    for (unsigned i = battery->scene->m; i < battery->scene->n; i++) {
        square += score[i] * score[i];
    }
    double beyond = tremolo_chi2_tail(normals, 0.0, square);
    battery->norm[(unsigned)fmin(beyond * CELLS, CELLS - 1.0)]++;
    battery->least += beyond > 1.0 - rare;
    battery->most += beyond < rare;
}

/* Count values that are exactly what the sample gives without noise, and how many are expected by
 * the law of the noise. */
static void add_bare(struct audit_battery *battery, const struct audit_view *view)
{
    const struct audit_scene *scene = battery->scene;
    double noise = ldexp(1.0, scene->study.noise_log2);
    for (unsigned i = scene->m; i < scene->n && battery->frame->axes; i++) {
        /* The wire value of a report without noise, and its probability under the stated noise. */
        double nearest = rint(view->kept[i] / scene->step);
        double off = nearest * scene->step - view->kept[i];
        battery->direction[i].bare += view->wire[i] == nearest;
        battery->direction[i].expected += tremolo_normal_cdf((off + 0.5 * scene->step) / noise) -
                                          tremolo_normal_cdf((off - 0.5 * scene->step) / noise);
    }
}

/* Add what concerns a report as a whole. */
static void whole_add(struct audit_battery *battery, const struct audit_view *view,
                      const double *score)
{
    add_signs(battery, score);
    add_norm(battery, score);
    add_bare(battery, view);
}

/* ---------------------------------------------------------------- gathering */

/* Sums for the reports of one frame, all zero. */
struct audit_battery *audit_battery_new(const struct audit_frame *frame)
{
    const struct audit_scene *scene = frame->scene;
    size_t n = scene->n;
    struct audit_battery *battery = calloc(1, sizeof *battery);
    if (battery == NULL) {
        (void)audit_goes_on(scene->audit, TREMOLO_NO_MEMORY);
        return NULL;
    }
    battery->audit = scene->audit;
    battery->scene = scene;
    battery->frame = frame;
    battery->threes = whole_threes(scene->n);
    battery->direction = calloc(n, sizeof *battery->direction);
    battery->product = calloc(n * n, sizeof *battery->product);
    battery->past = calloc((LAGS + 1) * n, sizeof *battery->past);
    battery->plus = calloc((size_t)battery->threes + 1, sizeof *battery->plus);
    if (battery->direction == NULL || battery->product == NULL || battery->past == NULL ||
        battery->plus == NULL ||
        tremolo_release_sums(&battery->moments, &scene->study) != TREMOLO_OK) {
        (void)audit_goes_on(scene->audit, TREMOLO_NO_MEMORY);
        audit_battery_free(battery);
        return NULL;
    }
    return battery;
}

void audit_battery_free(struct audit_battery *battery)
{
    if (battery == NULL) {
        return;
    }
    free(battery->direction);
    free(battery->product);
    free(battery->past);
    free(battery->plus);
    free(battery->ids.seen);
    tremolo_moments_free(battery->moments);
    free(battery);
}

/* The size of a score, centred and of variance 1. */
static double size_of(double score, bool wave)
{
    return wave ? (fabs(score) - 0.5 * sqrt(3.0)) / 0.5
                : (fabs(score) - 0.7978845608028654) / 0.6028102749890869;
}

/* Add one score to the sums of its direction. `share` is the probability of a smaller one, `kept`
 * the sample along the direction in clip radii. */
static void add_direction(struct audit_battery *battery, unsigned i, double score, double share,
                          const struct audit_view *view, double kept)
{
    struct direction *direction = &battery->direction[i];
    unsigned cell = (unsigned)fmin(share * KS_CELLS, KS_CELLS - 1.0);
    direction->sum += score;
    direction->square += score * score;
    direction->cube += score * score * score;
    direction->cell[cell * CELLS / KS_CELLS]++;
    direction->group[kept > 0.0 ? 0 : 1][cell] += kept != 0.0;
    direction->group[view->norm > 1.0 ? 2 : 3][cell]++;
    for (unsigned k = 0; k < TAILS && !is_wave(battery, i); k++) {
        battery->beyond[k] += fabs(score) > tail_at[k];
    }
    battery->normals += !is_wave(battery, i);
}

/* Add the products of all pairs of scores, sizes, and coordinates of the sample. */
static void add_products(struct audit_battery *battery, const double *score, const double *size,
                         const double *kept, bool has_before)
{
    unsigned n = battery->scene->n;
    const double *before = battery->past + (size_t)n; /* the report before this one */
    for (unsigned i = 0; i < n; i++) {
        struct direction *direction = &battery->direction[i];
        for (unsigned j = 0; j < n; j++) {
            struct product *product = &battery->product[i * n + j];
            product->cross += score[i] * score[j];
            product->sizes += size[i] * size[j];
            product->sample += score[i] * kept[j];
            product->tilt += size[i] * kept[j];
            product->spread += size[i] * kept[j] * kept[j];
            product->before += has_before ? score[i] * before[j] : 0.0;
        }
        direction->size += size[i];
        direction->kept1 += kept[i];
        direction->kept2 += kept[i] * kept[i];
        direction->kept4 += kept[i] * kept[i] * kept[i] * kept[i];
    }
    battery->befores += has_before;
}

/* Add the products with earlier reports, of the same device and of others. The newest scores are
 * past[0..n). */
static void add_lags(struct audit_battery *battery, const double *score, unsigned long device)
{
    unsigned n = battery->scene->n;
    memmove(battery->past + n, battery->past, (size_t)LAGS * n * sizeof *battery->past);
    memmove(battery->device + 1, battery->device, LAGS * sizeof *battery->device);
    memcpy(battery->past, score, n * sizeof *score);
    battery->device[0] = device;
    for (unsigned lag = 1; lag <= LAGS && battery->device[lag] != 0; lag++) {
        struct lag *sum =
            battery->device[lag] == device ? &battery->same[lag] : &battery->other[lag];
        const double *old = battery->past + (size_t)lag * n;
        for (unsigned i = 0; i < n; i++) {
            bool wave = is_wave(battery, i);
            sum->product += score[i] * old[i];
            sum->sizes += size_of(score[i], wave) * size_of(old[i], wave);
        }
        sum->count += n;
    }
}

/* Count low bits and values on the wire, and how scores go along with the sample's place between
 * two wire values. They do if the sample is rounded before the noise is added. */
static void add_grid(struct audit_battery *battery, const struct audit_view *view)
{
    const struct audit_scene *scene = battery->scene;
    for (unsigned i = 0; i < scene->n; i++) {
        /* Values are counted around 0, where there are most. */
        int value = view->wire[i] + VALUES / 2;
        double place = view->kept[i] / scene->step;
        double frac = place - rint(place);
        battery->direction[i].residue[view->kept[i] > 0.0][(unsigned)view->wire[i] % RESIDUES]++;
        if (value >= 0 && value < VALUES) {
            battery->value[value]++;
        }
        if (battery->frame->axes) {
            battery->frac += i >= scene->m ? view->along[i] / scene->sd * frac : 0.0;
            battery->frac2 += i >= scene->m ? frac * frac : 0.0;
        }
    }
}

/* Products that reveal a phase of few values, or one that depends on the sample alone. A wave is
 * a cos(angle + phase): then the cosine of some multiple of it is correlated with that of the
 * multiple of the angle alone. */
static void add_waves(struct audit_battery *battery, const struct audit_view *view)
{
    const struct audit_scene *scene = battery->scene;
    double turn = 2.0 * M_PI * scene->study.frequency / 0x1p40 / scene->keep;
    for (unsigned i = 0; i < scene->m && scene->waves; i++) {
        struct direction *direction = &battery->direction[i];
        double angle = turn * (view->seen[i] - view->along[i]);
        double wave = fmin(fmax(view->along[i] / scene->amplitude, -1.0), 1.0);
        double alone = cos(angle);
        double w[2] = {1.0, wave}; /* Chebyshev's recursion: the last two multiples */
        double a[2] = {1.0, alone};
        for (unsigned k = 0; k < MULTIPLES; k++) {
            double product = w[1] * a[1];
            const double next[2] = {2.0 * wave * w[1] - w[0], 2.0 * alone * a[1] - a[0]};
            direction->harmonic[k] += product;
            direction->harmonic2[k] += product * product;
            w[0] = w[1];
            w[1] = next[0];
            a[0] = a[1];
            a[1] = next[1];
        }
        /* Multiples 32, 64, .. by doubling the angle. */
        double turned = cos(32.0 * acos(wave));
        double plain = cos(32.0 * angle);
        for (unsigned k = MULTIPLES; k < HARMONICS; k++) {
            direction->harmonic[k] += turned * plain;
            direction->harmonic2[k] += turned * plain * turned * plain;
            turned = 2.0 * turned * turned - 1.0;
            plain = 2.0 * plain * plain - 1.0;
        }
    }
}

/* Products that reveal noise made of the same bytes as a phase. Given the sample, a wave is a
 * cosine of even law; such noise is correlated with half of the turn, and so with the wave times
 * the sine of the sample's angle. */
static void add_turned(struct audit_battery *battery, const struct audit_view *view,
                       const double *score, const double *size)
{
    const struct audit_scene *scene = battery->scene;
    double turn = 2.0 * M_PI * scene->study.frequency / 0x1p40 / scene->keep;
    for (unsigned i = 0; i < scene->m && scene->waves; i++) {
        double wave = score[i] * sin(turn * (view->seen[i] - view->along[i]));
        for (unsigned j = scene->m; j < scene->n; j++) {
            struct product *product = &battery->product[i * scene->n + j];
            const double sum[2] = {wave * score[j], wave * size[j]};
            for (unsigned k = 0; k < 2; k++) {
                product->turned[k] += sum[k];
                product->turned2[k] += sum[k] * sum[k];
            }
        }
    }
}

/* Add how much of the clip radius the samples of a family keep. */
static void add_family(struct audit_battery *battery, const struct audit_view *view)
{
    const struct audit_scene *scene = battery->scene;
    struct family *family = &battery->family[view->family][view->norm > 1.0];
    double square = 0.0;
    double along = 0.0;
    for (unsigned i = 0; i < scene->n; i++) {
        double kept = view->seen[i] - view->along[i];
        square += kept * kept;
        along += kept * view->along[i];
        battery->square_error += view->along[i] * view->along[i];
    }
    if (square > 0.0 && scene->m == 0) {
        double length = sqrt(square);
        double radius = scene->keep * scene->study.clip;
        family->reports++;
        family->radial += along / length / scene->sd;
        family->radius += (length + along / length) / radius;
        family->claimed += length / radius;
    }
}

/* Fold the report as a server does, and add what the debiased moments must be. */
static enum tremolo_status add_moments(struct audit_battery *battery, const struct audit_view *view)
{
    const struct audit_scene *scene = battery->scene;
    unsigned n = scene->n;
    int16_t row[AUDIT_COORDINATES_MAX + 1] = {0};
    /* The group of the jackknife, as on a server. */
    uint8_t bucket = (uint8_t)tremolo_bucket_of(view->id);
    memcpy(row, view->wire, n * sizeof *row);
    for (unsigned i = 0; i < n; i++) {
        for (unsigned j = 0; j <= i; j++) {
            struct product *product = &battery->product[i * n + j];
            double truth = view->kept[i] * view->kept[j];
            double off = scene->step * view->wire[i] * scene->step * view->wire[j] - truth;
            product->truth += truth;
            product->moment += off;
            product->moment2 += off * off;
        }
    }
    return tremolo_release_fold(battery->moments, &scene->study, row, &bucket, 1);
}

/* Add one report to all sums. */
bool audit_battery_add(struct audit_battery *battery, const struct audit_view *view)
{
    const struct audit_scene *scene = battery->scene;
    unsigned n = scene->n;
    double score[AUDIT_COORDINATES_MAX] = {0.0};
    double size[AUDIT_COORDINATES_MAX] = {0.0};
    double kept[AUDIT_COORDINATES_MAX] = {0.0};
    double radius = scene->keep * scene->study.clip;
    double sum = 0.0;
    for (unsigned i = 0; i < n; i++) {
        bool wave = is_wave(battery, i);
        double share = wave ? audit_wave_law(scene, view->along[i]).share
                            : tremolo_normal_cdf(view->along[i] / scene->sd);
        score[i] = wave ? sqrt(12.0) * (share - 0.5) : view->along[i] / scene->sd;
        size[i] = size_of(score[i], wave);
        kept[i] = (view->seen[i] - view->along[i]) / radius;
        sum += score[i];
        add_direction(battery, i, score[i], share, view, kept[i]);
    }
    add_lags(battery, score, battery->audit->device.number);
    add_products(battery, score, size, kept, battery->device[1] != 0);
    add_grid(battery, view);
    add_family(battery, view);
    add_waves(battery, view);
    add_turned(battery, view, score, size);
    whole_add(battery, view, score);
    battery->count++;
    const double tells[AUDIT_TELLS] = {score[0], score[n - 1], sum / sqrt(n),
                                       kept[0],  kept[n - 1],  view->norm > 1.0 ? 1.0 : -1.0};
    return audit_ids_add(&battery->ids, battery->audit, view->id, tells) &&
           audit_goes_on(battery->audit, add_moments(battery, view));
}

double audit_battery_error(const struct audit_battery *battery, double *coordinates)
{
    *coordinates = battery->count * battery->scene->n;
    return battery->square_error -
           *coordinates * battery->scene->step * battery->scene->step / 12.0;
}
