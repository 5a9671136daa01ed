/* status.c -- `tremolo status URL`: what a server has so far.
 *
 * With a server's address, one line a study; with a study's address, the text of its estimate.
 * With --store, what a clustered store has: shards, their owners and how far they are. --watch
 * prints the status again whenever it has changed, as plain text: a terminal scrolls it, a pipe
 * keeps it. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "estimate_json.h"
#include "fetch.h"
#include "store_options.h"
#include "study_internal.h"
#include "text.h"
#include "tremolo_study_file.h"

static const char command[] = "status";

/* Between two questions of --watch. */
enum { WATCH_SECONDS = 2 };

struct status_arguments {
    const char *url; /* as fetch_address() made it; NULL with --store */
    const char *ca_file;
    bool json;
    bool watch;
    struct tremolo_store_options store;
};

#define TO(member) OPTION_TO(struct status_arguments, member)

static const struct option_rule rules[] = {
    OPTION_RULE("json", NULL, FLAG, TO(json), .excludes = "watch",
                .help = "the server's answer as it is"),
    OPTION_RULE("watch", NULL, FLAG, TO(watch), .excludes = "store",
                .help = "print the status again whenever it has changed, until Ctrl-C"),
    OPTION_RULE("ca", "FILE", TEXT, TO(ca_file),
                .help = "certificates to trust instead of the system's"),
    {.help = "Of a clustered store it shows shards, their owners and how far they are:"},
    STORE_RULE(struct status_arguments, store,
               .help = "where the log is: nats://HOST:PORT, with more nodes after commas"),
    STORE_ACCESS_RULES(struct status_arguments, store, NULL),
};

/* ---------------------------------------------------------------- a server */

/* A line for each study. A server lists at most a page of them at a time. */
static void print_studies(FILE *out, const json_t *answer)
{
    const json_t *studies = json_object_get(answer, "studies");
    long long total = member_integer(answer, "total");
    size_t shown = json_array_size(studies);
    for (size_t i = 0; i < shown; i++) {
        text_members(out, json_array_get(studies, i),
                     "{id}  {state:-5s} round {round+1} of {rounds}  {reports:9.0f} reports  "
                     "{title}\n");
    }
    if (shown == 0) {
        (void)fputs("no studies\n", out);
    }
    if (total > (long long)shown) {
        (void)fprintf(out, "and %lld more: ask for /v1/studies?offset=%zu\n",
                      total - (long long)shown, shown);
    }
}

/* Ask once, and write what came: as text, or with --json as it came. Returns an exit code after a
 * message. */
static int show(FILE *out, const struct status_arguments *arguments)
{
    char url[2048], *text = NULL;
    bool one = strstr(arguments->url, "/v1/studies/") != NULL;
    int code =
        fetch_join(url, sizeof url, command, arguments->url, one ? "/estimate" : "/v1/studies");
    if (code == CLI_DONE) {
        code = fetch_text(&text, command, url, arguments->ca_file);
    }
    if (code != CLI_DONE) {
        return code;
    }
    json_t *answer = json_loads(text, 0, NULL);
    if (!(one ? estimate_document_is(answer) : json_is_object(answer))) {
        code = cli_fail(CLI_FAILED, command, "%s sent an answer that is not %s", url,
                        one ? "an estimate" : "a list of studies");
    } else if (arguments->json) {
        (void)fprintf(out, "%s\n", text);
    } else {
        members_clean(answer);
        if (one) {
            text_document(out, answer, false);
        } else {
            print_studies(out, answer);
        }
    }
    free(text);
    json_decref(answer);
    return code;
}

/* The status as text, which the caller frees; NULL after a message. It is kept whole in memory, so
 * that --watch can compare it with what was shown. */
static char *text_of(const struct status_arguments *arguments)
{
    char *text = NULL;
    size_t length = 0;
    FILE *memory = open_memstream(&text, &length);
    if (memory == NULL) {
        (void)cli_fail(CLI_FAILED, command, "out of memory");
        return NULL;
    }
    int code = show(memory, arguments);
    if (fclose(memory) != 0 || code != CLI_DONE) {
        free(text);
        text = NULL;
    }
    return text;
}

/* Print the status, and again each time it has changed, until a signal ends the program. The first
 * answer must come; later a server that does not answer is a message, and is asked again. */
