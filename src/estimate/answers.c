/* answers.c -- the three answers of every estimate: what was learnt, how certain it is, how
 * private; and the notes that belong below its table.
 *
 * These sentences are made here and nowhere else: the terminal, saved pages, the dashboard, the
 * list of studies and Python show them. They follow from the other members of the document alone,
 * so a document at another level of confidence gets its answers by the same call.
 *
 * A sentence is a list of parts, each a string of ours or an object {"name": ...}. Names and
 * units come from a study and may be written in any direction, so a page isolates each of them.
 * Numbers end at the second digit of their error, because more digits would be noise. */
#include "estimate_json.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_BYTES = 48, LEARNT_DIGITS = 2, DECIMALS_MAX = 8 };

/* ---------------------------------------------------------------- numbers
 *
 * As a person would write them: thousands apart from 10,000 on, no exponent between 0.0001 and ten
 * million, no minus before a zero, ties away from zero. The dashboard rounds by the same rules
 * (src/web), so a number in a sentence is the number in the table next to it. */

/* A value such as 0.00012345 is a little less in binary and must still be rounded up. */
static const double tie = 1 + 0x1p-51;

/* Put commas between thousands of the digits before the point. */
static void group(char text[NUMBER_BYTES])
{
    char plain[NUMBER_BYTES];
    (void)snprintf(plain, sizeof plain, "%s", text);
    size_t sign = plain[0] == '-', digits = strspn(plain + sign, "0123456789"), used = 0;
    for (size_t i = 0; plain[i] != '\0' && used + 2 < NUMBER_BYTES; i++) {
        if (i > sign && i < sign + digits && (sign + digits - i) % 3 == 0) {
            text[used++] = ',';
        }
        text[used++] = plain[i];
    }
    text[used] = '\0';
}

/* A whole number with its thousands apart. */
static const char *counted(char text[NUMBER_BYTES], double value)
{
    (void)snprintf(text, NUMBER_BYTES, "%.0f", value);
    group(text);
    return text;
}

/* So many significant digits, without an exponent where that is readable. */
static const char *number(char text[NUMBER_BYTES], double value, int digits)
{
    double size = fabs(value);
    (void)snprintf(text, NUMBER_BYTES, "%.*g", digits, value * tie);
    if (size >= 1e-4 && size < 1e7) {
        (void)snprintf(text, NUMBER_BYTES, "%.15g", strtod(text, NULL));
        if (size >= 10000) {
            group(text);
        }
    }
    return text;
}

/* A number up to the second digit of its error: -0.54 with the error 0.20. */
static const char *rounded_to(char text[NUMBER_BYTES], double value, double error)
{
    double decimals = error > 0 ? 1 - floor(log10(error * (1 + 1e-12))) : 4;
    if (decimals > DECIMALS_MAX) {
        return number(text, value, 3);
    }
    double unit = decimals < 0 ? pow(10, -decimals) : 1;
    double rounded = decimals < 0 ? round(value / unit) * unit : value * tie;
    (void)snprintf(text, NUMBER_BYTES, "%.*f", decimals > 0 ? (int)decimals : 0, rounded);
    if (strtod(text, NULL) == 0) {
        (void)snprintf(text, NUMBER_BYTES, "%.*f", decimals > 0 ? (int)decimals : 0, 0.0);
    }
    if (fabs(rounded) >= 10000) {
        group(text);
    }
    return text;
}

/* ---------------------------------------------------------------- parts */

__attribute__((format(printf, 2, 3))) static void say(json_t **parts, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    json_latch_append(parts, json_string(text));
}

/* A name from a study, which a page shows in an element of its own. */
static void say_name(json_t **parts, const char *name)
{
    json_latch_append(parts, json_pack("{s:s}", "name", name));
}

/* A list of one sentence without names; an empty list for "". */
static json_t *plain(const char *sentence)
{
    return sentence[0] != '\0' ? json_pack("[s]", sentence) : json_array();
}

