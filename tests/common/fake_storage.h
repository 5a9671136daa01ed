/* fake_storage.h -- ledger storage that can lose its power at any byte, and
 * with calls that can be made to fail one by one.
 *
 * The power goes once `power` bytes have been written; moving the counter
 * counts as one byte. From then on every call fails, as nothing runs on a
 * dead device; fake_storage_restart() brings it back. What a torn write
 * leaves behind its last byte is either the old contents or, as flash does
 * it, erased bytes.
 *
 * The storage also watches the buffer a report will be handed out in: bytes
 * in it before the last write is durable mean that the ledger charges late. */
#ifndef TREMOLO_TESTS_FAKE_STORAGE_H
#define TREMOLO_TESTS_FAKE_STORAGE_H

#include <limits.h>
#include <string.h>

#include "tremolo_device.h"

enum { FAKE_SLOTS = 2 * TREMOLO_MAX_STUDIES, FAKE_SLOT_BYTES = sizeof(struct tremolo_slot) };

struct fake_storage {
    uint8_t slot[FAKE_SLOTS][FAKE_SLOT_BYTES];
    uint32_t counter;
    unsigned long power;   /* bytes left before the cut */
    unsigned long written; /* bytes written so far */
    int is_off;
    int tearing_erases;
    unsigned calls;   /* of any kind */
    unsigned failing; /* the call with this number fails; 0: none */
    const uint8_t *watched;
    size_t watched_length;
    int was_early;
};

static inline void fake_storage_init(struct fake_storage *storage, int fill)
{
    memset(storage, 0, sizeof *storage);
    memset(storage->slot, fill, sizeof storage->slot);
    storage->power = ULONG_MAX;
}

static inline void fake_storage_restart(struct fake_storage *storage)
{
    storage->is_off = 0;
    storage->power = ULONG_MAX;
}

static inline int fake_storage_call_fails(struct fake_storage *storage)
{
    storage->calls++;
    return storage->is_off || storage->calls == storage->failing;
}

static inline void fake_storage_watch(struct fake_storage *storage)
{
    /* All zero: the first byte is, and each equals the next. */
    const uint8_t *bytes = storage->watched;
    if (storage->watched_length > 0 &&
        (bytes[0] != 0 || memcmp(bytes, bytes + 1, storage->watched_length - 1) != 0)) {
        storage->was_early = 1;
    }
}

/* How much of `wanted` the power still lasts for. */
static inline size_t fake_storage_spend(struct fake_storage *storage, size_t wanted)
{
    size_t granted = wanted < storage->power ? wanted : (size_t)storage->power;
    storage->is_off = granted < wanted;
    if (storage->power != ULONG_MAX) {
        storage->power -= granted;
    }
    storage->written += granted;
    return granted;
}

static inline int fake_storage_read(struct fake_storage *storage, unsigned slot, uint8_t *bytes,
                                    size_t length)
{
    if (fake_storage_call_fails(storage) || slot >= FAKE_SLOTS || length > FAKE_SLOT_BYTES) {
        return -1;
    }
    memcpy(bytes, storage->slot[slot], length);
    return 0;
}

static inline int fake_storage_write(struct fake_storage *storage, unsigned slot,
                                     const uint8_t *bytes, size_t length)
{
    fake_storage_watch(storage);
    if (fake_storage_call_fails(storage) || slot >= FAKE_SLOTS || length > FAKE_SLOT_BYTES) {
        return -1;
    }
    if (storage->tearing_erases && storage->power != 0) {
        memset(storage->slot[slot], 0xff, FAKE_SLOT_BYTES);
    }
    memcpy(storage->slot[slot], bytes, fake_storage_spend(storage, length));
    return storage->is_off ? -1 : 0;
}

static inline int fake_storage_counter(struct fake_storage *storage, uint32_t *value)
{
    if (fake_storage_call_fails(storage)) {
        return -1;
    }
    *value = storage->counter;
    return 0;
}

static inline int fake_storage_advance(struct fake_storage *storage, uint32_t value)
{
    fake_storage_watch(storage);
    if (fake_storage_call_fails(storage) || fake_storage_spend(storage, 1) == 0) {
        return -1;
    }
    storage->counter = value;
    return 0;
}

#endif
