/* plan_figure.c -- the plan as a picture: standard error against devices, and R^2
 * against epsilon, drawn by gnuplot from one script with the data in it. The
 * figure appears whole or not at all. */
#include "cli.h"
#include "plan.h"
#include "programs.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { POINTS = 60 };

static const struct {
    const char *end, *terminal;
} formats[] = {{".svg", "svg size 900,380 dynamic enhanced"},
               {".png", "png size 900,380 enhanced"},
               {".pdf", "pdf size 9in,3.8in enhanced"}};

static const char *terminal_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot != NULL && i < sizeof formats / sizeof formats[0]; i++) {
        if (strcmp(dot, formats[i].end) == 0) {
            return formats[i].terminal;
        }
    }
    return NULL;
}

/* What to expect with more and fewer devices, or with other epsilons. */
static void write_data(FILE *script, const struct tremolo_plan_request *request, bool epsilons)
{
    struct tremolo_plan_request point = *request;
    (void)fputs(epsilons ? "$epsilons << EOD\n" : "$devices << EOD\n", script);
    for (int i = 0; i <= POINTS; i++) {
        struct tremolo_plan_result result;
        if (epsilons) {
            point.epsilon = 0.1 * pow(100.0, (double)i / POINTS);
        } else {
            point.guess.devices = request->guess.devices * pow(10.0, -2.0 + 4.0 * i / POINTS);
        }
        if (point.guess.devices < 2.0 || tremolo_plan_expect(&result, &point) != TREMOLO_OK) {
            continue;
        }
        (void)fprintf(script, "%.17g %.17g %.17g\n", epsilons ? point.epsilon : point.guess.devices,
                      epsilons ? result.r2_auto : result.standard_error,
                      result.standard_error_public);
    }
    (void)fputs("EOD\n", script);
}

static void write_script(FILE *script, const struct tremolo_plan_request *request)
{
    (void)fprintf(script,
                  "set multiplot layout 1,2\nset grid\nset logscale x\nset key bottom left\n"
                  "set logscale y\nset format x '10^{%%T}'\nset format y '10^{%%T}'\n"
                  "set xlabel 'devices'\nset ylabel 'standard error (scaled)'\n"
                  "set arrow 1 from first %.17g, graph 0 to first %.17g, graph 1 nohead dt 3\n"
                  "plot $devices u 1:2 w l lw 2 t 'epsilon = %g', "
                  "'' u 1:3 w l dt 2 lw 2 t 'without privacy'\n"
                  "unset arrow 1\nunset logscale y\nset format x '%%g'\nset format y '%%g'\n"
                  "set key bottom right\nset yrange [0:1]\nset xlabel 'epsilon'\n"
                  "set ylabel 'expected R^2'\n"
                  "plot $epsilons u 1:2 w l lw 2 t '%.3g devices', "
                  "%.17g w l dt 2 lw 2 t 'without privacy'\nunset multiplot\n",
                  request->guess.devices, request->guess.devices, request->epsilon,
                  request->guess.devices, request->guess.r2);
}

/* What is drawn, and where to. */
struct drawing {
    const struct tremolo_plan_request *request;
    const char *part;
    const char *terminal;
};

static bool write_all(FILE *script, const void *context)
{
    const struct drawing *drawing = context;
    (void)fprintf(script, "set terminal %s\nset output '%s'\n", drawing->terminal, drawing->part);
    write_data(script, drawing->request, false);
    write_data(script, drawing->request, true);
    write_script(script, drawing->request);
    return true; /* ferror() tells the rest */
}

int plan_figure(const struct plan_options *options)
{
    const char *path = options->figure;
    const char *terminal = terminal_of(path);
    char part[PATH_MAX];
    if (terminal == NULL) {
        return cli_fail(CLI_USAGE, "plan", "--figure needs a name ending in .svg, .png or .pdf");
    }
    if (strpbrk(path, "'\n") != NULL ||
        snprintf(part, sizeof part, "%s.part", path) >= (int)sizeof part) {
        return cli_fail(CLI_USAGE, "plan", "gnuplot cannot take the figure's name");
    }
    if (cli_check_new("plan", path, options->force) != CLI_DONE) {
        return CLI_USAGE;
    }
    const struct drawing drawing = {&options->request, part, terminal};
    if (!program_gnuplot(NULL, write_all, &drawing)) {
        (void)unlink(part);
        return cli_fail(CLI_FAILED, "plan", "gnuplot is missing or could not draw %s", path);
    }
    if (rename(part, path) != 0) {
        int problem = errno;
        (void)unlink(part);
        return cli_fail(CLI_FAILED, "plan", "%s: %s", path, strerror(problem));
    }
    return CLI_DONE;
}
