/* index.c -- open addressing with linear probing; nothing is ever removed.
 *
 * Ids are kept as long as their study, so there are no deletions, and a free slot ends every search. Of a key
 * only 64 bits of a keyed hash are kept with its place: the caller compares the stored bytes, so a
 * collision costs a read and never a wrong answer.
 *
 * While an index grows, a key may be in the old slots or in the new ones. Slots of the old table below
 * `moved` have been copied and are skipped in a search, so no key is found twice.
 *
 * The holder of the writer's write_lock alone uses an index. */
#include "index.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    SMALL_CAPACITY = 2048,
    LARGE_CAPACITY = 1 << 19, /* 8 MiB */
    MOVES = 16, /* slots moved for each key added: long done before it must grow again */
};

/* Empty slots. A key may be anywhere among hundreds of megabytes: in small pages finding the page
 * takes longer than reading it. */
static struct index_slot *make_slots(size_t capacity)
{
    struct index_slot *slots = calloc(capacity, sizeof *slots);
#ifdef MADV_HUGEPAGE
    if (slots != NULL && capacity >= LARGE_CAPACITY) {
        uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
        uintptr_t skipped = (page - (uintptr_t)slots % page) % page;
        /* A wish: where it is not granted nothing changes but the time. */
        (void)madvise((uint8_t *)slots + skipped, capacity * sizeof *slots - skipped,
                      MADV_HUGEPAGE);
    }
#endif
    return slots;
}

/* All keys have moved to the new slots. */
static void forget_old(struct index *index)
{
    free(index->old);
    index->old = NULL;
    index->old_capacity = 0;
    index->moved = 0;
}

void index_free(struct index *index)
{
    forget_old(index);
    free(index->slot);
    *index = (struct index){0};
}

void index_clear(struct index *index)
{
    /* One large group must not make every later clearing expensive. */
    if (index->capacity > SMALL_CAPACITY) {
        index_free(index);
    } else if (index->count > 0) {
        forget_old(index);
        memset(index->slot, 0, index->capacity * sizeof *index->slot);
    }
    index->count = 0;
}

/* The caller has made sure that a slot is free, so the loop ends. */
static void put(struct index *index, const struct index_slot *key)
{
    size_t mask = index->capacity - 1;
    size_t at = (size_t)key->hash & mask;
    while (index->slot[at].place != 0) {
        at = (at + 1) & mask;
    }
    index->slot[at] = *key;
}

/* Old slots are left as they are, because searches run along them. */
static void move_slots(struct index *index, size_t count)
{
    size_t left = index->old_capacity - index->moved;
    size_t end = index->moved + (count < left ? count : left);
    for (; index->moved < end; index->moved++) {
        if (index->old[index->moved].place != 0) {
            put(index, &index->old[index->moved]);
        }
    }
    if (index->moved == index->old_capacity) {
        forget_old(index);
    }
}

/* Grows by doubling. The old slots stay; index_add() moves a few of them each time, so that no
 * report waits for all. */
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
    struct index_slot *grown = make_slots(capacity);
    if (grown == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    move_slots(index, SIZE_MAX);
    index->old = index->slot;
    index->old_capacity = index->capacity;
    index->slot = grown;
    index->capacity = capacity;
    return TREMOLO_OK;
}

/* MOVES slots move with each key, so a table has moved long before the next one is full. */
void index_add(struct index *index, uint64_t hash, uint64_t place)
{
    put(index, &(struct index_slot){hash, place});
    index->count++;
    if (index->old != NULL) {
        move_slots(index, MOVES);
    }
}

/* A key may be anywhere in hundreds of megabytes: asked for early, its slot has come from memory
 * when it is needed. */
void index_prefetch(const struct index *index, uint64_t hash)
{
    if (index->capacity > 0) {
        __builtin_prefetch(&index->slot[hash & (index->capacity - 1)]);
    }
    if (index->old_capacity > 0) {
        __builtin_prefetch(&index->old[hash & (index->old_capacity - 1)]);
    }
}

/* SipHash under a key of this process: without it, ids that collide cannot be made. */
uint64_t index_hash(const uint8_t secret[INDEX_KEY_BYTES], const void *key, size_t length)
{
    uint8_t digest[crypto_shorthash_BYTES];
    uint64_t hash;
    (void)crypto_shorthash(digest, key, length, secret);
    memcpy(&hash, digest, sizeof hash);
    return hash;
}

/* Counts `*cursor` up from `first` along the run of slots where the hash belongs, past the
 * slots before `from`. */
static inline uint64_t search(const struct index_slot *slots, size_t capacity, size_t from,
                              uint64_t hash, size_t first, size_t *cursor)
{
    for (; *cursor - first < capacity; ++*cursor) {
        size_t at = (size_t)(hash + *cursor - first) & (capacity - 1);
        if (slots[at].place == 0) {
            break;
        }
        if (slots[at].hash == hash && at >= from) {
            ++*cursor;
            return slots[at].place;
        }
    }
    return 0;
}

/* First the new slots, then the old ones that have not moved. The cursor counts through both. */
uint64_t index_find(const struct index *index, uint64_t hash, size_t *cursor)
{
    uint64_t place = 0;
    if (*cursor < index->capacity) {
        place = search(index->slot, index->capacity, 0, hash, 0, cursor);
    }
    if (place == 0 && index->old != NULL) {
        /* What is beyond the capacity counts along the old slots. */
        *cursor = *cursor < index->capacity ? index->capacity : *cursor;
        place =
            search(index->old, index->old_capacity, index->moved, hash, index->capacity, cursor);
    }
    return place;
}
