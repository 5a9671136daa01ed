/* simulation_settle.c -- from what somebody asked of a simulation to all that it needs.
 *
 * What was not asked for follows from the method, the guarantee and the study; what was and
 * would be ignored is refused: whoever asked expects an effect. */
#include "tremolo_simulation.h"

#include "refuse.h"

#include <math.h>

#include "ledger_file.h"
#include "inputs.h"

const char *const tremolo_simulation_option_names[TREMOLO_SIMULATION_OPTIONS] = {
    [TREMOLO_SIMULATION_DELTA] = "delta",     [TREMOLO_SIMULATION_CALIBRATION] = "calibration",
    [TREMOLO_SIMULATION_VECTORS] = "vectors", [TREMOLO_SIMULATION_ALPHA] = "alpha",
    [TREMOLO_SIMULATION_LAMBDA] = "lambda",   [TREMOLO_SIMULATION_OMEGA] = "omega",
    [TREMOLO_SIMULATION_ROUNDS] = "rounds",   [TREMOLO_SIMULATION_STEP] = "step",
    [TREMOLO_SIMULATION_RADIUS] = "radius",   [TREMOLO_SIMULATION_RIDGE] = "ridge",
    [TREMOLO_SIMULATION_CLIP] = "clip",       [TREMOLO_SIMULATION_SCALE] = "scale",
    [TREMOLO_SIMULATION_RELEASE] = "release",
};

static bool has(const struct tremolo_simulation *simulation, enum tremolo_simulation_option option)
{
    return (simulation->given & 1u << option) != 0;
}

void tremolo_simulation_begin(struct tremolo_simulation *simulation)
{
    *simulation = (struct tremolo_simulation){
        .experiment = {.epsilon = NAN,
                       .delta = 1e-5,
                       .neighbours = TREMOLO_NEIGHBOURS_ANY,
                       .protect_all = true,
                       .rounds = 10,
                       .vectors = SIZE_MAX,
                       .alpha = NAN,
                       .lambda = NAN,
                       .omega = NAN,
                       .ridge = NAN,
                       .step = NAN,
                       .radius = NAN,
                       .clip = NAN,
                       .threads = tremolo_processors()},
        .test_share = 0.2,
        .repeats = 1,
        .dashes = "",
    };
    if (tremolo_host_entropy(NULL, (uint8_t *)&simulation->seed, sizeof simulation->seed) != 0) {
        simulation->seed = 1;
    }
    simulation->seed &= UINT64_C(0xffffffff); /* short enough to be typed again */
}

void tremolo_simulation_take_study(struct tremolo_simulation *simulation,
                                   const struct tremolo_study_file *study)
{
    const struct tremolo_study_terms *terms = tremolo_study_file_terms(study);
    struct tremolo_experiment_options *experiment = &simulation->experiment;
    size_t coordinates = tremolo_study_file_dimension(study) + terms->response_private;
    /* The whole box is that of the columns which are simulated, and has their size. */
    simulation->clip = terms->clip != sqrt((double)coordinates) ? terms->clip : 0;
    experiment->study = tremolo_study_file_device(study);
    experiment->release = terms->release;
    experiment->epsilon = terms->epsilon;
    experiment->delta = terms->delta;
    experiment->neighbours =
        terms->distance > 0 ? TREMOLO_NEIGHBOURS_DISTANCE : TREMOLO_NEIGHBOURS_ANY;
    experiment->distance = terms->distance > 0 ? terms->distance : experiment->distance;
    experiment->protect_all = terms->response_private;
    experiment->calibration = terms->calibration;
    experiment->samples = terms->samples;
    experiment->vectors = terms->vectors;
    experiment->alpha = terms->alpha;
    if (terms->vectors > 0) {
        experiment->lambda = terms->lambda;
        experiment->omega = terms->omega;
    }
    if (terms->protocol != TREMOLO_STUDY_ONE_SHOT) {
        experiment->method = TREMOLO_EXPERIMENT_ITERATIVE;
        experiment->rounds = terms->rounds;
    }
}

/* Options of some methods only. What is asked of privacy is not among them: the output
 * states what was given. */
#define FOR(method) (1u << (method))
#define OF_ROUNDS                                                                                  \
    (FOR(TREMOLO_EXPERIMENT_ITERATIVE) | FOR(TREMOLO_EXPERIMENT_POOLED) |                          \
     FOR(TREMOLO_EXPERIMENT_DP_SGD))
#define OF_REPORTS (~(FOR(TREMOLO_EXPERIMENT_DP_SGD) | FOR(TREMOLO_EXPERIMENT_OLS)))

