/* html.h -- markup, in which every text from outside is escaped. */
#ifndef TREMOLO_CLI_HTML_H
#define TREMOLO_CLI_HTML_H

#include <jansson.h>
#include <stdio.h>

/* Write markup. %t is a text from outside, escaped; %s markup of ours; %n a JSON number and
 * the class it has, or ""; %b the same of a cost, which is rounded up; %3 to three digits. */
void html(FILE *out, const char *format, ...);

/* For %n and %b: a member under a class of its name. */
#define MEMBER(object, key) json_object_get(object, key), key

/* A number with the minus sign that the charts have, too. */
void html_minus(FILE *out, const char *text);

/* A tag with its attributes around a text; nothing where there is no text. */
void html_element(FILE *out, const char *tag, const char *text);
void html_elements(FILE *out, const char *tag, const json_t *texts);

#endif
