/* estimate_json.c -- an estimate as the one document, by a table of its members.
 *
 * The rows below write the document and are its description: `make schemas` turns them into
 * docs/estimate.schema.json, which docs/openapi.json refers to. Some members come from other
 * parts: "guarantee" from the study's module, "simulation" from the lab, "answers" and "notes"
 * from the document itself (answers.c), and what only saved files have from the command.
 *
 * What noise hides has no number: its estimate would mean nothing, and a reader would take it for
 * an answer. Only the score test's set is shown for it, because it holds its level at any noise. */
#include "estimate_json.h"

#include <math.h>

#include "inputs.h"
#include "study_internal.h"

#define AT(member) DOCUMENT_AT(struct tremolo_estimate, member)
/* Rows of members that may be null: one of the estimate under its own name, a number of any
 * struct. */
#define OWN(kind, member, says)                                                                    \
    {                                                                                              \
#member, DOCUMENT_##kind, DOCUMENT_NULLABLE, AT(member), .words = (says)                   \
    }
#define NUMBER(key, type, member, says)                                                            \
    {                                                                                              \
        key, DOCUMENT_REAL, DOCUMENT_NULLABLE, DOCUMENT_AT(struct type, member), .words = (says)   \
    }

/* ---------------------------------------------------------------- coefficients
 *
 * The table to conclude from, and the same without reports beyond honest noise. */

/* A coefficient with what the estimate knows of its feature. */
struct row {
    const char *name;
    struct tremolo_coefficient shown; /* NAN in what noise hides */
    const struct tremolo_coefficient *score;
    double range;
    struct tremolo_estimate_meaning meaning;
};

#define ROW(member) DOCUMENT_AT(struct row, member)

/* In the order of enum tremolo_interval_shape. */
static const char *const score_shapes[] = {"interval", "outside", "anything", NULL};

static const struct document_row score_rows[] = {
    {"shape", DOCUMENT_CHOICE, 0, DOCUMENT_AT(struct tremolo_coefficient, score_shape),
     .choices = score_shapes},
    NUMBER("low", tremolo_coefficient, score_low, NULL),
    NUMBER("high", tremolo_coefficient, score_high, NULL),
    {.key = NULL}};

static const struct document_row coefficient_rows[] = {
    {"name", DOCUMENT_TEXT, 0, ROW(name)},
    NUMBER("estimate", row, shown.estimate,
           "unbiased, in own units; null, as all that follows from it, where the noise hides it"),
    NUMBER("standard_error", row, shown.standard_error,
           "group jackknife over 32 buckets of devices"),
    NUMBER("low", row, shown.low, "of the interval at the document's level"),
    NUMBER("high", row, shown.high, NULL),
    NUMBER("z", row, shown.z, "estimate / standard_error, Student's t with inference.degrees"),
    NUMBER("p", row, shown.p, "two-sided"),
    {"identified", DOCUMENT_BOOLEAN, 0, ROW(shown.identified),
     .words = "whether the score test's set is bounded"},
    {"score", DOCUMENT_OBJECT, DOCUMENT_NULLABLE | DOCUMENT_POINTER, ROW(score), .rows = score_rows,
     .words =
         "the score test inverted, which keeps its level at any noise: an interval, everything "
         "except (low, high), or anything"},
    NUMBER("range", row, range,
           "from the feature's lowest to its highest value; null for the intercept"),
    {"unit", DOCUMENT_TEXT, DOCUMENT_NULLABLE, ROW(meaning.unit),
     .words = "of the feature; empty without one, null where it is not known"},
    {"from", DOCUMENT_TEXT, DOCUMENT_NULLABLE, ROW(meaning.from),
     .words = "of a choice: the answer that the coefficient compares with; null of a number"},
    {"to", DOCUMENT_TEXT, DOCUMENT_NULLABLE, ROW(meaning.to),
     .words = "of a choice: the answer that it is about"},
    {.key = NULL}};

/* The name of a row: a feature's, or "(intercept)". */
static const char *row_name(const struct tremolo_estimate *estimate, size_t row)
{
    return row < estimate->features ? estimate->names[row] : "(intercept)";
}

