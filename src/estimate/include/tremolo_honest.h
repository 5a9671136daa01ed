/* tremolo_honest.h -- how far honest reports reach, and whether those that came do.
 *
 * An honest noisy sample is a clipped sample, perhaps a modulation, and noise of known scale: its
 * squared norm exceeds no noncentral chi-square whose mean is the longest that the study
 * allows. An honest ballot is one of 256 answers, none more than w times as likely as by chance, so
 * whatever a random answer's row does with probability p, it does with at most w p. Either way the
 * share of honest reports beyond a limit is bounded whatever the samples are.
 *
 *     struct tremolo_honest law;
 *     tremolo_honest_law(&law, study);
 *     ... tremolo_moments_watch(moments, &law.limits), fold ...
 *     if (tremolo_moments_tail(&tail, moments)) tremolo_tails_judge(&tails, &tail, &law);
 *
 * Pure functions. */
#ifndef TREMOLO_HONEST_H
#define TREMOLO_HONEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tremolo_device.h"
#include "tremolo_moments.h"

#ifdef __cplusplus
extern "C" {
#endif

/* That an honest report is beyond the cut, at most. */
#define TREMOLO_CUT_PROBABILITY 1e-4

/* Honest reports are called into question with at most this probability at one look. Whoever looks
 * again as reports come in has more chances of a false alarm: at most their number times as many. */
#define TREMOLO_TAILS_FALSE_ALARM 1e-6

struct tremolo_honest {
    struct tremolo_tail_limits limits;
    size_t numbers; /* of a ballot, whose products its entries are about; 0: noisy samples */
    double unit;    /* wire units of one standard deviation, in which limits are told */
    double probability[TREMOLO_TAIL_LIMITS]; /* that an honest report is beyond, at most */
    double value_probability;                /* the same of one coordinate, to one side */
};

void tremolo_honest_law(struct tremolo_honest *law, const struct tremolo_study *study);

/* What came beside what can be expected. */
enum { TREMOLO_TAILS_NOTABLE = 8 };

struct tremolo_tails {
    size_t numbers; /* as of the law */
    uint64_t reports;
    uint64_t set_aside; /* that the robust estimate leaves out */
    struct {
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
    double probability; /* that honest reports look like this somewhere at one look, at most */
    bool alarm;         /* it is below TREMOLO_TAILS_FALSE_ALARM */
};

void tremolo_tails_judge(struct tremolo_tails *tails, const struct tremolo_tail *tail,
                         const struct tremolo_honest *law);

/* The two of a ballot's `numbers` (the constant, the features, a private response) whose product
 * entry `coordinate` of its row is about. False for an entry that is about none. */
bool tremolo_ballot_pair(size_t *first, size_t *second, size_t coordinate, size_t numbers);

#ifdef __cplusplus
}
#endif

#endif
