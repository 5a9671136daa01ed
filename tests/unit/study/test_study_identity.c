/* test_study_identity.c -- same study, same id; other study, other id; and
 * no other signature.
 *
 * That the canonical bytes are what docs/reference/protocol.md says is checked against
 * an independent program in tests/cli/study.sh. */
#include <sodium.h>

#include "study_json.h"
#include "study_internal.h"

static const uint8_t seed[TREMOLO_SIGNING_SEED_BYTES] = {1, 2, 3};
static const uint8_t other_seed[TREMOLO_SIGNING_SEED_BYTES] = {3, 2, 1};

struct keys {
    uint8_t public_key[TREMOLO_SIGNING_PUBLIC_BYTES];
    uint8_t secret_key[TREMOLO_SIGNING_SECRET_BYTES];
};

static struct keys keys_of(const uint8_t *from)
{
    struct keys keys = {0};
    assert_status(tremolo_signing_keys(keys.public_key, keys.secret_key, from), TREMOLO_OK);
    return keys;
}

static bool same_id(const struct tremolo_study_file *a, const struct tremolo_study_file *b)
{
    return memcmp(tremolo_study_file_id(a), tremolo_study_file_id(b), TREMOLO_STUDY_ID_BYTES) == 0;
}

/* ---------------------------------------------------------------- id */

static void test_writing_does_not_matter(void **state)
{
    static const char *const edits[][2] = {
        {"comment", "\"a remark\""},
        {"features[0].comment", "\"another\""},
        {"features[0].low", "-0.0"},
        {"features[0].high", "1e1"},
        {"features[0].kind", "\"numeric\""},
        {"features[0].unit", "\"\""},
        {"privacy.delta", "0.00001"},
        {"privacy.neighbours", "\"any\""},
        {"response.sent", "\"private\""},
        {"limits", "{\"samples\": 1.0, \"enrolment\": \"open\"}"},
        {"protocol", "{\"alpha\": 0, \"vectors\": 0, \"kind\": \"one-shot\"}"},
    };
    struct tremolo_study_file *base = study_with(NULL, NULL, NULL, NULL);
    (void)state;
    for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
        struct tremolo_study_file *edited = study_with(edits[i][0], edits[i][1], NULL, NULL);
        if (!same_id(base, edited)) {
            fail_msg("%s changed the id", edits[i][0]);
        }
        tremolo_study_file_free(edited);
    }
    tremolo_study_file_free(base);
}

/* Saying what is the default changes nothing; a ballot is another study, in another
 * encoding, and its published text reads back. */
static void test_releases(void **state)
{
    struct tremolo_study_file *base = study_with(NULL, NULL, NULL, NULL);
    struct tremolo_study_file *sample = study_with("protocol.release", "\"sample\"", NULL, NULL);
    struct tremolo_study_file *ballot = study_with("protocol.release", "\"ballot\"", NULL, NULL);
    struct tremolo_study_file *again = NULL;
    char *json = NULL;
    (void)state;
    assert_true(same_id(base, sample));
    assert_false(same_id(base, ballot));
    assert_int_equal(tremolo_study_file_device(ballot)->release, TREMOLO_RELEASE_BALLOT);
    assert_status(tremolo_study_file_json(&json, ballot), TREMOLO_OK);
    assert_status(tremolo_study_file_parse(&again, NULL, json, strlen(json)), TREMOLO_OK);
    assert_true(same_id(again, ballot));
    free(json);
    tremolo_study_file_free(again);
    tremolo_study_file_free(ballot);
    tremolo_study_file_free(sample);
    tremolo_study_file_free(base);
}

