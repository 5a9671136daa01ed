/* study.c -- `tremolo study`: write, check, name and show study files. */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "csv_header.h"
#include "input.h"
#include "study_warnings.h"
#include "tremolo_study_file.h"

static const char usage[] =
    "usage: tremolo study init [--csv FILE [--response NAME]] [--out FILE [--force]]\n"
    "       tremolo study check FILE [--json]\n"
    "       tremolo study id FILE [--json]\n"
    "       tremolo study show FILE [--json]\n\n"
    "  init    write a starter that explains itself, or one for a CSV file's columns\n"
    "  check   explain every problem of a file, with its place and reason, and warn of\n"
    "          what is allowed but protects little\n"
    "  id      print the study's id, the hash of all that was agreed\n"
    "  show    print what the study asks for and the guarantee in words\n\n"
    "FILE may be - for standard input.\n";

struct options {
    const char *action;
    const char *file;
    const char *csv;
    const char *response;
    const char *out;
    bool force;
    bool json;
};

/* ---------------------------------------------------------------- init */

/* Write where nothing is yet, unless forced. */
static int write_out(const struct options *options, const char *text)
{
    if (options->out == NULL) {
        return fputs(text, stdout) < 0 || fflush(stdout) != 0
                   ? cli_fail(CLI_FAILED, "study", "cannot write: %s", strerror(errno))
                   : CLI_DONE;
    }
    int fd = open(options->out, O_WRONLY | O_CREAT | (options->force ? O_TRUNC : O_EXCL), 0644);
    if (fd < 0 && errno == EEXIST) {
        return cli_fail(CLI_USAGE, "study", "%s exists; --force replaces it", options->out);
    }
    size_t length = strlen(text);
    bool written = fd >= 0 && write(fd, text, length) == (ssize_t)length;
    int problem = errno;
    if (fd >= 0 && close(fd) != 0) {
        written = false;
        problem = errno;
    }
    return written ? CLI_DONE
                   : cli_fail(CLI_FAILED, "study", "%s: %s", options->out, strerror(problem));
}

static int explain_starter(const struct options *options, enum tremolo_status status)
{
    switch (status) {
    case TREMOLO_OK: return CLI_DONE;
    case TREMOLO_BAD_ARGUMENT:
        return cli_fail(CLI_USAGE, "study", "%s: the first line must name 2 to %d columns",
                        options->csv, TREMOLO_MAX_DIMENSION + 1);
    case TREMOLO_BAD_STUDY:
        return cli_fail(CLI_USAGE, "study", "%s: no column is named %s", options->csv,
                        options->response);
    default: return cli_fail(cli_exit_of(status), "study", "%s", tremolo_status_sentence(status));
    }
}

static int init_from_csv(const struct options *options, char **json)
{
    struct csv_header header;
    char *text = NULL;
    size_t length = 0;
    int code = cli_read_start(&text, &length, "study", options->csv, CSV_HEADER_BYTES_MAX);
    if (code != CLI_DONE) {
        return code;
    }
    enum tremolo_status status = TREMOLO_BAD_ARGUMENT;
    if (csv_header_parse(&header, text, length)) {
        status = tremolo_study_starter_for(json, (const char *const *)header.name, header.count,
                                           options->response);
        csv_header_free(&header);
    }
    free(text);
    return explain_starter(options, status);
}

static int run_init(const struct options *options)
{
    char *json = NULL;
    int code = CLI_DONE;
    if (options->csv != NULL) {
        code = init_from_csv(options, &json);
    } else if (tremolo_study_starter(&json) != TREMOLO_OK) {
        code = cli_fail(CLI_FAILED, "study", "out of memory");
    }
    if (code == CLI_DONE && json != NULL) {
        code = write_out(options, json);
    }
    free(json);
    return code;
}

/* ---------------------------------------------------------------- check */

static void print_problems(const struct tremolo_study_problems *problems, const char *name)
{
    for (size_t i = 0; i < problems->stored; i++) {
        const struct tremolo_study_problem *problem = &problems->item[i];
        (void)fprintf(stderr, "%s: %s%s%s\n", name, problem->path,
                      problem->path[0] != '\0' ? ": " : "", problem->reason);
    }
    if (problems->count > problems->stored) {
        (void)fprintf(stderr, "%s: and %zu more\n", name, problems->count - problems->stored);
    }
}

static int read_study(struct tremolo_study_file **file, struct tremolo_study_problems *problems,
                      const char *name)
{
    char *text = NULL;
    size_t length = 0;
    problems->count = 0;
    int code = cli_read_file(&text, &length, "study", name, TREMOLO_STUDY_MAX_BYTES + 1);
    if (code != CLI_DONE) {
        return code;
    }
    enum tremolo_status status = tremolo_study_file_parse(file, problems, text, length);
    free(text);
    if (status == TREMOLO_OK || status == TREMOLO_BAD_STUDY) {
        return status == TREMOLO_OK ? CLI_DONE : CLI_USAGE;
    }
    return cli_fail(cli_exit_of(status), "study", "%s", tremolo_status_sentence(status));
}

