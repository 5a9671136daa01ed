/* test_cli_forest.c -- coefficients on one axis. */
#include "testing.h"

#include <jansson.h>
#include <math.h>

#include "forest.h"

static void assert_near(double value, double wanted, double tolerance)
{
    assert_true(fabs(value - wanted) <= tolerance);
}

static void axis_ends_are_round(void **state)
{
    (void)state;
    assert_near(forest_round_up(1), 1, 0);
    assert_near(forest_round_up(1.01), 2, 0);
    assert_near(forest_round_up(3), 5, 0);
    assert_near(forest_round_up(7), 10, 0);
    /* Powers of ten are rounded by pow(): a few units in the last place. */
    assert_near(forest_round_up(0.03), 0.05, 1e-15);
    assert_near(forest_round_up(123456), 200000, 1e-9);
    assert_near(forest_round_up(0), 1, 0);
    assert_near(forest_round_up(NAN), 1, 0);
    assert_near(forest_round_up(INFINITY), 1, 0);
}

static const char table[] =
    "[{\"name\":\"age\",\"estimate\":0.5,\"low\":0.25,\"high\":0.75,\"identified\":true},"
    "{\"name\":\"smoker\",\"estimate\":2,\"low\":-1,\"high\":5,\"identified\":true},"
    "{\"name\":\"far\",\"estimate\":1,\"low\":-1e9,\"high\":1e9,\"identified\":false},"
    "{\"name\":\"unknown\",\"estimate\":null,\"low\":null,\"high\":null,\"identified\":false},"
    "{\"name\":\"(intercept)\",\"estimate\":50,\"low\":40,\"high\":60,\"identified\":true}]";
static const char study[] =
    "{\"features\":[{\"name\":\"age\",\"kind\":\"numeric\",\"low\":10,\"high\":90},"
    "{\"name\":\"smoker\",\"kind\":\"yes-no\"},{\"name\":\"far\",\"kind\":\"numeric\",\"low\":0,"
    "\"high\":2},{\"name\":\"unknown\",\"kind\":\"numeric\",\"low\":0,\"high\":2}],"
    "\"response\":{\"name\":\"y\",\"low\":0,\"high\":70}}";

static void effects_are_over_ranges(void **state)
{
    (void)state;
    struct forest forest;
    json_t *coefficients = json_loads(table, 0, NULL), *terms = json_loads(study, 0, NULL);
    assert_true(forest_build(&forest, coefficients, terms));
    assert_int_equal(forest.rows, 4); /* without the intercept */
    assert_near(forest.row[0].effect, 40, 0);
    assert_near(forest.row[0].effect_low, 20, 0);
    assert_near(forest.row[0].effect_high, 60, 0);
    assert_near(forest.row[1].effect, 2, 0); /* from no to yes */
    assert_true(isnan(forest.row[3].effect));
    /* The far interval counts up to the response's range, 70, which becomes 100. */
    assert_near(forest.reach, 100, 1e-12);
    forest_free(&forest);
    json_decref(coefficients);
    json_decref(terms);
}

static void nothing_is_a_forest_too(void **state)
{
    (void)state;
    struct forest forest;
    json_t *empty = json_array();
    assert_true(forest_build(&forest, empty, NULL));
    assert_int_equal(forest.rows, 0);
    forest_free(&forest);
    assert_true(forest_build(&forest, NULL, NULL));
    forest_free(&forest);
    json_decref(empty);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(axis_ends_are_round),
        cmocka_unit_test(effects_are_over_ranges),
        cmocka_unit_test(nothing_is_a_forest_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
