/* report_fit.c -- from a file of reports to an estimate, what it cost, and the one document. */
#include "tremolo_report_fit.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "estimate_json.h"
#include "study_internal.h"

const char *const tremolo_predictor_names[] = {"auto",   "one-shot",  "unbiased",
                                               "pooled", "iterative", NULL};

/* The distance that was asked for, if the integers are those of it. */
static double distance_of(const struct tremolo_report_header *header)
{
    const struct tremolo_study *study = &header->study;
    double fine = study->unit / header->feature_bound;
    if (study->distance == 0) {
        return tremolo_study_sensitivity(study) / fine;
    }
    /* The integers were rounded so that they cover it: what is said to be further is not. */
    double beyond = study->distance - header->distance * fine;
    return beyond >= -1e-9 && beyond <= 1 + 1e-9 ? header->distance : study->distance / fine;
}

/* As the devices charge, for all samples that the study pays for. */
static enum tremolo_status ballot_promise(struct tremolo_report_fit *fit,
                                          const struct tremolo_study *study)
{
    fit->epsilon =
        (double)study->samples * tremolo_study_charge(study) / (double)TREMOLO_CHARGE_ONE;
    fit->promise = (struct tremolo_promise){
        .law = {study->rank_first, study->rank_top},
        .neighbours = TREMOLO_NEIGHBOURS_ANY,
        .mu = NAN,
        .releases = study->samples,
        .samples = study->samples,
        .response_private = study->response == TREMOLO_RESPONSE_PRIVATE,
    };
    return TREMOLO_OK;
}