static const struct {
    enum tremolo_simulation_option option;
    unsigned methods;
} method_rules[] = {
    {TREMOLO_SIMULATION_ROUNDS, OF_ROUNDS},
    {TREMOLO_SIMULATION_STEP, OF_ROUNDS},
    {TREMOLO_SIMULATION_RADIUS, FOR(TREMOLO_EXPERIMENT_ITERATIVE) | FOR(TREMOLO_EXPERIMENT_POOLED)},
    {TREMOLO_SIMULATION_RIDGE, FOR(TREMOLO_EXPERIMENT_ONE_SHOT)},
    {TREMOLO_SIMULATION_CLIP, FOR(TREMOLO_EXPERIMENT_DP_SGD)},
    {TREMOLO_SIMULATION_VECTORS, OF_REPORTS},
    {TREMOLO_SIMULATION_ALPHA, OF_REPORTS},
    {TREMOLO_SIMULATION_LAMBDA, OF_REPORTS},
    {TREMOLO_SIMULATION_OMEGA, OF_REPORTS},
};

static bool check_method(const struct tremolo_simulation *simulation, char *error)
{
    const struct tremolo_experiment_options *experiment = &simulation->experiment;
    const char *dashes = simulation->dashes;
    for (size_t i = 0; i < sizeof method_rules / sizeof method_rules[0]; i++) {
        if (has(simulation, method_rules[i].option) &&
            (method_rules[i].methods & FOR(experiment->method)) == 0) {
            return refuse(error, "%s%s has no effect with the method %s", dashes,
                          tremolo_simulation_option_names[method_rules[i].option],
                          tremolo_experiment_method_name(experiment->method));
        }
    }
    return experiment->vectors != 0 || (isnan(experiment->lambda) && isnan(experiment->omega)) ||
           refuse(error, "%slambda and %somega have no effect without vectors", dashes, dashes);
}

/* What has no meaning for ballots is refused, not passed over. */
static bool check_ballot(const struct tremolo_simulation *simulation, char *error)
{
    const struct tremolo_experiment_options *experiment = &simulation->experiment;
    const char *dashes = simulation->dashes;
    if (experiment->release != TREMOLO_RELEASE_BALLOT) {
        return true;
    }
    if (experiment->neighbours != TREMOLO_NEIGHBOURS_ANY) {
        return refuse(error, "a ballot protects any two people; a distance needs %srelease sample",
                      dashes);
    }
    if (experiment->method != TREMOLO_EXPERIMENT_AUTO &&
        experiment->method != TREMOLO_EXPERIMENT_OLS) { /* which reads what no device sends */
        return refuse(error, "the method %s needs %srelease sample",
                      tremolo_experiment_method_name(experiment->method), dashes);
    }
    for (enum tremolo_simulation_option i = 0; i <= TREMOLO_SIMULATION_OMEGA; i++) {
        if (has(simulation, i)) {
            return refuse(error, "%s%s has no effect on ballots; it needs %srelease sample", dashes,
                          tremolo_simulation_option_names[i], dashes);
        }
    }
    double ballots = (double)tremolo_experiment_releases(experiment);
    double each = experiment->epsilon / ballots;
    if (!(each >= TREMOLO_RANK_EPSILON_MIN && each <= TREMOLO_RANK_EPSILON_MAX)) {
        return refuse(error, "%sepsilon of %s must be from %g to %g", dashes,
                      ballots > 1 ? "each of a device's ballots" : "ballots",
                      TREMOLO_RANK_EPSILON_MIN, TREMOLO_RANK_EPSILON_MAX);
    }
    return !has(simulation, TREMOLO_SIMULATION_SCALE) ||
           simulation->scaling != TREMOLO_SCALING_STANDARD ||
           refuse(error, "%sscale standard needs %srelease sample", dashes, dashes);
}

/* A distance is in half ranges everywhere; in standard deviations it has another name. */
static bool check_distance(const struct tremolo_simulation *simulation, char *error)
{
    const char *dashes = simulation->dashes;
    if (simulation->experiment.neighbours == TREMOLO_NEIGHBOURS_ANY ||
        !has(simulation, TREMOLO_SIMULATION_SCALE) ||
        simulation->deviations == (simulation->scaling == TREMOLO_SCALING_STANDARD)) {
        return true;
    }
    return simulation->deviations
               ? refuse(error, "deviations are standard deviations: they need %sscale standard",
                        dashes)
               : refuse(error,
                        "a distance is in half ranges; with %sscale standard it is "
                        "%sneighbours deviations=R, in standard deviations",
                        dashes, dashes);
}

static void set_default(double *value, double otherwise)
{
    if (isnan(*value)) {
        *value = otherwise;
    }
}

/* `auto` and `ols` need no modulation; the paper's methods get the paper's. */
static void set_mechanism(struct tremolo_experiment_options *experiment)
{
    bool plain = experiment->method == TREMOLO_EXPERIMENT_AUTO ||
                 experiment->method == TREMOLO_EXPERIMENT_OLS ||
                 experiment->method == TREMOLO_EXPERIMENT_DP_SGD;
    if (experiment->vectors == SIZE_MAX) {
        bool asked = !isnan(experiment->lambda) || !isnan(experiment->omega);
        experiment->vectors = plain && !asked ? 0 : 1;
    }
    set_default(&experiment->alpha, plain ? 0 : 0.5);
    set_default(&experiment->lambda, 0.2);
    set_default(&experiment->omega, 1);
    set_default(&experiment->ridge, 0.5);
    set_default(&experiment->clip, 2);
}

