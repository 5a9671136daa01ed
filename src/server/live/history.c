/* history.c -- samples over time, and the answer that holds them.
 *
 * The samples cover a study's whole time in bounded memory: when there is no
 * room for the next, every second one goes and the spacing doubles. The rate is
 * taken over the last few ticks. */
#include "history.h"

#include <jansson.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "estimate.h"
#include "document.h"
#include "rounds.h"
#include "served_study.h"

/* ---------------------------------------------------------------- samples */

static void add_mark(struct history *history, uint64_t reports, int64_t now_ms)
{
    history->mark[history->marks % HISTORY_MARKS] = (struct history_mark){now_ms, reports};
    history->marks++;
}

/* NaN before two ticks: a study that began this second has no rate, and 0 would be one. */
static double rate_of(const struct history *history)
{
    if (history->marks < 2) {
        return NAN;
    }
    uint64_t kept = history->marks < HISTORY_MARKS ? history->marks : HISTORY_MARKS;
    const struct history_mark *first = &history->mark[(history->marks - kept) % HISTORY_MARKS];
    const struct history_mark *last = &history->mark[(history->marks - 1) % HISTORY_MARKS];
    double seconds = (double)(last->time_ms - first->time_ms) / 1000.0;
    /* Fewer than before were left when some were discarded. */
    uint64_t came = last->reports > first->reports ? last->reports - first->reports : 0;
    return seconds > 0.0 ? (double)came / seconds : NAN;
}

static void add_sample(struct history *history, const struct history_sample *sample)
{
    if (history->samples == HISTORY_SAMPLES_MAX) {
        history->samples /= 2;
        for (size_t i = 0; i < history->samples; i++) {
            history->sample[i] = history->sample[2 * i];
        }
        history->spacing *= 2;
    }
    history->sample[history->samples++] = *sample;
    history->unstored = true;
}

static bool sample_is_due(struct history *history, uint64_t reports, int64_t now)
{
    if (history->spacing == 0) {
        history->spacing = HISTORY_SPACING_FIRST;
    }
    if (history->samples == 0) {
        return true;
    }
    const struct history_sample *last = &history->sample[history->samples - 1];
    return last->reports != reports && now - last->time >= history->spacing;
}

/* One lock for each round: reports go on being folded between two of them. */
static void refresh_gradient(struct served_study *served, unsigned round)
{
    (void)pthread_mutex_lock(&served->sums.lock);
    if (round < served->sums.opened) {
        struct served_round *at = &served->sums.rounds[round];
        uint64_t count = tremolo_moments_count(at->moments);
        double norm = NAN;
        if (count != at->gradient_reports &&
            rounds_gradient_norm(&norm, served, round) == TREMOLO_OK) {
            at->gradient_norm = norm;
            at->gradient_reports = count;
        }
    }
    (void)pthread_mutex_unlock(&served->sums.lock);
}

/* What the estimate says now, as a sample and where one is due as a point. Lock held. */
static void take(struct served_study *served, int64_t now)
{
    struct history *history = &served->sums.history;
    const struct served_estimate *estimate = &served->sums.estimate;
    struct history_sample sample = {now, estimate->reports, estimate->r2};
    struct history_point point = {now, estimate->devices};
    if (sample_is_due(history, estimate->reports, now)) {
        add_sample(history, &sample);
    }
    if (estimate->values != NULL && history_point_is_due(history, point.devices)) {
        history_add_point(history, served->study->dimension, point, estimate->values);
    }
}

void history_tick(struct served_study *served, int64_t now, int64_t now_ms)
{
    (void)pthread_mutex_lock(&served->sums.lock);
    add_mark(&served->sums.history, served->sums.reports, now_ms);
    history_drop_beyond(&served->sums.history, served->sums.reports);
    /* The table of one round is from all reports; of several, samples decide when to look. After a
     * restart nothing may be due for ever, and yet the list has to say what was learnt. */
    bool due = served->sums.estimate.summary == NULL ||
               sample_is_due(&served->sums.history, served->sums.reports, now) ||
               (served->terms->rounds == 1 &&
                history_point_is_due(&served->sums.history, served->sums.reports));
    unsigned opened = served->sums.opened;
    (void)pthread_mutex_unlock(&served->sums.lock);
    for (unsigned t = 0; t < opened && served->terms->rounds > 1; t++) {
        refresh_gradient(served, t);
    }
    char *estimate = NULL;
    if (!due || estimate_json(&estimate, served) != TREMOLO_OK) {
        return;
    }
    free(estimate);
    (void)pthread_mutex_lock(&served->sums.lock);
    take(served, now);
    (void)pthread_mutex_unlock(&served->sums.lock);
}

/* ---------------------------------------------------------------- answer */

