/* tremolo_wasm.c -- the device core behind functions that JavaScript can call.
 *
 * JavaScript sees no struct layouts: it writes a study's numbers into one
 * array in the order of enum number, the rest into buffers at
 * addresses that it asks for, and calls. tremolo.mjs does this; nothing else should. */
#include "tremolo_device.h"

#define EXPORT(name) __attribute__((export_name(#name))) name
#define IMPORT(name) __attribute__((import_module("tremolo"), import_name(#name)))

/* The platform, provided by JavaScript. */
IMPORT(entropy) int platform_entropy(uint8_t *bytes, size_t length);
IMPORT(read) int platform_read(unsigned slot, uint8_t *bytes, size_t length);
IMPORT(write) int platform_write(unsigned slot, const uint8_t *bytes, size_t length);
IMPORT(counter) int platform_counter(uint32_t *value);
IMPORT(advance) int platform_advance(uint32_t value);

/* The same order as in tremolo.mjs. */
enum number {
    UNIT,
    CLIP,
    DISTANCE,
    AMPLITUDE,
    FREQUENCY,
    DIMENSION,
    KEEP,
    VECTORS,
    ROUNDS,
    SAMPLES,
    NOISE_LOG2,
    WIRE_SHIFT,
    WIRE_BITS,
    RESPONSE,
    RELEASE,
    RANK_FIRST,
    RANK_TOP,
    CONSTANT,
    RESPONSE_WEIGHT,
    NUMBERS
};
enum buffer { BUFFER_NUMBERS, BUFFER_ID, BUFFER_BOUNDS, BUFFER_VECTORS, BUFFER_FEATURES };

/* What one call needs. A module instance serves one caller at a time, as
 * everything in JavaScript does. */
static struct tremolo_work work;
static struct tremolo_study study;
static struct tremolo_platform platform;
static struct tremolo_report decoded;
static uint32_t numbers[NUMBERS];
static struct tremolo_bounds bounds[TREMOLO_MAX_DIMENSION + 1]; /* the response's comes last */
static int16_t vectors[TREMOLO_MAX_VECTORS * TREMOLO_MAX_DIMENSION];
static int32_t features[TREMOLO_MAX_DIMENSION];
static int16_t coordinates[(TREMOLO_MAX_DIMENSION + 2) * (TREMOLO_MAX_DIMENSION + 3) / 2 + 1];
static int8_t row[sizeof coordinates / sizeof coordinates[0]];
static uint8_t report[TREMOLO_MAX_REPORT_BYTES];
static uint8_t mac_key[TREMOLO_MAC_KEY_BYTES];
static uint32_t answer;

static int entropy(void *context, uint8_t *bytes, size_t length)
{
    (void)context;
    return platform_entropy(bytes, length);
}

static int read(void *context, unsigned slot, uint8_t *bytes, size_t length)
{
    (void)context;
    return platform_read(slot, bytes, length);
}

static int write(void *context, unsigned slot, const uint8_t *bytes, size_t length)
{
    (void)context;
    return platform_write(slot, bytes, length);
}

static int counter(void *context, uint32_t *value)
{
    (void)context;
    return platform_counter(value);
}

static int advance(void *context, uint32_t value)
{
    (void)context;
    return platform_advance(value);
}

/* ------------------------------------------------------------- buffers */

void *EXPORT(buffer)(enum buffer which)
{
    switch (which) {
    case BUFFER_NUMBERS: return numbers;
    case BUFFER_ID: return study.id;
    case BUFFER_BOUNDS: return bounds;
    case BUFFER_VECTORS: return vectors;
    case BUFFER_FEATURES: return features;
    }
    return NULL;
}

uint8_t *EXPORT(report_bytes)(void)
{
    return report;
}

size_t EXPORT(report_capacity)(void)
{
    return sizeof report;
}

uint8_t *EXPORT(mac_key_bytes)(void)
{
    return mac_key;
}

int16_t *EXPORT(coordinate_values)(void)
{
    return coordinates;
}

/* The length, the budget left or the like of the last call that was OK. */
uint32_t EXPORT(last_answer)(void)
{
    return answer;
}

/* A C string, because JavaScript should not keep a second list of names. */
const char *EXPORT(status_name)(enum tremolo_status status)
{
    return tremolo_status_name(status);
}

unsigned EXPORT(max_dimension)(void)
{
    return TREMOLO_MAX_DIMENSION;
}

/* ------------------------------------------------------------- calls */

