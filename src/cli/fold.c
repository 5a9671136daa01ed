/* fold.c -- `tremolo fold`: fold a clustered store's reports until a signal says stop.
 *
 * The worker is server/cluster; this file takes options and waits. Workers find each other through
 * the store alone, so any number may be started and ended at any time. On SIGTERM or SIGINT the
 * worker writes a checkpoint and lets its shards go, so that others take them without waiting.
 *
 * "folding" on standard output says that the worker runs; a script can wait for that line. */
#include "cli.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "store_options.h"

/* The worker's options point to the address in `metrics`. */
struct fold_options {
    struct tremolo_worker_options worker;
    struct options_address metrics;
    bool quiet;
};

/* The name's length is limited; an empty one is no name. */
static const char *take_name(void *name, const char *text)
{
    enum { LONGEST = 59 };
    memcpy(name, &text, sizeof text);
    return text[0] != '\0' && strlen(text) <= LONGEST ? NULL : "a name of 1 to 59 bytes";
}

static const struct option_rule rules[] = {
    STORE_RULE(struct fold_options, worker.store, .required = true,
               .help = "where the log is: nats://HOST:PORT, with more nodes after commas"),
    STORE_ACCESS_RULES(struct fold_options, worker.store, NULL),
    OPTION_RULE("name", "NAME", TEXT, OPTION_TO(struct fold_options, worker.name),
                .take = take_name,
                .help = "of this worker, unique; made from host, process and chance unless given"),
    OPTION_RULE(
        "metrics", "ADDR:PORT", TEXT, OPTION_TO(struct fold_options, metrics),
        .take = options_take_address,
        .help = "answer GET /metrics and /healthz on a numeric address; port 0 takes any free one"),
    OPTION_RULE("quiet", NULL, FLAG, OPTION_TO(struct fold_options, quiet),
                .help = "no log on standard error"),
};

/* Signals are held before the worker starts its threads, which inherit the mask. */
static int run(int argc, char **argv)
{
    struct fold_options options = {.quiet = false};
    struct options_given given;
    struct tremolo_worker *worker = NULL;
    char words[TREMOLO_WORDS_BYTES] = "";
    sigset_t signals;
    int code = CLI_DONE;
    if (!options_parse(&given, &options, &code, &cli_fold, argc, argv)) {
        return code;
    }
    if (options_has(&given, "metrics")) {
        options.worker.address = options.metrics.host;
        options.worker.port = options.metrics.port;
    }
    options.worker.log = options.quiet ? NULL : stderr;
    cli_hold_signals(&signals, false);
    if (tremolo_worker_start(&worker, &options.worker, words) != TREMOLO_OK) {
        return cli_fail(CLI_FAILED, "fold", "%s", words);
    }
    (void)puts("folding");
    if (tremolo_worker_port(worker) != 0) {
        (void)printf("metrics on http://%s:%u/metrics\n", options.worker.address,
                     tremolo_worker_port(worker));
    }
    (void)fflush(stdout);
    int signal_number = 0;
    (void)sigwait(&signals, &signal_number);
    tremolo_worker_stop(worker);
    return CLI_DONE;
}

const struct cli_command cli_fold = {
    .name = "fold",
    .summary = "fold a clustered store's reports, as one of many workers",
    .usage = "fold --store nats://HOST:PORT[,HOST:PORT...] [OPTIONS]",
    .about = "Any number of these share the shards of all studies in the store; each shard has\n"
             "one owner at a time, and one that dies is replaced within seconds.",
    .closing = "SIGTERM ends it gracefully.",
    OPTION_TABLE(rules),
    .run = run,
};
