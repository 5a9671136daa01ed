/* release.h -- how a study's reports become rows, sums and evidence; for the other modules.
 *
 * A *row* is a decoded report as tremolo_row_values() integers: of a noisy sample its d + 1
 * coordinates, of a ballot its id, answer and public response. Rows are added to exact sums, one
 * for each of the jackknife's groups; sums become *evidence*, which is what an estimate is made
 * from (estimate_json.h).
 *
 *     tremolo_row_unpack(row, &report, study);
 *     tremolo_release_fold(moments, study, rows, buckets, count);
 *     status = tremolo_evidence_of(&evidence, moments, study, &law, &release);
 *     ...
 *     tremolo_evidence_free(&evidence);
 *
 * A study here is one that tremolo_study_check() accepted. Pure functions, safe from any thread on
 * different outputs; a failure leaves outputs untouched unless it says otherwise. */
#ifndef ESTIMATE_RELEASE_H
#define ESTIMATE_RELEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chacha_lanes.h"
#include "regression.h"
#include "moments.h"
#include "tremolo_release.h"
#include "tremolo_study_file.h"

/* ---------------------------------------------------------------- rows */

enum { TREMOLO_ROW_VALUES_MAX = TREMOLO_MAX_FOLD_COORDINATES };

size_t tremolo_row_values(const struct tremolo_study *study);

/* The same answers as tremolo_report_unpack() and tremolo_report_answer(), without checking the
 * study for every report; `row` may be half written after a failure. */
TREMOLO_MUST_USE enum tremolo_status tremolo_row_unpack(int16_t *row,
                                                        const struct tremolo_report *report,
                                                        const struct tremolo_study *study);

/* The squared norm of a noisy sample in wire units, and the largest, which an honest device exceeds
 * with probability below 1e-9. Ballots have no such limit: 0 and more. */
double tremolo_row_norm2(const int16_t *row, const struct tremolo_study *study);
double tremolo_row_norm2_max(const struct tremolo_study *study);

/* ---------------------------------------------------------------- the directions of ballots
 *
 * The same integers as tremolo_ballot_expand(), eight ballots at a time, from the rows that keep
 * them. */

enum {
    EXPAND_LANES = CHACHA_LANES,
    EXPAND_ANSWER = TREMOLO_REPORT_ID_BYTES / 2, /* places in a row, after the id */
    EXPAND_RESPONSE,
    EXPAND_ROW_VALUES,
    EXPAND_SHORT_ENTRIES = 512, /* rows up to this length are expanded eight together */
};

/* Keys of the directions of EXPAND_LANES ballots; word w of ballot l is word[w][l]. */
struct expand_keys {
    uint32_t word[8][EXPAND_LANES];
};

/* The keys of `count` (1..EXPAND_LANES) ballots; their rows lie one after the other. */
void expand_keys(struct expand_keys *keys, const uint8_t study_id[TREMOLO_STUDY_ID_BYTES],
                 const int16_t *rows, size_t count);

/* The signed sums of the answers' directions, `entries` integers of -80..80 for each of any number
 * of ballots. `wide`: with the widest registers the processor has; tests compare with those it has
 * not. */
void expand_rows(int8_t *rows, size_t entries, const uint8_t study_id[TREMOLO_STUDY_ID_BYTES],
                 const int16_t *ballots, size_t count, bool wide);

/* ---------------------------------------------------------------- sums */

/* As tremolo_release_sums(), without counting how far reports reach: for simulated devices. */
TREMOLO_MUST_USE enum tremolo_status tremolo_release_plain_sums(struct tremolo_moments **moments,
                                                                const struct tremolo_study *study);

/* True if stored sums can be this study's; and if they counted by this study's law. */
bool tremolo_release_fits(const struct tremolo_moments *moments, const struct tremolo_study *study);
bool tremolo_release_watches(const struct tremolo_moments *moments,
                             const struct tremolo_study *study);

/* Add `count` rows, one after the other, each to its bucket; allocates nothing. Fails as
 * tremolo_moments_add() and tremolo_moments_add_ballots(). */
TREMOLO_MUST_USE enum tremolo_status tremolo_release_fold(struct tremolo_moments *moments,
                                                          const struct tremolo_study *study,
                                                          const int16_t *rows,
                                                          const uint8_t *buckets, size_t count);

/* ---------------------------------------------------------------- the law of honest reports
 *
 * An honest noisy sample is a clipped sample, perhaps a modulation, and noise of known scale: its
 * squared norm is at most a noncentral chi-square about the longest sample that the study allows.
 * An honest ballot is one of 256 answers, none more than w times as likely as by chance, so
 * whatever a random answer's row does with probability p, it does with at most w p. Either way
 * the share of honest reports beyond a limit is bounded whatever the samples are. */

