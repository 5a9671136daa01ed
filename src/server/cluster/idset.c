/* idset.c -- open addressing with linear probing; nothing is ever removed. */
#include "idset.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "index.h"

static const uint8_t zero[IDSET_NAME_BYTES];

static bool is_free(const uint8_t *slot)
{
    return memcmp(slot, zero, IDSET_NAME_BYTES) == 0;
}

uint64_t idset_hash(const struct idset *set, const uint8_t name[IDSET_NAME_BYTES])
{
    return index_hash(set->key, name, IDSET_NAME_BYTES);
}

void idset_prefetch(const struct idset *set, uint64_t hash)
{
    if (set->capacity > 0) {
        __builtin_prefetch(set->slot[(size_t)hash & (set->capacity - 1)]);
    }
}

/* The slot that holds the name, or the free one where it belongs. */
static size_t find(const struct idset *set, const uint8_t *name, uint64_t hash)
{
    size_t at = (size_t)hash & (set->capacity - 1);
    while (!is_free(set->slot[at]) && memcmp(set->slot[at], name, IDSET_NAME_BYTES) != 0) {
        at = (at + 1) & (set->capacity - 1);
    }
    return at;
}

void idset_free(struct idset *set)
{
    free(set->slot);
    *set = (struct idset){0};
}

enum tremolo_status idset_reserve(struct idset *set, size_t more)
{
    size_t wanted = set->count + more;
    size_t capacity = set->capacity < 64 ? 64 : set->capacity;
    if (more > SIZE_MAX / 4 / IDSET_NAME_BYTES || wanted > SIZE_MAX / 4 / IDSET_NAME_BYTES) {
        return TREMOLO_NO_MEMORY;
    }
    while (capacity / 4 * 3 < wanted) {
        capacity *= 2;
    }
    if (capacity == set->capacity) {
        return TREMOLO_OK;
    }
    struct idset grown = {.capacity = capacity, .count = set->count, .has_zero = set->has_zero};
    grown.slot = calloc(capacity, sizeof *grown.slot);
    if (grown.slot == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    /* With the same key names move in two runs through the new slots, as memory likes it. */
    if (set->capacity == 0) {
        randombytes_buf(grown.key, sizeof grown.key);
    } else {
        memcpy(grown.key, set->key, sizeof grown.key);
    }
    for (size_t i = 0; i < set->capacity; i++) {
        if (!is_free(set->slot[i])) {
            const uint8_t *name = set->slot[i];
            memcpy(grown.slot[find(&grown, name, idset_hash(&grown, name))], name,
                   IDSET_NAME_BYTES);
        }
    }
    free(set->slot);
    *set = grown;
    return TREMOLO_OK;
}

bool idset_has(const struct idset *set, const uint8_t name[IDSET_NAME_BYTES], uint64_t hash)
{
    if (is_free(name)) {
        return set->has_zero;
    }
    return set->capacity > 0 && !is_free(set->slot[find(set, name, hash)]);
}

bool idset_add(struct idset *set, const uint8_t name[IDSET_NAME_BYTES], uint64_t hash)
{
    if (is_free(name)) {
        bool fresh = !set->has_zero;
        set->has_zero = true;
        return fresh;
    }
    size_t at = find(set, name, hash);
    if (!is_free(set->slot[at])) {
        return false;
    }
    memcpy(set->slot[at], name, IDSET_NAME_BYTES);
    set->count++;
    return true;
}
