/* test_study_text.c -- characters that change what is shown are found and replaced. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "testing.h"
#include "study_internal.h"

/* UTF-8 of a code point below 2^16. */
static void encode(char bytes[4], unsigned point)
{
    if (point < 0x80) {
        bytes[0] = (char)point;
        bytes[1] = '\0';
        return;
    }
    if (point < 0x800) {
        bytes[0] = (char)(0xc0 | point >> 6);
        bytes[1] = (char)(0x80 | (point & 63));
        bytes[2] = '\0';
        return;
    }
    bytes[0] = (char)(0xe0 | point >> 12);
    bytes[1] = (char)(0x80 | (point >> 6 & 63));
    bytes[2] = (char)(0x80 | (point & 63));
    bytes[3] = '\0';
}

/* The list of the header, in its own words. */
static bool is_hidden(unsigned point)
{
    return point <= 0x1f || (point >= 0x7f && point <= 0x9f) || point == 0x2028 ||
           point == 0x2029 || point == 0x061c || point == 0x200e || point == 0x200f ||
           (point >= 0x202a && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069) ||
           point == 0xfeff;
}

static void test_every_code_point(void **state)
{
    (void)state;
    for (unsigned point = 1; point < 0x10000; point++) {
        char text[4];
        char within[16];
        encode(text, point);
        if (point >= 0xd800 && point < 0xe000) {
            continue; /* surrogates are no characters */
        }
        (void)snprintf(within, sizeof within, "a%sb", text);
        assert_int_equal(tremolo_text_is_plain(text), !is_hidden(point));
        assert_int_equal(tremolo_text_is_plain(within), !is_hidden(point));
        assert_int_equal(tremolo_text_clean(within), is_hidden(point));
        char expected[16];
        (void)snprintf(expected, sizeof expected, "a%sb", is_hidden(point) ? "?" : text);
        assert_string_equal(within, expected);
    }
    assert_true(tremolo_text_is_plain(""));
}

/* Whatever the bytes, cleaned text is plain, no longer, and stays as it is. */
static void test_any_bytes(void **state)
{
    uint32_t random = 1;
    (void)state;
    for (unsigned i = 0; i < 20000; i++) {
        char text[12];
        for (size_t k = 0; k + 1 < sizeof text; k++) {
            static const unsigned char often[] = {0xc2, 0xd8, 0xe2, 0x80, 0x81, 0xa8, 0xef, 0xbb};
            random = random * 1664525u + 1013904223u;
            unsigned byte = random >> 24;
            text[k] = (char)(random >> 8 & 1 ? often[byte % sizeof often] : byte);
        }
        text[sizeof text - 1] = '\0';
        size_t before = strlen(text);
        (void)tremolo_text_clean(text);
        assert_true(strlen(text) <= before);
        assert_true(tremolo_text_is_plain(text));
    }
}

/* Sentences are cut to fit: half a character is no character. */
static void test_a_cut_character(void **state)
{
    static const char whole[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";
    static const size_t ends[] = {1, 1, 3, 3, 3, 6, 6, 6, 6, 10};
    (void)state;
    for (size_t length = 1; length <= 10; length++) {
        char text[16];
        (void)snprintf(text, length + 1, "%s", whole);
        assert_int_equal(tremolo_text_clean(text), ends[length - 1] != length);
        assert_int_equal(strlen(text), ends[length - 1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_code_point),
        cmocka_unit_test(test_any_bytes),
        cmocka_unit_test(test_a_cut_character),
    };
    return cmocka_run_group_tests_name("study: text", tests, NULL, NULL);
}
