/* terms.c -- the terms of a model: a formula's text read into factors.
 *
 *     formula = [name "~"] sum
 *     sum     = item {"+" item}
 *     item    = product {"*" product}       every subset of the products, as in R
 *     product = factor {":" factor}
 *     factor  = name ["^" power] | "C(" name ")" | "log(" name ")" | "I(" inner ")" | "1"
 *     inner   = value ["^" power] {"*" value ["^" power]}
 *     value   = name | "(" name ("-" | "+") number ")"
 *
 * Reading is one pass without recursion: the grammar has no nesting beyond what is written above. Names
 * are copied into the formula's own text, in which each ends with a zero.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "study_file.h"

bool study_fail(char error[TREMOLO_TERMS_ERROR_BYTES], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(error, TREMOLO_TERMS_ERROR_BYTES, format, arguments);
    va_end(arguments);
    return false;
}

/* ---------------------------------------------------------------- reading */

enum { PRODUCTS_MAX = 6 }; /* of a*b*c..., 2^6 - 1 terms */
static const double SHIFT_MAX = 1e100;

struct parser {
    const char *at;
    char *room; /* where the next name goes */
    struct tremolo_formula *made;
    char *error;
};

/* What is missing, and where. */
static bool lacks(const struct parser *parser, const char *what)
{
    return *parser->at == '\0'
               ? study_fail(parser->error, "in the terms %s at the end", what)
               : study_fail(parser->error, "in the terms %s at '%.40s'", what, parser->at);
}

/* ---------------------------------------------------------------- words */

/* Bytes above 0x7f belong to characters of names, in any language. */
static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || (unsigned char)c >= 0x80;
}

/* Spaces mean nothing between any two signs. */
static void skip(struct parser *parser)
{
    parser->at += strspn(parser->at, " \t\r\n");
}

/* Moves behind the sign where it is next; otherwise only spaces are skipped. */
static bool take(struct parser *parser, const char *sign)
{
    skip(parser);
    size_t length = strlen(sign);
    if (strncmp(parser->at, sign, length) != 0) {
        return false;
    }
    parser->at += length;
    return true;
}

/* Copies a name to the end of the formula's text. There is always room: names take at most as many
 * bytes as the formula, and one each for their zeros. */
static const char *keep(struct parser *parser, const char *from, size_t length)
{
    char *name = parser->room;
    memcpy(name, from, length);
    name[length] = '\0';
    parser->room += length + 1;
    return name;
}

/* What is between a quote and the next one like it. */
static bool quoted(struct parser *parser, const char **name, char quote)
{
    const char *end = strchr(parser->at, quote);
    if (end == NULL || end == parser->at) {
        return study_fail(parser->error, "in the terms a name in quotes is empty or does not end");
    }
    *name = keep(parser, parser->at, (size_t)(end - parser->at));
    parser->at = end + 1;
    return true;
}

static size_t word_length(const char *text)
{
    size_t length = 0;
    while (is_word(text[length])) {
        length++;
    }
    return length;
}

/* Is a word followed by "(" one of the functions? */
static bool calls(struct parser *parser, const char *function)
{
    skip(parser);
    size_t length = strlen(function);
    const char *after = parser->at + length;
    if (word_length(parser->at) != length || strncmp(parser->at, function, length) != 0) {
        return false;
    }
    after += strspn(after, " \t");
    if (*after != '(') {
        return false;
    }
    parser->at = after + 1;
    return true;
}

/* The bracket that calls() or take() opened. */
static bool closes(struct parser *parser)
{
    return take(parser, ")") || lacks(parser, "a ) is missing");
}

/* A bare word, or one in back quotes or Q(""). What looks like a function or a number is refused
 * with a sentence of its own. */
static bool read_name(struct parser *parser, const char **name)
{
    if (take(parser, "`")) {
        return quoted(parser, name, '`');
    }
    if (calls(parser, "Q")) {
        char quote = take(parser, "'") ? '\'' : '"';
        return (quote == '\'' || take(parser, "\"") ||
                study_fail(parser->error, "in the terms Q( wants a name in quotes")) &&
               quoted(parser, name, quote) && closes(parser);
    }
    size_t length = word_length(parser->at);
    if (length == 0) {
        return *parser->at == '-'
                   ? study_fail(parser->error,
                                "terms are added, not taken away; there always is an intercept")
                   : lacks(parser, "a name is missing");
    }
    const char *after = parser->at + length + strspn(parser->at + length, " \t");
    if (*after == '(') {
        return study_fail(parser->error,
                          "in the terms '%.*s' is no function; there are C(), I() and log()",
                          (int)(length < 40 ? length : 40), parser->at);
    }
    if (parser->at[0] >= '0' && parser->at[0] <= '9') {
        return study_fail(
            parser->error,
            "in the terms '%.*s' is no name; one that begins with a digit goes in back "
            "quotes",
            (int)(length < 40 ? length : 40), parser->at);
    }
    *name = keep(parser, parser->at, length);
    parser->at += length;
    return true;
}

