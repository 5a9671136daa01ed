/* result_html.c -- a result as one page that needs nothing else.
 *
 * web/report.html is the frame. What it refers to as an asset is put into it,
 * so that the page opens from a disk, makes no request and prints; its own
 * policy forbids requests besides. Tables are written here and can be read
 * without a script; the charts are the dashboard's, drawn from the document,
 * which the page carries. */
#include "result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "coefficients.h"
#include "html.h"
#include "members.h"
#include "explain.h"
#include "web_files.h"

/* A table that a narrow screen scrolls, up to its body. */
static void begin_table(FILE *out, const char *label, const char *attributes)
{
    html(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\"><table%s>",
         label, attributes);
}

/* ---------------------------------------------------------------- coefficients */

/* `form` has its two ends. */
static void interval_cell(FILE *out, const json_t *row, const char *form)
{
    const json_t *score = json_object_get(row, "score");
    html(out, "<td role=\"cell\" data-label=\"Interval\"><span>");
    if (json_is_true(json_object_get(row, "identified"))) {
        html(out, form, MEMBER(row, "low"), MEMBER(row, "high"));
    } else if (strcmp(member_text(score, "shape"), "outside") == 0) {
        html(out, "not between %n and %n", MEMBER(score, "low"), MEMBER(score, "high"));
    } else {
        html(out, "anything");
    }
    html(out, "</span></td>");
}

static void number_cell(FILE *out, const char *label, const json_t *value, const char *class)
{
    html(out, "<td role=\"cell\" data-label=\"%s\"><span>%n</span></td>", label, value, class);
}

static void begin_row(FILE *out, const json_t *row)
{
    html(out, "<tr role=\"row\"><th scope=\"row\" role=\"rowheader\">%t</th>",
         member_text(row, "name"));
}

static void coefficient_row(FILE *out, const json_t *row)
{
    begin_row(out, row);
    number_cell(out, "Estimate", MEMBER(row, "estimate"));
    number_cell(out, "Standard error", MEMBER(row, "standard_error"));
    interval_cell(out, row, "%n to %n");
    number_cell(out, "t", MEMBER(row, "z"));
    number_cell(out, "p", MEMBER(row, "p"));
    html(out, "</tr>\n");
}

/* A table whose rows are blocks on a phone (dashboard.css); the roles keep it a table. */
static void begin_stacked(FILE *out, const char *attributes, const char *caption,
                          const char *const *columns, size_t count)
{
    html(out, "<table %s role=\"table\">", attributes);
    html_element(out, "caption", caption);
    html(out, "<thead role=\"rowgroup\"><tr role=\"row\">");
    for (size_t i = 0; i < count; i++) {
        html(out, "<th scope=\"col\" role=\"columnheader\">%s</th>", columns[i]);
    }
    html(out, "</tr></thead>\n<tbody role=\"rowgroup\">\n");
}

static void unclear(FILE *out, const json_t *sentences)
{
    if (json_array_size(sentences) > 0) {
        html(out, "<ul class=\"unclear\">\n");
        html_elements(out, "li", sentences);
        html(out, "</ul>\n");
    }
}

/* The panel with the drawn intervals is the page's own (results.js); these are all the numbers,
 * open to whoever has no script. */
static void coefficient_table(FILE *out, const json_t *result, const json_t *rows)
{
    const json_t *level = json_object_get(result, "level");
    char caption[COEFFICIENTS_CAPTION_BYTES];
    char interval[32];
    html(out, "<div id=\"results\"></div>\n");
    coefficients_reference(caption, result);
    html_element(out, "p class=\"facts\"", caption);
    coefficients_cut(caption, result);
    html_element(out, "p class=\"facts\"", caption);
    coefficients_caption(caption, result);
    (void)snprintf(interval, sizeof interval, "%g%% interval",
                   100 * (json_is_number(level) ? json_number_value(level) : 0.95));
    const char *const columns[] = {"Coefficient", "Estimate", "Standard error", interval, "t", "p"};
    html(out, "<details open id=\"numbers\"><summary>All numbers</summary>\n");
    begin_stacked(out, "class=\"stacked\" id=\"coefficients\"", caption, columns,
                  sizeof columns / sizeof columns[0]);
    for (size_t index = 0; index < json_array_size(rows); index++) {
        const json_t *row = json_array_get(rows, index);
        coefficient_row(out, row);
    }
    html(out, "</tbody></table></details>\n");
}

