/* test_lab_public.c -- the lab as a program calls it: a plan, a simulation, an audit,
 * the generator that seeds them all. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "audit.h"
#include "release.h"
#include "tremolo_planning.h"
#include "regression.h"
#include "simulation_json.h"

enum { ROWS = 600, FEATURES = 2 };

static struct tremolo_design make_design(void)
{
    struct tremolo_random random = tremolo_random_from(1, 2);
    struct tremolo_design design = {.rows = ROWS, .features = FEATURES};
    design.name = calloc(FEATURES, sizeof *design.name);
    design.X = malloc((size_t)ROWS * FEATURES * sizeof *design.X);
    design.y = malloc(ROWS * sizeof *design.y);
    if (design.name == NULL || design.X == NULL || design.y == NULL) {
        abort();
    }
    for (size_t r = 0; r < ROWS; r++) {
        double *x = design.X + r * FEATURES;
        x[0] = tremolo_random_normal(&random);
        x[1] = tremolo_random_uniform(&random);
        design.y[r] = 2.0 * x[0] - x[1] + 0.1 * tremolo_random_normal(&random);
    }
    return design;
}

static struct tremolo_simulation make_simulation(unsigned threads)
{
    return (struct tremolo_simulation){
        .experiment = {.method = TREMOLO_EXPERIMENT_AUTO,
                       .epsilon = 100,
                       .delta = 1e-5,
                       .neighbours = TREMOLO_NEIGHBOURS_DISTANCE,
                       .distance = 1,
                       .rounds = 1,
                       .threads = threads},
        .scaling = TREMOLO_SCALING_BOUNDS,
        .test_share = 0.2,
        .repeats = 2,
        .seed = 3,
    };
}

/* The result follows from the seed alone. */
static void test_simulation(void **state)
{
    (void)state;
    struct tremolo_design design = make_design();
    struct tremolo_simulation_result *one = NULL, *two = NULL, *none = NULL;
    struct tremolo_simulation simulation = make_simulation(1);
    struct tremolo_refusal refusal = {.why = ""};
    assert_int_equal(tremolo_simulation_run(&one, &refusal, &simulation, &design), TREMOLO_OK);
    simulation.experiment.threads = 3;
    assert_int_equal(tremolo_simulation_run(&two, &refusal, &simulation, &design), TREMOLO_OK);
    assert_int_equal(one->devices, 480);
    assert_int_equal(one->held_out, 120);
    assert_int_equal(one->estimate.features, FEATURES);
    assert_memory_equal(one->r2, two->r2, 2 * sizeof *one->r2);
    assert_memory_equal(one->estimate.rows, two->estimate.rows, 3 * sizeof *one->estimate.rows);
    assert_true(one->r2_ols[0] > 0.99);
    assert_true(one->r2[0] > 0.5 && fabs(one->r2[0] - one->r2_ols[0]) < 0.1);
    assert_true(one->privacy.epsilon <= 100);
    tremolo_simulation_free(one);
    tremolo_simulation_free(two);
    for (size_t r = 0; r < ROWS; r++) {
        design.X[r * FEATURES] = 1.0;
    }
    (void)snprintf(design.name[0], sizeof design.name[0], "same");
    assert_int_equal(tremolo_simulation_run(&none, &refusal, &simulation, &design),
                     TREMOLO_SINGULAR);
    assert_memory_equal(refusal.why, "'same' is the same", 18);
    assert_null(none);
    tremolo_design_free(&design);
}

/* A request for noisy samples at a distance, or for ballots. */
static struct tremolo_plan_request request_for(enum tremolo_release_kind release, size_t dimension,
                                               double epsilon, double variance)
{
    struct tremolo_plan_request request;
    tremolo_plan_begin(&request);
    request.guess.dimension = dimension;
    request.guess.devices = 1e6;
    request.guess.feature_variance = request.guess.response_variance = variance;
    request.release = release;
    request.epsilon = epsilon;
    if (release == TREMOLO_RELEASE_SAMPLE) {
        request.distance = 1;
        request.response_private = false;
    }
    return request;
}