static int print_json(json_t *object)
{
    int failed = object == NULL ||
                 json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) != 0 ||
                 putchar('\n') == EOF;
    json_decref(object);
    return failed ? cli_fail(CLI_FAILED, "study", "cannot write the result") : CLI_DONE;
}

static json_t *problems_json(const struct tremolo_study_problems *problems,
                             char warnings[][STUDY_WARNING_BYTES], size_t warning_count)
{
    json_t *list = json_array();
    json_t *warned = json_array();
    for (size_t i = 0; i < warning_count; i++) {
        (void)json_array_append_new(warned, json_string(warnings[i]));
    }
    for (size_t i = 0; i < problems->stored; i++) {
        (void)json_array_append_new(list, json_pack("{s:s, s:s}", "path", problems->item[i].path,
                                                    "reason", problems->item[i].reason));
    }
    return json_pack("{s:b, s:I, s:o, s:o}", "valid", problems->count == 0, "count",
                     (json_int_t)problems->count, "problems", list, "warnings", warned);
}

static void id_text(char text[TREMOLO_STUDY_ID_TEXT_BYTES], const struct tremolo_study_file *file)
{
    if (tremolo_base64_encode(text, TREMOLO_STUDY_ID_TEXT_BYTES, tremolo_study_file_id(file),
                              TREMOLO_STUDY_ID_BYTES) != TREMOLO_OK) {
        text[0] = '\0';
    }
}

static int report_check(const struct options *options, const struct tremolo_study_file *file,
                        const struct tremolo_study_problems *problems, int code)
{
    char warnings[STUDY_WARNINGS_MAX][STUDY_WARNING_BYTES];
    size_t count = code == CLI_DONE ? study_warnings(warnings, file, (int64_t)time(NULL)) : 0;
    if (options->json) {
        int printed = print_json(problems_json(problems, warnings, count));
        return printed == CLI_DONE ? code : printed;
    }
    for (size_t i = 0; i < count; i++) {
        (void)fprintf(stderr, "%s: warning: %s\n", options->file, warnings[i]);
    }
    if (code == CLI_DONE) {
        (void)printf("%s: a study of %zu features in %zu coordinates\n", options->file,
                     tremolo_study_file_feature_count(file), tremolo_study_file_dimension(file));
    }
    return code;
}

/* ---------------------------------------------------------------- show */

static void show_features(const struct tremolo_study_file *file)
{
    size_t count = tremolo_study_file_feature_count(file);
    for (size_t i = 0; i <= count; i++) {
        bool last = i == count;
        const struct tremolo_study_feature *feature =
            last ? tremolo_study_file_response(file) : tremolo_study_file_feature(file, i);
        (void)printf("%s %s", last ? "response" : "feature ", feature->name);
        if (feature->kind == TREMOLO_STUDY_NUMERIC) {
            (void)printf(", %g to %g%s%s", feature->low, feature->high,
                         feature->unit[0] != '\0' ? " " : "", feature->unit);
        } else if (feature->kind == TREMOLO_STUDY_YES_NO) {
            (void)printf(", yes or no");
        }
        for (size_t j = 0; j < feature->level_count; j++) {
            (void)printf("%s%s%s", j == 0 ? ", " : "; ", feature->levels[j],
                         j == 0 ? " (reference)" : "");
        }
        (void)printf("%s\n", !last ? ""
                             : tremolo_study_file_terms(file)->response_private
                                 ? ", sent with noise"
                                 : ", sent in the clear");
    }
}

static void show_protocol(const struct tremolo_study_terms *terms)
{
    if (terms->protocol == TREMOLO_STUDY_ONE_SHOT) {
        (void)printf("protocol one-shot");
    } else {
        (void)printf("protocol iterative, %u rounds", terms->rounds);
    }
    if (terms->vectors > 0) {
        (void)printf(", %u vectors, alpha %g, lambda %g, omega %g", terms->vectors, terms->alpha,
                     terms->lambda, terms->omega);
    } else {
        (void)printf(", no modulation");
    }
    (void)printf("; enrolment %s\n", terms->enrolment == TREMOLO_STUDY_KEYS ? "by keys" : "open");
}

static int show_words(const struct tremolo_study_file *file)
{
    const struct tremolo_study_terms *terms = tremolo_study_file_terms(file);
    char words[TREMOLO_STUDY_WORDS_BYTES];
    char id[TREMOLO_STUDY_ID_TEXT_BYTES];
    enum tremolo_status status = tremolo_study_file_words(words, sizeof words, file);
    if (status != TREMOLO_OK) {
        return cli_fail(cli_exit_of(status), "study", "%s", tremolo_status_sentence(status));
    }
    id_text(id, file);
    (void)printf("%s\n", terms->title);
    if (terms->purpose[0] != '\0') {
        (void)printf("%s\n", terms->purpose);
    }
    (void)printf("id       %s\n", id);
    show_features(file);
    show_protocol(terms);
    (void)printf("\n%s", words);
    return CLI_DONE;
}

