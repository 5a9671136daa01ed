/* study.c -- `tremolo study`: its options, and the actions that need a file only: init, check,
 * id.
 *
 * init writes a starter, an example or one for the columns of a CSV file. What a column looks
 * like only chooses between number, category and yes-no: bounds and levels are never read off
 * the data, because a study is public and they would tell what somebody answered. check explains
 * every problem at once, and then warns of what is allowed (privacy_warnings.c). */
#include "study.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli.h"
#include "tremolo_planning.h"
#include "files.h"
#include "document.h"
#include "privacy_warnings.h"
#include "store_options.h"
#include "table.h"
#include "words.h"
#include "study_internal.h"

/* ---------------------------------------------------------------- init
 *
 * The starter goes to standard output and all advice to standard error, so that a shell can
 * write the one to a file while the person reads the other. */

/* The exit code of an attempt to make a starter, after a message. The library says only that a
 * starter cannot be made; the reason is the number of columns. */
static int explain_starter(const struct study_options *options, enum tremolo_status status)
{
    return status == TREMOLO_OK ? CLI_DONE
           : status == TREMOLO_BAD_ARGUMENT
               ? cli_fail(CLI_USAGE, "study", "%s: the first line must name 2 to %d columns",
                          options->csv, TREMOLO_MAX_DIMENSION + 1)
               : cli_fail_status("study", status);
}

/* The nearest column is named if there is one, else all of them: a person who mistypes a column
 * wants its name, one who took the wrong file wants the list. */
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

/* Whether the person asked for this column to be left out. */
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

/* A starter looks finished, and its bounds are not. On standard error, because the starter
 * itself goes to standard output, which is a file most often. */
static void warn_of_placeholders(void)
{
    (void)fprintf(
        stderr, "%s",
        "tremolo study: every number of this starter has the range 0 to 1, which is a "
        "placeholder.\n"
        "Edit low and high, of the response, too, so that " TREMOLO_STUDY_TYPICAL
        " between them. Use public knowledge, never the data; then delete the comment of each, and "
        "name the levels of every category. A response outside its range is clipped: where the "
        "size "
        "of effects matters, choose a range that about 99 of 100 lie in, which takes two to three "
        "times the devices.\n");
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

/* A starter for the columns of a header but those that are left out. *json is the caller's to free.
 * The response is the last column unless it is named, as in most tables of a regression. */
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
        warn_of_placeholders();
    }
    for (size_t i = 0; code == CLI_DONE && i < header->count; i++) {
        if (!is_left_out(options, header->name[i])) {
            print_hint(header->name[i], looks[i], response);
        }
    }
    return code;
}

/* Only the start of the file is read: a header and enough rows to see what columns look like. */
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

/* `study init`: to standard output, which a shell writes to a file; a full disk is noticed here
 * and not after the program has ended. */
static int init(const struct study_options *options)
{
    char *json = NULL;
    int code = CLI_DONE;
    if (options->csv != NULL) {
        code = init_from_csv(options, &json);
    } else if (tremolo_study_starter(&json, NULL, 0, NULL, NULL) != TREMOLO_OK) {
        code = cli_fail(CLI_FAILED, "study", "out of memory");
    }
    if (code == CLI_DONE && (fputs(json, stdout) < 0 || fflush(stdout) != 0)) {
        code = cli_fail(CLI_FAILED, "study", "cannot write: %s", strerror(errno));
    }
    free(json);
    return code;
}

/* ---------------------------------------------------------------- check
 *
 * Problems make the file unusable and the exit code CLI_USAGE; warnings change neither. */

/* On standard error, one a line, in the form that editors and grep understand: file, place,
 * reason. */
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

/* The same for programs. Problems and warnings are lists in any case, so that a reader needs no
 * special case for a sound file. */
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

/* How many of its devices could turn the sign of a usual coefficient by lying; NaN when the study
 * limits no devices, because their number is then not known. */
static double liars_of(const struct tremolo_study_file *file)
{
    const struct tremolo_study_terms *terms = tremolo_study_file_terms(file);
    struct tremolo_plan_request request;
    tremolo_plan_begin(&request);
    request.guess.devices = (double)terms->devices;
    tremolo_plan_take_study(&request, file);
    return terms->devices < TREMOLO_STUDY_MAX_DEVICES ? tremolo_plan_liars(&request) : NAN;
}

/* Ballots of liars count like all others, so the number of liars that suffices to turn a sign is a
 * property of the study, and its author should know it before publishing. */
static void print_liars(const struct tremolo_study_file *file)
{
    const struct tremolo_study_terms *terms = tremolo_study_file_terms(file);
    double liars = liars_of(file);
    if (liars < (double)terms->devices) {
        (void)printf("about %.0f liars among %llu devices could turn the sign of a usual "
                     "coefficient\n",
                     liars, (unsigned long long)terms->devices);
    }
    if (terms->enrolment == TREMOLO_STUDY_OPEN) {
        (void)puts("enrolment is open: nothing ties a report to a person, so one person can be all "
                   "of them; with \"keys\" a device counts limits.samples times a round");
    }
}

