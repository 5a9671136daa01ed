/* test_device_ballot.c -- ballots: one answer for each place, the order of the
 * scores, what a ballot costs, what is refused, and both budgets in one ledger. */
#include <math.h>
#include <stdlib.h>

#include "fake_device.h"
#include "parts.h"
#include "testing.h"

enum { D_MAX = 6, ENTRIES_MAX = (D_MAX + 2) * (D_MAX + 3) / 2 + 1, ANSWERS = 256 };

static struct fake_entropy random_source = {.state = 4711};

static struct tremolo_study ballot_study(unsigned dimension, unsigned response)
{
    struct tremolo_study study = fake_study(dimension, 9);
    study.release = TREMOLO_RELEASE_BALLOT;
    study.rounds = 1;
    study.response = (uint8_t)response;
    study.constant = 282;
    study.response_weight = response == TREMOLO_RESPONSE_PRIVATE ? 515 : 0;
    study.rank_first = 57;
    study.rank_top = UINT32_C(2923410234);
    return study;
}

/* One question: a study, a sample and an id, ready for every rank. */
struct question {
    struct tremolo_study study;
    struct tremolo_sample sample;
    struct tremolo_work work;
    int32_t features[D_MAX];
};

static void ask(struct question *question, unsigned dimension, unsigned response)
{
    memset(question, 0, sizeof *question);
    question->study = ballot_study(dimension, response);
    for (unsigned i = 0; i < dimension; i++) {
        const struct tremolo_bounds *range = &question->study.bounds[i];
        int32_t width = range->high - range->low;
        question->features[i] =
            fake_between(&random_source, range->low - width / 2, range->high + width / 2);
    }
    question->sample = (struct tremolo_sample){question->features, 0, 0};
    question->sample.response = fake_between(&random_source, -1200, 1200);
    question->work.study = &question->study;
    question->work.sample = &question->sample;
    for (unsigned i = 0; i < TREMOLO_REPORT_ID_BYTES; i++) {
        question->work.id[i] = (uint8_t)fake_random(&random_source);
    }
}

static unsigned answer_at(struct question *question, unsigned rank)
{
    question->work.rank = rank;
    return tremolo_ballot_answer(&question->work);
}

/* Each answer has exactly one place, so the law of the place is the law of the
 * answers: for sound studies, and for numbers no check would let through. */
static void test_every_place_holds_one_answer(void **state)
{
    static struct question question;
    (void)state;
    for (unsigned trial = 0; trial < 24; trial++) {
        unsigned char seen[ANSWERS] = {0};
        ask(&question, 1 + trial % D_MAX, trial % 2);
        if (trial % 4 == 3) {
            question.study.constant = UINT16_MAX;
            question.study.response_weight = UINT16_MAX;
            question.features[0] = trial % 8 == 3 ? INT32_MIN : INT32_MAX;
        }
        for (unsigned rank = 0; rank < ANSWERS; rank++) {
            unsigned answer = answer_at(&question, rank);
            assert_int_equal(seen[answer]++, 0);
        }
    }
}

/* phi in floating point. */
static unsigned true_point(double *phi, const struct question *question)
{
    const struct tremolo_study *study = &question->study;
    double g = study->response_weight / 256.0;
    double v[D_MAX + 2];
    double length2 = 0;
    unsigned count = 0;
    unsigned entry = 0;
    v[count++] = study->constant / 256.0;
    for (unsigned i = 0; i < study->dimension; i++) {
        double width = study->bounds[i].high - study->bounds[i].low;
        v[count++] = 2.0 * (question->features[i] - study->bounds[i].low) / width - 1.0;
    }
    double full = g * g;
    for (unsigned i = 0; i < count; i++) {
        full += v[i] * v[i];
    }
    if (study->response == TREMOLO_RESPONSE_PRIVATE) {
        v[count++] = g * fmin(fmax(question->sample.response / 1000.0, -1.0), 1.0);
    }
    for (unsigned i = 0; i < count; i++) {
        for (unsigned j = i; j < count; j++) {
            double times = i == j ? 1.0 : sqrt(2.0);
            if (j == study->dimension + 1u) {
                times *= i == 0 ? 1.5 : i == j ? 0.5 : 1.0;
            }
            phi[entry] = times * v[i] * v[j] / full;
            length2 += phi[entry] * phi[entry];
            entry++;
        }
    }
    if (study->response == TREMOLO_RESPONSE_PRIVATE) {
        double y2 = v[count - 1] * v[count - 1];
        phi[entry] = sqrt((g * g - y2) * (2.0 * full - g * g + y2 / 4.0)) / full;
        length2 += phi[entry] * phi[entry];
        entry++;
    }
    /* g is rounded to 1/256, so that g^2 / h^2 is 10/3 within 0.2%. */
    assert_true(fabs(length2 - 1.0) < 0.002);
    return entry;
}

