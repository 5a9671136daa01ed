/* test_study_terms.c -- formulas, and the arithmetic that every client does alike. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inputs.h"
#include "tremolo_terms.h"

static const char *const platforms[] = {"web", "iOS", "android"};
static const struct tremolo_study_feature columns[] = {
    {.name = "age", .low = 18, .high = 90, .missing = NAN, .typical = NAN},
    {.name = "sleep", .low = 4, .high = 10, .missing = 7, .typical = NAN},
    {.name = "income", .low = 1000, .high = 90000, .missing = NAN, .typical = NAN},
    {.name = "platform",
     .kind = TREMOLO_STUDY_CATEGORY,
     .levels = platforms,
     .level_count = 3,
     .missing = 0},
    {.name = "body mass", .low = NAN, .high = NAN, .missing = NAN},
    {.name = "smoker", .kind = TREMOLO_STUDY_YES_NO, .missing = NAN},
};
enum { COLUMNS = sizeof columns / sizeof columns[0] };

/* The names of all features of a formula, or the sentence that refuses it. */
static const char *names_of(const char *terms)
{
    static char text[4096];
    char error[TREMOLO_TERMS_ERROR_BYTES];
    struct tremolo_inputs *inputs = NULL;
    text[0] = '\0';
    if (tremolo_inputs_new(&inputs, columns, COLUMNS, terms, true, error) != TREMOLO_OK) {
        (void)snprintf(text, sizeof text, "%s", error);
        return text;
    }
    for (size_t i = 0; i < inputs->features; i++) {
        size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, "%s", i > 0 ? " | " : "");
        used = strlen(text);
        tremolo_derived_name(text + used, sizeof text - used, &inputs->feature[i], inputs->input);
    }
    tremolo_inputs_free(inputs);
    return text;
}

