/* test_estimate_liars.c -- liars among honest devices are seen, and what was beyond honest noise
 * is left out of the robust estimate. Prints the tables of docs/explanation/threat-model.md.
 *
 * Noisy samples: 60,000 devices, three features and a private response, noise of two half
 * ranges. Liars push the first slope, which is -0.6, upwards: with the largest norm that is
 * accepted, or with the largest that the robust estimate keeps. Ballots: 20,000 devices at epsilon
 * 2; liars send rows as they are found by trying 2^40 ids. Seeds are fixed.
 *
 * Hypotheses and false alarms: honest reports raise no alarm, also when every sample is at the
 * clip (an alarm has probability 1e-6 a study, 8 are made); the robust estimate's standard
 * deviation over 200 honest studies is within 2% of the plain one's: both see the same
 * reports but 1 in 10,000, so their ratio has a standard deviation below 0.1%. */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tremolo_estimate.h"
#include "tremolo_planning.h"
#include "regression.h"
#include "release.h"

enum { D = 3, N = D + 1, DEVICES = 60000, BALLOT_DEVICES = 20000, UNIT = 1 << 16 };

static const double slope[D] = {-0.6, 0.3, 0.0};

static struct tremolo_study sample_study(bool response_private)
{
    return (struct tremolo_study){.rounds = 1,
                                  .samples = 1,
                                  .dimension = D,
                                  .unit = UNIT,
                                  .clip = 2 * UNIT,
                                  .keep = TREMOLO_KEEP_ONE,
                                  .noise_log2 = 17,
                                  .wire_shift = 9,
                                  .wire_bits = 14,
                                  .response = response_private ? TREMOLO_RESPONSE_PRIVATE
                                                               : TREMOLO_RESPONSE_PUBLIC};
}

static double clamp(double value)
{
    return fmax(-1.0, fmin(1.0, value));
}

static double person(double x[D], struct tremolo_random *random)
{
    double y = 0.0;
    for (size_t i = 0; i < D; i++) {
        x[i] = 2.0 * tremolo_random_uniform(random) - 1.0;
        y += slope[i] * x[i];
    }
    return clamp(y + 0.2 * tremolo_random_normal(random));
}

/* ---------------------------------------------------------------- noisy samples */

struct found {
    struct tremolo_coefficient plain, robust; /* the first slope */
    struct tremolo_tails tails;
    bool set_aside;
};

static void add_row(struct tremolo_moments *moments, const struct tremolo_study *study,
                    const double value[N], double noise, struct tremolo_random *random)
{
    int16_t row[N];
    bool response_private = study->response == TREMOLO_RESPONSE_PRIVATE;
    double wire = ldexp(1.0, study->wire_shift);
    for (size_t i = 0; i < N; i++) {
        double units = value[i] * UNIT / wire + noise * tremolo_random_normal(random);
        row[i] = (int16_t)(i < D || response_private ? lrint(units)
                                                     : lrint(value[i] * TREMOLO_RESPONSE_MAX));
    }
    uint8_t bucket = (uint8_t)(tremolo_random_bits(random) % TREMOLO_BUCKETS);
    assert_true(tremolo_row_norm2(row, study) <= tremolo_row_norm2_max(study));
    assert_status(tremolo_release_fold(moments, study, row, &bucket, 1), TREMOLO_OK);
}

static struct tremolo_moments *honest_samples(const struct tremolo_study *study, size_t devices,
                                              struct tremolo_random *random)
{
    struct tremolo_moments *moments = NULL;
    assert_status(tremolo_release_sums(&moments, study), TREMOLO_OK);
    for (size_t k = 0; k < devices; k++) {
        double value[N];
        value[D] = person(value, random);
        add_row(moments, study, value, ldexp(1.0, study->noise_log2 - study->wire_shift), random);
    }
    return moments;
}

