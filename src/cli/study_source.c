/* study_source.c -- a study as C source, for a device without a JSON parser.
 *
 * A device obeys struct tremolo_study and nothing else, so that is all a
 * firmware needs; it is printed here by the program that read, checked and
 * identified the study. As in host/, a policy has a say: it refuses the study,
 * sets the distance at which reports are charged, and is the ledger's budget. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"
#include "files.h"
#include "study.h"
#include "inputs.h"
#include "policy.h"
#include "study_internal.h"

/* Text within a comment: nothing in it may end that, or begin another. */
static void put_comment(const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        (void)putchar(*at);
        if ((at[0] == '*' && at[1] == '/') || (at[0] == '/' && at[1] == '*')) {
            (void)putchar(' ');
        }
    }
}

/* In as few digits as bring the number back. */
static void put_number(double value)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%.15g", value);
    (void)printf("%.*g", strtod(text, NULL) == value ? 15 : 17, value);
}

/* What the two numbers beside it stand for. An answer is 0 or 1, and a ballot's range lies about what
 * is typical of it, so that neither need be an end. */
static void put_range(const struct tremolo_study_coordinate *at)
{
    bool answer = at->from != NULL;
    put_comment(at->name);
    (void)printf(": ");
    if (!answer || at->low != 0 || at->high != 1) {
        put_number(at->low);
        (void)printf(" to ");
        put_number(at->high);
        (void)printf(answer ? ", where 0 is " : " ");
    }
    put_comment(answer ? at->from : at->unit);
    if (answer) {
        (void)printf(at->low != 0 || at->high != 1 ? " and 1 is " : " to ");
        put_comment(at->to);
    }
}

/* What a firmware has to do before the core sees a vector. */
static void put_terms(const struct tremolo_study_file *file)
{
    const struct tremolo_inputs *inputs = tremolo_study_file_inputs(file);
    if (inputs->terms != NULL) {
        (void)printf(
            "/* The features are terms of raw values, which the firmware computes itself:\n   ");
        put_comment(inputs->terms);
        (void)printf("\n   docs/reference/protocol.md, section 1, defines the arithmetic, the\n"
                     "   logarithm's too; tests/vectors/terms.json has examples. Each is then\n"
                     "   scaled by its own range below. */\n");
    }
    for (size_t i = 0; i < inputs->count; i++) {
        const struct tremolo_input *input = &inputs->input[i];
        if (!isnan(input->missing)) {
            (void)printf("/* A missing ");
            put_comment(input->name);
            if (input->kind == TREMOLO_STUDY_CATEGORY) {
                (void)printf(" counts as ");
                put_comment(input->level[(size_t)input->missing]);
            } else {
                (void)printf(" counts as %.17g", input->missing);
            }
            (void)printf(". */\n");
        }
    }
}

static void put_bounds(const struct tremolo_study_file *file)
{
    const struct tremolo_study *study = tremolo_study_file_device(file);
    put_terms(file);
    (void)printf("static const struct tremolo_bounds tremolo_the_bounds[%u] = {\n",
                 (unsigned)study->dimension);
    for (size_t i = 0; i < study->dimension; i++) {
        (void)printf("    {%ld, %ld}, /* ", (long)study->bounds[i].low,
                     (long)study->bounds[i].high);
        put_range(tremolo_study_file_coordinate(file, i));
        (void)printf(" */\n");
    }
    (void)printf("};\n\n");
}

static void put_id(const struct tremolo_study *study)
{
    (void)printf("    .id = {");
    for (unsigned i = 0; i < TREMOLO_STUDY_ID_BYTES; i++) {
        (void)printf("%s0x%02x",
                     i == 0        ? ""
                     : i % 12 == 0 ? ",\n           "
                                   : ", ",
                     (unsigned)study->id[i]);
    }
    (void)printf("},\n");
}