static void coefficients(FILE *out, const json_t *result)
{
    const json_t *rows = json_object_get(result, "coefficients");
    if (rows == NULL) {
        return;
    }
    html(out, "<section class=\"card\"><h2>What the reports say</h2>\n");
    unclear(out, json_object_get(result, "not_identified"));
    if (json_array_size(rows) > 0) {
        coefficient_table(out, result, rows);
    }
    html_element(out, "p", member_text(result, "remark"));
    html(out, "</section>\n");
}

/* ---------------------------------------------------------------- the three answers */

static void answer(FILE *out, const char *title, const char *text)
{
    html(out, "<div class=\"answer\"><h2>%t</h2><p class=\"lead\">%t</p></div>\n", title, text);
}

static bool is_told(const json_t *row)
{
    return json_is_true(json_object_get(row, "identified")) &&
           (member_number(row, "low") > 0 || member_number(row, "high") < 0);
}

/* For whom it is promised, and what is left for others. */
static void private_answer(FILE *out, const json_t *guarantee)
{
    const char *neighbours = member_text(guarantee, "neighbours");
    const json_t *any_two = json_object_get(guarantee, "any_two");
    char right[TREMOLO_PERCENT_BYTES], other[TREMOLO_PERCENT_BYTES];
    (void)tremolo_percent_text(right, member_number(guarantee, "attacker_right"),
                               isfinite(member_number(guarantee, "epsilon")));
    bool above = right[0] == '>';
    double share = member_number(any_two, "attacker_right");
    char text[240] = "The data were read as they are: nothing is protected";
    if (json_is_object(guarantee) && strcmp(neighbours, "any") == 0) {
        (void)snprintf(text, sizeof text,
                       "Between any two people an attacker guesses right %s %s of the time",
                       above ? "above" : "at most", right + (above ? 1 : 0));
    } else if (json_is_object(guarantee)) {
        (void)snprintf(text, sizeof text,
                       "Between two people within %.40s, and those only, an attacker guesses right "
                       "%s %s of the time; between any two, %s",
                       neighbours, above ? "above" : "at most", right + (above ? 1 : 0),
                       tremolo_percent_text(other, isnan(share) ? 1.0 : share,
                                            isfinite(member_number(any_two, "epsilon"))));
    }
    answer(out, "Private", text);
}

/* What the page's own script says at greater length (answers.js). */
static void estimate_answers(FILE *out, const json_t *result)
{
    const json_t *rows = json_object_get(result, "coefficients");
    size_t features = json_array_size(rows) > 0 ? json_array_size(rows) - 1 : 0, told = 0;
    double r2 = member_number(result, "r2"), low = member_number(result, "r2_low");
    char text[160] = "No R\u00b2 can be estimated at this noise";
    for (size_t i = 0; i < features; i++) {
        told += is_told(json_array_get(rows, i));
    }
    if (!isnan(r2)) {
        int used = snprintf(text, sizeof text, "%sR\u00b2 %.3g",
                            told == 0 ? "All effects together: " : "", r2);
        if (!isnan(low)) {
            (void)snprintf(text + used, sizeof text - (size_t)used, ", between %.3g and %.3g", low,
                           member_number(result, "r2_high"));
        }
    }
    char learnt[80] = "No single effect is told from zero";
    if (told > 0) {
        (void)snprintf(learnt, sizeof learnt, "%zu of %zu effects are told from zero", told,
                       features);
    }
    answer(out, "Learnt", learnt);
    answer(out, "Certain", text);
    private_answer(out, json_object_get(result, "guarantee"));
}

static void answers(FILE *out, const json_t *result)
{
    size_t index;
    json_t *one;
    bool estimated = json_is_array(json_object_get(result, "coefficients"));
    html(out, "<div class=\"answers3\"%s>\n", estimated ? " id=\"answers\"" : "");
    if (estimated) {
        estimate_answers(out, result);
    }
    json_array_foreach(json_object_get(result, "answers"), index, one)
    {
        answer(out, member_text(one, "title"), member_text(one, "text"));
    }
    html(out, "</div>\n");
}

