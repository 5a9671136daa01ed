/* test_device_api.c -- the public calls: what they refuse, and what they leave
 * behind.
 *
 * After every refusal the report's buffer, its length and the work object are
 * zero; after success the work object is. The work object is filled with
 * garbage before every call, so that nothing depends on what it held. */
#include "fake_device.h"
#include "parts.h"
#include "testing.h"

enum { D = 3 };

static const int16_t along_first[D] = {16384, 0, 0};
static const int32_t features[D] = {100, -200, 300};

struct call {
    struct fake_device device;
    struct tremolo_platform platform;
    struct tremolo_study study;
    struct tremolo_round round;
    struct tremolo_sample sample;
    struct tremolo_work work;
    uint8_t report[TREMOLO_MAX_REPORT_BYTES];
    size_t length;
};

static struct call call;

static int set_up(void **state)
{
    (void)state;
    memset(&call, 0, sizeof call);
    fake_device_init(&call.device, 70);
    call.platform = fake_device_platform(&call.device, 2, 1);
    call.study = fake_study(D, 5);
    call.study.vectors = 1;
    call.study.amplitude = 1 << 14;
    call.study.frequency = 1 << 20;
    call.round = (struct tremolo_round){along_first, 0};
    call.sample = (struct tremolo_sample){features, 17, 0};
    return tremolo_device_enrol(&call.work, &call.platform, 20 * (uint32_t)TREMOLO_CHARGE_ONE, 0) !=
           TREMOLO_OK;
}

static enum tremolo_status report(void)
{
    memset(&call.work, 0xa7, sizeof call.work);
    memset(call.report, 0xa7, sizeof call.report);
    call.length = sizeof call.report;
    return tremolo_device_report(&call.work, call.report, &call.length, &call.study, &call.round,
                                 &call.sample, &call.platform);
}

static void assert_all_zero(void)
{
    assert_true(is_zero(call.report, sizeof call.report));
    assert_int_equal(call.length, 0);
    assert_true(is_zero(&call.work, sizeof call.work));
}

/* The call refuses, leaves zeros, charges nothing and draws no entropy (but
 * where entropy is the matter). */
static void assert_refused(enum tremolo_status wanted)
{
    unsigned written = (unsigned)call.device.storage.written;
    assert_status(report(), wanted);
    assert_all_zero();
    assert_int_equal(call.device.storage.written, written);
}

static void test_success(void **state)
{
    struct tremolo_report decoded;
    int16_t values[D];
    (void)state;
    assert_status(report(), TREMOLO_OK);
    assert_true(is_zero(&call.work, sizeof call.work));
    assert_int_equal(call.length, 48);
    assert_true(is_zero(call.report + call.length, sizeof call.report - call.length));
    assert_status(tremolo_report_decode(&decoded, call.report, call.length), TREMOLO_OK);
    assert_status(tremolo_report_unpack(values, D, &decoded, &call.study), TREMOLO_OK);
    assert_null(decoded.mac);
}

static void test_success_with_mac(void **state)
{
    static const uint8_t key[TREMOLO_MAC_KEY_BYTES] = {9, 9, 1};
    struct tremolo_report decoded;
    (void)state;
    call.platform.mac_key = key;
    assert_status(report(), TREMOLO_OK);
    assert_status(tremolo_report_decode(&decoded, call.report, call.length), TREMOLO_OK);
    assert_status(tremolo_report_verify(&decoded, call.report, &call.study, key), TREMOLO_OK);
}

