/* audit_ballot.c -- what the ballots of this build really give away.
 *
 * The device draws a report's id and a rank, and sends the answer that stands at this
 * rank in the sample's order (docs/privacy.md, P9). All of its privacy is that the rank
 * has its law, and that neither rank nor id depends on the sample or on each other. So
 * the audit reads id and answer from the bytes, computes the scores of all answers for
 * both people by itself, in floating point from the public directions, and tests:
 *
 *   epsilon  "the answer is among the first of person 0 and not of person 1" has at most
 *            e^epsilon times the rate for devices of person 0: no assumption is made;
 *   law      the ranks of the answers sent have the study's two probabilities;
 *   people   the ranks of both people have one law;
 *   ids      are uniform in every byte, and none comes twice;
 *   both     whether an early answer is sent does not depend on the id.
 *
 * The people are a corner and the middle of the ranges: their points are nearly
 * orthogonal, so that few answers are first for both. */
#include "audit_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tremolo_privacy.h"

enum {
    ANSWERS = TREMOLO_BALLOT_ANSWERS,
    SIGNS = TREMOLO_BALLOT_SIGNS,
    BLOCK = 1 << SIGNS,
    ENTRIES_MAX = (TREMOLO_AUDIT_DIMENSION_MAX + 2) * (TREMOLO_AUDIT_DIMENSION_MAX + 3) / 2 + 1,
};

/* ---------------------------------------------------------------- scores */

/* The sample's point, entry by entry as tremolo_ballot_expand() has them. */
static void find_point(double *point, const struct tremolo_audit_plan *plan, unsigned person)
{
    const struct tremolo_study *study = &plan->study;
    bool with_response = study->response == TREMOLO_RESPONSE_PRIVATE;
    unsigned count = study->dimension + 1u + with_response;
    double u[TREMOLO_AUDIT_DIMENSION_MAX + 2] = {(double)study->constant / TREMOLO_BALLOT_ONE};
    double weight = (double)study->response_weight / TREMOLO_BALLOT_ONE;
    double square = u[0] * u[0] + weight * weight;
    for (unsigned i = 1; i <= study->dimension; i++) {
        u[i] = person == 0 ? 1.0 : 0.0; /* in half ranges */
        square += u[i] * u[i];
    }
    if (with_response) {
        u[count - 1] = person == 0 ? weight : 0.0;
    }
    double whole = 0.0;
    for (unsigned i = 0; i < count; i++) {
        whole += u[i] * u[i] / square;
        for (unsigned j = i; j < count; j++) {
            *point++ = (i == j ? 1.0 : sqrt(2.0)) * u[i] * u[j] / square;
        }
    }
    *point = sqrt(fmax(0.0, 1.0 - whole * whole)); /* not read without a response */
}

/* Scores of all answers for one person. A block's directions come from the sums that its
 * answers stand for: no bit set, and one. */
static enum tremolo_status find_scores(double score[2][ANSWERS], double point[2][ENTRIES_MAX],
                                       const struct tremolo_report *report,
                                       const struct tremolo_study *study)
{
    unsigned entries = tremolo_ballot_entries(study);
    struct tremolo_report asked = *report;
    int8_t none[ENTRIES_MAX];
    int8_t one[ENTRIES_MAX];
    uint8_t answer = 0;
    asked.coordinates = &answer;
    for (unsigned block = 0; block < ANSWERS; block += BLOCK) {
        double along[2][SIGNS] = {{0.0}};
        answer = (uint8_t)block;
        enum tremolo_status status = tremolo_ballot_expand(none, sizeof none, &asked, study);
        for (unsigned j = 0; j < SIGNS && status == TREMOLO_OK; j++) {
            answer = (uint8_t)(block + (1u << j));
            status = tremolo_ballot_expand(one, sizeof one, &asked, study);
            for (unsigned i = 0; i < entries; i++) {
                along[0][j] += 0.5 * (one[i] - none[i]) * point[0][i];
                along[1][j] += 0.5 * (one[i] - none[i]) * point[1][i];
            }
        }
        if (status != TREMOLO_OK) {
            return status;
        }
        for (unsigned signs = 0; signs < BLOCK; signs++) {
            for (unsigned person = 0; person < 2; person++) {
                double sum = 0.0;
                for (unsigned j = 0; j < SIGNS; j++) {
                    sum += (signs >> j & 1) != 0 ? along[person][j] : -along[person][j];
                }
                score[person][block + signs] = sum;
            }
        }
    }
    return TREMOLO_OK;
}

/* Answers before this one: larger scores, and equal ones with a smaller number. */
static unsigned rank_of(const double score[ANSWERS], unsigned answer)
{
    unsigned before = 0;
    for (unsigned other = 0; other < answer; other++) {
        before += score[other] >= score[answer];
    }
    for (unsigned other = answer + 1; other < ANSWERS; other++) {
        before += score[other] > score[answer];
    }
    return before;
}

