/* study_init.c -- `tremolo study init`: a starter, of its own or for the columns of a CSV file. */
#include "study.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "files.h"
#include "tremolo_table.h"
#include "words.h"

static bool write_text(FILE *out, const void *text)
{
    return fputs(text, out) >= 0;
}

/* Pipes and devices are written to; they must not be replaced by a file. */
static int write_to_special(const char *path, const char *text)
{
    FILE *out = fopen(path, "we");
    bool good = out != NULL && write_text(out, text);
    int reason = errno;
    if (out != NULL && fclose(out) != 0) {
        reason = errno;
        good = false;
    }
    return good ? CLI_DONE : cli_fail(CLI_FAILED, "study", "%s: %s", path, strerror(reason));
}

/* Whole or not at all. */
static int write_out(const struct study_options *options, const char *text)
{
    struct stat about;
    if (options->out == NULL) {
        return fputs(text, stdout) < 0 || fflush(stdout) != 0
                   ? cli_fail(CLI_FAILED, "study", "cannot write: %s", strerror(errno))
                   : CLI_DONE;
    }
    if (stat(options->out, &about) == 0 && !S_ISREG(about.st_mode)) {
        return write_to_special(options->out, text);
    }
    char *target = realpath(options->out, NULL); /* a link stays one */
    int code = cli_save("study", target != NULL ? target : options->out, write_text, text);
    free(target);
    return code;
}

static int explain_starter(const struct study_options *options, enum tremolo_status status)
{
    return status == TREMOLO_OK ? CLI_DONE
           : status == TREMOLO_BAD_ARGUMENT
               ? cli_fail(CLI_USAGE, "study", "%s: the first line must name 2 to %d columns",
                          options->csv, TREMOLO_MAX_DIMENSION + 1)
               : cli_fail_status("study", status);
}

static int explain_column(const struct study_options *options, const char *const *names,
                          size_t count)
{
    char list[400];
    const char *meant = tremolo_words_nearest(options->response, names, count);
    tremolo_words_list(list, sizeof list, names, count);
    return meant != NULL
               ? cli_fail(CLI_USAGE, "study", "%s: no column is named %s; did you mean %s?",
                          options->csv, options->response, meant)
               : cli_fail(CLI_USAGE, "study", "%s: no column is named %s; there are %s",
                          options->csv, options->response, list);
}

static bool is_left_out(const struct study_options *options, const char *name)
{
    const struct options_list *without = &options->without;
    return tremolo_words_find(name, without->text, without->count) < without->count;
}

/* What no category could hold. */
static bool is_unfit(const char *name, enum tremolo_column_look look, const char *response)
{
    return look == TREMOLO_LOOKS_NAMES && strcmp(name, response) != 0;
}

/* --without must name columns, and not the response. */
static int check_without(const struct study_options *options,
                         const struct tremolo_csv_header *header, const char *response)
{
    const char *const *names = (const char *const *)header->name;
    for (size_t i = 0; i < options->without.count; i++) {
        const char *name = options->without.text[i];
        if (tremolo_words_find(name, names, header->count) == header->count) {
            return cli_fail(CLI_USAGE, "study", "%s: there is no column '%s' to leave out",
                            options->csv, name);
        }
        if (strcmp(response, name) == 0) {
            return cli_fail(CLI_USAGE, "study", "'%s' is the response and cannot be left out",
                            name);
        }
    }
    return CLI_DONE;
}

/* A starter looks finished, and its bounds are not. */
static void warn_of_placeholders(const struct study_options *options)
{
    (void)fprintf(
        stderr,
        "tremolo study: every number of this starter has the range 0 to 1, which is a "
        "placeholder.\n"
        "Edit low and high%s%s so that " TREMOLO_STUDY_TYPICAL " between, of the response, "
        "too, from public knowledge, never from the data, then delete the comment beside "
        "it; name the levels of every category. A response beyond its range is cut: where "
        "the size of effects matters, choose one that about 99 of 100 lie in, which "
        "takes two to three times the devices.\n",
        options->out != NULL ? " in " : "", options->out != NULL ? options->out : "");
}

