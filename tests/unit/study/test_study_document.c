/* test_study_document.c -- one table writes a document and describes it. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "document.h"
#include "testing.h"

struct score {
    double low;
};
struct thing {
    const char *title;
    double level;
    uint16_t width;
    int64_t reports;
    bool alarm;
    unsigned side;
    int64_t opens;
    const struct score *score;
};

static const char *const sides[] = {"low", "high", NULL};
static const struct document_row score_rows[] = {
    {.key = "low", .type = DOCUMENT_REAL, .is = DOCUMENT_NULLABLE, DOCUMENT_AT(struct score, low)},
    {NULL}};

static json_t *scores_json(const void *of)
{
    const struct thing *thing = of;
    json_t *list = json_array();
    json_latch_append(&list, document_json(score_rows, thing->score));
    return list;
}

static bool is_high(const void *of)
{
    return ((const struct thing *)of)->side == 1;
}

static const struct document_row range_rows[] = {
    {.key = "alarm", .type = DOCUMENT_BOOLEAN, DOCUMENT_AT(struct thing, alarm)}, {NULL}};
static const struct document_row integer = {.type = DOCUMENT_WHOLE};
static const struct document_row rows[] = {
    {.key = "version", .type = DOCUMENT_CONST, .low = 2},
    {.key = "title",
     .type = DOCUMENT_TEXT,
     .is = DOCUMENT_NULLABLE,
     DOCUMENT_AT(struct thing, title),
     .low = 1,
     .high = 8,
     .words = "of the study"},
    {.key = "level",
     .type = DOCUMENT_REAL,
     .is = DOCUMENT_ABOVE,
     DOCUMENT_AT(struct thing, level),
     .high = 0.5},
    {.key = "width", .type = DOCUMENT_WHOLE, DOCUMENT_AT(struct thing, width), .high = INFINITY},
    {.key = "reports",
     .type = DOCUMENT_COUNT,
     .is = DOCUMENT_NULLABLE,
     DOCUMENT_AT(struct thing, reports)},
    {.key = "side", .type = DOCUMENT_CHOICE, DOCUMENT_AT(struct thing, side), .choices = sides},
    {.key = "opens",
     .type = DOCUMENT_DATE,
     .is = DOCUMENT_OPTIONAL,
     DOCUMENT_AT(struct thing, opens),
     .when = is_high},
    {.key = "range", .type = DOCUMENT_OBJECT, .rows = range_rows},
    {.key = "score",
     .type = DOCUMENT_OBJECT,
     .is = DOCUMENT_NULLABLE | DOCUMENT_POINTER,
     DOCUMENT_AT(struct thing, score),
     .rows = score_rows},
    {.key = "scores",
     .type = DOCUMENT_LIST,
     .is = DOCUMENT_OPTIONAL,
     .make = scores_json,
     .when = is_high,
     .rows = score_rows},
    {.key = "later",
     .type = DOCUMENT_LIST,
     .is = DOCUMENT_OPTIONAL | DOCUMENT_ELSEWHERE,
     .element = &integer,
     .low = 1,
     .high = 4},
    {.key = "neighbours",
     .type = DOCUMENT_TEXT,
     .is = DOCUMENT_OPTIONAL | DOCUMENT_ELSEWHERE,
     .rules = "{\"pattern\": \"^any$\"}"},
    {NULL}};

static void check_text(json_t *document, const char *text)
{
    char *got = json_dumps(document, JSON_COMPACT);
    assert_string_equal(got, text);
    free(got);
    json_decref(document);
}

/* Keys in the order of the rows; null for what is not known; what does not belong is left out. */
static void test_writes(void **state)
{
    struct thing thing = {NULL, 0.25, 7, -1, true, 0, 86400, NULL};
    const struct score score = {INFINITY};
    (void)state;
    check_text(document_json(rows, &thing),
               "{\"version\":2,\"title\":null,\"level\":0.25,\"width\":7,\"reports\":null,"
               "\"side\":\"low\",\"range\":{\"alarm\":true},\"score\":null}");
    thing = (struct thing){"one", 0.25, 7, 9, false, 1, 86400, &score};
    check_text(document_json(rows, &thing),
               "{\"version\":2,\"title\":\"one\",\"level\":0.25,\"width\":7,\"reports\":9,"
               "\"side\":\"high\",\"opens\":\"1970-01-02T00:00:00Z\",\"range\":{\"alarm\":false},"
               "\"score\":{\"low\":null},\"scores\":[{\"low\":null}]}");
}

