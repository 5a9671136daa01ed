/* lease.c -- claiming, folding and letting go of one shard. */
#include "lease.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"

void lease_init(struct lease *lease, struct mirror *study, unsigned number)
{
    *lease = (struct lease){.study = study, .number = number};
    cluster_key_of(lease->key, "lease", study->tag, number);
    cluster_shard_all(lease->subjects, study->tag, number);
}

void lease_drop(struct lease *lease)
{
    shard_free(lease->shard);
    lease->shard = NULL;
    lease->moved = false;
    lease->rebuilding = false;
    lease->recount = false; /* of a rebuild that did not come to its end */
    lease->expected = 0;
    lease->passed = 0;
    lease->lost = false;
    lease->slice_ms = 0;
}

/* ---------------------------------------------------------------- leases */

/* NATS' client takes a value without bytes for a failed question. */
static const char nobody[] = "-";

static void note_owner(struct lease *lease, const uint8_t *name, size_t length)
{
    size_t size = length < sizeof lease->owner - 1 ? length : sizeof lease->owner - 1;
    if (size > 0) {
        memcpy(lease->owner, name, size);
    }
    lease->owner[size] = '\0';
    if (strcmp(lease->owner, nobody) == 0) {
        lease->owner[0] = '\0';
    }
}

static void note_lease(struct lease *lease, const struct bus_value *value)
{
    if (value->revision == lease->revision && lease->changed_ms != 0) {
        return;
    }
    lease->revision = value->revision;
    lease->changed_ms = clock_ms();
    note_owner(lease, value->bytes, value->length);
}

enum tremolo_status lease_look(struct lease *lease, const struct lease_holder *holder)
{
    struct bus_value value;
    enum tremolo_status status = holder->bus->get(holder->bus, lease->key, &value);
    lease->looked_ms = clock_ms();
    if (status == TREMOLO_OK) {
        note_lease(lease, &value);
        free(value.bytes);
    }
    return status;
}

bool lease_is_free(const struct lease *lease)
{
    return lease->changed_ms != 0 &&
           (lease->owner[0] == '\0' || clock_ms() - lease->changed_ms >= LEASE_MS);
}

static enum tremolo_status write_lease(struct lease *lease, const struct lease_holder *holder,
                                       const char *owner)
{
    struct bus_value written = {0};
    enum tremolo_status status =
        holder->bus->swap(holder->bus, lease->key, lease->revision, (const uint8_t *)owner,
                          strlen(owner), &written.revision);
    if (status == TREMOLO_OK) {
        lease->revision = written.revision;
        lease->changed_ms = clock_ms();
        lease->renewed_ms = lease->changed_ms;
        note_owner(lease, (const uint8_t *)owner, strlen(owner));
    }
    return status;
}

enum tremolo_status lease_renew(struct lease *lease, const struct lease_holder *holder)
{
    if (lease->shard == NULL || lease->lost || clock_ms() - lease->renewed_ms < LEASE_RENEW_MS) {
        return TREMOLO_OK;
    }
    enum tremolo_status status = write_lease(lease, holder, holder->name);
    if (status != TREMOLO_CHANGED) {
        return status;
    }
    /* A renewal with a lost answer looks like this, too. */
    status = lease_look(lease, holder);
    if (status == TREMOLO_OK && strcmp(lease->owner, holder->name) != 0) {
        if (lease->busy) {
            lease->lost = true; /* its worker gives the shard up */
            return TREMOLO_OK;
        }
        lease_drop(lease);
        return TREMOLO_CHANGED;
    }
    return status;
}

/* ---------------------------------------------------------------- loading */

/* Fold the shard again from its first message: the log is the truth. Without memory nothing is
 * ours any more: a lease that said it is rebuilding would be claimed again without its names. */
static enum tremolo_status start_over(struct lease *lease)
{
    lease_drop(lease);
    enum tremolo_status status =
        shard_new(&lease->shard, lease->study->served, lease->number, lease->study->shards);
    if (status != TREMOLO_OK) {
        return status;
    }
    lease->rebuilding = true;
    lease->rebuilt++;
    lease->surplus = 0;
    lease->recount = true;
    atomic_store(&lease->hinted, true);
    return TREMOLO_OK;
}

/* A position is a number of the broker's. If a broker ever numbers a log from 1 again (a
 * replica that counted differently and became leader), the message there is another
 * one, and folding on could pass over reports. Then nothing that was derived from
 * numbers is used any more: the shard is folded again from its first message. */
