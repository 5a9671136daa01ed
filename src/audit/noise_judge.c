/* noise_judge.c -- the verdicts on the sums of noise.c.
 *
 * Each function notes single tests under the check that they belong to, with a sentence that names the
 * coordinate, the vector or the family, the number that was seen, and the scene. Causes are kept apart
 * as well as possible: a wrong spread fails noise.scale alone, because correlations are taken with the
 * spreads as they were seen, and a fault of a wave fails the checks of the modulation. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit_battery.h"
#include "regression.h"
#include "release.h"

enum { NAME_BYTES = 48 };

/* Most statistics are sums over thousands of reports, divided by their standard deviation, and
 * judged as normal. Three things are done where that would not hold far into the tails:
 *
 * sums of skewed terms (sizes, squares and their products) are divided by a slack and need a
 * thousand reports;
 *
 * counts are judged by the exact binomial law, or where they are many cells by chi-squared with
 * at least eight expected in each;
 *
 * sums of symmetric terms of unknown variance are divided by the root of their squares, which has
 * a bound that holds for any number of terms. */

/* Sizes are skewed by 1, squares by 2.8, and so are their products: at 1000 reports that makes a
 * deviation of 6 standard errors as likely as one of 5.6 ought to be. This covers it. */
static const double skew_slack = 1.15;
static const double skew_reports_min = 1000.0;

/* What sentences call a direction. */
static const char *name_of(char name[NAME_BYTES], const struct audit_battery *battery, unsigned i)
{
    const struct audit_scene *scene = battery->scene;
    if (i >= scene->d) {
        return "the response";
    }
    (void)snprintf(name, NAME_BYTES, "%s %u",
                   battery->frame->axes ? "coordinate"
                   : i < scene->m       ? "vector"
                                        : "direction",
                   i);
    return name;
}

/* The p-value of a sum of `reports` skewed terms, given as a standard normal. */
static double p_skewed(double z, double reports)
{
    return reports >= skew_reports_min ? audit_p_normal(z / skew_slack) : AUDIT_TOO_FEW;
}

/* Of a correlation of n pairs. Fisher's transform is close to normal far into the tails. */
static double p_correlation(double r, double n)
{
    r = fmin(fabs(r), 1.0 - 1e-12);
    return n < 8.0 ? AUDIT_TOO_FEW : audit_p_normal(atanh(r) * sqrt(n - 2.0));
}

/* Of a mean square of n standard normals. The cube root of a chi-squared mean is close to normal
 * (Wilson and Hilferty). */
static double p_square(double mean_square, double n)
{
    double spread = 2.0 / (9.0 * n);
    return audit_p_normal((cbrt(mean_square) - (1.0 - spread)) / sqrt(spread));
}

/* Of the largest distance between two histograms of KS_CELLS cells (Kolmogorov-Smirnov). Cells
 * make the distance smaller, so that this errs toward silence. */
static double p_kolmogorov(double *distance, const uint32_t *one, const uint32_t *two)
{
    double all[2] = {0.0, 0.0};
    double sum[2] = {0.0, 0.0};
    double largest = 0.0;
    for (unsigned i = 0; i < KS_CELLS; i++) {
        all[0] += one[i];
        all[1] += two[i];
    }
    if (all[0] < 50.0 || all[1] < 50.0) {
        *distance = 0.0;
        return AUDIT_TOO_FEW;
    }
    for (unsigned i = 0; i < KS_CELLS; i++) {
        sum[0] += one[i];
        sum[1] += two[i];
        largest = fmax(largest, fabs(sum[0] / all[0] - sum[1] / all[1]));
    }
    *distance = largest;
    return fmin(1.0, 2.0 * exp(-2.0 * largest * largest * all[0] * all[1] / (all[0] + all[1])));
}

