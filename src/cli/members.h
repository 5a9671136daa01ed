/* members.h -- reading members of JSON objects that came from elsewhere. */
#ifndef TREMOLO_CLI_MEMBERS_H
#define TREMOLO_CLI_MEMBERS_H

#include <jansson.h>

/* The text; "" when there is none. Lives as long as the object. */
const char *member_text(const json_t *object, const char *key);

/* The number; NaN when there is none. */
double member_number(const json_t *object, const char *key);

/* The whole number; 0 when there is none. */
long long member_integer(const json_t *object, const char *key);

/* Put '?' in place of every character in the texts of a document that study_internal.h
 * lists, so that nobody can steer the terminal they are printed on. Without memory a text becomes
 * empty. */
void members_clean(json_t *document);

#endif
