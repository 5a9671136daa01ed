/* post.c -- claiming, folding and letting go of one shard. */
#include "post.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "moment.h"

void post_drop(struct post *post)
{
    shard_free(post->shard);
    post->shard = NULL;
    post->moved = false;
    post->rebuilding = false;
    post->recount = false; /* of a rebuild that did not come to its end */
    post->expected = 0;
    post->passed = 0;
    post->lost = false;
}

/* ---------------------------------------------------------------- leases */

/* NATS' client takes a value without bytes for a failed question. */
static const char nobody[] = "-";

static void note_owner(struct post *post, const uint8_t *name, size_t length)
{
    size_t size = length < sizeof post->owner - 1 ? length : sizeof post->owner - 1;
    if (size > 0) {
        memcpy(post->owner, name, size);
    }
    post->owner[size] = '\0';
    if (strcmp(post->owner, nobody) == 0) {
        post->owner[0] = '\0';
    }
}

static void note_lease(struct post *post, const struct bus_value *value)
{
    if (value->revision == post->lease && post->changed_ms != 0) {
        return;
    }
    post->lease = value->revision;
    post->changed_ms = moment_ms();
    note_owner(post, value->bytes, value->length);
}

enum tremolo_status post_look(struct post *post, const struct post_world *world)
{
    struct bus_value value;
    enum tremolo_status status = world->bus->get(world->bus, post->lease_key, &value);
    post->looked_ms = moment_ms();
    if (status == TREMOLO_OK) {
        note_lease(post, &value);
        free(value.bytes);
    }
    return status;
}

bool post_is_free(const struct post *post)
{
    return post->changed_ms != 0 &&
           (post->owner[0] == '\0' || moment_ms() - post->changed_ms >= POST_LEASE_MS);
}

static enum tremolo_status write_lease(struct post *post, const struct post_world *world,
                                       const char *owner)
{
    struct bus_value written = {0};
    enum tremolo_status status =
        world->bus->swap(world->bus, post->lease_key, post->lease, (const uint8_t *)owner,
                         strlen(owner), &written.revision);
    if (status == TREMOLO_OK) {
        post->lease = written.revision;
        post->changed_ms = moment_ms();
        post->renewed_ms = post->changed_ms;
        note_owner(post, (const uint8_t *)owner, strlen(owner));
    }
    return status;
}

enum tremolo_status post_renew(struct post *post, const struct post_world *world)
{
    if (post->shard == NULL || post->lost || moment_ms() - post->renewed_ms < POST_RENEW_MS) {
        return TREMOLO_OK;
    }
    enum tremolo_status status = write_lease(post, world, world->name);
    if (status != TREMOLO_CHANGED) {
        return status;
    }
    /* A renewal whose answer was lost looks like this, too. */
    status = post_look(post, world);
    if (status == TREMOLO_OK && strcmp(post->owner, world->name) != 0) {
        if (post->busy) {
            post->lost = true; /* whoever works on the shard gives it up */
            return TREMOLO_OK;
        }
        post_drop(post);
        return TREMOLO_CHANGED;
    }
    return status;
}

/* ---------------------------------------------------------------- loading */

/* Fold the shard again from its first message: the log is the truth. Without memory nothing is
 * ours any more: a post that said it is rebuilding would be claimed again without its names. */
static enum tremolo_status start_over(struct post *post)
{
    post_drop(post);
    enum tremolo_status status =
        shard_new(&post->shard, post->study->book, post->number, post->study->shards);
    if (status != TREMOLO_OK) {
        return status;
    }
    post->rebuilding = true;
    post->rebuilt++;
    post->recount = true;
    atomic_store(&post->hinted, true);
    return TREMOLO_OK;
}

/* A position is a number of the broker's. Should a broker ever number a log anew (a
 * replica that counted differently and became leader), the message there is another
 * one, and folding on could pass over reports. Then nothing that was derived from
 * numbers is used any more: the shard is folded again from its first message. */
static enum tremolo_status verify(struct post *post, const struct post_world *world)
{
    struct shard *shard = post->shard;
    struct bus_value message;
    char subjects[BUS_NAME_BYTES];
    uint8_t tail[SHARD_TAIL_BYTES];
    post->verified_ms = moment_ms();
    if (shard->position == 0) {
        return TREMOLO_OK;
    }
    cluster_shard_all(subjects, post->study->tag, post->number);
    enum tremolo_status status =
        world->bus->next(world->bus, post->study->stream, subjects, shard->position, &message);
    if (status != TREMOLO_OK) {
        return status;
    }
    shard_tail(tail, message.bytes, message.length);
    bool same = message.revision == shard->position && memcmp(tail, shard->tail, sizeof tail) == 0;
    bool missing = message.revision == 0;
    free(message.bytes);
    post->missing = missing ? post->missing + 1 : 0;
    if (missing && post->missing < POST_MISSING_MAX) {
        return TREMOLO_NETWORK_FAILED; /* a leader that does not know yet that it leads no longer */
    }
    post->missing = 0;
    if (!same) {
        return start_over(post);
    }
    struct bus_state state = {0};
    status = world->bus->state(world->bus, post->study->stream, subjects, &state);
    post->expected = status == TREMOLO_OK ? state.matching : 0;
    return status;
}

