/* coefficients.c -- print coefficients. */
#include "coefficients.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_WIDTH = 40 };

static const char *stars(double p)
{
    return p < 0.001 ? "***" : p < 0.01 ? "**" : p < 0.05 ? "*" : p < 0.1 ? "." : "";
}

static const char *name_of(const struct coefficients *coefficients, size_t row)
{
    return row < coefficients->features ? coefficients->name[row] : "(intercept)";
}

/* Characters of UTF-8: bytes that continue none. */
int coefficients_name_width(const char *name)
{
    int count = 0;
    for (; *name != '\0' && count < NAME_WIDTH; name++) {
        count += ((unsigned char)*name & 0xC0) != 0x80;
    }
    return count;
}

void coefficients_print_name(const char *name, int width)
{
    size_t shown = 0;
    for (; *name != '\0'; name++) {
        shown += ((unsigned char)*name & 0xC0) != 0x80;
        if (shown > NAME_WIDTH) {
            break;
        }
        (void)putchar(*name);
    }
    shown = shown > NAME_WIDTH ? NAME_WIDTH : shown;
    printf("%*s", width > (int)shown ? width - (int)shown : 0, "");
}

static int name_width(const struct coefficients *coefficients)
{
    int width = 0;
    for (size_t i = 0; i <= coefficients->features; i++) {
        int length = coefficients_name_width(name_of(coefficients, i));
        width = length > width ? length : width;
    }
    return width;
}

void coefficients_caption(char text[COEFFICIENTS_CAPTION_BYTES], const char *response,
                          const char *unit)
{
    bool has_unit = unit != NULL && unit[0] != '\0';
    (void)snprintf(text, COEFFICIENTS_CAPTION_BYTES,
                   "What one more unit of each does to %s%s%s%s, all others equal", response,
                   has_unit ? " (" : "", has_unit ? unit : "", has_unit ? ")" : "");
}

/* Before the table. */
static void print_caption(const struct coefficients *coefficients)
{
    char text[COEFFICIENTS_CAPTION_BYTES];
    coefficients_caption(text, coefficients->response, coefficients->unit);
    printf("%s:\n", text);
}

static void print_without_inference(const struct coefficients *coefficients)
{
    int width = name_width(coefficients);
    printf("Coefficients (%s).\n", coefficients->remark);
    print_caption(coefficients);
    printf("%*s %12s\n", -width, "", "Estimate");
    for (size_t i = 0; i <= coefficients->features; i++) {
        coefficients_print_name(name_of(coefficients, i), width);
        printf(" %12.5g\n", coefficients->prediction[i]);
    }
}

/* Where noise hides a coefficient the plain interval does not hold its level, and
 * no star is earned: the score set takes its place. */
static void print_row(const struct coefficients *coefficients, size_t i, int width)
{
    const struct tremolo_coefficient *row = &coefficients->row[i];
    coefficients_print_name(name_of(coefficients, i), width);
    printf(" %12.5g", row->estimate);
    if (isnan(row->standard_error)) {
        printf("\n");
        return;
    }
    if (row->identified) {
        printf(" %12.4g %8.2f %9.3g  ", row->standard_error, row->z, row->p);
    } else { /* they would mean nothing */
        printf(" %12s %8s %9s  ", "-", "-", "-");
    }
    if (row->identified) {
        printf("[%.5g, %.5g] %s\n", row->low, row->high, stars(row->p));
    } else if (row->score_shape == TREMOLO_INTERVAL_OUTSIDE) {
        printf("outside (%.5g, %.5g)\n", row->score_low, row->score_high);
    } else {
        printf("anything\n");
    }
}

void coefficients_unclear(char *text, size_t bytes, const struct coefficients *coefficients,
                          uint64_t devices)
{
    const char *names[TREMOLO_DESIGN_FEATURES_MAX + 1];
    text[0] = '\0';
    for (size_t i = 0; i <= coefficients->features; i++) {
        names[i] = name_of(coefficients, i);
    }
    if (coefficients->row != NULL) {
        tremolo_identification_summary(text, bytes, names, coefficients->row,
                                       coefficients->features + 1, devices);
    }
}

/* Which coefficients the noise hides, said once for all of them. */
static void print_hidden(const struct coefficients *coefficients, uint64_t devices)
{
    char text[2048];
    coefficients_unclear(text, sizeof text, coefficients, devices);
    if (text[0] != '\0') {
        coefficients_paragraph(text);
        coefficients_paragraph("(what is shown for them is the score test's set, which holds its "
                               "level at any noise)");
    }
}

void coefficients_print(const struct coefficients *coefficients, uint64_t devices)
{
    int width = name_width(coefficients);
    double percent = 100 * coefficients->level;
    if (coefficients->row == NULL) {
        print_without_inference(coefficients);
        return;
    }
    printf("Coefficients (unbiased, for conclusions).\n");
    print_caption(coefficients);
    printf("%*s %12s %12s %8s %9s  %g%% interval\n", -width, "", "Estimate", "Std. Error",
           "t value", "Pr(>|t|)", percent);
    for (size_t i = 0; i <= coefficients->features; i++) {
        print_row(coefficients, i, width);
    }
    printf("---\nSignif. codes:  0 '***' 0.001 '**' 0.01 '*' 0.05 '.' 0.1 ' ' 1\n"
           "p values and intervals: Student's t, %g degrees of freedom\n",
           coefficients->row[0].degrees);
    print_hidden(coefficients, devices);
}

json_t *coefficients_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *score_json(const struct tremolo_coefficient *row)
{
    bool all = row->score_shape == TREMOLO_INTERVAL_ALL;
    return json_pack("{s:s,s:o,s:o}", "shape", tremolo_interval_name(row->score_shape), "low",
                     all ? json_null() : coefficients_number(row->score_low), "high",
                     all ? json_null() : coefficients_number(row->score_high));
}

json_t *coefficients_json(const struct coefficients *coefficients)
{
    json_t *array = json_array();
    for (size_t i = 0; coefficients->row != NULL && i <= coefficients->features; i++) {
        const struct tremolo_coefficient *row = &coefficients->row[i];
        bool told = row->identified;
        (void)json_array_append_new(
            array,
            json_pack("{s:s,s:o,s:o,s:o,s:o,s:o,s:o,s:b,s:o}", "name", name_of(coefficients, i),
                      "estimate", coefficients_number(row->estimate), "standard_error",
                      coefficients_number(told ? row->standard_error : NAN), "low",
                      coefficients_number(row->low), "high", coefficients_number(row->high), "z",
                      coefficients_number(told ? row->z : NAN), "p",
                      coefficients_number(told ? row->p : NAN), "identified", (int)row->identified,
                      "score", score_json(row)));
    }
    return array;
}

json_t *coefficients_prediction_json(const struct coefficients *coefficients)
{
    json_t *array = json_array();
    for (size_t i = 0; i <= coefficients->features; i++) {
        (void)json_array_append_new(
            array, json_pack("{s:s,s:o}", "name", name_of(coefficients, i), "estimate",
                             coefficients_number(coefficients->prediction[i])));
    }
    return array;
}

void coefficients_paragraph(const char *text)
{
    enum { LINE = 80 };
    while (strlen(text) > LINE) {
        int length = LINE;
        while (length > 0 && text[length] != ' ') {
            length--;
        }
        if (length == 0) {
            break; /* one long word */
        }
        printf("%.*s\n", length, text);
        text += length + 1;
    }
    printf("%s\n", text);
}
