/* rounds.h -- a study's rounds: what is broadcast, and when it changes.
 *
 * The iteration is tremolo_iterate() run over the stored sums of the closed
 * rounds, or over those of the last one from the beta it began with; the
 * coefficients and vectors of the next round are what it would release with next. So the server's iteration is the offline one, to the bit,
 * and nothing but rounds and log needs to be kept. */
#ifndef SERVER_ROUNDS_H
#define SERVER_ROUNDS_H

#include <stdbool.h>
#include <stdint.h>

#include "check_report.h"
#include "tremolo_regression.h"

#include "release.h"

struct served_study;

/* Compute beta and vectors of round served->sums.opened and open it in memory. */
TREMOLO_MUST_USE enum tremolo_status rounds_open_next(struct served_study *served, int64_t now);

enum { ROUNDS_ALL = -1 };

/* What an estimate is made from: one round, or all of them, the open one included, with their sums
 * merged and the modulation of each weighted by its share of the reports. Lock held. Free with
 * tremolo_evidence_free, whatever the status. */
TREMOLO_MUST_USE enum tremolo_status rounds_evidence(struct tremolo_evidence *evidence,
                                                     struct served_study *served, int round);

/* How far the reports of all rounds reach; takes the lock. False when it is not known. */
bool rounds_tails(struct tremolo_tails *tails, struct served_study *served);

/* The iterate after all rounds and their average, d numbers each, once the study is done. Lock
 * held. */
TREMOLO_MUST_USE enum tremolo_status rounds_finish(double *last, double *average,
                                                   struct served_study *served);

/* The norm of the gradient S beta - Z of one round, at the beta it started from and
 * in scaled units; NAN before it has two reports, and of ballots. Lock held. */
TREMOLO_MUST_USE enum tremolo_status rounds_gradient_norm(double *norm, struct served_study *served,
                                                          unsigned round);

/* What decides about admission to a study's rounds, as far as the asker knows. */
struct rounds_view {
    unsigned newest;
    bool closed; /* the newest is */
    bool full;   /* it has all the reports that the study takes */
};

/* How many more reports the newest round takes, and the view while `staged` of these are on their way
 * into its sums. Lock held, or the writer. */
uint64_t rounds_room(const struct served_study *served);
struct rounds_view rounds_view(const struct served_study *served, uint64_t staged, uint64_t room);

/* PENDING: a report for `round` is welcome at this time. */
enum server_outcome rounds_admit(const struct rounds_view *view,
                                 const struct tremolo_study_terms *terms, unsigned round,
                                 int64_t now);

/* Does the study's count or clock say that the newest round ends now? */
bool rounds_is_due(const struct served_study *served, int64_t now);

/* ---- round_json.c: the current round, as devices ask for it ---- */

/* The body of GET .../round, with the server's signature. Any thread. */
TREMOLO_MUST_USE enum tremolo_status round_json(char **json, struct served_study *served,
                                                const uint8_t *signing_key, int64_t now);

/* "waiting", "open" or "done" for whoever wants to report. Lock held. */
const char *round_state(const struct served_study *served, int64_t now);

/* Seconds between which a device should come again: "next" of the protocol. */
struct round_window {
    int64_t earliest;
    int64_t latest;
};
struct round_window round_next(const struct served_study *served, int64_t now);

#endif
