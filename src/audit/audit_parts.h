/* audit_parts.h -- the interface between the files of the audit.
 *
 * In the order of dependence: checks.c gathers single tests and has their p-values; device.c makes
 * reports and reads them; noise.c and noise_judge.c add up and judge what noisy samples hold;
 * ledger.c, samples.c, pairs.c and ballot.c are the parts of a run, which audit.c calls. */
#ifndef TREMOLO_AUDIT_PARTS_H
#define TREMOLO_AUDIT_PARTS_H

#include <stddef.h>

#include "audit.h"
#include "regression.h"

/* ---- checks (checks.c) */

/* The checks, in the order in which findings are printed: causes first. Who notes what:
 *
 *   ledger.c               claim.charge, bytes.*, entropy.*, ledger.*
 *   pairs.c                claim.epsilon, claim.delta, claim.mu
 *   noise.c, noise_judge.c sample.*, modulation.*, noise.*, server.moments, over the reports that
 *                          samples.c and pairs.c make
 *   ballot.c               claim.epsilon, ballot.*, rank.*
 *   device.c               bytes.read, bytes.length, bytes.wiped, bytes.response of every report; ids.*
 *   audit.c                timing
 *
 * A name is stable: scripts read it from the JSON, and the zoo of broken builds names the check that
 * must fail. A new check needs a fault in the zoo that only it catches. */
#define AUDIT_CHECKS(X)                                                                            \
    X(EPSILON, "claim.epsilon", "two people are distinguished, whatever the mechanism")            \
    X(DELTA, "claim.delta", "likelihood ratios beyond the claimed epsilon")                        \
    X(MU, "claim.mu", "two people are distinguished, Gaussian trade-off")                          \
    X(CHARGE, "claim.charge", "a release is charged what it costs, the study promises no less")    \
    X(READ, "bytes.read", "reports are made and can be read")                                      \
    X(LENGTH, "bytes.length", "reports have one length")                                           \
    X(RESPONSE, "bytes.response", "the response is sent as the study says, or not at all")         \
    X(WIPED, "bytes.wiped", "nothing is left in the working memory")                               \
    X(MAC, "bytes.mac", "the MAC holds, and notices changes")                                      \
    X(ENTROPY, "entropy", "all chance comes from the entropy source, and none means no report")    \
    X(HEDGED, "entropy.hedged",                                                                    \
      "a source that repeats itself repeats nothing, a stuck one is refused")                      \
    X(LEDGER_CHARGE, "ledger.charge", "the ledger subtracts the charge, once")                     \
    X(LEDGER_REPEAT, "ledger.repeat", "asking again gives the same bytes at no charge")            \
    X(LEDGER_BUDGET, "ledger.budget", "no report without budget")                                  \
    X(LEDGER_STORAGE, "ledger.storage", "charge and bytes are stored before they leave")           \
    X(IDS_LAW, "ids.law", "ids are uniform, bit by bit and pair by pair")                          \
    X(IDS_REPEATED, "ids.repeated", "no id comes twice")                                           \
    X(IDS_SAMPLE, "ids.sample", "ids tell nothing of the sample, nor of the noise")                \
    X(SCALE, "sample.scale", "a sample within the clip radius is kept as stated")                  \
    X(CLIP, "sample.clip", "a sample beyond the clip radius is brought to it")                     \
    X(APART, "sample.apart", "all that is random is drawn apart from the sample")                  \
    X(PHASE, "modulation.phase", "the waves' phases are uniform and apart from the sample")        \
    X(WAVES, "modulation.vectors", "vectors, rounds and devices have phases of their own")         \
    X(NOISE_COORDINATES, "noise.coordinates", "coordinates have noise of their own")               \
    X(NOISE_REPORT, "noise.report", "a report has noise as a whole")                               \
    X(NOISE_ROUNDS, "noise.rounds", "reports of a device have noise of their own")                 \
    X(NOISE_DEVICES, "noise.devices", "devices have noise of their own")                           \
    X(NOISE_SAMPLE, "noise.sample", "noise does not depend on the sample")                         \
    X(NOISE_GRID, "noise.grid", "no wire value, and no low bit, is left out")                      \
    X(NOISE_MEAN, "noise.mean", "noise is centred")                                                \
    X(NOISE_SCALE, "noise.scale", "noise has the stated standard deviation")                       \
    X(NOISE_TAILS, "noise.tails", "noise has Gaussian tails")                                      \
    X(NOISE_SHAPE, "noise.shape", "noise is Gaussian within")                                      \
    X(DIRECTIONS, "ballot.directions", "directions are the wire format's, of each id")             \
    X(RANK_DRAWN, "rank.drawn", "id and rank are what the wire format draws from the entropy")     \
    X(RANK_LAW, "rank.law", "ranks of the answers have their law")                                 \
    X(RANK_SAMPLE, "rank.sample", "ranks have one law for all samples")                            \
    X(RANK_IDS, "rank.ids", "ranks do not depend on the report's id")                              \
    X(RANK_OTHERS, "rank.others", "ballots have ranks of their own")                               \
    X(MOMENTS, "server.moments", "debiased moments are those of the samples")                      \
    X(TIMING, "timing", "running time does not depend on the sample")