/* ---------------------------------------------------------------- beside the raw data */

/* What the reports cost: a simulation knows what least squares says of the rows themselves. */
static void beside(FILE *out, const json_t *result)
{
    static const char *const columns[] = {"Coefficient", "From private reports", "Interval",
                                          "Least squares on raw rows"};
    const json_t *simulated = json_object_get(result, "simulation");
    const json_t *raw = json_object_get(simulated, "ols");
    const json_t *rows = json_object_get(result, "coefficients");
    if (!json_is_object(simulated)) {
        return;
    }
    html(out,
         "<section class=\"card\"><h2>Private beside raw</h2>\n<p class=\"both\">R<sup>2</sup> "
         "<span class=\"amount\">%3</span> from private reports, <span "
         "class=\"amount\">%3</span> by least squares on the raw rows</p>\n",
         json_object_get(json_object_get(simulated, "r2"), "mean"), "r2-private",
         json_object_get(simulated, "r2_ols"), "r2-raw");
    html(out,
         "<p class=\"facts\">The share of the response's variance that is explained on %s; least "
         "squares reads what no server sees.</p>\n",
         member_number(simulated, "held_out") > 0 ? "rows that were held out"
                                                  : "the training rows");
    if (json_array_size(rows) > 0 && json_array_size(raw) == json_array_size(rows)) {
        begin_stacked(out, "class=\"stacked\" id=\"beside\"", "", columns,
                      sizeof columns / sizeof columns[0]);
        for (size_t i = 0; i < json_array_size(rows); i++) {
            const json_t *row = json_array_get(rows, i);
            begin_row(out, row);
            html(out, "<td role=\"cell\" data-label=\"Private\"><span>%3</span></td>",
                 MEMBER(row, "estimate"));
            interval_cell(out, row, "%3 to %3");
            html(out, "<td role=\"cell\" data-label=\"Raw\"><span>%3</span></td>",
                 json_object_get(json_array_get(raw, i), "estimate"), "raw");
            html(out, "</tr>\n");
        }
        html(out, "</tbody></table>\n");
    }
    html(out, "</section>\n");
}

/* ---------------------------------------------------------------- prediction */

static void prediction(FILE *out, const json_t *result)
{
    const json_t *predicted = json_object_get(result, "prediction");
    const json_t *rows = json_object_get(predicted, "coefficients");
    const json_t *r2 = json_object_get(result, "r2");
    if (rows == NULL) {
        return;
    }
    html(out, "<section class=\"card\"><h2>Prediction</h2>\n<p class=\"r2\">");
    if (json_is_number(r2)) {
        html(out, "R<sup>2</sup> %n", r2, "r2");
        if (json_is_number(json_object_get(result, "r2_low"))) {
            html(out, ", %n to %n", json_object_get(result, "r2_low"), "",
                 json_object_get(result, "r2_high"), "");
        }
        html(out, ": the share of the response's variance that the prediction explains, "
                  "estimated from the reports alone");
    } else {
        html(out, "From the reports alone no R<sup>2</sup> can be told at this noise");
    }
    if (json_is_false(json_object_get(predicted, "told"))) {
        html(out, ", and they tell nothing to predict from yet</p></section>\n");
        return;
    }
    html(out, "</p>\n");
    html_element(out, "p class=\"facts\"", coefficients_weights(result));
    begin_table(out, "Prediction", " id=\"prediction\"");
    html(out, "<caption>Coefficients for prediction; shrunken, and not for conclusions</caption>\n"
              "<thead><tr><th scope=\"col\">Coefficient</th><th scope=\"col\">Value</th></tr>"
              "</thead>\n<tbody>\n");
    for (size_t index = 0; index < json_array_size(rows); index++) {
        const json_t *row = json_array_get(rows, index);
        html(out, "<tr><th scope=\"row\">%t</th><td>%n</td></tr>\n", member_text(row, "name"),
             MEMBER(row, "estimate"));
    }
    html(out, "</tbody></table></div></section>\n");
}

