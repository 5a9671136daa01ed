/* simulation_settle.c -- from what was asked of a simulation to all that it needs.
 *
 * What was not asked for follows from the method, the guarantee and the study. What was asked for
 * and would have no effect is refused, because the caller expects one. The paper's mechanism
 * (modulation, step, ball) has no parameters here: a study file fixes it, and without one the
 * paper's own values hold. */
#include "experiment.h"
#include "tremolo_simulation.h"

#include <math.h>

#include "inputs.h"
#include "refuse.h"
#include "ledger_file.h"
#include "study_internal.h"

/* Without the system's entropy the seed is 1: a simulation has no real people to
 * protect, so that is no failure. */
void tremolo_simulation_begin(struct tremolo_simulation *simulation)
{
    *simulation = (struct tremolo_simulation){
        .experiment = {.epsilon = NAN,
                       .delta = NAN,
                       .neighbours = TREMOLO_NEIGHBOURS_ANY,
                       .protect_all = true,
                       .ridge = 0.5,
                       .threads = tremolo_processors()},
        .release_follows = true,
        .test_share = 0.2,
        .repeats = 1,
    };
    if (tremolo_host_entropy(NULL, (uint8_t *)&simulation->seed, sizeof simulation->seed) != 0) {
        simulation->seed = 1;
    }
    simulation->seed &= UINT64_C(0xffffffff); /* short enough to be typed again */
}

/* The order is the caller's: what is set after this overrides the study. */
void tremolo_simulation_take_study(struct tremolo_simulation *simulation,
                                   const struct tremolo_study_file *study)
{
    const struct tremolo_study_terms *terms = tremolo_study_file_terms(study);
    struct tremolo_experiment_options *experiment = &simulation->experiment;
    size_t coordinates = tremolo_study_file_dimension(study) + terms->response_private;
    /* The whole box is that of the columns which are simulated, and has their size. */
    simulation->clip = terms->clip != sqrt((double)coordinates) ? terms->clip : 0;
    simulation->release_follows = false;
    experiment->study = tremolo_study_file_device(study);
    experiment->release = terms->release;
    experiment->epsilon = terms->epsilon;
    experiment->delta = terms->release == TREMOLO_RELEASE_SAMPLE ? terms->delta : NAN;
    experiment->neighbours =
        terms->distance > 0 ? TREMOLO_NEIGHBOURS_DISTANCE : TREMOLO_NEIGHBOURS_ANY;
    experiment->distance = terms->distance;
    experiment->protect_all = terms->response_private;
    experiment->calibration = terms->calibration;
    experiment->samples = terms->samples;
    experiment->vectors = terms->vectors;
    experiment->alpha = terms->alpha;
    experiment->lambda = terms->lambda;
    experiment->omega = terms->omega;
    if (terms->protocol != TREMOLO_STUDY_ONE_SHOT) {
        experiment->method = TREMOLO_EXPERIMENT_ITERATIVE;
        experiment->rounds = terms->rounds;
    }
}

/* ---------------------------------------------------------------- what has no effect */

/* A ballot has one method and no delta. */
static bool check_ballot(const struct tremolo_simulation *simulation, bool delta_asked,
                         struct tremolo_refusal *refusal)
{
    const struct tremolo_experiment_options *experiment = &simulation->experiment;
    if (experiment->neighbours != TREMOLO_NEIGHBOURS_ANY) {
        return refuse_member(refusal, "neighbours",
                             "must be any for ballots, which protect any two people; a distance "
                             "needs the release sample");
    }
    if (experiment->method != TREMOLO_EXPERIMENT_AUTO &&
        experiment->method != TREMOLO_EXPERIMENT_OLS) { /* which reads what no device sends */
        return refuse_member(refusal, "method", "%s needs the release sample",
                             tremolo_experiment_method_name(experiment->method));
    }
    if (delta_asked) {
        return refuse_member(refusal, "delta",
                             "has no effect on ballots; it needs the release sample");
    }
    double ballots = (double)tremolo_experiment_releases(experiment);
    double each = experiment->epsilon / ballots;
    return (each >= TREMOLO_RANK_EPSILON_MIN && each <= TREMOLO_RANK_EPSILON_MAX) ||
           refuse_member(refusal, "epsilon", "of %s must be from %g to %g",
                         ballots > 1 ? "each of a device's ballots" : "ballots",
                         TREMOLO_RANK_EPSILON_MIN, TREMOLO_RANK_EPSILON_MAX);
}

/* A device counts its releases in 16 bits. */
static bool check_rounds(const struct tremolo_experiment_options *experiment, bool asked,
                         struct tremolo_refusal *refusal)
{
    if (asked && !tremolo_experiment_takes_rounds(experiment->method)) {
        return refuse_member(refusal, "rounds", "has no effect with the method %s",
                             tremolo_experiment_method_name(experiment->method));
    }
    return tremolo_experiment_releases(experiment) <= UINT16_MAX ||
           refuse_member(refusal, "rounds",
                         "of %zu with %zu samples of a device in each are more than %d releases",
                         experiment->rounds, experiment->samples, UINT16_MAX);
}

