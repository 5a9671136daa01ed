/* word_list.c -- words in a sentence, one after the other. */
#include "word_list.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char dots[] = ", ...";

/* Unquoted it would look like two words, or like a quoted one. */
static bool needs_quotes(const char *word)
{
    return strpbrk(word, ",\"") != NULL;
}

static size_t length_of(const char *word)
{
    size_t length = strlen(word) + (needs_quotes(word) ? 2 : 0);
    for (; *word != '\0'; word++) {
        length += *word == '"';
    }
    return length;
}

/* The caller made sure of the room; returns where the text ends now. */
static char *put(char *end, const char *word)
{
    bool quoted = needs_quotes(word);
    if (quoted) {
        *end++ = '"';
    }
    for (; *word != '\0'; word++) {
        if (*word == '"') {
            *end++ = '"';
        }
        *end++ = *word;
    }
    if (quoted) {
        *end++ = '"';
    }
    *end = '\0';
    return end;
}

void word_list(char *text, size_t bytes, const char *const *words, size_t count)
{
    char *end = text;
    size_t whole = 0;
    for (size_t i = 0; i < count; i++) {
        whole += length_of(words[i]) + (i == 0 ? 1 : 2); /* a zero at the end, or ", " */
    }
    size_t after = whole <= bytes ? 1 : sizeof dots;
    *end = '\0';
    for (size_t i = 0; i < count; i++) {
        const char *before = i == 0 ? "" : ", ";
        size_t room = bytes - (size_t)(end - text);
        if (strlen(before) + length_of(words[i]) + after > room) {
            (void)snprintf(end, room, "%s", i == 0 ? "..." : dots);
            return;
        }
        end = stpcpy(end, before);
        end = put(end, words[i]);
    }
}
