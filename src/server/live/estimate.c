/* estimate.c -- from a study's sums to the answer an analyst reads, and the threads that compute it.
 *
 * Studies with several rounds: where devices have names, the jackknife's buckets hold whole devices
 * and all rounds are pooled. In an open study nothing shows which reports come from one person, so
 * the table uses the round with most reports alone, which is valid if less sharp.
 *
 * An estimate is computed from a copy of what it needs, so the lock of the sums is held only while
 * that is made. The answer at the usual level is kept with the generation of its sums, and repeated
 * until they change; an answer at another level is computed for whom asks. */
#include "estimate.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "background.h"
#include "document.h"
#include "estimate_json.h"
#include "study_internal.h"

/* What the computation works on, so that the lock is held only to fill it: evidence has copies of all
 * sums that it needs, and nothing in here points into the study's rounds. */
struct snapshot {
    struct tremolo_evidence evidence;
    struct served_estimate made;
    uint64_t devices; /* at least */
    uint64_t round_reports;
    unsigned round;
    bool done;
    bool pooled;
    unsigned evidence_round;
    double last[TREMOLO_MAX_FEATURES];
    double average[TREMOLO_MAX_FEATURES];
};

/* The round with most reports, the latest of several. Lock held. */
static unsigned largest_round(const struct served_study *served)
{
    unsigned largest = 0;
    for (unsigned t = 1; t < served->sums.opened; t++) {
        if (served_reports(served, t) >= served_reports(served, largest)) {
            largest = t;
        }
    }
    return largest;
}

/* Copy what an estimate of now needs, evidence included. Lock held. */
static enum tremolo_status take_snapshot(struct snapshot *snapshot, struct served_study *served)
{
    snapshot->made = (struct served_estimate){
        .generation = served->sums.generation, .reports = served->sums.reports, .r2 = NAN};
    snapshot->round = served->sums.opened - 1;
    snapshot->done = served_is_done(served);
    snapshot->devices = served_devices(served);
    snapshot->round_reports = served_reports(served, snapshot->round);
    snapshot->pooled = served->terms->rounds > 1 && served->check.secret != NULL;
    snapshot->evidence_round = largest_round(served);
    snapshot->made.devices =
        snapshot->pooled ? served->sums.reports : served_reports(served, snapshot->evidence_round);
    if (served->sums.reports < 2) {
        return TREMOLO_OK;
    }
    enum tremolo_status status = rounds_evidence(
        &snapshot->evidence, served, snapshot->pooled ? ROUNDS_ALL : (int)snapshot->evidence_round);
    if (status == TREMOLO_OK && snapshot->done && served->terms->rounds > 1) {
        status = rounds_finish(snapshot->last, snapshot->average, served);
    }
    /* The next round's starting point is the last iterate so far. */
    if (!snapshot->done) {
        memcpy(snapshot->last, served->sums.rounds[snapshot->round].beta,
               served->study->dimension * sizeof *snapshot->last);
    }
    return status;
}

/* ---------------------------------------------------------------- at a glance */

/* The members of `from` that are named, up to NULL; what is missing is null. */
static json_t *only(const json_t *from, const char *const *names)
{
    json_t *made = json_object();
    for (size_t i = 0; names[i] != NULL; i++) {
        json_t *value = json_object_get(from, names[i]);
        json_latch_set(&made, names[i], value != NULL ? json_deep_copy(value) : json_null());
    }
    return made;
}

/* A study in one row of a list: made when its estimate is, so that a list of many studies computes
 * nothing. Of the estimate's document "devices_needed" and "guarantee" without its long words, how many of the
 * "features" are significant (the member is called told), and "learnt", the sentence of the largest
 * one, or null. NULL without memory; the caller owns it. */
static json_t *summary_of(const json_t *document)
{
    static const char *const names[] = {"devices_needed", NULL};
    static const char *const promise[] = {
        "epsilon", "neighbours", "attacker_right", "any_two", "strength", "answer", NULL};
    const json_t *guarantee = json_object_get(document, "guarantee");
    const json_t *answers = json_object_get(document, "answers");
    const json_t *learnt = json_object_get(json_array_get(answers, 0), "text");
    const json_t *certain = json_array_get(answers, 1);
    json_int_t told = json_integer_value(json_object_get(certain, "significant"));
    json_t *made = only(document, names);
    json_latch_set(&made, "guarantee",
                   json_is_object(guarantee) ? only(guarantee, promise) : json_null());
    json_latch_set(&made, "told", json_integer(told));
    json_latch_set(&made, "features", json_incref(json_object_get(certain, "of")));
    json_latch_set(&made, "learnt", told > 0 ? json_deep_copy(learnt) : json_null());
    return made;
}

