/* estimate_print.c -- an estimate on the terminal. */
#include "estimate_show.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "coefficients.h"
#include "guarantee_print.h"
#include "members.h"
#include "explain.h"

static bool has_number(const json_t *object, const char *key)
{
    return json_is_number(json_object_get(object, key));
}

static const char *plural(long long count)
{
    return count == 1 ? "" : "s";
}

/* ---------------------------------------------------------------- the table */

static const char *stars(double p)
{
    return p < 0.001 ? "***" : p < 0.01 ? "**" : p < 0.05 ? "*" : p < 0.1 ? "." : "";
}

/* A dash where there is no number. */
static void print_number(const json_t *row, const char *key, const char *format, int width)
{
    char text[32] = "-";
    if (has_number(row, key)) {
        (void)snprintf(text, sizeof text, format, member_number(row, key));
    }
    (void)printf(" %*s", width, text);
}

/* Where noise hides a coefficient the score test's set takes the interval's place. */
static void print_interval(const json_t *row)
{
    const json_t *score = json_object_get(row, "score");
    if (has_number(row, "low") && has_number(row, "high")) {
        (void)printf("  [%.5g, %.5g] %s\n", member_number(row, "low"), member_number(row, "high"),
                     stars(member_number(row, "p")));
    } else if (strcmp(member_text(score, "shape"), "outside") == 0) {
        (void)printf("  outside (%.5g, %.5g)\n", member_number(score, "low"),
                     member_number(score, "high"));
    } else {
        (void)printf("  %s\n", json_is_object(score) ? "anything" : "-");
    }
}

/* Under the rows a line explains the codes of significance, if one of them has a code. */
static void print_rows(const json_t *rows)
{
    int width = coefficients_widest(rows);
    bool coded = false;
    for (size_t index = 0; index < json_array_size(rows); index++) {
        const json_t *row = json_array_get(rows, index);
        coefficients_print_name(member_text(row, "name"), width);
        print_number(row, "estimate", "%.5g", 12);
        print_number(row, "standard_error", "%.4g", 12);
        print_number(row, "z", "%.2f", 8);
        print_number(row, "p", "%.3g", 9);
        print_interval(row);
        coded = coded || (has_number(row, "low") && stars(member_number(row, "p"))[0] != '\0');
    }
    (void)printf("---\n%s",
                 coded ? "Signif. codes:  0 '***' 0.001 '**' 0.01 '*' 0.05 '.' 0.1 ' ' 1\n" : "");
}

static void print_hidden(const json_t *sentences)
{
    for (size_t index = 0; index < json_array_size(sentences); index++) {
        const json_t *sentence = json_array_get(sentences, index);
        const char *words = json_string_value(sentence);
        coefficients_paragraph("%s", words != NULL ? words : "");
        coefficients_paragraph("(what is shown for them is the score test's set, which holds its "
                               "level at any noise)");
    }
}

static void print_table(const json_t *document)
{
    const json_t *rows = json_object_get(document, "coefficients");
    double degrees = member_number(json_object_get(document, "inference"), "degrees");
    char caption[COEFFICIENTS_CAPTION_BYTES];
    coefficients_caption(caption, document);
    (void)printf("Coefficients (unbiased, for conclusions).\n%s:\n", caption);
    (void)printf("%*s %12s %12s %8s %9s  %g%% interval\n", coefficients_widest(rows), "",
                 "Estimate", "Std. Error", "t value", "Pr(>|t|)",
                 100 * member_number(document, "level"));
    print_rows(rows);
    coefficients_reference(caption, document);
    coefficients_paragraph("%s", caption);
    if (!isnan(degrees)) {
        (void)printf("p values and intervals: Student's t, %g degree%s of freedom", degrees,
                     degrees == 1 ? "" : "s");
        if (json_is_object(json_object_get(document, "guarantee"))) { /* else from raw data */
            (void)printf(", because standard errors\ncome from leaving out each of %g groups of "
                         "reports in turn",
                         degrees + 1);
        }
        (void)putchar('\n');
    }
    coefficients_cut(caption, document);
    coefficients_paragraph("%s", caption);
    print_hidden(json_object_get(document, "not_identified"));
}

/* ---------------------------------------------------------------- diagnostics */

static void print_f_test(const json_t *test)
{
    double p = member_number(test, "p");
    if (json_is_object(test)) {
        (void)printf("F test that all slopes are zero: F = %.4g on %g and %g degrees of freedom, "
                     "p %s %.3g\n",
                     member_number(test, "f"), member_number(test, "numerator"),
                     member_number(test, "denominator"), p < 1e-16 ? "<" : "=", fmax(p, 1e-16));
    }
}