/* At the end of the log, after `expected` was read: were messages passed over? A log numbered
 * anew between two reads can do that, and the next message is one that verify knows. */
static bool is_short(struct post *post)
{
    uint64_t folded = post->shard->messages;
    uint64_t expected = post->expected;
    if (expected == 0) {
        return false;
    }
    post->expected = 0;
    if (post->recount) { /* whatever is missing now is not to be had */
        post->recount = false;
        post->surplus = expected > folded ? expected - folded : 0;
    }
    post->passed = folded + post->surplus < expected ? post->passed + 1 : 0;
    return post->passed >= POST_PASSED_MAX;
}

/* Names of reports after the last chunk: fold those messages again, for their
 * names alone. */
static enum tremolo_status replay(struct post *post, const struct post_world *world)
{
    struct shard *shard = post->shard;
    char subjects[BUS_NAME_BYTES];
    uint64_t at = shard->names_position;
    enum tremolo_status status = TREMOLO_OK;
    cluster_shard_all(subjects, post->study->tag, post->number);
    while (at < shard->position && status == TREMOLO_OK) {
        struct bus_value message;
        status = world->bus->next(world->bus, post->study->stream, subjects, at + 1, &message);
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
        world->tick(world->context);
        status = status == TREMOLO_OK && post->lost ? TREMOLO_CHANGED : status;
    }
    return status;
}

/* Everything a checkpoint leaves to be read. Every report that counted has left its
 * name, so their number tells whether all names are there. */
static enum tremolo_status load(struct post *post, const struct post_world *world)
{
    enum tremolo_status status = verify(post, world);
    if (status != TREMOLO_OK || post->rebuilding) {
        return status;
    }
    status = checkpoint_names(post->shard, world->bus, world->tick, world->context);
    if (status == TREMOLO_OK && post->lost) {
        return TREMOLO_CHANGED;
    }
    if (status == TREMOLO_OK) {
        status = replay(post, world);
    }
    const struct idset *ids = &post->shard->ids;
    bool whole = ids->count + (ids->has_zero ? 1 : 0) == post->shard->counts.counted;
    bool damaged = status == TREMOLO_MALFORMED || (status == TREMOLO_OK && !whole);
    return damaged ? start_over(post) : status;
}

/* A chunk that a leader does not have may be one that it does not have yet. When it
 * stays away it is lost, and the log is still there. */
static bool is_chunk_lost(struct post *post, enum tremolo_status status)
{
    if (status != TREMOLO_STORAGE_FAILED) {
        post->chunk_missing = status == TREMOLO_OK ? 0 : post->chunk_missing;
        return false;
    }
    if (++post->chunk_missing < POST_MISSING_MAX) {
        return false;
    }
    post->chunk_missing = 0;
    return true;
}

/* Read the checkpoint and replace it under our fence: from then on an earlier owner
 * can write nothing any more. */
static enum tremolo_status fence(struct post *post, const struct post_world *world)
{
    char key[BUS_NAME_BYTES];
    struct bus_value value;
    struct mirror *study = post->study;
    cluster_key_of(key, "fold", study->tag, post->number);
    enum tremolo_status status = world->bus->get(world->bus, key, &value);
    if (status != TREMOLO_OK) {
        return status;
    }
    post->mark = (struct checkpoint_mark){0};
    if (value.revision == 0) {
        status = shard_new(&post->shard, study->book, post->number, study->shards);
    } else {
        status = checkpoint_decode(&post->shard, &post->mark, world->bus, study->book, post->number,
                                   study->shards, &value);
    }
    free(value.bytes);
    post->mark.revision = value.revision;
    post->mark.fence = post->lease;
    post->mark.serial = 0;
    if (status != TREMOLO_OK) {
        return status;
    }
    post->busy = true;
    status = checkpoint_store(post->shard, &post->mark, world->bus, study->tag, world->tick,
                              world->context);
    post->busy = false;
    return status == TREMOLO_OK && post->lost ? TREMOLO_STORE_FAILED : status;
}