/* A sentence without parts is left out. */
static void add_sentence(json_t **list, json_t *parts)
{
    if (json_array_size(parts) > 0) {
        json_latch_append(list, parts);
    } else {
        json_decref(parts);
    }
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

/* ---------------------------------------------------------------- effects
 *
 * An effect is a feature's coefficient. It is significant if its interval at the document's level
 * excludes zero, and its size is what it changes over the feature's whole range: per unit, a
 * feature in small units would always seem to matter least. */

struct effects {
    const json_t *rows; /* the last is the intercept, which is not an effect */
    size_t count;
    size_t significant;
    bool any_identified;
};

/* Does the interval exclude zero? One that is not known does not. */
static bool is_significant(const json_t *row)
{
    return json_is_true(json_object_get(row, "identified")) &&
           (json_latch_member(row, "low") > 0 || json_latch_member(row, "high") < 0);
}

/* The table's rows without the intercept, counted. */
static struct effects effects_of(const json_t *document)
{
    struct effects effects = {.rows = json_object_get(document, "coefficients")};
    size_t rows = json_array_size(effects.rows);
    effects.count = rows > 0 ? rows - 1 : 0;
    for (size_t i = 0; i < effects.count; i++) {
        const json_t *row = json_array_get(effects.rows, i);
        effects.significant += is_significant(row);
        effects.any_identified |= json_is_true(json_object_get(row, "identified"));
    }
    return effects;
}

/* The change of the response over the feature's range; per unit where no range is known. */
static double size_of(const json_t *row)
{
    double range = json_latch_member(row, "range");
    return fabs(json_latch_member(row, "estimate")) * (isnan(range) ? 1 : range);
}

/* The largest first; equal ones keep no order. */
static int compare_size(const void *a, const void *b)
{
    double first = size_of(*(const json_t *const *)a), second = size_of(*(const json_t *const *)b);
    return (first < second) - (first > second);
}

/* A round number of the feature's units that is a tenth of its range or less, and not a fraction
 * where the range has whole ones. */
static double step_of(const json_t *row)
{
    double range = json_latch_member(row, "range");
    double step = range > 0 ? pow(10, floor(log10(range / 10))) : 1;
    return range >= 2 ? fmax(1, step) : step;
}

/* "hours a day" becomes "hour a day". */
static void say_one(json_t **parts, const char *unit)
{
    size_t word = 0;
    while (isalpha((unsigned char)unit[word]) || (unit[word] & 0x80) != 0) {
        word++;
    }
    bool plural = word >= 4 && unit[word - 1] == 's' && unit[word - 2] != 's';
    char one[512];
    (void)snprintf(one, sizeof one, "%.*s%s", (int)(word - plural), unit, unit + word);
    say_name(parts, one);
}

/* " per hour a day", " per thousand steps". */
static void say_per(json_t **parts, const json_t *row, double step)
{
    const char *unit = text_of(row, "unit");
    char text[NUMBER_BYTES];
    if (step == 1 && unit[0] == '\0') {
        say(parts, " per unit");
    } else if (step == 1) {
        say(parts, " per ");
        say_one(parts, unit);
    } else {
        say(parts, " per %s%s", step > 1 ? counted(text, step) : number(text, step, 4),
            unit[0] != '\0' ? " " : "");
        if (unit[0] != '\0') {
            say_name(parts, unit);
        }
    }
}

/* True of "steps", false of "stress": enough for the verb that follows a name. */
static bool is_plural(const char *word)
{
    size_t length = strlen(word);
    return length >= 2 && word[length - 1] == 's' && word[length - 2] != 's';
}

/* "More steps go with", "Higher age goes with", "\"Yes\" to smoker goes with". */
static void say_subject(json_t **parts, const json_t *row)
{
    const char *name = text_of(row, "name"), *to = text_of(row, "to");
    bool answers = strcmp(to, "yes") == 0 && strcmp(text_of(row, "from"), "no") == 0;
    if (answers || to[0] == '\0') {
        say(parts, "%s", answers ? "\"Yes\" to " : is_plural(name) ? "More " : "Higher ");
    }
    say_name(parts, name);
    say(parts, to[0] == '\0' && is_plural(name) ? " go with " : " goes with ");
}

/* One digit less than in the table is easier to read, unless an end would look like zero. */
static double shown_error(double low, double high, double error)
{
    char text[NUMBER_BYTES];
    bool hides = strtod(rounded_to(text, low, 10 * error), NULL) == 0 ||
                 strtod(rounded_to(text, high, 10 * error), NULL) == 0;
    return hides ? error : 10 * error;
}

/* "More steps go with a lower pulse: -0.54 beats a minute per thousand, between -0.95 and -0.12".
 */
static json_t *effect_sentence(const json_t *row, const json_t *response)
{
    json_t *parts = json_array();
    char text[3][NUMBER_BYTES];
    const char *name = text_of(response, "name"), *unit = text_of(response, "unit");
    const char *from = text_of(row, "from");
    bool choice = text_of(row, "to")[0] != '\0';
    double step = choice ? 1 : step_of(row), estimate = json_latch_member(row, "estimate");
    double low = step * json_latch_member(row, "low"), high = step * json_latch_member(row, "high");
    double error = step * json_latch_member(row, "standard_error");
    error = shown_error(low, high, isnan(error) ? (high - low) / 4 : error);
    say_subject(&parts, row);
    say(&parts, "%s%s ", is_plural(name) ? "" : "a ", estimate > 0 ? "higher" : "lower");
    say_name(&parts, name);
    if (choice && strcmp(from, "no") != 0) {
        say(&parts, " than ");
        say_name(&parts, from);
    }
    say(&parts, ": %s%s", rounded_to(text[0], step * estimate, error), unit[0] != '\0' ? " " : "");
    if (unit[0] != '\0') {
        say_name(&parts, unit);
    }
    if (!choice) {
        say_per(&parts, row, step);
    }
    say(&parts, ", between %s and %s", rounded_to(text[1], low, error),
        rounded_to(text[2], high, error));
    return parts;
}

/* ---------------------------------------------------------------- learnt
 *
 * Where nothing is significant the sentence says which of two reasons holds: too few devices for
 * this noise, or enough devices and effects that are smaller than usual. */

struct progress {
    double devices, needed; /* NAN: not known; and no number would be enough */
};

/* How many devices there are, and how many are usually needed. */
static struct progress progress_of(const json_t *document)
{
    return (struct progress){.devices = json_latch_member(document, "devices"),
                             .needed = json_latch_member(document, "devices_needed")};
}

/* A count that is a guess: two digits, rounded up. */
static const char *about(char text[NUMBER_BYTES], double devices)
{
    double unit = pow(10, fmax(0, floor(log10(fmax(devices, 1))) - LEARNT_DIGITS + 1));
    return counted(text, ceil(devices / unit - 1e-9) * unit);
}

/* Why no effect is significant, from counts alone. */
static json_t *nothing_sentence(const json_t *document, const struct effects *effects,
                                const struct progress *progress)
{
    json_t *parts = json_array();
    char came[NUMBER_BYTES], needed[NUMBER_BYTES];
    const char *remark = text_of(document, "remark");
    bool known = !isnan(progress->devices);
    const char *devices = !known                   ? "so far"
                          : progress->devices == 1 ? "1 device"
                                                   : counted(came, progress->devices);
    const char *noun = known && progress->devices != 1 ? " devices" : "";
    if (isnan(progress->needed) && remark[0] != '\0' && effects->count == 0 && !known) {
        say(&parts, "Nothing was learnt: %s", remark);
    } else if (isnan(progress->needed)) {
        say(&parts,
            "No significant effect: %s%s, and at this noise no reachable number of devices "
            "would be enough",
            devices, noun);
    } else if (known && progress->devices >= progress->needed) {
        say(&parts, "No significant effect after %s%s", devices, noun);
    } else {
        say(&parts,
            "No significant effect: %s of about %s devices, which unrelated features with "
            "effects of a usual size need",
            known ? counted(came, progress->devices) : devices, about(needed, progress->needed));
    }
    return parts;
}

/* The largest significant effect in words, the others below it; without one, why there is none.
 * Where devices are lacking, their share is what a page draws as a bar. */
static json_t *learnt(const json_t *document, const struct effects *effects)
{
    const struct progress progress = progress_of(document);
    const json_t *response = json_object_get(document, "response");
    bool enough = progress.devices >= progress.needed;
    char why[256] = "", needed[NUMBER_BYTES];
    json_t *others = json_array(), *facts = json_array(), *text = NULL;
    const json_t **row = calloc(effects->count + 1, sizeof(json_t *));
    size_t found = 0;
    for (size_t i = 0; row != NULL && i < effects->count; i++) {
        row[found] = json_array_get(effects->rows, i);
        found += is_significant(row[found]);
    }
    if (found > 0) {
        qsort(row, found, sizeof(json_t *), compare_size);
        text = effect_sentence(row[0], response);
    } else if (row != NULL) {
        text = nothing_sentence(document, effects, &progress);
    }
    for (size_t i = 1; i < found; i++) {
        json_latch_append(&others, effect_sentence(row[i], response));
    }
    if (found == 0 && enough) { /* with fewer devices the sentence says it */
        (void)snprintf(why, sizeof why,
                       "About %s are usually enough: effects are smaller, or features vary less or "
                       "are more alike, than usual.",
                       about(needed, progress.needed));
    }
    add_sentence(&facts, plain(why));
    double share = found > 0 || enough ? NAN : progress.devices / progress.needed;
    free(row);
    return json_pack("{s:s, s:o, s:o, s:o, s:o}", "title", "Learnt", "text", text, "facts", facts,
                     "others", others, "share", json_latch_number(share));
}

/* ---------------------------------------------------------------- certain
 *
 * "significant" and "of" are also numbers, for the list of studies and for pages that draw dots. */

/* What the count of significant effects means. */
static void certain_words(char text[256], const struct effects *effects, double level)
{
    char rest[NUMBER_BYTES + 32] = "", percent[NUMBER_BYTES], others[NUMBER_BYTES];
    size_t left = effects->count - effects->significant;
    (void)number(percent, 100 * level, 3);
    if (effects->significant == 0) {
        (void)snprintf(text, 256, "%s may still be zero, at a confidence of %s%%.",
                       effects->count == 1 ? "It" : "Each of them", percent);
        return;
    }
    if (left > 0) {
        (void)snprintf(rest, sizeof rest, " The other %s may be zero.",
                       left == 1 ? "one" : counted(others, (double)left));
    }
    (void)snprintf(text, 256, "%s %s%% interval%s zero.%s",
                   effects->significant == 1 ? "Its" : "Their", percent,
                   effects->significant == 1 ? " excludes" : "s exclude", rest);
}

/* A share between 0 and 1, in percent; the ends of an interval may lie outside. */
static const char *percent_of(char text[NUMBER_BYTES], double share)
{
    return number(text, 100 * fmin(1, fmax(0, share)), 2);
}

/* R-squared with its interval; nothing without one, or while noise hides every effect. */
static json_t *explained_sentence(const json_t *document, const struct effects *effects)
{
    json_t *parts = json_array();
    char text[3][NUMBER_BYTES];
    double r2 = json_latch_member(document, "r2"), low = json_latch_member(document, "r2_low");
    double high = json_latch_member(document, "r2_high");
    if (isnan(r2) || isnan(low) || isnan(high) || !effects->any_identified) {
        return parts;
    }
    say(&parts, "%s %s%% of what ",
        effects->significant > 0 ? "Together they explain"
                                 : "Though no single effect is certain, together they explain",
        percent_of(text[0], r2));
    say_name(&parts, text_of(json_object_get(document, "response"), "name"));
    say(&parts, " varies by (R-squared, between %s%% and %s%%).", percent_of(text[1], low),
        percent_of(text[2], high));
    return parts;
}

/* How many effects are significant at the level, and how much they explain together. */
static json_t *certain(const json_t *document, const struct effects *effects)
{
    char amount[128], words[256];
    json_t *facts = json_array();
    if (effects->count > 0) {
        (void)snprintf(amount, sizeof amount, "%zu of %zu %s significant", effects->significant,
                       effects->count, effects->count == 1 ? "effect is" : "effects are");
        certain_words(words, effects, json_latch_member(document, "level"));
    } else {
        (void)snprintf(amount, sizeof amount, "No estimate");
        (void)snprintf(words, sizeof words, "Fewer than two devices have reported.");
    }
    add_sentence(&facts, plain(words));
    add_sentence(&facts, explained_sentence(document, effects));
    return json_pack("{s:s, s:o, s:o, s:I, s:I}", "title", "Certain", "text", plain(amount),
                     "facts", facts, "significant", (json_int_t)effects->significant, "of",
                     (json_int_t)effects->count);
}

/* ---------------------------------------------------------------- private */

/* The guarantee's own sentence, and its warning where devices refuse the study by default. */
static json_t *private(const json_t *guarantee)
{
    json_t *facts = json_array();
    const char *sentence = json_is_object(guarantee)
                               ? text_of(guarantee, "answer")
                               : "The data were read as they are: nothing is protected.";
    add_sentence(&facts, plain(text_of(guarantee, "caution")));
    return json_pack("{s:s, s:o, s:o}", "title", "Private", "text", plain(sentence), "facts",
                     facts);
}

/* ---------------------------------------------------------------- notes */

/* True if a coefficient belongs to this level of this column, alone or in a product. NULL: any
 * level. */
static bool has_level(const json_t *rows, const char *column, const char *level)
{
    size_t length = strlen(column);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        for (const char *at = text_of(json_array_get(rows, i), "name"); at != NULL;
             at = strchr(at, ':')) {
            at += *at == ':';
            if (strncmp(at, column, length) == 0 && at[length] == '=' &&
                (level == NULL || strcmp(at + length + 1, level) == 0)) {
                return true;
            }
        }
    }
    return false;
}