/* The line that a column deserves, if any. */
static void print_hint(const char *name, enum tremolo_column_look look, const char *response)
{
    bool answer = look == TREMOLO_LOOKS_YES_NO || look == TREMOLO_LOOKS_ZERO_ONE;
    if (strcmp(name, response) == 0) {
        if (answer) {
            (void)fprintf(stderr,
                          "The response '%s' is yes or no: its range 0 to 1 is right; write 1 for "
                          "yes and 0 for no in data and samples.\n",
                          name);
        }
    } else if (is_unfit(name, look, response)) {
        (void)fprintf(
            stderr,
            "Column '%s' has more than %d different values, so it is left out; --without '%s' "
            "leaves out this line, too.\n",
            name, TREMOLO_STUDY_MAX_LEVELS, name);
    } else if (look == TREMOLO_LOOKS_CODE || look == TREMOLO_LOOKS_DATE) {
        (void)fprintf(stderr, "Column '%s' looks like a %s; its comment says what to do.\n", name,
                      look == TREMOLO_LOOKS_CODE ? "code" : "date");
    }
}

/* A starter for the columns of a header but those that are left out. */
static int start_for(char **json, const struct study_options *options,
                     const struct tremolo_csv_header *header, const enum tremolo_column_look *looks)
{
    const char *names[TREMOLO_CSV_HEADER_NAMES_MAX];
    enum tremolo_column_look kept[TREMOLO_CSV_HEADER_NAMES_MAX];
    size_t count = 0;
    const char *response =
        options->response != NULL ? options->response : header->name[header->count - 1];
    int code = check_without(options, header, response);
    for (size_t i = 0; i < header->count; i++) {
        if (!is_left_out(options, header->name[i]) &&
            !is_unfit(header->name[i], looks[i], response)) {
            names[count] = header->name[i];
            kept[count++] = looks[i];
        }
    }
    if (code != CLI_DONE) {
        return code;
    }
    enum tremolo_status status = tremolo_study_starter(json, names, count, response, kept);
    code = status == TREMOLO_BAD_STUDY
               ? explain_column(options, (const char *const *)header->name, header->count)
               : explain_starter(options, status);
    if (code == CLI_DONE) {
        warn_of_placeholders(options);
    }
    for (size_t i = 0; code == CLI_DONE && i < header->count; i++) {
        if (!is_left_out(options, header->name[i])) {
            print_hint(header->name[i], looks[i], response);
        }
    }
    return code;
}

static int init_from_csv(const struct study_options *options, char **json)
{
    struct tremolo_csv_header header;
    char *text = NULL;
    size_t length = 0;
    int code = cli_read_start(&text, &length, "study", options->csv, TREMOLO_CSV_HEADER_BYTES_MAX);
    if (code != CLI_DONE) {
        return code;
    }
    enum tremolo_column_look looks[TREMOLO_CSV_HEADER_NAMES_MAX];
    if (!tremolo_csv_header_parse(&header, text, length)) {
        code = header.problem != NULL
                   ? cli_fail(CLI_USAGE, "study", "%s: line 1, column %zu: %s", options->csv,
                              header.problem_column, header.problem)
                   : explain_starter(options, TREMOLO_BAD_ARGUMENT);
    } else {
        tremolo_csv_header_looks(looks, &header, text, length);
        code = start_for(json, options, &header, looks);
        tremolo_csv_header_free(&header);
    }
    free(text);
    return code;
}

int study_init(const struct study_options *options)
{
    char *json = NULL;
    int code = CLI_DONE;
    struct stat about;
    code = cli_check_apart("study", options->out, &options->csv, 1);
    if (code != CLI_DONE) {
        return code;
    }
    if (options->out != NULL && !options->force && lstat(options->out, &about) == 0) {
        return cli_fail(CLI_USAGE, "study", "%s exists; --force replaces it", options->out);
    }
    if (options->csv != NULL) {
        code = init_from_csv(options, &json);
    } else if (tremolo_study_starter(&json, NULL, 0, NULL, NULL) != TREMOLO_OK) {
        code = cli_fail(CLI_FAILED, "study", "out of memory");
    }
    if (code == CLI_DONE && json != NULL) {
        code = write_out(options, json);
    }
    free(json);
    return code;
}
