/* text.c -- documents as plain text.
 *
 * The terminal, saved .txt files, saved pages without scripts and Python show this text; there is
 * no other renderer of text. It reads the document and computes nothing: answers and notes are
 * sentences of the document (answers.c), and every number has a member.
 *
 * The table is in the manner of R's summary of a linear model, because analysts know how to read
 * it. A coefficient that noise hides has a dash for each number, and the score test's set, which
 * holds its level at any noise, where others have their interval. Fewer digits are printed than
 * the document has; what is a cost of privacy is rounded up, so that no text promises more than
 * was proved.
 *
 * A document may come from elsewhere: a member that is missing or of another type is "", NAN, 0
 * or a dash, and never a failure. */
#include "text.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "document.h"
#include "explain.h"
#include "study_internal.h"
#include "tremolo_estimate.h"

enum { LINE = 80, NAME_WIDTH = 48, DIFFERENCE_WIDTH = 14 };

/* ---------------------------------------------------------------- members */

const char *member_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

double member_number(const json_t *object, const char *key)
{
    return json_latch_member(object, key);
}

long long member_integer(const json_t *object, const char *key)
{
    return (long long)json_integer_value(json_object_get(object, key));
}

/* The document knows this number: what is not known is null. */
static bool has_number(const json_t *object, const char *key)
{
    return json_is_number(json_object_get(object, key));
}

static bool is(const json_t *object, const char *key, const char *value)
{
    return strcmp(member_text(object, key), value) == 0;
}

/* Keys are not cleaned: nothing prints them. */
void members_clean(json_t *document)
{
    size_t index;
    json_t *item;
    const char *key;
    if (json_is_string(document)) {
        char *text = strdup(json_string_value(document));
        if (text == NULL || tremolo_text_clean(text)) {
            (void)json_string_set(document, text != NULL ? text : "");
        }
        free(text);
    }
    json_array_foreach(document, index, item)
    {
        members_clean(item);
    }
    json_object_foreach(document, key, item)
    {
        members_clean(item);
    }
}

/* ---------------------------------------------------------------- members in a sentence */

/* One place of a sentence, "key", "key+1" or "key:form", up to its closing brace. The form fits
 * the value's type or it is not used: a document may come from a server that lies, and printf()
 * must never read a number as a text. What is not known, or of another type, is a dash as wide as
 * the number. */
static void put_member(FILE *out, const json_t *object, const char *place)
{
    char key[48], form[16], cell[64] = "-";
    size_t name = strcspn(place, ":+}"), end = strcspn(place, "}");
    size_t start = place[name] == ':' ? name + 1 : end;
    bool up = place[start] == '^', words = start < end && place[end - 1] == 's';
    (void)snprintf(key, sizeof key, "%.*s", (int)name, place);
    (void)snprintf(form, sizeof form, "%%%.*s", (int)(end - start - up), place + start + up);
    const json_t *value = json_object_get(object, key);
    if (json_is_string(value) && (words || start == end)) {
        (void)fprintf(out, words ? form : "%s", json_string_value(value));
    } else if (start == end) {
        (void)fprintf(out, "%lld", member_integer(object, key) + (place[name] == '+'));
    } else {
        const char *point = strchr(form, '.');
        double number = member_number(object, key);
        if (json_is_number(value) && !words) {
            (void)snprintf(cell, sizeof cell, form,
                           up ? tremolo_digits_up(number, point != NULL ? atoi(point + 1) : 6)
                              : number);
        }
        (void)fprintf(out, "%*s", atoi(form + 1), cell);
    }
}

/* Sentences are ours; only their members may come from elsewhere. */
void text_members(FILE *out, const json_t *object, const char *sentence)
{
    for (; *sentence != '\0'; sentence++) {
        if (*sentence == '{') {
            put_member(out, object, sentence + 1);
            sentence += strcspn(sentence, "}") - (strchr(sentence, '}') == NULL);
        } else {
            (void)fputc(*sentence, out);
        }
    }
}

/* ---------------------------------------------------------------- words */

/* Lines are counted in bytes, which makes those with accents a little shorter. A word that is
 * longer than a line is not broken: it may be an address or an id. */
