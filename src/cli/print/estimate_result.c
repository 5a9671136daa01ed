/* estimate_result.c -- a server's estimate as a result to hand on.
 *
 * Numbers are carried over as they came: what the page shows is what the
 * server said. Members that an older server does not send are left out. */
#include "estimate_result.h"

#include <math.h>
#include <stdio.h>

#include "members.h"
#include "result.h"

static json_t *copy_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return value != NULL ? json_deep_copy(value) : json_null();
}

/* The server sends the numbers alone; they are in the table's order. */
static json_t *named_prediction(const json_t *answer)
{
    const json_t *prediction = json_object_get(answer, "prediction");
    const json_t *numbers = json_object_get(prediction, "coefficients");
    const json_t *rows = json_object_get(answer, "coefficients");
    json_t *list = json_array();
    for (size_t i = 0; prediction != NULL && i <= json_array_size(numbers); i++) {
        bool last = i == json_array_size(numbers);
        json_t *name = last ? json_string("(intercept)") : copy_of(json_array_get(rows, i), "name");
        json_t *value =
            last ? copy_of(prediction, "intercept") : json_deep_copy(json_array_get(numbers, i));
        (void)json_array_append_new(list, json_pack("{s:o,s:o}", "name", name, "estimate", value));
    }
    return list;
}

static json_t *guarantee_of(const json_t *answer)
{
    json_t *guarantee = copy_of(answer, "guarantee");
    if (json_is_object(guarantee)) {
        (void)json_object_set_new(guarantee, "tradeoff",
                                  result_tradeoff(member_number(guarantee, "mu")));
    }
    return guarantee;
}

static void add_diagnostics(json_t *result, const json_t *answer)
{
    const json_t *from = json_object_get(answer, "diagnostics");
    const struct result_diagnosis diagnosis = {
        .residual_sd = member_number(from, "residual_sd"),
        .condition = member_number(from, "condition"),
        .negative = member_number(from, "negative_eigenvalues"),
        .noise_sd = member_number(from, "noise_sd"),
    };
    if (from != NULL) {
        (void)json_object_set_new(result, "diagnostics", result_diagnostics(&diagnosis));
    }
}

static json_t *how_of(const json_t *answer)
{
    json_t *how = json_pack("[s,s]", result_inference_words,
                            "Prediction: method auto. The guarantee follows from the study's "
                            "integers by the exact Gaussian accountant.");
    const char *why = json_string_value(json_object_get(answer, "inference_why"));
    const char *from = json_string_value(json_object_get(answer, "inference_from"));
    if (why != NULL && from != NULL) {
        (void)json_array_append_new(how, json_sprintf("Table from %s: %s.", from, why));
    }
    return how;
}

json_t *result_of_estimate(const json_t *answer, const char *line)
{
    const char *title = json_string_value(json_object_get(answer, "title"));
    json_t *result = result_new("fit", title != NULL ? title : "", line);
    json_t *summary =
        json_sprintf("%.0f reports, %s, round %.0f of %.0f", member_number(answer, "reports"),
                     json_string_value(json_object_get(answer, "state")),
                     member_number(answer, "round") + 1, member_number(answer, "rounds"));
    (void)json_object_update_new(
        result,
        json_pack("{s:o,s:o,s:{s:o,s:o,s:o},s:o,s:o,s:o,s:o,s:o,s:o,s:s,s:o,s:o,s:o}", "summary",
                  summary, "study", copy_of(answer, "study"), "response", "name",
                  copy_of(answer, "response"), "unit", copy_of(answer, "unit"), "range",
                  copy_of(answer, "range"), "devices", copy_of(answer, "reports"), "rounds",
                  copy_of(answer, "rounds"), "level", copy_of(answer, "level"), "coefficients",
                  copy_of(answer, "coefficients"), "prediction", named_prediction(answer), "r2",
                  copy_of(answer, "r2"), "r2_words",
                  "the share of the response's variance that the prediction explains, estimated "
                  "from the reports alone",
                  "not_identified", copy_of(answer, "not_identified"), "guarantee",
                  guarantee_of(answer), "how", how_of(answer)));
    add_diagnostics(result, answer);
    return result;
}
