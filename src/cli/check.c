/* check.c -- `tremolo check DIR`: whether a data directory is sound, and with --rescue a copy of
 * what is.
 *
 * The server's code reads the directory (tremolo_server_check), so that check and serve judge a
 * log by the same rules. Nothing in the directory is changed, not even with --rescue, which
 * writes to a new one: damaged data stay as they are. No server may use the directory while it
 * is read, because a log that grows looks damaged at its end.
 *
 * The answer is one document. Exit code 1 means damage, so a backup script can stop by it. */
#include "cli.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "text.h"
#include "options.h"
#include "server.h"

struct check_arguments {
    const char *rescued; /* the directory to make; NULL: none */
    bool json;
};

static const struct option_rule rules[] = {
    OPTION_RULE("rescue", "NEW", TEXT, OPTION_TO(struct check_arguments, rescued),
                .help =
                    "make this directory and copy into it what is sound: studies that this version "
                    "serves, rounds and reports; sums are made again, and studies in rounds "
                    "end with the newest round that is left"),
    OPTION_RULE("json", NULL, FLAG, OPTION_TO(struct check_arguments, json),
                .help = "the findings as JSON"),
};

/* A line for each study that was found. */
static void print_studies(const json_t *studies)
{
    for (size_t i = 0; i < json_array_size(studies); i++) {
        const json_t *study = json_array_get(studies, i);
        text_members(stdout, study,
                     "study {study}: {reports} reports, round {round+1} of {rounds}");
        (void)puts(json_is_true(json_object_get(study, "ends_here"))
                       ? ", the last one: the directory was restored"
                       : "");
    }
}

/* What can be saved, and what the operator can do. Where acknowledged reports may be missing,
 * only the operator can decide to go on without them. */
static void print_remedy(const json_t *found)
{
    const json_t *saved = json_object_get(found, "saved");
    text_members(stdout, saved, "can be saved: {reports} reports in {segments} of {of} segments\n");
    if (json_is_true(json_object_get(found, "lossy"))) {
        (void)puts("Acknowledged reports are missing, or may be. If there is no better copy, "
                   "`tremolo\nserve --accept-loss` goes on with what is there; studies in rounds "
                   "end with the round they are in.");
    } else {
        (void)puts("No server starts on it. Restore a backup and start once with --accept-loss, or "
                   "copy what is\nsound with --rescue NEW.");
    }
}

/* What is wrong, one sentence a line, as the library found it. */
static void print_findings(const json_t *found)
{
    size_t i;
    const json_t *words;
    json_array_foreach(json_object_get(found, "findings"), i, words)
    {
        (void)printf("%s\n", json_string_value(words));
    }
    if (json_is_true(json_object_get(found, "copy"))) {
        (void)puts("the directory is a copy; the original may have gone on since");
    }
}

/* The text and --json are made from one document. A directory that could be read but is not
 * sound is CLI_FAILED without a message: the findings on standard output are the answer. */
static int run(int argc, char **argv)
{
    struct check_arguments arguments = {.rescued = NULL};
    struct options_given given;
    char words[TREMOLO_WORDS_BYTES] = "";
    char *text = NULL;
    int code = CLI_DONE;
    if (!options_parse(&given, &arguments, &code, &cli_check, argc, argv)) {
        return code;
    }
    enum tremolo_status status =
        tremolo_server_check(&text, given.operand[0], arguments.rescued, words);
    if (status != TREMOLO_OK) {
        return cli_fail(cli_exit_of(status), "check", "%s: %s", given.operand[0],
                        words[0] != '\0' ? words : tremolo_status_sentence(status));
    }
    json_t *found = json_loads(text, 0, NULL);
    bool sound = json_is_true(json_object_get(found, "sound"));
    if (arguments.json) {
        (void)puts(text);
    } else {
        print_findings(found);
        print_studies(json_object_get(found, "studies"));
        if (sound) {
            (void)puts("sound");
        } else {
            print_remedy(found);
        }
    }
    json_decref(found);
    free(text);
    return sound ? CLI_DONE : CLI_FAILED;
}

const struct cli_command cli_check = {
    .name = "check",
    .summary = "is a data directory sound, and what is left of it if not",
    .usage = "check DIR [--rescue NEW] [--json]",
    .about = "Reads a server's data directory that no server is using, and changes nothing. Exits "
             "with 0 if it is sound and with 1 if it is not.",
    .operand = "DIR",
    OPTION_TABLE(rules),
    .run = run,
};
