/* test_host_words.c -- lists of words in sentences: whole, quoted, within their room. */
#include "testing.h"

#include <string.h>

#include "word_list.h"

enum { WORDS = 6 };
static const char *const words[WORDS] = {"age", "steps, daily", "a \"b\"", "gr\u00f6\u00dfe", "",
                                         "z"};

static void test_words_are_quoted_where_needed(void **state)
{
    char text[200];
    (void)state;
    word_list(text, sizeof text, words, WORDS);
    assert_string_equal(text, "age, \"steps, daily\", \"a \"\"b\"\"\", gr\u00f6\u00dfe, , z");
    word_list(text, sizeof text, words, 1);
    assert_string_equal(text, "age");
    word_list(text, sizeof text, words, 0);
    assert_string_equal(text, "");
}

/* Whatever the room: nothing beyond it, no word cut, and dots unless all are there. */
static void test_no_word_is_cut(void **state)
{
    char whole[200];
    char text[200];
    (void)state;
    word_list(whole, sizeof whole, words, WORDS);
    for (size_t bytes = 4; bytes <= strlen(whole) + 1; bytes++) {
        memset(text, '#', sizeof text);
        word_list(text, bytes, words, WORDS);
        assert_true(strlen(text) < bytes);
        assert_int_equal(text[bytes], '#');
        if (bytes > strlen(whole)) {
            assert_string_equal(text, whole);
            continue;
        }
        size_t kept = strlen(text) - strlen("...");
        assert_string_equal(text + kept, "...");
        assert_true(kept == 0 || (strncmp(text, whole, kept) == 0 && text[kept - 1] == ' '));
        /* The comma before the dots is one between words. */
        size_t quotes = 0;
        for (size_t i = 0; i < kept; i++) {
            quotes += text[i] == '"';
        }
        assert_int_equal(quotes % 2, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_are_quoted_where_needed),
        cmocka_unit_test(test_no_word_is_cut),
    };
    return cmocka_run_group_tests_name("host words", tests, NULL, NULL);
}