static json_t *coordinates_json(const struct tremolo_study_file *file)
{
    json_t *list = json_array();
    for (size_t i = 0; i < tremolo_study_file_dimension(file); i++) {
        const struct tremolo_study_coordinate *coordinate = tremolo_study_file_coordinate(file, i);
        (void)json_array_append_new(list,
                                    json_pack("{s:s, s:f, s:f}", "name", coordinate->name, "low",
                                              coordinate->low, "high", coordinate->high));
    }
    return list;
}

static int show_json(const struct tremolo_study_file *file)
{
    struct tremolo_study_guarantee guarantee;
    const struct tremolo_study_terms *terms = tremolo_study_file_terms(file);
    char id[TREMOLO_STUDY_ID_TEXT_BYTES];
    char *study = NULL;
    enum tremolo_status status = tremolo_study_file_guarantee(&guarantee, file, terms->delta);
    if (status == TREMOLO_OK) {
        status = tremolo_study_file_json(&study, file);
    }
    if (status != TREMOLO_OK) {
        return cli_fail(cli_exit_of(status), "study", "%s", tremolo_status_sentence(status));
    }
    id_text(id, file);
    json_t *object =
        json_pack("{s:s, s:o, s:o, s:{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:I}}", "id", id,
                  "study", json_loads(study, 0, NULL), "coordinates", coordinates_json(file),
                  "guarantee", "epsilon", guarantee.epsilon, "delta", guarantee.delta, "mu",
                  guarantee.mu, "rho", guarantee.rho, "sigma", guarantee.sigma, "sensitivity",
                  guarantee.sensitivity, "distance", guarantee.distance, "releases",
                  (json_int_t)guarantee.releases, "charge", (json_int_t)guarantee.charge);
    free(study);
    return print_json(object);
}

/* ---------------------------------------------------------------- all */

static int print_id(const struct options *options, const struct tremolo_study_file *file)
{
    char id[TREMOLO_STUDY_ID_TEXT_BYTES];
    id_text(id, file);
    if (options->json) {
        return print_json(json_pack("{s:s}", "id", id));
    }
    (void)puts(id);
    return CLI_DONE;
}

static int run_on_file(const struct options *options)
{
    struct tremolo_study_file *file = NULL;
    struct tremolo_study_problems *problems = calloc(1, sizeof *problems);
    if (problems == NULL) {
        return cli_fail(CLI_FAILED, "study", "out of memory");
    }
    int code = read_study(&file, problems, options->file);
    bool checks = strcmp(options->action, "check") == 0;
    if (problems->count > 0 && !(checks && options->json)) {
        print_problems(problems, options->file);
    }
    if (checks && (code == CLI_DONE || problems->count > 0)) {
        code = report_check(options, file, problems, code);
    } else if (code == CLI_DONE && strcmp(options->action, "id") == 0) {
        code = print_id(options, file);
    } else if (code == CLI_DONE) {
        code = options->json ? show_json(file) : show_words(file);
    }
    tremolo_study_file_free(file);
    free(problems);
    return code;
}

static int parse(struct options *options, int argc, char **argv)
{
    static const struct option names[] = {
        {"csv", required_argument, NULL, 'c'}, {"response", required_argument, NULL, 'r'},
        {"out", required_argument, NULL, 'o'}, {"force", no_argument, NULL, 'f'},
        {"json", no_argument, NULL, 'j'},      {0},
    };
    int option = 0;
    opterr = 0;
    optind = 1;
    while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
        switch (option) {
        case 'c': options->csv = optarg; break;
        case 'r': options->response = optarg; break;
        case 'o': options->out = optarg; break;
        case 'f': options->force = true; break;
        case 'j': options->json = true; break;
        default:
            return cli_fail(CLI_USAGE, "study", "bad option '%s'; 'tremolo study --help' helps",
                            argv[optind - 1]);
        }
    }
    bool is_init = strcmp(options->action, "init") == 0;
    if (argc - optind != (is_init ? 0 : 1)) {
        return cli_fail(CLI_USAGE, "study", "%s takes %s", options->action,
                        is_init ? "no file but --csv and --out" : "one FILE");
    }
    if (is_init ? options->json || (options->response != NULL && options->csv == NULL)
                : options->csv != NULL || options->response != NULL || options->out != NULL) {
        return cli_fail(CLI_USAGE, "study", "these options do not belong to %s", options->action);
    }
    options->file = is_init ? NULL : argv[optind];
    return CLI_DONE;
}

int cli_study(int argc, char **argv)
{
    static const char *const actions[] = {"init", "check", "id", "show"};
    if (argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0)) {
        (void)fputs(usage, stdout);
        return CLI_DONE;
    }
    struct options options = {0};
    for (size_t i = 0; argc >= 2 && i < sizeof actions / sizeof actions[0]; i++) {
        if (strcmp(argv[1], actions[i]) == 0) {
            options.action = actions[i];
        }
    }
    if (options.action == NULL) {
        return cli_fail(CLI_USAGE, "study", "say init, check, id or show; --help says more");
    }
    int code = parse(&options, argc - 1, argv + 1);
    if (code != CLI_DONE) {
        return code;
    }
    return strcmp(options.action, "init") == 0 ? run_init(&options) : run_on_file(&options);
}
