/* inputs.c -- raw columns and the features made of them, in one piece that owns its strings; and the
 * same as a member of documents.
 *
 * Every client computes the same bits from the same sample: the arithmetic takes only differences and
 * then products of binary64 numbers, from left to right, so that neither a fused multiplication nor
 * another order can change a bit; the logarithm is made of integers and one product. The device in
 * the browser does the same (src/web). */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "document.h"
#include "study_file.h"

const char *const study_kinds[] = {"numeric", "category", "yes-no", NULL};

/* ---------------------------------------------------------------- arithmetic */

enum { LOG_BITS = 32 };

/* ln 2 / 2^32, the nearest binary64. */
#define LOG_UNIT 0x1.62e42fefa39efp-33

/* The natural logarithm, the same bits on every machine: libraries differ in the last bit, and so
 * would the reports of two devices with the same sample. */
static double logarithm(double x)
{
    uint64_t bits;
    if (!(x > 0.0) || !isfinite(x)) {
        return NAN;
    }
    memcpy(&bits, &x, sizeof bits);
    int64_t exponent = (int64_t)(bits >> 52) - 1023;
    if (exponent == -1023) { /* subnormal: as the smallest that is not */
        exponent = -1022;
        bits = 0;
    }
    /* The leading 32 bits of x, 1 to 2 in units of 2^-31; squaring it doubles its logarithm,
     * and its next bit is 1 if the square reaches 2. */
    uint64_t part = (UINT64_C(1) << 31) | ((bits & UINT64_C(0xfffffffffffff)) >> 21);
    int64_t whole = exponent;
    for (int i = 0; i < LOG_BITS; i++) {
        part = part * part >> 31;
        int64_t bit = (int64_t)(part >> 32);
        part >>= bit;
        whole = 2 * whole + bit;
    }
    return (double)whole * LOG_UNIT;
}

/* One factor of a product, as a double: 0 or 1 for a level, else a power or a logarithm of the
 * value. */
static double factor_value(const struct tremolo_derived *derived, size_t k, const double *values)
{
    double value = values[derived->factor[k].column];
    double floor = derived->factor[k].floor;
    if (derived->factor[k].level > 0) {
        return value == (double)derived->factor[k].level ? 1.0 : 0.0;
    }
    if (derived->factor[k].kind == TREMOLO_FACTOR_LOG) {
        return logarithm(value < floor ? floor : value);
    }
    double base = value - derived->factor[k].shift;
    double product = base;
    for (unsigned i = 1; i < derived->factor[k].power; i++) {
        product = product * base;
    }
    return product;
}

/* The product of the factors from left to right, which is part of the agreement. */
static double derived_value(const struct tremolo_derived *derived, const double *values)
{
    double product = 1.0;
    for (size_t i = 0; i < derived->factors; i++) {
        product = product * factor_value(derived, i, values);
    }
    return product;
}

/* ---------------------------------------------------------------- expansion */

/* Whether a factor can be computed from this kind of column; if not, `error` says why. */
static bool fits(const struct tremolo_factor *factor, const struct tremolo_study_feature *column,
                 char *error)
{
    bool words = column->kind != TREMOLO_STUDY_NUMERIC;
    if (factor->kind == TREMOLO_FACTOR_LEVELS) {
        return words || study_fail(error, "C(%.60s): the column has no levels", factor->column);
    }
    if (factor->kind == TREMOLO_FACTOR_LOG && words) {
        return study_fail(error,
                          "log(%.60s): the column holds words, and a logarithm needs a number",
                          factor->column);
    }
    return (factor->power == 1 && factor->shift == 0) || !words ||
           study_fail(error, "'%.60s' holds words and has no powers", factor->column);
}

/* Adds the factor to a feature, with its column looked up by name. */
static bool place_factor(struct tremolo_derived *derived, const struct tremolo_factor *factor,
                         const struct tremolo_inputs *made, char *error)
{
    size_t at = 0;
    while (at < made->count && strcmp(made->input[at].name, factor->column) != 0) {
        at++;
    }
    if (at == made->count) {
        return study_fail(error, "the terms have '%.60s', and there is no such column",
                          factor->column);
    }
    const struct tremolo_study_feature *column = &made->input[at];
    if (!fits(factor, column, error)) {
        return false;
    }
    size_t k = derived->factors++;
    derived->factor[k].column = at;
    derived->factor[k].level = column->level_count > 0 ? 1 : 0;
    derived->factor[k].kind =
        factor->kind == TREMOLO_FACTOR_LOG ? TREMOLO_FACTOR_LOG : TREMOLO_FACTOR_VALUE;
    derived->factor[k].power = factor->power;
    derived->factor[k].shift = factor->shift;
    derived->factor[k].floor = made->floors && column->low > 0 ? column->low : NAN;
    return true;
}

