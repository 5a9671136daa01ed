/* seed_report_file.c -- first inputs for fuzz_report_file: files of one and of
 * two rounds, with the response in the clear and private, with and without
 * vectors, and of ballots. */
#include <stdio.h>
#include <string.h>

#include "fake_device.h"
#include "fake_inputs.h"
#include "fleet.h"
#include "report_file.h"

enum { ROWS = 5 };

static const double X[ROWS * 2] = {-1, 0.5, 0.25, 1, 0, -0.5, 1, -1, 0.75, 0.125};
static const double y[ROWS] = {-1, 1, 0.5, 0, -0.25};

static int write_rounds(FILE *file, const struct fleet_setup *setup)
{
    double centre[2] = {0, 0}, scale[2] = {1, 2}, range[3] = {2, 4, 2};
    char names[2][TREMOLO_NAME_BYTES] = {"a", "b"};
    const double V[2] = {1, 0};
    const int16_t vectors[2] = {TREMOLO_VECTOR_ONE, 0};
    struct fleet *fleet = NULL;
    if (fleet_new(&fleet, setup) != TREMOLO_OK) {
        return 1;
    }
    const struct tremolo_report_header header = {.study = fleet->study,
                                                 .feature_bound = 1,
                                                 .response_bound = 1,
                                                 .distance = setup->request.distance,
                                                 .delta = setup->request.delta,
                                                 .step = 0.5,
                                                 .radius = 2,
                                                 .centre = centre,
                                                 .scale = scale,
                                                 .response_scale = 1,
                                                 .name = names,
                                                 .response = "y",
                                                 .range = range,
                                                 .inputs = fake_inputs(2)};
    int failed = !tremolo_report_file_begin(file, &header);
    for (uint16_t t = 0; t < setup->request.rounds && !failed; t++) {
        struct tremolo_debiased *evidence = NULL;
        failed = !tremolo_report_file_begin_round(file, &fleet->study, t, vectors) ||
                 fleet_release(&evidence, NULL, fleet, t, V) != TREMOLO_OK;
        tremolo_debias_free(evidence);
    }
    tremolo_inputs_free(header.inputs);
    fleet_free(fleet);
    return failed;
}

static int write_ballots(const char *folder, unsigned response)
{
    static struct tremolo_work work;
    static struct fake_device device;
    double centre[2] = {0, 0}, scale[2] = {1, 2}, range[3] = {2, 4, 2};
    char names[2][TREMOLO_NAME_BYTES] = {"a", "b"};
    char path[1024];
    struct tremolo_report_header header = {.study = fake_study(2, 9),
                                           .feature_bound = 1,
                                           .response_bound = 1,
                                           .centre = centre,
                                           .scale = scale,
                                           .range = range,
                                           .unit = "kg",
                                           .response_scale = 1,
                                           .name = names,
                                           .response = "y",
                                           .inputs = fake_inputs(2)};
    struct tremolo_study *study = &header.study;
    study->release = TREMOLO_RELEASE_BALLOT;
    study->rounds = 1;
    study->samples = 1;
    study->response = (uint8_t)response;
    study->constant = TREMOLO_BALLOT_ONE;
    study->response_weight = (uint16_t)(response * TREMOLO_BALLOT_WEIGHT(TREMOLO_BALLOT_ONE));
    study->rank_first = 57;
    study->rank_top = UINT32_C(2923410234);
    (void)snprintf(path, sizeof path, "%s/ballots-%u", folder, response);
    FILE *file = fopen(path, "wb");
    int failed = file == NULL || !tremolo_report_file_begin(file, &header) ||
                 !tremolo_report_file_begin_round(file, study, 0, NULL);
    for (uint64_t i = 0; i < ROWS && !failed; i++) {
        uint8_t bytes[TREMOLO_MAX_REPORT_BYTES];
        size_t length = sizeof bytes;
        const int32_t features[2] = {100, -300};
        const struct tremolo_round round = {NULL, 0};
        const struct tremolo_sample sample = {features, 50, 0};
        fake_device_init(&device, 1 + i);
        struct tremolo_platform platform = fake_device_platform(&device, 1, 0);
        failed = tremolo_device_enrol(&work, &platform, 0, 4 * TREMOLO_CHARGE_ONE) != TREMOLO_OK ||
                 tremolo_device_report(&work, bytes, &length, study, &round, &sample, &platform) !=
                     TREMOLO_OK ||
                 fputc((int)(length & 255), file) == EOF ||
                 fputc((int)(length >> 8), file) == EOF || fwrite(bytes, 1, length, file) != length;
    }
    failed |= file != NULL && fclose(file) != 0;
    tremolo_inputs_free(header.inputs);
    return failed;
}

int main(int argc, char **argv)
{
    int failed = argc != 2 || write_ballots(argv[1], TREMOLO_RESPONSE_PUBLIC) ||
                 write_ballots(argv[1], TREMOLO_RESPONSE_PRIVATE);
    for (unsigned i = 0; i < 8 && !failed; i++) {
        char path[1024];
        struct fleet_setup setup = {
            .X = X, .y = y, .rows = ROWS, .response_bound = 1, .threads = 1};
        setup.request = (struct tremolo_mechanism_request)TREMOLO_MECHANISM_DEFAULTS;
        setup.request.dimension = 2;
        setup.request.radius = 2;
        setup.request.epsilon = 5;
        setup.request.response_private = i % 2 != 0;
        setup.request.rounds = i / 2 % 2 != 0 ? 2 : 1;
        setup.request.vectors = i < 4 ? 0 : 1;
        setup.request.lambda = i < 4 ? 0.0 : 0.5;
        setup.request.omega = i < 4 ? 0.0 : 1.0;
        (void)snprintf(path, sizeof path, "%s/seed-%u", argv[1], i);
        setup.reports = fopen(path, "wb");
        failed = setup.reports == NULL || write_rounds(setup.reports, &setup);
        failed |= setup.reports != NULL && fclose(setup.reports) != 0;
    }
    return failed;
}
