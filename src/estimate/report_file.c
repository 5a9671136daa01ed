/* report_file.c -- a file of reports: written by a simulation, read into evidence, fitted.
 *
 * Reading trusts nothing. The two lines before the reports are checked as input from outside,
 * each report is decoded by the strict decoder, checked against the file's study and counted
 * once: the same bytes again are ignored, other bytes under the same id are an error. The sums
 * are exact, so within the only round of a file the order of reports does not matter. With
 * several rounds it says which reports come from one device, and a device stays in the
 * jackknife's bucket that its first report chose.
 *
 * Inference rests on all rounds together, whatever predicts. */
#include "report_file.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "estimate_json.h"
#include "inputs.h"
#include "study_internal.h"

enum {
    HEADER_MAX = 1 << 20, /* bytes of a line */
    ROUNDS_MAX = 1024,
    REPORTS_MAX = 100000000,
    FOLD_BATCH = 8192,
};

static const char *const predictor_names[] = {"auto", "one-shot", "unbiased", "pooled",
                                              "iterative"};

static const char first_line[] = "tremolo reports 2\n";

/* A study's integers in the order of the line, and what ballots have in addition. */
static const struct document_row all_integers[] = {STUDY_INTEGER(dimension, .low = 0),
                                                   STUDY_INTEGER(unit, .low = 0),
                                                   STUDY_INTEGER(clip, .low = 0),
                                                   STUDY_INTEGER(distance, .low = 0),
                                                   STUDY_INTEGER(amplitude, .low = 0),
                                                   STUDY_INTEGER(frequency, .low = 0),
                                                   STUDY_INTEGER(keep, .low = 0),
                                                   STUDY_INTEGER(vectors, .low = 0),
                                                   STUDY_INTEGER(noise_log2, .low = 0),
                                                   STUDY_INTEGER(wire_shift, .low = 0),
                                                   STUDY_INTEGER(wire_bits, .low = 0),
                                                   {.key = "response_private",
                                                    .type = DOCUMENT_WHOLE,
                                                    DOCUMENT_AT(struct tremolo_study, response),
                                                    .high = 1},
                                                   {.key = "rounds",
                                                    .type = DOCUMENT_WHOLE,
                                                    DOCUMENT_AT(struct tremolo_study, rounds),
                                                    .high = ROUNDS_MAX},
                                                   {.key = NULL}};
static const struct document_row ballot_integers[] = {STUDY_INTEGER(rank_first, .low = 0),
                                                      STUDY_INTEGER(rank_top, .low = 0),
                                                      STUDY_INTEGER(constant, .low = 0),
                                                      STUDY_INTEGER(response_weight, .low = 0),
                                                      {.key = NULL}};

/* How many samples a device may give in each round, of which the file has the first; absent: one.
 */
static const struct document_row more_samples[] = {{.key = "samples",
                                                    .type = DOCUMENT_WHOLE,
                                                    DOCUMENT_AT(struct tremolo_study, samples),
                                                    .high = TREMOLO_STUDY_MAX_SAMPLES},
                                                   {.key = NULL}};

/* The numbers of the second line, and what they must be. */
#define REAL(member, flags)                                                                        \
    DOCUMENT_ROW(#member, REAL, flags, DOCUMENT_AT(struct tremolo_report_header, member),          \
                 .high = INFINITY)
static const struct document_row reals[] = {
    REAL(step, 0),
    REAL(radius, 0),
    REAL(feature_bound, DOCUMENT_ABOVE),
    REAL(response_bound, DOCUMENT_ABOVE),
    REAL(distance, 0),
    REAL(delta, 0),
    DOCUMENT_ROW("response_centre", REAL, 0,
                 DOCUMENT_AT(struct tremolo_report_header, response_centre)),
    REAL(response_scale, DOCUMENT_ABOVE),
    {.key = NULL}};

/* ---------------------------------------------------------------- writing */

static json_t *names_json(const struct tremolo_report_header *header)
{
    json_t *array = json_array();
    for (size_t i = 0; i < header->study.dimension; i++) {
        (void)json_array_append_new(array, json_string(header->name[i]));
    }
    return array;
}

/* NULL, and freed, without memory. */
static void add_numbers(json_t **object, const void *of, const struct document_row *rows)
{
    if (json_object_update_new(*object, document_json(rows, of)) != 0) {
        json_decref(*object);
        *object = NULL;
    }
}