static enum tremolo_status promise_of(struct tremolo_report_fit *fit,
                                      const struct tremolo_report_header *header, size_t rounds)
{
    const struct tremolo_study *study = &header->study;
    if (study->release == TREMOLO_RELEASE_BALLOT) {
        return ballot_promise(fit, study);
    }
    struct tremolo_gaussian cost = {0};
    struct tremolo_certified epsilon;
    uint64_t releases = (uint64_t)rounds * study->samples;
    enum tremolo_status status = tremolo_gaussian_add(&cost, tremolo_study_sensitivity(study),
                                                      ldexp(1, study->noise_log2), releases);
    if (status == TREMOLO_OK) {
        status = tremolo_gaussian_epsilon(&epsilon, &cost, header->delta);
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    fit->epsilon = epsilon.upper;
    const struct tremolo_units units = {header->centre, header->scale, header->response_centre,
                                        header->response_scale};
    bool response_private = study->response == TREMOLO_RESPONSE_PRIVATE;
    size_t extents =
        tremolo_estimate_extents(fit->extents, &fit->estimate, &units, response_private);
    fit->promise = (struct tremolo_promise){
        .neighbours = study->distance == 0 ? TREMOLO_NEIGHBOURS_ANY : TREMOLO_NEIGHBOURS_DISTANCE,
        .distance = distance_of(header),
        .diameter = extents > 0 ? tremolo_extents_diameter(fit->extents, extents) : 0,
        .dimension = study->dimension,
        .standardised = header->standardised,
        .extents = fit->extents,
        .extent_count = extents,
        .mu = tremolo_gaussian_mu(&cost).upper,
        .releases = releases,
        .samples = study->samples,
        .delta = header->delta,
        .response_private = response_private,
        .modulated = study->vectors > 0,
    };
    return TREMOLO_OK;
}

static void begin(struct tremolo_report_fit *fit, const struct tremolo_report_header *header,
                  const struct tremolo_report_rounds *rounds,
                  const struct tremolo_report_fit_options *options)
{
    struct tremolo_estimate *estimate = &fit->estimate;
    size_t d = header->study.dimension;
    for (size_t i = 0; i < d; i++) {
        fit->names[i] = header->name[i];
    }
    (void)snprintf(fit->title, sizeof fit->title, "What explains %s", header->response);
    tremolo_estimate_begin(estimate);
    estimate->title = fit->title;
    if (memcmp(header->study.id, TREMOLO_SIMULATED_STUDY, TREMOLO_STUDY_ID_BYTES) != 0) {
        tremolo_study_id_text(fit->study, header->study.id);
        estimate->study = fit->study;
    }
    bool ballot = header->study.release == TREMOLO_RELEASE_BALLOT;
    estimate->release = ballot ? "ballot" : "sample";
    estimate->features = d;
    estimate->names = fit->names;
    estimate->inputs = header->inputs;
    estimate->ranges = header->range;
    estimate->response = header->response;
    estimate->unit = header->unit;
    estimate->response_range = header->range != NULL ? header->range[d] : NAN;
    estimate->rounds = (int64_t)rounds->count;
    estimate->devices = (int64_t)rounds->devices;
    estimate->reports = estimate->devices * estimate->rounds;
    estimate->repeated = (int64_t)rounds->repeated;
    estimate->level = options->level;
    estimate->evidence_round = rounds->count > 1 ? TREMOLO_UNKNOWN : 0;
    estimate->evidence_reports = rounds->devices;
    estimate->tails = &rounds->tails;
    estimate->method = tremolo_predictor_names[options->predictor];
    if (!ballot) {
        estimate->noise_sd = ldexp(1, header->study.noise_log2) / header->study.unit;
    }
}

/* ---------------------------------------------------------------- prediction */

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

/* The last iterate solves no matrix, and its account of R^2 is what all rounds say of it. */
static enum tremolo_status predict(double *beta, struct tremolo_fit *solved,
                                   struct tremolo_report_fit *fit,
                                   struct tremolo_report_rounds *rounds,
                                   const struct tremolo_debiased *evidence,
                                   const struct tremolo_report_header *header,
                                   const struct tremolo_report_fit_options *options)
{
    bool iterative = options->predictor == TREMOLO_PREDICTOR_ITERATIVE;
    const struct tremolo_iterate_options iteration = {.rounds = rounds->count,
                                                      .vectors = header->study.vectors,
                                                      .step = header->step,
                                                      .radius = header->radius};
    const struct tremolo_convergence_input input = {
        .mechanism = rounds->mechanism,
        .rounds = (double)rounds->count,
        .B = header->radius,
        .R = header->study.clip * header->feature_bound / header->study.unit,
        .M = rounds->mechanism.response_private ? header->feature_bound : header->response_bound,
    };
    struct tremolo_fit_options method = TREMOLO_FIT_DEFAULTS;
    method.ridge = options->ridge;
    if (options->predictor <= TREMOLO_PREDICTOR_UNBIASED) {
        method.method = (enum tremolo_method)options->predictor;
    }
    *solved = (struct tremolo_fit){.condition = NAN};
    enum tremolo_status status = iterative
                                     ? tremolo_iterate(beta, NULL, NULL, header->study.dimension,
                                                       &iteration, replay_round, rounds)
                                     : tremolo_fit(beta, solved, evidence, &method);
    if (status != TREMOLO_OK) {
        return status;
    }
    fit->convergence = tremolo_convergence_of_fit(&input, evidence, beta);
    if (iterative) {
        solved->r2 = tremolo_convergence_r2(&fit->convergence, evidence);
    }
    return TREMOLO_OK;
}

/* Ballots are in half ranges, of so many scaled units each. */
static enum tremolo_status solve_ballots(struct tremolo_report_fit *fit,
                                         const struct tremolo_report_rounds *rounds,
                                         const struct tremolo_report_header *header,
                                         const struct tremolo_report_fit_options *options)
{
    double half[TREMOLO_MAX_FEATURES];
    for (size_t i = 0; i < header->study.dimension; i++) {
        half[i] = header->scale[i] * header->feature_bound;
    }
    const struct tremolo_units units = {header->centre, half, header->response_centre,
                                        header->response_scale * header->response_bound};
    enum tremolo_status status = tremolo_estimate_ballots(&fit->estimate, rounds->ballots, &units,
                                                          (enum tremolo_method)options->predictor);
    return status == TREMOLO_OK
               ? tremolo_estimate_robust(&fit->estimate, NULL, rounds->robust_ballots, &units)
               : status;
}

static enum tremolo_status solve(struct tremolo_report_fit *fit,
                                 struct tremolo_report_rounds *rounds,
                                 const struct tremolo_debiased *evidence,
                                 const struct tremolo_report_header *header,
                                 const struct tremolo_report_fit_options *options)
{
    const struct tremolo_units units = {header->centre, header->scale, header->response_centre,
                                        header->response_scale};
    double beta[TREMOLO_MAX_FEATURES];
    struct tremolo_fit solved;
    if (rounds->ballots != NULL) {
        return solve_ballots(fit, rounds, header, options);
    }
    enum tremolo_status status = tremolo_estimate_infer(&fit->estimate, evidence, &units);
    if (status == TREMOLO_OK) {
        status = tremolo_estimate_robust(&fit->estimate, rounds->robust, NULL, &units);
    }
    if (status == TREMOLO_OK) {
        status = predict(beta, &solved, fit, rounds, evidence, header, options);
    }
    return status == TREMOLO_OK
               ? tremolo_estimate_predict(&fit->estimate, evidence, beta, &solved, &units)
               : status;
}

enum tremolo_status tremolo_report_fit(struct tremolo_report_fit *fit,
                                       const struct tremolo_report_header *header,
                                       struct tremolo_report_rounds *rounds,
                                       const struct tremolo_report_fit_options *options)
{
    struct tremolo_debiased *pool = NULL;
    begin(fit, header, rounds, options);
    enum tremolo_status status =
        rounds->count == 1
            ? TREMOLO_OK
            : tremolo_debias_pool(&pool, (const struct tremolo_debiased *const *)rounds->evidence,
                                  rounds->count);
    if (status == TREMOLO_OK) {
        status = solve(fit, rounds, pool != NULL ? pool : rounds->evidence[0], header, options);
    }
    tremolo_debias_free(pool);
    return status == TREMOLO_OK ? promise_of(fit, header, rounds->count) : status;
}

void tremolo_report_fit_free(struct tremolo_report_fit *fit)
{
    tremolo_estimate_free(&fit->estimate);
}

/* ---------------------------------------------------------------- document */

static json_t *document_of(const struct tremolo_report_fit *fit)
{
    json_t *guarantee = guarantee_promise_json(&fit->promise, fit->epsilon);
    json_t *document = estimate_document(&fit->estimate);
    (void)json_object_set_new(document, "guarantee", guarantee != NULL ? guarantee : json_null());
    estimate_set_answers(document);
    if (fit->promise.law.first == 0) { /* ballots are no gradients */
        (void)json_object_set_new(document, "convergence", estimate_convergence(&fit->convergence));
    }
    return document;
}

static enum tremolo_status fit_rounds(json_t **document, const struct tremolo_report_header *header,
                                      struct tremolo_report_rounds *rounds,
                                      const struct tremolo_report_fit_options *options, char *error)
{
    struct tremolo_report_fit fit;
    /* Not every method reads every file. */
    if (rounds->count < 2 && options->predictor >= TREMOLO_PREDICTOR_POOLED) {
        (void)snprintf(error, TREMOLO_REPORT_FILE_ERROR_BYTES,
                       "one round only, and the method %s needs several",
                       tremolo_predictor_names[options->predictor]);
        return TREMOLO_BAD_ARGUMENT;
    }
    if (header->study.release == TREMOLO_RELEASE_BALLOT &&
        options->predictor == TREMOLO_PREDICTOR_ONE_SHOT) {
        (void)snprintf(error, TREMOLO_REPORT_FILE_ERROR_BYTES,
                       "a file of ballots, from which auto or unbiased predicts");
        return TREMOLO_BAD_ARGUMENT;
    }
    enum tremolo_status status = tremolo_report_fit(&fit, header, rounds, options);
    json_t *made = status == TREMOLO_OK ? document_of(&fit) : NULL;
    tremolo_report_fit_free(&fit);
    status = status == TREMOLO_OK && made == NULL ? TREMOLO_NO_MEMORY : status;
    if (status != TREMOLO_OK) {
        (void)snprintf(error, TREMOLO_REPORT_FILE_ERROR_BYTES, "%s",
                       tremolo_status_sentence(status));
        return status;
    }
    *document = made;
    return TREMOLO_OK;
}

enum tremolo_status estimate_of_reports(json_t **document, const char *path,
                                        const struct tremolo_report_fit_options *options,
                                        char error[TREMOLO_REPORT_FILE_ERROR_BYTES])
{
    struct tremolo_report_header header;
    struct tremolo_report_rounds rounds;
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        (void)snprintf(error, TREMOLO_REPORT_FILE_ERROR_BYTES, "%s", strerror(errno));
        return TREMOLO_BAD_ARGUMENT;
    }
    if (!tremolo_report_file_open(&header, file, error)) {
        (void)fclose(file);
        return TREMOLO_MALFORMED;
    }
    enum tremolo_status status = tremolo_report_rounds_read(&rounds, &header, file, error);
    if (status == TREMOLO_OK) {
        status = fit_rounds(document, &header, &rounds, options, error);
    }
    (void)fclose(file);
    tremolo_report_rounds_free(&rounds);
    tremolo_report_header_free(&header);
    return status;
}

enum tremolo_status tremolo_report_fit_json(char **json, const char *path,
                                            const struct tremolo_report_fit_options *options,
                                            char error[TREMOLO_REPORT_FILE_ERROR_BYTES])
{
    json_t *document = NULL;
    enum tremolo_status status = estimate_of_reports(&document, path, options, error);
    char *text = status == TREMOLO_OK ? json_latch_exact(document) : NULL;
    if (status == TREMOLO_OK && text == NULL) {
        (void)snprintf(error, TREMOLO_REPORT_FILE_ERROR_BYTES, "out of memory");
        return TREMOLO_NO_MEMORY;
    }
    *json = status == TREMOLO_OK ? text : *json;
    return status;
}
