/* mechanism.c -- the device's integers for a guarantee: chosen, or read from a file and checked.
 *
 * Noise on the fine grid has the standard deviation 2^p, so the guarantee
 * fixes the largest sensitivity in fine units: 2^p / s, with s the noise
 * needed for sensitivity 1 (rounded up by the accountant). All else follows
 * from it by rounding down: the clip radius or the neighbours' distance that
 * the device's own formula (device/study.c) maps below it, then the fine units
 * of a feature's range. A larger p makes the device's rounding matter less;
 * the largest that its fixed-point ranges admit is taken.
 *
 * Integers that a file brings along are believed in nothing: they must fit
 * together, be those of the terms in the file, and cost no more than the file
 * says, all by our own computation. */
#include "accountant.h"
#include "explain.h"
#include "tremolo_mechanism.h"

#include <math.h>

#include "study_file.h"

enum {
    NOISE_LOG2_MAX = 23,
    NOISE_LOG2_MIN = 10,
    WIRE_BITS_DEFAULT = 12,
    WIRE_BITS_MAX = 16,
    WIRE_NOISE_LOG2 = 6, /* 64 wire units to one standard deviation */
    WIRE_NOISE_LOG2_MIN = 3,
};

static const double turn = 6.283185307179586;

const char *const tremolo_calibration_names[] = {"exact", "zcdp", "paper", NULL};

static bool positive(double value)
{
    return isfinite(value) && value > 0;
}

/* In the order in which a person would look for the mistake; the first that is wrong is reported. */
static enum tremolo_status check_request(const struct tremolo_mechanism_request *request)
{
    bool modulated = request->vectors > 0;
    const struct {
        bool good;
        enum tremolo_status otherwise;
    } demands[] = {
        {request->dimension >= 1 && request->dimension <= TREMOLO_MAX_DIMENSION,
         TREMOLO_BAD_DIMENSION},
        {request->alpha >= 0 && request->alpha < 1, TREMOLO_BAD_ALPHA},
        {request->vectors <= request->dimension, TREMOLO_BAD_VECTORS},
        {modulated ? positive(request->lambda) : request->lambda == 0, TREMOLO_BAD_LAMBDA},
        {modulated ? positive(request->omega) : request->omega == 0, TREMOLO_BAD_OMEGA},
        {request->neighbours != TREMOLO_NEIGHBOURS_DISTANCE ||
             (positive(request->distance) && request->distance <= 2 * request->radius),
         TREMOLO_BAD_NEIGHBOURS},
        {positive(request->bound) && positive(request->radius) && positive(request->epsilon) &&
             request->delta > 0 && request->delta < 1 && request->rounds >= 1,
         TREMOLO_BAD_ARGUMENT},
    };
    for (size_t i = 0; i < sizeof demands / sizeof demands[0]; i++) {
        if (!demands[i].good) {
            return demands[i].otherwise;
        }
    }
    return TREMOLO_OK;
}

/* Noise needed for a release of sensitivity 1, in each round. The paper's
 * calibration counts the modulation's slope as sensitivity too, which is the
 * same as this much more noise for the release as it is. */
static enum tremolo_status noise_multiplier(double *multiplier,
                                            const struct tremolo_mechanism_request *request)
{
    struct tremolo_certified sigma;
    enum tremolo_rule rule =
        request->calibration == TREMOLO_CALIBRATION_EXACT ? TREMOLO_RULE_EXACT : TREMOLO_RULE_ZCDP;
    enum tremolo_status status =
        tremolo_rule_sigma(&sigma, rule, request->epsilon, request->delta, 1.0, request->rounds);
    if (status != TREMOLO_OK) {
        return status;
    }
    *multiplier = sigma.upper;
    if (request->calibration == TREMOLO_CALIBRATION_PAPER && request->vectors > 0) {
        double slope = request->lambda * request->omega / sqrt((double)request->vectors);
        *multiplier *= 1 + slope / (1 - request->alpha);
    }
    return TREMOLO_OK;
}

/* The sensitivity in fine units if distance and clip were `length`; the
 * device's formula decides, we only search below an estimate of its inverse. */