static int watch(const struct status_arguments *arguments)
{
    static const struct timespec pause = {.tv_sec = WATCH_SECONDS};
    char *shown = text_of(arguments);
    int code = shown != NULL ? CLI_DONE : CLI_FAILED;
    bool fresh = true;
    while (code == CLI_DONE) {
        if (fresh) {
            char moment[TREMOLO_STUDY_DATE_BYTES];
            tremolo_study_date_text(moment, (int64_t)time(NULL));
            (void)printf("---- %s\n%s\n", moment, shown);
        }
        code = fflush(stdout) == 0 ? CLI_DONE : CLI_FAILED;
        (void)nanosleep(&pause, NULL);
        char *text = text_of(arguments);
        fresh = text != NULL && strcmp(text, shown) != 0;
        if (fresh) {
            free(shown);
            shown = text;
        } else {
            free(text);
        }
    }
    free(shown);
    return code;
}

/* ---------------------------------------------------------------- a clustered store */

/* Counts of a shard are those of its newest checkpoint; "behind" is an upper bound. */
static void print_stored(const json_t *study)
{
    const json_t *stream = json_object_get(study, "stream");
    const json_t *shards = json_object_get(study, "shards");
    text_members(stdout, study,
                 "{id}  {title}\n  {state}, round {round+1} of {rounds}, {reports} reports\n");
    text_members(stdout, stream,
                 "  stream {name}: {messages} messages, {bytes} bytes, {current} of {replicas} "
                 "replicas up to date");
    text_members(stdout, stream,
                 member_text(stream, "leader")[0] != '\0' ? ", led by {leader}\n" : "\n");
    (void)puts("  shard  owner                        alive      position   behind    counted "
               "repeated   late  refused");
    for (size_t i = 0; i < json_array_size(shards); i++) {
        const json_t *shard = json_array_get(shards, i);
        bool owned = member_text(shard, "owner")[0] != '\0';
        text_members(stdout, shard,
                     owned ? "  {shard:5.0f}  {owner:-28s}"
                           : "  {shard:5.0f}  (none)                      ");
        (void)printf(" %-6s", json_is_true(json_object_get(shard, "alive")) ? "yes" : "no");
        text_members(stdout, shard,
                     " {position:12.0f} {behind:8.0f} {counted:10.0f} {repeated:8.0f} {late:6.0f} "
                     "{refused:8.0f}\n");
    }
}

/* Of a clustered store: every study, its stream and its shards. Takes about two seconds, in
 * which the library sees which owners are alive. */
static int show_store(const struct tremolo_store_options *store, bool json)
{
    char *text = NULL;
    char words[TREMOLO_WORDS_BYTES] = "";
    size_t index;
    json_t *study;
    enum tremolo_status status = tremolo_store_overview(&text, store, words);
    if (status != TREMOLO_OK) {
        return cli_fail(CLI_FAILED, command, "%s", words);
    }
    if (json) {
        (void)puts(text);
        free(text);
        return CLI_DONE;
    }
    json_t *answer = json_loads(text, 0, NULL);
    json_array_foreach(json_object_get(answer, "studies"), index, study)
    {
        print_stored(study);
    }
    if (json_array_size(json_object_get(answer, "studies")) == 0) {
        (void)puts("no studies");
    }
    json_decref(answer);
    free(text);
    return CLI_DONE;
}

/* An address or --store, and not both: they are two kinds of servers. */
static int run(int argc, char **argv)
{
    struct status_arguments arguments = {.json = false};
    struct options_given given;
    char url[1024];
    int code = CLI_DONE;
    if (!options_parse(&given, &arguments, &code, &cli_status, argc, argv)) {
        return code;
    }
    if ((arguments.store.url != NULL) == (given.operands > 0)) {
        return cli_fail(CLI_USAGE, command, "one address is needed, or --store");
    }
    if (arguments.store.url != NULL) {
        return show_store(&arguments.store, arguments.json);
    }
    if (!fetch_address(url, sizeof url, given.operand[0])) {
        return cli_fail(CLI_USAGE, command, "the address is too long");
    }
    arguments.url = url;
    return arguments.watch ? watch(&arguments) : show(stdout, &arguments);
}

const struct cli_command cli_status = {
    .name = "status",
    .summary = "what a server has so far",
    .usage = "status URL [--json | --watch] [--ca FILE]\n"
             "status --store nats://HOST:PORT[,...] [--json]",
    .about = "URL is a server (http://127.0.0.1:8787) or one study on it (.../v1/studies/ID).",
    OPTION_TABLE(rules),
    .operand = "[URL]",
    .run = run,
};