/* What may be shown of a coefficient. */
static struct row row_of(const struct tremolo_estimate *estimate,
                         const struct tremolo_coefficient *of, size_t i)
{
    struct row row = {.name = row_name(estimate, i), .shown = *of, .range = NAN};
    if (!of->identified) {
        row.shown.estimate = row.shown.standard_error = row.shown.low = row.shown.high = NAN;
        row.shown.z = row.shown.p = NAN;
    }
    if (of->score_shape == TREMOLO_INTERVAL_ALL) {
        row.shown.score_low = row.shown.score_high = NAN;
    }
    if (i < estimate->features && estimate->ranges != NULL) {
        row.range = estimate->ranges[i];
    }
    if (i < estimate->features && estimate->meanings != NULL) {
        row.meaning = estimate->meanings[i];
    }
    return row;
}

/* The table of these rows; the score set is left out where nothing is known of it, as of raw
 * data. */
static json_t *coefficients_json(const struct tremolo_estimate *estimate,
                                 const struct tremolo_coefficient *rows)
{
    json_t *list = json_array();
    for (size_t i = 0; rows != NULL && i <= estimate->features; i++) {
        struct row row = row_of(estimate, &rows[i], i);
        row.score = isnan(rows[i].standard_error) ? NULL : &row.shown;
        json_latch_append(&list, document_json(coefficient_rows, &row));
    }
    return list;
}

static json_t *table_json(const void *of)
{
    const struct tremolo_estimate *estimate = of;
    return coefficients_json(estimate, estimate->rows);
}

static json_t *robust_json(const void *of)
{
    const struct tremolo_estimate *estimate = of;
    return estimate->robust != NULL ? coefficients_json(estimate, estimate->robust) : json_null();
}

static const struct document_row number_row = {.type = DOCUMENT_REAL, .is = DOCUMENT_NULLABLE};
static const struct document_row triangle_row = {NULL, DOCUMENT_LIST, .element = &number_row};

/* The lower triangle, row by row. */
static json_t *covariance_json(const void *of)
{
    const struct tremolo_estimate *estimate = of;
    size_t p = estimate->features + 1;
    const double *covariance = estimate->diagnosis.covariance;
    if (covariance == NULL || estimate->rows == NULL) {
        return json_null();
    }
    json_t *list = json_array();
    for (size_t i = 0; i < p; i++) {
        json_latch_append(&list, json_latch_numbers(covariance + i * p, i + 1));
    }
    return list;
}

/* One sentence for all that the noise hides, or none. */
static json_t *hidden_json(const void *of)
{
    const struct tremolo_estimate *estimate = of;
    char sentence[1024] = "";
    const char *names[TREMOLO_MAX_FEATURES + 1];
    for (size_t i = 0; i <= estimate->features; i++) {
        names[i] = row_name(estimate, i);
    }
    if (estimate->rows != NULL) {
        tremolo_identification_summary(sentence, sizeof sentence, names, estimate->rows,
                                       estimate->features + 1, estimate->evidence_reports);
    }
    return sentence[0] != '\0' ? json_pack("[s]", sentence) : json_array();
}

/* ---------------------------------------------------------------- tails
 *
 * How far the reports reach, next to how far honest ones reach, so that a reader sees an attack
 * and how much it moves the coefficients. */

static const struct document_row norm_rows[] = {
    {"beyond", DOCUMENT_REAL, 0, DOCUMENT_AT(struct tremolo_tail_norm, beyond),
     .words = "norm of a report, in standard deviations of its noise in one coordinate"},
    {"expected", DOCUMENT_REAL, 0, DOCUMENT_AT(struct tremolo_tail_norm, expected),
     .words = "reports beyond it that honest devices send on average, at most"},
    {"seen", DOCUMENT_WHOLE, 0, DOCUMENT_AT(struct tremolo_tail_norm, seen)},
    {.key = NULL}};

/* A coordinate of reports with more large values than honest devices send. */
struct place {
    struct tremolo_tail_norm tail;
    bool low;
};

static const char *const sides[] = {"high", "low", NULL};