/* Centre, spread and shape of one direction's scores. */
static void judge_direction(const struct audit_battery *battery, unsigned i)
{
    struct audit *audit = battery->audit;
    const struct direction *direction = &battery->direction[i];
    char name[NAME_BYTES];
    const char *what = name_of(name, battery, i);
    const char *where = battery->scene->name;
    double n = battery->count;
    bool wave = is_wave(battery, i);
    bool phase = wave && battery->scene->waves;
    double mean = direction->sum / n;
    double scale = sqrt(direction->square / n);
    double skew = direction->cube / n;
    audit_note(audit, phase ? CHECK_PHASE : CHECK_NOISE_MEAN, audit_p_normal(mean * sqrt(n)), mean,
               0.0, "%s (%s): %s is off centre by %.3g sd", what, where,
               phase ? "the wave" : "noise", mean);
    double p =
        wave ? audit_p_normal((scale * scale - 1.0) * sqrt(n / 0.8)) : p_square(scale * scale, n);
    audit_note(audit, phase ? CHECK_PHASE : CHECK_NOISE_SCALE, p, scale, 1.0,
               phase ? "%s (%s): the wave has %.3g of the spread of a uniform phase"
                     : "%s (%s): noise is %.4g of the stated standard deviation",
               what, where, scale);
    audit_note(audit, phase ? CHECK_PHASE : CHECK_NOISE_SHAPE,
               audit_p_uniform(direction->cell, CELLS), skew, 0.0,
               phase ? "%s (%s): the phase is not uniform (skewness %.3g)"
                     : "%s (%s): noise has not its law (skewness %.3g)",
               what, where, skew);
    if (!wave) {
        /* The third Hermite polynomial, which a wrong mean does not move. */
        double off = (direction->cube - 3.0 * direction->sum) / n; /* variance 6 */
        audit_note(audit, CHECK_NOISE_SHAPE, p_skewed(off * sqrt(n / 6.0), n), off, 0.0,
                   "%s (%s): noise is skewed by %.3g", what, where, off);
    }
}

/* The same of all normal directions together, which sees smaller faults, and the tails. */
static void judge_all(const struct audit_battery *battery)
{
    struct audit *audit = battery->audit;
    const struct audit_scene *scene = battery->scene;
    double sum = 0.0;
    double square = 0.0;
    double n = battery->normals;
    uint32_t cell[CELLS] = {0};
    for (unsigned i = scene->m; i < scene->n; i++) {
        sum += battery->direction[i].sum;
        square += battery->direction[i].square;
        for (unsigned k = 0; k < CELLS; k++) {
            cell[k] += battery->direction[i].cell[k];
        }
    }
    if (n < 1.0) {
        return;
    }
    audit_note(audit, CHECK_NOISE_MEAN, audit_p_normal(sum / sqrt(n)), sum / n, 0.0,
               "all coordinates (%s): noise is off centre by %.3g sd", scene->name, sum / n);
    audit_note(audit, CHECK_NOISE_SCALE, p_square(square / n, n), sqrt(square / n), 1.0,
               "all coordinates (%s): noise is %.4g of the stated standard deviation", scene->name,
               sqrt(square / n));
    audit_note(audit, CHECK_NOISE_SHAPE, audit_p_uniform(cell, CELLS), cell[0] / n, 1.0 / CELLS,
               "all coordinates (%s): noise has not its law", scene->name);
    for (unsigned k = 0; k < TAILS; k++) {
        /* Both tails together. */
        double share = 2.0 * tremolo_normal_cdf(-tail_at[k]);
        audit_note(audit, CHECK_NOISE_TAILS, audit_p_binomial(battery->beyond[k], n, share),
                   battery->beyond[k], n * share,
                   "%s: %.0f of %.0f draws lie beyond %g sd, %.1f expected", scene->name,
                   battery->beyond[k], n, tail_at[k], n * share);
    }
}

/* The sums of directions i and j. */
static const struct product *product_of(const struct audit_battery *battery, unsigned i, unsigned j)
{
    return &battery->product[i * battery->scene->n + j];
}

/* Correlation of two directions from a sum of products of their scores, with the spreads as they
 * were seen: a wrong spread is a finding of its own. */
static double correlation(const struct audit_battery *battery, double product, unsigned i,
                          unsigned j)
{
    double squares = battery->direction[i].square * battery->direction[j].square;
    return product / sqrt(fmax(squares, 1e-300));
}