static int compare_down(const void *one, const void *two)
{
    double a = *(const double *)one;
    double b = *(const double *)two;
    return (a < b) - (a > b);
}

/* The device keeps scores to 16 bits, 2^9 to 2^11 to a standard deviation, which is 6.3 here:
 * where the last of the first answers and the next are closer than two such steps, their order
 * is the device's secret. Which reports are left out for it depends on ids alone, so that
 * nothing is biased. */
static bool is_clear(const double score[ANSWERS], unsigned first)
{
    double sorted[ANSWERS];
    memcpy(sorted, score, sizeof sorted);
    qsort(sorted, ANSWERS, sizeof *sorted, compare_down);
    return sorted[first - 1] - sorted[first] > 0.03;
}

/* ---------------------------------------------------------------- counting */

struct ballot_counts {
    uint64_t told[2];                               /* first for person 0 alone */
    uint64_t rank[2][ANSWERS];                      /* by person */
    uint64_t byte[2][TREMOLO_REPORT_ID_BYTES][256]; /* of ids, by person */
    uint64_t early[2][TREMOLO_REPORT_ID_BYTES][16]; /* of them, by an id's nibble */
    uint64_t nibble[2][TREMOLO_REPORT_ID_BYTES][16];
    uint64_t clear[2]; /* reports whose ranks count */
    double point[2][ENTRIES_MAX];
    uint64_t *ids; /* eight bytes of each */
    uint64_t reports;
};