static enum tremolo_status verify(struct lease *lease, const struct lease_holder *holder)
{
    struct shard *shard = lease->shard;
    struct bus_value message;
    uint8_t tail[SHARD_TAIL_BYTES];
    lease->verified_ms = clock_ms();
    if (shard->position == 0) {
        return TREMOLO_OK;
    }
    enum tremolo_status status = holder->bus->next(holder->bus, lease->study->stream,
                                                   lease->subjects, shard->position, &message);
    if (status != TREMOLO_OK) {
        return status;
    }
    shard_tail(tail, message.bytes, message.length);
    bool same = message.revision == shard->position && memcmp(tail, shard->tail, sizeof tail) == 0;
    bool missing = message.revision == 0;
    free(message.bytes);
    lease->missing = missing ? lease->missing + 1 : 0;
    if (missing && lease->missing < LEASE_MISSING_MAX) {
        return TREMOLO_NETWORK_FAILED; /* a leader that does not know yet that it leads no longer */
    }
    lease->missing = 0;
    if (!same) {
        return start_over(lease);
    }
    struct bus_state state = {0};
    status = holder->bus->state(holder->bus, lease->study->stream, lease->subjects, &state);
    lease->expected = status == TREMOLO_OK ? state.matching : 0;
    return status;
}

/* At the end of the log, after `expected` was read: were messages passed over? A log numbered
 * again between two reads can do that, and the next message is one that verify knows. It can do so
 * while we fold from the beginning, too: only when that ends equally short again and again
 * is the log taken to count messages that it does not give. */
static bool is_short(struct lease *lease)
{
    uint64_t known = lease->shard->messages + lease->surplus;
    uint64_t expected = lease->expected;
    if (expected == 0) {
        return false;
    }
    lease->expected = 0;
    if (known >= expected) {
        lease->recount = false;
        lease->passed = 0;
        return false;
    }
    if (++lease->passed < LEASE_PASSED_MAX) {
        return false;
    }
    lease->passed = 0;
    bool alike = lease->recount && lease->missed == expected - known;
    lease->alike = alike ? lease->alike + 1 : 0;
    lease->missed = expected - known;
    if (lease->alike >= LEASE_ALIKE_MAX) {
        lease->recount = false;
        lease->surplus += lease->missed;
        return false;
    }
    return true;
}

/* Names of reports after the last chunk: fold those messages again, for their
 * names alone. */
static enum tremolo_status replay(struct lease *lease, const struct lease_holder *holder)
{
    struct shard *shard = lease->shard;
    uint64_t at = shard->names_position;
    enum tremolo_status status = TREMOLO_OK;
    while (at < shard->position && status == TREMOLO_OK) {
        struct bus_value message;
        status =
            holder->bus->next(holder->bus, lease->study->stream, lease->subjects, at + 1, &message);
        if (status != TREMOLO_OK) {
            return status;
        }
        if (message.revision == 0 || message.revision > shard->position) {
            free(message.bytes); /* a replica that is behind; or a stream that lost messages */
            return message.revision == 0 ? TREMOLO_NETWORK_FAILED : TREMOLO_MALFORMED;
        }
        at = message.revision;
        if (cluster_round_of(message.subject) < 0) {
            status = shard_take(shard, at, message.bytes, message.length);
        }
        free(message.bytes);
        holder->tick(holder->context);
        status = status == TREMOLO_OK && lease->lost ? TREMOLO_CHANGED : status;
    }
    return status;
}

/* Everything a checkpoint leaves to be read. Every report that counted has left its
 * name, so their number tells whether all names are there. */
static enum tremolo_status load(struct lease *lease, const struct lease_holder *holder)
{
    enum tremolo_status status = verify(lease, holder);
    if (status != TREMOLO_OK || lease->rebuilding) {
        return status;
    }
    status = checkpoint_names(lease->shard, holder->bus, holder->tick, holder->context);
    if (status == TREMOLO_OK && lease->lost) {
        return TREMOLO_CHANGED;
    }
    if (status == TREMOLO_OK) {
        status = replay(lease, holder);
    }
    const struct idset *ids = &lease->shard->ids.set;
    bool whole = ids->count + (ids->has_zero ? 1 : 0) == lease->shard->counts[SHARD_COUNTED];
    bool damaged = status == TREMOLO_MALFORMED || (status == TREMOLO_OK && !whole);
    return damaged ? start_over(lease) : status;
}