static void test_plan(void **state)
{
    (void)state;
    struct tremolo_plan_request request = request_for(TREMOLO_RELEASE_SAMPLE, 3, 1, 1);
    struct tremolo_plan_answer many, few;
    struct tremolo_refusal refusal;
    assert_true(tremolo_plan_settle(&request, &refusal));
    assert_int_equal(tremolo_plan_study(&many, &request), TREMOLO_OK);
    request.guess.devices = 100;
    assert_int_equal(tremolo_plan_study(&few, &request), TREMOLO_OK);
    assert_true(many.verdict.told && !few.verdict.told);
    /* What is needed does not depend on how many there are. */
    assert_true(fabs(many.verdict.devices / few.verdict.devices - 1.0) < 1e-9);
    assert_true(few.verdict.devices > 100 && few.verdict.devices < 1e6);
    /* Those farther apart than the neighbours are told apart more often. */
    assert_true(many.attacks.promised < many.attacks.ends &&
                many.attacks.ends < many.attacks.any_two);
    /* zCDP asks for more noise than the exact accountant. */
    request.calibration = TREMOLO_CALIBRATION_ZCDP;
    assert_int_equal(tremolo_plan_study(&few, &request), TREMOLO_OK);
    assert_true(many.noise_sd < few.noise_sd);
    request.half_width = 1e-12;
    assert_int_equal(tremolo_plan_study(&few, &request), TREMOLO_UNREACHABLE);
}

/* A refusal names the member, and no option. */
static void test_plan_refusals(void **state)
{
    (void)state;
    struct tremolo_plan_request request = request_for(TREMOLO_RELEASE_BALLOT, 3, 2, 0.25);
    struct tremolo_refusal refusal;
    const struct {
        const char *member;
        double devices, epsilon, distance, effect, correlation;
    } cases[] = {{"devices", 0, 2, 0, NAN, 0},   {"epsilon", 10, NAN, 0, NAN, 0},
                 {"epsilon", 10, 20, 0, NAN, 0}, {"neighbours", 10, 2, 1, NAN, 0},
                 {"effect", 10, 2, 0, 0, 0},     {"correlation", 10, 2, 0, NAN, -0.6}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        request.guess.devices = cases[i].devices;
        request.epsilon = cases[i].epsilon;
        request.distance = cases[i].distance;
        request.effect = cases[i].effect;
        request.guess.correlation = cases[i].correlation;
        assert_false(tremolo_plan_settle(&request, &refusal));
        assert_string_equal(refusal.member, cases[i].member);
        assert_null(strstr(refusal.why, "--"));
    }
}

static void test_plan_ballots(void **state)
{
    (void)state;
    struct tremolo_plan_request request = request_for(TREMOLO_RELEASE_BALLOT, 8, 2, 0.25);
    struct tremolo_plan_answer many, few;
    assert_int_equal(tremolo_plan_study(&many, &request), TREMOLO_OK);
    request.guess.devices = 100;
    assert_int_equal(tremolo_plan_study(&few, &request), TREMOLO_OK);
    assert_true(many.verdict.told && !few.verdict.told);
    for (size_t i = 0; i < many.lever_count; i++) {
        assert_true(many.levers[i].devices == few.levers[i].devices);
        assert_true(many.levers[i].r2 > few.levers[i].r2);
    }
    /* Between the two, coefficients are large enough to be told, and intervals do not hold yet. */
    assert_true(many.verdict.identified && !few.verdict.identified);
    assert_true(fabs(many.verdict.devices_identified - few.verdict.devices_identified) <= 1.0);
    request.guess.devices = many.verdict.devices;
    assert_int_equal(tremolo_plan_study(&few, &request), TREMOLO_OK);
    assert_true(few.verdict.told && !few.verdict.identified);
    assert_true(few.result.noise_ratio > TREMOLO_PLAN_RATIO_BALLOT);
    request.guess.devices = many.verdict.devices_identified;
    assert_int_equal(tremolo_plan_study(&few, &request), TREMOLO_OK);
    assert_true(few.verdict.told && few.verdict.identified);
    /* The same guarantee by noisy samples needs 500 times as many at least. */
    assert_int_equal(many.levers[1].request.release, TREMOLO_RELEASE_SAMPLE);
    assert_true(many.levers[1].devices > 500 * many.levers[0].devices);
    /* Half the budget costs devices, and makes an attacker's life harder. */
    assert_int_equal(many.levers[2].kind, TREMOLO_LEVER_EPSILON);
    assert_true(many.levers[2].devices > many.levers[0].devices &&
                many.levers[2].attack < many.levers[0].attack);
    const struct tremolo_plan_lever *trusted = &many.levers[many.lever_count - 1];
    assert_int_equal(trusted->kind, TREMOLO_LEVER_TRUST);
    assert_true(trusted->devices < many.levers[0].devices);
    /* Four million draws of such noise on the 56 sums: .5534, standard error .0002; a multiple
     * of that is allowed, and what epsilon alone would tell is .88. */
    assert_true(fabs(trusted->attack - 0.5534) < 0.001);
    request.half_width = 1e-12;
    assert_int_equal(tremolo_plan_study(&few, &request), TREMOLO_UNREACHABLE);
}