static const struct document_row place_rows[] = {
    {"name", DOCUMENT_TEXT, DOCUMENT_ELSEWHERE,
     .words = "a feature or the response; of ballots, the product that an entry is about"},
    {"side", DOCUMENT_CHOICE, 0, DOCUMENT_AT(struct place, low), .choices = sides},
    {"beyond", DOCUMENT_REAL, 0, DOCUMENT_AT(struct place, tail.beyond)},
    {"expected", DOCUMENT_REAL, 0, DOCUMENT_AT(struct place, tail.expected)},
    {"seen", DOCUMENT_WHOLE, 0, DOCUMENT_AT(struct place, tail.seen)},
    {.key = NULL}};

static json_t *norms_json(const void *of)
{
    const struct tremolo_estimate *estimate = of;
    json_t *list = json_array();
    for (size_t k = 0; k < TREMOLO_TAIL_LIMITS; k++) {
        json_latch_append(&list, document_json(norm_rows, &estimate->tails.norm[k]));
    }
    return list;
}

/* Entry `coordinate` of a ballot's row is about the product of two of its `numbers` (the
 * constant, the features, a private response), in the order of the upper triangle. False for the
 * last entry, which is about none. */
static bool ballot_pair(size_t *first, size_t *second, size_t coordinate, size_t numbers)
{
    size_t row = 0;
    while (row < numbers && coordinate >= numbers - row) {
        coordinate -= numbers - row;
        row++;
    }
    *first = row;
    *second = row + coordinate;
    return row < numbers;
}

/* A feature's name or the response's, of a released coordinate or a ballot's number. */
static const char *released_name(const struct tremolo_estimate *estimate, size_t i)
{
    return i < estimate->features ? estimate->names[i] : estimate->response;
}

/* "steps", or of a ballot's entry "steps x score", "steps" for the product with the constant. */
static json_t *place_name(const struct tremolo_estimate *estimate, size_t coordinate)
{
    size_t first = 0, second = 0;
    if (estimate->tails.numbers == 0) {
        return json_string(released_name(estimate, coordinate));
    }
    if (!ballot_pair(&first, &second, coordinate, estimate->tails.numbers) || second == 0) {
        return json_string("(length)");
    }
    return first == 0 ? json_string(released_name(estimate, second - 1))
                      : json_sprintf("%s x %s", released_name(estimate, first - 1),
                                     released_name(estimate, second - 1));
}

/* Those coordinates that have more large values than honest devices send, by name. */
static json_t *places_json(const void *of)
{
    const struct tremolo_estimate *estimate = of;
    const struct tremolo_tails *tails = &estimate->tails;
    json_t *list = json_array();
    for (size_t i = 0; i < tails->values; i++) {
        const struct place place = {
            {tails->value_beyond, tails->value_expected, tails->value[i].seen},
            !tails->value[i].high};
        json_t *made = document_json(place_rows, &place);
        json_latch_set(&made, "name", place_name(estimate, tails->value[i].coordinate));
        json_latch_append(&list, made);
    }
    return list;
}

static const struct document_row tails_rows[] = {
    {"reports", DOCUMENT_WHOLE, 0, AT(tails.reports)},
    {"norms", DOCUMENT_LIST, .make = norms_json, .rows = norm_rows},
    {"worst", DOCUMENT_WHOLE, 0, AT(tails.worst),
     .words = "which of the norms honest reports explain least, counted from 0"},
    {"coordinates", DOCUMENT_LIST, .make = places_json, .rows = place_rows,
     .words = "those that honest reports do not explain, eight at most"},
    {"probability", DOCUMENT_REAL, 0, AT(tails.probability),
     .words = "that honest reports look like this anywhere, at most; each look counts"},
    {"alarm", DOCUMENT_BOOLEAN, 0, AT(tails.alarm),
     .words =
         "the probability is below 1e-6; every further look at a study that goes on is another "
         "chance of a false alarm"},
    {"set_aside", DOCUMENT_WHOLE, 0, AT(tails.set_aside),
     .words = "reports beyond what honest ones reach with probability 1e-4"},
    {"robust", DOCUMENT_LIST, DOCUMENT_NULLABLE, .make = robust_json, .rows = coefficient_rows,
     .words = "the coefficients without those set aside; null when none were"},
    {.key = NULL}};

