/* account.h -- what the files of `tremolo account` share. */
#ifndef TREMOLO_CLI_ACCOUNT_H
#define TREMOLO_CLI_ACCOUNT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli.h"
#include "accountant.h"

enum { ACCOUNT_LIST_MAX = 4096 };

#define ACCOUNT_DELTA 1e-5 /* as for every other command */

/* A comma-separated list of positive numbers. */
struct account_list {
    double item[ACCOUNT_LIST_MAX];
    size_t count;
};

/* Numbers that were not given are NaN, texts NULL, lists empty. */
struct account_options {
    double epsilon;
    double delta;
    bool delta_assumed; /* not given, and the question has a default */
    double sensitivity;
    double rho;
    double mu;
    double false_positive;
    double distance;
    double neighbours; /* as --neighbours has it: 0 for any two; only when that is given */
    double prior_sd;
    double coefficient_norm;
    double response_noise;
    struct tremolo_modulation modulation;
    bool modulation_given;
    bool known_phase;
    bool any_two;
    bool protect_all;
    bool force;
    bool json;
    uint64_t releases;
    bool releases_given;
    unsigned dimension;
    enum tremolo_rule rule;
    bool rule_given;
    const char *study;
    struct account_list sigma;
    struct account_list weights;
};

#define account_fail(code, ...) cli_fail(code, "account", __VA_ARGS__)
#define account_print(object)   cli_print_json("account", object, false)

/* The exit code a status stands for, with overflowing requests counted as nonsense (2). */
int account_status(enum tremolo_status status);
const char *account_rule_name(enum tremolo_rule rule);

/* The noise's sensitivity: --sensitivity, or what the modulation's options and
 * --distance give. False, after a message, when neither was given. */
bool account_sensitivity(double *sensitivity, const struct account_options *options);

/* All releases of --sigma together, or --mu. */
enum tremolo_status account_compose(struct tremolo_gaussian *cost,
                                    const struct account_options *options, double sensitivity);

/* Lines of text that say what was not given: delta, and what neighbours the answer is
 * about where that follows from options; nothing with --json. */
void account_print_assumed(const struct account_options *options);

/* Add {"name": value, "lower":, "upper":} to an object. */
void account_put(json_t *object, const char *name, struct tremolo_certified number);

/* One number as JSON or as a line, or what the status says. */
int account_print_or_fail(const struct account_options *options, const char *name,
                          enum tremolo_status status, struct tremolo_certified number);

/* The law of the rank for --epsilon, or a complaint. */
int account_ballot_law(struct tremolo_rank_law *law, const struct account_options *options);

int account_sigma(const struct account_options *options);
int account_epsilon(const struct account_options *options);
int account_delta(const struct account_options *options);
int account_rho(const struct account_options *options);
int account_tradeoff(const struct account_options *options);
int account_sensitivities(const struct account_options *options);
int account_reconstruction(const struct account_options *options);
int account_modulation(const struct account_options *options);
int account_compare(const struct account_options *options);
int account_ballot(const struct account_options *options);
int account_explain(const struct account_options *options);

#endif
