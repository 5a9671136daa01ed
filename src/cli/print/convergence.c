/* convergence.c -- gradient variance, its uniform bound and the convergence
 * bound, printed.
 *
 * The bound as printed in the paper is shown under that name only, beside the
 * corrected one and the reason why it does not hold. Both bound the excess of half
 * the mean squared error, in scaled units, of the averaged iterate. */
#include "convergence.h"

#include <stdio.h>

#include "coefficients.h"
#include "members.h"

void convergence_print(const json_t *convergence, const char *where)
{
    if (!json_is_object(convergence)) {
        printf("Gradient variance: no eigenvalue of the moment is above 0 at this noise\n");
        return;
    }
    printf("Gradient variance at %s %.4g, at most %.4g for |beta| <= %.4g, |x| <= %.4g, "
           "|y| <= %.4g\n",
           where, member_number(convergence, "gradient_variance"),
           member_number(convergence, "gradient_variance_bound"),
           member_number(convergence, "beta_bound"), member_number(convergence, "feature_bound"),
           member_number(convergence, "response_bound"));
    printf("Excess loss after %.0f rounds: at most %.4g (corrected, step 1/2L, L = %.4g); as "
           "printed %.4g\n",
           member_number(convergence, "rounds"), member_number(convergence, "excess_loss_bound"),
           member_number(convergence, "smoothness"),
           member_number(convergence, "excess_loss_as_printed"));
    coefficients_paragraph(
        "The bound as printed does not hold: it divides by the number of devices a variance that "
        "holds that division already, and its step 1/L leaves the proof no room for noise.");
}
