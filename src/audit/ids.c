/* ids.c -- ids of reports: uniform, never twice, and telling nothing.
 *
 * Every bit of an id is compared with its neighbour bits, with the same bit of the report
 * before, and with numbers that it might tell: coordinates of the sample, its length, noise or
 * rank. */
#include "audit_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = TREMOLO_REPORT_ID_BYTES };

static unsigned bit_of(const uint8_t *id, unsigned bit)
{
    return id[bit / 8] >> bit % 8 & 1;
}

bool audit_ids_add(struct audit_ids *ids, struct audit *audit, const uint8_t *id,
                   const double tells[AUDIT_TELLS])
{
    if (ids->count == ids->capacity) {
        size_t capacity = ids->capacity == 0 ? 1024 : 2 * ids->capacity;
        void *larger = realloc(ids->seen, capacity * sizeof *ids->seen);
        if (larger == NULL) {
            return audit_goes_on(audit, TREMOLO_NO_MEMORY);
        }
        ids->seen = larger;
        ids->capacity = capacity;
    }
    memcpy(ids->seen[ids->count], id, BYTES);
    for (unsigned i = 0; i < BYTES; i++) {
        ids->nibble[2 * i][id[i] >> 4]++;
        ids->nibble[2 * i + 1][id[i] & 15]++;
    }
    for (unsigned bit = 0; bit < AUDIT_ID_BITS; bit++) {
        unsigned set = bit_of(id, bit);
        ids->changed[bit] += ids->count > 0 && bit_of(ids->seen[ids->count - 1], bit) != set;
        for (unsigned k = 0; k < AUDIT_TELLS; k++) {
            ids->told[k][bit] += set ? tells[k] : -tells[k];
        }
    }
    for (unsigned k = 0; k < AUDIT_TELLS; k++) {
        ids->square[k] += tells[k] * tells[k];
    }
    ids->count++;
    return true;
}

static int compare(const void *one, const void *two)
{
    return memcmp(one, two, BYTES);
}

void audit_ids_judge(const struct audit_ids *ids, struct audit *audit,
                     const struct audit_tell *tells)
{
    double n = (double)ids->count;
    for (unsigned i = 0; i < 2 * BYTES; i++) {
        audit_note(audit, CHECK_IDS_LAW, audit_p_uniform(ids->nibble[i], 16), ids->nibble[i][0] / n,
                   1.0 / 16.0,
                   "byte %u of the ids is not uniform: its %s half is 0 in %.4g of reports", i / 2,
                   i % 2 == 0 ? "upper" : "lower", ids->nibble[i][0] / n);
    }
    for (unsigned k = 0; k < AUDIT_TELLS && tells[k].name != NULL && n <= 100.0; k++) {
        audit_leave_out(audit, tells[k].check);
    }
    for (unsigned bit = 0; bit < AUDIT_ID_BITS && n > 100.0; bit++) {
        double changed = (double)ids->changed[bit];
        audit_note(audit, CHECK_IDS_LAW, audit_p_binomial(changed, n - 1.0, 0.5),
                   changed / (n - 1.0), 0.5,
                   "bit %u of the ids changes in %.4g of reports, not in half of them", bit,
                   changed / (n - 1.0));
        for (unsigned k = 0; k < AUDIT_TELLS && tells[k].name != NULL; k++) {
            double r = ids->told[k][bit] / sqrt(fmax(ids->square[k] * n, 1e-300));
            double z = ids->told[k][bit] / sqrt(fmax(ids->square[k], 1e-300));
            audit_note(audit, tells[k].check, audit_p_even(z), r, 0.0,
                       "bit %u of the ids tells %s: correlation %.3f", bit, tells[k].name, r);
        }
    }
    uint64_t repeats = 0;
    qsort(ids->seen, ids->count, sizeof *ids->seen, compare);
    for (size_t i = 1; i < ids->count; i++) {
        repeats += memcmp(ids->seen[i], ids->seen[i - 1], BYTES) == 0;
    }
    audit_note(audit, CHECK_IDS_REPEATED, repeats > 0 ? 0.0 : 1.0, (double)repeats, 0.0,
               "%llu of %llu ids came before", (unsigned long long)repeats,
               (unsigned long long)ids->count);
}
