/* watch.c -- `tremolo status --watch`: ask, draw, wait, until somebody ends it.
 *
 * A server that does not answer is a line in the picture, not an end: the last
 * numbers stay, and the next second asks again. In a pipe there is no
 * picture but a line for each time we asked. */
#include "watch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli.h"
#include "fetch.h"
#include "members.h"
#include "tremolo_study_file.h"
#include "study_internal.h"

/* ---------------------------------------------------------------- asking */

/* NULL, with the reason in watch->trouble, when there was no good answer. */
static json_t *ask(struct watch *watch, const char *path, const char *ca_file)
{
    char url[2048];
    (void)snprintf(url, sizeof url, "%s%s", watch->url, path);
    struct fetch fetch = {
        .url = url, .ca_file = ca_file, .seconds = 10, .stopping = terminal_stopping};
    watch->trouble[0] = '\0';
    if (fetch_run(&fetch) != 0) {
        (void)snprintf(watch->trouble, sizeof watch->trouble, "no answer: %s", fetch.words);
        return NULL;
    }
    watch->gone = fetch.status == 404 && watch->one_study;
    json_t *answer = fetch.status == 200 ? json_loads(fetch.answer, 0, NULL) : NULL;
    free(fetch.answer);
    members_clean(answer);
    if (answer == NULL) {
        (void)snprintf(watch->trouble, sizeof watch->trouble,
                       fetch.status == 200 ? "the answer is not JSON" : "the server answered %ld",
                       fetch.status);
    }
    return answer;
}

/* Nothing new replaces what was there, unless all of it came. */
static void refresh(struct watch *watch, const char *ca_file)
{
    if (!watch->one_study) {
        json_t *studies = ask(watch, "/v1/studies", ca_file);
        if (studies != NULL) {
            json_decref(watch->answer);
            watch->answer = studies;
        }
        return;
    }
    if (watch->study == NULL) {
        json_t *published = ask(watch, "", ca_file);
        watch->study = json_incref(json_object_get(published, "study"));
        json_decref(published);
    }
    json_t *history = watch->study != NULL ? ask(watch, "/history", ca_file) : NULL;
    json_t *answer = history != NULL ? ask(watch, "/estimate", ca_file) : NULL;
    if (answer == NULL) {
        json_decref(history);
        return;
    }
    json_decref(watch->answer);
    json_decref(watch->history);
    watch->answer = answer;
    watch->history = history;
}

/* ---------------------------------------------------------------- showing */

static bool show(const struct watch *watch, const struct terminal *terminal)
{
    char moment[TREMOLO_STUDY_DATE_BYTES];
    tremolo_study_date_text(moment, (int64_t)time(NULL));
    char *text = terminal->screen ? watch_frame(watch, terminal) : watch_line(watch, moment);
    bool good = text != NULL && terminal_show(terminal, text);
    free(text);
    return good;
}

int watch_run(const char *url, const char *ca_file, double every_seconds)
{
    struct watch watch = {.url = url, .one_study = strstr(url, "/v1/studies/") != NULL};
    struct terminal terminal;
    terminal_open(&terminal);
    enum terminal_event event = TERMINAL_TIMEOUT;
    double next = cli_seconds();
    bool good = true;
    while (good && event != TERMINAL_QUIT) {
        if (event == TERMINAL_TIMEOUT) {
            refresh(&watch, ca_file);
            next = cli_seconds() + every_seconds;
            if (watch.gone) {
                break;
            }
        }
        good = terminal_stopping() || show(&watch, &terminal);
        double left = fmax(0, next - cli_seconds());
        event = terminal_wait(&terminal, (int)(left * 1000));
        if (event == TERMINAL_TIMEOUT && cli_seconds() + 0.002 < next) {
            event = TERMINAL_RESIZED; /* a key that means nothing: no reason to ask */
        }
    }
    terminal_close(&terminal);
    if (watch.gone) {
        good = cli_fail(CLI_FAILED, "status", "%s answered 404: there is no such study", url) ==
               CLI_DONE;
    }
    json_decref(watch.answer);
    json_decref(watch.history);
    json_decref(watch.study);
    return good || terminal_stopping() ? CLI_DONE : CLI_FAILED;
}