/* ---------------------------------------------------------------- diagnostics */

static const struct {
    const char *key, *name, *words;
} facts[] = {
    {"condition", "condition",
     "of the moment matrix that was solved for the prediction; a large one means that some "
     "combination of features hardly varies"},
    {"negative_eigenvalues", "raised",
     "eigenvalues of the unbiased moment that noise made negative and the prediction had to raise"},
};

/* "3.2, 3.0 to 3.4". */
static void interval(FILE *out, const json_t *object, const char *key, const char *low,
                     const char *high)
{
    html(out, "%n", json_object_get(object, key), "");
    if (json_is_number(json_object_get(object, low))) {
        html(out, ", %n to %n", json_object_get(object, low), "", json_object_get(object, high),
             "");
    }
}

static void f_test(FILE *out, const json_t *test)
{
    if (json_is_object(test)) {
        html(out,
             "<tr><th scope=\"row\">F test</th><td>%n</td><td>on %n and %n degrees of freedom, p "
             "%n: small when some slope is not zero; holds its level at any noise</td></tr>\n",
             MEMBER(test, "f"), MEMBER(test, "numerator"), MEMBER(test, "denominator"),
             MEMBER(test, "p"));
    }
}

static void inflations(FILE *out, const json_t *rows)
{
    for (size_t index = 0; index < json_array_size(rows); index++) {
        const json_t *row = json_array_get(rows, index);
        html(out, "<tr><th scope=\"row\">inflation of %t</th><td>", member_text(row, "name"));
        interval(out, row, "estimate", "low", "high");
        html(out, "</td><td>%s</td></tr>\n",
             index == 0 ? "how much the variance of a coefficient grows because other features "
                          "resemble its own"
                        : "");
    }
}

static void diagnostics(FILE *out, const json_t *result)
{
    const json_t *told = json_object_get(result, "diagnostics");
    if (!json_is_object(told)) {
        return;
    }
    html(out, "<section class=\"card\"><h2>Diagnostics</h2>\n");
    begin_table(out, "Diagnostics", " class=\"terms\" id=\"diagnostics\"");
    html(out, "<tbody>\n<tr><th scope=\"row\">residual</th><td>");
    interval(out, told, "residual_sd", "residual_sd_low", "residual_sd_high");
    html(out, "</td><td>standard deviation of what is not explained, in the response's own "
              "unit</td></tr>\n");
    f_test(out, json_object_get(told, "f_test"));
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        html(out, "<tr><th scope=\"row\">%s</th><td>%n</td><td>%s</td></tr>\n", facts[i].name,
             json_object_get(told, facts[i].key), "", facts[i].words);
    }
    inflations(out, json_object_get(told, "variance_inflation"));
    html(out, "</tbody></table></div></section>\n");
}

/* ---------------------------------------------------------------- tails */

/* How far reports reach, beside the law of honest ones. */
static void tails(FILE *out, const json_t *result)
{
    const json_t *told = json_object_get(result, "tails");
    size_t index;
    json_t *row;
    if (!json_is_object(told)) {
        return;
    }
    html(out, "<section class=\"card\"><h2>How far reports reach</h2>\n<p>%s</p>\n",
         json_is_true(json_object_get(told, "alarm"))
             ? "Some reports are no honest device's: honest ones look like this, at one look, with "
               "a probability below one in a million. The document's <code>tails.robust</code> has "
               "the "
               "coefficients without those beyond honest noise."
             : "Nothing here is beyond what honest devices send.");
    begin_table(out, "How far reports reach", " class=\"terms\" id=\"tails\"");
    html(out, "<thead><tr><th scope=\"col\">Beyond, in standard deviations of the noise</th>"
              "<th scope=\"col\">Expected of honest devices, at most</th>"
              "<th scope=\"col\">Seen</th></tr></thead><tbody>\n");
    json_array_foreach(json_object_get(told, "norms"), index, row)
    {
        html(out, "<tr><th scope=\"row\">%n</th><td>%n</td><td>%n</td></tr>\n",
             MEMBER(row, "beyond"), MEMBER(row, "expected"), MEMBER(row, "seen"));
    }
    html(out, "</tbody></table></div></section>\n");
}

