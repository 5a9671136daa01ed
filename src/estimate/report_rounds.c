/* report_rounds.c -- read a file of reports. */
#include "tremolo_report_file.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tremolo_release.h"

enum { REPORTS_MAX = 100000000, FOLD_BATCH = 8192 };

/* Evidence of all rounds together; one round of d features needs about
 * 256 d^2 bytes. */
static const double evidence_bytes_max = 4e9;

/* Every id seen with a hash of its report's bytes. */
struct seen {
    uint8_t id[TREMOLO_REPORT_ID_BYTES];
    uint64_t hash;
};

struct reader {
    struct tremolo_report_rounds made;
    const struct tremolo_report_header *header;
    struct tremolo_sample_release release; /* of noisy samples */
    FILE *file;
    char *error;      /* TREMOLO_REPORT_FILE_ERROR_BYTES for a sentence */
    int16_t *vectors; /* of the current round */
    struct tremolo_moments *moments;
    int16_t *rows; /* waiting for the fold */
    uint8_t *buckets;
    size_t waiting;
    size_t in_round;     /* reports of the current round */
    uint8_t *bucket_of;  /* every device's */
    size_t bucket_space; /* allocated there */
    struct seen *seen;   /* open addressing; capacity is a power of two */
    size_t capacity, seen_count, number;
};

__attribute__((format(printf, 3, 4))) static enum tremolo_status
fail(struct reader *reader, enum tremolo_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(reader->error, TREMOLO_REPORT_FILE_ERROR_BYTES, format, arguments);
    va_end(arguments);
    return status;
}

static enum tremolo_status say(struct reader *reader, enum tremolo_status status)
{
    return fail(reader, status, "%s", tremolo_status_sentence(status));
}

/* ---------------------------------------------------------------- ids */

static uint64_t hash_bytes(const uint8_t *bytes, size_t length)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    }
    return hash != 0 ? hash : 1; /* 0 marks a free place */
}

static struct seen *place_of(struct seen *seen, size_t capacity, const uint8_t *id)
{
    size_t at = (size_t)hash_bytes(id, TREMOLO_REPORT_ID_BYTES) & (capacity - 1);
    while (seen[at].hash != 0 && memcmp(seen[at].id, id, TREMOLO_REPORT_ID_BYTES) != 0) {
        at = (at + 1) & (capacity - 1);
    }
    return &seen[at];
}

/* Keep the table at most half full. */
static bool grow(struct reader *reader)
{
    if (2 * (reader->seen_count + 1) <= reader->capacity) {
        return true;
    }
    size_t capacity = reader->capacity < 1024 ? 1024 : 2 * reader->capacity;
    struct seen *larger = calloc(capacity, sizeof *larger);
    if (larger == NULL) {
        return false;
    }
    for (size_t i = 0; i < reader->capacity; i++) {
        if (reader->seen[i].hash != 0) {
            *place_of(larger, capacity, reader->seen[i].id) = reader->seen[i];
        }
    }
    free(reader->seen);
    reader->seen = larger;
    reader->capacity = capacity;
    return true;
}

/* ---------------------------------------------------------------- reports */

static enum tremolo_status flush(struct reader *reader)
{
    enum tremolo_status status = tremolo_release_fold(
        reader->moments, &reader->header->study, reader->rows, reader->buckets, reader->waiting);
    reader->waiting = 0;
    return status;
}

/* The first round settles the buckets of its devices. OUT_OF_BOUNDS for a device
 * that the first round does not have. */
static enum tremolo_status settle_bucket(struct reader *reader, const uint8_t *id)
{
    size_t device = reader->in_round;
    if (reader->made.count > 0) {
        return device < reader->made.devices ? TREMOLO_OK : TREMOLO_OUT_OF_BOUNDS;
    }
    if (device == reader->bucket_space) {
        size_t space = device < 1024 ? 1024 : 2 * device;
        uint8_t *larger = realloc(reader->bucket_of, space);
        if (larger == NULL) {
            return TREMOLO_NO_MEMORY;
        }
        reader->bucket_of = larger;
        reader->bucket_space = space;
    }
    reader->bucket_of[device] = (uint8_t)tremolo_bucket_of(id);
    return TREMOLO_OK;
}

