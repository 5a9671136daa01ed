/* plan_study.c -- a plan for a study that is written already.
 *
 * Everything the file fixes is taken from it; the guesses stay guesses. A study's
 * scaled units run from -1 to 1 between public bounds, so that what a plan
 * says in them can be said in the study's own units, feature by feature. */
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"
#include "input.h"
#include "plan.h"
#include "tremolo_study_file.h"

enum { ROWS_MAX = 20 };

static int parse(struct tremolo_study_file **study, const char *name, const char *text,
                 size_t length)
{
    struct tremolo_study_problems *problems = calloc(1, sizeof *problems);
    if (problems == NULL) {
        return cli_fail(CLI_FAILED, "plan", "out of memory");
    }
    int code = CLI_DONE;
    if (tremolo_study_file_parse(study, problems, text, length) != TREMOLO_OK) {
        code = problems->count > 0
                   ? cli_fail(CLI_USAGE, "plan", "%s: %s: %s; 'tremolo study check' says more",
                              name, problems->item[0].path, problems->item[0].reason)
                   : cli_fail(CLI_FAILED, "plan", "out of memory");
    }
    free(problems);
    return code;
}

int plan_study_read(struct tremolo_study_file **study, const char *name)
{
    char *text = NULL;
    size_t length = 0;
    int code = cli_read_file(&text, &length, "plan", name, TREMOLO_STUDY_MAX_BYTES + 1);
    if (code == CLI_DONE) {
        code = parse(study, name, text, length);
        free(text);
    }
    return code;
}

void plan_study_print(const struct tremolo_study_file *study, double half_width, double level)
{
    const struct tremolo_study_feature *response = tremolo_study_file_response(study);
    size_t d = tremolo_study_file_dimension(study);
    double range = response->high - response->low;
    (void)printf("\n%g%% intervals in the study's own units: %s%s%s per unit of\n", 100.0 * level,
                 response->name, response->unit[0] != '\0' ? ", " : "", response->unit);
    for (size_t i = 0; i < d && i < ROWS_MAX; i++) {
        const struct tremolo_study_coordinate *row = tremolo_study_file_coordinate(study, i);
        double width = half_width * range / (row->high - row->low);
        (void)printf("  %-24s +- %.4g\n", row->name, width);
    }
    if (d > ROWS_MAX) {
        (void)printf("  and %zu more\n", d - ROWS_MAX);
    }
}
