/* guarantee_json.c -- a guarantee as JSON. */
#include "guarantee_json.h"

#include <math.h>
#include <stdio.h>

#include "tremolo_privacy.h"
#include "tremolo_study_file.h"

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *difference_json(const struct tremolo_difference *row)
{
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "name", row->name, "words", row->words,
                     "distance", number(row->distance), "mu", number(row->mu), "epsilon",
                     number(row->epsilon), "attacker_right", number(row->attacker_right));
}

json_t *guarantee_words_json(const struct tremolo_explanation *explanation)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < explanation->difference_count; i++) {
        if (json_array_append_new(rows, difference_json(&explanation->differences[i])) != 0) {
            json_decref(rows);
            return NULL;
        }
    }
    return json_pack("{s:s, s:s, s:o}", "reviewer", explanation->reviewer, "participant",
                     explanation->participant, "differences", rows);
}

json_t *guarantee_study_json(const struct tremolo_study_file *file)
{
    struct tremolo_study_guarantee promise;
    struct tremolo_explanation explanation;
    const struct tremolo_study_terms *terms = tremolo_study_file_terms(file);
    char neighbours[64] = "any";
    if (terms->distance > 0.0) {
        (void)snprintf(neighbours, sizeof neighbours, "distance=%.15g", terms->distance);
    }
    if (tremolo_study_file_guarantee(&promise, file, terms->delta) != TREMOLO_OK ||
        tremolo_study_file_explain(&explanation, file, terms->delta) != TREMOLO_OK) {
        return NULL;
    }
    json_t *guarantee = json_pack(
        "{s:o, s:o, s:o, s:o, s:s, s:s}", "epsilon", number(promise.epsilon), "delta",
        number(promise.delta), "mu", number(promise.mu), "rho", number(promise.rho), "neighbours",
        neighbours, "protects", terms->response_private ? "all" : "features");
    if (json_object_update_new(guarantee, guarantee_words_json(&explanation)) != 0) {
        json_decref(guarantee);
        return NULL;
    }
    return guarantee;
}
