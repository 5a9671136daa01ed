/* test_device_report.c -- one encoding for one report, and its MAC.
 *
 * Reports are made through the device's own encoder over many grids, read
 * back, and compared with a second writer (reference_report.h). Then they are
 * damaged in every way a byte string can be. */
#include <sodium.h>

#include "fake_device.h"
#include "parts.h"
#include "reference_report.h"
#include "testing.h"

static struct fake_entropy random_source = {.state = 60};

static uint8_t key[TREMOLO_MAC_KEY_BYTES] = {1, 2, 3, 250};

/* A report under construction: what goes in and what comes out. */
struct made {
    struct tremolo_study study;
    struct tremolo_work work;
    struct tremolo_platform platform;
    struct fake_device device;
    int32_t response;
    uint16_t round;
    uint8_t *bytes;
    size_t length;
    int32_t sum[TREMOLO_MAX_COORDINATES];
};

static void encode(struct made *made, int has_mac)
{
    struct tremolo_round round = {NULL, made->round};
    struct tremolo_sample sample = {NULL, made->response, 0};
    memset(&made->work, 0, sizeof made->work);
    fake_device_init(&made->device, fake_random(&random_source));
    made->platform = fake_device_platform(&made->device, 1, 0);
    made->platform.mac_key = has_mac ? key : NULL;
    made->work.platform = &made->platform;
    made->work.study = &made->study;
    made->work.round = &round;
    made->work.sample = &sample;
    for (unsigned i = 0; i < tremolo_study_coordinates(&made->study); i++) {
        made->work.value[i] = fake_between(&random_source, -1000, 1000);
        made->work.noise[i] = made->sum[i] - made->work.value[i];
    }
    for (unsigned i = 0; i < sizeof made->work.id; i++) {
        made->work.id[i] = (uint8_t)fake_random(&random_source);
    }
    made->length = tremolo_report_encode(&made->work);
    made->bytes = made->work.slot.report;
}

/* A sound study on a random grid. */
static void draw_study(struct tremolo_study *study, unsigned dimension)
{
    do {
        *study = fake_study(dimension, (uint8_t)fake_random(&random_source));
        study->wire_bits = (uint8_t)(8 + fake_below(&random_source, 9));
        study->wire_shift = (uint8_t)fake_below(&random_source, 30u - study->wire_bits);
        study->noise_log2 =
            (uint8_t)(study->wire_shift + 3 + fake_below(&random_source, study->wire_bits - 7u));
        study->unit = study->clip =
            1 + fake_below(&random_source, UINT32_C(1) << study->noise_log2);
        study->response = (uint8_t)fake_below(&random_source, 2);
    } while (tremolo_study_check(study) != TREMOLO_OK);
}

/* A random study and random sums, a fifth of them beyond the wire's ends. */
static void make(struct made *made, unsigned dimension, int has_mac)
{
    const struct tremolo_study *study = &made->study;
    draw_study(&made->study, dimension);
    made->round = (uint16_t)(fake_random(&random_source) >> (48 + fake_below(&random_source, 16)));
    made->response = fake_between(&random_source, -1100, 1100);
    int32_t end = (int32_t)1 << (study->wire_bits - 1 + study->wire_shift);
    for (unsigned i = 0; i < tremolo_study_coordinates(study); i++) {
        made->sum[i] = fake_between(&random_source, -end - end / 4, end + end / 4);
    }
    encode(made, has_mac);
}

/* floor(sum / 2^q + 1/2), saturated. */
static int16_t wire_value(int32_t sum, const struct tremolo_study *study)
{
    int64_t step = (int64_t)1 << study->wire_shift;
    int64_t twice = 2 * (int64_t)sum + step;
    int64_t floor = twice / (2 * step) - (twice % (2 * step) < 0);
    int64_t end = ((int64_t)1 << (study->wire_bits - 1)) - 1;
    return (int16_t)(floor > end ? end : floor < -end ? -end : floor);
}

