/* result_html.c -- a result as one page that needs nothing else.
 *
 * web/report.html is the frame. What it refers to as an asset is put into it,
 * so that the page opens from a disk, makes no request and prints; its own
 * policy forbids requests besides. Tables are written here and can be read
 * without a script; the charts are the dashboard's, drawn from the document,
 * which the page carries. Every text from outside goes through html_text(). */
#include "result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "coefficients.h"
#include "members.h"
#include "tremolo_privacy.h"
#include "web_files.h"

static void html_text(FILE *out, const char *text)
{
    for (; text != NULL && *text != '\0'; text++) {
        switch (*text) {
        case '&': (void)fputs("&amp;", out); break;
        case '<': (void)fputs("&lt;", out); break;
        case '>': (void)fputs("&gt;", out); break;
        case '"': (void)fputs("&quot;", out); break;
        case '\'': (void)fputs("&#39;", out); break;
        default: (void)fputc(*text, out);
        }
    }
}

/* Nothing where there is no text. */
static void element(FILE *out, const char *tag, const char *text)
{
    if (text == NULL || text[0] == '\0') {
        return;
    }
    (void)fprintf(out, "<%s>", tag);
    html_text(out, text);
    (void)fprintf(out, "</%.*s>\n", (int)strcspn(tag, " "), tag);
}

/* A number with the minus sign that the charts have, too. */
static void minus_text(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        (void)fputs(*text == '-' ? "&minus;" : (char[2]){*text, '\0'}, out);
    }
}

/* What people read, and beside it all digits for programs. */
static void number_as(FILE *out, const json_t *value, const char *class, double shown)
{
    if (!json_is_number(value)) {
        (void)fputs("&ndash;", out);
        return;
    }
    double real = json_number_value(value);
    char text[32];
    (void)snprintf(text, sizeof text, "%.5g", shown);
    (void)fprintf(out, "<data%s%s%s value=\"%.17g\">", class != NULL ? " class=\"" : "",
                  class != NULL ? class : "", class != NULL ? "\"" : "", real);
    minus_text(out, text);
    (void)fputs("</data>", out);
}

static void number(FILE *out, const json_t *value, const char *class)
{
    number_as(out, value, class, json_number_value(value));
}

/* A cost, rounded up. */
static void bound(FILE *out, const json_t *value, const char *class)
{
    number_as(out, value, class, tremolo_digits_up(json_number_value(value), 5));
}

/* ---------------------------------------------------------------- coefficients */

static void interval_cell(FILE *out, const json_t *row)
{
    const json_t *score = json_object_get(row, "score");
    const char *shape = member_text(score, "shape");
    bool identified = json_is_true(json_object_get(row, "identified"));
    (void)fputs("<td>", out);
    if (identified) {
        number(out, json_object_get(row, "low"), "low");
        (void)fputs(" to ", out);
        number(out, json_object_get(row, "high"), "high");
    } else if (strcmp(shape, "outside") == 0) {
        (void)fputs("not between ", out);
        number(out, json_object_get(score, "low"), "low");
        (void)fputs(" and ", out);
        number(out, json_object_get(score, "high"), "high");
    } else {
        (void)fputs("anything", out);
    }
    (void)fputs("</td>", out);
}

static void coefficient_row(FILE *out, const json_t *row)
{
    static const char *const keys[] = {"estimate", "standard_error"};
    (void)fputs("<tr><th scope=\"row\">", out);
    html_text(out, member_text(row, "name"));
    (void)fputs("</th>", out);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        (void)fputs("<td>", out);
        number(out, json_object_get(row, keys[i]), keys[i]);
        (void)fputs("</td>", out);
    }
    interval_cell(out, row);
    (void)fputs("<td>", out);
    number(out, json_object_get(row, "z"), "z");
    (void)fputs("</td><td>", out);
    number(out, json_object_get(row, "p"), "p");
    (void)fputs("</td></tr>\n", out);
}

