/* sources.c -- a quota a source, as the time at which it is whole again.
 *
 * A report moves that time on by 60 s / quota; it is taken while the time stays within a
 * minute from now. So a source that was silent for a minute has its whole quota at once, and
 * afterwards a steady share of it, without a counter that has to be reset. */
#include "sources.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum { MINUTE_US = 60000000, SECOND_US = 1000000, ADDRESS_TEXT_MAX = 64 };

struct source {
    uint64_t key;
    int64_t whole_us; /* when its quota is whole; 0: never used */
};

struct sources {
    pthread_mutex_t lock; /* guards the table */
    double cost_us;       /* of one report */
    uint8_t hash_key[crypto_shorthash_KEYBYTES];
    struct source table[SOURCES_SETS][SOURCES_WAYS];
};

struct sources *sources_new(unsigned quota)
{
    struct sources *sources = calloc(1, sizeof *sources);
    if (sources == NULL) {
        return NULL;
    }
    (void)pthread_mutex_init(&sources->lock, NULL);
    sources->cost_us = (double)MINUTE_US / quota;
    randombytes_buf(sources->hash_key, sizeof sources->hash_key);
    return sources;
}

void sources_free(struct sources *sources)
{
    if (sources != NULL) {
        (void)pthread_mutex_destroy(&sources->lock);
        free(sources);
    }
}

/* Numeric only: a name may have several addresses, and asking for them takes time. */
socklen_t sources_address(struct sockaddr_storage *address, const char *text, uint16_t port)
{
    memset(address, 0, sizeof *address);
    struct sockaddr_in *four = (struct sockaddr_in *)(void *)address;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)(void *)address;
    if (inet_pton(AF_INET, text, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons(port);
        return sizeof *four;
    }
    if (inet_pton(AF_INET6, text, &six->sin6_addr) == 1) {
        six->sin6_family = AF_INET6;
        six->sin6_port = htons(port);
        return sizeof *six;
    }
    return 0;
}

/* ---------------------------------------------------------------- who
 *
 * An address is hashed under a key of this process, so the table tells nothing to a reader of
 * our memory image. */

static uint64_t key_of(const struct sources *sources, const void *address, size_t length)
{
    uint64_t key = 0;
    (void)crypto_shorthash((unsigned char *)&key, address, length, sources->hash_key);
    return key;
}

/* The first 64 bits: one subscriber has all addresses below them. */
static uint64_t key_of_six(const struct sources *sources, const struct in6_addr *six)
{
    return IN6_IS_ADDR_V4MAPPED(six) ? key_of(sources, six->s6_addr + 12, 4)
                                     : key_of(sources, six->s6_addr, 8);
}

uint64_t sources_key(const struct sources *sources, const struct sockaddr *address)
{
    struct sockaddr_in four;
    struct sockaddr_in6 six;
    if (address != NULL && address->sa_family == AF_INET) {
        memcpy(&four, address, sizeof four);
        return key_of(sources, &four.sin_addr, 4);
    }
    if (address != NULL && address->sa_family == AF_INET6) {
        memcpy(&six, address, sizeof six);
        return key_of_six(sources, &six.sin6_addr);
    }
    return key_of(sources, NULL, 0);
}

/* "1.2.3.4:80" and "[2001:db8::1]:80" without port and brackets. */
static void strip_port(char *text)
{
    char *colon = strchr(text, ':');
    size_t inner = strcspn(text, "]");
    if (text[0] == '[' && text[inner] == ']') {
        memmove(text, text + 1, inner - 1);
        text[inner - 1] = '\0';
    } else if (colon != NULL && strchr(colon + 1, ':') == NULL) {
        *colon = '\0';
    }
}

/* The last address of the list, because a proxy appends: what stands before it the client may
 * have written. */
bool sources_parse(uint64_t *key, const struct sources *sources, const char *header)
{
    const char *comma = strrchr(header, ',');
    const char *last = comma != NULL ? comma + 1 : header;
    char text[ADDRESS_TEXT_MAX];
    struct sockaddr_storage address;
    last += strspn(last, " \t");
    size_t length = strcspn(last, " \t");
    if (length >= sizeof text) {
        return false;
    }
    memcpy(text, last, length);
    text[length] = '\0';
    strip_port(text);
    if (sources_address(&address, text, 0) == 0) {
        return false;
    }
    *key = sources_key(sources, (const struct sockaddr *)&address);
    return true;
}

/* ---------------------------------------------------------------- how many
 *
 * One time for each source is enough: when its quota is whole again. It never has to be reset,
 * and a source that is forgotten has its whole quota again. */

/* The source's place; if it has none, the place of the source with the quota that is whole soonest, which
 * the caller takes. Lock held. */
static struct source *find(struct sources *sources, uint64_t key)
{
    struct source *set = sources->table[key % SOURCES_SETS];
    struct source *place = &set[0];
    for (size_t i = 0; i < SOURCES_WAYS; i++) {
        if (set[i].key == key && set[i].whole_us > 0) {
            return &set[i];
        }
        if (set[i].whole_us < place->whole_us) {
            place = &set[i];
        }
    }
    return place;
}

/* Any thread; the lock is held for a lookup among SOURCES_WAYS places. */
size_t sources_take(struct sources *sources, uint64_t key, size_t wanted, int64_t now_us,
                    unsigned *wait_seconds)
{
    (void)pthread_mutex_lock(&sources->lock);
    struct source *source = find(sources, key);
    if (source->key != key) {
        *source = (struct source){key, 0};
    }
    int64_t used_us = source->whole_us > now_us ? source->whole_us - now_us : 0;
    double room = used_us < MINUTE_US ? (double)(MINUTE_US - used_us) / sources->cost_us : 0.0;
    /* A millionth of a report more, so that a whole quota is not cut by rounding. */
    size_t taken = room + 1e-6 < (double)wanted ? (size_t)(room + 1e-6) : wanted;
    source->whole_us = now_us + used_us + (int64_t)((double)taken * sources->cost_us);
    if (taken < wanted) {
        double left_us = (double)(wanted - taken) * sources->cost_us;
        double ahead_us = (double)(source->whole_us - now_us - MINUTE_US) +
                          (left_us < MINUTE_US ? left_us : MINUTE_US);
        *wait_seconds = ahead_us > SECOND_US ? (unsigned)(ahead_us / SECOND_US) + 1 : 1;
    }
    (void)pthread_mutex_unlock(&sources->lock);
    return taken;
}

/* What is whole already stays so: time that has passed is not given back. */
void sources_give_back(struct sources *sources, uint64_t key, size_t count)
{
    (void)pthread_mutex_lock(&sources->lock);
    struct source *source = find(sources, key);
    if (source->key == key) {
        int64_t whole_us = source->whole_us - (int64_t)((double)count * sources->cost_us);
        source->whole_us = whole_us > 0 ? whole_us : 0;
    }
    (void)pthread_mutex_unlock(&sources->lock);
}
