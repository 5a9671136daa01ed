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

#include "tremolo_ballot.h"
#include "tremolo_progress.h"
#include "tremolo_mechanism.h"
#include "tremolo_moments.h"
#include "tremolo_regression.h"

struct fleet_setup {
    const double *X; /* rows * dimension scaled features, row by row */
    const double *y; /* rows scaled responses */
    size_t rows;
    double response_bound; /* a public response is clamped to -+ this; > 0 */
    struct tremolo_mechanism_request request;
    enum tremolo_release_kind release; /* ballots read dimension, response_private and epsilon
                                          of the request; ranges are -1..1 */
    const struct tremolo_study *study; /* whose reports they are if its integers are these;
                                          may be NULL */
    uint64_t seed;
    unsigned threads;                        /* 1..TREMOLO_MAX_FOLD_THREADS */
    bool core;                               /* run it in any case */
    const struct tremolo_progress *progress; /* told of every device's report; may be NULL */
    FILE *reports; /* every report's length (2 bytes, low first) and bytes; may be
                      NULL. Needs one thread. */
};

struct fleet;

/* The data are copied in the devices' own integers. Free with fleet_free. */
enum tremolo_status fleet_new(struct fleet **fleet, const struct fleet_setup *setup);
void fleet_free(struct fleet *fleet);

const struct tremolo_mechanism_scales *fleet_scales(const struct fleet *fleet);
const struct tremolo_study *fleet_study(const struct fleet *fleet);

/* What one round is in the paper's symbols. */
struct tremolo_mechanism fleet_mechanism(const struct fleet *fleet);

/* One round: every device reports once. V holds request.vectors rows of d
 * numbers, or is NULL without modulation. The evidence is the caller's; so is
 * the same once more in *copy, unless copy is NULL. */
enum tremolo_status fleet_release(struct tremolo_debiased **evidence,
                                  struct tremolo_debiased **copy, struct fleet *fleet,
                                  uint16_t round, const double *V);

/* One ballot of every device; the result is the caller's. */
enum tremolo_status fleet_ballots(struct tremolo_ballot **ballots, struct fleet *fleet);

/* The same as sums only, added to `moments` (see fleet_moments), with noise
 * from `stream`: many passes over one fleet stand for many more devices. Not
 * with the core. */
enum tremolo_status fleet_moments(struct tremolo_moments **moments, const struct fleet *fleet);
enum tremolo_status fleet_fold(struct tremolo_moments *moments, const struct fleet *fleet,
                               uint64_t stream);

#endif
