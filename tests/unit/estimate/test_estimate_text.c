/* test_estimate_text.c -- members of documents, and documents from elsewhere made fit to print. */
#include "testing.h"

#include <jansson.h>
#include <math.h>

#include "text.h"

static void numbers_and_texts_have_defaults(void **state)
{
    json_t *object = json_pack("{s:i, s:s, s:f}", "whole", 7, "text", "t", "real", 0.5);
    (void)state;
    assert_int_equal(member_integer(object, "whole"), 7);
    assert_int_equal(member_integer(object, "text"), 0);
    assert_int_equal(member_integer(NULL, "whole"), 0);
    assert_true(member_number(object, "real") == 0.5);
    assert_true(isnan(member_number(object, "text")));
    assert_string_equal(member_text(object, "whole"), "");
    json_decref(object);
}

/* An escape, a delete, a C1 control (its two bytes), and letters that have none. */
static void no_control_character_is_left(void **state)
{
    static const char text[] =
        "{\"title\":\"a\\u001b[2Jb\\u007f\\u009bc\\nd\",\"guarantee\":{\"words\":\"e\\nf\\rg\"},"
        "\"list\":[[\"\\t\\u00e9\\u4e16\"],1,null]}";
    json_t *document = json_loads(text, 0, NULL);
    (void)state;
    assert_non_null(document);
    members_clean(document);
    assert_string_equal(member_text(document, "title"), "a?[2Jb??c?d");
    assert_string_equal(member_text(json_object_get(document, "guarantee"), "words"), "e?f?g");
    const json_t *inner = json_array_get(json_object_get(document, "list"), 0);
    assert_string_equal(json_string_value(json_array_get(inner, 0)), "?\xc3\xa9\xe4\xb8\x96");
    json_decref(document);
    members_clean(NULL);
}

/* A form that does not fit a value is never given to printf(): a lying server chooses the types. */
static void sentences_have_members(void **state)
{
    static const struct {
        const char *sentence, *wanted;
    } cases[] = {
        {"{name}|{name:-6s}|", "age|age   |"},
        {"{round} {round+1}", "2 3"},
        {"{cost:.3g} {cost:^.3g}", "1.23 1.24"},
        {"[{cost:8.2f}] [{none:8.2f}]", "[    1.23] [       -]"},
        {"{name:.4g} {round:-5s}|", "- -    |"},
        {"{none} {none+1} {name+1}", "0 1 age"},
        {"no end {name", "no end age"},
    };
    json_t *object = json_pack("{s:s, s:i, s:f}", "name", "age", "round", 2, "cost", 1.234);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[80] = "";
        FILE *out = fmemopen(text, sizeof text, "w");
        assert_non_null(out);
        text_members(out, object, cases[i].sentence);
        assert_int_equal(fclose(out), 0);
        assert_string_equal(text, cases[i].wanted);
    }
    json_decref(object);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_and_texts_have_defaults),
        cmocka_unit_test(no_control_character_is_left),
        cmocka_unit_test(sentences_have_members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