/* The largest report there is fits the buffer every caller has. */
static void test_largest_report(void **state)
{
    static const uint8_t key[TREMOLO_MAC_KEY_BYTES] = {1};
    static int32_t many[TREMOLO_MAX_DIMENSION];
    struct tremolo_report decoded;
    (void)state;
    call.platform.mac_key = key;
    call.study = fake_study(TREMOLO_MAX_DIMENSION, 6);
    call.study.response = TREMOLO_RESPONSE_PRIVATE;
    call.study.wire_bits = 16;
    call.study.rounds = UINT16_MAX;
    call.study.samples = UINT16_MAX;
    call.round = (struct tremolo_round){NULL, UINT16_MAX - 1};
    call.sample = (struct tremolo_sample){many, 0, UINT16_MAX - 1};
    assert_status(report(), TREMOLO_OK);
    assert_status(tremolo_report_decode(&decoded, call.report, call.length), TREMOLO_OK);
    assert_int_equal(decoded.coordinate_bytes, 2 * TREMOLO_MAX_COORDINATES);
    assert_int_equal(decoded.round, UINT16_MAX - 1);
    assert_true(call.length <= TREMOLO_MAX_REPORT_BYTES);
}

/* The call with its argument number `missing` replaced by NULL. */
static enum tremolo_status report_without(int missing)
{
    memset(&call.work, 0xa7, sizeof call.work);
    memset(call.report, 0xa7, sizeof call.report);
    call.length = sizeof call.report;
    return tremolo_device_report(
        missing == 0 ? NULL : &call.work, missing == 1 ? NULL : call.report,
        missing == 2 ? NULL : &call.length, missing == 3 ? NULL : &call.study,
        missing == 4 ? NULL : &call.round, missing == 5 ? NULL : &call.sample,
        missing == 6 ? NULL : &call.platform);
}

static void test_null_arguments(void **state)
{
    (void)state;
    for (int missing = 0; missing <= 6; missing++) {
        assert_status(report_without(missing), TREMOLO_BAD_ARGUMENT);
        /* All bytes are zero, except those of unknown number. */
        assert_true(missing == 0 || is_zero(&call.work, sizeof call.work));
        assert_true(missing == 1 || missing == 2 || is_zero(call.report, sizeof call.report));
        assert_true(missing == 2 || call.length == 0);
    }
}

static void test_bad_platforms(void **state)
{
    struct tremolo_platform good = call.platform;
    uint32_t left = 3;
    (void)state;
#define assert_platform(field, value)                                                              \
    do {                                                                                           \
        call.platform = good;                                                                      \
        call.platform.field = (value);                                                             \
        assert_refused(TREMOLO_BAD_ARGUMENT);                                                      \
        assert_status(tremolo_device_enrol(&call.work, &call.platform, 1, 0),                      \
                      TREMOLO_BAD_ARGUMENT);                                                       \
        assert_status(tremolo_device_budget(&call.work, &left, &call.platform),                    \
                      TREMOLO_BAD_ARGUMENT);                                                       \
        assert_int_equal(left, 0);                                                                 \
    } while (0)
    assert_platform(entropy, NULL);
    assert_platform(read, NULL);
    assert_platform(write, NULL);
    assert_platform(counter, NULL);
    assert_platform(advance, NULL);
    assert_platform(studies, 0);
    assert_platform(studies, TREMOLO_MAX_STUDIES + 1);
#undef assert_platform
    assert_status(tremolo_device_enrol(NULL, &good, 1, 0), TREMOLO_BAD_ARGUMENT);
    assert_status(tremolo_device_enrol(&call.work, NULL, 1, 0), TREMOLO_BAD_ARGUMENT);
    assert_status(tremolo_device_budget(NULL, &left, &good), TREMOLO_BAD_ARGUMENT);
    assert_status(tremolo_device_budget(&call.work, NULL, &good), TREMOLO_BAD_ARGUMENT);
    assert_status(tremolo_device_budget(&call.work, &left, NULL), TREMOLO_BAD_ARGUMENT);
}

/* Every capacity below the largest report is refused, before any charge and
 * whatever the report would need; nothing is written past it. */
