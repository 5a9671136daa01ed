/* result.c -- the forms of a saved result, one for each ending of its name.
 *
 * Everything is made from the document. A page is web/report.html, a frame. What the frame
 * refers to as an asset is put into it, so that the page opens from a disk and makes no request;
 * its own policy forbids requests as well. It carries the text of the result, which printers and
 * browsers without scripts show, and the document, from which report.js draws what the dashboard
 * would draw. */
#include "result.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "estimate_json.h"
#include "files.h"
#include "study_internal.h"
#include "text.h"
#include "tremolo_study_file.h"
#include "web_files.h"

/* What a writer gets: cli_save() hands on one pointer. */
struct saving {
    const json_t *result;
    bool full; /* for text_document() */
    const struct ending *ending;
};

/* ---------------------------------------------------------------- how it was made */

/* One argument as a shell reads it back: bare if none of its characters is special, else in single
 * quotes, where a quote itself leaves them, is escaped, and enters them again. */
static void quote(FILE *out, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./:=,+@%";
    if (text[0] != '\0' && text[strspn(text, plain)] == '\0') {
        (void)fputs(text, out);
        return;
    }
    (void)fputc('\'', out);
    for (; *text != '\0'; text++) {
        (void)fputs(*text == '\'' ? "'\\''" : (char[2]){*text, '\0'}, out);
    }
    (void)fputc('\'', out);
}

void result_command_line(char line[RESULT_LINE_BYTES], int argc, char **argv)
{
    FILE *out = fmemopen(line, RESULT_LINE_BYTES, "w");
    line[0] = '\0';
    if (out == NULL) {
        return;
    }
    (void)fputs("tremolo", out);
    for (int i = 0; i < argc; i++) {
        (void)fputc(' ', out);
        quote(out, argv[i]);
    }
    (void)fclose(out);
    line[RESULT_LINE_BYTES - 1] = '\0';
}

/* The result says by itself how to make it again. The time is UTC. */
void result_set_made(json_t *document, const char *line)
{
    char moment[TREMOLO_STUDY_DATE_BYTES];
    tremolo_study_date_text(moment, (int64_t)time(NULL));
    json_t *command = json_string(line); /* NULL when somebody typed no UTF-8 */
    (void)json_object_set_new(document, "made",
                              json_pack("{s:s,s:s,s:o}", "version", TREMOLO_VERSION, "time", moment,
                                        "command", command != NULL ? command : json_null()));
}

/* ---------------------------------------------------------------- CSV */

/* Seventeen digits bring a number back as it was; what is not known is empty. */
static void put_value(FILE *out, const json_t *value)
{
    if (json_is_string(value)) {
        (void)fputs(json_string_value(value), out);
    } else if (json_is_boolean(value)) {
        (void)fputs(json_is_true(value) ? "true" : "false", out);
    } else if (json_is_number(value)) {
        (void)fprintf(out, "%.17g", json_number_value(value));
    }
}

/* In quotes, quotes within doubled, by RFC 4180: a name may hold commas,
 * quotes and line feeds. */
static void put_quoted(FILE *out, const char *text)
{
    (void)fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"') {
            (void)fputc('"', out);
        }
        (void)fputc(*text, out);
    }
    (void)fputc('"', out);
}

/* A spreadsheet takes what starts with one of these for a formula and runs it; an
 * apostrophe before it makes it text. Numbers are ours and stay numbers. */
static void put_name(FILE *out, const char *name)
{
    char guarded[RESULT_LINE_BYTES];
    bool formula = name[0] != '\0' && strchr("=+-@\t\r", name[0]) != NULL;
    (void)snprintf(guarded, sizeof guarded, "%s%s", formula ? "'" : "", name);
    put_quoted(out, guarded);
}

/* The columns after the name: of what they are a member, and of which name. All but RESULT are one
 * object for each row; a member of RESULT is the same in every row. */
enum { ROW, SCORE, PREDICTION, INFLATION, RESULT, SOURCES };
static const struct {
    const char *title;
    int of;
    const char *key;
} columns[] = {{"estimate", ROW, "estimate"},
               {"standard_error", ROW, "standard_error"},
               {"low", ROW, "low"},
               {"high", ROW, "high"},
               {"z", ROW, "z"},
               {"p", ROW, "p"},
               {"identified", ROW, "identified"},
               {"score_shape", SCORE, "shape"},
               {"score_low", SCORE, "low"},
               {"score_high", SCORE, "high"},
               {"prediction", PREDICTION, "estimate"},
               {"variance_inflation", INFLATION, "estimate"},
               {"response_cut", RESULT, "response_cut"}};

