/* audit_run.c -- many real devices, two people, and what their bytes show.
 *
 * Each report comes from a freshly enrolled device: ledger, generator, clip,
 * modulation, noise, rounding and encoding all run, and the audit sees
 * nothing but the decoded bytes. The two people lie opposite each other on the
 * domain's diagonal: all their coordinates are the same, and they are as far apart
 * as the study's claim allows (the clip sees to it where any two are neighbours).
 *
 * The modulation vectors are orthogonal to that diagonal, so along it the noise is
 * purely Gaussian, the likelihood ratio is monotone in the projection, and comparing
 * it with a threshold is the optimal test. Only a study with as many vectors as
 * features leaves no such choice; its modulation hides a part, and the bounds are
 * weaker. Where a device reports in several rounds, or gives several samples (here
 * the same one each time), the test sees the sum of all its reports. */
#include "audit_parts.h"

#include <math.h>
#include <string.h>
#include <sys/random.h>

#include "tremolo_privacy.h"
#include "tremolo_random.h"

enum {
    NOISE_LOG2 = 20,
    WIRE_SHIFT = 14, /* noise sd 64 on the wire */
    WIRE_BITS = 12,
};

/* ---- a device in memory */

struct memory_device {
    struct tremolo_slot slots[2];
    struct tremolo_random random;
    bool seeded;
};