/* The checks as numbers, in the same order. */
enum audit_check {
#define AUDIT_ID(id, name, what) CHECK_##id,
    AUDIT_CHECKS(AUDIT_ID)
#undef AUDIT_ID
        CHECK_COUNT
};

enum { AUDIT_COORDINATES_MAX = TREMOLO_MAX_DIMENSION + 1 };

/* A device in memory: two slots for each study, a source of entropy, and perhaps a counter. The
 * platform's callbacks read and write this struct. Storage and entropy fail where a `without_`
 * member says so. A copy of the slots is a snapshot of the device: tests restore one to play an
 * older copy. */
struct audit_device {
    struct tremolo_slot slots[4];
    unsigned studies; /* 1 or 2 */
    struct tremolo_random random;
    bool seeded;
    bool without_entropy;
    unsigned
        period; /* the source repeats itself after so many bytes, at every call; 0: it does not */
    bool without_storage;
    bool without_reading;
    bool counted; /* it has a monotonic counter: */
    uint32_t counter;
    size_t entropy_bytes; /* given so far, and the last of them: */
    uint8_t entropy[TREMOLO_SEED_BYTES];
    size_t flipped;       /* the bit of the entropy that is changed; SIZE_MAX: none */
    unsigned long number; /* of devices enrolled so far */
};

/* One run. Every part draws its own choices from `random`, in a fixed order, so that a seed gives
 * the same run again; devices draw from their own source. `status` is the first failure of the
 * audit itself: each part returns early once it is set, and the run reports it. */
struct audit {
    const struct tremolo_audit_plan *plan;
    struct tremolo_audit_result *result;
    struct tremolo_random random; /* the audit's own choices */
    struct audit_device device;
    struct tremolo_work work;
    uint8_t bytes[TREMOLO_MAX_REPORT_BYTES]; /* of the report that was made last */
    const struct tremolo_study *length_of;   /* the study with reports of this length: */
    size_t length;
    const struct tremolo_progress *progress;
    enum tremolo_status status; /* the first failure, which ends the run */
};

/* Record the result of a step. True while nothing has failed; the first failure stays. */
static inline bool audit_goes_on(struct audit *audit, enum tremolo_status step)
{
    audit->status = audit->status == TREMOLO_OK ? step : audit->status;
    return audit->status == TREMOLO_OK;
}

/* In place of a p-value: there are too few reports for this test. */
#define AUDIT_TOO_FEW (-1.0)

/* Note one single test of a check: its p-value, what was seen and what was claimed, and the
 * sentence to print if p is too small. Where nothing is left to chance p is 0 or 1. */
void audit_note(struct audit *audit, enum audit_check check, double p, double seen, double claimed,
                const char *format, ...) __attribute__((format(printf, 6, 7)));