/* ---------------------------------------------------------------- parts */

/* What the study says of its coordinates, in the shape an estimate wants. */
struct own_units {
    double centre[TREMOLO_MAX_FEATURES];
    double scale[TREMOLO_MAX_FEATURES];
    double range[TREMOLO_MAX_FEATURES];
    const char *name[TREMOLO_MAX_FEATURES];
    struct tremolo_estimate_meaning meaning[TREMOLO_MAX_FEATURES];
    struct tremolo_units units;
};

/* From the study file; a coordinate's scale is half its range, so that scaled values end at 1. */
static void set_units(struct own_units *own, const struct served_study *served)
{
    size_t d = served->study->dimension;
    for (size_t i = 0; i < d; i++) {
        const struct tremolo_study_coordinate *at = tremolo_study_file_coordinate(served->file, i);
        own->name[i] = at->name;
        own->meaning[i] = (struct tremolo_estimate_meaning){at->unit, at->from, at->to};
        own->centre[i] = (at->low + at->high) / 2.0;
        own->scale[i] = (at->high - at->low) / 2.0;
        own->range[i] = 2.0 * own->scale[i];
    }
    const struct tremolo_study_coordinate *y = tremolo_study_file_coordinate(served->file, d);
    own->units = (struct tremolo_units){own->centre, own->scale, (y->low + y->high) / 2.0,
                                        (y->high - y->low) / 2.0};
}

static const char why_pooled[] =
    "devices of this study have names, so the reports of one device in several rounds are left "
    "out together when standard errors are computed, and all rounds count";
static const char why_largest[] =
    "devices of this study have no names, so nobody can tell which reports of several rounds come "
    "from one device; standard errors over all rounds would be too small, and the table is "
    "therefore made from the round with most reports alone";

/* What the estimate is about and what came; the rest follows from the evidence. */
static struct tremolo_estimate estimate_of(const struct served_study *served,
                                           const struct snapshot *snapshot,
                                           const struct own_units *own)
{
    struct tremolo_estimate estimate;
    const struct tremolo_study_feature *response = tremolo_study_file_response(served->file);
    bool ballot = served->study->release == TREMOLO_RELEASE_BALLOT;
    bool rounds = served->terms->rounds > 1;
    tremolo_estimate_begin(&estimate);
    estimate.title = served->terms->title;
    estimate.study = served->id_text;
    estimate.release = ballot ? "ballot" : "sample";
    estimate.features = served->study->dimension;
    estimate.names = own->name;
    estimate.inputs = tremolo_study_file_inputs(served->file);
    estimate.ranges = own->range;
    estimate.meanings = own->meaning;
    estimate.response = response->name;
    estimate.unit = response->unit;
    estimate.response_range = 2.0 * own->units.response_scale;
    estimate.state = snapshot->done ? "done" : "open";
    estimate.round = snapshot->round;
    estimate.rounds = served->terms->rounds;
    estimate.reports = (int64_t)snapshot->made.reports;
    estimate.devices = (int64_t)snapshot->devices;
    estimate.round_reports = (int64_t)snapshot->round_reports;
    estimate.devices_needed = tremolo_release_devices_needed(served->study, served->file);
    estimate.last = rounds ? snapshot->last : NULL;
    estimate.average = snapshot->done ? snapshot->average : NULL;
    estimate.evidence_round =
        snapshot->pooled ? TREMOLO_UNKNOWN : (int64_t)snapshot->evidence_round;
    estimate.evidence_reports = snapshot->made.devices;
    estimate.evidence_why = !rounds ? NULL : snapshot->pooled ? why_pooled : why_largest;
    estimate.method = "auto";
    estimate.noise_sd = ballot ? NAN : ldexp(1.0, served->study->noise_log2) / served->study->unit;
    return estimate;
}