/* Sums that were not watched say nothing of tails, which is not the same as no large reports. */
static json_t *tails_json(const void *of)
{
    const struct tremolo_estimate *estimate = of;
    return estimate->watched ? document_json(tails_rows, estimate) : json_null();
}

/* ---------------------------------------------------------------- prediction
 *
 * Its coefficients are shrunken and are never shown next to intervals, which belong to the unbiased
 * ones. */

/* Whether there is anything to predict from. The shrunken coefficients may be good though noise
 * hides every single one and R^2; then the F test, which keeps its level at any noise, says
 * whether they differ from what noise and prior alone give. */
static json_t *predicts_json(const void *of)
{
    const struct tremolo_estimate *estimate = of;
    bool any = estimate->release == NULL || estimate->r2 > 0.0 ||
               estimate->diagnosis.f_test.p < 1.0 - estimate->level;
    for (size_t i = 0; estimate->rows != NULL && i < estimate->features; i++) {
        any = any || estimate->rows[i].identified;
    }
    return json_boolean(any);
}

const struct document_row estimate_named_rows[] = {
    {"name", .type = DOCUMENT_TEXT},
    {"estimate", DOCUMENT_REAL, .is = DOCUMENT_NULLABLE},
    {.key = NULL}};

/* For lists that have an estimate and nothing else of each coefficient. */
json_t *estimate_named_json(const struct tremolo_estimate *estimate, const double *values)
{
    json_t *list = json_array();
    for (size_t i = 0; values != NULL && i <= estimate->features; i++) {
        json_latch_append(&list, json_pack("{s:s, s:o}", "name", row_name(estimate, i), "estimate",
                                           json_latch_number(values[i])));
    }
    return list;
}

static json_t *predictors_json(const void *of)
{
    const struct tremolo_estimate *estimate = of;
    return estimate_named_json(estimate, estimate->prediction);
}

static const struct document_row prediction_rows[] = {
    {"method", DOCUMENT_TEXT, 0, AT(method)},
    {"told", DOCUMENT_BOOLEAN, .make = predicts_json,
     .words = "whether there is anything to predict from: the coefficient of a feature is "
              "identified, R^2 is known and above 0, or the F test is significant at the level; "
              "predict refuses the document otherwise"},
    {"coefficients", DOCUMENT_LIST, .make = predictors_json, .rows = estimate_named_rows,
     .words = "own units, the intercept last; shrunken, not for conclusions"},
    {.key = NULL}};

static json_t *prediction_json(const void *of)
{
    const struct tremolo_estimate *estimate = of;
    return estimate->prediction != NULL ? document_json(prediction_rows, estimate) : json_null();
}

/* ---------------------------------------------------------------- diagnostics
 *
 * An f_test or an inflation that was not computed is null as a whole. */

static const struct document_row f_rows[] = {
    {"f", DOCUMENT_REAL, 0, AT(diagnosis.f_test.f)},
    {"numerator", DOCUMENT_REAL, 0, AT(diagnosis.f_test.numerator),
     .words = "degrees of freedom: features"},
    {"denominator", DOCUMENT_REAL, 0, AT(diagnosis.f_test.denominator),
     .words = "buckets in use less features"},
    {"p", DOCUMENT_REAL, 0, AT(diagnosis.f_test.p),
     .words = "that slopes which are all zero look like this, or worse"},
    {.key = NULL}};

static json_t *f_json(const void *of)
{
    const struct tremolo_estimate *estimate = of;
    return isnan(estimate->diagnosis.f_test.p) ? json_null() : document_json(f_rows, estimate);
}

static const struct document_row inflation_rows[] = {
    {"name", DOCUMENT_TEXT, .is = DOCUMENT_ELSEWHERE},
    NUMBER("estimate", tremolo_measured, estimate, NULL),
    NUMBER("low", tremolo_measured, low, NULL),
    NUMBER("high", tremolo_measured, high, NULL),
    {.key = NULL}};