/* The variance of the sizes of one direction, as seen. */
static double variance_of_size(const struct audit_battery *battery, unsigned i)
{
    double mean = battery->direction[i].size / battery->count;
    double square = product_of(battery, i, i)->sizes / battery->count;
    return fmax(square - mean * mean, 1e-300);
}

/* Correlation of the sizes of two directions, centred and scaled as they were seen. */
static double size_correlation(const struct audit_battery *battery, unsigned i, unsigned j)
{
    double n = battery->count;
    double product = product_of(battery, i, j)->sizes / n -
                     battery->direction[i].size / n * battery->direction[j].size / n;
    return product / sqrt(variance_of_size(battery, i) * variance_of_size(battery, j));
}

/* No two directions share noise, a scale of noise, or a phase. */
static void judge_coordinates(const struct audit_battery *battery)
{
    unsigned n = battery->scene->n;
    char name[2][NAME_BYTES];
    for (unsigned i = 0; i < n; i++) {
        for (unsigned j = 0; j < i; j++) {
            double r = correlation(battery, product_of(battery, i, j)->cross, i, j);
            double s = size_correlation(battery, i, j);
            bool waves = battery->scene->waves && i < battery->scene->m;
            enum audit_check check = waves ? CHECK_WAVES : CHECK_NOISE_COORDINATES;
            const char *one = name_of(name[0], battery, j);
            const char *two = name_of(name[1], battery, i);
            const char *what = waves ? "phase" : "noise";
            audit_note(battery->audit, check, p_correlation(r, battery->count), r, 0.0,
                       "%s and %s share %s: correlation %.3f (%s)", one, two, what, r,
                       battery->scene->name);
            audit_note(battery->audit, check, p_skewed(s * sqrt(battery->count), battery->count), s,
                       0.0, "%s and %s have %s of one size: correlation of sizes %.3f (%s)", one,
                       two, what, s, battery->scene->name);
        }
    }
}

/* Reports `by` reports apart, of one device or of two, have noise of their own. */
static void judge_lag(const struct audit_battery *battery, const struct lag *lag, unsigned by,
                      bool same)
{
    const struct audit_scene *scene = battery->scene;
    enum audit_check check = same ? CHECK_NOISE_ROUNDS : CHECK_NOISE_DEVICES;
    if (lag->count < 200.0) {
        if (lag->count > 0.0) {
            audit_leave_out(battery->audit, check);
        }
        return;
    }
    double mean2 = 0.0; /* what products would have for their mean were there nothing in common */
    double size2 = 0.0;
    double variance = 0.0;
    double spread = 0.0;
    for (unsigned i = 0; i < scene->n; i++) {
        const struct direction *direction = &battery->direction[i];
        double mean = direction->sum / battery->count;
        double size = direction->size / battery->count;
        mean2 += mean * mean / scene->n;
        size2 += size * size / scene->n;
        variance += (direction->square / battery->count - mean * mean) / scene->n;
        spread += variance_of_size(battery, i) / scene->n;
    }
    double r = (lag->product / lag->count - mean2) / fmax(variance, 1e-300);
    double s = (lag->sizes / lag->count - size2) / fmax(spread, 1e-300);
    audit_note(battery->audit, check, p_correlation(fmin(fabs(r), 1.0), lag->count), r, 0.0,
               same ? "a report repeats noise of the one %u before it: correlation %.3f (%s)"
                    : "a device repeats noise of another, %u reports before: correlation %.3f (%s)",
               by, r, scene->name);
    audit_note(battery->audit, check, p_skewed(s * sqrt(lag->count), lag->count), s, 0.0,
               same ? "noise has the size it had %u reports before: correlation %.3f (%s)"
                    : "noise has the size another device had %u before: correlation %.3f (%s)",
               by, s, scene->name);
}

