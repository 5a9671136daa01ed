/* serve.c -- `tremolo serve`: run the server until a signal says stop.
 *
 * The server itself is server/; this file takes options, prints the address and the public key,
 * which devices pin, and waits. Beyond loopback it refuses to start without TLS unless
 * --plain-http says that a proxy does it: the operator's token must not cross a network in the
 * clear by mistake.
 *
 * SIGTERM and SIGINT drain, checkpoint and end; SIGHUP reads the certificate files again.
 * Signals are waited for in one place, so nothing runs in a handler. */
#include "cli.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "store_options.h"
#include "server.h"
#include "tremolo_study_file.h"
#include "study_internal.h"

/* Reports a minute from one source to open studies. */
enum { USUAL_QUOTA = 600 };

/* The server's options point to the address in `listen`. */
struct serve_arguments {
    struct tremolo_server_options options;
    struct options_address listen;
    bool plain_http; /* the operator says that a proxy does TLS */
    bool quiet;      /* no log */
};

#define TO(member) OPTION_TO(struct serve_arguments, member)

static const struct option_rule rules[] = {
    OPTION_RULE("data", "DIR", TEXT, TO(options.data), .required = true,
                .help = "log and keys; made if missing"),
    OPTION_RULE(
        "listen", "ADDR:PORT", TEXT, TO(listen), .take = options_take_address,
        .otherwise = "127.0.0.1:8787",
        .help = "numeric address, IPv4 or [IPv6]; port 0 takes any free one. An address other than "
                "loopback needs a certificate, or --plain-http"),
    OPTION_RULE("tls-cert", "FILE", TEXT, TO(options.tls_cert), .needs = "tls-key",
                .help = "certificate chain, PEM; read again on SIGHUP"),
    OPTION_RULE("tls-key", "FILE", TEXT, TO(options.tls_key), .needs = "tls-cert",
                .help = "its private key, PEM"),
    OPTION_RULE(
        "plain-http", NULL, FLAG, TO(plain_http),
        .help =
            "without TLS beyond loopback, for a server behind a proxy that does TLS; what travels "
            "between the two, the operator's token included, is readable there"),
    OPTION_RULE(
        "token-file", "FILE", TEXT, TO(options.token_file),
        .help =
            "the operator's token, one word of at least 16 characters in a file that only you may "
            "read; operator.token in the data directory unless given, made if missing"),
    OPTION_RULE("threads", "N", COUNT, TO(options.threads), OPTION_FROM(1, 64),
                .help = "for requests; one for two processors unless given, with TLS one for each"),
    OPTION_RULE("timeout", "SECONDS", COUNT, TO(options.request_seconds), OPTION_FROM(1, 3600),
                .otherwise = "30",
                .help = "for a request's head, for its body, and for an idle connection"),
    OPTION_RULE("quota", "N", COUNT, TO(options.quota), OPTION_FROM(0, 1000000),
                .help =
                    "reports a minute that one source, an IPv4 address or an IPv6 network of 64 "
                    "bits, may send to open studies, beyond which the answer is 429; 0: no "
                    "limit. 600 unless given where sources are known: with --tls-cert "
                    "or --source-header, and else 0"),
    OPTION_RULE(
        "source-header", "NAME", TEXT, TO(options.source_header),
        .help = "header in which a trusted proxy names the source, such as X-Forwarded-For, "
                "of which the last address counts; a client that reaches the server without the "
                "proxy can forge it"),
    OPTION_RULE(
        "accept-loss", NULL, FLAG, TO(options.accept_loss), .excludes = "moved",
        .help = "serve although acknowledged reports are missing: the log is damaged, or the "
                "directory is a backup. Studies in rounds end with the round they are in, because "
                "later ones may have been broadcast before. For one start; see tremolo check"),
    OPTION_RULE("moved", NULL, FLAG, TO(options.moved),
                .help = "the directory was copied and is the newest there is: studies in rounds go "
                        "on. For one start"),
    OPTION_RULE("quiet", NULL, FLAG, TO(quiet), .help = "no log on standard error"),
    {.help = "As a gateway to a clustered store, the data directory holds only the keys, which are "
             "the same for all gateways:"},
    STORE_RULE(struct serve_arguments, options.store,
               .help = "nats://HOST:PORT, with more nodes after commas"),
    STORE_ACCESS_RULES(struct serve_arguments, options.store, NULL),
    STORE_SIZE_RULES(struct serve_arguments, options.store, NULL),
};