static void decode(struct tremolo_report *report, const struct made *made)
{
    assert_status(tremolo_report_decode(report, made->bytes, made->length), TREMOLO_OK);
}

static void check_fields(const struct made *made)
{
    struct tremolo_report report;
    int16_t values[TREMOLO_MAX_COORDINATES];
    unsigned n = tremolo_study_coordinates(&made->study);
    decode(&report, made);
    assert_memory_equal(report.study_tag, made->study.id, TREMOLO_STUDY_TAG_BYTES);
    assert_int_equal(report.round, made->round);
    assert_int_equal(report.has_response, made->study.response == TREMOLO_RESPONSE_PUBLIC);
    assert_int_equal(
        report.response,
        report.has_response
            ? tremolo_scale(made->response, &made->study.response_bounds, TREMOLO_RESPONSE_MAX)
            : 0);
    assert_status(tremolo_report_unpack(values, TREMOLO_MAX_COORDINATES, &report, &made->study),
                  TREMOLO_OK);
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(values[i], wire_value(made->sum[i], &made->study));
    }
}

/* The bytes again, from the fields and the wire values alone. */
static void check_second_writer(const struct made *made)
{
    struct tremolo_report report;
    struct reference_bytes again;
    int16_t values[TREMOLO_MAX_COORDINATES];
    uint8_t packed[2 * TREMOLO_MAX_COORDINATES];
    unsigned n = tremolo_study_coordinates(&made->study);
    decode(&report, made);
    for (unsigned i = 0; i < n; i++) {
        values[i] = wire_value(made->sum[i], &made->study);
    }
    assert_int_equal(reference_pack(packed, values, n, made->study.wire_bits),
                     report.coordinate_bytes);
    report.coordinates = packed;
    reference_encode(&again, &report);
    assert_int_equal(again.length, made->length);
    assert_memory_equal(again.at, made->bytes, made->length);
}

static void test_round_trip_over_many_grids(void **state)
{
    static struct made made;
    (void)state;
    for (int i = 0; i < 6000; i++) {
        make(&made, 1 + fake_below(&random_source, i % 8 == 0 ? TREMOLO_MAX_DIMENSION : 20), i & 1);
        assert_true(made.length <= TREMOLO_MAX_REPORT_BYTES);
        check_fields(&made);
        check_second_writer(&made);
    }
}

/* One length for every round and response: 58 bytes at d = 10 with a public
 * response and 12 bits a coordinate. */
static void test_sizes(void **state)
{
    static struct made made;
    struct tremolo_report report;
    (void)state;
    for (int i = 0; i < 300; i++) {
        make(&made, 10, 0);
        made.study = fake_study(10, 9);
        made.round = (uint16_t)(i < 150 ? i : UINT16_MAX - i);
        made.response = 1000 - i;
        encode(&made, 0);
        decode(&report, &made);
        assert_int_equal(report.coordinate_bytes, 10 * 12 / 8);
        assert_int_equal(made.length, 58);
    }
    encode(&made, 1);
    assert_int_equal(made.length, 58 + 17);
}

/* ---------------------------------------------------------------- damage */

/* Two reports are the same when a reader can tell no difference. */
static int same_content(const struct tremolo_report *a, const struct tremolo_report *b)
{
    return memcmp(a->study_tag, b->study_tag, TREMOLO_STUDY_TAG_BYTES) == 0 &&
           memcmp(a->id, b->id, TREMOLO_REPORT_ID_BYTES) == 0 && a->round == b->round &&
           a->has_response == b->has_response && a->response == b->response &&
           a->coordinate_bytes == b->coordinate_bytes &&
           memcmp(a->coordinates, b->coordinates, a->coordinate_bytes) == 0 &&
           (a->mac == NULL) == (b->mac == NULL) &&
           (a->mac == NULL || memcmp(a->mac, b->mac, TREMOLO_MAC_BYTES) == 0);
}

