/* estimate.c -- from a study's sums to the answer an analyst reads.
 *
 * Inference (table, intervals, p) comes from the unbiased estimator,
 * prediction from the shrunken one, and the two are kept apart. Studies with
 * several rounds: where devices have names, the jackknife's buckets hold
 * whole devices and all rounds are pooled; in an open study one person's
 * reports cannot be told to be one person's, so inference uses the round with
 * most reports alone, which is valid if less sharp. */
#include "estimate.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "estimate_json.h"
#include "guarantee_json.h"
#include "rounds.h"

static const double level = 0.95;

/* What the computation works on, so that the lock is held only to fill it. */
struct snapshot {
    struct tremolo_debiased *evidence;
    uint64_t reports;
    uint64_t round_reports;
    unsigned round;
    bool done;
    bool pooled;
    unsigned evidence_round;
    uint64_t evidence_reports; /* that the table is from */
    double r2;                 /* of the prediction; NAN: none */
    double last[TREMOLO_MAX_FEATURES];
    double average[TREMOLO_MAX_FEATURES];
};

static unsigned largest_round(const struct served_study *served)
{
    unsigned largest = 0;
    for (unsigned t = 1; t < served->opened; t++) {
        if (tremolo_moments_count(served->rounds[t].moments) >=
            tremolo_moments_count(served->rounds[largest].moments)) {
            largest = t;
        }
    }
    return largest;
}

/* Lock held. */
static enum tremolo_status take_snapshot(struct snapshot *snapshot, struct served_study *served)
{
    *snapshot =
        (struct snapshot){.reports = served->reports, .round = served->opened - 1, .r2 = NAN};
    snapshot->done = served_is_done(served);
    snapshot->round_reports = tremolo_moments_count(served->rounds[snapshot->round].moments);
    snapshot->pooled = served->terms->rounds > 1 && served->check.secret != NULL;
    snapshot->evidence_round = largest_round(served);
    snapshot->evidence_reports =
        snapshot->pooled ? served->reports
                         : tremolo_moments_count(served->rounds[snapshot->evidence_round].moments);
    if (served->reports < 2) {
        return TREMOLO_OK;
    }
    enum tremolo_status status =
        snapshot->pooled ? rounds_pooled(&snapshot->evidence, served)
                         : rounds_evidence(&snapshot->evidence, served, snapshot->evidence_round);
    if (status == TREMOLO_OK && snapshot->done && served->terms->rounds > 1) {
        struct rounds_result result = {snapshot->last, snapshot->average};
        status = rounds_finish(&result, served);
    }
    /* The next round's starting point is the last iterate so far. */
    if (!snapshot->done) {
        memcpy(snapshot->last, served->rounds[snapshot->round].beta,
               served->study->dimension * sizeof *snapshot->last);
    }
    return status;
}

/* ---------------------------------------------------------------- parts */

struct own_units {
    double centre[TREMOLO_MAX_FEATURES];
    double scale[TREMOLO_MAX_FEATURES];
    struct tremolo_units units;
};

static void set_units(struct own_units *own, const struct served_study *served)
{
    size_t d = served->study->dimension;
    for (size_t i = 0; i < d; i++) {
        const struct tremolo_study_coordinate *at = tremolo_study_file_coordinate(served->file, i);
        own->centre[i] = (at->low + at->high) / 2.0;
        own->scale[i] = (at->high - at->low) / 2.0;
    }
    const struct tremolo_study_coordinate *y = tremolo_study_file_coordinate(served->file, d);
    own->units = (struct tremolo_units){own->centre, own->scale, (y->low + y->high) / 2.0,
                                        (y->high - y->low) / 2.0};
}

static json_t *score_json(const struct tremolo_coefficient *row)
{
    bool all = row->score_shape == TREMOLO_INTERVAL_ALL;
    return json_pack("{s:s, s:o, s:o}", "shape", tremolo_interval_name(row->score_shape), "low",
                     all ? json_null() : estimate_number(row->score_low), "high",
                     all ? json_null() : estimate_number(row->score_high));
}

/* What noise hides has no standard error that means anything, and no p. */
static json_t *coefficient_json(const char *name, const struct tremolo_coefficient *row)
{
    bool told = row->identified;
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o}", "name", name, "estimate",
                     estimate_number(row->estimate), "standard_error",
                     estimate_number(told ? row->standard_error : NAN), "low",
                     estimate_number(row->low), "high", estimate_number(row->high), "z",
                     estimate_number(told ? row->z : NAN), "p",
                     estimate_number(told ? row->p : NAN), "identified", (int)row->identified,
                     "score", score_json(row));
}

