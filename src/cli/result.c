/* result.c -- the parts of a result's document, and how it is saved. */
#include "result.h"

#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "estimate_json.h"
#include "files.h"
#include "members.h"
#include "tremolo_study_file.h"
#include "tremolo_words.h"
#include "study_internal.h"

static bool ends_in(const char *path, const char *suffix)
{
    size_t length = strlen(path), end = strlen(suffix);
    return length > end && strcasecmp(path + length - end, suffix) == 0;
}

/* NULL when a result can be saved under this name; else what it must be. */
static const char *refuses(const char *path, bool force)
{
    if (!ends_in(path, ".html") && !ends_in(path, ".json") && !ends_in(path, ".csv")) {
        return "a name that ends in .html, .json or .csv";
    }
    if (!force && access(path, F_OK) == 0) {
        return "a new file, or come with --force";
    }
    return NULL;
}

int result_check(const char *command, const char *path, bool force)
{
    const char *refused = path != NULL ? refuses(path, force) : NULL;
    return refused == NULL
               ? CLI_DONE
               : cli_fail(CLI_USAGE, command, "--save must be %s, not '%s'", refused, path);
}

/* ---------------------------------------------------------------- the document */

/* One argument as a shell would read it back. */
static void quote(FILE *out, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./:=,+@%";
    if (text[0] != '\0' && text[strspn(text, plain)] == '\0') {
        (void)fputs(text, out);
        return;
    }
    (void)fputc('\'', out);
    for (; *text != '\0'; text++) {
        (void)fputs(*text == '\'' ? "'\\''" : (char[2]){*text, '\0'}, out);
    }
    (void)fputc('\'', out);
}

void result_command_line(char line[RESULT_LINE_BYTES], int argc, char **argv)
{
    FILE *out = fmemopen(line, RESULT_LINE_BYTES, "w");
    line[0] = '\0';
    if (out == NULL) {
        return;
    }
    (void)fputs("tremolo", out);
    for (int i = 0; i < argc; i++) {
        (void)fputc(' ', out);
        quote(out, argv[i]);
    }
    (void)fclose(out);
    line[RESULT_LINE_BYTES - 1] = '\0';
}

void result_set_made(json_t *document, const char *line)
{
    char moment[TREMOLO_STUDY_DATE_BYTES];
    tremolo_study_date_text(moment, (int64_t)time(NULL));
    json_t *command = json_string(line); /* NULL when somebody typed no UTF-8 */
    (void)json_object_set_new(document, "made",
                              json_pack("{s:s,s:s,s:o}", "version", TREMOLO_VERSION, "time", moment,
                                        "command", command != NULL ? command : json_null()));
}

/* ---------------------------------------------------------------- CSV */

/* Seventeen digits bring a number back as it was; what is not known is empty. */
static void csv_number(FILE *out, const json_t *value)
{
    (void)fputc(',', out);
    if (json_is_boolean(value)) {
        (void)fputs(json_is_true(value) ? "true" : "false", out);
    } else if (json_is_number(value)) {
        (void)fprintf(out, "%.17g", json_number_value(value));
    }
}

/* A spreadsheet takes what starts with one of these for a formula and runs it; an
 * apostrophe before it makes it text. Numbers are ours and stay numbers. */
static void csv_name(FILE *out, const char *name)
{
    char guarded[RESULT_LINE_BYTES];
    bool formula = name[0] != '\0' && strchr("=+-@\t\r", name[0]) != NULL;
    (void)snprintf(guarded, sizeof guarded, "%s%s", formula ? "'" : "", name);
    tremolo_words_quote(out, guarded);
}

static void csv_coefficients(FILE *out, const json_t *result)
{
    static const char *const keys[] = {"estimate", "standard_error", "low", "high", "z",
                                       "p",        "identified"};
    const json_t *rows = json_object_get(result, "coefficients");
    const json_t *predicted = json_object_get(result, "prediction");
    const json_t *predictions = json_object_get(predicted, "coefficients");
    bool told = !json_is_false(json_object_get(predicted, "told"));
    const json_t *inflations =
        json_object_get(json_object_get(result, "diagnostics"), "variance_inflation");
    bool inferred = json_array_size(rows) > 0;
    size_t count = json_array_size(inferred ? rows : predictions);
    (void)fputs("name,estimate,standard_error,low,high,z,p,identified,score_shape,score_low,"
                "score_high,prediction,variance_inflation,response_cut\r\n",
                out);
    for (size_t i = 0; i < count; i++) {
        const json_t *row = inferred ? json_array_get(rows, i) : NULL;
        const json_t *prediction = json_array_get(predictions, i);
        const json_t *score = json_object_get(row, "score");
        csv_name(out, member_text(inferred ? row : prediction, "name"));
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
            csv_number(out, json_object_get(row, keys[k]));
        }
        (void)fprintf(out, ",%s", member_text(score, "shape"));
        csv_number(out, json_object_get(score, "low"));
        csv_number(out, json_object_get(score, "high"));
        csv_number(out, told ? json_object_get(prediction, "estimate") : NULL);
        csv_number(out, json_object_get(json_array_get(inflations, i), "estimate"));
        csv_number(out, json_object_get(result, "response_cut"));
        (void)fputs("\r\n", out);
    }
}

/* ---------------------------------------------------------------- saving */

struct form {
    const json_t *result;
    const char *path;
};

static bool write_result(FILE *out, const void *context)
{
    const struct form *form = context;
    if (ends_in(form->path, ".html")) {
        return result_write_html(out, form->result);
    }
    if (ends_in(form->path, ".csv")) {
        csv_coefficients(out, form->result);
        return true;
    }
    return json_dumpf(form->result, out, ESTIMATE_JSON_PRETTY) == 0 && fputc('\n', out) != EOF;
}

int result_save(const json_t *result, const char *command, const char *path)
{
    return result == NULL ? cli_fail(CLI_FAILED, command, "out of memory")
                          : cli_save(command, path, write_result, &(struct form){result, path});
}