/* ---------------------------------------------------------------- guarantee */

/* As on the study's page (differences.js): a row's words say how far apart, in the features' own
 * units. */
static const char *const distance_columns[] = {"Two people", "\u03bc", "\u03b5", "Attacker right"};

enum { DISTANCE_COLUMNS = sizeof distance_columns / sizeof distance_columns[0] };

static void distance_cell(FILE *out, size_t column, const char *text)
{
    html(out, "<td role=\"cell\" data-label=\"%s\"><span>", distance_columns[column]);
    html_minus(out, text);
    html(out, "</span></td>");
}

static void distance_row(FILE *out, const json_t *row)
{
    static const char *const keys[] = {"mu", "epsilon"};
    char text[TREMOLO_PERCENT_BYTES];
    const char *words = member_text(row, "words");
    html(out, "<tr role=\"row\"><th scope=\"row\" role=\"rowheader\">%t%s%t</th>",
         member_text(row, "name"), words[0] != '\0' ? ", " : "", words);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        double value = member_number(row, keys[i]);
        (void)snprintf(text, sizeof text, "%.4g", tremolo_digits_up(value, 4));
        distance_cell(out, i + 1, isnan(value) ? "\u2013" : text);
    }
    (void)tremolo_percent_text(text, member_number(row, "attacker_right"), true);
    distance_cell(out, DISTANCE_COLUMNS - 1,
                  isnan(member_number(row, "epsilon")) ? "always: no protection" : text);
    html(out, "</tr>\n");
}

static void distance_table(FILE *out, const json_t *rows)
{
    begin_stacked(out, "class=\"distances stacked\"", "", distance_columns, DISTANCE_COLUMNS);
    for (size_t index = 0; index < json_array_size(rows); index++) {
        const json_t *row = json_array_get(rows, index);
        distance_row(out, row);
    }
    html(out, "</tbody></table>\n");
}

static void tradeoff(FILE *out, const json_t *points)
{
    html(out, "<table id=\"tradeoff-table\"><caption>What the best attacker achieves who must tell "
              "two such people apart</caption>\n<thead><tr><th scope=\"col\">False alarms "
              "accepted</th><th scope=\"col\">Caught at most</th></tr></thead>\n<tbody>\n");
    for (size_t index = 0; index < json_array_size(points); index++) {
        const json_t *point = json_array_get(points, index);
        double alarms = member_number(point, "false_alarms");
        char caught[TREMOLO_PERCENT_BYTES];
        (void)fprintf(out, "<tr><th scope=\"row\">%g%%</th>", 100 * alarms);
        html(out, "<td>%t</td></tr>\n",
             tremolo_percent_text(caught, member_number(point, "caught"), alarms < 1));
    }
    html(out, "</tbody></table>\n");
}

static void guarantee(FILE *out, const json_t *result)
{
    const json_t *promise = json_object_get(result, "guarantee");
    if (promise == NULL) {
        return;
    }
    html(out, "<section class=\"card\"><h2>What an attacker could learn</h2>\n");
    if (json_is_object(promise)) {
        html(out, "<p class=\"facts\">Epsilon %b at delta %b", MEMBER(promise, "epsilon"),
             MEMBER(promise, "delta"));
        if (json_is_number(json_object_get(promise, "mu"))) { /* a ballot has none */
            html(out, ", mu %b", MEMBER(promise, "mu"));
        }
        html(out, "</p>\n<div class=\"pair\"><div class=\"prose\">");
        html_element(out, "h3", "For the reviewer");
        html_element(out, "p", member_text(promise, "reviewer"));
        html_element(out, "h3", "For the participant");
        html_element(out, "p", member_text(promise, "participant"));
        html(out, "</div><div><div class=\"plot square\" id=\"tradeoff\"></div>\n");
        tradeoff(out, json_object_get(promise, "tradeoff"));
        html(out, "</div></div>\n");
        if (json_array_size(json_object_get(promise, "differences")) > 1) {
            html_element(out, "h3", "The same for two people who differ in other ways");
            distance_table(out, json_object_get(promise, "differences"));
        }
    } else {
        html_element(out, "p", "Nothing is promised: the computation read raw data.");
    }
    html(out, "</section>\n");
}