static void unclear(FILE *out, const json_t *sentences)
{
    size_t index;
    json_t *sentence;
    if (json_array_size(sentences) == 0) {
        return;
    }
    (void)fputs("<ul class=\"unclear\">\n", out);
    json_array_foreach(sentences, index, sentence)
    {
        element(out, "li", json_string_value(sentence));
    }
    (void)fputs("</ul>\n", out);
}

static void coefficients(FILE *out, const json_t *result)
{
    const json_t *rows = json_object_get(result, "coefficients");
    size_t index;
    json_t *row;
    if (rows == NULL) {
        return;
    }
    (void)fputs("<section class=\"card\"><h2>What the reports say</h2>\n", out);
    unclear(out, json_object_get(result, "not_identified"));
    if (json_array_size(rows) > 0) {
        const json_t *response = json_object_get(result, "response");
        char caption[COEFFICIENTS_CAPTION_BYTES];
        coefficients_caption(caption, member_text(response, "name"), member_text(response, "unit"));
        const json_t *level = json_object_get(result, "level");
        (void)fputs(
            "<div class=\"plot\" id=\"forest\"></div>\n<div class=\"scroll\" tabindex=\"0\" "
            "role=\"region\" aria-label=\"Coefficients\"><table id=\"coefficients\">",
            out);
        element(out, "caption", caption);
        (void)fputs("<thead><tr><th scope=\"col\">Coefficient</th><th scope=\"col\">Estimate</th>"
                    "<th scope=\"col\">Standard error</th>",
                    out);
        (void)fprintf(out, "<th scope=\"col\">%g%% interval</th>",
                      100 * (json_is_number(level) ? json_number_value(level) : 0.95));
        (void)fputs("<th scope=\"col\">t</th><th scope=\"col\">p</th></tr></thead>\n<tbody>\n",
                    out);
        json_array_foreach(rows, index, row)
        {
            coefficient_row(out, row);
        }
        (void)fputs("</tbody></table></div>\n", out);
    }
    element(out, "p", member_text(result, "remark"));
    (void)fputs("</section>\n", out);
}

/* ---------------------------------------------------------------- prediction */

static void prediction(FILE *out, const json_t *result)
{
    const json_t *rows = json_object_get(json_object_get(result, "prediction"), "coefficients");
    const json_t *r2 = json_object_get(result, "r2");
    const json_t *simulated = json_object_get(result, "simulation");
    size_t index;
    json_t *row;
    if (rows == NULL) {
        return;
    }
    (void)fputs("<section class=\"card\"><h2>Prediction</h2>\n<p class=\"r2\">", out);
    if (json_is_number(r2)) {
        (void)fputs("R<sup>2</sup> ", out);
        number(out, r2, "r2");
        if (json_is_number(json_object_get(result, "r2_low"))) {
            (void)fputs(", ", out);
            number(out, json_object_get(result, "r2_low"), NULL);
            (void)fputs(" to ", out);
            number(out, json_object_get(result, "r2_high"), NULL);
        }
        (void)fputs(": the share of the response's variance that the prediction explains, "
                    "estimated from the reports alone",
                    out);
    } else {
        (void)fputs("No R<sup>2</sup> can be estimated from the reports at this noise", out);
    }
    if (json_is_object(simulated)) {
        (void)fputs("</p>\n<p>R<sup>2</sup> ", out);
        number(out, json_object_get(json_object_get(simulated, "r2"), "mean"), NULL);
        (void)fprintf(out, " on %s; ordinary least squares on the raw rows, which is not private, ",
                      member_number(simulated, "held_out") > 0 ? "rows that were held out"
                                                               : "the training rows");
        number(out, json_object_get(simulated, "r2_ols"), NULL);
    }
    (void)fputs(
        "</p>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Prediction\">"
        "<table id=\"prediction\"><caption>Coefficients for prediction; shrunken, and not for "
        "conclusions</caption>\n<thead><tr><th scope=\"col\">Coefficient</th>"
        "<th scope=\"col\">Value</th></tr></thead>\n<tbody>\n",
        out);
    json_array_foreach(rows, index, row)
    {
        (void)fputs("<tr><th scope=\"row\">", out);
        html_text(out, member_text(row, "name"));
        (void)fputs("</th><td>", out);
        number(out, json_object_get(row, "estimate"), "estimate");
        (void)fputs("</td></tr>\n", out);
    }
    (void)fputs("</tbody></table></div></section>\n", out);
}