/* <row, phi> of the answer's row as a server expands it. */
static double true_score(struct question *question, unsigned answer)
{
    double phi[ENTRIES_MAX];
    int8_t row[ENTRIES_MAX];
    uint8_t sent = (uint8_t)answer;
    struct tremolo_report report = {.study_tag = question->study.id,
                                    .id = question->work.id,
                                    .coordinates = &sent,
                                    .coordinate_bytes = 1,
                                    .has_response = question->study.response == 0};
    double score = 0;
    unsigned entries = true_point(phi, question);
    assert_int_equal(tremolo_ballot_entries(&question->study), entries);
    assert_status(tremolo_ballot_expand(row, sizeof row, &report, &question->study), TREMOLO_OK);
    for (unsigned i = 0; i < entries; i++) {
        score += row[i] * phi[i];
    }
    return score;
}

/* Scores have a standard deviation of sqrt 40 and the device keeps steps of
 * 2^-11 of that at most twice: neighbours may change places within 0.02. */
static void test_answers_are_ordered_by_their_scores(void **state)
{
    static struct question question;
    (void)state;
    for (unsigned trial = 0; trial < 12; trial++) {
        ask(&question, 1 + trial % D_MAX, trial % 2);
        double before = INFINITY;
        for (unsigned rank = 0; rank < ANSWERS; rank++) {
            double score = true_score(&question, answer_at(&question, rank));
            assert_true(score < before + 0.02);
            before = score;
        }
    }
}

static void test_charges_are_above_the_exact_ones(void **state)
{
    static const struct {
        uint8_t first;
        uint32_t top;
    } laws[] = {{128, UINT32_C(1) << 31}, {57, 2923410234u}, {1, UINT32_MAX - (1u << 17)},
                {128, 3u << 30},          {2, 1u << 30},     {90, 2147483649u}};
    (void)state;
    for (size_t i = 0; i < sizeof laws / sizeof laws[0]; i++) {
        struct tremolo_study study = ballot_study(3, 1);
        study.rank_first = laws[i].first;
        study.rank_top = laws[i].top;
        double late = 4294967296.0 - laws[i].top;
        double exact = log(laws[i].top / late) + log((256.0 - laws[i].first) / laws[i].first);
        double above = tremolo_study_charge(&study) - exact * TREMOLO_CHARGE_ONE;
        assert_status(tremolo_study_check(&study), TREMOLO_OK);
        assert_true(above >= 0 && above < 3);
    }
}

struct change {
    const char *what;
    uint8_t release, response, rank_first;
    uint16_t constant, response_weight;
    uint32_t rank_top;
    enum tremolo_status wanted;
};

static void test_wrong_studies_are_refused_and_cost_nothing(void **state)
{
    static const struct change changes[] = {
        {"sound", 1, 1, 57, 282, 515, 2923410234u, TREMOLO_OK},
        {"h too small", 1, 1, 57, 63, 115, 2923410234u, TREMOLO_BAD_BALLOT},
        {"h too large", 1, 1, 57, 4097, 7482, 2923410234u, TREMOLO_BAD_BALLOT},
        {"g too small", 1, 1, 57, 282, 514, 2923410234u, TREMOLO_BAD_BALLOT},
        {"g too large", 1, 1, 57, 282, 516, 2923410234u, TREMOLO_BAD_BALLOT},
        {"g with a public response", 1, 0, 57, 282, 515, 2923410234u, TREMOLO_BAD_BALLOT},
        {"T of 0", 1, 1, 0, 282, 515, 2923410234u, TREMOLO_BAD_BALLOT},
        {"T of 129", 1, 1, 129, 282, 515, 2923410234u, TREMOLO_BAD_BALLOT},
        {"q of 0", 1, 1, 57, 282, 515, 0, TREMOLO_BAD_BALLOT},
        {"the worst first", 1, 1, 57, 282, 515, 900000000, TREMOLO_BAD_BALLOT},
        {"epsilon beyond 16", 1, 1, 1, 282, 515, UINT32_MAX, TREMOLO_BAD_BALLOT},
        {"no such release", 2, 1, 57, 282, 515, 2923410234u, TREMOLO_BAD_RELEASE},
    };
    static struct tremolo_work work;
    static struct fake_device device;
    struct tremolo_platform platform;
    int32_t features[3] = {0};
    struct tremolo_sample sample = {features, 0, 0};
    struct tremolo_round round = {NULL, 0};
    (void)state;
    fake_device_init(&device, 5);
    platform = fake_device_platform(&device, 2, 1);
    assert_status(tremolo_device_enrol(&work, &platform, 0, 100u << 24), TREMOLO_OK);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        const struct change *change = &changes[i];
        struct tremolo_study study = ballot_study(3, change->response);
        uint8_t report[TREMOLO_MAX_REPORT_BYTES];
        size_t length = sizeof report;
        uint32_t left = 0;
        study.release = change->release;
        study.rank_first = change->rank_first;
        study.rank_top = change->rank_top;
        study.constant = change->constant;
        study.response_weight = change->response_weight;
        assert_status(
            tremolo_device_report(&work, report, &length, &study, &round, &sample, &platform),
            change->wanted);
        assert_status(tremolo_device_epsilon(&work, &left, &platform), TREMOLO_OK);
        assert_int_equal(left, (100u << 24) -
                                   tremolo_study_charge(&(struct tremolo_study){
                                       .release = 1, .rank_first = 57, .rank_top = 2923410234u}));
    }
}

