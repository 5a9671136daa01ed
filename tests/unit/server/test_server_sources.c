/* test_server_sources.c -- the quota of a source: how many, who, and for how long. */
#include "testing.h"

#include <arpa/inet.h>
#include <sodium.h>

#include "sources.h"

#define LONG "a123456789a123456789a123456789a123456789a123456789a123456789a123456789"

enum { SECOND = 1000000, START = 1000 * SECOND };

static struct sources *made(unsigned quota)
{
    assert_true(sodium_init() >= 0);
    struct sources *sources = sources_new(quota);
    assert_non_null(sources);
    return sources;
}

static uint64_t key_of(const struct sources *sources, const char *text)
{
    struct sockaddr_in four = {.sin_family = AF_INET};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, text, &four.sin_addr) == 1) {
        return sources_key(sources, (struct sockaddr *)&four);
    }
    assert_int_equal(inet_pton(AF_INET6, text, &six.sin6_addr), 1);
    return sources_key(sources, (struct sockaddr *)&six);
}

static void test_a_minute_has_its_quota(void **state)
{
    struct sources *sources = made(60);
    unsigned wait = 0;
    (void)state;
    assert_int_equal(sources_take(sources, 1, 60, START, &wait), 60);
    assert_int_equal(wait, 0);
    assert_int_equal(sources_take(sources, 1, 1, START, &wait), 0);
    assert_int_equal(wait, 1);
    assert_int_equal(sources_take(sources, 2, 61, START, &wait), 60); /* others have their own */
    assert_int_equal(sources_take(sources, 1, 5, START + 3 * SECOND, &wait), 3);
    assert_in_range(wait, 2, 3);
    assert_int_equal(sources_take(sources, 1, 1000, START + 3 * SECOND, &wait), 0);
    assert_in_range(wait, 60, 61); /* then as many as ever fit at once */
    assert_int_equal(sources_take(sources, 1, 1000, START + 200 * SECOND, &wait), 60);
    sources_free(sources);
}

/* What is given back can be sent again, by its source alone, and never more than was taken. */
static void test_given_back(void **state)
{
    struct sources *sources = made(60);
    unsigned wait = 0;
    (void)state;
    sources_give_back(sources, 1, 5); /* of one that took none */
    assert_int_equal(sources_take(sources, 1, 61, START, &wait), 60);
    sources_give_back(sources, 2, 5);
    assert_int_equal(sources_take(sources, 1, 1, START, &wait), 0);
    sources_give_back(sources, 1, 5);
    assert_int_equal(sources_take(sources, 1, 60, START, &wait), 5);
    /* Ten minutes later the quota is whole, and no more than that. */
    sources_give_back(sources, 1, 60);
    assert_int_equal(sources_take(sources, 1, 100, START + 600 * (int64_t)SECOND, &wait), 60);
    sources_free(sources);
}

/* Whatever the steps, an hour has a quota for each minute and the first one's at once. */
static void test_no_pattern_gains(void **state)
{
    static const int64_t steps_us[] = {1, 7, 999, 100003, 59 * SECOND};
    (void)state;
    for (size_t s = 0; s < sizeof steps_us / sizeof steps_us[0]; s++) {
        struct sources *sources = made(7);
        unsigned wait = 0;
        size_t taken = 0;
        int64_t end = steps_us[s] * 20000 < 3600 * (int64_t)SECOND ? steps_us[s] * 20000
                                                                   : 3600 * (int64_t)SECOND;
        for (int64_t t = 0; t <= end; t += steps_us[s]) {
            taken += sources_take(sources, 1, 3, START + t, &wait);
        }
        assert_true((double)taken <= 7.0 + 7.0 * (double)end / 60e6 + 1e-3);
        sources_free(sources);
    }
}

static void test_who_is_one_source(void **state)
{
    struct sources *sources = made(60);
    struct sources *other = made(60);
    uint64_t key = 0;
    (void)state;
    assert_true(key_of(sources, "192.0.2.1") != key_of(sources, "192.0.2.2"));
    assert_true(key_of(sources, "192.0.2.1") == key_of(sources, "::ffff:192.0.2.1"));
    assert_true(key_of(sources, "2001:db8:0:1::5") == key_of(sources, "2001:db8:0:1:9::"));
    assert_true(key_of(sources, "2001:db8:0:1::5") != key_of(sources, "2001:db8:0:2::5"));
    assert_true(key_of(sources, "192.0.2.1") != key_of(other, "192.0.2.1"));
    static const char *const headers[] = {"192.0.2.1", "10.0.0.1, 192.0.2.1", "x,\t192.0.2.1 ",
                                          "192.0.2.1:4711", "[::ffff:192.0.2.1]:80"};
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        assert_true(sources_parse(&key, sources, headers[i]));
        assert_true(key == key_of(sources, "192.0.2.1"));
    }
    static const char *const wrong[] = {"",   ",", "unknown", "192.0.2.1,", "[",
                                        "[]", ":", "]",       LONG};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_false(sources_parse(&key, sources, wrong[i]));
    }
    assert_true(sources_key(sources, NULL) == sources_key(sources, NULL));
    sources_free(sources);
    sources_free(other);
}

/* Keys that share a set: who has used his quota is remembered while others come and go. */
static void test_memory_is_bounded(void **state)
{
    struct sources *sources = made(10);
    unsigned wait = 0;
    (void)state;
    assert_int_equal(sources_take(sources, 5, 10, START, &wait), 10);
    for (uint64_t i = 1; i <= 1000; i++) {
        assert_int_equal(sources_take(sources, 5 + i * SOURCES_SETS, 1, START + (int64_t)i, &wait),
                         1);
    }
    assert_int_equal(sources_take(sources, 5, 1, START + 2000, &wait), 0);
    sources_free(sources);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_minute_has_its_quota), cmocka_unit_test(test_given_back),
        cmocka_unit_test(test_no_pattern_gains),       cmocka_unit_test(test_who_is_one_source),
        cmocka_unit_test(test_memory_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
