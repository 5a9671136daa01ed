/* history.c -- what charts show of a study's past, in bounded memory, and the thread that takes it.
 *
 * Samples (reports and R-squared) cover a study's whole time: when there is no room for the next,
 * every second one goes and the spacing doubles. The rate is taken over the last few ticks.
 *
 * A point (all coefficients with their intervals) is taken when so many devices have come that a
 * chart over their logarithm needs one: at first whenever there is a twelfth more (an eighth of an
 * octave). When there is no room for the next, every second point goes and the step doubles. The
 * values of a point are single floats: a chart has no more digits.
 *
 * A study with many features may need a second for one estimate; the sampler's pause grows with
 * what a tick took, so that watching costs a twentieth of a processor at most and reports come
 * first. */
#include "history.h"

#include <jansson.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "background.h"
#include "clock.h"
#include "document.h"
#include "encoder.h"
#include "estimate.h"
#include "served_study.h"

/* ---------------------------------------------------------------- samples
 *
 * A tick is cheap for a study that gets no reports: a mark is set, and nothing is computed. The
 * estimate is computed by estimate_json(), which keeps it, so the next reader gets it without
 * computing. */

/* One mark a tick, in a ring: the rate is taken between the oldest and the newest of them. */
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

/* Without room every second sample goes and the spacing doubles: a study of a year has as many
 * samples as one of an hour. */
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

/* Only when something came since the last one: an idle study keeps its samples. */
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
    served_lock(served);
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
    served_unlock(served);
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
    served_lock(served);
    add_mark(&served->sums.history, served->sums.reports, now_ms);
    history_drop_beyond(&served->sums.history, served->sums.reports);
    /* The table of one round is from all reports; of several, samples decide when to look. After a
     * restart nothing may be due for ever, and yet the list has to say what was learnt. */
    bool due = served->sums.estimate.summary == NULL ||
               sample_is_due(&served->sums.history, served->sums.reports, now) ||
               (served->terms->rounds == 1 &&
                history_point_is_due(&served->sums.history, served->sums.reports));
    unsigned opened = served->sums.opened;
    served_unlock(served);
    for (unsigned t = 0; t < opened && served->terms->rounds > 1; t++) {
        refresh_gradient(served, t);
    }
    char *estimate = NULL;
    if (!due || estimate_json(&estimate, served, ESTIMATE_LEVEL) != TREMOLO_OK) {
        return;
    }
    free(estimate);
    served_lock(served);
    take(served, now);
    served_unlock(served);
}

/* ---------------------------------------------------------------- answer
 *
 * Everything is read under the lock of the study's sums and written as one text. The text is
 * kept for a second. */

/* Reports and R-squared over time, oldest first. */
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

/* Estimates with their intervals over the number of devices, oldest first. */
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

/* One round. Its coefficients are left out when the list would have more than
 * HISTORY_NUMBERS_MAX numbers: newest rounds have them. */
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

/* All rounds that have begun. Lock held. */
static json_t *rounds_json(const struct served_study *served)
{
    json_t *list = json_array();
    for (unsigned t = 0; t < served->sums.opened; t++) {
        json_latch_append(&list, round_entry(served, t));
    }
    return list;
}

/* Counted since the start of the server. The counters are atomic, so they may be of slightly
 * different moments. */
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
        "round_reports", (json_int_t)tremolo_moments_count(served_newest(served)->moments), "rate",
        json_latch_number(rate_of(&served->sums.history)), "r2",
        json_latch_number(served->sums.estimate.r2), "outcomes", outcomes_json(served), "samples",
        samples_json(&served->sums.history), "convergence",
        convergence_json(&served->sums.history, served->study->dimension), "rounds",
        rounds_json(served));
}

/* Written once a second, however many ask; the lock is held while it is written, because all of
 * it must be of one moment. */
char *history_json(struct served_study *served, int64_t now)
{
    struct history *history = &served->sums.history;
    served_lock(served);
    if (history->text == NULL || history->text_time != now) {
        free(history->text);
        history->text_time = now;
        history->text = json_latch_exact(compose(served, now));
    }
    char *copy = history->text != NULL ? strdup(history->text) : NULL;
    served_unlock(served);
    return copy;
}

/* ---------------------------------------------------------------- points of the coefficients
 *
 * A chart over the logarithm of devices needs as many points for the step from 100 to 200 as for
 * that from 10,000 to 20,000. So a point is due after a fixed factor, and the factor grows when
 * there is no room. */

enum {
    POINTS_MAX = 120,  /* of a study */
    POINTS_LEAST = 24, /* however many features it has */
    VALUES_MAX = 8192, /* floats, for more points than the least */
    VERSION = 1,
    SAMPLE_BYTES = 24,
    POINT_HEAD_BYTES = 16,
    VALUE_BYTES = 4,
};

static const double steps_per_octave = 8;

