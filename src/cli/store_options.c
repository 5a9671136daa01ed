/* store_options.c -- the address of a clustered store. */
#include "store_options.h"

#include <string.h>

const char *store_take_url(void *url, const char *text)
{
    memcpy(url, &text, sizeof text);
    return strncmp(text, "nats://", 7) == 0 || strncmp(text, "tls://", 6) == 0
               ? NULL
               : "nats://HOST:PORT or tls://HOST:PORT, with more nodes after commas";
}
