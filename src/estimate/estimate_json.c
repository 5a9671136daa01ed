/* estimate_json.c -- an estimate as the one document. */
#include "estimate_json.h"

#include <math.h>

#include "inputs.h"

static json_t *text(const char *words)
{
    return words != NULL ? json_string(words) : json_null();
}

static json_t *whole(int64_t count)
{
    return count != TREMOLO_UNKNOWN ? json_integer(count) : json_null();
}

static json_t *score_json(const struct tremolo_coefficient *row)
{
    bool all = row->score_shape == TREMOLO_INTERVAL_ALL;
    return json_pack("{s:s, s:o, s:o}", "shape", tremolo_interval_name(row->score_shape), "low",
                     all ? json_null() : json_latch_number(row->score_low), "high",
                     all ? json_null() : json_latch_number(row->score_high));
}

/* What noise hides has no estimate that means anything, and no error or p: the score
 * test's set alone holds its level. */
static json_t *coefficient_json(const struct tremolo_estimate *estimate,
                                const struct tremolo_coefficient *row, size_t i)
{
    bool told = row->identified;
    bool ranged = i < estimate->features && estimate->ranges != NULL;
    static const struct tremolo_estimate_meaning none = {0};
    const struct tremolo_estimate_meaning *meaning =
        i < estimate->features && estimate->meanings != NULL ? &estimate->meanings[i] : &none;
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o}", "name",
                     tremolo_estimate_name(estimate, i), "estimate",
                     json_latch_number(told ? row->estimate : NAN), "standard_error",
                     json_latch_number(told ? row->standard_error : NAN), "low",
                     json_latch_number(told ? row->low : NAN), "high",
                     json_latch_number(told ? row->high : NAN), "z",
                     json_latch_number(told ? row->z : NAN), "p",
                     json_latch_number(told ? row->p : NAN), "identified", (int)told, "score",
                     isnan(row->standard_error) ? json_null() : score_json(row), "range",
                     json_latch_number(ranged ? estimate->ranges[i] : NAN), "unit",
                     text(meaning->unit), "from", text(meaning->from), "to", text(meaning->to));
}

static json_t *coefficients_json(const struct tremolo_estimate *estimate,
                                 const struct tremolo_coefficient *rows)
{
    json_t *list = json_array();
    for (size_t i = 0; rows != NULL && i <= estimate->features; i++) {
        (void)json_array_append_new(list, coefficient_json(estimate, &rows[i], i));
    }
    return list;
}

/* ---------------------------------------------------------------- tails */

/* A feature's name or the response's, of a released coordinate or a ballot's number. */
static const char *released_name(const struct tremolo_estimate *estimate, size_t i)
{
    return i < estimate->features ? estimate->names[i] : estimate->response;
}

/* "steps", or of a ballot's entry "steps x score", "steps" for the product with the constant. */
static json_t *coordinate_name(const struct tremolo_estimate *estimate, size_t coordinate)
{
    size_t first;
    size_t second;
    if (estimate->tails->numbers == 0) {
        return json_string(released_name(estimate, coordinate));
    }
    if (!tremolo_ballot_pair(&first, &second, coordinate, estimate->tails->numbers) ||
        second == 0) {
        return json_string("(length)");
    }
    return first == 0 ? json_string(released_name(estimate, second - 1))
                      : json_sprintf("%s x %s", released_name(estimate, first - 1),
                                     released_name(estimate, second - 1));
}

static json_t *tails_json(const struct tremolo_estimate *estimate)
{
    const struct tremolo_tails *tails = estimate->tails;
    json_t *norms = json_array();
    json_t *coordinates = json_array();
    for (size_t k = 0; k < TREMOLO_TAIL_LIMITS; k++) {
        (void)json_array_append_new(
            norms, json_pack("{s:f, s:f, s:I}", "beyond", tails->norm[k].beyond, "expected",
                             tails->norm[k].expected, "seen", (json_int_t)tails->norm[k].seen));
    }
    for (size_t i = 0; i < tails->values; i++) {
        bool high = tails->value[i].high;
        (void)json_array_append_new(
            coordinates,
            json_pack("{s:o, s:s, s:f, s:f, s:I}", "name",
                      coordinate_name(estimate, tails->value[i].coordinate), "side",
                      high ? "high" : "low", "beyond", tails->value_beyond, "expected",
                      tails->value_expected, "seen", (json_int_t)tails->value[i].seen));
    }
    json_t *robust =
        estimate->robust != NULL ? coefficients_json(estimate, estimate->robust) : json_null();
    return json_pack("{s:I, s:o, s:i, s:o, s:f, s:b, s:I, s:o}", "reports",
                     (json_int_t)tails->reports, "norms", norms, "worst", (int)tails->worst,
                     "coordinates", coordinates, "probability", tails->probability, "alarm",
                     (int)tails->alarm, "set_aside", (json_int_t)tails->set_aside, "robust",
                     robust);
}

