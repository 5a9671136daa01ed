/* estimate_show.c -- an estimate on the terminal or in a file, from any source. */
#include "estimate_show.h"

#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "estimate_json.h"
#include "fetch.h"
#include "result.h"
#include "tremolo_server.h"

static const double usual_level = 0.95;

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

/* From a server, with intervals of the level that is asked for. */
static int fetch_estimate(char **text, const char *command, const char *where,
                          const struct estimate_wish *wish)
{
    char url[2048], path[64] = "/estimate";
    if (wish->level > 0 && wish->level != usual_level) {
        (void)snprintf(path, sizeof path, "/estimate?level=%.17g", wish->level);
    }
    int code = fetch_join(url, sizeof url, command, where, path);
    if (code == CLI_DONE && strstr(url, "/studies/") == NULL) {
        *strrchr(url, '/') = '\0';
        return cli_fail(CLI_USAGE, command,
                        "%s is no study's address, which ends in /v1/studies/ and its id; 'tremolo "
                        "status %s' lists them",
                        url, url);
    }
    return code == CLI_DONE ? fetch_text(text, command, url, wish->ca_file) : code;
}

static int read_estimate(char **text, const char *command, const char *where,
                         const struct estimate_wish *wish)
{
    char words[TREMOLO_WORDS_BYTES];
    double level = wish->level > 0 ? wish->level : usual_level;
    enum tremolo_status status = tremolo_server_offline(text, where, wish->study, level, words);
    const char *remedy = status == TREMOLO_STORE_IN_USE      ? "; or ask it: tremolo fit URL"
                         : status == TREMOLO_STUDY_NOT_NAMED ? "; choose by --study"
                                                             : "";
    return status == TREMOLO_OK
               ? CLI_DONE
               : cli_fail(cli_exit_of(status), command, "%s: %s%s", where, words, remedy);
}

int estimate_find(const char *command, const char *where, const struct estimate_wish *wish)
{
    char *text = NULL;
    bool remote = strncmp(where, "http://", 7) == 0 || strncmp(where, "https://", 8) == 0;
    int code = remote ? fetch_estimate(&text, command, where, wish)
                      : read_estimate(&text, command, where, wish);
    if (code != CLI_DONE) {
        return code;
    }
    json_t *document = json_loads(text, 0, NULL);
    free(text);
    if (!estimate_document_is(document)) {
        json_decref(document);
        return cli_fail(CLI_FAILED, command, "%s: this is not an estimate", where);
    }
    return estimate_show(command, document, wish);
}