/* One factor for each feature; the intercept has none. */
static json_t *inflation_json(const void *of)
{
    const struct tremolo_estimate *estimate = of;
    const struct tremolo_measured *inflation = estimate->diagnosis.inflation;
    json_t *list = inflation != NULL ? json_array() : json_null();
    for (size_t i = 0; inflation != NULL && i < estimate->features; i++) {
        json_t *made = document_json(inflation_rows, &inflation[i]);
        json_latch_set(&made, "name", json_string(estimate->names[i]));
        json_latch_append(&list, made);
    }
    return list;
}

static const struct document_row diagnostics_rows[] = {
    NUMBER("residual_sd", tremolo_estimate, diagnosis.residual_sd.estimate,
           "of the prediction's residuals, in the response's own unit"),
    NUMBER("residual_sd_low", tremolo_estimate, diagnosis.residual_sd.low,
           "of its interval at the document's level, by the group jackknife"),
    NUMBER("residual_sd_high", tremolo_estimate, diagnosis.residual_sd.high, NULL),
    {"f_test", DOCUMENT_OBJECT, DOCUMENT_NULLABLE, .make = f_json, .rows = f_rows,
     .words =
         "of the hypothesis that all slopes are zero, by the covariances of features and "
         "response over the buckets (Hotelling), which keeps its level at any noise; null with "
         "as many features as buckets"},
    {"variance_inflation", DOCUMENT_LIST, DOCUMENT_NULLABLE, .make = inflation_json,
     .rows = inflation_rows,
     .words =
         "of each feature, with its interval at the document's level: how much the variance "
         "of its coefficient grows because other features resemble it; null where the interval "
         "spans a factor of ten"},
    OWN(REAL, condition, "of the matrix that was solved"),
    {"negative_eigenvalues", DOCUMENT_COUNT, DOCUMENT_NULLABLE, AT(negative),
     .words = "of the unbiased moment, bent by the prediction"},
    OWN(REAL, noise_sd,
        "of the noise in one feature of one noisy sample, in half ranges; null for ballots"),
    OWN(REAL, noise_ratio,
        "of ballots: the noise by the matrix that is solved; intervals by standard errors "
        "hold up to 0.21"),
    OWN(REAL, shift_max,
        "of ballots: predictions with and without weights differ by at most so many residual "
        "standard deviations"),
    {.key = NULL}};

/* ---------------------------------------------------------------- rounds
 *
 * The bounds are those of the paper, and as corrected; a moment that is almost 0 makes them
 * infinite, which is null. */

#define THEOREM(member) DOCUMENT_AT(struct tremolo_convergence_answer, member)

static const struct document_row convergence_rows[] = {
    NUMBER("rounds", tremolo_convergence_answer, input.rounds, NULL),
    NUMBER("gradient_variance", tremolo_convergence_answer, result.variance, NULL),
    NUMBER("gradient_variance_bound", tremolo_convergence_answer, result.variance_bound, NULL),
    NUMBER("beta_bound", tremolo_convergence_answer, input.B, NULL),
    NUMBER("feature_bound", tremolo_convergence_answer, input.R, NULL),
    NUMBER("response_bound", tremolo_convergence_answer, input.M, NULL),
    NUMBER("smoothness", tremolo_convergence_answer, input.smoothness, NULL),
    NUMBER("excess_loss_bound", tremolo_convergence_answer, result.corrected, NULL),
    NUMBER("excess_loss_as_printed", tremolo_convergence_answer, result.printed, NULL),
    {.key = NULL}};

json_t *estimate_convergence(const struct tremolo_convergence_answer *convergence)
{
    return convergence->known ? document_json(convergence_rows, convergence) : json_null();
}

static json_t *convergence_json(const void *of)
{
    return estimate_convergence(&((const struct tremolo_estimate *)of)->convergence);
}

static bool is_of_rounds(const void *of)
{
    return ((const struct tremolo_estimate *)of)->of_rounds;
}

static json_t *last_json(const void *of)
{
    const struct tremolo_estimate *estimate = of;
    return json_latch_numbers(estimate->last, estimate->features);
}

static json_t *average_json(const void *of)
{
    const struct tremolo_estimate *estimate = of;
    return estimate->average != NULL ? json_latch_numbers(estimate->average, estimate->features)
                                     : json_null();
}

