/* store_tip.h -- beside the database, how many of its commits were acknowledged.
 *
 * DIR/tremolo.db-tip is written after each sync and its content never synced: as long as the machine
 * runs it is exact, and after a power failure it may be behind, never ahead. So a database with fewer
 * commits than its tip has lost some: an older copy, or a log cut short, emptied or damaged at
 * its end, where that looks like an interrupted write. The tip also holds its own inode
 * number and the time when that file was made, so a copied directory is known from the one in
 * which it was written. (The number alone is used again once the file is removed. The device's number
 * says nothing: it may be another one after each start of the machine.)
 *
 * | offset | bytes | content, numbers big-endian |
 * |---|---|---|
 * | 0 | 8 | `TREMTIP2` |
 * | 8 | 8 | commits acknowledged |
 * | 16 | 8 | inode number of this file |
 * | 24 | 8 | when this file was made, ns since 1970; 0: the file system does not say |
 * | 32 | 16 | BLAKE2b-128 of the bytes before |
 *
 * `TREMTIP1` is the same without the time, and is replaced at the next start. A new tip gets its
 * name when it is whole and durable, so one that is not whole is damaged. */
#ifndef SERVER_STORE_TIP_H
#define SERVER_STORE_TIP_H

#include <stdbool.h>
#include <stdint.h>

/* Which file it is; `born_ns` is 0 where nobody knows. */
struct tip_place {
    uint64_t inode, born_ns;
};

struct store_tip {
    int file; /* -1: not opened for writing */
    struct tip_place place;
    uint64_t commits; /* 0 unless `found` */
    bool found;       /* it is there, whole, */
    bool here;        /* and was written in this place */
    bool damaged;     /* it is there, and not whole */
    bool old;         /* found, and says nothing of the time */
};

/* Whether a tip that was written at `written` and lies at `now` is still the same file. */
bool tip_place_is_same(const struct tip_place *written, const struct tip_place *now);

/* What the tip at `path` says. */
void store_tip_read(struct store_tip *tip, const char *path);

/* Write it, and make it, durably as a file, if it is not here; false when that fails. A later failure
 * to write is none: the tip is behind then. `path` has a directory in it. */
bool store_tip_write(struct store_tip *tip, const char *path, uint64_t commits);
void store_tip_close(struct store_tip *tip);

#endif
