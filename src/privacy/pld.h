/* pld.h -- a privacy loss distribution's two sides. Internal. */
#ifndef TREMOLO_PRIVACY_PLD_H
#define TREMOLO_PRIVACY_PLD_H

#include "accountant.h"
#include "interval.h"

enum { PLD_ATOMS_MAX = 1 << 22 };

/* mass[i] sits at loss (first + i) * step + shift; infinity_mass at +infinity.
 * mass_error bounds the relative error of each mass. */
struct pld_side {
    double *mass;
    double *log_mass; /* its logarithm; every tilt starts from it */
    size_t count;
    int64_t first;
    double step;
    double shift;
    double infinity_mass;
    double mass_error;
};

/* `upper` dominates the true pair (its delta is never too small), `lower` is
 * dominated by it. They may be the same. */
struct tremolo_pld {
    struct pld_side upper;
    struct pld_side lower;
};

/* Fill log_mass once the masses are final; false when out of memory. */
bool pld_side_finish(struct pld_side *side);

/* Arrays and plans of the last transform, kept for the next: planning takes
 * longer than transforming. All zero before the first use. */
struct pld_workspace {
    size_t n; /* points, a power of two; 0: nothing held */
    double *real;
    double (*spectrum)[2];
    void *forward;
    void *backward;
};
void pld_workspace_free(struct pld_workspace *work);

/* delta of `releases` releases from one side, as a proved interval. */
enum tremolo_status pld_side_delta(struct tremolo_certified *delta, const struct pld_side *side,
                                   uint64_t releases, double epsilon, struct pld_workspace *work);

#endif
