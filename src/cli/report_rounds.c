/* report_rounds.c -- read a file of reports. */
#include "report_rounds.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "tremolo_moments.h"

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
    struct report_rounds made;
    const struct report_header *header;
    FILE *file;
    char *error;      /* REPORT_FILE_ERROR_BYTES for a sentence */
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

static int fail(struct reader *reader, enum cli_exit code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int fail(struct reader *reader, enum cli_exit code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(reader->error, REPORT_FILE_ERROR_BYTES, format, arguments);
    va_end(arguments);
    return (int)code;
}

static int say(struct reader *reader, enum tremolo_status status)
{
    return fail(reader, cli_exit_of(status), "%s", tremolo_status_sentence(status));
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
    enum tremolo_status status =
        tremolo_moments_add(reader->moments, reader->rows, reader->buckets, reader->waiting);
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

static enum tremolo_status count_report(struct reader *reader, int16_t *row,
                                        const struct tremolo_report *report)
{
    const struct tremolo_study *study = &reader->header->study;
    enum tremolo_status status = settle_bucket(reader, report->id);
    if (status != TREMOLO_OK) {
        return status;
    }
    if (study->response == TREMOLO_RESPONSE_PUBLIC) {
        row[study->dimension] = report->response;
    }
    reader->buckets[reader->waiting++] = reader->bucket_of[reader->in_round++];
    return reader->waiting == FOLD_BATCH ? flush(reader) : TREMOLO_OK;
}

static enum tremolo_status take_report(struct reader *reader, const uint8_t *bytes, size_t length)
{
    const struct tremolo_study *study = &reader->header->study;
    struct tremolo_report report;
    int16_t *row = reader->rows + reader->waiting * (study->dimension + 1u);
    enum tremolo_status status = tremolo_report_decode(&report, bytes, length);
    if (status == TREMOLO_OK) {
        status = tremolo_report_unpack(row, tremolo_study_coordinates(study), &report, study);
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
    return count_report(reader, row, &report);
}

/* ---------------------------------------------------------------- rounds */

/* What the study's integers mean, from the integers alone. V is left to fill. */
static struct tremolo_release release_of(const struct report_header *header)
{
    const struct tremolo_study *study = &header->study;
    bool private = study->response == TREMOLO_RESPONSE_PRIVATE;
    double noise = ldexp(1, study->noise_log2 - study->wire_shift);
    double wire = ldexp(1, study->wire_shift), amplitude = study->amplitude / wire;
    return (struct tremolo_release){
        .dimension = study->dimension,
        .keep = (double)study->keep / TREMOLO_KEEP_ONE,
        .noise_variance = noise * noise + 1.0 / 12,
        .modulation = amplitude * amplitude / 2,
        .vectors = study->vectors,
        .feature_scale = study->unit / header->feature_bound / wire,
        .response_scale = private ? study->unit / header->feature_bound / wire
                                  : TREMOLO_RESPONSE_MAX / header->response_bound,
        .response_private = private,
        .largest = header->feature_bound * header->feature_bound,
    };
}

static enum tremolo_status debias(struct tremolo_debiased **evidence, struct reader *reader)
{
    const struct tremolo_study *study = &reader->header->study;
    struct tremolo_sums buckets[TREMOLO_BUCKETS];
    struct tremolo_release release = release_of(reader->header);
    size_t d = study->dimension;
    size_t width = d + (release.response_private ? 1 : 0);
    double *V = calloc(study->vectors > 0 ? study->vectors * width : 1, sizeof *V);
    if (V == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    for (size_t i = 0; i < study->vectors * d; i++) {
        V[i / d * width + i % d] = (double)reader->vectors[i] / TREMOLO_VECTOR_ONE;
    }
    release.V = V;
    enum tremolo_status status = TREMOLO_OK;
    for (unsigned b = 0; b < TREMOLO_BUCKETS && status == TREMOLO_OK; b++) {
        status = tremolo_moments_bucket(reader->moments, &buckets[b], b);
    }
    if (status == TREMOLO_OK) {
        status = tremolo_debias_new(evidence, buckets, TREMOLO_BUCKETS, &release);
    }
    free(V);
    return status;
}

/* Empty sums for the next round, and its vectors from the file. */
static int open_round(struct reader *reader)
{
    const struct tremolo_study *study = &reader->header->study;
    bool private = study->response == TREMOLO_RESPONSE_PRIVATE;
    int wire_max = (1 << (study->wire_bits - 1)) - 1;
    double n = study->dimension + 1.0;
    if (!report_file_open_round(reader->vectors, reader->file, study,
                                (unsigned)reader->made.count)) {
        return fail(reader, CLI_USAGE, "the line of round %zu is not sound", reader->made.count);
    }
    if ((double)(reader->made.count + 1) * TREMOLO_BUCKETS * n * n * sizeof(double) >
        evidence_bytes_max) {
        return say(reader, TREMOLO_OVERFLOWED);
    }
    reader->in_round = 0;
    enum tremolo_status status =
        tremolo_moments_new(&reader->moments, study->dimension + 1u, wire_max,
                            private ? wire_max : TREMOLO_RESPONSE_MAX);
    return status == TREMOLO_OK ? CLI_DONE : say(reader, status);
}

/* Fold what waits, and keep the round's evidence. */
static int close_round(struct reader *reader)
{
    struct report_rounds *made = &reader->made;
    size_t least = reader->header->study.dimension + 2u;
    enum tremolo_status status = flush(reader);
    if (status == TREMOLO_OK && reader->in_round < least) {
        return fail(reader, CLI_USAGE, "%zu reports are too few for %zu features", reader->in_round,
                    least - 2);
    }
    if (status == TREMOLO_OK && made->count > 0 && reader->in_round != made->devices) {
        return fail(reader, CLI_USAGE, "round %zu has %zu reports and the first one %zu",
                    made->count, reader->in_round, made->devices);
    }
    if (status == TREMOLO_OK) {
        status = debias(&made->evidence[made->count], reader);
    }
    tremolo_moments_free(reader->moments);
    reader->moments = NULL;
    if (status != TREMOLO_OK) {
        return say(reader, status);
    }
    made->devices = reader->in_round;
    made->count++;
    return CLI_DONE;
}

static int next_round(struct reader *reader)
{
    int code = reader->moments != NULL ? close_round(reader) : CLI_DONE;
    return code == CLI_DONE ? open_round(reader) : code;
}

/* ---------------------------------------------------------------- the file */

static int take_next(struct reader *reader, const uint8_t *bytes, int length)
{
    if (length == REPORT_FILE_ROUND) {
        return next_round(reader);
    }
    reader->number++;
    enum tremolo_status status = reader->number > REPORTS_MAX ? TREMOLO_OVERFLOWED
                                 : reader->moments == NULL    ? TREMOLO_MALFORMED
                                                              : TREMOLO_OK;
    if (status == TREMOLO_OK) {
        status = take_report(reader, bytes, (size_t)length);
    }
    return status == TREMOLO_OK ? CLI_DONE
                                : fail(reader, cli_exit_of(status), "report %zu: %s",
                                       reader->number, tremolo_status_sentence(status));
}

static int read_all(struct reader *reader)
{
    uint8_t bytes[TREMOLO_MAX_REPORT_BYTES];
    int length = 0, code = CLI_DONE;
    while (code == CLI_DONE &&
           (length = report_file_next(bytes, reader->file)) != REPORT_FILE_END &&
           length != REPORT_FILE_CUT) {
        code = take_next(reader, bytes, length);
    }
    if (code == CLI_DONE && length == REPORT_FILE_CUT) {
        return fail(reader, CLI_USAGE, "cut short after report %zu", reader->number);
    }
    if (code == CLI_DONE && reader->moments == NULL) {
        return fail(reader, CLI_USAGE, "there is no round in it");
    }
    return code == CLI_DONE ? close_round(reader) : code;
}

int report_rounds_read(struct report_rounds *rounds, const struct report_header *header, FILE *file,
                       char error[REPORT_FILE_ERROR_BYTES])
{
    const struct tremolo_study *study = &header->study;
    size_t d = study->dimension;
    struct reader reader = {.header = header, .file = file};
    *rounds = (struct report_rounds){.count = 0};
    reader.error = error;
    reader.made.evidence = calloc(study->rounds, sizeof(struct tremolo_debiased *));
    reader.vectors = calloc(study->vectors > 0 ? study->vectors * d : 1, sizeof *reader.vectors);
    reader.rows = malloc(FOLD_BATCH * (d + 1) * sizeof *reader.rows);
    reader.buckets = malloc(FOLD_BATCH);
    bool ready = reader.made.evidence != NULL && reader.vectors != NULL && reader.rows != NULL &&
                 reader.buckets != NULL;
    int code = ready ? read_all(&reader) : say(&reader, TREMOLO_NO_MEMORY);
    if (code == CLI_DONE) {
        const struct tremolo_release release = release_of(header);
        reader.made.mechanism = tremolo_release_mechanism(&release, (double)reader.made.devices);
        *rounds = reader.made;
    } else {
        report_rounds_free(&reader.made);
    }
    tremolo_moments_free(reader.moments);
    free(reader.vectors);
    free(reader.rows);
    free(reader.buckets);
    free(reader.bucket_of);
    free(reader.seen);
    return code;
}

void report_rounds_free(struct report_rounds *rounds)
{
    for (size_t t = 0; rounds->evidence != NULL && t < rounds->count; t++) {
        tremolo_debias_free(rounds->evidence[t]);
    }
    free(rounds->evidence);
    *rounds = (struct report_rounds){.count = 0};
}
