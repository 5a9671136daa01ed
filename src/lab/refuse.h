/* refuse.h -- say why something is refused, and return false.
 *
 * Both functions are written as `return good || refuse(...)`.
 *
 * The sentence is cut where the buffer ends, and always ended by a zero. Formats limit names and
 * cells, as in '%.80s', so that what follows them is not cut off. */
#ifndef TREMOLO_LAB_REFUSE_H
#define TREMOLO_LAB_REFUSE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "tremolo_refusal.h"
#include "tremolo_table.h"

/* A whole sentence, about a file or a table. */
__attribute__((format(printf, 2, 3))) static inline bool
refuse(char error[TREMOLO_TABLE_ERROR_BYTES], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(error, TREMOLO_TABLE_ERROR_BYTES, format, arguments);
    va_end(arguments);
    return false;
}

/* What follows the name of a request's member; `member` NULL: a whole sentence. */
__attribute__((format(printf, 3, 4))) static inline bool
refuse_member(struct tremolo_refusal *refusal, const char *member, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    refusal->member = member;
    (void)vsnprintf(refusal->why, sizeof refusal->why, format, arguments);
    va_end(arguments);
    return false;
}

#endif
