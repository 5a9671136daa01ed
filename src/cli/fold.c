/* fold.c -- `tremolo fold`: fold a clustered store's reports until a signal says stop. */
#include "cli.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store_options.h"
#include "suggest.h"
#include "tremolo_server.h"

static const char usage[] =
    "usage: tremolo fold --store nats://HOST:PORT[,HOST:PORT...] [OPTIONS]\n"
    "\n"
    "Any number of these share the shards of all studies in the store; each shard has\n"
    "one owner at a time, and one that dies is replaced within seconds.\n"
    "\n"
    "  --store URL          where the log is\n" STORE_USAGE
    "  --name NAME          of this worker, unique (default: from host, process and chance)\n"
    "  --metrics ADDR:PORT  GET /metrics and /healthz on a numeric address (port 0: any)\n"
    "  --quiet              no log on stderr\n"
    "\n"
    "SIGTERM ends it gracefully. 'man tremolo-fold' says more.\n";

static const struct option long_options[] = {
    STORE_LONG_OPTIONS,
    {"name", required_argument, NULL, 'n'},
    {"metrics", required_argument, NULL, 'm'},
    {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* "ADDR:PORT" or "[ADDR]:PORT"; the text is taken apart in place. */
static bool take_place(struct tremolo_worker_options *options, char *text)
{
    char *colon = strrchr(text, ':');
    long port = -1;
    if (colon == NULL || !cli_parse_long(&port, colon + 1) || port < 0 || port > 65535) {
        return false;
    }
    bool brackets = text[0] == '[' && colon > text && colon[-1] == ']';
    *(brackets ? colon - 1 : colon) = '\0';
    options->address = brackets ? text + 1 : text;
    options->port = (uint16_t)port;
    return options->address[0] != '\0';
}

/* One option; false when its value is no good. */
static bool take_option(struct tremolo_worker_options *options, int option)
{
    bool known = false;
    bool good = store_option(&options->store, option, optarg, &known);
    switch (option) {
    case 'n': options->name = optarg; return strlen(optarg) < 60 && optarg[0] != '\0';
    case 'm': return take_place(options, optarg);
    case 'q': options->log = NULL; return true;
    default: return known && good;
    }
}

int cli_fold(int argc, char **argv)
{
    struct tremolo_worker_options options = {.log = stderr};
    struct tremolo_worker *worker = NULL;
    char words[512] = "";
    sigset_t signals;
    int option;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (option == 'h') {
            (void)fputs(usage, stdout);
            return CLI_DONE;
        }
        if (option == '?' || !take_option(&options, option)) {
            return option == '?'
                       ? (int)CLI_USAGE
                       : cli_fail(CLI_USAGE, "fold", "'%s' is not a value for that option", optarg);
        }
    }
    if (options.store.url == NULL || optind != argc) {
        return cli_fail(CLI_USAGE, "fold", "--store URL is needed, and nothing but options");
    }
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGINT);
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    if (tremolo_worker_start(&worker, &options, words, sizeof words) != TREMOLO_OK) {
        return cli_fail(CLI_FAILED, "fold", "%s", words);
    }
    (void)puts("folding");
    if (tremolo_worker_port(worker) != 0) {
        (void)printf("metrics on http://%s:%u/metrics\n", options.address,
                     tremolo_worker_port(worker));
    }
    (void)fflush(stdout);
    int signal_number = 0;
    (void)sigwait(&signals, &signal_number);
    tremolo_worker_stop(worker);
    return CLI_DONE;
}