/* A ballot study with a rare answer, by itself or as the product of two, and one more number. */
static struct tremolo_plan_request rare_request(const char *features, const char *terms)
{
    char text[1024];
    struct tremolo_study_file *study = NULL;
    struct tremolo_plan_request request;
    (void)snprintf(text, sizeof text,
                   "{\"tremolo\": 1, \"title\": \"t\", \"features\": [%s], %s \"response\": "
                   "{\"name\": \"y\", \"low\": 0, \"high\": 1}, \"privacy\": {\"epsilon\": 2, "
                   "\"neighbours\": \"any\", \"protects\": \"all\"}, \"protocol\": {\"release\": "
                   "\"ballot\"}}",
                   features, terms);
    assert_int_equal(tremolo_study_file_parse(&study, NULL, text, strlen(text)), TREMOLO_OK);
    tremolo_plan_begin(&request);
    tremolo_plan_take_study(&request, study);
    tremolo_study_file_free(study);
    request.guess.devices = 1e6;
    return request;
}

/* An answer of a share and a product of two answers of the same share have intervals of the same
 * width. Devices for a width or an effect are those of the widest, as in the verdict. */
static void test_plan_rare_answers(void **state)
{
    (void)state;
    struct tremolo_plan_answer plain, rare;
    struct tremolo_plan_request answer = rare_request(
        "{\"name\": \"a\", \"kind\": \"yes-no\", \"typical\": 0.5}, {\"name\": \"b\", \"kind\": "
        "\"yes-no\", \"typical\": 0.5}, {\"name\": \"c\", \"kind\": \"yes-no\", \"typical\": 0.04}",
        "");
    struct tremolo_plan_request product = rare_request(
        "{\"name\": \"a\", \"kind\": \"yes-no\", \"typical\": 0.2}, {\"name\": \"b\", \"kind\": "
        "\"yes-no\", \"typical\": 0.2}",
        "\"terms\": [\"a\", \"b\", \"a:b\"],");
    double wider = answer.guess.feature_variance / answer.least_variance;
    assert_true(wider > 2.0 && fabs(product.least_variance / answer.least_variance - 1.0) < 1e-12);
    answer.half_width = 0.05;
    answer.effect = 0.3;
    assert_int_equal(tremolo_plan_study(&rare, &answer), TREMOLO_OK);
    answer.half_width /= wider;
    answer.effect /= wider;
    answer.least_variance = 0;
    assert_int_equal(tremolo_plan_study(&plain, &answer), TREMOLO_OK);
    assert_true(rare.devices_for_width == plain.devices_for_width);
    assert_true(rare.devices_for_power == plain.devices_for_power);
    assert_true(rare.verdict.devices > 2.0 * plain.verdict.devices);
    /* What is guessed afterwards counts: features that all vary as little are as wide. */
    answer.guess.feature_variance = product.least_variance;
    assert_int_equal(tremolo_plan_study(&plain, &answer), TREMOLO_OK);
    answer.least_variance = product.least_variance;
    assert_int_equal(tremolo_plan_study(&rare, &answer), TREMOLO_OK);
    assert_true(rare.verdict.devices == plain.verdict.devices);
}

/* A study that clips nothing is planned as one without a radius: fewer features have a smaller box. */
static void test_plan_of_a_study_has_its_box(void **state)
{
    (void)state;
    static const char text[] =
        "{\"tremolo\": 1, \"title\": \"t\", \"features\": [{\"name\": \"a\", \"low\": 0, \"high\": "
        "1}, {\"name\": \"b\", \"low\": 0, \"high\": 1}], \"response\": {\"name\": \"y\", \"low\": "
        "0, \"high\": 1}, \"privacy\": {\"epsilon\": 8, \"neighbours\": \"any\", \"protects\": "
        "\"all\"}, \"protocol\": {\"release\": \"sample\", \"kind\": \"one-shot\"}}";
    struct tremolo_study_file *study = NULL;
    struct tremolo_plan_request request;
    assert_int_equal(tremolo_study_file_parse(&study, NULL, text, sizeof text - 1), TREMOLO_OK);
    tremolo_plan_begin(&request);
    tremolo_plan_take_study(&request, study);
    tremolo_study_file_free(study);
    assert_true(request.radius == 0);
}

/* How many liars turn a sign follows from the cut of the study that a file would make of the same
 * request: with its modulation and rounding, in half ranges. */
