/* coefficients.c -- names, captions and paragraphs on the terminal. */
#include "coefficients.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "members.h"

enum { NAME_WIDTH = 48 };

/* Characters of UTF-8: bytes that continue none. */
int coefficients_name_width(const char *name)
{
    int count = 0;
    for (; *name != '\0' && count < NAME_WIDTH; name++) {
        count += ((unsigned char)*name & 0xC0) != 0x80;
    }
    return count;
}

int coefficients_widest(const json_t *rows)
{
    int widest = 0;
    for (size_t index = 0; index < json_array_size(rows); index++) {
        const json_t *row = json_array_get(rows, index);
        int width = coefficients_name_width(member_text(row, "name"));
        widest = width > widest ? width : widest;
    }
    return widest;
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

void coefficients_caption(char text[COEFFICIENTS_CAPTION_BYTES], const json_t *document)
{
    const json_t *response = json_object_get(document, "response");
    const char *unit = member_text(response, "unit");
    bool has_unit = unit[0] != '\0';
    (void)snprintf(text, COEFFICIENTS_CAPTION_BYTES,
                   "What one more unit of each does to %s%s%s%s, all others equal",
                   member_text(response, "name"), has_unit ? " (" : "", unit, has_unit ? ")" : "");
}

void coefficients_cut(char text[COEFFICIENTS_CAPTION_BYTES], const json_t *document)
{
    double share = member_number(document, "response_cut");
    double devices = member_number(document, "devices");
    const char *protects = member_text(json_object_get(document, "guarantee"), "protects");
    text[0] = '\0';
    if (strcmp(member_text(document, "release"), "ballot") != 0) {
        return;
    }
    if (isnan(share)) {
        (void)snprintf(text, COEFFICIENTS_CAPTION_BYTES,
                       "Devices cut responses at the ends of their range, which draws coefficients "
                       "to zero by about the share that is cut; reports do not tell it.");
    } else if (share > 0) {
        (void)snprintf(
            text, COEFFICIENTS_CAPTION_BYTES,
            "%.0f of %.0f responses lie beyond the range of %s and count as its ends: "
            "coefficients are drawn to zero by about %.2g %%, by more where a feature sets those "
            "people apart, and no interval knows. A wider range for the response %s that away.",
            round(share * devices), devices,
            member_text(json_object_get(document, "response"), "name"), 100 * share,
            strcmp(protects, "features") == 0 ? "costs nothing where it is in the clear, and takes"
                                              : "costs devices and takes");
    }
}

/* Does a coefficient stand for this level of this column, alone or in a product? NULL: for any level. */
static bool has_level(const json_t *rows, const char *column, const char *level)
{
    size_t length = strlen(column);
    for (size_t index = 0; index < json_array_size(rows); index++) {
        const char *name = member_text(json_array_get(rows, index), "name");
        for (const char *at = name; at != NULL; at = strchr(at, ':')) {
            at += *at == ':';
            if (strncmp(at, column, length) == 0 && at[length] == '=' &&
                (level == NULL || strcmp(at + length + 1, level) == 0)) {
                return true;
            }
        }
    }
    return false;
}

void coefficients_reference(char text[COEFFICIENTS_CAPTION_BYTES], const json_t *document)
{
    const json_t *rows = json_object_get(document, "coefficients");
    const json_t *columns = json_object_get(json_object_get(document, "inputs"), "columns");
    size_t used = 0;
    text[0] = '\0';
    for (size_t index = 0; index < json_array_size(columns); index++) {
        const json_t *column = json_array_get(columns, index);
        const char *name = member_text(column, "name");
        const char *level = json_string_value(json_array_get(json_object_get(column, "levels"), 0));
        if (level == NULL || used >= COEFFICIENTS_CAPTION_BYTES || !has_level(rows, name, NULL) ||
            has_level(rows, name, level)) {
            continue;
        }
        int written =
            snprintf(text + used, COEFFICIENTS_CAPTION_BYTES - used, "%s%s=%s",
                     used == 0 ? "A level is compared with its reference: " : ", ", name, level);
        used += written > 0 ? (size_t)written : 0;
    }
    if (used > 0 && used + 1 < COEFFICIENTS_CAPTION_BYTES) {
        text[used] = '.';
        text[used + 1] = '\0';
    }
}

const char *coefficients_weights(const json_t *document)
{
    bool told = json_is_number(json_object_get(document, "r2"));
    return told && strcmp(member_text(document, "release"), "ballot") == 0
               ? "Ballots weigh people by how typical they are: where some are far from that, or "
                 "effects are not linear, the R-squared among all people can lie outside this "
                 "interval."
               : "";
}

void coefficients_paragraph(const char *format, ...)
{
    enum { LINE = 80 };
    char *whole = NULL;
    va_list arguments;
    va_start(arguments, format);
    int written = vasprintf(&whole, format, arguments);
    va_end(arguments);
    if (written < 0) {
        return;
    }
    const char *text = whole;
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
    if (*text != '\0') {
        printf("%s\n", text);
    }
    free(whole);
}
