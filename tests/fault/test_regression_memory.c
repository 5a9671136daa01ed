/* test_regression_memory.c -- every allocation of the regression room fails once.
 *
 * This program's own calloc stands before the C library's and refuses the n-th
 * request. Each call must then answer NO_MEMORY (or have succeeded without that
 * block), leave its outputs as they were, and leak nothing: what was handed out and
 * not freed is counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fast_reports.h"
#include "made_ballots.h"

enum { D = 3, LIMIT = 2000 };

extern void *__libc_calloc(size_t count, size_t size);
extern void __libc_free(void *block);

/* Sanitizers bring their own allocator, which must not be replaced. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) ||                         \
    __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

static int armed;
static int countdown;
static size_t live_count;

#ifndef SANITIZED
static void *live[4 * LIMIT];

void *calloc(size_t count, size_t size);
void free(void *block);

void *calloc(size_t count, size_t size)
{
    if (!armed) {
        return __libc_calloc(count, size);
    }
    if (countdown-- == 0) {
        return NULL;
    }
    void *block = __libc_calloc(count, size);
    live[live_count++] = block;
    return block;
}

void free(void *block)
{
    for (size_t i = 0; armed && i < live_count; i++) {
        if (live[i] == block) {
            live[i] = live[--live_count];
            break;
        }
    }
    __libc_free(block);
}
#endif

static struct fast_fold fold;
static struct tremolo_debiased *shared;

static struct tremolo_sample_release make_release(void)
{
    static double factor[D * D];
    static const double beta[D] = {0.5, -0.3, 0.2};
    fast_equicorrelation(factor, D, 0.3);
    struct fast_study study = {D, 640, factor, NULL, beta, 0.1, 0.4, 0.5};
    struct fast_random random;
    fast_seed(&random, 8);
    fast_run(&fold, &study, &random);
    return fast_release(&study);
}

static struct tremolo_sample_release release;

/* One attempt of each interface; `sentinel` tells whether outputs were touched. */
static enum tremolo_status try_debias(int *touched)
{
    struct tremolo_debiased *evidence = NULL;
    enum tremolo_status status = tremolo_debias_new(&evidence, fold.view, &release);
    *touched = evidence != NULL;
    tremolo_debias_free(evidence);
    return status;
}

static enum tremolo_status try_fit(int *touched)
{
    double beta[D] = {-77.0, -77.0, -77.0};
    struct tremolo_fit fit = {.intercept = -77.0};
    struct tremolo_fit_options options = TREMOLO_FIT_DEFAULTS;
    enum tremolo_status status = tremolo_fit(beta, &fit, shared, &options);
    *touched = beta[0] != -77.0 || beta[D - 1] != -77.0 || fit.intercept != -77.0;
    return status;
}

static enum tremolo_status try_infer(int *touched)
{
    struct tremolo_coefficient rows[D + 1] = {{.estimate = -77.0}};
    enum tremolo_status status = tremolo_infer(rows, shared, NULL, 0.95);
    *touched = rows[0].estimate != -77.0;
    return status;
}

static enum tremolo_status try_pool(int *touched)
{
    struct tremolo_debiased *pool = NULL;
    const struct tremolo_debiased *rounds[2] = {shared, shared};
    enum tremolo_status status = tremolo_debias_pool(&pool, rounds, 2);
    *touched = pool != NULL;
    tremolo_debias_free(pool);
    return status;
}

static enum tremolo_status silent_round(void *context, size_t round, const double *beta,
                                        const double *V, size_t vectors,
                                        struct tremolo_debiased **evidence)
{
    (void)context;
    (void)round;
    (void)beta;
    (void)V;
    (void)vectors;
    return tremolo_debias_new(evidence, fold.view, &release);
}

static enum tremolo_status try_iterate(int *touched)
{
    double last[D] = {-77.0};
    struct tremolo_iterate_options options = {.rounds = 2, .vectors = 1, .step = 0.5};
    enum tremolo_status status = tremolo_iterate(last, NULL, D, &options, silent_round, NULL);
    *touched = last[0] != -77.0;
    return status;
}

static enum tremolo_status try_ols(int *touched)
{
    static const double X[] = {1, 2, 4, 3, 5, 9, 2, 8, 1, 7, 3, 3};
    static const double y[] = {1, 3, 2, 5};
    double beta[D] = {-77.0};
    enum tremolo_status status = tremolo_ols(beta, NULL, NULL, X, y, 4, D, false);
    *touched = beta[0] != -77.0;
    return status;
}

static struct made_ballots ballots;
static struct tremolo_ballot *voted;

static enum tremolo_status try_ballot(int *touched)
{
    struct tremolo_ballot *taken = NULL;
    enum tremolo_status status = tremolo_ballot_new(&taken, ballots.sums, &ballots.release);
    *touched = taken != NULL;
    tremolo_ballot_free(taken);
    return status;
}

static enum tremolo_status try_ballot_fit(int *touched)
{
    double beta[D] = {-77.0};
    struct tremolo_ballot_fit fit;
    enum tremolo_status status = tremolo_ballot_fit(beta, &fit, voted, TREMOLO_METHOD_AUTO, 0.95);
    *touched = beta[0] != -77.0;
    return status;
}

static enum tremolo_status try_ballot_infer(int *touched)
{
    struct tremolo_coefficient rows[D + 1] = {{.estimate = -77.0}};
    enum tremolo_status status = tremolo_ballot_infer(rows, voted, NULL, 0.95);
    *touched = rows[0].estimate != -77.0;
    return status;
}

static void fail_each(enum tremolo_status (*attempt)(int *))
{
    int refused = 0;
    for (int n = 0; n < LIMIT; n++) {
        int touched = 0;
        countdown = n;
        live_count = 0;
        armed = 1;
        enum tremolo_status status = attempt(&touched);
        armed = 0;
        assert_int_equal(live_count, 0);
        if (status == TREMOLO_OK) {
            assert_true(touched);
            if (countdown >= 0) {
                assert_true(refused > 0);
                return; /* no request was refused: all have been tried */
            }
            continue;
        }
        refused++;
        assert_int_equal(status, TREMOLO_NO_MEMORY);
        assert_false(touched);
    }
    fail_msg("more than %d allocations", LIMIT);
}

static void test_every_allocation(void **state)
{
    (void)state;
#ifdef SANITIZED
    skip();
#endif
    release = make_release();
    assert_int_equal(tremolo_debias_new(&shared, fold.view, &release), TREMOLO_OK);
    fail_each(try_debias);
    fail_each(try_fit);
    fail_each(try_infer);
    fail_each(try_pool);
    fail_each(try_iterate);
    fail_each(try_ols);
    struct made_population made = made_population(D, false, 3200, 1.0);
    struct tremolo_random random = tremolo_random_from(1, 1);
    made_draw(&ballots, &made, &random);
    assert_int_equal(tremolo_ballot_new(&voted, ballots.sums, &ballots.release), TREMOLO_OK);
    fail_each(try_ballot);
    fail_each(try_ballot_fit);
    fail_each(try_ballot_infer);
    tremolo_ballot_free(voted);
    tremolo_debias_free(shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_allocation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
