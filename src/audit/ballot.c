/* ballot.c -- what the ballots of this build really give away.
 *
 * The device draws a report's id and a rank, and sends the answer that stands at this
 * rank in the sample's order (docs/reference/proofs.md, P9). All of its privacy is that the rank
 * has its law, and that neither rank nor id depends on the sample or on each other, nor on
 * other ballots. So the audit reads id and answer from the bytes, expands the directions by
 * docs/reference/wire-format.md with a generator of its own, computes the scores of all answers in
 * floating point for the sender and for a neighbour, and tests
 *
 *   epsilon     "the answer is among the first of person 0 and not of person 1", which is the
 *               likelihood-ratio test, has at most e^epsilon times the rate for person 0;
 *   law         the ranks of the answers sent have the study's two probabilities;
 *   sample      for each of many samples;
 *   ids         rank and id do not depend on each other;
 *   others      nor do ranks of ballots of one device, or of devices in turn;
 *   directions  the core expands what it sent as the wire format says;
 *   drawn       id and rank are what the wire format draws from the entropy that was given. */
#include "audit_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ANSWERS = TREMOLO_BALLOT_ANSWERS,
    SIGNS = TREMOLO_BALLOT_SIGNS,
    BLOCK = 1 << SIGNS,
    ENTRIES_MAX = (TREMOLO_AUDIT_DIMENSION_MAX + 2) * (TREMOLO_AUDIT_DIMENSION_MAX + 3) / 2 + 1,
    RELEASES = 4,       /* of a device: half in one round, half in the next */
    LONG_RELEASES = 64, /* of each LONG_EVERYth pair of devices */
    LONG_EVERY = 64,
    RANDOM_PAIRS = 4,
    FIXED_PAIRS = 3,
    LAGS = 8,
};

/* ---------------------------------------------------------------- what a ballot must draw */

/* The id and the rank follow from the entropy that was given. This generator is the audit's own,
 * after docs/reference/wire-format.md ("From randomness to bytes"). With it a law that is a little off, chance
 * from elsewhere, or a rank that can be computed from the report shows in few ballots, where
 * counting ranks would take millions. */

enum { REFILL = 256 };

/* Rotate left. */
static uint32_t rotate(uint32_t word, unsigned by)
{
    return word << by | word >> (32 - by);
}

/* The quarter round of ChaCha. */
static void quarter(uint32_t *x, unsigned a, unsigned b, unsigned c, unsigned d)
{
    x[a] += x[b];
    x[d] = rotate(x[d] ^ x[a], 16);
    x[c] += x[d];
    x[b] = rotate(x[b] ^ x[c], 12);
    x[a] += x[b];
    x[d] = rotate(x[d] ^ x[a], 8);
    x[c] += x[d];
    x[b] = rotate(x[b] ^ x[c], 7);
}