static void test_plan_liars_by_the_study(void **state)
{
    (void)state;
    static const double lambdas[3] = {0.0, 0.5, 2.0};
    double fewest = INFINITY;
    for (size_t i = 0; i < 3; i++) {
        struct tremolo_plan_request request = {.guess = {.dimension = 4,
                                                         .devices = 1e6,
                                                         .feature_variance = 1.0 / 3.0,
                                                         .r2 = 0.5,
                                                         .response_variance = 1,
                                                         .vectors = i > 0 ? 2 : 0},
                                               .epsilon = 3,
                                               .delta = 1e-5,
                                               .radius = 2,
                                               .response_private = true,
                                               .alpha = i > 0 ? 0.25 : 0.0,
                                               .lambda = lambdas[i],
                                               .omega = i > 0 ? 1.0 : 0.0,
                                               .samples = 2};
        const struct tremolo_bounds bounds[4] = {{-1, 1}, {-1, 1}, {-1, 1}, {-1, 1}};
        struct tremolo_study study = {.bounds = bounds, .response_bounds = {-1, 1}};
        struct tremolo_mechanism_scales scales;
        const struct tremolo_mechanism_request asked = {4,
                                                        true,
                                                        1.0,
                                                        2.0,
                                                        TREMOLO_NEIGHBOURS_ANY,
                                                        0.0,
                                                        3.0,
                                                        1e-5,
                                                        2,
                                                        TREMOLO_CALIBRATION_EXACT,
                                                        request.alpha,
                                                        lambdas[i],
                                                        request.omega,
                                                        request.guess.vectors};
        struct tremolo_honest law;
        assert_int_equal(tremolo_mechanism_fill(&study, &scales, &asked), TREMOLO_OK);
        tremolo_honest_law(&law, &study);
        /* scales.sigma is the noise in half ranges times 1 - alpha, law.unit the same in wire units. */
        double wire = scales.sigma / (1.0 - request.alpha) / law.unit;
        double push = 0.5 * (double)law.limits.norm2[TREMOLO_TAIL_CUT] * wire * wire;
        double honest = sqrt(0.5 * 1.0 / (4.0 / 3.0)) / 3.0;
        double liars = tremolo_plan_liars(&request);
        /* One for rounding up, and a ten thousandth for the integers. */
        assert_true(fabs(liars - 1e6 * honest / (honest + push)) < 1.0 + 1e-4 * liars);
        assert_true(liars < fewest); /* modulation hides liars */
        fewest = liars;
    }
}

/* An honest build fails with probability 1e-6; samples twice as large as claimed are caught,
 * and so is the law of twice the epsilon. Ballots of too many features are refused. */
static void test_audit(void **state)
{
    (void)state;
    static struct tremolo_audit_plan plan;
    static struct tremolo_audit_result result;
    for (int wrong = 0; wrong < 4; wrong++) {
        double factor = wrong % 2 != 0 ? 2.0 : 1.0;
        assert_int_equal(wrong < 2 ? tremolo_audit_plan_make(&plan, 1.0, 1e-3, 2, factor)
                                   : tremolo_audit_plan_ballot(&plan, 1.0, 1, factor),
                         TREMOLO_OK);
        plan.pairs = 1000;
        plan.confidence = 0.95;
        plan.seed = 5;
        plan.seeded = true;
        plan.timing = wrong == 0;
        assert_int_equal(tremolo_audit_run(&result, &plan, NULL), TREMOLO_OK);
        assert_int_equal(result.caught, wrong % 2);
        for (unsigned i = 0; i < result.check_count; i++) {
            const struct tremolo_audit_check *check = &result.checks[i];
            assert_true(check->failed == (check->finding[0] != '\0'));
            assert_true(check->failed == (check->p < result.check_p));
        }
    }
    assert_int_equal(tremolo_audit_plan_make(&plan, 1.0, 1e-3, 1, 1.0), TREMOLO_BAD_ARGUMENT);
    assert_int_equal(tremolo_audit_plan_make(&plan, -1.0, 1e-3, 4, 1.0), TREMOLO_BAD_ARGUMENT);
    assert_int_equal(tremolo_audit_plan_ballot(&plan, 1.0, 33, 1.0), TREMOLO_BAD_ARGUMENT);
}

static void test_generator(void **state)
{
    (void)state;
    struct tremolo_random a = {7};
    for (uint64_t i = 0; i < 10; i++) {
        assert_true(tremolo_random_bits(&a) == tremolo_random_hash(7, i));
    }
    /* splitmix64's first number from 0, as its author publishes it. */
    assert_true(tremolo_random_hash(0, 0) == UINT64_C(0xe220a8397b1dcdaf));
    struct tremolo_random b = tremolo_random_from(1, 0), c = tremolo_random_from(1, 1);
    assert_true(tremolo_random_bits(&b) != tremolo_random_bits(&c));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_simulation),
        cmocka_unit_test(test_plan),
        cmocka_unit_test(test_plan_refusals),
        cmocka_unit_test(test_plan_rare_answers),
        cmocka_unit_test(test_plan_of_a_study_has_its_box),
        cmocka_unit_test(test_plan_liars_by_the_study),
        cmocka_unit_test(test_plan_ballots),
        cmocka_unit_test(test_audit),
        cmocka_unit_test(test_generator),
    };
    return cmocka_run_group_tests_name("lab", tests, NULL, NULL);
}
