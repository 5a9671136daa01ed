/* store.h -- where segments and small states are kept durably.
 *
 * A segment is what one group commit of one study appended; the store does
 * not look inside. A state is a small named value (a study's text, a round, a
 * checkpoint). append and put only stage; sync makes all that was staged
 * durable at once, or nothing of it:
 *
 *     status = store->append(store, tag, bytes, length, &position);
 *     status = store->sync(store);      now, and only now, may we answer
 *
 * One thread uses a store at a time; a server does so under its writer's write_lock. After any failure of
 * append, put or sync the caller calls discard, which drops what was staged. The first sync, with or
 * without something staged, also says that the caller goes on with what it found: before it a store
 * changes nothing on the disk. */
#ifndef SERVER_STORE_H
#define SERVER_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tremolo_status.h"

enum {
    STORE_STUDY_BYTES = 16,            /* of a study's tag */
    STORE_SEGMENT_BYTES_MAX = 8 << 20, /* of one segment */
    STORE_STATE_BYTES_MAX = 64 << 20,  /* of one state */
    STORE_KEY_BYTES_MAX = 64,
};

struct store_segment {
    uint64_t position; /* 0: there is none */
    const uint8_t *study;
    const uint8_t *bytes;
    size_t length;
};

/* Called for each state of a kind in the order of keys; the pointers live
 * during the call. Anything but OK stops and is passed on. */
typedef enum tremolo_status (*store_state_fn)(void *context, const uint8_t *key, size_t key_length,
                                              const uint8_t *value, size_t length);

/* Where a store's content comes from, as far as rounds are concerned: a round that was open
 * elsewhere after this content was copied may not be opened again with other vectors. */
enum store_past {
    STORE_ITS_OWN, /* all that was written here */
    STORE_COPIED,  /* it looks like a copy, and the original may have gone on */
    STORE_BEHIND,  /* the caller said that it lacks what was acknowledged */
};

struct store {
    enum store_past past;
    /* Stage a segment. Positions grow from 1 without a gap; a discarded one may be used again. */
    enum tremolo_status (*append)(struct store *store, const uint8_t study[STORE_STUDY_BYTES],
                                  const uint8_t *bytes, size_t length, uint64_t *position);
    /* Stage a state, replacing the value under that key. Only known kinds are taken, and a store with
     * another is refused. */
    enum tremolo_status (*put)(struct store *store, const char *kind, const uint8_t *key,
                               size_t key_length, const uint8_t *value, size_t length);
    /* STORE_FULL and STORE_FAILED leave nothing of what was staged. NOT_SYNCED means that the disk did not
     * confirm, so its content is unknown: every later call answers NOT_SYNCED until the store is
     * opened again. */
    enum tremolo_status (*sync)(struct store *store);
    void (*discard)(struct store *store);
    /* The first segment at `from` or later, whatever its study. Its bytes live until
     * the next call on this store. position is 0 when there is none. */
    enum tremolo_status (*read)(struct store *store, uint64_t from, struct store_segment *segment);
    enum tremolo_status (*each)(struct store *store, const char *kind, store_state_fn visit,
                                void *context);
    /* STORE_FAILED once what is written would no longer be found under the store's name. */
    enum tremolo_status (*present)(struct store *store);
    /* Why the last call failed, in words. Never NULL. */
    const char *(*explain)(const struct store *store);
    /* Close and free; what is staged is forgotten. */
    void (*close)(struct store *store);
};

/* What the caller of store_open_sqlite says about a directory. */
enum store_consent {
    STORE_CAREFUL = 0,
    STORE_ACCEPT_LOSS = 1, /* it lacks what was acknowledged: damage, or an older copy */
    STORE_MOVED = 2,       /* it is a copy, and the newest there is */
};

/* Open or create the SQLite store in directory `path`. STORE_IN_USE when another process uses it,
 * STORE_BEHIND when acknowledged reports are missing, MALFORMED when it is damaged or of another
 * format; `words` (may be NULL) gets the reason of any failure. */
TREMOLO_MUST_USE enum tremolo_status store_open_sqlite(struct store **store, const char *path,
                                                       enum store_consent consent,
                                                       char words[TREMOLO_WORDS_BYTES]);

/* The same store for reading: nothing is created or changed, and append and put fail.
 * NO_STORE when the directory has no database. */
TREMOLO_MUST_USE enum tremolo_status store_read_sqlite(struct store **store, const char *path,
                                                       char words[TREMOLO_WORDS_BYTES]);

/* Everything that is wrong with a store, not only the first thing.
 *
 * Opening a store ends at the first finding, which is right for a server and little help to an operator who
 * must decide what to do. An audit makes the same checks one by one and changes nothing. Afterwards the
 * segments can be read one after the other, and each read says by itself whether that segment is
 * sound. Of the states it shows those that are. */
struct store_audit {
    void (*finding)(void *context, const char *words);
    void *context;
    /* Results: */
    uint64_t commits;      /* in the database */
    uint64_t acknowledged; /* by the tip; 0: there is none */
    bool tip_damaged;      /* `acknowledged` is unknown */
    bool is_copy;          /* the tip was written elsewhere, or is not there */
    uint64_t last; /* position of the last segment there should be; so many fit into the files */
};

/* On OK *store is open for reading. NO_STORE when there is no database, STORE_IN_USE when a server
 * uses it, STORE_FAILED when it cannot be opened at all. */
TREMOLO_MUST_USE enum tremolo_status store_audit_sqlite(struct store **store,
                                                        struct store_audit *audit, const char *path,
                                                        char words[TREMOLO_WORDS_BYTES]);

#endif