static uint32_t largest_length(struct tremolo_study *study, uint32_t *field, double estimate,
                               double limit)
{
    double start = floor(estimate);
    if (!(start >= 1)) {
        return 0;
    }
    *field = start < 268435456.0 ? (uint32_t)start : UINT32_C(1) << 28;
    while (*field > 0 && (double)tremolo_study_sensitivity(study) > limit) {
        (*field)--;
    }
    return *field;
}

/* Fill clip, distance and unit for a sensitivity of at most `limit` fine
 * units. False when they do not fit 32-bit ranges or round to nothing. */
static bool fill_lengths(struct tremolo_study *study, double *fine_per_scaled, double limit,
                         const struct tremolo_mechanism_request *request)
{
    double keep = (double)study->keep / TREMOLO_KEEP_ONE;
    double scale;
    if (request->neighbours == TREMOLO_NEIGHBOURS_ANY) {
        study->distance = 0;
        scale = largest_length(study, &study->clip, limit / (2 * keep), limit) / request->radius;
    } else {
        double rounding = 3 * ceil(sqrt((double)tremolo_study_coordinates(study))) + 3;
        study->clip = UINT32_C(1) << 28; /* out of the way of the distance */
        scale = largest_length(study, &study->distance, (limit - rounding) / keep, limit) /
                request->distance;
    }
    double unit = floor(scale * request->bound);
    if (!(unit >= 1 && unit <= 16777216.0)) {
        return false;
    }
    study->unit = (uint32_t)unit;
    *fine_per_scaled = unit / request->bound;
    if (request->neighbours == TREMOLO_NEIGHBOURS_DISTANCE) {
        double clip = ceil(request->radius * *fine_per_scaled);
        if (!(clip <= 268435456.0 && 2 * clip >= study->distance)) {
            return false;
        }
        study->clip = (uint32_t)clip;
    }
    return true;
}

/* False when amplitude or frequency do not fit the device's 32-bit ranges. */
static bool fill_modulation(struct tremolo_study *study, double fine_per_scaled,
                            const struct tremolo_mechanism_request *request)
{
    study->vectors = (uint16_t)request->vectors;
    study->amplitude = 0;
    study->frequency = 0;
    if (request->vectors == 0) {
        return true;
    }
    double amplitude =
        nearbyint(request->lambda / sqrt((double)request->vectors) * fine_per_scaled);
    double frequency = nearbyint(request->omega / turn * 0x1p40 / fine_per_scaled);
    if (!(amplitude >= 1 && amplitude <= 67108864.0 && frequency >= 1 &&
          frequency <= 2147483648.0)) {
        return false;
    }
    study->amplitude = (uint32_t)amplitude;
    study->frequency = (uint32_t)frequency;
    return true;
}

/* Noise 2^p, wire noise 2^gap. */
static bool choose_grid(struct tremolo_study *study, double *fine_per_scaled, double multiplier,
                        const struct tremolo_mechanism_request *request)
{
    for (unsigned gap = WIRE_NOISE_LOG2; gap >= WIRE_NOISE_LOG2_MIN; gap--) {
        for (unsigned bits = WIRE_BITS_DEFAULT; bits <= WIRE_BITS_MAX; bits++) {
            for (unsigned p = NOISE_LOG2_MAX; p >= NOISE_LOG2_MIN; p--) {
                double limit = floor(ldexp(1, (int)p) / multiplier);
                study->noise_log2 = (uint8_t)p;
                study->wire_shift = (uint8_t)(p - gap);
                study->wire_bits = (uint8_t)bits;
                if (fill_lengths(study, fine_per_scaled, limit, request) &&
                    fill_modulation(study, *fine_per_scaled, request) &&
                    tremolo_study_check(study) == TREMOLO_OK) {
                    return true;
                }
            }
        }
    }
    return false;
}

