/* account_ballot.c -- what ballots cost, alone and beside Gaussian releases. */
#include "accountant.h"
#include "explain.h"
#include "account.h"

#include <math.h>
#include <stdio.h>

static void print_one(const struct tremolo_rank_law *law, double epsilon, double scale,
                      const struct tremolo_rank_attack *attack, bool protect_all)
{
    char right[3][TREMOLO_PERCENT_BYTES];
    (void)printf("epsilon %.17g, delta 0: any two samples, %s\n"
                 "law     with probability %u / 2^32 uniform among the %u answers of 256 that fit "
                 "best, else among the others\n"
                 "noise   variance %.4g of one decoded product of a point of norm 1\n"
                 "attacker right at most\n"
                 "  %6s  whatever the two samples are\n"
                 "  %6s  on average over reports' ids, if directions are normal and the "
                 "points' product is not negative\n"
                 "  %6s  by epsilon alone\n",
                 epsilon,
                 protect_all ? "features and response alike"
                             : "their features; the response is in the clear",
                 law->top, law->first, scale * scale,
                 tremolo_percent_text(right[0], attack->any.upper, true),
                 tremolo_percent_text(right[1], attack->correlated.upper, true),
                 tremolo_percent_text(right[2], attack->budget.upper, true));
}

static void print_together(const struct account_options *options,
                           const struct tremolo_mixture_cost *cost)
{
    (void)printf("%llu ballot%s", (unsigned long long)options->releases,
                 options->releases == 1 ? "" : "s");
    if (cost->gaussian.upper > 0) {
        (void)printf(" and Gaussian releases of mu %g", options->mu);
    }
    (void)printf(" together, at delta %g\n  epsilon %.17g  composed exactly\n  epsilon %.17g  as a "
                 "ledger adds up, pure epsilons and epsilon(mu, delta)\n",
                 options->delta, cost->exact.upper, cost->sum.upper);
}

static json_t *together_json(const struct account_options *options,
                             const struct tremolo_mixture_cost *cost)
{
    json_t *exact = json_object();
    account_put(exact, "epsilon", cost->exact);
    return json_pack("{s:I,s:f,s:o,s:f,s:f,s:f}", "ballots", (json_int_t)options->releases, "delta",
                     options->delta, "exact", exact, "sum", cost->sum.upper, "pure",
                     cost->pure.upper, "gaussian", cost->gaussian.upper);
}

static int print_json(const struct account_options *options, const struct tremolo_rank_law *law,
                      struct tremolo_certified epsilon, double scale,
                      const struct tremolo_rank_attack *attack,
                      const struct tremolo_mixture_cost *cost)
{
    json_t *object = json_object();
    account_put(object, "epsilon", epsilon);
    (void)json_object_update_new(
        object,
        json_pack("{s:I,s:I,s:f,s:{s:f,s:f,s:f},s:o*}", "first", (json_int_t)law->first, "top",
                  (json_int_t)law->top, "scale", scale, "attacker_right", "any", attack->any.upper,
                  "correlated", attack->correlated.upper, "budget", attack->budget.upper,
                  "together", cost != NULL ? together_json(options, cost) : NULL));
    return account_print(object);
}

int account_ballot_law(struct tremolo_rank_law *law, const struct account_options *options)
{
    if (!(options->epsilon >= TREMOLO_RANK_EPSILON_MIN &&
          options->epsilon <= TREMOLO_RANK_EPSILON_MAX)) {
        return account_fail(CLI_USAGE, "give --epsilon of one ballot, from %g to %g",
                            TREMOLO_RANK_EPSILON_MIN, TREMOLO_RANK_EPSILON_MAX);
    }
    enum tremolo_status status = tremolo_rank_law_for(law, options->epsilon);
    return status == TREMOLO_OK ? CLI_DONE : account_status(status);
}

int account_ballot(const struct account_options *options)
{
    struct tremolo_ballots ballots = {.count = options->releases};
    struct tremolo_certified epsilon;
    struct tremolo_rank_attack attack;
    struct tremolo_gaussian releases = {0};
    struct tremolo_mixture_cost cost;
    double scale = 0;
    bool together = options->releases > 1 || !isnan(options->mu);
    if (options->sigma.count > 0 || !isnan(options->rho)) {
        return account_fail(CLI_USAGE,
                            "give Gaussian releases beside ballots as --mu, their total");
    }
    int code = account_ballot_law(&ballots.law, options);
    if (code != CLI_DONE) {
        return code;
    }
    enum tremolo_status status = tremolo_rank_epsilon(&epsilon, &ballots.law);
    if (status == TREMOLO_OK) {
        status = tremolo_rank_attack(&attack, &ballots.law);
    }
    if (status == TREMOLO_OK) {
        status = tremolo_rank_scale(&scale, &ballots.law);
    }
    if (status == TREMOLO_OK && !isnan(options->mu)) {
        status = tremolo_gaussian_add(&releases, options->mu, 1.0, 1);
    }
    if (status == TREMOLO_OK && together) {
        status = tremolo_mixture_epsilon(&cost, &ballots, 1, &releases, options->delta);
    }
    if (status != TREMOLO_OK) {
        return account_status(status);
    }
    if (options->json) {
        return print_json(options, &ballots.law, epsilon, scale, &attack, together ? &cost : NULL);
    }
    print_one(&ballots.law, epsilon.upper, scale, &attack, options->protect_all);
    if (together) {
        print_together(options, &cost);
    }
    return CLI_DONE;
}
