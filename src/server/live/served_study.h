/* served_study.h -- one study as it is served: its rounds, its log, its sums.
 *
 * Three structs, one for each rule of locking: struct served_study itself is constant, `sums` has its
 * mutex inside, and `log` is for the writer alone. */
#ifndef SERVER_SERVED_STUDY_H
#define SERVER_SERVED_STUDY_H

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "check_report.h"
#include "history.h"
#include "index.h"
#include "tremolo_regression.h"
#include "segment.h"
#include "store.h"
#include "moments.h"
#include "release.h"
#include "study_internal.h"

struct encoder;
struct mirror;

/* Of a stored round: the key, tag and number, and the value before its numbers. */
enum { SERVED_ROUND_KEY_BYTES = STORE_STUDY_BYTES + 2, SERVED_ROUND_HEAD_BYTES = 16 };

/* One round. closed_at 0: still open. */
struct served_round {
    int64_t opened_at; /* Unix seconds */
    int64_t closed_at;
    double *beta;     /* d numbers, scaled, that this round started from */
    int16_t *vectors; /* m * d, exactly as broadcast */
    struct tremolo_moments *moments;
    uint64_t folded_to;       /* every record of the log up to this position is in */
    uint64_t checkpointed_to; /* folded_to of the durable checkpoint */
    uint64_t logged;          /* reports that recovery found in the log */
    double gradient_norm;     /* |S beta - Z| from gradient_reports reports */
    uint64_t gradient_reports;
};

/* What the indexes get to know of a staged record after the sync. */
struct decided {
    uint64_t id_hash;
    uint64_t device_hash;
    uint32_t offset;
};

/* Reports of a round that came in [from, to), Unix seconds, and no longer count (recover.c). */
struct served_discard {
    unsigned round;
    int64_t from;
    int64_t to;
    uint64_t reports; /* that were there */
};

enum { SERVED_DISCARDS_MAX = 4096 };

/* The last answer, and what it was made from. */
struct served_estimate {
    char *text; /* NULL: none yet */
    uint64_t generation;
    uint64_t reports;
    uint64_t devices; /* at least, that its table is from */
    double r2;        /* of the prediction; NAN: none */
    json_t *summary;  /* for lists; NULL: none */
    float *values;    /* of the table, as a history_point has them; NULL: none */
};

/* What any thread reads under `lock`. Only the writer changes it, under `lock` too, and may read it
 * without: the holder of the writer's write_lock, or in a gateway and a worker the thread that
 * refreshes the mirror. When `lock` is released, `reports` is the number of reports in the sums of
 * all rounds, and a round that can be seen is durable. */
struct served_sums {
    pthread_mutex_t lock;
    struct served_round *rounds; /* terms->rounds of them */
    unsigned opened;             /* rounds[0..opened) exist; the last is current */
    unsigned round_limit;        /* no more of them are opened: terms->rounds, or after a restore
                                    those that were there */
    bool closing;        /* clustered: the last takes no more reports, and is not closed yet */
    uint64_t reports;    /* in the fold, all rounds */
    uint64_t discarded;  /* in the log and not in the fold */
    uint64_t generation; /* changes with every fold and every round */
    int64_t reported_at; /* Unix seconds of the newest report since the start; 0: none */
    struct served_estimate estimate;
    struct history history;
};

/* What the holder of the writer's write_lock alone may touch: the study's part of the log. */
struct served_log {
    struct index ids;
    struct index devices;
    struct index pending_ids; /* of the group commit under way */
    struct index pending_devices;
    struct segment segment;  /* under construction */
    struct rows rows;        /* of its records */
    struct decided *decided; /* hashes and places of the same records; room for as many as rows */
    uint64_t position;       /* of the newest segment */
    uint64_t staged;         /* the position that the segment will have after the sync */
    int64_t time;            /* no segment to come has an earlier one */
    struct served_discard *discards;
    size_t discard_count;
    uint64_t cached; /* position of the segment in cache */
    uint8_t *cache;
    size_t cache_length;
    uint64_t room; /* reports that the newest round takes beyond those in its sums */
    struct served_study *next_touched; /* of the studies in a batch */
    bool touched;
};

