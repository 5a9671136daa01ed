/* convergence_json.c -- what the paper's theorems say of a protocol of rounds, as JSON. */
#include "estimate_json.h"

json_t *estimate_convergence(const struct tremolo_convergence_answer *convergence)
{
    const struct tremolo_convergence_input *input = &convergence->input;
    const struct tremolo_convergence *result = &convergence->result;
    if (!convergence->known) {
        return json_null();
    }
    const struct {
        const char *name;
        double value;
    } members[] = {
        {"rounds", input->rounds},
        {"gradient_variance", result->variance},
        {"gradient_variance_bound", result->variance_bound},
        {"beta_bound", input->B},
        {"feature_bound", input->R},
        {"response_bound", input->M},
        {"smoothness", input->smoothness},
        {"excess_loss_bound", result->corrected},
        {"excess_loss_as_printed", result->printed},
    };
    json_t *object = json_object();
    /* A moment that is almost 0 makes bounds infinite, which is null in JSON. */
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        (void)json_object_set_new(object, members[i].name, estimate_number(members[i].value));
    }
    return object;
}
