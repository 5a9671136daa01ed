/* identify.c -- what the noise hides, in a sentence.
 *
 * The number of devices that would do is the planner's, at its usual guesses, so it is
 * said in two digits and with them. Where as many have reported they do not fit, and that is said:
 * what hides a coefficient is that its feature varies too little by itself, not its size. */
#include "tremolo_regression.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    NAMES_SAID = 6,   /* of the rows that are not identified; the rest is counted */
    COUNT_BYTES = 32, /* of a number with its commas */
    FEW = 64,         /* reports: two for each of the jackknife's buckets */
};

/* Beyond this a count says no more than "out of reach". */
#define COUNT_MAX 1e15

/* Append, always terminated; what does not fit is left out. */
static void append(char *text, size_t capacity, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void append(char *text, size_t capacity, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text + used, capacity - used, format, arguments);
    va_end(arguments);
}

/* Two significant digits, rounded up, in groups of three: 38,912.4 -> 39,000. */
static void say_count(char text[COUNT_BYTES], double count)
{
    char digits[COUNT_BYTES];
    double step = pow(10.0, fmax(0.0, floor(log10(count)) - 1.0));
    int length = snprintf(digits, sizeof digits, "%.0f", ceil(count / step) * step);
    size_t at = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) {
            text[at++] = ',';
        }
        text[at++] = digits[i];
    }
    text[at] = '\0';
}

static void say_needed(char *text, size_t capacity, double needed, uint64_t devices)
{
    char count[COUNT_BYTES];
    bool enough = needed <= (double)devices;
    append(text, capacity, " at this noise: %llu devices reported, ", (unsigned long long)devices);
    if (!(needed <= COUNT_MAX)) {
        append(text, capacity, "and no number of devices that could be had would do");
        return;
    }
    say_count(count, needed);
    append(text, capacity, "about %s %s for unrelated features with effects of a usual size%s",
           count, enough ? "are enough" : "would be needed",
           enough ? "; here they vary less, as rare answers do, or are more alike" : "");
}

void tremolo_identification_summary(char *text, size_t capacity, const char *const *names,
                                    const struct tremolo_coefficient *rows, size_t count,
                                    uint64_t devices)
{
    size_t hidden = 0, said = 0;
    double needed = 0.0;
    if (capacity == 0) {
        return;
    }
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        hidden += !rows[i].identified;
        needed = rows[i].identified ? needed : rows[i].devices_needed;
    }
    if (hidden == 0) {
        return;
    }
    if (devices < (count + 2 > FEW ? count + 2 : FEW)) {
        append(text, capacity,
               "too few reports yet: %llu devices reported, and %zu coefficients with standard "
               "errors need at least %zu",
               (unsigned long long)devices, count, count + 2 > FEW ? count + 2 : (size_t)FEW);
        return;
    }
    size_t listed = hidden > NAMES_SAID ? NAMES_SAID - 1 : hidden;
    for (size_t i = 0; i < count && said < listed; i++) {
        if (!rows[i].identified) {
            const char *joint = said == 0 ? "" : said + 1 == hidden ? " and " : ", ";
            append(text, capacity, "%s%s", joint, names[i]);
            said++;
        }
    }
    if (said < hidden) {
        append(text, capacity, " and %zu more", hidden - said);
    }
    append(text, capacity, hidden == 1 ? " is not identified" : " are not identified");
    say_needed(text, capacity, needed, devices);
}

const char *tremolo_interval_name(enum tremolo_interval_shape shape)
{
    switch (shape) {
    case TREMOLO_INTERVAL_BOUNDED: return "interval";
    case TREMOLO_INTERVAL_OUTSIDE: return "outside";
    default: return "anything";
    }
}
