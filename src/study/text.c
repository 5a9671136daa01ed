/* text.c -- characters that change what is shown, found and replaced. */
#include "tremolo_text.h"

#include <string.h>

static bool within(unsigned char byte, unsigned low, unsigned high)
{
    return byte >= low && byte <= high;
}

/* Bytes that follow are looked at only after those before them: a text ends with a zero,
 * which is none of them. */
size_t tremolo_text_hidden(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    if (at[0] < 0x20 || at[0] == 0x7f) {
        return at[0] != 0;
    }
    if (at[0] == 0xc2) {
        return within(at[1], 0x80, 0x9f) ? 2 : 0;
    }
    if (at[0] == 0xd8) {
        return at[1] == 0x9c ? 2 : 0;
    }
    if (at[0] == 0xe2 && at[1] == 0x80) {
        return within(at[2], 0x8e, 0x8f) || within(at[2], 0xa8, 0xae) ? 3 : 0;
    }
    if (at[0] == 0xe2 && at[1] == 0x81) {
        return within(at[2], 0xa6, 0xa9) ? 3 : 0;
    }
    return at[0] == 0xef && at[1] == 0xbb && at[2] == 0xbf ? 3 : 0;
}

bool tremolo_text_is_plain(const char *text)
{
    while (*text != '\0' && tremolo_text_hidden(text) == 0) {
        text++;
    }
    return *text == '\0';
}

/* Where a last character starts that lacks some of its bytes; `length` when none does. */
static size_t whole_length(const char *text, size_t length)
{
    size_t start = length;
    while (start > 0 && length - start < 3 && ((unsigned char)text[start - 1] & 0xc0) == 0x80) {
        start--;
    }
    unsigned char lead = start > 0 ? (unsigned char)text[start - 1] : 0;
    size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    return bytes > 1 && length - (start - 1) < bytes ? start - 1 : length;
}

bool tremolo_text_clean(char *text)
{
    size_t length = strlen(text);
    size_t whole = whole_length(text, length);
    bool changed = whole < length;
    char *out = text;
    text[whole] = '\0';
    for (const char *at = text; *at != '\0';) {
        size_t hidden = tremolo_text_hidden(at);
        changed = changed || hidden > 0;
        *out++ = (char)(hidden > 0 ? '?' : *at);
        at += hidden > 0 ? hidden : 1;
    }
    *out = '\0';
    return changed;
}
