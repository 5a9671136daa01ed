/* test_cli_suggest.c -- slips of the keys are answered with what was meant, and
 * other words with none. */
#include "suggest.h"

#include "testing.h"

static const char *const words[] = {"account", "audit", "demo", "fit", "plan", "status", "study"};
enum { WORDS = sizeof words / sizeof words[0] };

static const char *meant(const char *word)
{
    const char *nearest = cli_nearest(word, words, WORDS);
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
    assert_null(cli_nearest("study", words, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slips),
        cmocka_unit_test(test_other_words),
    };
    return cmocka_run_group_tests_name("cli suggest", tests, NULL, NULL);
}
