/* study.c -- `tremolo study`: write, check, name, show and publish study files. */
#include "study.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli.h"
#include "tremolo_planning.h"
#include "files.h"
#include "document.h"
#include "store_options.h"

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

/* How many of its devices could turn a sign; NaN when the study limits no devices. */
static double liars_of(const struct tremolo_study_file *file)
{
    const struct tremolo_study_terms *terms = tremolo_study_file_terms(file);
    struct tremolo_plan_request request;
    tremolo_plan_begin(&request);
    request.guess.devices = (double)terms->devices;
    tremolo_plan_take_study(&request, file);
    return terms->devices < TREMOLO_STUDY_MAX_DEVICES ? tremolo_plan_liars(&request) : NAN;
}

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

static int report_check(const struct study_options *options, const struct tremolo_study_file *file,
                        const struct tremolo_study_problems *problems, int code)
{
    char warnings[STUDY_WARNINGS_MAX][STUDY_WARNING_BYTES];
    size_t count = code == CLI_DONE ? study_warnings(warnings, file, (int64_t)time(NULL)) : 0;
    if (options->json) {
        json_t *told = problems_json(problems, warnings, count);
        if (code == CLI_DONE) {
            (void)json_object_set_new(told, "liars_turn_sign", json_latch_number(liars_of(file)));
        }
        int printed = cli_print_json("study", told, true);
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
               : action == STUDY_PUBLISH ? study_publish(options, file)
               : options->source         ? study_source(options, file)
                                         : study_show(options, file);
    }
    tremolo_study_file_free(file);
    return code;
}

/* ---------------------------------------------------------------- command */

/* In the order of enum study_action. */
static const struct cli_action actions[] = {
    {"init", "write a starter that explains itself, or one for a CSV file's columns", NULL},
    {"check",
     "explain every problem of a file, with its place and reason, and warn of what is allowed but "
     "protects little",
     "one FILE"},
    {"id", "print the study's id, the hash of all that was agreed", "one FILE"},
    {"show",
     "print what the study asks for and the guarantee in words, or with --c the study as C source "
     "for a device's program",
     "one FILE, or a study's address"},
    {"publish", "create the study on a server; prints its address and what a device runs",
     "one FILE"},
    {"close", "close the current round of a study on a server", "the study's address"},
    {"discard",
     "take out of an open study's newest round all reports that came in a span of time, on a "
     "server that "
     "keeps its own log; they stay known, so that none comes again",
     "the study's address"},
    {"enrol", "make a device's key, in a study that takes enrolled devices only",
     "the study's address"},
    {"move",
     "copy a study between a data directory and a clustered store, and compare both. Out of a "
     "store this is a backup, into one a restore; the old place keeps its copy. Stop the gateways "
     "first, or close the study",
     "the study's id"},
};

#define TO(member) OPTION_TO(struct study_options, member)

static const struct option_rule rules[] = {
    OPTION_RULE("csv", "FILE", TEXT, TO(csv), .of = "init",
                .help = "make a feature of each column that the file's first line names"),
    OPTION_RULE("response", "NAME", TEXT, TO(response), .of = "init", .needs = "csv",
                .help = "which column is the response; the last one unless given"),
    OPTION_RULE("without", "NAME", TEXT, OPTION_TO(struct study_options, without),
                .take = options_take_listed, .of = "init", .needs = "csv",
                .help =
                    "leave out this column; may be given several times. One with more different "
                    "words than a category may have is left out anyway"),
    OPTION_RULE("out", "FILE", TEXT, TO(out), .of = "init",
                .help = "write to this file, whole or not at all"),
    OPTION_RULE("force", NULL, FLAG, TO(force), .of = "init",
                .help = "replace a file that is there"),
    OPTION_RULE("json", NULL, FLAG, TO(json),
                .of = "check id show publish close discard enrol move",
                .help = "the answer as JSON"),
    OPTION_RULE("c", NULL, FLAG, TO(source), .of = "show", .excludes = "json",
                .help = "the study as C source for a device's program, with its ledger's budget"),
    OPTION_RULE("policy", "FILE", TEXT, TO(policy), .of = "show", .needs = "c",
                .help = "what the device allows, of which the budget follows"),
    OPTION_RULE("server", "URL", TEXT, TO(server), .of = "publish", .required = true,
                .help = "like http://127.0.0.1:8787"),
    OPTION_RULE("token-file", "FILE", TEXT, TO(token_file), .of = "publish close discard enrol",
                .required = true,
                .help = "the operator's token, which 'tremolo serve' made as operator.token"),
    OPTION_RULE("ca", "FILE", TEXT, TO(ca_file), .of = "show publish close discard enrol",
                .help = "certificates to trust instead of the system's"),
    OPTION_RULE("device", "NAME", TEXT, TO(device), .of = "enrol", .required = true,
                .help = "a name of 1 to 32 bytes"),
    OPTION_RULE("round", "N", COUNT, TO(round), OPTION_FROM(1, UINT16_MAX), .of = "close",
                .help = "close round N, counted from 1; asked again, that closes no other"),
    OPTION_RULE("from", "PLACE|TIME", TEXT, TO(from), .of = "discard move", .required = true,
                .help = "a place: sqlite:DIR, the data directory of a server that does not run, or "
                        "nats://HOST:PORT[,...], a clustered store; or the first second of a span, "
                        "like 2026-03-01T12:00:00Z"),
    OPTION_RULE("to", "PLACE|TIME", TEXT, TO(to), .of = "discard move", .required = true,
                .help = "the other place; or the first second after the span"),
    STORE_ACCESS_RULES(struct study_options, store, "move"),
    STORE_SIZE_RULES(struct study_options, store, "move"),
};

static int run(int argc, char **argv)
{
    struct study_options options = {.action = NULL};
    struct options_given given;
    int code = CLI_DONE;
    if (!options_parse(&given, &options, &code, &cli_study, argc, argv)) {
        return code;
    }
    options.action = given.action->name;
    options.file = given.operand[0];
    enum study_action action = (enum study_action)(given.action - actions);
    switch (action) {
    case STUDY_INIT: return study_init(&options);
    case STUDY_CLOSE: return study_close(&options);
    case STUDY_DISCARD: return study_discard(&options);
    case STUDY_ENROL: return study_enrol(&options);
    case STUDY_MOVE: return study_move(&options);
    default: return run_on_file(&options, action);
    }
}

const struct cli_command cli_study = {
    .name = "study",
    .summary = "write, check, show, publish, close, discard, move and enrol for studies",
    .usage =
        "study init [--csv FILE [--response NAME] [--without NAME]...] [--out FILE [--force]]\n"
        "study check FILE [--json]\n"
        "study id FILE [--json]\n"
        "study show FILE|URL [--json | --c [--policy FILE]] [--ca FILE]\n"
        "study publish FILE --server URL --token-file FILE [--ca FILE] [--json]\n"
        "study close URL --token-file FILE [--round N] [--ca FILE] [--json]\n"
        "study discard URL --from TIME --to TIME --token-file FILE [--ca FILE] [--json]\n"
        "study enrol URL --device NAME --token-file FILE [--ca FILE] [--json]\n"
        "study move ID --from PLACE --to PLACE [OPTIONS]",
    .about = "Writes, checks and shows study files, and runs studies on a server.",
    .closing = "FILE may be - for standard input.",
    OPTION_TABLE(rules),
    OPTION_ACTIONS(actions),
    .run = run,
};
