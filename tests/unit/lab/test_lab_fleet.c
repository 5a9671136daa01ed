/* test_lab_fleet.c -- ballots in bulk are the core's, answer for answer, and ranks have their law.
 *
 * Fed the same sample, id and rank, a ballot in bulk is the core's answer, over dimensions, bounds,
 * laws and responses. Ranks are drawn by the study's law. */
#include "testing.h"

#include <math.h>
#include <string.h>

#include "fleet.h"
#include "parts.h"
#include "regression.h"

enum { LANES = 8 };

static struct tremolo_random chance;

static int32_t between(int32_t low, int32_t high)
{
    uint64_t count = (uint64_t)((int64_t)high - low) + 1;
    return (int32_t)(low + (int64_t)(tremolo_random_bits(&chance) % count));
}

/* Anything from the narrowest to the widest range. */
static struct tremolo_bounds some_bounds(void)
{
    int32_t half = between(1, INT32_C(1) << between(1, 29));
    int32_t middle = between(-(INT32_C(1) << 29), INT32_C(1) << 29);
    return (struct tremolo_bounds){middle - half, middle + half};
}

/* Drawn until a device would take it. */
static void some_ballot_study(struct tremolo_study *study, struct tremolo_bounds *bounds,
                              unsigned d)
{
    for (unsigned i = 0; i < d; i++) {
        bounds[i] = some_bounds();
    }
    do {
        bool is_private = between(0, 1) == 1;
        *study = (struct tremolo_study){
            .release = TREMOLO_RELEASE_BALLOT,
            .bounds = bounds,
            .response_bounds = some_bounds(),
            .dimension = (uint16_t)d,
            .rounds = 1,
            .samples = 1,
            .response = is_private ? TREMOLO_RESPONSE_PRIVATE : TREMOLO_RESPONSE_PUBLIC,
            .rank_first = (uint8_t)between(1, 128),
            .rank_top = (uint32_t)tremolo_random_bits(&chance),
            .constant = (uint16_t)between(64, 4096),
        };
        if (is_private) {
            study->response_weight = (uint16_t)TREMOLO_BALLOT_WEIGHT(study->constant);
        }
        for (unsigned i = 0; i < TREMOLO_STUDY_ID_BYTES; i++) {
            study->id[i] = (uint8_t)between(0, 255);
        }
    } while (tremolo_study_check(study) != TREMOLO_OK);
}

static void compare_ballots(const struct tremolo_study *study)
{
    static struct tremolo_work work;
    static int32_t raw[LANES][TREMOLO_MAX_COORDINATES + 1];
    const struct tremolo_platform platform = {.studies = 1};
    int16_t rows[LANES][EXPAND_ROW_VALUES];
    struct ballot_point point;
    struct expand_keys keys;
    for (size_t r = 0; r < LANES; r++) {
        for (size_t i = 0; i < EXPAND_ANSWER; i++) {
            rows[r][i] = (int16_t)between(INT16_MIN, INT16_MAX);
        }
        for (size_t i = 0; i <= study->dimension; i++) { /* some far beyond the range */
            const struct tremolo_bounds *b =
                i < study->dimension ? &study->bounds[i] : &study->response_bounds;
            raw[r][i] = between(0, 7) > 0 ? between(b->low, b->high)
                                          : between(-(INT32_C(1) << 30), INT32_C(1) << 30);
        }
    }
    expand_keys(&keys, study->id, rows[0], LANES);
    for (size_t r = 0; r < LANES; r++) {
        const struct tremolo_sample sample = {.features = raw[r],
                                              .response = raw[r][study->dimension]};
        work.study = study;
        work.sample = &sample;
        work.platform = &platform;
        work.rank = (unsigned)between(0, 255);
        memcpy(work.id, rows[r], TREMOLO_REPORT_ID_BYTES);
        unsigned rank = work.rank, response = (unsigned)tremolo_ballot_response(&work);
        unsigned wanted = tremolo_ballot_answer(&work);
        fleet_ballot_point(&point, study, raw[r]);
        assert_int_equal(fleet_ballot_answer(&point, &keys, r, rank, true), wanted);
        assert_int_equal(fleet_ballot_answer(&point, &keys, r, rank, false), wanted);
        assert_int_equal((unsigned)point.response,
                         study->response == TREMOLO_RESPONSE_PUBLIC ? response : 0);
    }
}

static void test_bulk_ballots_are_the_core(void **state)
{
    static struct tremolo_bounds bounds[TREMOLO_MAX_COORDINATES];
    static const unsigned dimensions[] = {1, 2, 3, 4, 5, 8, 10, 17, 33, 64, 256};
    (void)state;
    chance = tremolo_random_from(3, 4);
    for (unsigned k = 0; k < 20 * 11; k++) {
        struct tremolo_study study;
        some_ballot_study(&study, bounds, dimensions[k / 20]);
        compare_ballots(&study);
    }
}

/* 20,000 devices, one feature: how many answers are of the first T ranks, and of which of them.
 * Of the binomial and of chi-square with three degrees the false alarms have probability 1e-5. */
static void test_ranks_have_their_law(void **state)
{
    enum { DEVICES = 20000, FIRST = 4 };
    static double X[DEVICES], y[DEVICES];
    static int16_t rows[DEVICES * EXPAND_ROW_VALUES];
    struct fleet *fleet = NULL;
    struct expand_keys keys;
    struct ballot_point point;
    double seen[FIRST] = {0}, early = 0.0, spread = 0.0;
    (void)state;
    for (size_t i = 0; i < DEVICES; i++) {
        X[i] = sin((double)i), y[i] = cos((double)i);
    }
    const struct fleet_setup setup = {
        .X = X,
        .y = y,
        .rows = DEVICES,
        .response_bound = 1,
        .request = {.dimension = 1, .epsilon = 2, .rounds = 1, .response_private = true},
        .release = TREMOLO_RELEASE_BALLOT,
        .seed = 5,
        .threads = 1};
    assert_status(fleet_new(&fleet, &setup), TREMOLO_OK);
    fleet->study.rank_first = FIRST;
    fleet->study.rank_top = UINT32_C(0x60000000);
    fleet_ballot_block(rows, fleet, 0, DEVICES);
    for (size_t i = 0; i < DEVICES; i++) {
        const int16_t *row = rows + i * EXPAND_ROW_VALUES;
        expand_keys(&keys, fleet->study.id, row, 1);
        fleet_ballot_point(&point, &fleet->study, fleet->raw + 2 * i);
        for (unsigned rank = 0; rank < FIRST; rank++) {
            seen[rank] +=
                fleet_ballot_answer(&point, &keys, 0, rank, true) == (unsigned)row[EXPAND_ANSWER];
        }
    }
    for (unsigned rank = 0; rank < FIRST; rank++) {
        early += seen[rank];
    }
    for (unsigned rank = 0; rank < FIRST; rank++) {
        double off = seen[rank] - early / FIRST;
        spread += off * off / (early / FIRST);
    }
    assert_true(fabs(early - 0.375 * DEVICES) < 4.42 * sqrt(0.375 * 0.625 * DEVICES));
    assert_true(spread < 25.9);
    fleet_free(fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bulk_ballots_are_the_core),
                                       cmocka_unit_test(test_ranks_have_their_law)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