static void put_study(const struct tremolo_study_file *file, const struct tremolo_study *study)
{
    const struct tremolo_bounds *response = &study->response_bounds;
    put_bounds(file);
    (void)printf("static const struct tremolo_study tremolo_the_study = {\n");
    if (study->release == TREMOLO_RELEASE_BALLOT) {
        (void)printf("    .release = TREMOLO_RELEASE_BALLOT,\n    .rank_first = %u,\n"
                     "    .rank_top = %luu,\n    .constant = %u,\n    .response_weight = %u,\n",
                     (unsigned)study->rank_first, (unsigned long)study->rank_top,
                     (unsigned)study->constant, (unsigned)study->response_weight);
    }
    (void)printf(
        "    .noise_log2 = %u,\n    .wire_shift = %u,\n    .wire_bits = %u,\n"
        "    .response = %s,\n"
        "    .dimension = %u,\n    .keep = %u,\n    .vectors = %u,\n"
        "    .rounds = %u,\n    .samples = %u,\n"
        "    .unit = %luu,\n    .clip = %luu,\n    .distance = %luu,\n"
        "    .amplitude = %luu,\n    .frequency = %luu,\n"
        "    .bounds = tremolo_the_bounds,\n    .response_bounds = {%ld, %ld}, /* ",
        (unsigned)study->noise_log2, (unsigned)study->wire_shift, (unsigned)study->wire_bits,
        study->response == TREMOLO_RESPONSE_PRIVATE ? "TREMOLO_RESPONSE_PRIVATE"
                                                    : "TREMOLO_RESPONSE_PUBLIC",
        (unsigned)study->dimension, (unsigned)study->keep, (unsigned)study->vectors,
        (unsigned)study->rounds, (unsigned)study->samples, (unsigned long)study->unit,
        (unsigned long)study->clip, (unsigned long)study->distance, (unsigned long)study->amplitude,
        (unsigned long)study->frequency, (long)response->low, (long)response->high);
    put_range(tremolo_study_file_coordinate(file, study->dimension));
    (void)printf(" */\n");
    put_id(study);
    (void)printf("};\n\n");
}

static void put_head(const struct tremolo_study_file *file, const struct tremolo_study *study)
{
    const struct tremolo_study_terms *terms = tremolo_study_file_terms(file);
    char date[TREMOLO_STUDY_DATE_BYTES];
    char id[TREMOLO_STUDY_ID_TEXT_BYTES];
    unsigned vectors = study->vectors > 0 ? study->vectors : 1;
    tremolo_study_id_text(id, tremolo_study_file_id(file));
    (void)printf("/* ");
    put_comment(terms->title);
    (void)printf(
        "\n *\n * Study %s, written by 'tremolo study show --c'.\n"
        " * Do not edit but for bounds in units of your own (docs/how-to/microcontroller.md).\n",
        id);
    if (terms->opens != INT64_MIN) {
        tremolo_study_date_text(date, terms->opens);
        (void)printf(" * Opens at %s: make no report before.\n", date);
    }
    if (terms->closes != INT64_MAX) {
        tremolo_study_date_text(date, terms->closes);
        (void)printf(" * Closes at %s: make no report from then on.\n", date);
    }
    if (terms->enrolment == TREMOLO_STUDY_KEYS) {
        (void)printf(" * Reports need a MAC: set mac_key of the platform.\n");
    }
    (void)printf(" *\n * The least RAM: -DTREMOLO_MAX_DIMENSION=%u -DTREMOLO_MAX_VECTORS=%u\n"
                 " * for every file that includes tremolo_device.h. */\n",
                 (unsigned)study->dimension, vectors);
    (void)printf("#ifndef TREMOLO_THE_STUDY_H\n#define TREMOLO_THE_STUDY_H\n\n"
                 "#include \"tremolo_device.h\"\n\n"
                 "#if TREMOLO_MAX_DIMENSION < %u || TREMOLO_MAX_VECTORS < %u\n"
                 "#error \"this study needs larger limits of the device core\"\n#endif\n\n",
                 (unsigned)study->dimension, vectors);
}

/* All of the policy's total is for this study's kind of release. */
static void put_budget(const struct tremolo_policy *policy, const struct tremolo_study *study,
                       uint32_t budget)
{
    bool ballot = study->release == TREMOLO_RELEASE_BALLOT;
    (void)printf(
        "/* For tremolo_device_enrol(), once in the device's life: epsilon %g at delta %g,\n"
        " * over all studies. One report of this one costs %lu of it. */\n"
        "#define TREMOLO_THE_BUDGET %luu\n#define TREMOLO_THE_EPSILON %luu\n\n#endif\n",
        policy->epsilon_total, ballot ? 0 : policy->delta,
        (unsigned long)tremolo_study_charge(study), ballot ? 0 : (unsigned long)budget,
        ballot ? (unsigned long)tremolo_policy_epsilon(policy) : 0);
}

int study_source(const struct study_options *options, const struct tremolo_study_file *file)
{
    struct tremolo_policy policy = TREMOLO_POLICY_DEFAULTS;
    uint32_t budget = 0;
    char why[512] = "";
    int code =
        options->policy != NULL ? cli_read_policy(&policy, "study", options->policy) : CLI_DONE;
    if (code != CLI_DONE) {
        return code;
    }
    enum tremolo_status status = tremolo_policy_ask(&policy, why, sizeof why, file);
    if (status == TREMOLO_OK) {
        status = tremolo_policy_budget(&budget, &policy);
    }
    if (status != TREMOLO_OK) {
        return cli_fail(cli_exit_of(status), "study", "%s",
                        why[0] != '\0' ? why : tremolo_status_sentence(status));
    }
    struct tremolo_study study = tremolo_policy_device(&policy, file);
    put_head(file, &study);
    put_study(file, &study);
    put_budget(&policy, &study, budget);
    return CLI_DONE;
}
