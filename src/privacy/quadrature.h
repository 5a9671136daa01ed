/* quadrature.h -- the ten-point Gauss-Legendre rule on [-1, 1], used where an
 * integrand is positive and its twentieth derivative is bounded. Internal.
 *
 * Over an interval of width w the remainder is
 * w^21 (10!)^4 / (21 (20!)^3) f^(20) = 5.7e-31 w^21 f^(20). */
#ifndef TREMOLO_PRIVACY_QUADRATURE_H
#define TREMOLO_PRIVACY_QUADRATURE_H

enum { GAUSS_HALF = 5 }; /* nodes come in pairs +-node */

static const double gauss_node[GAUSS_HALF] = {0.97390652851717172008, 0.86506336668898451073,
                                              0.67940956829902440623, 0.4333953941292471908,
                                              0.14887433898163121088};
static const double gauss_weight[GAUSS_HALF] = {0.066671344308688137594, 0.14945134915058059315,
                                                0.219086362515982044, 0.26926671930999635509,
                                                0.29552422471475287017};

#endif