static void test_short_buffers(void **state)
{
    (void)state;
    for (size_t capacity = 0; capacity < TREMOLO_MAX_REPORT_BYTES; capacity++) {
        memset(&call.work, 0xa7, sizeof call.work);
        memset(call.report, 0xa7, sizeof call.report);
        call.length = capacity;
        assert_status(tremolo_device_report(&call.work, call.report, &call.length, &call.study,
                                            &call.round, &call.sample, &call.platform),
                      TREMOLO_SHORT_BUFFER);
        assert_true(is_zero(call.report, capacity));
        assert_int_equal(call.report[capacity], 0xa7);
        assert_int_equal(call.length, 0);
        assert_true(is_zero(&call.work, sizeof call.work));
    }
    assert_int_equal(call.device.entropy.calls, 1); /* the enrolment */
}

static void test_bad_studies_and_rounds(void **state)
{
    static const int16_t short_vector[D] = {16000, 0, 0};
    struct tremolo_study good = call.study;
    (void)state;
    call.study.dimension = 0;
    assert_refused(TREMOLO_BAD_DIMENSION);
    call.study.dimension = TREMOLO_MAX_DIMENSION + 1;
    assert_refused(TREMOLO_BAD_DIMENSION);
    call.study = good;
    call.study.keep = 0;
    assert_refused(TREMOLO_BAD_ALPHA);
    call.study = good;
    call.study.amplitude = UINT32_MAX;
    assert_refused(TREMOLO_BAD_LAMBDA);
    call.study = good;
    call.study.frequency = UINT32_MAX;
    assert_refused(TREMOLO_BAD_OMEGA);
    call.study = good;
    call.study.noise_log2 = 30;
    assert_refused(TREMOLO_BAD_GRID);
    call.study = good;
    call.study.distance = UINT32_MAX;
    assert_refused(TREMOLO_BAD_NEIGHBOURS);
    call.study = good;
    call.round.vectors = short_vector;
    assert_refused(TREMOLO_BAD_VECTORS);
    call.round.vectors = NULL;
    assert_refused(TREMOLO_BAD_ARGUMENT);
    call.round = (struct tremolo_round){along_first, call.study.rounds};
    assert_refused(TREMOLO_BAD_ARGUMENT);
    assert_int_equal(call.device.entropy.calls, 1); /* the enrolment */
}

static void test_bad_samples(void **state)
{
    (void)state;
    call.sample.number = call.study.samples;
    assert_refused(TREMOLO_BAD_SAMPLES);
    call.sample = (struct tremolo_sample){NULL, 0, 0};
    assert_refused(TREMOLO_BAD_ARGUMENT);
}

/* Features beyond their bounds are clamped, not refused: whether a sample is
 * unusual must not be seen from outside. */
static void test_values_beyond_their_bounds(void **state)
{
    static const int32_t wild[D] = {INT32_MIN, INT32_MAX, 0};
    struct tremolo_report decoded;
    (void)state;
    call.sample.features = wild;
    call.sample.response = INT32_MAX;
    assert_status(report(), TREMOLO_OK);
    assert_status(tremolo_report_decode(&decoded, call.report, call.length), TREMOLO_OK);
    assert_int_equal(decoded.response, TREMOLO_RESPONSE_MAX);
}

static void test_no_entropy(void **state)
{
    uint32_t before;
    uint32_t after;
    (void)state;
    assert_status(tremolo_device_budget(&call.work, &before, &call.platform), TREMOLO_OK);
    call.device.entropy.fails = 1;
    assert_refused(TREMOLO_NO_ENTROPY);
    call.device.entropy.fails = 0;
    call.device.entropy.is_stuck = 1;
    assert_refused(TREMOLO_NO_ENTROPY);
    call.device.entropy.is_stuck = 0;
    assert_status(tremolo_device_budget(&call.work, &after, &call.platform), TREMOLO_OK);
    assert_int_equal(after, before);
    assert_status(report(), TREMOLO_OK);
}

static void test_no_ledger_and_a_torn_one(void **state)
{
    (void)state;
    assert_status(report(), TREMOLO_OK);
    call.device.storage.slot[0][20] ^= 1;
    call.device.storage.slot[1][20] ^= 1;
    assert_refused(TREMOLO_LEDGER_DAMAGED);
    memset(call.device.storage.slot, 0, sizeof call.device.storage.slot);
    assert_refused(TREMOLO_LEDGER_MISSING);
}

