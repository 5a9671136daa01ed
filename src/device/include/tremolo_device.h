/* tremolo_device.h -- one private sample in, one report out.
 *
 * A study asks for one of two releases. For a ballot the device orders 256
 * public random answers by how well they fit the sample and encodes the one at
 * a place drawn beforehand. For a noisy sample it scales the sample by the
 * study's public bounds, clips and modulates it, adds exact Gaussian noise and
 * encodes the result. What a report costs is written to a ledger, together
 * with its bytes, before the first byte is handed out; asking again returns
 * the same bytes.
 *
 *     static struct tremolo_work work;
 *     uint8_t report[TREMOLO_MAX_REPORT_BYTES];
 *     size_t length = sizeof report;
 *     int32_t features[2] = {7200, 61};
 *     struct tremolo_sample sample = {features, 48, 0};
 *     struct tremolo_round round = {NULL, 0};
 *     enum tremolo_status status =
 *         tremolo_device_report(&work, report, &length, &study, &round, &sample, &platform);
 *     if (status == TREMOLO_OK) {
 *         send(report, length);
 *     }
 *
 * C99, freestanding, integers only, no heap, no global state, no outside
 * symbol. Every target gives the same bytes for the same random bytes.
 *
 * Thread rule for all calls: calls on different work objects and different
 * storage are independent; one work object, and one ledger, belong to one
 * thread at a time. Pointers must not alias unless a contract says so.
 *
 * After any failure the outputs named in a contract are zero and the work
 * object is wiped. Structs are public so that callers can place them;
 * the contents of tremolo_work and tremolo_generator may change. */
#ifndef TREMOLO_DEVICE_H
#define TREMOLO_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "tremolo_status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TREMOLO_DEVICE_VERSION_MAJOR 2
#define TREMOLO_DEVICE_VERSION_MINOR 0

/* A build that makes ballots alone (TREMOLO_WITHOUT_SAMPLE), or noisy samples
 * alone (TREMOLO_WITHOUT_BALLOT), refuses studies of the other release
 * (BAD_RELEASE). Like the limits below, the choice must be the same in every
 * file. */
#if defined(TREMOLO_WITHOUT_SAMPLE) && defined(TREMOLO_WITHOUT_BALLOT)
#error "a device makes ballots, or noisy samples, or both"
#endif

/* Limits. An embedder with little RAM may lower the first two on the
 * compiler's command line, as plain decimal numbers; sizes of the structs below
 * follow. They must be the same in every file that includes this header: the
 * core would otherwise write past a smaller work object. Lowered limits are
 * therefore part of the names of the functions that take one, so that files
 * that disagree do not link (undefined tremolo_device_report_64_64). */
#ifndef TREMOLO_MAX_DIMENSION
#define TREMOLO_MAX_DIMENSION 256
#endif
#ifndef TREMOLO_MAX_VECTORS
#define TREMOLO_MAX_VECTORS TREMOLO_MAX_DIMENSION
#endif
#if TREMOLO_MAX_DIMENSION < 1 || TREMOLO_MAX_DIMENSION > 256 || TREMOLO_MAX_VECTORS < 1 ||         \
    TREMOLO_MAX_VECTORS > 256
#error "TREMOLO_MAX_DIMENSION and TREMOLO_MAX_VECTORS are 1 to 256"
#endif
#define TREMOLO_MAX_COORDINATES   (TREMOLO_MAX_DIMENSION + 1)
#define TREMOLO_STUDY_ID_BYTES    32
#define TREMOLO_STUDY_TAG_BYTES   16 /* prefix of the study id inside a report */
#define TREMOLO_REPORT_ID_BYTES   16
#define TREMOLO_MAC_BYTES         16
#define TREMOLO_MAC_KEY_BYTES     16
#define TREMOLO_SEED_BYTES        32
#define TREMOLO_SECRET_BYTES      32
#define TREMOLO_MAX_REPORT_BYTES  (64 + 2 * TREMOLO_MAX_COORDINATES)
#define TREMOLO_MAX_STUDIES       16
#define TREMOLO_RESPONSE_MAX      32767      /* a public response is scaled to -MAX..MAX */
#define TREMOLO_KEEP_ONE          32768      /* 1 - alpha = 1 */
#define TREMOLO_VECTOR_ONE        16384      /* a modulation vector's entry 1.0 */
#define TREMOLO_CHARGE_ONE        (1L << 24) /* a charge of mu^2 = 1, or of epsilon = 1 */
#define TREMOLO_BALLOT_SIGNS      5          /* directions of a block */
#define TREMOLO_BALLOT_ANSWERS    256        /* 8 blocks of 2^5 signs */
#define TREMOLO_BALLOT_ONE        256        /* a ballot's constant of half a typical range */
#define TREMOLO_BALLOT_RATIO_LOG2 23         /* of two answers' probabilities, at most */
#define TREMOLO_BALLOT_REACH      8          /* half ranges from the middle a feature counts to */

