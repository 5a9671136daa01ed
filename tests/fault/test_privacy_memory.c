/* test_privacy_memory.c -- every allocation of the loss distributions fails once.
 *
 * This program's own malloc and calloc stand before the C library's and refuse
 * the n-th request while armed. The call must then answer NO_MEMORY, leave its
 * output as it was and keep nothing. Composition is left out: FFTW ends the
 * process by itself when its planner runs out of memory. */
#include "accountant.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* AddressSanitizer brings its own malloc and does not share the place. */
#if defined(__SANITIZE_ADDRESS__)
#define INTERPOSED 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define INTERPOSED 0
#endif
#endif
#ifndef INTERPOSED
#define INTERPOSED 1
#endif

#if INTERPOSED

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void __libc_free(void *block);

static int armed;
static int countdown;
static int live;

void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void free(void *block);

static int refuse(void)
{
    return armed && countdown-- == 0;
}

void *malloc(size_t size)
{
    if (refuse()) {
        return NULL;
    }
    live += armed;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    if (refuse()) {
        return NULL;
    }
    live += armed;
    return __libc_calloc(count, size);
}

void free(void *block)
{
    live -= armed && block != NULL;
    __libc_free(block);
}

/* Fail request 0, 1, 2, ... until the call succeeds; returns how many failed. */
static int fail_each(enum tremolo_status (*make)(struct tremolo_pld **pld))
{
    for (int n = 0; n < 100; n++) {
        struct tremolo_pld *pld = NULL;
        live = 0;
        countdown = n;
        armed = 1;
        enum tremolo_status status = make(&pld);
        int kept = live;
        armed = 0;
        if (status == TREMOLO_OK) {
            assert_non_null(pld);
            tremolo_pld_free(pld);
            return n;
        }
        assert_int_equal(status, TREMOLO_NO_MEMORY);
        assert_null(pld);
        assert_int_equal(kept, 0);
    }
    fail_msg("never succeeded");
    return -1;
}

static enum tremolo_status make_modulated(struct tremolo_pld **pld)
{
    return tremolo_pld_modulated(pld, 1.0, 4.0, 0.2, 16);
}

static enum tremolo_status make_masses(struct tremolo_pld **pld)
{
    static const double mass[2] = {0.25, 0.75};
    return tremolo_pld_from_masses(pld, mass, 2, 0, 0.5, 0.0);
}

static void each_allocation_may_fail(void **state)
{
    (void)state;
    /* The object, and masses and logarithms of both sides; one scratch array. */
    assert_int_equal(fail_each(make_masses), 5);
    assert_int_equal(fail_each(make_modulated), 6);
}

#else

/* What is left to check here is what the sanitizer sees: nothing leaks. */
static void each_allocation_may_fail(void **state)
{
    (void)state;
    struct tremolo_pld *pld = NULL;
    assert_int_equal(tremolo_pld_modulated(&pld, 1.0, 4.0, 0.2, 16), TREMOLO_OK);
    tremolo_pld_free(pld);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_allocation_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