/* ---------------------------------------------------------------- what follows */

/* NaN means "not asked for". */
static double or_else(double value, double otherwise)
{
    return isnan(value) ? otherwise : value;
}

/* What only the method decides. A ball is in the study's scaled units, which are the
 * simulation's, too. */
static void set_method(struct tremolo_simulation *simulation,
                       const struct tremolo_study_file *study)
{
    struct tremolo_experiment_options *experiment = &simulation->experiment;
    const struct tremolo_study_terms *terms =
        study != NULL ? tremolo_study_file_terms(study) : NULL;
    bool paper = experiment->method != TREMOLO_EXPERIMENT_AUTO &&
                 experiment->method != TREMOLO_EXPERIMENT_OLS;
    if (study == NULL && paper) {
        experiment->vectors = 1;
        experiment->alpha = 0.5;
        experiment->lambda = 0.2;
        experiment->omega = 1;
    }
    bool theirs = terms != NULL && terms->protocol == TREMOLO_STUDY_ITERATIVE &&
                  tremolo_experiment_takes_rounds(experiment->method);
    experiment->step = theirs ? terms->step : 0.8;
    experiment->radius = theirs ? terms->radius : 0;
    experiment->rounds = experiment->rounds > 0 ? experiment->rounds : 10;
    experiment->delta = or_else(experiment->delta, 1e-5);
    simulation->scaling = experiment->release == TREMOLO_RELEASE_BALLOT ? TREMOLO_SCALING_RANGES
                                                                        : TREMOLO_SCALING_BOUNDS;
    if (terms != NULL && experiment->epsilon != terms->epsilon) {
        experiment->study = NULL; /* another guarantee has other integers */
    }
}

/* What was asked for is found before defaults replace what was not. */
bool tremolo_simulation_settle(struct tremolo_simulation *simulation,
                               const struct tremolo_study_file *study,
                               struct tremolo_refusal *refusal)
{
    struct tremolo_experiment_options *experiment = &simulation->experiment;
    const struct tremolo_study_terms *terms =
        study != NULL ? tremolo_study_file_terms(study) : NULL;
    bool theirs = terms != NULL && terms->protocol != TREMOLO_STUDY_ONE_SHOT;
    bool rounds_asked = experiment->rounds != (theirs ? terms->rounds : 0);
    bool delta_theirs = terms != NULL && terms->release == TREMOLO_RELEASE_SAMPLE &&
                        experiment->delta == terms->delta;
    bool delta_asked = !isnan(experiment->delta) && !delta_theirs;
    if (simulation->release_follows) {
        bool can = experiment->neighbours == TREMOLO_NEIGHBOURS_ANY &&
                   experiment->method == TREMOLO_EXPERIMENT_AUTO;
        experiment->release = can ? TREMOLO_RELEASE_BALLOT : TREMOLO_RELEASE_SAMPLE;
    }
    set_method(simulation, study);
    if (isnan(experiment->epsilon) && experiment->method != TREMOLO_EXPERIMENT_OLS) {
        return refuse_member(refusal, "epsilon", "is needed");
    }
    return check_rounds(experiment, rounds_asked, refusal) &&
           (experiment->release != TREMOLO_RELEASE_BALLOT ||
            check_ballot(simulation, delta_asked, refusal));
}

/* Each feature and the intercept need a device, and one more leaves a residual. */
bool tremolo_simulation_fits(const struct tremolo_simulation *simulation,
                             const struct tremolo_design *design, struct tremolo_refusal *refusal)
{
    const struct tremolo_experiment_options *experiment = &simulation->experiment;
    size_t train = design->rows - (size_t)(simulation->test_share * (double)design->rows);
    size_t m = experiment->method != TREMOLO_EXPERIMENT_OLS ? experiment->vectors : 0;
    size_t more = tremolo_experiment_takes_rounds(experiment->method) ? 1 : 0;
    if (train < design->features + 2) {
        return refuse_member(refusal, NULL,
                             "%zu features need at least %zu devices, and %zu are left of %zu rows",
                             design->features, design->features + 2, train, design->rows);
    }
    if (experiment->neighbours == TREMOLO_NEIGHBOURS_DISTANCE &&
        tremolo_inputs_derive(design->inputs)) {
        return refuse_member(refusal, "neighbours",
                             "must be any where terms are computed: how far apart two people are "
                             "says little of how far apart their terms are");
    }
    return m == 0 || m + more <= design->features ||
           refuse_member(refusal, NULL, "%zu vectors do not fit into %zu features", m,
                         design->features);
}

/* A split can be unlucky, which a caller cannot know from the status alone. */
void tremolo_simulation_explain(char error[TREMOLO_TABLE_ERROR_BYTES], enum tremolo_status status,
                                const char *constant, const struct tremolo_simulation *simulation)
{
    if (status == TREMOLO_SINGULAR && constant != NULL) {
        (void)refuse(error,
                     "'%s' is the same in all training rows of a split, as a rare answer can be, "
                     "or too large to scale; try another seed or, if it is a feature, leave its "
                     "column out",
                     constant);
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