static void test_formulas(void **state)
{
    static const char *const cases[][2] = {
        {"age", "age"},
        {"  age+sleep ", "age | sleep"},
        {"1 + age", "age"},
        {"age*sleep", "age | sleep | age:sleep"},
        {"age*sleep + age + sleep:age", "age | sleep | age:sleep"},
        {"age*sleep*income",
         "age | sleep | income | age:sleep | age:income | sleep:income | age:sleep:income"},
        {"platform", "platform=iOS | platform=android"},
        {"C(platform)", "platform=iOS | platform=android"},
        {"age:platform", "age:platform=iOS | age:platform=android"},
        {"smoker + C(smoker)", "smoker | smoker"},
        {"age^2 + I(age^2) + age**3", "age^2 | age^3"},
        {"log(income) + np.log(age)", "log(income) | log(age)"},
        {"I(age*sleep)", "age:sleep"},
        {"I((age-50)*(sleep - 7.5)) + I((age+1)^2)", "(age-50):(sleep-7.5) | (age+1)^2"},
        {"`body mass` + Q(\"body mass\"):age", "body mass | body mass:age"},
        {"log(income):platform:smoker",
         "log(income):platform=iOS:smoker | log(income):platform=android:smoker"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_string_equal(names_of(cases[i][0]), cases[i][1]);
    }
}

static void test_refusals(void **state)
{
    static const char *const cases[][2] = {
        {"", "a name is missing"},
        {"age +", "a name is missing"},
        {"age sleep", "cannot be read from 'sleep' on"},
        {"age - sleep", "added, not taken away"},
        {"-1 + age", "added, not taken away"},
        {"1", "no terms but the intercept"},
        {"age^0", "whole powers"},
        {"age^5", "whole powers"},
        {"age^22", "whole powers"},
        {"age:age", "twice"},
        {"weight", "no such column"},
        {"log(platform)", "needs a number"},
        {"platform^2", "no powers"},
        {"C(age)", "no levels"},
        {"log(age", ") is missing"},
        {"sqrt(age)", "'sqrt' is no function"},
        {"2age", "begins with a digit"},
        {"`age", "does not end"},
        {"I((age-x)^2)", "a number is missing"},
        {"I((age*2)^2)", "a - or + and a number"},
        {"a b ~ age", "one name"},
        {"age:sleep:income:platform:smoker", "more than 4 factors"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (strstr(names_of(cases[i][0]), cases[i][1]) == NULL) {
            fail_msg("%s: %s", cases[i][0], names_of(cases[i][0]));
        }
    }
}

static void test_response(void **state)
{
    char error[TREMOLO_TERMS_ERROR_BYTES];
    struct tremolo_formula *formula = NULL;
    (void)state;
    assert_true(tremolo_formula_parse(&formula, "pulse ~ age + C(region)", error));
    assert_string_equal(formula->response, "pulse");
    assert_true(tremolo_formula_uses(formula, "age"));
    assert_true(tremolo_formula_has_levels(formula, "region"));
    assert_false(tremolo_formula_has_levels(formula, "age"));
    tremolo_formula_free(formula);
    /* A ~ within quotes is part of a name. */
    assert_true(tremolo_formula_parse(&formula, "`a~b` + Q('c~\"d')", error));
    assert_null(formula->response);
    assert_true(tremolo_formula_uses(formula, "a~b") && tremolo_formula_uses(formula, "c~\"d"));
    tremolo_formula_free(formula);
    assert_true(tremolo_formula_parse(&formula, "Q(\"it's\") ~ `a~b`", error));
    assert_string_equal(formula->response, "it's");
    tremolo_formula_free(formula);
}

/* Against the C library, at the ends of the range and near powers of two. */
static void test_logarithm(void **state)
{
    static const double ends[] = {1.0, 0x1.fffffffffffffp0, 0x1p-1022, 0x1.fffffffffffffp1023};
    static const double none[] = {0.0, -1.0, INFINITY, NAN};
    const struct tremolo_study_feature column = {
        .name = "y", .low = NAN, .high = NAN, .missing = NAN};
    char error[TREMOLO_TERMS_ERROR_BYTES];
    struct tremolo_inputs *inputs = NULL;
    double x = 0x1p-1022, got;
    (void)state;
    assert_int_equal(tremolo_inputs_new(&inputs, &column, 1, "log(y)", false, error), TREMOLO_OK);
    for (int i = 0; i < 20000; i++, x *= 1.0717) {
        double y = i < 4 ? ends[i] : fmin(x, ends[3]);
        assert_true(tremolo_inputs_features(&got, inputs, &y) && fabs(got - log(y)) <= 1e-9);
    }
    for (size_t i = 0; i < 4; i++) {
        assert_false(tremolo_inputs_features(&got, inputs, &none[i]));
    }
    tremolo_inputs_free(inputs);
}

static void test_values(void **state)
{
    char error[TREMOLO_TERMS_ERROR_BYTES];
    struct tremolo_inputs *inputs = NULL;
    double values[COLUMNS] = {40, NAN, 500, 2, 80, 1};
    double x[TREMOLO_MAX_DIMENSION];
    (void)state;
    assert_int_equal(tremolo_inputs_new(&inputs, columns, COLUMNS,
                                        "age:sleep + age^3 + log(income) + platform:age + "
                                        "I((age-50)^2) + smoker",
                                        true, error),
                     TREMOLO_OK);
    assert_true(tremolo_inputs_complete(values, inputs));
    assert_true(tremolo_inputs_features(x, inputs, values));
    assert_true(x[0] == 280.0); /* the missing 7 hours */
    assert_true(x[1] == 64000.0);
    assert_true(fabs(x[2] - log(1000.0)) <= 1e-9); /* raised to the low end */
    assert_true(x[3] == 0.0 && x[4] == 40.0);      /* android */
    assert_true(x[5] == 100.0 && x[6] == 1.0);
    values[0] = NAN;
    assert_false(tremolo_inputs_complete(values, inputs));
    values[0] = 1e200;
    assert_false(tremolo_inputs_features(x, inputs, values));
    tremolo_inputs_free(inputs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formulas), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_response), cmocka_unit_test(test_logarithm),
        cmocka_unit_test(test_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