/* The next choice of levels, the last factor's first. */
static bool step(struct tremolo_derived *derived, const struct tremolo_study_feature *columns)
{
    for (size_t k = derived->factors; k-- > 0;) {
        if (derived->factor[k].level == 0) {
            continue;
        }
        if (++derived->factor[k].level < columns[derived->factor[k].column].level_count) {
            return true;
        }
        derived->factor[k].level = 1;
    }
    return false;
}

/* A term makes one feature for each combination of the levels of its columns, except each reference. */
static bool expand(struct tremolo_inputs *made, const struct tremolo_formula *formula, char *error)
{
    for (size_t i = 0; i < formula->count; i++) {
        struct tremolo_derived one = {.term = i};
        for (size_t k = 0; k < formula->term[i].factors; k++) {
            if (!place_factor(&one, &formula->term[i].factor[k], made, error)) {
                return false;
            }
        }
        do {
            if (made->features == TREMOLO_MAX_DIMENSION) {
                return study_fail(error, "the terms make more than %d features",
                                  TREMOLO_MAX_DIMENSION);
            }
            made->feature[made->features++] = one;
        } while (step(&one, made->input));
    }
    return true;
}

/* The feature that a column is without any terms. */
struct tremolo_derived tremolo_derived_plain(size_t column, size_t level)
{
    struct tremolo_derived derived = {.factors = 1};
    derived.factor[0].column = column;
    derived.factor[0].level = level;
    derived.factor[0].power = 1;
    derived.factor[0].floor = NAN;
    return derived;
}

bool tremolo_derived_is_plain(const struct tremolo_derived *derived)
{
    return derived->factors == 1 && derived->factor[0].kind == TREMOLO_FACTOR_VALUE &&
           derived->factor[0].power == 1 && derived->factor[0].shift == 0;
}

/* ---------------------------------------------------------------- names */

/* Appends text as far as there is room, in whole characters. */
static size_t add(char *text, size_t capacity, size_t used, const char *words)
{
    size_t whole = strlen(words);
    size_t room = used + 1 < capacity ? capacity - 1 - used : 0;
    size_t length = whole;
    if (whole > room) {
        for (length = room; length > 0 && ((unsigned char)words[length] & 0xC0) == 0x80;) {
            length--; /* whole characters */
        }
    }
    memcpy(text + used, words, length);
    text[used + length] = '\0';
    return used + length;
}

/* Names are what people see in tables, so they read as the formula does. */
void tremolo_derived_name(char *text, size_t capacity, const struct tremolo_derived *derived,
                          const struct tremolo_study_feature *columns)
{
    size_t used = add(text, capacity, 0, "");
    for (size_t k = 0; k < derived->factors; k++) {
        const struct tremolo_study_feature *column = &columns[derived->factor[k].column];
        bool logarithm = derived->factor[k].kind == TREMOLO_FACTOR_LOG;
        size_t level = derived->factor[k].level;
        unsigned power = derived->factor[k].power;
        const char raised[] = {'^', (char)('0' + power), '\0'};
        char shift[40] = "";
        if (derived->factor[k].shift != 0) {
            (void)snprintf(shift, sizeof shift, "%+.15g)", -derived->factor[k].shift);
        }
        used = add(text, capacity, used, k > 0 ? ":" : "");
        used = add(text, capacity, used, logarithm ? "log(" : *shift != '\0' ? "(" : "");
        used = add(text, capacity, used, column->name);
        used = add(text, capacity, used, logarithm ? ")" : level > 0 ? "=" : shift);
        used = add(text, capacity, used, level > 0 ? column->levels[level] : "");
        used = add(text, capacity, used, power > 1 ? raised : "");
    }
}

/* ---------------------------------------------------------------- making */

/* Room for all names and levels with their zeros; the number of levels is added to *levels. */
static size_t bytes_of(const struct tremolo_study_feature *columns, size_t count, size_t *levels)
{
    size_t bytes = 1;
    for (size_t i = 0; i < count; i++) {
        bytes += strlen(columns[i].name) + 1;
        for (size_t j = 0; j < columns[i].level_count; j++) {
            bytes += strlen(columns[i].levels[j]) + 1;
        }
        *levels += columns[i].level_count;
    }
    return bytes;
}