/* Seeds only: the device's own ChaCha20 makes everything else of them. */
static int give_entropy(void *context, uint8_t *bytes, size_t length)
{
    struct memory_device *device = context;
    if (!device->seeded) {
        return getrandom(bytes, length, 0) == (ssize_t)length ? 0 : -1;
    }
    for (size_t i = 0; i < length; i += 8) {
        uint64_t word = tremolo_random_bits(&device->random);
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

/* A study whose claim is plan->claim.mu. */
static enum tremolo_status make_study(struct tremolo_audit_plan *plan, unsigned dimension,
                                      double clip_factor)
{
    /* kept() rounds up by one */
    double clip = floor(0.5 * plan->claim.mu * ldexp(1.0, NOISE_LOG2)) - 1.0;
    clip = floor(clip * clip_factor);
    if (dimension < 2 || dimension > TREMOLO_AUDIT_DIMENSION_MAX ||
        !(clip >= 64.0 && clip <= 16777216.0)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    struct tremolo_study *study = &plan->study;
    memcpy(study->id, "the study that tremolo audit asks", TREMOLO_STUDY_ID_BYTES);
    for (unsigned i = 0; i < dimension; i++) {
        plan->bounds[i] = (struct tremolo_bounds){-1, 1};
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
    study->vectors = 1;
    study->amplitude = (uint32_t)(0.5 * clip);
    study->frequency = 1u << 16;
    return audit_plan_finish(plan, clip);
}

enum tremolo_status tremolo_audit_plan_make(struct tremolo_audit_plan *plan, double epsilon,
                                            double delta, unsigned dimension, double clip_factor)
{
    struct tremolo_certified mu = {0.0, 0.0, 0.0};
    enum tremolo_status status = tremolo_gaussian_mu_for(&mu, epsilon, delta);
    memset(plan, 0, sizeof *plan);
    plan->claim = (struct tremolo_audit_claim){
        .epsilon = epsilon, .delta = delta, .mu = mu.lower, .mu_most = mu.upper};
    return status == TREMOLO_OK ? make_study(plan, dimension, clip_factor) : status;
}

enum tremolo_status tremolo_audit_plan_ballot(struct tremolo_audit_plan *plan, double epsilon,
                                              unsigned dimension, double factor)
{
    struct tremolo_rank_law law;
    memset(plan, 0, sizeof *plan);
    plan->claim = (struct tremolo_audit_claim){.epsilon = epsilon};
    enum tremolo_status status = tremolo_rank_law_for(&plan->law, epsilon);
    if (status == TREMOLO_OK) {
        status = tremolo_rank_law_for(&law, epsilon * factor);
    }
    if (status != TREMOLO_OK || dimension < 1 || dimension > TREMOLO_AUDIT_DIMENSION_MAX) {
        return TREMOLO_BAD_ARGUMENT;
    }
    for (unsigned i = 0; i < dimension; i++) {
        plan->bounds[i] = (struct tremolo_bounds){-64, 64};
    }
    plan->study = (struct tremolo_study){
        .release = TREMOLO_RELEASE_BALLOT,
        .response = TREMOLO_RESPONSE_PRIVATE,
        .dimension = (uint16_t)dimension,
        .rounds = 1,
        .samples = 1,
        .bounds = plan->bounds,
        .response_bounds = {-64, 64},
        .rank_first = (uint8_t)law.first,
        .rank_top = law.top,
        .constant = TREMOLO_BALLOT_ONE * 3 / 4,
        .response_weight = TREMOLO_BALLOT_ONE * 5 / 4,
    };
    memcpy(plan->study.id, "the study that tremolo audit asks", TREMOLO_STUDY_ID_BYTES);
    return audit_plan_ballot_finish(plan);
}

enum tremolo_status audit_plan_ballot_finish(struct tremolo_audit_plan *plan)
{
    plan->study.samples = 1;                     /* ballots are independent: one of each device */
    plan->value[0] = plan->study.bounds[0].high; /* a corner; the middle is 0 */
    if (plan->study.response == TREMOLO_RESPONSE_PRIVATE) {
        plan->response[0] = plan->study.response_bounds.high;
    }
    return plan->study.dimension <= TREMOLO_AUDIT_DIMENSION_MAX ? tremolo_study_check(&plan->study)
                                                                : TREMOLO_BAD_DIMENSION;
}

/* Row k < d of an orthonormal basis: k ones, then -k, then zeros, all of it scaled; the
 * last row is the diagonal itself, to which all others are orthogonal. */
static void fill_vector(int16_t *entry, unsigned row, unsigned d)
{
    double k = row + 1.0;
    bool diagonal = row + 1 == d;
    double scale = 16384.0 / (diagonal ? sqrt((double)d) : sqrt(k * (k + 1.0)));
    for (unsigned i = 0; i < d; i++) {
        double value = diagonal || i <= row ? 1.0 : i == row + 1 ? -k : 0.0;
        entry[i] = (int16_t)(value * scale);
    }
}

enum tremolo_status audit_plan_finish(struct tremolo_audit_plan *plan, double half_distance)
{
    struct tremolo_study *study = &plan->study;
    plan->coordinates = tremolo_study_coordinates(study);
    double root = sqrt((double)plan->coordinates);
    /* A corner of the box may lie outside of the ball: the clip brings it back. */
    double share = fmin(1.0, half_distance / (study->unit * root));
    plan->value[0] = (int32_t)(share * study->bounds[0].high);
    if (study->distance == 0) {
        plan->value[0] = study->bounds[0].high;
    }
    plan->value[1] = -plan->value[0];
    if (study->response == TREMOLO_RESPONSE_PRIVATE) {
        memcpy(plan->response, plan->value, sizeof plan->response);
    }
    for (unsigned j = 0; j < study->vectors; j++) {
        fill_vector(plan->vectors + (size_t)j * study->dimension, j, study->dimension);
    }
    double wire = ldexp(1.0, study->wire_shift);
    double keep = (double)study->keep / TREMOLO_KEEP_ONE;
    plan->centre = keep * fmin(half_distance / root, study->unit) / wire;
    double sd = ldexp(1.0, study->noise_log2) / wire;
    plan->noise_sd = sqrt(sd * sd + 1.0 / 12.0);
    return tremolo_study_check(study);
}

uint64_t tremolo_audit_releases(const struct tremolo_audit_plan *plan)
{
    return (uint64_t)plan->study.rounds * plan->study.samples;
}

/* ---- running */

/* Counts one report and returns its place on the diagonal. */
static double count_report(struct audit_counts *counts, const struct tremolo_audit_plan *plan,
                           unsigned person, const int16_t *values)
{
    double centre = person == 0 ? plan->centre : -plan->centre;
    double sum = 0.0;
    for (unsigned i = 0; i < plan->coordinates; i++) {
        double off = values[i] - centre;
        int place = values[i] + AUDIT_VALUES / 2;
        sum += values[i];
        counts->square_error += off * off;
        counts->residue[person][i][(unsigned)values[i] % AUDIT_RESIDUES]++;
        if (place >= 0 && place < AUDIT_VALUES) {
            counts->seen[person][i][place]++;
        }
    }
    return sum / sqrt((double)plan->coordinates);
}

/* One report's bytes, and what a server reads from them: *place is where a noisy sample
 * lies on the diagonal. */
static enum tremolo_status
one_report(double *place, const struct audit_sink *sink, const struct tremolo_audit_plan *plan,
           unsigned person, struct tremolo_work *work, const struct tremolo_platform *platform,
           const struct tremolo_round *round, const struct tremolo_sample *sample)
{
    uint8_t bytes[TREMOLO_MAX_REPORT_BYTES];
    int16_t values[AUDIT_COORDINATES_MAX] = {0};
    size_t length = sizeof bytes;
    struct tremolo_report report;
    enum tremolo_status status =
        tremolo_device_report(work, bytes, &length, &plan->study, round, sample, platform);
    if (status == TREMOLO_OK) {
        status = tremolo_report_decode(&report, bytes, length);
    }
    if (status == TREMOLO_OK && sink->ballots != NULL) {
        return audit_ballot_report(sink->ballots, plan, person, &report);
    }
    if (status == TREMOLO_OK) {
        status = tremolo_report_unpack(values, AUDIT_COORDINATES_MAX, &report, &plan->study);
    }
    if (status == TREMOLO_OK) {
        *place = count_report(sink->samples, plan, person, values);
    }
    return status;
}

/* A device's whole life. */
static enum tremolo_status one_device(const struct audit_sink *sink,
                                      const struct tremolo_audit_plan *plan, unsigned person,
                                      struct memory_device *device)
{
    struct tremolo_work work;
    const struct tremolo_platform platform = {
        .context = device,
        .entropy = give_entropy,
        .read = read_slot,
        .write = write_slot,
        .studies = 1,
    };
    int32_t features[TREMOLO_MAX_DIMENSION];
    double sum = 0.0;
    for (unsigned i = 0; i < plan->study.dimension; i++) {
        features[i] = plan->value[person];
    }
    memset(device->slots, 0, sizeof device->slots);
    enum tremolo_status status = tremolo_device_enrol(&work, &platform, UINT32_MAX, UINT32_MAX);
    for (uint64_t k = 0; k < tremolo_audit_releases(plan) && status == TREMOLO_OK; k++) {
        double place = 0.0;
        const struct tremolo_round round = {plan->study.vectors > 0 ? plan->vectors : NULL,
                                            (uint16_t)(k / plan->study.samples)};
        const struct tremolo_sample sample = {features, plan->response[person],
                                              (uint16_t)(k % plan->study.samples)};
        status = one_report(&place, sink, plan, person, &work, &platform, &round, &sample);
        sum += place;
    }
    for (unsigned test = 0; sink->samples != NULL && test < TREMOLO_AUDIT_TESTS; test++) {
        sink->samples->above[test][person] +=
            sum / sqrt((double)tremolo_audit_releases(plan)) > plan->threshold[test];
    }
    return status;
}

enum tremolo_status audit_count(const struct audit_sink *sink,
                                const struct tremolo_audit_plan *plan,
                                const struct tremolo_progress *progress)
{
    struct memory_device device = {.random = {plan->seed}, .seeded = plan->seeded};
    enum tremolo_status status = TREMOLO_OK;
    tremolo_progress_begin(progress, "auditing", plan->pairs);
    for (uint64_t pair = 0; pair < plan->pairs && status == TREMOLO_OK; pair++) {
        status = one_device(sink, plan, 0, &device);
        if (status == TREMOLO_OK) {
            status = one_device(sink, plan, 1, &device);
        }
        tremolo_progress_add(progress, 1);
    }
    tremolo_progress_end(progress);
    return status;
}
