/* serve.c -- `tremolo serve`: run the server until a signal says stop.
 *
 * SIGTERM and SIGINT drain, checkpoint and end; SIGHUP reads the certificate
 * files again. Signals are waited for in one place, so nothing runs in a
 * handler. */
#include "cli.h"

#include <arpa/inet.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store_options.h"
#include "suggest.h"
#include "tremolo_server.h"
#include "tremolo_study_file.h"

static const char usage[] =
    "usage: tremolo serve --data DIR [OPTIONS]\n"
    "\n"
    "  --data DIR           log and keys; made if missing\n"
    "  --listen ADDR:PORT   numeric address (default 127.0.0.1:8787; port 0: any free one)\n"
    "  --tls-cert FILE      certificate chain, PEM; read again on SIGHUP\n"
    "  --tls-key FILE       its private key, PEM\n"
    "  --plain-http         without TLS beyond loopback, behind a proxy that does it\n"
    "  --token-file FILE    the operator's token (default DIR/operator.token, made if missing)\n"
    "  --threads N          for requests (default: one for two processors, with TLS for each)\n"
    "  --connections N      at once (default: as open files allow, at most 20000)\n"
    "  --timeout SECONDS    for a request's head, its body, and idle (default 30)\n"
    "  --quiet              no log on stderr\n"
    "\n"
    "As a gateway to a clustered store; DIR holds only the keys, the same for all gateways:\n"
    "\n"
    "  --store URL          nats://HOST:PORT[,HOST:PORT...]\n" STORE_USAGE
    "  --shards N           of studies made from now on (default 8)\n"
    "  --replicas N         of streams made from now on (default 3, or the number of nodes)\n"
    "\n"
    "SIGTERM ends it gracefully. 'man tremolo-serve' says more.\n";

enum { ADDRESS_BYTES = 64 };

struct serve_arguments {
    struct tremolo_server_options options;
    char address[ADDRESS_BYTES];
    bool plain_http;
};

/* "ADDR:PORT" or "[ADDR]:PORT". */
static bool parse_listen(struct serve_arguments *arguments, const char *text)
{
    const char *colon = strrchr(text, ':');
    long port = -1;
    if (colon == NULL || !cli_parse_long(&port, colon + 1) || port < 0 || port > 65535) {
        return false;
    }
    size_t length = (size_t)(colon - text);
    if (length >= 2 && text[0] == '[' && text[length - 1] == ']') {
        text++;
        length -= 2;
    }
    if (length == 0 || length >= sizeof arguments->address) {
        return false;
    }
    memcpy(arguments->address, text, length);
    arguments->address[length] = '\0';
    arguments->options.address = arguments->address;
    arguments->options.port = (uint16_t)port;
    return true;
}

static bool is_loopback(const char *address)
{
    struct in_addr four;
    struct in6_addr six;
    if (inet_pton(AF_INET, address, &four) == 1) {
        return ntohl(four.s_addr) >> 24 == 127;
    }
    return inet_pton(AF_INET6, address, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

static bool is_numeric(const char *address)
{
    struct in6_addr any;
    return inet_pton(AF_INET, address, &any) == 1 || inet_pton(AF_INET6, address, &any) == 1;
}

/* The operator's token and public responses must not cross a network in the
 * clear by oversight. */
static bool is_exposed(const struct serve_arguments *arguments)
{
    const struct tremolo_server_options *options = &arguments->options;
    return options->tls_cert == NULL && !arguments->plain_http && !is_loopback(options->address);
}

/* What the options must be together: an exit code, after saying why. */
static int check(const struct serve_arguments *arguments)
{
    const struct tremolo_server_options *options = &arguments->options;
    if (!is_numeric(options->address)) {
        return cli_fail(CLI_USAGE, "serve",
                        "--listen needs a numeric address, like 127.0.0.1 or [::1], not %s",
                        options->address);
    }
    if ((options->tls_cert == NULL) != (options->tls_key == NULL)) {
        return cli_fail(CLI_USAGE, "serve",
                        "--tls-cert and --tls-key go together, and --tls-%s is not given",
                        options->tls_key == NULL ? "key" : "cert");
    }
    if (is_exposed(arguments)) {
        return cli_fail(CLI_USAGE, "serve",
                        "%s can be reached from outside: give --tls-cert and --tls-key, or "
                        "--plain-http behind a proxy that does TLS",
                        options->address);
    }
    return CLI_DONE;
}

static bool parse_count(unsigned *count, const char *text, long most)
{
    long value = 0;
    if (!cli_parse_long(&value, text) || value < 1 || value > most) {
        return false;
    }
    *count = (unsigned)value;
    return true;
}

static const struct option long_options[] = {
    {"data", required_argument, NULL, 'd'},
    {"listen", required_argument, NULL, 'l'},
    {"tls-cert", required_argument, NULL, 'c'},
    {"tls-key", required_argument, NULL, 'k'},
    {"plain-http", no_argument, NULL, 'p'},
    {"token-file", required_argument, NULL, 't'},
    {"threads", required_argument, NULL, 'n'},
    {"connections", required_argument, NULL, 'm'},
    {"timeout", required_argument, NULL, 's'},
    {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},
    STORE_LONG_OPTIONS,
    {NULL, 0, NULL, 0},
};

/* One option; false when its value is no good. */
static bool take_option(struct serve_arguments *arguments, int option)
{
    struct tremolo_server_options *options = &arguments->options;
    bool known = false;
    bool good = store_option(&options->store, option, optarg, &known);
    if (known) {
        return good;
    }
    switch (option) {
    case 'd': options->data = optarg; return true;
    case 'l': return parse_listen(arguments, optarg);
    case 'c': options->tls_cert = optarg; return true;
    case 'k': options->tls_key = optarg; return true;
    case 'p': arguments->plain_http = true; return true;
    case 't': options->token_file = optarg; return true;
    case 'n': return parse_count(&options->threads, optarg, 64);
    case 'm': return parse_count(&options->connections, optarg, 1000000);
    case 's': return parse_count(&options->request_seconds, optarg, 3600);
    case 'q': options->log = NULL; return true;
    default: return false;
    }
}

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

int cli_serve(int argc, char **argv)
{
    struct serve_arguments arguments = {.options = TREMOLO_SERVER_DEFAULTS};
    struct tremolo_server *server = NULL;
    char words[512] = "";
    sigset_t signals;
    int option;
    arguments.options.log = stderr;
    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (option == 'h') {
            (void)fputs(usage, stdout);
            return CLI_DONE;
        }
        if (option == '?') {
            return cli_bad_option("serve", argv, long_options);
        }
        if (!take_option(&arguments, option)) {
            return cli_fail(CLI_USAGE, "serve", "'%s' is not a value for that option", optarg);
        }
    }
    if (arguments.options.data == NULL || optind != argc) {
        return cli_fail(CLI_USAGE, "serve", "--data DIR is needed, and nothing but options");
    }
    int code = check(&arguments);
    if (code != CLI_DONE) {
        return code;
    }
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGHUP);
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    if (tremolo_server_start(&server, &arguments.options, words, sizeof words) != TREMOLO_OK) {
        return cli_fail(CLI_FAILED, "serve", "%s", words);
    }
    announce(server, &arguments.options);
    wait_for_end(server, &signals);
    tremolo_server_stop(server);
    return CLI_DONE;
}
