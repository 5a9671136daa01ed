/* text.h -- documents as plain text, for the terminal, for saved .txt files and for Python.
 *
 * There is one renderer for text, as src/web is the one for pages. It reads a document and nothing
 * else, so all sources of an estimate look alike, and sentences are worded once, in the document.
 *
 *     text_document(stdout, document, true);
 *
 * Lines have at most 80 characters, tables excepted. Costs are rounded up, so that no text promises
 * more than was proved. Call members_clean() before printing a document that came from elsewhere: a
 * name must not steer the terminal. */
#ifndef TREMOLO_TEXT_H
#define TREMOLO_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* Members of an object. The text is "" when there is none and lives as long as the object; the
 * number is NAN, the whole number 0. */
const char *member_text(const json_t *object, const char *key);
double member_number(const json_t *object, const char *key);
long long member_integer(const json_t *object, const char *key);

/* Put '?' in place of every character that could steer a terminal, in all texts of a document
 * (study_internal.h lists them). Without memory a text becomes empty. */
void members_clean(json_t *document);

/* A sentence with members of an object in braces: {key} is a text or a whole number, {key+1} a
 * whole number counted from 0 as people count it, {key:.4g} a number in printf()'s form, or a
 * text of a width, {key:^.4g} a cost, rounded up to so many digits. A number that is not known is
 * a dash.
 *
 *     text_members(out, study, "{id}  {state:-5s} round {round+1} of {rounds}\n"); */
void text_members(FILE *out, const json_t *object, const char *sentence);

/* A paragraph in lines of at most 80 characters; nothing for an empty text. */
void text_paragraph(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A name as a column: how wide it is in characters, at most 48; and the name, cut to that, with
 * blanks up to `width`, where printf would count the bytes of UTF-8. */
int text_width(const char *name);
void text_name(FILE *out, const char *name, int width);

/* The whole document: an estimate, a simulation or a reproduction; `full` has every variance
 * inflation and the guarantee in the words for a reviewer and for a participant. */
void text_document(FILE *out, const json_t *document, bool full);

/* The words and the table of a guarantee; its epsilons hold at this delta. */
void text_guarantee(FILE *out, const json_t *guarantee, double delta);

/* A line for each way in which two people may differ: what an attacker achieves. */
void text_differences(FILE *out, const json_t *rows);

enum { TEXT_RIGHT_BYTES = 40 };

/* How often an attacker is right, within a sentence: "is right at most 79.2%". `below`: the share
 * is known to be less than 1. Returns `text`. */
const char *text_right(char text[TEXT_RIGHT_BYTES], double share, bool below);

#endif