/* ---------------------------------------------------------------- figures */

/* The numbers of a figure, a column a series; all series share their places. */
static void figure_table(FILE *out, const json_t *figure)
{
    const json_t *series = json_object_get(figure, "series");
    const json_t *first = json_object_get(json_array_get(series, 0), "points");
    html(out, "<details><summary>The numbers</summary>\n");
    begin_table(out, "Numbers of the figure", "");
    html(out, "<thead><tr><th scope=\"col\">%t</th>", member_text(figure, "x"));
    for (size_t index = 0; index < json_array_size(series); index++) {
        const json_t *one = json_array_get(series, index);
        html(out, "<th scope=\"col\">%t</th>", member_text(one, "name"));
    }
    html(out, "</tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < json_array_size(first); i++) {
        html(out, "<tr><th scope=\"row\">%n</th>", json_array_get(json_array_get(first, i), 0), "");
        for (size_t index = 0; index < json_array_size(series); index++) {
            const json_t *one = json_array_get(series, index);
            const json_t *point = json_array_get(json_object_get(one, "points"), i);
            html(out, "<td>%n</td>", json_array_get(point, 1), "");
        }
        html(out, "</tr>\n");
    }
    html(out, "</tbody></table></div></details>\n");
}

static void figures(FILE *out, const json_t *result)
{
    size_t index;
    json_t *figure;
    json_array_foreach(json_object_get(result, "figures"), index, figure)
    {
        html(out, "<section class=\"card\">");
        html_element(out, "h2", member_text(figure, "title"));
        html_element(out, "p class=\"facts\"", member_text(figure, "words"));
        (void)fprintf(out, "<div class=\"plot\" data-figure=\"%zu\"></div>\n", index);
        figure_table(out, figure);
        html(out, "</section>\n");
    }
}

/* ---------------------------------------------------------------- the page */

static const char inference_words[] =
    "Coefficients: the unbiased estimator, from moments of the reports with the known noise taken "
    "out. Standard errors: group jackknife over 32 buckets of devices; intervals and p: Student's "
    "t. Where noise hides a coefficient the score test's set takes the interval's place.";

/* Which rounds the table is from, and what predicts. */
static void source(FILE *out, const json_t *result)
{
    const json_t *inference = json_object_get(result, "inference");
    const char *why = member_text(inference, "why");
    const char *method = member_text(json_object_get(result, "prediction"), "method");
    if (method[0] != '\0') {
        html(out, "<li>Prediction: method %t.</li>\n", method);
    }
    if (why[0] != '\0') {
        char rounds[64] = "all rounds";
        if (json_is_number(json_object_get(inference, "round"))) {
            (void)snprintf(rounds, sizeof rounds, "round %lld of %lld",
                           member_integer(inference, "round") + 1,
                           member_integer(result, "rounds"));
        }
        html(out, "<li>Table from %s: %t.</li>\n", rounds, why);
    }
}

static void how(FILE *out, const json_t *result)
{
    const json_t *made = json_object_get(result, "made");
    const char *study = member_text(result, "study");
    html(out, "<section class=\"card\"><h2>How it was computed</h2>\n<ul>\n");
    if (json_array_size(json_object_get(result, "coefficients")) > 0) {
        html_element(out, "li", inference_words);
    }
    source(out, result);
    html_elements(out, "li", json_object_get(result, "how"));
    html(out, "<li>tremolo %t, %t</li>\n<li><code>%t</code></li>\n", member_text(made, "version"),
         member_text(made, "time"), member_text(made, "command"));
    if (study[0] != '\0') {
        html(out, "<li>study <code>%t</code></li>\n", study);
    }
    html(out, "</ul></section>\n");
}

/* At the foot of every printed page. */
static void printed(FILE *out, const json_t *result)
{
    const json_t *made = json_object_get(result, "made");
    const char *study = member_text(result, "study");
    html(out, "<footer class=\"printed\">tremolo %t, %t%s%t</footer>\n",
         member_text(made, "version"), member_text(made, "time"),
         study[0] != '\0' ? ", study " : "", study);
}