/* As devices have it; a hexadecimal id, since a file may be read where no base64 is. */
static json_t *study_json(const struct tremolo_study *study)
{
    char id[2 * TREMOLO_STUDY_ID_BYTES + 1];
    for (size_t i = 0; i < TREMOLO_STUDY_ID_BYTES; i++) {
        (void)snprintf(id + 2 * i, 3, "%02x", study->id[i]);
    }
    json_t *made = json_pack("{s:s}", "id", id);
    add_numbers(&made, study, all_integers);
    if (study->samples > 1) {
        add_numbers(&made, study, more_samples);
    }
    if (study->release == TREMOLO_RELEASE_BALLOT) {
        /* Without it a file of ballots would be read as noisy samples. */
        json_latch_set(&made, "release", json_string("ballot"));
        add_numbers(&made, study, ballot_integers);
    }
    return made;
}

/* All digits are written, so that a file gives the numbers that its simulation had. */
bool tremolo_report_file_begin(FILE *file, const struct tremolo_report_header *header)
{
    size_t d = header->study.dimension;
    json_t *root = json_pack(
        "{s:o, s:o, s:o, s:o, s:s, s:s, s:o, s:o}", "study", study_json(&header->study), "centre",
        json_latch_numbers(header->centre, d), "scale", json_latch_numbers(header->scale, d),
        "names", names_json(header), "response", header->response, "unit", header->unit, "range",
        json_latch_numbers(header->range, d + 1), "inputs", inputs_json(header->inputs));
    add_numbers(&root, header, reals);
    bool good = root != NULL && fputs(first_line, file) != EOF &&
                json_dumpf(root, file, JSON_LATCH_EXACT) == 0 && fputc('\n', file) != EOF;
    json_decref(root);
    return good;
}

/* A length of zero, which no report has, announces a round; then follow its number and its
 * vectors, exactly as they were broadcast. */
bool tremolo_report_file_begin_round(FILE *file, const struct tremolo_study *study, unsigned round,
                                     const int16_t *vectors)
{
    json_t *array = json_array();
    for (size_t i = 0; i < (size_t)study->vectors * study->dimension; i++) {
        (void)json_array_append_new(array, json_integer(vectors[i]));
    }
    json_t *root = json_pack("{s:i,s:o}", "round", (int)round, "vectors", array);
    bool good = root != NULL && fputc(0, file) != EOF && fputc(0, file) != EOF &&
                json_dumpf(root, file, JSON_COMPACT) == 0 && fputc('\n', file) != EOF;
    json_decref(root);
    return good;
}

/* ---------------------------------------------------------------- the two lines */

/* 64 lower-case hexadecimal digits. */
static bool take_id(struct tremolo_study *study, const char *text)
{
    for (size_t i = 0; i < TREMOLO_STUDY_ID_BYTES; i++) {
        unsigned byte;
        if (strspn(text + 2 * i, "0123456789abcdef") < 2 ||
            sscanf(text + 2 * i, "%2x", &byte) != 1) {
            return false;
        }
        study->id[i] = (uint8_t)byte;
    }
    return text[(size_t)2 * TREMOLO_STUDY_ID_BYTES] == '\0';
}

/* Each integer is in the range of its field; tremolo_study_check() judges their sense afterwards. A
 * file that names no release has noisy samples, and one that counts none has one of a device. */
static bool take_study(struct tremolo_study *study, const json_t *object)
{
    const char *id = json_string_value(json_object_get(object, "id"));
    const json_t *release = json_object_get(object, "release");
    if (!document_take(all_integers, object, study)) {
        return false;
    }
    if (release != NULL) {
        study->release = TREMOLO_RELEASE_BALLOT;
        if (!json_is_string(release) || strcmp(json_string_value(release), "ballot") != 0 ||
            !document_take(ballot_integers, object, study) || study->rounds != 1) {
            return false;
        }
    }
    const json_t *samples = json_object_get(object, "samples");
    study->samples = 1;
    if (samples != NULL && !document_take(more_samples, object, study)) {
        return false;
    }
    return id != NULL && strlen(id) == (size_t)2 * TREMOLO_STUDY_ID_BYTES && take_id(study, id);
}

/* `count` finite numbers, each above 0 if `positive`; NULL if they are not, or without memory. */
static double *take_reals(const json_t *array, size_t count, bool positive)
{
    double *values = json_array_size(array) == count ? calloc(count, sizeof *values) : NULL;
    for (size_t i = 0; values != NULL && i < count; i++) {
        const json_t *entry = json_array_get(array, i);
        values[i] = json_number_value(entry);
        if (!json_is_number(entry) || !isfinite(values[i]) || (positive && !(values[i] > 0))) {
            free(values);
            return NULL;
        }
    }
    return values;
}

/* Names are shown on terminals and pages: what is no plain text becomes question marks, and a name
 * that is too long is cut. */
