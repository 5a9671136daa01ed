/* fit.c -- `tremolo fit`: a regression from a file of reports.
 *
 * Each report is decoded by the strict decoder, checked against the file's
 * study, and counted once: the same bytes again are ignored, other bytes under
 * the same id are an error. The moments are folded exactly, so the order of
 * the reports does not matter. All of it is post-processing. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "coefficients.h"
#include "fetch.h"
#include "report_file.h"
#include "tremolo_moments.h"
#include "tremolo_privacy.h"

static const char command[] = "fit";

static const char help[] =
    "usage: tremolo fit REPORTS [OPTIONS]\n"
    "       tremolo fit URL|DIR [--study ID] [--json]\n"
    "\n"
    "Learn the regression from a file of reports ('tremolo simulate --reports' makes one),\n"
    "from a study's address on a server, or from a server's data directory.\n"
    "\n"
    "  --study ID       which one, when a directory has several\n"
    "  --method M       auto (default), one-shot or unbiased: what predicts\n"
    "  --ridge G        of one-shot (default 0.5)\n"
    "  --level L        of the intervals (default 0.95)\n"
    "  --json           the result as JSON\n";

enum { REPORTS_MAX = 100000000, FOLD_BATCH = 8192 };

struct fit_options {
    const char *path;
    const char *study;
    struct tremolo_fit_options fit;
    double level;
    bool json;
};

/* Rows waiting for the fold, and every id seen with a hash of its bytes. */
struct seen {
    uint8_t id[TREMOLO_REPORT_ID_BYTES];
    uint64_t hash;
};

struct ingest {
    const struct report_header *header;
    struct tremolo_moments *moments;
    int16_t *rows;
    uint8_t *buckets;
    size_t waiting;
    struct seen *seen; /* open addressing; capacity is a power of two */
    size_t capacity, reports, repeated;
};

struct fitted {
    struct tremolo_fit fit;
    struct tremolo_coefficient *row;
    double *prediction;
    const char *remark;
    struct tremolo_promise promise;
    double epsilon;
};

/* ---------------------------------------------------------------- options */

/* NULL when the option's value is good, else what it must be. */
static const char *take_option(struct fit_options *options, int option)
{
    static const char *const names[3] = {"auto", "one-shot", "unbiased"};
    int method = 0;
    switch (option) {
    case 'm':
        while (method < 3 && strcmp(names[method], optarg) != 0) {
            method++;
        }
        options->fit.method = (enum tremolo_method)method;
        return method < 3 ? NULL : "auto, one-shot or unbiased";
    case 'r':
        return cli_parse_double(&options->fit.ridge, optarg) && options->fit.ridge >= 0
                   ? NULL
                   : "a number from 0";
    case 'l':
        return cli_parse_double(&options->level, optarg) && options->level > 0 && options->level < 1
                   ? NULL
                   : "a number above 0 and below 1";
    case 's': options->study = optarg; return NULL;
    default: options->json = true; return NULL;
    }
}

static bool parse(struct fit_options *options, int *code, int argc, char **argv)
{
    static const struct option long_options[] = {
        {"method", required_argument, NULL, 'm'},
        {"ridge", required_argument, NULL, 'r'},
        {"level", required_argument, NULL, 'l'},
        {"json", no_argument, NULL, 'j'},
        {"study", required_argument, NULL, 's'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option, index = 0;
    *options = (struct fit_options){.fit = TREMOLO_FIT_DEFAULTS, .level = 0.95};
    options->fit.ridge = 0.5;
    optind = 1;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "h", long_options, &index)) != -1) {
        if (option == 'h') {
            (void)fputs(help, stdout);
            return false;
        }
        if (option == '?') {
            *code = cli_fail(CLI_USAGE, command, "'%s' is no option, or lacks its value",
                             argv[optind - 1]);
            return false;
        }
        const char *wanted = take_option(options, option);
        if (wanted != NULL) {
            *code = cli_fail(CLI_USAGE, command, "--%s must be %s, not '%s'",
                             long_options[index].name, wanted, optarg);
            return false;
        }
    }
    if (optind + 1 != argc) {
        *code = cli_fail(CLI_USAGE, command, "one file of reports is needed");
        return false;
    }
    options->path = argv[optind];
    return true;
}

/* --------------------------------------------------------------- ingesting */

static uint64_t hash_bytes(const uint8_t *bytes, size_t length)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    }
    return hash != 0 ? hash : 1; /* 0 marks a free place */
}

