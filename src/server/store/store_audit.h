/* store_audit.h -- everything that is wrong with a stored log, not only the first thing.
 *
 * Opening a store ends at the first finding, which is right for a server and little help to whoever has
 * to decide what to do. An audit makes the same checks one by one, changes nothing, and leaves
 * a store whose segments can be read one after the other: each read says by itself whether
 * that segment is sound. Of its states it shows those that are. */
#ifndef SERVER_STORE_AUDIT_H
#define SERVER_STORE_AUDIT_H

#include "store.h"

/* What SQLite would pass over in a write-ahead log without a word (store_wal.c).
 *
 * SQLite reads a log up to the last commit before the first frame that is not right, and takes
 * the rest for what an interrupted write left. A crash leaves at most one transaction there,
 * because the next one begins after the sync of the one before; whatever follows a frame that
 * ends a transaction was therefore written after that transaction was durable, and it is
 * damage that hides it now. docs/reference/storage.md has the shapes. */
struct wal_findings {
    uint64_t frames;       /* that SQLite uses: up to the last commit it can see */
    uint64_t passed_over;  /* frames of the same generation after these */
    uint64_t transactions; /* that end among those passed over */
    bool bad_header;       /* SQLite uses nothing of the log */
    bool lost;             /* something durable is passed over */
};

/* Reads the log at `path`; one that is missing or empty has nothing to find. False when it cannot be
 * read. Nobody may be writing it. */
bool store_wal_look(struct wal_findings *findings, const char *path);

struct store_audit {
    void (*finding)(void *context, const char *words);
    void *context;
    /* What it finds besides: */
    int format;            /* of the database; below 2 it has no check values */
    uint64_t commits;      /* in the database */
    uint64_t acknowledged; /* by the tip; 0: there is none */
    bool tip_damaged;      /* nobody knows how many */
    uint64_t last; /* position of the last segment there should be; as many fit into the files */
    bool is_copy;  /* the tip was written elsewhere, or is not there */
    struct wal_findings log;
};

/* On OK *store is open for reading. BAD_ARGUMENT when there is no database, STORE_FAILED when it is in use
 * or no database at all. */
TREMOLO_MUST_USE enum tremolo_status store_audit_sqlite(struct store **store,
                                                        struct store_audit *audit, const char *path,
                                                        char words[TREMOLO_WORDS_BYTES]);

#endif
