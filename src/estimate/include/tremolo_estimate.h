/* tremolo_estimate.h -- what reports say, as one struct.
 *
 * A file of reports, a server, a directory and a simulation all fill this struct, and
 * estimate_json.h makes the one document of it (docs/estimate.schema.json).
 *
 *     struct tremolo_estimate estimate;
 *     tremolo_estimate_begin(&estimate);
 *     estimate.features = d;
 *     estimate.names = names;
 *     status = tremolo_estimate_solve(&estimate, evidence, &units, &options);
 *     ...
 *     tremolo_estimate_free(&estimate);
 *
 * Pointers are borrowed unless it says otherwise. What is not known is NULL, NAN, or
 * TREMOLO_UNKNOWN. */
#ifndef TREMOLO_ESTIMATE_H
#define TREMOLO_ESTIMATE_H

#include <stddef.h>
#include <stdint.h>

#include "tremolo_ballot.h"
#include "tremolo_diagnosis.h"
#include "tremolo_honest.h"
#include "tremolo_privacy.h"
#include "tremolo_regression.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tremolo_inputs; /* how features follow from raw columns; opaque */

#define TREMOLO_UNKNOWN (-1)

/* What a feature's coefficient is a change per, or between. */
struct tremolo_estimate_meaning {
    const char *unit; /* of a number; "" without */
    const char *from; /* the two answers of a choice; NULL of a number */
    const char *to;
};

struct tremolo_estimate {
    const char *title;
    const char *study;   /* its id as text */
    const char *release; /* "sample" or "ballot"; NULL: raw data were read */
    size_t features;
    const char *const *names; /* of the features */
    const double *ranges;     /* from lowest to highest value of each, own units; or NULL */
    const struct tremolo_estimate_meaning *meanings; /* of the features; NULL: not known */
    const struct tremolo_inputs *inputs;             /* what they are made of; NULL: not known */
    const char *response;
    const char *unit; /* of the response; "" without */
    double response_range;
    double response_cut; /* share of the responses beyond that range, which devices cut at its ends:
                          * slopes shrink by about as much, for a normal response exactly so
                          * (Stein's identity), and no interval knows. NAN: not known, as reports
                          * alone do not tell */
    /* What came. */
    const char *state;     /* "open" or "done" */
    int64_t round;         /* the newest, counted from 0 as by the protocol */
    int64_t rounds;        /* planned by a study, or in the file */
    int64_t reports;       /* all that count */
    int64_t devices;       /* that sent them */
    int64_t round_reports; /* of the newest round */
    int64_t repeated;      /* the same bytes again */
    double
        devices_needed; /* by plan, for coefficients to stand out; infinite: no number would do */
    /* To conclude. The table's evidence is one round's or, with TREMOLO_UNKNOWN, all. */
    double level;
    int64_t evidence_round;
    uint64_t evidence_reports;
    const char *evidence_why;         /* NULL when there is only one round */
    struct tremolo_coefficient *rows; /* features, then intercept; owned; NULL: none */
    const char *remark;               /* why there are none */
    /* Are they honest reports? */
    const struct tremolo_tails *tails;  /* NULL: not known */
    struct tremolo_coefficient *robust; /* rows without the reports that were set aside; owned;
                                         * NULL: none were, or there can be no rows */
    /* To predict. */
    const char *method;
    double *prediction;     /* features, then intercept, own units; owned; NULL: none */
    double r2;              /* NAN unless some feature is identified */
    double r2_low, r2_high; /* hold it at the level */
    double condition, noise_sd;
    double noise_ratio, shift_max;      /* of ballots, see tremolo_ballot.h */
    int64_t negative;                   /* eigenvalues that the method had to bend */
    struct tremolo_diagnosis diagnosis; /* owned; NaN in the covariance of what noise hides */
};

/* What people can differ in, d + 1 extents at most, from ranges and what is one unit of
 * distance in each feature and, where it is protected, in the response. How many; 0 when
 * the ranges are not known. */
size_t tremolo_estimate_extents(struct tremolo_extent *extents,
                                const struct tremolo_estimate *estimate,
                                const struct tremolo_units *units, bool response_private);
/* How far apart any two people can be. */
double tremolo_extents_diameter(const struct tremolo_extent *extents, size_t count);

/* Nothing is known, and the level is 95 %. */
void tremolo_estimate_begin(struct tremolo_estimate *estimate);

/* Fill rows, or remark where there can be none, which is no failure; features and level
 * are set before. */
TREMOLO_MUST_USE enum tremolo_status tremolo_estimate_infer(struct tremolo_estimate *estimate,
                                                            const struct tremolo_debiased *evidence,
                                                            const struct tremolo_units *units);

/* Fill prediction and what follows it, from a fit in scaled units, whose condition is NaN
 * where no matrix was solved; the table comes first. The interval of R^2 needs the evidence,
 * which may be NULL. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_estimate_predict(struct tremolo_estimate *estimate, const struct tremolo_debiased *evidence,
                         const double *beta, const struct tremolo_fit *fit,
                         const struct tremolo_units *units);

/* Both, by a fit of the same evidence. When that fails the table stays. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_estimate_solve(struct tremolo_estimate *estimate, const struct tremolo_debiased *evidence,
                       const struct tremolo_units *units,
                       const struct tremolo_fit_options *options);

/* Fill robust, from what tremolo_release_robust() or tremolo_release_robust_ballots() gave: one
 * of them, or neither. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_estimate_robust(struct tremolo_estimate *estimate, const struct tremolo_debiased *evidence,
                        const struct tremolo_ballot *ballots, const struct tremolo_units *units);

/* Both, from ballots: by AUTO or UNBIASED. */
TREMOLO_MUST_USE enum tremolo_status tremolo_estimate_ballots(struct tremolo_estimate *estimate,
                                                              const struct tremolo_ballot *ballots,
                                                              const struct tremolo_units *units,
                                                              enum tremolo_method method);

/* The name of a row: a feature's, or "(intercept)". */
const char *tremolo_estimate_name(const struct tremolo_estimate *estimate, size_t row);

/* Read a document (docs/estimate.schema.json) that somebody sent or saved, and write it with
 * intervals of another level, or as it is when `level` is 0. MALFORMED when it is no estimate.
 * The caller frees *json; on failure it is untouched. */
TREMOLO_MUST_USE enum tremolo_status tremolo_estimate_json_level(char **json, const char *document,
                                                                 size_t length, double level);

void tremolo_estimate_free(struct tremolo_estimate *estimate); /* what it owns */

#ifdef __cplusplus
}
#endif

#endif
