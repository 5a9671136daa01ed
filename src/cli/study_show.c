/* study_show.c -- what a study asks for and promises: in words, as JSON, and as C source.
 *
 * A device obeys struct tremolo_study and nothing else, so that struct is all a firmware without
 * a JSON parser needs; it is printed here by the program that read, checked and identified the
 * study. As on a device with an operating system, a policy decides: it refuses the study, sets
 * the distance at which reports are charged, and is the ledger's budget. */
#include "inputs.h"
#include "study.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"
#include "files.h"
#include "study_internal.h"
#include "policy.h"
#include "text.h"
#include "explain.h"

/* As the author wrote it: a level or an answer by its word. */
static void show_missing(const struct tremolo_study_feature *feature)
{
    if (isnan(feature->missing)) {
        return;
    }
    if (feature->kind == TREMOLO_STUDY_CATEGORY) {
        (void)printf("; missing counts as %s", feature->levels[(size_t)feature->missing]);
    } else if (feature->kind == TREMOLO_STUDY_YES_NO) {
        (void)printf("; missing counts as %s", feature->missing > 0 ? "yes" : "no");
    } else {
        (void)printf("; missing counts as %g", feature->missing);
    }
}

/* What a device computes from its features: the coordinates that are not a feature as it is. */
static void show_terms(const struct tremolo_study_file *file)
{
    const struct tremolo_inputs *inputs = tremolo_study_file_inputs(file);
    for (size_t i = 0; i < inputs->features; i++) {
        const struct tremolo_study_coordinate *at = tremolo_study_file_coordinate(file, i);
        if (tremolo_derived_is_plain(&inputs->feature[i])) {
            continue;
        }
        if (!tremolo_inputs_are_answers(inputs, &inputs->feature[i])) {
            (void)printf("computed %s, %g to %g\n", at->name, at->low, at->high);
        } else {
            (void)printf("computed %s, 0 or 1\n", at->name);
        }
    }
}

/* The response is shown as the last of the features, with how it is sent. */
static void show_features(const struct tremolo_study_file *file)
{
    size_t count = tremolo_study_file_feature_count(file);
    for (size_t i = 0; i <= count; i++) {
        bool last = i == count;
        const struct tremolo_study_feature *feature =
            last ? tremolo_study_file_response(file) : tremolo_study_file_feature(file, i);
        (void)printf("%s %s", last ? "response" : "feature ", feature->name);
        if (feature->kind == TREMOLO_STUDY_NUMERIC) {
            (void)printf(", %g to %g%s%s", feature->low, feature->high,
                         feature->unit[0] != '\0' ? " " : "", feature->unit);
        } else if (feature->kind == TREMOLO_STUDY_YES_NO) {
            (void)printf(", yes or no");
        }
        for (size_t j = 0; j < feature->level_count; j++) {
            (void)printf("%s%s%s", j == 0 ? ", " : "; ", feature->levels[j],
                         j == 0 ? " (reference)" : "");
        }
        if (!isnan(feature->typical)) {
            (void)printf(", typically %g", feature->typical);
        }
        show_missing(feature);
        (void)printf("%s\n", !last ? ""
                             : tremolo_study_file_terms(file)->response_private
                                 ? tremolo_study_file_terms(file)->release == TREMOLO_RELEASE_BALLOT
                                       ? ", part of the ballot"
                                       : ", sent with noise"
                                 : ", sent in the clear");
    }
    show_terms(file);
}

/* What a device sends, in how many rounds. Only what differs from one study to the next; the
 * mechanism behind it is in the documents. */
static void show_protocol(const struct tremolo_study_terms *terms)
{
    if (terms->release == TREMOLO_RELEASE_BALLOT) {
        (void)printf("protocol ballots: one of 256 random answers about the sample; enrolment %s\n",
                     terms->enrolment == TREMOLO_STUDY_KEYS ? "by keys" : "open");
        return;
    }
    if (terms->protocol == TREMOLO_STUDY_ONE_SHOT) {
        (void)printf("protocol one-shot");
    } else {
        (void)printf("protocol iterative, %u rounds", terms->rounds);
    }
    if (terms->vectors > 0) {
        (void)printf(", %u vectors, alpha %g, lambda %g, omega %g", terms->vectors, terms->alpha,
                     terms->lambda, terms->omega);
    } else {
        (void)printf(", no modulation");
    }
    (void)printf("; enrolment %s\n", terms->enrolment == TREMOLO_STUDY_KEYS ? "by keys" : "open");
}

/* How many may report, how often, and when; nothing where there is no limit. */
static void show_limits(const struct tremolo_study_terms *terms)
{
    char date[TREMOLO_STUDY_DATE_BYTES];
    const char *gap = "limits   ";
    if (terms->samples > 1) {
        (void)printf("%s%u samples of a device%s", gap, terms->samples,
                     terms->protocol == TREMOLO_STUDY_ONE_SHOT ? "" : " in each round");
        gap = "; ";
    }
    if (terms->devices < TREMOLO_STUDY_MAX_DEVICES) {
        (void)printf("%s%llu devices", gap, (unsigned long long)terms->devices);
        gap = "; ";
    }
    if (terms->opens != INT64_MIN) {
        tremolo_study_date_text(date, terms->opens);
        (void)printf("%sopens %s", gap, date);
        gap = "; ";
    }
    if (terms->closes != INT64_MAX) {
        tremolo_study_date_text(date, terms->closes);
        (void)printf("%scloses %s", gap, date);
        gap = "; ";
    }
    (void)fputs(gap[0] == ';' ? "\n" : "", stdout);
}

/* The terms first, then the guarantee in the words that participants and reviewers read elsewhere
 * too. */
