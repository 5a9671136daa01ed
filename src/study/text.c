/* text.c -- text from outside and values as text: characters that change what is shown, dates, and
 * bytes in base64url.
 *
 * Names, levels and titles come from the author of a study or a table, and end up on terminals, in
 * pages and in reports. A study with hidden characters is refused; text that must be shown anyway, as
 * in the sentence that refuses it, has them replaced. The list is in study_internal.h. All functions
 * here are pure, and none of them depends on the locale. */
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "study_internal.h"

/* ---------------------------------------------------------------- hidden characters */

/* Both ends included. */
static bool within(unsigned char byte, unsigned low, unsigned high)
{
    return byte >= low && byte <= high;
}

/* The bytes of a hidden character at the start of the text; 0 when there is none.
 * Bytes that follow are looked at only after those before them: a text ends with a zero,
 * which is none of them. */
static size_t hidden_at(const char *text)
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

/* Bytes inside of a character cannot be taken for a start: no hidden character begins with one. */
bool tremolo_text_is_plain(const char *text)
{
    while (*text != '\0' && hidden_at(text) == 0) {
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

/* Works in place: what is hidden has at least as many bytes as the '?' that replaces it. */
bool tremolo_text_clean(char *text)
{
    size_t length = strlen(text);
    size_t whole = whole_length(text, length);
    bool changed = whole < length;
    char *out = text;
    text[whole] = '\0';
    for (const char *at = text; *at != '\0';) {
        size_t hidden = hidden_at(at);
        changed = changed || hidden > 0;
        *out++ = (char)(hidden > 0 ? '?' : *at);
        at += hidden > 0 ? hidden : 1;
    }
    *out = '\0';
    return changed;
}

/* ---------------------------------------------------------------- dates */

/* gmtime_r() fails for years beyond its range, which no checked date has. */
void tremolo_study_date_text(char text[TREMOLO_STUDY_DATE_BYTES], int64_t unix_seconds)
{
    time_t time = (time_t)unix_seconds;
    struct tm parts;
    if (gmtime_r(&time, &parts) == NULL ||
        strftime(text, TREMOLO_STUDY_DATE_BYTES, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0) {
        text[0] = '\0';
    }
}

/* True for a date that exists: one that reads back as it was written. */
bool tremolo_study_date_read(int64_t *seconds, const char *text)
{
    static const size_t date_length = sizeof "2026-11-15" - 1;
    char full[TREMOLO_STUDY_DATE_BYTES];
    char again[TREMOLO_STUDY_DATE_BYTES];
    struct tm parts = {0};
    int length =
        snprintf(full, sizeof full, "%s%s", text, strlen(text) == date_length ? "T00:00:00Z" : "");
    if (length >= (int)sizeof full || strptime(full, "%Y-%m-%dT%H:%M:%SZ", &parts) == NULL) {
        return false;
    }
    int64_t time = (int64_t)timegm(&parts);
    tremolo_study_date_text(again, time);
    if (time < 0 || strcmp(again, full) != 0) {
        return false;
    }
    *seconds = time;
    return true;
}

/* ---------------------------------------------------------------- base64url */

/* Without padding and with - and _, so that ids can be parts of addresses. */
enum tremolo_status tremolo_base64_encode(char *text, size_t capacity, const uint8_t *bytes,
                                          size_t length)
{
    const int variant = sodium_base64_VARIANT_URLSAFE_NO_PADDING;
    if (text == NULL || bytes == NULL || length > SIZE_MAX / 8) {
        return TREMOLO_BAD_ARGUMENT;
    }
    if (capacity < sodium_base64_encoded_len(length, variant)) {
        return TREMOLO_SHORT_BUFFER;
    }
    (void)sodium_bin2base64(text, capacity, bytes, length, variant);
    return TREMOLO_OK;
}

/* The buffer has the right size by its type, so that this cannot fail. */
void tremolo_study_id_text(char text[TREMOLO_STUDY_ID_TEXT_BYTES],
                           const uint8_t id[TREMOLO_STUDY_ID_BYTES])
{
    (void)sodium_bin2base64(text, TREMOLO_STUDY_ID_TEXT_BYTES, id, TREMOLO_STUDY_ID_BYTES,
                            sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

/* Another spelling of the same bytes is refused: one id has one text. */
enum tremolo_status tremolo_base64_decode(uint8_t *bytes, size_t length, const char *text)
{
    enum { LONGEST = 64 };
    uint8_t decoded[LONGEST];
    size_t got = 0;
    const char *end = NULL;
    if (bytes == NULL || text == NULL || length > LONGEST) {
        return TREMOLO_BAD_ARGUMENT;
    }
    size_t text_length = strlen(text);
    if (sodium_base642bin(decoded, length, text, text_length, NULL, &got, &end,
                          sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0 ||
        got != length || end != text + text_length) {
        return TREMOLO_MALFORMED;
    }
    memcpy(bytes, decoded, length);
    sodium_memzero(decoded, sizeof decoded);
    return TREMOLO_OK;
}
