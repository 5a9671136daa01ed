/* fuzz_predict.c -- the reader of saved estimates, as predict reads them.
 *
 * Properties: a refusal is a sentence that ends; what is read predicts numbers or nothing for a table of
 * the columns that the document asks for, and an interval holds its mean. */
#include <math.h>
#include <string.h>

#include "estimate_json.h"
#include "fuzz.h"
#include "inputs.h"
#include "tremolo_predict.h"

enum { ROWS = 3 };

/* A table of the document's columns: missing values, ones or first levels, and other numbers. */
static struct tremolo_table *table_of(const struct tremolo_inputs *inputs)
{
    static struct tremolo_table_column columns[TREMOLO_INPUTS_MAX];
    static double numbers[TREMOLO_INPUTS_MAX][ROWS];
    static const char *const answers[] = {"no", "yes"};
    static const int32_t codes[ROWS] = {-1, 0, 1};
    char error[TREMOLO_TABLE_ERROR_BYTES];
    struct tremolo_table *table = NULL;
    for (size_t i = 0; i < inputs->count; i++) {
        const struct tremolo_study_feature *input = &inputs->input[i];
        bool levels = input->kind == TREMOLO_STUDY_CATEGORY;
        memcpy(numbers[i], (const double[ROWS]){NAN, 1.0, (double)i - 1.5}, sizeof numbers[i]);
        columns[i] =
            input->kind == TREMOLO_STUDY_NUMERIC
                ? (struct tremolo_table_column){.name = input->name,
                                                .numbers = numbers[i],
                                                .stride = 1}
                : (struct tremolo_table_column){.name = input->name,
                                                .codes = codes,
                                                .words = levels ? input->levels : answers,
                                                .word_count = levels ? input->level_count : 2};
    }
    return tremolo_table_of_columns(&table, columns, inputs->count, ROWS, error) ? table : NULL;
}

static void check(const char *json, size_t size, const struct tremolo_inputs *inputs)
{
    char error[TREMOLO_TABLE_ERROR_BYTES] = "";
    struct tremolo_predicted rows[ROWS];
    struct tremolo_predict_counts counts;
    struct tremolo_table *table = table_of(inputs);
    if (table == NULL) {
        return;
    }
    if (tremolo_predict_table(rows, &counts, json, size, 0, table, error) != TREMOLO_OK) {
        fuzz_require(error[0] != '\0' && memchr(error, 0, sizeof error) != NULL);
        tremolo_table_free(table);
        return;
    }
    fuzz_require(counts.coefficients_hidden <= inputs->features + 1);
    for (size_t i = 0; i < ROWS; i++) {
        fuzz_require(!isnan(rows[i].prediction) || isnan(rows[i].mean));
        fuzz_require(isnan(rows[i].low) ||
                     (rows[i].low <= rows[i].mean && rows[i].mean <= rows[i].high));
        fuzz_require(isnan(rows[i].mean) == isnan(rows[i].standard_error));
    }
    tremolo_table_free(table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char error[TREMOLO_TABLE_ERROR_BYTES] = "";
    struct tremolo_inputs *inputs = NULL;
    json_t *root = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
    struct tremolo_study_feature any = {.name = "x", .kind = TREMOLO_STUDY_NUMERIC};
    const struct tremolo_inputs unknown = {.input = &any, .count = 1, .features = 1};
    if (root != NULL && inputs_from_json(&inputs, json_object_get(root, "inputs"), error)) {
        check((const char *)data, size, inputs);
        tremolo_inputs_free(inputs);
    } else {
        check((const char *)data, size, &unknown);
    }
    json_decref(root);
    return 0;
}
