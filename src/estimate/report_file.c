/* report_file.c -- write and read the header of a file of reports. */
#include "tremolo_report_file.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "estimate_json.h"
#include "inputs.h"
#include "study_internal.h"
#include "tremolo_release.h"
#include "tremolo_study_file.h"

static const char first_line[] = "tremolo reports 2\n";

/* A study's integers in the order of the line, and what a ballot has beside. */
static const struct study_integer all_integers[] = {
    STUDY_INTEGER(dimension),
    STUDY_INTEGER(unit),
    STUDY_INTEGER(clip),
    STUDY_INTEGER(distance),
    STUDY_INTEGER(amplitude),
    STUDY_INTEGER(frequency),
    STUDY_INTEGER(keep),
    STUDY_INTEGER(vectors),
    STUDY_INTEGER(noise_log2),
    STUDY_INTEGER(wire_shift),
    STUDY_INTEGER(wire_bits),
    {"response_private", offsetof(struct tremolo_study, response), 1},
    {"rounds", offsetof(struct tremolo_study, rounds), TREMOLO_REPORT_FILE_ROUNDS_MAX},
    {NULL, 0, 0}};
static const struct study_integer ballot_integers[] = {STUDY_INTEGER(rank_first),
                                                       STUDY_INTEGER(rank_top),
                                                       STUDY_INTEGER(constant),
                                                       STUDY_INTEGER(response_weight),
                                                       {NULL, 0, 0}};

/* That a device may give in each round, of which the file has the first; absent: one. */
static const struct study_integer more_samples[] = {
    {"samples", offsetof(struct tremolo_study, samples), TREMOLO_STUDY_MAX_SAMPLES}, {NULL, 0, 0}};

/* ----------------------------------------------------------------- writing */

static json_t *names_json(const struct tremolo_report_header *header)
{
    json_t *array = json_array();
    for (size_t i = 0; i < header->study.dimension; i++) {
        (void)json_array_append_new(array, json_string(header->name[i]));
    }
    return array;
}

static json_t *study_json(const struct tremolo_study *study)
{
    char id[2 * TREMOLO_STUDY_ID_BYTES + 1];
    for (size_t i = 0; i < TREMOLO_STUDY_ID_BYTES; i++) {
        (void)snprintf(id + 2 * i, 3, "%02x", study->id[i]);
    }
    json_t *made = study_integers_json(json_pack("{s:s}", "id", id), study, all_integers);
    if (study->samples > 1) {
        made = study_integers_json(made, study, more_samples);
    }
    if (study->release == TREMOLO_RELEASE_BALLOT) {
        json_t *ballot = json_pack("{s:s}", "release", "ballot");
        /* Without it a file of ballots would be read as noisy samples. */
        if (json_object_update_new(made, study_integers_json(ballot, study, ballot_integers)) !=
            0) {
            json_decref(made);
            return NULL;
        }
    }
    return made;
}

bool tremolo_report_file_begin(FILE *file, const struct tremolo_report_header *header)
{
    size_t d = header->study.dimension;
    json_t *root = json_pack(
        "{s:o,s:f,s:f,s:f,s:f,s:f,s:f,s:o,s:o,s:f,s:f,s:o,s:s,s:s}", "study",
        study_json(&header->study), "step", header->step, "radius", header->radius, "feature_bound",
        header->feature_bound, "response_bound", header->response_bound, "distance",
        header->distance, "delta", header->delta, "centre", json_latch_numbers(header->centre, d),
        "scale", json_latch_numbers(header->scale, d), "response_centre", header->response_centre,
        "response_scale", header->response_scale, "names", names_json(header), "response",
        header->response, "unit", header->unit);
    if (header->range != NULL) {
        json_latch_set(&root, "range", json_latch_numbers(header->range, d + 1));
    }
    if (header->inputs != NULL) {
        json_latch_set(&root, "inputs", inputs_json(header->inputs));
    }
    if (header->standardised) {
        json_latch_set(&root, "standardised", json_true());
    }
    bool good = root != NULL && fputs(first_line, file) != EOF &&
                json_dumpf(root, file, JSON_COMPACT | JSON_REAL_PRECISION(17)) == 0 &&
                fputc('\n', file) != EOF;
    json_decref(root);
    return good;
}

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

/* ----------------------------------------------------------------- reading */

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

/* Each in the range of its field; tremolo_study_check() judges their sense afterwards. */
static bool take_integers(struct tremolo_study *study, const json_t *object,
                          const struct study_integer *list)
{
    for (; list->name != NULL; list++) {
        const json_t *entry = json_object_get(object, list->name);
        json_int_t value = json_integer_value(entry);
        if (!json_is_integer(entry) || value < 0 || value > list->max) {
            return false;
        }
        study_integer_set(study, list, (uint64_t)value);
    }
    return true;
}

/* A file that names no release has noisy samples, and one that counts none has one of a device. */
static bool take_study(struct tremolo_study *study, const json_t *object)
{
    const char *id = json_string_value(json_object_get(object, "id"));
    const json_t *release = json_object_get(object, "release");
    if (!take_integers(study, object, all_integers)) {
        return false;
    }
    if (release != NULL) {
        study->release = TREMOLO_RELEASE_BALLOT;
        if (!json_is_string(release) || strcmp(json_string_value(release), "ballot") != 0 ||
            !take_integers(study, object, ballot_integers) || study->rounds != 1) {
            return false;
        }
    }
    const json_t *samples = json_object_get(object, "samples");
    study->samples = 1;
    if (samples != NULL && !take_integers(study, object, more_samples)) {
        return false;
    }
    return id != NULL && strlen(id) == (size_t)2 * TREMOLO_STUDY_ID_BYTES && take_id(study, id);
}

