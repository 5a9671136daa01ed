/* checks.c -- single tests gathered into named checks, and their p-values.
 *
 * A check keeps the smallest p-value of its tests, multiplied by their number (Bonferroni). It
 * fails below false_alarm / (number of checks). So all checks together fail a sound build with
 * probability false_alarm at most, for any dependence between tests: tests may look at the same
 * reports in many ways.
 *
 * P-values must be right far into the tails, because a check with ten thousand tests fails only
 * near 2e-12. Each function says where its approximation holds; a test that has too few reports
 * for it answers AUDIT_TOO_FEW and is not counted. */
#include "accountant.h"
#include "audit_parts.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Record one test. A check keeps its smallest p-value with the sentence that belongs to it, and
 * counts all tests, because the p-value is multiplied by their number in the end. */
static void note(struct tremolo_audit_check *check, double p, double seen, double claimed,
                 const char *format, va_list arguments)
{
    if (p == AUDIT_TOO_FEW) {
        check->left_out++;
    } else if (check->tests++ == 0 || p < check->p) {
        check->p = p;
        check->seen = seen;
        check->claimed = claimed;
        (void)vsnprintf(check->finding, sizeof check->finding, format, arguments);
    }
}

void audit_note(struct audit *audit, enum audit_check id, double p, double seen, double claimed,
                const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    note(&audit->result->checks[id], p, seen, claimed, format, arguments);
    va_end(arguments);
}

void audit_expect(struct audit *audit, enum audit_check id, bool holds, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    note(&audit->result->checks[id], holds ? 1.0 : 0.0, holds ? 0.0 : 1.0, 0.0, format, arguments);
    va_end(arguments);
}

void audit_leave_out(struct audit *audit, enum audit_check id)
{
    audit->result->checks[id].left_out++;
}

/* Give every check its name, correct its p-value, and decide. Sentences of checks that passed are
 * removed. */
void audit_judge(struct tremolo_audit_result *result, double false_alarm)
{
    static const struct {
        const char *name;
        const char *what;
    } words[] = {
#define AUDIT_WORDS(id, name, what) {name, what},
        AUDIT_CHECKS(AUDIT_WORDS)
#undef AUDIT_WORDS
    };
    _Static_assert((int)CHECK_COUNT <= (int)TREMOLO_AUDIT_CHECKS_MAX, "checks have a place each");
    result->check_count = CHECK_COUNT;
    result->check_p = false_alarm / CHECK_COUNT;
    for (unsigned i = 0; i < CHECK_COUNT; i++) {
        struct tremolo_audit_check *check = &result->checks[i];
        check->name = words[i].name;
        check->what = words[i].what;
        check->p = check->tests == 0 ? 1.0 : fmin(1.0, check->p * (double)check->tests);
        check->failed = check->tests > 0 && !(check->p >= result->check_p);
        result->caught |= check->failed;
        result->untested += check->tests == 0 && check->left_out > 0;
        if (!check->failed) {
            check->finding[0] = '\0';
        }
    }
}

/* ---------------------------------------------------------------- p-values */

double audit_p_normal(double z)
{
    return erfc(fabs(z) * M_SQRT1_2);
}

/* The tail of a sum of independent symmetric terms over the root of their squares is at most 1 /
 * (4 Q(sqrt 2)) times that of a normal (Bentkus and Dzindzalieta 2015). */
double audit_p_even(double z)
{
    static const double slack = 3.18;
    return fmin(1.0, slack * audit_p_normal(z));
}

/* Twice the exact tail on the side of k, from the incomplete beta function. */
double audit_p_binomial(double k, double n, double q)
{
    double least = k > n * q ? tremolo_beta_tail(k, n - k + 1.0, q, false)
                   : k < n   ? tremolo_beta_tail(k + 1.0, n - k, q, true)
                             : 1.0;
    return fmin(1.0, 2.0 * least);
}

/* Chi-squared over equal cells. Fewer than eight expected in each are too few for the
 * approximation. */
double audit_p_uniform(const uint32_t *count, unsigned cells)
{
    double total = 0.0;
    double square = 0.0;
    for (unsigned i = 0; i < cells; i++) {
        total += count[i];
    }
    double expected = total / cells;
    for (unsigned i = 0; i < cells; i++) {
        double off = count[i] - expected;
        square += off * off / fmax(expected, 1.0);
    }
    return expected < 8.0 ? AUDIT_TOO_FEW : tremolo_chi2_tail(cells - 1, 0.0, square);
}

/* ---------------------------------------------------------------- two people
 *
 * With T the rate at which a test says "person 0" of person 0 and F the rate at which it says
 * so of person 1, any (epsilon, delta)-private release has T <= e^epsilon F + delta. Both rates
 * are replaced by Clopper-Pearson bounds, each at half of the allowed error: no assumption is
 * made about the mechanism. */

double audit_rate(const struct audit_rates *rates, unsigned person)
{
    return (double)rates->above[person] / fmax(1.0, (double)rates->trials[person]);
}

struct bounds {
    double true_low;
    double false_high;
};

/* Clopper-Pearson bounds of both rates, each at half of the error. Without trials they say
 * nothing. */
static struct bounds bound_rates(const struct audit_rates *rates, double error)
{
    struct bounds bounds;
    double unused;
    bool known = rates->trials[0] > 0 && rates->trials[1] > 0 &&
                 tremolo_binomial_bounds(&bounds.true_low, &unused, rates->above[0],
                                         rates->trials[0], 0.5 * error) == TREMOLO_OK &&
                 tremolo_binomial_bounds(&unused, &bounds.false_high, rates->above[1],
                                         rates->trials[1], 0.5 * error) == TREMOLO_OK;
    return known ? bounds : (struct bounds){0.0, 1.0};
}

double audit_bound(const struct audit_rates *rates, enum audit_measure measure, double delta,
                   double error)
{
    struct bounds bounds = bound_rates(rates, error);
    double gain = bounds.true_low - delta;
    if (!(gain > bounds.false_high)) {
        return 0.0;
    }
    return measure == AUDIT_MU
               ? tremolo_normal_quantile(gain) - tremolo_normal_quantile(bounds.false_high)
               : log(gain / bounds.false_high);
}

double audit_p_rates(const struct audit_rates *rates, enum audit_measure measure, double claim,
                     double delta)
{
    const struct audit_rates all = {{rates->trials[0], 0}, {rates->trials[0], rates->trials[1]}};
    double p = 1.0;
    if (!(audit_bound(&all, measure, delta, 1e-2) > claim)) {
        return AUDIT_TOO_FEW;
    }
    for (unsigned digits = 2; digits <= 14; digits++) {
        double error = pow(10.0, -(double)digits);
        if (!(audit_bound(rates, measure, delta, error) > claim)) {
            break;
        }
        p = error;
    }
    return p;
}
