/* sources.h -- how many reports one source may send to open studies in a minute.
 *
 *     struct sources *sources = sources_new(600);              reports a minute
 *     uint64_t key = sources_key(sources, (struct sockaddr *)&address);
 *     size_t taken = sources_take(sources, key, 20, clock_us(), &wait_seconds);
 *
 * A source is an IPv4 address or an IPv6 network of 64 bits, which is what one subscriber has.
 * What it has used is one time: the one at which its quota is whole again. The table has a fixed
 * size; where it is full the source with the quota that is whole soonest is forgotten. Addresses
 * are kept as keyed hashes, in memory only. Any thread may call. */
#ifndef SERVICE_SOURCES_H
#define SERVICE_SOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct sources;

enum { SOURCES_WAYS = 4, SOURCES_SETS = 16384 }; /* 65,536 sources of 16 bytes */

/* NULL without memory. */
struct sources *sources_new(unsigned quota);
void sources_free(struct sources *sources); /* NULL is fine */

/* The key of an address; of what is neither IPv4 nor IPv6, one for all. */
uint64_t sources_key(const struct sources *sources, const struct sockaddr *address);

/* A numeric IPv4 or IPv6 address as a socket takes it: its length, or 0 when the text is none. */
socklen_t sources_address(struct sockaddr_storage *address, const char *text, uint16_t port);

/* The address in a header that a proxy wrote: the last of a list, with or without port and brackets.
 * False when it is none. */
bool sources_parse(uint64_t *key, const struct sources *sources, const char *header);

/* How many of `wanted` reports the source may send now; they are charged. When that is fewer,
 * *wait_seconds says when the others fit, or as many as ever fit at once. */
size_t sources_take(struct sources *sources, uint64_t key, size_t wanted, int64_t now_us,
                    unsigned *wait_seconds);

/* So many that were taken turned out to add nothing to a study: they are charged no longer. */
void sources_give_back(struct sources *sources, uint64_t key, size_t count);

#endif
