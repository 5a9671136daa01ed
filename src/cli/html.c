/* html.c -- writing markup. */
#include "html.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"

static void html_text(FILE *out, const char *text)
{
    for (; text != NULL && *text != '\0'; text++) {
        switch (*text) {
        case '&': (void)fputs("&amp;", out); break;
        case '<': (void)fputs("&lt;", out); break;
        case '>': (void)fputs("&gt;", out); break;
        case '"': (void)fputs("&quot;", out); break;
        case '\'': (void)fputs("&#39;", out); break;
        default: (void)fputc(*text, out);
        }
    }
}

void html_minus(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        (void)fputs(*text == '-' ? "&minus;" : (char[2]){*text, '\0'}, out);
    }
}

/* What people read, and beside it all digits for programs. */
static void number_as(FILE *out, const json_t *value, const char *class, double shown)
{
    if (!json_is_number(value)) {
        (void)fputs("&ndash;", out);
        return;
    }
    double real = json_number_value(value);
    char text[32];
    (void)snprintf(text, sizeof text, "%.5g", shown);
    bool classed = class[0] != '\0';
    (void)fprintf(out, "<data%s%s%s value=\"%.17g\">", classed ? " class=\"" : "", class,
                  classed ? "\"" : "", real);
    html_minus(out, text);
    (void)fputs("</data>", out);
}

static double three_digits(double real)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%.3g", real);
    return strtod(text, NULL);
}

void html(FILE *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    for (const char *at = format; *at != '\0'; at++) {
        if (*at != '%') {
            (void)fputc(*at, out);
            continue;
        }
        at++;
        if (*at == 't') {
            html_text(out, va_arg(arguments, const char *));
        } else if (*at == 's') {
            (void)fputs(va_arg(arguments, const char *), out);
        } else {
            const json_t *value = va_arg(arguments, const json_t *);
            double real = json_number_value(value);
            number_as(out, value, va_arg(arguments, const char *),
                      *at == 'b'   ? tremolo_digits_up(real, 5)
                      : *at == '3' ? three_digits(real)
                                   : real);
        }
    }
    va_end(arguments);
}

void html_element(FILE *out, const char *tag, const char *text)
{
    char end[16];
    (void)snprintf(end, sizeof end, "%.*s", (int)strcspn(tag, " "), tag);
    if (text != NULL && text[0] != '\0') {
        html(out, "<%s>%t</%s>\n", tag, text, end);
    }
}

void html_elements(FILE *out, const char *tag, const json_t *texts)
{
    for (size_t index = 0; index < json_array_size(texts); index++) {
        const json_t *text = json_array_get(texts, index);
        html_element(out, tag, json_string_value(text));
    }
}