/* ---------------------------------------------------------------- diagnostics */

static const struct {
    const char *key, *name, *words;
} facts[] = {
    {"residual_sd", "residual",
     "standard deviation of what is not explained, in the response's own unit"},
    {"condition", "condition",
     "of the moment matrix that was solved for the prediction; a large one means that some "
     "combination of features hardly varies"},
    {"negative_eigenvalues", "bent",
     "negative eigenvalues of the unbiased moment, which noise made and the prediction had to "
     "bend"},
    {"noise_sd", "noise",
     "standard deviation of the privacy noise in one feature of one report, in half ranges of the "
     "feature"},
};

static void diagnostics(FILE *out, const json_t *result)
{
    const json_t *told = json_object_get(result, "diagnostics");
    if (!json_is_object(told)) {
        return;
    }
    (void)fputs(
        "<section class=\"card\"><h2>Diagnostics</h2>\n<div class=\"scroll\" tabindex=\"0\" "
        "role=\"region\" aria-label=\"Diagnostics\"><table class=\"terms\" "
        "id=\"diagnostics\"><tbody>\n",
        out);
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        (void)fprintf(out, "<tr><th scope=\"row\">%s</th><td>", facts[i].name);
        number(out, json_object_get(told, facts[i].key), NULL);
        (void)fprintf(out, "</td><td>%s</td></tr>\n", facts[i].words);
    }
    (void)fputs("</tbody></table></div></section>\n", out);
}

/* ---------------------------------------------------------------- guarantee */

enum { DISTANCE_CELLS = 4 };
static const char *const distance_label[DISTANCE_CELLS] = {"Distance", "\u03bc", "\u03b5",
                                                           "Attacker right"};

static void distance_cell(FILE *out, size_t column, const char *text)
{
    (void)fprintf(out, "<td role=\"cell\" data-label=\"%s\"><span>", distance_label[column]);
    minus_text(out, text);
    (void)fputs("</span></td>", out);
}

/* The rates were rounded up where they were computed, to what is written here. */
static void distance_row(FILE *out, const json_t *row)
{
    static const char *const keys[] = {"distance", "mu", "epsilon"};
    char text[32];
    (void)fputs("<tr role=\"row\"><th scope=\"row\" role=\"rowheader\">", out);
    html_text(out, member_text(row, "name"));
    if (member_text(row, "words")[0] != '\0') {
        (void)fputs(", ", out);
        html_text(out, member_text(row, "words"));
    }
    (void)fputs("</th>", out);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        double value = member_number(row, keys[i]);
        (void)snprintf(text, sizeof text, "%.4g", value);
        distance_cell(out, i, isnan(value) ? "\u2013" : text);
    }
    (void)snprintf(text, sizeof text, "%.1f%%", 100 * member_number(row, "attacker_right"));
    distance_cell(out, DISTANCE_CELLS - 1,
                  isnan(member_number(row, "epsilon")) ? "always: no protection" : text);
    (void)fputs("</tr>\n", out);
}

/* A phone shows each row as a block (dashboard.css); the roles keep it a table. */
static void distance_table(FILE *out, const json_t *rows)
{
    size_t index;
    json_t *row;
    (void)fputs("<table class=\"distances stacked\" role=\"table\"><thead role=\"rowgroup\"><tr "
                "role=\"row\"><th scope=\"col\" role=\"columnheader\">Two people</th>",
                out);
    for (size_t i = 0; i < DISTANCE_CELLS; i++) {
        (void)fprintf(out, "<th scope=\"col\" role=\"columnheader\">%s</th>", distance_label[i]);
    }
    (void)fputs("</tr></thead>\n<tbody role=\"rowgroup\">\n", out);
    json_array_foreach(rows, index, row)
    {
        distance_row(out, row);
    }
    (void)fputs("</tbody></table>\n", out);
}