enum { COLUMNS = sizeof columns / sizeof columns[0] };

/* The table of coefficients (RFC 4180). Without rows to conclude from it has those that predict; a
 * prediction that the reports do not support is left empty. */
static bool write_csv(FILE *out, const struct saving *saving)
{
    const json_t *result = saving->result;
    const json_t *rows = json_object_get(result, "coefficients");
    const json_t *predicted = json_object_get(result, "prediction");
    const json_t *predictions = json_object_get(predicted, "coefficients");
    const json_t *inflations =
        json_object_get(json_object_get(result, "diagnostics"), "variance_inflation");
    bool supported = !json_is_false(json_object_get(predicted, "told"));
    const json_t *named = json_array_size(rows) > 0 ? rows : predictions;
    (void)fputs("name", out);
    for (size_t k = 0; k < COLUMNS; k++) {
        (void)fprintf(out, ",%s", columns[k].title);
    }
    for (size_t i = 0; i < json_array_size(named); i++) {
        const json_t *row = json_array_get(rows, i);
        const json_t *const of[SOURCES] = {row, json_object_get(row, "score"),
                                           supported ? json_array_get(predictions, i) : NULL,
                                           json_array_get(inflations, i), result};
        (void)fputs("\r\n", out);
        put_name(out, member_text(json_array_get(named, i), "name"));
        for (size_t k = 0; k < COLUMNS; k++) {
            (void)fputc(',', out);
            put_value(out, json_object_get(of[columns[k].of], columns[k].key));
        }
    }
    return fputs("\r\n", out) != EOF;
}

/* ---------------------------------------------------------------- the page
 *
 * Names in a result come from other people, so each text is escaped for the place where it stands:
 * as text of an element, or as JSON in a script. */

/* Within an element or a title no other character is markup. */
static void put_escaped(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '&': (void)fputs("&amp;", out); break;
        case '<': (void)fputs("&lt;", out); break;
        case '>': (void)fputs("&gt;", out); break;
        default: (void)fputc(*text, out);
        }
    }
}

/* The result as the terminal would show it; false without memory. In full: the page may be all
 * that a reader gets. */
static bool put_text(FILE *out, const json_t *result)
{
    char *text = NULL;
    size_t length = 0;
    FILE *memory = open_memstream(&text, &length);
    if (memory == NULL) {
        return false;
    }
    text_document(memory, result, true);
    bool good = fclose(memory) == 0;
    if (good) {
        put_escaped(out, text);
    }
    free(text);
    return good;
}

/* The document; false without memory. \u003c is the same character in JSON, and cannot begin the
 * tag that would end the script element. */
static bool put_json(FILE *out, const json_t *result)
{
    char *text = json_dumps(result, JSON_COMPACT | JSON_REAL_PRECISION(17));
    for (const char *at = text; at != NULL && *at != '\0'; at++) {
        (void)fputs(*at == '<' ? "\\u003c" : (char[2]){*at, '\0'}, out);
    }
    free(text);
    return text != NULL;
}

/* Put the asset that a line of the frame refers to in place of the line. The line keeps its
 * media, by which dark colours hold on dark screens only. False when this build has no such
 * asset. */
static bool put_asset(FILE *out, const char *line)
{
    const char *start = strstr(line, "\"/assets/");
    char path[128];
    size_t length = strcspn(start + 1, "\"");
    if (length >= sizeof path) {
        return false;
    }
    memcpy(path, start + 1, length);
    path[length] = '\0';
    const struct web_file *file = web_file_at(path);
    if (file == NULL) {
        return false;
    }
    const char *media = strstr(line, " media=");
    bool script = strstr(line, "<script") != NULL;
    (void)fprintf(out, "<%s%.*s>", script ? "script type=\"module\"" : "style",
                  media != NULL ? (int)strcspn(media, ">") : 0, media != NULL ? media : "");
    (void)fwrite(file->plain, 1, file->plain_bytes, out);
    (void)fprintf(out, "</%s>\n", script ? "script" : "style");
    return true;
}

