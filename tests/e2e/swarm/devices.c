/* devices.c -- the people of the swarm: what each measures follows from its number,
 * the noise and the ledger are those of the real core. */
#include "swarm.h"

#include "regression.h"

static double uniform(size_t device, size_t what)
{
    return (double)(tremolo_random_hash(tremolo_random_hash(device, 0) + what, 0) >> 11) * 0x1p-53;
}

/* One person: correlated features, a response that leans on the first two. */
static void measure(int32_t *raw, int32_t *response, const struct tremolo_study *study,
                    size_t device)
{
    double common = uniform(device, 1000) - 0.5;
    double y = 0.3 * (uniform(device, 1001) - 0.5);
    for (size_t i = 0; i < study->dimension; i++) {
        double x = 0.5 * common + uniform(device, i) - 0.5;
        raw[i] = (int32_t)(x * study->bounds[i].high);
        y += (i == 0 ? 0.5 : i == 1 ? -0.3 : 0.0) * x;
    }
    *response = (int32_t)(y * TREMOLO_STUDY_RAW_MAX);
}

void make_report(struct swarm *swarm, size_t index)
{
    static _Thread_local struct tremolo_work work;
    int32_t features[TREMOLO_MAX_DIMENSION];
    struct device *device = &swarm->device[index];
    struct tremolo_platform platform = tremolo_host_memory_platform(&device->memory);
    struct tremolo_round round = {swarm->study->vectors > 0 ? swarm->vectors[swarm->round] : NULL,
                                  (uint16_t)swarm->round};
    struct tremolo_sample sample = {features, 0, 0};
    size_t length = sizeof device->report;
    measure(features, &sample.response, swarm->study, index);
    if (swarm->round == 0) {
        uint32_t charge = tremolo_study_charge(swarm->study) * swarm->study->rounds;
        bool ballot = swarm->study->release == TREMOLO_RELEASE_BALLOT;
        uint32_t epsilon = charge + TREMOLO_CHARGE_ONE; /* a budget of it is rounded down */
        must(tremolo_device_enrol(&work, &platform, ballot ? 0 : charge, ballot ? epsilon : 0),
             "enrol");
    }
    must(tremolo_device_report(&work, device->report, &length, swarm->study, &round, &sample,
                               &platform),
         "report");
    device->length = (uint16_t)length;
    if (swarm->drop > 0 && uniform(index, 2000 + swarm->round) < swarm->drop) {
        device->length = 0;
    }
}
