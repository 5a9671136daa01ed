/* estimate_json.h -- what reports say, as one struct, and the one document made of it.
 *
 * A file of reports, a server, a data directory and a simulation say what the estimate is about and
 * what it is made from; one function fills in the rest:
 *
 *     struct tremolo_estimate estimate;
 *     tremolo_estimate_begin(&estimate);
 *     estimate.features = d;
 *     estimate.names = names;
 *     status = tremolo_estimate_make(&estimate, &evidence, &units, 0.95, &method);
 *     json_t *document = estimate_document(&estimate, guarantee);
 *     tremolo_estimate_free(&estimate);
 *
 * Pointers are borrowed unless it says otherwise. What is not known is NULL, NAN, or
 * TREMOLO_UNKNOWN. */
#ifndef TREMOLO_ESTIMATE_JSON_H
#define TREMOLO_ESTIMATE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "document.h"
#include "release.h"
#include "regression.h"
#include "tremolo_estimate.h"
#include "tremolo_privacy.h"

struct tremolo_inputs; /* how features follow from raw columns (inputs.h) */

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
    /* Share of the responses beyond that range, which devices clip. Slopes shrink by about as much,
     * for a normal response exactly so (Stein's identity), and the intervals do not include this.
     * NAN: not known, as from reports alone. */
    double response_cut;

    /* What came. */
    const char *state;     /* "open" or "done", of a server's study */
    int64_t round;         /* the newest, counted from 0 as by the protocol */
    int64_t rounds;        /* planned by a study, or in the file */
    int64_t reports;       /* all that count */
    int64_t devices;       /* that sent them */
    int64_t round_reports; /* of the newest round */
    int64_t repeated;      /* the same bytes again */
    double devices_needed; /* by plan, for significant effects; infinite: no number is enough */
    const double *last, *average; /* iterates of a server's study with rounds; average NULL: not
                                     done */

    /* To conclude. The table's evidence is one round's or, with TREMOLO_UNKNOWN, all. */
    double level;
    int64_t evidence_round;
    uint64_t evidence_reports;
    const char *evidence_why;         /* NULL when there is only one round */
    struct tremolo_coefficient *rows; /* features, then intercept; owned; NULL: none */
    double degrees;                   /* of freedom of their Student's t */
    const char *remark;               /* why there are none */

    /* Are they honest reports? */
    struct tremolo_tails tails;
    bool watched;                       /* false: tails are not known */
    struct tremolo_coefficient *robust; /* rows without the reports that were set aside; owned;
                                         * NULL: none were, or there can be no rows */

    /* To predict. */
    const char *method;
    double *prediction;     /* features, then intercept, own units; owned; NULL: none */
    double r2;              /* NAN unless some feature is identified */
    double r2_low, r2_high; /* hold it at the level */
    double condition, noise_sd;
    double noise_ratio, shift_max;      /* of ballots, see regression.h */
    int64_t negative;                   /* eigenvalues that the method had to bend */
    struct tremolo_diagnosis diagnosis; /* owned; NaN in the covariance of what noise hides */
    bool of_rounds;                     /* the paper's theorems were asked about the rounds: */
    struct tremolo_convergence_answer convergence;
};

/* What predicts. */
struct tremolo_estimate_method {
    struct tremolo_fit_options fit; /* of the evidence, unless a prediction is there already: */
    const double *beta;             /* its coefficients in scaled units, */
    const struct tremolo_fit *made; /* and its account, with a condition of NAN where no matrix was
                                       solved, as by the paper's iteration */
    const struct tremolo_convergence_input *rounds; /* to ask the paper's theorems; may be NULL */
};

/* Nothing is known yet. */
void tremolo_estimate_begin(struct tremolo_estimate *estimate);

/* From evidence to everything below "to conclude": the table at `level`, the same without the
 * reports beyond honest noise, the prediction and its diagnostics, in this order. Evidence
 * without a table says why in `remark`, which is no failure. After a failure what was made before
 * it stands: a table needs no prediction. Without evidence `rows` are the caller's, or NULL, and
 * the prediction is the method's. What it fills, tremolo_estimate_free() frees. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_estimate_make(struct tremolo_estimate *estimate, const struct tremolo_evidence *evidence,
                      const struct tremolo_units *units, double level,
                      const struct tremolo_estimate_method *method);
void tremolo_estimate_free(struct tremolo_estimate *estimate);

/* What people can differ in, d + 1 extents at most, from ranges and what is one unit of distance in
 * each feature and, where it is protected, in the response. How many; 0 when the ranges are not
 * known. And how far apart any two people can be. */
size_t tremolo_estimate_extents(struct tremolo_extent *extents,
                                const struct tremolo_estimate *estimate,
                                const struct tremolo_units *units, bool response_private);
double tremolo_extents_diameter(const struct tremolo_extent *extents, size_t count);

/* ---------------------------------------------------------------- the document */

enum { ESTIMATE_DOCUMENT_VERSION = 1 };

/* The document with this "guarantee" (NULL: raw data were read, which promises nothing), which it
 * takes over; NULL without memory. */
json_t *estimate_document(const struct tremolo_estimate *estimate, json_t *guarantee);

/* Set "answers" and "notes" from the other members, "guarantee" included: what was learnt, how
 * certain and how private it is, and what a reader of the table must know, in sentences that
 * everything which shows an estimate uses. */
void estimate_set_answers(json_t **document);

/* Its JSON Schema, without the member "simulation", which the lab adds. The caller owns it. */
json_t *estimate_schema(void);

/* A list of {"name", "estimate"} for features and intercept, and the rows that describe it. */
json_t *estimate_named_json(const struct tremolo_estimate *estimate, const double *values);
extern const struct document_row estimate_named_rows[];

/* True if it is such a document; others may have sent it. */
bool estimate_document_is(const json_t *document);

/* What the paper's theorems say of rounds: an object, or null when nothing is known. */
json_t *estimate_convergence(const struct tremolo_convergence_answer *convergence);

/* Documents have all digits, for people too (json_latch_exact() is for programs). */
#define ESTIMATE_JSON_PRETTY (JSON_INDENT(2) | JSON_REAL_PRECISION(17))

#endif
