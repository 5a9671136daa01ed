/* file_publish.c -- a study as normalised JSON, what a server publishes, and
 * how that is received.
 *
 * Normalised JSON writes out every default and the device's integers, so that
 * nothing is left to compute and the id is the same wherever it is read.
 * Seventeen digits bring every double back as it was. */
#include "study_file.h"

#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DUMP_FLAGS = JSON_COMPACT | JSON_REAL_PRECISION(17) };

static json_t *missing_json(const struct tremolo_study_feature *feature)
{
    return feature->kind == TREMOLO_STUDY_NUMERIC ? json_real(feature->missing)
           : feature->kind == TREMOLO_STUDY_CATEGORY
               ? json_string(feature->levels[(size_t)feature->missing])
               : json_string(feature->missing > 0 ? "yes" : "no");
}

static json_t *features_json(const struct tremolo_study_file *file)
{
    json_t *list = json_array();
    for (size_t i = 0; i < file->feature_count; i++) {
        const struct tremolo_study_feature *feature = &file->features[i].shown;
        json_t *object = json_pack("{s:s, s:s, s:s}", "name", feature->name, "unit", feature->unit,
                                   "kind", study_kinds[feature->kind]);
        if (feature->kind == TREMOLO_STUDY_NUMERIC) {
            (void)json_object_set_new(object, "low", json_real(feature->low));
            (void)json_object_set_new(object, "high", json_real(feature->high));
        } else if (feature->kind == TREMOLO_STUDY_CATEGORY) {
            json_t *levels = json_array();
            for (size_t j = 0; j < feature->level_count; j++) {
                (void)json_array_append_new(levels, json_string(feature->levels[j]));
            }
            (void)json_object_set_new(object, "levels", levels);
        }
        if (!isnan(feature->missing)) {
            (void)json_object_set_new(object, "missing", missing_json(feature));
        }
        (void)json_array_append_new(list, object);
    }
    return list;
}

static json_t *response_json(const struct tremolo_study_file *file)
{
    const struct tremolo_study_feature *response = &file->features[file->feature_count].shown;
    return json_pack("{s:s, s:s, s:f, s:f, s:s}", "name", response->name, "unit", response->unit,
                     "low", response->low, "high", response->high, "sent",
                     study_sent[file->terms.response_private]);
}

static json_t *privacy_json(const struct tremolo_study_terms *terms)
{
    if (terms->release == TREMOLO_RELEASE_BALLOT) {
        return json_pack("{s:f, s:f, s:s, s:s}", "epsilon", terms->epsilon, "delta", terms->delta,
                         "neighbours", "any", "protects", study_protects[terms->response_private]);
    }
    json_t *neighbours =
        terms->distance > 0 ? json_pack("{s:f}", "distance", terms->distance) : json_string("any");
    return json_pack("{s:f, s:f, s:o, s:s, s:f}", "epsilon", terms->epsilon, "delta", terms->delta,
                     "neighbours", neighbours, "protects", study_protects[terms->response_private],
                     "clip", terms->clip);
}

static json_t *protocol_json(const struct tremolo_study_terms *terms)
{
    if (terms->release == TREMOLO_RELEASE_BALLOT) {
        return json_pack("{s:s, s:s}", "kind", study_protocols[terms->protocol], "release",
                         study_releases[terms->release]);
    }
    json_t *object = json_pack("{s:s, s:s, s:I, s:f}", "kind", study_protocols[terms->protocol],
                               "calibration", tremolo_calibration_names[terms->calibration],
                               "vectors", (json_int_t)terms->vectors, "alpha", terms->alpha);
    if (terms->vectors > 0) {
        (void)json_object_set_new(object, "lambda", json_real(terms->lambda));
        (void)json_object_set_new(object, "omega", json_real(terms->omega));
    }
    if (terms->protocol == TREMOLO_STUDY_ITERATIVE) {
        json_t *close = json_object();
        if (terms->close_reports > 0) {
            (void)json_object_set_new(close, "reports",
                                      json_integer((json_int_t)terms->close_reports));
        }
        if (terms->close_seconds > 0) {
            (void)json_object_set_new(close, "seconds",
                                      json_integer((json_int_t)terms->close_seconds));
        }
        (void)json_object_set_new(object, "rounds", json_integer((json_int_t)terms->rounds));
        (void)json_object_set_new(object, "radius", json_real(terms->radius));
        (void)json_object_set_new(object, "step", json_real(terms->step));
        (void)json_object_set_new(object, "close", close);
    }
    return object;
}

