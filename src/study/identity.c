/* identity.c -- who a study is: its encoding and id, the server's signature, what is published.
 *
 * The id is the hash of deterministic CBOR as docs/reference/protocol.md, section 2, lays it out. Each kind of
 * signed message begins with its own words, so that a signature on one kind can never be shown as
 * a signature on another. */
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "document.h"
#include "study_file.h"

/* ---------------------------------------------------------------- the encoding */

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

/* ---------------------------------------------------------------- signatures */

static const char study_words[] = "tremolo study 1"; /* with their zero byte */
static const char round_words[] = "tremolo round 1";

enum {
    WORDS_BYTES = sizeof study_words,
    STUDY_MESSAGE_BYTES = WORDS_BYTES + TREMOLO_STUDY_ID_BYTES,
    ROUND_HEAD_BYTES = STUDY_MESSAGE_BYTES + 2,
};

_Static_assert(sizeof round_words == sizeof study_words, "both messages start alike");
_Static_assert(TREMOLO_SIGNING_SEED_BYTES == crypto_sign_SEEDBYTES, "seed");
_Static_assert(TREMOLO_SIGNING_SECRET_BYTES == crypto_sign_SECRETKEYBYTES, "secret key");
_Static_assert(TREMOLO_SIGNING_PUBLIC_BYTES == crypto_sign_PUBLICKEYBYTES, "public key");
_Static_assert(TREMOLO_SIGNATURE_BYTES == crypto_sign_BYTES, "signature");

