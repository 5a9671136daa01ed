/* planning_levers.c -- what each choice costs and buys, beside the request itself. */
#include "planning_parts.h"

#include <math.h>

#include "tremolo_privacy.h"

static void evaluate(struct tremolo_plan_lever *lever)
{
    const struct tremolo_plan_request *request = &lever->request;
    struct tremolo_plan_request any = *request;
    struct tremolo_plan_result result;
    any.distance = 0.0;
    lever->devices = plan_devices(request);
    lever->r2 = tremolo_plan_expect(&result, request) == TREMOLO_OK ? result.r2_auto : NAN;
    lever->attack = request->release == TREMOLO_RELEASE_BALLOT
                        ? plan_ballot_attack(request)
                        : tremolo_plan_attack(request, tremolo_plan_sensitivity(&any));
}

/* The next lever: the request, for the caller to change. */
static struct tremolo_plan_request *add(struct tremolo_plan_answer *answer,
                                        enum tremolo_plan_lever_kind kind,
                                        const struct tremolo_plan_request *request)
{
    struct tremolo_plan_lever *lever = &answer->levers[answer->lever_count++];
    lever->kind = kind;
    lever->request = *request;
    return &lever->request;
}

static void change_release(struct tremolo_plan_request *request, enum tremolo_release_kind release,
                           double distance)
{
    request->release = release;
    request->distance = distance;
}

static void add_releases(struct tremolo_plan_answer *answer,
                         const struct tremolo_plan_request *request)
{
    if (request->release == TREMOLO_RELEASE_SAMPLE) {
        change_release(add(answer, TREMOLO_LEVER_RELEASE, request), TREMOLO_RELEASE_BALLOT, 0.0);
    }
    if (request->release == TREMOLO_RELEASE_BALLOT || request->distance > 0.0) {
        change_release(add(answer, TREMOLO_LEVER_RELEASE, request), TREMOLO_RELEASE_SAMPLE, 0.0);
    }
}

/* The lever that brings the number down most without helping an attacker; before all others
 * the release that does at the same guarantee, or keeps more people apart. */
static size_t best_lever(const struct tremolo_plan_answer *answer)
{
    const struct tremolo_plan_lever *own = answer->levers;
    size_t best = 0;
    for (size_t i = 1; i < answer->lever_count; i++) {
        const struct tremolo_plan_lever *lever = &answer->levers[i];
        double now = answer->levers[best].devices;
        bool fewer = lever->devices > 0.0 && (now == 0.0 || lever->devices < now);
        bool release = lever->kind == TREMOLO_LEVER_RELEASE;
        bool as_safe = lever->attack <= own->attack || (release && own->request.distance == 0.0);
        if (fewer && as_safe && lever->kind != TREMOLO_LEVER_TRUST) {
            best = i;
            if (release) {
                break;
            }
        }
    }
    return best;
}

static void add_epsilon(struct tremolo_plan_answer *answer,
                        const struct tremolo_plan_request *request, double epsilon)
{
    double each = epsilon / (double)request->samples;
    if (request->release == TREMOLO_RELEASE_SAMPLE ||
        (each >= TREMOLO_RANK_EPSILON_MIN && each <= TREMOLO_RANK_EPSILON_MAX)) {
        add(answer, TREMOLO_LEVER_EPSILON, request)->epsilon = epsilon;
    }
}

void plan_fill_levers(struct tremolo_plan_answer *answer,
                      const struct tremolo_plan_request *request)
{
    answer->lever_count = 0;
    (void)add(answer, TREMOLO_LEVER_NONE, request);
    add_releases(answer, request);
    add_epsilon(answer, request, request->epsilon / 2.0);
    add_epsilon(answer, request, request->epsilon * 2.0);
    if (request->guess.dimension > 1) {
        struct tremolo_plan_request *fewer = add(answer, TREMOLO_LEVER_FEATURES, request);
        fewer->guess.dimension /= 2;
        fewer->guess.vectors = request->guess.vectors < fewer->guess.dimension
                                   ? request->guess.vectors
                                   : fewer->guess.dimension;
    }
    add(answer, TREMOLO_LEVER_PROTECT, request)->response_private = !request->response_private;
    if (request->distance == 0.0) {
        change_release(add(answer, TREMOLO_LEVER_DISTANCE, request), TREMOLO_RELEASE_SAMPLE, 1.0);
    }
    for (size_t i = 0; i < answer->lever_count; i++) {
        evaluate(&answer->levers[i]);
    }
    (void)add(answer, TREMOLO_LEVER_TRUST, request);
    plan_trusted(&answer->levers[answer->lever_count - 1]);
    answer->verdict.instead = best_lever(answer);
}
