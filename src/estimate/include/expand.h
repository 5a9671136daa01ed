/* expand.h -- the directions of ballots, eight blocks of the generator at a time.
 *
 * The same integers as tremolo_ballot_expand(), from what a row keeps of a ballot: its id,
 * its answer and its public response. */
#ifndef ESTIMATE_EXPAND_H
#define ESTIMATE_EXPAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chacha_lanes.h"
#include "tremolo_device.h"

enum {
    EXPAND_LANES = CHACHA_LANES,
    EXPAND_ANSWER = TREMOLO_REPORT_ID_BYTES / 2, /* places in a row, after the id */
    EXPAND_RESPONSE,
    EXPAND_ROW_VALUES,
    EXPAND_SHORT_ENTRIES = 512, /* rows that eight ballots are expanded to together */
};

/* Keys of the directions of EXPAND_LANES ballots; word w of ballot l is word[w][l]. */
struct expand_keys {
    uint32_t word[8][EXPAND_LANES];
};

/* The keys of `count` (1..EXPAND_LANES) ballots, whose rows lie one after the other. */
void expand_keys(struct expand_keys *keys, const uint8_t study_id[TREMOLO_STUDY_ID_BYTES],
                 const int16_t *rows, size_t count);

/* The signed sum of the answer's directions, `entries` integers of -80..80. `wide`: with the
 * widest registers the processor has; without them for tests. */
void expand_row(int8_t *row, size_t entries, const struct expand_keys *keys, size_t lane,
                unsigned answer, bool wide);

/* The same of any number of ballots, one row after the other, from the rows that keep them. */
void expand_rows(int8_t *rows, size_t entries, const uint8_t study_id[TREMOLO_STUDY_ID_BYTES],
                 const int16_t *ballots, size_t count, bool wide);

#endif