static void check_changed(const struct made *made, const struct tremolo_report *original,
                          const uint8_t *bytes)
{
    struct tremolo_report report;
    memset(&report, 0x5a, sizeof report);
    if (tremolo_report_decode(&report, bytes, made->length) != TREMOLO_OK) {
        assert_true(is_zero(&report, sizeof report));
        return;
    }
    assert_false(same_content(&report, original));
    if (original->mac != NULL) {
        assert_status(tremolo_report_verify(&report, bytes, &made->study, key), TREMOLO_BAD_MAC);
    }
}

static void test_every_changed_byte(void **state)
{
    static struct made made;
    struct tremolo_report original;
    uint8_t bytes[TREMOLO_MAX_REPORT_BYTES];
    (void)state;
    for (int i = 0; i < 40; i++) {
        make(&made, 1 + fake_below(&random_source, 40), i & 1);
        decode(&original, &made);
        memcpy(bytes, made.bytes, made.length);
        for (size_t at = 0; at < made.length; at++) {
            for (unsigned change = 1; change < 256; change++) {
                bytes[at] = (uint8_t)(made.bytes[at] ^ change);
                check_changed(&made, &original, bytes);
            }
            bytes[at] = made.bytes[at];
        }
    }
}

static void test_truncated_and_extended(void **state)
{
    static struct made made;
    struct tremolo_report report;
    uint8_t bytes[TREMOLO_MAX_REPORT_BYTES + 1];
    (void)state;
    for (int i = 0; i < 200; i++) {
        make(&made, 1 + fake_below(&random_source, 100), i & 1);
        for (size_t length = 0; length < made.length; length++) {
            /* In a block of its own, so that reading past the end is seen by
             * the address sanitizer. */
            uint8_t *cut = malloc(length == 0 ? 1 : length);
            memcpy(cut, made.bytes, length);
            assert_status(tremolo_report_decode(&report, cut, length), TREMOLO_MALFORMED);
            free(cut);
        }
        memcpy(bytes, made.bytes, made.length);
        for (unsigned extra = 0; extra < 256; extra++) {
            bytes[made.length] = (uint8_t)extra;
            assert_status(tremolo_report_decode(&report, bytes, made.length + 1),
                          TREMOLO_MALFORMED);
        }
    }
}

/* Replace `removed` bytes at `at` by others. */
static size_t splice(uint8_t *out, const struct made *made, size_t at, size_t removed,
                     const char *bytes, size_t added)
{
    memcpy(out, made->bytes, at);
    memcpy(out + at, bytes, added);
    memcpy(out + at + added, made->bytes + at + removed, made->length - at - removed);
    return made->length - removed + added;
}

/* The places of the heads in a report of round 5, public response 0 (whose
 * place is 32767) and 15 bytes of coordinates. */
enum { AT_ARRAY = 0, AT_VERSION = 1, AT_TAG = 2, AT_ROUND = 19, AT_ID = 22, AT_RESPONSE = 39 };
enum { AT_COORDINATES = 42, AT_END = 58 };

static void make_known(struct made *made)
{
    make(made, 10, 0);
    made->study = fake_study(10, 9);
    made->round = 5;
    made->response = 0;
    encode(made, 0);
    assert_int_equal(made->length, AT_END);
    assert_int_equal(made->bytes[AT_ROUND + 2], 5);
    assert_int_equal(made->bytes[AT_COORDINATES], 0x4f);
}