static json_t *limits_json(const struct tremolo_study_terms *terms)
{
    char date[TREMOLO_STUDY_DATE_BYTES];
    json_t *object =
        json_pack("{s:I, s:I, s:s}", "devices", (json_int_t)terms->devices, "samples",
                  (json_int_t)terms->samples, "enrolment", study_enrolments[terms->enrolment]);
    if (terms->opens != INT64_MIN) {
        tremolo_study_date_text(date, terms->opens);
        (void)json_object_set_new(object, "opens", json_string(date));
    }
    if (terms->closes != INT64_MAX) {
        tremolo_study_date_text(date, terms->closes);
        (void)json_object_set_new(object, "closes", json_string(date));
    }
    return object;
}

static json_t *mechanism_json(const struct tremolo_study *device)
{
    if (device->release == TREMOLO_RELEASE_BALLOT) {
        return json_pack("{s:I, s:I, s:I, s:I}", "constant", (json_int_t)device->constant,
                         "response_weight", (json_int_t)device->response_weight, "rank_first",
                         (json_int_t)device->rank_first, "rank_top", (json_int_t)device->rank_top);
    }
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "noise_log2",
                     (json_int_t)device->noise_log2, "wire_shift", (json_int_t)device->wire_shift,
                     "wire_bits", (json_int_t)device->wire_bits, "keep", (json_int_t)device->keep,
                     "unit", (json_int_t)device->unit, "clip", (json_int_t)device->clip, "distance",
                     (json_int_t)device->distance, "amplitude", (json_int_t)device->amplitude,
                     "frequency", (json_int_t)device->frequency);
}

/* As written, without comments. */
static json_t *terms_json(const json_t *written)
{
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(written); i++) {
        json_t *term = json_deep_copy(json_array_get(written, i));
        (void)json_object_del(term, "comment");
        (void)json_array_append_new(list, term);
    }
    return list;
}

/* NULL without memory; packing consumes and frees what it was given then. */
static json_t *study_json(const struct tremolo_study_file *file)
{
    const struct tremolo_study_terms *terms = &file->terms;
    json_t *study = json_pack(
        "{s:i, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "tremolo", STUDY_VERSION, "title",
        terms->title, "purpose", terms->purpose, "features", features_json(file), "response",
        response_json(file), "privacy", privacy_json(terms), "protocol", protocol_json(terms),
        "limits", limits_json(terms), "mechanism", mechanism_json(&file->device));
    json_t *written = json_object_get(file->root, "terms");
    if (study != NULL && written != NULL) {
        (void)json_object_set_new(study, "terms", terms_json(written));
    }
    return study;
}

/* A piece lost to a failed allocation must not become another study: what was
 * dumped has to give the same id when it is read. */
static bool reads_back(const char *json, const struct tremolo_study_file *file)
{
    struct tremolo_study_file *again = NULL;
    bool same = tremolo_study_file_parse(&again, NULL, json, strlen(json)) == TREMOLO_OK &&
                memcmp(again->device.id, file->device.id, TREMOLO_STUDY_ID_BYTES) == 0;
    tremolo_study_file_free(again);
    return same;
}

