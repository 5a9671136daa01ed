/* audit_run.c -- many real devices, two people, and what their bytes show.
 *
 * Each report comes from a freshly enrolled device: ledger, generator, clip,
 * modulation, noise, rounding and encoding all run, and the audit sees
 * nothing but the decoded bytes. The two people sit at opposite ends of the
 * domain, all features at their upper or lower bounds, so that the clip makes
 * them exactly as far apart as the study's claim allows. The modulation
 * vector is orthogonal to their difference; along that difference the noise
 * is purely Gaussian and the likelihood ratio is monotone in the projection,
 * so comparing it with a threshold is the optimal test. */
#include "audit.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/random.h>

enum {
    NOISE_LOG2 = 20,
    WIRE_SHIFT = 14, /* noise sd 64 on the wire */
    WIRE_BITS = 12,
};

/* ---- a device in memory */

struct memory_device {
    struct tremolo_slot slots[2];
    uint64_t state; /* of the seeded entropy */
    bool seeded;
};

static uint64_t next_word(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Seeds only: the device's own ChaCha20 makes everything else of them. */
static int give_entropy(void *context, uint8_t *bytes, size_t length)
{
    struct memory_device *device = context;
    if (!device->seeded) {
        return getrandom(bytes, length, 0) == (ssize_t)length ? 0 : -1;
    }
    for (size_t i = 0; i < length; i += 8) {
        uint64_t word = next_word(&device->state);
        memcpy(bytes + i, &word, length - i < 8 ? length - i : 8);
    }
    return 0;
}

static int read_slot(void *context, unsigned slot, uint8_t *bytes, size_t length)
{
    struct memory_device *device = context;
    if (slot >= 2 || length > sizeof device->slots[0]) {
        return -1;
    }
    memcpy(bytes, &device->slots[slot], length);
    return 0;
}

static int write_slot(void *context, unsigned slot, const uint8_t *bytes, size_t length)
{
    struct memory_device *device = context;
    if (slot >= 2 || length > sizeof device->slots[0]) {
        return -1;
    }
    memcpy(&device->slots[slot], bytes, length);
    return 0;
}

/* ---- the plan */

enum tremolo_status audit_plan_make(struct audit_plan *plan, unsigned dimension, double mu,
                                    double clip_factor, bool modulated)
{
    memset(plan, 0, sizeof *plan);
    double clip = floor(0.5 * mu * ldexp(1.0, NOISE_LOG2)) - 1.0; /* kept() rounds up by one */
    clip = floor(clip * clip_factor);
    if (dimension < 2 || dimension > AUDIT_DIMENSION_MAX || !(clip >= 64.0 && clip <= 16777216.0)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    struct tremolo_study *study = &plan->study;
    memcpy(study->id, "the study that tremolo audit asks", TREMOLO_STUDY_ID_BYTES);
    for (unsigned i = 0; i < dimension; i++) {
        plan->bounds[i] = (struct tremolo_bounds){-1, 1};
        plan->sample[0][i] = 1;
        plan->sample[1][i] = -1;
        plan->direction[i] = 1.0 / sqrt((double)dimension);
    }
    study->bounds = plan->bounds;
    study->response_bounds = (struct tremolo_bounds){0, 1};
    study->clip = (uint32_t)clip;
    study->unit = (uint32_t)clip; /* corners of the cube lie outside the ball */
    study->dimension = (uint16_t)dimension;
    study->keep = TREMOLO_KEEP_ONE;
    study->rounds = 1;
    study->samples = 1;
    study->noise_log2 = NOISE_LOG2;
    study->wire_shift = WIRE_SHIFT;
    study->wire_bits = WIRE_BITS;
    if (modulated) {
        study->vectors = 1;
        study->amplitude = (uint32_t)(0.5 * clip);
        study->frequency = 1u << 16;
        plan->vectors[0] = 11585; /* 16384 / sqrt 2 */
        plan->vectors[1] = -11585;
    }
    for (unsigned i = 0; i < dimension; i++) {
        plan->centre[i] = clip * plan->direction[i] / ldexp(1.0, WIRE_SHIFT);
    }
    double sd = ldexp(1.0, NOISE_LOG2 - WIRE_SHIFT);
    plan->noise_sd = sqrt(sd * sd + 1.0 / 12.0);
    return tremolo_study_check(study);
}

/* ---- running */

static void count_report(struct audit_counts *counts, const struct audit_plan *plan,
                         unsigned person, const int16_t *values)
{
    double projection = 0.0;
    for (unsigned i = 0; i < plan->study.dimension; i++) {
        double centre = person == 0 ? plan->centre[i] : -plan->centre[i];
        double off = values[i] - centre;
        projection += values[i] * plan->direction[i];
        counts->square_error += off * off;
        counts->residue[person][i][(unsigned)values[i] % AUDIT_RESIDUES]++;
        counts->seen[person][i][(unsigned)(values[i] + AUDIT_VALUES / 2) % AUDIT_VALUES]++;
    }
    for (unsigned test = 0; test < AUDIT_TESTS; test++) {
        counts->above[test][person] += projection > plan->threshold[test];
    }
}

static enum tremolo_status one_report(int16_t *values, const struct audit_plan *plan,
                                      unsigned person, struct memory_device *device)
{
    static struct tremolo_work work;
    const struct tremolo_platform platform = {
        .context = device,
        .entropy = give_entropy,
        .read = read_slot,
        .write = write_slot,
        .studies = 1,
    };
    const struct tremolo_round round = {plan->study.vectors > 0 ? plan->vectors : NULL, 0};
    const struct tremolo_sample sample = {plan->sample[person], 0, 0};
    uint8_t bytes[TREMOLO_MAX_REPORT_BYTES];
    size_t length = sizeof bytes;
    struct tremolo_report report;
    memset(device->slots, 0, sizeof device->slots);
    enum tremolo_status status = tremolo_device_enrol(&work, &platform, UINT32_MAX);
    if (status == TREMOLO_OK) {
        status =
            tremolo_device_report(&work, bytes, &length, &plan->study, &round, &sample, &platform);
    }
    if (status == TREMOLO_OK) {
        status = tremolo_report_decode(&report, bytes, length);
    }
    if (status == TREMOLO_OK) {
        status = tremolo_report_unpack(values, AUDIT_DIMENSION_MAX, &report, &plan->study);
    }
    return status;
}

enum tremolo_status audit_run(struct audit_counts *counts, const struct audit_plan *plan,
                              void (*progress)(uint64_t done, uint64_t all))
{
    struct memory_device device = {.state = plan->seed, .seeded = plan->seeded};
    memset(counts, 0, sizeof *counts);
    for (uint64_t pair = 0; pair < plan->pairs; pair++) {
        for (unsigned person = 0; person < 2; person++) {
            int16_t values[AUDIT_DIMENSION_MAX] = {0};
            enum tremolo_status status = one_report(values, plan, person, &device);
            if (status != TREMOLO_OK) {
                return status;
            }
            count_report(counts, plan, person, values);
        }
        if (pair % 8192 == 0) {
            progress(pair, plan->pairs);
        }
    }
    progress(plan->pairs, plan->pairs);
    return TREMOLO_OK;
}

/* For even degrees 2k the tail is Poisson: e^(-x/2) sum_{j<k} (x/2)^j / j!. */
double audit_chi_squared_tail(double x, unsigned degrees)
{
    double term = exp(-0.5 * x);
    double sum = 0.0;
    for (unsigned j = 0; j < degrees / 2; j++) {
        sum += term;
        term *= 0.5 * x / (double)(j + 1);
    }
    return fmin(sum, 1.0);
}