/* An honest report is beyond the cut with at most this probability. */
#define TREMOLO_CUT_PROBABILITY 1e-4
/* Honest reports are called into question with at most this probability each time somebody looks.
 */
#define TREMOLO_TAILS_FALSE_ALARM 1e-6

/* Computed from a study once, and constant afterwards. */
struct tremolo_honest {
    struct tremolo_tail_limits limits;
    size_t numbers; /* of a ballot: its entries are about their products; 0: noisy samples */
    double unit;    /* wire units of one standard deviation, in which limits are given */
    double probability[TREMOLO_TAIL_LIMITS]; /* that an honest report is beyond, at most */
    double value_probability;                /* the same of one coordinate, to one side */
};
void tremolo_honest_law(struct tremolo_honest *law, const struct tremolo_study *study);

/* What came, compared with what can be expected. */
enum { TREMOLO_TAILS_NOTABLE = 8 };
/* Numbers for readers; nothing in it is allocated. */
struct tremolo_tails {
    size_t numbers; /* as of the law */
    uint64_t reports;
    uint64_t set_aside; /* that the robust estimate leaves out */
    struct tremolo_tail_norm {
        double beyond;   /* norm, in standard deviations of the noise */
        double expected; /* reports of honest devices, at most */
        uint64_t seen;
    } norm[TREMOLO_TAIL_LIMITS];
    size_t worst;        /* of the norms, what honest reports explain least; else the cut */
    double value_beyond; /* of one coordinate, in the same unit, */
    double value_expected;
    struct {
        size_t coordinate; /* of a noisy sample; of a ballot, the product's place */
        bool high;         /* above, not below */
        uint64_t seen;
    } value[TREMOLO_TAILS_NOTABLE]; /* those that honest reports do not explain */
    size_t values;
    double
        probability; /* that honest reports look like this somewhere, at most; each look counts */
    bool alarm;      /* it is below TREMOLO_TAILS_FALSE_ALARM */
};
void tremolo_tails_judge(struct tremolo_tails *tails, const struct tremolo_tail *tail,
                         const struct tremolo_honest *law);

/* ---------------------------------------------------------------- evidence */

/* What the sums of one round, or the merged sums of several, say. Without the reports beyond the
 * cut: `robust`; NULL where none is beyond it. All NULL: too few reports. */
struct tremolo_evidence {
    struct tremolo_debiased *samples, *robust_samples; /* or, from ballots, */
    struct tremolo_ballot *ballots, *robust_ballots;
    struct tremolo_tails tails;
    bool watched; /* tails are known */
};

/* Fill *evidence, which tremolo_evidence_free() frees, whatever the status. `release` has the
 * vectors V and is not read for ballots, of which nothing can be said while fewer than two buckets
 * hold any. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_evidence_of(struct tremolo_evidence *evidence, struct tremolo_moments *moments,
                    const struct tremolo_study *study, const struct tremolo_honest *law,
                    const struct tremolo_sample_release *release);
void tremolo_evidence_free(struct tremolo_evidence *evidence);

/* One part of it: ballots, or samples with the vectors exactly as broadcast (m rows of d; not read
 * without). Scaled values of ballots are 1 at the ends of their ranges. */
TREMOLO_MUST_USE enum tremolo_status tremolo_release_ballots(struct tremolo_ballot **ballots,
                                                             const struct tremolo_moments *moments,
                                                             const struct tremolo_study *study);
TREMOLO_MUST_USE enum tremolo_status
tremolo_release_evidence(struct tremolo_debiased **evidence, struct tremolo_moments *moments,
                         const struct tremolo_sample_release *release, const int16_t *vectors);

/* Vectors as debiasing wants them, and as they travel: in steps of 2^-14. */
void tremolo_release_from_wire(double *V, const int16_t *vectors, size_t count, double weight);
void tremolo_release_to_wire(int16_t *vectors, const double *V, size_t count);

/* ---------------------------------------------------------------- planning */

/* The variance of a study's coordinate in half ranges, where its terms say it: of a ballot's
 * answer, or of a product of answers, by what is typical. Else infinite. And the least of all
 * coordinates. */
double tremolo_release_variance(const struct tremolo_study_file *file, size_t coordinate);
double tremolo_release_least_variance(const struct tremolo_study_file *file);

/* How many devices a study needs until effects of a usual size are significant, by `plan` at its
 * usual guesses and this study's noise; infinite when no number would be enough. With the
 * study's `file` for its widest interval, too: that of an answer that few give. */
double tremolo_release_devices_needed(const struct tremolo_study *study,
                                      const struct tremolo_study_file *file);

#endif