/* RFC 8439's block function with any even number of rounds. */
static void audit_chacha(uint32_t out[16], const uint32_t key[8], const uint32_t last[4],
                         unsigned rounds)
{
    uint32_t start[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    memcpy(start + 4, key, 8 * sizeof *key);
    memcpy(start + 12, last, 4 * sizeof *last);
    memcpy(out, start, sizeof start);
    for (unsigned i = 0; i < rounds; i += 2) {
        for (unsigned k = 0; k < 4; k++) {
            quarter(out, k, 4 + k, 8 + k, 12 + k);
        }
        for (unsigned k = 0; k < 4; k++) {
            quarter(out, k, 4 + (k + 1) % 4, 8 + (k + 2) % 4, 12 + (k + 3) % 4);
        }
    }
    for (unsigned i = 0; i < 16; i++) {
        out[i] += start[i];
    }
}

/* Little-endian words. */
static void audit_load_words(uint32_t *words, const uint8_t *bytes, unsigned count)
{
    for (unsigned i = 0; i < count; i++, bytes += 4) {
        words[i] = bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
                   (uint32_t)bytes[3] << 24;
    }
}

/* The first entry of a device's ledger, before it makes a report: secret and sequence are two of
 * the four things that the report's randomness depends on. */
struct audit_before {
    uint8_t secret[TREMOLO_SECRET_BYTES];
    uint32_t sequence;
};

/* What the report must then hold. */
struct audit_draw {
    uint8_t id[TREMOLO_REPORT_ID_BYTES];
    unsigned rank;
};

/* The device's generator, as the wire format describes it: a key that is replaced at every
 * refill, and the bytes of the last one. */
struct stream {
    uint32_t key[8];
    uint32_t last[4]; /* counter and nonce */
    uint8_t bytes[REFILL];
    unsigned next;
};

/* Four blocks: the first 32 bytes are the next key, the others are given out. */
static void refill(struct stream *stream)
{
    for (unsigned block = 0; block < 4; block++) {
        uint32_t words[16];
        stream->last[0] = block;
        audit_chacha(words, stream->key, stream->last, 20);
        for (unsigned i = 0; i < 64; i++) {
            stream->bytes[64 * block + i] = (uint8_t)(words[i / 4] >> 8 * (i % 4));
        }
    }
    audit_load_words(stream->key, stream->bytes, 8);
    memset(stream->last, 0, sizeof stream->last);
    stream->next = TREMOLO_SEED_BYTES;
}

/* The next random byte of a report. */
static uint8_t next_byte(struct stream *stream)
{
    if (stream->next == REFILL) {
        refill(stream);
    }
    return stream->bytes[stream->next++];
}

/* Uniform on 0..count-1: bytes under the smallest mask, until one is below it. */
static unsigned face(struct stream *stream, unsigned count)
{
    unsigned mask = 1;
    unsigned drawn;
    while (mask < count - 1) {
        mask = 2 * mask + 1;
    }
    do {
        drawn = next_byte(stream) & mask;
    } while (drawn >= count);
    return drawn;
}

/* The stream of one report. Its key is entropy, study id and secret, bit by bit; its nonce is
 * round and sample number (`key`) and the ledger's sequence. */
static struct stream seed(const struct audit_before *before, const struct audit_device *device,
                          const struct tremolo_study *study, uint32_t key)
{
    struct stream stream = {.last = {0, key, before->sequence, 0}, .next = REFILL};
    uint8_t mixed[TREMOLO_SEED_BYTES];
    for (unsigned i = 0; i < sizeof mixed; i++) {
        mixed[i] = device->entropy[i] ^ study->id[i] ^ before->secret[i];
    }
    audit_load_words(stream.key, mixed, 8);
    return stream;
}

/* What the report to come depends on, read before it is made. */
static struct audit_before audit_before(struct audit_device *device)
{
    struct audit_before before = {.sequence = device->slots[0].sequence};
    memcpy(before.secret, audit_secret_of(&device->slots[0]), sizeof before.secret);
    return before;
}

/* The id and the rank that the report must have. `key` is round * 65536 + sample. */
static struct audit_draw audit_draw_of(const struct audit_before *before,
                                       const struct audit_device *device,
                                       const struct tremolo_study *study, uint32_t key)
{
    struct stream stream = seed(before, device, study, key);
    struct audit_draw draw;
    uint32_t word = 0;
    for (unsigned i = 0; i < TREMOLO_REPORT_ID_BYTES; i++) {
        draw.id[i] = next_byte(&stream);
    }
    for (unsigned i = 0; i < TREMOLO_SECRET_BYTES; i++) {
        (void)next_byte(&stream);
    }
    for (unsigned i = 0; i < 4; i++) {
        word = word << 8 | next_byte(&stream);
    }
    unsigned early = face(&stream, study->rank_first);
    unsigned late = study->rank_first + face(&stream, ANSWERS - study->rank_first);
    draw.rank = word < study->rank_top ? early : late;
    return draw;
}

/* ---------------------------------------------------------------- directions */

/* The five directions of one block, one after the other. */
static void expand(int8_t *entry, unsigned entries, const uint32_t key[8], unsigned block)
{
    uint32_t last[4] = {0, block, 0, 0};
    uint32_t words[16];
    for (unsigned i = 0; i < SIGNS * entries; i++) {
        if (i % 16 == 0) {
            audit_chacha(words, key, last, 8);
            last[0]++;
        }
        entry[i] = (int8_t)(__builtin_popcount(words[i % 16]) - 16);
    }
}

/* ---------------------------------------------------------------- people and scores */

/* One person of a pair: the sample, the point that answers are compared with, and what the
 * ballots of all devices with this sample gave. */
struct person {
    struct audit_sample sample;
    double point[ENTRIES_MAX];
    uint64_t reports; /* with clear ranks */
    uint64_t early;
    double place; /* sum over these: where answers stand among the early, or the late */
};

/* Two people and the test between them. */
struct pair {
    const char *kind;
    unsigned index;
    struct person person[2];
    struct audit_rates rates; /* by an answer that is early for person 0 alone */
};

/* A raw value in half ranges from the middle of its range, at most `most` in size. */
static double half_ranges(int32_t raw, const struct tremolo_bounds *range, double most)
{
    double width = (double)range->high - range->low;
    double place = (2.0 * raw - range->low - range->high) / width;
    return fmin(fmax(place, -most), most);
}

/* The sample's point, entry by entry as tremolo_ballot_expand() has them. The last is what the wire
 * format makes of it: 1 less the squares of the others is the same only where g^2 = 10/3 h^2
 * exactly, and not with g an integer. */
static void find_point(struct person *person, const struct tremolo_study *study)
{
    bool with_response = study->response == TREMOLO_RESPONSE_PRIVATE;
    unsigned count = study->dimension + 1u + with_response;
    double *point = person->point;
    double u[TREMOLO_AUDIT_DIMENSION_MAX + 2] = {(double)study->constant / TREMOLO_BALLOT_ONE};
    double weight = (double)study->response_weight / TREMOLO_BALLOT_ONE;
    double square = u[0] * u[0] + weight * weight;
    for (unsigned i = 1; i <= study->dimension; i++) {
        u[i] = half_ranges(person->sample.features[i - 1], &study->bounds[i - 1], 8.0);
        square += u[i] * u[i];
    }
    if (with_response) {
        u[count - 1] = weight * half_ranges(person->sample.response, &study->response_bounds, 1.0);
    }
    for (unsigned i = 0; i < count; i++) {
        for (unsigned j = i; j < count; j++) {
            double times = i == j ? 1.0 : sqrt(2.0);
            if (with_response && j == count - 1) {
                times *= i == 0 ? 1.5 : i == j ? 0.5 : 1.0;
            }
            *point++ = times * u[i] * u[j] / square;
        }
    }
    if (with_response) {
        double own = u[count - 1] * u[count - 1];
        double within = 2.0 * square - weight * weight + 0.25 * own;
        *point = sqrt((weight * weight - own) * within) / square;
    }
}

/* Scores of all answers for one point, from all blocks' directions. */
static void find_scores(double score[ANSWERS], const double *point, const int8_t *entry,
                        unsigned entries)
{
    for (unsigned block = 0; block < ANSWERS; block += BLOCK) {
        double along[SIGNS] = {0.0};
        for (unsigned j = 0; j < SIGNS; j++) {
            for (unsigned i = 0; i < entries; i++) {
                along[j] += *entry++ * point[i];
            }
        }
        for (unsigned signs = 0; signs < BLOCK; signs++) {
            double sum = 0.0;
            for (unsigned j = 0; j < SIGNS; j++) {
                sum += (signs >> j & 1) != 0 ? along[j] : -along[j];
            }
            score[block + signs] = sum;
        }
    }
}

/* Answers before this one: larger scores, and equal ones with a smaller number. */
static unsigned rank_of(const double score[ANSWERS], unsigned answer)
{
    unsigned before = 0;
    for (unsigned other = 0; other < ANSWERS; other++) {
        before += score[other] > score[answer] || (other < answer && score[other] == score[answer]);
    }
    return before;
}

/* Order scores, larger first. */
static int compare_down(const void *one, const void *two)
{
    double a = *(const double *)one;
    double b = *(const double *)two;
    return (a < b) - (a > b);
}

/* All scores, larger first. */
static void sort_down(double sorted[ANSWERS], const double score[ANSWERS])
{
    memcpy(sorted, score, ANSWERS * sizeof *sorted);
    qsort(sorted, ANSWERS, sizeof *sorted, compare_down);
}

/* True if the order decides whether an answer is among the first. The device keeps scores to 16
 * bits, 2^9 to 2^11 to a standard deviation, which is 6.3 here, and rounds on the way there: they
 * are off by at most 0.024, as measured in 350,000 ballots. Where the last of the first answers
 * and the next are closer than twice that, only the device knows their order. Which reports are
 * left out for it depends on id and sample alone, so that nothing is biased. */
static bool is_clear(const double sorted[ANSWERS], unsigned first)
{
    return sorted[first - 1] - sorted[first] > 0.05;
}

/* ---------------------------------------------------------------- counting */

/* Sums over pairs of ballots that are so many ballots apart. */
struct lag {
    double early; /* products of scores */
    double place;
    double count;
};

/* What is counted over all ballots. */
struct ballots {
    struct audit *audit;
    struct tremolo_study study;
    unsigned entries;
    struct pair *pair;
    unsigned count;
    uint64_t rank[ANSWERS];
    uint64_t clear;
    uint64_t wrong;     /* answers that the core expands in another way */
    uint64_t other_ids; /* than those that were to be drawn */
    uint64_t other_ranks;
    uint64_t reports;
    bool frozen; /* directions were the same for two ids */
    int8_t first_row[ENTRIES_MAX];
    double past[LAGS + 1][2]; /* scores of earlier ballots: early or not, place among its kind */
    double sum[2], square[2]; /* of these scores, over all reports */
    unsigned long device[LAGS + 1];
    struct lag same[LAGS + 1];
    struct lag other[LAGS + 1];
    struct audit_ids ids;
};

/* Place two people: opposite ends of an axis, corners, a corner and the middle, far outside the
 * ranges, or anywhere. A public response is the same for both. */
static void place_pair(struct pair *pair, const struct tremolo_study *study,
                       struct tremolo_random *random)
{
    unsigned n = study->dimension + 1u;
    for (unsigned k = 0; k < 2; k++) {
        double place[TREMOLO_AUDIT_DIMENSION_MAX + 1] = {0.0};
        for (unsigned i = 0; i < n; i++) {
            double sign = k == 0 ? 1.0 : -1.0;
            double any = 2.0 * tremolo_random_uniform(random) - 1.0;
            place[i] = strcmp(pair->kind, "axis") == 0      ? (i == pair->index ? sign : 0.0)
                       : strcmp(pair->kind, "random") == 0  ? any
                       : strcmp(pair->kind, "far out") == 0 ? 9.0 * (any > 0.0 ? 1.0 : -1.0)
                       : pair->index == 0                   ? 1.0 - k /* and the middle */
                                                            : sign;
        }
        if (study->response == TREMOLO_RESPONSE_PUBLIC) {
            place[study->dimension] = 0.25; /* the same for both: it is public */
        }
        audit_sample_at(&pair->person[k].sample, study, place);
        find_point(&pair->person[k], study);
    }
}

/* All pairs of people. */
static bool make_pairs(struct ballots *ballots)
{
    const struct tremolo_study *study = &ballots->study;
    unsigned axes = tremolo_study_coordinates(study);
    ballots->count = FIXED_PAIRS + RANDOM_PAIRS + axes;
    ballots->pair = calloc(ballots->count, sizeof *ballots->pair);
    if (ballots->pair == NULL) {
        return audit_goes_on(ballots->audit, TREMOLO_NO_MEMORY);
    }
    for (unsigned k = 0; k < ballots->count; k++) {
        struct pair *pair = &ballots->pair[k];
        bool axis = k >= FIXED_PAIRS + RANDOM_PAIRS;
        pair->kind = axis ? "axis" : k >= FIXED_PAIRS ? "random" : k == 2 ? "far out" : "corner";
        pair->index = axis ? k - FIXED_PAIRS - RANDOM_PAIRS : k;
        place_pair(pair, study, &ballots->audit->random);
    }
    return true;
}

/* Compare what the core says of the answer with the wire format. */
static enum tremolo_status check_row(struct ballots *ballots, const struct tremolo_report *report,
                                     const int8_t *entry, unsigned answer)
{
    int8_t row[ENTRIES_MAX];
    struct tremolo_report asked = *report;
    const uint8_t zero = 0;
    enum tremolo_status status = tremolo_ballot_expand(row, sizeof row, report, &ballots->study);
    const int8_t *mine = entry + (size_t)(answer >> SIGNS) * SIGNS * ballots->entries;
    bool wrong = false;
    for (unsigned i = 0; i < ballots->entries && status == TREMOLO_OK; i++) {
        double sum = 0.0;
        for (unsigned j = 0; j < SIGNS; j++) {
            double value = mine[j * ballots->entries + i];
            sum += (answer >> j & 1) != 0 ? value : -value;
        }
        wrong |= sum != row[i];
    }
    ballots->wrong += wrong;
    /* The first row of answer 0 for two different ids: equal rows mean that directions do not
     * depend on the id. */
    asked.coordinates = &zero;
    if (status == TREMOLO_OK && ballots->reports < 2) {
        status = tremolo_ballot_expand(row, sizeof row, &asked, &ballots->study);
        ballots->frozen = ballots->reports == 1 && memcmp(row, ballots->first_row, sizeof row) == 0;
        memcpy(ballots->first_row, row, sizeof row);
    }
    ballots->reports++;
    return status;
}

/* Add the products with earlier ballots, of the same device and of others. */
static void add_lags(struct ballots *ballots, double early, double place, unsigned long device)
{
    memmove(ballots->past + 1, ballots->past, LAGS * sizeof *ballots->past);
    memmove(ballots->device + 1, ballots->device, LAGS * sizeof *ballots->device);
    ballots->past[0][0] = early;
    ballots->past[0][1] = place;
    ballots->device[0] = device;
    for (unsigned what = 0; what < 2; what++) {
        ballots->sum[what] += ballots->past[0][what];
        ballots->square[what] += ballots->past[0][what] * ballots->past[0][what];
    }
    for (unsigned k = 1; k <= LAGS && ballots->device[k] != 0; k++) {
        struct lag *lag = ballots->device[k] == device ? &ballots->same[k] : &ballots->other[k];
        lag->early += early * ballots->past[k][0];
        lag->place += place * ballots->past[k][1];
        lag->count++;
    }
}

/* Compare with what had to be drawn. The answer's score must be, up to rounding, the one at the
 * rank drawn. */
static void compare_draw(struct ballots *ballots, const struct audit_draw *draw, const uint8_t *id,
                         double score, const double sorted[ANSWERS])
{
    /* Two answers with scores closer than the rounding cannot be distinguished, so scores are
     * compared and not ranks. */
    ballots->other_ids += memcmp(draw->id, id, sizeof draw->id) != 0;
    ballots->other_ranks += fabs(score - sorted[draw->rank]) > 0.1;
}

/* Count one ballot: find the rank of its answer for both people, and add it to all sums. False
 * when the run has failed. */
static bool count_report(struct ballots *ballots, struct pair *pair, unsigned number,
                         const struct tremolo_report *report, const struct audit_draw *draw)
{
    struct audit *audit = ballots->audit;
    struct person *person = &pair->person[number];
    int8_t entry[8 * SIGNS * ENTRIES_MAX];
    double score[2][ANSWERS];
    double sorted[ANSWERS];
    uint32_t study_key[8];
    uint32_t id[4];
    uint32_t key[16];
    unsigned answer;
    unsigned first = audit->plan->law.first;
    if (!audit_goes_on(audit, tremolo_report_answer(&answer, report, &ballots->study))) {
        return false;
    }
    /* The wire format's directions of this id, from the audit's own generator. */
    audit_load_words(study_key, ballots->study.id, 8);
    audit_load_words(id, report->id, 4);
    audit_chacha(key, study_key, id, 20);
    for (unsigned block = 0; block < 8; block++) {
        expand(entry + (size_t)block * SIGNS * ballots->entries, ballots->entries, key, block);
    }
    /* Scores of all answers for the sender and for the neighbour: the test between the two needs
     * both ranks of the answer. */
    find_scores(score[0], pair->person[0].point, entry, ballots->entries);
    find_scores(score[1], pair->person[1].point, entry, ballots->entries);
    sort_down(sorted, score[number]);
    const unsigned ranks[2] = {rank_of(score[0], answer), rank_of(score[1], answer)};
    unsigned rank = ranks[number];
    double top = audit->plan->law.top / 0x1p32;
    bool early = rank < first;
    bool clear = is_clear(sorted, first);
    double within = early ? (rank + 0.5) / first : (rank - first + 0.5) / (ANSWERS - first);
    /* Scores of mean 0 and variance 1 under the law, 0 where the order is not clear: they are
     * what ids and other ballots are compared with. */
    double early_score = clear ? ((early ? 1.0 : 0.0) - top) / sqrt(top * (1.0 - top)) : 0.0;
    double place_score = clear ? sqrt(12.0) * (within - 0.5) : 0.0;
    /* The test says "person 0" where the answer is among the first for person 0 alone. Every
     * ballot counts here, clear or not: a wrong rank would only blur the test. */
    pair->rates.above[number] += ranks[0] < first && ranks[1] >= first;
    pair->rates.trials[number]++;
    person->place += place_score;
    person->reports += clear;
    person->early += clear && early;
    ballots->rank[rank] += clear;
    ballots->clear += clear;
    add_lags(ballots, early_score, place_score, audit->device.number);
    compare_draw(ballots, draw, report->id, score[number][answer], sorted);
    const double tells[AUDIT_TELLS] = {early_score,      place_score,      number == 0 ? 1.0 : -1.0,
                                       person->point[1], person->point[0], 0.0};
    return audit_ids_add(&ballots->ids, audit, report->id, tells) &&
           audit_goes_on(audit, check_row(ballots, report, entry, answer));
}

/* A device's whole life: half of its ballots in one round, half in the next. */
static void one_device(struct ballots *ballots, struct pair *pair, unsigned number,
                       unsigned releases)
{
    struct audit *audit = ballots->audit;
    bool good = audit_enrol(audit, UINT32_MAX, UINT32_MAX);
    for (unsigned k = 0; k < releases && good; k++) {
        struct tremolo_report report;
        const struct tremolo_round round = {NULL, (uint16_t)(2 * k / releases)};
        const unsigned sample = k % (releases / 2);
        const struct audit_before before = audit_before(&audit->device);
        good = audit_report(audit, &report, &ballots->study, &round, &pair->person[number].sample,
                            sample);
        if (good) {
            const struct audit_draw draw = audit_draw_of(&before, &audit->device, &ballots->study,
                                                         (uint32_t)round.number << 16 | sample);
            good = count_report(ballots, pair, number, &report, &draw);
        }
    }
}

/* How many reports the i-th pair of devices makes: what a device does wrong only after a while
 * shows in some that live longer, as long as a ledger's budget lasts, of which it keeps 15 bits. */
static unsigned releases_of(const struct ballots *ballots, uint64_t i)
{
    double budget = (double)(UINT32_MAX >> 17 << 16);
    double most = floor(budget / tremolo_study_charge(&ballots->study) / 2.0); /* in a round */
    return i % LONG_EVERY == 1 ? 2 * (unsigned)fmin(LONG_RELEASES / 2.0, most) : RELEASES;
}

/* ---------------------------------------------------------------- judging */

/* The order matters. If ranks do not have the law of the study, nearly every other test would
 * fail as well, and the finding would be hidden among them. So the law is judged first, and if it
 * is wrong, the other tests ask whether ranks depend on something *apart from that*: they compare
 * with what was seen over all ballots. One case is left to decide: a law that is wrong for one
 * sample alone looks wrong as a whole, too. `are_alike` finds it, and then samples are compared
 * with the law. */

/* Chi-squared of the ranks against the law. Ranks that expect few are taken together. */
static double p_of_law(const struct ballots *ballots, const struct tremolo_rank_law *law)
{
    double square = 0.0;
    double share = 0.0;
    double seen = 0.0;
    double all = (double)ballots->clear;
    double top = law->top / 0x1p32;
    unsigned cells = 0;
    for (unsigned rank = 0; rank < ANSWERS; rank++) {
        share += rank < law->first ? top / law->first : (1.0 - top) / (ANSWERS - law->first);
        seen += (double)ballots->rank[rank];
        if (share * all >= 8.0 || rank == ANSWERS - 1u) {
            double off = seen - share * all;
            square += off * off / fmax(share * all, 1e-9);
            cells++;
            share = seen = 0.0;
        }
    }
    return all >= 100.0 && cells > 1 ? tremolo_chi2_tail(cells - 1, 0.0, square) : AUDIT_TOO_FEW;
}

/* What ranks are compared with between samples and between devices: the law, or, where they do
 * not have it, what they have in its place, lest a wrong law pass for a dependence. */
struct centre {
    double early; /* share of answers */
    double place; /* mean of where they stand among their kind, and its variance */
    double spread_of_place;
    double mean[2];   /* the same of scores, which are 0 where ranks are not clear: early or not, */
    double spread[2]; /* place among its kind; their variance; 0: all are the same */
};

/* The centre if the law holds. */
static struct centre centre_of_law(const struct ballots *ballots)
{
    return (struct centre){
        ballots->audit->plan->law.top / 0x1p32, 0.0, 1.0, {0.0, 0.0}, {1.0, 1.0}};
}

/* The centre as it was seen. */
static struct centre centre_seen(const struct ballots *ballots)
{
    static const double constant = 1e-6; /* below it a variance is rounding */
    struct centre centre = {.early = ballots->audit->result->early};
    double n = fmax(1.0, (double)ballots->reports);
    for (unsigned what = 0; what < 2; what++) {
        double mean = ballots->sum[what] / n;
        double spread = ballots->square[what] / n - mean * mean;
        centre.mean[what] = mean;
        centre.spread[what] = spread > constant ? spread : 0.0;
    }
    double clear = fmax(1.0, (double)ballots->clear);
    centre.place = ballots->sum[1] / clear;
    double spread = ballots->square[1] / clear - centre.place * centre.place;
    centre.spread_of_place = spread > constant ? spread : 0.0;
    return centre;
}

/* True if all samples deviate from the law in the same way: then the law is wrong, and not for
 * one sample. */
static bool are_alike(const struct ballots *ballots, const struct centre *seen)
{
    static const double unlike_p = 1e-3; /* only which of two names a wrong law gets hangs on it */
    double square[2] = {0.0, 0.0};
    unsigned people = 0;
    for (unsigned k = 0; k < 2 * ballots->count; k++) {
        const struct pair *pair = &ballots->pair[k / 2];
        const struct person *person = &pair->person[k % 2];
        double n = (double)person->reports;
        double early = (double)person->early - n * seen->early;
        double place = person->place - n * seen->place;
        square[0] += early * early / fmax(1e-9, n * seen->early * (1.0 - seen->early));
        square[1] += place * place / fmax(1e-9, n * seen->spread_of_place);
        people += n > 0.0;
    }
    return people < 2 || (tremolo_chi2_tail(people - 1, 0.0, square[0]) > unlike_p &&
                          tremolo_chi2_tail(people - 1, 0.0, square[1]) > unlike_p);
}

/* Judge each pair: its bound on epsilon, and the ranks of either person. */
static void judge_pairs(const struct ballots *ballots, const struct centre *centre)
{
    struct audit *audit = ballots->audit;
    const struct tremolo_audit_plan *plan = audit->plan;
    for (unsigned k = 0; k < ballots->count; k++) {
        const struct pair *pair = &ballots->pair[k];
        double bound = audit_bound(&pair->rates, AUDIT_EPSILON, 0.0, 1.0 - 0.99);
        audit_note(audit, CHECK_EPSILON,
                   audit_p_rates(&pair->rates, AUDIT_EPSILON, plan->claim.epsilon, 0.0), bound,
                   plan->claim.epsilon,
                   "two people (%s %u) are distinguished with epsilon %.4g or more, claimed %.4g",
                   pair->kind, pair->index, bound, plan->claim.epsilon);
        for (unsigned person = 0; person < 2; person++) {
            double n = (double)pair->person[person].reports;
            double early = (double)pair->person[person].early;
            audit_note(
                audit, CHECK_RANK_SAMPLE,
                n >= 1.0 ? audit_p_binomial(early, n, centre->early) : AUDIT_TOO_FEW,
                early / fmax(n, 1.0), centre->early,
                "of one sample (%s %u, person %u) %.4g of answers are early, by the law %.4g",
                pair->kind, pair->index, person, early / fmax(n, 1.0), centre->early);
            double off = pair->person[person].place / fmax(1.0, n) - centre->place;
            double spread = centre->spread_of_place;
            double place = spread > 0.0 ? off / sqrt(spread) : 0.0;
            audit_note(
                audit, CHECK_RANK_SAMPLE,
                n >= 1.0 ? audit_p_normal(place * sqrt(n)) : AUDIT_TOO_FEW, place, 0.0,
                "of one sample (%s %u, person %u) answers are %s among their kind by %.3g sd",
                pair->kind, pair->index, person, place < 0.0 ? "too early" : "too late",
                fabs(place));
        }
    }
}

/* Ranks of ballots of one device, and of devices in turn, are not correlated. */
static void judge_lags(const struct ballots *ballots, const struct centre *centre)
{
    for (unsigned k = 1; k <= LAGS; k++) {
        for (unsigned same = 0; same < 2; same++) {
            const struct lag *lag = same ? &ballots->same[k] : &ballots->other[k];
            const double product[2] = {lag->early, lag->place};
            for (unsigned what = 0; what < 2 && lag->count > 0.0; what++) {
                double spread = centre->spread[what];
                double shared =
                    product[what] / lag->count - centre->mean[what] * centre->mean[what];
                double r = spread > 0.0 ? shared / spread : 0.0;
                double p =
                    lag->count >= 500.0 ? audit_p_normal(r * sqrt(lag->count)) : AUDIT_TOO_FEW;
                audit_note(ballots->audit, CHECK_RANK_OTHERS, p, r, 0.0,
                           "a ballot's rank goes along with that of %s, %u before: correlation "
                           "%.3f",
                           same ? "the same device" : "another device", k, r);
            }
        }
    }
}

/* Judge all ballots: the law first, because the other tests compare with what was seen if it
 * fails. */
static void judge(const struct ballots *ballots)
{
    struct audit *audit = ballots->audit;
    static const struct audit_tell tells[AUDIT_TELLS] = {
        {"whether the answer is early", CHECK_RANK_IDS},
        {"the answer's place", CHECK_RANK_IDS},
        {"people apart", CHECK_IDS_SAMPLE},
        {"the sample", CHECK_IDS_SAMPLE},
        {"the sample's length", CHECK_IDS_SAMPLE}};
    const struct tremolo_rank_law *law = &audit->plan->law;
    struct tremolo_audit_result *result = audit->result;
    double n = fmax(1.0, (double)ballots->clear);
    uint64_t early = 0;
    for (unsigned rank = 0; rank < law->first; rank++) {
        early += ballots->rank[rank];
    }
    /* First the law: how many answers are early, and how ranks are spread within the early ones
     * and the late ones. */
    result->early = (double)early / n;
    result->early_claimed = law->top / 0x1p32;
    double p_early = audit_p_binomial((double)early, n, result->early_claimed);
    audit_note(audit, CHECK_RANK_LAW, ballots->clear > 0 ? p_early : AUDIT_TOO_FEW, result->early,
               result->early_claimed,
               "%.4g of answers are among the first %u of their sender's order, by the law %.4g",
               result->early, law->first, result->early_claimed);
    audit_note(audit, CHECK_RANK_LAW, p_of_law(ballots, law), (double)ballots->rank[0] / n,
               result->early_claimed / law->first,
               "ranks are not alike within the first %u, or within the others: rank 0 has %.4g of "
               "answers, by the law %.4g",
               law->first, (double)ballots->rank[0] / n, result->early_claimed / law->first);
    /* Then what every single ballot must satisfy, which is not left to chance. */
    audit_note(audit, CHECK_DIRECTIONS, ballots->wrong > 0 ? 0.0 : 1.0, (double)ballots->wrong, 0.0,
               "the directions of %llu of %llu ballots are not the wire format's",
               (unsigned long long)ballots->wrong, (unsigned long long)ballots->reports);
    audit_note(audit, CHECK_RANK_DRAWN, ballots->other_ids > 0 ? 0.0 : 1.0,
               (double)ballots->other_ids, 0.0,
               "the ids of %llu of %llu ballots are not drawn from the entropy as the wire format "
               "says",
               (unsigned long long)ballots->other_ids, (unsigned long long)ballots->reports);
    audit_note(audit, CHECK_RANK_DRAWN, ballots->other_ranks > 0 ? 0.0 : 1.0,
               (double)ballots->other_ranks, 0.0,
               "%llu of %llu answers do not stand at the rank that the wire format draws from the "
               "entropy",
               (unsigned long long)ballots->other_ranks, (unsigned long long)ballots->reports);
    if (ballots->frozen) {
        result->checks[CHECK_DIRECTIONS].p = 1.0; /* the better name for it */
        audit_note(audit, CHECK_DIRECTIONS, 0.0, 1.0, 0.0,
                   "the directions do not depend on the report's id");
    }
    static const double wrong_p = 1e-6;
    const struct centre by_law = centre_of_law(ballots), seen = centre_seen(ballots);
    /* If the law is wrong, the other tests compare with what was seen: a wrong law must not be
     * taken for a rank that depends on the sample. */
    bool wrong = result->checks[CHECK_RANK_LAW].p < wrong_p;
    judge_pairs(ballots, wrong && are_alike(ballots, &seen) ? &seen : &by_law);
    judge_lags(ballots, wrong ? &seen : &by_law);
    audit_ids_judge(&ballots->ids, audit, tells);
    const struct audit_rates *rates = &ballots->pair[0].rates;
    result->epsilon_lower = audit_bound(rates, AUDIT_EPSILON, 0.0, 1.0 - audit->plan->confidence);
    result->true_positive = audit_rate(rates, 0);
    result->false_positive = audit_rate(rates, 1);
}

/* Run 2 * pairs / 4 devices with ballots. Every second pair of devices is a corner and the
 * middle: their points are nearly orthogonal, so that few answers are first for both. The others
 * take turns. */
void audit_ballot_run(struct audit *audit)
{
    struct ballots *ballots = calloc(1, sizeof *ballots);
    if (ballots == NULL) {
        (void)audit_goes_on(audit, TREMOLO_NO_MEMORY);
        return;
    }
    ballots->audit = audit;
    ballots->study = audit->plan->study;
    ballots->study.rounds = 2;
    ballots->study.samples = LONG_RELEASES / 2;
    ballots->entries = tremolo_ballot_entries(&ballots->study);
    /* As many ballots as a run of noisy samples has devices, about. */
    uint64_t devices = make_pairs(ballots) ? audit->plan->pairs / RELEASES : 0;
    for (uint64_t i = 0; i < devices && audit->status == TREMOLO_OK; i++) {
        struct pair *pair = &ballots->pair[i % 2 == 0 ? 0 : i / 2 % ballots->count];
        unsigned releases = releases_of(ballots, i);
        one_device(ballots, pair, 0, releases);
        if (audit->status == TREMOLO_OK) {
            one_device(ballots, pair, 1, releases);
        }
        audit->status = tremolo_progress_add(audit->progress, RELEASES, audit->status);
    }
    if (audit->status == TREMOLO_OK) {
        judge(ballots);
    }
    free(ballots->ids.seen);
    free(ballots->pair);
    free(ballots);
}
