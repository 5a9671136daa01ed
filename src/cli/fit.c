/* fit.c -- `tremolo fit`: a regression from a file of reports.
 *
 * Inference rests on all rounds of the file together, whatever predicts. All of
 * it is post-processing. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "coefficients.h"
#include "convergence.h"
#include "fetch.h"
#include "options.h"
#include "tremolo_report_file.h"
#include "result.h"
#include "tremolo_privacy.h"

static const char command[] = "fit";

/* What predicts: tremolo_fit()'s methods, and the two that need rounds. */
enum predictor { AUTO, ONE_SHOT, UNBIASED, POOLED, ITERATIVE, PREDICTORS };

static const char *const predictor_names[PREDICTORS] = {"auto", "one-shot", "unbiased", "pooled",
                                                        "iterative"};
#define PREDICTOR_WORDS "auto one-shot unbiased pooled iterative" /* the same, for the table */

struct fit_options {
    const char *path;
    const char *study;
    enum predictor predictor;
    struct tremolo_fit_options fit;
    double level;
    bool json;
    const char *save; /* NULL: nowhere */
    bool force;
    char line[RESULT_LINE_BYTES]; /* the command as typed */
};

struct fitted {
    struct tremolo_fit fit;
    struct tremolo_coefficient *row;
    double *prediction;
    const char *remark;
    struct tremolo_promise promise;
    double epsilon;
    struct tremolo_convergence_answer convergence;
};

/* ---------------------------------------------------------------- options */

#define TO(member) OPTION_TO(struct fit_options, member)

static const struct option_rule rules[] = {
    OPTION_RULE("study", "ID", TEXT, TO(study), .help = "which one, when a directory has several"),
    OPTION_RULE("method", "M", CHOICE, TO(predictor), .words = PREDICTOR_WORDS, .otherwise = "auto",
                .help = "what predicts. Coefficients and intervals are the unbiased estimator's "
                        "always; pooled is auto on all rounds of a file, iterative the paper's "
                        "iteration over them, and both need a file of several rounds"),
    OPTION_RULE("ridge", "G", NUMBER, TO(fit.ridge), OPTION_FROM(0, INFINITY), .otherwise = "0.5",
                .help = "of one-shot"),
    OPTION_RULE("level", "L", NUMBER, TO(level), OPTION_BETWEEN(0, 1), .otherwise = "0.95",
                .help = "confidence of the intervals"),
    OPTION_RULE("json", NULL, FLAG, TO(json), .help = "print the result as JSON"),
    RESULT_SAVE_RULES(struct fit_options),
};

static bool parse(struct fit_options *options, int *code, int argc, char **argv)
{
    struct options_given given;
    *options = (struct fit_options){.fit = TREMOLO_FIT_DEFAULTS};
    result_command_line(options->line, argc, argv);
    if (!options_parse(&given, options, code, &cli_fit, argc, argv)) {
        return false;
    }
    options->path = given.operand[0];
    options->fit.method = options->predictor <= UNBIASED ? (enum tremolo_method)options->predictor
                                                         : TREMOLO_METHOD_AUTO;
    *code = result_check(command, options->save, options->force);
    return *code == CLI_DONE;
}

/* -------------------------------------------------------------- estimating */