static void test_other_encodings_are_refused(void **state)
{
    static struct made made;
    static const struct {
        size_t at, removed;
        const char *bytes;
        size_t added;
        enum tremolo_status wanted;
    } changes[] = {
        {AT_ROUND, 3, "\x05", 1, TREMOLO_MALFORMED},
        {AT_ROUND, 3, "\x18\x05", 2, TREMOLO_MALFORMED},
        {AT_ROUND, 3, "\x18\x18", 2, TREMOLO_MALFORMED},
        {AT_ROUND, 3, "\x19\x00\xff", 3, TREMOLO_OK},
        {AT_ROUND, 3, "\x19\x01\x00", 3, TREMOLO_OK},
        {AT_ROUND, 3, "\x1a\x00\x00\x00\x05", 5, TREMOLO_MALFORMED},
        {AT_ROUND, 3, "\x1a\x00\x01\x00\x00", 5, TREMOLO_MALFORMED},
        {AT_ROUND, 3, "\x1b\0\0\0\0\0\0\0\x05", 9, TREMOLO_MALFORMED},
        {AT_ROUND, 1, "\x1f", 1, TREMOLO_MALFORMED},
        {AT_ROUND, 3, "\x25", 1, TREMOLO_MALFORMED},
        {AT_ROUND, 1, "\x39", 1, TREMOLO_MALFORMED},
        {AT_ROUND, 3, "\xf6", 1, TREMOLO_MALFORMED},
        {AT_ROUND, 3, "\xc1\x05", 2, TREMOLO_MALFORMED},
        {AT_TAG, 1, "\x58\x10", 2, TREMOLO_MALFORMED},
        {AT_TAG, 1, "\x70", 1, TREMOLO_MALFORMED},
        {AT_TAG, 17, "\x4f...............", 16, TREMOLO_MALFORMED},
        {AT_TAG, 17, "\x51.................", 18, TREMOLO_MALFORMED},
        {AT_ID, 1, "\x5f\x50", 2, TREMOLO_MALFORMED},
        {AT_RESPONSE, 3, "\xf7", 1, TREMOLO_MALFORMED},
        {AT_RESPONSE, 3, "\xf6", 1, TREMOLO_OK},
        {AT_RESPONSE, 3, "\x00", 1, TREMOLO_MALFORMED},
        {AT_RESPONSE, 3, "\x19\x00\x00", 3, TREMOLO_OK},
        {AT_RESPONSE, 3, "\x20", 1, TREMOLO_MALFORMED},
        {AT_RESPONSE, 3, "\x19\xff\xfe", 3, TREMOLO_OK},
        {AT_RESPONSE, 3, "\x19\xff\xff", 3, TREMOLO_MALFORMED},
        {AT_RESPONSE, 3, "\xf9\x00\x00", 3, TREMOLO_MALFORMED},
        {AT_COORDINATES, 1, "\x58\x0f", 2, TREMOLO_MALFORMED},
        {AT_COORDINATES, 1, "\x59\x00\x0f", 3, TREMOLO_MALFORMED},
        {AT_COORDINATES, 1, "\x5f\x4f", 2, TREMOLO_MALFORMED},
        {AT_COORDINATES, 16, "\x40", 1, TREMOLO_MALFORMED},
        {AT_COORDINATES, 16, "\x41\x00", 2, TREMOLO_OK},
        {AT_COORDINATES, 1, "\x59\xff\xff", 3, TREMOLO_MALFORMED},
        {AT_ARRAY, 1, "\x98\x06", 2, TREMOLO_MALFORMED},
        {AT_ARRAY, 1, "\x9f", 1, TREMOLO_MALFORMED},
        {AT_ARRAY, 1, "\x85", 1, TREMOLO_MALFORMED},
        {AT_ARRAY, 1, "\x87", 1, TREMOLO_MALFORMED},
        {AT_ARRAY, 1, "\xd9\xd9\xf7\x86", 4, TREMOLO_MALFORMED},
        {AT_VERSION, 1, "\x00", 1, TREMOLO_UNKNOWN_VERSION},
        {AT_VERSION, 1, "\x01", 1, TREMOLO_UNKNOWN_VERSION},
        {AT_VERSION, 1, "\x03", 1, TREMOLO_UNKNOWN_VERSION},
        {AT_VERSION, 1, "\x18\x01", 2, TREMOLO_UNKNOWN_VERSION},
    };
    (void)state;
    make_known(&made);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        uint8_t bytes[TREMOLO_MAX_REPORT_BYTES];
        struct tremolo_report report;
        size_t length = splice(bytes, &made, changes[i].at, changes[i].removed, changes[i].bytes,
                               changes[i].added);
        assert_status(tremolo_report_decode(&report, bytes, length), changes[i].wanted);
    }
}

