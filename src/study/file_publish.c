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

#include "inputs_json.h"
#include "study_integers.h"

enum { DUMP_FLAGS = JSON_COMPACT | JSON_REAL_PRECISION(17) };

/* Members that are NULL are left out; without those lost to a failed allocation the study is
 * another one, which reads_back() sees. */
static json_t *real_if(bool there, double value)
{
    return there ? json_real(value) : NULL;
}

static json_t *whole_if(bool there, uint64_t value)
{
    return there ? json_integer((json_int_t)value) : NULL;
}

static json_t *features_json(const struct tremolo_study_file *file)
{
    json_t *list = json_array();
    for (size_t i = 0; i < file->feature_count; i++) {
        const struct tremolo_study_feature *feature = &file->features[i].shown;
        const struct tremolo_input *input = &file->inputs->input[i];
        bool number = feature->kind == TREMOLO_STUDY_NUMERIC;
        (void)json_array_append_new(
            list,
            json_pack("{s:s, s:s, s:s, s:o*, s:o*, s:o*, s:o*, s:o*}", "name", feature->name,
                      "unit", feature->unit, "kind", study_kinds[feature->kind], "low",
                      real_if(number, feature->low), "high", real_if(number, feature->high),
                      "levels", input_levels_json(input), "missing", input_missing_json(input),
                      "typical", real_if(!isnan(feature->typical), feature->typical)));
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
    json_t *neighbours =
        terms->distance > 0 ? json_pack("{s:f}", "distance", terms->distance) : json_string("any");
    json_t *object = json_pack("{s:f, s:f, s:o, s:s, s:f}", "epsilon", terms->epsilon, "delta",
                               terms->delta, "neighbours", neighbours, "protects",
                               study_protects[terms->response_private], "clip", terms->clip);
    if (terms->release == TREMOLO_RELEASE_BALLOT) {
        (void)json_object_del(object, "clip");
    }
    return object;
}

static json_t *protocol_json(const struct tremolo_study_terms *terms)
{
    bool iterative = terms->protocol == TREMOLO_STUDY_ITERATIVE, modulated = terms->vectors > 0;
    if (terms->release == TREMOLO_RELEASE_BALLOT) {
        return json_pack("{s:s, s:s}", "kind", study_protocols[terms->protocol], "release",
                         study_releases[terms->release]);
    }
    json_t *close =
        iterative ? json_pack("{s:o*, s:o*}", "reports",
                              whole_if(terms->close_reports > 0, terms->close_reports), "seconds",
                              whole_if(terms->close_seconds > 0, terms->close_seconds))
                  : NULL;
    return json_pack(
        "{s:s, s:s, s:I, s:f, s:o*, s:o*, s:o*, s:o*, s:o*, s:o*}", "kind",
        study_protocols[terms->protocol], "calibration",
        tremolo_calibration_names[terms->calibration], "vectors", (json_int_t)terms->vectors,
        "alpha", terms->alpha, "lambda", real_if(modulated, terms->lambda), "omega",
        real_if(modulated, terms->omega), "rounds", whole_if(iterative, terms->rounds), "radius",
        real_if(iterative, terms->radius), "step", real_if(iterative, terms->step), "close", close);
}

static json_t *date_unless(int64_t seconds, int64_t none)
{
    char date[TREMOLO_STUDY_DATE_BYTES];
    tremolo_study_date_text(date, seconds);
    return seconds != none ? json_string(date) : NULL;
}

static json_t *limits_json(const struct tremolo_study_terms *terms)
{
    return json_pack(
        "{s:I, s:I, s:s, s:o*, s:o*}", "devices", (json_int_t)terms->devices, "samples",
        (json_int_t)terms->samples, "enrolment", study_enrolments[terms->enrolment], "opens",
        date_unless(terms->opens, INT64_MIN), "closes", date_unless(terms->closes, INT64_MAX));
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
    const json_t *written = json_object_get(file->root, "terms");
    json_t *mechanism =
        study_integers_json(json_object(), &file->device, study_integers_of(terms->release));
    return json_pack("{s:i, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o*}", "tremolo",
                     STUDY_VERSION, "title", terms->title, "purpose", terms->purpose, "features",
                     features_json(file), "response", response_json(file), "privacy",
                     privacy_json(terms), "protocol", protocol_json(terms), "limits",
                     limits_json(terms), "mechanism", mechanism, "terms",
                     written != NULL ? terms_json(written) : NULL);
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

enum tremolo_status tremolo_study_publish(char **body, const struct tremolo_study_file *file,
                                          const uint8_t secret_key[TREMOLO_SIGNING_SECRET_BYTES])
{
    const int variant = sodium_base64_VARIANT_URLSAFE_NO_PADDING;
    uint8_t signature[TREMOLO_SIGNATURE_BYTES];
    uint8_t public_key[TREMOLO_SIGNING_PUBLIC_BYTES];
    char id_text[TREMOLO_STUDY_ID_TEXT_BYTES];
    char key_text[TREMOLO_BASE64_BYTES(sizeof public_key)];
    char signature_text[TREMOLO_BASE64_BYTES(sizeof signature)];
    char *study = NULL;
    char *made = NULL;
    if (body == NULL || file == NULL || secret_key == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    enum tremolo_status status = tremolo_study_sign(signature, file->device.id, secret_key);
    if (status == TREMOLO_OK) {
        status = tremolo_study_file_json(&study, file);
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    (void)crypto_sign_ed25519_sk_to_pk(public_key, secret_key);
    /* None of these texts needs escaping, and the study is JSON already. */
    int written = asprintf(
        &made, "{\"id\":\"%s\",\"key\":\"%s\",\"signature\":\"%s\",\"study\":%s}",
        sodium_bin2base64(id_text, sizeof id_text, file->device.id, TREMOLO_STUDY_ID_BYTES,
                          variant),
        sodium_bin2base64(key_text, sizeof key_text, public_key, sizeof public_key, variant),
        sodium_bin2base64(signature_text, sizeof signature_text, signature, sizeof signature,
                          variant),
        study);
    free(study);
    if (written < 0) {
        return TREMOLO_NO_MEMORY;
    }
    *body = made;
    return TREMOLO_OK;
}

/* ---------------------------------------------------------------- receiving */

enum { BODY_OVERHEAD_BYTES = 1024 };

static enum tremolo_status refuse(struct tremolo_study_problems *problems, const char *path,
                                  const char *reason)
{
    struct study_reader reader = {.problems = problems};
    study_problem(&reader, path, "%s", reason);
    return TREMOLO_BAD_STUDY;
}

/* The study in the body, by way of its own text: the parser then sees exactly
 * what it would see in a file. */
static enum tremolo_status parse_inner(struct tremolo_study_file **file,
                                       struct tremolo_study_problems *problems, const json_t *body)
{
    const json_t *inner = json_object_get(body, "study");
    if (!json_is_object(inner)) {
        return refuse(problems, "study", "is required");
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
        return refuse(problems, "signature", "must be 64 bytes in base64url");
    }
    if (!decode_member(key, sizeof key, body, "key")) {
        return refuse(problems, "key", "must be 32 bytes in base64url");
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
        json_decref(root);
        return refuse(problems, "", "must be a JSON object of bounded size");
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