/* `code` is what reading the file gave: CLI_DONE, or the exit code for its problems, which is
 * returned after they were printed. */
static int report_check(const struct study_options *options, const struct tremolo_study_file *file,
                        const struct tremolo_study_problems *problems, int code)
{
    char warnings[STUDY_WARNINGS_MAX][STUDY_WARNING_BYTES];
    size_t count = code == CLI_DONE ? study_warnings(warnings, file, (int64_t)time(NULL)) : 0;
    if (options->json) {
        json_t *answer = problems_json(problems, warnings, count);
        if (code == CLI_DONE) {
            (void)json_object_set_new(answer, "liars_turn_sign", json_latch_number(liars_of(file)));
        }
        int printed = cli_print_json("study", answer, true);
        return printed == CLI_DONE ? code : printed;
    }
    for (size_t i = 0; i < count; i++) {
        (void)fprintf(stderr, "%s: warning: %s\n", options->file, warnings[i]);
    }
    char why[STUDY_WARNING_BYTES];
    char policy[STUDY_POLICY_BYTES];
    if (code == CLI_DONE && study_is_refused(why, policy, file) && policy[0] != '\0') {
        (void)fprintf(stderr, "%s: a device takes part with the policy %s\n", options->file,
                      policy);
    }
    if (code == CLI_DONE) {
        size_t written = tremolo_study_file_feature_count(file);
        size_t features = tremolo_study_file_dimension(file);
        (void)printf("%s: a study of %zu feature%s", options->file, features,
                     features == 1 ? "" : "s");
        if (features != written) { /* computed terms, and levels of categories */
            (void)printf(", made of the %zu that the file names", written);
        }
        (void)putchar('\n');
        print_liars(file);
    }
    return code;
}

/* ---------------------------------------------------------------- all */

/* `study id`: alone on its line, so that shells can use it. */
static int print_id(const struct study_options *options, const struct tremolo_study_file *file)
{
    char id[TREMOLO_STUDY_ID_TEXT_BYTES];
    tremolo_study_id_text(id, tremolo_study_file_id(file));
    if (options->json) {
        return cli_print_json("study", json_pack("{s:s}", "id", id), true);
    }
    (void)puts(id);
    return CLI_DONE;
}

/* Actions on a file read it once, and only `check` goes on when it is no study. `show` also takes
 * the address of a published study. */
static int run_on_file(const struct study_options *options, enum study_action action)
{
    struct tremolo_study_file *file = NULL;
    static struct tremolo_study_problems problems; /* large */
    bool remote = action == STUDY_SHOW && strstr(options->file, "://") != NULL;
    int code = remote ? study_fetch(&file, options)
                      : cli_check_study(&file, &problems, "study", options->file);
    bool checks = action == STUDY_CHECK;
    if (problems.count > 0 && !(checks && options->json)) {
        print_problems(&problems, options->file);
    }
    if (checks && (code == CLI_DONE || problems.count > 0)) {
        code = report_check(options, file, &problems, code);
    } else if (code == CLI_DONE) {
        code = action == STUDY_ID        ? print_id(options, file)
               : action == STUDY_PUBLISH ? study_operate(options, action, file)
                                         : study_show(options, file);
    }
    tremolo_study_file_free(file);
    return code;
}

/* ---------------------------------------------------------------- command */

/* In the order of enum study_action. */
static const struct cli_action actions[] = {
    {"init",
     "write a starter that explains itself, or one with a feature for each column that the CSV "
     "file's first line names",
     "[CSV]"},
    {"check",
     "explain every problem of a file, with its place and reason, and warn of what is allowed but "
     "protects little",
     "FILE"},
    {"id", "print the study's id, the hash of all that was agreed", "FILE"},
    {"show",
     "print what the study asks for and the guarantee in words, or with --c the study as C source "
     "for a device's program",
     "FILE|URL"},
    {"publish",
     "create the study on a server, like http://127.0.0.1:8787; prints its address and what a "
     "device runs",
     "FILE SERVER"},
    {"close",
     "close the current round of a study on a server, or round N, counted from 1: asked again, "
     "that "
     "closes no other",
     "URL [N]"},
    {"discard",
     "take out of an open study's newest round all reports that came in a span of time, on a "
     "server that "
     "keeps its own log; they stay known, so that none comes again. The span is given by its first "
     "second, like "
     "2026-03-01T12:00:00Z, and the first second after it",
     "URL TIME TIME"},
    {"enrol",
     "make a device's key by its name, of 1 to 32 bytes, in a study that takes enrolled devices "
     "only",
     "URL NAME"},
    {"move",
     "copy a study between a data directory and a clustered store, and compare both. Out of a "
     "store this is a backup, into one a restore; the old place keeps its copy. Stop the gateways "
     "first, or close the study. A place is sqlite:DIR, the data directory of a server that does "
     "not "
     "run, or nats://HOST:PORT[,...], a clustered store",
     "ID FROM TO"},
};