static void test_decode_arguments(void **state)
{
    struct tremolo_report report;
    uint8_t bytes[TREMOLO_MAX_REPORT_BYTES + 1] = {0x86, 2};
    (void)state;
    assert_status(tremolo_report_decode(NULL, bytes, 10), TREMOLO_BAD_ARGUMENT);
    assert_status(tremolo_report_decode(&report, NULL, 10), TREMOLO_BAD_ARGUMENT);
    assert_status(tremolo_report_decode(&report, bytes, sizeof bytes), TREMOLO_MALFORMED);
    assert_status(tremolo_report_decode(&report, bytes, SIZE_MAX), TREMOLO_MALFORMED);
}

/* ---------------------------------------------------------------- unpack */

static void assert_unpack(const struct made *made, const struct tremolo_study *study,
                          size_t capacity, enum tremolo_status wanted)
{
    struct tremolo_report report;
    int16_t values[TREMOLO_MAX_COORDINATES];
    decode(&report, made);
    memset(values, 0x5a, sizeof values);
    assert_status(tremolo_report_unpack(values, capacity, &report, study), wanted);
    if (wanted != TREMOLO_OK) {
        assert_true(is_zero(values, capacity * sizeof *values));
    }
}

static void test_unpack_checks_the_study(void **state)
{
    static struct made made;
    struct tremolo_study other;
    struct tremolo_report report;
    int16_t values[10];
    (void)state;
    make_known(&made);
    assert_unpack(&made, &made.study, 10, TREMOLO_OK);
    assert_unpack(&made, &made.study, 9, TREMOLO_SHORT_BUFFER);
    assert_unpack(&made, &made.study, 0, TREMOLO_SHORT_BUFFER);
    other = made.study;
    other.id[15] ^= 1;
    assert_unpack(&made, &other, 10, TREMOLO_WRONG_STUDY);
    other = made.study;
    other.response = TREMOLO_RESPONSE_PRIVATE;
    assert_unpack(&made, &other, 11, TREMOLO_MALFORMED);
    other = made.study;
    other.dimension = 9;
    assert_unpack(&made, &other, 10, TREMOLO_MALFORMED);
    other = made.study;
    other.wire_bits = 13;
    assert_unpack(&made, &other, 10, TREMOLO_MALFORMED);
    decode(&report, &made);
    assert_status(tremolo_report_unpack(NULL, 10, &report, &made.study), TREMOLO_BAD_ARGUMENT);
    assert_status(tremolo_report_unpack(values, 10, NULL, &made.study), TREMOLO_BAD_ARGUMENT);
    assert_status(tremolo_report_unpack(values, 10, &report, NULL), TREMOLO_BAD_ARGUMENT);
}

/* Filling bits that are not zero, and the code no device sends. */
static void test_unpack_refuses_what_no_device_packs(void **state)
{
    static struct made made;
    (void)state;
    make_known(&made);
    made.study.dimension = 9; /* 108 bits in 14 bytes: 4 filling bits */
    encode(&made, 0);
    assert_unpack(&made, &made.study, 9, TREMOLO_OK);
    for (unsigned bit = 0; bit < 4; bit++) {
        made.bytes[made.length - 1] ^= (uint8_t)(1u << bit);
        assert_unpack(&made, &made.study, 9, TREMOLO_MALFORMED);
        made.bytes[made.length - 1] ^= (uint8_t)(1u << bit);
    }
    made.bytes[AT_COORDINATES + 1] = 0x80;
    made.bytes[AT_COORDINATES + 2] &= 0x0f;
    assert_unpack(&made, &made.study, 9, TREMOLO_OUT_OF_BOUNDS);
    made.bytes[AT_COORDINATES + 2] |= 0x10;
    assert_unpack(&made, &made.study, 9, TREMOLO_OK);
}

/* ------------------------------------------------------------------- MAC */

