/* test_device_ballot_broken.c -- arithmetic broken on purpose, and epsilon kept.
 *
 * The law of the answers is the law of the rank as long as each rank holds one answer
 * (docs/reference/proofs.md, P9), so that is what is tested, exactly and for every rank, with
 * scores that no sound arithmetic makes: constant directions, wrong scales, wrong
 * products, overflow. The file is compiled into the test to reach what is static in it. */
#include "../../../src/device/ballot.c" /* NOLINT(bugprone-suspicious-include) */

#include "fake_entropy.h"
#include "testing.h"

static struct fake_entropy random_source = {.state = 1618};

/* Probabilities of the answers are those of their ranks: the largest ratio is w. */
static void assert_law_is_kept(const struct tremolo_work *work, const struct tremolo_study *study)
{
    double most = 0.0;
    double least = 1.0;
    double probability[ANSWERS] = {0.0};
    double top = study->rank_top / 4294967296.0;
    for (unsigned rank = 0; rank < ANSWERS; rank++) {
        probability[answer_at(work, rank)] += rank < study->rank_first
                                                  ? top / study->rank_first
                                                  : (1.0 - top) / (ANSWERS - study->rank_first);
    }
    for (unsigned answer = 0; answer < ANSWERS; answer++) {
        most = probability[answer] > most ? probability[answer] : most;
        least = probability[answer] < least ? probability[answer] : least;
    }
    double ratio = top / study->rank_first * (ANSWERS - study->rank_first) / (1.0 - top);
    assert_true(least > 0.0 && most / least <= ratio * (1.0 + 1e-12));
}

static uint32_t any_word(void)
{
    return (uint32_t)fake_random(&random_source);
}

/* What breaks, by the scores it leaves behind. */
static uint32_t broken_score(unsigned fault, unsigned direction)
{
    switch (fault) {
    case 0: return 0;                                     /* products lost */
    case 1: return 12345;                                 /* constant directions */
    case 2: return direction % SIGNS == 0 ? 1u << 31 : 0; /* one direction overflows */
    case 3: return UINT32_C(0x7fffffff);                  /* all do */
    case 4: return UINT32_C(0) - (any_word() & 1);        /* a scale that leaves signs only */
    case 5: return any_word() << (any_word() & 31);       /* a wrong scale each time */
    default: return any_word();                           /* anything at all */
    }
}

static void test_no_arithmetic_breaks_the_law(void **state)
{
    static struct tremolo_work work;
    const struct tremolo_study study = {.rank_first = 56, .rank_top = UINT32_C(2895469751)};
    (void)state;
    for (unsigned trial = 0; trial < 35; trial++) {
        for (unsigned i = 0; i < BLOCKS * SIGNS; i++) {
            work.score[i] = broken_score(trial % 7, i);
        }
        assert_law_is_kept(&work, &study);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_arithmetic_breaks_the_law)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
