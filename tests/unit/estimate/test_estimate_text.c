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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_and_texts_have_defaults),
        cmocka_unit_test(no_control_character_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