static void tradeoff(FILE *out, const json_t *points)
{
    size_t index;
    json_t *point;
    (void)fputs(
        "<table id=\"tradeoff-table\"><caption>What the best attacker achieves who must tell "
        "two such people apart</caption>\n<thead><tr><th scope=\"col\">False alarms "
        "accepted</th><th scope=\"col\">Caught at most</th></tr></thead>\n<tbody>\n",
        out);
    json_array_foreach(points, index, point)
    {
        (void)fprintf(out, "<tr><th scope=\"row\">%g%%</th><td>%.1f%%</td></tr>\n",
                      100 * json_number_value(json_object_get(point, "false_alarms")),
                      ceil(1000 * json_number_value(json_object_get(point, "caught"))) / 10);
    }
    (void)fputs("</tbody></table>\n", out);
}

static void guarantee(FILE *out, const json_t *result)
{
    const json_t *promise = json_object_get(result, "guarantee");
    if (promise == NULL) {
        return;
    }
    (void)fputs("<section class=\"card\"><h2>What an attacker could learn</h2>\n", out);
    if (json_is_object(promise)) {
        (void)fputs("<p class=\"facts\">Epsilon ", out);
        bound(out, json_object_get(promise, "epsilon"), "epsilon");
        (void)fputs(" at delta ", out);
        number(out, json_object_get(promise, "delta"), "delta");
        bool gaussian = json_is_number(json_object_get(promise, "mu"));
        if (gaussian) { /* a ballot has no mu, and no curve of it */
            (void)fputs(", mu ", out);
            bound(out, json_object_get(promise, "mu"), "mu");
        }
        (void)fputs("</p>\n<div class=\"pair\"><div class=\"prose\">", out);
        element(out, "h3", "For the reviewer");
        element(out, "p", member_text(promise, "reviewer"));
        element(out, "h3", "For the participant");
        element(out, "p", member_text(promise, "participant"));
        (void)fputs("</div><div>", out);
        if (gaussian) {
            (void)fputs("<div class=\"plot square\" id=\"tradeoff\"></div>\n", out);
            tradeoff(out, json_object_get(promise, "tradeoff"));
        }
        (void)fputs("</div></div>\n", out);
        element(out, "h3", "The same for two people who differ in other ways");
        distance_table(out, json_object_get(promise, "differences"));
    } else {
        element(out, "p", "Nothing is promised: the computation read raw data.");
    }
    (void)fputs("</section>\n", out);
}

/* ---------------------------------------------------------------- figures */

/* The numbers of a figure, a column a series; all series share their places. */
static void figure_table(FILE *out, const json_t *figure)
{
    const json_t *series = json_object_get(figure, "series");
    const json_t *first = json_object_get(json_array_get(series, 0), "points");
    size_t index;
    json_t *one;
    (void)fputs("<details><summary>The numbers</summary>\n<div class=\"scroll\" tabindex=\"0\" "
                "role=\"region\" aria-label=\"Numbers of the figure\"><table>"
                "<thead><tr><th scope=\"col\">",
                out);
    html_text(out, member_text(figure, "x"));
    (void)fputs("</th>", out);
    json_array_foreach(series, index, one)
    {
        (void)fputs("<th scope=\"col\">", out);
        html_text(out, member_text(one, "name"));
        (void)fputs("</th>", out);
    }
    (void)fputs("</tr></thead>\n<tbody>\n", out);
    for (size_t i = 0; i < json_array_size(first); i++) {
        (void)fputs("<tr><th scope=\"row\">", out);
        number(out, json_array_get(json_array_get(first, i), 0), NULL);
        (void)fputs("</th>", out);
        json_array_foreach(series, index, one)
        {
            const json_t *point = json_array_get(json_object_get(one, "points"), i);
            (void)fputs("<td>", out);
            number(out, json_array_get(point, 1), NULL);
            (void)fputs("</td>", out);
        }
        (void)fputs("</tr>\n", out);
    }
    (void)fputs("</tbody></table></div></details>\n", out);
}

