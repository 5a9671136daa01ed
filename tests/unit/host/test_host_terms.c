/* test_host_terms.c -- the integers of samples in studies with terms are those that an independent
 * program computed without floating point (tests/vectors/terms.py). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tremolo_host.h"
#include "inputs.h"
#include "study_internal.h"

static struct tremolo_study_file *study_of(const json_t *vector)
{
    struct tremolo_study_file *file = NULL;
    struct tremolo_study_problems problems;
    char *text = json_dumps(json_object_get(vector, "study"), JSON_REAL_PRECISION(17));
    if (tremolo_study_file_parse(&file, &problems, text, strlen(text)) != TREMOLO_OK) {
        fail_msg("%s: %s", problems.item[0].path, problems.item[0].reason);
    }
    free(text);
    return file;
}

static void take_values(double *values, const struct tremolo_inputs *inputs, const json_t *sample)
{
    for (size_t i = 0; i < inputs->count; i++) {
        const json_t *value = json_object_get(sample, inputs->input[i].name);
        values[i] = NAN;
        if (json_is_number(value)) {
            values[i] = json_number_value(value);
        } else if (value != NULL) {
            assert_true(
                tremolo_input_read(&values[i], &inputs->input[i], json_string_value(value)));
        }
    }
}

static void check_case(const struct tremolo_study_file *file, const json_t *one)
{
    const struct tremolo_inputs *inputs = tremolo_study_file_inputs(file);
    const json_t *wanted = json_object_get(one, "features");
    double values[TREMOLO_MAX_COORDINATES];
    double features[TREMOLO_MAX_DIMENSION];
    take_values(values, inputs, json_object_get(one, "sample"));
    assert_true(tremolo_inputs_complete(values, inputs));
    assert_true(tremolo_inputs_features(features, inputs, values));
    assert_int_equal(inputs->features, tremolo_study_file_dimension(file));
    assert_int_equal(inputs->features, json_array_size(wanted));
    for (size_t i = 0; i < inputs->features; i++) {
        struct tremolo_study_coordinate reach = tremolo_study_file_reach(file, i);
        struct tremolo_host_range range = {reach.low, reach.high};
        int32_t raw = 0;
        assert_int_equal(tremolo_host_raw(&raw, features[i], &range), TREMOLO_OK);
        if (raw != json_integer_value(json_array_get(wanted, i))) {
            fail_msg("%s: %ld, not %lld", reach.name, (long)raw,
                     (long long)json_integer_value(json_array_get(wanted, i)));
        }
    }
}

static void test_vectors(void **state)
{
    json_t *vectors = json_load_file("tests/vectors/terms.json", 0, NULL);
    size_t studies = 0;
    size_t index;
    json_t *vector;
    json_t *one;
    (void)state;
    assert_int_equal(json_array_size(vectors), 2);
    for (; studies < json_array_size(vectors); studies++) {
        vector = json_array_get(vectors, studies);
        struct tremolo_study_file *file = study_of(vector);
        assert_true(json_array_size(json_object_get(vector, "cases")) >= 9);
        json_array_foreach(json_object_get(vector, "cases"), index, one)
        {
            check_case(file, one);
        }
        tremolo_study_file_free(file);
    }
    json_decref(vectors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_vectors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