static const struct document_row iteration_rows[] = {
    {"last", DOCUMENT_LIST, .make = last_json, .element = &number_row},
    {"average", DOCUMENT_LIST, DOCUMENT_NULLABLE, .make = average_json, .element = &number_row},
    {.key = NULL}};

/* Only a server's study iterates; a file of reports or a simulation has no later round to start. */
static json_t *iteration_json(const void *of)
{
    const struct tremolo_estimate *estimate = of;
    return estimate->last != NULL ? document_json(iteration_rows, estimate) : json_null();
}

/* A server knows whether its study is open; nothing else does. */
static bool is_served(const void *of)
{
    return ((const struct tremolo_estimate *)of)->state != NULL;
}

/* ---------------------------------------------------------------- the whole */

static json_t *inputs_of(const void *of)
{
    return inputs_json(((const struct tremolo_estimate *)of)->inputs);
}

/* A count of devices, rounded up. */
static json_t *needed_json(const void *of)
{
    static const double devices_max = 1e15; /* beyond it a count says no more than "out of reach" */
    double needed = ((const struct tremolo_estimate *)of)->devices_needed;
    return needed <= devices_max ? json_integer((json_int_t)ceil(needed)) : json_null();
}

/* The document itself: first what was asked and what came, then what follows from it. Its last
 * members are not in every document. */

static const char *const releases[] = {"sample", "ballot", NULL};
static const char *const states[] = {"open", "done", NULL};

static const struct document_row response_rows[] = {
    {"name", DOCUMENT_TEXT, 0, AT(response)},
    {"unit", DOCUMENT_TEXT, 0, AT(unit), .words = "empty without one"},
    NUMBER("range", tremolo_estimate, response_range, "from its lowest to its highest value"),
    {.key = NULL}};

static const struct document_row inference_rows[] = {
    {"round", DOCUMENT_COUNT, DOCUMENT_NULLABLE, AT(evidence_round),
     .words = "that the coefficients are from, counted from 0; null: all"},
    {"why", DOCUMENT_TEXT, DOCUMENT_NULLABLE, AT(evidence_why),
     .words = "why they are from there; studies with rounds"},
    OWN(REAL, degrees, "of freedom of Student's t"),
    {.key = NULL}};

/* Members that other parts write; their rows describe them alone. */

static const struct document_row text_row = {.type = DOCUMENT_TEXT};

static const struct document_row part_row = {NULL, DOCUMENT_ANY,
                                             .rules = "{\"type\": [\"string\", \"object\"]}"};
static const struct document_row sentence_row = {NULL, DOCUMENT_LIST, .element = &part_row};

static const char *const answer_titles[] = {"Learnt", "Certain", "Private", NULL};

static const struct document_row answer_rows[] = {
    {"title", DOCUMENT_TEXT, .choices = answer_titles},
    {"text", DOCUMENT_LIST, .element = &part_row,
     .words = "a sentence in parts: words, and objects with a name that comes from a study"},
    {"facts", DOCUMENT_LIST, .element = &sentence_row, .words = "sentences below it"},
    {"others", DOCUMENT_LIST, DOCUMENT_OPTIONAL, .element = &sentence_row,
     .words = "of Learnt: the other significant effects, the largest first"},
    {"share", DOCUMENT_REAL, DOCUMENT_OPTIONAL | DOCUMENT_NULLABLE,
     .words = "of Learnt: devices as a share of those needed, while some are lacking"},
    {"significant", DOCUMENT_WHOLE, DOCUMENT_OPTIONAL,
     .words = "of Certain: effects with an interval that excludes zero"},
    {"of", DOCUMENT_WHOLE, DOCUMENT_OPTIONAL, .words = "of Certain: all effects"},
    {.key = NULL}};

static const struct document_row point_row = {NULL, DOCUMENT_LIST, .element = &number_row};