static const char *row_name(const struct served_study *served, size_t row)
{
    return row == served->study->dimension ? "(intercept)"
                                           : tremolo_study_file_coordinate(served->file, row)->name;
}

/* One sentence for all that the noise hides, or none. */
static json_t *unclear_json(const struct served_study *served,
                            const struct tremolo_coefficient *rows, uint64_t devices)
{
    char sentence[1024];
    const char *names[TREMOLO_MAX_FEATURES + 1];
    size_t count = (size_t)served->study->dimension + 1;
    for (size_t i = 0; i < count; i++) {
        names[i] = row_name(served, i);
    }
    tremolo_identification_summary(sentence, sizeof sentence, names, rows, count, devices);
    return sentence[0] != '\0' ? json_pack("[s]", sentence) : json_array();
}

static void add_inference(json_t *answer, const struct served_study *served,
                          const struct snapshot *snapshot, const struct own_units *own)
{
    size_t d = served->study->dimension;
    json_t *table = json_array();
    struct tremolo_coefficient *rows = calloc(d + 1, sizeof *rows);
    enum tremolo_status status = TREMOLO_NO_MEMORY;
    if (rows != NULL) {
        status = tremolo_infer(rows, snapshot->evidence, &own->units, true, level);
    }
    for (size_t i = 0; i <= d && status == TREMOLO_OK; i++) {
        json_t *row = coefficient_json(row_name(served, i), &rows[i]);
        if (i < d) { /* what a forest plot needs to put all on one axis */
            (void)json_object_set_new(row, "range", estimate_number(2.0 * own->scale[i]));
        }
        (void)json_array_append_new(table, row);
    }
    (void)json_object_set_new(answer, "coefficients", table);
    (void)json_object_set_new(answer, "not_identified",
                              status == TREMOLO_OK
                                  ? unclear_json(served, rows, snapshot->evidence_reports)
                                  : json_pack("[s]", tremolo_status_sentence(status)));
    free(rows);
}

static json_t *diagnostics_json(const struct served_study *served, const struct tremolo_fit *fit,
                                const struct own_units *own)
{
    const struct tremolo_study *study = served->study;
    double residual = sqrt(fmax(0.0, fit->residual_variance)) * own->units.response_scale;
    return json_pack("{s:o, s:o, s:I, s:o}", "residual_sd", estimate_number(residual), "condition",
                     estimate_number(fit->condition), "negative_eigenvalues",
                     (json_int_t)fit->negative, "noise_sd",
                     estimate_number(ldexp(1.0, study->noise_log2) / study->unit));
}

static void add_prediction(json_t *answer, const struct served_study *served,
                           struct snapshot *snapshot, const struct own_units *own)
{
    size_t d = served->study->dimension;
    double beta[TREMOLO_MAX_FEATURES];
    double intercept = 0.0;
    struct tremolo_fit fit;
    struct tremolo_fit_options options = TREMOLO_FIT_DEFAULTS;
    if (tremolo_fit(beta, &fit, snapshot->evidence, &options) != TREMOLO_OK) {
        (void)json_object_set_new(answer, "r2", json_null());
        return;
    }
    tremolo_fit_to_own(beta, &intercept, beta, fit.intercept, d, &own->units);
    snapshot->r2 = fit.r2;
    (void)json_object_set_new(answer, "r2", estimate_number(fit.r2));
    (void)json_object_set_new(answer, "diagnostics", diagnostics_json(served, &fit, own));
    (void)json_object_set_new(answer, "prediction",
                              json_pack("{s:s, s:o, s:o, s:o}", "method", "auto", "coefficients",
                                        estimate_numbers(beta, d), "intercept",
                                        estimate_number(intercept), "r2", estimate_number(fit.r2)));
}

/* Null when it cannot be said. */
static json_t *guarantee_json(const struct served_study *served)
{
    json_t *guarantee = guarantee_study_json(served->file);
    return guarantee != NULL ? guarantee : json_null();
}

