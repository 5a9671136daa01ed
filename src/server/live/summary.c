/* summary.c -- what a list says of an estimate. */
#include "estimate.h"
#include "document.h"

/* Does the interval leave zero out? One that is not known does not. */
static bool is_told(const json_t *row)
{
    return json_is_true(json_object_get(row, "identified")) &&
           (json_latch_member(row, "low") > 0.0 || json_latch_member(row, "high") < 0.0);
}

/* The members of `from` that are named, up to NULL; what is missing is null. */
static json_t *only(const json_t *from, const char *const *names)
{
    json_t *made = json_object();
    for (size_t i = 0; names[i] != NULL; i++) {
        json_t *value = json_object_get(from, names[i]);
        json_latch_set(&made, names[i], value != NULL ? json_deep_copy(value) : json_null());
    }
    return made;
}

/* The last row is the intercept, which is nobody's effect. */
static json_t *learnt(const json_t *rows)
{
    static const char *const names[] = {"name",     "unit", "from", "to",         "range",
                                        "estimate", "low",  "high", "identified", NULL};
    size_t features = json_array_size(rows) > 0 ? json_array_size(rows) - 1 : 0;
    const json_t *strongest = NULL;
    json_int_t told = 0;
    double most = -1.0;
    for (size_t i = 0; i < features; i++) {
        const json_t *row = json_array_get(rows, i);
        double effect = fabs(json_latch_member(row, "estimate") * json_latch_member(row, "range"));
        told += is_told(row);
        if (is_told(row) && effect > most) {
            most = effect;
            strongest = row;
        }
    }
    return json_pack("{s:I, s:I, s:o}", "told", told, "features", (json_int_t)features, "strongest",
                     strongest != NULL ? only(strongest, names) : json_null());
}

json_t *summary_of(const json_t *document)
{
    static const char *const names[] = {"devices_needed", "level", "response", NULL};
    static const char *const promise[] = {"epsilon", "neighbours", "attacker_right",
                                          "any_two", "strength",   NULL};
    const json_t *guarantee = json_object_get(document, "guarantee");
    json_t *made = only(document, names);
    json_latch_set(&made, "guarantee",
                   json_is_object(guarantee) ? only(guarantee, promise) : json_null());
    if (made != NULL &&
        json_object_update_new(made, learnt(json_object_get(document, "coefficients"))) != 0) {
        json_decref(made);
        made = NULL;
    }
    return made;
}
