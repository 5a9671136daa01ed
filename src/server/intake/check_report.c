/* check_report.c -- decoding, authentication and plausibility of one report.
 *
 * Plausibility: an honest device releases keep x + W + noise, rounded. Its
 * norm is at most that of the clipped sample, of the modulation
 * (amplitude sqrt m), of the rounding (half a step each) and of the noise;
 * the noise's squared norm is sigma^2 chi^2 with n degrees of freedom, and
 *     P(chi^2_n > n + 2 sqrt(n t) + 2 t) <= exp(-t)     (Laurent and Massart)
 * with t = ln 1e9. A liar can therefore pull the moments no further than an
 * unlucky honest device could. */
#include "check_report.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "index.h"
#include "tremolo_moments.h"

unsigned outcome_http(enum server_outcome outcome)
{
    static const uint16_t statuses[] = {
#define SERVER_OUTCOME_STATUS(name, status, reason) status,
        SERVER_OUTCOME_LIST(SERVER_OUTCOME_STATUS)
#undef SERVER_OUTCOME_STATUS
    };
    return statuses[outcome];
}

const char *outcome_reason(enum server_outcome outcome)
{
    static const char *const reasons[] = {
#define SERVER_OUTCOME_REASON(name, status, reason) reason,
        SERVER_OUTCOME_LIST(SERVER_OUTCOME_REASON)
#undef SERVER_OUTCOME_REASON
    };
    return reasons[outcome];
}

void outcome_label(char label[OUTCOME_LABEL_BYTES], enum server_outcome outcome)
{
    static const char *const names[] = {
#define SERVER_OUTCOME_NAME(name, status, reason) #name,
        SERVER_OUTCOME_LIST(SERVER_OUTCOME_NAME)
#undef SERVER_OUTCOME_NAME
    };
    size_t length = strlen(names[outcome]);
    for (size_t i = 0; i <= length; i++) {
        label[i] = (char)tolower((unsigned char)names[outcome][i]);
    }
}

double check_norm2_max(const struct tremolo_study *study)
{
    const double t = 9.0 * log(10.0);
    double n = tremolo_study_coordinates(study);
    double step = ldexp(1.0, study->wire_shift);
    double keep = (double)study->keep / TREMOLO_KEEP_ONE;
    double sample = keep * study->clip / step;
    /* Vectors are orthonormal within 2^-10 only; 1 % covers it. */
    double modulation = 1.01 * study->amplitude * sqrt((double)study->vectors) / step;
    double rounding = sqrt(n);
    double noise = ldexp(1.0, study->noise_log2) / step * sqrt(n + 2.0 * sqrt(n * t) + 2.0 * t);
    double norm = sample + modulation + rounding + noise;
    return norm * norm;
}

struct check_study check_study_of(const struct tremolo_study_file *file, const uint8_t *secret)
{
    const struct tremolo_study *study = tremolo_study_file_device(file);
    bool keys = tremolo_study_file_terms(file)->enrolment == TREMOLO_STUDY_KEYS;
    return (struct check_study){
        .study = study,
        .secret = keys ? secret : NULL,
        .norm2_max = check_norm2_max(study),
        .row_values = (size_t)study->dimension + 1,
    };
}

/* Bits come most significant first; `held` keeps the newest of them below. */
static enum tremolo_status unpack_values(int16_t *values, const uint8_t *packed, unsigned count,
                                         unsigned width)
{
    uint32_t held = 0;
    unsigned bits = 0;
    uint32_t sign = UINT32_C(1) << (width - 1);
    for (unsigned i = 0; i < count; i++) {
        while (bits < width) {
            held = held << 8 | *packed++;
            bits += 8;
        }
        bits -= width;
        uint32_t code = held >> bits & (2 * sign - 1);
        if (code == sign) {
            return TREMOLO_OUT_OF_BOUNDS;
        }
        values[i] = (int16_t)((int32_t)(code ^ sign) - (int32_t)sign);
    }
    return (held & ((UINT32_C(1) << bits) - 1)) == 0 ? TREMOLO_OK : TREMOLO_MALFORMED;
}

enum tremolo_status check_unpack(int16_t *values, const struct tremolo_report *report,
                                 const struct tremolo_study *study)
{
    unsigned count = tremolo_study_coordinates(study);
    bool public_response = study->response == TREMOLO_RESPONSE_PUBLIC;
    if (report->has_response != public_response ||
        report->coordinate_bytes != (count * study->wire_bits + 7) / 8) {
        return TREMOLO_MALFORMED;
    }
    if (memcmp(report->study_tag, study->id, TREMOLO_STUDY_TAG_BYTES) != 0) {
        return TREMOLO_WRONG_STUDY;
    }
    return unpack_values(values, report->coordinates, count, study->wire_bits);
}