static enum tremolo_status promise_of(struct fitted *fitted,
                                      const struct tremolo_report_header *header, size_t rounds)
{
    const struct tremolo_study *study = &header->study;
    struct tremolo_gaussian cost = {0};
    struct tremolo_certified epsilon;
    enum tremolo_status status = tremolo_gaussian_add(&cost, tremolo_study_sensitivity(study),
                                                      ldexp(1, study->noise_log2), rounds);
    if (status == TREMOLO_OK) {
        status = tremolo_gaussian_epsilon(&epsilon, &cost, header->delta);
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    double fine = study->unit / header->feature_bound;
    bool any = study->distance == 0;
    fitted->epsilon = epsilon.upper;
    fitted->promise = (struct tremolo_promise){
        .neighbours = any ? TREMOLO_NEIGHBOURS_ANY : TREMOLO_NEIGHBOURS_DISTANCE,
        .distance = any ? 2 * study->clip / fine : study->distance / fine,
        .dimension = study->dimension,
        .mu = tremolo_gaussian_mu(&cost).upper,
        .releases = rounds,
        .samples = 1, /* a file of reports has one of a device in each round */
        .delta = header->delta,
        .response_private = study->response == TREMOLO_RESPONSE_PRIVATE,
        .modulated = study->vectors > 0,
    };
    return TREMOLO_OK;
}

/* The iteration over kept rounds; it frees each as it goes. */
static enum tremolo_status replay_round(void *context, size_t round, const double *beta,
                                        const double *V, size_t vectors,
                                        struct tremolo_debiased **evidence)
{
    struct tremolo_report_rounds *rounds = context;
    (void)beta, (void)V, (void)vectors; /* the file says what was released with */
    *evidence = rounds->evidence[round];
    rounds->evidence[round] = NULL;
    return TREMOLO_OK;
}

static enum tremolo_status iterate(struct fitted *fitted, struct tremolo_report_rounds *rounds,
                                   const struct tremolo_report_header *header)
{
    const struct tremolo_iterate_options options = {.rounds = rounds->count,
                                                    .vectors = header->study.vectors,
                                                    .step = header->step,
                                                    .radius = header->radius};
    return tremolo_iterate(fitted->prediction, NULL, NULL, header->study.dimension, &options,
                           replay_round, rounds);
}

/* The last iterate's own account of R^2 is what all rounds say of it. */
static double iterate_r2(const struct tremolo_convergence_answer *convergence,
                         const struct tremolo_debiased *evidence)
{
    double yy = 0.0;
    tremolo_debias_moments(NULL, NULL, &yy, evidence, false);
    return convergence->known && yy > 0.0 ? 1.0 - convergence->input.residual_ms / yy : NAN;
}

static enum tremolo_status predict(struct fitted *fitted, struct tremolo_report_rounds *rounds,
                                   const struct tremolo_debiased *evidence,
                                   const struct tremolo_report_header *header,
                                   const struct fit_options *options)
{
    enum tremolo_status status =
        options->predictor == ITERATIVE
            ? iterate(fitted, rounds, header)
            : tremolo_fit(fitted->prediction, &fitted->fit, evidence, &options->fit);
    if (status != TREMOLO_OK) {
        return status;
    }
    const struct tremolo_convergence_input input = {
        .mechanism = rounds->mechanism,
        .rounds = (double)rounds->count,
        .B = header->radius,
        .R = header->study.clip * header->feature_bound / header->study.unit,
        .M = rounds->mechanism.response_private ? header->feature_bound : header->response_bound,
    };
    fitted->convergence = tremolo_convergence_of_fit(&input, evidence, fitted->prediction);
    if (options->predictor == ITERATIVE) {
        fitted->fit.r2 = iterate_r2(&fitted->convergence, evidence);
    }
    return TREMOLO_OK;
}

static enum tremolo_status estimate(struct fitted *fitted, struct tremolo_report_rounds *rounds,
                                    const struct tremolo_report_header *header,
                                    const struct fit_options *options)
{
    size_t d = header->study.dimension;
    const struct tremolo_units units = {header->centre, header->scale, header->response_centre,
                                        header->response_scale};
    struct tremolo_debiased *pool = NULL;
    fitted->row = calloc(d + 1, sizeof *fitted->row);
    fitted->prediction = calloc(d + 1, sizeof *fitted->prediction);
    enum tremolo_status status =
        fitted->row == NULL || fitted->prediction == NULL ? TREMOLO_NO_MEMORY
        : rounds->count == 1
            ? TREMOLO_OK
            : tremolo_debias_pool(&pool, (const struct tremolo_debiased *const *)rounds->evidence,
                                  rounds->count);
    const struct tremolo_debiased *evidence = pool != NULL ? pool : rounds->evidence[0];
    if (status == TREMOLO_OK) {
        status = predict(fitted, rounds, evidence, header, options);
    }
    if (status == TREMOLO_OK) {
        tremolo_fit_to_own(fitted->prediction, &fitted->prediction[d], fitted->prediction,
                           fitted->fit.intercept, d, &units);
        status = tremolo_infer(fitted->row, evidence, &units, true, options->level);
        if (status == TREMOLO_SINGULAR) { /* of the table alone: there is a prediction */
            fitted->remark = "the debiased moment is singular at this noise: no unbiased estimate";
            status = TREMOLO_OK;
        }
    }
    tremolo_debias_free(pool);
    return status == TREMOLO_OK ? promise_of(fitted, header, rounds->count) : status;
}

/* ---------------------------------------------------------------- printing */

static bool print_json(const struct fitted *fitted, const struct coefficients *coefficients,
                       const struct tremolo_report_rounds *rounds)
{
    char neighbours[64] = "any";
    if (fitted->promise.neighbours == TREMOLO_NEIGHBOURS_DISTANCE) {
        (void)snprintf(neighbours, sizeof neighbours, "distance=%g", fitted->promise.distance);
    }
    json_t *root = json_pack(
        "{s:s,s:s,s:I,s:I,s:I,s:I,s:{s:o,s:o,s:o,s:s,s:s},s:o,s:o,s:o,s:o}", "response",
        coefficients->response, "unit", coefficients->unit, "dimension",
        (json_int_t)coefficients->features, "devices", (json_int_t)rounds->devices, "rounds",
        (json_int_t)rounds->count, "repeated", (json_int_t)rounds->repeated, "privacy", "epsilon",
        coefficients_number(fitted->epsilon), "delta", coefficients_number(fitted->promise.delta),
        "mu", coefficients_number(fitted->promise.mu), "neighbours", neighbours, "protects",
        fitted->promise.response_private ? "all" : "features", "r2_estimated",
        coefficients_number(fitted->fit.r2), "coefficients", coefficients_json(coefficients),
        "prediction", coefficients_prediction_json(coefficients), "convergence",
        convergence_json(&fitted->convergence));
    bool good = root != NULL &&
                json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) == 0 &&
                putchar('\n') != EOF;
    json_decref(root);
    return good;
}

