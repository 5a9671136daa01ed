/* study.c -- `tremolo study`: write, check, name, show and publish study files. */
#include "study.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli.h"
#include "csv_header.h"
#include "input.h"
#include "save.h"
#include "study_warnings.h"
#include "suggest.h"
#include "tremolo_words.h"

static const char usage[] =
    "usage: tremolo study init [--csv FILE [--response NAME]] [--out FILE [--force]]\n"
    "       tremolo study check FILE [--json]\n"
    "       tremolo study id FILE [--json]\n"
    "       tremolo study show FILE|URL [--json | --c [--policy FILE]] [--ca FILE]\n"
    "       tremolo study publish FILE --server URL --token-file FILE [--ca FILE] [--json]\n"
    "       tremolo study close URL --token-file FILE [--round N] [--ca FILE] [--json]\n"
    "       tremolo study enrol URL --device NAME --token-file FILE [--ca FILE] [--json]\n"
    "       tremolo study move ID --from PLACE --to PLACE [--json]\n\n"
    "  init    write a starter that explains itself, or one for a CSV file's columns\n"
    "  check   explain every problem of a file, with its place and reason, and warn of\n"
    "          what is allowed but protects little\n"
    "  id      print the study's id, the hash of all that was agreed\n"
    "  show    print what the study asks for and the guarantee in words; with --c, the\n"
    "          study as C source for a device's program, with its ledger's budget\n"
    "  publish create the study on a server; prints its address and what a device runs\n"
    "  close   close the current round of a study, given by its address on a server, or\n"
    "          round N, counted from 1: asked again, that closes no other\n"
    "  enrol   make a device's key, in a study that takes enrolled devices only\n"
    "  move    copy a study between a data directory and a clustered store; move --help\n\n"
    "FILE may be - for standard input.\n";

/* ---------------------------------------------------------------- init */

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