static bool take_name(char name[TREMOLO_NAME_BYTES], const json_t *from)
{
    const char *text = json_string_value(from);
    (void)snprintf(name, TREMOLO_NAME_BYTES, "%.120s", text != NULL ? text : "");
    (void)tremolo_text_clean(name);
    return text != NULL;
}

/* The features' names, as many as there are features, and the response's. */
static bool take_names(struct tremolo_report_header *header, const json_t *root)
{
    const json_t *array = json_object_get(root, "names");
    size_t d = header->study.dimension;
    header->name = calloc(d, sizeof *header->name);
    bool good = header->name != NULL && json_array_size(array) == d &&
                take_name(header->response, json_object_get(root, "response"));
    for (size_t i = 0; i < d && good; i++) {
        good = take_name(header->name[i], json_array_get(array, i));
    }
    return good;
}

/* NULL, or which member of the analyst's own units is not sound. */
static const char *take_own_units(struct tremolo_report_header *header, const json_t *root)
{
    char error[TREMOLO_TERMS_ERROR_BYTES];
    const json_t *standardised = json_object_get(root, "standardised");
    header->standardised = json_is_true(standardised);
    header->range = take_reals(json_object_get(root, "range"), header->study.dimension + 1u, true);
    if (!take_name(header->unit, json_object_get(root, "unit"))) {
        return "the study's line: unit must be text";
    }
    if (standardised != NULL && !json_is_boolean(standardised)) {
        return "the study's line: standardised must be true or false";
    }
    if (header->range == NULL) {
        return "the study's line: range must be a number above 0 for each feature and the "
               "response";
    }
    return inputs_from_json(&header->inputs, json_object_get(root, "inputs"), error) &&
                   header->inputs->features == header->study.dimension
               ? NULL
               : "the study's line: inputs must be sound and make as many features as there are";
}

/* The study as the device's own check accepts it. Its bounds are the widest, because the file has
 * scaled integers, not a person's values. */
static bool take_header(struct tremolo_report_header *header, const json_t *root)
{
    const struct tremolo_bounds bounds = {-TREMOLO_STUDY_RAW_MAX, TREMOLO_STUDY_RAW_MAX};
    bool known = take_study(&header->study, json_object_get(root, "study"));
    size_t d = header->study.dimension;
    if (!known || d < 1 || d > TREMOLO_MAX_DIMENSION) {
        return false;
    }
    for (size_t i = 0; i < d; i++) {
        header->bounds[i] = bounds;
    }
    header->study.bounds = header->bounds;
    header->study.response_bounds = bounds;
    header->centre = take_reals(json_object_get(root, "centre"), d, false);
    header->scale = take_reals(json_object_get(root, "scale"), d, true);
    if (header->centre == NULL || header->scale == NULL || !document_take(reals, root, header)) {
        return false;
    }
    /* Ballots have no delta. */
    bool delta = header->study.release == TREMOLO_RELEASE_BALLOT
                     ? header->delta == 0
                     : header->delta > 0 && header->delta < 1;
    return delta && take_names(header, root) && tremolo_study_check(&header->study) == TREMOLO_OK;
}

/* One line of at most `capacity` bytes, its newline removed. */
static bool read_line(char *line, size_t capacity, FILE *file)
{
    size_t length = 0;
    for (int c = getc(file); c != '\n'; c = getc(file)) {
        if (c == EOF || c == '\0' || length + 1 >= capacity) {
            return false;
        }
        line[length++] = (char)c;
    }
    line[length] = '\0';
    return true;
}

/* Leaves it empty, so that freeing again is fine. */
static void free_header(struct tremolo_report_header *header)
{
    free(header->centre);
    free(header->scale);
    free(header->range);
    free(header->name);
    tremolo_inputs_free(header->inputs);
    memset(header, 0, sizeof *header);
}

/* Read the two lines; everything is checked as input from outside. On failure *header is empty and
 * `error` is one sentence. */
static bool open_file(struct tremolo_report_header *header, FILE *file,
                      char error[TREMOLO_REPORT_FILE_ERROR_BYTES])
{
    char magic[sizeof first_line];
    char *line = malloc(HEADER_MAX);
    const char *reason = NULL;
    memset(header, 0, sizeof *header);
    if (line == NULL) {
        reason = "out of memory";
    } else if (!read_line(magic, sizeof magic, file) ||
               strncmp(magic, first_line, sizeof first_line - 2) != 0) {
        reason = "this is no file of reports";
    } else if (!read_line(line, HEADER_MAX, file)) {
        reason = "the study's line is missing or too long";
    } else {
        json_t *root = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
        reason = root == NULL                 ? "the study's line is not JSON"
                 : !take_header(header, root) ? "the study's numbers are not sound"
                                              : take_own_units(header, root);
        json_decref(root);
    }
    free(line);
    if (reason != NULL) {
        free_header(header);
        (void)snprintf(error, TREMOLO_REPORT_FILE_ERROR_BYTES, "%s", reason);
    }
    return reason == NULL;
}

