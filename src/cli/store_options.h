/* store_options.h -- the options that lead to a clustered store, for every command that takes
 * them.
 *
 * serve, fold, status and study move reach the same store, so they must name it, and prove who
 * they are, in the same words. The rules are macros because a table is constant and each command
 * keeps the values in a struct of its own. */
#ifndef TREMOLO_CLI_STORE_OPTIONS_H
#define TREMOLO_CLI_STORE_OPTIONS_H

#include "options.h"
#include "server.h"

/* Rules for a table; `member` is a struct tremolo_store_options of the command's struct. */
#define STORE_RULE(type, member, ...)                                                              \
    OPTION_RULE("store", "URL", TEXT, OPTION_TO(type, member.url), .take = options_take_store,     \
                __VA_ARGS__)

/* How a connection is secured, for a table; `actions` as in option_rule.of, NULL for all. */
#define STORE_ACCESS_RULES(type, member, actions)                                                  \
    OPTION_RULE("store-ca", "FILE", TEXT, OPTION_TO(type, member.ca), .of = (actions),             \
                .help = "who signs the store's certificate, PEM; asks for TLS"),                   \
        OPTION_RULE("store-cert", "FILE", TEXT, OPTION_TO(type, member.cert), .of = (actions),     \
                    .help = "our certificate toward the store, PEM"),                              \
        OPTION_RULE("store-key", "FILE", TEXT, OPTION_TO(type, member.key), .of = (actions),       \
                    .help = "its private key, PEM")

/* Only for commands that may create a study in the store. */
#define STORE_SIZE_RULES(type, member, actions)                                                    \
    OPTION_RULE("shards", "N", COUNT, OPTION_TO(type, member.shards), OPTION_FROM(1, 1024),        \
                .of = (actions),                                                                   \
                .help = "of studies made in the store from now on, 8 unless given; a study keeps " \
                        "the number it was made with")

#endif
