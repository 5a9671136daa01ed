/* coefficients.h -- names, captions and paragraphs on the terminal. */
#ifndef TREMOLO_CLI_COEFFICIENTS_H
#define TREMOLO_CLI_COEFFICIENTS_H

enum { COEFFICIENTS_CAPTION_BYTES = 512 };

/* What a table's numbers are: which response they explain, in which unit ("" or NULL
 * without one). The pages have the same words (web/study/coefficients.js). */
void coefficients_caption(char text[COEFFICIENTS_CAPTION_BYTES], const char *response,
                          const char *unit);

/* Characters that a name takes in a column, 40 at most; and the name, cut to so many, with
 * blanks up to `width`, where printf would count the bytes of UTF-8. */
int coefficients_name_width(const char *name);
void coefficients_print_name(const char *name, int width);

/* Print a paragraph in lines of at most 80 characters. */
void coefficients_paragraph(const char *text);

#endif