enum tremolo_status estimate_guarantee_json(char **json, const struct served_study *served)
{
    json_t *guarantee = guarantee_json(served);
    char *text = json_is_object(guarantee) ? json_dumps(guarantee, ESTIMATE_JSON) : NULL;
    json_decref(guarantee);
    if (text == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    *json = text;
    return TREMOLO_OK;
}

static const char why_pooled[] =
    "devices of this study have names, so the reports of one device in several rounds are left "
    "out together when standard errors are computed, and all rounds count";
static const char why_largest[] =
    "devices of this study have no names, so nobody can tell which reports of several rounds come "
    "from one device; standard errors over all rounds would be too small, and the table is "
    "therefore made from the round with most reports alone";

static void add_iteration(json_t *answer, const struct served_study *served,
                          const struct snapshot *snapshot)
{
    size_t d = served->study->dimension;
    if (served->terms->rounds == 1) {
        return;
    }
    json_t *iteration = json_pack("{s:o}", "last", estimate_numbers(snapshot->last, d));
    if (snapshot->done) {
        (void)json_object_set_new(iteration, "average", estimate_numbers(snapshot->average, d));
    }
    (void)json_object_set_new(answer, "iteration", iteration);
    (void)json_object_set_new(
        answer, "inference_from",
        snapshot->pooled
            ? json_string("all rounds")
            : json_sprintf("round %u of %u", snapshot->evidence_round + 1, served->terms->rounds));
    (void)json_object_set_new(answer, "inference_why",
                              json_string(snapshot->pooled ? why_pooled : why_largest));
}

static char *compose(const struct served_study *served, struct snapshot *snapshot)
{
    struct own_units own;
    json_t *answer = json_pack(
        "{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:f}", "study", served->id_text, "title",
        served->terms->title, "response",
        tremolo_study_file_coordinate(served->file, served->study->dimension)->name, "state",
        snapshot->done ? "done" : "open", "round", (json_int_t)snapshot->round, "rounds",
        (json_int_t)served->terms->rounds, "reports", (json_int_t)snapshot->reports,
        "round_reports", (json_int_t)snapshot->round_reports, "level", level);
    set_units(&own, served);
    (void)json_object_set_new(answer, "unit",
                              json_string(tremolo_study_file_response(served->file)->unit));
    (void)json_object_set_new(answer, "range", estimate_number(2.0 * own.units.response_scale));
    if (snapshot->evidence != NULL) {
        add_inference(answer, served, snapshot, &own);
        add_prediction(answer, served, snapshot, &own);
    } else {
        (void)json_object_set_new(answer, "coefficients", json_array());
        (void)json_object_set_new(
            answer, "not_identified",
            json_pack("[s]", "nothing can be said before two devices have reported"));
    }
    add_iteration(answer, served, snapshot);
    (void)json_object_set_new(answer, "guarantee", guarantee_json(served));
    char *text = json_dumps(answer, ESTIMATE_JSON);
    json_decref(answer);
    return text;
}

/* Keep what was composed, unless somebody kept something newer meanwhile. */
static void keep(struct served_study *served, char *text, const struct snapshot *snapshot,
                 uint64_t generation)
{
    (void)pthread_mutex_lock(&served->lock);
    if (served->estimate == NULL || served->estimate_generation < generation) {
        char *old = served->estimate;
        served->estimate = text;
        served->estimate_generation = generation;
        served->estimate_r2 = snapshot->r2;
        served->estimate_reports = snapshot->reports;
        text = old;
    }
    (void)pthread_mutex_unlock(&served->lock);
    free(text);
}

/* The answer of this generation: from the study (*text), or its parts (snapshot). */
static enum tremolo_status look_up(char **text, struct snapshot *snapshot, uint64_t *generation,
                                   struct served_study *served)
{
    enum tremolo_status status = TREMOLO_OK;
    (void)pthread_mutex_lock(&served->lock);
    *generation = served->generation;
    if (served->estimate != NULL && served->estimate_generation == *generation) {
        *text = strdup(served->estimate);
        status = *text != NULL ? TREMOLO_OK : TREMOLO_NO_MEMORY;
    } else {
        status = take_snapshot(snapshot, served);
    }
    (void)pthread_mutex_unlock(&served->lock);
    return status;
}

char *estimate_kept(struct served_study *served)
{
    char *text = NULL;
    if (pthread_mutex_trylock(&served->lock) != 0) {
        return NULL; /* perhaps somebody computes */
    }
    if (served->estimate != NULL && served->estimate_generation == served->generation) {
        text = strdup(served->estimate);
    }
    (void)pthread_mutex_unlock(&served->lock);
    return text;
}

enum tremolo_status estimate_json(char **json, struct served_study *served)
{
    struct snapshot *snapshot = calloc(1, sizeof *snapshot);
    char *text = NULL;
    uint64_t generation = 0;
    if (snapshot == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    enum tremolo_status status = look_up(&text, snapshot, &generation, served);
    if (status == TREMOLO_OK && text == NULL) {
        text = compose(served, snapshot);
        char *kept = text != NULL ? strdup(text) : NULL;
        if (kept != NULL) {
            keep(served, kept, snapshot, generation);
        }
    }
    tremolo_debias_free(snapshot->evidence);
    free(snapshot);
    if (status == TREMOLO_OK && text == NULL) {
        status = TREMOLO_NO_MEMORY;
    }
    if (status == TREMOLO_OK) {
        *json = text;
    }
    return status;
}
