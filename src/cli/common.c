/* common.c -- messages and number parsing shared by the subcommands. */
#include "cli.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int cli_fail(enum cli_exit code, const char *command, const char *format, ...)
{
    va_list arguments;
    (void)fprintf(stderr, "tremolo %s: ", command);
    va_start(arguments, format);
    (void)vfprintf(stderr, format, arguments);
    va_end(arguments);
    (void)fputc('\n', stderr);
    return (int)code;
}

/* We never call setlocale, so strtod reads the C locale's decimal point. */
bool cli_parse_double(double *value, const char *text)
{
    char *end = NULL;
    if (text == NULL || *text == '\0') {
        return false;
    }
    double parsed = strtod(text, &end);
    if (*end != '\0' || !isfinite(parsed)) {
        return false;
    }
    *value = parsed;
    return true;
}

bool cli_parse_long(long *value, const char *text)
{
    char *end = NULL;
    if (text == NULL || *text == '\0') {
        return false;
    }
    errno = 0;
    long parsed = strtol(text, &end, 10);
    if (*end != '\0' || errno != 0) {
        return false;
    }
    *value = parsed;
    return true;
}

enum cli_exit cli_exit_of(enum tremolo_status status)
{
    switch (tremolo_status_kind(status)) {
    case TREMOLO_KIND_DONE: return CLI_DONE;
    case TREMOLO_KIND_CALLER:
    case TREMOLO_KIND_INPUT: return CLI_USAGE;
    case TREMOLO_KIND_PRIVACY: return CLI_REFUSED;
    default: return CLI_FAILED;
    }
}
