/* audit_battery.h -- what the checks of noise gather (noise.c, of whole reports
 * noise.c) and judge (noise_judge.c). */
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

/* Sums over the reports, of one direction or coordinate. */
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

/* Sums over the reports of products of two of them. */
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

struct lag {
    double product; /* of scores, then of their sizes */
    double sizes;
    double count;
};

struct family {
    double reports;
    double radial; /* residue along the kept sample, in noise sds */
    double radius; /* what is kept of the clip radius */
    double claimed;
};

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
    double least;         /* reports whose norm is among the smallest thousandth */
    double most;
    unsigned threes;
    double *plus; /* reports in which three signs multiply to plus; at last, all of them */
};

/* Sizes of scores from which on they are counted as tails. */
static const double tail_at[TAILS] = {2.0, 2.5, 3.0, 3.5, 4.0, 4.5};

/* The share of reports whose norms are counted as too small, or too large. */
static const double rare = 1e-3;

/* Scores along a vector of strong waves are uniform, all others normal. */
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
