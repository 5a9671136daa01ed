/* audit_battery.h -- what the checks of noise gather (audit_noise.c) and judge
 * (audit_noise_judge.c). */
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
    VALUES = 1 << 13, /* wire values nearest to 0 that are counted one by one */
    AUDIT_NAMES = 48,
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
    const struct audit_scene *scene;
    const struct audit_frame *frame;
    double count;
    double *sum; /* of scores, of squares, of cubes; n each */
    double *square;
    double *cube;
    double *cross; /* of scores, of sizes, of scores with those before; n * n each */
    double *sizes;
    double *before;
    double befores;
    double *sample; /* of scores with the kept sample; of sizes with it, and with its squares */
    double *tilt;
    double *spread;
    double *size; /* n; of sizes, of the kept sample and its powers */
    double *kept1;
    double *kept2;
    double *kept4;
    double *moment; /* of r_i r_j - k_i k_j, of its square, of k_i k_j */
    double *moment2;
    double *truth;
    double frac; /* of scores with the kept sample's place between two wire values */
    double frac2;
    double (*harmonic)[HARMONICS]; /* of waves with those that a phase of 0 would give */
    double (*harmonic2)[HARMONICS];
    uint32_t (*cell)[CELLS];
    uint32_t (*group)[GROUPS][KS_CELLS];
    uint32_t (*residue)[2][RESIDUES]; /* by the sample's sign */
    uint32_t *value;
    double beyond[TAILS];
    double normals;
    double *past; /* LAGS + 1 vectors of scores */
    unsigned long device[LAGS + 1];
    struct lag same[LAGS + 1];
    struct lag other[LAGS + 1];
    struct family family[FAMILIES][2]; /* within the clip radius, beyond */
    double square_error;
    struct tremolo_moments *moments;
    struct audit_ids *ids;
    struct audit_whole *whole;
};

/* Sizes of scores from which on they are counted as tails. */
extern const double audit_tail_at[TAILS];

/* Scores along a vector of strong waves are uniform, all others normal. */
static inline bool is_wave(const struct audit_battery *battery, unsigned i)
{
    return i < battery->scene->m;
}

#endif