void text_paragraph(FILE *out, const char *format, ...)
{
    char *whole = NULL;
    va_list arguments;
    va_start(arguments, format);
    int written = vasprintf(&whole, format, arguments);
    va_end(arguments);
    if (written < 0) {
        return;
    }
    const char *text = whole;
    while (strlen(text) > LINE) {
        int length = LINE;
        while (length > 0 && text[length] != ' ') {
            length--;
        }
        if (length == 0) {
            break; /* one long word */
        }
        (void)fprintf(out, "%.*s\n", length, text);
        text += length + 1;
    }
    if (*text != '\0') {
        (void)fprintf(out, "%s\n", text);
    }
    free(whole);
}

/* A sentence is a string, or a list of strings and names, {"name": ...}, which pages set apart
 * because names may be written in any direction. Here they are joined. */
static void put_sentence(FILE *out, const json_t *sentence)
{
    if (json_is_string(sentence)) {
        (void)fputs(json_string_value(sentence), out);
    }
    for (size_t i = 0; i < json_array_size(sentence); i++) {
        const json_t *part = json_array_get(sentence, i);
        (void)fputs(json_is_string(part) ? json_string_value(part) : member_text(part, "name"),
                    out);
    }
}

/* An answer and its facts as one paragraph. The text is also a headline on pages, and so may end
 * without a full stop. */
static void print_answer(FILE *out, const json_t *answer)
{
    char *text = NULL;
    size_t length = 0;
    FILE *words = open_memstream(&text, &length);
    const json_t *facts = json_object_get(answer, "facts");
    if (words == NULL) {
        return;
    }
    put_sentence(words, json_object_get(answer, "text"));
    (void)fflush(words);
    if (length > 0 && text[length - 1] != '.') {
        (void)fputc('.', words);
    }
    for (size_t i = 0; i < json_array_size(facts); i++) {
        (void)fputc(' ', words);
        put_sentence(words, json_array_get(facts, i));
    }
    if (fclose(words) == 0) {
        text_paragraph(out, "%s: %s", member_text(answer, "title"), text);
    }
    free(text);
}

/* A paragraph for each sentence of a list. */
static void print_sentences(FILE *out, const json_t *sentences)
{
    for (size_t i = 0; i < json_array_size(sentences); i++) {
        char *text = NULL;
        size_t length = 0;
        FILE *words = open_memstream(&text, &length);
        if (words != NULL) {
            put_sentence(words, json_array_get(sentences, i));
            text_paragraph(out, "%s", fclose(words) == 0 ? text : "");
            free(text);
        }
    }
}

static const char *plural(long long count)
{
    return count == 1 ? "" : "s";
}

/* ---------------------------------------------------------------- names in columns
 *
 * Widths are in characters: printf would count the bytes of UTF-8. */

/* Bytes 10xxxxxx continue a character. */
int text_width(const char *name)
{
    int count = 0;
    for (; *name != '\0' && count < NAME_WIDTH; name++) {
        count += ((unsigned char)*name & 0xC0) != 0x80;
    }
    return count;
}

/* The width of the column that holds the names of these rows. */
static int widest(const json_t *rows)
{
    int most = 0;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        int width = text_width(member_text(json_array_get(rows, i), "name"));
        most = width > most ? width : most;
    }
    return most;
}

void text_name(FILE *out, const char *name, int width)
{
    int shown = 0;
    for (; *name != '\0'; name++) {
        shown += ((unsigned char)*name & 0xC0) != 0x80;
        if (shown > NAME_WIDTH) {
            break;
        }
        (void)fputc(*name, out);
    }
    shown = shown > NAME_WIDTH ? NAME_WIDTH : shown;
    (void)fprintf(out, "%*s", width > shown ? width - shown : 0, "");
}

/* ---------------------------------------------------------------- coefficients */

/* R's codes of significance; the line under the table explains them. */
static const char *stars(double p)
{
    return p < 0.001 ? "***" : p < 0.01 ? "**" : p < 0.05 ? "*" : p < 0.1 ? "." : "";
}

/* The interval, or where noise hides the coefficient the score test's set: outside of two ends, or
 * anything. Documents at another level than the server's may have neither. */