static void print_text(const struct fitted *fitted, const struct coefficients *coefficients,
                       const struct tremolo_report_header *header,
                       const struct tremolo_report_rounds *rounds)
{
    struct tremolo_explanation explanation;
    printf("%s ~ %zu feature%s: %zu reports", header->response, coefficients->features,
           coefficients->features == 1 ? "" : "s", rounds->devices);
    if (rounds->count > 1) {
        printf(" in each of %zu rounds", rounds->count);
    }
    printf(", %zu repeated\n\n", rounds->repeated);
    coefficients_print(coefficients, rounds->devices);
    if (isnan(fitted->fit.r2)) {
        printf("\nPrediction: no R-squared can be estimated at this noise\n");
    } else {
        printf("\nPrediction: estimated R-squared %.4f\n", fitted->fit.r2);
    }
    if (rounds->count > 1) {
        convergence_print(&fitted->convergence, "the estimate");
    }
    printf("Privacy: epsilon %.4g, delta %g\n", fitted->epsilon, fitted->promise.delta);
    if (tremolo_explain(&explanation, &fitted->promise) == TREMOLO_OK) {
        coefficients_paragraph(explanation.reviewer);
    }
}

static void describe_fit(json_t *result, const struct fit_options *options,
                         const struct tremolo_report_header *header, const struct fitted *fitted)
{
    const struct tremolo_study *study = &header->study;
    const struct result_diagnosis diagnosis = {
        .residual_sd = sqrt(fmax(0, fitted->fit.residual_variance)) * header->response_scale,
        .condition = fitted->fit.condition,
        .negative = (double)fitted->fit.negative,
        .noise_sd = ldexp(1, study->noise_log2) / study->unit,
    };
    if (options->predictor != ITERATIVE) { /* the last iterate solves no matrix */
        (void)json_object_set_new(result, "diagnostics", result_diagnostics(&diagnosis));
    }
    (void)json_object_set_new(
        result, "how",
        json_pack(
            "[s,o,o]", result_inference_words,
            json_sprintf("Prediction: method %s.", predictor_names[options->predictor]),
            json_sprintf("Reports: %u bits a coordinate, noise of 2^%u fine units where half "
                         "a feature's range has %u; the guarantee follows from these integers "
                         "by the exact Gaussian accountant.",
                         study->wire_bits, study->noise_log2, study->unit)));
}

/* The result as a file of its own. */
static int save(const struct fit_options *options, const struct tremolo_report_header *header,
                const struct fitted *fitted, const struct coefficients *coefficients,
                const struct tremolo_report_rounds *rounds)
{
    char title[TREMOLO_NAME_BYTES + 64];
    size_t d = coefficients->features;
    double range[TREMOLO_MAX_DIMENSION];
    (void)snprintf(title, sizeof title, "What explains %s", header->response);
    json_t *result = result_new("fit", title, options->line);
    json_t *table = coefficients_json(coefficients);
    for (size_t i = 0; i < d; i++) {
        range[i] = 2 * header->feature_bound * header->scale[i];
    }
    result_set_ranges(table, range, d);
    (void)json_object_update_new(
        result,
        json_pack("{s:o,s:{s:s,s:s,s:o},s:I,s:I,s:I,s:f,s:o,s:o,s:o,s:s,s:o,s:o}", "summary",
                  json_sprintf("%zu devices, %zu feature%s, %zu round%s", rounds->devices, d,
                               d == 1 ? "" : "s", rounds->count, rounds->count == 1 ? "" : "s"),
                  "response", "name", header->response, "unit", header->unit, "range",
                  coefficients_number(2 * header->response_bound * header->response_scale),
                  "devices", (json_int_t)rounds->devices, "rounds", (json_int_t)rounds->count,
                  "repeated", (json_int_t)rounds->repeated, "level", options->level, "coefficients",
                  table, "prediction", coefficients_prediction_json(coefficients), "r2",
                  coefficients_number(fitted->fit.r2), "r2_words",
                  "the share of the response's variance that the prediction explains, "
                  "estimated from the reports alone",
                  "not_identified", result_unclear(coefficients, rounds->devices), "guarantee",
                  result_guarantee(&fitted->promise, fitted->epsilon)));
    if (coefficients->remark != NULL) {
        (void)json_object_set_new(result, "remark", json_string(coefficients->remark));
    }
    describe_fit(result, options, header, fitted);
    int code = result_save(result, command, options->save);
    json_decref(result);
    return code;
}

