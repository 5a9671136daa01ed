/* index.c -- open addressing with linear probing; nothing is ever removed. */
#include "index.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL_CAPACITY = 2048 };

void index_free(struct index *index)
{
    free(index->slot);
    index->slot = NULL;
    index->capacity = 0;
    index->count = 0;
}

void index_clear(struct index *index)
{
    /* One large group must not make every later clearing expensive. */
    if (index->capacity > SMALL_CAPACITY) {
        index_free(index);
    } else if (index->count > 0) {
        memset(index->slot, 0, index->capacity * sizeof *index->slot);
    }
    index->count = 0;
}

enum tremolo_status index_reserve(struct index *index, size_t more)
{
    size_t wanted = index->count + more;
    size_t capacity = index->capacity < 64 ? 64 : index->capacity;
    while (capacity / 4 * 3 < wanted) {
        capacity *= 2;
    }
    if (capacity == index->capacity) {
        return TREMOLO_OK;
    }
    struct index grown = {.capacity = capacity};
    grown.slot = calloc(capacity, sizeof *grown.slot);
    if (grown.slot == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    for (size_t i = 0; i < index->capacity; i++) {
        if (index->slot[i].place != 0) {
            index_add(&grown, index->slot[i].hash, index->slot[i].place);
        }
    }
    free(index->slot);
    index->slot = grown.slot;
    index->capacity = capacity;
    return TREMOLO_OK;
}

void index_add(struct index *index, uint64_t hash, uint64_t place)
{
    size_t mask = index->capacity - 1;
    size_t at = (size_t)hash & mask;
    while (index->slot[at].place != 0) {
        at = (at + 1) & mask;
    }
    index->slot[at] = (struct index_slot){hash, place};
    index->count++;
}

void index_prefetch(const struct index *index, uint64_t hash)
{
    if (index->capacity > 0) {
        __builtin_prefetch(&index->slot[hash & (index->capacity - 1)]);
    }
}

uint64_t index_hash(const uint8_t secret[INDEX_KEY_BYTES], const void *key, size_t length)
{
    uint8_t digest[crypto_shorthash_BYTES];
    uint64_t hash;
    (void)crypto_shorthash(digest, key, length, secret);
    memcpy(&hash, digest, sizeof hash);
    return hash;
}

uint64_t index_find(const struct index *index, uint64_t hash, size_t *cursor)
{
    size_t mask = index->capacity - 1;
    for (; *cursor < index->capacity; ++*cursor) {
        const struct index_slot *slot = &index->slot[(hash + *cursor) & mask];
        if (slot->place == 0) {
            break;
        }
        if (slot->hash == hash) {
            ++*cursor;
            return slot->place;
        }
    }
    return 0;
}
