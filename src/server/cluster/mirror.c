/* mirror.c -- reading a clustered study, and moving its rounds.
 *
 * Rounds: state.TAG goes OPEN r -> CLOSING r -> OPEN r + 1 ... -> DONE, each step
 * by compare-and-set on the revision that was read. In between, an end marker is
 * written into every shard; when all shards have folded theirs, the sums of
 * round r are final, and every process that computes the next round from them gets the
 * same bits. So every step may be tried by anybody, and again after a crash. */
#include "mirror.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"

/* After a hint a replica that is behind may still say what we know: ask for a while. */
enum { EAGER_MS = 1500 };

void mirror_hint(struct mirror *mirror, unsigned shard)
{
    if (shard == MIRROR_STATE) {
        atomic_store(&mirror->hinted_ms, clock_ms());
        atomic_store(&mirror->dirty, true);
    } else if (shard < mirror->shards) {
        atomic_store(&mirror->shard[shard].hinted_ms, clock_ms());
        atomic_store(&mirror->shard[shard].dirty, true);
    }
}

/* ---------------------------------------------------------------- opening */

void mirror_free(struct mirror *mirror)
{
    if (mirror == NULL) {
        return;
    }
    for (unsigned n = 0; mirror->shard != NULL && n < mirror->shards; n++) {
        struct mirror_shard *shard = &mirror->shard[n];
        for (unsigned t = 0; shard->rounds != NULL && t < mirror->served->terms->rounds; t++) {
            tremolo_moments_free(shard->rounds[t]);
        }
        free(shard->rounds);
    }
    free(mirror->shard);
    free(mirror->changed);
    served_free(mirror->served);
    free(mirror);
}

