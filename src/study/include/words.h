/* words.h -- words in a sentence: a list of them, one among them, and the one that was
 * meant. */
#ifndef TREMOLO_WORDS_H
#define TREMOLO_WORDS_H

#include <stddef.h>

/* "a, b, c", with dots for the words that do not fit; no word is cut. A word that
 * holds a comma or a quote is in quotes, as in a CSV file. `bytes` must be at least 4. */
void tremolo_words_list(char *text, size_t bytes, const char *const *words, size_t count);

/* The place of a word among others; `count` when it is none of them. */
size_t tremolo_words_find(const char *word, const char *const *words, size_t count);

/* The word that is a slip of the keys away, or NULL. Letters' case does not
 * matter. */
const char *tremolo_words_nearest(const char *word, const char *const *words, size_t count);

#endif
