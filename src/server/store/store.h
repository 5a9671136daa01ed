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
 * The interface is this narrow so that a clustered log can stand behind it.
 * One thread uses a store at a time. After any failure of append, put or
 * sync the caller calls discard, which forgets what was staged. The first sync, with or without
 * something staged, also says that the caller goes on with what it found: before it a store
 * changes nothing on the disk. */
#ifndef SERVER_STORE_H
#define SERVER_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tremolo_server.h"

enum {
    STORE_STUDY_BYTES = 16,            /* studies are told apart by their tag */
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
    STORE_COPIED,  /* for all we know a copy: nobody knows what the original did afterwards */
    STORE_BEHIND,  /* the caller said that it lacks what was acknowledged */
};

/* All kinds of states, up to a NULL: put takes no other, and a store with another is refused. */
extern const char *const store_kinds[];
bool store_kind_is_known(const char *kind);

struct store {
    enum store_past past;
    /* Stage a segment. Positions grow from 1 without a gap; a discarded one may be used again. */
    enum tremolo_status (*append)(struct store *store, const uint8_t study[STORE_STUDY_BYTES],
                                  const uint8_t *bytes, size_t length, uint64_t *position);
    /* Stage a state, replacing the value under that key. */
    enum tremolo_status (*put)(struct store *store, const char *kind, const uint8_t *key,
                               size_t key_length, const uint8_t *value, size_t length);
    /* STORE_FULL and STORE_FAILED leave nothing of what was staged; NOT_SYNCED
     * means the disk did not confirm: nobody can tell what it holds, and
     * every later call answers NOT_SYNCED until the store is opened anew. */
    enum tremolo_status (*sync)(struct store *store);
    void (*discard)(struct store *store);
    /* The first segment at `from` or later, whatever its study. Its bytes live until
     * the next call on this store. position is 0 when there is none. */
    enum tremolo_status (*read)(struct store *store, uint64_t from, struct store_segment *segment);
    enum tremolo_status (*each)(struct store *store, const char *kind, store_state_fn visit,
                                void *context);
    /* STORE_FAILED once what is written would no longer be found under the store's name. NULL: there
     * is no such name. */
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

/* Open or create the SQLite store in directory `path`; one of before there were check values is
 * upgraded. STORE_FAILED when another process has it open or acknowledged reports are missing,
 * MALFORMED when it is damaged; `words` (may be NULL) gets the reason of any failure. */
#define STORE_IN_USE "a running server uses" /* how the words begin when it is locked */
TREMOLO_MUST_USE enum tremolo_status store_open_sqlite(struct store **store, const char *path,
                                                       enum store_consent consent,
                                                       char words[TREMOLO_WORDS_BYTES]);

/* The same store for reading: nothing is created or changed, and append and put fail.
 * BAD_ARGUMENT when the directory has no database. */
TREMOLO_MUST_USE enum tremolo_status store_read_sqlite(struct store **store, const char *path,
                                                       char words[TREMOLO_WORDS_BYTES]);

#endif
