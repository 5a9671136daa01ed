/* status.c -- `tremolo status URL`: what a server has so far.
 *
 * With a server's address, one line a study; with a study's address, its
 * round, its table of coefficients and its guarantee. */
#include "cli.h"

#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fetch.h"
#include "members.h"
#include "status_store.h"
#include "store_options.h"
#include "suggest.h"
#include "watch.h"

static const char usage[] =
    "usage: tremolo status URL [--json | --watch [--every SECONDS]] [--ca FILE]\n"
    "       tremolo status --store nats://HOST:PORT[,...] [--json]\n"
    "\n"
    "URL is a server (http://127.0.0.1:8787) or one study on it (.../v1/studies/ID).\n"
    "\n"
    "  --json           the server's answer as it is\n"
    "  --watch          stay, and draw what comes in; in a pipe, a line each time\n"
    "  --every SECONDS  how often to ask (default 1)\n"
    "  --ca FILE        certificates to trust instead of the system's\n"
    "\n"
    "Of a clustered store it shows shards, their owners and how far they are:\n"
    "\n"
    "  --store URL          where the log is\n" STORE_USAGE;

struct status_arguments {
    const char *url;
    const char *ca_file;
    bool json;
    bool watch;
    double every_seconds;
};

static int fetch_json(json_t **parsed, char **text, const struct status_arguments *arguments,
                      const char *path)
{
    char url[2048];
    int length = snprintf(url, sizeof url, "%s%s", arguments->url, path);
    if (length < 0 || (size_t)length >= sizeof url) {
        return cli_fail(CLI_USAGE, "status", "the address is too long");
    }
    struct fetch fetch = {.url = url, .ca_file = arguments->ca_file};
    if (fetch_run(&fetch) != 0) {
        return cli_fail(CLI_FAILED, "status", "%s: %s", url, fetch.words);
    }
    *parsed = json_loads(fetch.answer, 0, NULL);
    if (fetch.status != 200 || *parsed == NULL) {
        free(fetch.answer);
        json_decref(*parsed);
        return cli_fail(CLI_FAILED, "status", "%s answered %ld", url, fetch.status);
    }
    *text = fetch.answer;
    return CLI_DONE;
}

static void print_studies(const json_t *answer)
{
    size_t index;
    json_t *study;
    json_array_foreach(json_object_get(answer, "studies"), index, study)
    {
        (void)printf("%s  %-5s round %lld of %lld  %9lld reports  %s\n", member_text(study, "id"),
                     member_text(study, "state"), member_integer(study, "round") + 1,
                     member_integer(study, "rounds"), member_integer(study, "reports"),
                     member_text(study, "title"));
    }
    if (json_array_size(json_object_get(answer, "studies")) == 0) {
        (void)puts("no studies");
    }
}

static int show(const struct status_arguments *arguments)
{
    json_t *answer = NULL;
    char *text = NULL;
    if (strstr(arguments->url, "/v1/studies/") != NULL) {
        const struct estimate_wish wish = {.ca_file = arguments->ca_file,
                                           .as_json = arguments->json};
        return estimate_show("status", arguments->url, &wish);
    }
    int code = fetch_json(&answer, &text, arguments, "/v1/studies");
    if (code != CLI_DONE) {
        return code;
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

int cli_status(int argc, char **argv)
{
    static const struct option long_options[] = {
        {"json", no_argument, NULL, 'j'},
        {"watch", no_argument, NULL, 'w'},
        {"every", required_argument, NULL, 'e'},
        {"ca", required_argument, NULL, 'c'},
        {"help", no_argument, NULL, 'h'},
        STORE_LONG_OPTIONS,
        {NULL, 0, NULL, 0},
    };
    struct status_arguments arguments = {.every_seconds = 1};
    struct tremolo_store_options store = {0};
    bool known = false;
    int option;
    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        switch (option) {
        case 'j': arguments.json = true; break;
        case 'w': arguments.watch = true; break;
        case 'e':
            if (!cli_parse_double(&arguments.every_seconds, optarg) ||
                !(arguments.every_seconds >= 0.1 && arguments.every_seconds <= 86400)) {
                return cli_fail(CLI_USAGE, "status", "--every must be from 0.1 to 86400, not '%s'",
                                optarg);
            }
            break;
        case 'c': arguments.ca_file = optarg; break;
        case 'h': (void)fputs(usage, stdout); return CLI_DONE;
        default:
            if (!store_option(&store, option, optarg, &known) || !known) {
                return known ? cli_fail(CLI_USAGE, "status", "'%s' is not a value for that option",
                                        optarg)
                             : cli_bad_option("status", argv, long_options);
            }
        }
    }
    if (store.url != NULL && optind == argc && !arguments.watch) {
        return status_store(&store, arguments.json);
    }
    if (optind + 1 != argc || store.url != NULL) {
        return cli_fail(CLI_USAGE, "status", "one address is needed");
    }
    if (arguments.watch && arguments.json) {
        return cli_fail(CLI_USAGE, "status", "--watch and --json do not go together");
    }
    char url[1024];
    if (!fetch_address(url, sizeof url, argv[optind])) {
        return cli_fail(CLI_USAGE, "status", "the address is too long");
    }
    arguments.url = url;
    return arguments.watch ? watch_run(url, arguments.ca_file, arguments.every_seconds)
                           : show(&arguments);
}