static void test_every_term_matters(void **state)
{
    static const char *const edits[][2] = {
        {"title", "\"Bass\""},
        {"purpose", "\"p\""},
        {"features[0].name", "\"A\""},
        {"features[0].unit", "\"kg\""},
        {"features[0].low", "1"},
        {"features[0].high", "10.000000000000002"},
        {"features[2].levels", "[\"y\", \"x\", \"z\"]"},
        {"response.name", "\"s\""},
        {"response.unit", "\"s\""},
        {"response.low", "1"},
        {"response.high", "101"},
        {"privacy.epsilon", "1.0000000000000002"},
        {"privacy.delta", "1e-6"},
        {"privacy.neighbours", "{\"distance\": 1}"},
        {"privacy.protects", "\"features\""},
        {"privacy.clip", "2"},
        {"protocol.calibration", "\"zcdp\""},
        {"protocol.alpha", "0.25"},
        {"protocol", "{\"kind\": \"iterative\", \"rounds\": 1}"},
        {"protocol", "{\"kind\": \"iterative\", \"rounds\": 2}"},
        {"protocol", "{\"kind\": \"iterative\", \"rounds\": 2, \"radius\": 2}"},
        {"protocol", "{\"kind\": \"iterative\", \"rounds\": 2, \"step\": 2}"},
        {"protocol", "{\"kind\": \"iterative\", \"rounds\": 2, \"close\": {\"reports\": 9}}"},
        {"protocol", "{\"kind\": \"iterative\", \"rounds\": 2, \"close\": {\"seconds\": 9}}"},
        {"protocol", "{\"kind\": \"one-shot\", \"vectors\": 1, \"lambda\": 1, \"omega\": 1}"},
        {"protocol", "{\"kind\": \"one-shot\", \"vectors\": 1, \"lambda\": 2, \"omega\": 1}"},
        {"protocol", "{\"kind\": \"one-shot\", \"vectors\": 1, \"lambda\": 1, \"omega\": 2}"},
        {"limits", "{\"devices\": 5}"},
        {"limits", "{\"samples\": 2}"},
        {"limits", "{\"opens\": \"2026-01-01\"}"},
        {"limits", "{\"closes\": \"2026-01-01\"}"},
        {"limits", "{\"enrolment\": \"keys\"}"},
    };
    enum { COUNT = sizeof edits / sizeof edits[0] };
    static struct tremolo_study_file *files[COUNT + 1];
    size_t count = 0;
    (void)state;
    files[count++] = study_with(NULL, NULL, NULL, NULL);
    for (size_t i = 0; i < COUNT; i++) {
        files[count++] = study_with(edits[i][0], edits[i][1], NULL, NULL);
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++) {
            assert_false(same_id(files[i], files[j]));
        }
    }
    for (size_t i = 0; i < count; i++) {
        tremolo_study_file_free(files[i]);
    }
}

static void test_id_is_the_hash(void **state)
{
    struct tremolo_study_file *file = study_with(NULL, NULL, NULL, NULL);
    const uint8_t *bytes = NULL;
    uint8_t hash[32];
    (void)state;
    size_t length = tremolo_study_file_canonical(&bytes, file);
    assert_int_equal(crypto_generichash(hash, sizeof hash, bytes, length, NULL, 0), 0);
    assert_memory_equal(hash, tremolo_study_file_id(file), sizeof hash);
    tremolo_study_file_free(file);
}

static void test_normalised_json_has_the_same_id(void **state)
{
    struct tremolo_study_file *file = study_with(
        "protocol",
        "{\"kind\": \"iterative\", \"rounds\": 3, \"vectors\": 2, \"alpha\": 0.1, \"lambda\": 0.3,"
        "\"omega\": 0.7, \"close\": {\"reports\": 5, \"seconds\": 60}, \"radius\": 0.1}",
        "limits", "{\"opens\": \"2026-01-01\", \"closes\": \"2027-01-01T01:02:03Z\"}");
    struct tremolo_study_file *again = NULL;
    char *json = NULL;
    (void)state;
    assert_status(tremolo_study_file_json(&json, file), TREMOLO_OK);
    assert_status(tremolo_study_file_parse(&again, NULL, json, strlen(json)), TREMOLO_OK);
    assert_true(same_id(file, again));
    free(json);
    tremolo_study_file_free(again);
    tremolo_study_file_free(file);
}

