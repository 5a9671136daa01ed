/* shard.h -- the fold of one shard: a function of its part of the stream.
 *
 * A shard's messages come in one order: segments of reports, and for each round
 * one end marker that counts (the first; repeats of it change nothing). The
 * fold takes them one after the other and holds, after the message at `position`,
 *
 *     - which round counts now: the number of rounds that have ended here;
 *     - the exact sums of every round;
 *     - the names (report ids; device, round and sample) that have been used.
 *
 * A report counts when its id is new, its round is the one that counts now and,
 * where devices have names, the device has a sample left for it. Nothing else
 * enters: no clock, no randomness, no grouping. Two processes that fold the same
 * messages hold the same bits.
 *
 * One thread uses a shard at a time. After any failure the shard is of no use:
 * free it and begin from the checkpoint. */
#ifndef SERVER_SHARD_H
#define SERVER_SHARD_H

#include "idset.h"
#include "served_study.h"

enum { SHARD_TAIL_BYTES = 16 };
#define SHARD_END_MARK "end" /* the bytes of an end marker */

/* Where stored bytes are: the numbers of their messages, in order. */
struct shard_chunks {
    uint64_t *sequence;
    size_t count;
};

/* Names that have been used. */
struct shard_names {
    struct idset set; /* all of them */
    uint8_t *fresh;   /* those that were not written down yet, one after the other */
    size_t fresh_count;
    size_t capacity;            /* of `fresh` */
    struct shard_chunks chunks; /* where the others are */
};

/* A round that has ended in this shard. */
struct shard_round {
    uint64_t end;                    /* position of its marker */
    uint64_t count;                  /* of reports */
    struct tremolo_moments *moments; /* NULL once they are stored */
    struct shard_chunks stored;
};

/* What becomes of reports, and of segments; in this order in checkpoints. */
enum shard_fate {
    SHARD_COUNTED,
    SHARD_REPEATED,
    SHARD_LATE,    /* after the end of their round */
    SHARD_REFUSED, /* malformed, of another study or shard, no sample left */
    SHARD_DAMAGED, /* segments */
    SHARD_FATES,
};
extern const char *const shard_fate_names[SHARD_FATES];

struct shard {
    struct served_study *served; /* not ours */
    unsigned number;             /* 0 .. shards - 1 */
    unsigned shards;
    struct check_study check;
    bool named; /* devices have names */
    uint64_t position;
    uint64_t messages;               /* taken so far, markers included */
    uint8_t tail[SHARD_TAIL_BYTES];  /* how the message there ends, to know it again */
    uint64_t names_position;         /* up to here names are in chunks */
    unsigned active;                 /* the round that counts now */
    struct tremolo_moments *moments; /* of the active round; NULL after the last */
    struct shard_round *ended;       /* terms->rounds of them, `active` in use */
    uint64_t counts[SHARD_FATES];
    struct shard_names ids;
    struct shard_names samples; /* of devices, where these have names */
    /* Called with every record that counts, unless NULL; anything but OK ends the fold. */
    enum tremolo_status (*counted)(void *context, const struct segment_record *record);
    void *counted_context;
    struct rows rows; /* of the segment at hand */
};

/* The shard of a report: by its id, or by the device where devices have names, because
 * one place must decide how many samples a device gave. */
unsigned shard_of(const struct served_study *served, const struct arrival *arrival,
                  unsigned shards);

TREMOLO_MUST_USE enum tremolo_status shard_new(struct shard **shard, struct served_study *served,
                                               unsigned number, unsigned shards);
void shard_free(struct shard *shard);

/* The next message. One at or below `position` only brings names back that are
 * in no chunk yet. A damaged segment is counted and passed over. */
TREMOLO_MUST_USE enum tremolo_status shard_take(struct shard *shard, uint64_t position,
                                                const uint8_t *bytes, size_t length);
TREMOLO_MUST_USE enum tremolo_status shard_end(struct shard *shard, uint64_t position,
                                               unsigned round);

/* The last bytes of a message; of a segment that is its check value. */
void shard_tail(uint8_t tail[SHARD_TAIL_BYTES], const uint8_t *bytes, size_t length);

/* Names from a chunk: `length` bytes, sixteen a name. */
TREMOLO_MUST_USE enum tremolo_status shard_learn(struct idset *set, const uint8_t *bytes,
                                                 size_t length);

TREMOLO_MUST_USE enum tremolo_status shard_chunks_add(struct shard_chunks *chunks,
                                                      uint64_t sequence);

#endif