/* Estimate, low and high of every feature; NAN where noise hides it. */
static float *values_of(const struct tremolo_estimate *estimate)
{
    size_t d = estimate->features;
    float *values = estimate->rows != NULL ? calloc(HISTORY_POINT_KINDS * d, sizeof *values) : NULL;
    for (size_t i = 0; values != NULL && i < d; i++) {
        const struct tremolo_coefficient *row = &estimate->rows[i];
        values[i] = (float)(row->identified ? row->estimate : NAN);
        values[d + i] = (float)(row->identified ? row->low : NAN);
        values[2 * d + i] = (float)(row->identified ? row->high : NAN);
    }
    return values;
}

/* The answer as text; NULL without memory. All else that fails is an answer: a table needs no
 * prediction. */
static char *compose(const struct served_study *served, struct snapshot *snapshot, double level)
{
    const struct tremolo_estimate_method method = {.fit = TREMOLO_FIT_DEFAULTS};
    struct own_units own;
    set_units(&own, served);
    struct tremolo_estimate estimate = estimate_of(served, snapshot, &own);
    if (tremolo_estimate_make(&estimate, &snapshot->evidence, &own.units, level, &method) ==
        TREMOLO_NO_MEMORY) {
        tremolo_estimate_free(&estimate);
        return NULL;
    }
    snapshot->made.r2 = estimate.r2;
    snapshot->made.values = values_of(&estimate);
    json_t *document = estimate_document(&estimate, guarantee_study_json(served->file));
    tremolo_estimate_free(&estimate);
    snapshot->made.summary = summary_of(document);
    return json_latch_exact(document);
}

/* Keep what was composed, unless something newer was kept in the meantime; `made` gets what was
 * kept before. */
static void keep(struct served_study *served, struct served_estimate *made)
{
    served_lock(served);
    if (served->sums.estimate.text == NULL || served->sums.estimate.generation < made->generation) {
        struct served_estimate before = served->sums.estimate;
        served->sums.estimate = *made;
        *made = before;
    }
    served_unlock(served);
}

/* True if the answer that is kept is of this generation. Lock held. */
static bool is_current(const struct served_study *served)
{
    return served->sums.estimate.text != NULL &&
           served->sums.estimate.generation == served->sums.generation;
}

/* The answer of this generation: from the study (*text, unless text is NULL), or its parts
 * (snapshot). */
static enum tremolo_status look_up(char **text, struct snapshot *snapshot,
                                   struct served_study *served)
{
    enum tremolo_status status = TREMOLO_OK;
    served_lock(served);
    if (text != NULL && is_current(served)) {
        *text = strdup(served->sums.estimate.text);
        status = *text != NULL ? TREMOLO_OK : TREMOLO_NO_MEMORY;
    } else {
        status = take_snapshot(snapshot, served);
    }
    served_unlock(served);
    return status;
}

/* A request thread must not wait for a lock that is held while sums are merged. */
char *estimate_kept(struct served_study *served)
{
    if (pthread_mutex_trylock(&served->sums.lock) != 0) {
        return NULL; /* perhaps it is computed now */
    }
    char *text = is_current(served) ? strdup(served->sums.estimate.text) : NULL;
    served_unlock(served);
    return text;
}

/* The snapshot is taken under the lock, the computing is not: several threads may compute the same
 * generation, and the first to finish is kept. */