static void figures(FILE *out, const json_t *result)
{
    size_t index;
    json_t *figure;
    json_array_foreach(json_object_get(result, "figures"), index, figure)
    {
        (void)fputs("<section class=\"card\">", out);
        element(out, "h2", member_text(figure, "title"));
        element(out, "p class=\"facts\"", member_text(figure, "words"));
        (void)fprintf(out, "<div class=\"plot\" data-figure=\"%zu\"></div>\n", index);
        figure_table(out, figure);
        (void)fputs("</section>\n", out);
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
        (void)fprintf(out, "<li>Prediction: method %s.</li>\n", method);
    }
    if (why[0] != '\0') {
        (void)fputs("<li>Table from ", out);
        if (json_is_number(json_object_get(inference, "round"))) {
            (void)fprintf(out, "round %lld of %lld: ", member_integer(inference, "round") + 1,
                          member_integer(result, "rounds"));
        } else {
            (void)fputs("all rounds: ", out);
        }
        html_text(out, why);
        (void)fputs(".</li>\n", out);
    }
}

static void how(FILE *out, const json_t *result)
{
    const json_t *made = json_object_get(result, "made");
    const char *study = member_text(result, "study");
    size_t index;
    json_t *sentence;
    (void)fputs("<section class=\"card\"><h2>How it was computed</h2>\n<ul>\n", out);
    if (json_array_size(json_object_get(result, "coefficients")) > 0) {
        element(out, "li", inference_words);
    }
    source(out, result);
    json_array_foreach(json_object_get(result, "how"), index, sentence)
    {
        element(out, "li", json_string_value(sentence));
    }
    (void)fputs("<li>tremolo ", out);
    html_text(out, member_text(made, "version"));
    (void)fputs(", ", out);
    html_text(out, member_text(made, "time"));
    (void)fputs("</li>\n<li><code>", out);
    html_text(out, member_text(made, "command"));
    (void)fputs("</code></li>\n", out);
    if (study[0] != '\0') {
        (void)fputs("<li>study <code>", out);
        html_text(out, study);
        (void)fputs("</code></li>\n", out);
    }
    (void)fputs("</ul></section>\n", out);
}

/* An estimate's size and state in one line; other documents bring theirs. */
static void summary(FILE *out, const json_t *result)
{
    char text[160];
    long long reports = member_integer(result, "reports");
    const char *state = member_text(result, "state");
    int used = snprintf(text, sizeof text, "%lld report%s", reports, reports == 1 ? "" : "s");
    if (state[0] != '\0') {
        (void)snprintf(text + used, sizeof text - (size_t)used, ", %.20s, round %lld of %lld",
                       state, member_integer(result, "round") + 1,
                       member_integer(result, "rounds"));
    }
    element(out, "p class=\"purpose\"",
            json_is_number(json_object_get(result, "reports")) ? text
                                                               : member_text(result, "summary"));
}

static void body(FILE *out, const json_t *result)
{
    (void)fputs("<div class=\"head\">", out);
    element(out, "h1", member_text(result, "title"));
    summary(out, result);
    (void)fputs("</div>\n", out);
    coefficients(out, result);
    figures(out, result);
    prediction(out, result);
    diagnostics(out, result);
    guarantee(out, result);
    how(out, result);
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
        element(out, "title", member_text(result, "title"));
    } else if (strstr(line, "{{body}}") != NULL) {
        body(out, result);
    } else if (strstr(line, "{{document}}") != NULL) {
        (void)fputs("<script type=\"application/json\" id=\"document\">", out);
        bool good = document(out, result);
        (void)fputs("</script>\n", out);
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