static int show_words(const struct tremolo_study_file *file)
{
    const struct tremolo_study_terms *terms = tremolo_study_file_terms(file);
    char id[TREMOLO_STUDY_ID_TEXT_BYTES];
    struct tremolo_explanation explanation;
    enum tremolo_status status = tremolo_study_file_explain(&explanation, file, terms->delta);
    if (status != TREMOLO_OK) {
        return cli_fail_status("study", status);
    }
    json_t *words = guarantee_words_json(&explanation);
    tremolo_study_id_text(id, tremolo_study_file_id(file));
    (void)printf("%s\n", terms->title);
    if (terms->purpose[0] != '\0') {
        (void)printf("%s\n", terms->purpose);
    }
    (void)printf("id       %s\n", id);
    show_features(file);
    show_protocol(terms);
    if (tremolo_study_file_clips(file)) {
        (void)printf("clip     samples are shortened to a norm of at most %g in half ranges\n",
                     terms->clip);
    }
    show_limits(terms);
    (void)putchar('\n');
    text_guarantee(stdout, words, terms->delta);
    json_decref(words);
    return CLI_DONE;
}

/* Coordinates after expansion, for programs that compute features themselves. */
static json_t *coordinates_json(const struct tremolo_study_file *file)
{
    json_t *list = json_array();
    for (size_t i = 0; i < tremolo_study_file_dimension(file); i++) {
        const struct tremolo_study_coordinate *coordinate = tremolo_study_file_coordinate(file, i);
        (void)json_array_append_new(list,
                                    json_pack("{s:s, s:f, s:f}", "name", coordinate->name, "low",
                                              coordinate->low, "high", coordinate->high));
    }
    return list;
}

/* The document that servers give, and what the device's integers add: a ballot
 * has no noise and no distance. NULL when out of memory. */
static json_t *guarantee_json(const struct tremolo_study_guarantee *guarantee,
                              const struct tremolo_study_file *file)
{
    json_t *object = guarantee_study_json(file);
    if (object == NULL || json_object_set_new(object, "charge", json_integer(guarantee->charge))) {
        json_decref(object);
        return NULL;
    }
    if (!isnan(guarantee->mu)) {
        (void)json_object_set_new(object, "sigma", json_real(guarantee->sigma));
        (void)json_object_set_new(object, "sensitivity", json_real(guarantee->sensitivity));
        (void)json_object_set_new(object, "distance", json_real(guarantee->distance));
    }
    return object;
}

/* For programs: the study as servers publish it, with its id, its coordinates and its guarantee. */
static int show_json(const struct tremolo_study_file *file)
{
    struct tremolo_study_guarantee guarantee;
    const struct tremolo_study_terms *terms = tremolo_study_file_terms(file);
    char id[TREMOLO_STUDY_ID_TEXT_BYTES];
    char *study = NULL;
    enum tremolo_status status = tremolo_study_file_guarantee(&guarantee, file, terms->delta);
    if (status == TREMOLO_OK) {
        status = tremolo_study_file_json(&study, file);
    }
    if (status != TREMOLO_OK) {
        return cli_fail_status("study", status);
    }
    tremolo_study_id_text(id, tremolo_study_file_id(file));
    json_t *object = json_pack("{s:s, s:o, s:o, s:o}", "id", id, "study",
                               json_loads(study, 0, NULL), "coordinates", coordinates_json(file),
                               "guarantee", guarantee_json(&guarantee, file));
    free(study);
    return cli_print_json("study", object, true);
}

/* ---------------------------------------------------------------- as C
 *
 * A header for one study, written to standard output: what firmware must know as comments, the
 * bounds, the struct and the ledger's budget. Texts come from the study's author, and so each
 * goes through put_comment(). */

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

/* In as few digits as bring the number back: 15 where that is enough, else 17, which always are. */
static void put_number(double value)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%.15g", value);
    (void)printf("%.*g", strtod(text, NULL) == value ? 15 : 17, value);
}

/* What the two bounds mean. An answer is 0 or 1, and a ballot's range lies about what
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
static void put_computed(const struct tremolo_study_file *file)
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
        const struct tremolo_study_feature *input = &inputs->input[i];
        if (!isnan(input->missing)) {
            (void)printf("/* A missing ");
            put_comment(input->name);
            if (input->kind == TREMOLO_STUDY_CATEGORY) {
                (void)printf(" counts as ");
                put_comment(input->levels[(size_t)input->missing]);
            } else {
                (void)printf(" counts as %.17g", input->missing);
            }
            (void)printf(". */\n");
        }
    }
}

/* One line for each coordinate, with its range as a comment: firmware that has other units replaces
 * the two integers. */
static void put_bounds(const struct tremolo_study_file *file)
{
    const struct tremolo_study *study = tremolo_study_file_device(file);
    put_computed(file);
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

/* Twelve bytes a line. */
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

/* All members are written, also those that are 0, so that a reviewer sees that none was
 * forgotten. */
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

/* What firmware must know and the struct cannot say: dates, whether reports need a key, and the
 * least memory. */
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
        " * Do not edit except bounds in units of your own (docs/how-to/microcontroller.md).\n",
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

/* All of the policy's total is for this study's kind of release: ballots are charged in epsilon,
 * noisy samples in mu^2, and firmware that takes part in one study needs no budget for the
 * other. */
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

/* The policy comes from the same file format as on a device with an operating system; without
 * one the defaults hold. A study that the policy refuses is not printed, since firmware cannot
 * refuse it later. */
static int show_source(const struct study_options *options, const struct tremolo_study_file *file)
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

int study_show(const struct study_options *options, const struct tremolo_study_file *file)
{
    return options->source ? show_source(options, file)
           : options->json ? show_json(file)
                           : show_words(file);
}