/* g for a private response, from h: h sqrt(10/3) within 0.5%, because it is whole. */
#define TREMOLO_BALLOT_WEIGHT(h) ((1870u * (h) + 512u) >> 10)

/* Public bounds of one feature or of the response, in the integer units the
 * device measures in. low < high and high - low < 2^31. For a ballot a
 * feature's are its typical range: values beyond count as they are, up to
 * TREMOLO_BALLOT_REACH; the response is cut at its own. */
struct tremolo_bounds {
    int32_t low;
    int32_t high;
};

enum tremolo_release_kind {
    TREMOLO_RELEASE_SAMPLE = 0, /* the sample with Gaussian noise */
    TREMOLO_RELEASE_BALLOT = 1, /* a random answer about the sample's products */
};

enum tremolo_response {
    TREMOLO_RESPONSE_PUBLIC = 0,  /* y travels in the clear */
    TREMOLO_RESPONSE_PRIVATE = 1, /* y is one more coordinate of the release */
};

/* What everybody agreed on, as integers the device can check itself.
 *
 * A ballot: the point is (constant, features, response_weight * response) in
 * half ranges. The answer sent is uniform among the rank_first that fit best
 * with probability rank_top / 2^32, else uniform among the others. Members
 * marked (b) are for ballots alone, those marked (s) for noisy samples.
 *
 * A noisy sample: a feature at its bounds is scaled to -unit..unit on the fine grid; noise
 * has the exact standard deviation 2^noise_log2 fine units; the sum is
 * rounded once to steps of 2^wire_shift and sent in wire_bits bits. */
struct tremolo_study {
    uint8_t noise_log2;       /* p, 10..24 (s) */
    uint8_t wire_shift;       /* q, at most p - 3 (s) */
    uint8_t wire_bits;        /* 8..16, and q + wire_bits at most 29 (s) */
    uint8_t response;         /* enum tremolo_response */
    uint8_t release;          /* enum tremolo_release_kind */
    uint8_t rank_first;       /* T, 1..128 (b) */
    uint16_t dimension;       /* d, 1..TREMOLO_MAX_DIMENSION */
    uint16_t keep;            /* 1 - alpha in 1/32768, 1..32768 (s) */
    uint16_t vectors;         /* m, 0 (no modulation)..min(d, TREMOLO_MAX_VECTORS) (s) */
    uint16_t rounds;          /* reports are made for rounds 0..rounds-1 */
    uint16_t samples;         /* samples a device may give in each round, usually 1 */
    uint16_t constant;        /* h in 1/256, 64..4096 (b) */
    uint16_t response_weight; /* g: TREMOLO_BALLOT_WEIGHT(h), 0 when the response is public (b) */
    uint32_t unit;            /* fine units of half a feature's range, 1..2^24 (s) */
    uint32_t clip;            /* radius C of the l2 clip in fine units, 1..2^28 (s) */
    uint32_t distance;        /* 0: any two people are neighbours; else the distance
                                 r in fine units within which they are, 1..2 clip (s) */
    uint32_t amplitude;       /* lambda / sqrt(m) in fine units, at most 2^26 / ceil(sqrt m) (s) */
    uint32_t frequency;       /* omega: 2^-40 turns per fine unit, at most 2^31 - 1 (s) */
    uint32_t rank_top;        /* q, the answers before place T not less likely than others (b) */
    const struct tremolo_bounds *bounds; /* one per feature */
    struct tremolo_bounds response_bounds;
    uint8_t id[TREMOLO_STUDY_ID_BYTES]; /* hash of the canonical study */
};