/* ---------------------------------------------------------------- integers */

static json_t *normalised(const struct tremolo_study_file *file)
{
    char *json = NULL;
    assert_status(tremolo_study_file_json(&json, file), TREMOLO_OK);
    json_t *root = json_loads(json, 0, NULL);
    assert_non_null(root);
    free(json);
    return root;
}

static void test_integers_are_not_believed(void **state)
{
    static const struct {
        const char *key;
        int factor_log2; /* the integer is shifted up or down by this */
        const char *reason;
    } lies[] = {
        {"noise_log2", 0, "costs epsilon"},
        {"distance", -1, "shorter"},
        {"clip", 1, "privacy.clip"},
        {"amplitude", 1, "protocol.lambda"},
        {"frequency", -1, "protocol.omega"},
        {"keep", -1, "protocol.alpha"},
        {"unit", 12, ""},
    };
    struct tremolo_study_file *file = study_with(
        "privacy", "{\"epsilon\": 1, \"protects\": \"all\", \"neighbours\": {\"distance\": 1}}",
        "protocol", "{\"kind\": \"one-shot\", \"vectors\": 1, \"lambda\": 1, \"omega\": 1}");
    (void)state;
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        struct tremolo_study_problems problems;
        struct tremolo_study_file *got = NULL;
        json_t *root = normalised(file);
        json_t *mechanism = json_object_get(root, "mechanism");
        json_int_t value = json_integer_value(json_object_get(mechanism, lies[i].key));
        json_int_t lie = lies[i].factor_log2 == 0  ? value - 1
                         : lies[i].factor_log2 > 0 ? value << lies[i].factor_log2
                                                   : value >> -lies[i].factor_log2;
        json_object_set_new(mechanism, lies[i].key, json_integer(lie));
        assert_status(study_parse(&got, &problems, root), TREMOLO_BAD_STUDY);
        assert_int_equal(strncmp(problems.item[0].path, "mechanism", 9), 0);
        bool said = false;
        for (size_t j = 0; j < problems.stored; j++) {
            said = said || strstr(problems.item[j].reason, lies[i].reason) != NULL;
        }
        if (!said) {
            fail_msg("%s: %s", lies[i].key, problems.item[0].reason);
        }
        json_decref(root);
    }
    tremolo_study_file_free(file);
}

/* A study for any two people with integers that protect near ones only. */
static void test_any_two_means_any_two(void **state)
{
    struct tremolo_study_file *file = study_with(NULL, NULL, NULL, NULL);
    struct tremolo_study_file *got = NULL;
    struct tremolo_study_problems problems;
    json_t *root = normalised(file);
    (void)state;
    study_edit(root, "mechanism.distance", "1000");
    assert_status(study_parse(&got, &problems, root), TREMOLO_BAD_STUDY);
    assert_string_equal(problems.item[0].path, "mechanism.distance");
    json_decref(root);
    tremolo_study_file_free(file);
}

/* ---------------------------------------------------------------- signatures */

static char *publish(const struct tremolo_study_file *file, const uint8_t *from)
{
    struct keys keys = keys_of(from);
    char *body = NULL;
    assert_status(tremolo_study_publish(&body, file, keys.secret_key), TREMOLO_OK);
    return body;
}

static void test_published_is_received(void **state)
{
    struct tremolo_study_file *file = study_with(NULL, NULL, NULL, NULL);
    struct tremolo_study_file *got = NULL;
    struct keys keys = keys_of(seed);
    uint8_t named[TREMOLO_SIGNING_PUBLIC_BYTES] = {0};
    char *body = publish(file, seed);
    (void)state;
    assert_status(tremolo_study_receive(&got, NULL, NULL, body, strlen(body),
                                        tremolo_study_file_id(file), keys.public_key),
                  TREMOLO_OK);
    assert_true(same_id(file, got));
    tremolo_study_file_free(got);
    got = NULL;
    assert_status(tremolo_study_receive(&got, named, NULL, body, strlen(body),
                                        tremolo_study_file_id(file), NULL),
                  TREMOLO_OK);
    assert_memory_equal(named, keys.public_key, sizeof named);
    tremolo_study_file_free(got);
    free(body);
    tremolo_study_file_free(file);
}

