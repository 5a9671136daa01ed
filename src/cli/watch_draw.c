/* watch_draw.c -- the picture of a study in a terminal.
 *
 * A frame is made of three parts: who and how many at the top, what is not
 * known yet and the guarantee at the bottom, and between them as many
 * coefficients as the window has rows for. Every line fits the window's
 * width; what does not fit is left out in a stated order: first the numbers
 * of the intervals, then the picture. */
#include "watch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "forest.h"
#include "members.h"
#include "explain.h"

enum {
    NAME_COLUMNS_MAX = 24,
    NUMBER_COLUMNS = 11,
    INTERVAL_COLUMNS = 25,
    PLOT_COLUMNS_MIN = 11,
    UNCLEAR_LINES_MAX = 12,
};

static void styled(FILE *out, const struct terminal *terminal, enum terminal_style style,
                   const char *text, int columns, bool pad)
{
    terminal_style(terminal, out, style);
    (void)terminal_text(terminal, out, text, columns, pad);
    terminal_style(terminal, out, STYLE_PLAIN);
}

/* One line of at most the window's width. */
static void line(FILE *out, const struct terminal *terminal, enum terminal_style style,
                 const char *text)
{
    styled(out, terminal, style, text, terminal->columns, false);
    (void)fputc('\n', out);
}

/* Words in lines of the window's width, `most` lines; how many were used. */
static int paragraph(FILE *out, const struct terminal *terminal, enum terminal_style style,
                     const char *text, int most)
{
    int lines = 0;
    while (*text != '\0' && lines < most) {
        size_t length = strcspn(text, "\n");
        if (length > (size_t)terminal->columns) {
            size_t cut = (size_t)terminal->columns;
            while (cut > 0 && text[cut] != ' ') {
                cut--;
            }
            length = cut > 0 ? cut : (size_t)terminal->columns;
        }
        char *piece = strndup(text, length);
        line(out, terminal, style, piece != NULL ? piece : "");
        free(piece);
        lines++;
        text += length + (text[length] == ' ' || text[length] == '\n');
    }
    return lines;
}

/* Why there is nothing newer, and how to leave. */
static void draw_end(FILE *out, const struct watch *watch, const struct terminal *terminal,
                     int most)
{
    (void)paragraph(out, terminal, STYLE_BAD, watch->trouble, most);
    line(out, terminal, STYLE_FAINT, "q ends");
}

/* ---------------------------------------------------------------- the top */

static void draw_title(FILE *out, const struct watch *watch, const struct terminal *terminal)
{
    const char *state = member_text(watch->answer, "state");
    int room = terminal->columns - (int)strlen(state) - 1;
    styled(out, terminal, STYLE_BOLD, member_text(watch->answer, "title"), room > 0 ? room : 0,
           true);
    (void)fputc(' ', out);
    styled(out, terminal, strcmp(state, "open") == 0 ? STYLE_GOOD : STYLE_CARE, state,
           terminal->columns > 8 ? 8 : 0, false);
    (void)fputc('\n', out);
    line(out, terminal, STYLE_FAINT, watch->url);
}

/* Reports a second in a format's digits, or `unknown` before the server knows. */
static const char *rate_text(char text[32], const struct watch *watch, int digits,
                             const char *unknown)
{
    double rate = member_number(watch->history, "rate");
    (void)snprintf(text, 32, "%.*g", digits, fmax(0, rate));
    return isfinite(rate) ? text : unknown;
}

/* Every outcome that has happened, in the server's order. */
static void draw_counts(FILE *out, const struct watch *watch, const struct terminal *terminal)
{
    char reports[40], devices[40], rate[32], text[320];
    (void)snprintf(text, sizeof text, "reports %s   devices %s   %s a second",
                   cli_grouped(reports, member_number(watch->answer, "reports")),
                   cli_grouped(devices, member_number(watch->history, "devices")),
                   rate_text(rate, watch, 3, "-"));
    line(out, terminal, STYLE_PLAIN, text);
    const char *key;
    json_t *value;
    size_t used = 0;
    json_object_foreach(json_object_get(watch->history, "outcomes"), key, value)
    {
        char count[40];
        if (json_number_value(value) > 0 && used + 80 < sizeof text) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%.32s %s",
                                     used > 0 ? "   " : "", key,
                                     cli_grouped(count, json_number_value(value)));
        }
    }
    if (used > 0) {
        (void)paragraph(out, terminal, STYLE_PLAIN, text, 2);
    }
}

