/* store_check.c -- BLAKE2b-128 of a row with its place; docs/reference/storage.md has the byte tables. */
#include "store_sqlite.h"

#include <sodium.h>
#include <string.h>

#include "encoder.h"

void store_check_segment(uint8_t check[STORE_CHECK_BYTES], uint64_t position, const uint8_t *study,
                         const uint8_t *bytes, size_t length)
{
    uint8_t place[16 + STORE_STUDY_BYTES + STORE_CHECK_BYTES] = {0};
    size_t own = length < STORE_CHECK_BYTES ? length : STORE_CHECK_BYTES;
    bytes_put_u64(place, position);
    bytes_put_u64(place + 8, length);
    memcpy(place + 16, study, STORE_STUDY_BYTES);
    memcpy(place + 16 + STORE_STUDY_BYTES, bytes + length - own, own);
    (void)crypto_generichash(check, STORE_CHECK_BYTES, place, sizeof place, NULL, 0);
}

void store_check_state(uint8_t check[STORE_CHECK_BYTES], const char *kind, const uint8_t *key,
                       size_t key_length, const uint8_t *value, size_t length)
{
    crypto_generichash_state hash;
    uint8_t lengths[16];
    bytes_put_u64(lengths, key_length);
    bytes_put_u64(lengths + 8, length);
    (void)crypto_generichash_init(&hash, NULL, 0, STORE_CHECK_BYTES);
    (void)crypto_generichash_update(&hash, (const uint8_t *)kind, strlen(kind) + 1);
    (void)crypto_generichash_update(&hash, lengths, sizeof lengths);
    (void)crypto_generichash_update(&hash, key, key_length);
    (void)crypto_generichash_update(&hash, value, length);
    (void)crypto_generichash_final(&hash, check, STORE_CHECK_BYTES);
}

void tally_add(struct store_tally *tally, const uint8_t check[STORE_CHECK_BYTES])
{
    tally->rows++;
    tally->sum[0] += bytes_get_u64(check);
    tally->sum[1] += bytes_get_u64(check + 8);
}

void tally_remove(struct store_tally *tally, const uint8_t check[STORE_CHECK_BYTES])
{
    tally->rows--;
    tally->sum[0] -= bytes_get_u64(check);
    tally->sum[1] -= bytes_get_u64(check + 8);
}

bool tally_equal(const struct store_tally *a, const struct store_tally *b)
{
    return a->rows == b->rows && a->sum[0] == b->sum[0] && a->sum[1] == b->sum[1];
}

void manifest_encode(uint8_t bytes[MANIFEST_BYTES], const struct store_manifest *manifest)
{
    const struct store_tally *tallies[2] = {&manifest->segments, &manifest->states};
    bytes_put_u64(bytes, manifest->commits);
    for (int i = 0; i < 2; i++) {
        bytes_put_u64(bytes + 8 + 24 * i, tallies[i]->rows);
        bytes_put_u64(bytes + 16 + 24 * i, tallies[i]->sum[0]);
        bytes_put_u64(bytes + 24 + 24 * i, tallies[i]->sum[1]);
    }
}

void manifest_decode(struct store_manifest *manifest, const uint8_t bytes[MANIFEST_BYTES])
{
    struct store_tally *tallies[2] = {&manifest->segments, &manifest->states};
    manifest->commits = bytes_get_u64(bytes);
    for (int i = 0; i < 2; i++) {
        tallies[i]->rows = bytes_get_u64(bytes + 8 + 24 * i);
        tallies[i]->sum[0] = bytes_get_u64(bytes + 16 + 24 * i);
        tallies[i]->sum[1] = bytes_get_u64(bytes + 24 + 24 * i);
    }
}