static void test_another_key_is_refused(void **state)
{
    struct tremolo_study_file *file = study_with(NULL, NULL, NULL, NULL);
    struct tremolo_study_file *got = NULL;
    struct keys keys = keys_of(other_seed);
    char *body = publish(file, seed);
    (void)state;
    assert_status(tremolo_study_receive(&got, NULL, NULL, body, strlen(body),
                                        tremolo_study_file_id(file), keys.public_key),
                  TREMOLO_BAD_SIGNATURE);
    assert_null(got);
    free(body);
    tremolo_study_file_free(file);
}

static void test_another_study_is_refused(void **state)
{
    struct tremolo_study_file *file = study_with(NULL, NULL, NULL, NULL);
    struct tremolo_study_file *other = study_with("title", "\"Other\"", NULL, NULL);
    struct tremolo_study_file *got = NULL;
    struct keys keys = keys_of(seed);
    char *body = publish(other, seed);
    (void)state;
    assert_status(tremolo_study_receive(&got, NULL, NULL, body, strlen(body),
                                        tremolo_study_file_id(file), keys.public_key),
                  TREMOLO_WRONG_STUDY);
    assert_null(got);
    free(body);
    tremolo_study_file_free(other);
    tremolo_study_file_free(file);
}

/* No single changed character gives another study, or a crash. A change is
 * harmless where it does not change what is said: in "id" and "key", which are not believed. */
static void test_changed_characters(void **state)
{
    struct tremolo_study_file *file = study_with(NULL, NULL, NULL, NULL);
    struct keys keys = keys_of(seed);
    char *body = publish(file, seed);
    size_t length = strlen(body);
    unsigned refused = 0;
    (void)state;
    for (size_t i = 0; i < length; i++) {
        struct tremolo_study_file *got = NULL;
        char kept = body[i];
        body[i] = kept == '1' ? '2' : '1';
        enum tremolo_status status = tremolo_study_receive(
            &got, NULL, NULL, body, length, tremolo_study_file_id(file), keys.public_key);
        assert_true(status != TREMOLO_OK || same_id(file, got));
        refused += status != TREMOLO_OK;
        tremolo_study_file_free(got);
        body[i] = kept;
        got = NULL;
        assert_status(tremolo_study_receive(&got, NULL, NULL, body, i, tremolo_study_file_id(file),
                                            keys.public_key),
                      TREMOLO_BAD_STUDY);
    }
    assert_true(refused + 200 > length);
    free(body);
    tremolo_study_file_free(file);
}

static void test_round_signatures(void **state)
{
    struct tremolo_study_file *file =
        study_with("protocol",
                   "{\"kind\": \"iterative\", \"rounds\": 3, \"vectors\": 2, \"lambda\": 1,"
                   "\"omega\": 1}",
                   NULL, NULL);
    const struct tremolo_study *study = tremolo_study_file_device(file);
    int16_t vectors[10] = {16384, 0, 0, 0, 0, 0, -16384, 0, 0, 0};
    struct tremolo_round round = {vectors, 1};
    struct keys keys = keys_of(seed);
    struct keys others = keys_of(other_seed);
    uint8_t signature[TREMOLO_SIGNATURE_BYTES];
    (void)state;
    assert_status(tremolo_round_sign(signature, study, &round, keys.secret_key), TREMOLO_OK);
    assert_status(tremolo_round_verify(signature, study, &round, keys.public_key), TREMOLO_OK);
    assert_status(tremolo_round_verify(signature, study, &round, others.public_key),
                  TREMOLO_BAD_SIGNATURE);
    round.number = 2;
    assert_status(tremolo_round_verify(signature, study, &round, keys.public_key),
                  TREMOLO_BAD_SIGNATURE);
    round.number = 1;
    vectors[9] = 1;
    assert_status(tremolo_round_verify(signature, study, &round, keys.public_key),
                  TREMOLO_BAD_SIGNATURE);
    /* A study's signature is none of a round. */
    char *body = NULL;
    assert_status(tremolo_study_publish(&body, file, keys.secret_key), TREMOLO_OK);
    json_t *published = json_loads(body, 0, NULL);
    const char *signed_text = json_string_value(json_object_get(published, "signature"));
    assert_status(tremolo_base64_decode(signature, sizeof signature, signed_text), TREMOLO_OK);
    json_decref(published);
    free(body);
    assert_status(tremolo_round_verify(signature, study, &round, keys.public_key),
                  TREMOLO_BAD_SIGNATURE);
    tremolo_study_file_free(file);
}

