/* idset.h -- an exact set of 16-byte names, for the dedup of a shard.
 *
 * The whole name is kept, so an answer needs no look into the log: 16 bytes a
 * slot, at most three quarters full. Slots are chosen by a keyed hash with
 * fresh randomness, so names that collide cannot be chosen. */
#ifndef SERVER_IDSET_H
#define SERVER_IDSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tremolo_status.h"

enum { IDSET_NAME_BYTES = 16 };

struct idset {
    uint8_t (*slot)[IDSET_NAME_BYTES];
    size_t capacity; /* a power of two, or 0 */
    size_t count;
    bool has_zero; /* zeros mark a free slot, so that name is kept here */
    uint8_t key[16];
};

/* Zero a set to begin. */
void idset_free(struct idset *set);

/* Room for `more` names without another allocation. */
TREMOLO_MUST_USE enum tremolo_status idset_reserve(struct idset *set, size_t more);

/* Where a name belongs, good until the next reservation. The set is far larger than any cache:
 * a caller with several names prefetches all their places before it looks. */
uint64_t idset_hash(const struct idset *set, const uint8_t name[IDSET_NAME_BYTES]);
void idset_prefetch(const struct idset *set, uint64_t hash);

bool idset_has(const struct idset *set, const uint8_t name[IDSET_NAME_BYTES], uint64_t hash);

/* True when the name is new. Room must have been reserved. */
bool idset_add(struct idset *set, const uint8_t name[IDSET_NAME_BYTES], uint64_t hash);

#endif
