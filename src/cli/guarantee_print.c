/* guarantee_print.c -- a guarantee's words and table on the terminal. */
#include "guarantee_print.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "coefficients.h"
#include "members.h"
#include "explain.h"

enum { LEAST_WIDTH = 14 }; /* of the column of names */

const char *guarantee_right(char text[GUARANTEE_RIGHT_BYTES], double share, bool below)
{
    char percent[TREMOLO_PERCENT_BYTES];
    (void)tremolo_percent_text(percent, share, below);
    bool above = percent[0] == '>';
    (void)snprintf(text, GUARANTEE_RIGHT_BYTES, "%s %s",
                   above ? "may be right above" : "is right at most", percent + (above ? 1 : 0));
    return text;
}

static void print_row(const json_t *row, int width)
{
    double distance = member_number(row, "distance");
    double epsilon = member_number(row, "epsilon");
    char right[TREMOLO_PERCENT_BYTES];
    coefficients_print_name(member_text(row, "name"), width);
    (void)putchar(' ');
    if (!isnan(distance)) {
        (void)printf("distance %-9.4g ", tremolo_digits_down(distance, 4));
    }
    if (isnan(epsilon)) {
        (void)printf("no protection\n");
        return;
    }
    if (!isnan(member_number(row, "mu"))) {
        (void)printf("mu %-10.4g ", tremolo_digits_up(member_number(row, "mu"), 4));
    }
    (void)printf("epsilon %-9.4g attacker right %s\n", tremolo_digits_up(epsilon, 4),
                 tremolo_percent_text(right, member_number(row, "attacker_right"), true));
}

void guarantee_print_differences(const json_t *rows)
{
    int widest = coefficients_widest(rows);
    for (size_t index = 0; index < json_array_size(rows); index++) {
        const json_t *row = json_array_get(rows, index);
        print_row(row, widest > LEAST_WIDTH ? widest : LEAST_WIDTH);
    }
    for (size_t index = 0; index < json_array_size(rows); index++) {
        const json_t *row = json_array_get(rows, index);
        const char *words = member_text(row, "words");
        if (words[0] != '\0') {
            coefficients_paragraph("%s, %s", member_text(row, "name"), words);
        }
    }
}

/* "in half ranges", "in standard deviations", or that nobody said. */
static const char *unit_of(const json_t *guarantee)
{
    static const char deviations[] = "deviations=";
    size_t index;
    json_t *row;
    if (strncmp(member_text(guarantee, "neighbours"), deviations, sizeof deviations - 1) == 0) {
        return "in standard deviations";
    }
    json_array_foreach(json_object_get(guarantee, "differences"), index, row)
    {
        if (member_text(row, "words")[0] != '\0') { /* it knows the features */
            return "in half ranges";
        }
    }
    return "in the promise's unit";
}

void guarantee_print(const json_t *guarantee, double delta)
{
    const json_t *rows = json_object_get(guarantee, "differences");
    (void)printf("For the reviewer:\n");
    coefficients_paragraph("%s", member_text(guarantee, "reviewer"));
    (void)printf("\nFor the participant:\n");
    coefficients_paragraph("%s", member_text(guarantee, "participant"));
    bool alike = isnan(member_number(json_array_get(rows, 0), "distance"));
    (void)printf("\nThe same for %s (%s%s%sdelta %g):\n",
                 alike ? "all pairs of samples" : "two samples that differ in other ways",
                 alike ? "" : "distance ", alike ? "" : unit_of(guarantee), alike ? "" : ", ",
                 tremolo_digits_up(delta, 6));
    guarantee_print_differences(rows);
}

void guarantee_print_short(const json_t *guarantee, const char *full)
{
    char who[128] = "any two people";
    char right[GUARANTEE_RIGHT_BYTES];
    const char *neighbours = member_text(guarantee, "neighbours");
    bool any = strcmp(neighbours, "any") == 0;
    if (!any) {
        (void)snprintf(who, sizeof who, "two people at most %s apart %s, and for those only",
                       neighbours + strcspn(neighbours, "=") + 1, unit_of(guarantee));
    }
    coefficients_paragraph(
        "Privacy: epsilon %.4g, delta %g, for %s%s. Who must tell the two apart, at even "
        "odds, %s of the time. %s says it in full.",
        tremolo_digits_up(member_number(guarantee, "epsilon"), 4),
        tremolo_digits_up(member_number(guarantee, "delta"), 6), who,
        strcmp(member_text(guarantee, "protects"), "features") == 0
            ? "; responses are sent in the clear"
            : "",
        guarantee_right(right, member_number(guarantee, "attacker_right"),
                        isfinite(member_number(guarantee, "epsilon"))),
        full);
    if (!any) { /* whoever chose a distance sees what it leaves out */
        (void)printf("For two people who differ in other ways:\n");
        guarantee_print_differences(json_object_get(guarantee, "differences"));
    }
}
