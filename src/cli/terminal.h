/* terminal.h -- the terminal that `tremolo status --watch` draws on.
 *
 * Plain ANSI: an alternate screen, a hidden cursor and a handful of colours is
 * all we need, and every terminal that people use today has them. What we
 * change of the terminal we put back, whatever ends us but SIGKILL. */
#ifndef TREMOLO_CLI_TERMINAL_H
#define TREMOLO_CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum terminal_style {
    STYLE_PLAIN,
    STYLE_BOLD,
    STYLE_FAINT,
    STYLE_GOOD,
    STYLE_CARE,
    STYLE_BAD,
};

enum terminal_event {
    TERMINAL_TIMEOUT,
    TERMINAL_RESIZED,
    TERMINAL_QUIT, /* q, Ctrl-C, SIGTERM, or the terminal is gone */
};

/* What can be drawn. In a pipe `screen` is false: no size, no colours. */
struct terminal {
    bool screen;
    bool colour;  /* a screen, and NO_COLOR is not set */
    bool unicode; /* the locale's characters are UTF-8 */
    int columns;
    int rows;
};

/* Look at stdout and the locale, catch signals, and take the screen over where
 * there is one. terminal_close puts everything back. One at a time. */
void terminal_open(struct terminal *terminal);
void terminal_close(const struct terminal *terminal);

/* Sleep until something happens, `milliseconds` at most. */
enum terminal_event terminal_wait(struct terminal *terminal, int milliseconds);

/* Has somebody asked us to end? For calls that take long. */
bool terminal_stopping(void);

/* Show a frame: lines of text, each ended by a line feed. False when it
 * cannot be written. */
bool terminal_show(const struct terminal *terminal, const char *frame);

/* Write text from outside in at most `columns` columns, padded to that with blanks when
 * `pad`, and return the columns used. Control characters and those that
 * turn the direction of writing become '?'; so does all that the locale cannot show. */
int terminal_text(const struct terminal *terminal, FILE *out, const char *text, int columns,
                  bool pad);
void terminal_style(const struct terminal *terminal, FILE *out, enum terminal_style style);

#endif