static const char described[] =
    "{\"title\":\"A thing\",\"type\":\"object\",\"required\":[\"version\",\"title\",\"level\","
    "\"width\",\"reports\",\"side\",\"range\",\"score\"],\"properties\":{"
    "\"version\":{\"const\":2},"
    "\"title\":{\"type\":[\"string\",\"null\"],\"minLength\":1,\"maxLength\":8,"
    "\"description\":\"of the study\"},"
    "\"level\":{\"type\":\"number\",\"exclusiveMinimum\":0,\"maximum\":0.5},"
    "\"width\":{\"type\":\"integer\",\"minimum\":0},"
    "\"reports\":{\"type\":[\"integer\",\"null\"],\"minimum\":0},"
    "\"side\":{\"enum\":[\"low\",\"high\"]},"
    "\"opens\":{\"type\":\"string\",\"pattern\":"
    "\"^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)?$\"},"
    "\"range\":{\"type\":\"object\",\"required\":[\"alarm\"],\"properties\":{\"alarm\":{\"type\":"
    "\"boolean\"}},\"additionalProperties\":false},"
    "\"score\":{\"type\":[\"object\",\"null\"],\"required\":[\"low\"],\"properties\":{\"low\":{"
    "\"type\":[\"number\",\"null\"]}},\"additionalProperties\":false},"
    "\"scores\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"low\"],"
    "\"properties\":{\"low\":{\"type\":[\"number\",\"null\"]}},\"additionalProperties\":false}},"
    "\"later\":{\"type\":\"array\",\"minItems\":1,\"maxItems\":4,\"items\":{\"type\":\"integer\"}},"
    "\"neighbours\":{\"type\":\"string\",\"pattern\":\"^any$\"}},\"additionalProperties\":false}";

static void test_describes(void **state)
{
    (void)state;
    check_text(document_schema(rows, "{\"title\": \"A thing\"}"), described);
}

/* A table that is read: a choice that decides whether a number belongs. */
struct wish {
    unsigned side;
    double level;
    const char *name;
};

static bool wants_level(const void *of)
{
    return ((const struct wish *)of)->side == 1;
}

static const struct document_row wish_rows[] = {
    DOCUMENT_ROW("side", CHOICE, DOCUMENT_DECIDES, DOCUMENT_AT(struct wish, side), .choices = sides,
                 .words = "where it is"),
    DOCUMENT_ROW("level", REAL, DOCUMENT_OPTIONAL, DOCUMENT_AT(struct wish, level),
                 .when = wants_level, .otherwise = "belongs to high sides only", .high = 1,
                 .fallback = 0.5),
    DOCUMENT_ROW("name", TEXT, DOCUMENT_OPTIONAL, DOCUMENT_AT(struct wish, name), .high = 3),
    {NULL}};

static void test_reads(void **state)
{
    static const struct {
        const char *json, *path, *reason; /* NULL: it is right */
        double level;
    } cases[] = {
        {"{\"side\": \"high\"}", NULL, NULL, 0.5},
        {"{\"side\": \"high\", \"level\": 1, \"comment\": \"any\"}", NULL, NULL, 1},
        {"{\"side\": \"low\"}", NULL, NULL, 0},
        {"{\"side\": \"low\", \"level\": 1}", "level", "belongs to high sides only", 0},
        {"{\"side\": \"up\", \"level\": 1}", "side", "must be \"low\" or \"high\"", 0},
        {"{\"level\": 1}", "side", "is required", 0},
        {"{\"side\": \"high\", \"level\": 2}", "level",
         "must be at least 0 and at most 1, but is 2", 0.5},
        {"{\"side\": \"low\", \"name\": \"four\"}", "name", "must have 0 to 3 bytes, but has 4", 0},
        {"{\"side\": \"low\", \"nmae\": \"a\"}", "nmae",
         "is not a key of a study; did you mean name?", 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tremolo_study_problems problems = {.count = 0};
        struct wish wish = {.side = 0};
        json_t *root = json_loads(cases[i].json, 0, NULL);
        struct document_reader reader = {.problems = &problems, .at = {.value = root}};
        document_read(&reader, wish_rows, &wish);
        assert_int_equal(problems.count, cases[i].path != NULL);
        if (cases[i].path != NULL) {
            assert_string_equal(problems.item[0].path, cases[i].path);
            assert_string_equal(problems.item[0].reason, cases[i].reason);
        }
        assert_true(wish.level == cases[i].level);
        json_decref(root);
    }
}

/* Comments of what is written; what holds its fallback need not be decided and is left out. */
static void test_explains(void **state)
{
    const struct wish wish = {.side = 1, .level = 0.5, .name = ""};
    (void)state;
    check_text(document_starter(wish_rows, &wish),
               "{\"comment\":\"side: where it is.\",\"side\":\"high\",\"name\":\"\"}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_writes),
        cmocka_unit_test(test_describes),
        cmocka_unit_test(test_reads),
        cmocka_unit_test(test_explains),
    };
    return cmocka_run_group_tests_name("study: document", tests, NULL, NULL);
}