/* One round as broadcast. vectors: m rows of d entries in 1/16384, or NULL
 * when the study has no modulation. */
struct tremolo_round {
    const int16_t *vectors;
    uint16_t number;
};

/* The private sample in the device's own units. Values outside the public
 * bounds are clamped. */
struct tremolo_sample {
    const int32_t *features; /* d values */
    int32_t response;
    uint16_t number; /* 0..samples-1 within the round */
};

/* What the device's surroundings provide. Every callback returns 0 for
 * success; anything else refuses the release.
 *
 * The ledger lives in 2 * studies slots of sizeof(struct tremolo_slot). read fills
 * `length` bytes from the start of a slot (whatever is there: erased flash is
 * fine, and so are zeros past the end of a short file). write replaces the
 * start of a slot and returns only when the bytes
 * will survive a power cut; it may be torn by one.
 *
 * counter and advance are optional (both NULL without them): a monotonic
 * counter outside the slots, zero before enrolment. With it a ledger that is
 * replaced by an older copy of itself is refused; without it such a swap of
 * the whole storage, or of both slots of a study, goes unnoticed. advance(n)
 * must leave the counter at n durably. */
struct tremolo_platform {
    void *context;
    int (*entropy)(void *context, uint8_t *bytes, size_t length);
    int (*read)(void *context, unsigned slot, uint8_t *bytes, size_t length);
    int (*write)(void *context, unsigned slot, const uint8_t *bytes, size_t length);
    int (*counter)(void *context, uint32_t *value);
    int (*advance)(void *context, uint32_t value);
    const uint8_t *mac_key; /* TREMOLO_MAC_KEY_BYTES, or NULL: reports carry no MAC */
    unsigned studies;       /* how many studies the ledger can hold, 1..16;
                               a ledger opens only with the number it was made with */
};

/* ChaCha20 with fast key erasure; see generator.c. */
struct tremolo_generator {
    uint16_t next;
    uint8_t stuck;
    uint32_t state[16];
    uint8_t block[256];
};

/* One slot of the ledger, in this machine's byte order: a ledger never leaves
 * its device. See ledger.c. */
struct tremolo_slot {
    uint32_t check;    /* checksum of all that follows, up to the report's end */
    uint32_t magic;    /* 'T' 'L', number of entries, number of this one */
    uint32_t sequence; /* commits of this entry; 0: the entry is free */
    uint32_t budget;   /* of mu^2, the same in every slot */
    uint32_t spent;    /* by this entry, of mu^2 or of epsilon */
    uint32_t key;      /* round * 65536 + sample of the stored report */
    uint16_t length;   /* of the stored report */
    uint16_t epsilon;  /* budget of epsilon in 1/256, the same in every slot;
                          the highest bit: spent is of epsilon */
    uint8_t study_tag[TREMOLO_STUDY_TAG_BYTES];
    uint8_t report[TREMOLO_MAX_REPORT_BYTES + TREMOLO_SECRET_BYTES]; /* the secret follows it */
};

/* Working memory of one release, wiped before every return. */
struct tremolo_work {
    const struct tremolo_platform *platform;
    const struct tremolo_study *study;
    const struct tremolo_round *round;
    const struct tremolo_sample *sample;
    uint32_t budget[2]; /* of mu^2, of epsilon: by enum tremolo_release_kind */
    uint32_t left[2];
    uint32_t commits;
    uint32_t key;
    unsigned entry;
    unsigned rank;
    uint8_t id[TREMOLO_REPORT_ID_BYTES + TREMOLO_SECRET_BYTES]; /* the next secret follows it */
    struct tremolo_slot slot;
    struct tremolo_generator generator;
    int32_t value[TREMOLO_MAX_COORDINATES + 1];
#ifndef TREMOLO_WITHOUT_SAMPLE
    int32_t noise[TREMOLO_MAX_COORDINATES];
    uint32_t phase[TREMOLO_MAX_VECTORS];
#endif
#ifndef TREMOLO_WITHOUT_BALLOT
    uint32_t score[TREMOLO_BALLOT_ANSWERS / 32 * TREMOLO_BALLOT_SIGNS];
#endif
};

