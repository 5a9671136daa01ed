/* store_wal.h -- what SQLite would pass over in a write-ahead log without a word.
 *
 * SQLite reads a log up to the last commit before the first frame that is not right, and takes
 * the rest for what an interrupted write left. A crash leaves at most one transaction there,
 * because the next one begins after the sync of the one before; whatever follows a frame that
 * ends a transaction was therefore written after that transaction was durable, and it is
 * damage that hides it now. docs/storage.md has the shapes. */
#ifndef SERVER_STORE_WAL_H
#define SERVER_STORE_WAL_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
