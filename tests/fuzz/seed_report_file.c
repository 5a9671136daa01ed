/* seed_report_file.c -- first inputs for fuzz_report_file: files of one and of
 * two rounds, with the response in the clear and private, with and without
 * vectors. */
#include <stdio.h>
#include <string.h>

#include "fleet.h"
#include "tremolo_report_file.h"

enum { ROWS = 5 };

static const double X[ROWS * 2] = {-1, 0.5, 0.25, 1, 0, -0.5, 1, -1, 0.75, 0.125};
static const double y[ROWS] = {-1, 1, 0.5, 0, -0.25};

static int write_rounds(FILE *file, const struct fleet_setup *setup)
{
    double centre[2] = {0, 0}, scale[2] = {1, 2};
    char names[2][TREMOLO_NAME_BYTES] = {"a", "b"};
    const double V[2] = {1, 0};
    const int16_t vectors[2] = {TREMOLO_VECTOR_ONE, 0};
    struct fleet *fleet = NULL;
    if (fleet_new(&fleet, setup) != TREMOLO_OK) {
        return 1;
    }
    const struct tremolo_report_header header = {.study = *fleet_study(fleet),
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
                                                 .response = "y"};
    int failed = !tremolo_report_file_begin(file, &header);
    for (uint16_t t = 0; t < setup->request.rounds && !failed; t++) {
        struct tremolo_debiased *evidence = NULL;
        failed = !tremolo_report_file_begin_round(file, fleet_study(fleet), t, vectors) ||
                 fleet_release(&evidence, NULL, fleet, t, V) != TREMOLO_OK;
        tremolo_debias_free(evidence);
    }
    fleet_free(fleet);
    return failed;
}

int main(int argc, char **argv)
{
    int failed = argc != 2;
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