/* Up and to the right: what pushes a slope up most for its norm. */
static void add_liars(struct tremolo_moments *moments, const struct tremolo_study *study,
                      size_t liars, double norm2, struct tremolo_random *random)
{
    double wire = ldexp(1.0, study->wire_shift);
    double norm = (sqrt(norm2) - 2.0) * wire / UNIT; /* rounding may add to it */
    bool response_private = study->response == TREMOLO_RESPONSE_PRIVATE;
    for (size_t k = 0; k < liars; k++) {
        double sign = k % 2 == 0 ? 1.0 : -1.0;
        double each = sign * norm * (response_private ? M_SQRT1_2 : 1.0);
        const double value[N] = {each, 0.0, 0.0, response_private ? each : sign};
        add_row(moments, study, value, 0.0, random);
    }
}

static struct tremolo_coefficient infer(const struct tremolo_debiased *samples,
                                        const struct tremolo_ballot *ballots)
{
    struct tremolo_coefficient rows[N];
    static const double zero[D];
    static const double one[D] = {1.0, 1.0, 1.0};
    const struct tremolo_units units = {zero, one, 0.0, 1.0};
    assert_status(ballots != NULL ? tremolo_ballot_infer(rows, ballots, &units, 0.95)
                                  : tremolo_infer(rows, samples, &units, 0.95),
                  TREMOLO_OK);
    return rows[0];
}

static void judge(struct found *found, const struct tremolo_moments *moments,
                  const struct tremolo_study *study)
{
    struct tremolo_honest law;
    struct tremolo_tail tail;
    tremolo_honest_law(&law, study);
    assert_true(tremolo_moments_tail(&tail, moments));
    tremolo_tails_judge(&found->tails, &tail, &law);
}

static struct found find(struct tremolo_moments *moments, const struct tremolo_study *study)
{
    const struct tremolo_sample_release release = tremolo_release_of(study, 1, 1);
    struct tremolo_honest law;
    struct tremolo_evidence evidence;
    tremolo_honest_law(&law, study);
    assert_status(tremolo_evidence_of(&evidence, moments, study, &law, &release), TREMOLO_OK);
    assert_true(evidence.watched);
    struct found found = {
        .tails = evidence.tails,
        .set_aside = evidence.robust_samples != NULL || evidence.robust_ballots != NULL,
        .plain = infer(evidence.samples, evidence.ballots),
    };
    found.robust =
        found.set_aside ? infer(evidence.robust_samples, evidence.robust_ballots) : found.plain;
    tremolo_evidence_free(&evidence);
    return found;
}

static struct found attack(const struct tremolo_study *study, size_t liars, bool largest)
{
    struct tremolo_random random = tremolo_random_from(15, 0);
    struct tremolo_moments *moments = honest_samples(study, DEVICES - liars, &random);
    struct tremolo_honest law;
    tremolo_honest_law(&law, study);
    add_liars(moments, study, liars,
              largest ? tremolo_row_norm2_max(study) : (double)law.limits.norm2[TREMOLO_TAIL_CUT],
              &random);
    struct found found = find(moments, study);
    tremolo_moments_free(moments);
    return found;
}

/* The limit at which what was seen is least likely. */
static size_t worst_limit(const struct tremolo_tails *tails)
{
    size_t worst = 0;
    for (size_t k = 1; k < TREMOLO_TAIL_LIMITS; k++) {
        double excess = (double)tails->norm[k].seen / tails->norm[k].expected;
        if (tails->norm[k].seen > 3 &&
            excess > (double)tails->norm[worst].seen / tails->norm[worst].expected) {
            worst = k;
        }
    }
    return worst;
}

static void print_row(const char *who, size_t liars, const struct found *found)
{
    size_t k = worst_limit(&found->tails);
    (void)printf("# | %s | %zu | %.2f +- %.2f (p %.1g) | %.4g expected beyond %.1f, %llu seen | "
                 "%s | %.2f +- %.2f (p %.1g) |\n",
                 who, liars, found->plain.estimate, found->plain.standard_error, found->plain.p,
                 found->tails.norm[k].expected, found->tails.norm[k].beyond,
                 (unsigned long long)found->tails.norm[k].seen, found->tails.alarm ? "yes" : "no",
                 found->robust.estimate, found->robust.standard_error, found->robust.p);
}

