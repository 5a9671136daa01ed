/* file_canonical.c -- the one encoding of a study, and its hash.
 *
 * Deterministic CBOR as docs/protocol.md, section 2, lays it out. The length
 * is found by a first pass that writes nothing. */
#include "study_file.h"

#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

struct encoder {
    uint8_t *bytes; /* NULL: count only */
    size_t length;
};

enum { MAJOR_UINT = 0, MAJOR_TEXT = 3, MAJOR_ARRAY = 4, FLOAT64 = 0xfb, NOTHING = 0xf6 };

static void put(struct encoder *encoder, const void *bytes, size_t length)
{
    if (encoder->bytes != NULL && length > 0) {
        memcpy(encoder->bytes + encoder->length, bytes, length);
    }
    encoder->length += length;
}

static void put_big_endian(struct encoder *encoder, uint8_t first, uint64_t value, unsigned bytes)
{
    uint8_t head[9] = {first};
    for (unsigned i = 0; i < bytes; i++) {
        head[1 + i] = (uint8_t)(value >> 8 * (bytes - 1 - i));
    }
    put(encoder, head, 1 + bytes);
}

static void put_head(struct encoder *encoder, unsigned major, uint64_t value)
{
    uint8_t first = (uint8_t)(major << 5);
    if (value < 24) {
        put_big_endian(encoder, (uint8_t)(first + value), 0, 0);
    } else if (value <= UINT8_MAX) {
        put_big_endian(encoder, (uint8_t)(first + 24), value, 1);
    } else if (value <= UINT16_MAX) {
        put_big_endian(encoder, (uint8_t)(first + 25), value, 2);
    } else if (value <= UINT32_MAX) {
        put_big_endian(encoder, (uint8_t)(first + 26), value, 4);
    } else {
        put_big_endian(encoder, (uint8_t)(first + 27), value, 8);
    }
}

static void put_uint(struct encoder *encoder, uint64_t value)
{
    put_head(encoder, MAJOR_UINT, value);
}

static void put_array(struct encoder *encoder, size_t count)
{
    put_head(encoder, MAJOR_ARRAY, count);
}

static void put_text(struct encoder *encoder, const char *text)
{
    size_t length = strlen(text);
    put_head(encoder, MAJOR_TEXT, length);
    put(encoder, text, length);
}

static void put_real(struct encoder *encoder, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_big_endian(encoder, FLOAT64, bits, 8);
}

/* Dates begin in 1970, so that they are never negative. */
static void put_date(struct encoder *encoder, int64_t seconds, int64_t none)
{
    if (seconds == none) {
        put_big_endian(encoder, NOTHING, 0, 0);
    } else {
        put_uint(encoder, (uint64_t)seconds);
    }
}

static void put_features(struct encoder *encoder, const struct tremolo_study_file *file)
{
    put_array(encoder, file->feature_count);
    for (size_t i = 0; i < file->feature_count; i++) {
        const struct tremolo_study_feature *feature = &file->features[i].shown;
        put_array(encoder, 6);
        put_text(encoder, feature->name);
        put_text(encoder, feature->unit);
        put_uint(encoder, feature->kind);
        put_real(encoder, feature->low);
        put_real(encoder, feature->high);
        put_array(encoder, feature->level_count);
        for (size_t j = 0; j < feature->level_count; j++) {
            put_text(encoder, feature->levels[j]);
        }
    }
    const struct tremolo_study_feature *response = &file->features[file->feature_count].shown;
    put_array(encoder, 4);
    put_text(encoder, response->name);
    put_text(encoder, response->unit);
    put_real(encoder, response->low);
    put_real(encoder, response->high);
}

static void put_limits(struct encoder *encoder, const struct tremolo_study_terms *terms)
{
    put_array(encoder, 5);
    put_uint(encoder, terms->devices);
    put_uint(encoder, terms->samples);
    put_date(encoder, terms->opens, INT64_MIN);
    put_date(encoder, terms->closes, INT64_MAX);
    put_uint(encoder, terms->enrolment);
}

/* All that a ballot has: its integers say the rest. */
static void put_ballot(struct encoder *encoder, const struct tremolo_study_terms *terms,
                       const struct tremolo_study *device)
{
    put_array(encoder, 2);
    put_real(encoder, terms->epsilon);
    put_uint(encoder, terms->response_private);
    put_array(encoder, 1);
    put_uint(encoder, terms->release);
    put_limits(encoder, terms);
    put_array(encoder, 4);
    put_uint(encoder, device->constant);
    put_uint(encoder, device->response_weight);
    put_uint(encoder, device->rank_first);
    put_uint(encoder, device->rank_top);
}

