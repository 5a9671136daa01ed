/* words.c -- words in a sentence: a list of them, and the one that was meant.
 *
 * Lists go into sentences of a fixed size, so a list that is too long ends in dots after a whole word:
 * half a name could be another name. A suggestion is made only for what is likely a slip of the keys;
 * a wrong suggestion is worse than none, because people follow it. Everything works on bytes: letters
 * beyond ASCII count as several, which makes such words a little further apart. */
#include "words.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { WORD_MAX = 64 };

static const char dots[] = ", ...";

/* Unquoted it would look like two words, or like a quoted one. */
static bool needs_quotes(const char *word)
{
    return strpbrk(word, ",\"") != NULL;
}

/* Bytes of the word as put() writes it, without a zero at the end. */
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

/* Two passes: whether all words fit decides whether room for the dots must be kept. */
void tremolo_words_list(char *text, size_t bytes, const char *const *words, size_t count)
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

/* ---- the nearest */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* In any case, since most slips with capitals are meant. */
static bool same_letter(char a, char b)
{
    char one[2] = {a, '\0'};
    char other[2] = {b, '\0'};
    return strcasecmp(one, other) == 0;
}

/* Insertions, deletions, changes and swaps of neighbours that lead from one
 * word to the other (the restricted Damerau-Levenshtein distance). Rows of
 * the usual table: the one before last, the last, this one. */
static size_t distance(const char *a, const char *b)
{
    size_t rows[3][WORD_MAX + 1];
    size_t *before = rows[0];
    size_t *last = rows[1];
    size_t *row = rows[2];
    size_t columns = strlen(b);
    for (size_t j = 0; j <= columns; j++) {
        last[j] = j;
        before[j] = 0;
    }
    for (size_t i = 1; a[i - 1] != '\0'; i++) {
        row[0] = i;
        for (size_t j = 1; j <= columns; j++) {
            bool same = same_letter(a[i - 1], b[j - 1]);
            row[j] = least(least(last[j], row[j - 1]) + 1, last[j - 1] + (same ? 0 : 1));
            if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) &&
                same_letter(a[i - 2], b[j - 1])) {
                row[j] = least(row[j], before[j - 2] + 1);
            }
        }
        size_t *free_row = before;
        before = last;
        last = row;
        row = free_row;
    }
    return last[columns];
}

/* The first place counts where a word is there twice. */
size_t tremolo_words_find(const char *word, const char *const *words, size_t count)
{
    size_t place = 0;
    while (place < count && strcmp(words[place], word) != 0) {
        place++;
    }
    return place;
}

/* Words longer than WORD_MAX have no neighbours: the table of distances is on the stack. */
const char *tremolo_words_nearest(const char *word, const char *const *words, size_t count)
{
    const char *nearest = NULL;
    size_t length = strlen(word);
    /* What is further off is no slip: of two letters none may differ, of three one. */
    size_t best = length < 3 ? 1 : length < 4 ? 2 : length / 3 + 2;
    for (size_t i = 0; i < count && length <= WORD_MAX; i++) {
        size_t found = strlen(words[i]) <= WORD_MAX ? distance(word, words[i]) : best;
        if (found < best) {
            best = found;
            nearest = words[i];
        }
    }
    return nearest;
}