/* Constant once the study is served; the counts are atomic. */
struct served_study {
    struct tremolo_study_file *file;
    const struct tremolo_study *study;
    const struct tremolo_study_terms *terms;
    struct tremolo_sample_release release; /* without V */
    struct check_study check;
    uint8_t id[TREMOLO_STUDY_ID_BYTES];
    char id_text[TREMOLO_STUDY_ID_TEXT_BYTES];
    uint8_t hash_key[INDEX_KEY_BYTES];
    struct tremolo_honest honest;            /* the law of its honest reports */
    char *published;                         /* the body of GET /v1/studies/{id} */
    struct mirror *mirror;                   /* where its sums come from; NULL: its own log */
    int64_t since;                           /* Unix seconds: outcomes are counted from then on */
    _Atomic uint64_t outcome[OUTCOME_COUNT]; /* any thread */
    bool estimating; /* a thread of the estimator's is at work on it: under their lock */
    struct served_sums sums;
    struct served_log log;
};

/* Take and give back the lock of the sums. */
static inline void served_lock(struct served_study *served)
{
    (void)pthread_mutex_lock(&served->sums.lock);
}

static inline void served_unlock(struct served_study *served)
{
    (void)pthread_mutex_unlock(&served->sums.lock);
}

/* The round that is open, or the one that closed last; and the reports in the sums of a round. Lock
 * held, or the writer. */
static inline struct served_round *served_newest(const struct served_study *served)
{
    return &served->sums.rounds[served->sums.opened - 1];
}

static inline uint64_t served_reports(const struct served_study *served, unsigned round)
{
    return tremolo_moments_count(served->sums.rounds[round].moments);
}

/* The studies of a server: by number in the order in which they came, and by their tag in one step
 * however many there are. Tags are the beginnings of hashes, so their own bytes spread them over the
 * slots. A study stays until the end, so a pointer to one stays valid. The lock guards the list,
 * not the studies. */
enum { STUDIES_MAX = 16384, STUDIES_SLOTS = 2 * STUDIES_MAX };

struct studies {
    pthread_rwlock_t lock;
    size_t count;
    struct served_study *study[STUDIES_MAX];
    struct served_study *slot[STUDIES_SLOTS]; /* NULL: free; at most half are taken */
};

void studies_init(struct studies *studies); /* of zeros */
void studies_free(struct studies *studies); /* and each study */

/* The list takes the study over. There must be room, and no study with the same tag. */
void studies_add(struct studies *studies, struct served_study *served);
size_t studies_count(struct studies *studies);

/* NULL when there are not so many, or none with this tag, the first STORE_STUDY_BYTES of an id. */
struct served_study *studies_at(struct studies *studies, size_t index);
struct served_study *studies_find(struct studies *studies, const uint8_t *tag);

/* A new study with round 0 open in memory, nothing stored. `json` is the study;
 * `signing_key` is the server's; `secret` must outlive the study. Both are NULL for readers, who
 * neither sign nor authenticate. */
TREMOLO_MUST_USE enum tremolo_status served_new(struct served_study **served,
                                                struct tremolo_study_problems *problems,
                                                const char *json, size_t length,
                                                const uint8_t *signing_key, const uint8_t *secret);
void served_free(struct served_study *served);
void served_estimate_free(struct served_estimate *estimate);

/* Reads the studies of a store into a list, with the keys of served_new(); they are not recovered yet. A row
 * that cannot be served (BAD_STUDY, MALFORMED under another study's key, STUDIES_FULL) ends the reading, or is
 * only said to `refused`. */
struct studies_reader {
    struct studies *studies;
    const uint8_t *signing_key, *secret;
    void (*refused)(void *context, const char *words); /* NULL: it ends the reading */
    void *context;
    char *words; /* TREMOLO_WORDS_BYTES: the row refused last, its place and the reason */
};

/* For a store's each() of kind "study"; the context is a reader. */
TREMOLO_MUST_USE enum tremolo_status studies_take(void *reader, const uint8_t *key,
                                                  size_t key_length, const uint8_t *value,
                                                  size_t length);

/* Stage the study's text and its newest rounds. */
TREMOLO_MUST_USE enum tremolo_status served_put_study(struct store *store,
                                                      const struct served_study *served);
TREMOLO_MUST_USE enum tremolo_status
served_put_round(struct store *store, const struct served_study *served, unsigned round);

