/* study_show.c -- what a study asks for and promises, in words and as JSON. */
#include "inputs.h"
#include "study.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"
#include "study_internal.h"
#include "guarantee_print.h"
#include "explain.h"

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

/* What a device computes from its features. */
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
    guarantee_print(words, terms->delta);
    json_decref(words);
    return CLI_DONE;
}

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

/* The document that servers give, and what the device's integers say beside it: a ballot
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

int study_show(const struct study_options *options, const struct tremolo_study_file *file)
{
    return options->json ? show_json(file) : show_words(file);
}