/* ---------------------------------------------------------------- terms */

/* A column can be in a term once; powers are written as powers, so that each term has one spelling. */
static bool add_factor(struct parser *parser, struct tremolo_term *term,
                       struct tremolo_factor factor)
{
    for (size_t i = 0; i < term->factors; i++) {
        if (strcmp(term->factor[i].column, factor.column) == 0) {
            return study_fail(parser->error, "a term has '%.60s' twice; write a power, as in x^2",
                              factor.column);
        }
    }
    if (term->factors == TREMOLO_TERM_FACTORS_MAX) {
        return study_fail(parser->error, "a term has more than %d factors",
                          TREMOLO_TERM_FACTORS_MAX);
    }
    term->factor[term->factors++] = factor;
    return true;
}

/* What is taken away from a value, after its name. */
static bool read_shift(struct parser *parser, double *shift)
{
    bool minus = take(parser, "-");
    char *end = NULL;
    if (!minus && !take(parser, "+")) {
        return lacks(parser, "a - or + and a number are missing");
    }
    skip(parser);
    double number = strtod(parser->at, &end);
    size_t decimal = strspn(parser->at, "0123456789.eE+-"); /* no hexadecimal, no words */
    bool digits = ((*parser->at >= '0' && *parser->at <= '9') || *parser->at == '.') &&
                  parser->at + decimal >= end;
    if (!digits || end == parser->at || !(fabs(number) <= SHIFT_MAX)) {
        return lacks(parser, "a number is missing");
    }
    parser->at = end;
    *shift = minus ? number : -number;
    return closes(parser);
}

/* A name, or one in brackets with what is taken away from it, and perhaps its power. */
static bool read_value(struct parser *parser, struct tremolo_term *term, bool inner)
{
    struct tremolo_factor factor = {.column = "", .power = 1};
    bool shifted = inner && take(parser, "(");
    if (!read_name(parser, &factor.column) || (shifted && !read_shift(parser, &factor.shift))) {
        return false;
    }
    if (take(parser, "^") || take(parser, "**")) {
        skip(parser);
        factor.power = (unsigned)(*parser->at - '0');
        bool whole = *parser->at >= '1' && factor.power <= TREMOLO_TERM_POWER_MAX;
        if (!whole || is_word(parser->at[1])) {
            return study_fail(parser->error, "'%.60s' can be raised to whole powers up to %d",
                              factor.column, TREMOLO_TERM_POWER_MAX);
        }
        parser->at++;
    }
    return add_factor(parser, term, factor);
}

/* I() is transparent except that * in it is a product, as in R. */
static bool read_factor(struct parser *parser, struct tremolo_term *term)
{
    struct tremolo_factor factor = {.column = "", .power = 1};
    if (calls(parser, "I")) {
        bool good = read_value(parser, term, true);
        while (good && take(parser, "*")) {
            good = read_value(parser, term, true);
        }
        return good && closes(parser);
    }
    bool levels = calls(parser, "C");
    bool logarithm = !levels && (calls(parser, "log") || calls(parser, "np.log"));
    if (!levels && !logarithm) {
        return read_value(parser, term, false);
    }
    factor.kind = levels ? TREMOLO_FACTOR_LEVELS : TREMOLO_FACTOR_LOG;
    return read_name(parser, &factor.column) && closes(parser) && add_factor(parser, term, factor);
}

/* Factors joined by : are one term, whatever their number. */
static bool read_product(struct parser *parser, struct tremolo_term *term)
{
    *term = (struct tremolo_term){0};
    bool good = read_factor(parser, term);
    while (good && take(parser, ":")) {
        good = read_factor(parser, term);
    }
    return good;
}

/* Names are compared as they are: columns differ in the case of their letters, too. */
static bool has_factor(const struct tremolo_term *term, const struct tremolo_factor *factor)
{
    for (size_t i = 0; i < term->factors; i++) {
        const struct tremolo_factor *one = &term->factor[i];
        if (one->kind == factor->kind && one->power == factor->power &&
            one->shift == factor->shift && strcmp(one->column, factor->column) == 0) {
            return true;
        }
    }
    return false;
}

/* Products are the same in any order of their factors. */
static bool same_term(const struct tremolo_term *a, const struct tremolo_term *b)
{
    bool same = a->factors == b->factors;
    for (size_t i = 0; same && i < a->factors; i++) {
        same = has_factor(b, &a->factor[i]);
    }
    return same;
}

/* A term that is there already is not added, as in R: a*b + a has a once. */
static bool add_term(struct parser *parser, const struct tremolo_term *term)
{
    struct tremolo_formula *made = parser->made;
    for (size_t i = 0; i < made->count; i++) {
        if (same_term(&made->term[i], term)) {
            return true;
        }
    }
    if (made->count == TREMOLO_TERMS_MAX) {
        return study_fail(parser->error, "there are more than %d terms", TREMOLO_TERMS_MAX);
    }
    made->term[made->count++] = *term;
    return true;
}

