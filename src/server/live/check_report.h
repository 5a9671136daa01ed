/* check_report.h -- what one arriving report is worth, before the log is asked.
 *
 * Pure functions of the bytes and the study: any thread may run them. What
 * depends on the log (repeats, rounds, a device's samples) is decided by the
 * holder of the write_lock alone (embedded.c). */
#ifndef SERVER_CHECK_REPORT_H
#define SERVER_CHECK_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "release.h"
#include "tremolo_status.h"
#include "tremolo_study_file.h"

/* X(name, HTTP status, reason) */
#define SERVER_OUTCOME_LIST(X)                                                                     \
    X(PENDING, 500, "not yet decided")                                                             \
    X(ACCEPTED, 200, "durable")                                                                    \
    X(REPEATED, 200, "was durable before")                                                         \
    X(MALFORMED, 400, "the bytes are not a well-formed report")                                    \
    X(UNKNOWN_VERSION, 400, "the report's version is not one this server reads")                   \
    X(NOT_NAMED, 401, "this study takes reports of enrolled devices: name and MAC are needed")     \
    X(WRONG_MAC, 403, "the MAC is not that of this device's key")                                  \
    X(OTHER_BYTES, 409, "this report id is taken by other bytes")                                  \
    X(SAMPLES_USED, 409, "this device has given its samples for this round")                       \
    X(CLOSED, 410, "the round or the study is closed")                                             \
    X(WRONG_STUDY, 422, "the report belongs to another study")                                     \
    X(WRONG_ROUND, 422, "the report is for a round that has not begun")                            \
    X(IMPOSSIBLE, 422, "no honest device of this study makes such a report")                       \
    X(TOO_EARLY, 425, "the study has not begun")                                                   \
    X(BUSY, 429, "too many reports are waiting; try again")                                        \
    X(OVER_QUOTA, 429, "this source has sent its share of reports for now; try again later")       \
    X(NOT_STORED, 503, "the report could not be made durable; try again")

enum server_outcome {
#define SERVER_OUTCOME_ENUM(name, status, reason) OUTCOME_##name,
    SERVER_OUTCOME_LIST(SERVER_OUTCOME_ENUM)
#undef SERVER_OUTCOME_ENUM
        OUTCOME_COUNT
};

unsigned outcome_http(enum server_outcome outcome);
const char *outcome_reason(enum server_outcome outcome);
enum { OUTCOME_LABEL_BYTES = 32 };
void outcome_label(char label[OUTCOME_LABEL_BYTES], enum server_outcome outcome); /* lower case */

/* What the checks need of a study; made once. */
struct check_study {
    const struct tremolo_study *study;
    const uint8_t *secret;   /* TREMOLO_DEVICE_SECRET_BYTES; NULL: an open study */
    const uint8_t *hash_key; /* of the study's indexes; may be NULL: no hash */
    double norm2_max;        /* squared, wire units */
    size_t row_values;       /* of one report */
};

struct check_study check_study_of(const struct tremolo_study_file *file, const uint8_t *secret);

/* One report on its way through the server. Pointers lead into the body. */
struct arrival {
    const uint8_t *bytes;
    const uint8_t *device; /* device_length bytes */
    const uint8_t *id;
    uint64_t hash; /* of the id, for the index */
    uint16_t length;
    uint16_t round;
    uint8_t device_length; /* 0: no name came with it */
    uint8_t bucket;
    uint8_t outcome; /* enum server_outcome */
};

/* Check arrival->bytes[0..length): sets id, round, bucket and outcome
 * (PENDING when nothing is wrong), and the row that the fold takes. */
void check_report(struct arrival *arrival, int16_t *row, const struct check_study *check);

/* The same for `count` reports; their rows lie one after the other. Returns how many are PENDING. */
size_t check_reports(struct arrival *arrivals, int16_t *rows, size_t count,
                     const struct check_study *check);

/* Split a CBOR sequence of byte strings into arrivals, which the caller frees; with `named`, each
 * report follows the byte string of its device's name. Only the strings are read, nothing is
 * copied. MALFORMED when the body is not such a sequence or holds more than CHECK_REPORTS_MAX
 * reports; on any failure the outputs are untouched. *count may be 0. */
enum { CHECK_REPORTS_MAX = 20000 };
TREMOLO_MUST_USE enum tremolo_status check_split(struct arrival **arrivals, size_t *count,
                                                 const uint8_t *body, size_t length, bool named);

/* ---- checked reports on their way into the sums of a round ----
 *
 * check_report() makes one row of a report; rows gather here and are folded together. Of a row the
 * sums keep the bucket only. Zero the struct to begin. */

struct rows {
    int16_t *values; /* check.row_values for each row */
    uint8_t *buckets;
    size_t capacity;
};

/* Room for `capacity` rows in all. */
TREMOLO_MUST_USE enum tremolo_status rows_reserve(struct rows *rows, size_t row_values,
                                                  size_t capacity);
void rows_free(struct rows *rows);

/* Put a row, which may lie anywhere in `rows` behind it, at place `at`. */
void rows_put(struct rows *rows, size_t row_values, size_t at, const int16_t *row, unsigned bucket);

/* As tremolo_release_fold(), in two steps, for sums that others read: the lock that guards them is
 * needed for the second only. rows_expand() takes rows from `from` on, of `count` in all, and
 * returns how many it took, at least one; rows_add() adds these. */
enum { ROWS_EXPANDED_BYTES = 1 << 16 };
size_t rows_expand(int8_t expanded[ROWS_EXPANDED_BYTES], const struct tremolo_study *study,
                   const struct rows *rows, size_t from, size_t count);
TREMOLO_MUST_USE enum tremolo_status rows_add(struct tremolo_moments *moments,
                                              const struct tremolo_study *study,
                                              const struct rows *rows,
                                              const int8_t expanded[ROWS_EXPANDED_BYTES],
                                              size_t from, size_t taken);

#endif
