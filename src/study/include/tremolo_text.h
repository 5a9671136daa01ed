/* tremolo_text.h -- text from outside that is to be read by people.
 *
 * Some characters do not show themselves but change what is shown: controls move a
 * cursor or end a line, and others turn the direction of writing, so that "a=1, b=2" reads
 * otherwise than it is. Studies may not hold them, and nothing prints them:
 *
 *     C0, DEL and C1 controls      U+0000 to U+001F, U+007F to U+009F
 *     lines and paragraphs         U+2028, U+2029
 *     directions                   U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069
 *     a mark without a width       U+FEFF */
#ifndef TREMOLO_TEXT_H
#define TREMOLO_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The bytes of such a character at the start of UTF-8 text; 0 when there is none. */
size_t tremolo_text_hidden(const char *text);

/* Is there none in the whole text? */
bool tremolo_text_is_plain(const char *text);

/* Put '?' in the place of each, and drop a last character that was cut. True when something
 * changed. The text never grows. */
bool tremolo_text_clean(char *text);

#ifdef __cplusplus
}
#endif

#endif