/* Write where nothing is yet, unless forced; whole or not at all. */
static int write_out(const struct study_options *options, const char *text)
{
    struct stat about;
    if (options->out == NULL) {
        return fputs(text, stdout) < 0 || fflush(stdout) != 0
                   ? cli_fail(CLI_FAILED, "study", "cannot write: %s", strerror(errno))
                   : CLI_DONE;
    }
    if (!options->force && lstat(options->out, &about) == 0) {
        return cli_fail(CLI_USAGE, "study", "%s exists; --force replaces it", options->out);
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
    switch (status) {
    case TREMOLO_OK: return CLI_DONE;
    case TREMOLO_BAD_ARGUMENT:
        return cli_fail(CLI_USAGE, "study", "%s: the first line must name 2 to %d columns",
                        options->csv, TREMOLO_MAX_DIMENSION + 1);
    default: return cli_fail(cli_exit_of(status), "study", "%s", tremolo_status_sentence(status));
    }
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

static int init_from_csv(const struct study_options *options, char **json)
{
    struct csv_header header;
    char *text = NULL;
    size_t length = 0;
    int code = cli_read_start(&text, &length, "study", options->csv, CSV_HEADER_BYTES_MAX);
    if (code != CLI_DONE) {
        return code;
    }
    bool is_text[CSV_HEADER_NAMES_MAX];
    if (!csv_header_parse(&header, text, length)) {
        code = header.problem != NULL
                   ? cli_fail(CLI_USAGE, "study", "%s: line 1, column %zu: %s", options->csv,
                              header.problem_column, header.problem)
                   : explain_starter(options, TREMOLO_BAD_ARGUMENT);
    } else {
        const char *const *names = (const char *const *)header.name;
        bool words = csv_header_texts(is_text, &header, text, length);
        enum tremolo_status status = tremolo_study_starter_for(
            json, names, header.count, options->response, words ? is_text : NULL);
        code = status == TREMOLO_BAD_STUDY ? explain_column(options, names, header.count)
                                           : explain_starter(options, status);
        csv_header_free(&header);
    }
    free(text);
    return code;
}

/* A starter looks finished, and its bounds are not. */
static void warn_of_placeholders(const struct study_options *options)
{
    (void)fprintf(stderr,
                  "tremolo study: every feature of this starter has the bounds 0 and 1, which are "
                  "placeholders: values outside of them are cut off.\n"
                  "Edit low and high%s%s to what is publicly known of each, never to what the data "
                  "show; name the levels of every category, or say \"kind\": \"yes-no\", where a "
                  "column holds words.\n",
                  options->out != NULL ? " in " : "", options->out != NULL ? options->out : "");
}

static int run_init(const struct study_options *options)
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
    if (code == CLI_DONE && options->csv != NULL) {
        warn_of_placeholders(options);
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

static int report_check(const struct study_options *options, const struct tremolo_study_file *file,
                        const struct tremolo_study_problems *problems, int code)
{
    char warnings[STUDY_WARNINGS_MAX][STUDY_WARNING_BYTES];
    size_t count = code == CLI_DONE ? study_warnings(warnings, file, (int64_t)time(NULL)) : 0;
    if (options->json) {
        int printed = study_print_json(problems_json(problems, warnings, count));
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

/* ---------------------------------------------------------------- all */

static int print_id(const struct study_options *options, const struct tremolo_study_file *file)
{
    char id[TREMOLO_STUDY_ID_TEXT_BYTES];
    study_id_text(id, file);
    if (options->json) {
        return study_print_json(json_pack("{s:s}", "id", id));
    }
    (void)puts(id);
    return CLI_DONE;
}

static bool is_action(const struct study_options *options, const char *action)
{
    return strcmp(options->action, action) == 0;
}

static int run_on_file(const struct study_options *options)
{
    struct tremolo_study_file *file = NULL;
    struct tremolo_study_problems *problems = calloc(1, sizeof *problems);
    if (problems == NULL) {
        return cli_fail(CLI_FAILED, "study", "out of memory");
    }
    bool remote =
        is_action(options, "show") && options->file != NULL && strstr(options->file, "://") != NULL;
    int code = remote ? study_fetch(&file, options) : read_study(&file, problems, options->file);
    bool checks = is_action(options, "check");
    if (problems->count > 0 && !(checks && options->json)) {
        print_problems(problems, options->file);
    }
    if (checks && (code == CLI_DONE || problems->count > 0)) {
        code = report_check(options, file, problems, code);
    } else if (code == CLI_DONE) {
        code = is_action(options, "id")        ? print_id(options, file)
               : is_action(options, "publish") ? study_publish(options, file)
               : options->source               ? study_source(options, file)
                                               : study_show(options, file);
    }
    tremolo_study_file_free(file);
    free(problems);
    return code;
}

/* Which options belong to which action: its letters, as in `names`. */
static const struct {
    const char *name;
    const char *letters;
    const char *takes;
} actions[] = {
    {"init", "crof", "no file but --csv and --out"},
    {"check", "j", "one FILE"},
    {"id", "j", "one FILE"},
    {"show", "jSpA", "one FILE, or a study's address"},
    {"publish", "jstA", "one FILE"},
    {"close", "jtAn", "the study's address"},
    {"enrol", "jtAd", "the study's address"},
    {"move", "", "the study's id, --from and --to"}, /* study_move.c has its options */
};
enum { ACTIONS = sizeof actions / sizeof actions[0] };

static const struct option names[] = {
    {"csv", required_argument, NULL, 'c'},
    {"response", required_argument, NULL, 'r'},
    {"out", required_argument, NULL, 'o'},
    {"force", no_argument, NULL, 'f'},
    {"json", no_argument, NULL, 'j'},
    {"c", no_argument, NULL, 'S'},
    {"policy", required_argument, NULL, 'p'},
    {"server", required_argument, NULL, 's'},
    {"token-file", required_argument, NULL, 't'},
    {"ca", required_argument, NULL, 'A'},
    {"device", required_argument, NULL, 'd'},
    {"round", required_argument, NULL, 'n'},
    {0},
};

/* A round that is none becomes -1. */
static long round_of(const char *text)
{
    long round = 0;
    return cli_parse_long(&round, text) && round >= 1 && round <= UINT16_MAX ? round : -1;
}

static void take(struct study_options *options, int option)
{
    switch (option) {
    case 'c': options->csv = optarg; break;
    case 'r': options->response = optarg; break;
    case 'o': options->out = optarg; break;
    case 'f': options->force = true; break;
    case 'j': options->json = true; break;
    case 'S': options->source = true; break;
    case 'p': options->policy = optarg; break;
    case 's': options->server = optarg; break;
    case 't': options->token_file = optarg; break;
    case 'd': options->device = optarg; break;
    case 'n': options->round = round_of(optarg); break;
    default: options->ca_file = optarg; break;
    }
}

/* What one action's options must be together. */
static int check_options(const struct study_options *options)
{
    if (is_action(options, "init") && options->response != NULL && options->csv == NULL) {
        return cli_fail(CLI_USAGE, "study", "--response names a column of a --csv file");
    }
    if (options->policy != NULL && !options->source) {
        return cli_fail(CLI_USAGE, "study", "--policy belongs to --c");
    }
    if (options->source && options->json) {
        return cli_fail(CLI_USAGE, "study", "--c and --json exclude each other");
    }
    if (is_action(options, "publish") && options->server == NULL) {
        return cli_fail(CLI_USAGE, "study", "publish needs --server, like http://127.0.0.1:8787");
    }
    if (options->round < 0) {
        return cli_fail(CLI_USAGE, "study", "--round must be the number of a round, from 1");
    }
    if (is_action(options, "enrol") && options->device == NULL) {
        return cli_fail(CLI_USAGE, "study", "enrol needs --device, a name of 1 to 32 bytes");
    }
    bool operates =
        is_action(options, "publish") || is_action(options, "close") || is_action(options, "enrol");
    if (operates && options->token_file == NULL) {
        return cli_fail(CLI_USAGE, "study",
                        "%s needs --token-file, which 'tremolo serve' made as operator.token",
                        options->action);
    }
    return CLI_DONE;
}

static int parse(struct study_options *options, size_t action, int argc, char **argv)
{
    int option = 0;
    opterr = 0;
    optind = 1;
    while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
        if (option == '?') {
            return cli_bad_option("study", argv, names);
        }
        if (strchr(actions[action].letters, option) == NULL) {
            return cli_fail(CLI_USAGE, "study", "this option does not belong to %s",
                            options->action);
        }
        take(options, option);
    }
    bool is_init = is_action(options, "init");
    if (argc - optind != (is_init ? 0 : 1)) {
        return cli_fail(CLI_USAGE, "study", "%s takes %s", options->action, actions[action].takes);
    }
    options->file = is_init ? NULL : argv[optind];
    return check_options(options);
}

static int no_such_action(const char *given)
{
    const char *words[ACTIONS];
    char list[80];
    for (size_t i = 0; i < ACTIONS; i++) {
        words[i] = actions[i].name;
    }
    tremolo_words_list(list, sizeof list, words, ACTIONS);
    const char *meant = given != NULL ? tremolo_words_nearest(given, words, ACTIONS) : NULL;
    return meant != NULL ? cli_fail(CLI_USAGE, "study", "no such action '%s'; did you mean '%s'?",
                                    given, meant)
                         : cli_fail(CLI_USAGE, "study", "say one of %s; --help says more", list);
}

int cli_study(int argc, char **argv)
{
    if (argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0)) {
        (void)fputs(usage, stdout);
        return CLI_DONE;
    }
    if (argc >= 2 && strcmp(argv[1], "move") == 0) {
        return study_move(argc - 1, argv + 1);
    }
    struct study_options options = {0};
    size_t action = 0;
    while (action < ACTIONS && (argc < 2 || strcmp(argv[1], actions[action].name) != 0)) {
        action++;
    }
    if (action == ACTIONS) {
        return no_such_action(argc >= 2 ? argv[1] : NULL);
    }
    options.action = actions[action].name;
    int code = parse(&options, action, argc - 1, argv + 1);
    if (code != CLI_DONE) {
        return code;
    }
    return is_action(&options, "init")    ? run_init(&options)
           : is_action(&options, "close") ? study_close(&options)
           : is_action(&options, "enrol") ? study_enrol(&options)
                                          : run_on_file(&options);
}