/* Moves *room behind the copy. */
static const char *copy(char **room, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *made = memcpy(*room, text, bytes);
    *room += bytes;
    return made;
}

/* All names and levels are copied into one piece of memory, in the order of bytes_of(). */
static void copy_columns(struct tremolo_inputs *made, const struct tremolo_study_feature *columns)
{
    char *room = made->text;
    const char **level = made->level;
    for (size_t i = 0; i < made->count; i++) {
        struct tremolo_study_feature *input = &made->input[i];
        *input = columns[i];
        input->name = copy(&room, columns[i].name);
        input->unit = "";
        input->levels = columns[i].level_count > 0 ? level : NULL;
        for (size_t j = 0; j < columns[i].level_count; j++) {
            *level++ = copy(&room, columns[i].levels[j]);
        }
    }
}

/* Every column as it is. */
static bool plain_features(struct tremolo_inputs *made, char *error)
{
    for (size_t i = 0; i < made->count; i++) {
        size_t levels = made->input[i].level_count;
        for (size_t level = levels > 0 ? 1 : 0; level < (levels > 0 ? levels : 1); level++) {
            if (made->features == TREMOLO_MAX_DIMENSION) {
                return study_fail(error, "more than %d features", TREMOLO_MAX_DIMENSION);
            }
            made->feature[made->features++] = tremolo_derived_plain(i, level);
        }
    }
    return true;
}

/* BAD_STUDY when the terms do not fit the columns, NO_MEMORY, or OK. */
static enum tremolo_status expand_terms(struct tremolo_inputs *made, const char *terms, char *error)
{
    struct tremolo_formula *formula = NULL;
    if (terms == NULL) {
        return plain_features(made, error) ? TREMOLO_OK : TREMOLO_BAD_STUDY;
    }
    enum tremolo_status status = study_formula_parse(&formula, terms, error);
    if (status == TREMOLO_OK && !expand(made, formula, error)) {
        status = TREMOLO_BAD_STUDY;
    }
    tremolo_formula_free(formula);
    return status;
}

/* One allocation for each array and one for all text; a failure frees what there is. */
enum tremolo_status tremolo_inputs_new(struct tremolo_inputs **inputs,
                                       const struct tremolo_study_feature *columns, size_t count,
                                       const char *terms, bool floors,
                                       char error[TREMOLO_TERMS_ERROR_BYTES])
{
    enum tremolo_status status = TREMOLO_NO_MEMORY;
    size_t levels = 0;
    size_t bytes = bytes_of(columns, count, &levels);
    struct tremolo_inputs *made = calloc(1, sizeof *made);
    if (made != NULL) {
        made->count = count;
        made->input = calloc(count + 1, sizeof *made->input);
        made->floors = floors;
        made->feature = calloc(TREMOLO_MAX_DIMENSION, sizeof *made->feature);
        made->text = malloc(bytes);
        made->level = calloc(levels + 1, sizeof *made->level);
        made->terms = terms != NULL ? strdup(terms) : NULL;
    }
    bool whole = made != NULL && made->input != NULL && made->feature != NULL &&
                 made->text != NULL && made->level != NULL &&
                 (terms == NULL || made->terms != NULL);
    if (whole) {
        copy_columns(made, columns);
        status = expand_terms(made, terms, error);
    } else {
        (void)study_fail(error, "out of memory");
    }
    if (status != TREMOLO_OK) {
        tremolo_inputs_free(made);
        return status;
    }
    *inputs = made;
    return TREMOLO_OK;
}

/* Also of what tremolo_inputs_new() could make only in part. */
void tremolo_inputs_free(struct tremolo_inputs *inputs)
{
    if (inputs != NULL) {
        free(inputs->input);
        free(inputs->feature);
        free(inputs->terms);
        free(inputs->text);
        free(inputs->level);
        free(inputs);
    }
}

/* ---------------------------------------------------------------- using */

bool tremolo_inputs_are_answers(const struct tremolo_inputs *inputs,
                                const struct tremolo_derived *derived)
{
    for (size_t k = 0; k < derived->factors; k++) {
        if (inputs->input[derived->factor[k].column].kind == TREMOLO_STUDY_NUMERIC) {
            return false;
        }
    }
    return true;
}