static void test_liars_are_seen_and_left_out(void **state)
{
    (void)state;
    for (int response_private = 1; response_private >= 0; response_private--) {
        struct tremolo_study study = sample_study(response_private != 0);
        const char *of = response_private != 0 ? "all" : "features";
        char who[64];
        for (size_t liars = 0; liars <= 200; liars = liars == 0 ? 25 : 2 * liars) {
            struct found found = attack(&study, liars, true);
            (void)snprintf(who, sizeof who, "%s, largest accepted", of);
            print_row(who, liars, &found);
            assert_int_equal(found.tails.alarm, liars > 0);
            /* Four standard errors: 1e-4 that an honest estimate is farther away. */
            assert_true(fabs(found.robust.estimate - slope[0]) < 4 * found.robust.standard_error);
            if (response_private != 0 && liars >= 100) {
                assert_true(found.plain.estimate > 0.0);
            }
            if (liars == 0) {
                continue;
            }
            struct found hidden = attack(&study, liars, false);
            (void)snprintf(who, sizeof who, "%s, largest kept", of);
            print_row(who, liars, &hidden);
            assert_true(hidden.tails.alarm || liars < 100);
            /* Who stays below the cut has less than half of the influence left. */
            assert_true(response_private == 0 || liars > 100 ||
                        hidden.robust.estimate - slope[0] <
                            0.55 * (found.plain.estimate - slope[0]));
        }
    }
}

/* A plan for the population above: the guessed coefficient is the first slope's size. */
static struct tremolo_plan_request plan_of(enum tremolo_release_kind release, double devices)
{
    return (struct tremolo_plan_request){
        .guess = {.dimension = D,
                  .devices = devices,
                  .feature_variance = 1.0 / 3.0,
                  .r2 = slope[0] * slope[0],
                  .response_variance = 1.0,
                  .level = 0.95},
        .release = release,
        .epsilon = 2.0,
        .delta = 1e-5,
        .radius = 2.0,
        .response_private = true,
        .samples = 1,
        .half_width = NAN,
        .effect = NAN,
    };
}

/* So many as `plan` says leave nothing of the slope: within four standard errors of zero. */
static void test_plan_counts_liars(void **state)
{
    struct tremolo_study study = sample_study(true);
    struct tremolo_plan_request request = plan_of(TREMOLO_RELEASE_SAMPLE, DEVICES);
    double high = 100.0;
    (void)state;
    for (int i = 0; i < 50; i++) { /* the epsilon at which the noise is two half ranges */
        double middle = 0.5 * (request.epsilon + high);
        struct tremolo_plan_request tried = request;
        struct tremolo_plan_answer answer;
        tried.epsilon = middle;
        assert_status(tremolo_plan_study(&answer, &tried), TREMOLO_OK);
        *(answer.noise_sd > 2.0 ? &request.epsilon : &high) = middle;
    }
    double liars = tremolo_plan_liars(&request);
    struct found found = attack(&study, (size_t)liars, false);
    (void)printf("# plan: %.0f liars turn the sign, slope %.3f +- %.3f\n", liars,
                 found.robust.estimate, found.robust.standard_error);
    assert_true(fabs(found.robust.estimate) < 4 * found.robust.standard_error);
    request.guess.devices *= 2;
    assert_true(fabs(tremolo_plan_liars(&request) / liars - 2.0) < 2.0 / liars);
}

