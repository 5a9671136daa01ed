/* fleet.h -- many simulated devices, each with one row of data.
 *
 * A fleet turns scaled rows into reports, and the reports of a round into debiased moments or, of
 * ballots, into the sums over them.
 *
 * A device that sends noisy samples runs the real core: ledger, noise, report bytes, and the
 * server's decoder reads them. So does one that casts a ballot when its reports are kept. Other
 * ballots are computed eight blocks of directions at a time (fleet_ballot.c), answer for answer as
 * the core gives them, without ledger or bytes: the core would take ten times as long.
 *
 * Results depend on the seed alone, never on the number of threads: each device has its own
 * entropy, drawn from the seed, and sums are exact.
 *
 * Round 0 comes first and later rounds follow it: in round 0 a device enrols, and its first
 * report's id decides its bucket, which all later rounds share. A fleet is used by one thread at
 * a time; its own threads live only within a call. */
#ifndef TREMOLO_LAB_FLEET_H
#define TREMOLO_LAB_FLEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "regression.h"
#include "tremolo_device.h"
#include "tremolo_host.h"
#include "tremolo_mechanism.h"
#include "moments.h"
#include "tremolo_progress.h"
#include "release.h"

/* What is simulated. The pointers are borrowed: X, y and study for fleet_new() alone, progress
 * and reports until fleet_free(). */
struct fleet_setup {
    const double *X; /* rows * dimension scaled features, row by row */
    const double *y; /* rows scaled responses */
    size_t rows;
    double response_bound; /* a public response is clamped to -+ this; > 0 */
    struct tremolo_mechanism_request request;
    unsigned samples; /* of a device in each round, which request.rounds counts; 0: one */
    enum tremolo_release_kind release; /* ballots read dimension, response_private, epsilon and
                                          rounds (0: one) of the request; ranges are -1..1 */
    const struct tremolo_study *study; /* reports are this study's if its integers are the same;
                                          ballots take its law where it fits; may be NULL */
    uint64_t seed;
    unsigned threads;                        /* 1..TREMOLO_MAX_FOLD_THREADS */
    bool core;                               /* ballots by the core, too */
    const struct tremolo_progress *progress; /* counts every device's report; may be NULL */
    FILE *reports; /* every report's length (2 bytes, low first) and bytes; may be
                      NULL. Needs one thread. */
};

/* What surrounds a device that runs the core: its ledger, which comes first because it is the
 * context of the host's functions, and entropy drawn from the seed. */
struct fleet_device {
    struct tremolo_host_memory memory;
    uint64_t key;
    uint64_t counter;
};

/* Prepared once, then read by all threads of a call. A thread writes only the buckets and devices
 * of the rows that it was dealt, so no lock is needed. */
struct fleet {
    struct fleet_setup setup; /* X and y are read by fleet_new() only */
    size_t d;
    size_t width; /* integers of a report's row */
    bool bulk;    /* ballots without the core */
    struct tremolo_study study;
    struct tremolo_mechanism_scales scales;
    struct tremolo_sample_release release; /* without V */
    struct tremolo_bounds *bounds;
    uint8_t *buckets;             /* of every device */
    int16_t *wire_vectors;        /* the current round's, in 2^-14 */
    int32_t *raw;                 /* rows * (d + 1): features and response as measured */
    struct fleet_device *devices; /* all of them; NULL with one round */
};

/* Copies the data in the devices' own integers. Free with fleet_free. On failure *fleet is
 * untouched and nothing is left to free. The memory it takes is four bytes for each number of
 * each row, one byte a row for the bucket and, with several rounds of reports by the core, a
 * ledger for each device. */
enum tremolo_status fleet_new(struct fleet **fleet, const struct fleet_setup *setup);
/* Accepts NULL. */
void fleet_free(struct fleet *fleet);

/* One round: every device reports once. V holds request.vectors rows of d numbers, or is NULL
 * without modulation. The evidence is the caller's; so is the same once more in *copy, unless
 * copy is NULL. After a failure *evidence is untouched. */
enum tremolo_status fleet_release(struct tremolo_debiased **evidence,
                                  struct tremolo_debiased **copy, struct fleet *fleet,
                                  uint16_t round, const double *V);

/* One ballot of every device; the result is the caller's. BAD_ARGUMENT when the sums hold no
 * ballot. */
enum tremolo_status fleet_ballots(struct tremolo_ballot **ballots, struct fleet *fleet);

/* ---- fleet_ballot.c */

/* The point of a ballot, and what the products of a row of directions have in common. */
struct ballot_point {
    size_t count;                               /* of `value` */
    int32_t first[TREMOLO_MAX_COORDINATES + 1]; /* factors of the first row */
    int32_t value[TREMOLO_MAX_COORDINATES + 1]; /* and of the others */
    uint32_t diagonal[TREMOLO_MAX_COORDINATES + 1];
    uint32_t start[TREMOLO_MAX_COORDINATES + 1];
    uint32_t beside;
    bool has_beside;  /* the response is private */
    int16_t response; /* when it is public, else 0 */
};

/* Raw values of one device, d features and then the response, as the point on which its scores
 * depend. The same integers as on a device, bit for bit. */
void fleet_ballot_point(struct ballot_point *point, const struct tremolo_study *study,
                        const int32_t *raw);

/* The answer at a rank; `lane` and `wide` as of expand_row(). The result is the number of a
 * block, 0 to 7, above TREMOLO_BALLOT_SIGNS bits for the pattern of signs. Rank 0 is the answer
 * with the largest score. */
unsigned fleet_ballot_answer(const struct ballot_point *point, const struct expand_keys *keys,
                             size_t lane, unsigned rank, bool wide);

/* Write the rows of `count` devices from `from`, and their buckets. `from` must be the start of a
 * block of the fleet, since it selects the entropy. */
void fleet_ballot_block(int16_t *rows, struct fleet *fleet, size_t from, size_t count);

#endif