static void print_interval(FILE *out, const json_t *row)
{
    const json_t *score = json_object_get(row, "score");
    if (has_number(row, "low") && has_number(row, "high")) {
        text_members(out, row, "  [{low:.5g}, {high:.5g}] ");
        (void)fprintf(out, "%s\n", stars(member_number(row, "p")));
    } else if (is(score, "shape", "outside")) {
        text_members(out, score, "  outside ({low:.5g}, {high:.5g})\n");
    } else {
        (void)fprintf(out, "  %s\n", json_is_object(score) ? "anything" : "-");
    }
}

/* Under the rows a line explains the codes, if one of them has a code. */
static void print_rows(FILE *out, const json_t *rows)
{
    int width = widest(rows);
    bool coded = false;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        text_name(out, member_text(row, "name"), width);
        text_members(out, row, " {estimate:12.5g} {standard_error:12.4g} {z:8.2f} {p:9.3g}");
        print_interval(out, row);
        coded = coded || (has_number(row, "low") && stars(member_number(row, "p"))[0] != '\0');
    }
    (void)fprintf(out, "---\n%s",
                  coded ? "Signif. codes:  0 '***' 0.001 '**' 0.01 '*' 0.05 '.' 0.1 ' ' 1\n" : "");
}

/* Which response the numbers explain, in which unit: without it a slope is a bare number. */
static void print_caption(FILE *out, const json_t *document)
{
    const json_t *response = json_object_get(document, "response");
    const char *unit = member_text(response, "unit");
    bool has_unit = unit[0] != '\0';
    (void)fprintf(out, "What one more unit of each does to %s%s%s%s, all others equal:\n",
                  member_text(response, "name"), has_unit ? " (" : "", unit, has_unit ? ")" : "");
}

/* The rounds that the table is made from, and why; nothing where there is one round. The protocol
 * counts rounds from 0, people from 1. */
static void print_source(FILE *out, const json_t *inference, long long rounds)
{
    char round[64] = "all rounds";
    if (member_text(inference, "why")[0] == '\0') {
        return;
    }
    if (has_number(inference, "round")) {
        (void)snprintf(round, sizeof round, "round %lld of %lld",
                       member_integer(inference, "round") + 1, rounds);
    }
    (void)fprintf(out, "\nThe table is from %s:\n", round);
    text_paragraph(out, "%s", member_text(inference, "why"));
}

/* The table, what its p values rest on, and what could not be shown. */
static void print_table(FILE *out, const json_t *document)
{
    const json_t *rows = json_object_get(document, "coefficients");
    const json_t *inference = json_object_get(document, "inference");
    const json_t *hidden = json_object_get(document, "not_identified");
    double degrees = member_number(inference, "degrees");
    (void)fprintf(out, "Coefficients (unbiased, for conclusions).\n");
    print_caption(out, document);
    (void)fprintf(out, "%*s %12s %12s %8s %9s  %g%% interval\n", widest(rows), "", "Estimate",
                  "Std. Error", "t value", "Pr(>|t|)", 100 * member_number(document, "level"));
    print_rows(out, rows);
    if (!isnan(degrees)) {
        /* Of raw data there is no group of reports to leave out. */
        bool reports = json_is_object(json_object_get(document, "guarantee"));
        char why[128] = "";
        (void)snprintf(why, sizeof why,
                       ", because standard errors come from leaving out each of %g groups of "
                       "reports in turn",
                       degrees + 1);
        text_paragraph(out, "p values and intervals: Student's t, %g degree%s of freedom%s.",
                       degrees, degrees == 1 ? "" : "s", reports ? why : "");
    }
    if (json_array_size(hidden) > 0) {
        print_sentences(out, hidden);
        text_paragraph(out, "For them the table shows the score test's set, which holds its level "
                            "at any noise.");
    }
    print_source(out, inference, member_integer(document, "rounds"));
}

/* ---------------------------------------------------------------- diagnostics */

/* All factors, or the largest alone: one number tells whether some features resemble one another.
 */
static void print_inflation(FILE *out, const json_t *rows, bool all)
{
    const json_t *largest = NULL;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (has_number(row, "estimate") &&
            !(member_number(row, "estimate") <= member_number(largest, "estimate"))) {
            largest = row;
        }
    }
    if (largest == NULL || json_array_size(rows) < 2) {
        return;
    }
    (void)fprintf(out, all ? "Variance inflation:\n" : "Largest variance inflation:");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (!all && row != largest) {
            continue;
        }
        text_members(out, row,
                     has_number(row, "estimate")
                         ? " {estimate:.3g} [{low:.3g}, {high:.3g}] of {name}\n"
                         : " - of {name}\n");
    }
}