enum tremolo_status post_claim(struct post *post, const struct post_world *world)
{
    enum { TRIES = 5 };
    enum tremolo_status status = write_lease(post, world, world->name);
    if (status != TREMOLO_OK) {
        return status;
    }
    for (int i = 0; i < TRIES; i++) {
        status = fence(post, world);
        if (status != TREMOLO_CHANGED) {
            break;
        }
        post_drop(post); /* the value read was an old one: once more */
    }
    post->busy = true;
    if (status == TREMOLO_OK) {
        status = load(post, world);
    }
    post->busy = false;
    if (is_chunk_lost(post, status) || status == TREMOLO_MALFORMED) {
        status = start_over(post); /* our first checkpoint will replace it */
    }
    if (status != TREMOLO_OK) {
        bool ours = !post->lost;
        post_drop(post);
        if (ours) {
            (void)write_lease(post, world, nobody);
        }
        return status;
    }
    post->stored_ms = moment_ms();
    post->polled_ms = 0;
    atomic_store(&post->hinted, true);
    return TREMOLO_OK;
}

/* ---------------------------------------------------------------- folding */

static enum tremolo_status take(struct shard *shard, const struct bus_value *message)
{
    long round = cluster_round_of(message->subject);
    return round >= 0 ? shard_end(shard, message->revision, (unsigned)round)
                      : shard_take(shard, message->revision, message->bytes, message->length);
}

/* False at the end of what is there; *status says whether all went well. */
static bool fold_next(struct post *post, const struct post_world *world, const char *subjects,
                      enum tremolo_status *status, bool *broken)
{
    struct bus_value message;
    *status = world->bus->next(world->bus, post->study->stream, subjects, post->shard->position + 1,
                               &message);
    if (*status != TREMOLO_OK || message.revision == 0) {
        return false;
    }
    *status = take(post->shard, &message);
    free(message.bytes);
    *broken = *status != TREMOLO_OK;
    post->moved = true;
    return *status == TREMOLO_OK;
}

static enum tremolo_status fold_slice(struct post *post, const struct post_world *world)
{
    char subjects[BUS_NAME_BYTES];
    enum tremolo_status status = TREMOLO_OK;
    int64_t now = moment_ms();
    bool broken = false;
    if (atomic_exchange(&post->hinted, false)) {
        post->eager_until_ms = now + POST_EAGER_MS;
    } else if (now >= post->eager_until_ms && now - post->polled_ms < POST_POLL_MS) {
        return TREMOLO_OK;
    }
    post->polled_ms = now;
    cluster_shard_all(subjects, post->study->tag, post->number);
    unsigned ended = post->shard->active;
    bool more = true;
    while (more && moment_ms() - now < POST_SLICE_MS && post->shard->active == ended) {
        more = fold_next(post, world, subjects, &status, &broken);
    }
    if (more && status == TREMOLO_OK) {
        atomic_store(&post->hinted, true);
    } else if (status == TREMOLO_OK) {
        post->rebuilding = false; /* this was the end of the log */
        if (is_short(post)) {
            return start_over(post);
        }
    }
    if (broken) {
        post_drop(post);
    }
    return status;
}

static bool is_checkpoint_due(const struct post *post)
{
    const struct shard *shard = post->shard;
    bool large = shard->moments != NULL &&
                 tremolo_moments_encoded_bytes(shard->moments) > CHECKPOINT_INLINE_MAX;
    bool ended = shard->active > 0 && shard->ended[shard->active - 1].moments != NULL;
    int64_t pause = large ? POST_LARGE_MS : POST_CHECKPOINT_MS;
    return post->moved && !post->rebuilding && (ended || moment_ms() - post->stored_ms >= pause);
}

static enum tremolo_status store(struct post *post, const struct post_world *world)
{
    post->busy = true;
    enum tremolo_status status = checkpoint_store(post->shard, &post->mark, world->bus,
                                                  post->study->tag, world->tick, world->context);
    post->busy = false;
    post->stored_ms = moment_ms();
    if (status == TREMOLO_OK) {
        post->moved = false;
    }
    if (status == TREMOLO_CHANGED || post->lost) {
        post_drop(post);
    }
    return status;
}

enum tremolo_status post_work(struct post *post, const struct post_world *world)
{
    enum tremolo_status status = TREMOLO_OK;
    if (!post->rebuilding && moment_ms() - post->verified_ms >= POST_VERIFY_MS) {
        status = verify(post, world);
    }
    if (status == TREMOLO_OK) {
        status = fold_slice(post, world);
    }
    if (status == TREMOLO_OK && post->shard != NULL && is_checkpoint_due(post)) {
        status = store(post, world);
    }
    return status;
}

void post_release(struct post *post, const struct post_world *world)
{
    if (post->shard == NULL) {
        return;
    }
    if (post->moved && !post->rebuilding) {
        (void)store(post, world); /* if it fails the next owner folds it again */
    }
    if (post->shard != NULL) { /* else it was lost meanwhile */
        post_drop(post);
        (void)write_lease(post, world, nobody);
    }
}
