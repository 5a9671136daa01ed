/* file_canonical.c -- the one encoding of a study, and its hash.
 *
 * Deterministic CBOR as docs/reference/protocol.md, section 2, lays it out, written to a stream in
 * memory. */
#include "study_file.h"

#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "study_integers.h"

enum { MAJOR_UINT = 0, MAJOR_TEXT = 3, MAJOR_ARRAY = 4, FLOAT64 = 0xfb, NOTHING = 0xf6 };

/* The stream's error is looked at once, at its end. */
static void put_big_endian(FILE *out, unsigned first, uint64_t value, unsigned bytes)
{
    (void)putc((int)first, out);
    while (bytes-- > 0) {
        (void)putc((int)(value >> 8 * bytes & 0xff), out);
    }
}

static void put_head(FILE *out, unsigned major, uint64_t value)
{
    unsigned first = major << 5;
    if (value < 24) {
        put_big_endian(out, first + (unsigned)value, 0, 0);
    } else if (value <= UINT8_MAX) {
        put_big_endian(out, first + 24, value, 1);
    } else if (value <= UINT16_MAX) {
        put_big_endian(out, first + 25, value, 2);
    } else if (value <= UINT32_MAX) {
        put_big_endian(out, first + 26, value, 4);
    } else {
        put_big_endian(out, first + 27, value, 8);
    }
}

static void put_array(FILE *out, size_t count)
{
    put_head(out, MAJOR_ARRAY, count);
}

/* What stands in arrays. */
struct item {
    enum { ITEM_NOTHING, ITEM_UINT, ITEM_REAL, ITEM_TEXT } kind;
    uint64_t uint;
    double real;
    const char *text;
};
#define UINT(value) ((struct item){.kind = ITEM_UINT, .uint = (value)})
#define REAL(value) ((struct item){.kind = ITEM_REAL, .real = (value)})
#define TEXT(value) ((struct item){.kind = ITEM_TEXT, .text = (value)})

static void put_items(FILE *out, const struct item *items, size_t count)
{
    for (const struct item *item = items; item < items + count; item++) {
        uint64_t bits;
        switch (item->kind) {
        case ITEM_NOTHING: put_big_endian(out, NOTHING, 0, 0); break;
        case ITEM_UINT: put_head(out, MAJOR_UINT, item->uint); break;
        case ITEM_REAL:
            memcpy(&bits, &item->real, sizeof bits);
            put_big_endian(out, FLOAT64, bits, 8);
            break;
        case ITEM_TEXT:
            put_head(out, MAJOR_TEXT, strlen(item->text));
            (void)fputs(item->text, out);
            break;
        }
    }
}

#define PUT(out, ...)                                                                              \
    put_items(out, (const struct item[]){__VA_ARGS__},                                             \
              sizeof((const struct item[]){__VA_ARGS__}) / sizeof(struct item))
#define PUT_ARRAY(out, ...)                                                                        \
    (put_array(out, sizeof((const struct item[]){__VA_ARGS__}) / sizeof(struct item)),             \
     PUT(out, __VA_ARGS__))

static const struct item nothing = {.kind = ITEM_NOTHING};

/* Dates begin in 1970, so that they are never negative. */
static struct item date(int64_t seconds, int64_t none)
{
    return seconds == none ? nothing : UINT((uint64_t)seconds);
}

static struct item real_unless_nan(double value)
{
    return isnan(value) ? nothing : REAL(value);
}

static void put_features(FILE *out, const struct tremolo_study_file *file)
{
    put_array(out, file->feature_count);
    for (size_t i = 0; i < file->feature_count; i++) {
        const struct tremolo_study_feature *feature = &file->features[i].shown;
        put_array(out, 6);
        PUT(out, TEXT(feature->name), TEXT(feature->unit), UINT(feature->kind), REAL(feature->low),
            REAL(feature->high));
        put_array(out, feature->level_count);
        for (size_t j = 0; j < feature->level_count; j++) {
            PUT(out, TEXT(feature->levels[j]));
        }
    }
    const struct tremolo_study_feature *response = &file->features[file->feature_count].shown;
    PUT_ARRAY(out, TEXT(response->name), TEXT(response->unit), REAL(response->low),
              REAL(response->high));
}