/* A chunk that a leader does not have may be one that it does not have yet. When it
 * stays away it is lost, and the log is still there. */
static bool is_chunk_lost(struct lease *lease, enum tremolo_status status)
{
    if (status != TREMOLO_STORAGE_FAILED) {
        lease->chunk_missing = status == TREMOLO_OK ? 0 : lease->chunk_missing;
        return false;
    }
    if (++lease->chunk_missing < LEASE_MISSING_MAX) {
        return false;
    }
    lease->chunk_missing = 0;
    return true;
}

/* Read the checkpoint and replace it under our fence: from then on an earlier owner
 * can write nothing any more. */
static enum tremolo_status fence(struct lease *lease, const struct lease_holder *holder)
{
    char key[BUS_NAME_BYTES];
    struct bus_value value;
    struct mirror *study = lease->study;
    cluster_key_of(key, "fold", study->tag, lease->number);
    enum tremolo_status status = holder->bus->get(holder->bus, key, &value);
    if (status != TREMOLO_OK) {
        return status;
    }
    lease->mark = (struct checkpoint_mark){0};
    if (value.revision == 0) {
        status = shard_new(&lease->shard, study->served, lease->number, study->shards);
    } else {
        status = checkpoint_decode(&lease->shard, &lease->mark, holder->bus, study->served,
                                   lease->number, study->shards, &value);
    }
    free(value.bytes);
    lease->mark.revision = value.revision;
    lease->mark.fence = lease->revision;
    lease->mark.serial = 0;
    if (status != TREMOLO_OK) {
        return status;
    }
    lease->busy = true;
    status = checkpoint_store(lease->shard, &lease->mark, holder->bus, study->tag, holder->tick,
                              holder->context);
    lease->busy = false;
    return status == TREMOLO_OK && lease->lost ? TREMOLO_STORE_FAILED : status;
}

enum tremolo_status lease_claim(struct lease *lease, const struct lease_holder *holder)
{
    enum { TRIES = 5 };
    enum tremolo_status status = write_lease(lease, holder, holder->name);
    if (status != TREMOLO_OK) {
        return status;
    }
    for (int i = 0; i < TRIES; i++) {
        status = fence(lease, holder);
        if (status != TREMOLO_CHANGED) {
            break;
        }
        lease_drop(lease); /* the value read was an old one: once more */
    }
    lease->busy = true;
    if (status == TREMOLO_OK) {
        status = load(lease, holder);
    }
    lease->busy = false;
    if (is_chunk_lost(lease, status) || status == TREMOLO_MALFORMED) {
        status = start_over(lease); /* our first checkpoint will replace it */
    }
    if (status != TREMOLO_OK) {
        bool ours = !lease->lost;
        lease_drop(lease);
        if (ours) {
            (void)write_lease(lease, holder, nobody);
        }
        return status;
    }
    lease->stored_ms = clock_ms();
    lease->polled_ms = 0;
    atomic_store(&lease->hinted, true);
    return TREMOLO_OK;
}

/* ---------------------------------------------------------------- folding */

/* How many numbers the next question is about. */
static void choose_span(struct lease *lease, size_t largest)
{
    size_t span = LEASE_SPAN_BYTES / (largest + 1);
    lease->span = span < 1 ? 1 : span < BUS_SPAN_MAX ? (unsigned)span : (unsigned)BUS_SPAN_MAX;
}

/* False at the end of what is there; *status says whether all went well. What follows the end of a
 * round is read again: a checkpoint comes first. */
static bool fold_next(struct lease *lease, const struct lease_holder *holder,
                      enum tremolo_status *status, bool *broken)
{
    struct bus_value messages[BUS_SPAN_MAX];
    struct shard *shard = lease->shard;
    size_t count = 0;
    size_t largest = 0;
    unsigned ended = shard->active;
    *status = holder->bus->next_many(holder->bus, lease->study->stream, lease->subjects,
                                     shard->position + 1, lease->slice_ms > 0 ? lease->span : 1,
                                     messages, &count);
    for (size_t i = 0; i < count; i++) {
        largest = messages[i].length > largest ? messages[i].length : largest;
        if (*status == TREMOLO_OK && shard->active == ended) {
            *status = cluster_take(shard, &messages[i]);
            *broken = *status != TREMOLO_OK;
            lease->moved = true;
        }
        free(messages[i].bytes);
    }
    choose_span(lease, largest);
    return *status == TREMOLO_OK && count > 0;
}

