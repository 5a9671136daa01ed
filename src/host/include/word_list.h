/* word_list.h -- words in a sentence, one after the other. */
#ifndef TREMOLO_HOST_WORD_LIST_H
#define TREMOLO_HOST_WORD_LIST_H

#include <stddef.h>

/* "a, b, c", with dots for the words that do not fit; no word is cut. A word that
 * holds a comma or a quote is in quotes, as in a CSV file. `bytes` must be at least 4. */
void word_list(char *text, size_t bytes, const char *const *words, size_t count);

#endif
