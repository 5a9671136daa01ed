/* store_options.h -- the options that lead to a clustered store, for every command
 * that takes them. */
#ifndef TREMOLO_CLI_STORE_OPTIONS_H
#define TREMOLO_CLI_STORE_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>

#include "tremolo_server.h"

enum {
    STORE_OPTION_URL = 1000,
    STORE_OPTION_CREDS,
    STORE_OPTION_CA,
    STORE_OPTION_CERT,
    STORE_OPTION_KEY,
    STORE_OPTION_SHARDS,
    STORE_OPTION_REPLICAS,
};

/* For a table of long options. */
#define STORE_LONG_OPTIONS                                                                         \
    {"store", required_argument, NULL, STORE_OPTION_URL},                                          \
        {"store-creds", required_argument, NULL, STORE_OPTION_CREDS},                              \
        {"store-ca", required_argument, NULL, STORE_OPTION_CA},                                    \
        {"store-cert", required_argument, NULL, STORE_OPTION_CERT},                                \
        {"store-key", required_argument, NULL, STORE_OPTION_KEY},                                  \
        {"shards", required_argument, NULL, STORE_OPTION_SHARDS},                                  \
    {                                                                                              \
        "replicas", required_argument, NULL, STORE_OPTION_REPLICAS                                 \
    }

#define STORE_USAGE                                                                                \
    "  --store-creds FILE   credentials of NATS, or one line user:password\n"                      \
    "  --store-ca FILE      who signs the store's certificate, PEM; asks for TLS\n"                \
    "  --store-cert FILE    our certificate toward the store, PEM\n"                               \
    "  --store-key FILE     its private key, PEM\n"

/* One of them; false when its value is no good. *known: it is one. */
bool store_option(struct tremolo_store_options *store, int option, const char *value, bool *known);

#endif