/* The largest factor alone unless all are asked for. */
static void print_inflation(const json_t *rows, bool all)
{
    const json_t *largest = NULL;
    for (size_t index = 0; index < json_array_size(rows); index++) {
        const json_t *row = json_array_get(rows, index);
        if (has_number(row, "estimate") &&
            (largest == NULL ||
             member_number(row, "estimate") > member_number(largest, "estimate"))) {
            largest = row;
        }
    }
    if (largest == NULL || json_array_size(rows) < 2) {
        return;
    }
    (void)printf(all ? "Variance inflation:\n" : "Largest variance inflation: ");
    for (size_t index = 0; index < json_array_size(rows); index++) {
        const json_t *row = json_array_get(rows, index);
        if (all && has_number(row, "estimate")) {
            (void)printf("  %s %.3g [%.3g, %.3g]\n", member_text(row, "name"),
                         member_number(row, "estimate"), member_number(row, "low"),
                         member_number(row, "high"));
        } else if (all) {
            (void)printf("  %s -\n", member_text(row, "name"));
        }
    }
    if (!all) {
        (void)printf("%.3g [%.3g, %.3g] of %s\n", member_number(largest, "estimate"),
                     member_number(largest, "low"), member_number(largest, "high"),
                     member_text(largest, "name"));
    }
}

static void print_diagnostics(const json_t *document, bool explain)
{
    const json_t *told = json_object_get(document, "diagnostics");
    if (has_number(told, "residual_sd_low")) {
        (void)printf("Residual standard error: %.4g [%.4g, %.4g]\n",
                     member_number(told, "residual_sd"), member_number(told, "residual_sd_low"),
                     member_number(told, "residual_sd_high"));
    }
    print_f_test(json_object_get(told, "f_test"));
    print_inflation(json_object_get(told, "variance_inflation"), explain);
}

/* ---------------------------------------------------------------- tails */

/* What honest devices can hardly have sent, and the table without it. */
static void print_tails(const json_t *tails)
{
    const json_t *worst =
        json_array_get(json_object_get(tails, "norms"), (size_t)member_integer(tails, "worst"));
    const json_t *robust = json_object_get(tails, "robust");
    long long set_aside = member_integer(tails, "set_aside");
    size_t index;
    json_t *value;
    if (!json_is_object(worst) || !json_is_true(json_object_get(tails, "alarm"))) {
        return; /* as many as honest noise leaves there */
    }
    (void)printf("\nTail of reports' norms: at most %.3g expected beyond %.1f, %lld seen\n",
                 member_number(worst, "expected"), member_number(worst, "beyond"),
                 member_integer(worst, "seen"));
    json_array_foreach(json_object_get(tails, "coordinates"), index, value)
    {
        (void)printf("%s, %s: at most %.3g expected beyond %.1f, %lld seen\n",
                     member_text(value, "name"), member_text(value, "side"),
                     member_number(value, "expected"), member_number(value, "beyond"),
                     member_integer(value, "seen"));
    }
    coefficients_paragraph("Some reports are no honest device's: honest ones look like this, at "
                           "one look, with a probability below one in a million.");
    if (json_is_array(robust)) {
        (void)printf("Coefficients without the %lld report%s beyond honest noise:\n", set_aside,
                     plural(set_aside));
        print_rows(robust);
    }
}

/* ---------------------------------------------------------------- the rest */

static void print_heading(const json_t *document)
{
    long long reports = member_integer(document, "reports");
    long long rounds = member_integer(document, "rounds");
    const char *state = member_text(document, "state");
    size_t rows = json_array_size(json_object_get(document, "coefficients"));
    (void)printf("%s\n", member_text(document, "title"));
    if (rows > 0) {
        (void)printf(
            "%s ~ %zu feature%s: ", member_text(json_object_get(document, "response"), "name"),
            rows - 1, plural((long long)rows - 1));
    }
    if (reports == 0) {
        (void)printf("nobody has reported yet");
    } else {
        (void)printf("%lld report%s", reports, plural(reports));
    }
    if (reports > 0 && has_number(document, "devices")) {
        long long devices = member_integer(document, "devices");
        (void)printf(" of %lld device%s", devices, plural(devices));
    }
    if (state[0] != '\0') {
        (void)printf(", %s, round %lld of %lld", state, member_integer(document, "round") + 1,
                     rounds);
    } else if (rounds > 1) {
        (void)printf(" in %lld rounds", rounds);
    }
    if (has_number(document, "repeated")) {
        (void)printf(", %lld repeated", member_integer(document, "repeated"));
    }
    (void)printf("\n\n");
}