static void put_terms(struct encoder *encoder, const struct tremolo_study_terms *terms)
{
    put_array(encoder, 5);
    put_real(encoder, terms->epsilon);
    put_real(encoder, terms->delta);
    put_real(encoder, terms->distance);
    put_real(encoder, terms->clip);
    put_uint(encoder, terms->response_private);
    put_array(encoder, 11);
    put_uint(encoder, terms->protocol);
    put_uint(encoder, terms->calibration);
    put_uint(encoder, terms->rounds);
    put_uint(encoder, terms->vectors);
    put_real(encoder, terms->alpha);
    put_real(encoder, terms->lambda);
    put_real(encoder, terms->omega);
    put_real(encoder, terms->radius);
    put_real(encoder, terms->step);
    put_uint(encoder, terms->close_reports);
    put_uint(encoder, terms->close_seconds);
    put_limits(encoder, terms);
}

static void put_mechanism(struct encoder *encoder, const struct tremolo_study *device)
{
    put_array(encoder, 9);
    put_uint(encoder, device->noise_log2);
    put_uint(encoder, device->wire_shift);
    put_uint(encoder, device->wire_bits);
    put_uint(encoder, device->keep);
    put_uint(encoder, device->unit);
    put_uint(encoder, device->clip);
    put_uint(encoder, device->distance);
    put_uint(encoder, device->amplitude);
    put_uint(encoder, device->frequency);
}

static void put_bound(struct encoder *encoder, const json_t *term, const char *key)
{
    const json_t *bound = json_object_get(term, key);
    if (bound == NULL) {
        put_big_endian(encoder, NOTHING, 0, 0);
    } else {
        put_real(encoder, json_number_value(bound) + 0.0); /* minus zero becomes zero */
    }
}

/* What stands for each feature's missing values, and the terms with bounds of their own. */
static void put_derivation(struct encoder *encoder, const struct tremolo_study_file *file)
{
    const json_t *terms = json_object_get(file->root, "terms");
    put_array(encoder, file->feature_count);
    for (size_t i = 0; i < file->feature_count; i++) {
        if (isnan(file->features[i].shown.missing)) {
            put_big_endian(encoder, NOTHING, 0, 0);
        } else {
            put_real(encoder, file->features[i].shown.missing);
        }
    }
    put_array(encoder, json_array_size(terms));
    for (size_t i = 0; i < json_array_size(terms); i++) {
        const json_t *term = json_array_get(terms, i);
        const char *text = json_string_value(term);
        put_array(encoder, 3);
        put_text(encoder, text != NULL ? text : json_string_value(json_object_get(term, "term")));
        put_bound(encoder, term, "low");
        put_bound(encoder, term, "high");
    }
}

static bool has_derivation(const struct tremolo_study_file *file)
{
    bool has = json_object_get(file->root, "terms") != NULL;
    for (size_t i = 0; i < file->feature_count; i++) {
        has = has || !isnan(file->features[i].shown.missing);
    }
    return has;
}

static void encode(struct encoder *encoder, const struct tremolo_study_file *file)
{
    bool ballot = file->terms.release == TREMOLO_RELEASE_BALLOT;
    bool derived = has_derivation(file);
    put_array(encoder, derived ? 12 : 10);
    put_text(encoder, "tremolo study");
    uint64_t version = ballot ? STUDY_VERSION_BALLOT : STUDY_VERSION;
    put_uint(encoder, derived ? version + STUDY_VERSION_DERIVED : version);
    put_text(encoder, file->terms.title);
    put_text(encoder, file->terms.purpose);
    put_features(encoder, file);
    if (derived) {
        put_derivation(encoder, file);
    }
    if (ballot) {
        put_ballot(encoder, &file->terms, &file->device);
    } else {
        put_terms(encoder, &file->terms);
        put_mechanism(encoder, &file->device);
    }
}

enum tremolo_status study_identify(struct tremolo_study_file *file)
{
    struct encoder counting = {NULL, 0};
    struct encoder writing = {NULL, 0};
    encode(&counting, file);
    writing.bytes = malloc(counting.length);
    if (writing.bytes == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    encode(&writing, file);
    /* Hashing and signing need no sodium_init(): it only picks faster code. */
    (void)crypto_generichash(file->device.id, sizeof file->device.id, writing.bytes, writing.length,
                             NULL, 0);
    file->canonical = writing.bytes;
    file->canonical_length = writing.length;
    return TREMOLO_OK;
}
