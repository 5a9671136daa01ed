/* status.c -- `tremolo status URL`: what a server has so far.
 *
 * With a server's address, one line a study; with a study's address, its
 * round, its table of coefficients and its guarantee. */
#include "cli.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "estimate_show.h"
#include "fetch.h"
#include "members.h"
#include "store_options.h"
#include "watch.h"

struct status_arguments {
    const char *url;
    const char *ca_file;
    bool json;
    bool watch;
    double every_seconds;
    struct tremolo_store_options store;
};

#define TO(member) OPTION_TO(struct status_arguments, member)

static const struct option_rule rules[] = {
    OPTION_RULE("json", NULL, FLAG, TO(json), .excludes = "watch",
                .help = "the server's answer as it is"),
    OPTION_RULE("watch", NULL, FLAG, TO(watch), .excludes = "store",
                .help = "stay, and draw what comes in; in a pipe, a line each time"),
    OPTION_RULE("every", "SECONDS", NUMBER, TO(every_seconds), OPTION_FROM(0.1, 86400),
                .otherwise = "1", .help = "how often to ask"),
    OPTION_RULE("ca", "FILE", TEXT, TO(ca_file),
                .help = "certificates to trust instead of the system's"),
    {.help = "Of a clustered store it shows shards, their owners and how far they are:"},
    STORE_RULE(struct status_arguments, store,
               .help = "where the log is: nats://HOST:PORT, with more nodes after commas"),
    STORE_ACCESS_RULES(struct status_arguments, store, NULL),
};

static void print_studies(const json_t *answer)
{
    size_t index;
    json_t *study;
    size_t shown = json_array_size(json_object_get(answer, "studies"));
    long long total = member_integer(answer, "total");
    json_array_foreach(json_object_get(answer, "studies"), index, study)
    {
        (void)printf("%s  %-5s round %lld of %lld  %9lld reports  %s\n", member_text(study, "id"),
                     member_text(study, "state"), member_integer(study, "round") + 1,
                     member_integer(study, "rounds"), member_integer(study, "reports"),
                     member_text(study, "title"));
    }
    if (shown == 0) {
        (void)puts("no studies");
    }
    if (total > (long long)shown) {
        (void)printf("and %lld more: ask for /v1/studies?offset=%zu\n", total - (long long)shown,
                     shown);
    }
}

static int show(const struct status_arguments *arguments)
{
    static const char path[] = "/v1/studies";
    char url[1024 + sizeof path];
    char *text = NULL;
    if (strstr(arguments->url, "/v1/studies/") != NULL) {
        const struct estimate_wish wish = {.ca_file = arguments->ca_file,
                                           .json = arguments->json,
                                           .full = "'tremolo fit URL --explain'"};
        return estimate_find("status", arguments->url, &wish);
    }
    (void)snprintf(url, sizeof url, "%s%s", arguments->url, path);
    int code = fetch_text(&text, "status", url, arguments->ca_file);
    json_t *answer = code == CLI_DONE ? json_loads(text, 0, NULL) : NULL;
    if (answer == NULL) {
        free(text);
        return code != CLI_DONE
                   ? code
                   : cli_fail(CLI_FAILED, "status", "%s answered what is not JSON", url);
    }
    if (arguments->json) {
        (void)puts(text);
    } else {
        members_clean(answer);
        print_studies(answer);
    }
    free(text);
    json_decref(answer);
    return CLI_DONE;
}

static void print_shard(const json_t *shard)
{
    const char *owner = member_text(shard, "owner");
    bool alive = json_is_true(json_object_get(shard, "alive"));
    (void)printf("  %5lld  %-28s %-6s %12lld %8lld %10lld %8lld %6lld %8lld\n",
                 member_integer(shard, "shard"), owner[0] != '\0' ? owner : "(nobody)",
                 alive ? "yes" : "no", member_integer(shard, "position"),
                 member_integer(shard, "behind"), member_integer(shard, "counted"),
                 member_integer(shard, "repeated"), member_integer(shard, "late"),
                 member_integer(shard, "refused"));
}

static void print_stored(const json_t *study)
{
    const json_t *stream = json_object_get(study, "stream");
    const char *leader = member_text(stream, "leader");
    size_t index;
    json_t *shard;
    (void)printf("%s  %s\n", member_text(study, "id"), member_text(study, "title"));
    (void)printf("  %s, round %lld of %lld, %lld reports\n", member_text(study, "state"),
                 member_integer(study, "round") + 1, member_integer(study, "rounds"),
                 member_integer(study, "reports"));
    (void)printf("  stream %s: %lld messages, %lld bytes, %lld of %lld replicas up to date%s%s\n",
                 member_text(stream, "name"), member_integer(stream, "messages"),
                 member_integer(stream, "bytes"), member_integer(stream, "current"),
                 member_integer(stream, "replicas"), leader[0] != '\0' ? ", led by " : "", leader);
    (void)printf("  shard  owner                        alive      position   behind    counted "
                 "repeated   late  refused\n");
    json_array_foreach(json_object_get(study, "shards"), index, shard)
    {
        print_shard(shard);
    }
}

/* Of a clustered store: every study, its stream and its shards. */
static int show_store(const struct tremolo_store_options *store, bool json)
{
    char *text = NULL;
    char words[TREMOLO_WORDS_BYTES] = "";
    size_t index;
    json_t *study;
    enum tremolo_status status = tremolo_store_overview(&text, store, words);
    if (status != TREMOLO_OK) {
        return cli_fail(CLI_FAILED, "status", "%s", words);
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
        return cli_fail(CLI_USAGE, "status", "one address is needed, or --store");
    }
    if (arguments.store.url != NULL) {
        return show_store(&arguments.store, arguments.json);
    }
    if (!fetch_address(url, sizeof url, given.operand[0])) {
        return cli_fail(CLI_USAGE, "status", "the address is too long");
    }
    arguments.url = url;
    return arguments.watch ? watch_run(url, arguments.ca_file, arguments.every_seconds)
                           : show(&arguments);
}

const struct cli_command cli_status = {
    .name = "status",
    .summary = "what a server has so far",
    .usage = "status URL [--json | --watch [--every SECONDS]] [--ca FILE]\n"
             "status --store nats://HOST:PORT[,...] [--json]",
    .about = "URL is a server (http://127.0.0.1:8787) or one study on it (.../v1/studies/ID).",
    OPTION_TABLE(rules),
    .operand = "the address of a server or of a study on it",
    .operand_optional = true,
    .run = run,
};