static struct seen *place_of(struct seen *seen, size_t capacity, const uint8_t *id)
{
    size_t at = (size_t)hash_bytes(id, TREMOLO_REPORT_ID_BYTES) & (capacity - 1);
    while (seen[at].hash != 0 && memcmp(seen[at].id, id, TREMOLO_REPORT_ID_BYTES) != 0) {
        at = (at + 1) & (capacity - 1);
    }
    return &seen[at];
}

/* Keep the table at most half full. */
static bool grow(struct ingest *ingest)
{
    if (2 * (ingest->reports + 1) <= ingest->capacity) {
        return true;
    }
    size_t capacity = ingest->capacity < 1024 ? 1024 : 2 * ingest->capacity;
    struct seen *larger = calloc(capacity, sizeof *larger);
    if (larger == NULL) {
        return false;
    }
    for (size_t i = 0; i < ingest->capacity; i++) {
        if (ingest->seen[i].hash != 0) {
            *place_of(larger, capacity, ingest->seen[i].id) = ingest->seen[i];
        }
    }
    free(ingest->seen);
    ingest->seen = larger;
    ingest->capacity = capacity;
    return true;
}

static enum tremolo_status flush(struct ingest *ingest)
{
    enum tremolo_status status =
        tremolo_moments_add(ingest->moments, ingest->rows, ingest->buckets, ingest->waiting);
    ingest->waiting = 0;
    return status;
}

static enum tremolo_status take_report(struct ingest *ingest, const uint8_t *bytes, size_t length)
{
    const struct tremolo_study *study = &ingest->header->study;
    struct tremolo_report report;
    int16_t *row = ingest->rows + ingest->waiting * (study->dimension + 1u);
    enum tremolo_status status = tremolo_report_decode(&report, bytes, length);
    if (status == TREMOLO_OK) {
        status = tremolo_report_unpack(row, tremolo_study_coordinates(study), &report, study);
    }
    if (status == TREMOLO_OK && report.round != 0) {
        status = TREMOLO_OUT_OF_BOUNDS;
    }
    if (status != TREMOLO_OK || !grow(ingest)) {
        return status != TREMOLO_OK ? status : TREMOLO_NO_MEMORY;
    }
    struct seen *place = place_of(ingest->seen, ingest->capacity, report.id);
    uint64_t hash = hash_bytes(bytes, length);
    if (place->hash != 0) {
        ingest->repeated++;
        return place->hash == hash ? TREMOLO_OK : TREMOLO_MALFORMED;
    }
    memcpy(place->id, report.id, TREMOLO_REPORT_ID_BYTES);
    place->hash = hash;
    if (study->response == TREMOLO_RESPONSE_PUBLIC) {
        row[study->dimension] = report.response;
    }
    ingest->buckets[ingest->waiting++] = (uint8_t)tremolo_bucket_of(report.id);
    ingest->reports++;
    return ingest->waiting == FOLD_BATCH ? flush(ingest) : TREMOLO_OK;
}

static int read_reports(struct ingest *ingest, FILE *file, const char *path)
{
    uint8_t bytes[TREMOLO_MAX_REPORT_BYTES];
    size_t number = 0;
    int length;
    while ((length = report_file_next(bytes, file)) > 0) {
        enum tremolo_status status = ++number > REPORTS_MAX
                                         ? TREMOLO_OVERFLOWED
                                         : take_report(ingest, bytes, (size_t)length);
        if (status != TREMOLO_OK) {
            return cli_fail(cli_exit_of(status), command, "%s: report %zu: %s", path, number,
                            tremolo_status_sentence(status));
        }
    }
    if (length < 0) {
        return cli_fail(CLI_USAGE, command, "%s: cut short after report %zu", path, number);
    }
    enum tremolo_status status = flush(ingest);
    return status == TREMOLO_OK ? CLI_DONE
                                : cli_fail(cli_exit_of(status), command, "%s: %s", path,
                                           tremolo_status_sentence(status));
}

static bool prepare(struct ingest *ingest, const struct report_header *header)
{
    size_t n = header->study.dimension + 1u;
    int wire_max = (1 << (header->study.wire_bits - 1)) - 1;
    bool private = header->study.response == TREMOLO_RESPONSE_PRIVATE;
    ingest->header = header;
    ingest->rows = malloc(FOLD_BATCH * n * sizeof *ingest->rows);
    ingest->buckets = malloc(FOLD_BATCH);
    return ingest->rows != NULL && ingest->buckets != NULL &&
           tremolo_moments_new(&ingest->moments, n, wire_max,
                               private ? wire_max : TREMOLO_RESPONSE_MAX) == TREMOLO_OK;
}