static json_t *samples_json(const struct history *history)
{
    json_t *list = json_array();
    for (size_t i = 0; i < history->samples; i++) {
        const struct history_sample *sample = &history->sample[i];
        json_latch_append(&list, json_pack("{s:I, s:I, s:o}", "time", (json_int_t)sample->time,
                                           "reports", (json_int_t)sample->reports, "r2",
                                           json_latch_number(sample->r2)));
    }
    return list;
}

/* As many digits as a float has: exact ones would be twice as long. */
static json_t *float_json(float value)
{
    char digits[32];
    if (!isfinite(value)) {
        return json_null();
    }
    (void)snprintf(digits, sizeof digits, "%.7g", (double)value);
    return json_real(strtod(digits, NULL));
}

static json_t *floats_json(const float *values, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        json_latch_append(&list, float_json(values[i]));
    }
    return list;
}

static json_t *convergence_json(const struct history *history, size_t features)
{
    json_t *list = json_array();
    for (size_t i = 0; i < history->points; i++) {
        const struct history_point *point = &history->point[i];
        const float *values = history->value + i * HISTORY_POINT_KINDS * features;
        json_latch_append(&list,
                          json_pack("{s:I, s:I, s:o, s:o, s:o}", "time", (json_int_t)point->time,
                                    "devices", (json_int_t)point->devices, "estimate",
                                    floats_json(values, features), "low",
                                    floats_json(values + features, features), "high",
                                    floats_json(values + 2 * features, features)));
    }
    return list;
}

static json_t *round_entry(const struct served_study *served, unsigned round)
{
    const struct served_round *at = &served->sums.rounds[round];
    size_t d = served->study->dimension;
    bool with_beta = (served->sums.opened - round) * d <= HISTORY_NUMBERS_MAX;
    bool known = at->gradient_reports >= 2;
    return json_pack("{s:I, s:I, s:o, s:I, s:o, s:o}", "round", (json_int_t)round, "opened",
                     (json_int_t)at->opened_at, "closed",
                     at->closed_at != 0 ? json_integer(at->closed_at) : json_null(), "reports",
                     (json_int_t)tremolo_moments_count(at->moments), "beta",
                     with_beta ? json_latch_numbers(at->beta, d) : json_null(), "gradient_norm",
                     json_latch_number(known ? at->gradient_norm : NAN));
}

static json_t *rounds_json(const struct served_study *served)
{
    json_t *list = json_array();
    for (unsigned t = 0; t < served->sums.opened; t++) {
        json_latch_append(&list, round_entry(served, t));
    }
    return list;
}

static json_t *outcomes_json(struct served_study *served)
{
    json_t *outcomes = json_object();
    for (int i = OUTCOME_PENDING + 1; i < OUTCOME_COUNT; i++) {
        char label[OUTCOME_LABEL_BYTES];
        outcome_label(label, (enum server_outcome)i);
        uint64_t count = atomic_load_explicit(&served->outcome[i], memory_order_relaxed);
        json_latch_set(&outcomes, label, json_integer((json_int_t)count));
    }
    return outcomes;
}

/* Lock held. */
static json_t *compose(struct served_study *served, int64_t now)
{
    return json_pack(
        "{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "study",
        served->id_text, "title", served->terms->title, "state", round_state(served, now), "time",
        (json_int_t)now, "since", (json_int_t)served->since, "round",
        (json_int_t)served->sums.opened - 1, "rounds_planned", (json_int_t)served->terms->rounds,
        "reports", (json_int_t)served->sums.reports, "devices", (json_int_t)served_devices(served),
        "round_reports",
        (json_int_t)tremolo_moments_count(served->sums.rounds[served->sums.opened - 1].moments),
        "rate", json_latch_number(rate_of(&served->sums.history)), "r2",
        json_latch_number(served->sums.estimate.r2), "outcomes", outcomes_json(served), "samples",
        samples_json(&served->sums.history), "convergence",
        convergence_json(&served->sums.history, served->study->dimension), "rounds",
        rounds_json(served));
}

enum tremolo_status history_json(char **json, struct served_study *served, int64_t now)
{
    struct history *history = &served->sums.history;
    enum tremolo_status status = TREMOLO_OK;
    (void)pthread_mutex_lock(&served->sums.lock);
    if (history->text == NULL || history->text_time != now) {
        free(history->text);
        history->text = NULL;
        history->text_time = now;
        status = json_latch_text(&history->text, compose(served, now), JSON_LATCH_EXACT);
    }
    char *copy = status == TREMOLO_OK ? strdup(history->text) : NULL;
    (void)pthread_mutex_unlock(&served->sums.lock);
    if (copy == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    *json = copy;
    return TREMOLO_OK;
}
