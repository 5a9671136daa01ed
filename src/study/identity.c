/* identity.c -- the server's signature of studies and rounds, keys of devices, and what is published.
 *
 * Each kind of signed message begins with words of its own, so that a signature on one kind is never
 * valid on another.
 *
 *     study    "tremolo study 1", zero, id
 *     round    "tremolo round 1", zero, id, number, m * d entries (two bytes each, high byte first)
 *
 * The id is a hash of everything that was agreed, so its signature covers the whole study, and a
 * device that holds the id needs nothing else of the server's word. Rounds are signed apart, because
 * their vectors are chosen only when they open: a device must not let anybody else choose them. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "document.h"
#include "study_file.h"

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

/* The secret key holds the public one in its second half; publishing takes it from there. */
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

/* Most significant first, on every machine. */
static void put_two_bytes(uint8_t *bytes, uint16_t value)
{
    bytes[0] = (uint8_t)(value >> 8);
    bytes[1] = (uint8_t)value;
}

/* What is signed of a study (`round` is NULL) or of a round, *length bytes that the caller frees;
 * NULL without memory. The words and their zero byte come first and have the same length in both. */
static uint8_t *message_of(size_t *length, const struct tremolo_study *study,
                           const struct tremolo_round *round)
{
    size_t entries = round != NULL ? (size_t)study->vectors * study->dimension : 0;
    *length = round != NULL ? ROUND_HEAD_BYTES + 2 * entries : STUDY_MESSAGE_BYTES;
    uint8_t *message = malloc(*length);
    if (message == NULL) {
        return NULL;
    }
    memcpy(message, round != NULL ? round_words : study_words, WORDS_BYTES);
    memcpy(message + WORDS_BYTES, study->id, TREMOLO_STUDY_ID_BYTES);
    if (round != NULL) {
        put_two_bytes(message + STUDY_MESSAGE_BYTES, round->number);
    }
    for (size_t i = 0; i < entries; i++) {
        put_two_bytes(message + ROUND_HEAD_BYTES + 2 * i, (uint16_t)round->vectors[i]);
    }
    return message;
}

/* Into a buffer first: the output is untouched when signing fails. */
static enum tremolo_status sign(uint8_t signature[TREMOLO_SIGNATURE_BYTES],
                                const struct tremolo_study *study,
                                const struct tremolo_round *round,
                                const uint8_t secret_key[TREMOLO_SIGNING_SECRET_BYTES])
{
    uint8_t made[TREMOLO_SIGNATURE_BYTES];
    size_t length = 0;
    uint8_t *message = message_of(&length, study, round);
    if (message == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    bool good = crypto_sign_detached(made, NULL, message, length, secret_key) == 0;
    free(message);
    if (good) {
        memcpy(signature, made, sizeof made);
    }
    return good ? TREMOLO_OK : TREMOLO_BAD_ARGUMENT;
}

/* Any difference is BAD_SIGNATURE; why a signature is wrong is nothing an attacker should learn. */
static enum tremolo_status verify(const uint8_t signature[TREMOLO_SIGNATURE_BYTES],
                                  const struct tremolo_study *study,
                                  const struct tremolo_round *round,
                                  const uint8_t public_key[TREMOLO_SIGNING_PUBLIC_BYTES])
{
    size_t length = 0;
    uint8_t *message = message_of(&length, study, round);
    if (message == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    bool good = crypto_sign_verify_detached(signature, message, length, public_key) == 0;
    free(message);
    return good ? TREMOLO_OK : TREMOLO_BAD_SIGNATURE;
}

/* A study with vectors has them in every round's broadcast. */
static bool round_makes_sense(const struct tremolo_study *study, const struct tremolo_round *round)
{
    return study != NULL && round != NULL && (study->vectors == 0 || round->vectors != NULL);
}

enum tremolo_status tremolo_round_sign(uint8_t signature[TREMOLO_SIGNATURE_BYTES],
                                       const struct tremolo_study *study,
                                       const struct tremolo_round *round,
                                       const uint8_t secret_key[TREMOLO_SIGNING_SECRET_BYTES])
{
    return signature == NULL || secret_key == NULL || !round_makes_sense(study, round)
               ? TREMOLO_BAD_ARGUMENT
               : sign(signature, study, round, secret_key);
}

enum tremolo_status tremolo_round_verify(const uint8_t signature[TREMOLO_SIGNATURE_BYTES],
                                         const struct tremolo_study *study,
                                         const struct tremolo_round *round,
                                         const uint8_t public_key[TREMOLO_SIGNING_PUBLIC_BYTES])
{
    return signature == NULL || public_key == NULL || !round_makes_sense(study, round)
               ? TREMOLO_BAD_ARGUMENT
               : verify(signature, study, round, public_key);
}

/* ---------------------------------------------------------------- devices */

/* Keyed with the server's secret, so that the server keeps no table of keys, and one device's key
 * says nothing about another's. */
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

/* The id is a hash of everything that was agreed, so signing it signs all. The body has the normalised
 * study, so that a receiver computes the same id from it; its text goes into the body
 * as it is. */
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
    enum tremolo_status status = sign(signature, &file->device, NULL, secret_key);
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

/* For everything in a body except its study: id, key, signature and punctuation. */
enum { BODY_OVERHEAD_BYTES = 1024 };

/* One problem of a body as a whole, in the form in which a file's problems are. */
static enum tremolo_status refuse(struct tremolo_study_problems *problems, const char *path,
                                  const char *reason)
{
    struct document_reader reader = {.problems = problems};
    document_problem(&reader, path, "%s", reason);
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

/* False unless the member is text of exactly so many bytes. */
static bool decode_member(uint8_t *bytes, size_t length, const json_t *body, const char *key)
{
    const char *text = json_string_value(json_object_get(body, key));
    return text != NULL && tremolo_base64_decode(bytes, length, text) == TREMOLO_OK;
}

/* With `public_key` NULL the key in the body is trusted, which is the caller's decision; it is
 * returned only after its signature was right. */
static enum tremolo_status check_signature(uint8_t *named_key,
                                           struct tremolo_study_problems *problems,
                                           const json_t *body, const struct tremolo_study *study,
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
        verify(signature, study, NULL, public_key != NULL ? public_key : key);
    if (status == TREMOLO_OK && named_key != NULL) {
        memcpy(named_key, key, sizeof key);
    }
    return status;
}

/* In this order: the study must be sound, then have the id that was asked for, then be signed. So
 * WRONG_STUDY is never the answer for bytes that no one could have published. */
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
        status = check_signature(named_key, problems, root, &got->device, public_key);
    }
    json_decref(root);
    if (status == TREMOLO_OK) {
        *file = got;
    } else {
        tremolo_study_file_free(got);
    }
    return status;
}
