/* offline.c -- a data directory without a server: its estimate, and what of it is damaged.
 *
 * The estimate comes by the same recovery as a server's, so it has the same bits. The store is
 * opened for reading, so that nothing in the directory changes; one that a server uses is refused.
 *
 * A check looks at the store row by row; then, if nothing was found there, all studies are
 * recovered together as a server would. What can be saved are the segments that are sound by
 * themselves: their reports are whole, whatever happened to the sums, which are made from them. */
#include <errno.h>
#include <jansson.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "document.h"
#include "estimate.h"
#include "log.h"
#include "served_study.h"
#include "server.h"
#include "tremolo_server.h"

/* A study that cannot be read may be another than the wanted one, so it ends nothing. */
static void count_refused(void *context, const char *words)
{
    size_t *count = context;
    (void)words;
    ++*count;
}

/* The place of the wanted study in the list of those that can be read, or why that cannot be said; `words`
 * have the last reason why one was refused. */
static enum tremolo_status choose(size_t *at, const struct studies *all, size_t refused,
                                  const char *study, char words[TREMOLO_WORDS_BYTES])
{
    size_t count = all->count;
    *at = 0;
    while (*at < count && study != NULL && strcmp(study, all->study[*at]->id_text) != 0) {
        ++*at;
    }
    if (*at == count) {
        return refused > 0 ? TREMOLO_BAD_STUDY
                           : words_say(words, TREMOLO_NO_SUCH_STUDY,
                                       count == 0 ? "no study was published on this server yet"
                                                  : "there is no such study in this directory");
    }
    if (study == NULL && count + refused > 1) {
        return words_say(
            words, TREMOLO_STUDY_NOT_NAMED, "there are %zu studies in this directory: %s%s%s%s",
            count + refused, all->study[0]->id_text, count > 1 ? ", " : "",
            count > 1 ? all->study[1]->id_text : "", count + refused > 2 ? ", ..." : "");
    }
    return TREMOLO_OK;
}

