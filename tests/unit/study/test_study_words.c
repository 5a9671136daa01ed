/* test_study_words.c -- lists of words in sentences: whole, quoted, within their room.
 * Slips of the keys are answered with what was meant, other words with none. */
#include "testing.h"

#include <string.h>

#include "words.h"

enum { WORDS = 6 };
static const char *const words[WORDS] = {"age", "steps, daily", "a \"b\"", "gr\u00f6\u00dfe", "",
                                         "z"};

static void test_words_are_quoted_where_needed(void **state)
{
    char text[200];
    (void)state;
    tremolo_words_list(text, sizeof text, words, WORDS);
    assert_string_equal(text, "age, \"steps, daily\", \"a \"\"b\"\"\", gr\u00f6\u00dfe, , z");
    tremolo_words_list(text, sizeof text, words, 1);
    assert_string_equal(text, "age");
    tremolo_words_list(text, sizeof text, words, 0);
    assert_string_equal(text, "");
}

/* Whatever the room: nothing beyond it, no word cut, and dots unless all are there. */
static void test_no_word_is_cut(void **state)
{
    char whole[200];
    char text[200];
    (void)state;
    tremolo_words_list(whole, sizeof whole, words, WORDS);
    for (size_t bytes = 4; bytes <= strlen(whole) + 1; bytes++) {
        memset(text, '#', sizeof text);
        tremolo_words_list(text, bytes, words, WORDS);
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

static const char *const commands[] = {"account", "audit",  "demo", "fit",
                                       "plan",    "status", "study"};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static const char *meant(const char *word)
{
    const char *nearest = tremolo_words_nearest(word, commands, COMMANDS);
    return nearest != NULL ? nearest : "";
}

static void test_slips(void **state)
{
    (void)state;
    assert_string_equal(meant("stauts"), "status");  /* neighbours swapped */
    assert_string_equal(meant("studdy"), "study");   /* one too many */
    assert_string_equal(meant("acount"), "account"); /* one too few */
    assert_string_equal(meant("adit"), "audit");
    assert_string_equal(meant("STUDY"), "study");
    assert_string_equal(meant("fti"), "fit");
    assert_string_equal(meant("plan"), "plan");
}

static void test_other_words(void **state)
{
    char endless[200];
    (void)state;
    assert_string_equal(meant(""), "");
    assert_string_equal(meant("x"), "");
    assert_string_equal(meant("ab"), "");
    assert_string_equal(meant("frobnicate"), "");
    memset(endless, 'a', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    assert_string_equal(meant(endless), "");
    assert_null(tremolo_words_nearest("study", commands, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_are_quoted_where_needed),
        cmocka_unit_test(test_no_word_is_cut),
        cmocka_unit_test(test_slips),
        cmocka_unit_test(test_other_words),
    };
    return cmocka_run_group_tests_name("study words", tests, NULL, NULL);
}
