/* refuse.h -- why something is not done, in a sentence. */
#ifndef TREMOLO_LAB_REFUSE_H
#define TREMOLO_LAB_REFUSE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "tremolo_table.h"

__attribute__((format(printf, 2, 3))) static inline bool
refuse(char error[TREMOLO_TABLE_ERROR_BYTES], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(error, TREMOLO_TABLE_ERROR_BYTES, format, arguments);
    va_end(arguments);
    return false;
}

#endif
