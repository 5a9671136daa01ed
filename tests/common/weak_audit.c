/* weak_audit.c -- deliberately broken builds for tests/cli/audit.sh.
 *
 * device.c is compiled a second time with tremolo_noise_draw and tremolo_ballot_draw
 * renamed to weak_noise_draw and weak_ballot_draw, which are these: four fifths of the
 * noise, and ballots broken in the way that the argument names. Nothing in the device
 * core knows of it. */
#include "parts.h"

#include <stdio.h>
#include <string.h>

#include "tremolo_audit.h"

static const char *fault = "noise";

int32_t weak_noise_draw(struct tremolo_generator *generator, unsigned noise_log2);
void weak_ballot_draw(struct tremolo_work *work);

int32_t weak_noise_draw(struct tremolo_generator *generator, unsigned noise_log2)
{
    return tremolo_noise_draw(generator, noise_log2) / 5 * 4;
}

void weak_ballot_draw(struct tremolo_work *work)
{
    tremolo_ballot_draw(work);
    unsigned first = work->study->rank_first;
    if (strcmp(fault, "rank") == 0 && work->id[15] < 16) {
        work->rank %= first; /* every sixteenth answer is an early one */
    } else if (strcmp(fault, "best") == 0 && work->rank < first / 2) {
        work->rank = 0; /* early answers are not alike */
    } else if (strcmp(fault, "id") == 0) {
        work->id[3] &= 0xfe;
    } else if (strcmp(fault, "leak") == 0 && work->sample->features[0] > 0) {
        work->id[7] |= 0x01; /* tells people apart */
    } else if (strcmp(fault, "tied") == 0 && (work->id[9] < 128) != (work->rank < first)) {
        work->id[9] ^= 0x80; /* tells early answers from others */
    } else if (strcmp(fault, "person") == 0 && work->sample->features[0] > 0) {
        work->rank = work->rank < 6 ? 0 : work->rank; /* one person's ranks have another law */
    }
}

int main(int argc, char **argv)
{
    static struct tremolo_audit_plan plan;
    struct tremolo_audit_result result;
    fault = argc > 1 ? argv[1] : fault;
    bool noise = strcmp(fault, "noise") == 0;
    enum tremolo_status status = noise ? tremolo_audit_plan_make(&plan, 1.0, 1e-3, 4, 1.0)
                                       : tremolo_audit_plan_ballot(&plan, 2.0, 1, 1.0);
    plan.pairs = noise ? 100000 : 10000;
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
    if (!noise) {
        (void)printf("law %.2g, people %.2g, ids %.2g, both %.2g\n", result.ballot.law_p,
                     result.ballot.people_p, result.ballot.ids_p, result.ballot.both_p);
    }
    return result.caught ? 1 : 0;
}
