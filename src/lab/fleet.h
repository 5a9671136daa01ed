/* fleet.h -- many simulated devices, each with one row of data.
 *
 * A fleet turns scaled rows into reports, and reports into debiased moments or, of
 * ballots, into the sums over them.
 * Where reports are kept every device runs the real core (ledger, noise, report bytes, decoder);
 * else the core's map and noise or ranks of its law are computed many at a time, value for value
 * the same, without ledger or bytes.
 *
 * Results depend on the seed alone, not on the number of threads: each device
 * has its own entropy, drawn from the seed, and sums are exact. */
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

struct fleet_setup {
    const double *X; /* rows * dimension scaled features, row by row */
    const double *y; /* rows scaled responses */
    size_t rows;
    double response_bound; /* a public response is clamped to -+ this; > 0 */
    struct tremolo_mechanism_request request;
    unsigned samples; /* of a device in each round, which request.rounds counts; 0: one */
    enum tremolo_release_kind release; /* ballots read dimension, response_private, epsilon and
                                          rounds (0: one) of the request; ranges are -1..1 */
    const struct tremolo_study *study; /* whose reports they are if its integers are these, as
                                          those of a ballot are where they fit; may be NULL */
    uint64_t seed;
    unsigned threads;                        /* 1..TREMOLO_MAX_FOLD_THREADS */
    bool core;                               /* run it in any case */
    const struct tremolo_progress *progress; /* told of every device's report; may be NULL */
    FILE *reports; /* every report's length (2 bytes, low first) and bytes; may be
                      NULL. Needs one thread. */
};

/* Devices are simulated by the block and folded by the batch: the fold wants
 * long runs of each of its 32 buckets. */
enum { FLEET_BLOCK_ROWS = 512, FLEET_BATCH_ROWS = 16 * FLEET_BLOCK_ROWS };

/* What surrounds a device that runs the core: its ledger, which comes first as the context of the
 * host's functions, and entropy drawn from the seed. */
struct fleet_device {
    struct tremolo_host_memory memory;
    uint64_t key;
    uint64_t counter;
};

struct fleet {
    struct fleet_setup setup; /* X and y are read when it is made, and not later */
    size_t d;
    size_t width; /* integers of a report's row */
    bool bulk;
    struct tremolo_study study;
    struct tremolo_mechanism_scales scales;
    struct tremolo_sample_release release; /* without V */
    struct tremolo_bounds *bounds;
    uint8_t *buckets;      /* of every device */
    int16_t *wire_vectors; /* the current round's, in 2^-14 */
    /* with the core, and of ballots */
    int32_t *raw;                 /* rows * (d + 1): features and response as measured */
    struct fleet_device *devices; /* all of them; NULL with one round */
    /* of noisy samples in bulk */
    int32_t *base;     /* rows * coordinates, and a few more: clipped and shrunk */
    int16_t *response; /* rows, when the response is public */
};

/* The data are copied in the devices' own integers. Free with fleet_free. */
enum tremolo_status fleet_new(struct fleet **fleet, const struct fleet_setup *setup);
void fleet_free(struct fleet *fleet);

/* One round: every device reports once. V holds request.vectors rows of d
 * numbers, or is NULL without modulation. The evidence is the caller's; so is
 * the same once more in *copy, unless copy is NULL. */
enum tremolo_status fleet_release(struct tremolo_debiased **evidence,
                                  struct tremolo_debiased **copy, struct fleet *fleet,
                                  uint16_t round, const double *V);

/* One ballot of every device; the result is the caller's. */
enum tremolo_status fleet_ballots(struct tremolo_ballot **ballots, struct fleet *fleet);

/* The same as sums only, added to `moments` (tremolo_release_plain_sums() of its study), with
 * noise from `stream`: many passes over one fleet stand for many more devices. Not
 * with the core. */
enum tremolo_status fleet_fold(struct tremolo_moments *moments, const struct fleet *fleet,
                               uint64_t stream);

/* ---- the ways to make reports: fleet_core.c, fleet_bulk.c, fleet_ballot.c */

/* What one pass over the devices has in common. */
struct fleet_pass {
    struct tremolo_round round;
    uint64_t stream; /* of the noise in bulk */
};

enum tremolo_status fleet_core_prepare(struct fleet *fleet);
enum tremolo_status fleet_bulk_prepare(struct fleet *fleet);

/* Write `count` rows of `width` integers of the devices from `from`. */
enum tremolo_status fleet_core_block(int16_t *rows, struct fleet *fleet, size_t from, size_t count,
                                     const struct fleet_pass *pass);
enum tremolo_status fleet_bulk_block(int16_t *rows, const struct fleet *fleet, size_t from,
                                     size_t count, const struct fleet_pass *pass);

/* A row in the integers of a device. */
enum tremolo_status fleet_raw_row(int32_t *raw, const struct fleet_setup *setup, size_t row);

/* The steps of a block: the kept sample of one device and its public response; waves with these
 * angles, vector by vector, for rows of coordinates; and noise, rounded to the wire (a multiple of
 * eight numbers). */
void fleet_bulk_sample(int32_t *base, int16_t *response, const struct tremolo_study *study,
                       const int32_t *raw);
void fleet_bulk_waves(int32_t *value, const struct tremolo_study *study, const int16_t *vectors,
                      const uint32_t *angles, size_t count);
void fleet_bulk_round(int32_t *value, const int32_t *noise, size_t count,
                      const struct tremolo_study *study);

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

void fleet_ballot_point(struct ballot_point *point, const struct tremolo_study *study,
                        const int32_t *raw);

/* The answer at a rank; `lane` and `wide` as of expand_row(). */
unsigned fleet_ballot_answer(const struct ballot_point *point, const struct expand_keys *keys,
                             size_t lane, unsigned rank, bool wide);
void fleet_ballot_block(int16_t *rows, struct fleet *fleet, size_t from, size_t count,
                        const struct fleet_pass *pass);

#endif