/* Numbers of one point: estimate, low and high of every feature. */
static size_t point_values(size_t features)
{
    return HISTORY_POINT_KINDS * features;
}

size_t history_points_max(size_t features)
{
    size_t room = VALUES_MAX / point_values(features);
    return room > POINTS_MAX ? POINTS_MAX : room < POINTS_LEAST ? POINTS_LEAST : room;
}

/* Memory for all points at once, on the first: most studies of a server that was just started
 * have none. */
static bool make_room(struct history *history, size_t features)
{
    if (history->point == NULL) {
        size_t most = history_points_max(features);
        history->growth = 1;
        history->point = calloc(most, sizeof *history->point);
        history->value = calloc(most * point_values(features), sizeof *history->value);
        if (history->point == NULL || history->value == NULL) {
            history_free(history);
            return false;
        }
    }
    return true;
}

/* Every second point goes; the newest stays. */
static void thin_out(struct history *history, size_t features)
{
    size_t values = point_values(features), kept = 0;
    for (size_t i = (history->points - 1) % 2; i < history->points; i += 2, kept++) {
        history->point[kept] = history->point[i];
        memmove(history->value + kept * values, history->value + i * values,
                values * sizeof *history->value);
    }
    history->points = kept;
    history->growth *= 2;
}

bool history_point_is_due(const struct history *history, uint64_t devices)
{
    if (history->points == 0) {
        return devices >= 2;
    }
    double grown = (double)devices / (double)history->point[history->points - 1].devices;
    return grown > 1.0 && log2(grown) * steps_per_octave >= history->growth;
}

void history_add_point(struct history *history, size_t features, struct history_point point,
                       const float *values)
{
    if (!make_room(history, features)) {
        return; /* a chart with a point less */
    }
    if (history->points == history_points_max(features)) {
        thin_out(history, features);
    }
    memcpy(history->value + history->points * point_values(features), values,
           point_values(features) * sizeof *values);
    history->point[history->points++] = point;
    history->unstored = true;
}

void history_drop_beyond(struct history *history, uint64_t reports)
{
    while (history->points > 0 && history->point[history->points - 1].devices > reports) {
        history->points--;
        history->unstored = true;
    }
    while (history->samples > 0 && history->sample[history->samples - 1].reports > reports) {
        history->samples--;
        history->unstored = true;
    }
}

/* ---------------------------------------------------------------- storing
 *
 * A history is a convenience, but it is stored and checked like the rest: a row that cannot be
 * understood is damage, and damage is never skipped. */

/* Samples and points are stored as they lie in memory, a number of 8 bytes after the other. */
enum { SAMPLE_NUMBERS = SAMPLE_BYTES / 8, POINT_NUMBERS = POINT_HEAD_BYTES / 8 };
_Static_assert(sizeof(struct history_sample) == SAMPLE_BYTES &&
                   sizeof(struct history_point) == POINT_HEAD_BYTES && sizeof(float) == VALUE_BYTES,
               "stored records have no gap");

/* The byte table is in docs/reference/storage.md, state `history`. */
static void encode(struct encoder *out, const struct history *history, size_t features)
{
    encode_number(out, VERSION, 1);
    encode_number(out, (uint64_t)history->spacing, 8);
    encode_number(out, history->samples, 2);
    encode_number(out, history->growth, 4);
    encode_number(out, history->points, 2);
    encode_numbers(out, history->sample, 8, SAMPLE_NUMBERS * history->samples);
    for (size_t i = 0; i < history->points; i++) {
        encode_numbers(out, &history->point[i], 8, POINT_NUMBERS);
        encode_numbers(out, history->value + i * point_values(features), VALUE_BYTES,
                       point_values(features));
    }
}

/* Encoded under the lock, stored without it. */
enum tremolo_status history_take(uint8_t **bytes, size_t *length, struct served_study *served)
{
    struct encoder out = {0};
    served_lock(served);
    if (served->sums.history.unstored) {
        encode(&out, &served->sums.history, served->study->dimension);
        served->sums.history.unstored = out.status != TREMOLO_OK;
    }
    served_unlock(served);
    if (out.status != TREMOLO_OK) {
        free(out.bytes);
        return out.status;
    }
    *bytes = out.bytes;
    *length = out.length;
    return TREMOLO_OK;
}

/* What was taken was not stored after all: the next checkpoint takes it again. */
void history_keep(struct served_study *served)
{
    served_lock(served);
    served->sums.history.unstored = true;
    served_unlock(served);
}

/* Staged only; after a failure of the sync the caller calls history_keep(). */
enum tremolo_status history_put(struct store *store, struct served_study *served)
{
    uint8_t *bytes = NULL;
    size_t length = 0;
    enum tremolo_status status = history_take(&bytes, &length, served);
    if (status == TREMOLO_OK && bytes != NULL) {
        status = store->put(store, "history", served->id, STORE_STUDY_BYTES, bytes, length);
        if (status != TREMOLO_OK) {
            history_keep(served);
        }
    }
    free(bytes);
    return status;
}

