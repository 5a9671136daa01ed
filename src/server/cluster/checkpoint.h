/* checkpoint.h -- a shard's fold, kept where any worker can take it over.
 *
 * The value under fold.TAG.SHARD holds position, counts, the active round's sums and
 * the numbers of the messages that hold the rest: sums of ended rounds and the
 * names used so far. Those messages never change, and the value is replaced by
 * compare-and-set only, so sums, names and position are always of one moment:
 *
 *     0        4   "TCK2"
 *     4        8   fence: the revision of the lease under which it was written
 *     12       8   number of checkpoints under this fence
 *     20       8   position: the message up to which all is folded
 *     28      16   the last bytes of that message
 *     44       8   position up to which the names are in chunks
 *     52      40   counted, repeated, late, refused; damaged segments
 *     92       8   messages taken, markers included
 *     100      4   rounds ended, then for each: position of the marker (8),
 *                  reports (8), list of chunks
 *              1   sums of the active round: 0 none, 1 here, 2 in chunks
 *                  1: length (4), bytes     2: list of chunks
 *                  list of chunks of report ids, list of chunks of samples
 *     end     16   BLAKE2b-128 of everything before
 *
 * A list is a number (4) and so many message numbers (8). All big-endian. */
#ifndef SERVER_CHECKPOINT_H
#define SERVER_CHECKPOINT_H

#include "bus.h"
#include "shard.h"

enum {
    CHECKPOINT_INLINE_MAX = 128 << 10, /* of sums in the value itself */
    CHECKPOINT_NAMES_MIN = 4096,       /* before a chunk of names is written */
    CHECKPOINT_CHECK_BYTES = 16,       /* at the end of a value */
};

/* What identifies a written checkpoint. */
struct checkpoint_mark {
    uint64_t fence;
    uint64_t serial;
    uint64_t revision; /* of the value; 0: none is written yet */
};

/* Write the shard as it is. `mark` says what it replaces and gets the new revision.
 * `tick` is called between chunks: after a fold from the log's beginning there are many.
 * CHANGED: another owner has written; the shard must be given up. Any other failure
 * may be tried again with the same shard and mark. */
TREMOLO_MUST_USE enum tremolo_status checkpoint_store(struct shard *shard,
                                                      struct checkpoint_mark *mark, struct bus *bus,
                                                      const char *tag, void (*tick)(void *context),
                                                      void *context);

/* Position, counts, chunks and the active round's sums, from a value. MALFORMED when its
 * parts do not fit together, STORAGE_FAILED when a chunk is gone, or not there yet. */
TREMOLO_MUST_USE enum tremolo_status checkpoint_decode(struct shard **shard,
                                                       struct checkpoint_mark *mark,
                                                       struct bus *bus, struct served_study *served,
                                                       unsigned number, unsigned shards,
                                                       const struct bus_value *value);

/* The sums of a round that has ended in the shard; the caller frees. */
TREMOLO_MUST_USE enum tremolo_status checkpoint_ended(struct tremolo_moments **moments,
                                                      struct bus *bus, const struct shard *shard,
                                                      unsigned round);

/* Read the chunks of names into the shard. `tick` is called between chunks. */
TREMOLO_MUST_USE enum tremolo_status checkpoint_names(struct shard *shard, struct bus *bus,
                                                      void (*tick)(void *context), void *context);

#endif