/* Residuals, F test, variance inflation; each is left out where noise does not allow it. A p
 * value is computed from a distribution function with an absolute error of about 1e-16. */
static void print_diagnostics(FILE *out, const json_t *found, bool full)
{
    const json_t *test = json_object_get(found, "f_test");
    if (has_number(found, "residual_sd_low")) {
        text_members(out, found,
                     "Residual standard error: {residual_sd:.4g} [{residual_sd_low:.4g}, "
                     "{residual_sd_high:.4g}]\n");
    }
    if (json_is_object(test)) {
        text_members(out, test,
                     "F test that all slopes are zero: F = {f:.4g} on {numerator:g} and "
                     "{denominator:g} degrees of freedom, ");
        text_members(out, test, member_number(test, "p") < 1e-16 ? "p < 1e-16\n" : "p = {p:.3g}\n");
    }
    print_inflation(out, json_object_get(found, "variance_inflation"), full);
}

/* Reports that honest devices can hardly have sent, and the table without them; nothing while
 * there are only as many as honest noise brings. */
static void print_tails(FILE *out, const json_t *tails)
{
    const json_t *worst =
        json_array_get(json_object_get(tails, "norms"), (size_t)member_integer(tails, "worst"));
    const json_t *robust = json_object_get(tails, "robust");
    const json_t *coordinates = json_object_get(tails, "coordinates");
    if (!json_is_object(worst) || !json_is_true(json_object_get(tails, "alarm"))) {
        return;
    }
    text_members(out, worst,
                 "\nTail of reports' norms: at most {expected:.3g} expected beyond {beyond:.1f}, "
                 "{seen} seen\n");
    for (size_t i = 0; i < json_array_size(coordinates); i++) {
        text_members(out, json_array_get(coordinates, i),
                     "{name}, {side}: at most {expected:.3g} expected beyond {beyond:.1f}, {seen} "
                     "seen\n");
    }
    text_paragraph(out, "Some reports do not come from honest devices: honest ones look like this "
                        "with a probability below one in a million.");
    if (json_is_array(robust)) {
        text_members(out, tails, "Coefficients without the {set_aside} report");
        (void)fprintf(out, "%s beyond honest noise:\n", plural(member_integer(tails, "set_aside")));
        print_rows(out, robust);
    }
}

/* ---------------------------------------------------------------- prediction */

/* Where there is no table, as from one report or after the paper's iteration, the coefficients for
 * prediction; nothing where the reports do not support any. */
static void print_predicted(FILE *out, const json_t *document)
{
    const json_t *prediction = json_object_get(document, "prediction");
    const json_t *rows = json_object_get(prediction, "coefficients");
    int width = widest(rows);
    if (json_array_size(rows) == 0 || json_is_false(json_object_get(prediction, "told"))) {
        return;
    }
    print_caption(out, document);
    (void)fprintf(out, "%*s %12s\n", width, "", "Prediction");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        text_name(out, member_text(row, "name"), width);
        text_members(out, row, " {estimate:12.5g}\n");
    }
}

/* Without noise there is no estimate of R-squared that could be uncertain: raw data have it, or
 * have too few rows, which the remark says. */
static void print_prediction(FILE *out, const json_t *document)
{
    const json_t *prediction = json_object_get(document, "prediction");
    bool noisy = json_is_object(json_object_get(document, "guarantee"));
    if (has_number(document, "r2")) {
        text_members(out, prediction, "\nPrediction (method {method}): ");
        text_members(out, document,
                     has_number(document, "r2_low")
                         ? "estimated R-squared {r2:.4f} [{r2_low:.4f}, {r2_high:.4f}]\n"
                         : "estimated R-squared {r2:.4f}\n");
    } else if (json_is_object(prediction) && noisy) {
        (void)fputc('\n', out);
        text_paragraph(out,
                       "Prediction: its R-squared is too uncertain to be shown at this noise%s.",
                       json_is_false(json_object_get(prediction, "told"))
                           ? ", and the reports do not support a prediction yet"
                           : "");
    }
}