static enum tremolo_status allocate(struct mirror *mirror)
{
    mirror->shard = calloc(mirror->shards, sizeof *mirror->shard);
    mirror->changed = calloc(mirror->served->terms->rounds, sizeof *mirror->changed);
    if (mirror->shard == NULL || mirror->changed == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    for (unsigned n = 0; n < mirror->shards; n++) {
        struct mirror_shard *shard = &mirror->shard[n];
        shard->rounds = calloc(mirror->served->terms->rounds, sizeof(struct tremolo_moments *));
        if (shard->rounds == NULL) {
            return TREMOLO_NO_MEMORY;
        }
        atomic_store(&shard->dirty, true);
    }
    atomic_store(&mirror->dirty, true);
    return TREMOLO_OK;
}

enum tremolo_status mirror_open(struct mirror **mirror, struct bus *bus,
                                const uint8_t study[STORE_STUDY_BYTES], const uint8_t *signing_key,
                                const uint8_t *secret)
{
    struct bus_value value = {0};
    const char *text = NULL;
    size_t length = 0;
    struct mirror *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    cluster_tag(made->tag, study);
    cluster_stream(made->stream, made->tag);
    enum tremolo_status status =
        cluster_get_study(bus, made->tag, &value, &made->shards, &text, &length);
    if (status == TREMOLO_OK) {
        status = served_new(&made->served, NULL, text, length, signing_key, secret);
    }
    free(value.bytes);
    if (status == TREMOLO_OK) {
        made->served->mirror = made;
        status = allocate(made);
    }
    if (status == TREMOLO_OK && memcmp(made->served->id, study, STORE_STUDY_BYTES) != 0) {
        status = TREMOLO_MALFORMED;
    }
    if (status != TREMOLO_OK) {
        mirror_free(made);
        return status;
    }
    *mirror = made;
    return TREMOLO_OK;
}

struct mirror *mirror_find(struct mirror *const *mirrors, size_t count, const uint8_t *tag)
{
    for (size_t i = 0; i < count; i++) {
        if (memcmp(mirrors[i]->served->id, tag, STORE_STUDY_BYTES) == 0) {
            return mirrors[i];
        }
    }
    return NULL;
}

/* ---------------------------------------------------------------- rounds */

static enum tremolo_status read_round(struct mirror *mirror, struct bus *bus, unsigned round)
{
    char key[BUS_NAME_BYTES];
    struct bus_value value;
    cluster_key_of(key, "round", mirror->tag, round);
    enum tremolo_status status = bus->get(bus, key, &value);
    if (status == TREMOLO_OK && value.revision == 0) {
        status = TREMOLO_NETWORK_FAILED; /* this replica does not have it yet */
    }
    if (status == TREMOLO_OK) {
        served_lock(mirror->served);
        status = served_decode_round(mirror->served, round, value.bytes, value.length);
        mirror->served->sums.generation++;
        served_unlock(mirror->served);
    }
    free(value.bytes);
    return status;
}

/* Rounds that are new since the state was last read. */
static enum tremolo_status take_state(struct mirror *mirror, struct bus *bus,
                                      const struct cluster_state *state)
{
    struct served_study *served = mirror->served;
    enum tremolo_status status = TREMOLO_OK;
    unsigned known = mirror->state_revision == 0 ? 0 : mirror->round + 1;
    if (state->round >= served->terms->rounds) {
        return TREMOLO_MALFORMED;
    }
    for (unsigned t = known; t <= state->round && status == TREMOLO_OK; t++) {
        status = read_round(mirror, bus, t);
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    served_lock(served);
    for (unsigned t = 0; t < served->sums.opened; t++) {
        served->sums.rounds[t].closed_at = t < state->closed_count ? state->closed[t] : 0;
    }
    served->sums.closing = state->phase == CLUSTER_CLOSING;
    served->sums.generation++;
    served_unlock(served);
    mirror->phase = state->phase;
    mirror->round = state->round;
    mirror->state_revision = state->revision;
    return TREMOLO_OK;
}

/* Is this the state we have? What it says is all there is to know: a study is in each phase of each
 * round once. */
static bool is_known(const struct mirror *mirror, const struct cluster_state *state)
{
    return state->round == mirror->round && state->phase == mirror->phase;
}

static enum tremolo_status refresh_state(struct mirror *mirror, struct bus *bus)
{
    struct cluster_state state = {0};
    enum tremolo_status status = cluster_get_state(&state, bus, mirror->tag);
    /* A replica may be behind what was read from another. Rounds and phases only go forward,
     * whatever number their revision has. */
    bool behind = state.round < mirror->round ||
                  (state.round == mirror->round && state.phase < mirror->phase);
    bool news = state.revision != mirror->state_revision || !is_known(mirror, &state);
    if (status == TREMOLO_OK && news && !behind) {
        status = take_state(mirror, bus, &state);
    }
    cluster_state_free(&state);
    return status;
}

/* ---------------------------------------------------------------- sums */

static enum tremolo_status take_ended(struct mirror_shard *copy, struct bus *bus,
                                      const struct shard *shard, bool *changed)
{
    enum tremolo_status status = TREMOLO_OK;
    while (copy->final < shard->active && status == TREMOLO_OK) {
        struct tremolo_moments *moments = NULL;
        status = checkpoint_ended(&moments, bus, shard, copy->final);
        if (status == TREMOLO_OK) {
            tremolo_moments_free(copy->rounds[copy->final]);
            copy->rounds[copy->final] = moments;
            changed[copy->final] = true;
            copy->final++;
        }
    }
    return status;
}

static const uint8_t *check_of(const struct bus_value *value)
{
    return value->bytes + value->length - CHECKPOINT_CHECK_BYTES;
}

/* The checkpoint we have, under whatever number. One of no sense is left to the decoder. */
static bool is_same(const struct mirror_shard *copy, const struct bus_value *value)
{
    return copy->revision != 0 && value->length >= CHECKPOINT_CHECK_BYTES &&
           memcmp(copy->check, check_of(value), CHECKPOINT_CHECK_BYTES) == 0;
}

/* Numbers of revisions grow, unless a broker numbers its values again: then a checkpoint with
 * a lower one is news if it counts no less than the one we have. Sums that are final stay. */
static bool is_stale(const struct mirror_shard *copy, const struct shard *shard, uint64_t revision)
{
    return shard->active < copy->final ||
           (revision < copy->revision &&
            shard->counts[SHARD_COUNTED] < copy->counts[SHARD_COUNTED]);
}

static enum tremolo_status take_shard(struct mirror *mirror, struct bus *bus, unsigned number,
                                      const struct bus_value *value, bool *changed)
{
    struct mirror_shard *copy = &mirror->shard[number];
    struct checkpoint_mark mark;
    struct shard *shard = NULL;
    enum tremolo_status status =
        checkpoint_decode(&shard, &mark, bus, mirror->served, number, mirror->shards, value);
    if (status != TREMOLO_OK) {
        return status;
    }
    if (is_stale(copy, shard, value->revision)) {
        shard_free(shard);
        return TREMOLO_OK;
    }
    status = take_ended(copy, bus, shard, changed);
    if (status == TREMOLO_OK) {
        if (shard->moments != NULL) {
            tremolo_moments_free(copy->rounds[shard->active]);
            copy->rounds[shard->active] = shard->moments;
            shard->moments = NULL;
            changed[shard->active] = true;
        }
        copy->revision = value->revision;
        memcpy(copy->check, check_of(value), sizeof copy->check);
        copy->fence = mark.fence;
        copy->position = shard->position;
        copy->ended = shard->active;
        memcpy(copy->counts, shard->counts, sizeof copy->counts);
    }
    shard_free(shard);
    return status;
}

static enum tremolo_status merge_round(struct mirror *mirror, unsigned round)
{
    struct served_study *served = mirror->served;
    struct tremolo_moments *merged = NULL;
    enum tremolo_status status = tremolo_release_sums(&merged, served->study);
    for (unsigned n = 0; n < mirror->shards && status == TREMOLO_OK; n++) {
        if (mirror->shard[n].rounds[round] != NULL) {
            status = tremolo_moments_merge(merged, mirror->shard[n].rounds[round]);
        }
    }
    if (status != TREMOLO_OK) {
        tremolo_moments_free(merged);
        return status;
    }
    served_lock(served);
    struct tremolo_moments *old = served->sums.rounds[round].moments;
    served->sums.rounds[round].moments = merged;
    if (tremolo_moments_count(merged) > tremolo_moments_count(old)) {
        served->sums.reported_at = (int64_t)time(NULL);
    }
    served->sums.reports += tremolo_moments_count(merged) - tremolo_moments_count(old);
    served->sums.generation++;
    served_unlock(served);
    tremolo_moments_free(old);
    return TREMOLO_OK;
}

/* What could not be read, or brought nothing new soon after a hint, is read again. */
static void mark_again(_Atomic bool *dirty, _Atomic int64_t *hinted, bool news,
                       enum tremolo_status status)
{
    bool expected =
        !news && clock_ms() - atomic_load(hinted) < EAGER_MS && atomic_load(hinted) != 0;
    if (news) {
        atomic_store(hinted, 0);
    }
    if (status != TREMOLO_OK || expected) {
        atomic_store(dirty, true);
    }
}

static enum tremolo_status refresh_shard(struct mirror *mirror, struct bus *bus, unsigned number,
                                         bool *changed)
{
    char key[BUS_NAME_BYTES];
    struct bus_value value;
    struct mirror_shard *copy = &mirror->shard[number];
    uint8_t before[CHECKPOINT_CHECK_BYTES];
    memcpy(before, copy->check, sizeof before);
    cluster_key_of(key, "fold", mirror->tag, number);
    enum tremolo_status status = bus->get(bus, key, &value);
    if (status == TREMOLO_OK && is_same(copy, &value)) {
        copy->revision = value.revision;
    } else if (status == TREMOLO_OK && value.revision != 0) {
        status = take_shard(mirror, bus, number, &value, changed);
    }
    free(value.bytes);
    bool news = memcmp(before, copy->check, sizeof before) != 0;
    mark_again(&copy->dirty, &copy->hinted_ms, news, status);
    return status;
}

enum tremolo_status mirror_refresh(struct mirror *mirror, struct bus *bus, bool all)
{
    enum tremolo_status status = TREMOLO_OK;
    bool *changed = mirror->changed;
    if (atomic_exchange(&mirror->dirty, false) || all) {
        uint64_t before = mirror->state_revision;
        status = refresh_state(mirror, bus);
        mark_again(&mirror->dirty, &mirror->hinted_ms, mirror->state_revision != before, status);
    }
    for (unsigned n = 0; n < mirror->shards && status == TREMOLO_OK; n++) {
        if (atomic_exchange(&mirror->shard[n].dirty, false) || all) {
            status = refresh_shard(mirror, bus, n, changed);
        }
    }
    /* Whatever was read is merged, also when a later shard could not be. Sums of a round that
     * was opened after we read the state wait for the next time. */
    for (unsigned t = 0; t < mirror->served->sums.opened; t++) {
        if (changed[t]) {
            enum tremolo_status merged = merge_round(mirror, t);
            changed[t] = merged != TREMOLO_OK;
            status = status == TREMOLO_OK ? merged : status;
        }
    }
    return status;
}

/* ---------------------------------------------------------------- history */

enum tremolo_status mirror_read_history(struct mirror *mirror, struct bus *bus)
{
    char key[BUS_NAME_BYTES];
    struct bus_value value;
    struct served_study *served = mirror->served;
    cluster_key(key, "history", mirror->tag);
    enum tremolo_status status = bus->get(bus, key, &value);
    if (status != TREMOLO_OK) {
        return status;
    }
    mirror->history_revision = value.revision;
    if (value.revision != 0) {
        status = history_decode(&served->sums.history, served->study->dimension, value.bytes,
                                value.length);
    }
    free(value.bytes);
    if (status != TREMOLO_OK) {
        history_free(&served->sums.history);
        served->sums.history = (struct history){0};
    }
    return status == TREMOLO_MALFORMED ? TREMOLO_OK : status;
}

enum tremolo_status mirror_store_history(struct mirror *mirror, struct bus *bus)
{
    char key[BUS_NAME_BYTES];
    struct bus_value stored;
    uint8_t *bytes = NULL;
    size_t length = 0;
    enum tremolo_status status = history_take(&bytes, &length, mirror->served);
    if (status != TREMOLO_OK || bytes == NULL) {
        return status;
    }
    cluster_key(key, "history", mirror->tag);
    status = bus->get(bus, key, &stored);
    if (status == TREMOLO_OK) {
        bool others = stored.revision != mirror->history_revision;
        free(stored.bytes);
        mirror->history_revision = stored.revision;
        status =
            others ? TREMOLO_CHANGED
                   : bus->swap(bus, key, stored.revision, bytes, length, &mirror->history_revision);
    }
    free(bytes);
    if (status != TREMOLO_OK) {
        history_keep(mirror->served);
    }
    return status == TREMOLO_CHANGED ? TREMOLO_OK : status;
}

/* ---------------------------------------------------------------- moving */

static bool all_ended(const struct mirror *mirror, unsigned round)
{
    for (unsigned n = 0; n < mirror->shards; n++) {
        if (mirror->shard[n].ended <= round) {
            return false;
        }
    }
    return true;
}

/* From now on the round is never shown as open: a device would be charged for a
 * report that comes too late. */
static void note_closing(struct served_study *served)
{
    served_lock(served);
    served->sums.closing = true;
    served->sums.generation++;
    served_unlock(served);
}

/* *ours: it was this process that moved the state. Only then may it write markers
 * at once; otherwise the state it knows could be an old one. */
static enum tremolo_status begin_closing(struct mirror *mirror, struct bus *bus, bool *ours)
{
    struct cluster_state state = {0};
    enum tremolo_status status = cluster_get_state(&state, bus, mirror->tag);
    *ours = false;
    if (status == TREMOLO_OK && is_known(mirror, &state)) {
        state.phase = CLUSTER_CLOSING;
        status = cluster_swap_state(&state, bus, mirror->tag);
        *ours = status == TREMOLO_OK;
    }
    if (*ours) {
        note_closing(mirror->served);
    }
    cluster_state_free(&state);
    atomic_store(&mirror->dirty, true);
    return status == TREMOLO_CHANGED ? TREMOLO_OK : status;
}

enum tremolo_status mirror_close_round(struct mirror *mirror, struct bus *bus, long round)
{
    bool ours = false;
    enum tremolo_status status = mirror_refresh(mirror, bus, true);
    if (status != TREMOLO_OK) {
        return status;
    }
    if (round >= 0 && (round < (long)mirror->round || mirror->phase == CLUSTER_DONE)) {
        return TREMOLO_OK; /* asked again: it is closed */
    }
    if (mirror->phase == CLUSTER_DONE) {
        return TREMOLO_STUDY_DONE;
    }
    if (round > (long)mirror->round) {
        return TREMOLO_ROUND_NOT_BEGUN;
    }
    if (mirror->phase == CLUSTER_CLOSING) {
        return TREMOLO_OK; /* under way */
    }
    if (tremolo_moments_count(mirror->served->sums.rounds[mirror->round].moments) < 2) {
        return TREMOLO_TOO_FEW_REPORTS;
    }
    status = begin_closing(mirror, bus, &ours);
    return status == TREMOLO_OK && ours
               ? cluster_mark_end(bus, mirror->tag, mirror->shards, mirror->round)
               : status;
}

/* Compute the next round from the final sums and write it down. */
static enum tremolo_status write_next(struct mirror *mirror, struct bus *bus, int64_t now)
{
    struct served_study *served = mirror->served;
    unsigned next = mirror->round + 1;
    served_lock(served);
    served->sums.rounds[mirror->round].closed_at = now;
    served->sums.opened = next;
    enum tremolo_status status = rounds_open_next(served, now);
    served_unlock(served);
    if (status == TREMOLO_OK) {
        status = cluster_put_round(bus, served, next);
    }
    /* Readers see a round only once the state says so. */
    served_lock(served);
    served->sums.rounds[mirror->round].closed_at = 0;
    served->sums.opened = next;
    served_unlock(served);
    return status;
}

static enum tremolo_status finish_closing(struct mirror *mirror, struct bus *bus, int64_t now)
{
    struct cluster_state state = {0};
    bool last = mirror->round + 1 == mirror->served->terms->rounds;
    enum tremolo_status status = last ? TREMOLO_OK : write_next(mirror, bus, now);
    if (status == TREMOLO_OK) {
        status = cluster_get_state(&state, bus, mirror->tag);
    }
    if (status == TREMOLO_OK && is_known(mirror, &state)) {
        state.closed[state.closed_count++] = now; /* there is room for one more */
        state.phase = last ? CLUSTER_DONE : CLUSTER_OPEN;
        state.round += last ? 0 : 1;
        status = cluster_swap_state(&state, bus, mirror->tag);
    }
    cluster_state_free(&state);
    atomic_store(&mirror->dirty, true);
    return status == TREMOLO_CHANGED ? TREMOLO_OK : status;
}

enum tremolo_status mirror_advance(struct mirror *mirror, struct bus *bus, int64_t now)
{
    enum tremolo_status status = mirror_refresh(mirror, bus, true);
    if (status == TREMOLO_OK && mirror->phase == CLUSTER_OPEN &&
        rounds_is_due(mirror->served, now)) {
        /* By its number: should we be paused now, the newest may soon be another. */
        status = mirror_close_round(mirror, bus, (long)mirror->round);
    } else if (status == TREMOLO_OK && mirror->phase == CLUSTER_CLOSING) {
        status = cluster_mark_end(bus, mirror->tag, mirror->shards, mirror->round);
        if (status == TREMOLO_OK && all_ended(mirror, mirror->round)) {
            status = finish_closing(mirror, bus, now);
        }
    }
    return status;
}
