/* terms.c -- features from terms, in arithmetic that every client does alike.
 *
 * Only differences and then products of binary64 numbers are taken, from left to right, so that
 * neither a fused multiplication nor another order can change a bit; the logarithm is made of integers and one
 * product. The device in the browser does the same. */
#include "study_file.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---------------------------------------------------------------- arithmetic */

enum { LOG_BITS = 32 };

/* ln 2 / 2^32, the nearest binary64. */
#define LOG_UNIT 0x1.62e42fefa39efp-33

double tremolo_term_log(double x)
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
     * whose next bit is whether the square reaches 2. */
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

static double factor_value(const struct tremolo_derived *derived, size_t k, const double *values)
{
    double value = values[derived->factor[k].column];
    double floor = derived->factor[k].floor;
    if (derived->factor[k].level > 0) {
        return value == (double)derived->factor[k].level ? 1.0 : 0.0;
    }
    if (derived->factor[k].kind == TREMOLO_FACTOR_LOG) {
        return tremolo_term_log(value < floor ? floor : value);
    }
    double base = value - derived->factor[k].shift;
    double product = base;
    for (unsigned i = 1; i < derived->factor[k].power; i++) {
        product = product * base;
    }
    return product;
}

double tremolo_derived_value(const struct tremolo_derived *derived, const double *values)
{
    double product = 1.0;
    for (size_t i = 0; i < derived->factors; i++) {
        product = product * factor_value(derived, i, values);
    }
    return product;
}

/* ---------------------------------------------------------------- expansion */

bool study_fail(char error[TREMOLO_TERMS_ERROR_BYTES], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(error, TREMOLO_TERMS_ERROR_BYTES, format, arguments);
    va_end(arguments);
    return false;
}

static bool fits(const struct tremolo_factor *factor, const struct tremolo_term_column *column,
                 char *error)
{
    bool words = column->levels > 0 || column->question;
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

static bool place_factor(struct tremolo_derived *derived, const struct tremolo_factor *factor,
                         const struct tremolo_term_column *columns, size_t count, char *error)
{
    size_t at = 0;
    while (at < count && strcmp(columns[at].name, factor->column) != 0) {
        at++;
    }
    if (at == count) {
        return study_fail(error, "the terms have '%.60s', and there is no such column",
                          factor->column);
    }
    if (!fits(factor, &columns[at], error)) {
        return false;
    }
    size_t k = derived->factors++;
    derived->factor[k].column = at;
    derived->factor[k].level = columns[at].levels > 0 ? 1 : 0;
    derived->factor[k].kind =
        factor->kind == TREMOLO_FACTOR_LOG ? TREMOLO_FACTOR_LOG : TREMOLO_FACTOR_VALUE;
    derived->factor[k].power = factor->power;
    derived->factor[k].shift = factor->shift;
    derived->factor[k].floor = columns[at].floor;
    return true;
}

/* The next choice of levels, the last factor's first. */
static bool step(struct tremolo_derived *derived, const struct tremolo_term_column *columns)
{
    for (size_t k = derived->factors; k-- > 0;) {
        if (derived->factor[k].level == 0) {
            continue;
        }
        if (++derived->factor[k].level < columns[derived->factor[k].column].levels) {
            return true;
        }
        derived->factor[k].level = 1;
    }
    return false;
}

bool tremolo_formula_expand(struct tremolo_derived *derived, size_t *count, size_t capacity,
                            const struct tremolo_formula *formula,
                            const struct tremolo_term_column *columns, size_t column_count,
                            char error[TREMOLO_TERMS_ERROR_BYTES])
{
    size_t made = 0;
    for (size_t i = 0; i < formula->count; i++) {
        struct tremolo_derived one = {.term = i};
        for (size_t k = 0; k < formula->term[i].factors; k++) {
            if (!place_factor(&one, &formula->term[i].factor[k], columns, column_count, error)) {
                return false;
            }
        }
        do {
            if (made == capacity) {
                return study_fail(error, "the terms make more than %zu features", capacity);
            }
            derived[made++] = one;
        } while (step(&one, columns));
    }
    *count = made;
    return true;
}

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

void tremolo_derived_name(char *text, size_t capacity, const struct tremolo_derived *derived,
                          const struct tremolo_term_column *columns)
{
    size_t used = add(text, capacity, 0, "");
    for (size_t k = 0; k < derived->factors; k++) {
        const struct tremolo_term_column *column = &columns[derived->factor[k].column];
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
        used = add(text, capacity, used, level > 0 ? column->level[level] : "");
        used = add(text, capacity, used, power > 1 ? raised : "");
    }
}
