/* explain_units.c -- distances in people's own units: years, hours, kilograms.
 *
 * A number of half ranges or standard deviations tells nobody whom a promise covers. An
 * extent says what a number's whole range is in its own unit and how far apart that is, and
 * so what any distance is in it. */
#include "explain.h"

#include <math.h>
#include <stdio.h>

double tremolo_typical_distance(unsigned dimension)
{
    return sqrt(2.0 * dimension);
}

const char *explain_unit(const struct tremolo_promise *promise)
{
    return promise->standardised       ? " in standard deviations"
           : promise->extent_count > 0 ? " in half ranges"
                                       : "";
}

void tremolo_difference_of_more(struct tremolo_difference *way, size_t count, double distance)
{
    *way = (struct tremolo_difference){.distance = distance};
    (void)snprintf(way->name, sizeof way->name, "one of %zu more, end to end", count);
}

void explain_extent(struct tremolo_difference *way, const struct tremolo_extent *extent)
{
    *way = (struct tremolo_difference){.distance = extent->distance};
    (void)snprintf(way->name, sizeof way->name, "%s, %.6g%s%s apart", extent->name, extent->range,
                   extent->unit[0] != '\0' ? " " : "", extent->unit);
}

/* Three digits, rounded down: who is further apart than the number says is promised nothing. */
static double rounded_down(double value)
{
    static const double computed = 1.0 + 1e-12; /* 35 stays 35, though a product gave it */
    double unit = value > 0.0 ? pow(10.0, floor(log10(value)) - 2.0) : 1.0;
    return floor(value / unit * computed) * unit;
}

void explain_apart(char *text, size_t bytes, const struct tremolo_promise *promise, double distance)
{
    size_t used = 0;
    for (size_t i = 0; i < promise->extent_count; i++) {
        const struct tremolo_extent *extent = &promise->extents[i];
        double apart = rounded_down(fmin(distance / extent->distance, 1.0) * extent->range);
        int written =
            snprintf(text + used, bytes - used, "%s%s %.3g%s%s", used > 0 ? ", " : "", extent->name,
                     apart, extent->unit[0] != '\0' ? " " : "", extent->unit);
        if (written < 0 || (size_t)written + sizeof ", ..." > bytes - used) {
            (void)snprintf(text + used, bytes - used, "%s...", used > 0 ? ", " : "");
            return;
        }
        used += (size_t)written;
    }
}

void explain_in_units(struct tremolo_explanation *made, size_t ways,
                      const struct tremolo_promise *promise)
{
    for (size_t i = ways; i < made->difference_count; i++) {
        struct tremolo_difference *row = &made->differences[i];
        char list[TREMOLO_DIFFERENCE_BYTES - 32] = "";
        bool typical = i == ways;
        bool any = i > ways && (promise->neighbours == TREMOLO_NEIGHBOURS_ANY || i > ways + 1);
        explain_apart(list, sizeof list, promise,
                      any       ? INFINITY
                      : typical ? row->distance / sqrt((double)promise->dimension)
                                : row->distance);
        if (list[0] != '\0') {
            (void)snprintf(row->words, sizeof row->words, "%s: %s",
                           typical || any ? "all at once" : "each alone", list);
        }
    }
}