/* What is promised and how. All that a ballot has is its epsilon: its integers say the rest. */
static void put_terms(FILE *out, const struct tremolo_study_terms *terms)
{
    if (terms->release == TREMOLO_RELEASE_BALLOT) {
        PUT_ARRAY(out, REAL(terms->epsilon), UINT(terms->response_private));
        PUT_ARRAY(out, UINT(terms->release));
    } else {
        PUT_ARRAY(out, REAL(terms->epsilon), REAL(terms->delta), REAL(terms->distance),
                  REAL(terms->clip), UINT(terms->response_private));
        PUT_ARRAY(out, UINT(terms->protocol), UINT(terms->calibration), UINT(terms->rounds),
                  UINT(terms->vectors), REAL(terms->alpha), REAL(terms->lambda), REAL(terms->omega),
                  REAL(terms->radius), REAL(terms->step), UINT(terms->close_reports),
                  UINT(terms->close_seconds));
    }
    PUT_ARRAY(out, UINT(terms->devices), UINT(terms->samples), date(terms->opens, INT64_MIN),
              date(terms->closes, INT64_MAX), UINT(terms->enrolment));
}

static void put_mechanism(FILE *out, const struct tremolo_study_file *file)
{
    const struct study_integer *list = study_integers_of(file->terms.release);
    size_t count = 0;
    while (list[count].name != NULL) {
        count++;
    }
    put_array(out, count);
    for (size_t i = 0; i < count; i++) {
        PUT(out, UINT(study_integer_get(&file->device, &list[i])));
    }
}

static struct item bound_of(const json_t *term, const char *key)
{
    const json_t *bound = json_object_get(term, key);
    /* Minus zero becomes zero. */
    return real_unless_nan(bound != NULL ? json_number_value(bound) + 0.0 : NAN);
}

/* What stands for each feature's missing values, and the terms with bounds of their own. */
static void put_derivation(FILE *out, const struct tremolo_study_file *file)
{
    const json_t *terms = json_object_get(file->root, "terms");
    put_array(out, file->feature_count);
    for (size_t i = 0; i < file->feature_count; i++) {
        PUT(out, real_unless_nan(file->features[i].shown.missing));
    }
    put_array(out, json_array_size(terms));
    for (size_t i = 0; i < json_array_size(terms); i++) {
        const json_t *term = json_array_get(terms, i);
        const char *text = json_string_value(term);
        PUT_ARRAY(out, TEXT(text != NULL ? text : json_string_value(json_object_get(term, "term"))),
                  bound_of(term, "low"), bound_of(term, "high"));
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

/* What is typical of each feature. */
static void put_typical(FILE *out, const struct tremolo_study_file *file)
{
    put_array(out, file->feature_count);
    for (size_t i = 0; i < file->feature_count; i++) {
        PUT(out, real_unless_nan(file->features[i].shown.typical));
    }
}

/* Has a ballot ranges that need not be the written ones? */
static bool has_typical(const struct tremolo_study_file *file)
{
    bool has = json_object_get(file->root, "terms") != NULL;
    for (size_t i = 0; i < file->feature_count; i++) {
        const struct tremolo_study_feature *feature = &file->features[i].shown;
        has = has || !isnan(feature->typical) || feature->kind == TREMOLO_STUDY_CATEGORY;
    }
    return has && file->terms.release == TREMOLO_RELEASE_BALLOT;
}

static void encode(FILE *out, const struct tremolo_study_file *file)
{
    bool derived = has_derivation(file);
    bool typical = has_typical(file);
    uint64_t version =
        file->terms.release == TREMOLO_RELEASE_BALLOT ? STUDY_VERSION_BALLOT : STUDY_VERSION;
    version += derived ? STUDY_VERSION_DERIVED : 0;
    version += typical ? STUDY_VERSION_TYPICAL : 0;
    put_array(out, (size_t)10 + (derived ? 2 : 0) + (typical ? 1 : 0));
    PUT(out, TEXT("tremolo study"), UINT(version), TEXT(file->terms.title),
        TEXT(file->terms.purpose));
    put_features(out, file);
    if (derived) {
        put_derivation(out, file);
    }
    if (typical) {
        put_typical(out, file);
    }
    put_terms(out, &file->terms);
    put_mechanism(out, file);
}

enum tremolo_status study_identify(struct tremolo_study_file *file)
{
    char *bytes = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&bytes, &length);
    if (out == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    encode(out, file);
    bool whole = fflush(out) == 0 && ferror(out) == 0;
    if (fclose(out) != 0 || !whole || bytes == NULL) { /* closing allocates, too */
        free(bytes);
        return TREMOLO_NO_MEMORY;
    }
    file->canonical = (uint8_t *)bytes;
    file->canonical_length = length;
    /* Hashing and signing need no sodium_init(): it only picks faster code. */
    (void)crypto_generichash(file->device.id, sizeof file->device.id, file->canonical, length, NULL,
                             0);
    return TREMOLO_OK;
}