static void ingest_free(struct ingest *ingest)
{
    tremolo_moments_free(ingest->moments);
    free(ingest->rows);
    free(ingest->buckets);
    free(ingest->seen);
}

/* -------------------------------------------------------------- estimating */

/* What the study's integers mean, from the integers alone. */
static enum tremolo_status debias(struct tremolo_debiased **evidence,
                                  struct tremolo_moments *moments,
                                  const struct report_header *header)
{
    const struct tremolo_study *study = &header->study;
    struct tremolo_sums buckets[TREMOLO_BUCKETS];
    size_t d = study->dimension;
    bool private = study->response == TREMOLO_RESPONSE_PRIVATE;
    size_t width = d + (private ? 1 : 0);
    double noise = ldexp(1, study->noise_log2 - study->wire_shift);
    double wire = ldexp(1, study->wire_shift), amplitude = study->amplitude / wire;
    double *V = calloc(study->vectors > 0 ? study->vectors * width : 1, sizeof *V);
    if (V == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    for (size_t i = 0; i < study->vectors * d; i++) {
        V[i / d * width + i % d] = (double)header->vectors[i] / TREMOLO_VECTOR_ONE;
    }
    const struct tremolo_release release = {
        .dimension = d,
        .keep = (double)study->keep / TREMOLO_KEEP_ONE,
        .noise_variance = noise * noise + 1.0 / 12,
        .modulation = amplitude * amplitude / 2,
        .vectors = study->vectors,
        .V = V,
        .feature_scale = study->unit / header->feature_bound / wire,
        .response_scale = private ? study->unit / header->feature_bound / wire
                                  : TREMOLO_RESPONSE_MAX / header->response_bound,
        .response_private = private,
        .largest = header->feature_bound * header->feature_bound,
    };
    enum tremolo_status status = TREMOLO_OK;
    for (unsigned b = 0; b < TREMOLO_BUCKETS && status == TREMOLO_OK; b++) {
        status = tremolo_moments_bucket(moments, &buckets[b], b);
    }
    if (status == TREMOLO_OK) {
        status = tremolo_debias_new(evidence, buckets, TREMOLO_BUCKETS, &release);
    }
    free(V);
    return status;
}

static enum tremolo_status promise_of(struct fitted *fitted, const struct report_header *header)
{
    const struct tremolo_study *study = &header->study;
    struct tremolo_gaussian cost = {0};
    struct tremolo_certified epsilon;
    enum tremolo_status status = tremolo_gaussian_add(&cost, tremolo_study_sensitivity(study),
                                                      ldexp(1, study->noise_log2), 1);
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
        .releases = 1,
        .delta = header->delta,
        .response_private = study->response == TREMOLO_RESPONSE_PRIVATE,
    };
    return TREMOLO_OK;
}

static enum tremolo_status estimate(struct fitted *fitted, struct tremolo_moments *moments,
                                    const struct report_header *header,
                                    const struct fit_options *options)
{
    size_t d = header->study.dimension;
    const struct tremolo_units units = {header->centre, header->scale, header->response_centre,
                                        header->response_scale};
    struct tremolo_debiased *evidence = NULL;
    fitted->row = calloc(d + 1, sizeof *fitted->row);
    fitted->prediction = calloc(d + 1, sizeof *fitted->prediction);
    enum tremolo_status status = fitted->row == NULL || fitted->prediction == NULL
                                     ? TREMOLO_NO_MEMORY
                                     : debias(&evidence, moments, header);
    if (status == TREMOLO_OK) {
        status = tremolo_fit(fitted->prediction, &fitted->fit, evidence, &options->fit);
    }
    if (status == TREMOLO_OK) {
        tremolo_fit_to_own(fitted->prediction, &fitted->prediction[d], fitted->prediction,
                           fitted->fit.intercept, d, &units);
        status = tremolo_infer(fitted->row, evidence, &units, true, options->level);
    }
    if (status == TREMOLO_SINGULAR) {
        fitted->remark = "the debiased moment is singular at this noise: no unbiased estimate";
        status = TREMOLO_OK;
    }
    tremolo_debias_free(evidence);
    return status == TREMOLO_OK ? promise_of(fitted, header) : status;
}

/* ---------------------------------------------------------------- printing */

