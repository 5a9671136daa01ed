/* test_study_memory.c -- every allocation of the study room fails once.
 *
 * This program's own malloc, calloc and realloc stand before the C library's
 * and refuse the n-th request, jansson's included. Reading, writing,
 * publishing and receiving a study must then fail or give the same study as
 * ever, leave their outputs as they were when they fail, and leak nothing. */
#include "study_json.h"

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

/* ---------------------------------------------------------------- attempts */

static struct tremolo_study_file *shared;
static char *shared_json;
static char *shared_body;
static uint8_t public_key[TREMOLO_SIGNING_PUBLIC_BYTES];
static uint8_t secret_key[TREMOLO_SIGNING_SECRET_BYTES];

static bool is_shared(const struct tremolo_study_file *file)
{
    return memcmp(tremolo_study_file_id(file), tremolo_study_file_id(shared),
                  TREMOLO_STUDY_ID_BYTES) == 0;
}

/* Each answers true when it succeeded; *sound is false when it broke its
 * contract. */
static bool try_parse(bool *sound)
{
    static struct tremolo_study_problems problems;
    struct tremolo_study_file *file = NULL;
    enum tremolo_status status =
        tremolo_study_file_parse(&file, &problems, shared_json, strlen(shared_json));
    *sound = status == TREMOLO_OK ? is_shared(file) : file == NULL;
    tremolo_study_file_free(file);
    return status == TREMOLO_OK;
}

static bool try_json(bool *sound)
{
    char *json = NULL;
    enum tremolo_status status = tremolo_study_file_json(&json, shared);
    *sound = status == TREMOLO_OK ? strcmp(json, shared_json) == 0 : json == NULL;
    free(json);
    return status == TREMOLO_OK;
}

static bool try_publish(bool *sound)
{
    char *body = NULL;
    enum tremolo_status status = tremolo_study_publish(&body, shared, secret_key);
    *sound = status == TREMOLO_OK ? strcmp(body, shared_body) == 0 : body == NULL;
    free(body);
    return status == TREMOLO_OK;
}

static bool try_receive(bool *sound)
{
    struct tremolo_study_file *file = NULL;
    enum tremolo_status status =
        tremolo_study_receive(&file, NULL, NULL, shared_body, strlen(shared_body),
                              tremolo_study_file_id(shared), public_key);
    *sound = status == TREMOLO_OK ? is_shared(file) : file == NULL;
    tremolo_study_file_free(file);
    return status == TREMOLO_OK;
}

static bool try_starter(bool *sound)
{
    static const char *const names[] = {"a", "b", "c"};
    char *json = NULL;
    enum tremolo_status status = tremolo_study_starter_for(&json, names, 3, NULL);
    *sound = status == TREMOLO_OK ? json != NULL : json == NULL;
    free(json);
    return status == TREMOLO_OK;
}

/* Refuse request 0, 1, 2, ... until none is left to refuse. */
static void fail_each(bool (*attempt)(bool *sound))
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

static void test_parse(void **state)
{
    (void)state;
    fail_each(try_parse);
}

static void test_json(void **state)
{
    (void)state;
    fail_each(try_json);
}

static void test_publish(void **state)
{
    (void)state;
    fail_each(try_publish);
}

static void test_receive(void **state)
{
    (void)state;
    fail_each(try_receive);
}

static void test_starter(void **state)
{
    (void)state;
    fail_each(try_starter);
}

static int prepare(void **state)
{
    static const uint8_t seed[TREMOLO_SIGNING_SEED_BYTES] = {4};
    (void)state;
    shared = study_with("limits", "{\"closes\": \"2030-01-01\"}", NULL, NULL);
    assert_status(tremolo_signing_keys(public_key, secret_key, seed), TREMOLO_OK);
    assert_status(tremolo_study_file_json(&shared_json, shared), TREMOLO_OK);
    assert_status(tremolo_study_publish(&shared_body, shared, secret_key), TREMOLO_OK);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),   cmocka_unit_test(test_json),
        cmocka_unit_test(test_publish), cmocka_unit_test(test_receive),
        cmocka_unit_test(test_starter),
    };
    int failed = cmocka_run_group_tests_name("study memory", tests, prepare, NULL);
    tremolo_study_file_free(shared);
    free(shared_json);
    free(shared_body);
    return failed;
}
