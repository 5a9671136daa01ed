/* audit.h -- what the bytes of this build's devices really give away.
 *
 *     static struct tremolo_audit_plan plan;
 *     static struct tremolo_audit_result result;
 *     status = tremolo_audit_plan_make(&plan, epsilon, delta, 4, 1.0);
 *     plan.pairs = 20000;
 *     status = tremolo_audit_run(&result, &plan, NULL);
 *
 * The real device core is enrolled, asked for reports and read back many times, as a device and
 * its server would. Each check compares what came out with what is claimed, and when it fails
 * says what is wrong. All checks together fail a sound build with probability
 * plan.false_alarm at most. */
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
    TREMOLO_AUDIT_CHECKS_MAX = 44,
    TREMOLO_AUDIT_PAIR_KINDS = 7,
    TREMOLO_AUDIT_FINDING_BYTES = 200,
};
#define TREMOLO_AUDIT_FALSE_ALARM 1e-6

struct tremolo_study_file;

/* What must hold for all releases of a device together, or for one ballot. A study file's claim
 * is read from it, and that of a built-in study is what the study was made for. */
struct tremolo_audit_claim {
    double epsilon;
    double delta;
    double mu;       /* rounded so that it claims no less than is meant */
    double mu_most;  /* rounded the other way */
    double distance; /* between neighbours, scaled; 0: any two people */
    char study[64];  /* the id of the study file; "" without one */
};

/* What is audited: a claim and a study. The study points to bounds in the same struct, so a plan
 * must not be copied. */
struct tremolo_audit_plan {
    struct tremolo_audit_claim claim;
    struct tremolo_study study;
    struct tremolo_bounds bounds[TREMOLO_MAX_DIMENSION];
    struct tremolo_rank_law law; /* of a ballot's rank, as claimed */
    /* Set by the caller: */
    uint64_t pairs;     /* of devices */
    double confidence;  /* of the lower bounds that are shown */
    double false_alarm; /* of all checks together; 0: TREMOLO_AUDIT_FALSE_ALARM */
    uint64_t seed;
    bool seeded; /* else entropy comes from the operating system */
    bool timing; /* also compare running times; no seed repeats these */
};

/* One check: many single tests. The members describe the worst of them. */
struct tremolo_audit_check {
    const char *name;  /* "noise.scale", stable */
    const char *what;  /* in words */
    uint64_t tests;    /* 0: nothing here that it could look at */
    uint64_t left_out; /* tests that had too few reports; with `tests` 0 the check was not made */
    double p;          /* corrected for the number of tests; 0 where nothing is left to chance */
    double seen;       /* by the worst of the tests */
    double claimed;
    bool failed;
    char finding[TREMOLO_AUDIT_FINDING_BYTES]; /* what is wrong; "" when nothing is */
};

/* Results of likelihood-ratio tests between two people, by the direction in which they differ. */
struct tremolo_audit_pairs {
    const char *kind; /* "axis", "vector", ... */
    uint64_t devices; /* of both people */
    double mu_own;    /* what noise alone would give people so far apart */
    double mu_seen;   /* of the test at even odds; NaN without devices */
    double mu_lower;  /* at the plan's confidence */
};

/* What a run found. It is written only when the run came to its end, or when a device refused or
 * could not be read, which is a finding too. */
struct tremolo_audit_result {
    struct tremolo_audit_check checks[TREMOLO_AUDIT_CHECKS_MAX];
    unsigned check_count;
    double check_p;    /* a check fails below it */
    bool caught;       /* a check failed */
    unsigned untested; /* checks that had too few reports for any of their tests */
    /* Of the two people who are distinguished best: */
    double epsilon_lower; /* no assumption */
    double true_positive;
    double false_positive;
    /* Of noisy samples: */
    double mu_lower; /* Gaussian trade-off curve */
    double epsilon_by_mu;
    struct tremolo_audit_pairs pairs[TREMOLO_AUDIT_PAIR_KINDS];
    double mse;       /* of the unbiased attack, per coordinate, in units of C^2 */
    double mse_error; /* standard error of mse, as a chi-squared mean */
    double mse_bound; /* exact marginal Cramer-Rao */
    double mse_paper; /* the paper's phase-averaged bound */
    /* Of ballots: */
    double early;         /* share of answers among the first T of their sender's order */
    double early_claimed; /* what the law says */
};

/* A study of 2..TREMOLO_AUDIT_DIMENSION_MAX features and a private response made for the claim
 * (any two people, two rounds of two samples), with half as many vectors as features.
 * clip_factor 1 is the honest study; more makes its samples larger than claimed, which is the
 * same as too little noise. */
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

/* How many reports a device makes in its life: samples of all rounds. */
static inline uint64_t tremolo_audit_releases(const struct tremolo_audit_plan *plan)
{
    return (uint64_t)plan->study.rounds * plan->study.samples;
}

/* Run 2 * pairs enrolled devices, and some more, and judge what they sent. */
TREMOLO_MUST_USE enum tremolo_status tremolo_audit_run(struct tremolo_audit_result *result,
                                                       struct tremolo_audit_plan *plan,
                                                       const struct tremolo_progress *progress);

#ifdef __cplusplus
}
#endif

#endif
