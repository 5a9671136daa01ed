/* estimate.c -- a study's table, from a running server or from its directory. */
#include "cli.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coefficients.h"
#include "estimate_result.h"
#include "fetch.h"
#include "guarantee_print.h"
#include "members.h"
#include "result.h"
#include "tremolo_server.h"

static double real_in(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : 0.0;
}

/* Where noise hides a coefficient its plain interval does not hold its level; the
 * score set does. */
static void print_interval(const json_t *row)
{
    const json_t *score = json_object_get(row, "score");
    const char *shape = member_text(score, "shape");
    if (score == NULL || json_is_true(json_object_get(row, "identified"))) {
        (void)printf(" [%.5g, %.5g]\n", real_in(row, "low"), real_in(row, "high"));
    } else if (strcmp(shape, "anything") == 0) {
        (void)printf(" anything\n");
    } else {
        (void)printf(" %s (%.5g, %.5g)\n", shape, real_in(score, "low"), real_in(score, "high"));
    }
}

/* A dash where there is no number. */
static void print_number(const json_t *row, const char *key, int width, int digits)
{
    if (json_is_number(json_object_get(row, key))) {
        (void)printf(" %*.*g", width, digits, real_in(row, key));
    } else {
        (void)printf(" %*s", width, "-");
    }
}

static void print_sentences(const json_t *sentences)
{
    size_t index;
    json_t *sentence;
    json_array_foreach(sentences, index, sentence)
    {
        if (json_is_string(sentence)) {
            coefficients_paragraph(json_string_value(sentence));
        }
    }
}

/* Of the longest name, and not less than what most tables need. */
static int widest_name(const json_t *rows)
{
    int widest = 24;
    size_t index;
    json_t *row;
    json_array_foreach(rows, index, row)
    {
        int width = coefficients_name_width(member_text(row, "name"));
        widest = width > widest ? width : widest;
    }
    return widest;
}

static void print_table(const json_t *answer)
{
    const json_t *rows = json_object_get(answer, "coefficients");
    int width = widest_name(rows);
    char caption[COEFFICIENTS_CAPTION_BYTES];
    size_t index;
    json_t *row;
    coefficients_caption(caption, member_text(answer, "response"), member_text(answer, "unit"));
    (void)printf("%s:\n", caption);
    (void)printf("%*s %12s %12s %9s %3.0f%% interval\n", width, "", "estimate", "std. error", "p",
                 100.0 * real_in(answer, "level"));
    json_array_foreach(rows, index, row)
    {
        coefficients_print_name(member_text(row, "name"), width);
        (void)printf(" %12.5g", real_in(row, "estimate"));
        print_number(row, "standard_error", 12, 3);
        print_number(row, "p", 9, 2);
        print_interval(row);
    }
    if (json_is_number(json_object_get(answer, "r2"))) {
        (void)printf("\nestimated R^2 %.3f\n", real_in(answer, "r2"));
    } else {
        (void)printf("\nno R^2 can be estimated at this noise\n");
    }
}

static void print_estimate(const json_t *answer)
{
    long long reports = member_integer(answer, "reports");
    (void)printf("%s\n%s, round %lld of %lld, %lld report%s\n\n", member_text(answer, "title"),
                 member_text(answer, "state"), member_integer(answer, "round") + 1,
                 member_integer(answer, "rounds"), reports, reports == 1 ? "" : "s");
    if (reports == 0) {
        (void)printf("nobody has reported yet, so there is nothing to estimate\n");
    } else {
        if (json_array_size(json_object_get(answer, "coefficients")) > 0) {
            print_table(answer);
        }
        print_sentences(json_object_get(answer, "not_identified"));
    }
    if (member_text(answer, "inference_why")[0] != '\0' && reports > 0) {
        (void)printf("\ntable from %s: %s\n", member_text(answer, "inference_from"),
                     member_text(answer, "inference_why"));
    }
    (void)putchar('\n');
    const json_t *guarantee = json_object_get(answer, "guarantee");
    guarantee_print(guarantee, member_number(guarantee, "delta"));
}

static int fetch_estimate(char **text, const char *command, const char *where, const char *ca_file)
{
    static const char path[] = "/estimate";
    char url[2048];
    if (!fetch_address(url, sizeof url - sizeof path, where)) {
        return cli_fail(CLI_USAGE, command, "the address is too long");
    }
    memcpy(url + strlen(url), path, sizeof path);
    struct fetch fetch = {.url = url, .ca_file = ca_file};
    if (fetch_run(&fetch) != 0) {
        return cli_fail(CLI_FAILED, command, "%s: %s", url, fetch.words);
    }
    if (fetch.status != 200) {
        free(fetch.answer);
        return cli_fail(CLI_FAILED, command, "%s answered %ld", url, fetch.status);
    }
    *text = fetch.answer;
    return CLI_DONE;
}

static int read_estimate(char **text, const char *command, const char *where, const char *study)
{
    char words[256];
    enum tremolo_status status = tremolo_server_offline(text, where, study, words, sizeof words);
    return status == TREMOLO_OK ? CLI_DONE
                                : cli_fail(cli_exit_of(status), command, "%s: %s", where, words);
}

int estimate_show(const char *command, const char *where, const struct estimate_wish *wish)
{
    char *text = NULL;
    bool remote = strncmp(where, "http://", 7) == 0 || strncmp(where, "https://", 8) == 0;
    int code = remote ? fetch_estimate(&text, command, where, wish->ca_file)
                      : read_estimate(&text, command, where, wish->study);
    if (code != CLI_DONE) {
        return code;
    }
    json_t *answer = json_loads(text, 0, NULL);
    members_clean(answer);
    if (answer == NULL) {
        code = cli_fail(CLI_FAILED, command, "%s: this is not an estimate", where);
    } else if (wish->as_json) {
        (void)puts(text);
    } else {
        print_estimate(answer);
    }
    if (code == CLI_DONE && wish->report != NULL) {
        json_t *result = result_of_estimate(answer, wish->line);
        code = result_save(result, command, wish->report);
        json_decref(result);
    }
    json_decref(answer);
    free(text);
    return code;
}
