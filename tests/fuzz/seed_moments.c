/* seed_moments.c -- first inputs for fuzz_moments: sums over rows, and over ballots with a
 * private and with a public response. */
#include <stdio.h>
#include <stdlib.h>

#include "moments.h"

static int16_t next_ballot(int8_t *row, size_t i, void *context)
{
    const size_t *entries = context;
    for (size_t k = 0; k < *entries; k++) {
        row[k] = (int8_t)((int)((i * 37 + k * 11) % 161) - 80);
    }
    return (int16_t)(i * 3000);
}

static int write_down(const char *folder, const char *name, struct tremolo_moments *moments)
{
    char path[1024];
    size_t length = tremolo_moments_encoded_bytes(moments);
    uint8_t *bytes = malloc(length);
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    int failed = bytes == NULL || file == NULL ||
                 tremolo_moments_encode(moments, bytes, length) != TREMOLO_OK ||
                 fwrite(bytes, 1, length, file) != length;
    failed |= file != NULL && fclose(file) != 0;
    free(bytes);
    tremolo_moments_free(moments);
    return failed;
}

static int write_ballots(const char *folder, const char *name, bool response_public)
{
    static const uint8_t buckets[5] = {0, 31, 7, 7, 12};
    struct tremolo_moments *moments = NULL;
    size_t entries = 3;
    return tremolo_moments_new_ballots(&moments, entries, response_public) != TREMOLO_OK ||
           tremolo_moments_add_ballots(moments, next_ballot, &entries, buckets, 5) != TREMOLO_OK ||
           write_down(folder, name, moments);
}

static int write_rows(const char *folder)
{
    static const int16_t rows[3 * 2] = {-80, 5, 80, -7, 1, 0};
    static const uint8_t buckets[3] = {0, 31, 7};
    struct tremolo_moments *moments = NULL;
    return tremolo_moments_new(&moments, 2, 80, 2047) != TREMOLO_OK ||
           tremolo_moments_add(moments, rows, buckets, 3) != TREMOLO_OK ||
           write_down(folder, "rows", moments);
}

int main(int argc, char **argv)
{
    return argc != 2 || write_rows(argv[1]) || write_ballots(argv[1], "ballots", false) ||
           write_ballots(argv[1], "public", true);
}