/* False when one is from before 1970: times are taken from each other, and stay within range. */
static bool decode_samples(struct history *history, struct decoder *in, size_t samples)
{
    decode_numbers(in, history->sample, 8, SAMPLE_NUMBERS * samples);
    for (size_t i = 0; i < samples; i++) {
        if (history->sample[i].time < 0) {
            return false;
        }
    }
    history->samples = samples;
    return true;
}

/* False unless devices grow from point to point, as they did when it was written. */
static bool decode_points(struct history *history, struct decoder *in, size_t points,
                          size_t features)
{
    size_t values = point_values(features);
    for (size_t i = 0; i < points; i++) {
        decode_numbers(in, &history->point[i], 8, POINT_NUMBERS);
        if (history->point[i].devices <= (i > 0 ? history->point[i - 1].devices : 0)) {
            return false;
        }
        decode_numbers(in, history->value + i * values, VALUE_BYTES, values);
    }
    history->points = points;
    return true;
}

/* A damaged history was found by its check value before. Here it must be one of this study:
 * lengths and numbers are compared, and a wrong one leaves the history empty or partly filled,
 * with MALFORMED. */
enum tremolo_status history_decode(struct history *history, size_t features, const uint8_t *value,
                                   size_t length)
{
    struct decoder in = {value, length, false};
    bool known = decode_number(&in, 1) == VERSION;
    int64_t spacing = (int64_t)decode_number(&in, 8);
    size_t samples = (size_t)decode_number(&in, 2);
    uint64_t growth = decode_number(&in, 4);
    size_t points = (size_t)decode_number(&in, 2);
    size_t rest =
        samples * SAMPLE_BYTES + points * (POINT_HEAD_BYTES + VALUE_BYTES * point_values(features));
    if (in.failed || !known || spacing < 0 || spacing > INT32_MAX ||
        samples > HISTORY_SAMPLES_MAX || points > history_points_max(features) || in.left != rest ||
        (points > 0 && (growth == 0 || growth > INT32_MAX))) {
        return TREMOLO_MALFORMED;
    }
    if (points > 0 && !make_room(history, features)) {
        return TREMOLO_NO_MEMORY;
    }
    history->spacing = spacing;
    if (!decode_samples(history, &in, samples) || !decode_points(history, &in, points, features)) {
        return TREMOLO_MALFORMED;
    }
    history->growth = points > 0 ? (uint32_t)growth : 1;
    return TREMOLO_OK;
}

/* ---------------------------------------------------------------- the sampler
 *
 * One thread for all studies. It yields to reports by pausing: a tick that took long is followed
 * by a pause that is PAUSE_FACTOR times longer. */

enum { TICK_MS = 1000, PAUSE_FACTOR = 19, PAUSE_MS_MAX = 120000 };

struct sampler {
    struct studies *studies;
    struct background thread;
};

/* False when it is time to end. Asked without a pause between two studies: with thousands of them a tick may
 * take seconds. */
static bool pause_for(struct sampler *sampler, int64_t ms)
{
    int64_t until = clock_ms() + ms;
    background_lock(&sampler->thread);
    for (int64_t left = ms; !sampler->thread.stopping && left > 0; left = until - clock_ms()) {
        background_wait_us(&sampler->thread, 1000 * left);
    }
    bool stopping = sampler->thread.stopping;
    background_unlock(&sampler->thread);
    return !stopping;
}

/* One tick for every study, then a pause that is PAUSE_FACTOR times as long as the tick took. */
static void *sampler_main(void *argument)
{
    struct sampler *sampler = argument;
    int64_t pause = TICK_MS;
    while (pause_for(sampler, pause)) {
        int64_t start = clock_ms();
        size_t count = studies_count(sampler->studies);
        for (size_t i = 0; i < count && pause_for(sampler, 0); i++) {
            history_tick(studies_at(sampler->studies, i), (int64_t)time(NULL), clock_ms());
        }
        pause = PAUSE_FACTOR * (clock_ms() - start);
        pause = pause < TICK_MS ? TICK_MS : pause > PAUSE_MS_MAX ? PAUSE_MS_MAX : pause;
    }
    return NULL;
}

struct sampler *sampler_start(struct studies *studies)
{
    struct sampler *sampler = calloc(1, sizeof *sampler);
    if (sampler == NULL) {
        return NULL;
    }
    sampler->studies = studies;
    background_init(&sampler->thread);
    if (!background_start(&sampler->thread, sampler_main, sampler)) {
        sampler_stop(sampler);
        return NULL;
    }
    return sampler;
}

void sampler_stop(struct sampler *sampler)
{
    if (sampler != NULL) {
        background_free(&sampler->thread);
        free(sampler);
    }
}