static void test_enrol_wipes_its_work(void **state)
{
    uint32_t left;
    (void)state;
    memset(&call.work, 0xa7, sizeof call.work);
    assert_status(tremolo_device_enrol(&call.work, &call.platform, 1, 0), TREMOLO_LEDGER_EXISTS);
    assert_true(is_zero(&call.work, sizeof call.work));
    memset(&call.work, 0xa7, sizeof call.work);
    assert_status(tremolo_device_budget(&call.work, &left, &call.platform), TREMOLO_OK);
    assert_true(is_zero(&call.work, sizeof call.work));
    fake_device_init(&call.device, 1);
    memset(&call.work, 0xa7, sizeof call.work);
    assert_status(tremolo_device_enrol(&call.work, &call.platform, 1, 0), TREMOLO_OK);
    assert_true(is_zero(&call.work, sizeof call.work));
}

/* The whole budget of 32 bits, and none at all. */
static void test_extreme_budgets(void **state)
{
    uint32_t left;
    (void)state;
    fake_device_init(&call.device, 1);
    assert_status(tremolo_device_enrol(&call.work, &call.platform, UINT32_MAX, 0), TREMOLO_OK);
    assert_status(report(), TREMOLO_OK);
    assert_status(tremolo_device_budget(&call.work, &left, &call.platform), TREMOLO_OK);
    assert_int_equal(left, UINT32_MAX - tremolo_study_charge(&call.study));
    fake_device_init(&call.device, 1);
    assert_status(tremolo_device_enrol(&call.work, &call.platform, 0, 0), TREMOLO_OK);
    assert_refused(TREMOLO_BUDGET_EXHAUSTED);
}

/* Noise and phases are drawn before the sample is touched: the same entropy
 * gives the same report id, which is drawn after them, for any sample. */
static void test_draws_do_not_depend_on_the_sample(void **state)
{
    static const int32_t other[D] = {-1000, 1000, 0};
    struct tremolo_report decoded;
    uint8_t id[TREMOLO_REPORT_ID_BYTES];
    (void)state;
    assert_status(report(), TREMOLO_OK);
    assert_status(tremolo_report_decode(&decoded, call.report, call.length), TREMOLO_OK);
    memcpy(id, decoded.id, sizeof id);
    assert_int_equal(set_up(NULL), 0);
    call.sample.features = other;
    assert_status(report(), TREMOLO_OK);
    assert_status(tremolo_report_decode(&decoded, call.report, call.length), TREMOLO_OK);
    assert_memory_equal(decoded.id, id, sizeof id);
}

static void test_version(void **state)
{
    (void)state;
    assert_int_equal(tremolo_device_version(),
                     TREMOLO_DEVICE_VERSION_MAJOR * 256 + TREMOLO_DEVICE_VERSION_MINOR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_success, set_up),
        cmocka_unit_test_setup(test_success_with_mac, set_up),
        cmocka_unit_test_setup(test_largest_report, set_up),
        cmocka_unit_test_setup(test_null_arguments, set_up),
        cmocka_unit_test_setup(test_bad_platforms, set_up),
        cmocka_unit_test_setup(test_short_buffers, set_up),
        cmocka_unit_test_setup(test_bad_studies_and_rounds, set_up),
        cmocka_unit_test_setup(test_bad_samples, set_up),
        cmocka_unit_test_setup(test_values_beyond_their_bounds, set_up),
        cmocka_unit_test_setup(test_no_entropy, set_up),
        cmocka_unit_test_setup(test_no_ledger_and_a_torn_one, set_up),
        cmocka_unit_test_setup(test_enrol_wipes_its_work, set_up),
        cmocka_unit_test_setup(test_extreme_budgets, set_up),
        cmocka_unit_test_setup(test_draws_do_not_depend_on_the_sample, set_up),
        cmocka_unit_test(test_version),
    };
    return cmocka_run_group_tests_name("device api", tests, NULL, NULL);
}