/* The gradient's norm round by round: as many of the newest as fit. */
static void draw_gradients(FILE *out, const json_t *rounds, const struct terminal *terminal)
{
    enum { EACH = 9, LABEL = 8 };
    int room = (terminal->columns - LABEL) / EACH;
    size_t count = json_array_size(rounds), most = room > 0 ? (size_t)room : 0;
    if (count == 0 || most == 0) {
        return;
    }
    (void)fprintf(out, "%-*s", LABEL, "gradient");
    for (size_t i = count > most ? count - most : 0; i < count; i++) {
        double norm = member_number(json_array_get(rounds, i), "gradient_norm");
        if (isfinite(norm)) {
            (void)fprintf(out, " %*.3g", EACH - 1, norm);
        } else {
            (void)fprintf(out, " %*s", EACH - 1, "?");
        }
    }
    (void)fputc('\n', out);
}

/* A bar towards the reports that close the round, where the study says how many. */
static void draw_round(FILE *out, const struct watch *watch, const struct terminal *terminal)
{
    double rounds = member_number(watch->answer, "rounds");
    if (!(rounds > 1)) {
        return;
    }
    /* Grouped numbers have 39 characters at most, whatever a server says. */
    char number[40], last[40], reports[40], target[40], text[320];
    double count = member_number(watch->answer, "round_reports");
    const json_t *close = json_object_get(json_object_get(watch->study, "protocol"), "close");
    double wanted = member_number(close, "reports");
    int used = snprintf(text, sizeof text, "round %s of %s   %s",
                        cli_grouped(number, member_number(watch->answer, "round") + 1),
                        cli_grouped(last, rounds), cli_grouped(reports, count));
    if (wanted > 0) {
        used += snprintf(text + used, sizeof text - (size_t)used, " of %s ",
                         cli_grouped(target, wanted));
        int room = terminal->columns - used - 2;
        room = room > 40 ? 40 : room;
        if (room >= 8) {
            text[used++] = '[';
            for (int i = 0; i < room; i++) {
                text[used++] = i < count / wanted * room ? '#' : '.';
            }
            text[used++] = ']';
            text[used] = '\0';
        }
    }
    line(out, terminal, STYLE_PLAIN, text);
    draw_gradients(out, json_object_get(watch->history, "rounds"), terminal);
}

/* R^2 as it came about, a character for each share of the time. */
static void draw_r2(FILE *out, const struct watch *watch, const struct terminal *terminal)
{
    static const char *const blocks[] = {"\u2581", "\u2582", "\u2583", "\u2584",
                                         "\u2585", "\u2586", "\u2587", "\u2588"};
    static const char *const plain[] = {"_", "_", ".", ".", "-", "-", "=", "="};
    double r2 = member_number(watch->answer, "r2");
    char text[64];
    if (isfinite(r2)) {
        (void)snprintf(text, sizeof text, "R^2 %.3f  ", r2);
    } else {
        (void)snprintf(text, sizeof text, "R^2 cannot be told yet");
    }
    int used = terminal_text(terminal, out, text, terminal->columns, false);
    int room = terminal->columns - used;
    room = room > 60 ? 60 : room;
    const json_t *samples = json_object_get(watch->history, "samples");
    size_t count = json_array_size(samples);
    room = count < (size_t)room ? (int)count : room;
    for (int i = 0; isfinite(r2) && i < room; i++) {
        const json_t *sample = json_array_get(samples, (size_t)i * count / (size_t)room);
        double value = member_number(sample, "r2");
        int level = isfinite(value) ? (int)(fmin(fmax(value, 0), 1) * 7.999) : -1;
        (void)fputs(level < 0 ? " " : terminal->unicode ? blocks[level] : plain[level], out);
    }
    (void)fputc('\n', out);
}

/* ---------------------------------------------------------------- the forest */

