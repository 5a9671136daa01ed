/* history_points.c -- how coefficients came to where they are, in bounded memory, and all of a
 * study's history as it is stored (docs/reference/storage.md).
 *
 * A point is taken when so many devices have come that a chart over their logarithm needs one: at first
 * whenever there is a twelfth more (an eighth of an octave). When there is no room for the next, every
 * second point goes and the step doubles. The values of a point are single floats: a chart has
 * no more digits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "encoder.h"
#include "history.h"
#include "served_study.h"

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

void history_free(struct history *history)
{
    free(history->point);
    free(history->value);
    history->point = NULL;
    history->value = NULL;
    history->points = 0;
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

/* ---------------------------------------------------------------- storing */

static void encode_float(struct encoder *out, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    encode_number(out, bits, VALUE_BYTES);
}

static float decode_float(struct decoder *in)
{
    uint32_t bits = (uint32_t)decode_number(in, VALUE_BYTES);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void encode(struct encoder *out, const struct history *history, size_t features)
{
    encode_number(out, VERSION, 1);
    encode_number(out, (uint64_t)history->spacing, 8);
    encode_number(out, history->samples, 2);
    encode_number(out, history->growth, 4);
    encode_number(out, history->points, 2);
    for (size_t i = 0; i < history->samples; i++) {
        encode_number(out, (uint64_t)history->sample[i].time, 8);
        encode_number(out, history->sample[i].reports, 8);
        encode_double(out, history->sample[i].r2);
    }
    for (size_t i = 0; i < history->points; i++) {
        encode_number(out, (uint64_t)history->point[i].time, 8);
        encode_number(out, history->point[i].devices, 8);
        for (size_t j = 0; j < point_values(features); j++) {
            encode_float(out, history->value[i * point_values(features) + j]);
        }
    }
}

enum tremolo_status history_take(uint8_t **bytes, size_t *length, struct served_study *served)
{
    struct encoder out = {0};
    (void)pthread_mutex_lock(&served->sums.lock);
    if (served->sums.history.unstored) {
        encode(&out, &served->sums.history, served->study->dimension);
        served->sums.history.unstored = out.status != TREMOLO_OK;
    }
    (void)pthread_mutex_unlock(&served->sums.lock);
    if (out.status != TREMOLO_OK) {
        free(out.bytes);
        return out.status;
    }
    *bytes = out.bytes;
    *length = out.length;
    return TREMOLO_OK;
}

void history_keep(struct served_study *served)
{
    (void)pthread_mutex_lock(&served->sums.lock);
    served->sums.history.unstored = true;
    (void)pthread_mutex_unlock(&served->sums.lock);
}

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
    for (size_t i = 0; i < samples; i++) {
        history->sample[i].time = (int64_t)decode_number(in, 8);
        history->sample[i].reports = decode_number(in, 8);
        history->sample[i].r2 = decode_double(in);
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
        history->point[i].time = (int64_t)decode_number(in, 8);
        history->point[i].devices = decode_number(in, 8);
        if (history->point[i].devices <= (i > 0 ? history->point[i - 1].devices : 0)) {
            return false;
        }
        for (size_t j = 0; j < values; j++) {
            history->value[i * values + j] = decode_float(in);
        }
    }
    history->points = points;
    return true;
}

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