/* One study is recovered alone. Rows of others are ignored then, unless it is the only one. */
enum tremolo_status served_load(struct served_study **served, struct store *store,
                                const char *study, char words[TREMOLO_WORDS_BYTES])
{
    struct studies *all = calloc(2, sizeof *all); /* and behind it, the wanted one alone */
    size_t refused = 0, at = 0;
    if (all == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    struct studies *one = &all[1];
    struct studies_reader reader = {
        .studies = all, .refused = count_refused, .context = &refused, .words = words};
    studies_init(all);
    studies_init(one);
    enum tremolo_status status = store->each(store, "study", studies_take, &reader);
    if (status == TREMOLO_OK) {
        status = choose(&at, all, refused, study, words);
    }
    if (status == TREMOLO_OK) {
        studies_add(one, all->study[at]);
        status = served_recover_all(one, all->count + refused == 1, store, words);
        one->count = 0; /* it is in the other list */
    }
    if (status == TREMOLO_OK) { /* and now the caller's */
        *served = all->study[at];
        all->study[at] = NULL;
    }
    studies_free(one);
    studies_free(all);
    free(all);
    return status;
}

/* The same recovery and the same computation as a server's, so the answer has the same bits. */
enum tremolo_status tremolo_server_offline(char **json, const char *data, const char *study,
                                           double level, char words[TREMOLO_WORDS_BYTES])
{
    struct served_study *served = NULL;
    struct store *store = NULL;
    words[0] = '\0';
    if (sodium_init() < 0) {
        return TREMOLO_NO_ENTROPY;
    }
    enum tremolo_status status = store_read_sqlite(&store, data, words);
    if (status != TREMOLO_OK) {
        return status;
    }
    status = served_load(&served, store, study, words);
    if (status == TREMOLO_OK) {
        status = estimate_json(json, served, level);
    }
    if (status != TREMOLO_OK && words[0] == '\0') {
        (void)snprintf(words, TREMOLO_WORDS_BYTES, "%s", tremolo_status_sentence(status));
    }
    served_free(served);
    store->close(store);
    return status;
}

/* ---------------------------------------------------------------- what is damaged
 *
 * Findings are sentences for people, in the order in which they were found. A directory is sound
 * when there is none. */

enum { FINDINGS_MAX = 200 };

struct check {
    json_t *findings;
    size_t found;
    struct studies studies;
    struct studies_reader reader; /* into `studies`; any that cannot be served is a finding */
    char words[TREMOLO_WORDS_BYTES];
    uint64_t segments, sound, reports; /* of the log; records in the sound ones */
};

/* For the audit and for checks here. Only the first FINDINGS_MAX are kept; all are counted. */
static void note(void *context, const char *words)
{
    struct check *check = context;
    if (check->found++ < FINDINGS_MAX) {
        json_latch_append(&check->findings, json_string(words));
    }
}

/* ---------------------------------------------------------------- saving
 *
 * What is sound by itself is copied row by row. Sums and checkpoints are not copied, because
 * they may hold what was lost; they are made again from the segments that are left. */

/* A new store that gets what is sound of another. */
struct rescue {
    struct store *from, *to;
    struct check *check; /* its studies are those that are copied */
    const char *kind;    /* of the states that are copied now */
};

/* Studies first, then their rounds in order; sums are made from the log again. Nothing is copied of
 * a study that this version does not serve: no server would start on it. */
static enum tremolo_status copy_state(void *context, const uint8_t *key, size_t key_length,
                                      const uint8_t *value, size_t length)
{
    struct rescue *rescue = context;
    if (strcmp(rescue->kind, "study") == 0) {
        enum tremolo_status status =
            studies_take(&rescue->check->reader, key, key_length, value, length);
        if (status != TREMOLO_OK) {
            return status;
        }
    }
    struct served_study *served =
        key_length >= STORE_STUDY_BYTES ? studies_find(&rescue->check->studies, key) : NULL;
    if (served == NULL) {
        return TREMOLO_OK;
    }
    if (strcmp(rescue->kind, "round") == 0 && key_length == SERVED_ROUND_KEY_BYTES) {
        served->sums.round_limit = 1u + (unsigned)(key[key_length - 2] << 8 | key[key_length - 1]);
    }
    return rescue->to->put(rescue->to, rescue->kind, key, key_length, value, length);
}

/* Positions count again from 1 without a gap in the new store, because damaged segments are left
 * out. */
static enum tremolo_status copy_segments(struct rescue *rescue, uint64_t last)
{
    enum tremolo_status status = TREMOLO_OK;
    for (uint64_t at = 1; at <= last && status == TREMOLO_OK; at++) {
        struct store_segment segment = {0};
        uint64_t position;
        if (rescue->from->read(rescue->from, at, &segment) == TREMOLO_OK &&
            segment.position == at &&
            studies_find(&rescue->check->studies, segment.study) != NULL &&
            segment_check(segment.bytes, segment.length) == TREMOLO_OK) {
            status = rescue->to->append(rescue->to, segment.study, segment.bytes, segment.length,
                                        &position);
        }
    }
    return status;
}

/* Later rounds may have been broadcast: each study ends with the newest that is left. */
static enum tremolo_status end_rounds(struct rescue *rescue)
{
    enum tremolo_status status = TREMOLO_OK;
    for (size_t i = 0; i < rescue->check->studies.count && status == TREMOLO_OK; i++) {
        const struct served_study *served = rescue->check->studies.study[i];
        status = served_put_final(rescue->to, served, served->sums.round_limit - 1);
    }
    return status;
}

/* What is staged is recovered as a server would before it becomes durable. */
static enum tremolo_status fill_rescue(struct rescue *rescue, uint64_t last,
                                       char words[TREMOLO_WORDS_BYTES])
{
    static const char *const kinds[] = {"study", "round", "discarded"};
    enum tremolo_status status = TREMOLO_OK;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && status == TREMOLO_OK; i++) {
        rescue->kind = kinds[i];
        status = rescue->from->each(rescue->from, kinds[i], copy_state, rescue);
    }
    if (status == TREMOLO_OK) {
        status = end_rounds(rescue);
    }
    if (status == TREMOLO_OK) {
        status = copy_segments(rescue, last);
    }
    if (status == TREMOLO_OK) {
        status = served_recover_all(&rescue->check->studies, true, rescue->to, words);
    }
    return status == TREMOLO_OK ? rescue->to->sync(rescue->to) : status;
}

/* The new directory must not exist: nothing is overwritten. It gets no keys; the operator copies
 * them. */
static enum tremolo_status save(struct check *check, struct store *store, uint64_t last,
                                const char *directory, char words[TREMOLO_WORDS_BYTES])
{
    struct rescue *rescue = calloc(1, sizeof *rescue);
    enum tremolo_status status =
        rescue == NULL ? TREMOLO_NO_MEMORY
        : mkdir(directory, 0700) != 0
            ? words_say(words, TREMOLO_FILE_FAILED, "%s cannot be made: %s", directory,
                        errno == EEXIST ? "it is there already" : strerror(errno))
            : store_open_sqlite(&rescue->to, directory, STORE_CAREFUL, words);
    if (status == TREMOLO_OK) {
        rescue->from = store;
        rescue->check = check;
        status = fill_rescue(rescue, last, words);
        rescue->to->close(rescue->to);
    }
    free(rescue);
    return status;
}

/* ---------------------------------------------------------------- looking
 *
 * Rows first, because recovery stops at the first thing that is wrong. Only a directory in which
 * all rows are sound is recovered as a server would. */