static void test_honest_reports_raise_no_alarm(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 8; seed++) {
        struct tremolo_study study = sample_study(seed % 2 == 0);
        struct tremolo_random random = tremolo_random_from(seed, 1);
        struct tremolo_moments *moments = NULL;
        double norm = study.clip / (double)UNIT;
        const double corner[N] = {norm * M_SQRT1_2, norm * M_SQRT1_2, 0.0, 0.0};
        assert_status(tremolo_release_sums(&moments, &study), TREMOLO_OK);
        for (size_t k = 0; k < DEVICES; k++) {
            add_row(moments, &study, corner, 256.0, &random);
        }
        struct found found;
        judge(&found, moments, &study);
        assert_false(found.tails.alarm);
        for (size_t k = 0; k < TREMOLO_TAIL_LIMITS; k++) { /* Poisson, beyond six deviations */
            double expected = found.tails.norm[k].expected;
            assert_true((double)found.tails.norm[k].seen < expected + 6 * sqrt(expected) + 6);
        }
        /* The law is tight where samples are at the clip: half of what may come does. */
        assert_true((double)found.tails.norm[0].seen > 0.5 * found.tails.norm[0].expected);
        tremolo_moments_free(moments);
    }
}

static void test_robust_costs_honest_studies_nothing(void **state)
{
    enum { STUDIES = 200, SMALL = 20000 };
    struct tremolo_study study = sample_study(true);
    double sum[2] = {0};
    double square[2] = {0};
    double apart = 0.0;
    double errors[2] = {0};
    (void)state;
    for (uint64_t seed = 0; seed < STUDIES; seed++) {
        struct tremolo_random random = tremolo_random_from(seed, 2);
        struct tremolo_moments *moments = honest_samples(&study, SMALL, &random);
        struct found found = find(moments, &study);
        const double estimate[2] = {found.plain.estimate, found.robust.estimate};
        for (size_t e = 0; e < 2; e++) {
            sum[e] += estimate[e] - slope[0];
            square[e] += (estimate[e] - slope[0]) * (estimate[e] - slope[0]);
        }
        errors[0] += found.plain.standard_error;
        errors[1] += found.robust.standard_error;
        apart += estimate[1] - estimate[0];
        tremolo_moments_free(moments);
    }
    double sd = sqrt(square[0] / STUDIES);
    (void)printf("# robust by plain: spread %.4f, standard errors %.4f; mean difference %.4f sd\n",
                 sqrt(square[1] / square[0]), errors[1] / errors[0], apart / STUDIES / sd);
    assert_true(fabs(sqrt(square[1] / square[0]) - 1.0) < 0.02);
    assert_true(fabs(errors[1] / errors[0] - 1.0) < 0.02);
    assert_true(fabs(apart / STUDIES) < 0.02 * sd);
}

/* ---------------------------------------------------------------- ballots */

static struct tremolo_study ballot_study(void)
{
    struct tremolo_study study = {.rounds = 1,
                                  .samples = 1,
                                  .dimension = D,
                                  .release = TREMOLO_RELEASE_BALLOT,
                                  .response = TREMOLO_RESPONSE_PRIVATE,
                                  .constant = 154, /* 0.6 */
                                  .response_weight = TREMOLO_BALLOT_WEIGHT(154),
                                  .rank_first = 57, /* epsilon 2 */
                                  .rank_top = UINT32_C(2923410234)};
    memset(study.id, 15, sizeof study.id);
    return study;
}

enum { ENTRIES = 16, NUMBERS = D + 2, ANSWERS = 256 };

/* (svec of the point's products, what is missing of its length) */
static void point_of(double phi[ENTRIES], const double x[D], double y,
                     const struct tremolo_study *study)
{
    double u[NUMBERS] = {(double)study->constant / TREMOLO_BALLOT_ONE};
    double g = (double)study->response_weight / TREMOLO_BALLOT_ONE;
    double norm2 = u[0] * u[0] + g * g;
    double left = 1.0;
    size_t at = 0;
    for (size_t i = 0; i < D; i++) {
        u[i + 1] = x[i];
        norm2 += x[i] * x[i];
    }
    u[D + 1] = g * y;
    for (size_t i = 0; i < NUMBERS; i++) {
        for (size_t j = i; j < NUMBERS; j++) {
            double times = i == j ? 1.0 : M_SQRT2;
            if (j == NUMBERS - 1) {
                times *= i == 0 ? 1.5 : i == j ? 0.5 : 1.0;
            }
            phi[at] = times * u[i] * u[j] / norm2;
            left -= phi[at] * phi[at];
            at++;
        }
    }
    phi[at] = sqrt(fmax(0.0, left));
}

