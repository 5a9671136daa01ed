/* served_study.c -- a study as it is served: made, stored, its rounds, its sums; and the list of studies.
 *
 * The rounds are the paper's iteration, one durable step at a time. The next round's coefficients and
 * vectors follow from the sums of the rounds that ended, so a restart computes again what was
 * broadcast, and only the broadcast integers are stored.
 *
 * What is stored of a study, by kind and key (docs/reference/storage.md); recover.c brings it back:
 *
 *     study       tag                the published JSON of the study
 *     round       tag, round (2)     opened_at (8), closed_at (8), beta (8 d), vectors (2 m d)
 *     checkpoint  tag, round (2)     position (8), serialised moments
 *     final       tag                the last round (2), after a restore
 *     discarded   tag, number (2)    round (2), from (8), to (8), reports (8) (recover.c)
 *     history     tag                what charts show of the past (history.c)
 *
 * Integers big-endian, doubles by their bits.
 *
 * Locks (served_study.h): a function that reads `sums` says "Lock held" if its caller must hold sums.lock. The
 * holder of the writer's write_lock is the only one that changes them, so it may read without. */
#include "served_study.h"

#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "document.h"
#include "encoder.h"

/* ---------------------------------------------------------------- making
 *
 * A study is complete when served_new() returns: its first round is open in memory, though
 * nothing is stored yet. Rounds get memory when they begin, because a study may plan thousands
 * of them with hundreds of features each. */

/* A round without memory is all zero; served_prepare_round() begins again then. */
static void free_round(struct served_round *round)
{
    free(round->beta);
    free(round->vectors);
    tremolo_moments_free(round->moments);
    *round = (struct served_round){0};
}

/* Rounds are made when they begin: a study may plan thousands. */
bool served_prepare_round(struct served_study *served, unsigned round)
{
    struct served_round *made = &served->sums.rounds[round];
    size_t d = served->study->dimension;
    if (made->moments != NULL) {
        return true;
    }
    made->beta = calloc(d, sizeof *made->beta);
    made->vectors = calloc(d * served->study->vectors + 1, sizeof *made->vectors);
    if (made->beta == NULL || made->vectors == NULL ||
        tremolo_release_sums(&made->moments, served->study) != TREMOLO_OK) {
        free_round(made);
        return false;
    }
    return true;
}

void served_estimate_free(struct served_estimate *estimate)
{
    free(estimate->text);
    json_decref(estimate->summary);
    free(estimate->values);
}

void served_free(struct served_study *served)
{
    if (served == NULL) {
        return;
    }
    for (unsigned t = 0; served->sums.rounds != NULL && t < served->terms->rounds; t++) {
        free_round(&served->sums.rounds[t]);
    }
    free(served->sums.rounds);
    index_free(&served->log.ids);
    index_free(&served->log.devices);
    index_free(&served->log.pending_ids);
    index_free(&served->log.pending_devices);
    segment_free(&served->log.segment);
    rows_free(&served->log.rows);
    free(served->log.decided);
    free(served->log.discards);
    free(served->log.cache);
    free(served->published);
    served_estimate_free(&served->sums.estimate);
    free(served->sums.history.text);
    history_free(&served->sums.history);
    tremolo_study_file_free(served->file);
    (void)pthread_mutex_destroy(&served->sums.lock);
    free(served);
}

/* What does not change while the study is served. Readers pass no keys: zeros sign nothing that
 * leaves the process. */
