/* weak_audit.c -- a deliberately broken build for tests/cli/audit.sh.
 *
 * device.c is compiled a second time with tremolo_noise_draw renamed to
 * weak_noise_draw, which is this: four fifths of the noise. Nothing in the
 * device core knows of it. */
#include "parts.h"

#include "audit.h"
#include "cli.h"

int32_t weak_noise_draw(struct tremolo_generator *generator, unsigned noise_log2);

int32_t weak_noise_draw(struct tremolo_generator *generator, unsigned noise_log2)
{
    return tremolo_noise_draw(generator, noise_log2) / 5 * 4;
}

/* Study files need more than this build has. */
int audit_study_read(struct audit_plan *plan, struct audit_claim *claim, const char *path,
                     double delta, double clip_factor)
{
    (void)plan;
    (void)claim;
    (void)path;
    (void)delta;
    (void)clip_factor;
    return CLI_USAGE;
}

int main(int argc, char **argv)
{
    return cli_audit(argc, argv);
}