enum tremolo_status tremolo_study_file_json(char **json, const struct tremolo_study_file *file)
{
    if (json == NULL || file == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    json_t *object = study_json(file);
    char *text = object != NULL ? json_dumps(object, DUMP_FLAGS) : NULL;
    json_decref(object);
    if (text == NULL || !reads_back(text, file)) {
        free(text);
        return TREMOLO_NO_MEMORY;
    }
    *json = text;
    return TREMOLO_OK;
}

/* ---------------------------------------------------------------- publishing */

struct published_text {
    char id[TREMOLO_STUDY_ID_TEXT_BYTES];
    char key[TREMOLO_BASE64_BYTES(TREMOLO_SIGNING_PUBLIC_BYTES)];
    char signature[TREMOLO_BASE64_BYTES(TREMOLO_SIGNATURE_BYTES)];
};

static enum tremolo_status sign_as_text(struct published_text *text, const uint8_t *id,
                                        const uint8_t *secret_key)
{
    uint8_t signature[TREMOLO_SIGNATURE_BYTES];
    uint8_t public_key[TREMOLO_SIGNING_PUBLIC_BYTES];
    (void)crypto_sign_ed25519_sk_to_pk(public_key, secret_key);
    enum tremolo_status status = tremolo_study_sign(signature, id, secret_key);
    if (status == TREMOLO_OK) {
        status = tremolo_base64_encode(text->id, sizeof text->id, id, TREMOLO_STUDY_ID_BYTES);
    }
    if (status == TREMOLO_OK) {
        status = tremolo_base64_encode(text->key, sizeof text->key, public_key,
                                       TREMOLO_SIGNING_PUBLIC_BYTES);
    }
    if (status == TREMOLO_OK) {
        status = tremolo_base64_encode(text->signature, sizeof text->signature, signature,
                                       sizeof signature);
    }
    return status;
}

enum tremolo_status tremolo_study_publish(char **body, const struct tremolo_study_file *file,
                                          const uint8_t secret_key[TREMOLO_SIGNING_SECRET_BYTES])
{
    struct published_text text;
    char *study = NULL;
    if (body == NULL || file == NULL || secret_key == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    enum tremolo_status status = sign_as_text(&text, file->device.id, secret_key);
    if (status == TREMOLO_OK) {
        status = tremolo_study_file_json(&study, file);
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    /* None of these texts needs escaping, and the study is JSON already. */
    static const char form[] = "{\"id\":\"%s\",\"key\":\"%s\",\"signature\":\"%s\",\"study\":%s}";
    size_t bytes = sizeof form + sizeof text + strlen(study);
    char *made = malloc(bytes);
    if (made != NULL) {
        (void)snprintf(made, bytes, form, text.id, text.key, text.signature, study);
        *body = made;
    }
    free(study);
    return made != NULL ? TREMOLO_OK : TREMOLO_NO_MEMORY;
}

/* ---------------------------------------------------------------- receiving */

enum { BODY_OVERHEAD_BYTES = 1024 };

static void receive_problem(struct tremolo_study_problems *problems, const char *path,
                            const char *reason)
{
    struct study_reader reader = {.problems = problems};
    study_problem(&reader, path, "%s", reason);
}

/* The study in the body, by way of its own text: the parser then sees exactly
 * what it would see in a file. */
static enum tremolo_status parse_inner(struct tremolo_study_file **file,
                                       struct tremolo_study_problems *problems, const json_t *body)
{
    const json_t *inner = json_object_get(body, "study");
    if (!json_is_object(inner)) {
        receive_problem(problems, "study", "is required");
        return TREMOLO_BAD_STUDY;
    }
    char *text = json_dumps(inner, DUMP_FLAGS);
    if (text == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    enum tremolo_status status = tremolo_study_file_parse(file, problems, text, strlen(text));
    free(text);
    return status;
}

static bool decode_member(uint8_t *bytes, size_t length, const json_t *body, const char *key)
{
    const char *text = json_string_value(json_object_get(body, key));
    return text != NULL && tremolo_base64_decode(bytes, length, text) == TREMOLO_OK;
}

static enum tremolo_status check_signature(uint8_t *named_key,
                                           struct tremolo_study_problems *problems,
                                           const json_t *body, const uint8_t *id,
                                           const uint8_t *public_key)
{
    uint8_t signature[TREMOLO_SIGNATURE_BYTES];
    uint8_t key[TREMOLO_SIGNING_PUBLIC_BYTES];
    if (!decode_member(signature, sizeof signature, body, "signature")) {
        receive_problem(problems, "signature", "must be 64 bytes in base64url");
        return TREMOLO_BAD_STUDY;
    }
    if (!decode_member(key, sizeof key, body, "key")) {
        receive_problem(problems, "key", "must be 32 bytes in base64url");
        return TREMOLO_BAD_STUDY;
    }
    enum tremolo_status status =
        tremolo_study_verify(signature, id, public_key != NULL ? public_key : key);
    if (status == TREMOLO_OK && named_key != NULL) {
        memcpy(named_key, key, sizeof key);
    }
    return status;
}

enum tremolo_status tremolo_study_receive(struct tremolo_study_file **file,
                                          uint8_t named_key[TREMOLO_SIGNING_PUBLIC_BYTES],
                                          struct tremolo_study_problems *problems, const char *body,
                                          size_t length, const uint8_t id[TREMOLO_STUDY_ID_BYTES],
                                          const uint8_t public_key[TREMOLO_SIGNING_PUBLIC_BYTES])
{
    struct tremolo_study_problems own;
    struct tremolo_study_file *got = NULL;
    if (problems == NULL) {
        problems = &own;
    }
    problems->count = 0;
    problems->stored = 0;
    if (file == NULL || body == NULL || id == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    json_t *root = length <= TREMOLO_STUDY_MAX_BYTES + BODY_OVERHEAD_BYTES
                       ? json_loadb(body, length, JSON_REJECT_DUPLICATES, NULL)
                       : NULL;
    if (!json_is_object(root)) {
        receive_problem(problems, "", "must be a JSON object of bounded size");
        json_decref(root);
        return TREMOLO_BAD_STUDY;
    }
    enum tremolo_status status = parse_inner(&got, problems, root);
    if (status == TREMOLO_OK && memcmp(got->device.id, id, TREMOLO_STUDY_ID_BYTES) != 0) {
        status = TREMOLO_WRONG_STUDY;
    }
    if (status == TREMOLO_OK) {
        status = check_signature(named_key, problems, root, id, public_key);
    }
    json_decref(root);
    if (status == TREMOLO_OK) {
        *file = got;
    } else {
        tremolo_study_file_free(got);
    }
    return status;
}