void EXPORT(set_platform)(unsigned studies, int has_counter, int has_mac)
{
    platform.entropy = entropy;
    platform.read = read;
    platform.write = write;
    platform.counter = has_counter ? counter : NULL;
    platform.advance = has_counter ? advance : NULL;
    platform.mac_key = has_mac ? mac_key : NULL;
    platform.studies = studies;
}

/* The numbers' ranges were checked against the types by JavaScript; the
 * study's own rules are checked here. */
enum tremolo_status EXPORT(set_study)(void)
{
    study.bounds = bounds;
    study.response_bounds.low = bounds[numbers[DIMENSION]].low;
    study.response_bounds.high = bounds[numbers[DIMENSION]].high;
    study.unit = numbers[UNIT];
    study.clip = numbers[CLIP];
    study.distance = numbers[DISTANCE];
    study.amplitude = numbers[AMPLITUDE];
    study.frequency = numbers[FREQUENCY];
    study.dimension = (uint16_t)numbers[DIMENSION];
    study.keep = (uint16_t)numbers[KEEP];
    study.vectors = (uint16_t)numbers[VECTORS];
    study.rounds = (uint16_t)numbers[ROUNDS];
    study.samples = (uint16_t)numbers[SAMPLES];
    study.noise_log2 = (uint8_t)numbers[NOISE_LOG2];
    study.wire_shift = (uint8_t)numbers[WIRE_SHIFT];
    study.wire_bits = (uint8_t)numbers[WIRE_BITS];
    study.response = (uint8_t)numbers[RESPONSE];
    study.release = (uint8_t)numbers[RELEASE];
    study.rank_first = (uint8_t)numbers[RANK_FIRST];
    study.rank_top = numbers[RANK_TOP];
    study.constant = (uint16_t)numbers[CONSTANT];
    study.response_weight = (uint16_t)numbers[RESPONSE_WEIGHT];
    return tremolo_study_check(&study);
}

uint32_t EXPORT(study_sensitivity)(void)
{
    return study.release == TREMOLO_RELEASE_SAMPLE ? tremolo_study_sensitivity(&study) : 0;
}

uint32_t EXPORT(study_charge)(void)
{
    return tremolo_study_charge(&study);
}

enum tremolo_status EXPORT(enrol)(uint32_t budget, uint32_t epsilon)
{
    return tremolo_device_enrol(&work, &platform, budget, epsilon);
}

enum tremolo_status EXPORT(budget)(void)
{
    return tremolo_device_budget(&work, &answer, &platform);
}

enum tremolo_status EXPORT(epsilon)(void)
{
    return tremolo_device_epsilon(&work, &answer, &platform);
}

enum tremolo_status EXPORT(make_report)(unsigned round_number, unsigned sample_number,
                                        int32_t response)
{
    struct tremolo_round round;
    struct tremolo_sample sample;
    size_t length = sizeof report;
    enum tremolo_status status;
    round.vectors = study.vectors == 0 ? NULL : vectors;
    round.number = (uint16_t)round_number;
    sample.features = features;
    sample.response = response;
    sample.number = (uint16_t)sample_number;
    status = tremolo_device_report(&work, report, &length, &study, &round, &sample, &platform);
    answer = (uint32_t)length;
    return status;
}

static enum tremolo_status expand(void)
{
    enum tremolo_status status = tremolo_ballot_expand(row, sizeof row, &decoded, &study);
    answer = status == TREMOLO_OK ? tremolo_ballot_entries(&study) : 0;
    for (unsigned i = 0; i < answer; i++) {
        coordinates[i] = row[i]; /* numbers, no characters: NOLINT(bugprone-signed-char-misuse) */
    }
    return status;
}

static enum tremolo_status unpack(void)
{
    enum tremolo_status status =
        tremolo_report_unpack(coordinates, TREMOLO_MAX_COORDINATES, &decoded, &study);
    answer = status == TREMOLO_OK ? tremolo_study_coordinates(&study) : 0;
    return status;
}

/* Decode the first `length` bytes of the report buffer for the study. */
enum tremolo_status EXPORT(decode)(size_t length)
{
    enum tremolo_status status = tremolo_report_decode(&decoded, report, length);
    answer = 0;
    if (status != TREMOLO_OK) {
        return status;
    }
    return study.release == TREMOLO_RELEASE_BALLOT ? expand() : unpack();
}

enum tremolo_status EXPORT(verify)(void)
{
    return tremolo_report_verify(&decoded, report, &study, mac_key);
}

unsigned EXPORT(decoded_round)(void)
{
    return decoded.round;
}

/* The response in 1/32767 of half its range, or a number no response is. */
int32_t EXPORT(decoded_response)(void)
{
    return decoded.has_response ? decoded.response : INT32_MAX;
}