#if TREMOLO_MAX_DIMENSION != 256 || TREMOLO_MAX_VECTORS != 256
#define TREMOLO_PASTE(name, d, m) name##_##d##_##m
#define TREMOLO_SIZED(name, d, m) TREMOLO_PASTE(name, d, m)
#define tremolo_device_enrol                                                                       \
    TREMOLO_SIZED(tremolo_device_enrol, TREMOLO_MAX_DIMENSION, TREMOLO_MAX_VECTORS)
#define tremolo_device_report                                                                      \
    TREMOLO_SIZED(tremolo_device_report, TREMOLO_MAX_DIMENSION, TREMOLO_MAX_VECTORS)
#define tremolo_device_budget                                                                      \
    TREMOLO_SIZED(tremolo_device_budget, TREMOLO_MAX_DIMENSION, TREMOLO_MAX_VECTORS)
#define tremolo_device_epsilon                                                                     \
    TREMOLO_SIZED(tremolo_device_epsilon, TREMOLO_MAX_DIMENSION, TREMOLO_MAX_VECTORS)
#endif

/* Make this device's ledger with two budgets for its whole life, both in
 * 2^-24 (TREMOLO_CHARGE_ONE is 1): `budget` of mu^2 for noisy samples and
 * `epsilon` of pure epsilon for ballots, below 128 and rounded down to 1/256. All
 * that ever leaves the device is (epsilon + epsilon(mu, delta), delta)-private.
 * Each release is charged for its own study's neighbours; the total holds for
 * the smallest `distance` among the studies charged, so refuse, or replace, a
 * distance that is too small before calling tremolo_device_report. Call once,
 * when the device is enrolled. Takes entropy, for a secret that is kept with the
 * charges and enters all later draws. Refuses when there is a ledger already
 * (LEDGER_EXISTS). A power cut during the call leaves either no ledger or a
 * whole one. A device can enrol again where every slot of the first entry is
 * unreadable: that is the caller's decision, and a platform with a counter
 * refuses even that. */
TREMOLO_MUST_USE enum tremolo_status tremolo_device_enrol(struct tremolo_work *work,
                                                          const struct tremolo_platform *platform,
                                                          uint32_t budget, uint32_t epsilon);

/* Make, or repeat, the report of `sample` for `round` of `study`.
 *
 * *length holds the capacity of `report` on entry and the report's length on
 * success. A report already made for this study, round and sample number is
 * returned again, byte for byte, at no charge and whatever the sample holds
 * now. Otherwise the charge and the bytes are made durable first.
 *
 * On failure report[0..capacity) is zero and *length is 0. Refusals for
 * privacy: BUDGET_EXHAUSTED, LEDGER_* and ROUND_PASSED (a later round or
 * sample of the study was released; its earlier bytes are gone). */
TREMOLO_MUST_USE enum tremolo_status
tremolo_device_report(struct tremolo_work *work, uint8_t *report, size_t *length,
                      const struct tremolo_study *study, const struct tremolo_round *round,
                      const struct tremolo_sample *sample, const struct tremolo_platform *platform);

/* What is left of the budget of mu^2, and of epsilon, in the unit of
 * tremolo_device_enrol. *left is 0 on failure. A build that makes one release alone
 * has its own alone. */
#ifndef TREMOLO_WITHOUT_SAMPLE
TREMOLO_MUST_USE enum tremolo_status tremolo_device_budget(struct tremolo_work *work,
                                                           uint32_t *left,
                                                           const struct tremolo_platform *platform);
#endif
#ifndef TREMOLO_WITHOUT_BALLOT
TREMOLO_MUST_USE enum tremolo_status
tremolo_device_epsilon(struct tremolo_work *work, uint32_t *left,
                       const struct tremolo_platform *platform);
#endif

/* Check a study's numbers, and a round's vectors against them: each has norm
 * 1 and each pair is orthogonal within 2^-10. */