enum tremolo_status audit_ballot_report(struct ballot_counts *counts,
                                        const struct tremolo_audit_plan *plan, unsigned person,
                                        const struct tremolo_report *report)
{
    double score[2][ANSWERS];
    unsigned answer = 0;
    unsigned first = plan->study.rank_first;
    enum tremolo_status status = tremolo_report_answer(&answer, report, &plan->study);
    if (status == TREMOLO_OK) {
        status = find_scores(score, counts->point, report, &plan->study);
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    unsigned rank[2] = {rank_of(score[0], answer), rank_of(score[1], answer)};
    counts->told[person] += rank[0] < first && rank[1] >= first;
    if (is_clear(score[person], first)) {
        counts->rank[person][rank[person]]++;
        counts->clear[person]++;
    }
    for (unsigned i = 0; i < TREMOLO_REPORT_ID_BYTES; i++) {
        counts->byte[person][i][report->id[i]]++;
        counts->nibble[person][i][report->id[i] >> 4]++;
        counts->early[person][i][report->id[i] >> 4] += rank[person] < first;
    }
    memcpy(&counts->ids[counts->reports++], report->id, sizeof *counts->ids);
    return TREMOLO_OK;
}

/* ---------------------------------------------------------------- judging */

/* Chi-squared is that only where cells expect a few: ranks with less are taken together,
 * and tests without enough say nothing. */
static const double expected_min = 5.0;

static double square_off(uint64_t count, double expected)
{
    double off = (double)count - expected;
    return off * off / expected;
}

static double judge_law(const struct ballot_counts *counts, const struct tremolo_rank_law *law)
{
    double square = 0.0;
    double part = 0.0;
    double least =
        (double)(counts->clear[0] < counts->clear[1] ? counts->clear[0] : counts->clear[1]);
    double top = law->top / 4294967296.0;
    uint64_t seen[2] = {0, 0};
    unsigned cells = 0;
    for (unsigned rank = 0; rank < ANSWERS; rank++) {
        double share = rank < law->first ? top / law->first : (1.0 - top) / (ANSWERS - law->first);
        part += share;
        seen[0] += counts->rank[0][rank];
        seen[1] += counts->rank[1][rank];
        if (part * least >= expected_min) {
            square += square_off(seen[0], part * (double)counts->clear[0]) +
                      square_off(seen[1], part * (double)counts->clear[1]);
            cells++;
            part = 0.0;
            seen[0] = seen[1] = 0;
        }
    }
    return cells > 1 ? audit_chi_squared_tail(square, 2 * (cells - 1)) : 1.0;
}

/* Two samples of one law. Odd degrees are counted as one more, which errs toward silence. */
static double judge_people(const struct ballot_counts *counts)
{
    double square = 0.0;
    double sum = 0.0;
    double off = 0.0;
    double ratio = sqrt((double)counts->clear[1] / fmax(1.0, (double)counts->clear[0]));
    unsigned cells = 0;
    for (unsigned rank = 0; rank < ANSWERS; rank++) {
        sum += (double)(counts->rank[0][rank] + counts->rank[1][rank]);
        off += ratio * (double)counts->rank[0][rank] -
               (double)counts->rank[1][rank] / fmax(ratio, 1e-9);
        if (sum >= 2.0 * expected_min) {
            square += off * off / sum;
            cells++;
            sum = off = 0.0;
        }
    }
    return cells > 1 ? audit_chi_squared_tail(square, cells / 2 * 2) : 1.0;
}

static double judge_ids(const struct ballot_counts *counts, double pairs)
{
    double smallest = 1.0;
    for (unsigned i = 0; pairs / 256 >= expected_min && i < TREMOLO_REPORT_ID_BYTES; i++) {
        double square = 0.0;
        for (unsigned k = 0; k < 256; k++) {
            square += square_off(counts->byte[0][i][k], pairs / 256) +
                      square_off(counts->byte[1][i][k], pairs / 256);
        }
        smallest = fmin(smallest, audit_chi_squared_tail(square, 2 * 255));
    }
    return fmin(1.0, smallest * TREMOLO_REPORT_ID_BYTES);
}

/* The share of early answers, given a nibble of the id: 2 x 15 degrees. */
static double judge_both(const struct ballot_counts *counts, double pairs)
{
    double smallest = 1.0;
    for (unsigned i = 0; i < TREMOLO_REPORT_ID_BYTES; i++) {
        double square = 0.0;
        for (unsigned person = 0; person < 2; person++) {
            double early = 0.0;
            for (unsigned k = 0; k < 16; k++) {
                early += (double)counts->early[person][i][k] / pairs;
            }
            for (unsigned k = 0; k < 16; k++) {
                double all = (double)counts->nibble[person][i][k];
                double off = (double)counts->early[person][i][k] - early * all;
                double variance = early * (1.0 - early) * all;
                square += variance >= expected_min ? off * off / variance : 0.0;
            }
        }
        smallest = fmin(smallest, audit_chi_squared_tail(square, 2 * 15));
    }
    return fmin(1.0, smallest * TREMOLO_REPORT_ID_BYTES);
}

static int compare_ids(const void *one, const void *two)
{
    uint64_t a = *(const uint64_t *)one;
    uint64_t b = *(const uint64_t *)two;
    return (a > b) - (a < b);
}

static uint64_t count_repeats(struct ballot_counts *counts)
{
    uint64_t repeats = 0;
    qsort(counts->ids, (size_t)counts->reports, sizeof *counts->ids, compare_ids);
    for (uint64_t i = 1; i < counts->reports; i++) {
        repeats += counts->ids[i] == counts->ids[i - 1];
    }
    return repeats;
}

static enum tremolo_status judge(struct tremolo_audit_result *result, struct ballot_counts *counts,
                                 const struct tremolo_audit_plan *plan)
{
    double pairs = (double)plan->pairs;
    struct tremolo_audit_ballot *ballot = &result->ballot;
    enum tremolo_status status = audit_bound_epsilon(result, counts->told, plan);
    for (unsigned rank = 0; rank < plan->law.first; rank++) {
        ballot->early += (double)(counts->rank[0][rank] + counts->rank[1][rank]) /
                         fmax(1.0, (double)(counts->clear[0] + counts->clear[1]));
    }
    ballot->early_claimed = plan->law.top / 4294967296.0;
    ballot->law_p = judge_law(counts, &plan->law);
    ballot->people_p = judge_people(counts);
    ballot->ids_p = judge_ids(counts, pairs);
    ballot->both_p = judge_both(counts, pairs);
    ballot->repeats = count_repeats(counts);
    double smallest =
        fmin(fmin(ballot->law_p, ballot->people_p), fmin(ballot->ids_p, ballot->both_p));
    result->caught = result->epsilon_lower > plan->claim.epsilon || smallest < AUDIT_P_MIN ||
                     ballot->repeats > 0;
    return status;
}

enum tremolo_status audit_ballot_run(struct tremolo_audit_result *result,
                                     const struct tremolo_audit_plan *plan,
                                     const struct tremolo_progress *progress)
{
    struct tremolo_audit_result made = {0};
    struct ballot_counts *counts = calloc(1, sizeof *counts);
    enum tremolo_status status = TREMOLO_NO_MEMORY;
    if (counts != NULL) {
        counts->ids = malloc((size_t)plan->pairs * 2 * sizeof *counts->ids);
    }
    if (counts != NULL && counts->ids != NULL) {
        find_point(counts->point[0], plan, 0);
        find_point(counts->point[1], plan, 1);
        status = audit_count(&(struct audit_sink){NULL, counts}, plan, progress);
    }
    if (status == TREMOLO_OK) {
        status = judge(&made, counts, plan);
    }
    if (status == TREMOLO_OK) {
        *result = made;
    }
    if (counts != NULL) {
        free(counts->ids);
    }
    free(counts);
    return status;
}