/* Damaged segments that follow each other are one finding. */
static void note_range(struct check *check, uint64_t first, uint64_t last)
{
    char words[96];
    if (first == last) {
        (void)snprintf(words, sizeof words, "segment %llu is damaged or missing",
                       (unsigned long long)first);
    } else {
        (void)snprintf(words, sizeof words, "segments %llu to %llu are damaged or missing",
                       (unsigned long long)first, (unsigned long long)last);
    }
    note(check, words);
}

/* Every position by itself, up to the last that there should be. Neighbours that are damaged are
 * one finding. */
static void check_segments(struct check *check, struct store *store, uint64_t last)
{
    uint64_t bad_from = 0;
    for (uint64_t at = 1; at <= last + 1; at++) {
        struct store_segment segment = {0};
        bool sound = at > last ||
                     (store->read(store, at, &segment) == TREMOLO_OK && segment.position == at &&
                      segment_each(segment.bytes, segment.length, NULL, NULL) == TREMOLO_OK);
        if (sound && at <= last) {
            check->sound++;
            check->reports += segment_count(segment.bytes);
        }
        if (!sound && bad_from == 0) {
            bad_from = at;
        } else if (sound && bad_from != 0) {
            note_range(check, bad_from, at - 1);
            bad_from = 0;
        }
    }
    check->segments = last;
}

/* As a server would: the rows of all studies against each other. While one of them cannot be served,
 * rows of no known study are not findings: they may be its. */
static void recover(struct check *check, const char *data)
{
    struct store *store = NULL;
    char words[TREMOLO_WORDS_BYTES] = "";
    enum tremolo_status status = store_read_sqlite(&store, data, words);
    if (status == TREMOLO_OK) {
        status = store->each(store, "study", studies_take, &check->reader);
    }
    if (status == TREMOLO_OK) {
        status = served_recover_all(&check->studies, check->found == 0, store, words);
    }
    if (status != TREMOLO_OK) {
        note(check, words[0] != '\0' ? words : tremolo_status_sentence(status));
    }
    if (store != NULL) {
        store->close(store);
    }
}

/* What was recovered, or read, of each study. */
static json_t *studies_json(const struct check *check)
{
    json_t *list = json_array();
    for (size_t i = 0; i < check->studies.count; i++) {
        const struct served_study *served = check->studies.study[i];
        json_latch_append(&list, json_pack("{s:s, s:I, s:I, s:I, s:b}", "study", served->id_text,
                                           "reports", (json_int_t)served->sums.reports, "round",
                                           (json_int_t)served->sums.opened - 1, "rounds",
                                           (json_int_t)served->terms->rounds, "ends_here",
                                           served->sums.round_limit < served->terms->rounds));
    }
    return list;
}

/* The answer of tremolo check. "lossy" says that acknowledged reports are missing or may be. */
static json_t *document(struct check *check, const struct store_audit *audit, const char *data)
{
    bool lossy = audit->tip_damaged || audit->acknowledged > audit->commits;
    json_t *saved = json_pack("{s:I, s:I, s:I}", "segments", (json_int_t)check->sound, "of",
                              (json_int_t)check->segments, "reports", (json_int_t)check->reports);
    json_t *findings = check->findings;
    check->findings = NULL;
    return json_pack("{s:s, s:b, s:b, s:I, s:I, s:b, s:o, s:o, s:o}", "directory", data, "sound",
                     check->found == 0, "lossy", lossy, "commits", (json_int_t)audit->commits,
                     "acknowledged", (json_int_t)audit->acknowledged, "copy", audit->is_copy,
                     "findings", findings, "saved", saved, "studies", studies_json(check));
}

/* First every row by itself; if nothing was found, all rows against each other, as a server
 * would recover them. What is saved is read from the audited store, which leaves out what is
 * damaged. */
enum tremolo_status tremolo_server_check(char **json, const char *data, const char *rescued,
                                         char words[TREMOLO_WORDS_BYTES])
{
    struct check *check = calloc(1, sizeof *check);
    struct store *store = NULL;
    if (check == NULL || sodium_init() < 0) {
        free(check);
        return TREMOLO_NO_MEMORY;
    }
    studies_init(&check->studies);
    check->reader = (struct studies_reader){
        .studies = &check->studies, .refused = note, .context = check, .words = check->words};
    check->findings = json_array();
    struct store_audit audit = {.finding = note, .context = check};
    enum tremolo_status status = store_audit_sqlite(&store, &audit, data, words);
    if (status == TREMOLO_OK) {
        check_segments(check, store, audit.last);
        if (rescued != NULL) {
            status = save(check, store, audit.last, rescued, words);
        }
        store->close(store);
        if (check->found == 0 && rescued == NULL) {
            recover(check, data);
        }
    }
    if (status == TREMOLO_OK) {
        status = json_latch_text(json, document(check, &audit, data), JSON_COMPACT);
    }
    studies_free(&check->studies);
    json_decref(check->findings);
    free(check);
    return status;
}