/* 127.0.0.0/8 and ::1. Names are not resolved: the address is numeric, as its option checked. */
static bool is_loopback(const char *address)
{
    struct in_addr four;
    struct in6_addr six;
    if (inet_pton(AF_INET, address, &four) == 1) {
        return ntohl(four.s_addr) >> 24 == 127;
    }
    return inet_pton(AF_INET6, address, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

/* The operator's token and public responses must not cross a network in the
 * clear by oversight. */
static bool is_exposed(const struct serve_arguments *arguments)
{
    const struct tremolo_server_options *options = &arguments->options;
    return options->tls_cert == NULL && !arguments->plain_http && !is_loopback(options->address);
}

/* Returns on SIGTERM or SIGINT. A certificate that cannot be read again is no reason to end: the
 * old one may still be good for days. */
static void wait_for_end(struct tremolo_server *server, const sigset_t *signals)
{
    int signal_number = 0;
    while (sigwait(signals, &signal_number) == 0 && signal_number == SIGHUP) {
        if (tremolo_server_reload(server) != TREMOLO_OK) {
            (void)fputs("tremolo serve: the certificate could not be read again; "
                        "the old one stays in use\n",
                        stderr);
        }
    }
}

/* Two lines on standard output, flushed: a script waits for them to learn the port, if it asked for
 * any, and the key. An IPv6 address is in brackets, as in a URL. */
static void announce(const struct tremolo_server *server,
                     const struct tremolo_server_options *options)
{
    char key[TREMOLO_BASE64_BYTES(TREMOLO_SIGNING_PUBLIC_BYTES)];
    bool six = strchr(options->address, ':') != NULL;
    if (tremolo_base64_encode(key, sizeof key, tremolo_server_key(server),
                              TREMOLO_SIGNING_PUBLIC_BYTES) != TREMOLO_OK) {
        key[0] = '\0';
    }
    (void)printf("listening on %s://%s%s%s:%u\nserver key %s\n",
                 options->tls_cert != NULL ? "https" : "http", six ? "[" : "", options->address,
                 six ? "]" : "", tremolo_server_port(server), key);
    (void)fflush(stdout);
}

/* Without TLS of our own and without a header, what connects may be a proxy: all devices would
 * share one quota, so there is none. A gateway has none either unless a header names the source. */
static unsigned default_quota(const struct tremolo_server_options *options)
{
    bool direct = options->tls_cert != NULL && options->store.url == NULL;
    return direct || options->source_header != NULL ? USUAL_QUOTA : 0;
}

/* What an operator can do about a start that was refused; "" where the server's sentence says
 * it. */
static const char *remedy(enum tremolo_status status)
{
    switch (status) {
    case TREMOLO_STORE_BEHIND: return "; see tremolo check, and serve --accept-loss";
    case TREMOLO_STORE_COPIED:
        return ": start once with --moved if this is its newest state, or with --accept-loss if it "
               "is a backup; the study then ends with that round";
    case TREMOLO_TOKEN_FAILED: return "; --token-file names the token's file";
    default: return "";
    }
}

/* Signals are held before the server starts its threads, which inherit the mask. Any failure to
 * start is CLI_FAILED. */
static int run(int argc, char **argv)
{
    struct serve_arguments arguments = {.options = TREMOLO_SERVER_DEFAULTS};
    struct options_given given;
    struct tremolo_server *server = NULL;
    char words[TREMOLO_WORDS_BYTES] = "";
    sigset_t signals;
    int code = CLI_DONE;
    if (!options_parse(&given, &arguments, &code, &cli_serve, argc, argv)) {
        return code;
    }
    arguments.options.address = arguments.listen.host;
    arguments.options.port = arguments.listen.port;
    if (!options_has(&given, "quota")) {
        arguments.options.quota = default_quota(&arguments.options);
    }
    arguments.options.log = arguments.quiet ? NULL : stderr;
    if (is_exposed(&arguments)) {
        return cli_fail(CLI_USAGE, "serve",
                        "%s can be reached from outside: give --tls-cert and --tls-key, or "
                        "--plain-http behind a proxy that does TLS",
                        arguments.options.address);
    }
    cli_hold_signals(&signals, true);
    enum tremolo_status status = tremolo_server_start(&server, &arguments.options, words);
    if (status != TREMOLO_OK) {
        return cli_fail(CLI_FAILED, "serve", "%s%s", words, remedy(status));
    }
    announce(server, &arguments.options);
    wait_for_end(server, &signals);
    tremolo_server_stop(server);
    return CLI_DONE;
}

const struct cli_command cli_serve = {
    .name = "serve",
    .summary = "take reports over HTTP, keep them, estimate from them",
    .usage = "serve --data DIR [OPTIONS]",
    .about = "Runs the server: devices fetch studies and send reports, analysts read estimates.",
    .closing = "SIGTERM ends it gracefully.",
    OPTION_TABLE(rules),
    .run = run,
};