/* All distances between reports, and each coordinate with every coordinate of the report before. */
static void judge_others(const struct audit_battery *battery)
{
    unsigned n = battery->scene->n;
    char name[2][NAME_BYTES];
    for (unsigned lag = 1; lag <= LAGS; lag++) {
        judge_lag(battery, &battery->same[lag], lag, true);
        judge_lag(battery, &battery->other[lag], lag, false);
    }
    enum audit_check check =
        battery->same[1].count > 0.0 ? CHECK_NOISE_ROUNDS : CHECK_NOISE_DEVICES;
    for (unsigned i = 0; i < n; i++) {
        for (unsigned j = 0; j < n; j++) {
            double r = correlation(battery, product_of(battery, i, j)->before, i, j);
            audit_note(battery->audit, check, p_correlation(r, battery->befores), r, 0.0,
                       "%s has noise that %s had a report before: correlation %.3f (%s)",
                       name_of(name[0], battery, i), name_of(name[1], battery, j), r,
                       battery->scene->name);
        }
    }
}

/* The size of score i is not correlated with coordinate j of the sample, nor with its square. */
static void judge_sizes(const struct audit_battery *battery, unsigned i, unsigned j)
{
    const struct direction *other = &battery->direction[j];
    const struct product *both = product_of(battery, i, j);
    double count = battery->count;
    bool phase = is_wave(battery, i) && battery->scene->waves;
    char name[2][NAME_BYTES];
    const double sum[2] = {other->kept1, other->kept2};
    const double square[2] = {other->kept2, other->kept4};
    const double product[2] = {both->tilt, both->spread};
    /* As if so many reports counted alike. */
    double reports = other->kept2 * other->kept2 / fmax(other->kept4, 1e-300);
    for (unsigned k = 0; k < 2 && reports > 0.0; k++) {
        double variance = fmax(square[k] - sum[k] * sum[k] / count, 1e-300);
        double z = (product[k] - battery->direction[i].size / count * sum[k]) /
                   sqrt(variance * variance_of_size(battery, i));
        audit_note(battery->audit, phase ? CHECK_PHASE : CHECK_NOISE_SAMPLE, p_skewed(z, reports),
                   z / sqrt(count), 0.0,
                   "%s: the size of %s goes along with %s%s of the sample: correlation %.3f (%s)",
                   name_of(name[0], battery, i), phase ? "the wave" : "noise",
                   k == 0 ? "" : "the square of ", name_of(name[1], battery, j), z / sqrt(count),
                   battery->scene->name);
    }
}

/* Noise and waves do not depend on the sample: not on any coordinate, not on its sign, not on
 * whether it was clipped. */
static void judge_sample(const struct audit_battery *battery)
{
    static const char *const groups[2] = {"above and below the middle",
                                          "beyond and within the clip radius"};
    unsigned n = battery->scene->n;
    char name[2][NAME_BYTES];
    for (unsigned i = 0; i < n; i++) {
        bool phase = is_wave(battery, i) && battery->scene->waves;
        enum audit_check check = phase ? CHECK_PHASE : CHECK_NOISE_SAMPLE;
        const char *what = phase ? "the wave" : "noise";
        const char *mine = name_of(name[0], battery, i);
        double variance = battery->direction[i].square / battery->count;
        for (unsigned j = 0; j < n; j++) {
            const char *other = name_of(name[1], battery, j);
            double z = product_of(battery, i, j)->sample /
                       sqrt(fmax(variance * battery->direction[j].kept2, 1e-300));
            audit_note(battery->audit, check, audit_p_normal(z), z / sqrt(battery->count), 0.0,
                       "%s: %s goes along with %s of the sample: correlation %.3f (%s)", mine, what,
                       other, z / sqrt(battery->count), battery->scene->name);
            judge_sizes(battery, i, j);
        }
        for (unsigned g = 0; g < 2; g++) {
            const struct direction *direction = &battery->direction[i];
            double distance;
            double p =
                p_kolmogorov(&distance, direction->group[2 * g], direction->group[2 * g + 1]);
            audit_note(battery->audit, check, p, distance, 0.0,
                       "%s: %s has another law for samples %s: Kolmogorov-Smirnov %.3f (%s)", mine,
                       what, groups[g], distance, battery->scene->name);
        }
    }
}