/* ---------------------------------------------------------------- text, keys */

static void test_base64(void **state)
{
    const uint8_t bytes[] = {0xfb, 0xff, 0x00, 0x10};
    uint8_t back[4] = {9, 9, 9, 9};
    char text[16];
    (void)state;
    assert_status(tremolo_base64_encode(text, sizeof text, bytes, 4), TREMOLO_OK);
    assert_string_equal(text, "-_8AEA");
    assert_status(tremolo_base64_decode(back, 4, text), TREMOLO_OK);
    assert_memory_equal(back, bytes, 4);
    static const char *const wrong[] = {"",       "-_8AE",   "-_8AEA==", "-_8AEA ",
                                        "+_8AEA", "-_8AEAA", "-_8AEB"};
    memset(back, 9, sizeof back);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_status(tremolo_base64_decode(back, 4, wrong[i]), TREMOLO_MALFORMED);
        assert_int_equal(back[0], 9);
    }
    assert_status(tremolo_base64_encode(text, 6, bytes, 4), TREMOLO_SHORT_BUFFER);
}

/* Against Python: hashlib.blake2b(b"watch 7", key=bytes(range(32)),
 * digest_size=32).hexdigest()[:32]. */
static void test_device_keys(void **state)
{
    uint8_t secret[TREMOLO_DEVICE_SECRET_BYTES];
    uint8_t key[TREMOLO_MAC_KEY_BYTES];
    char hex[2 * TREMOLO_MAC_KEY_BYTES + 1];
    (void)state;
    for (size_t i = 0; i < sizeof secret; i++) {
        secret[i] = (uint8_t)i;
    }
    assert_status(tremolo_device_key(key, secret, (const uint8_t *)"watch 7", 7), TREMOLO_OK);
    assert_string_equal(sodium_bin2hex(hex, sizeof hex, key, sizeof key),
                        "87eceb99db80210c1621f648b1f7d134");
    assert_status(tremolo_device_key(key, secret, secret, 0), TREMOLO_BAD_ARGUMENT);
    assert_status(tremolo_device_key(key, secret, secret, 33), TREMOLO_BAD_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_writing_does_not_matter),
        cmocka_unit_test(test_releases),
        cmocka_unit_test(test_every_term_matters),
        cmocka_unit_test(test_id_is_the_hash),
        cmocka_unit_test(test_normalised_json_has_the_same_id),
        cmocka_unit_test(test_integers_are_not_believed),
        cmocka_unit_test(test_any_two_means_any_two),
        cmocka_unit_test(test_published_is_received),
        cmocka_unit_test(test_another_key_is_refused),
        cmocka_unit_test(test_another_study_is_refused),
        cmocka_unit_test(test_changed_characters),
        cmocka_unit_test(test_round_signatures),
        cmocka_unit_test(test_base64),
        cmocka_unit_test(test_device_keys),
    };
    return cmocka_run_group_tests_name("study identity", tests, NULL, NULL);
}
