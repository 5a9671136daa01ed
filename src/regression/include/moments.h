/* moments.h -- exact sums over reports, the only thing estimation needs.
 *
 * A report is a row of n = d + 1 small integers on the wire grid: the d
 * released feature coordinates, then the response (released with noise when
 * it is private, as it is when it is public). The fold adds up counts, sums
 * and products in 64-bit integers, apart for each of 32 hash buckets, so the
 * result does not depend on order, threads or sharding to the bit.
 *
 * The buckets are what the group jackknife needs; totals are their sum. Sums over ballots
 * (tremolo_moments_new_ballots) are the same object with other entries: they merge and
 * travel alike, and only adding and reading differ.
 *
 *     struct tremolo_moments *moments = NULL;
 *     struct tremolo_sums sums;
 *     if (tremolo_moments_new(&moments, d + 1, 2047, 2047) == TREMOLO_OK &&
 *         tremolo_moments_add(moments, rows, buckets, count) == TREMOLO_OK &&
 *         tremolo_moments_bucket(moments, &sums, 0) == TREMOLO_OK) {
 *         ... sums.product[i * (d + 1) + j] / (double)sums.count ...
 *     }
 *     tremolo_moments_free(moments);
 *
 * Limits: 2..257 coordinates, values of at most 15 bits and a sign,
 * TREMOLO_MAX_FOLD_REPORTS reports. An object is used by one thread at a
 * time; different objects are independent. */
#ifndef TREMOLO_REGRESSION_MOMENTS_H
#define TREMOLO_REGRESSION_MOMENTS_H

#include "tremolo_regression.h"

enum {
    TREMOLO_BUCKETS = 32,
    TREMOLO_MAX_FOLD_COORDINATES = 257, /* 256 features and the response */
    TREMOLO_MAX_FOLD_VALUE = 32767,
    TREMOLO_MAX_FOLD_THREADS = 64,
    TREMOLO_MAX_BALLOT_ENTRIES = 33412, /* products of 258 numbers, and one more */
    TREMOLO_MAX_BALLOT_VALUE = 80,
};

/* 2^33 reports of 32767 squared each stay below 2^63. */
#define TREMOLO_MAX_FOLD_REPORTS (UINT64_C(1) << 33)
/* So do 2^26 ballots with a public response, of 80 times 32767 squared each. */
#define TREMOLO_MAX_FOLD_BALLOTS (UINT64_C(1) << 26)

/* Sums over the reports of one bucket. `sum` holds n entries,
 * `product` n * n in row-major order, symmetric. Both point into the object
 * that was asked and live as long as it does and is not changed. */
struct tremolo_sums {
    size_t coordinates;
    uint64_t count;
    const int64_t *sum;
    const int64_t *product;
};

/* Create empty moments for rows of `coordinates` values. No feature exceeds
 * feature_max in magnitude and no response exceeds response_max (each in
 * 1..TREMOLO_MAX_FOLD_VALUE); smaller bounds on the features fold faster.
 * The caller frees *moments; after a failure it is untouched. */
TREMOLO_MUST_USE enum tremolo_status tremolo_moments_new(struct tremolo_moments **moments,
                                                         size_t coordinates, int feature_max,
                                                         int response_max);

/* Create empty sums over ballots of `entries` (1..TREMOLO_MAX_BALLOT_ENTRIES) integers each,
 * with a public response or without. As above otherwise. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_moments_new_ballots(struct tremolo_moments **moments, size_t entries, bool response_public);

/* Adding works in memory of its own, up to half a megabyte, which is made when it is first needed.
 * _prepare makes it now, so that no later addition can fail with NO_MEMORY; _rest gives it back,
 * when nothing will be added for a while. The sums stay as they are. */
TREMOLO_MUST_USE enum tremolo_status tremolo_moments_prepare(struct tremolo_moments *moments);
void tremolo_moments_rest(struct tremolo_moments *moments);

/* Where ballots come from: fill `row` with the entries of ballot `i`, each within
 * TREMOLO_MAX_BALLOT_VALUE, and return its public response, or 0. Asked for 0, 1, 2.. */
typedef int16_t (*tremolo_ballot_row_fn)(int8_t *row, size_t i, void *context);