/* ---------------------------------------------------------------- rounds and reports in the file
 */

/* Vectors are in steps of 2^-14, orthonormal as the device checks them. */
static bool take_round(int16_t *vectors, const json_t *root, const struct tremolo_study *study,
                       unsigned round)
{
    const json_t *array = json_object_get(root, "vectors");
    const json_t *number = json_object_get(root, "round");
    size_t count = (size_t)study->vectors * study->dimension;
    if (!json_is_integer(number) || json_integer_value(number) != (json_int_t)round ||
        round >= study->rounds || json_array_size(array) != count) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *entry = json_array_get(array, i);
        json_int_t value = json_integer_value(entry);
        if (!json_is_integer(entry) || value < -TREMOLO_VECTOR_ONE || value > TREMOLO_VECTOR_ONE) {
            return false;
        }
        vectors[i] = (int16_t)value;
    }
    const struct tremolo_round checked = {count > 0 ? vectors : NULL, (uint16_t)round};
    return tremolo_round_check(study, &checked) == TREMOLO_OK;
}

/* False unless the line opens round `round` with sound vectors, which fill `vectors`
 * (study.vectors rows of d). */
static bool read_round(int16_t *vectors, FILE *file, const struct tremolo_study *study,
                       unsigned round)
{
    char *line = malloc(HEADER_MAX);
    json_t *root = line != NULL && read_line(line, HEADER_MAX, file)
                       ? json_loads(line, JSON_REJECT_DUPLICATES, NULL)
                       : NULL;
    bool good = root != NULL && take_round(vectors, root, study, round);
    json_decref(root);
    free(line);
    return good;
}

/* The next report into bytes; its length, or END, CUT (the file is cut short or a length is
 * impossible) or ROUND: then read_round() reads its line. */
enum { END = 0, CUT = -1, ROUND = -2 };

static int read_report(uint8_t bytes[TREMOLO_MAX_REPORT_BYTES], FILE *file)
{
    int low = getc(file);
    if (low == EOF) {
        return ferror(file) != 0 ? CUT : END;
    }
    int high = getc(file);
    int length = low + 256 * high;
    if (high == EOF || length > (int)TREMOLO_MAX_REPORT_BYTES ||
        fread(bytes, 1, (size_t)length, file) != (size_t)length) {
        return CUT;
    }
    return length == 0 ? ROUND : length;
}

/* Evidence of all rounds together; one round of d features needs about
 * 256 d^2 bytes. */
static const double evidence_bytes_max = 4e9;

/* Every id seen with a hash of its report's bytes. */
struct seen {
    uint8_t id[TREMOLO_REPORT_ID_BYTES];
    uint64_t hash;
};

/* What the file's sums say, round by round. */
struct rounds {
    size_t count;
    size_t devices; /* reports of each round, repeats not counted */
    size_t repeated;
    struct tremolo_evidence *evidence; /* of every round */
};

struct reader {
    struct rounds made;
    const struct tremolo_report_header *header;
    struct tremolo_sample_release release; /* of noisy samples, with the current round's vectors */
    struct tremolo_honest law;
    FILE *file;
    char *error;      /* TREMOLO_REPORT_FILE_ERROR_BYTES for a sentence */
    int16_t *vectors; /* of the current round, */
    double *V;        /* and as debiasing wants them */
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

/* Fail with the status's own sentence. */
static enum tremolo_status say(struct reader *reader, enum tremolo_status status)
{
    return fail(reader, status, "%s", tremolo_status_sentence(status));
}

/* ---------------------------------------------------------------- ids
 *
 * A table of all ids in the file with a hash of each report. Two reports with one id are either
 * the same report, sent again after a lost answer, or a sign that something is wrong; the hash
 * decides without keeping the reports. */

/* FNV-1a, never 0: ids are random bytes, and a file that makes collisions slows down its own
 * reader. */
static uint64_t hash_bytes(const uint8_t *bytes, size_t length)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    }
    return hash != 0 ? hash : 1; /* 0 marks a free place */
}

/* Where the id is, or the free place where it belongs. */
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

/* ---------------------------------------------------------------- reports
 *
 * Rows wait until FOLD_BATCH of them are added together, because the sums add many rows faster
 * than one at a time. */

/* Add the rows that wait to the round's sums. */
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

/* Decode, check and count one report. MALFORMED for other bytes under an id that came before. */
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