enum tremolo_status estimate_json(char **json, struct served_study *served, double level)
{
    bool usual = level == ESTIMATE_LEVEL;
    struct snapshot *snapshot = calloc(1, sizeof *snapshot);
    char *text = NULL;
    if (snapshot == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    enum tremolo_status status = look_up(usual ? &text : NULL, snapshot, served);
    if (status == TREMOLO_OK && text == NULL) {
        text = compose(served, snapshot, level);
        status = text != NULL ? TREMOLO_OK : TREMOLO_NO_MEMORY;
        snapshot->made.text = usual && text != NULL ? strdup(text) : NULL;
        if (snapshot->made.text != NULL) {
            keep(served, &snapshot->made);
        }
    }
    tremolo_evidence_free(&snapshot->evidence);
    served_estimate_free(&snapshot->made);
    free(snapshot);
    if (status == TREMOLO_OK) {
        *json = text;
    }
    return status;
}

/* ---------------------------------------------------------------- the threads that compute */

enum { THREADS = BACKGROUND_THREADS, WIDE_MAX = THREADS - 1, NICENESS = 5 };

/* The queue and the threads that take from it. A thread takes all questions about one study at one level
 * at once, and no other thread begins with that study until it is done, so a study that many ask about
 * is computed once and never holds more than one thread. */
struct estimator {
    const _Atomic bool *stopping; /* the server is */
    struct background threads;    /* their lock guards all below, and `estimating` of studies */
    unsigned wide;                /* studies that are wide and under way */
    struct question *first;
    struct question **last;
};

/* A study that takes seconds. */
static bool is_wide(const struct served_study *served)
{
    return served->study->dimension >= ESTIMATOR_WIDE;
}

/* True if a thread may begin with this study. Lock held. */
static bool is_free(const struct estimator *estimator, const struct served_study *served)
{
    return !served->estimating && (!is_wide(served) || estimator->wide < WIDE_MAX);
}

/* The first question that a thread may begin with, or NULL. Lock held. */
static struct question *next_question(const struct estimator *estimator)
{
    struct question *question = estimator->first;
    while (question != NULL && !is_free(estimator, question->served)) {
        question = question->next;
    }
    return question;
}

/* Take all that ask what `asked` asks out of the queue, in their order. Lock held. */
static struct question *take_all(struct estimator *estimator, const struct question *asked)
{
    const struct served_study *served = asked->served;
    double level = asked->level;
    struct question *taken = NULL;
    struct question **end = &taken;
    struct question **link = &estimator->first;
    while (*link != NULL) {
        struct question *question = *link;
        if (question->served != served || question->level != level) {
            link = &question->next;
            continue;
        }
        *link = question->next;
        question->next = NULL;
        *end = question;
        end = &question->next;
    }
    estimator->last = link;
    return taken;
}

/* Each question gets its own copy. */
static void answer_all(struct question *questions, enum tremolo_status status, const char *json)
{
    while (questions != NULL) {
        struct question *question = questions;
        questions = question->next;
        question->json = json != NULL ? strdup(json) : NULL;
        question->status = json != NULL && question->json == NULL ? TREMOLO_NO_MEMORY : status;
        question->done(question);
    }
}

/* Once the server stops nothing is computed any more: those who wait get no answer at once. */
static void answer_study(const struct estimator *estimator, struct question *questions)
{
    char *json = NULL;
    enum tremolo_status status = TREMOLO_OK;
    if (!atomic_load(estimator->stopping)) {
        status = estimate_json(&json, questions->served, questions->level);
    }
    answer_all(questions, status, json);
    free(json);
}

/* Answer this question and those like it. Lock held, but not while it computes. */
static void serve(struct estimator *estimator, struct question *asked)
{
    struct served_study *served = asked->served;
    served->estimating = true;
    estimator->wide += is_wide(served);
    struct question *questions = take_all(estimator, asked);
    background_unlock(&estimator->threads);
    answer_study(estimator, questions);
    background_lock(&estimator->threads);
    served->estimating = false;
    estimator->wide -= is_wide(served);
    background_signal(&estimator->threads);
}

/* One of the threads. They yield to those that take reports, and answer all questions before they end. */
static void *estimator_main(void *argument)
{
    struct estimator *estimator = argument;
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), NICENESS);
    background_lock(&estimator->threads);
    while (!estimator->threads.stopping || estimator->first != NULL) {
        struct question *question = next_question(estimator);
        if (question != NULL) {
            serve(estimator, question);
        } else {
            (void)pthread_cond_wait(&estimator->threads.wake, &estimator->threads.lock);
        }
    }
    background_unlock(&estimator->threads);
    return NULL;
}

/* At the end of the queue; a thread that is free is woken. */
void estimator_ask(struct estimator *estimator, struct question *question)
{
    question->next = NULL;
    background_lock(&estimator->threads);
    *estimator->last = question;
    estimator->last = &question->next;
    background_signal(&estimator->threads);
    background_unlock(&estimator->threads);
}

/* All threads or none: with fewer, wide studies would hold up the others. */
struct estimator *estimator_start(const _Atomic bool *stopping)
{
    struct estimator *estimator = calloc(1, sizeof *estimator);
    if (estimator == NULL) {
        return NULL;
    }
    estimator->stopping = stopping;
    estimator->last = &estimator->first;
    background_init(&estimator->threads);
    for (size_t i = 0; i < THREADS; i++) {
        if (!background_start(&estimator->threads, estimator_main, estimator)) {
            estimator_stop(estimator);
            return NULL;
        }
    }
    return estimator;
}

void estimator_stop(struct estimator *estimator)
{
    if (estimator != NULL) {
        background_free(&estimator->threads);
        free(estimator);
    }
}