/* The level of each category that its coefficients are differences from. */
static json_t *reference_note(const json_t *document, const struct effects *effects)
{
    const json_t *columns = json_object_get(json_object_get(document, "inputs"), "columns");
    json_t *parts = json_array();
    for (size_t i = 0; i < json_array_size(columns); i++) {
        const json_t *column = json_array_get(columns, i);
        const char *name = text_of(column, "name");
        const char *level = json_string_value(json_array_get(json_object_get(column, "levels"), 0));
        if (level != NULL && has_level(effects->rows, name, NULL) &&
            !has_level(effects->rows, name, level)) {
            say(&parts,
                json_array_size(parts) == 0 ? "A level is compared with its reference: " : ", ");
            json_latch_append(&parts,
                              json_pack("{s:o}", "name", json_sprintf("%s=%s", name, level)));
        }
    }
    if (json_array_size(parts) > 0) {
        say(&parts, ".");
    }
    return parts;
}

/* What clipping the response does to the coefficients of ballots. A simulation knows how many
 * responses were clipped; reports do not show it. */
static json_t *clipped_note(const json_t *document, const struct effects *effects)
{
    json_t *parts = json_array();
    char clipped[NUMBER_BYTES], all[NUMBER_BYTES];
    double share = json_latch_member(document, "response_cut");
    double devices = json_latch_member(document, "devices");
    const json_t *guarantee = json_object_get(document, "guarantee");
    bool clear = strcmp(text_of(guarantee, "protects"), "features") == 0;
    if (strcmp(text_of(document, "release"), "ballot") != 0 || !effects->any_identified) {
        return parts;
    }
    if (isnan(share)) {
        say(&parts,
            "Devices clip responses to their range, which draws coefficients towards zero by "
            "about the share that is clipped; reports do not show it.");
    } else if (share > 0) {
        say(&parts, "%s of %s responses lie outside the range of ",
            counted(clipped, round(share * devices)), counted(all, devices));
        say_name(&parts, text_of(json_object_get(document, "response"), "name"));
        say(&parts,
            " and are clipped to it: coefficients are drawn towards zero by about %.2g%%, by "
            "more where a feature sets those people apart, and the intervals do not include "
            "this. A wider range for the response avoids it and %s.",
            100 * share, clear ? "costs nothing, as it is sent in the clear" : "costs devices");
    }
    return parts;
}

/* Which people the R-squared of ballots is about. */
static json_t *weights_note(const json_t *document)
{
    bool ballots = strcmp(text_of(document, "release"), "ballot") == 0;
    return plain(
        ballots && json_is_number(json_object_get(document, "r2"))
            ? "R-squared describes typical people. With many unusual people, or effects that "
              "are not linear, it can differ for everybody."
            : "");
}

/* What a reader of the table must know; in the order in which they are shown. */
static json_t *notes(const json_t *document, const struct effects *effects)
{
    json_t *list = json_array();
    add_sentence(&list, reference_note(document, effects));
    add_sentence(&list, clipped_note(document, effects));
    add_sentence(&list, weights_note(document));
    return list;
}

void estimate_set_answers(json_t **document)
{
    const struct effects effects = effects_of(*document);
    json_t *answers =
        json_pack("[o, o, o]", learnt(*document, &effects), certain(*document, &effects),
                  private(json_object_get(*document, "guarantee")));
    json_latch_set(document, "notes", notes(*document, &effects));
    json_latch_set(document, "answers", answers);
}