/* One sentence for all that the noise hides, or none. */
static json_t *unclear_json(const struct tremolo_estimate *estimate)
{
    char sentence[1024] = "";
    const char *names[TREMOLO_MAX_FEATURES + 1];
    for (size_t i = 0; i <= estimate->features; i++) {
        names[i] = tremolo_estimate_name(estimate, i);
    }
    if (estimate->rows != NULL) {
        tremolo_identification_summary(sentence, sizeof sentence, names, estimate->rows,
                                       estimate->features + 1, estimate->evidence_reports);
    }
    return sentence[0] != '\0' ? json_pack("[s]", sentence) : json_array();
}

/* Do the reports tell anything to predict from? The shrunken coefficients may be good though noise
 * hides every single one and R^2; then the F test, which keeps its level at any noise, tells them
 * from what comes of noise and prior alone. */
static bool predicts(const struct tremolo_estimate *estimate)
{
    bool told = estimate->release == NULL || estimate->r2 > 0.0 ||
                estimate->diagnosis.f_test.p < 1.0 - estimate->level;
    for (size_t i = 0; estimate->rows != NULL && i < estimate->features; i++) {
        told = told || estimate->rows[i].identified;
    }
    return told;
}

static json_t *prediction_json(const struct tremolo_estimate *estimate)
{
    if (estimate->prediction == NULL) {
        return json_null();
    }
    json_t *list = json_array();
    for (size_t i = 0; i <= estimate->features; i++) {
        (void)json_array_append_new(list, json_pack("{s:s, s:o}", "name",
                                                    tremolo_estimate_name(estimate, i), "estimate",
                                                    json_latch_number(estimate->prediction[i])));
    }
    return json_pack("{s:o, s:b, s:o}", "method", text(estimate->method), "told",
                     predicts(estimate), "coefficients", list);
}

/* The lower triangle, row by row. */
static json_t *covariance_json(const struct tremolo_estimate *estimate)
{
    size_t p = estimate->features + 1;
    const double *covariance = estimate->diagnosis.covariance;
    if (covariance == NULL || estimate->rows == NULL) {
        return json_null();
    }
    json_t *list = json_array();
    for (size_t i = 0; i < p; i++) {
        (void)json_array_append_new(list, json_latch_numbers(covariance + i * p, i + 1));
    }
    return list;
}

static json_t *f_test_json(const struct tremolo_f_test *test)
{
    return isnan(test->p)
               ? json_null()
               : json_pack("{s:o, s:o, s:o, s:o}", "f", json_latch_number(test->f), "numerator",
                           json_latch_number(test->numerator), "denominator",
                           json_latch_number(test->denominator), "p", json_latch_number(test->p));
}

static json_t *inflation_json(const struct tremolo_estimate *estimate)
{
    const struct tremolo_measured *inflation = estimate->diagnosis.inflation;
    json_t *list = inflation != NULL ? json_array() : json_null();
    for (size_t i = 0; inflation != NULL && i < estimate->features; i++) {
        (void)json_array_append_new(list,
                                    json_pack("{s:s, s:o, s:o, s:o}", "name", estimate->names[i],
                                              "estimate", json_latch_number(inflation[i].estimate),
                                              "low", json_latch_number(inflation[i].low), "high",
                                              json_latch_number(inflation[i].high)));
    }
    return list;
}

static json_t *diagnostics_json(const struct tremolo_estimate *estimate)
{
    const struct tremolo_measured *residual = &estimate->diagnosis.residual_sd;
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "residual_sd",
        json_latch_number(residual->estimate), "residual_sd_low", json_latch_number(residual->low),
        "residual_sd_high", json_latch_number(residual->high), "f_test",
        f_test_json(&estimate->diagnosis.f_test), "variance_inflation", inflation_json(estimate),
        "condition", json_latch_number(estimate->condition), "negative_eigenvalues",
        whole(estimate->negative), "noise_sd", json_latch_number(estimate->noise_sd), "noise_ratio",
        json_latch_number(estimate->noise_ratio), "shift_max",
        json_latch_number(estimate->shift_max));
}

