/* simulate_print.c -- what `tremolo simulate` adds to the print of its estimate. */
#include "coefficients.h"
#include "privacy_warnings.h"
#include "simulate.h"

#include <stdio.h>

static void print_clip(const struct simulate_options *options, const struct tremolo_design *design,
                       const struct tremolo_simulation_result *result)
{
    char text[200];
    (void)snprintf(text, sizeof text,
                   "The study clips samples to a norm of %g in scaled units: %zu of %zu devices "
                   "sent a shorter one, which biases the estimates.",
                   options->simulation.clip, result->clipped, result->devices);
    if (tremolo_simulation_clips(&options->simulation, design)) {
        coefficients_paragraph(text);
    }
}

static void print_privacy(const struct simulate_options *options,
                          const struct tremolo_design *design,
                          const struct tremolo_simulation_result *result)
{
    char clamped[SIMULATION_SENTENCE_BYTES];
    const struct tremolo_experiment_options *experiment = &options->simulation.experiment;
    if (experiment->method == TREMOLO_EXPERIMENT_OLS) {
        printf("Privacy: none; ordinary least squares reads the raw data.\n");
        return;
    }
    if (experiment->release == TREMOLO_RELEASE_BALLOT) {
        printf("Epsilon %.4g of the %g asked for, by ballots.\n",
               tremolo_digits_up(result->privacy.epsilon, 4), experiment->epsilon);
    } else {
        printf("Epsilon %.4g of the %g asked for; noise sd %.4g in scaled units.\n",
               tremolo_digits_up(result->privacy.epsilon, 4), experiment->epsilon,
               result->privacy.sigma);
    }
    bool half_ranges =
        experiment->neighbours == TREMOLO_NEIGHBOURS_DISTANCE && !options->simulation.deviations;
    privacy_warnings_print(&(struct privacy_terms){
        .epsilon = experiment->epsilon, .distance = half_ranges ? experiment->distance : 0});
    simulation_clamped_words(clamped, &options->simulation, design, result);
    if (clamped[0] != '\0') {
        coefficients_paragraph(clamped);
    }
    print_clip(options, design, result);
    if (options->simulation.scaling == TREMOLO_SCALING_STANDARD) {
        coefficients_paragraph(
            "The features were standardised on the training rows, which is not private; real "
            "studies use public bounds.");
    } else if (options->study == NULL && options->simulation.scaling == TREMOLO_SCALING_RANGES) {
        coefficients_paragraph(
            "The typical ranges were taken from the data, which is not private; real studies "
            "state them beforehand.");
    } else if (options->study == NULL) {
        coefficients_paragraph(
            "The bounds were taken from the data, which is not private; real studies state "
            "them beforehand.");
    }
    if (experiment->method == TREMOLO_EXPERIMENT_DP_SGD) {
        coefficients_paragraph(
            "What is released are clipped gradients: the diameter is theirs, twice --clip, "
            "whatever "
            "the samples are. Their noise comes from a generator for simulations; the device core "
            "was not run.");
    }
}

void simulate_print(const struct simulate_options *options, const struct tremolo_design *design,
                    const struct tremolo_simulation_result *result)
{
    const struct tremolo_simulation *simulation = &options->simulation;
    printf("\nSimulated with method %s: %zu devices, %zu rows held out, %zu rows dropped for "
           "missing values%s\n",
           tremolo_experiment_method_name(simulation->experiment.method), result->devices,
           result->held_out, design->dropped,
           design->dropped > 0 ? " (--missing mean keeps them)" : "");
    if (design->means) {
        coefficients_paragraph("Columns' means or most frequent levels stand for missing values, "
                               "which is not private; a study says beforehand what does.");
    }
    printf("R-squared %.4f on %s", simulation_mean(result->r2, simulation->repeats),
           result->held_out > 0 ? "rows held out" : "the training rows");
    if (simulation->repeats > 1) {
        printf(" (sd %.4f over %zu repeats)", simulation_sd(result->r2, simulation->repeats),
               simulation->repeats);
    }
    printf("; without privacy (ols) %.4f\n", simulation_mean(result->r2_ols, simulation->repeats));
    print_privacy(options, design, result);
    printf("Seed %llu, %.2f seconds.\n", (unsigned long long)simulation->seed, result->seconds);
}