#define TO(member) OPTION_TO(struct study_options, member)

static const struct option_rule rules[] = {
    OPTION_RULE("response", "NAME", TEXT, TO(response), .of = "init",
                .help = "which column of the CSV file is the response; the last one unless given"),
    OPTION_RULE("without", "NAME", TEXT, OPTION_TO(struct study_options, without),
                .take = options_take_listed, .of = "init",
                .help =
                    "leave out this column; may be given several times. One with more different "
                    "words than a category may have is left out anyway"),
    OPTION_RULE("json", NULL, FLAG, TO(json),
                .of = "check id show publish close discard enrol move",
                .help = "the answer as JSON"),
    OPTION_RULE("c", NULL, FLAG, TO(source), .of = "show", .excludes = "json",
                .help = "the study as C source for a device's program, with its ledger's budget"),
    OPTION_RULE("policy", "FILE", TEXT, TO(policy), .of = "show", .needs = "c",
                .help = "what the device allows, of which the budget follows"),
    OPTION_RULE("token-file", "FILE", TEXT, TO(token_file), .of = "publish close discard enrol",
                .required = true,
                .help = "the operator's token, which 'tremolo serve' made as operator.token"),
    OPTION_RULE("ca", "FILE", TEXT, TO(ca_file), .of = "show publish close discard enrol",
                .help = "certificates to trust instead of the system's"),
    STORE_ACCESS_RULES(struct study_options, store, "move"),
    STORE_SIZE_RULES(struct study_options, store, "move"),
};

/* What words mean that are no options differs by action. Their number was checked by the table, and
 * one that was left out is NULL. */
static int take_operands(struct study_options *options, const struct options_given *given,
                         enum study_action action)
{
    const char *const *operand = given->operand;
    double round = 0;
    options->file = operand[0];
    switch (action) {
    case STUDY_INIT:
        options->csv = operand[0];
        return options->csv != NULL || given->count == 0
                   ? CLI_DONE
                   : cli_fail(CLI_USAGE, "study", "--%s needs a CSV file", given->rule[0]->name);
    case STUDY_PUBLISH: options->server = operand[1]; return CLI_DONE;
    case STUDY_ENROL: options->device = operand[1]; return CLI_DONE;
    case STUDY_DISCARD:
    case STUDY_MOVE:
        options->from = operand[1];
        options->to = operand[2];
        return CLI_DONE;
    case STUDY_CLOSE:
        if (operand[1] != NULL && (!tremolo_table_is_number(operand[1], &round) || round < 1 ||
                                   round > UINT16_MAX || round != floor(round))) {
            return cli_fail(CLI_USAGE, "study", "a round is a whole number from 1 to %d, not '%s'",
                            UINT16_MAX, operand[1]);
        }
        options->round = (long)round;
        return CLI_DONE;
    default: return CLI_DONE;
    }
}

/* The table of actions and enum study_action have the same order. */
static int run(int argc, char **argv)
{
    struct study_options options = {.action = NULL};
    struct options_given given;
    int code = CLI_DONE;
    if (!options_parse(&given, &options, &code, &cli_study, argc, argv)) {
        return code;
    }
    options.action = given.action->name;
    enum study_action action = (enum study_action)(given.action - actions);
    code = take_operands(&options, &given, action);
    if (code != CLI_DONE) {
        return code;
    }
    switch (action) {
    case STUDY_INIT: return init(&options);
    case STUDY_CLOSE:
    case STUDY_DISCARD:
    case STUDY_ENROL:
    case STUDY_MOVE: return study_operate(&options, action, NULL);
    default: return run_on_file(&options, action);
    }
}

const struct cli_command cli_study = {
    .name = "study",
    .summary = "write, check, show, publish, close, discard, move and enrol for studies",
    .usage = "study init [CSV [--response NAME] [--without NAME]...]\n"
             "study check FILE [--json]\n"
             "study id FILE [--json]\n"
             "study show FILE|URL [--json | --c [--policy FILE]] [--ca FILE]\n"
             "study publish FILE SERVER --token-file FILE [--ca FILE] [--json]\n"
             "study close URL [N] --token-file FILE [--ca FILE] [--json]\n"
             "study discard URL TIME TIME --token-file FILE [--ca FILE] [--json]\n"
             "study enrol URL NAME --token-file FILE [--ca FILE] [--json]\n"
             "study move ID FROM TO [OPTIONS]",
    .about = "Writes, checks and shows study files, and runs studies on a server.",
    .closing = "FILE and CSV may be - for standard input. URL is a study's address.",
    OPTION_TABLE(rules),
    OPTION_ACTIONS(actions),
    .run = run,
};