struct columns {
    int name, interval, plot;
};

static struct columns columns_of(const struct forest *forest, const struct terminal *terminal)
{
    struct columns columns = {4, INTERVAL_COLUMNS, 0};
    int width = terminal->columns - NUMBER_COLUMNS - 3;
    int most = terminal->columns / 3 < NAME_COLUMNS_MAX ? terminal->columns / 3 : NAME_COLUMNS_MAX;
    for (size_t i = 0; i < forest->rows; i++) {
        int length = (int)strnlen(forest->row[i].name, NAME_COLUMNS_MAX);
        columns.name = length > columns.name ? length : columns.name;
    }
    columns.name = columns.name > most ? most : columns.name;
    width -= columns.name;
    if (width - columns.interval < PLOT_COLUMNS_MIN) {
        columns.interval = 0;
    }
    columns.plot = width - columns.interval;
    columns.plot = columns.plot < PLOT_COLUMNS_MIN ? 0 : columns.plot - 1 + columns.plot % 2;
    return columns;
}

static int place(double effect, double reach, int columns)
{
    double share = (effect / reach + 1) / 2 * (columns - 1);
    return (int)lround(fmin(fmax(share, -1), columns));
}

/* Cells of one row: the zero line, the interval over it, the estimate on top;
 * an arrow where the interval leaves the picture. */
static void draw_cells(FILE *out, const struct terminal *terminal, const struct forest_row *row,
                       double reach, int columns)
{
    bool fancy = terminal->unicode;
    int zero = columns / 2;
    int low = isfinite(row->effect_low) ? place(row->effect_low, reach, columns) : columns + 1;
    int high = isfinite(row->effect_high) ? place(row->effect_high, reach, columns) : -2;
    int middle = isfinite(row->effect) ? place(row->effect, reach, columns) : -2;
    for (int i = 0; i < columns; i++) {
        const char *cell = i == zero ? (fancy ? "\u2502" : ":") : " ";
        if (i >= low && i <= high) {
            cell = fancy ? "\u2500" : "-";
        }
        if (i == low || i == high) {
            cell = i == low ? (fancy ? "\u251c" : "|") : (fancy ? "\u2524" : "|");
        }
        if (i == 0 && low < 0 && high >= 0) {
            cell = "<";
        }
        if (i == columns - 1 && high >= columns && low < columns) {
            cell = ">";
        }
        if (i == middle) {
            cell = row->identified ? (fancy ? "\u25cf" : "o") : "?";
        }
        (void)fputs(cell, out);
    }
}

static enum terminal_style style_of(const struct forest_row *row)
{
    if (!row->identified) {
        return STYLE_CARE;
    }
    return row->low > 0 || row->high < 0 ? STYLE_GOOD : STYLE_PLAIN;
}

static void draw_row(FILE *out, const struct terminal *terminal, const struct forest_row *row,
                     const struct columns *columns, double reach)
{
    char text[64];
    (void)terminal_text(terminal, out, row->name, columns->name, true);
    (void)snprintf(text, sizeof text, " %*.4g ", NUMBER_COLUMNS, row->estimate);
    (void)fputs(isfinite(row->estimate) ? text : "          ?  ", out);
    terminal_style(terminal, out, style_of(row));
    if (columns->plot > 0) {
        draw_cells(out, terminal, row, reach, columns->plot);
    }
    if (columns->interval > 0) {
        /* On the axis's scale, as the picture beside it. */
        (void)snprintf(text, sizeof text, " [%.4g, %.4g]%s", row->effect_low, row->effect_high,
                       row->identified ? "" : " ?");
        bool known = isfinite(row->effect_low) && isfinite(row->effect_high);
        (void)terminal_text(terminal, out, known ? text : " anything", columns->interval, false);
    }
    terminal_style(terminal, out, STYLE_PLAIN);
    (void)fputc('\n', out);
}