struct scored {
    double score;
    unsigned answer;
};

static int by_score(const void *a, const void *b)
{
    double difference = ((const struct scored *)b)->score - ((const struct scored *)a)->score;
    return (difference > 0) - (difference < 0);
}

static double product_with(const int8_t row[ENTRIES], const double phi[ENTRIES])
{
    double product = 0.0;
    for (size_t i = 0; i < ENTRIES; i++) {
        product += row[i] * phi[i];
    }
    return product;
}

/* All answers' scores: those of a block follow from five flips of a sign. `ballot` has the id. */
static void score_answers(struct scored scored[ANSWERS], const struct tremolo_study *study,
                          const int16_t ballot[EXPAND_ROW_VALUES], const double phi[ENTRIES])
{
    enum { FLIPS = 6 };
    static int8_t rows[8 * FLIPS][ENTRIES];
    static int16_t ballots[8 * FLIPS][EXPAND_ROW_VALUES];
    for (unsigned i = 0; i < 8 * FLIPS; i++) {
        memcpy(ballots[i], ballot, sizeof ballots[i]);
        ballots[i][EXPAND_ANSWER] =
            (int16_t)(i / FLIPS << 5 | (i % FLIPS > 0 ? 1u << (i % FLIPS - 1) : 0));
    }
    expand_rows(rows[0], ENTRIES, study->id, ballots[0], 8 * FLIPS, true);
    for (unsigned block = 0; block < 8; block++) {
        int8_t(*row)[ENTRIES] = &rows[block * FLIPS];
        double flip[5];
        double all_minus = product_with(row[0], phi);
        for (unsigned j = 0; j < 5; j++) {
            flip[j] = product_with(row[1 + j], phi) - all_minus;
        }
        for (unsigned a = 0; a < 32; a++) {
            struct scored *one = &scored[block << 5 | a];
            *one = (struct scored){all_minus, block << 5 | a};
            for (unsigned j = 0; j < 5; j++) {
                one->score += (a >> j & 1) != 0 ? flip[j] : 0.0;
            }
        }
    }
}

static void add_honest_ballot(struct tremolo_moments *moments, const struct tremolo_study *study,
                              struct tremolo_random *random)
{
    int16_t row[EXPAND_ROW_VALUES] = {0};
    struct scored scored[ANSWERS];
    double x[D];
    double phi[ENTRIES];
    uint8_t id[TREMOLO_REPORT_ID_BYTES];
    for (size_t i = 0; i < sizeof id; i++) {
        id[i] = (uint8_t)tremolo_random_bits(random);
    }
    memcpy(row, id, sizeof id);
    double y = person(x, random);
    point_of(phi, x, y, study);
    score_answers(scored, study, row, phi);
    qsort(scored, ANSWERS, sizeof scored[0], by_score);
    bool first = tremolo_random_uniform(random) < ldexp((double)study->rank_top, -32);
    unsigned among = first ? study->rank_first : ANSWERS - study->rank_first;
    unsigned rank =
        (first ? 0 : study->rank_first) + (unsigned)(tremolo_random_bits(random) % among);
    row[EXPAND_ANSWER] = (int16_t)scored[rank].answer;
    uint8_t bucket = (uint8_t)tremolo_bucket_of(id);
    assert_status(tremolo_release_fold(moments, study, row, &bucket, 1), TREMOLO_OK);
}