json_t *estimate_document(const struct tremolo_estimate *estimate)
{
    static const double devices_max = 1e15; /* beyond it a count says no more than "out of reach" */
    double needed = estimate->devices_needed;
    double degrees = estimate->rows != NULL ? estimate->rows[0].degrees : NAN;
    return json_pack(
        "{s:i, s:o, s:o, s:o, s:o, s:{s:o, s:o, s:o}, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
        "s:o, s:o, s:o, s:{s:o, s:o, s:o}, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:n}",
        "tremolo_estimate", ESTIMATE_DOCUMENT_VERSION, "title", text(estimate->title), "study",
        text(estimate->study), "release", text(estimate->release), "inputs",
        inputs_json(estimate->inputs), "response", "name", text(estimate->response), "unit",
        text(estimate->unit), "range", json_latch_number(estimate->response_range), "response_cut",
        json_latch_number(estimate->response_cut), "state", text(estimate->state), "round",
        whole(estimate->round), "rounds", whole(estimate->rounds), "reports",
        whole(estimate->reports), "devices", whole(estimate->devices), "round_reports",
        whole(estimate->round_reports), "repeated", whole(estimate->repeated), "devices_needed",
        needed <= devices_max ? json_integer((json_int_t)ceil(needed)) : json_null(), "level",
        json_latch_number(estimate->level), "coefficients",
        coefficients_json(estimate, estimate->rows), "covariance", covariance_json(estimate),
        "inference", "round", whole(estimate->evidence_round), "why", text(estimate->evidence_why),
        "degrees", json_latch_number(degrees), "not_identified", unclear_json(estimate), "remark",
        text(estimate->remark), "prediction", prediction_json(estimate), "r2",
        json_latch_number(estimate->r2), "r2_low", json_latch_number(estimate->r2_low), "r2_high",
        json_latch_number(estimate->r2_high), "diagnostics", diagnostics_json(estimate), "tails",
        estimate->tails != NULL ? tails_json(estimate) : json_null(), "guarantee");
}

/* What the paper's theorems say of a protocol of rounds. */
json_t *estimate_convergence(const struct tremolo_convergence_answer *convergence)
{
    const struct tremolo_convergence_input *input = &convergence->input;
    const struct tremolo_convergence *result = &convergence->result;
    if (!convergence->known) {
        return json_null();
    }
    const struct {
        const char *name;
        double value;
    } members[] = {
        {"rounds", input->rounds},
        {"gradient_variance", result->variance},
        {"gradient_variance_bound", result->variance_bound},
        {"beta_bound", input->B},
        {"feature_bound", input->R},
        {"response_bound", input->M},
        {"smoothness", input->smoothness},
        {"excess_loss_bound", result->corrected},
        {"excess_loss_as_printed", result->printed},
    };
    json_t *object = json_object();
    /* A moment that is almost 0 makes bounds infinite, which is null in JSON. */
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        (void)json_object_set_new(object, members[i].name, json_latch_number(members[i].value));
    }
    return object;
}

/* ---------------------------------------------------------------- reading */

bool estimate_document_is(const json_t *document)
{
    return json_integer_value(json_object_get(document, "tremolo_estimate")) ==
               ESTIMATE_DOCUMENT_VERSION &&
           json_is_array(json_object_get(document, "coefficients"));
}

static void set_interval(json_t *row, double half)
{
    double middle = json_number_value(json_object_get(row, "estimate"));
    (void)json_object_set_new(row, "low", json_latch_number(middle - half));
    (void)json_object_set_new(row, "high", json_latch_number(middle + half));
}

static void set_level(json_t *rows, double level, double degrees)
{
    size_t index;
    json_t *row;
    json_array_foreach(rows, index, row)
    {
        const json_t *error = json_object_get(row, "standard_error");
        if (json_is_number(error) && degrees > 0) {
            set_interval(row, json_number_value(error) *
                                  tremolo_student_quantile(0.5 + level / 2, degrees));
        }
        (void)json_object_set_new(row, "score", json_null());
    }
}

/* Degrees of freedom of rows at the level before, which are buckets in use less one: robust rows
 * may have fewer than the table. NAN where no interval tells. */