static enum tremolo_status fill(struct served_study *served, const uint8_t *signing_key,
                                const uint8_t *secret)
{
    static const uint8_t no_key[TREMOLO_SIGNING_SECRET_BYTES];
    static const uint8_t no_secret[TREMOLO_DEVICE_SECRET_BYTES];
    signing_key = signing_key != NULL ? signing_key : no_key;
    secret = secret != NULL ? secret : no_secret;
    served->study = tremolo_study_file_device(served->file);
    served->terms = tremolo_study_file_terms(served->file);
    served->release = tremolo_release_of(served->study, 1.0, 1.0);
    tremolo_honest_law(&served->honest, served->study);
    served->check = check_study_of(served->file, secret);
    memcpy(served->id, tremolo_study_file_id(served->file), sizeof served->id);
    randombytes_buf(served->hash_key, sizeof served->hash_key);
    served->check.hash_key = served->hash_key;
    tremolo_study_id_text(served->id_text, served->id);
    enum tremolo_status status =
        tremolo_study_publish(&served->published, served->file, signing_key);
    if (status != TREMOLO_OK) {
        return status;
    }
    served->sums.round_limit = served->terms->rounds;
    served->sums.rounds = calloc(served->terms->rounds, sizeof *served->sums.rounds);
    if (served->sums.rounds == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    return rounds_open_next(served, (int64_t)time(NULL));
}

/* Nothing is stored, and no other thread knows the study: no lock is needed. */
enum tremolo_status served_new(struct served_study **served,
                               struct tremolo_study_problems *problems, const char *json,
                               size_t length, const uint8_t *signing_key, const uint8_t *secret)
{
    struct served_study *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    made->since = (int64_t)time(NULL);
    made->sums.estimate.r2 = NAN;
    (void)pthread_mutex_init(&made->sums.lock, NULL);
    enum tremolo_status status = tremolo_study_file_parse(&made->file, problems, json, length);
    if (status == TREMOLO_OK) {
        status = fill(made, signing_key, secret);
    }
    if (status != TREMOLO_OK) {
        served_free(made);
        return status;
    }
    *served = made;
    return TREMOLO_OK;
}

bool served_is_done(const struct served_study *served)
{
    return served->sums.opened == served->sums.round_limit && served_newest(served)->closed_at != 0;
}

/* Each device gives up to terms->samples reports in each round, so the largest round says how
 * many there are at least. */
uint64_t served_devices(const struct served_study *served)
{
    uint64_t most = 0;
    for (unsigned t = 0; t < served->sums.opened; t++) {
        uint64_t count = served_reports(served, t);
        most = count > most ? count : most;
    }
    return (most + served->terms->samples - 1) / served->terms->samples;
}

/* 16 of the 32 bytes of a name, folded: names of equal length differ in either half. */
unsigned served_bucket(const struct served_study *served, const struct arrival *arrival)
{
    uint8_t padded[32] = {0};
    if (served->check.secret == NULL || served->terms->rounds == 1) {
        return arrival->bucket;
    }
    memcpy(padded, arrival->device, arrival->device_length);
    for (size_t i = 0; i < 16; i++) {
        padded[i] ^= padded[i + 16];
    }
    return tremolo_bucket_of(padded);
}

/* ---------------------------------------------------------------- the list of studies
 *
 * Studies are added and never removed, so a pointer that a request got stays valid until the
 * server has stopped. The lock guards the list and the slots only; a study has its own. */

/* The struct is zero: 32,768 empty slots. */
void studies_init(struct studies *studies)
{
    (void)pthread_rwlock_init(&studies->lock, NULL);
}

/* No other thread uses the list any more. */
void studies_free(struct studies *studies)
{
    for (size_t i = 0; i < studies->count; i++) {
        served_free(studies->study[i]);
    }
    (void)pthread_rwlock_destroy(&studies->lock);
}

/* The slot of this tag, or the free one in which it belongs. Lock held. */
static struct served_study **slot_of(struct studies *studies, const uint8_t *tag)
{
    uint64_t first;
    memcpy(&first, tag, sizeof first);
    size_t at = (size_t)first % STUDIES_SLOTS;
    while (studies->slot[at] != NULL &&
           memcmp(studies->slot[at]->id, tag, STORE_STUDY_BYTES) != 0) {
        at = (at + 1) % STUDIES_SLOTS;
    }
    return &studies->slot[at];
}

/* Takes the list's lock for writing. A study is complete and durable when it is added. */
void studies_add(struct studies *studies, struct served_study *served)
{
    (void)pthread_rwlock_wrlock(&studies->lock);
    studies->study[studies->count++] = served;
    *slot_of(studies, served->id) = served;
    (void)pthread_rwlock_unlock(&studies->lock);
}

/* The list only grows, so every index below the count stays valid. */
size_t studies_count(struct studies *studies)
{
    (void)pthread_rwlock_rdlock(&studies->lock);
    size_t count = studies->count;
    (void)pthread_rwlock_unlock(&studies->lock);
    return count;
}

struct served_study *studies_at(struct studies *studies, size_t index)
{
    (void)pthread_rwlock_rdlock(&studies->lock);
    struct served_study *served = index < studies->count ? studies->study[index] : NULL;
    (void)pthread_rwlock_unlock(&studies->lock);
    return served;
}

struct served_study *studies_find(struct studies *studies, const uint8_t *tag)
{
    (void)pthread_rwlock_rdlock(&studies->lock);
    struct served_study *found = *slot_of(studies, tag);
    (void)pthread_rwlock_unlock(&studies->lock);
    return found;
}

/* ---------------------------------------------------------------- storing
 *
 * Everything is staged in a store and becomes durable with its sync. The caller holds the
 * writer's write_lock, so what is encoded does not change while it is. */

/* The text is the normalised study, the one that its id is the hash of. */
enum tremolo_status served_put_study(struct store *store, const struct served_study *served)
{
    char *json = NULL;
    enum tremolo_status status = tremolo_study_file_json(&json, served->file);
    if (status == TREMOLO_OK) {
        status = store->put(store, "study", served->id, STORE_STUDY_BYTES, (const uint8_t *)json,
                            strlen(json));
    }
    free(json);
    return status;
}

/* Vectors as the integers that were broadcast: debiasing uses exactly these. */
void served_encode_round(struct encoder *out, const struct served_study *served, unsigned round)
{
    const struct served_round *stored = &served->sums.rounds[round];
    size_t d = served->study->dimension;
    encode_number(out, (uint64_t)stored->opened_at, 8);
    encode_number(out, (uint64_t)stored->closed_at, 8);
    encode_numbers(out, stored->beta, sizeof *stored->beta, d);
    encode_numbers(out, stored->vectors, sizeof *stored->vectors, d * served->study->vectors);
}

/* Under the tag and a number. Takes the first failure of the encoder into account, and frees its
 * bytes. */
enum tremolo_status served_put_encoded(struct store *store, const char *kind,
                                       const struct served_study *served, unsigned number,
                                       const struct encoder *value)
{
    uint8_t key[SERVED_ROUND_KEY_BYTES];
    memcpy(key, served->id, STORE_STUDY_BYTES);
    key[STORE_STUDY_BYTES] = (uint8_t)(number >> 8);
    key[STORE_STUDY_BYTES + 1] = (uint8_t)number;
    enum tremolo_status status = value->status;
    if (status == TREMOLO_OK) {
        status = store->put(store, kind, key, sizeof key, value->bytes, value->length);
    }
    free(value->bytes);
    return status;
}

/* Staged; a round may be put again when it closes. */
enum tremolo_status served_put_round(struct store *store, const struct served_study *served,
                                     unsigned round)
{
    struct encoder out = {0};
    served_encode_round(&out, served, round);
    return served_put_encoded(store, "round", served, round, &out);
}

/* Only the newest round moves; those before were checkpointed when closed. */
enum tremolo_status served_put_checkpoint(struct store *store, struct served_study *served)
{
    unsigned round = served->sums.opened - 1;
    struct served_round *stored = &served->sums.rounds[round];
    struct encoder out = {0};
    if (served->log.position == stored->checkpointed_to) {
        return TREMOLO_OK;
    }
    stored->folded_to = served->log.position;
    encode_number(&out, stored->folded_to, 8);
    encode_moments(&out, stored->moments);
    return served_put_encoded(store, "checkpoint", served, round, &out);
}

/* The sums give back the memory that only adding needs. Called under write_lock, after the sync. */
void served_checkpointed(struct served_study *served)
{
    struct served_round *newest = served_newest(served);
    newest->checkpointed_to = newest->folded_to;
    tremolo_moments_rest(newest->moments);
}

/* After a restore: rounds after `last` may have been broadcast by the original. */
enum tremolo_status served_put_final(struct store *store, const struct served_study *served,
                                     unsigned last)
{
    uint8_t value[2] = {(uint8_t)(last >> 8), (uint8_t)last};
    return store->put(store, "final", served->id, STORE_STUDY_BYTES, value, sizeof value);
}

/* ---------------------------------------------------------------- what an estimate is made from
 *
 * Sums are exact integers, so merging those of several rounds in any order gives the same bits.
 * Only this copy is debiased; the sums that reports are added to stay integers. */

/* The seed is the study's id, so the vectors of a round are the same after every restart. */
static struct tremolo_iterate_options options_of(const struct served_study *served)
{
    return (struct tremolo_iterate_options){
        .rounds = served->sums.round_limit,
        .vectors = served->study->vectors,
        .step = served->terms->step > 0.0 ? served->terms->step : 1.0,
        .radius = served->terms->radius,
        .seed = bytes_get_u64(served->id),
        .intercept = true,
    };
}

/* Debias one round's sums with the vectors exactly as broadcast. Lock held. */
static enum tremolo_status evidence_of(struct tremolo_debiased **evidence,
                                       struct served_study *served, unsigned round)
{
    return tremolo_release_evidence(evidence, served->sums.rounds[round].moments, &served->release,
                                    served->sums.rounds[round].vectors);
}

/* The sums of rounds [first, end) merged, and their vectors, weighted. */
static enum tremolo_status merge(struct tremolo_moments *merged, double *V,
                                 const struct served_study *served, unsigned first, unsigned end)
{
    size_t count = (size_t)served->study->vectors * served->study->dimension;
    enum tremolo_status status = TREMOLO_OK;
    uint64_t reports = 0;
    for (unsigned t = first; t < end; t++) {
        reports += served_reports(served, t);
    }
    for (unsigned t = first; t < end && status == TREMOLO_OK; t++) {
        double share = reports > 0 ? (double)served_reports(served, t) / (double)reports : 0.0;
        tremolo_release_from_wire(V + (t - first) * count, served->sums.rounds[t].vectors, count,
                                  sqrt(share));
        status = tremolo_moments_merge(merged, served->sums.rounds[t].moments);
    }
    return status;
}

/* Rounds are merged by adding their exact sums; the vectors of each weigh by its share of the
 * reports. */
enum tremolo_status rounds_evidence(struct tremolo_evidence *evidence, struct served_study *served,
                                    int round)
{
    unsigned first = round == ROUNDS_ALL ? 0 : (unsigned)round;
    unsigned end = round == ROUNDS_ALL ? served->sums.opened : first + 1;
    struct tremolo_sample_release release = served->release;
    struct tremolo_moments *merged = NULL;
    *evidence = (struct tremolo_evidence){.watched = false};
    release.vectors = (end - first) * served->study->vectors;
    double *V = calloc(release.vectors * served->study->dimension + 1, sizeof *V);
    release.V = V;
    enum tremolo_status status =
        V == NULL ? TREMOLO_NO_MEMORY : tremolo_release_sums(&merged, served->study);
    if (status == TREMOLO_OK) {
        status = merge(merged, V, served, first, end);
    }
    if (status == TREMOLO_OK) {
        status = tremolo_evidence_of(evidence, merged, served->study, &served->honest, &release);
    }
    tremolo_moments_free(merged);
    free(V);
    return status;
}

/* Add the counts of a round to those before; `counts` has room for both sides. */
static void add_tail(struct tremolo_tail *sum, uint64_t *counts, const struct tremolo_tail *more)
{
    size_t n = more->limits.released;
    sum->limits = more->limits;
    sum->reports += more->reports;
    sum->set_aside += more->set_aside;
    for (size_t k = 0; k < TREMOLO_TAIL_LIMITS; k++) {
        sum->beyond[k] += more->beyond[k];
    }
    for (size_t i = 0; i < n; i++) {
        counts[i] += more->high[i];
        counts[n + i] += more->low[i];
    }
    sum->high = counts;
    sum->low = counts + n;
}

/* The counts of all rounds are added under the lock, and judged without it. */
bool rounds_tails(struct tremolo_tails *tails, struct served_study *served)
{
    struct tremolo_tail sum = {.reports = 0};
    struct tremolo_tail tail;
    uint64_t *counts = calloc(2 * served->honest.limits.released, sizeof *counts);
    bool known = counts != NULL;
    served_lock(served);
    for (unsigned t = 0; t < served->sums.opened && known; t++) {
        known = tremolo_moments_tail(&tail, served->sums.rounds[t].moments) &&
                tail.limits.released == served->honest.limits.released;
        if (known) {
            add_tail(&sum, counts, &tail);
        }
    }
    served_unlock(served);
    known = known && sum.reports > 0;
    if (known) {
        tremolo_tails_judge(tails, &sum, &served->honest);
    }
    free(counts);
    return known;
}

/* ---------------------------------------------------------------- iteration
 *
 * tremolo_iterate() is the offline iteration. Here its callback answers from stored sums instead
 * of asking devices; where it stops is the round to broadcast next. */

/* The callback answers closed rounds from their sums and stops at the first
 * one that is not closed, keeping what it would be released with. */
struct replay {
    struct served_study *served;
    struct served_round *next; /* gets the beta and vectors with which it would be released */
    bool stopped;
};

/* All rounds but the last are closed, so this is `opened` or one less. */
static unsigned closed_rounds(const struct served_study *served)
{
    unsigned closed = 0;
    while (closed < served->sums.opened && served->sums.rounds[closed].closed_at != 0) {
        closed++;
    }
    return closed;
}

/* For tremolo_iterate(): answers a round from its stored sums, and stops it at the first that is
 * still open. */
static enum tremolo_status replay_round(void *context, size_t round, const double *beta,
                                        const double *V, size_t vectors,
                                        struct tremolo_debiased **evidence)
{
    struct replay *replay = context;
    size_t d = replay->served->study->dimension;
    if (round < closed_rounds(replay->served)) {
        return evidence_of(evidence, replay->served, (unsigned)round);
    }
    memcpy(replay->next->beta, beta, d * sizeof *beta);
    tremolo_release_to_wire(replay->next->vectors, V, vectors * d);
    replay->stopped = true;
    return TREMOLO_ROUND_PASSED;
}

/* Computes from the last closed round on: its beta holds what came before. The caller makes the
 * round durable before any client may see it. */
enum tremolo_status rounds_open_next(struct served_study *served, int64_t now)
{
    struct served_round *next = &served->sums.rounds[served->sums.opened];
    if (!served_prepare_round(served, served->sums.opened)) {
        return TREMOLO_NO_MEMORY;
    }
    struct tremolo_iterate_options options = options_of(served);
    struct replay replay = {served, next, false};
    if (served->sums.opened >
        0) { /* what came before is in the beta of the round that has closed */
        options.first = served->sums.opened - 1;
        options.start = served->sums.rounds[options.first].beta;
    }
    enum tremolo_status status =
        tremolo_iterate(NULL, NULL, served->study->dimension, &options, replay_round, &replay);
    if (replay.stopped) {
        struct tremolo_round broadcast = {served->study->vectors > 0 ? next->vectors : NULL,
                                          (uint16_t)served->sums.opened};
        status = tremolo_round_check(served->study, &broadcast);
    }
    if (status == TREMOLO_OK) {
        next->opened_at = now;
        next->closed_at = 0;
        served->sums.opened++;
    }
    return status;
}

/* The same replay over all rounds, for the final coefficients. Lock held. */
enum tremolo_status rounds_finish(double *last, double *average, struct served_study *served)
{
    struct tremolo_iterate_options options = options_of(served);
    struct replay replay = {served, NULL, false};
    if (!served_is_done(served)) {
        return TREMOLO_BAD_ARGUMENT; /* the caller's bug */
    }
    return tremolo_iterate(last, average, served->study->dimension, &options, replay_round,
                           &replay);
}

/* |S beta - Z|: how far the round's start is from the solution of its own evidence. */
static double gradient_norm(const double *S, const double *Z, const double *beta, size_t d)
{
    double norm2 = 0.0;
    for (size_t i = 0; i < d; i++) {
        double gradient = -Z[i];
        for (size_t j = 0; j < d; j++) {
            gradient += S[i * d + j] * beta[j];
        }
        norm2 += gradient * gradient;
    }
    return sqrt(norm2);
}

/* Ballots have no S of this form, and one report has no variance. */
enum tremolo_status rounds_gradient_norm(double *norm, struct served_study *served, unsigned round)
{
    size_t d = served->study->dimension;
    struct tremolo_debiased *evidence = NULL;
    if (served->study->release == TREMOLO_RELEASE_BALLOT || served_reports(served, round) < 2) {
        *norm = NAN;
        return TREMOLO_OK;
    }
    double *S = calloc(d * d + d, sizeof *S);
    if (S == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    double *Z = S + d * d;
    enum tremolo_status status = evidence_of(&evidence, served, round);
    if (status == TREMOLO_OK) {
        tremolo_debias_moments(S, Z, NULL, evidence, options_of(served).intercept);
        *norm = gradient_norm(S, Z, served->sums.rounds[round].beta, d);
    }
    tremolo_debias_free(evidence);
    free(S);
    return status;
}

/* ---------------------------------------------------------------- admission
 *
 * Whether a report is welcome depends on three facts about the newest round, and on the clock.
 * They are a struct of their own, because a gateway of a cluster knows them from others' state. */

/* Bounded by the study's devices and by what the sums can hold without overflow. */
uint64_t rounds_room(const struct served_study *served)
{
    const struct tremolo_moments *sums = served_newest(served)->moments;
    uint64_t taken = tremolo_moments_count(sums);
    uint64_t most = served->terms->devices * served->terms->samples;
    uint64_t fit = tremolo_moments_reports_max(sums);
    most = most < fit ? most : fit;
    return taken < most ? most - taken : 0;
}

struct rounds_view rounds_view(const struct served_study *served, uint64_t staged, uint64_t room)
{
    return (struct rounds_view){
        .newest = served->sums.opened - 1,
        .closed = served_newest(served)->closed_at != 0,
        .full = staged >= room,
    };
}

/* Pure: the embedded log asks with its own counts, a gateway with what it knows of the cluster. */
enum server_outcome rounds_admit(const struct rounds_view *view,
                                 const struct tremolo_study_terms *terms, unsigned round,
                                 int64_t now)
{
    if (now < terms->opens) {
        return OUTCOME_TOO_EARLY;
    }
    if (round > view->newest) {
        return OUTCOME_WRONG_ROUND;
    }
    bool over = round < view->newest || view->closed || now >= terms->closes;
    return over || view->full ? OUTCOME_CLOSED : OUTCOME_PENDING;
}

/* ---------------------------------------------------------------- closing
 *
 * Rounds end by count, by time, or by the operator; this decides about the first two only.
 * Closing itself is a change of the writer's (embedded.c). */

/* Never with fewer than two reports: such a round could not be estimated from. */
bool rounds_is_due(const struct served_study *served, int64_t now)
{
    const struct served_round *newest = served_newest(served);
    uint64_t count = tremolo_moments_count(newest->moments);
    if (newest->closed_at != 0 || count < 2 || served->terms->protocol == TREMOLO_STUDY_ONE_SHOT) {
        return false;
    }
    bool by_count = served->terms->close_reports > 0 && count >= served->terms->close_reports;
    bool by_time = served->terms->close_seconds > 0 &&
                   now - newest->opened_at >= (int64_t)served->terms->close_seconds;
    return by_count || by_time;
}

/* ---------------------------------------------------------------- as devices ask for it
 *
 * A device reads the state, waits if it must, and checks the signature over the vectors before
 * it uses them. Only an open round is signed: a device must not report in any other. */

/* "waiting" also while a round is full or closing: devices come again for the next. */
const char *round_state(const struct served_study *served, int64_t now)
{
    bool full = rounds_room(served) == 0;
    bool over = served_is_done(served) || now >= served->terms->closes;
    if (over || (full && served->sums.opened == served->sums.round_limit)) {
        return "done";
    }
    return full || served->sums.closing || now < served->terms->opens ? "waiting" : "open";
}

struct round_window round_next(const struct served_study *served, int64_t now)
{
    const struct served_round *newest = served_newest(served);
    if (now < served->terms->opens) {
        return (struct round_window){served->terms->opens - now, served->terms->opens - now + 60};
    }
    if (served->terms->close_seconds == 0) {
        return (struct round_window){1, 10};
    }
    int64_t left = newest->opened_at + (int64_t)served->terms->close_seconds - now;
    int64_t spread = (int64_t)served->terms->close_seconds / 4;
    left = left < 1 ? 1 : left;
    return (struct round_window){left, left + (spread < 1 ? 1 : spread)};
}

/* One row a vector, as the integers that the signature covers. */
static json_t *vectors_json(const struct served_study *served, const int16_t *vectors)
{
    json_t *rows = json_array();
    size_t d = served->study->dimension;
    for (size_t j = 0; j < served->study->vectors; j++) {
        json_t *row = json_array();
        for (size_t i = 0; i < d; i++) {
            json_latch_append(&row, json_integer(vectors[j * d + i]));
        }
        json_latch_append(&rows, row);
    }
    return rows;
}

/* Over study, number and vectors of the round. Without memory it is left out, and devices refuse
 * the round. */
static void add_signature(json_t **answer, const struct served_study *served,
                          const struct tremolo_round *round, const uint8_t *signing_key)
{
    uint8_t signature[TREMOLO_SIGNATURE_BYTES];
    char text[TREMOLO_BASE64_BYTES(TREMOLO_SIGNATURE_BYTES)];
    if (tremolo_round_sign(signature, served->study, round, signing_key) == TREMOLO_OK &&
        tremolo_base64_encode(text, sizeof text, signature, sizeof signature) == TREMOLO_OK) {
        json_latch_set(answer, "signature", json_string(text));
    }
}

/* Null where the operator or the number of reports ends it. */
static json_t *closing_time(const struct served_study *served, const struct served_round *round)
{
    if (served->terms->close_seconds > 0) {
        return json_integer(round->opened_at + (int64_t)served->terms->close_seconds);
    }
    return served->terms->closes == INT64_MAX ? json_null() : json_integer(served->terms->closes);
}

/* Composed under the lock, written to text without it. */
char *round_json(struct served_study *served, const uint8_t *signing_key, int64_t now)
{
    served_lock(served);
    unsigned number_open = served->sums.opened - 1;
    const struct served_round *newest = &served->sums.rounds[number_open];
    const char *state = round_state(served, now);
    struct round_window next = round_next(served, now);
    json_t *answer = json_pack(
        "{s:s, s:I, s:I, s:s, s:o, s:o, s:o, s:I, s:{s:I, s:I}}", "study", served->id_text, "round",
        (json_int_t)number_open, "rounds", (json_int_t)served->terms->rounds, "state", state,
        "vectors", vectors_json(served, newest->vectors), "beta",
        json_latch_numbers(newest->beta, served->study->dimension), "closes",
        closing_time(served, newest), "reports", (json_int_t)tremolo_moments_count(newest->moments),
        "next", "earliest", (json_int_t)next.earliest, "latest", (json_int_t)next.latest);
    if (strcmp(state, "open") == 0) {
        struct tremolo_round round = {served->study->vectors > 0 ? newest->vectors : NULL,
                                      (uint16_t)number_open};
        add_signature(&answer, served, &round, signing_key);
    }
    served_unlock(served);
    return json_latch_exact(answer);
}
