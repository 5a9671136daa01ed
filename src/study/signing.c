/* signing.c -- the server's signature, the keys of devices, and how bytes are
 * written as text.
 *
 * Each kind of message begins with its own words, so that a signature on one
 * kind can never be shown as a signature on another. */
#include "tremolo_study_file.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

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

/* ---------------------------------------------------------------- text */

enum tremolo_status tremolo_base64_encode(char *text, size_t capacity, const uint8_t *bytes,
                                          size_t length)
{
    const int variant = sodium_base64_VARIANT_URLSAFE_NO_PADDING;
    if (text == NULL || bytes == NULL || length > SIZE_MAX / 8) {
        return TREMOLO_BAD_ARGUMENT;
    }
    if (capacity < sodium_base64_encoded_len(length, variant)) {
        return TREMOLO_SHORT_BUFFER;
    }
    (void)sodium_bin2base64(text, capacity, bytes, length, variant);
    return TREMOLO_OK;
}

void tremolo_study_id_text(char text[TREMOLO_STUDY_ID_TEXT_BYTES],
                           const uint8_t id[TREMOLO_STUDY_ID_BYTES])
{
    (void)sodium_bin2base64(text, TREMOLO_STUDY_ID_TEXT_BYTES, id, TREMOLO_STUDY_ID_BYTES,
                            sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

enum tremolo_status tremolo_base64_decode(uint8_t *bytes, size_t length, const char *text)
{
    enum { LONGEST = 64 };
    uint8_t decoded[LONGEST];
    size_t got = 0;
    const char *end = NULL;
    if (bytes == NULL || text == NULL || length > LONGEST) {
        return TREMOLO_BAD_ARGUMENT;
    }
    size_t text_length = strlen(text);
    if (sodium_base642bin(decoded, length, text, text_length, NULL, &got, &end,
                          sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0 ||
        got != length || end != text + text_length) {
        return TREMOLO_MALFORMED;
    }
    memcpy(bytes, decoded, length);
    sodium_memzero(decoded, sizeof decoded);
    return TREMOLO_OK;
}
