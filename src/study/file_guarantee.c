/* file_guarantee.c -- from a study's terms to integers, and from integers to
 * what they promise.
 *
 * Integers that a file brings along are believed in nothing: they must fit
 * together, stand for the terms beside them, and cost no more than the file
 * says, all by our own computation. */
#include "study_file.h"

#include <math.h>
#include <stdio.h>

#include "study_integers.h"
#include "tremolo_mechanism.h"
#include "tremolo_privacy.h"

/* What rounding in the accountant may add to an epsilon. */
static const double epsilon_slack = 1e-9;

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

static void compute(struct study_reader *reader, struct tremolo_study_file *file)
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
        study_problem(reader, "privacy.epsilon", "must be %g to %g for each ballot of a device",
                      TREMOLO_RANK_EPSILON_MIN, TREMOLO_RANK_EPSILON_MAX);
    } else if (status != TREMOLO_OK) {
        study_problem(reader, path_of(status), "%s", tremolo_status_sentence(status));
    }
}

/* ---------------------------------------------------------------- brought along */

static void read_integers(struct study_reader *reader, struct tremolo_study *device)
{
    const struct study_integer *list =
        study_integers_of((enum tremolo_release_kind)device->release);
    for (size_t i = 0; list[i].name != NULL; i++) {
        uint64_t value = 0;
        (void)study_whole(reader, &value, list[i].name, STUDY_REQUIRED, 0, list[i].max);
        study_integer_set(device, &list[i], value);
    }
}

/* The integers are those of the terms beside them. Only the distance matters
 * for the promise: it must not be shorter than the words say. */
static void compare_with_terms(struct study_reader *reader, const struct tremolo_study_file *file)
{
    const struct tremolo_study *device = &file->device;
    const struct tremolo_study_terms *terms = &file->terms;
    double unit = device->unit;
    double turn = 6.283185307179586;
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
        study_problem(reader, "distance", "is shorter than privacy.neighbours says");
    }
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        /* Within one step, or within a hundredth where steps are small. */
        double term = pairs[i].term;
        if (!(fabs(pairs[i].integer - term) <= fmax(1.0, term / 100))) {
            study_problem(reader, pairs[i].key, "%s", pairs[i].reason);
        }
    }
}

static void check_cost(struct study_reader *reader, const struct tremolo_study_file *file)
{
    struct tremolo_study_guarantee guarantee;
    enum tremolo_status status = tremolo_study_file_guarantee(&guarantee, file, file->terms.delta);
    if (status != TREMOLO_OK) {
        study_problem(reader, "", "%s", tremolo_status_sentence(status));
    } else if (guarantee.epsilon > file->terms.epsilon * (1 + epsilon_slack)) {
        study_problem(reader, "", "costs epsilon %.6g, more than privacy.epsilon",
                      tremolo_digits_up(guarantee.epsilon, 6));
    }
}

static void bring_along(struct study_reader *reader, struct tremolo_study_file *file)
{
    struct tremolo_study *device = &file->device;
    const struct tremolo_study_terms *terms = &file->terms;
    device->release = (uint8_t)terms->release;
    read_integers(reader, device);
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
        study_problem(reader, "response_weight", "is %u, where ballots of this version have %u",
                      (unsigned)device->response_weight, weight);
    } else if (status != TREMOLO_OK) {
        study_problem(reader, "", "%s", tremolo_status_sentence(status));
    }
    if (status != TREMOLO_OK) {
        return;
    }
    if (terms->release == TREMOLO_RELEASE_SAMPLE) {
        compare_with_terms(reader, file);
    }
    check_cost(reader, file);
}

void study_read_mechanism(struct study_reader *reader, struct tremolo_study_file *file)
{
    const struct study_integer *list = study_integers_of(file->terms.release);
    const char *keys[16] = {NULL};
    struct study_place before;
    for (size_t i = 0; list[i].name != NULL; i++) {
        keys[i] = list[i].name;
    }
    set_bounds(file);
    if (study_open(reader, &before, "mechanism", STUDY_OPTIONAL, keys)) {
        bring_along(reader, file);
        study_leave(reader, before);
    } else if (reader->problems->count == 0) {
        compute(reader, file);
        file->device.rounds = (uint16_t)file->terms.rounds;
        file->device.samples = (uint16_t)file->terms.samples;
    }
}