/* Apart from the folding a turn has a dozen questions to the broker. On a busy machine each takes as
 * long as a slice, and with short ones a shard stayed behind for more than a minute: who was not
 * done has twice the time in its next turn. */
static void choose_slice(struct lease *lease, const struct lease_holder *holder, bool more)
{
    int64_t share = LEASE_TURN_MS / (int64_t)(holder->owned > 0 ? holder->owned : 1);
    int64_t longer = 2 * (lease->slice_ms > 0 ? lease->slice_ms : LEASE_SLICE_MS);
    longer = longer < share ? longer : share;
    lease->slice_ms = more && longer > LEASE_SLICE_MS ? longer : 0;
}

static enum tremolo_status fold_slice(struct lease *lease, const struct lease_holder *holder)
{
    enum tremolo_status status = TREMOLO_OK;
    int64_t now = clock_ms();
    bool broken = false;
    if (atomic_exchange(&lease->hinted, false)) {
        lease->eager_until_ms = now + LEASE_EAGER_MS;
    } else if (now >= lease->eager_until_ms && now - lease->polled_ms < LEASE_POLL_MS) {
        return TREMOLO_OK;
    }
    lease->polled_ms = now;
    unsigned ended = lease->shard->active;
    int64_t slice = lease->slice_ms > 0 ? lease->slice_ms : LEASE_SLICE_MS;
    bool more = true;
    lease->busy = true;
    while (more && !lease->lost && clock_ms() - now < slice && lease->shard->active == ended) {
        more = fold_next(lease, holder, &status, &broken);
        holder->tick(holder->context);
    }
    lease->busy = false;
    choose_slice(lease, holder, more);
    if (lease->lost) {
        lease_drop(lease);
        return TREMOLO_CHANGED;
    }
    if (more && status == TREMOLO_OK) {
        atomic_store(&lease->hinted, true);
    } else if (status == TREMOLO_OK) {
        lease->rebuilding = false; /* this was the end of the log */
        if (is_short(lease)) {
            return start_over(lease);
        }
    }
    if (broken) {
        lease_drop(lease);
    }
    return status;
}

static bool is_checkpoint_due(const struct lease *lease)
{
    const struct shard *shard = lease->shard;
    bool large = shard->moments != NULL &&
                 tremolo_moments_encoded_bytes(shard->moments) > CHECKPOINT_INLINE_MAX;
    bool ended = shard->active > 0 && shard->ended[shard->active - 1].moments != NULL;
    int64_t pause = large ? LEASE_LARGE_MS : LEASE_CHECKPOINT_MS;
    return lease->moved && !lease->rebuilding && (ended || clock_ms() - lease->stored_ms >= pause);
}

static enum tremolo_status store(struct lease *lease, const struct lease_holder *holder)
{
    lease->busy = true;
    enum tremolo_status status = checkpoint_store(lease->shard, &lease->mark, holder->bus,
                                                  lease->study->tag, holder->tick, holder->context);
    lease->busy = false;
    lease->stored_ms = clock_ms();
    if (status == TREMOLO_OK) {
        lease->moved = false;
    }
    if (status == TREMOLO_CHANGED || lease->lost) {
        lease_drop(lease);
    }
    return status;
}

enum tremolo_status lease_work(struct lease *lease, const struct lease_holder *holder)
{
    enum tremolo_status status = TREMOLO_OK;
    if (!lease->rebuilding && clock_ms() - lease->verified_ms >= LEASE_VERIFY_MS) {
        status = verify(lease, holder);
    }
    if (status == TREMOLO_OK) {
        status = fold_slice(lease, holder);
    }
    if (status == TREMOLO_OK && lease->shard != NULL && is_checkpoint_due(lease)) {
        status = store(lease, holder);
    }
    return status;
}

void lease_release(struct lease *lease, const struct lease_holder *holder)
{
    if (lease->shard == NULL) {
        return;
    }
    if (lease->moved && !lease->rebuilding) {
        (void)store(lease, holder); /* if it fails the next owner folds it again */
    }
    if (lease->shard != NULL) { /* else it was lost in between */
        lease_drop(lease);
        (void)write_lease(lease, holder, nobody);
    }
}
