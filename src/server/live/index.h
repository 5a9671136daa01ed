/* index.h -- which places of the log may hold a key.
 *
 * The exact dedup asks for every arriving report whether its id is in the
 * log. The index answers with candidate places from a 64-bit keyed hash;
 * the caller compares with the bytes that are there, so an answer is never a
 * guess. 16 bytes a slot, at most three quarters full. The hash is keyed
 * with fresh randomness, so ids that collide cannot be chosen.
 *
 * An index that grows does not move at once: with ten million keys every device would
 * wait for that. The old slots stay until then: each key that is added moves a
 * few of them over, and until all are there a search looks at both.
 *
 * A place is position << 24 | offset, as segments stay below 2^24 bytes. */
#ifndef SERVER_INDEX_H
#define SERVER_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "tremolo_status.h"

struct index_slot {
    uint64_t hash;
    uint64_t place; /* 0: free */
};

struct index {
    struct index_slot *slot;
    size_t capacity; /* a power of two, or 0 */
    size_t count;
    struct index_slot *old; /* while it moves: where the keys were, */
    size_t old_capacity;
    size_t moved; /* and how many of these slots have been moved */
};

enum { INDEX_KEY_BYTES = 16 };

static inline uint64_t index_place(uint64_t position, uint32_t offset)
{
    return position << 24 | offset;
}

/* Zero an index to begin; it holds no memory then. */
void index_free(struct index *index);
void index_clear(struct index *index);

/* Room for `more` keys without another allocation. Its time does not grow with the index, but
 * for an index that must grow again before all keys have moved: then the rest move now. */
TREMOLO_MUST_USE enum tremolo_status index_reserve(struct index *index, size_t more);

/* Never fails after a sufficient index_reserve. Equal keys may be added. */
void index_add(struct index *index, uint64_t hash, uint64_t place);

uint64_t index_hash(const uint8_t secret[INDEX_KEY_BYTES], const void *key, size_t length);

/* The slots of this hash will be asked for soon. */
void index_prefetch(const struct index *index, uint64_t hash);

/* The next place under this hash, 0 when there is none. *cursor starts at 0
 * and belongs to this search. */
uint64_t index_find(const struct index *index, uint64_t hash, size_t *cursor);

#endif