bool tremolo_inputs_derive(const struct tremolo_inputs *inputs)
{
    for (size_t i = 0; inputs != NULL && i < inputs->features; i++) {
        if (!tremolo_derived_is_plain(&inputs->feature[i])) {
            return true;
        }
    }
    return false;
}

/* False also when only some values are missing: a sample is whole or not used. */
bool tremolo_inputs_complete(double *values, const struct tremolo_inputs *inputs)
{
    bool complete = true;
    for (size_t i = 0; i < inputs->count; i++) {
        values[i] = isnan(values[i]) ? inputs->input[i].missing : values[i];
        complete = complete && !isnan(values[i]);
    }
    return complete;
}

/* In the order of the formula, which is part of the agreement: see the head of this file. */
bool tremolo_inputs_features(double *features, const struct tremolo_inputs *inputs,
                             const double *values)
{
    bool finite = true;
    for (size_t i = 0; i < inputs->features; i++) {
        features[i] = derived_value(&inputs->feature[i], values);
        finite = finite && isfinite(features[i]);
    }
    return finite;
}

/* As people and spreadsheets write it, in any case. */
static bool read_yes_no(double *value, const char *text)
{
    static const char *const words[] = {"0", "1", "no", "yes", "false", "true"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcasecmp(text, words[i]) == 0) {
            *value = (double)(i % 2);
            return true;
        }
    }
    return false;
}

/* The whole text must be the value: "12 kg" is no number. */
bool tremolo_input_read(double *value, const struct tremolo_study_feature *input, const char *text)
{
    if (input->kind == TREMOLO_STUDY_NUMERIC) {
        char *end = NULL;
        *value = strtod(text, &end);
        return end != text && *end == '\0' && isfinite(*value);
    }
    if (input->kind == TREMOLO_STUDY_YES_NO) {
        return read_yes_no(value, text);
    }
    for (size_t i = 0; i < input->level_count; i++) {
        if (strcmp(input->levels[i], text) == 0) {
            *value = (double)i;
            return true;
        }
    }
    return false;
}

/* ---------------------------------------------------------------- as JSON */

/* A category's level, a question's answer or a number; NULL where nothing replaces a missing value. */
json_t *input_missing_json(const struct tremolo_study_feature *input)
{
    return isnan(input->missing)                  ? NULL
           : input->kind == TREMOLO_STUDY_NUMERIC ? json_real(input->missing)
           : input->kind == TREMOLO_STUDY_CATEGORY
               ? json_string(input->levels[(size_t)input->missing])
               : json_string(input->missing > 0 ? "yes" : "no");
}

static json_t *missing_json(const void *of)
{
    return input_missing_json(of);
}

/* Members of columns that other kinds, or columns without bounds, do without. */
static bool has_missing(const void *of)
{
    return !isnan(((const struct tremolo_study_feature *)of)->missing);
}

static bool has_levels(const void *of)
{
    return ((const struct tremolo_study_feature *)of)->level_count > 0;
}

static bool is_bounded(const void *of)
{
    const struct tremolo_study_feature *input = of;
    return input->kind == TREMOLO_STUDY_NUMERIC && isfinite(input->low) && isfinite(input->high);
}

static const struct document_row level_row = {.type = DOCUMENT_TEXT, .bytes = sizeof(const char *)};

static const struct document_row column_rows[] = {
    DOCUMENT_ROW("name", TEXT, 0, DOCUMENT_AT(struct tremolo_study_feature, name)),
    DOCUMENT_ROW("kind", CHOICE, 0, DOCUMENT_AT(struct tremolo_study_feature, kind),
                 .choices = study_kinds),
    DOCUMENT_ROW("levels", LIST, 0, .when = has_levels,
                 DOCUMENT_LIST_AT(struct tremolo_study_feature, levels, level_count),
                 .element = &level_row, .words = "of a category; the first is the reference"),
    DOCUMENT_ROW("low", REAL, 0, .when = is_bounded,
                 DOCUMENT_AT(struct tremolo_study_feature, low)),
    DOCUMENT_ROW("high", REAL, 0, .when = is_bounded,
                 DOCUMENT_AT(struct tremolo_study_feature, high)),
    DOCUMENT_ROW("missing", ANY, 0, .make = missing_json, .when = has_missing,
                 .words = "what replaces a missing value",
                 .rules = "{\"type\": [\"number\", \"string\"]}"),
    DOCUMENT_ROW(
        "typical", REAL, DOCUMENT_SPARSE, .when = is_bounded,
        DOCUMENT_AT(struct tremolo_study_feature, typical),
        .words =
            "what one expects of a number in a study of ballots: predict counts it up to eight "
            "half ranges from there, as devices do; without it from the middle of low and high"),
    {.key = NULL}};