/* A line of the frame. A place in it, {{title}}, {{text}} or {{document}}, is filled; a line has
 * one at most. */
static bool put_line(FILE *out, const char *line, const json_t *result)
{
    const char *place = strstr(line, "{{");
    if (strstr(line, "\"/assets/") != NULL) {
        return put_asset(out, line);
    }
    if (place == NULL) {
        (void)fprintf(out, "%s\n", line);
        return true;
    }
    bool good = true;
    (void)fprintf(out, "%.*s", (int)(place - line), line);
    if (strncmp(place, "{{title}}", 9) == 0) {
        put_escaped(out, member_text(result, "title"));
    } else {
        good = strncmp(place, "{{text}}", 8) == 0 ? put_text(out, result) : put_json(out, result);
    }
    (void)fprintf(out, "%s\n", strstr(place, "}}") + 2);
    return good;
}

/* The frame belongs to the program, so it is copied before it is cut into lines. */
static bool write_page(FILE *out, const struct saving *saving)
{
    const struct web_file *frame = web_file_named("report.html");
    char *text = frame != NULL ? strndup((const char *)frame->plain, frame->plain_bytes) : NULL;
    bool good = text != NULL;
    char *rest = text;
    while (good && rest != NULL && *rest != '\0') {
        char *line = strsep(&rest, "\n");
        good = put_line(out, line, saving->result);
    }
    free(text);
    return good;
}

/* ---------------------------------------------------------------- text and document */

/* Errors of the stream are found by cli_save(). */
static bool write_text(FILE *out, const struct saving *saving)
{
    text_document(out, saving->result, saving->full);
    return true;
}

static bool write_json(FILE *out, const struct saving *saving)
{
    return json_dumpf(saving->result, out, ESTIMATE_JSON_PRETTY) == 0 && fputc('\n', out) != EOF;
}

/* ---------------------------------------------------------------- saving */

/* One row for each form; result_check() names the same four. */
static const struct ending {
    const char *name;
    bool (*write)(FILE *out, const struct saving *saving);
} endings[] = {
    {".html", write_page}, {".json", write_json}, {".csv", write_csv}, {".txt", write_text}};

enum { ENDINGS = sizeof endings / sizeof endings[0] };

/* The ending of a name, in letters of either case; NULL when it has none of them. */
static const struct ending *ending_of(const char *path)
{
    size_t length = strlen(path);
    for (size_t i = 0; i < ENDINGS; i++) {
        size_t end = strlen(endings[i].name);
        if (length > end && strcasecmp(path + length - end, endings[i].name) == 0) {
            return &endings[i];
        }
    }
    return NULL;
}

/* Both refusals come before any work: a computation must not end with a name that cannot be
 * used. */
int result_check(const char *command, const char *path, bool force)
{
    if (path != NULL && ending_of(path) == NULL) {
        return cli_fail(CLI_USAGE, command,
                        "--save must be a name that ends in .html, .json, .csv or .txt, not '%s'",
                        path);
    }
    return path != NULL && !force && access(path, F_OK) == 0
               ? cli_fail(CLI_USAGE, command,
                          "--save must be a new file, or come with --force, not '%s'", path)
               : CLI_DONE;
}

/* From cli_save()'s kind of writer to an ending's. */
static bool write_result(FILE *out, const void *context)
{
    const struct saving *saving = context;
    return saving->ending->write(out, saving);
}

int result_save(const json_t *result, const char *command, const char *path, bool full)
{
    const struct saving saving = {result, full, ending_of(path)};
    return result == NULL ? cli_fail(CLI_FAILED, command, "out of memory")
                          : cli_save(command, path, write_result, &saving);
}

/* What is printed is cleaned, what is saved is the cleaned document: both show the same names. */
int estimate_show(const char *command, json_t *document, const struct estimate_wish *wish)
{
    int code = CLI_DONE;
    if (document == NULL) {
        return cli_fail(CLI_FAILED, command, "out of memory");
    }
    members_clean(document);
    if (!wish->json) {
        text_document(stdout, document, wish->explain);
    } else {
        code = cli_print_json(command, json_incref(document), true);
    }
    if (code == CLI_DONE && wish->save != NULL) {
        result_set_made(document, wish->line);
        code = result_save(document, command, wish->save, wish->explain);
    }
    json_decref(document);
    return code;
}
