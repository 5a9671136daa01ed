/* tremolo_terms.h -- the terms of a model: age + log(income) + C(platform) + age:sleep.
 *
 *     struct tremolo_formula *formula = NULL;
 *     char error[TREMOLO_TERMS_ERROR_BYTES];
 *     if (!tremolo_formula_parse(&formula, "y ~ age*sleep + log(income)", error)) { ... }
 *     ... formula->term[0].factor[0].column ...
 *     tremolo_formula_free(formula);
 *
 * A formula is a sum of terms, a term a product of factors of raw columns:
 *     age            the value, or for a column of words one yes/no feature for each level but
 *                    the first
 *     C(region)      the same, though its levels are written as numbers
 *     age^2, I(age^2), age**2    powers up to TREMOLO_TERM_POWER_MAX
 *     log(income)    the natural logarithm
 *     age:sleep, I(age*sleep)    the product
 *     I((age-50)*(sleep-7)), I((age-50)^2)    the same of values about others: products about the
 *                    middle resemble their factors far less, so that less noise hides them
 *     age*sleep      age + sleep + age:sleep
 * Names with other characters than letters, digits, _ and . are written in back quotes or in Q("..").
 * There always is an intercept.
 *
 * Every client must get the same integers from the same sample, so the arithmetic is laid down
 * (docs/reference/protocol.md, section 1): IEEE binary64 products from left to right, and a logarithm by
 * integers. Pure functions, safe from any thread. */
#ifndef TREMOLO_TERMS_H
#define TREMOLO_TERMS_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TREMOLO_TERMS_MAX = 256,
    TREMOLO_TERM_FACTORS_MAX = 4,
    TREMOLO_TERM_POWER_MAX = 4,
    TREMOLO_TERMS_BYTES_MAX = 65536, /* of a formula */
    TREMOLO_TERMS_ERROR_BYTES = 256,
};

enum tremolo_factor_kind {
    TREMOLO_FACTOR_VALUE = 0,  /* of a column of words: its levels */
    TREMOLO_FACTOR_LEVELS = 1, /* C(name) */
    TREMOLO_FACTOR_LOG = 2,
};

struct tremolo_factor {
    const char *column;
    enum tremolo_factor_kind kind;
    unsigned power; /* 1 unless a value is raised to one */
    double shift;   /* taken away from the value first; 0 unless it is written */
};

struct tremolo_term {
    size_t factors;
    struct tremolo_factor factor[TREMOLO_TERM_FACTORS_MAX];
};

struct tremolo_formula {
    const char *response; /* before the ~; NULL without */
    size_t summands;      /* as written: a 1, a*b and what stands there twice are one each */
    size_t count;
    struct tremolo_term term[TREMOLO_TERMS_MAX]; /* each once */
    char *text;                                  /* owns the names */
};

/* False with a sentence in `error`; *formula is then untouched. Free with tremolo_formula_free. */
bool tremolo_formula_parse(struct tremolo_formula **formula, const char *text,
                           char error[TREMOLO_TERMS_ERROR_BYTES]);
void tremolo_formula_free(struct tremolo_formula *formula); /* accepts NULL */

/* True if this column is named anywhere, or as C(column). */
bool tremolo_formula_uses(const struct tremolo_formula *formula, const char *column);
bool tremolo_formula_has_levels(const struct tremolo_formula *formula, const char *column);

#ifdef __cplusplus
}
#endif

#endif