/* The reference implementation's first vector of SipHash-2-4 with 128 bits:
 * libsodium computes it, so it may judge us. */
static void test_the_judge_is_sound(void **state)
{
    static const uint8_t empty[16] = {0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6,
                                      0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02, 0x93};
    uint8_t counting[16];
    uint8_t hash[16];
    (void)state;
    for (unsigned i = 0; i < 16; i++) {
        counting[i] = (uint8_t)i;
    }
    assert_int_equal(crypto_shorthash_siphashx24(hash, counting, 0, counting), 0);
    assert_memory_equal(hash, empty, sizeof hash);
}

static void test_mac_against_libsodium(void **state)
{
    struct tremolo_study study = fake_study(1, 0x77);
    uint8_t message[TREMOLO_STUDY_ID_BYTES + 600];
    uint8_t random_key[TREMOLO_MAC_KEY_BYTES];
    uint8_t mac[TREMOLO_MAC_BYTES];
    uint8_t wanted[TREMOLO_MAC_BYTES];
    (void)state;
    for (size_t length = 0; length <= 600; length++) {
        assert_int_equal(fake_entropy_fill(&random_source, message, sizeof message), 0);
        assert_int_equal(fake_entropy_fill(&random_source, random_key, sizeof random_key), 0);
        memcpy(study.id, message, sizeof study.id);
        tremolo_report_mac(mac, random_key, &study, message + sizeof study.id, length);
        (void)crypto_shorthash_siphashx24(wanted, message, sizeof study.id + length, random_key);
        assert_memory_equal(mac, wanted, sizeof mac);
    }
}

static void test_verify(void **state)
{
    static struct made made;
    struct tremolo_report report;
    struct tremolo_study other;
    uint8_t wrong[TREMOLO_MAC_KEY_BYTES];
    (void)state;
    make(&made, 10, 1);
    decode(&report, &made);
    assert_int_equal(report.authenticated_bytes, made.length - 17);
    assert_status(tremolo_report_verify(&report, made.bytes, &made.study, key), TREMOLO_OK);
    /* Each half of the study's id counts, though only one is in the report. */
    for (unsigned i = 0; i < TREMOLO_STUDY_ID_BYTES; i++) {
        other = made.study;
        other.id[i] ^= 0x40;
        assert_status(tremolo_report_verify(&report, made.bytes, &other, key), TREMOLO_BAD_MAC);
    }
    for (unsigned i = 0; i < sizeof wrong; i++) {
        memcpy(wrong, key, sizeof wrong);
        wrong[i] ^= 1;
        assert_status(tremolo_report_verify(&report, made.bytes, &made.study, wrong),
                      TREMOLO_BAD_MAC);
    }
    assert_status(tremolo_report_verify(NULL, made.bytes, &made.study, key), TREMOLO_BAD_ARGUMENT);
    assert_status(tremolo_report_verify(&report, NULL, &made.study, key), TREMOLO_BAD_ARGUMENT);
    assert_status(tremolo_report_verify(&report, made.bytes, NULL, key), TREMOLO_BAD_ARGUMENT);
    assert_status(tremolo_report_verify(&report, made.bytes, &made.study, NULL),
                  TREMOLO_BAD_ARGUMENT);
    encode(&made, 0);
    decode(&report, &made);
    assert_status(tremolo_report_verify(&report, made.bytes, &made.study, key), TREMOLO_BAD_MAC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip_over_many_grids),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_every_changed_byte),
        cmocka_unit_test(test_truncated_and_extended),
        cmocka_unit_test(test_other_encodings_are_refused),
        cmocka_unit_test(test_decode_arguments),
        cmocka_unit_test(test_unpack_checks_the_study),
        cmocka_unit_test(test_unpack_refuses_what_no_device_packs),
        cmocka_unit_test(test_the_judge_is_sound),
        cmocka_unit_test(test_mac_against_libsodium),
        cmocka_unit_test(test_verify),
    };
    return cmocka_run_group_tests_name("device report", tests, NULL, NULL);
}