/* What the paper's theorems say of a protocol of rounds. The bound as the paper prints it follows
 * the corrected one, under that name only. Both bound the excess of half the mean squared error,
 * in scaled units, of the averaged iterate. */
static void print_convergence(FILE *out, const json_t *convergence)
{
    if (!json_is_object(convergence)) {
        (void)fprintf(out,
                      "Gradient variance: no eigenvalue of the moment is above 0 at this noise\n");
        return;
    }
    text_members(out, convergence,
                 "Gradient variance at the estimate {gradient_variance:.4g}, at most "
                 "{gradient_variance_bound:.4g} for |beta| <= "
                 "{beta_bound:.4g}, |x| <= {feature_bound:.4g}, |y| <= {response_bound:.4g}\n"
                 "Excess loss after {rounds:.0f} rounds: at most {excess_loss_bound:.4g} "
                 "(corrected, step 1/2L, L = {smoothness:.4g}); as printed "
                 "{excess_loss_as_printed:.4g}\n");
    text_paragraph(out,
                   "The bound as printed does not hold: it divides a variance by the number of "
                   "devices that already contains that division, and its step 1/L leaves the proof "
                   "no room for noise.");
}

/* ---------------------------------------------------------------- the guarantee */

/* 99.99% must not read as 100%: what rounds up to all is "above 99.9%". */
const char *text_right(char text[TEXT_RIGHT_BYTES], double share, bool below)
{
    char percent[TREMOLO_PERCENT_BYTES];
    (void)tremolo_percent_text(percent, share, below);
    bool above = percent[0] == '>';
    (void)snprintf(text, TEXT_RIGHT_BYTES, "%s %s",
                   above ? "may be right above" : "is right at most", percent + above);
    return text;
}

/* Of ballots there is no distance and no mu: they protect any two people alike. Distances round
 * down and costs up, against ourselves. */
static void print_difference(FILE *out, const json_t *row, int width)
{
    char right[TREMOLO_PERCENT_BYTES];
    text_name(out, member_text(row, "name"), width);
    if (has_number(row, "distance")) {
        (void)fprintf(out, " distance %-9.4g",
                      tremolo_digits_down(member_number(row, "distance"), 4));
    }
    if (!has_number(row, "epsilon")) {
        (void)fprintf(out, " no protection\n");
        return;
    }
    text_members(out, row, has_number(row, "mu") ? " mu {mu:^-10.4g}" : "");
    text_members(out, row, " epsilon {epsilon:^-9.4g} attacker right ");
    (void)fprintf(out, "%s\n",
                  tremolo_percent_text(right, member_number(row, "attacker_right"), true));
}

/* First the numbers, in columns, then what a distance is in the features' own units. */
void text_differences(FILE *out, const json_t *rows)
{
    int width = widest(rows);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        print_difference(out, json_array_get(rows, i),
                         width > DIFFERENCE_WIDTH ? width : DIFFERENCE_WIDTH);
    }
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (member_text(row, "words")[0] != '\0') {
            text_paragraph(out, "%s, %s", member_text(row, "name"), member_text(row, "words"));
        }
    }
}

/* The unit of the distances. A guarantee that knows the features counts in half ranges, and its
 * rows have words; one of the accountant alone knows no unit. */
static const char *unit_of(const json_t *guarantee)
{
    static const char deviations[] = "deviations=";
    const json_t *rows = json_object_get(guarantee, "differences");
    if (strncmp(member_text(guarantee, "neighbours"), deviations, sizeof deviations - 1) == 0) {
        return "in standard deviations";
    }
    for (size_t i = 0; i < json_array_size(rows); i++) {
        if (member_text(json_array_get(rows, i), "words")[0] != '\0') {
            return "in half ranges";
        }
    }
    return "in the promise's unit";
}

void text_guarantee(FILE *out, const json_t *guarantee, double delta)
{
    const json_t *rows = json_object_get(guarantee, "differences");
    bool alike = !has_number(json_array_get(rows, 0), "distance");
    (void)fprintf(out, "For the reviewer:\n");
    text_paragraph(out, "%s", member_text(guarantee, "reviewer"));
    (void)fprintf(out, "\nFor the participant:\n");
    text_paragraph(out, "%s", member_text(guarantee, "participant"));
    (void)fprintf(out, "\nThe same for %s (%s%s%sdelta %g):\n",
                  alike ? "all pairs of samples" : "two samples that differ in other ways",
                  alike ? "" : "distance ", alike ? "" : unit_of(guarantee), alike ? "" : ", ",
                  tremolo_digits_up(delta, 6));
    text_differences(out, rows);
}