TREMOLO_MUST_USE enum tremolo_status tremolo_study_check(const struct tremolo_study *study);
TREMOLO_MUST_USE enum tremolo_status tremolo_round_check(const struct tremolo_study *study,
                                                         const struct tremolo_round *round);

/* What one release of a checked study costs, in 2^-24 and rounded up: mu^2 of
 * a noisy sample, with mu = sensitivity / 2^noise_log2, and epsilon of a
 * ballot, the logarithm of the largest ratio of two answers' probabilities.
 * All releases of a study together cost rounds * samples times as much. */
uint32_t tremolo_study_charge(const struct tremolo_study *study);

/* Of noisy samples: the l2 sensitivity in fine units, rounding included
 * (docs/reference/proofs.md), and the number of coordinates a report carries, d or
 * d + 1. */
uint32_t tremolo_study_sensitivity(const struct tremolo_study *study);
unsigned tremolo_study_coordinates(const struct tremolo_study *study);

/* A decoded report. Pointers lead into the decoded bytes. */
struct tremolo_report {
    const uint8_t *study_tag;   /* TREMOLO_STUDY_TAG_BYTES */
    const uint8_t *id;          /* TREMOLO_REPORT_ID_BYTES */
    const uint8_t *coordinates; /* packed, coordinate_bytes of them; a ballot's answer */
    const uint8_t *mac;         /* TREMOLO_MAC_BYTES, or NULL */
    uint16_t round;
    uint16_t coordinate_bytes;
    uint16_t authenticated_bytes; /* what the MAC covers, from the first byte */
    int16_t response;             /* 0 when has_response is 0 */
    uint8_t has_response;
};

/* Decode exactly one report. Refuses everything but the one encoding that
 * docs/reference/wire-format.md gives; *report is zero then. */
TREMOLO_MUST_USE enum tremolo_status tremolo_report_decode(struct tremolo_report *report,
                                                           const uint8_t *bytes, size_t length);

#ifndef TREMOLO_WITHOUT_BALLOT
/* The answer, 0..255, of a successfully decoded ballot, after checking the
 * study and that tag, response and length fit it. *answer is 0 on failure. */
TREMOLO_MUST_USE enum tremolo_status tremolo_report_answer(unsigned *answer,
                                                           const struct tremolo_report *report,
                                                           const struct tremolo_study *study);

/* What the answer says: the signed sum of its five directions, one integer of
 * -80..80 for each product of the point: row by row the upper triangle of
 * (h, x_1..x_d, y), and last, when the response is private, the entry that
 * is no product. tremolo_ballot_entries() of them: (d+2)(d+3)/2 + 1, or (d+1)(d+2)/2.
 * The mean over devices, times c / sqrt 40, is that of the products (squares,
 * and sqrt 2 times the others) of a point of length 1; see docs/reference/numerics.md.
 * row[0..capacity) is zero on failure. */
unsigned tremolo_ballot_entries(const struct tremolo_study *study);
TREMOLO_MUST_USE enum tremolo_status tremolo_ballot_expand(int8_t *row, size_t capacity,
                                                           const struct tremolo_report *report,
                                                           const struct tremolo_study *study);
#endif

#ifndef TREMOLO_WITHOUT_SAMPLE
/* Unpack the coordinates of a successfully decoded report on the wire grid,
 * tremolo_study_coordinates() of them, after checking the study and that tag,
 * response and length fit it.
 * values[0..capacity) is zero on failure. */
TREMOLO_MUST_USE enum tremolo_status tremolo_report_unpack(int16_t *values, size_t capacity,
                                                           const struct tremolo_report *report,
                                                           const struct tremolo_study *study);
#endif

#ifndef TREMOLO_WITHOUT_MAC
/* Check the MAC of a report decoded from `bytes` in constant time. */
TREMOLO_MUST_USE enum tremolo_status tremolo_report_verify(const struct tremolo_report *report,
                                                           const uint8_t *bytes,
                                                           const struct tremolo_study *study,
                                                           const uint8_t *mac_key);
#endif

/* TREMOLO_DEVICE_VERSION_MAJOR * 256 + MINOR of the code that is linked. */
unsigned tremolo_device_version(void);

#ifdef __cplusplus
}
#endif

#endif
