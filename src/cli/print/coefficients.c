/* coefficients.c -- names, captions and paragraphs on the terminal. */
#include "coefficients.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { NAME_WIDTH = 40 };

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

void coefficients_caption(char text[COEFFICIENTS_CAPTION_BYTES], const char *response,
                          const char *unit)
{
    bool has_unit = unit != NULL && unit[0] != '\0';
    (void)snprintf(text, COEFFICIENTS_CAPTION_BYTES,
                   "What one more unit of each does to %s%s%s%s, all others equal", response,
                   has_unit ? " (" : "", has_unit ? unit : "", has_unit ? ")" : "");
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
