/* reproduce_write.c -- tables, figures and the report of `tremolo reproduce`. */
#include "reproduce.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "programs.h"

static FILE *open_in(const char *folder, const char *name)
{
    char path[2 * PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return fopen(path, "w");
}

/* A file counts only when every byte of it was taken. */
static bool close_well(FILE *file)
{
    bool good = ferror(file) == 0;
    return fclose(file) == 0 && good;
}

const char *const reproduce_any_two_words[REPRODUCE_ANY_TWO_WORDS] = {
    "Each task is split at random, 80/20, into devices and test rows. Bounds (least and largest "
    "value) for noisy samples and the trusted server, and typical ranges (nine of ten values, "
    "about "
    "the mean) for ballots, are taken from the training rows, which is not private. Nothing is "
    "tuned.",
    "Neighbours are any two people: of the whole sample, or of its features with the response "
    "sent in the clear. sample is the paper's release without modulation, one for each device, "
    "exact calibration, delta 1e-5, fitted by auto; ballot has delta 0. Both are local: the "
    "server sees nothing else.",
    "adassp is a server that is trusted with all raw rows (adaptive sufficient statistics "
    "perturbation, Wang 2018; one row replaced): least eigenvalue, X'X and X'y are released with "
    "Gaussian noise, a third of mu^2 each, composed exactly to (epsilon, 1e-5) instead of the "
    "article's epsilon/3 and delta/3, which would need more noise."};

const char *reproduce_title(const struct reproduce_options *options)
{
    return options->any_two ? "The paper's tasks at any two people"
                            : "The paper's experiments, repeated";
}

/* Of the paper's sweep. */
static size_t index_of(enum tremolo_experiment_method method)
{
    size_t m = 0;
    while (tremolo_sweep_paper.methods[m].options.method != method) {
        m++;
    }
    return m;
}

/* ------------------------------------------------------------------ tables */

static void write_datasets(FILE *file, const struct tremolo_reproduction_case *cases, size_t count)
{
    (void)fputs("task,rows,dimension,r2_ols,paper_rows,paper_dimension,paper_r2_ols\n", file);
    for (size_t c = 0; c < count; c++) {
        const struct tremolo_task *task = cases[c].task;
        (void)fprintf(file, "%s,%zu,%zu,%.17g,%zu,%zu,%g\n", task->key, cases[c].design.rows,
                      cases[c].design.features, cases[c].ols.mean, task->paper_rows,
                      task->paper_dimension, task->paper_r2_ols);
    }
}

static void write_tuning(FILE *file, const struct tremolo_reproduction_case *cases, size_t count)
{
    (void)fputs("task,method,step,ridge,clip,alpha,lambda,omega\n", file);
    size_t methods = tremolo_sweep_paper.method_count;
    for (size_t i = 0; i < count * methods; i++) {
        const struct tremolo_experiment_options *tuned = &cases[i / methods].options[i % methods];
        if (tuned->method == TREMOLO_EXPERIMENT_AUTO) {
            continue; /* nothing is tuned */
        }
        (void)fprintf(file, "%s,%s,%g,%g,%g,%g,%g,%g\n", cases[i / methods].task->key,
                      tremolo_experiment_method_name(tuned->method), tuned->step, tuned->ridge,
                      tuned->clip, tuned->alpha, tuned->lambda, tuned->omega);
    }
}

static void write_sweep(FILE *file, const struct tremolo_reproduction_case *cases, size_t count,
                        const struct tremolo_reproduction *reproduction)
{
    const struct tremolo_sweep *sweep = reproduction->sweep;
    size_t points = sweep->method_count * sweep->epsilon_count;
    (void)fputs("task,method,epsilon,r2_mean,r2_sd,repeats,r2_ols\n", file);
    for (size_t i = 0; i < count * points; i++) {
        const struct tremolo_reproduction_case *studied = &cases[i / points];
        size_t m = i % points / sweep->epsilon_count, e = i % sweep->epsilon_count;
        const struct tremolo_sweep_point *point = &studied->sweep[m][e];
        (void)fprintf(file, "%s,%s,%g,%.17g,%.17g,%zu,%.17g\n", studied->task->key,
                      sweep->methods[m].name, sweep->epsilon(e), point->mean, point->sd,
                      reproduction->repeats, studied->ols.mean);
    }
}

/* ----------------------------------------------------------------- figures */

/* Columns: epsilon, then mean and sd of each method; R^2 below -0.2 is cut by
 * the axis, not by us. */
static void write_block(FILE *file, const struct tremolo_reproduction_case *studied,
                        const struct tremolo_sweep *sweep)
{
    (void)fprintf(file, "$%s << EOD\n", studied->task->key);
    for (size_t e = 0; e < sweep->epsilon_count; e++) {
        (void)fprintf(file, "%g", sweep->epsilon(e));
        for (size_t m = 0; m < sweep->method_count; m++) {
            (void)fprintf(file, " %.6g %.6g", studied->sweep[m][e].mean, studied->sweep[m][e].sd);
        }
        (void)fputc('\n', file);
    }
    (void)fputs("EOD\n", file);
}

static void write_plot(FILE *file, const struct tremolo_reproduction_case *studied,
                       const struct tremolo_sweep *sweep)
{
    const char *key = studied->task->key;
    (void)fprintf(
        file,
        "set title '%s' noenhanced\nset yrange [-0.2:1.05]\nplot %.6g with lines dt 2 lc rgb "
        "'black' title 'OLS, not private'",
        studied->task->title, studied->ols.mean);
    for (size_t m = 0; m < sweep->method_count; m++) {
        (void)fprintf(file, ", $%s using 1:%zu with linespoints ls %zu title '%s'", key, 2 + 2 * m,
                      m + 1, sweep->methods[m].title);
    }
    (void)fputc('\n', file);
}

/* The paper's layout: two panels, two panels, one. */
static void write_panels(FILE *file, const struct tremolo_reproduction_case *cases, size_t count,
                         const struct tremolo_sweep *sweep)
{
    (void)fputs("set terminal svg size 1000,1200 font 'sans,12'\nset output 'panels.svg'\n"
                "set multiplot layout 3,2\n",
                file);
    for (size_t c = 0; c < count; c++) {
        write_plot(file, &cases[c], sweep);
    }
    (void)fputs("unset multiplot\n", file);
}

static bool load_figures(FILE *script, const void *context)
{
    (void)context;
    return fputs("load 'figures.gp'\n", script) != EOF;
}

bool reproduce_draw(const char *folder, const struct tremolo_reproduction_case *cases, size_t count,
                    const struct tremolo_sweep *sweep)
{
    FILE *file = open_in(folder, "figures.gp");
    if (file == NULL) {
        return false;
    }
    (void)fputs("# Figures of `tremolo reproduce`: run gnuplot on this file.\n"
                "set xlabel 'epsilon'\nset ylabel 'test R^2'\nset key bottom right\nset grid\n"
                "set style line 1 lc rgb '#1f77b4' pt 7 ps 0.4\n"
                "set style line 2 lc rgb '#ff7f0e' pt 5 ps 0.4\n"
                "set style line 3 lc rgb '#2ca02c' pt 9 ps 0.4\n"
                "set style line 4 lc rgb '#d62728' pt 13 ps 0.5 lw 2\n"
                "set style line 5 lc rgb '#9467bd' pt 11 ps 0.4\n"
                "set style line 6 lc rgb '#8c564b' pt 3 ps 0.4\n",
                file);
    for (size_t c = 0; c < count; c++) {
        write_block(file, &cases[c], sweep);
    }
    for (size_t c = 0; c < count; c++) {
        (void)fprintf(file, "set terminal svg size 640,480 font 'sans,12'\nset output '%s.svg'\n",
                      cases[c].task->key);
        write_plot(file, &cases[c], sweep);
    }
    write_panels(file, cases, count, sweep);
    return close_well(file) && program_gnuplot(folder, load_figures, NULL);
}

/* ------------------------------------------------------------------ report */

static void report_datasets(FILE *file, const struct tremolo_reproduction_case *cases, size_t count)
{
    (void)fputs("## Data sets\n\n| task | n | d | OLS R^2 | paper: n | d | OLS R^2 |\n"
                "|---|---|---|---|---|---|---|\n",
                file);
    for (size_t c = 0; c < count; c++) {
        const struct tremolo_task *task = cases[c].task;
        (void)fprintf(file, "| %s | %zu | %zu | %.3f | %zu | %zu | %.3f |\n", task->title,
                      cases[c].design.rows, cases[c].design.features, cases[c].ols.mean,
                      task->paper_rows, task->paper_dimension, task->paper_r2_ols);
    }
}

static void report_tuning(FILE *file, const struct tremolo_reproduction_case *cases, size_t count)
{
    (void)fputs(
        "\n## Tuned constants\n\nOurs, the paper's in brackets. Alpha, lambda and omega are "
        "tuned too (the paper does not state its own).\n\n"
        "| task | iterative c | alpha, lambda, omega | one-shot gamma | alpha, lambda, omega "
        "| DP-SGD C | step |\n|---|---|---|---|---|---|---|\n",
        file);
    for (size_t c = 0; c < count; c++) {
        const struct tremolo_task *task = cases[c].task;
        const struct tremolo_experiment_options
            *iterative = &cases[c].options[index_of(TREMOLO_EXPERIMENT_ITERATIVE)],
            *one_shot = &cases[c].options[index_of(TREMOLO_EXPERIMENT_ONE_SHOT)],
            *dp_sgd = &cases[c].options[index_of(TREMOLO_EXPERIMENT_DP_SGD)];
        (void)fprintf(
            file, "| %s | %g (%g) | %g, %g, %g | %g (%g) | %g, %g, %g | %g (%g) | %g (%g) |\n",
            task->title, iterative->step, task->paper_step, iterative->alpha, iterative->lambda,
            iterative->omega, one_shot->ridge, task->paper_ridge, one_shot->alpha, one_shot->lambda,
            one_shot->omega, dp_sgd->clip, task->paper_clip, dp_sgd->step, task->paper_rate);
    }
}

/* Mean test R^2 of each method at some epsilons, the best in bold. */
static void report_results(FILE *file, const struct tremolo_reproduction_case *cases, size_t count,
                           const struct tremolo_sweep *sweep)
{
    static const double shown[] = {0.5, 1, 2, 3, 4, 5, 8, 10};
    size_t methods = sweep->method_count;
    (void)fputs("\n## Mean test R^2\n\n| task | least squares | epsilon |", file);
    for (size_t m = 0; m < methods; m++) {
        (void)fprintf(file, " %s |", sweep->methods[m].name);
    }
    (void)fputs("\n|---|---|---|", file);
    for (size_t m = 0; m < methods; m++) {
        (void)fputs("---|", file);
    }
    (void)fputc('\n', file);
    for (size_t i = 0; i < count * sweep->epsilon_count; i++) {
        const struct tremolo_reproduction_case *studied = &cases[i / sweep->epsilon_count];
        size_t e = i % sweep->epsilon_count, best = 0, s = 0;
        while (s < sizeof shown / sizeof shown[0] && shown[s] != sweep->epsilon(e)) {
            s++;
        }
        if (s == sizeof shown / sizeof shown[0]) {
            continue;
        }
        for (size_t m = 1; m < methods; m++) {
            best = studied->sweep[m][e].mean > studied->sweep[best][e].mean ? m : best;
        }
        (void)fprintf(file, "| %s | %.3f | %g |", studied->task->title, studied->ols.mean,
                      shown[s]);
        for (size_t m = 0; m < methods; m++) {
            const char *mark = m == best ? "**" : "";
            (void)fprintf(file, " %s%.3f%s |", mark, studied->sweep[m][e].mean, mark);
        }
        (void)fputc('\n', file);
    }
}

static void report_verdict(FILE *file, const struct tremolo_reproduction_case *cases, size_t count)
{
    size_t points = 0, first = 0, negative = 0, automatic = index_of(TREMOLO_EXPERIMENT_AUTO);
    for (size_t c = 0; c < count; c++) {
        for (size_t e = 0; e < tremolo_sweep_paper.epsilon_count; e++, points++) {
            double mine = cases[c].sweep[automatic][e].mean, best = -INFINITY;
            for (size_t m = 0; m < tremolo_sweep_paper.method_count; m++) {
                best = m == automatic ? best : fmax(best, cases[c].sweep[m][e].mean);
            }
            first += mine >= best;
            negative += mine < 0;
        }
    }
    (void)fprintf(
        file,
        "\n`auto` is at least as good as the best of the three others in %zu of %zu points "
        "of the sweep, and worse than predicting the mean in %zu.\n",
        first, points, negative);
}

static void report_method(FILE *file, const struct reproduce_options *options, double seconds)
{
    (void)fprintf(
        file,
        "\n## How it was made\n\n"
        "- Each task is split at random, 60/20/20, into training, validation and test rows, %zu "
        "times; the noise draws take the splits in turn, so that no lucky or unlucky split decides "
        "(the paper has one; `--splits 1` does the same). Features and "
        "response are standardised on the training rows (which is not private; it is the paper's "
        "convention). Each training row is one device.\n"
        "- Neighbours are samples at distance 1, delta is 1e-5, the response is public.\n"
        "- Iterative and one-shot use the paper's calibration (zCDP, the modulation counted as "
        "sensitivity), one vector, and 10 rounds for iterative; DP-SGD clips to C, sensitivity 2C, "
        "10 rounds, zCDP. `auto` makes one release with the exact calibration and no modulation.\n"
        "- The constants were chosen on the public validation rows, one configuration per task "
        "over the whole sweep, on the first split. A candidate's score is its mean R^2 over the "
        "sweep with values below 0 counted as 0: without that floor the blow-ups at small epsilon "
        "would decide everything. One-shot and DP-SGD may therefore lie far below 0 there; the "
        "margin of `auto` at those points says little. `auto` has no constants to choose and never "
        "sees the validation rows.\n"
        "- %zu noise draws for each point; seed %llu; the noise has the device's law exactly.\n"
        "- %.0f seconds on %u threads.\n",
        options->reproduction.splits, options->reproduction.repeats,
        (unsigned long long)options->reproduction.seed, seconds, options->reproduction.threads);
}

static void report_any_two(FILE *file, const struct reproduce_options *options, double seconds)
{
    (void)fputs("\n## How it was made\n\n", file);
    for (size_t i = 0; i < REPRODUCE_ANY_TWO_WORDS; i++) {
        (void)fprintf(file, "- %s\n", reproduce_any_two_words[i]);
    }
    (void)fprintf(
        file,
        "- Ballots are answered as the device core would. %zu noise draws for each point over %zu "
        "splits; seed %llu.\n- %.0f seconds on %u threads.\n",
        options->reproduction.repeats, options->reproduction.splits,
        (unsigned long long)options->reproduction.seed, seconds, options->reproduction.threads);
}

static void write_report(FILE *file, const struct tremolo_reproduction_case *cases, size_t count,
                         const struct reproduce_options *options, bool figures, double seconds)
{
    (void)fprintf(file, "# %s\n\n", reproduce_title(options));
    report_datasets(file, cases, count);
    if (!options->any_two) {
        report_tuning(file, cases, count);
    }
    report_results(file, cases, count, options->reproduction.sweep);
    if (!options->any_two) {
        report_verdict(file, cases, count);
    }
    (void)fputs(figures ? "\n## Figures\n\n![all tasks](panels.svg)\n\n" : "", file);
    for (size_t c = 0; c < count && figures; c++) {
        (void)fprintf(file, "- [%s](%s.svg)\n", cases[c].task->title, cases[c].task->key);
    }
    (options->any_two ? report_any_two : report_method)(file, options, seconds);
}

bool reproduce_write(const char *folder, const struct tremolo_reproduction_case *cases,
                     size_t count, const struct reproduce_options *options, bool figures,
                     double seconds)
{
    static const char *const names[] = {"datasets.csv", "tuning.csv", "sweep.csv", "report.md"};
    bool good = true;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && good; i++) {
        FILE *file = i == 1 && options->any_two ? NULL : open_in(folder, names[i]);
        if (file == NULL) {
            good = i == 1 && options->any_two; /* of which nothing is tuned */
            continue;
        }
        switch (i) {
        case 0: write_datasets(file, cases, count); break;
        case 1: write_tuning(file, cases, count); break;
        case 2: write_sweep(file, cases, count, &options->reproduction); break;
        default: write_report(file, cases, count, options, figures, seconds); break;
        }
        good = close_well(file);
    }
    return good;
}
