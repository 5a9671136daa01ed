/* coefficients.h -- names, captions and paragraphs on the terminal. */
#ifndef TREMOLO_CLI_COEFFICIENTS_H
#define TREMOLO_CLI_COEFFICIENTS_H

#include <jansson.h>

enum { COEFFICIENTS_CAPTION_BYTES = 512 };

/* What the numbers of an estimate's table are: which response they explain, in which unit.
 * The pages have the same words (web/study/coefficients.js). */
void coefficients_caption(char text[COEFFICIENTS_CAPTION_BYTES], const json_t *document);

/* What ballots' cut of the response does to the table's numbers: with a simulation how much, else
 * that reports do not tell; "" where nothing was cut. */
void coefficients_cut(char text[COEFFICIENTS_CAPTION_BYTES], const json_t *document);

/* What the coefficients of a category's levels are differences from; "" where there are none. The
 * dashboard has the same words (web/study/learnt.js). */
void coefficients_reference(char text[COEFFICIENTS_CAPTION_BYTES], const json_t *document);

/* Whose the R-squared of ballots is; "" of other releases, and where none is told. The dashboard
 * has the same words (web/study/learnt.js). */
const char *coefficients_weights(const json_t *document);

/* Characters that the longest name of some rows takes in a column, 48 at most; and a name, cut to so
 * many, with blanks up to `width`, where printf would count the bytes of UTF-8. */
int coefficients_name_width(const char *name);
int coefficients_widest(const json_t *rows);
void coefficients_print_name(const char *name, int width);

/* Print a paragraph in lines of at most 80 characters; nothing where there is no text. */
void coefficients_paragraph(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