static bool take_real(double *value, const json_t *root, const char *name)
{
    const json_t *entry = json_object_get(root, name);
    *value = json_number_value(entry);
    return json_is_number(entry) && isfinite(*value);
}

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

static bool take_name(char name[TREMOLO_NAME_BYTES], const json_t *from)
{
    const char *text = json_string_value(from);
    (void)snprintf(name, TREMOLO_NAME_BYTES, "%.120s", text != NULL ? text : "");
    (void)tremolo_text_clean(name);
    return text != NULL;
}

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

static bool take_inputs(struct tremolo_report_header *header, const json_t *inputs)
{
    char error[TREMOLO_TERMS_ERROR_BYTES];
    return inputs == NULL || (inputs_from_json(&header->inputs, inputs, error) &&
                              header->inputs->features == header->study.dimension);
}

/* What older files do not have. Where it is, it must be sound. NULL, or what is not. */
static const char *take_later_members(struct tremolo_report_header *header, const json_t *root)
{
    const json_t *unit = json_object_get(root, "unit");
    const json_t *range = json_object_get(root, "range");
    size_t count = (size_t)header->study.dimension + 1;
    if (unit != NULL && !take_name(header->unit, unit)) {
        return "the study's line: unit must be text";
    }
    const json_t *standardised = json_object_get(root, "standardised");
    if (standardised != NULL && !json_is_boolean(standardised)) {
        return "the study's line: standardised must be true or false";
    }
    header->standardised = json_is_true(standardised);
    header->range = take_reals(range, count, true);
    if (range != NULL && header->range == NULL) {
        return "the study's line: range must be a number above 0 for each feature and the "
               "response";
    }
    return take_inputs(header, json_object_get(root, "inputs"))
               ? NULL
               : "the study's line: inputs must be sound and make as many features as there are";
}

/* Ballots have no delta. */
static bool scales_sound(const struct tremolo_report_header *header)
{
    bool ballot = header->study.release == TREMOLO_RELEASE_BALLOT;
    bool good = ballot ? header->delta == 0 : header->delta > 0 && header->delta < 1;
    return good && header->feature_bound > 0 && header->response_bound > 0 &&
           header->distance >= 0 && header->response_scale > 0 && header->centre != NULL &&
           header->scale != NULL && header->step >= 0 && header->radius >= 0;
}

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
    return take_real(&header->step, root, "step") && take_real(&header->radius, root, "radius") &&
           take_real(&header->feature_bound, root, "feature_bound") &&
           take_real(&header->response_bound, root, "response_bound") &&
           take_real(&header->distance, root, "distance") &&
           take_real(&header->delta, root, "delta") &&
           take_real(&header->response_centre, root, "response_centre") &&
           take_real(&header->response_scale, root, "response_scale") && take_names(header, root) &&
           tremolo_study_check(&header->study) == TREMOLO_OK && scales_sound(header);
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

bool tremolo_report_file_open(struct tremolo_report_header *header, FILE *file,
                              char error[TREMOLO_REPORT_FILE_ERROR_BYTES])
{
    char magic[sizeof first_line];
    char *line = malloc(TREMOLO_REPORT_FILE_HEADER_MAX);
    const char *reason = NULL;
    memset(header, 0, sizeof *header);
    if (line == NULL) {
        reason = "out of memory";
    } else if (!read_line(magic, sizeof magic, file) ||
               strncmp(magic, first_line, sizeof first_line - 2) != 0) {
        reason = "this is no file of reports";
    } else if (!read_line(line, TREMOLO_REPORT_FILE_HEADER_MAX, file)) {
        reason = "the study's line is missing or too long";
    } else {
        json_t *root = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
        reason = root == NULL                 ? "the study's line is not JSON"
                 : !take_header(header, root) ? "the study's numbers are not sound"
                                              : take_later_members(header, root);
        json_decref(root);
    }
    free(line);
    if (reason != NULL) {
        tremolo_report_header_free(header);
        (void)snprintf(error, TREMOLO_REPORT_FILE_ERROR_BYTES, "%s", reason);
    }
    return reason == NULL;
}

void tremolo_report_header_free(struct tremolo_report_header *header)
{
    free(header->centre);
    free(header->scale);
    free(header->range);
    free(header->name);
    tremolo_inputs_free(header->inputs);
    memset(header, 0, sizeof *header);
}

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

bool tremolo_report_file_open_round(int16_t *vectors, FILE *file, const struct tremolo_study *study,
                                    unsigned round)
{
    char *line = malloc(TREMOLO_REPORT_FILE_HEADER_MAX);
    json_t *root = line != NULL && read_line(line, TREMOLO_REPORT_FILE_HEADER_MAX, file)
                       ? json_loads(line, JSON_REJECT_DUPLICATES, NULL)
                       : NULL;
    bool good = root != NULL && take_round(vectors, root, study, round);
    json_decref(root);
    free(line);
    return good;
}

int tremolo_report_file_next(uint8_t bytes[TREMOLO_MAX_REPORT_BYTES], FILE *file)
{
    int low = getc(file);
    if (low == EOF) {
        return ferror(file) != 0 ? TREMOLO_REPORT_FILE_CUT : TREMOLO_REPORT_FILE_END;
    }
    int high = getc(file);
    int length = low + 256 * high;
    if (high == EOF || length > (int)TREMOLO_MAX_REPORT_BYTES ||
        fread(bytes, 1, (size_t)length, file) != (size_t)length) {
        return TREMOLO_REPORT_FILE_CUT;
    }
    return length == 0 ? TREMOLO_REPORT_FILE_ROUND : length;
}

/* ---------------------------------------------------------------- */
/* read a file of reports. */

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
