/* plan_verdict.c -- what a plan comes to, in one sentence.
 *
 * A coefficient is told from zero when a test at the plan's level finds it in
 * four studies of five. By that measure the standard error gives the least
 * coefficient that can be told. The plan is a good one when its devices are enough
 * for what the guess has, features that share its R^2 equally, and for a moment
 * that is well identified, without which standard errors say little. */
#include <math.h>
#include <stdio.h>

#include "coefficients.h"
#include "plan.h"

static const double verdict_power = 0.8;

struct plan_verdict plan_verdict(const struct plan_request *request,
                                 const struct plan_answer *answer)
{
    const struct tremolo_plan_input *guess = &request->guess;
    double z =
        tremolo_normal_quantile(0.5 + 0.5 * guess->level) + tremolo_normal_quantile(verdict_power);
    struct plan_verdict verdict = {
        .least = z * answer->result.standard_error,
        .guessed = sqrt(guess->r2 * guess->response_variance /
                        ((double)guess->dimension * guess->feature_variance)),
    };
    if (verdict.guessed > 0 && tremolo_plan_devices(&verdict.devices, &answer->input, 0.0,
                                                    verdict_power, verdict.guessed) != TREMOLO_OK) {
        verdict.devices = 0; /* no number that could be had */
    }
    verdict.told = verdict.devices > 0 && guess->devices >= verdict.devices;
    return verdict;
}

/* Two digits, upwards: a guess is no better than that. */
static double round_up(double devices)
{
    double unit = pow(10, fmax(floor(log10(devices)) - 1, 0));
    return ceil(devices / unit) * unit;
}

/* The size of a coefficient, in the study's own words where there is a study: what
 * crossing a feature's whole range does to the response. */
static void say_size(char *text, size_t bytes, const struct plan_request *request, double size)
{
    if (request->study == NULL) {
        (void)snprintf(text, bytes, "%.2g (scaled)", size);
        return;
    }
    const struct tremolo_study_feature *response = tremolo_study_file_response(request->study);
    (void)snprintf(text, bytes,
                   "%.2g%s%s of %s between the two ends of a feature's range or the answers no "
                   "and yes",
                   size * (response->high - response->low), response->unit[0] != '\0' ? " " : "",
                   response->unit, response->name);
}

void plan_verdict_print(const struct plan_request *request, const struct plan_verdict *verdict)
{
    char text[1024];
    char size[400];
    double devices = request->guess.devices;
    say_size(size, sizeof size, request, verdict->told ? verdict->least : verdict->guessed);
    if (verdict->told) {
        (void)snprintf(text, sizeof text,
                       "Verdict: with %.0f devices all of the %zu coefficients will be told from "
                       "zero, in four studies of five, if they are at least %s.",
                       devices, request->guess.dimension, size);
    } else if (verdict->devices > devices) {
        (void)snprintf(text, sizeof text,
                       "Verdict: with %.0f devices no coefficient will be told from zero; about "
                       "%.0f devices are needed for coefficients of the guessed size, %s.",
                       devices, round_up(verdict->devices), size);
    } else {
        (void)snprintf(text, sizeof text,
                       "Verdict: with %.0f devices no coefficient will be told from zero, and no "
                       "number of devices that could be had would change that.",
                       devices);
    }
    (void)putchar('\n');
    coefficients_paragraph(text);
}

json_t *plan_verdict_json(const struct plan_verdict *verdict)
{
    return json_pack("{s:b, s:f, s:f, s:o}", "told_from_zero", verdict->told, "least_coefficient",
                     verdict->least, "guessed_coefficient", verdict->guessed, "devices_needed",
                     verdict->devices > 0 ? json_real(verdict->devices) : json_null());
}