/* Low bits are uniform and no value is left out. Residues of a normal are uniform up to e^(-2
 * pi^2 sd^2 / modulus^2). Where a step is a small part of the noise, smooth counts differ from
 * their neighbours' mean by chance alone. */
static void judge_grid(const struct audit_battery *battery)
{
    const struct audit_scene *scene = battery->scene;
    double sd = scene->sd / scene->step;
    /* The more steps the noise has, the more low bits are uniform. */
    unsigned modulus = sd >= 32.0 ? 16 : sd >= 16.0 ? 8 : 4;
    for (unsigned i = 0; i < scene->n; i++) {
        for (unsigned side = 0; side < 2; side++) {
            uint32_t cell[RESIDUES] = {0};
            for (unsigned k = 0; k < RESIDUES; k++) {
                cell[k % modulus] += battery->direction[i].residue[side][k];
            }
            audit_note(battery->audit, CHECK_NOISE_GRID, audit_p_uniform(cell, modulus), cell[0],
                       battery->count / 2.0 / modulus,
                       "low bits of wire value %u are not uniform (%s)", i, scene->name);
        }
    }
    for (unsigned v = 1; v + 1 < VALUES && sd >= 32.0; v++) {
        double middle = battery->value[v];
        double sides = (double)battery->value[v - 1] + battery->value[v + 1];
        if (middle + sides >= 150.0) {
            double z = (2.0 * middle - sides) / sqrt(2.0 * (middle + sides));
            audit_note(battery->audit, CHECK_NOISE_GRID, audit_p_normal(z), middle, 0.5 * sides,
                       "wire value %d came %.0f times, its two neighbours %.0f times (%s)",
                       (int)v - VALUES / 2, middle, sides, scene->name);
        }
    }
    double z = battery->frac / sqrt(fmax(battery->frac2, 1e-300));
    audit_note(battery->audit, CHECK_NOISE_GRID, audit_p_normal(z), z, 0.0,
               "the sample is rounded to the wire before noise is added (%s)", scene->name);
}

/* No multiple of a phase reveals that of the sample's angle. */
static void judge_waves(const struct audit_battery *battery)
{
    const struct audit_scene *scene = battery->scene;
    for (unsigned i = 0; i < scene->m && scene->waves; i++) {
        for (unsigned k = 0; k < HARMONICS; k++) {
            double r = 2.0 * battery->direction[i].harmonic[k] / battery->count;
            double z = battery->direction[i].harmonic[k] /
                       sqrt(fmax(battery->direction[i].harmonic2[k], 1e-300));
            audit_note(battery->audit, CHECK_PHASE, audit_p_normal(z), r, 0.0,
                       "the phase of vector %u tells the sample: its multiple by %u does not hide "
                       "that of the angle (%.3f, %s)",
                       i, k < MULTIPLES ? k + 1 : 32u << (k - MULTIPLES), r, scene->name);
        }
    }
}

/* Given the sample, a wave is as likely its opposite, whatever the noise of the other coordinates
 * is. */
static void judge_turned(const struct audit_battery *battery)
{
    const struct audit_scene *scene = battery->scene;
    for (unsigned i = 0; i < scene->m && scene->waves; i++) {
        for (unsigned j = scene->m; j < scene->n; j++) {
            const struct product *product = &battery->product[i * scene->n + j];
            for (unsigned k = 0; k < 2; k++) {
                char name[NAME_BYTES];
                double z = product->turned[k] / sqrt(fmax(product->turned2[k], 1e-300));
                audit_note(battery->audit, CHECK_PHASE, audit_p_even(z), z / sqrt(battery->count),
                           0.0,
                           "the phase of vector %u goes along with %s of %s: correlation %.3f (%s)",
                           i, k == 0 ? "noise" : "the size of noise", name_of(name, battery, j),
                           z / sqrt(battery->count), scene->name);
            }
        }
    }
}

