/* summary.c -- what a list says of an estimate: a few of its members, and the sentence of what was
 * learnt, so that a list of many studies need not fetch their documents. */
#include "estimate.h"
#include "document.h"

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

json_t *summary_of(const json_t *document)
{
    static const char *const names[] = {"devices_needed", NULL};
    static const char *const promise[] = {
        "epsilon", "neighbours", "attacker_right", "any_two", "strength", "answer", NULL};
    const json_t *guarantee = json_object_get(document, "guarantee");
    const json_t *answers = json_object_get(document, "answers");
    const json_t *learnt = json_object_get(json_array_get(answers, 0), "text");
    const json_t *certain = json_array_get(answers, 1);
    json_int_t told = json_integer_value(json_object_get(certain, "significant"));
    json_t *made = only(document, names);
    json_latch_set(&made, "guarantee",
                   json_is_object(guarantee) ? only(guarantee, promise) : json_null());
    json_latch_set(&made, "told", json_integer(told));
    json_latch_set(&made, "features", json_incref(json_object_get(certain, "of")));
    json_latch_set(&made, "learnt", told > 0 ? json_deep_copy(learnt) : json_null());
    return made;
}
