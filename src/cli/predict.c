/* predict.c -- `tremolo predict`: what a saved result says of new samples, as CSV.
 *
 * The library matches columns and computes (tremolo_predict.h). This file reads both files,
 * prints a row for each row of the data, in its order, and says on standard error what the table
 * cannot: how many rows have no prediction or no interval, and why. Such rows stay in the table
 * with empty cells, so that it can be pasted next to the data. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "files.h"
#include "options.h"
#include "tremolo_predict.h"

static const char command[] = "predict";

/* The longest saved result that is read, 64 MiB. */
enum { RESULT_BYTES_MAX = 64 << 20 };

struct predict_options {
    double level; /* NaN: the result's */
};

/* A saved result. The path is for messages; `text` is allocated. */
struct source {
    const char *path;
    char *text;
    size_t length;
};

#define TO(member) OPTION_TO(struct predict_options, member)

static const struct option_rule rules[] = {
    OPTION_RULE("level", "L", NUMBER, TO(level), OPTION_BETWEEN(0, 1),
                .help = "confidence of the intervals; the result's unless given"),
};

/* ---------------------------------------------------------------- the table */

/* Nothing where there is no number. Rows count from 1, lines end as RFC 4180 has them. */
static void print_rows(const struct tremolo_predicted *row, size_t count)
{
    (void)fputs("row,prediction,mean,standard_error,low,high\r\n", stdout);
    for (size_t i = 0; i < count; i++, row++) {
        const double cells[] = {row->prediction, row->mean, row->standard_error, row->low,
                                row->high};
        (void)printf("%zu", i + 1);
        for (size_t k = 0; k < sizeof cells / sizeof cells[0]; k++) {
            (void)printf(isfinite(cells[k]) ? ",%.10g" : ",", cells[k]);
        }
        (void)fputs("\r\n", stdout);
    }
}

static const char *plural(size_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}

/* What the reader of the table must know, apart from it. */
static void say_counts(const struct tremolo_predict_counts *counts)
{
    if (counts->missing > 0) {
        (void)fprintf(stderr, "tremolo %s: %zu row%s a missing value and no prediction\n", command,
                      counts->missing, plural(counts->missing, " has", "s have"));
    }
    if (counts->hidden > 0 && counts->intervals) {
        (void)fprintf(stderr,
                      "tremolo %s: %zu row%s no mean and no interval, because noise hides %zu of "
                      "the coefficients; the prediction is by the shrunken ones\n",
                      command, counts->hidden, plural(counts->hidden, " has", "s have"),
                      counts->coefficients_hidden);
    } else if (counts->hidden > 0) {
        (void)fprintf(stderr,
                      "tremolo %s: there are no means and no intervals, because the result has no "
                      "covariance of coefficients; the prediction is by the shrunken ones\n",
                      command);
    }
    if (counts->beyond > 0) {
        (void)fprintf(stderr,
                      "tremolo %s: %zu row%s a number beyond those that were learned from, where "
                      "nothing is known of the model\n",
                      command, counts->beyond, plural(counts->beyond, " has", "s have"));
    }
}

/* ---------------------------------------------------------------- running */

/* Predict for a table that was read, and print the answer once all of it is known. A failure
 * names the file that has to be corrected: the result if it is malformed, else the data. */
static int predict_rows(const struct predict_options *options, const struct source *result,
                        const struct tremolo_table *table, const char *path)
{
    char error[TREMOLO_TABLE_ERROR_BYTES];
    struct tremolo_predict_counts counts = {0};
    struct tremolo_predicted *row = calloc(table->rows + 1, sizeof *row);
    int code = CLI_DONE;
    enum tremolo_status status =
        row == NULL ? TREMOLO_NO_MEMORY
                    : tremolo_predict_table(row, &counts, result->text, result->length,
                                            options->level, table, error);
    if (row == NULL) {
        code = cli_fail(CLI_FAILED, command, "out of memory");
    } else if (status != TREMOLO_OK) {
        code = cli_fail(CLI_USAGE, command, "%s: %s",
                        status == TREMOLO_MALFORMED ? result->path : path, error);
    } else {
        print_rows(row, table->rows);
        say_counts(&counts);
    }
    free(row);
    return code;
}

/* The result is read before the data, because its columns decide which data are needed. */
static int predict(const struct predict_options *options, const char *path, const char *data)
{
    char error[TREMOLO_TABLE_ERROR_BYTES];
    struct source result = {.path = path};
    struct tremolo_table *table = NULL;
    int code = cli_read_file(&result.text, &result.length, command, path, RESULT_BYTES_MAX);
    if (code == CLI_DONE &&
        !tremolo_table_read(&table, strcmp(data, "-") == 0 ? "/dev/stdin" : data, error)) {
        code = cli_fail(CLI_USAGE, command, "%s", error);
    }
    if (code == CLI_DONE) {
        code = predict_rows(options, &result, table, data);
    }
    tremolo_table_free(table);
    free(result.text);
    return code;
}

/* The table goes to standard output, where main.c sees that all of it arrived. */
static int run(int argc, char **argv)
{
    struct options_given given;
    struct predict_options options = {.level = 0};
    int code = CLI_DONE;
    if (!options_parse(&given, &options, &code, &cli_predict, argc, argv)) {
        return code;
    }
    return predict(&options, given.operand[0], given.operand[1]);
}

const struct cli_command cli_predict = {
    .name = "predict",
    .summary = "predict the response of new samples from a saved result",
    .usage = "predict RESULT.json DATA.csv [OPTIONS]",
    .about =
        "Prints a row for each row of the data: the prediction, and the mean response of people\n"
        "with these values with an interval. - is standard input. 'fit' and 'simulate' save a\n"
        "result under a name in .json. Columns go by their names, and others are ignored. A\n"
        "result is refused when its reports tell nothing to predict from.",
    OPTION_TABLE(rules),
    .operand = "RESULT.json DATA.csv",
    .run = run,
};
