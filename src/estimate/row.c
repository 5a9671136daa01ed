/* row.c -- a decoded report as integers, and whether an honest device sent them.
 *
 * Plausibility: an honest device releases keep x + W + noise, rounded. Its
 * norm is at most that of the clipped sample, of the modulation
 * (amplitude sqrt m), of the rounding (half a step each) and of the noise;
 * the noise's squared norm is sigma^2 chi^2 with n degrees of freedom, and
 *     P(chi^2_n > n + 2 sqrt(n t) + 2 t) <= exp(-t)     (Laurent and Massart)
 * with t = ln 1e9. A liar can therefore pull the moments no further than an
 * unlucky honest device could.
 *
 * A ballot's row keeps its id and its answer, and becomes the entries it stands for only when
 * it is added: hundreds of them would wait otherwise. Every answer is plausible. */
#include "tremolo_release.h"

#include <math.h>
#include <string.h>

#include "expand.h"

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

size_t tremolo_row_values(const struct tremolo_study *study)
{
    return study->release == TREMOLO_RELEASE_BALLOT ? EXPAND_ROW_VALUES : study->dimension + 1u;
}

enum tremolo_status tremolo_row_unpack(int16_t *row, const struct tremolo_report *report,
                                       const struct tremolo_study *study)
{
    unsigned count = tremolo_study_coordinates(study);
    bool ballot = study->release == TREMOLO_RELEASE_BALLOT;
    size_t released_bytes = ballot ? 1 : ((size_t)count * study->wire_bits + 7) / 8;
    bool public_response = study->response == TREMOLO_RESPONSE_PUBLIC;
    if (report->has_response != public_response || report->coordinate_bytes != released_bytes) {
        return TREMOLO_MALFORMED;
    }
    if (memcmp(report->study_tag, study->id, TREMOLO_STUDY_TAG_BYTES) != 0) {
        return TREMOLO_WRONG_STUDY;
    }
    if (ballot) {
        memcpy(row, report->id, TREMOLO_REPORT_ID_BYTES);
        row[EXPAND_ANSWER] = report->coordinates[0];
        row[EXPAND_RESPONSE] = report->response;
        return TREMOLO_OK;
    }
    if (public_response) {
        row[count] = report->response;
    }
    return unpack_values(row, report->coordinates, count, study->wire_bits);
}

double tremolo_row_norm2(const int16_t *row, const struct tremolo_study *study)
{
    unsigned n = study->release == TREMOLO_RELEASE_BALLOT ? 0 : tremolo_study_coordinates(study);
    int64_t norm2 = 0;
    for (unsigned i = 0; i < n; i++) {
        norm2 += (int32_t)row[i] * row[i];
    }
    return (double)norm2;
}

double tremolo_row_reach(const struct tremolo_study *study)
{
    double n = tremolo_study_coordinates(study);
    double step = ldexp(1.0, study->wire_shift);
    double keep = (double)study->keep / TREMOLO_KEEP_ONE;
    double sample = keep * study->clip / step;
    /* Vectors are orthonormal within 2^-10 only; 1 % covers it. */
    double modulation = 1.01 * study->amplitude * sqrt((double)study->vectors) / step;
    double rounding = sqrt(n);
    return sample + modulation + rounding;
}

double tremolo_row_norm2_max(const struct tremolo_study *study)
{
    const double t = 9.0 * log(10.0);
    double n = tremolo_study_coordinates(study);
    double noise = ldexp(1.0, study->noise_log2 - study->wire_shift);
    double norm = tremolo_row_reach(study) + noise * sqrt(n + 2.0 * sqrt(n * t) + 2.0 * t);
    return norm * norm;
}