/* Everything is computed from the study's integers, not from the request. */
static enum tremolo_status fill_scales(struct tremolo_mechanism_scales *scales,
                                       const struct tremolo_study *study, double fine_per_scaled,
                                       const struct tremolo_mechanism_request *request)
{
    struct tremolo_gaussian cost = {0};
    struct tremolo_certified epsilon;
    double noise = ldexp(1, study->noise_log2);
    double sensitivity = tremolo_study_sensitivity(study);
    enum tremolo_status status = tremolo_gaussian_add(&cost, sensitivity, noise, study->rounds);
    if (status == TREMOLO_OK) {
        status = tremolo_gaussian_epsilon(&epsilon, &cost, request->delta);
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    *scales = (struct tremolo_mechanism_scales){
        .sigma = noise / fine_per_scaled,
        .sensitivity = sensitivity / fine_per_scaled,
        .mu = tremolo_gaussian_mu(&cost).upper,
        .rho = tremolo_gaussian_rho(&cost).upper,
        .epsilon = epsilon.upper,
    };
    return TREMOLO_OK;
}

/* Ranks by the law for this epsilon, and the weights of constant and response by the dimension. */
enum tremolo_status tremolo_mechanism_ballot(struct tremolo_study *study, size_t dimension,
                                             bool response_private, double epsilon)
{
    struct tremolo_rank_law law;
    if (study == NULL || study->bounds == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    if (dimension < 1 || dimension > TREMOLO_MAX_DIMENSION) {
        return TREMOLO_BAD_DIMENSION;
    }
    enum tremolo_status status = tremolo_rank_law_for(&law, epsilon);
    if (status != TREMOLO_OK) {
        return status;
    }
    struct tremolo_study made = *study;
    double root = sqrt((double)dimension / 3);
    made.release = TREMOLO_RELEASE_BALLOT;
    made.rounds = 1;
    made.samples = 1;
    made.dimension = (uint16_t)dimension;
    made.response = response_private ? TREMOLO_RESPONSE_PRIVATE : TREMOLO_RESPONSE_PUBLIC;
    /* Where slopes, intercept and predictions were about equally good over many data sets:
     * more weight for the constant helps the intercept and hurts the slopes. */
    double constant = response_private ? 0.329 + 0.477 * root : 1.1 * root;
    made.constant = (uint16_t)nearbyint(constant * TREMOLO_BALLOT_ONE);
    made.response_weight = response_private ? (uint16_t)TREMOLO_BALLOT_WEIGHT(made.constant) : 0;
    made.rank_first = (uint8_t)law.first;
    made.rank_top = law.top;
    status = tremolo_study_check(&made);
    if (status == TREMOLO_OK) {
        *study = made;
    }
    return status;
}

/* The scales are computed from the integers that were chosen, not from what was asked for. */
enum tremolo_status tremolo_mechanism_fill(struct tremolo_study *study,
                                           struct tremolo_mechanism_scales *scales,
                                           const struct tremolo_mechanism_request *request)
{
    double multiplier = 0, fine_per_scaled = 0;
    struct tremolo_mechanism_scales filled;
    if (study == NULL || study->bounds == NULL || scales == NULL || request == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    enum tremolo_status status = check_request(request);
    if (status == TREMOLO_OK) {
        status = noise_multiplier(&multiplier, request);
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    struct tremolo_study made = *study;
    made.rounds = request->rounds;
    made.samples = 1;
    made.dimension = (uint16_t)request->dimension;
    made.response = request->response_private ? TREMOLO_RESPONSE_PRIVATE : TREMOLO_RESPONSE_PUBLIC;
    made.keep = (uint16_t)fmax(1, nearbyint((1 - request->alpha) * TREMOLO_KEEP_ONE));
    if (!choose_grid(&made, &fine_per_scaled, multiplier, request)) {
        return TREMOLO_UNREACHABLE;
    }
    status = fill_scales(&filled, &made, fine_per_scaled, request);
    if (status != TREMOLO_OK) {
        return status;
    }
    *study = made;
    *scales = filled;
    return TREMOLO_OK;
}

/* ---------------------------------------------------------------- by name */

#define INTEGER(member) STUDY_INTEGER(member, .id = STUDY_ID)

const struct document_row *study_integers_of(enum tremolo_release_kind release)
{
    static const struct document_row sample[] = {
        INTEGER(noise_log2), INTEGER(wire_shift), INTEGER(wire_bits), INTEGER(keep),
        INTEGER(unit),       INTEGER(clip),       INTEGER(distance),  INTEGER(amplitude),
        INTEGER(frequency),  {.key = NULL}};
    static const struct document_row ballot[] = {INTEGER(constant),
                                                 INTEGER(response_weight),
                                                 INTEGER(rank_first),
                                                 INTEGER(rank_top),
                                                 {.key = NULL}};
    return release == TREMOLO_RELEASE_BALLOT ? ballot : sample;
}

/* ---------------------------------------------------------------- of a file */

/* What rounding in the accountant may add to an epsilon. */
static const double epsilon_slack = 1e-9;

/* Raw values run from -RAW_MAX to RAW_MAX between the ends of each coordinate; a ballot's typical
 * range takes the middle eighth of that. */
static void set_bounds(struct tremolo_study_file *file)
{
    struct tremolo_bounds raw = {-TREMOLO_STUDY_RAW_MAX, TREMOLO_STUDY_RAW_MAX};
    struct tremolo_bounds typical = {-TREMOLO_STUDY_RAW_TYPICAL, TREMOLO_STUDY_RAW_TYPICAL};
    for (size_t i = 0; i < TREMOLO_MAX_DIMENSION; i++) {
        file->bounds[i] = file->terms.release == TREMOLO_RELEASE_BALLOT ? typical : raw;
    }
    file->device.bounds = file->bounds;
    file->device.response_bounds = raw;
}

/* ---------------------------------------------------------------- computed */

/* A study's terms in the accountant's words. All releases of a device share its epsilon, rounds and
 * samples alike. */
static struct tremolo_mechanism_request request_of(const struct tremolo_study_file *file)
{
    const struct tremolo_study_terms *terms = &file->terms;
    struct tremolo_mechanism_request request = TREMOLO_MECHANISM_DEFAULTS;
    request.dimension = file->dimension;
    request.response_private = terms->response_private;
    request.bound = 1;
    request.radius = terms->clip;
    request.neighbours = terms->distance > 0 ? TREMOLO_NEIGHBOURS_DISTANCE : TREMOLO_NEIGHBOURS_ANY;
    request.distance = terms->distance;
    request.epsilon = terms->epsilon;
    request.delta = terms->delta;
    request.rounds = (uint16_t)(terms->rounds * terms->samples);
    request.calibration = terms->calibration;
    request.alpha = terms->alpha;
    request.lambda = terms->lambda;
    request.omega = terms->omega;
    request.vectors = terms->vectors;
    return request;
}

/* The key to change, for a status of the accountant. */
static const char *path_of(enum tremolo_status status)
{
    switch (status) {
    case TREMOLO_BAD_NEIGHBOURS: return "privacy.neighbours.distance";
    case TREMOLO_BAD_ALPHA: return "protocol.alpha";
    case TREMOLO_BAD_LAMBDA: return "protocol.lambda";
    case TREMOLO_BAD_OMEGA: return "protocol.omega";
    case TREMOLO_BAD_VECTORS: return "protocol.vectors";
    case TREMOLO_INVALID_CALIBRATION: return "protocol.calibration";
    default: return "privacy";
    }
}

/* The author may have asked for what no integers give; the problem names the key to change. */
static void compute(struct document_reader *reader, struct tremolo_study_file *file)
{
    const struct tremolo_study_terms *terms = &file->terms;
    struct tremolo_mechanism_request request = request_of(file);
    struct tremolo_mechanism_scales scales;
    bool ballot = terms->release == TREMOLO_RELEASE_BALLOT;
    enum tremolo_status status =
        ballot ? tremolo_mechanism_ballot(&file->device, file->dimension, terms->response_private,
                                          terms->epsilon / terms->samples)
               : tremolo_mechanism_fill(&file->device, &scales, &request);
    if (status != TREMOLO_OK && ballot) {
        document_problem(reader, "privacy.epsilon", "must be %g to %g for each ballot of a device",
                         TREMOLO_RANK_EPSILON_MIN, TREMOLO_RANK_EPSILON_MAX);
    } else if (status != TREMOLO_OK) {
        document_problem(reader, path_of(status), "%s", tremolo_status_sentence(status));
    }
}

/* ---------------------------------------------------------------- brought along */

/* The integers are those of the terms in the file. Only the distance matters
 * for the promise: it must not be shorter than the words say. */
static void compare_with_terms(struct document_reader *reader,
                               const struct tremolo_study_file *file)
{
    const struct tremolo_study *device = &file->device;
    const struct tremolo_study_terms *terms = &file->terms;
    double unit = device->unit;
    double root = sqrt(fmax(1, terms->vectors));
    const struct {
        const char *key;
        uint32_t integer;
        double term;
        const char *reason;
    } pairs[] = {
        {"keep", device->keep, (1 - terms->alpha) * TREMOLO_KEEP_ONE, "is not 1 - protocol.alpha"},
        {"clip", device->clip, terms->clip * unit, "is not privacy.clip"},
        {"amplitude", device->amplitude, terms->lambda / root * unit, "is not protocol.lambda"},
        {"frequency", device->frequency, terms->omega / turn * 0x1p40 / fmax(1, unit),
         "is not protocol.omega"},
    };
    if ((terms->distance == 0) != (device->distance == 0) ||
        device->distance < terms->distance * unit * (1 - epsilon_slack)) {
        document_problem(reader, "distance", "is shorter than privacy.neighbours says");
    }
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        /* Within one step, or within a hundredth where steps are small. */
        double term = pairs[i].term;
        if (!(fabs(pairs[i].integer - term) <= fmax(1.0, term / 100))) {
            document_problem(reader, pairs[i].key, "%s", pairs[i].reason);
        }
    }
}

/* What the integers cost by our own accounting, at most what the file promises. */
static void check_cost(struct document_reader *reader, const struct tremolo_study_file *file)
{
    struct tremolo_study_guarantee guarantee;
    enum tremolo_status status = tremolo_study_file_guarantee(&guarantee, file, file->terms.delta);
    if (status != TREMOLO_OK) {
        document_problem(reader, "", "%s", tremolo_status_sentence(status));
    } else if (guarantee.epsilon > file->terms.epsilon * (1 + epsilon_slack)) {
        document_problem(reader, "", "costs epsilon %.6g, more than privacy.epsilon",
                         tremolo_digits_up(guarantee.epsilon, 6));
    }
}

/* Integers of a published study. They are checked as if an opponent wrote them: a server that could
 * weaken them would weaken the guarantee that the words state. */
static void bring_along(struct document_reader *reader, struct tremolo_study_file *file)
{
    struct tremolo_study *device = &file->device;
    const struct tremolo_study_terms *terms = &file->terms;
    device->release = (uint8_t)terms->release;
    document_read(reader, study_integers_of(terms->release), device);
    device->response = terms->response_private ? TREMOLO_RESPONSE_PRIVATE : TREMOLO_RESPONSE_PUBLIC;
    device->dimension = (uint16_t)file->dimension;
    device->vectors = (uint16_t)terms->vectors;
    device->rounds = (uint16_t)terms->rounds;
    device->samples = (uint16_t)terms->samples;
    if (reader->problems->count > 0) {
        return;
    }
    enum tremolo_status status = tremolo_study_check(device);
    unsigned weight = device->response * TREMOLO_BALLOT_WEIGHT(device->constant);
    if (status == TREMOLO_BAD_BALLOT && device->response_weight != weight) {
        document_problem(reader, "response_weight", "is %u, where ballots of this version have %u",
                         (unsigned)device->response_weight, weight);
    } else if (status != TREMOLO_OK) {
        document_problem(reader, "", "%s", tremolo_status_sentence(status));
    }
    if (status != TREMOLO_OK) {
        return;
    }
    if (terms->release == TREMOLO_RELEASE_SAMPLE) {
        compare_with_terms(reader, file);
    }
    check_cost(reader, file);
}

void study_read_mechanism(struct document_reader *reader, struct tremolo_study_file *file)
{
    const json_t *written = json_object_get(file->root, "mechanism");
    set_bounds(file);
    if (written != NULL && !json_is_object(written)) {
        document_problem(reader, "mechanism", "must be an object");
    } else if (written != NULL) {
        struct document_place before = document_enter(reader, "mechanism");
        bring_along(reader, file);
        document_leave(reader, before);
    } else if (reader->problems->count == 0) {
        compute(reader, file);
        file->device.rounds = (uint16_t)file->terms.rounds;
        file->device.samples = (uint16_t)file->terms.samples;
    }
}
