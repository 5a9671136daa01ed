/* audit_battery.h -- the sums that noise.c gathers over reports and noise_judge.c judges.
 *
 * A report gives one *score* for each direction of its frame. Under the claim scores have mean 0 and
 * variance 1, and are independent of each other, of other reports and of the sample. Along the first m
 * directions, the broadcast vectors, a score is uniform (`is_wave`); along all others it is normal.
 * The *size* of a score is its absolute value, centred and scaled, because noise can have a common
 * scale without being correlated. No report is kept: memory does not grow with their number. */
#ifndef TREMOLO_AUDIT_BATTERY_H
#define TREMOLO_AUDIT_BATTERY_H

#include "audit_parts.h"

enum {
    CELLS = 32,    /* of the distribution */
    KS_CELLS = 64, /* where two groups are compared */
    GROUPS = 4,    /* a direction's sample: above 0, below; beyond the clip, within */
    LAGS = 16,
    FAMILIES = 10,
    RESIDUES = 16,
    TAILS = 6,
    MULTIPLES = 24, /* of a wave's angle, one by one */
    DOUBLINGS = 5,  /* then 32, 64 .. 512: phases of few bits */
    HARMONICS = MULTIPLES + DOUBLINGS,
    SMALL_MAX = 8,    /* coordinates of which all threes are looked at */
    VALUES = 1 << 13, /* wire values nearest to 0 that are counted one by one */
};

/* Sums over the reports, of one direction or coordinate. Groups divide the reports by the sample:
 * above and below the middle along this direction, clipped and not. The harmonics are sums of
 * products of a multiple of the wave and the same multiple of the sample's angle; phases that are
 * uniform make each of them zero on average. */
struct direction {
    double sum, square, cube; /* of scores */
    double size;
    double kept1, kept2, kept4;  /* of the kept sample and its powers */
    double harmonic[HARMONICS];  /* of waves with those that a phase of 0 */
    double harmonic2[HARMONICS]; /* would give, and of the squares */
    double bare;                 /* values that are the sample's own */
    double expected;             /* as many would be */
    uint32_t cell[CELLS];
    uint32_t group[GROUPS][KS_CELLS];
    uint32_t residue[2][RESIDUES]; /* by the sample's sign */
};

/* Sums over the reports of products of two directions i and j. The first index is the one with
 * the noise, the second the one with the sample where the two differ. */
struct product {
    double cross;           /* of scores */
    double sizes;           /* of sizes */
    double before;          /* of a score with one of the report before */
    double sample;          /* of a score with the kept sample; */
    double tilt, spread;    /* of a size with it, and with its square */
    double truth;           /* k_i k_j */
    double moment, moment2; /* of r_i r_j - k_i k_j, and of its square */
    double turned[2];       /* of wave i times the sine of its angle with j's score and size; */
    double turned2[2];      /* of their squares */
};

/* Sums over pairs of reports that are so many reports apart. */
struct lag {
    double product; /* of scores, then of their sizes */
    double sizes;
    double count;
};

/* What samples of one family keep of the clip radius, along the sample itself. Only studies
 * without modulation are counted, where the rest is noise alone. */
struct family {
    double reports;
    double radial; /* residue along the kept sample, in noise sds */
    double radius; /* what is kept of the clip radius */
    double claimed;
};

/* All sums over the reports of one frame. */
struct audit_battery {
    struct audit *audit;
    const struct audit_scene *scene;
    const struct audit_frame *frame;
    double count;
    struct direction *direction; /* n */
    struct product *product;     /* n * n */
    double befores;
    double frac; /* of scores with the kept sample's place between two wire values */
    double frac2;
    uint32_t value[VALUES];
    double beyond[TAILS];
    double normals;
    double *past; /* LAGS + 1 vectors of scores */
    unsigned long device[LAGS + 1];
    struct lag same[LAGS + 1];
    struct lag other[LAGS + 1];
    struct family family[FAMILIES][2]; /* within the clip radius, beyond */
    double square_error;
    struct tremolo_moments *moments;
    struct audit_ids ids;
    /* Of whole reports: */
    uint32_t norm[CELLS]; /* the norms' shares */
    double least;         /* reports with a norm among the smallest thousandth */
    double most;
    unsigned threes;
    double *plus; /* reports in which three signs multiply to plus; at last, all of them */
};

/* Sizes of scores from which on they are counted as tails. */
static const double tail_at[TAILS] = {2.0, 2.5, 3.0, 3.5, 4.0, 4.5};

/* The share of norms at either end that are counted apart. */
static const double rare = 1e-3;

/* Direction i is a broadcast vector: its scores are uniform. All others are normal. */
static inline bool is_wave(const struct audit_battery *battery, unsigned i)
{
    return i < battery->scene->m;
}

/* The k-th three of coordinates: all of a few, else those that stand side by side. */
static inline void three_of(unsigned at[3], unsigned k, unsigned n)
{
    if (n > SMALL_MAX) {
        at[0] = k;
        at[1] = k + 1;
        at[2] = k + 2;
        return;
    }
    for (at[0] = 0; at[0] < n; at[0]++) {
        for (at[1] = at[0] + 1; at[1] < n; at[1]++) {
            for (at[2] = at[1] + 1; at[2] < n; at[2]++) {
                if (k-- == 0) {
                    return;
                }
            }
        }
    }
}

#endif