static int print(const struct fit_options *options, const struct tremolo_report_header *header,
                 const struct fitted *fitted, const struct tremolo_report_rounds *rounds)
{
    const struct coefficients coefficients = {
        .features = header->study.dimension,
        .name = header->name,
        .row = fitted->remark == NULL ? fitted->row : NULL,
        .prediction = fitted->prediction,
        .remark = fitted->remark,
        .level = options->level,
        .response = header->response,
        .unit = header->unit,
    };
    if (!options->json) {
        print_text(fitted, &coefficients, header, rounds);
    } else if (!print_json(fitted, &coefficients, rounds)) {
        return cli_fail(CLI_FAILED, command, "the result could not be written");
    }
    return options->save != NULL ? save(options, header, fitted, &coefficients, rounds) : CLI_DONE;
}

static int fit_rounds(const struct fit_options *options, const struct tremolo_report_header *header,
                      struct tremolo_report_rounds *rounds)
{
    struct fitted fitted = {.row = NULL};
    if (rounds->count < 2 && (options->predictor == POOLED || options->predictor == ITERATIVE)) {
        return cli_fail(CLI_USAGE, command, "%s: one round only, and --method %s needs several",
                        options->path, predictor_names[options->predictor]);
    }
    enum tremolo_status status = estimate(&fitted, rounds, header, options);
    int code = status == TREMOLO_OK
                   ? print(options, header, &fitted, rounds)
                   : cli_fail(cli_exit_of(status), command, "%s", tremolo_status_sentence(status));
    free(fitted.row);
    free(fitted.prediction);
    return code;
}

static int fit_file(const struct fit_options *options, FILE *file)
{
    char error[TREMOLO_REPORT_FILE_ERROR_BYTES];
    struct tremolo_report_header header;
    struct tremolo_report_rounds rounds;
    if (!tremolo_report_file_open(&header, file, error)) {
        return cli_fail(CLI_USAGE, command, "%s: %s", options->path, error);
    }
    enum tremolo_status status = tremolo_report_rounds_read(&rounds, &header, file, error);
    int code = status == TREMOLO_OK
                   ? fit_rounds(options, &header, &rounds)
                   : cli_fail(cli_exit_of(status), command, "%s: %s", options->path, error);
    tremolo_report_rounds_free(&rounds);
    tremolo_report_header_free(&header);
    return code;
}

static int run(int argc, char **argv)
{
    struct fit_options options;
    int code = CLI_DONE;
    if (!parse(&options, &code, argc, argv)) {
        return code;
    }
    struct stat about;
    if (strstr(options.path, "://") != NULL ||
        (stat(options.path, &about) == 0 && S_ISDIR(about.st_mode))) {
        const struct estimate_wish wish = {.study = options.study,
                                           .as_json = options.json,
                                           .report = options.save,
                                           .line = options.line};
        return estimate_show(command, options.path, &wish);
    }
    FILE *file = fopen(options.path, "rb");
    if (file == NULL) {
        return cli_fail(CLI_USAGE, command, "%s: %s", options.path, strerror(errno));
    }
    code = fit_file(&options, file);
    (void)fclose(file);
    return code;
}

const struct cli_command cli_fit = {
    .name = "fit",
    .summary = "learn the regression from a file of reports",
    .usage = "fit REPORTS [OPTIONS]\nfit URL|DIR [--study ID] [--json] [--save FILE]",
    .about =
        "Learn the regression from a file of reports ('tremolo simulate --reports' makes one),\n"
        "from a study's address on a server, or from a server's data directory.",
    .rules = rules,
    .rule_count = sizeof rules / sizeof rules[0],
    .operand = "one file of reports, address or data directory",
    .run = run,
};
