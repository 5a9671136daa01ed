/* account_figures.c -- `tremolo account figures --out DIRECTORY`.
 *
 * Each figure is a data file and a gnuplot script in the directory, and the SVG
 * that gnuplot makes of them. Anyone can rerun the scripts. */
#include "account.h"
#include "files.h"
#include "programs.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FOLDER_BYTES = 4096, PATH_BYTES = FOLDER_BYTES + 64 };

#define FIGURE_DELTA 1e-5

struct figure {
    const char *name;
    const char *script; /* gnuplot; reads NAME.dat, writes NAME.svg */
    bool (*write)(FILE *data);
};

static double epsilon_or_nan(enum tremolo_rule rule, double sigma, uint64_t releases)
{
    struct tremolo_certified epsilon;
    enum tremolo_status status =
        tremolo_rule_epsilon(&epsilon, rule, sigma, 1.0, releases, FIGURE_DELTA, false);
    return status == TREMOLO_OK ? epsilon.upper : NAN;
}

static double sigma_or_nan(enum tremolo_rule rule, double epsilon, bool force)
{
    struct tremolo_certified sigma;
    enum tremolo_status status =
        tremolo_rule_sigma(&sigma, rule, epsilon, FIGURE_DELTA, 1.0, 1, force);
    return status == TREMOLO_OK ? sigma.upper : NAN;
}

/* epsilon of 1..100 rounds at sigma 20; "classical" is basic composition. */
static bool write_rounds(FILE *data)
{
    bool good = fprintf(data, "# rounds exact zcdp-tight zcdp classical\n") > 0;
    for (uint64_t t = 1; t <= 100 && good; t++) {
        good = fprintf(data, "%llu %.10g %.10g %.10g %.10g\n", (unsigned long long)t,
                       epsilon_or_nan(TREMOLO_RULE_EXACT, 20.0, t),
                       epsilon_or_nan(TREMOLO_RULE_ZCDP_TIGHT, 20.0, t),
                       epsilon_or_nan(TREMOLO_RULE_ZCDP, 20.0, t),
                       epsilon_or_nan(TREMOLO_RULE_CLASSICAL, 20.0, t)) > 0;
    }
    return good;
}

/* By a mu, or with 0 by the budget of epsilon 1. */
static double miss(double mu, double rate)
{
    struct tremolo_certified missed;
    enum tremolo_status status = mu > 0 ? tremolo_tradeoff_gaussian(&missed, mu, rate)
                                        : tremolo_tradeoff_budget(&missed, 1.0, FIGURE_DELTA, rate);
    return status == TREMOLO_OK ? missed.lower : NAN;
}

static bool write_tradeoff(FILE *data)
{
    bool good = fprintf(data, "# false-positive mu=0.268 mu=1 mu=2 (1,1e-5)\n") > 0;
    for (int i = 0; i <= 200 && good; i++) {
        double rate = (double)i / 200.0;
        good = fprintf(data, "%.4f %.10g %.10g %.10g %.10g\n", rate, miss(0.26805, rate),
                       miss(1.0, rate), miss(2.0, rate), miss(0.0, rate)) > 0;
    }
    return good;
}

static bool write_noise(FILE *data)
{
    bool good = fprintf(data, "# epsilon exact zcdp-tight zcdp classical classical-unproved\n") > 0;
    for (int i = 0; i <= 120 && good; i++) {
        double epsilon = 0.1 * pow(10.0, (double)i / 48.0);
        good =
            fprintf(data, "%.6g %.10g %.10g %.10g %.10g %.10g\n", epsilon,
                    sigma_or_nan(TREMOLO_RULE_EXACT, epsilon, false),
                    sigma_or_nan(TREMOLO_RULE_ZCDP_TIGHT, epsilon, false),
                    sigma_or_nan(TREMOLO_RULE_ZCDP, epsilon, false),
                    sigma_or_nan(TREMOLO_RULE_CLASSICAL, epsilon, false),
                    epsilon > 1.0 ? sigma_or_nan(TREMOLO_RULE_CLASSICAL, epsilon, true) : NAN) > 0;
    }
    return good;
}

/* Four rules, the same colours everywhere. */
#define LOOK                                                                                       \
    "set linetype 1 lw 3 lc rgb '#0060ad'\nset linetype 2 lw 2 lc rgb '#2a9d5c'\n"                 \
    "set linetype 3 lw 2 lc rgb '#e08a00'\nset linetype 4 lw 2 lc rgb '#9a3fb5'\n"