const struct document_row inputs_rows[] = {
    DOCUMENT_ROW("columns", LIST, 0, DOCUMENT_LIST_AT(struct tremolo_inputs, input, count),
                 .rows = column_rows, .low = 1, .high = INFINITY),
    DOCUMENT_ROW(
        "terms", TEXT, DOCUMENT_NULLABLE, DOCUMENT_AT(struct tremolo_inputs, terms),
        .words =
            "the model's terms as a formula, as in age*sleep + log(income); null: every column "
            "is one"),
    {.key = NULL}};

json_t *inputs_json(const struct tremolo_inputs *inputs)
{
    return inputs != NULL ? document_json(inputs_rows, inputs) : json_null();
}

/* A category has levels and nothing else has. They are kept in `level`, which has room for the most
 * there can be. */
static bool read_levels(struct tremolo_study_feature *input, const char **level,
                        const json_t *levels)
{
    size_t count = json_array_size(levels);
    if (input->kind != TREMOLO_STUDY_CATEGORY) {
        return levels == NULL;
    }
    if (count < 2 || count > TREMOLO_STUDY_MAX_LEVELS) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        level[i] = json_string_value(json_array_get(levels, i));
        if (level[i] == NULL) {
            return false;
        }
    }
    input->levels = level;
    input->level_count = count;
    return true;
}

/* A number for a number, a word for everything else. */
static bool read_missing(struct tremolo_study_feature *input, const json_t *missing)
{
    input->missing = NAN;
    if (missing == NULL) {
        return true;
    }
    if (json_is_number(missing)) {
        input->missing = json_number_value(missing);
        return input->kind == TREMOLO_STUDY_NUMERIC && isfinite(input->missing);
    }
    return json_is_string(missing) && input->kind != TREMOLO_STUDY_NUMERIC &&
           tremolo_input_read(&input->missing, input, json_string_value(missing));
}

/* Names, kinds and levels point into the JSON tree; tremolo_inputs_new() copies them. */
static bool read_column(struct tremolo_study_feature *input, const char **level,
                        const json_t *object)
{
    const char *kind = json_string_value(json_object_get(object, "kind"));
    unsigned place = 0;
    while (kind != NULL && study_kinds[place] != NULL && strcmp(study_kinds[place], kind) != 0) {
        place++;
    }
    bool known = kind != NULL && study_kinds[place] != NULL;
    input->kind = (enum tremolo_study_kind)place;
    input->name = json_string_value(json_object_get(object, "name"));
    input->low = json_latch_member(object, "low");
    input->high = json_latch_member(object, "high");
    input->typical = json_latch_member(object, "typical");
    return input->name != NULL && known &&
           read_levels(input, level, json_object_get(object, "levels")) &&
           read_missing(input, json_object_get(object, "missing"));
}

/* What a saved result says is checked as a study's features are, since it may come from anywhere. */
bool inputs_from_json(struct tremolo_inputs **inputs, const json_t *object,
                      char error[TREMOLO_TERMS_ERROR_BYTES])
{
    const json_t *columns = json_object_get(object, "columns");
    const json_t *terms = json_object_get(object, "terms");
    size_t count = json_array_size(columns);
    bool good = count >= 1 && count <= TREMOLO_INPUTS_MAX &&
                (json_is_string(terms) || json_is_null(terms) || terms == NULL);
    struct tremolo_study_feature *input = good ? calloc(count, sizeof *input) : NULL;
    const char **level = good ? calloc(count * TREMOLO_STUDY_MAX_LEVELS, sizeof *level) : NULL;
    good = input != NULL && level != NULL;
    for (size_t i = 0; good && i < count; i++) {
        good = read_column(&input[i], level + i * TREMOLO_STUDY_MAX_LEVELS,
                           json_array_get(columns, i));
    }
    if (!good) {
        (void)study_fail(error,
                         "the columns that its features are made of are not there, or not sound");
    } else {
        good = tremolo_inputs_new(inputs, input, count, json_string_value(terms), true, error) ==
               TREMOLO_OK;
    }
    free(input);
    free(level);
    return good;
}
