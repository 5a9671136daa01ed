/* fuzz_terms.c -- the reader of formulas.
 *
 * Properties: a refusal is a sentence that ends; what is read has terms of one to four factors,
 * and expands over columns of all its names into features with names that end and values that are
 * computed. */
#include <math.h>
#include <string.h>

#include "fuzz.h"
#include "inputs.h"

static void check_values(const struct tremolo_inputs *inputs)
{
    double values[TREMOLO_INPUTS_MAX];
    double features[TREMOLO_MAX_DIMENSION];
    char name[64];
    for (size_t i = 0; i < inputs->count; i++) {
        values[i] = 1.5;
    }
    (void)tremolo_inputs_features(features, inputs, values);
    for (size_t i = 0; i < inputs->features; i++) {
        tremolo_derived_name(name, sizeof name, &inputs->feature[i], inputs->input);
        fuzz_require(memchr(name, 0, sizeof name) != NULL);
        fuzz_require(inputs->feature[i].factors >= 1 &&
                     inputs->feature[i].factors <= TREMOLO_TERM_FACTORS_MAX);
    }
}

/* A number for each name of the formula. */
static void check_formula(const struct tremolo_formula *formula, const char *text)
{
    struct tremolo_study_feature columns[TREMOLO_INPUTS_MAX];
    struct tremolo_inputs *inputs = NULL;
    char error[TREMOLO_TERMS_ERROR_BYTES] = "";
    size_t count = 0;
    fuzz_require(formula->count >= 1 && formula->count <= TREMOLO_TERMS_MAX);
    for (size_t i = 0; i < formula->count; i++) {
        for (size_t k = 0; k < formula->term[i].factors && count < TREMOLO_INPUTS_MAX; k++) {
            columns[count++] = (struct tremolo_study_feature){
                .name = formula->term[i].factor[k].column, .low = 1, .high = 2, .missing = NAN};
        }
    }
    if (tremolo_inputs_new(&inputs, columns, count, text, true, error) == TREMOLO_OK) {
        check_values(inputs);
        tremolo_inputs_free(inputs);
    } else {
        fuzz_require(error[0] != '\0' && memchr(error, 0, sizeof error) != NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char text[4097];
    char error[TREMOLO_TERMS_ERROR_BYTES] = "";
    struct tremolo_formula *formula = NULL;
    if (size >= sizeof text) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    if (tremolo_formula_parse(&formula, text, error)) {
        check_formula(formula, text);
        tremolo_formula_free(formula);
    } else {
        fuzz_require(error[0] != '\0' && memchr(error, 0, sizeof error) != NULL);
    }
    return 0;
}