/* Note an expectation that holds or does not, and a test that had too few reports. */
void audit_expect(struct audit *audit, enum audit_check check, bool holds, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void audit_leave_out(struct audit *audit, enum audit_check check);
void audit_judge(struct tremolo_audit_result *result, double false_alarm);

/* P-values, or AUDIT_TOO_FEW. Two-sided: of a standard normal, of a sum of symmetric
 * terms over the root of their squares, of k successes of n at probability q. One-sided: equal counts of
 * `cells` cells. */
double audit_p_normal(double z);
double audit_p_even(double z);
double audit_p_binomial(double k, double n, double q);
double audit_p_uniform(const uint32_t *count, unsigned cells);

/* How often a test says "person 0" of each of two people. above[0] / trials[0] is the rate of
 * true positives, above[1] / trials[1] that of false ones. */
struct audit_rates {
    uint64_t above[2];
    uint64_t trials[2];
};

double audit_rate(const struct audit_rates *rates, unsigned person);

/* What two rates are measured by: epsilon in T <= e^epsilon F + delta, or the mu of the Gaussian
 * trade-off curve through them, for which delta is 0. */
enum audit_measure { AUDIT_EPSILON, AUDIT_MU };

/* A lower bound on the measure, wrong with probability `error` at most; 0 where the rates show
 * nothing. */
double audit_bound(const struct audit_rates *rates, enum audit_measure measure, double delta,
                   double error);

/* The smallest error, of the powers of ten from 1e-2 to 1e-14, at which the bound still exceeds
 * the claim: a p-value. It is 1 where 1e-2 does not, and AUDIT_TOO_FEW where even people who are
 * always distinguished would not exceed the claim in so few trials. */
double audit_p_rates(const struct audit_rates *rates, enum audit_measure measure, double claim,
                     double delta);

/* ---- devices and samples (device.c) */

/* A sample as a device is given it: raw integers between the study's bounds, or beyond them. */
struct audit_sample {
    int32_t features[TREMOLO_MAX_DIMENSION];
    int32_t response;
};

/* Make the device new and enrol it with these budgets. Here and below false means that the run has
 * failed. */
bool audit_enrol(struct audit *audit, uint32_t budget, uint32_t epsilon);
struct tremolo_platform audit_platform(struct audit *audit);
void audit_expect_wiped(struct audit *audit);
/* The secret that follows a slot's report. */
uint8_t *audit_secret_of(struct tremolo_slot *slot);

/* One report of the enrolled device, decoded; audit->bytes hold it. Lengths are compared, and a
 * refusal, or what cannot be read, is noted. */
bool audit_report(struct audit *audit, struct tremolo_report *report,
                  const struct tremolo_study *study, const struct tremolo_round *round,
                  const struct audit_sample *sample, unsigned number);

/* A sample at place[i] half ranges from the middle of each range, as near as its integers
 * allow; the last of study's coordinates is the response, also when it is public. */
void audit_sample_at(struct audit_sample *sample, const struct tremolo_study *study,
                     const double *place);

/* ---- scenes of noisy samples (device.c), and what is gathered over their reports (noise.c, noise_judge.c) */

/* An orthonormal basis of which the first m rows are the broadcast vectors: the axes
 * themselves, one that is turned at random, or the axes from the last on, so that the first
 * noise that is drawn is not on a vector. */
enum audit_frame_kind { AUDIT_AXES, AUDIT_TURNED, AUDIT_AXES_FROM_LAST, AUDIT_FRAMES };

/* The basis in which residues are taken. Row j is a unit vector of n numbers; the devices get the
 * first m rows, without the response, as their vectors. The response always keeps its own axis,
 * because it is not modulated. */
struct audit_frame {
    const struct audit_scene *scene;
    const char *name;
    bool axes;
    double *row;      /* n * n */
    int16_t *vectors; /* m * d, or NULL */
};

/* A study as its reports are read, with everything that follows from its integers alone. Lengths
 * are in fine units. The pointers are owned: close the scene even when opening it failed. */
struct audit_scene {
    struct audit *audit;
    const char *name;
    struct tremolo_study study;
    unsigned n; /* coordinates */
    unsigned d;
    unsigned m;
    double step;      /* of the wire */
    double sd;        /* of the noise, with rounding and the dither that hides it */
    double keep;      /* 1 - alpha */
    double amplitude; /* of a vector's wave */
    bool waves;       /* they are larger than the noise */
    struct audit_frame frame[AUDIT_FRAMES];
    double table_end; /* law of a modulated direction: ends, and distribution within them */
    double *table;    /* cumulative, then logarithm of the density */
};

/* One report as it is read: residues along the frame's directions, and the kept sample. */
struct audit_view {
    int16_t wire[AUDIT_COORDINATES_MAX];
    double kept[AUDIT_COORDINATES_MAX]; /* (1 - alpha) clip(x) */
    double seen[AUDIT_COORDINATES_MAX]; /* along the frame's directions, sample included */
    double along[AUDIT_COORDINATES_MAX];
    uint8_t id[TREMOLO_REPORT_ID_BYTES];
    double norm; /* of the sample before the clip, in radii */
    unsigned family;
};

enum { AUDIT_TABLE = 8192 };
bool audit_scene_open(struct audit_scene *scene, const char *name,
                      const struct tremolo_study *study, struct audit *audit);
void audit_scene_close(struct audit_scene *scene);
void audit_kept(double *kept, double *norm, const struct audit_scene *scene,
                const struct audit_sample *sample);

/* The law of a residue t, in fine units, along a modulated vector: the probability of less, and the
 * logarithm of the density up to a constant. Read from the scene's table. */
struct audit_law {
    double share;
    double log_density;
};
struct audit_law audit_wave_law(const struct audit_scene *scene, double t);

/* One report of a scene's study. */
bool audit_look(struct audit_view *view, const struct audit_frame *frame,
                const struct audit_sample *sample, unsigned release);

/* What is gathered over a frame's reports, and judged at their end. NULL when the run has failed. */
struct audit_battery;
struct audit_battery *audit_battery_new(const struct audit_frame *frame);
void audit_battery_free(struct audit_battery *battery);
bool audit_battery_add(struct audit_battery *battery, const struct audit_view *view);
void audit_battery_judge(const struct audit_battery *battery);
/* The sum of |r - kept|^2 over its reports, rounding included and dither not. */
double audit_battery_error(const struct audit_battery *battery, double *coordinates);

/* ---- ids of either release (device.c) */

enum {
    AUDIT_ID_BITS = 8 * TREMOLO_REPORT_ID_BYTES,
    AUDIT_TELLS = 6,
};

/* Sums over all ids, and the ids themselves, which are sorted in the end to find any that came
 * twice. */
struct audit_ids {
    uint8_t (*seen)[TREMOLO_REPORT_ID_BYTES]; /* the caller frees it */
    size_t count;
    size_t capacity;
    uint32_t nibble[AUDIT_ID_BITS / 4][16];
    uint64_t changed[AUDIT_ID_BITS]; /* from one report to the next */
    double revealed[AUDIT_TELLS][AUDIT_ID_BITS];
    double square[AUDIT_TELLS];
};

/* A number that an id might reveal, and the check that fails if it does. `tells` of the functions
 * below are up to AUDIT_TELLS such numbers of one report, each of variance 1. */
struct audit_tell {
    const char *name; /* NULL: none */
    enum audit_check check;
};
bool audit_ids_add(struct audit_ids *ids, struct audit *audit, const uint8_t *id,
                   const double tells[AUDIT_TELLS]);
void audit_ids_judge(const struct audit_ids *ids, struct audit *audit,
                     const struct audit_tell *tells);

/* ---- parts of a run: each goes on from audit->status */

void audit_ledger_run(struct audit *audit);
void audit_ballot_run(struct audit *audit);
void audit_samples_run(struct audit *audit);
void audit_pairs_run(struct audit *audit);

#endif