static void draw_axis(FILE *out, const struct watch *watch, const struct terminal *terminal,
                      const struct forest *forest, const struct columns *columns)
{
    char left[32], right[32], text[160];
    if (columns->plot == 0) {
        return;
    }
    int gap = (int)snprintf(left, sizeof left, "%.3g", -forest->reach);
    gap += snprintf(right, sizeof right, "%.3g", forest->reach);
    int half = columns->plot / 2 - (int)strlen(left);
    int rest = columns->plot - columns->plot / 2 - 1 - (int)strlen(right);
    if (half < 1 || rest < 0 || gap > columns->plot - 3) {
        return;
    }
    const char *unit = member_text(json_object_get(watch->study, "response"), "unit");
    (void)snprintf(text, sizeof text, "%*s%s%*s0%*s%s %s", columns->name + NUMBER_COLUMNS + 2, "",
                   left, half, "", rest, "", right, unit);
    line(out, terminal, STYLE_FAINT, text);
}

static void draw_forest(FILE *out, const struct watch *watch, const struct terminal *terminal,
                        int room)
{
    struct forest forest;
    char text[160];
    if (!forest_build(&forest, json_object_get(watch->answer, "coefficients"), watch->study) ||
        forest.rows == 0) {
        forest_free(&forest);
        return;
    }
    struct columns columns = columns_of(&forest, terminal);
    /* A head, an axis, and a line for what does not fit. */
    size_t most = room > 4 ? (size_t)room - 3 : 1;
    size_t shown = forest.rows > most ? most : forest.rows;
    (void)snprintf(text, sizeof text, "%*s%*s  change of %s over each one's range", -columns.name,
                   "", NUMBER_COLUMNS, "estimate",
                   member_text(json_object_get(watch->answer, "response"), "name"));
    if (columns.plot == 0) {
        (void)snprintf(text, sizeof text, "%*s%*s", -columns.name, "", NUMBER_COLUMNS, "estimate");
    }
    line(out, terminal, STYLE_FAINT, text);
    for (size_t i = 0; i < shown; i++) {
        draw_row(out, terminal, &forest.row[i], &columns, forest.reach);
    }
    if (shown < forest.rows) {
        (void)snprintf(text, sizeof text, "and %zu more; a taller window shows them",
                       forest.rows - shown);
        line(out, terminal, STYLE_FAINT, text);
    }
    draw_axis(out, watch, terminal, &forest, &columns);
    forest_free(&forest);
}

/* ---------------------------------------------------------------- the bottom */

/* What is not identified yet, in a quarter of the window. */
static void draw_unclear(FILE *out, const json_t *sentences, const struct terminal *terminal)
{
    char text[64];
    size_t count = json_array_size(sentences), shown = 0;
    int left = terminal->rows / 4 < UNCLEAR_LINES_MAX ? terminal->rows / 4 : UNCLEAR_LINES_MAX;
    while (shown < count && left > 0) {
        const char *sentence = json_string_value(json_array_get(sentences, shown++));
        left -= paragraph(out, terminal, STYLE_CARE, sentence != NULL ? sentence : "", left);
    }
    if (shown < count) {
        (void)snprintf(text, sizeof text, "and %zu more are not identified", count - shown);
        line(out, terminal, STYLE_CARE, text);
    }
}

static void draw_bottom(FILE *out, const struct watch *watch, const struct terminal *terminal)
{
    (void)paragraph(out, terminal, STYLE_CARE, member_text(watch->answer, "remark"),
                    UNCLEAR_LINES_MAX);
    draw_unclear(out, json_object_get(watch->answer, "not_identified"), terminal);
    const json_t *guarantee = json_object_get(watch->answer, "guarantee");
    char text[256];
    if (json_is_object(guarantee)) {
        const char *neighbours = member_text(guarantee, "neighbours");
        bool any = strcmp(neighbours, "any") == 0;
        bool all = strcmp(member_text(guarantee, "protects"), "all") == 0;
        (void)snprintf(text, sizeof text, "each device: epsilon %.4g at delta %.3g, %s%s; %s",
                       tremolo_digits_up(member_number(guarantee, "epsilon"), 4),
                       tremolo_digits_up(member_number(guarantee, "delta"), 3),
                       any ? "any two people" : "people within ", any ? "" : neighbours,
                       all ? "features and response" : "features only");
        (void)paragraph(out, terminal, STYLE_PLAIN, text, 3);
    }
    draw_end(out, watch, terminal, 2);
}