/* Random bytes that a draw took: those before `next` are used up. */
static unsigned bytes_drawn(struct tremolo_work *work, const struct tremolo_study *study,
                            unsigned trial)
{
    struct fake_device device;
    fake_device_init(&device, trial);
    struct tremolo_platform platform = fake_device_platform(&device, 1, 0);
    work->study = study;
    assert_status(tremolo_generator_seed(&work->generator, &platform, added_nothing, added_nothing),
                  TREMOLO_OK);
    tremolo_ballot_draw(work);
    return work->generator.next;
}

/* The same random bytes once as an early rank and once as a late one: both draws
 * take the same number of them, and the rank is on the side that was asked for. */
static void test_a_draw_does_not_tell_early_from_late(void **state)
{
    static const uint8_t firsts[] = {1, 2, 57, 128};
    static struct tremolo_work work;
    struct tremolo_study study = ballot_study(3, 1);
    (void)state;
    for (unsigned trial = 0; trial < 400; trial++) {
        study.rank_first = firsts[trial % 4];
        study.rank_top = UINT32_MAX;
        unsigned early = bytes_drawn(&work, &study, trial);
        assert_true(work.rank < study.rank_first);
        study.rank_top = 0;
        unsigned late = bytes_drawn(&work, &study, trial);
        assert_true(work.rank >= study.rank_first && work.rank < 256);
        assert_int_equal(early, late);
    }
}

/* One device, a study of each release. */
struct both {
    struct fake_device device;
    struct tremolo_platform platform;
    struct tremolo_work work;
    struct tremolo_study studies[2];
};

static enum tremolo_status report_to(struct both *both, unsigned which, unsigned number)
{
    static const int32_t features[3] = {1, 2, 3};
    struct tremolo_sample sample = {features, 4, (uint16_t)number};
    struct tremolo_round round = {NULL, 0};
    uint8_t report[TREMOLO_MAX_REPORT_BYTES];
    size_t length = sizeof report;
    return tremolo_device_report(&both->work, report, &length, &both->studies[which], &round,
                                 &sample, &both->platform);
}

static void enrol_both(struct both *both, uint32_t budget, uint32_t epsilon)
{
    memset(both, 0, sizeof *both);
    fake_device_init(&both->device, 6);
    both->platform = fake_device_platform(&both->device, 2, 1);
    both->studies[0] = fake_study(3, 1);
    both->studies[1] = ballot_study(3, 1);
    assert_status(tremolo_device_enrol(&both->work, &both->platform, budget, epsilon), TREMOLO_OK);
}

static void assert_left(struct both *both, uint32_t budget, uint32_t epsilon)
{
    uint32_t left = 1;
    assert_status(tremolo_device_budget(&both->work, &left, &both->platform), TREMOLO_OK);
    assert_int_equal(left, budget);
    assert_status(tremolo_device_epsilon(&both->work, &left, &both->platform), TREMOLO_OK);
    assert_int_equal(left, epsilon);
}

