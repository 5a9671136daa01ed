/* store_tip.h -- beside the database, how many of its commits were acknowledged.
 *
 * DIR/tremolo.db-tip is written after each sync and its content never synced: as long as the machine
 * runs it is exact, and after a power failure it may be behind, never ahead. So a database with fewer
 * commits than its tip has lost some: an older copy, or a log cut short, emptied or damaged at
 * its end, where that looks like an interrupted write. The tip also holds its own inode
 * number, so a copied directory is known from the one in which it was written.
 *
 * | offset | bytes | content, numbers big-endian |
 * |---|---|---|
 * | 0 | 8 | `TREMTIP1` |
 * | 8 | 8 | commits acknowledged |
 * | 16 | 8 | inode number of this file |
 * | 24 | 16 | BLAKE2b-128 of the bytes before | */
#ifndef SERVER_STORE_TIP_H
#define SERVER_STORE_TIP_H

#include <stdbool.h>
#include <stdint.h>

struct store_tip {
    int file; /* -1: not opened for writing */
    uint64_t inode;
    uint64_t commits; /* 0 unless `found` */
    bool found;       /* it is there, whole, */
    bool here;        /* and was written in this place */
    bool damaged;
};

/* What the tip at `path` says. */
void store_tip_read(struct store_tip *tip, const char *path);

/* Write it, and make it, durably as a file, if it is not here; false when that fails. A later failure
 * to write is none: the tip is behind then. `path` has a directory in it. */
bool store_tip_write(struct store_tip *tip, const char *path, uint64_t commits);
void store_tip_close(struct store_tip *tip);

#endif