/* ---------------------------------------------------------------- rounds
 *
 * A round is read into sums of its own and becomes evidence when the next begins or the file
 * ends. Only the evidence is kept, so memory depends on the number of rounds and features, not on
 * the reports. */

/* Empty sums for the next round, and its vectors from the file. */
static enum tremolo_status open_round(struct reader *reader)
{
    const struct tremolo_study *study = &reader->header->study;
    double n = study->dimension + 1.0;
    if (!read_round(reader->vectors, reader->file, study, (unsigned)reader->made.count)) {
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

/* What the round's sums say. A round counts once that is known; until then its evidence is freed
 * here. Without the reports beyond honest noise only a single round is estimated: rounds are
 * pooled as they are. */
static enum tremolo_status conclude(struct reader *reader)
{
    const struct tremolo_study *study = &reader->header->study;
    struct tremolo_evidence *evidence = &reader->made.evidence[reader->made.count];
    tremolo_release_from_wire(reader->V, reader->vectors, (size_t)study->vectors * study->dimension,
                              1.0);
    enum tremolo_status status =
        tremolo_evidence_of(evidence, reader->moments, study, &reader->law, &reader->release);
    if (status == TREMOLO_OK && evidence->samples == NULL && evidence->ballots == NULL) {
        status = TREMOLO_MALFORMED; /* all devices are in one bucket */
    }
    if (study->rounds > 1) {
        tremolo_debias_free(evidence->robust_samples);
        evidence->robust_samples = NULL;
    }
    if (status != TREMOLO_OK) {
        tremolo_evidence_free(evidence);
    }
    return status;
}

/* Fold what waits, and keep the round's evidence. */
static enum tremolo_status close_round(struct reader *reader)
{
    struct rounds *made = &reader->made;
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
        status = conclude(reader);
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

/* A report, or the marker between rounds. */
static enum tremolo_status take_next(struct reader *reader, const uint8_t *bytes, int length)
{
    enum tremolo_status status = TREMOLO_OK;
    if (length == ROUND) {
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

/* To the end of the file, which must come after a whole report. */
static enum tremolo_status read_all(struct reader *reader)
{
    uint8_t bytes[TREMOLO_MAX_REPORT_BYTES];
    int length = 0;
    enum tremolo_status status = TREMOLO_OK;
    while (status == TREMOLO_OK && (length = read_report(bytes, reader->file)) != END &&
           length != CUT) {
        status = take_next(reader, bytes, length);
    }
    if (status == TREMOLO_OK && length == CUT) {
        return fail(reader, TREMOLO_MALFORMED, "cut short after report %zu", reader->number);
    }
    if (status == TREMOLO_OK && reader->moments == NULL) {
        return fail(reader, TREMOLO_MALFORMED, "there is no round in it");
    }
    return status == TREMOLO_OK ? close_round(reader) : status;
}

static void free_rounds(struct rounds *rounds)
{
    for (size_t t = 0; rounds->evidence != NULL && t < rounds->count; t++) {
        tremolo_evidence_free(&rounds->evidence[t]);
    }
    free(rounds->evidence);
    *rounds = (struct rounds){.count = 0};
}

/* Read all rounds after open_file(). On failure *rounds is empty and `error` is one sentence. */
static enum tremolo_status read_rounds(struct rounds *rounds,
                                       const struct tremolo_report_header *header, FILE *file,
                                       char error[TREMOLO_REPORT_FILE_ERROR_BYTES])
{
    const struct tremolo_study *study = &header->study;
    size_t vectors = (size_t)study->vectors * study->dimension + 1;
    struct reader reader = {.header = header, .file = file};
    reader.error = error;
    tremolo_honest_law(&reader.law, study);
    reader.release = tremolo_release_of(study, header->feature_bound, header->response_bound);
    reader.made.evidence = calloc(study->rounds, sizeof *reader.made.evidence);
    reader.vectors = calloc(vectors, sizeof *reader.vectors);
    reader.release.V = reader.V = calloc(vectors, sizeof *reader.V);
    reader.rows = malloc(FOLD_BATCH * tremolo_row_values(study) * sizeof *reader.rows);
    reader.buckets = malloc(FOLD_BATCH);
    bool ready = reader.made.evidence != NULL && reader.vectors != NULL && reader.V != NULL &&
                 reader.rows != NULL && reader.buckets != NULL;
    enum tremolo_status status = ready ? read_all(&reader) : say(&reader, TREMOLO_NO_MEMORY);
    if (status != TREMOLO_OK) {
        free_rounds(&reader.made);
    }
    *rounds = reader.made;
    tremolo_moments_free(reader.moments);
    free(reader.vectors);
    free(reader.V);
    free(reader.rows);
    free(reader.buckets);
    free(reader.bucket_of);
    free(reader.seen);
    return status;
}

/* ---------------------------------------------------------------- fitting
 *
 * A file gives what a server with the same reports gives, to the last digit, as far as it knows
 * as much: it has no study file, so it knows neither the units of features nor how many devices
 * the study's widest interval needs, and its guarantee is computed from the integers and scales
 * in its second line. */

/* A file's estimate and what it cost. Strings and ranges point into the header and into this
 * struct: it must not be moved. */
struct fit {
    struct tremolo_estimate estimate;
    struct tremolo_promise promise;
    double epsilon; /* at the promise's delta */
    const char *names[TREMOLO_MAX_DIMENSION];
    struct tremolo_extent extents[TREMOLO_MAX_DIMENSION + 1]; /* of the promise */
    char title[TREMOLO_NAME_BYTES + 32];
    char study[TREMOLO_STUDY_ID_TEXT_BYTES];
};

/* The distance that was asked for, if the integers are those of it. */
static double distance_of(const struct tremolo_report_header *header)
{
    const struct tremolo_study *study = &header->study;
    double fine = study->unit / header->feature_bound;
    if (study->distance == 0) {
        return tremolo_study_sensitivity(study) / fine;
    }
    /* The integers were rounded so that they cover it: what is said to be further is not. */
    double beyond = study->distance - header->distance * fine;
    return beyond >= -1e-9 && beyond <= 1 + 1e-9 ? header->distance : study->distance / fine;
}

/* What the devices charge, for all samples that the study pays for. */
static enum tremolo_status ballot_promise(struct fit *fit, const struct tremolo_study *study)
{
    fit->epsilon =
        (double)study->samples * tremolo_study_charge(study) / (double)TREMOLO_CHARGE_ONE;
    fit->promise = (struct tremolo_promise){
        .law = {study->rank_first, study->rank_top},
        .neighbours = TREMOLO_NEIGHBOURS_ANY,
        .mu = NAN,
        .releases = study->samples,
        .samples = study->samples,
        .response_private = study->response == TREMOLO_RESPONSE_PRIVATE,
    };
    return TREMOLO_OK;
}

/* What a device's releases in all rounds of the file cost together, for the guarantee. */
static enum tremolo_status promise_of(struct fit *fit, const struct tremolo_report_header *header,
                                      size_t rounds)
{
    const struct tremolo_study *study = &header->study;
    if (study->release == TREMOLO_RELEASE_BALLOT) {
        return ballot_promise(fit, study);
    }
    struct tremolo_gaussian cost = {0};
    struct tremolo_certified epsilon;
    uint64_t releases = (uint64_t)rounds * study->samples;
    enum tremolo_status status = tremolo_gaussian_add(&cost, tremolo_study_sensitivity(study),
                                                      ldexp(1, study->noise_log2), releases);
    if (status == TREMOLO_OK) {
        status = tremolo_gaussian_epsilon(&epsilon, &cost, header->delta);
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    fit->epsilon = epsilon.upper;
    const struct tremolo_units units = {header->centre, header->scale, header->response_centre,
                                        header->response_scale};
    bool response_private = study->response == TREMOLO_RESPONSE_PRIVATE;
    size_t extents =
        tremolo_estimate_extents(fit->extents, &fit->estimate, &units, response_private);
    fit->promise = (struct tremolo_promise){
        .neighbours = study->distance == 0 ? TREMOLO_NEIGHBOURS_ANY : TREMOLO_NEIGHBOURS_DISTANCE,
        .distance = distance_of(header),
        .diameter = extents > 0 ? tremolo_extents_diameter(fit->extents, extents) : 0,
        .dimension = study->dimension,
        .standardised = header->standardised,
        .extents = fit->extents,
        .extent_count = extents,
        .mu = tremolo_gaussian_mu(&cost).upper,
        .releases = releases,
        .samples = study->samples,
        .delta = header->delta,
        .response_private = response_private,
        .modulated = study->vectors > 0,
    };
    return TREMOLO_OK;
}

/* What the estimate is about and what came. */
static void begin(struct fit *fit, const struct tremolo_report_header *header,
                  const struct rounds *rounds, const struct tremolo_report_fit_options *options)
{
    struct tremolo_estimate *estimate = &fit->estimate;
    const struct tremolo_study *study = &header->study;
    size_t d = study->dimension;
    bool ballot = study->release == TREMOLO_RELEASE_BALLOT;
    for (size_t i = 0; i < d; i++) {
        fit->names[i] = header->name[i];
    }
    (void)snprintf(fit->title, sizeof fit->title, "What explains %s", header->response);
    tremolo_study_id_text(fit->study, study->id);
    tremolo_estimate_begin(estimate);
    estimate->title = fit->title;
    estimate->study =
        memcmp(study->id, TREMOLO_SIMULATED_STUDY, TREMOLO_STUDY_ID_BYTES) != 0 ? fit->study : NULL;
    estimate->release = ballot ? "ballot" : "sample";
    estimate->features = d;
    estimate->names = fit->names;
    estimate->inputs = header->inputs;
    estimate->ranges = header->range;
    estimate->response = header->response;
    estimate->unit = header->unit;
    estimate->response_range = header->range[d];
    estimate->rounds = (int64_t)rounds->count;
    estimate->devices = (int64_t)rounds->devices;
    estimate->reports = estimate->devices * estimate->rounds;
    estimate->repeated = (int64_t)rounds->repeated;
    estimate->evidence_round = rounds->count > 1 ? TREMOLO_UNKNOWN : 0;
    estimate->evidence_reports = rounds->devices;
    estimate->method = predictor_names[options->predictor];
    estimate->noise_sd = ballot ? NAN : ldexp(1, study->noise_log2) / study->unit;
}

/* One answer of the paper's iteration: the file says what was released with. */
static enum tremolo_status replay_round(void *context, size_t round, const double *beta,
                                        const double *V, size_t vectors,
                                        struct tremolo_debiased **evidence)
{
    struct rounds *rounds = context;
    (void)beta, (void)V, (void)vectors;
    *evidence = rounds->evidence[round].samples;
    rounds->evidence[round].samples = NULL;
    return TREMOLO_OK;
}

/* Repeat the iteration that the file's rounds were released by. It frees the samples of each
 * round. */
static enum tremolo_status iterate(double *beta, struct rounds *rounds,
                                   const struct tremolo_report_header *header)
{
    const struct tremolo_iterate_options options = {.rounds = rounds->count,
                                                    .vectors = header->study.vectors,
                                                    .step = header->step,
                                                    .radius = header->radius};
    return tremolo_iterate(beta, NULL, header->study.dimension, &options, replay_round, rounds);
}

/* What the paper's theorems are asked about: this many rounds of this many devices. */
static struct tremolo_convergence_input theorems_of(const struct tremolo_report_header *header,
                                                    const struct rounds *rounds)
{
    const struct tremolo_study *study = &header->study;
    const struct tremolo_sample_release release =
        tremolo_release_of(study, header->feature_bound, header->response_bound);
    return (struct tremolo_convergence_input){
        .mechanism = tremolo_release_mechanism(&release, (double)rounds->devices),
        .rounds = (double)rounds->count,
        .B = header->radius,
        .R = study->clip * header->feature_bound / study->unit,
        .M = release.response_private ? header->feature_bound : header->response_bound,
    };
}

/* All rounds together, or the only one. `pool` is to be freed. */
static enum tremolo_status pool_rounds(struct tremolo_debiased **pool, const struct rounds *rounds)
{
    const struct tremolo_debiased **each = calloc(rounds->count, sizeof(struct tremolo_debiased *));
    if (each == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    for (size_t t = 0; t < rounds->count; t++) {
        each[t] = rounds->evidence[t].samples;
    }
    enum tremolo_status status = tremolo_debias_pool(pool, each, rounds->count);
    free(each);
    return status;
}

/* Ballots are in half ranges, of so many scaled units each. */
static enum tremolo_status make_of_ballots(struct fit *fit,
                                           const struct tremolo_report_header *header,
                                           const struct rounds *rounds,
                                           const struct tremolo_report_fit_options *options)
{
    double half[TREMOLO_MAX_FEATURES];
    for (size_t i = 0; i < header->study.dimension; i++) {
        half[i] = header->scale[i] * header->feature_bound;
    }
    const struct tremolo_units units = {header->centre, half, header->response_centre,
                                        header->response_scale * header->response_bound};
    const struct tremolo_estimate_method method = {.fit.method =
                                                       (enum tremolo_method)options->predictor};
    return tremolo_estimate_make(&fit->estimate, rounds->evidence, &units, options->level, &method);
}

/* Iterating comes after pooling, because it frees what is pooled. */
static enum tremolo_status make_of_samples(struct fit *fit,
                                           const struct tremolo_report_header *header,
                                           struct rounds *rounds,
                                           const struct tremolo_report_fit_options *options)
{
    const struct tremolo_units units = {header->centre, header->scale, header->response_centre,
                                        header->response_scale};
    const struct tremolo_convergence_input theorems = theorems_of(header, rounds);
    const struct tremolo_fit unsolved = {.condition = NAN};
    struct tremolo_evidence evidence = rounds->evidence[rounds->count - 1]; /* and its tails */
    struct tremolo_estimate_method method = {.fit = TREMOLO_FIT_DEFAULTS, .rounds = &theorems};
    double beta[TREMOLO_MAX_FEATURES];
    struct tremolo_debiased *pool = NULL;
    enum tremolo_status status = rounds->count > 1 ? pool_rounds(&pool, rounds) : TREMOLO_OK;
    method.fit.ridge = options->ridge;
    if (options->predictor <= TREMOLO_PREDICTOR_UNBIASED) {
        method.fit.method = (enum tremolo_method)options->predictor;
    }
    if (status == TREMOLO_OK && options->predictor == TREMOLO_PREDICTOR_ITERATIVE) {
        status = iterate(beta, rounds, header);
        method.beta = beta;
        method.made = &unsolved;
    }
    if (status == TREMOLO_OK) {
        evidence.samples = pool != NULL ? pool : evidence.samples;
        status = tremolo_estimate_make(&fit->estimate, &evidence, &units, options->level, &method);
    }
    tremolo_debias_free(pool);
    return status;
}

/* Not every method reads every file. */
static bool check_method(const struct tremolo_report_header *header, const struct rounds *rounds,
                         enum tremolo_predictor predictor,
                         char error[TREMOLO_REPORT_FILE_ERROR_BYTES])
{
    const char *name = predictor_names[predictor];
    if (rounds->count < 2 && predictor >= TREMOLO_PREDICTOR_POOLED) {
        (void)snprintf(error, TREMOLO_REPORT_FILE_ERROR_BYTES,
                       "one round only, and the method %s needs several", name);
        return false;
    }
    if (header->study.release == TREMOLO_RELEASE_BALLOT &&
        predictor == TREMOLO_PREDICTOR_ONE_SHOT) {
        (void)snprintf(error, TREMOLO_REPORT_FILE_ERROR_BYTES,
                       "a file of ballots, from which auto or unbiased predicts");
        return false;
    }
    return true;
}

/* The estimate, what it cost, and the document of both. The estimate borrows from the header and
 * the rounds, so the document is made before either is freed. */
static enum tremolo_status fit_rounds(json_t **document, const struct tremolo_report_header *header,
                                      struct rounds *rounds,
                                      const struct tremolo_report_fit_options *options)
{
    struct fit fit;
    begin(&fit, header, rounds, options);
    enum tremolo_status status = header->study.release == TREMOLO_RELEASE_BALLOT
                                     ? make_of_ballots(&fit, header, rounds, options)
                                     : make_of_samples(&fit, header, rounds, options);
    if (status == TREMOLO_OK) {
        status = promise_of(&fit, header, rounds->count);
    }
    if (status == TREMOLO_OK) {
        *document =
            estimate_document(&fit.estimate, guarantee_promise_json(&fit.promise, fit.epsilon));
        status = *document != NULL ? TREMOLO_OK : TREMOLO_NO_MEMORY;
    }
    tremolo_estimate_free(&fit.estimate);
    return status;
}

/* Reading decides first: a file that is not sound is MALFORMED whatever method is asked for. */
enum tremolo_status tremolo_report_file_fit(json_t **document, FILE *file,
                                            const struct tremolo_report_fit_options *options,
                                            char error[TREMOLO_REPORT_FILE_ERROR_BYTES])
{
    struct tremolo_report_header header;
    struct rounds rounds;
    if (!open_file(&header, file, error)) {
        return TREMOLO_MALFORMED;
    }
    enum tremolo_status status = read_rounds(&rounds, &header, file, error);
    if (status == TREMOLO_OK && !check_method(&header, &rounds, options->predictor, error)) {
        status = TREMOLO_BAD_ARGUMENT;
    } else if (status == TREMOLO_OK) {
        status = fit_rounds(document, &header, &rounds, options);
        (void)snprintf(error, TREMOLO_REPORT_FILE_ERROR_BYTES, "%s",
                       tremolo_status_sentence(status));
    }
    free_rounds(&rounds);
    free_header(&header);
    return status;
}

enum tremolo_status tremolo_report_fit_json(char **json, const char *path,
                                            const struct tremolo_report_fit_options *options,
                                            char error[TREMOLO_REPORT_FILE_ERROR_BYTES])
{
    json_t *document = NULL;
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        (void)snprintf(error, TREMOLO_REPORT_FILE_ERROR_BYTES, "%s", strerror(errno));
        return TREMOLO_BAD_ARGUMENT;
    }
    enum tremolo_status status = tremolo_report_file_fit(&document, file, options, error);
    (void)fclose(file);
    return status == TREMOLO_OK ? json_latch_text(json, document, JSON_LATCH_EXACT) : status;
}