static const struct document_row series_rows[] = {
    {"name", .type = DOCUMENT_TEXT},
    {"title", DOCUMENT_TEXT, DOCUMENT_OPTIONAL, .words = "the name in full, for a picture"},
    {"reference", DOCUMENT_BOOLEAN, DOCUMENT_OPTIONAL,
     .words = "true of what the others are compared with"},
    {"points", DOCUMENT_LIST, .element = &point_row,
     .words = "x and y, and the ends of an interval around y where there is one"},
    {.key = NULL}};

static const struct document_row plain_number_row = {.type = DOCUMENT_REAL};

static const struct document_row figure_rows[] = {
    {"title", .type = DOCUMENT_TEXT},
    {"words", .type = DOCUMENT_TEXT},
    {"x", .type = DOCUMENT_TEXT},
    {"y", .type = DOCUMENT_TEXT},
    {"dots", .type = DOCUMENT_BOOLEAN},
    {"include", DOCUMENT_LIST, .element = &plain_number_row},
    {"series", DOCUMENT_LIST, .rows = series_rows},
    {.key = NULL}};

static const struct document_row made_rows[] = {
    {"version", .type = DOCUMENT_TEXT},
    {"time", .type = DOCUMENT_TEXT},
    {"command", DOCUMENT_TEXT, DOCUMENT_NULLABLE, .words = "as it was typed"},
    {.key = NULL}};