/* In short: the numbers, and for whom they hold. A promise at a distance is followed by what it
 * does not promise: a reader who chose the distance must see what an attacker can do beyond it. */
static void print_guarantee(FILE *out, const json_t *guarantee, bool full)
{
    bool any = is(guarantee, "neighbours", "any");
    double delta = member_number(guarantee, "delta");
    const char *distance = strchr(member_text(guarantee, "neighbours"), '=');
    char who[128] = "any two people";
    if (!json_is_object(guarantee)) {
        (void)fputs("\nPrivacy: none; raw data were read.\n", out);
        return;
    }
    if (!any) {
        (void)snprintf(who, sizeof who, "two people at most %.40s apart %s, and for those only",
                       distance != NULL ? distance + 1 : "?", unit_of(guarantee));
    }
    (void)fputc('\n', out);
    text_paragraph(
        out, "Privacy: epsilon %.4g, delta %g, for %s%s.",
        tremolo_digits_up(member_number(guarantee, "epsilon"), 4), tremolo_digits_up(delta, 6), who,
        is(guarantee, "protects", "features") ? "; responses are sent in the clear" : "");
    if (full) {
        text_guarantee(out, guarantee, delta);
    } else if (!any) {
        (void)fprintf(out, "For two people who differ in other ways:\n");
        text_differences(out, json_object_get(guarantee, "differences"));
    }
}

/* ---------------------------------------------------------------- figures and the whole */

/* A column for each series; all series of a figure share their places. */
static void print_figure(FILE *out, const json_t *figure)
{
    const json_t *series = json_object_get(figure, "series");
    const json_t *first = json_object_get(json_array_get(series, 0), "points");
    (void)fprintf(out, "\n%s\n", member_text(figure, "title"));
    text_paragraph(out, "%s", member_text(figure, "words"));
    (void)fprintf(out, "%-10.10s", member_text(figure, "x"));
    for (size_t s = 0; s < json_array_size(series); s++) {
        (void)fprintf(out, " %10.10s", member_text(json_array_get(series, s), "name"));
    }
    (void)fputc('\n', out);
    for (size_t i = 0; i < json_array_size(first); i++) {
        (void)fprintf(out, "%-10.4g",
                      json_number_value(json_array_get(json_array_get(first, i), 0)));
        for (size_t s = 0; s < json_array_size(series); s++) {
            const json_t *points = json_object_get(json_array_get(series, s), "points");
            const json_t *y = json_array_get(json_array_get(points, i), 1);
            char cell[32] = "-";
            if (json_is_number(y)) {
                (void)snprintf(cell, sizeof cell, "%.4g", json_number_value(y));
            }
            (void)fprintf(out, " %10s", cell);
        }
        (void)fputc('\n', out);
    }
}

/* How many reports of how many devices, and how far the study is. */
static void print_heading(FILE *out, const json_t *document)
{
    long long reports = member_integer(document, "reports");
    long long devices = member_integer(document, "devices");
    size_t rows = json_array_size(json_object_get(document, "coefficients"));
    if (rows > 0) {
        text_members(out, json_object_get(document, "response"), "{name} ~ ");
        (void)fprintf(out, "%zu feature%s: ", rows - 1, plural((long long)rows - 1));
    }
    text_members(out, document, reports == 0 ? "no reports yet" : "{reports} report");
    (void)fputs(reports == 0 ? "" : plural(reports), out);
    if (reports > 0 && has_number(document, "devices")) {
        text_members(out, document, " of {devices} device");
        (void)fputs(plural(devices), out);
    }
    text_members(out, document,
                 member_text(document, "state")[0] != '\0'
                     ? ", {state}, round {round+1} of {rounds}"
                 : member_integer(document, "rounds") > 1 ? " in {rounds} rounds"
                                                          : "");
    text_members(out, document,
                 has_number(document, "repeated") ? ", {repeated} repeated\n" : "\n");
}