static const struct figure figures[] = {
    {"rounds",
     LOOK
     "set xlabel 'rounds'\nset ylabel 'epsilon at delta 1e-5, sigma 20'\nset key right center\n"
     "set yrange [0:6]\n"
     "plot 'rounds.dat' u 1:5 w l lt 4 t 'classical, added up', '' u 1:4 w l lt 3 t "
     "'zCDP, paper', '' u 1:3 w l lt 2 t 'zCDP, tight', '' u 1:2 w l lt 1 t 'exact'\n",
     write_rounds},
    {"tradeoff",
     LOOK "set xlabel 'false positives'\nset ylabel 'false negatives, at least'\nset size square\n"
          "plot 1-x w l lt 4 dt 2 t 'blind guess', 'tradeoff.dat' u 1:2 w l lt 1 t "
          "'mu 0.268: epsilon 1 at 1e-5', '' u 1:5 w l lt 3 t '(1, 1e-5) alone', '' u 1:3 w l lt 2 "
          "t 'mu 1', '' u 1:4 w l lt 2 dt 3 t 'mu 2'\n",
     write_tradeoff},
    {"noise",
     LOOK
     "set multiplot layout 1,2\nset logscale x\nset xrange [0.1:31]\nset xlabel 'epsilon'\n"
     "set logscale y\nset ylabel 'noise sd at sensitivity 1, delta 1e-5'\n"
     "plot 'noise.dat' u 1:5 w l lt 4 t 'classical', '' u 1:6 w l lt 4 dt 3 t "
     "'classical, unproved', '' u 1:4 w l lt 3 t 'zCDP, paper', '' u 1:3 w l lt 2 t "
     "'zCDP, tight', '' u 1:2 w l lt 1 t 'exact'\n"
     "unset logscale y\nset yrange [0.7:1.6]\nset ylabel 'noise sd relative to the exact one'\n"
     "set object 1 rectangle from graph 0, first 0.7 to graph 1, first 1 fc rgb '#ff4040' fs "
     "solid 0.2 noborder behind\nset label 1 'too little noise: no guarantee' at 0.12,0.74\n"
     "plot 'noise.dat' u 1:($5/$2) w l lt 4 t 'classical', '' u 1:($6/$2) w l lt 4 dt 3 t "
     "'classical, unproved', '' u 1:($4/$2) w l lt 3 t 'zCDP, paper', '' u 1:($3/$2) w l lt 2 "
     "t 'zCDP, tight', 1 w l lt 1 t 'exact'\nunset multiplot\n",
     write_noise},
};

static const char *const suffixes[] = {"dat", "gp", "svg"};

enum { FILES = 3 * sizeof figures / sizeof figures[0] };

/* Number i of the files that all figures together have. */
static void path_of(char path[PATH_BYTES], const char *directory, size_t i)
{
    (void)snprintf(path, PATH_BYTES, "%s/%s.%s", directory, figures[i / 3].name, suffixes[i % 3]);
}

/* The data and the script of a figure. */
static bool write_files(const char *directory, size_t number)
{
    char path[PATH_BYTES];
    path_of(path, directory, 3 * number);
    FILE *data = fopen(path, "w");
    bool good = data != NULL && figures[number].write(data);
    good = data != NULL && fclose(data) == 0 && good;
    path_of(path, directory, 3 * number + 1);
    FILE *script = good ? fopen(path, "w") : NULL;
    good = script != NULL &&
           fprintf(script,
                   "set terminal svg size 900,440 background 'white'\nset output '%s.svg'\n"
                   "set grid\n%s",
                   figures[number].name, figures[number].script) > 0;
    return script != NULL && fclose(script) == 0 && good;
}

static bool load_script(FILE *script, const void *context)
{
    const struct figure *figure = context;
    return fprintf(script, "load '%s.gp'\n", figure->name) > 0;
}

/* Is no figure of ours in the directory already? */
static int check_earlier(const struct account_options *options)
{
    int code = CLI_DONE;
    for (size_t i = 0; i < FILES && code == CLI_DONE; i++) {
        char path[PATH_BYTES];
        path_of(path, options->out, i);
        code = cli_check_new("account", path, options->force);
    }
    return code;
}

static int make_all(const char *work, const void *unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        if (!write_files(work, i)) {
            return account_fail(CLI_FAILED, "cannot write into '%s': %s", work, strerror(errno));
        }
        if (!program_gnuplot(work, load_script, &figures[i])) {
            return account_fail(CLI_FAILED, "gnuplot is missing or could not draw %s",
                                figures[i].name);
        }
    }
    return CLI_DONE;
}

static int say_where(const struct account_options *options)
{
    json_t *list = json_array();
    for (size_t i = 2; i < FILES; i += 3) {
        char path[PATH_BYTES];
        path_of(path, options->out, i);
        if (options->json) {
            (void)json_array_append_new(list, json_string(path));
        } else {
            (void)printf("%s\n", path);
        }
    }
    if (options->json) {
        return account_print(json_pack("{s:o}", "figures", list));
    }
    json_decref(list);
    return CLI_DONE;
}

int account_figures(const struct account_options *options)
{
    static const char *const last[] = {NULL};
    if (strlen(options->out) >= FOLDER_BYTES) {
        return account_fail(CLI_USAGE, "the directory's name is too long");
    }
    int code = check_earlier(options);
    if (code == CLI_DONE) {
        code = cli_fill_folder("account", options->out, last, make_all, NULL);
    }
    return code == CLI_DONE ? say_where(options) : code;
}