static const struct document_row document_rows[] = {
    {"tremolo_estimate", DOCUMENT_CONST, .low = ESTIMATE_DOCUMENT_VERSION,
     .words = "version of this document"},
    OWN(TEXT, title, "of the study, or what was asked"),
    OWN(TEXT, study, "id of the study; null when the reports do not name one"),
    {"release", DOCUMENT_TEXT, DOCUMENT_NULLABLE, AT(release), .choices = releases,
     .words = "what devices sent; null when raw data were read"},
    {"inputs", DOCUMENT_OBJECT, DOCUMENT_NULLABLE, .make = inputs_of, .rows = inputs_rows,
     .words = "the raw columns, and how the features follow from them: what predict needs"},
    {"response", DOCUMENT_OBJECT, .rows = response_rows},
    {"response_cut", DOCUMENT_REAL, DOCUMENT_NULLABLE, AT(response_cut), .low = 0, .high = 1,
     .words =
         "share of the responses beyond their range, which devices clip: from ballots slopes "
         "are drawn to zero by about as much, which the intervals do not include; null where a "
         "source cannot know it, as from reports alone"},
    {"state", DOCUMENT_TEXT, DOCUMENT_NULLABLE, AT(state), .choices = states,
     .words = "of a server's study"},
    OWN(COUNT, round, "the newest of a server's study, counted from 0 as by the protocol"),
    OWN(COUNT, rounds, "planned by a study, or in the file"),
    OWN(COUNT, reports, "all that count"),
    OWN(COUNT, devices, "that sent them, at least"),
    OWN(COUNT, round_reports, "of the newest round"),
    OWN(COUNT, repeated, "reports of a file that came twice and count once"),
    {"devices_needed", DOCUMENT_COUNT, DOCUMENT_NULLABLE, .make = needed_json,
     .words = "for significant effects of a usual size, by plan at its usual guesses; null: not "
              "known, or no number that could be had"},
    {"level", DOCUMENT_REAL, DOCUMENT_ABOVE | DOCUMENT_BELOW, AT(level), .low = 0, .high = 1,
     .words = "of all intervals"},
    {"coefficients", DOCUMENT_LIST, .make = table_json, .rows = coefficient_rows,
     .words = "for conclusions, the intercept last; empty where remark says why"},
    {"covariance", DOCUMENT_LIST, DOCUMENT_NULLABLE, .make = covariance_json,
     .element = &triangle_row,
     .words =
         "of the coefficients, own units, by the group jackknife: the lower triangle, row i "
         "with i + 1 numbers; null where noise hides one of the two, and in all when the moment "
         "of the features is not positive without some bucket, or raw data were read"},
    {"inference", DOCUMENT_OBJECT, .rows = inference_rows},
    {"not_identified", DOCUMENT_LIST, .make = hidden_json, .element = &text_row,
     .words = "a sentence on the coefficients that the noise hides, or nothing"},
    OWN(TEXT, remark, "why there are no coefficients"),
    {"prediction", DOCUMENT_OBJECT, DOCUMENT_NULLABLE, .make = prediction_json,
     .rows = prediction_rows, .words = "null when there is none"},
    OWN(REAL, r2,
        "share of the response's variance that the prediction explains, from the reports "
        "alone; null when the noise hides it. Of ballots it is that of people weighed by how "
        "typical they are, with responses clipped to their range: where some are far from "
        "typical, or effects are not linear, that among all people can lie outside r2_low to "
        "r2_high"),
    OWN(REAL, r2_low,
        "of its interval at the document's level: by a group jackknife of noisy samples, by "
        "draws of the posterior for ballots, which cover less where the signal is weak"),
    OWN(REAL, r2_high, NULL),
    {"diagnostics", DOCUMENT_OBJECT, .rows = diagnostics_rows},
    {"tails", DOCUMENT_OBJECT, DOCUMENT_NULLABLE, .make = tails_json, .rows = tails_rows,
     .words = "how far reports reach, compared with the law of honest ones; null when it is not "
              "known"},
    {"guarantee", DOCUMENT_OBJECT, DOCUMENT_NULLABLE | DOCUMENT_ELSEWHERE, .rows = guarantee_rows,
     .words = "what the release promises each device; null when raw data were read"},
    {"notes", DOCUMENT_LIST, DOCUMENT_ELSEWHERE, .element = &sentence_row,
     .words = "sentences that belong below the table, in parts as those of answers"},
    {"answers", DOCUMENT_LIST, DOCUMENT_ELSEWHERE, .low = 3, .high = 3, .rows = answer_rows,
     .rules = "{\"minItems\": 3, \"maxItems\": 3}",
     .words = "what was learnt, how certain and how private it is, in sentences that everything "
              "which shows the estimate uses"},
    {"iteration", DOCUMENT_OBJECT, DOCUMENT_NULLABLE | DOCUMENT_OPTIONAL, .when = is_served,
     .make = iteration_json, .rows = iteration_rows,
     .words = "iterates of a server's study with rounds, scaled units"},
    {"convergence", DOCUMENT_OBJECT, DOCUMENT_NULLABLE | DOCUMENT_OPTIONAL, .when = is_of_rounds,
     .make = convergence_json, .rows = convergence_rows,
     .words = "what the paper's theorems say of the rounds; null when the noise hides it"},
    {"figures", DOCUMENT_LIST, DOCUMENT_OPTIONAL | DOCUMENT_ELSEWHERE, .rows = figure_rows},
    {"how", DOCUMENT_LIST, DOCUMENT_OPTIONAL | DOCUMENT_ELSEWHERE, .element = &text_row,
     .words = "how it was computed, in sentences"},
    {"made", DOCUMENT_OBJECT, DOCUMENT_OPTIONAL | DOCUMENT_ELSEWHERE, .rows = made_rows,
     .words = "of a saved file"},
    {.key = NULL}};

/* The answers are worded last, because they follow from all other members. */
json_t *estimate_document(const struct tremolo_estimate *estimate, json_t *guarantee)
{
    json_t *document = document_json(document_rows, estimate);
    json_latch_set(&document, "guarantee", guarantee);
    estimate_set_answers(&document);
    return document;
}

/* The head is JSON Schema's own vocabulary; all else is the table's. */
json_t *estimate_schema(void)
{
    static const char head[] =
        "{\"$schema\": \"https://json-schema.org/draft/2020-12/schema\","
        " \"$id\": \"https://tremolo.invalid/estimate.schema.json\", \"title\": \"A tremolo "
        "estimate\","
        " \"description\": \"What fit, simulate and GET /v1/studies/{id}/estimate write, and what "
        "dashboards and saved pages read. What a source cannot know is null, or for the last "
        "members "
        "absent.\"}";
    return document_schema(document_rows, head);
}

/* A glance at the two members that every version will have, before the others are trusted. */
bool estimate_document_is(const json_t *document)
{
    return json_integer_value(json_object_get(document, "tremolo_estimate")) ==
               ESTIMATE_DOCUMENT_VERSION &&
           json_is_array(json_object_get(document, "coefficients"));
}
