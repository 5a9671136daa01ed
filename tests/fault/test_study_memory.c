/* test_study_memory.c -- every allocation of the study room fails once.
 *
 * Reading, writing, publishing and receiving a study must then fail or give
 * the same study as ever, leave their outputs as they were when they fail, and
 * leak nothing. */
#include "failing_memory.h"
#include "study_json.h"
#include "study_internal.h"

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
    *sound = status == TREMOLO_OK ? is_shared(file) : file == NULL && status == TREMOLO_NO_MEMORY;
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
    enum tremolo_status status = tremolo_study_starter(&json, names, 3, NULL, NULL);
    *sound = status == TREMOLO_OK ? json != NULL : json == NULL;
    free(json);
    return status == TREMOLO_OK;
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
