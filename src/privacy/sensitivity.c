/* sensitivity.c -- how far apart the modulated map takes two neighbours.
 *
 * exact: modulo 2 pi the angle omega <x,v_j> + phi_j is uniform whatever x
 * is, and independent across j, so the modulation is noise that does not
 * depend on the sample; what remains is (1-alpha) x. It needs the phases to
 * stay on the device.
 *
 * known_phase: cos u - cos w = -2 sin((u-w)/2) sin((u+w)/2), so along v_j the
 * outputs part by at most (1-alpha) t_j + (2 lambda/sqrt m) |sin(omega t_j/2)|
 * for a step t_j. The squared distance is (1-alpha)^2 r^2 + sum_j psi(t_j^2)
 * at most, where psi replaces the sine by 1 beyond its first maximum and is
 * concave in t^2; hence equal steps t_j = r/sqrt m are the worst and give
 * (1-alpha) r + 2 lambda sin(min(pi/2, omega r/(2 sqrt m))). Below the first
 * maximum a pair and phases attain it. */
#include "tremolo_privacy.h"

#include "interval.h"

static bool is_modulation(const struct tremolo_modulation *modulation)
{
    return modulation->alpha >= 0.0 && modulation->alpha < 1.0 && modulation->lambda >= 0.0 &&
           modulation->lambda <= DBL_MAX && modulation->omega >= 0.0 &&
           modulation->omega <= DBL_MAX;
}

enum tremolo_status tremolo_sensitivity_of(struct tremolo_sensitivity *sensitivity,
                                           const struct tremolo_modulation *modulation,
                                           double distance)
{
    if (sensitivity == NULL || modulation == NULL || !is_modulation(modulation) ||
        !is_positive(distance)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    const double half_pi = 1.57079632679489661923;
    double kept = (1.0 - modulation->alpha) * distance;
    double lambda = modulation->vectors > 0 ? modulation->lambda : 0.0;
    double root_m = modulation->vectors > 0 ? sqrt((double)modulation->vectors) : 1.0;
    double angle = 0.5 * modulation->omega * distance / root_m;
    double swing = 2.0 * lambda * sin(fmin(angle, half_pi));
    double lipschitz = lambda * modulation->omega / root_m * distance;
    if (!(kept + lipschitz <= DBL_MAX)) {
        return TREMOLO_OVERFLOWED;
    }
    /* All terms are positive. The sine below pi/2 has relative condition at
     * most 1, so each sum is within 12 units of roundoff. */
    sensitivity->exact = interval_around(kept, 2.0 * UNIT_ROUNDOFF);
    sensitivity->known_phase = interval_around(kept + swing, 12.0 * UNIT_ROUNDOFF);
    sensitivity->paper = interval_around(kept + lipschitz, 12.0 * UNIT_ROUNDOFF);
    return TREMOLO_OK;
}