/* The order is that of a reader's questions: what was found, whether to trust the reports, how
 * well it predicts, what it cost. */
static void print_estimate(FILE *out, const json_t *document, bool full)
{
    const json_t *convergence = json_object_get(document, "convergence");
    text_paragraph(out, "%s", member_text(document, "remark"));
    if (json_array_size(json_object_get(document, "coefficients")) > 0) {
        print_table(out, document);
    } else {
        print_predicted(out, document);
    }
    print_sentences(out, json_object_get(document, "notes"));
    print_tails(out, json_object_get(document, "tails"));
    print_prediction(out, document);
    print_diagnostics(out, json_object_get(document, "diagnostics"), full);
    if (member_integer(document, "rounds") > 1 && convergence != NULL) {
        print_convergence(out, convergence);
    }
    print_guarantee(out, json_object_get(document, "guarantee"), full);
}

/* What raw rows say, which no report shows: how well the prediction does on rows held out, and what
 * least squares on the rows themselves would have had. */
static void print_simulation(FILE *out, const json_t *simulated, const json_t *guarantee)
{
    const json_t *r2 = json_object_get(simulated, "r2");
    size_t repeats = json_array_size(json_object_get(r2, "values"));
    char several[64] = "", noise[64] = "";
    if (has_number(r2, "sd")) {
        (void)snprintf(several, sizeof several, " (sd %.4f over %zu repeats)",
                       member_number(r2, "sd"), repeats);
    }
    text_paragraph(out, "R-squared %.4f on %s%s; least squares on the raw rows %.4f.",
                   member_number(r2, "mean"),
                   member_integer(simulated, "held_out") > 0 ? "rows held out"
                                                             : "the training rows",
                   several, member_number(simulated, "r2_ols"));
    if (has_number(simulated, "sigma")) {
        (void)snprintf(noise, sizeof noise, "; noise sd %.4g in scaled units",
                       member_number(simulated, "sigma"));
    }
    if (json_is_object(guarantee)) {
        text_paragraph(out, "Epsilon spent: %.4g of %g%s.",
                       tremolo_digits_up(member_number(guarantee, "epsilon"), 4),
                       member_number(simulated, "epsilon_asked"), noise);
    }
}

/* Figures are for pages; as text they are long, and so are printed in full texts alone, or where a
 * document has nothing else. */
void text_document(FILE *out, const json_t *document, bool full)
{
    const json_t *answers = json_object_get(document, "answers");
    const json_t *figures = json_object_get(document, "figures");
    const json_t *simulated = json_object_get(document, "simulation");
    const json_t *how = json_object_get(document, "how");
    bool estimate = json_is_array(json_object_get(document, "coefficients"));
    (void)fprintf(out, "%s\n", member_text(document, "title"));
    if (estimate) {
        print_heading(out, document);
    } else {
        text_paragraph(out, "%s", member_text(document, "summary"));
    }
    (void)fputc('\n', out);
    for (size_t i = 0; i < json_array_size(answers); i++) {
        print_answer(out, json_array_get(answers, i));
    }
    if (estimate) {
        (void)fputc('\n', out);
        print_estimate(out, document, full);
    }
    for (size_t i = 0; (full || !estimate) && i < json_array_size(figures); i++) {
        print_figure(out, json_array_get(figures, i));
    }
    if (how != NULL) {
        (void)fputc('\n', out);
    }
    if (json_is_object(simulated)) {
        print_simulation(out, simulated, json_object_get(document, "guarantee"));
    }
    print_sentences(out, how);
}

char *tremolo_document_text(const char *document, size_t length, bool full)
{
    char *text = NULL;
    size_t bytes = 0;
    json_t *read = json_loadb(document, length, 0, NULL);
    FILE *out = json_is_object(read) ? open_memstream(&text, &bytes) : NULL;
    if (out == NULL) {
        json_decref(read);
        return NULL;
    }
    members_clean(read);
    if (json_is_string(json_object_get(read, "reviewer"))) {
        text_guarantee(out, read, member_number(read, "delta"));
    } else {
        text_document(out, read, full);
    }
    json_decref(read);
    if (fclose(out) != 0) {
        free(text);
        text = NULL;
    }
    return text;
}
