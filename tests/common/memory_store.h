/* memory_store.h -- a store that keeps everything in memory, for tests that need a
 * server and no disk. Nothing is ever durable; sync always succeeds. */
#ifndef TREMOLO_TESTS_MEMORY_STORE_H
#define TREMOLO_TESTS_MEMORY_STORE_H

#include <stdlib.h>
#include <string.h>

#include "store.h"

struct memory_segment {
    uint8_t study[STORE_STUDY_BYTES];
    uint8_t *bytes;
    size_t length;
};

struct memory_store {
    struct store base;
    struct memory_segment *segment; /* position - 1 */
    size_t count;
    size_t synced;
    size_t capacity;
};

static inline struct memory_store *memory_of(struct store *store)
{
    return (struct memory_store *)(void *)store;
}

static inline enum tremolo_status memory_append(struct store *base, const uint8_t *study,
                                                const uint8_t *bytes, size_t length,
                                                uint64_t *position)
{
    struct memory_store *store = memory_of(base);
    if (store->count == store->capacity) {
        store->capacity = store->capacity == 0 ? 64 : 2 * store->capacity;
        store->segment = realloc(store->segment, store->capacity * sizeof *store->segment);
    }
    struct memory_segment *made = &store->segment[store->count];
    made->bytes = malloc(length);
    made->length = length;
    memcpy(made->bytes, bytes, length);
    memcpy(made->study, study, STORE_STUDY_BYTES);
    *position = ++store->count;
    return TREMOLO_OK;
}

/* States are only read when a server starts, and this one always starts empty. */
static inline enum tremolo_status memory_put(struct store *base, const char *kind,
                                             const uint8_t *key, size_t key_length,
                                             const uint8_t *value, size_t length)
{
    (void)base;
    (void)kind;
    (void)key;
    (void)key_length;
    (void)value;
    (void)length;
    return TREMOLO_OK;
}

static inline enum tremolo_status memory_sync(struct store *base)
{
    memory_of(base)->synced = memory_of(base)->count;
    return TREMOLO_OK;
}

static inline void memory_discard(struct store *base)
{
    struct memory_store *store = memory_of(base);
    while (store->count > store->synced) {
        free(store->segment[--store->count].bytes);
    }
}

static inline enum tremolo_status memory_read(struct store *base, uint64_t from,
                                              struct store_segment *segment)
{
    struct memory_store *store = memory_of(base);
    size_t i = from > 0 ? (size_t)from - 1 : 0;
    *segment = (struct store_segment){0};
    if (i < store->count) {
        const struct memory_segment *found = &store->segment[i];
        *segment = (struct store_segment){i + 1, found->study, found->bytes, found->length};
    }
    return TREMOLO_OK;
}

static inline enum tremolo_status memory_each(struct store *base, const char *kind,
                                              store_state_fn visit, void *context)
{
    (void)base;
    (void)kind;
    (void)visit;
    (void)context;
    return TREMOLO_OK;
}

static inline const char *memory_explain(const struct store *base)
{
    (void)base;
    return "nothing failed";
}

static inline void memory_close(struct store *base)
{
    struct memory_store *store = memory_of(base);
    while (store->count > 0) {
        free(store->segment[--store->count].bytes);
    }
    free(store->segment);
    free(store);
}

static inline struct store *memory_store_new(void)
{
    struct memory_store *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    made->base = (struct store){
        .append = memory_append,
        .put = memory_put,
        .sync = memory_sync,
        .discard = memory_discard,
        .read = memory_read,
        .each = memory_each,
        .explain = memory_explain,
        .close = memory_close,
    };
    return &made->base;
}

#endif
