/* test_cli_watch.c -- the picture of a study, whatever the server says. */
#include "testing.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "watch.h"

static json_t *json_of(const char *text)
{
    json_t *made = json_loads(text, 0, NULL);
    assert_non_null(made);
    return made;
}

/* Numbers with three hundred digits fit no line: they are cut, and the frame stays
 * within the window. */
static void absurd_numbers_stay_in_the_window(void **state)
{
    static const char answer[] =
        "{\"title\":\"t\",\"state\":\"open\",\"round\":1e308,\"rounds\":1e308,"
        "\"round_reports\":-1e308,\"reports\":1e308,\"r2\":1e308,\"coefficients\":["
        "{\"name\":\"a\",\"estimate\":1e308,\"low\":-1e308,\"high\":1e308,\"identified\":true},"
        "{\"name\":\"(intercept)\",\"estimate\":0,\"low\":0,\"high\":0,\"identified\":true}]}";
    static const char history[] =
        "{\"rate\":1e308,\"devices\":-1e308,\"outcomes\":{\"accepted\":1e308,\"repeated\":1e308,"
        "\"closed\":1e308,\"malformed\":1e308,\"outside\":1e308},\"samples\":[],\"rounds\":["
        "{\"gradient_norm\":1e308}]}";
    static const char study[] =
        "{\"protocol\":{\"close\":{\"reports\":1e308}},\"features\":[],\"response\":{}}";
    (void)state;
    for (int columns = 20; columns <= 500; columns += 20) {
        const struct terminal terminal = {.columns = columns, .rows = 24, .screen = true};
        struct watch watch = {.url = "http://127.0.0.1:1/v1/studies/x", .one_study = true};
        watch.answer = json_of(answer);
        watch.history = json_of(history);
        watch.study = json_of(study);
        char *frame = watch_frame(&watch, &terminal);
        assert_non_null(frame);
        assert_non_null(strstr(frame, "round 1,"));
        for (const char *at = frame; *at != '\0'; at += strcspn(at, "\n") + 1) {
            assert_true(strcspn(at, "\n") <= (size_t)columns);
        }
        free(frame);
        json_decref(watch.answer);
        json_decref(watch.history);
        json_decref(watch.study);
    }
}

/* What is drawn, and what a pipe gets, for a history with this rate. */
static void rate_is_said(const char *history, const char *drawn, const char *piped)
{
    const struct terminal terminal = {.columns = 80, .rows = 24, .screen = true};
    struct watch watch = {.url = "http://127.0.0.1:1/v1/studies/x", .one_study = true};
    watch.answer = json_of("{\"title\":\"t\",\"state\":\"open\",\"round\":0,\"rounds\":1,"
                           "\"reports\":7,\"r2\":null,\"coefficients\":[]}");
    watch.history = json_of(history);
    watch.study = json_of("{\"features\":[],\"response\":{}}");
    char *frame = watch_frame(&watch, &terminal);
    char *line = watch_line(&watch, "now");
    assert_non_null(frame);
    assert_non_null(line);
    assert_non_null(strstr(frame, drawn));
    assert_non_null(strstr(line, piped));
    free(frame);
    free(line);
    json_decref(watch.answer);
    json_decref(watch.history);
    json_decref(watch.study);
}

static void a_rate_is_a_dash_until_it_is_known(void **state)
{
    (void)state;
    rate_is_said("{\"rate\":null,\"devices\":7}", "devices 7   - a second", " rate=none ");
    rate_is_said("{\"devices\":7}", "devices 7   - a second", " rate=none ");
    rate_is_said("{\"rate\":0.0,\"devices\":7}", "devices 7   0 a second", " rate=0 ");
    rate_is_said("{\"rate\":2.53,\"devices\":7}", "devices 7   2.53 a second", " rate=2.53 ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(absurd_numbers_stay_in_the_window),
        cmocka_unit_test(a_rate_is_a_dash_until_it_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
