/* store_options.c -- reading the options of a clustered store. */
#include "store_options.h"

#include <stddef.h>
#include <string.h>

#include "cli.h"

static bool parse_number(unsigned *number, const char *text, long most)
{
    long value = 0;
    if (!cli_parse_long(&value, text) || value < 1 || value > most) {
        return false;
    }
    *number = (unsigned)value;
    return true;
}

bool store_option(struct tremolo_store_options *store, int option, const char *value, bool *known)
{
    *known = true;
    switch (option) {
    case STORE_OPTION_URL:
        store->url = value;
        return strncmp(value, "nats://", 7) == 0 || strncmp(value, "tls://", 6) == 0;
    case STORE_OPTION_CREDS: store->creds = value; return true;
    case STORE_OPTION_CA: store->ca = value; return true;
    case STORE_OPTION_CERT: store->cert = value; return true;
    case STORE_OPTION_KEY: store->key = value; return true;
    case STORE_OPTION_SHARDS: return parse_number(&store->shards, value, 1024);
    case STORE_OPTION_REPLICAS: return parse_number(&store->replicas, value, 5);
    default: *known = false; return true;
    }
}