enum tremolo_status tremolo_signing_keys(uint8_t public_key[TREMOLO_SIGNING_PUBLIC_BYTES],
                                         uint8_t secret_key[TREMOLO_SIGNING_SECRET_BYTES],
                                         const uint8_t seed[TREMOLO_SIGNING_SEED_BYTES])
{
    if (public_key == NULL || secret_key == NULL || seed == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    return crypto_sign_seed_keypair(public_key, secret_key, seed) == 0 ? TREMOLO_OK
                                                                       : TREMOLO_BAD_ARGUMENT;
}

static void study_message(uint8_t message[STUDY_MESSAGE_BYTES], const char *words,
                          const uint8_t id[TREMOLO_STUDY_ID_BYTES])
{
    memcpy(message, words, WORDS_BYTES);
    memcpy(message + WORDS_BYTES, id, TREMOLO_STUDY_ID_BYTES);
}

static enum tremolo_status sign(uint8_t signature[TREMOLO_SIGNATURE_BYTES], const uint8_t *message,
                                size_t length,
                                const uint8_t secret_key[TREMOLO_SIGNING_SECRET_BYTES])
{
    uint8_t made[TREMOLO_SIGNATURE_BYTES];
    if (crypto_sign_detached(made, NULL, message, length, secret_key) != 0) {
        return TREMOLO_BAD_ARGUMENT;
    }
    memcpy(signature, made, sizeof made);
    return TREMOLO_OK;
}

static enum tremolo_status verify(const uint8_t signature[TREMOLO_SIGNATURE_BYTES],
                                  const uint8_t *message, size_t length,
                                  const uint8_t public_key[TREMOLO_SIGNING_PUBLIC_BYTES])
{
    return crypto_sign_verify_detached(signature, message, length, public_key) == 0
               ? TREMOLO_OK
               : TREMOLO_BAD_SIGNATURE;
}

enum tremolo_status tremolo_study_sign(uint8_t signature[TREMOLO_SIGNATURE_BYTES],
                                       const uint8_t id[TREMOLO_STUDY_ID_BYTES],
                                       const uint8_t secret_key[TREMOLO_SIGNING_SECRET_BYTES])
{
    uint8_t message[STUDY_MESSAGE_BYTES];
    if (signature == NULL || id == NULL || secret_key == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    study_message(message, study_words, id);
    return sign(signature, message, sizeof message, secret_key);
}

enum tremolo_status tremolo_study_verify(const uint8_t signature[TREMOLO_SIGNATURE_BYTES],
                                         const uint8_t id[TREMOLO_STUDY_ID_BYTES],
                                         const uint8_t public_key[TREMOLO_SIGNING_PUBLIC_BYTES])
{
    uint8_t message[STUDY_MESSAGE_BYTES];
    if (signature == NULL || id == NULL || public_key == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    study_message(message, study_words, id);
    return verify(signature, message, sizeof message, public_key);
}

/* ---------------------------------------------------------------- rounds */

static void put_two_bytes(uint8_t *bytes, uint16_t value)
{
    bytes[0] = (uint8_t)(value >> 8);
    bytes[1] = (uint8_t)value;
}

/* The message, *length bytes that the caller frees; NULL without memory. */
static uint8_t *round_message(size_t *length, const struct tremolo_study *study,
                              const struct tremolo_round *round)
{
    size_t entries = (size_t)study->vectors * study->dimension;
    *length = ROUND_HEAD_BYTES + 2 * entries;
    uint8_t *message = malloc(*length);
    if (message != NULL) {
        study_message(message, round_words, study->id);
        put_two_bytes(message + STUDY_MESSAGE_BYTES, round->number);
        for (size_t i = 0; i < entries; i++) {
            put_two_bytes(message + ROUND_HEAD_BYTES + 2 * i, (uint16_t)round->vectors[i]);
        }
    }
    return message;
}

static bool round_makes_sense(const struct tremolo_study *study, const struct tremolo_round *round)
{
    return study != NULL && round != NULL && (study->vectors == 0 || round->vectors != NULL);
}

enum tremolo_status tremolo_round_sign(uint8_t signature[TREMOLO_SIGNATURE_BYTES],
                                       const struct tremolo_study *study,
                                       const struct tremolo_round *round,
                                       const uint8_t secret_key[TREMOLO_SIGNING_SECRET_BYTES])
{
    size_t length = 0;
    if (signature == NULL || secret_key == NULL || !round_makes_sense(study, round)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    uint8_t *message = round_message(&length, study, round);
    enum tremolo_status status =
        message == NULL ? TREMOLO_NO_MEMORY : sign(signature, message, length, secret_key);
    free(message);
    return status;
}

enum tremolo_status tremolo_round_verify(const uint8_t signature[TREMOLO_SIGNATURE_BYTES],
                                         const struct tremolo_study *study,
                                         const struct tremolo_round *round,
                                         const uint8_t public_key[TREMOLO_SIGNING_PUBLIC_BYTES])
{
    size_t length = 0;
    if (signature == NULL || public_key == NULL || !round_makes_sense(study, round)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    uint8_t *message = round_message(&length, study, round);
    enum tremolo_status status =
        message == NULL ? TREMOLO_NO_MEMORY : verify(signature, message, length, public_key);
    free(message);
    return status;
}

/* ---------------------------------------------------------------- devices */

enum tremolo_status tremolo_device_key(uint8_t key[TREMOLO_MAC_KEY_BYTES],
                                       const uint8_t secret[TREMOLO_DEVICE_SECRET_BYTES],
                                       const uint8_t *device_id, size_t device_id_length)
{
    uint8_t hash[crypto_generichash_BYTES];
    if (key == NULL || secret == NULL || device_id == NULL || device_id_length < 1 ||
        device_id_length > TREMOLO_DEVICE_ID_MAX) {
        return TREMOLO_BAD_ARGUMENT;
    }
    (void)crypto_generichash(hash, sizeof hash, device_id, device_id_length, secret,
                             TREMOLO_DEVICE_SECRET_BYTES);
    memcpy(key, hash, TREMOLO_MAC_KEY_BYTES);
    sodium_memzero(hash, sizeof hash);
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
    char *text = json_dumps(inner, JSON_LATCH_EXACT);
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