struct grinder {
    struct tremolo_random random;
    int8_t best; /* what trying ids has found for the entry */
    size_t entry;
};

/* A row like an honest one, except the entry that was searched for. */
static int16_t ground_row(int8_t *row, size_t i, void *context)
{
    struct grinder *grinder = context;
    (void)i;
    for (size_t k = 0; k < ENTRIES; k++) {
        int ones = 0;
        for (int part = 0; part < 5; part++) {
            ones += __builtin_popcount((unsigned)(uint32_t)tremolo_random_bits(&grinder->random));
        }
        row[k] = (int8_t)(ones - 80);
    }
    row[grinder->entry] = grinder->best;
    return 0;
}

static void test_ground_ballots_are_seen_and_left_out(void **state)
{
    struct tremolo_study study = ballot_study();
    struct tremolo_random random = tremolo_random_from(15, 3);
    struct tremolo_moments *moments = NULL;
    const size_t first_times_response = 8; /* entry of x_1 y in the order of ballots */
    uint8_t buckets[1000];
    (void)state;
    assert_int_equal(tremolo_ballot_entries(&study), ENTRIES);
    assert_status(tremolo_release_sums(&moments, &study), TREMOLO_OK);
    for (size_t k = 0; k < BALLOT_DEVICES; k++) {
        add_honest_ballot(moments, &study, &random);
    }
    struct found honest = find(moments, &study);
    print_row("ballots, honest", 0, &honest);
    assert_false(honest.tails.alarm);
    assert_true(honest.tails.set_aside <= 12); /* 2 expected at most; Poisson: 1e-6 */
    assert_true(fabs(honest.robust.standard_error / honest.plain.standard_error - 1.0) < 0.02);
    struct grinder grinder = {tremolo_random_from(15, 4), 45, first_times_response}; /* 7.1 sd */
    for (size_t k = 0; k < sizeof buckets; k++) {
        buckets[k] = (uint8_t)(k % TREMOLO_BUCKETS);
    }
    assert_status(tremolo_moments_add_ballots(moments, ground_row, &grinder, buckets, 400),
                  TREMOLO_OK);
    struct found found = find(moments, &study);
    print_row("ballots, ids searched", 400, &found);
    assert_true(found.tails.alarm);
    assert_int_equal(found.tails.values, 1);
    assert_int_equal(found.tails.value[0].coordinate, first_times_response);
    assert_true(found.tails.value[0].high);
    assert_int_equal(found.tails.value[0].seen, 400);
    assert_true(found.plain.estimate > 0.5 * slope[0]);
    assert_true(fabs(found.robust.estimate - honest.robust.estimate) <
                0.1 * honest.robust.standard_error);
    /* As many as `plan` says, no farther out than is kept: little is left of the slope. Rows of
     * liars are noise except in one entry, honest ones pull the others, so a fifth may be. */
    struct tremolo_honest law;
    struct tremolo_plan_request request = plan_of(TREMOLO_RELEASE_BALLOT, BALLOT_DEVICES);
    tremolo_honest_law(&law, &study);
    size_t liars = (size_t)tremolo_plan_liars(&request);
    assert_true(liars <= sizeof buckets);
    grinder.best = (int8_t)law.limits.value;
    assert_status(tremolo_moments_add_ballots(moments, ground_row, &grinder, buckets, liars),
                  TREMOLO_OK);
    struct found kept = find(moments, &study);
    print_row("ballots, largest kept", liars, &kept);
    assert_true(fabs(kept.robust.estimate) < 0.2 * fabs(slope[0]) + 3 * kept.robust.standard_error);
    tremolo_moments_free(moments);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_liars_are_seen_and_left_out),
        cmocka_unit_test(test_plan_counts_liars),
        cmocka_unit_test(test_honest_reports_raise_no_alarm),
        cmocka_unit_test(test_robust_costs_honest_studies_nothing),
        cmocka_unit_test(test_ground_ballots_are_seen_and_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
