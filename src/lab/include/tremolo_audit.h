/* tremolo_audit.h -- what the bytes of this build's devices really give away.
 *
 *     static struct tremolo_audit_plan plan;
 *     status = tremolo_audit_plan_make(&plan, epsilon, delta, 4, 1.0);
 *     plan.pairs = 200000;
 *     status = tremolo_audit_run(&result, &plan, NULL);
 *
 * Two neighbouring people's samples go through the real device core many times; the
 * decoded bytes are tested, and lower bounds on epsilon compared with the claim. */
#ifndef TREMOLO_AUDIT_H
#define TREMOLO_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "tremolo_device.h"
#include "tremolo_privacy.h"
#include "tremolo_progress.h"
#include "tremolo_status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TREMOLO_AUDIT_DIMENSION_MAX = 32, /* of the built-in study, and of any ballot */
    TREMOLO_AUDIT_TESTS = 2           /* thresholds tried on every device */
};

struct tremolo_study_file;

/* What is said to hold for all releases of a device together, or for one ballot. */
struct tremolo_audit_claim {
    double epsilon;
    double delta;
    double mu;       /* rounded so that it claims no less than is meant */
    double mu_most;  /* rounded the other way */
    double distance; /* between neighbours, scaled; 0: any two people */
    char study[64];  /* the id of the study file; "" without one */
};

/* What is audited: a claim, a study, two neighbouring samples as far apart as the
 * study allows, and how to read a report. It points into itself: do not copy it. */
struct tremolo_audit_plan {
    struct tremolo_audit_claim claim;
    struct tremolo_study study;
    struct tremolo_bounds bounds[TREMOLO_MAX_DIMENSION];
    int32_t value[2];    /* of every feature: the two people's */
    int32_t response[2]; /* the same for both when it is public: nobody's secret */
    int16_t vectors[TREMOLO_MAX_VECTORS * TREMOLO_MAX_DIMENSION]; /* the same in all rounds */
    unsigned coordinates;                                         /* that are released */
    double centre;                         /* of person 0's in wire units; person 1 is at -centre */
    double noise_sd;                       /* in wire units, rounding included */
    double threshold[TREMOLO_AUDIT_TESTS]; /* say "person 0" above it; fixed beforehand */
    struct tremolo_rank_law law;           /* of a ballot's rank, as claimed */
    /* Set by the caller: */
    uint64_t pairs;    /* of devices */
    double confidence; /* of the bounds */
    uint64_t seed;
    bool seeded; /* else entropy comes from the operating system */
};

/* What ballots show besides. Each p-value is that of a chi-squared test. */
struct tremolo_audit_ballot {
    double early;         /* share of answers among the first T of their sender's order */
    double early_claimed; /* what the law says */
    double law_p;         /* the ranks have the claimed law */
    double people_p;      /* the ranks of both people have one law */
    double ids_p;         /* every byte of the ids is uniform; corrected for 16 of them */
    double both_p;        /* early answers do not depend on the id; corrected likewise */
    uint64_t repeats;     /* ids that came twice */
};

/* Of a ballot only epsilon_lower, the two rates, `ballot` and `caught` are set. */
struct tremolo_audit_result {
    struct tremolo_audit_ballot ballot;
    double epsilon_lower; /* no assumption */
    double mu_lower;      /* Gaussian trade-off curve */
    double epsilon_by_mu;
    double true_positive;
    double false_positive;
    double porosity_p; /* smallest p-value, corrected for the coordinates */
    uint64_t holes;    /* values seen from one person only, where both expect >= 50 */
    uint64_t values_tested;
    double mse;       /* of the unbiased attack, per coordinate, in units of C^2 */
    double mse_error; /* standard error of mse, as a chi-squared mean */
    double mse_bound; /* exact marginal Cramer-Rao */
    double mse_paper; /* the paper's phase-averaged bound */
    bool caught;      /* something exceeds the claim */
};

/* A study of 2..TREMOLO_AUDIT_DIMENSION_MAX features made for the claim (any two
 * people), with unit noise of 2^20 fine units. clip_factor 1 is the honest study; more
 * makes its samples larger than claimed, which is the same as too little noise. */
TREMOLO_MUST_USE enum tremolo_status tremolo_audit_plan_make(struct tremolo_audit_plan *plan,
                                                             double epsilon, double delta,
                                                             unsigned dimension,
                                                             double clip_factor);

/* A study of ballots for the claim, all of the sample protected. factor 1 is the honest
 * study; with more its devices have the law of so many times the epsilon. */
TREMOLO_MUST_USE enum tremolo_status tremolo_audit_plan_ballot(struct tremolo_audit_plan *plan,
                                                               double epsilon, unsigned dimension,
                                                               double factor);

/* The same for the mechanism of a study file, which need not live on. The claim is
 * what the file promises over all releases at `delta`, or at its own delta when that
 * is 0; of ballots, what one of them costs. */
TREMOLO_MUST_USE enum tremolo_status tremolo_audit_plan_study(struct tremolo_audit_plan *plan,
                                                              const struct tremolo_study_file *file,
                                                              double delta, double clip_factor);

/* How many reports a device makes. */
uint64_t tremolo_audit_releases(const struct tremolo_audit_plan *plan);

/* Run 2 * pairs enrolled devices and judge what they sent. */
TREMOLO_MUST_USE enum tremolo_status tremolo_audit_run(struct tremolo_audit_result *result,
                                                       struct tremolo_audit_plan *plan,
                                                       const struct tremolo_progress *progress);

#ifdef __cplusplus
}
#endif

#endif