static enum server_outcome outcome_of(enum tremolo_status status)
{
    switch (status) {
    case TREMOLO_OK: return OUTCOME_PENDING;
    case TREMOLO_UNKNOWN_VERSION: return OUTCOME_UNKNOWN_VERSION;
    case TREMOLO_WRONG_STUDY: return OUTCOME_WRONG_STUDY;
    case TREMOLO_OUT_OF_BOUNDS: return OUTCOME_IMPOSSIBLE;
    default: return OUTCOME_MALFORMED;
    }
}

static enum server_outcome authenticate(const struct arrival *arrival,
                                        const struct tremolo_report *report,
                                        const struct check_study *check)
{
    uint8_t key[TREMOLO_MAC_KEY_BYTES];
    if (arrival->device_length == 0 || report->mac == NULL) {
        return OUTCOME_NOT_NAMED;
    }
    if (tremolo_device_key(key, check->secret, arrival->device, arrival->device_length) !=
            TREMOLO_OK ||
        tremolo_report_verify(report, arrival->bytes, check->study, key) != TREMOLO_OK) {
        return OUTCOME_WRONG_MAC;
    }
    return OUTCOME_PENDING;
}

static enum server_outcome weigh(const int16_t *values, const struct check_study *check)
{
    unsigned n = tremolo_study_coordinates(check->study);
    int64_t norm2 = 0;
    for (unsigned i = 0; i < n; i++) {
        norm2 += (int32_t)values[i] * values[i];
    }
    return (double)norm2 <= check->norm2_max ? OUTCOME_PENDING : OUTCOME_IMPOSSIBLE;
}

static enum server_outcome judge(struct arrival *arrival, int16_t *row,
                                 const struct check_study *check)
{
    struct tremolo_report report;
    enum tremolo_status status = tremolo_report_decode(&report, arrival->bytes, arrival->length);
    if (status == TREMOLO_OK) {
        status = check_unpack(row, &report, check->study);
    }
    if (status != TREMOLO_OK) {
        return outcome_of(status);
    }
    enum server_outcome outcome =
        check->secret != NULL ? authenticate(arrival, &report, check) : OUTCOME_PENDING;
    if (outcome == OUTCOME_PENDING) {
        outcome = weigh(row, check);
    }
    if (outcome == OUTCOME_PENDING && report.round >= check->study->rounds) {
        outcome = OUTCOME_WRONG_ROUND;
    }
    if (check->study->response == TREMOLO_RESPONSE_PUBLIC) {
        row[check->study->dimension] = report.response;
    }
    arrival->id = report.id;
    arrival->round = report.round;
    arrival->bucket = (uint8_t)tremolo_bucket_of(report.id);
    if (check->hash_key != NULL) {
        arrival->hash = index_hash(check->hash_key, report.id, TREMOLO_REPORT_ID_BYTES);
    }
    return outcome;
}

void check_report(struct arrival *arrival, int16_t *row, const struct check_study *check)
{
    arrival->outcome = (uint8_t)judge(arrival, row, check);
}

/* One definite byte string with a head of its shortest form, or NULL. */
static const uint8_t *take_string(size_t *size, const uint8_t **at, const uint8_t *end)
{
    const uint8_t *in = *at;
    if (in == end || (*in & 0xe0) != 0x40) {
        return NULL;
    }
    size_t length = *in++ & 0x1f;
    if (length > 25) {
        return NULL;
    }
    size_t more = length < 24 ? 0 : length - 23;
    if ((size_t)(end - in) < more) {
        return NULL;
    }
    if (more == 1) {
        length = in[0];
    } else if (more == 2) {
        length = (size_t)(in[0] << 8 | in[1]);
    }
    in += more;
    if ((more == 1 && length < 24) || (more == 2 && length < 256) || (size_t)(end - in) < length ||
        length == 0) {
        return NULL;
    }
    *at = in + length;
    *size = length;
    return in;
}

long check_split(struct arrival *arrivals, size_t capacity, const uint8_t *body, size_t length,
                 int named)
{
    const uint8_t *at = body;
    const uint8_t *end = length > 0 ? body + length : body; /* no body is NULL */
    size_t count = 0;
    while (at != end) {
        struct arrival arrival = {0};
        size_t size = 0;
        if (count == capacity) {
            return -1;
        }
        if (named) {
            arrival.device = take_string(&size, &at, end);
            if (arrival.device == NULL || size > TREMOLO_DEVICE_ID_MAX) {
                return -1;
            }
            arrival.device_length = (uint8_t)size;
        }
        arrival.bytes = take_string(&size, &at, end);
        if (arrival.bytes == NULL) {
            return -1;
        }
        arrival.length = (uint16_t)size;
        arrivals[count++] = arrival;
    }
    return (long)count;
}