static void test_both_budgets_side_by_side(void **state)
{
    static struct both both;
    (void)state;
    enrol_both(&both, 40u << 24, 3u << 24);
    uint32_t mu2 = tremolo_study_charge(&both.studies[0]);
    uint32_t epsilon = tremolo_study_charge(&both.studies[1]);
    assert_status(report_to(&both, 1, 0), TREMOLO_OK);
    assert_left(&both, 40u << 24, (3u << 24) - epsilon);
    assert_status(report_to(&both, 0, 0), TREMOLO_OK);
    assert_left(&both, (40u << 24) - mu2, (3u << 24) - epsilon);
    assert_status(report_to(&both, 1, 1), TREMOLO_BUDGET_EXHAUSTED);
    assert_status(report_to(&both, 1, 0), TREMOLO_OK);
    assert_status(report_to(&both, 0, 1), TREMOLO_OK);
    assert_left(&both, (40u << 24) - 2 * mu2, (3u << 24) - epsilon);
}

/* A study that changes its release and keeps its tag is charged as two: what it
 * spent of one budget never moves to the other, in either direction, and each
 * repeats its own bytes. */
static void test_a_charge_stays_with_its_budget(void **state)
{
    (void)state;
    for (unsigned first = 0; first < 2; first++) {
        static struct both both;
        enrol_both(&both, 40u << 24, 30u << 24);
        memcpy(both.studies[1].id, both.studies[0].id, sizeof both.studies[0].id);
        uint32_t mu2 = tremolo_study_charge(&both.studies[0]);
        uint32_t epsilon = tremolo_study_charge(&both.studies[1]);
        assert_status(report_to(&both, first, 0), TREMOLO_OK);
        assert_left(&both, (40u << 24) - (first == 0 ? mu2 : 0),
                    (30u << 24) - (first == 1 ? epsilon : 0));
        for (unsigned number = 0; number < 2; number++) {
            assert_status(report_to(&both, !first, number), TREMOLO_OK);
            assert_status(report_to(&both, first, number), TREMOLO_OK);
            assert_left(&both, (40u << 24) - (number + 1) * mu2,
                        (30u << 24) - (number + 1) * epsilon);
        }
    }
}

/* A device that enrols with no budget of epsilon makes noisy samples and no ballots. */
static void test_no_budget_of_epsilon(void **state)
{
    static struct both both;
    (void)state;
    enrol_both(&both, 40u << 24, 0);
    assert_status(report_to(&both, 1, 0), TREMOLO_BUDGET_EXHAUSTED);
    assert_status(report_to(&both, 0, 0), TREMOLO_OK);
    assert_status(report_to(&both, 1, 0), TREMOLO_BUDGET_EXHAUSTED);
    assert_left(&both, (40u << 24) - tremolo_study_charge(&both.studies[0]), 0);
}

/* Whatever is measured, a study's reports have one length. */
static void test_one_length(void **state)
{
    static struct tremolo_work work;
    static struct fake_device device;
    (void)state;
    for (unsigned release = 0; release < 2; release++) {
        for (int32_t y = -1000; y <= 1000; y += 125) {
            struct tremolo_study study = release ? ballot_study(3, 0) : fake_study(3, 3);
            struct tremolo_platform platform;
            int32_t features[3] = {y, -y, 0};
            struct tremolo_sample sample = {features, y, 0};
            struct tremolo_round round = {NULL, 0};
            uint8_t report[TREMOLO_MAX_REPORT_BYTES];
            size_t length = sizeof report;
            struct tremolo_report decoded;
            fake_device_init(&device, 7);
            platform = fake_device_platform(&device, 1, 0);
            assert_status(tremolo_device_enrol(&work, &platform, 1u << 30, 1u << 30), TREMOLO_OK);
            assert_status(
                tremolo_device_report(&work, report, &length, &study, &round, &sample, &platform),
                TREMOLO_OK);
            assert_int_equal(length, release ? 44 : 48);
            assert_status(tremolo_report_decode(&decoded, report, length), TREMOLO_OK);
            assert_true(fabs(decoded.response - y * 32767 / 1000.0) < 1);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_place_holds_one_answer),
        cmocka_unit_test(test_answers_are_ordered_by_their_scores),
        cmocka_unit_test(test_charges_are_above_the_exact_ones),
        cmocka_unit_test(test_wrong_studies_are_refused_and_cost_nothing),
        cmocka_unit_test(test_a_draw_does_not_tell_early_from_late),
        cmocka_unit_test(test_both_budgets_side_by_side),
        cmocka_unit_test(test_a_charge_stays_with_its_budget),
        cmocka_unit_test(test_no_budget_of_epsilon),
        cmocka_unit_test(test_one_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
