/* failing_memory.h -- every allocation of a call fails once.
 *
 * The including program's malloc, calloc and realloc stand before the C
 * library's and refuse the n-th request while armed, those of jansson and
 * libcsv included. What was handed out while armed and is still there counts as
 * leaked. Sanitizers bring an allocator of their own: such programs are
 * named test_*_memory.c and left out there. */
#ifndef TREMOLO_TESTS_FAILING_MEMORY_H
#define TREMOLO_TESTS_FAILING_MEMORY_H

#include <stdbool.h>

#include "testing.h"

enum { LIMIT = 20000, LIVE = 8192 };

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void __libc_free(void *block);

static int armed;
static int countdown;
static void *live[LIVE];
static size_t live_count;

void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *block, size_t size);
void free(void *block);

static bool refused(void)
{
    return armed && countdown-- == 0;
}

static void *remember(void *block)
{
    if (armed && block != NULL && live_count < LIVE) {
        live[live_count++] = block;
    }
    return block;
}

static void forget(const void *block)
{
    for (size_t i = live_count; armed && i-- > 0;) {
        if (live[i] == block) {
            live[i] = live[--live_count];
            break;
        }
    }
}

void *malloc(size_t size)
{
    return refused() ? NULL : remember(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
    return refused() ? NULL : remember(__libc_calloc(count, size));
}

void *realloc(void *block, size_t size)
{
    if (refused()) {
        return NULL;
    }
    forget(block);
    return remember(__libc_realloc(block, size));
}

void free(void *block)
{
    forget(block);
    __libc_free(block);
}

/* Refuse request 0, 1, 2, ... until none is left to refuse. An attempt answers
 * true when it succeeded; *sound is false when it broke its contract. */
static inline void fail_each(bool (*attempt)(bool *sound))
{
    unsigned failures = 0;
    for (int n = 0; n < LIMIT; n++) {
        bool sound = false;
        live_count = 0;
        countdown = n;
        armed = 1;
        bool done = attempt(&sound);
        armed = 0;
        assert_true(sound);
        assert_int_equal(live_count, 0);
        failures += !done;
        if (countdown >= 0) {
            assert_true(done);
            assert_true(failures > 2);
            return;
        }
    }
    fail_msg("no end of allocations");
}

#endif