static enum tremolo_status take_report(struct reader *reader, const uint8_t *bytes, size_t length)
{
    const struct tremolo_study *study = &reader->header->study;
    struct tremolo_report report;
    int16_t *row = reader->rows + reader->waiting * tremolo_row_values(study);
    enum tremolo_status status = tremolo_report_decode(&report, bytes, length);
    if (status == TREMOLO_OK) {
        status = tremolo_row_unpack(row, &report, study);
    }
    if (status == TREMOLO_OK && report.round != reader->made.count) {
        status = TREMOLO_OUT_OF_BOUNDS;
    }
    if (status != TREMOLO_OK || !grow(reader)) {
        return status != TREMOLO_OK ? status : TREMOLO_NO_MEMORY;
    }
    struct seen *place = place_of(reader->seen, reader->capacity, report.id);
    uint64_t hash = hash_bytes(bytes, length);
    if (place->hash != 0) {
        reader->made.repeated++;
        return place->hash == hash ? TREMOLO_OK : TREMOLO_MALFORMED;
    }
    memcpy(place->id, report.id, TREMOLO_REPORT_ID_BYTES);
    place->hash = hash;
    reader->seen_count++;
    status = settle_bucket(reader, report.id);
    if (status != TREMOLO_OK) {
        return status;
    }
    reader->buckets[reader->waiting++] = reader->bucket_of[reader->in_round++];
    return reader->waiting == FOLD_BATCH ? flush(reader) : TREMOLO_OK;
}

/* ---------------------------------------------------------------- rounds */

/* Empty sums for the next round, and its vectors from the file. */
static enum tremolo_status open_round(struct reader *reader)
{
    const struct tremolo_study *study = &reader->header->study;
    double n = study->dimension + 1.0;
    if (!tremolo_report_file_open_round(reader->vectors, reader->file, study,
                                        (unsigned)reader->made.count)) {
        return fail(reader, TREMOLO_MALFORMED, "the line of round %zu is not sound",
                    reader->made.count);
    }
    if ((double)(reader->made.count + 1) * TREMOLO_BUCKETS * n * n * sizeof(double) >
        evidence_bytes_max) {
        return say(reader, TREMOLO_OVERFLOWED);
    }
    reader->in_round = 0;
    enum tremolo_status status = tremolo_release_sums(&reader->moments, study);
    return status == TREMOLO_OK ? TREMOLO_OK : say(reader, status);
}

static enum tremolo_status tell_ballots(struct reader *reader)
{
    struct tremolo_report_rounds *made = &reader->made;
    const struct tremolo_study *study = &reader->header->study;
    enum tremolo_status status = tremolo_release_ballots(&made->ballots, reader->moments, study);
    if (status == TREMOLO_OK && made->ballots == NULL) {
        status = TREMOLO_MALFORMED;
    }
    return status == TREMOLO_OK
               ? tremolo_release_robust_ballots(&made->robust_ballots, reader->moments, study)
               : status;
}

/* What the round's sums tell. */
static enum tremolo_status tell(struct reader *reader)
{
    struct tremolo_report_rounds *made = &reader->made;
    struct tremolo_honest law;
    struct tremolo_tail tail;
    if (tremolo_moments_tail(&tail, reader->moments)) { /* how far the reports reach */
        tremolo_honest_law(&law, &reader->header->study);
        tremolo_tails_judge(&made->tails, &tail, &law);
    }
    if (reader->header->study.release == TREMOLO_RELEASE_BALLOT) {
        return tell_ballots(reader);
    }
    enum tremolo_status status = tremolo_release_evidence(
        &made->evidence[made->count], reader->moments, &reader->release, reader->vectors);
    if (status == TREMOLO_OK && reader->header->study.rounds == 1) {
        status = tremolo_release_robust(&made->robust, reader->moments, &reader->release,
                                        reader->vectors);
    }
    if (status != TREMOLO_OK) { /* a round that does not count is nobody's to free */
        tremolo_debias_free(made->evidence[made->count]);
        made->evidence[made->count] = NULL;
    }
    return status;
}

/* Fold what waits, and keep the round's evidence. */
static enum tremolo_status close_round(struct reader *reader)
{
    struct tremolo_report_rounds *made = &reader->made;
    size_t least = reader->header->study.dimension + 2u;
    enum tremolo_status status = flush(reader);
    if (status == TREMOLO_OK && reader->in_round < least) {
        return fail(reader, TREMOLO_MALFORMED, "%zu reports are too few for %zu features",
                    reader->in_round, least - 2);
    }
    if (status == TREMOLO_OK && made->count > 0 && reader->in_round != made->devices) {
        return fail(reader, TREMOLO_MALFORMED, "round %zu has %zu reports and the first one %zu",
                    made->count, reader->in_round, made->devices);
    }
    if (status == TREMOLO_OK) {
        status = tell(reader);
    }
    tremolo_moments_free(reader->moments);
    reader->moments = NULL;
    if (status != TREMOLO_OK) {
        return say(reader, status);
    }
    made->devices = reader->in_round;
    made->count++;
    return TREMOLO_OK;
}