static void print_source(const json_t *inference, long long rounds)
{
    const char *why = member_text(inference, "why");
    if (why[0] == '\0') {
        return;
    }
    (void)putchar('\n');
    if (has_number(inference, "round")) {
        (void)printf("The table is from round %lld of %lld:\n",
                     member_integer(inference, "round") + 1, rounds);
    } else {
        (void)printf("The table is from all rounds:\n");
    }
    coefficients_paragraph("%s", why);
}

static void print_prediction(const json_t *document)
{
    const json_t *prediction = json_object_get(document, "prediction");
    if (has_number(document, "r2")) {
        (void)printf("\nPrediction (method %s): estimated R-squared %.4f",
                     member_text(prediction, "method"), member_number(document, "r2"));
        if (has_number(document, "r2_low")) {
            (void)printf(" [%.4f, %.4f]", member_number(document, "r2_low"),
                         member_number(document, "r2_high"));
        }
        (void)putchar('\n');
        coefficients_paragraph("%s", coefficients_weights(document));
    } else if (json_is_object(prediction) &&
               json_is_object(
                   json_object_get(document, "guarantee"))) { /* else there is no noise */
        (void)printf("\nPrediction: its R-squared is too uncertain to be shown at this noise%s\n",
                     json_is_false(json_object_get(prediction, "told"))
                         ? ", and\nthe reports tell nothing to predict from yet"
                         : "");
    }
}

/* Where there is nothing to conclude from, the prediction's numbers, if they mean anything. */
static void print_predicted(const json_t *document)
{
    const json_t *prediction = json_object_get(document, "prediction");
    const json_t *rows = json_object_get(prediction, "coefficients");
    char caption[COEFFICIENTS_CAPTION_BYTES];
    int width = coefficients_widest(rows);
    if (json_array_size(rows) == 0 || json_is_false(json_object_get(prediction, "told"))) {
        return;
    }
    coefficients_caption(caption, document);
    (void)printf("%s:\n%*s %12s\n", caption, width, "", "Prediction");
    for (size_t index = 0; index < json_array_size(rows); index++) {
        const json_t *row = json_array_get(rows, index);
        coefficients_print_name(member_text(row, "name"), width);
        print_number(row, "estimate", "%.5g", 12);
        (void)putchar('\n');
    }
}

/* The bound as printed in the paper is shown under that name only, beside the corrected one and the
 * reason why it does not hold. Both bound the excess of half the mean squared error, in scaled
 * units, of the averaged iterate. */
void convergence_print(const json_t *convergence, const char *where)
{
    if (!json_is_object(convergence)) {
        printf("Gradient variance: no eigenvalue of the moment is above 0 at this noise\n");
        return;
    }
    printf("Gradient variance at %s %.4g, at most %.4g for |beta| <= %.4g, |x| <= %.4g, "
           "|y| <= %.4g\n",
           where, member_number(convergence, "gradient_variance"),
           member_number(convergence, "gradient_variance_bound"),
           member_number(convergence, "beta_bound"), member_number(convergence, "feature_bound"),
           member_number(convergence, "response_bound"));
    printf("Excess loss after %.0f rounds: at most %.4g (corrected, step 1/2L, L = %.4g); as "
           "printed %.4g\n",
           member_number(convergence, "rounds"), member_number(convergence, "excess_loss_bound"),
           member_number(convergence, "smoothness"),
           member_number(convergence, "excess_loss_as_printed"));
    coefficients_paragraph(
        "The bound as printed does not hold: it divides by the number of devices a variance that "
        "holds that division already, and its step 1/L leaves the proof no room for noise.");
}

static void print_guarantee(const json_t *guarantee, bool explain, const char *full)
{
    if (json_is_object(guarantee) && !explain) {
        (void)putchar('\n');
        guarantee_print_short(guarantee, full);
    } else if (json_is_object(guarantee)) {
        (void)printf("\nPrivacy: epsilon %.4g, delta %g\n",
                     tremolo_digits_up(member_number(guarantee, "epsilon"), 4),
                     tremolo_digits_up(member_number(guarantee, "delta"), 6));
        guarantee_print(guarantee, member_number(guarantee, "delta"));
    }
}

void estimate_print(const json_t *document, bool explain, const char *full)
{
    print_heading(document);
    coefficients_paragraph("%s", member_text(document, "remark"));
    if (json_array_size(json_object_get(document, "coefficients")) > 0) {
        print_table(document);
        print_source(json_object_get(document, "inference"), member_integer(document, "rounds"));
    } else {
        print_predicted(document);
    }
    print_tails(json_object_get(document, "tails"));
    print_prediction(document);
    print_diagnostics(document, explain);
    if (member_integer(document, "rounds") > 1 &&
        json_object_get(document, "convergence") != NULL) {
        convergence_print(json_object_get(document, "convergence"), "the estimate");
    }
    print_guarantee(json_object_get(document, "guarantee"), explain, full);
}