static int lines_in(const char *text)
{
    int lines = 0;
    for (; *text != '\0'; text++) {
        lines += *text == '\n';
    }
    return lines;
}

static void draw_study(FILE *out, const struct watch *watch, const struct terminal *terminal)
{
    char *bottom = NULL, *top = NULL;
    size_t length;
    FILE *memory = open_memstream(&top, &length);
    if (memory != NULL) {
        draw_title(memory, watch, terminal);
        draw_counts(memory, watch, terminal);
        draw_round(memory, watch, terminal);
        draw_r2(memory, watch, terminal);
        (void)fclose(memory);
    }
    memory = open_memstream(&bottom, &length);
    if (memory != NULL) {
        draw_bottom(memory, watch, terminal);
        (void)fclose(memory);
    }
    if (top != NULL && bottom != NULL) {
        int room = terminal->rows - lines_in(top) - lines_in(bottom);
        (void)fputs(top, out);
        draw_forest(out, watch, terminal, room);
        (void)fputs(bottom, out);
    }
    free(top);
    free(bottom);
}

static void draw_studies(FILE *out, const struct watch *watch, const struct terminal *terminal)
{
    size_t index;
    json_t *study;
    char text[512], reports[40];
    line(out, terminal, STYLE_BOLD, watch->url);
    json_array_foreach(json_object_get(watch->answer, "studies"), index, study)
    {
        (void)snprintf(text, sizeof text, "%12s reports  %-5s round %.0f of %.0f  %s",
                       cli_grouped(reports, member_number(study, "reports")),
                       member_text(study, "state"), member_number(study, "round") + 1,
                       member_number(study, "rounds"), member_text(study, "title"));
        line(out, terminal, STYLE_PLAIN, text);
    }
    if (json_array_size(json_object_get(watch->answer, "studies")) == 0) {
        line(out, terminal, STYLE_PLAIN, "no studies");
    }
    draw_end(out, watch, terminal, 2);
}

char *watch_frame(const struct watch *watch, const struct terminal *terminal)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (out == NULL) {
        return NULL;
    }
    if (watch->answer == NULL) {
        line(out, terminal, STYLE_BOLD, watch->url);
        draw_end(out, watch, terminal, 4);
    } else if (watch->one_study) {
        draw_study(out, watch, terminal);
    } else {
        draw_studies(out, watch, terminal);
    }
    (void)fclose(out);
    return text;
}

/* key=value, so that a line can be read by programs as well. */
char *watch_line(const struct watch *watch, const char *time_text)
{
    char *text = NULL;
    size_t length, identified = 0, index;
    json_t *row;
    FILE *out = open_memstream(&text, &length);
    if (out == NULL) {
        return NULL;
    }
    (void)fprintf(out, "%s ", time_text);
    if (watch->trouble[0] != '\0') {
        (void)fprintf(out, "trouble=\"%s\"\n", watch->trouble);
    } else if (watch->one_study) {
        const json_t *rows = json_object_get(watch->answer, "coefficients");
        json_array_foreach(rows, index, row)
        {
            identified += json_is_true(json_object_get(row, "identified")) ? 1 : 0;
        }
        double r2 = member_number(watch->answer, "r2");
        char share[32] = "none", rate[32];
        if (isfinite(r2)) {
            (void)snprintf(share, sizeof share, "%.6g", r2);
        }
        (void)fprintf(
            out,
            "state=%s round=%.0f rounds=%.0f reports=%.0f rate=%s r2=%s "
            "identified=%zu coefficients=%zu\n",
            member_text(watch->answer, "state"), member_number(watch->answer, "round") + 1,
            member_number(watch->answer, "rounds"), member_number(watch->answer, "reports"),
            rate_text(rate, watch, 4, "none"), share, identified, json_array_size(rows));
    } else {
        double reports = 0;
        json_array_foreach(json_object_get(watch->answer, "studies"), index, row)
        {
            reports += member_number(row, "reports");
        }
        (void)fprintf(out, "studies=%zu reports=%.0f\n", index, reports);
    }
    (void)fclose(out);
    return text;
}