static void set_defaults(struct tremolo_simulation *simulation,
                         const struct tremolo_study_file *study)
{
    struct tremolo_experiment_options *experiment = &simulation->experiment;
    set_mechanism(experiment);
    if (!has(simulation, TREMOLO_SIMULATION_SCALE)) {
        simulation->scaling = experiment->release == TREMOLO_RELEASE_BALLOT ? TREMOLO_SCALING_RANGES
                              : simulation->deviations ? TREMOLO_SCALING_STANDARD
                                                       : TREMOLO_SCALING_BOUNDS;
    }
    const struct tremolo_study_terms *terms =
        study != NULL && tremolo_experiment_takes_rounds(experiment->method)
            ? tremolo_study_file_terms(study)
            : NULL;
    bool theirs = terms != NULL && terms->protocol == TREMOLO_STUDY_ITERATIVE;
    set_default(&experiment->step, theirs                                            ? terms->step
                                   : experiment->method == TREMOLO_EXPERIMENT_DP_SGD ? 0.1
                                                                                     : 0.8);
    /* The study's ball is in its own units. */
    set_default(&experiment->radius,
                theirs && simulation->scaling == TREMOLO_SCALING_BOUNDS ? terms->radius : 0);
}

static bool check_budget(const struct tremolo_simulation *simulation, char *error)
{
    const struct tremolo_experiment_options *experiment = &simulation->experiment;
    if (experiment->method != TREMOLO_EXPERIMENT_DP_SGD &&
        tremolo_experiment_releases(experiment) > UINT16_MAX) {
        return refuse(error,
                      "%srounds %zu with %zu samples of a device in each are more than %d releases",
                      simulation->dashes, experiment->rounds, experiment->samples, UINT16_MAX);
    }
    return !isnan(experiment->epsilon) || experiment->method == TREMOLO_EXPERIMENT_OLS ||
           refuse(error, "%sepsilon E is needed", simulation->dashes);
}

bool tremolo_simulation_settle(struct tremolo_simulation *simulation,
                               const struct tremolo_study_file *study,
                               char error[TREMOLO_TABLE_ERROR_BYTES])
{
    struct tremolo_experiment_options *experiment = &simulation->experiment;
    if (!has(simulation, TREMOLO_SIMULATION_RELEASE) && study == NULL) {
        /* Any two people are told apart least by ballots, which have one method. */
        bool can = experiment->neighbours == TREMOLO_NEIGHBOURS_ANY &&
                   experiment->method == TREMOLO_EXPERIMENT_AUTO;
        experiment->release = can ? TREMOLO_RELEASE_BALLOT : TREMOLO_RELEASE_SAMPLE;
    }
    if (!check_budget(simulation, error) || !check_ballot(simulation, error) ||
        !check_distance(simulation, error) || !check_method(simulation, error)) {
        return false;
    }
    if (study != NULL && experiment->epsilon != tremolo_study_file_terms(study)->epsilon) {
        experiment->study = NULL; /* another guarantee has other integers */
    }
    set_defaults(simulation, study);
    return true;
}

bool tremolo_simulation_fits(const struct tremolo_simulation *simulation,
                             const struct tremolo_design *design,
                             char error[TREMOLO_TABLE_ERROR_BYTES])
{
    const struct tremolo_experiment_options *experiment = &simulation->experiment;
    size_t train = design->rows - (size_t)(simulation->test_share * (double)design->rows);
    size_t m = experiment->method != TREMOLO_EXPERIMENT_OLS ? experiment->vectors : 0;
    size_t more = tremolo_experiment_takes_rounds(experiment->method) ? 1 : 0;
    if (train < design->features + 2) {
        return refuse(error, "%zu features need at least %zu devices, and %zu are left of %zu rows",
                      design->features, design->features + 2, train, design->rows);
    }
    if (experiment->neighbours == TREMOLO_NEIGHBOURS_DISTANCE &&
        tremolo_inputs_derive(design->inputs)) {
        return refuse(error,
                      "%sneighbours must be any where terms are computed: how far apart two people "
                      "are says little of how far apart their terms are",
                      simulation->dashes);
    }
    return m == 0 || m + more <= design->features ||
           refuse(error, "%zu vectors do not fit into %zu features", m, design->features);
}

void tremolo_simulation_explain(char error[TREMOLO_TABLE_ERROR_BYTES], enum tremolo_status status,
                                const char *constant, const struct tremolo_simulation *simulation)
{
    if (status == TREMOLO_SINGULAR && constant != NULL) {
        (void)refuse(
            error,
            "'%s' is the same in all training rows of a split, as a rare answer can be, or "
            "too large to scale; try another %sseed or, if it is a feature, leave its column out",
            constant, simulation->dashes);
    } else if (status == TREMOLO_SINGULAR) {
        (void)refuse(error, "the features depend linearly on one another; leave some out");
    } else if (status == TREMOLO_UNREACHABLE) {
        (void)refuse(error,
                     "no noise the device can make gives epsilon %g for this data's range; clip "
                     "outliers or ask for another epsilon",
                     simulation->experiment.epsilon);
    } else {
        (void)refuse(error, "%s", tremolo_status_sentence(status));
    }
}