/* The products that a subset of the operands of * chooses, as one term. */
static bool add_subset(struct parser *parser, const struct tremolo_term *product, size_t subset)
{
    struct tremolo_term term = {0};
    for (size_t i = 0; subset >> i != 0; i++) {
        for (size_t k = 0; (subset >> i & 1) != 0 && k < product[i].factors; k++) {
            if (!add_factor(parser, &term, product[i].factor[k])) {
                return false;
            }
        }
    }
    return add_term(parser, &term);
}

/* a*b*c: the single ones, then the products of two, then of all. */
static bool read_item(struct parser *parser)
{
    struct tremolo_term product[PRODUCTS_MAX];
    size_t count = 1;
    bool good = read_product(parser, &product[0]);
    while (good && take(parser, "*")) {
        if (count == PRODUCTS_MAX) {
            return study_fail(parser->error, "more than %d factors are joined by *", PRODUCTS_MAX);
        }
        good = read_product(parser, &product[count]);
        count++;
    }
    for (size_t size = 1; good && size <= count; size++) {
        for (size_t subset = 1; good && subset < (size_t)1 << count; subset++) {
            if ((size_t)__builtin_popcountll(subset) == size) {
                good = add_subset(parser, product, subset);
            }
        }
    }
    return good;
}

/* The 1 that means the intercept. */
static bool is_intercept(struct parser *parser)
{
    skip(parser);
    bool one = parser->at[0] == '1' && !is_word(parser->at[1]);
    parser->at += one ? 1 : 0;
    return one;
}

/* Is there a ~ that is not part of a name in quotes? */
static bool has_response(const char *text)
{
    text += strcspn(text, "~`'\"");
    while (*text != '\0' && *text != '~') {
        const char *end = strchr(text + 1, *text);
        text = end != NULL ? end + 1 : text + 1;
        text += strcspn(text, "~`'\"");
    }
    return *text == '~';
}

/* The response, if there is a ~, then terms until the text ends. */
static bool read_formula(struct parser *parser)
{
    if (has_response(parser->at)) {
        if (!read_name(parser, &parser->made->response)) {
            return false;
        }
        if (!take(parser, "~")) {
            return study_fail(parser->error, "before the ~ stands one name, that of the response");
        }
    }
    do {
        if (!is_intercept(parser) && !read_item(parser)) {
            return false;
        }
        parser->made->summands++;
    } while (take(parser, "+"));
    skip(parser);
    if (*parser->at == '-') {
        return study_fail(parser->error,
                          "terms are added, not taken away; there always is an intercept");
    }
    if (*parser->at != '\0') {
        return study_fail(parser->error, "the terms cannot be read from '%.40s' on", parser->at);
    }
    return parser->made->count > 0 ||
           study_fail(parser->error, "there are no terms but the intercept");
}

/* Twice the text's length is room for all names, whatever the text is. */
enum tremolo_status study_formula_parse(struct tremolo_formula **formula, const char *text,
                                        char error[TREMOLO_TERMS_ERROR_BYTES])
{
    struct parser parser = {.at = text};
    parser.error = error;
    size_t length = strlen(text);
    if (length > TREMOLO_TERMS_BYTES_MAX) {
        (void)study_fail(error, "the terms have more than %d bytes", TREMOLO_TERMS_BYTES_MAX);
        return TREMOLO_BAD_STUDY;
    }
    parser.made = calloc(1, sizeof *parser.made);
    char *names = malloc(2 * length + 2);
    if (parser.made == NULL || names == NULL) {
        free(parser.made);
        free(names);
        (void)study_fail(error, "out of memory");
        return TREMOLO_NO_MEMORY;
    }
    parser.room = parser.made->text = names;
    if (!read_formula(&parser)) {
        tremolo_formula_free(parser.made);
        return TREMOLO_BAD_STUDY;
    }
    *formula = parser.made;
    return TREMOLO_OK;
}

bool tremolo_formula_parse(struct tremolo_formula **formula, const char *text,
                           char error[TREMOLO_TERMS_ERROR_BYTES])
{
    return study_formula_parse(formula, text, error) == TREMOLO_OK;
}

void tremolo_formula_free(struct tremolo_formula *formula)
{
    if (formula != NULL) {
        free(formula->text);
        free(formula);
    }
}

static bool uses(const struct tremolo_formula *formula, const char *column, bool levels)
{
    for (size_t i = 0; i < formula->count; i++) {
        for (size_t k = 0; k < formula->term[i].factors; k++) {
            const struct tremolo_factor *factor = &formula->term[i].factor[k];
            if (strcmp(factor->column, column) == 0 &&
                (!levels || factor->kind == TREMOLO_FACTOR_LEVELS)) {
                return true;
            }
        }
    }
    return false;
}

bool tremolo_formula_uses(const struct tremolo_formula *formula, const char *column)
{
    return uses(formula, column, false);
}

bool tremolo_formula_has_levels(const struct tremolo_formula *formula, const char *column)
{
    return uses(formula, column, true);
}