/* Samples of every family keep the share of the clip radius that they must. */
static void judge_families(const struct audit_battery *battery)
{
    static const char *const names[FAMILIES] = {
        "in the middle",       "on an axis",    "near an axis",      "at a corner",
        "within the ball",     "on the sphere", "beyond the sphere", "along a vector",
        "out of their bounds", "of two people"};
    for (unsigned f = 0; f < FAMILIES; f++) {
        for (unsigned beyond = 0; beyond < 2; beyond++) {
            const struct family *family = &battery->family[f][beyond];
            double n = family->reports;
            double seen = family->radius / fmax(n, 1.0);
            double claimed = family->claimed / fmax(n, 1.0);
            if (n > 0.0) {
                audit_note(battery->audit, beyond ? CHECK_CLIP : CHECK_SCALE,
                           n >= 30.0 ? audit_p_normal(family->radial / sqrt(n)) : AUDIT_TOO_FEW,
                           seen, claimed, "samples %s %s keep %.4g clip radii, not %.4g (%s)",
                           names[f], beyond ? "and beyond the clip" : "and within it", seen,
                           claimed, battery->scene->name);
            }
        }
    }
}

/* One debiased moment against the samples' own. It is off by the mean of r_i r_j - k_i k_j less
 * what debiasing removes. */
static void judge_moment(const struct audit_battery *battery, unsigned i, unsigned j, double seen)
{
    const struct audit_scene *scene = battery->scene;
    const struct product *product = product_of(battery, i, j);
    /* In half ranges, as a server has its moments. */
    double unit = scene->keep * scene->study.unit;
    double truth = product->truth / battery->count / unit / unit;
    double mean = product->moment / battery->count;
    double variance = product->moment2 / battery->count - mean * mean;
    double error = sqrt(fmax(variance, 0.0) / battery->count) / unit / unit;
    audit_note(battery->audit, CHECK_MOMENTS,
               audit_p_normal((seen - truth) / fmax(error, 1e-300) / skew_slack), seen, truth,
               "the debiased mean of %s %u times %s %u is %.5g +- %.1g, of the samples %.5g (%s)",
               i == scene->d ? "response" : "feature", i, j == scene->d ? "response" : "feature", j,
               seen, error, truth, scene->name);
}

/* All debiased moments, computed as a server computes them. */
static void judge_moments(const struct audit_battery *battery)
{
    const struct audit_scene *scene = battery->scene;
    unsigned d = scene->d;
    struct tremolo_debiased *evidence = NULL;
    const struct tremolo_sample_release release = tremolo_release_of(&scene->study, 1.0, 1.0);
    double *S = calloc((size_t)d * d + d + 1, sizeof *S);
    if (audit_goes_on(battery->audit, S == NULL ? TREMOLO_NO_MEMORY : TREMOLO_OK) &&
        audit_goes_on(battery->audit,
                      tremolo_release_evidence(&evidence, battery->moments, &release,
                                               battery->frame->vectors))) {
        double *Z = S + (size_t)d * d;
        tremolo_debias_moments(S, Z, Z + d, evidence, false);
        for (unsigned i = 0; i < scene->n; i++) {
            for (unsigned j = 0; j <= i; j++) {
                judge_moment(battery, i, j, i == d ? Z[j] : S[i * d + j]);
            }
        }
    }
    tremolo_debias_free(evidence);
    free(S);
}

/* Signs of three coordinates, and of all, multiply to plus in half of the reports. */
static void judge_signs(const struct audit_battery *battery)
{
    for (unsigned k = 0; k <= battery->threes; k++) {
        unsigned at[3] = {0, 1, battery->scene->n - 1};
        if (k < battery->threes) {
            three_of(at, k, battery->scene->n);
        }
        audit_note(battery->audit, CHECK_NOISE_REPORT,
                   audit_p_binomial(battery->plus[k], battery->count, 0.5), battery->plus[k],
                   0.5 * battery->count,
                   "the signs of the noise of coordinates %u, %u %s %u multiply to plus in %.0f of "
                   "%.0f reports (%s)",
                   at[0], at[1], k < battery->threes ? "and" : "to", at[2], battery->plus[k],
                   battery->count, battery->scene->name);
    }
}