static double degrees_of(const json_t *rows, double before)
{
    size_t index;
    json_t *row;
    json_array_foreach(rows, index, row)
    {
        double error = json_number_value(json_object_get(row, "standard_error"));
        double half = json_number_value(json_object_get(row, "high")) -
                      json_number_value(json_object_get(row, "estimate"));
        if (error > 0 && json_is_number(json_object_get(row, "high"))) {
            double degrees = 1;
            while (degrees < TREMOLO_BUCKETS - 1 &&
                   half < error * tremolo_student_quantile(0.5 + before / 2, degrees + 0.5)) {
                degrees++;
            }
            return degrees;
        }
    }
    return NAN;
}

/* As predicts(), of a document. */
static void set_told(json_t *document, double level)
{
    json_t *prediction = json_object_get(document, "prediction");
    const json_t *rows = json_object_get(document, "coefficients");
    const json_t *p =
        json_object_get(json_object_get(json_object_get(document, "diagnostics"), "f_test"), "p");
    bool told = !json_is_string(json_object_get(document, "release")) ||
                json_number_value(json_object_get(document, "r2")) > 0.0 ||
                (json_is_number(p) && json_number_value(p) < 1.0 - level);
    for (size_t i = 0; i + 1 < json_array_size(rows); i++) { /* the last is the intercept */
        told = told || json_is_true(json_object_get(json_array_get(rows, i), "identified"));
    }
    if (json_is_object(prediction)) {
        (void)json_object_set_new(prediction, "told", json_boolean(told));
    }
}

/* Intervals of inflations are symmetric in the logarithm, those of the residuals in the square,
 * and both are proportional to Student's quantile. */
static void stretch_diagnostics(json_t *diagnostics, double ratio)
{
    json_t *row;
    size_t index;
    double middle = json_number_value(json_object_get(diagnostics, "residual_sd"));
    double end = json_number_value(json_object_get(diagnostics, "residual_sd_high"));
    double half = ratio * (end * end - middle * middle);
    bool known = end > 0 && middle * middle > half;
    (void)json_object_set_new(diagnostics, "residual_sd_low",
                              json_latch_number(known ? sqrt(middle * middle - half) : NAN));
    (void)json_object_set_new(diagnostics, "residual_sd_high",
                              json_latch_number(known ? sqrt(middle * middle + half) : NAN));
    json_array_foreach(json_object_get(diagnostics, "variance_inflation"), index, row)
    {
        middle = json_number_value(json_object_get(row, "estimate"));
        end = json_number_value(json_object_get(row, "high"));
        if (middle > 0 && end > 0) {
            double factor = pow(end / middle, ratio);
            (void)json_object_set_new(row, "low", json_latch_number(fmax(middle / factor, 1.0)));
            (void)json_object_set_new(row, "high", json_latch_number(middle * factor));
        }
    }
}

void estimate_document_level(json_t *document, double level)
{
    const json_t *inference = json_object_get(document, "inference");
    double degrees = json_number_value(json_object_get(inference, "degrees"));
    double before = json_number_value(json_object_get(document, "level"));
    if (before == level) {
        return;
    }
    if (degrees > 0) {
        stretch_diagnostics(json_object_get(document, "diagnostics"),
                            tremolo_student_quantile(0.5 + level / 2, degrees) /
                                tremolo_student_quantile(0.5 + before / 2, degrees));
    }
    set_level(json_object_get(document, "coefficients"), level, degrees);
    json_t *robust = json_object_get(json_object_get(document, "tails"), "robust");
    set_level(robust, level, degrees_of(robust, before));
    set_told(document, level);
    (void)json_object_set_new(document, "r2_low", json_null());
    (void)json_object_set_new(document, "r2_high", json_null());
    (void)json_object_set_new(document, "level", json_latch_number(level));
    estimate_set_answers(document);
}

enum tremolo_status tremolo_estimate_json_level(char **json, const char *document, size_t length,
                                                double level)
{
    json_t *read = json_loadb(document, length, JSON_REJECT_DUPLICATES, NULL);
    if (!estimate_document_is(read)) {
        json_decref(read);
        return TREMOLO_MALFORMED;
    }
    if (level > 0 && level < 1) {
        estimate_document_level(read, level);
    }
    char *text = json_latch_exact(read);
    if (text == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    *json = text;
    return TREMOLO_OK;
}
