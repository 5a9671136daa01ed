/* test_privacy_memory.c -- every allocation of the loss distributions fails once.
 *
 * This program's own malloc and calloc replace the C library's and refuse the n-th request while
 * armed. The call must then answer NO_MEMORY, leave its output as it was and keep nothing. */
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
static int fail_each(enum tremolo_status (*ask)(struct tremolo_certified *delta))
{
    for (int n = 0; n < 100; n++) {
        struct tremolo_certified delta = {1.0, 2.0, 3.0};
        live = 0;
        countdown = n;
        armed = 1;
        enum tremolo_status status = ask(&delta);
        int kept = live;
        armed = 0;
        assert_int_equal(kept, 0);
        if (status == TREMOLO_OK) {
            assert_true(delta.lower <= delta.upper && delta.upper < 1.0);
            return n;
        }
        assert_int_equal(status, TREMOLO_NO_MEMORY);
        assert_true(delta.lower == 1.0 && delta.value == 2.0 && delta.upper == 3.0);
    }
    fail_msg("never succeeded");
    return -1;
}

static enum tremolo_status ask_ballots(struct tremolo_certified *delta)
{
    const struct tremolo_ballots ballots = {{57, UINT32_C(1) << 31}, 5};
    const struct tremolo_gaussian none = {0.0, 0.0};
    return tremolo_mixture_delta(delta, &ballots, &none, 1.0);
}

static enum tremolo_status ask_modulated(struct tremolo_certified *delta)
{
    const struct tremolo_gaussian none = {0.0, 0.0};
    struct tremolo_losses *losses = NULL;
    enum tremolo_status status = tremolo_losses_modulated(&losses, 1.0, 4.0, 0.2);
    if (status == TREMOLO_OK) {
        status = tremolo_losses_compose(losses, 16);
    }
    if (status == TREMOLO_OK) {
        status = tremolo_losses_delta(delta, losses, &none, 1.0);
    }
    tremolo_losses_free(losses);
    return status;
}

static void each_allocation_may_fail(void **state)
{
    (void)state;
    /* The object and its rows, then one for each product and each coarser grid: 5 is binary 101,
     * two squarings and two products; 16 releases are four squarings and one product, and the array
     * becomes too long once on the way. */
    assert_int_equal(fail_each(ask_ballots), 3 + 4);
    assert_true(fail_each(ask_modulated) > 3 + 5);
}

#else

/* What is left to check here is what the sanitizer sees: nothing leaks. */
static void each_allocation_may_fail(void **state)
{
    (void)state;
    struct tremolo_losses *losses = NULL;
    assert_int_equal(tremolo_losses_modulated(&losses, 1.0, 4.0, 0.2), TREMOLO_OK);
    tremolo_losses_free(losses);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_allocation_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