/* Values without noise come as often as the law says. Of values that have probabilities of their
 * own, the binomial law of their mean is the wider one. */
static void judge_bare(const struct audit_battery *battery)
{
    for (unsigned i = battery->scene->m; i < battery->scene->n && battery->frame->axes; i++) {
        const struct direction *direction = &battery->direction[i];
        audit_note(
            battery->audit, CHECK_NOISE_REPORT,
            audit_p_binomial(direction->bare, battery->count, direction->expected / battery->count),
            direction->bare, direction->expected,
            "coordinate %u is sent as without noise %.0f times, %.1f expected (%s)", i,
            direction->bare, direction->expected, battery->scene->name);
    }
}

/* The share of norms at one end. */
static void judge_rare(const struct audit_battery *battery, double reports, const char *how)
{
    double expected = rare * battery->count;
    audit_note(battery->audit, CHECK_NOISE_REPORT, audit_p_binomial(reports, battery->count, rare),
               reports, expected, "%.0f of %.0f reports have %s noise, %.1f expected (%s)", reports,
               battery->count, how, expected, battery->scene->name);
}

/* All that concerns reports as a whole. */
static void judge_whole(const struct audit_battery *battery)
{
    judge_signs(battery);
    judge_bare(battery);
    if (battery->scene->n > battery->scene->m) {
        judge_rare(battery, battery->least, "next to no");
        judge_rare(battery, battery->most, "very much");
        audit_note(battery->audit, CHECK_NOISE_REPORT, audit_p_uniform(battery->norm, CELLS),
                   battery->norm[0], battery->count / CELLS,
                   "the norms of the noise have not their law (%s)", battery->scene->name);
    }
}

/* Note every check of this file as one that had too few reports. */
static void leave_out(const struct audit_battery *battery)
{
    static const enum audit_check checks[] = {
        CHECK_IDS_LAW,     CHECK_IDS_REPEATED,      CHECK_IDS_SAMPLE,    CHECK_SCALE,
        CHECK_CLIP,        CHECK_NOISE_COORDINATES, CHECK_NOISE_DEVICES, CHECK_NOISE_SAMPLE,
        CHECK_NOISE_GRID,  CHECK_NOISE_MEAN,        CHECK_NOISE_SCALE,   CHECK_NOISE_TAILS,
        CHECK_NOISE_SHAPE, CHECK_NOISE_REPORT,      CHECK_MOMENTS,       CHECK_PHASE,
        CHECK_WAVES};
    size_t count = sizeof checks / sizeof checks[0] - (battery->scene->waves ? 0 : 2);
    for (size_t i = 0; i < count; i++) {
        audit_leave_out(battery->audit, checks[i]);
    }
}

/* Judge everything, or with fewer than 100 reports nothing. */
void audit_battery_judge(const struct audit_battery *battery)
{
    static const struct audit_tell tells[AUDIT_TELLS] = {
        {"the first coordinate's noise", CHECK_IDS_SAMPLE},
        {"the last coordinate's noise", CHECK_IDS_SAMPLE},
        {"the sum of the noise", CHECK_IDS_SAMPLE},
        {"the sample's first coordinate", CHECK_IDS_SAMPLE},
        {"the sample's last coordinate", CHECK_IDS_SAMPLE},
        {"whether the sample was clipped", CHECK_IDS_SAMPLE}};
    if (battery->count < 100.0) {
        leave_out(battery);
        return;
    }
    for (unsigned i = 0; i < battery->scene->n; i++) {
        judge_direction(battery, i);
    }
    judge_all(battery);
    judge_coordinates(battery);
    judge_others(battery);
    judge_sample(battery);
    judge_grid(battery);
    judge_families(battery);
    judge_waves(battery);
    judge_turned(battery);
    judge_whole(battery);
    audit_ids_judge(&battery->ids, battery->audit, tells);
    if (battery->count >= skew_reports_min) {
        judge_moments(battery);
    } else {
        audit_leave_out(battery->audit, CHECK_MOMENTS);
    }
}