static bool print_json(const struct fitted *fitted, const struct coefficients *coefficients,
                       const struct ingest *ingest)
{
    char neighbours[64] = "any";
    if (fitted->promise.neighbours == TREMOLO_NEIGHBOURS_DISTANCE) {
        (void)snprintf(neighbours, sizeof neighbours, "distance=%g", fitted->promise.distance);
    }
    json_t *root = json_pack(
        "{s:I,s:I,s:I,s:{s:o,s:o,s:o,s:s,s:s},s:o,s:o,s:o}", "dimension",
        (json_int_t)coefficients->features, "devices", (json_int_t)ingest->reports, "repeated",
        (json_int_t)ingest->repeated, "privacy", "epsilon", coefficients_number(fitted->epsilon),
        "delta", coefficients_number(fitted->promise.delta), "mu",
        coefficients_number(fitted->promise.mu), "neighbours", neighbours, "protects",
        fitted->promise.response_private ? "all" : "features", "r2_estimated",
        coefficients_number(fitted->fit.r2), "coefficients", coefficients_json(coefficients),
        "prediction", coefficients_prediction_json(coefficients));
    bool good = root != NULL &&
                json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) == 0 &&
                putchar('\n') != EOF;
    json_decref(root);
    return good;
}

static void print_text(const struct fitted *fitted, const struct coefficients *coefficients,
                       const struct ingest *ingest)
{
    char text[TREMOLO_EXPLAIN_BYTES];
    printf("%s ~ %zu features: %zu reports, %zu repeated\n\n", ingest->header->response,
           coefficients->features, ingest->reports, ingest->repeated);
    coefficients_print(coefficients, ingest->reports);
    if (isnan(fitted->fit.r2)) {
        printf("\nPrediction: no R-squared can be estimated at this noise\n");
    } else {
        printf("\nPrediction: estimated R-squared %.4f\n", fitted->fit.r2);
    }
    printf("Privacy: epsilon %.4g, delta %g\n", fitted->epsilon, fitted->promise.delta);
    if (tremolo_explain_reviewer(text, sizeof text, &fitted->promise) == TREMOLO_OK) {
        coefficients_paragraph(text);
    }
}

static int fit_file(const struct fit_options *options, FILE *file)
{
    char error[REPORT_FILE_ERROR_BYTES];
    struct report_header header;
    struct ingest ingest = {.header = NULL};
    struct fitted fitted = {.row = NULL};
    if (!report_file_open(&header, file, error)) {
        return cli_fail(CLI_USAGE, command, "%s: %s", options->path, error);
    }
    int code = prepare(&ingest, &header) ? read_reports(&ingest, file, options->path)
                                         : cli_fail(CLI_FAILED, command, "out of memory");
    if (code == CLI_DONE && ingest.reports < header.study.dimension + 2u) {
        code = cli_fail(CLI_USAGE, command, "%s: %zu reports are too few for %u features",
                        options->path, ingest.reports, header.study.dimension);
    }
    if (code == CLI_DONE) {
        enum tremolo_status status = estimate(&fitted, ingest.moments, &header, options);
        code = status == TREMOLO_OK
                   ? CLI_DONE
                   : cli_fail(cli_exit_of(status), command, "%s", tremolo_status_sentence(status));
    }
    if (code == CLI_DONE) {
        const struct coefficients coefficients = {
            header.study.dimension, header.name,   fitted.remark == NULL ? fitted.row : NULL,
            fitted.prediction,      fitted.remark, options->level};
        if (!options->json) {
            print_text(&fitted, &coefficients, &ingest);
        } else if (!print_json(&fitted, &coefficients, &ingest)) {
            code = cli_fail(CLI_FAILED, command, "the result could not be written");
        }
    }
    free(fitted.row);
    free(fitted.prediction);
    ingest_free(&ingest);
    report_header_free(&header);
    return code;
}

int cli_fit(int argc, char **argv)
{
    struct fit_options options;
    int code = CLI_DONE;
    if (!parse(&options, &code, argc, argv)) {
        return code;
    }
    struct stat about;
    if (strstr(options.path, "://") != NULL ||
        (stat(options.path, &about) == 0 && S_ISDIR(about.st_mode))) {
        return estimate_show(command, options.path, options.study, NULL, options.json);
    }
    FILE *file = fopen(options.path, "rb");
    if (file == NULL) {
        return cli_fail(CLI_USAGE, command, "%s: %s", options.path, strerror(errno));
    }
    code = fit_file(&options, file);
    (void)fclose(file);
    return code;
}