/* Stage that round `last` is the last: others may have been broadcast elsewhere. */
TREMOLO_MUST_USE enum tremolo_status
served_put_final(struct store *store, const struct served_study *served, unsigned last);

/* Stage what was encoded under the study's tag and a number; the bytes are freed. */
TREMOLO_MUST_USE enum tremolo_status served_put_encoded(struct store *store, const char *kind,
                                                        const struct served_study *served,
                                                        unsigned number,
                                                        const struct encoder *value);

/* A round as it is stored. Decoding takes the next round, or one that is there again, and makes
 * it the newest. */
void served_encode_round(struct encoder *out, const struct served_study *served, unsigned round);
TREMOLO_MUST_USE enum tremolo_status served_decode_round(struct served_study *served,
                                                         unsigned round, const uint8_t *value,
                                                         size_t length);

/* Stage checkpoints of every round with a fold that moved; served_checkpointed() is for
 * after the sync, and gives back the memory that only adding needs: a study that gets no
 * reports has none. */
TREMOLO_MUST_USE enum tremolo_status served_put_checkpoint(struct store *store,
                                                           struct served_study *served);
void served_checkpointed(struct served_study *served);

/* Rounds, checkpoints and log of studies just made, in one pass over the log: the folds are
 * then the same, to the bit, as those that were lost. With `all` the store must hold nothing of
 * other studies. What does not agree is MALFORMED, and `words` say what and where. */
TREMOLO_MUST_USE enum tremolo_status served_recover_all(struct studies *studies, bool all,
                                                        struct store *store,
                                                        char words[TREMOLO_WORDS_BYTES]);

/* The study with this id text, or with NULL the only one, from a store that no server is using,
 * recovered. The caller frees *served; on failure it is untouched and words may say why. */
TREMOLO_MUST_USE enum tremolo_status served_load(struct served_study **served, struct store *store,
                                                 const char *study,
                                                 char words[TREMOLO_WORDS_BYTES]);

/* The sums of the newest round without the reports that came in [from, to), as far as that is past,
 * durable: *reports of them no longer count. Their ids stay known. SPAN_NOT_BEGUN, SPANS_FULL or STUDY_DONE
 * when nothing can be discarded. The caller holds the writer's write_lock, and after a
 * failure discards what is staged. */
TREMOLO_MUST_USE enum tremolo_status served_discard(struct served_study *served,
                                                    struct store *store, int64_t from, int64_t to,
                                                    int64_t now, uint64_t *reports);

/* The time of the next segment. */
int64_t served_arrival_time(const struct served_study *served, int64_t now);

/* Memory for a round, once; false without any. */
bool served_prepare_round(struct served_study *served, unsigned round);

/* The key under which a device's reports of one round are found. */
enum { SERVED_DEVICE_KEY_BYTES = 2 + TREMOLO_DEVICE_ID_MAX };
size_t served_device_key(uint8_t key[SERVED_DEVICE_KEY_BYTES], const struct arrival *arrival);

/* How many devices reported, at least: devices may come to every round, and
 * give several samples in one. Lock held. */
uint64_t served_devices(const struct served_study *served);

/* Are all rounds closed? Lock held, or the writer. */
bool served_is_done(const struct served_study *served);

/* The bucket of a report: by its id, or by its device where devices report in
 * several rounds under a name, so that the jackknife leaves whole devices out. */
unsigned served_bucket(const struct served_study *served, const struct arrival *arrival);

/* ---- rounds: what is broadcast, and when it changes ----
 *
 * The iteration is tremolo_iterate() run over the stored sums of the closed rounds, or over those of the
 * last one from the beta it began with; the next round's coefficients and vectors are what it would
 * release next. So the server's iteration is the offline one, to the bit, and nothing but rounds and log needs
 * to be kept. */

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

/* The body of GET .../round, with the server's signature; the caller frees it. NULL without memory.
 * Any thread. */
char *round_json(struct served_study *served, const uint8_t *signing_key, int64_t now);

/* "waiting", "open" or "done", for a device that wants to report. Lock held. */
const char *round_state(const struct served_study *served, int64_t now);

/* Seconds between which a device should come again: "next" of the protocol. */
struct round_window {
    int64_t earliest;
    int64_t latest;
};
struct round_window round_next(const struct served_study *served, int64_t now);

#endif