/* Add `count` ballots; allocates nothing. BAD_ARGUMENT for a bucket above 31 and for sums that
 * are not over ballots, OVERFLOWED past their maximum; after any failure the sums
 * are what they were. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_moments_add_ballots(struct tremolo_moments *moments, tremolo_ballot_row_fn next,
                            void *context, const uint8_t *buckets, size_t count);

/* ---- reports that honest noise hardly explains ---- */

enum {
    TREMOLO_TAIL_LIMITS = 5,
    TREMOLO_TAIL_CUT = 2, /* which limit the robust sums keep */
};

struct tremolo_tail_limits {
    size_t released;                    /* coordinates that count, the first ones */
    int64_t norm2[TREMOLO_TAIL_LIMITS]; /* squared norms, increasing */
    int32_t value;                      /* magnitude of one coordinate */
    bool cut_values;                    /* a coordinate beyond `value` is beyond the cut, too */
};

/* Counts of reports beyond the limits; high and low have a number for each coordinate and live as
 * long as the moments that were asked. */
struct tremolo_tail {
    struct tremolo_tail_limits limits;
    uint64_t reports;
    uint64_t beyond[TREMOLO_TAIL_LIMITS];
    uint64_t set_aside; /* beyond the cut */
    const uint64_t *high;
    const uint64_t *low;
};

/* From now on watch what is added to empty moments. Merging keeps the counts where both have
 * them with the same limits, and else forgets them; so does unwatch. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_moments_watch(struct tremolo_moments *moments, const struct tremolo_tail_limits *limits);
void tremolo_moments_unwatch(struct tremolo_moments *moments);

/* False when they are not watched. */
bool tremolo_moments_tail(struct tremolo_tail *tail, const struct tremolo_moments *moments);

/* New sums without the reports beyond the cut; BAD_ARGUMENT when they are not watched. */
TREMOLO_MUST_USE enum tremolo_status tremolo_moments_within(struct tremolo_moments **within,
                                                            const struct tremolo_moments *moments);

/* Add the sums of `other`, which must be over the same kind of reports with the same
 * coordinates and maxima (BAD_ARGUMENT otherwise) and may not be `moments` itself. */
TREMOLO_MUST_USE enum tremolo_status tremolo_moments_merge(struct tremolo_moments *moments,
                                                           const struct tremolo_moments *other);

/* The sums of one bucket; BAD_ARGUMENT for ballots. They refer to memory inside `moments`: valid
 * until it is changed or freed. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_moments_bucket(struct tremolo_moments *moments, struct tremolo_sums *sums, unsigned bucket);

/* The same of ballots, see regression.h. */
struct tremolo_ballot_sums;
TREMOLO_MUST_USE enum tremolo_status tremolo_moments_ballots(struct tremolo_ballot_sums *sums,
                                                             const struct tremolo_moments *moments,
                                                             unsigned bucket);

/* What the sums are over. */
struct tremolo_moments_shape {
    bool ballots;
    size_t coordinates; /* of a row, or entries of a ballot */
    int feature_max;
    int response_max; /* 0: ballots with a private response */
};
struct tremolo_moments_shape tremolo_moments_shape(const struct tremolo_moments *moments);

uint64_t tremolo_moments_count(const struct tremolo_moments *moments);
uint64_t tremolo_moments_reports_max(const struct tremolo_moments *moments); /* that it holds */

/* Serialised form: see moments.c for the byte table. `capacity` must be
 * at least tremolo_moments_encoded_bytes(); SHORT_BUFFER otherwise. */
size_t tremolo_moments_encoded_bytes(const struct tremolo_moments *moments);
TREMOLO_MUST_USE enum tremolo_status tremolo_moments_encode(const struct tremolo_moments *moments,
                                                            uint8_t *bytes, size_t capacity);

/* Read the serialised form. The length must be exact, the checksum right and
 * every sum one that reports within the stated maxima could give: MALFORMED
 * otherwise, UNKNOWN_VERSION for a later format. What is allocated is bounded
 * by `length`. The caller frees *moments; after a failure it is untouched. */
TREMOLO_MUST_USE enum tremolo_status tremolo_moments_decode(struct tremolo_moments **moments,
                                                            const uint8_t *bytes, size_t length);

#endif
