/* store_check.h -- check values of stored rows, and the manifest that says which rows there are.
 *
 * A row's check value covers its place (position and study, or kind and key) and its content, so
 * a row that was changed, or moved to another place, shows by itself. The manifest holds how many
 * rows there are and the sum of their check values, so a row that is missing, doubled or an
 * older one of the same place shows as well. It changes with every commit. */
#ifndef SERVER_STORE_CHECK_H
#define SERVER_STORE_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STORE_CHECK_BYTES = 16, MANIFEST_BYTES = 56 };

/* A segment ends with the check value of its own bytes, which stands for them here: they
 * are hashed once, not twice. */
void store_check_segment(uint8_t check[STORE_CHECK_BYTES], uint64_t position, const uint8_t *study,
                         const uint8_t *bytes, size_t length);
void store_check_state(uint8_t check[STORE_CHECK_BYTES], const char *kind, const uint8_t *key,
                       size_t key_length, const uint8_t *value, size_t length);

/* Rows of one table: their number, and the sum of their check values modulo 2^128 by halves. */
struct store_tally {
    uint64_t rows;
    uint64_t sum[2];
};

void tally_add(struct store_tally *tally, const uint8_t check[STORE_CHECK_BYTES]);
void tally_remove(struct store_tally *tally, const uint8_t check[STORE_CHECK_BYTES]);
bool tally_equal(const struct store_tally *a, const struct store_tally *b);

struct store_manifest {
    uint64_t commits; /* so far; the tip (store_tip.h) says how many were acknowledged */
    struct store_tally segments, states;
};

void manifest_encode(uint8_t bytes[MANIFEST_BYTES], const struct store_manifest *manifest);
void manifest_decode(struct store_manifest *manifest, const uint8_t bytes[MANIFEST_BYTES]);

#endif
