/* rank.h -- the law of a ballot's rank, for those who compose it. Internal. */
#ifndef TREMOLO_PRIVACY_RANK_H
#define TREMOLO_PRIVACY_RANK_H

#include "interval.h"

/* T in 1..N/2, and a first answer more likely than another. */
bool rank_is_law(const struct tremolo_rank_law *law);

/* The loss of one ballot between two samples whose first sets are disjoint: +ln w, 0 and
 * -ln w, each mass within 3 units of roundoff. Sets that overlap move mass from both
 * ends to 0, so no other pair costs more at any epsilon. */
struct rank_masses {
    double up;
    double level;
    double down;
};
struct rank_masses rank_masses_of(const struct tremolo_rank_law *law);

#endif