/* ---------------------------------------------------------------- promises */

static enum tremolo_status guarantee_of(struct tremolo_study_guarantee *guarantee,
                                        const struct tremolo_study *device, double delta,
                                        double distance)
{
    uint64_t releases = (uint64_t)device->rounds * device->samples;
    if (device->release == TREMOLO_RELEASE_BALLOT) {
        uint32_t charge = tremolo_study_charge(device);
        /* Pure epsilons add up, and hold at any distance and delta. */
        *guarantee = (struct tremolo_study_guarantee){
            .mu = NAN,
            .rho = NAN,
            .epsilon = (double)releases * charge / (double)TREMOLO_CHARGE_ONE,
            .sigma = NAN,
            .sensitivity = NAN,
            .distance = NAN,
            .releases = releases,
            .charge = charge,
        };
        return TREMOLO_OK;
    }
    struct tremolo_gaussian cost = {0};
    struct tremolo_certified epsilon;
    double noise = ldexp(1, device->noise_log2);
    double sensitivity = tremolo_study_sensitivity(device);
    enum tremolo_status status = tremolo_gaussian_add(&cost, sensitivity, noise, releases);
    if (status == TREMOLO_OK) {
        status = tremolo_gaussian_epsilon(&epsilon, &cost, delta);
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    double apart = device->distance != 0 ? device->distance : 2.0 * device->clip;
    *guarantee = (struct tremolo_study_guarantee){
        .mu = tremolo_gaussian_mu(&cost).upper,
        .rho = tremolo_gaussian_rho(&cost).upper,
        .epsilon = epsilon.upper,
        .delta = delta,
        .sigma = noise / device->unit,
        .sensitivity = sensitivity / device->unit,
        .distance = distance > 0 ? distance : apart / device->unit,
        .releases = releases,
        /* From mu = 16 on, which no checked study reaches at its own distance,
         * a charge does not fit. */
        .charge = sensitivity < 16 * noise ? tremolo_study_charge(device) : UINT32_MAX,
    };
    return TREMOLO_OK;
}

enum tremolo_status tremolo_study_file_guarantee(struct tremolo_study_guarantee *guarantee,
                                                 const struct tremolo_study_file *file,
                                                 double delta)
{
    if (guarantee == NULL || file == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    return guarantee_of(guarantee, &file->device, delta, file->terms.distance);
}

struct tremolo_study tremolo_study_file_device_at(const struct tremolo_study_file *file,
                                                  double distance)
{
    struct tremolo_study device = file->device;
    if (device.release == TREMOLO_RELEASE_BALLOT) {
        return device;
    }
    double near = ceil(distance * device.unit);
    /* Nobody is further apart than the diameter: there, any two are neighbours. */
    bool any = device.distance == 0 || !(near >= 1) || near > 2.0 * device.clip;
    device.distance = any ? 0 : (uint32_t)near;
    return device;
}

enum tremolo_status tremolo_study_file_guarantee_at(struct tremolo_study_guarantee *guarantee,
                                                    const struct tremolo_study_file *file,
                                                    double delta, double distance)
{
    if (guarantee == NULL || file == NULL || !(distance >= 0)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    struct tremolo_study device = tremolo_study_file_device_at(file, distance);
    return guarantee_of(guarantee, &device, delta, device.distance != 0 ? distance : 0);
}

/* "age, steps and sleep"; "" when that is too long for a sentence. */
static void list_features(char *text, size_t bytes, const struct tremolo_study_file *file)
{
    size_t used = 0;
    size_t count = tremolo_study_file_feature_count(file);
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        const char *before = i == 0 ? "" : i + 1 == count ? " and " : ", ";
        int written = snprintf(text + used, bytes - used, "%s%s", before,
                               tremolo_study_file_feature(file, i)->name);
        if (written < 0 || (size_t)written >= bytes - used) {
            text[0] = '\0';
            return;
        }
        used += (size_t)written;
    }
}

/* How far two samples can be apart in one feature alone, in its own unit: a number's
 * range is 2, as are yes and no. */
static void name_difference(struct tremolo_difference *difference,
                            const struct tremolo_study_feature *feature)
{
    if (feature->kind == TREMOLO_STUDY_NUMERIC) {
        (void)snprintf(difference->name, sizeof difference->name, "%s, %.6g%s%s apart",
                       feature->name, feature->high - feature->low,
                       feature->unit[0] != '\0' ? " " : "", feature->unit);
    } else {
        (void)snprintf(difference->name, sizeof difference->name, "a different %s%s",
                       feature->kind == TREMOLO_STUDY_YES_NO ? "answer to " : "", feature->name);
    }
    /* Two levels that are not the reference differ in two coordinates. */
    difference->distance = feature->level_count > 2 ? sqrt(8) : 2;
}

/* With computed terms whoever differs in a feature differs in every coordinate it is part of, in
 * each by at most all of its range. */
static double distance_of_terms(const struct tremolo_study_file *file, size_t feature)
{
    double coordinates = 0;
    for (size_t i = 0; i < file->dimension; i++) {
        const struct tremolo_derived *derived = &file->inputs->feature[i];
        for (size_t k = 0; k < derived->factors; k++) {
            coordinates += derived->factor[k].column == feature ? 1 : 0;
        }
    }
    return 2 * sqrt(coordinates);
}

/* Of computed terms, the numbers among their coordinates. */
size_t tremolo_study_file_extents(struct tremolo_extent *extents,
                                  const struct tremolo_study_file *file)
{
    bool derive = tremolo_inputs_derive(file->inputs);
    size_t all = (derive ? file->dimension : file->feature_count) + file->terms.response_private;
    size_t count = 0;
    for (size_t i = 0; i < all; i++) {
        if (derive) {
            const struct tremolo_study_coordinate *at = &file->coordinates[i];
            extents[count] = (struct tremolo_extent){at->name, "", at->high - at->low, 2};
            count += i == file->dimension ||
                     !tremolo_inputs_are_answers(file->inputs, &file->inputs->feature[i]);
        } else {
            const struct tremolo_study_feature *at = &file->features[i].shown;
            extents[count] = (struct tremolo_extent){at->name, at->unit, at->high - at->low, 2};
            count += at->kind == TREMOLO_STUDY_NUMERIC;
        }
    }
    return count;
}

size_t tremolo_study_file_ways(struct tremolo_difference *ways,
                               const struct tremolo_study_file *file)
{
    size_t count = file->feature_count + file->terms.response_private;
    size_t named = count <= TREMOLO_EXPLAIN_WAYS ? count : TREMOLO_EXPLAIN_WAYS - 1;
    struct tremolo_difference way = {.distance = 0};
    double widest = 0;
    for (size_t i = 0; i < count; i++) {
        struct tremolo_difference *row = i < named ? &ways[i] : &way;
        name_difference(row, &file->features[i].shown);
        if (i < file->feature_count && tremolo_inputs_derive(file->inputs)) {
            row->distance = distance_of_terms(file, i);
        }
        widest = fmax(widest, way.distance);
    }
    if (named < count) {
        tremolo_difference_of_more(&ways[named], count - named, widest);
    }
    return named < count ? named + 1 : count;
}

bool tremolo_study_file_clips(const struct tremolo_study_file *file)
{
    return file->terms.release == TREMOLO_RELEASE_SAMPLE &&
           file->terms.clip < sqrt((double)(file->dimension + file->terms.response_private));
}

/* Proved in sample.c for any distance: reports are the same bytes whichever the study names. */
static double mu_at(const void *context, double distance)
{
    const struct tremolo_study_file *file = context;
    struct tremolo_study device = file->device;
    struct tremolo_gaussian cost = {0};
    double near = fmin(ceil(distance * device.unit), 2.0 * device.clip);
    device.distance = near >= 1 ? (uint32_t)near : 1;
    enum tremolo_status status =
        tremolo_gaussian_add(&cost, tremolo_study_sensitivity(&device), ldexp(1, device.noise_log2),
                             (uint64_t)device.rounds * device.samples);
    return status == TREMOLO_OK ? tremolo_gaussian_mu(&cost).upper : INFINITY;
}

/* Of a ballot nothing counts but law, releases and what is private. */
static struct tremolo_promise promise_of(const struct tremolo_study_file *file,
                                         const struct tremolo_study_guarantee *guarantee)
{
    return (struct tremolo_promise){
        .law = {file->device.rank_first, file->device.rank_top},
        .neighbours =
            file->terms.distance > 0 ? TREMOLO_NEIGHBOURS_DISTANCE : TREMOLO_NEIGHBOURS_ANY,
        .distance = guarantee->distance,
        .diameter = 2.0 * file->device.clip / file->device.unit,
        .dimension = (unsigned)file->dimension,
        .mu = guarantee->mu,
        .releases = guarantee->releases,
        .samples = file->terms.samples,
        .clip = tremolo_study_file_clips(file) ? file->terms.clip : 0,
        .delta = guarantee->delta,
        .response_private = file->terms.response_private,
        .modulated = file->device.vectors > 0,
        .mu_at = mu_at,
        .context = file,
    };
}

enum tremolo_status tremolo_study_file_explain(struct tremolo_explanation *explanation,
                                               const struct tremolo_study_file *file, double delta)
{
    struct tremolo_study_guarantee guarantee;
    struct tremolo_difference ways[TREMOLO_EXPLAIN_WAYS] = {{.distance = 0}};
    struct tremolo_extent extents[TREMOLO_MAX_DIMENSION + 1];
    char features[TREMOLO_EXPLAIN_NAMES];
    if (explanation == NULL || file == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    enum tremolo_status status = tremolo_study_file_guarantee(&guarantee, file, delta);
    if (status != TREMOLO_OK) {
        return status;
    }
    struct tremolo_promise promise = promise_of(file, &guarantee);
    list_features(features, sizeof features, file);
    promise.features = features;
    promise.response = tremolo_study_file_response(file)->name;
    promise.ways = ways;
    promise.way_count = tremolo_study_file_ways(ways, file);
    for (size_t i = 0; i < file->feature_count; i++) {
        promise.answers |= file->features[i].shown.kind != TREMOLO_STUDY_NUMERIC;
    }
    promise.extents = extents;
    promise.extent_count = tremolo_study_file_extents(extents, file);
    return tremolo_explain(explanation, &promise);
}

enum tremolo_status tremolo_study_budget(uint32_t *budget, double epsilon, double delta)
{
    struct tremolo_certified mu;
    if (budget == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    enum tremolo_status status = tremolo_gaussian_mu_for(&mu, epsilon, delta);
    if (status != TREMOLO_OK) {
        return status;
    }
    /* Squaring may round up by one part in 2^53: step below it first. */
    double charge = floor(nextafter(mu.lower * mu.lower, 0) * (double)TREMOLO_CHARGE_ONE);
    if (!(charge >= 1)) {
        return TREMOLO_UNREACHABLE;
    }
    if (charge > UINT32_MAX) {
        return TREMOLO_OVERFLOWED;
    }
    *budget = (uint32_t)charge;
    return TREMOLO_OK;
}

enum tremolo_status tremolo_study_spent(double *epsilon, uint32_t spent, double delta)
{
    struct tremolo_gaussian cost = {0};
    struct tremolo_certified found = {0};
    if (epsilon == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    double mu = nextafter(sqrt(spent / (double)TREMOLO_CHARGE_ONE), INFINITY);
    enum tremolo_status status = spent > 0 ? tremolo_gaussian_add(&cost, mu, 1.0, 1) : TREMOLO_OK;
    if (status == TREMOLO_OK && spent > 0) {
        status = tremolo_gaussian_epsilon(&found, &cost, delta);
    }
    if (status == TREMOLO_OK) {
        *epsilon = found.upper;
    }
    return status;
}
