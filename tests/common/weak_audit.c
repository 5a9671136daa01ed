/* weak_audit.c -- a deliberately broken build for tests/cli/audit.sh.
 *
 * device.c is compiled a second time with tremolo_noise_draw renamed to
 * weak_noise_draw, which is this: four fifths of the noise. Nothing in the
 * device core knows of it. */
#include "parts.h"

#include <stdio.h>

#include "tremolo_audit.h"

int32_t weak_noise_draw(struct tremolo_generator *generator, unsigned noise_log2);

int32_t weak_noise_draw(struct tremolo_generator *generator, unsigned noise_log2)
{
    return tremolo_noise_draw(generator, noise_log2) / 5 * 4;
}

int main(void)
{
    static struct tremolo_audit_plan plan;
    struct tremolo_audit_result result;
    enum tremolo_status status = tremolo_audit_plan_make(&plan, 1.0, 1e-3, 4, 1.0);
    plan.pairs = 100000;
    plan.confidence = 0.95;
    plan.seed = 7;
    plan.seeded = true;
    if (status == TREMOLO_OK) {
        status = tremolo_audit_run(&result, &plan, NULL);
    }
    if (status != TREMOLO_OK) {
        return 2;
    }
    (void)printf("%s, epsilon at least %g\n", result.caught ? "CAUGHT" : "passed",
                 result.epsilon_lower);
    return result.caught ? 1 : 0;
}