/* ---------------------------------------------------------------- the file */

static enum tremolo_status take_next(struct reader *reader, const uint8_t *bytes, int length)
{
    enum tremolo_status status = TREMOLO_OK;
    if (length == TREMOLO_REPORT_FILE_ROUND) {
        status = reader->moments != NULL ? close_round(reader) : TREMOLO_OK;
        return status == TREMOLO_OK ? open_round(reader) : status;
    }
    reader->number++;
    status = reader->number > REPORTS_MAX ? TREMOLO_OVERFLOWED
             : reader->moments == NULL    ? TREMOLO_MALFORMED
                                          : TREMOLO_OK;
    if (status == TREMOLO_OK) {
        status = take_report(reader, bytes, (size_t)length);
    }
    return status == TREMOLO_OK ? TREMOLO_OK
                                : fail(reader, status, "report %zu: %s", reader->number,
                                       tremolo_status_sentence(status));
}

static enum tremolo_status read_all(struct reader *reader)
{
    uint8_t bytes[TREMOLO_MAX_REPORT_BYTES];
    int length = 0;
    enum tremolo_status status = TREMOLO_OK;
    while (status == TREMOLO_OK &&
           (length = tremolo_report_file_next(bytes, reader->file)) != TREMOLO_REPORT_FILE_END &&
           length != TREMOLO_REPORT_FILE_CUT) {
        status = take_next(reader, bytes, length);
    }
    if (status == TREMOLO_OK && length == TREMOLO_REPORT_FILE_CUT) {
        return fail(reader, TREMOLO_MALFORMED, "cut short after report %zu", reader->number);
    }
    if (status == TREMOLO_OK && reader->moments == NULL) {
        return fail(reader, TREMOLO_MALFORMED, "there is no round in it");
    }
    return status == TREMOLO_OK ? close_round(reader) : status;
}

enum tremolo_status tremolo_report_rounds_read(struct tremolo_report_rounds *rounds,
                                               const struct tremolo_report_header *header,
                                               FILE *file,
                                               char error[TREMOLO_REPORT_FILE_ERROR_BYTES])
{
    const struct tremolo_study *study = &header->study;
    size_t d = study->dimension;
    struct reader reader = {.header = header, .file = file};
    *rounds = (struct tremolo_report_rounds){.count = 0};
    reader.release = tremolo_release_of(study, header->feature_bound, header->response_bound);
    reader.error = error;
    reader.made.evidence = calloc(study->rounds, sizeof(struct tremolo_debiased *));
    reader.vectors = calloc(study->vectors > 0 ? study->vectors * d : 1, sizeof *reader.vectors);
    reader.rows = malloc(FOLD_BATCH * tremolo_row_values(study) * sizeof *reader.rows);
    reader.buckets = malloc(FOLD_BATCH);
    bool ready = reader.made.evidence != NULL && reader.vectors != NULL && reader.rows != NULL &&
                 reader.buckets != NULL;
    enum tremolo_status status = ready ? read_all(&reader) : say(&reader, TREMOLO_NO_MEMORY);
    if (status == TREMOLO_OK) {
        if (study->release == TREMOLO_RELEASE_SAMPLE) {
            reader.made.mechanism =
                tremolo_release_mechanism(&reader.release, (double)reader.made.devices);
        }
        *rounds = reader.made;
    } else {
        tremolo_report_rounds_free(&reader.made);
    }
    tremolo_moments_free(reader.moments);
    free(reader.vectors);
    free(reader.rows);
    free(reader.buckets);
    free(reader.bucket_of);
    free(reader.seen);
    return status;
}

void tremolo_report_rounds_free(struct tremolo_report_rounds *rounds)
{
    for (size_t t = 0; rounds->evidence != NULL && t < rounds->count; t++) {
        tremolo_debias_free(rounds->evidence[t]);
    }
    free(rounds->evidence);
    tremolo_ballot_free(rounds->ballots);
    tremolo_debias_free(rounds->robust);
    tremolo_ballot_free(rounds->robust_ballots);
    *rounds = (struct tremolo_report_rounds){.count = 0};
}