/* An estimate's size and state in one line; other documents bring theirs. */
static void summary(FILE *out, const json_t *result)
{
    char text[160], number[CLI_GROUPED_BYTES];
    long long reports = member_integer(result, "reports");
    long long rounds = member_integer(result, "rounds");
    const char *state = member_text(result, "state");
    int used = snprintf(text, sizeof text, "%s report%s", cli_grouped(number, (double)reports),
                        reports == 1 ? "" : "s");
    if (state[0] != '\0') { /* "done" is the protocol's word; the pages say "closed" */
        used += snprintf(text + used, sizeof text - (size_t)used, ", %.20s",
                         strcmp(state, "done") == 0 ? "closed" : state);
    }
    if (state[0] != '\0' && rounds > 1) {
        (void)snprintf(text + used, sizeof text - (size_t)used, ", round %lld of %lld",
                       member_integer(result, "round") + 1, rounds);
    }
    html_element(
        out, "p class=\"purpose\"",
        json_is_number(json_object_get(result, "reports")) ? text : member_text(result, "summary"));
}

static void body(FILE *out, const json_t *result)
{
    html(out, "<div class=\"head\">");
    html_element(out, "h1", member_text(result, "title"));
    summary(out, result);
    html(out, "</div>\n");
    answers(out, result);
    beside(out, result);
    coefficients(out, result);
    figures(out, result);
    prediction(out, result);
    diagnostics(out, result);
    tails(out, result);
    guarantee(out, result);
    how(out, result);
    printed(out, result);
}

/* The document, without a character that could end its script element. */
static bool document(FILE *out, const json_t *result)
{
    char *text = json_dumps(result, JSON_COMPACT | JSON_REAL_PRECISION(17));
    for (const char *at = text; at != NULL && *at != '\0'; at++) {
        (void)fputs(*at == '<' ? "\\u003c" : (char[2]){*at, '\0'}, out);
    }
    free(text);
    return text != NULL;
}

/* Put the asset that a line of the frame refers to in place of the line. */
static bool inline_asset(FILE *out, const char *line)
{
    const char *start = strstr(line, "\"/assets/");
    char path[128];
    size_t length = start != NULL ? strcspn(start + 1, "\"") : 0;
    if (length == 0 || length >= sizeof path) {
        return false;
    }
    memcpy(path, start + 1, length);
    path[length] = '\0';
    const struct web_file *file = web_file_at(path);
    if (file == NULL) {
        return false;
    }
    const char *media = strstr(line, " media=");
    bool script = strstr(line, "<script") != NULL;
    (void)fprintf(out, "<%s%.*s>", script ? "script type=\"module\"" : "style",
                  media != NULL ? (int)strcspn(media, ">") : 0, media != NULL ? media : "");
    (void)fwrite(file->plain, 1, file->plain_bytes, out);
    (void)fprintf(out, "</%s>\n", script ? "script" : "style");
    return true;
}

static bool write_line(FILE *out, const char *line, const json_t *result)
{
    if (strstr(line, "{{title}}") != NULL) {
        html_element(out, "title", member_text(result, "title"));
    } else if (strstr(line, "{{body}}") != NULL) {
        body(out, result);
    } else if (strstr(line, "{{document}}") != NULL) {
        html(out, "<script type=\"application/json\" id=\"document\">");
        bool good = document(out, result);
        html(out, "</script>\n");
        return good;
    } else if (strstr(line, "\"/assets/") != NULL) {
        return inline_asset(out, line);
    } else {
        (void)fprintf(out, "%s\n", line);
    }
    return true;
}

bool result_write_html(FILE *out, const json_t *result)
{
    const struct web_file *frame = web_file_named("report.html");
    char *text = frame != NULL ? strndup((const char *)frame->plain, frame->plain_bytes) : NULL;
    bool good = text != NULL;
    char *rest = text;
    while (good && rest != NULL && *rest != '\0') {
        char *line = strsep(&rest, "\n");
        good = write_line(out, line, result);
    }
    free(text);
    return good && ferror(out) == 0;
}
