/* study_operator.c -- a study on a server: publish it there, close a round, enrol a device,
 * fetch what was published, move it between a directory and a clustered store.
 *
 * The file is read and checked here first, and its normalised form is sent, so that the server's
 * id must be the one computed here.
 *
 * Each action is one request, or two to find the current round. An answer can be lost after the
 * server has acted, so every action may be repeated: publishing a study that exists changes
 * nothing, a round is closed by its number, a device's key is computed again from its name. */
#include "study.h"

#include <inttypes.h>
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli.h"
#include "fetch.h"
#include "files.h"
#include "text.h"
#include "options.h"
#include "privacy_warnings.h"
#include "tremolo_client.h"
#include "study_internal.h"

/* An example needs no more than six digits. */
enum { DUMP_FLAGS = JSON_REAL_PRECISION(6) };

/* ---------------------------------------------------------------- exchange */

/* After a failure that leaves it open whether a round was closed: what to do. "" where no round is
 * concerned. */
static const char *ask_again(char words[80], const struct study_options *options)
{
    (void)snprintf(words, 80, "; ask again with the round's number, %ld, which closes no other",
                   options->round);
    return options->round > 0 ? words : "";
}

/* POST as the operator; *answer is the caller's, and NULL after a failure. The token is read just
 * before it is sent and wiped after it, and never travels in the clear beyond this machine. */
static int post(json_t **answer, const struct study_options *options, const char *url,
                const char *body, long expected)
{
    char *token = NULL;
    char detail[FETCH_DETAIL_BYTES];
    char again[80];
    if (!tremolo_client_is_safe_url(url)) {
        return cli_fail(CLI_USAGE, "study",
                        "%s: the token travels by https only, or by http on this machine", url);
    }
    int code = cli_read_token(&token, "study: --token-file", options->token_file);
    if (code != CLI_DONE) {
        return code;
    }
    struct fetch fetch = {.url = url, .body = body, .token = token, .ca_file = options->ca_file};
    int failed = fetch_run(&fetch);
    sodium_memzero(token, strlen(token));
    free(token);
    if (failed != 0) {
        return cli_fail(CLI_FAILED, "study", "%s: %s%s", url, fetch.words,
                        ask_again(again, options));
    }
    *answer = json_loads(fetch.answer, 0, NULL);
    fetch_detail(detail, fetch.answer);
    free(fetch.answer);
    if (fetch.status != expected || *answer == NULL) {
        json_decref(*answer);
        *answer = NULL;
        return cli_fail(CLI_FAILED, "study", "the server answered %ld%s%s", fetch.status, detail,
                        fetch.status >= 500 ? ask_again(again, options)
                        : fetch.status == 401 || fetch.status == 403
                            ? "; --token-file names the file that holds it"
                            : "");
    }
    return CLI_DONE;
}

/* A path below what must be a study's address. A server's address alone is refused here, before a
 * token is sent to it. */
static int join_study(char url[TREMOLO_CLIENT_MAX_URL], const struct study_options *options,
                      const char *path)
{
    if (strstr(options->file, "/studies/") == NULL) {
        return cli_fail(CLI_USAGE, "study",
                        "%s takes the study's address, which ends in /v1/studies/ and its id",
                        options->action);
    }
    return fetch_join(url, TREMOLO_CLIENT_MAX_URL, "study", options->file, path);
}

/* GET a path below the study's address, which is left in `url` for messages. The caller frees
 * *text. */
static int get_study(char **text, char url[TREMOLO_CLIENT_MAX_URL],
                     const struct study_options *options, const char *path)
{
    int code = join_study(url, options, path);
    return code == CLI_DONE ? fetch_text(text, "study", url, options->ca_file) : code;
}

/* POST to a path below the study's address. */
static int post_study(json_t **answer, const struct study_options *options, const char *path,
                      const char *body, long expected)
{
    char url[TREMOLO_CLIENT_MAX_URL];
    int code = join_study(url, options, path);
    return code == CLI_DONE ? post(answer, options, url, body, expected) : code;
}

/* ---------------------------------------------------------------- publish
 *
 * What is printed has to work when it is pasted, so everything in it that the server sent is
 * checked or computed here first. */

/* A sample as a device might give it: what is typical, else the middle of each range; the first
 * level. */
static json_t *example_sample(const struct tremolo_study_file *file)
{
    size_t count = tremolo_study_file_feature_count(file);
    json_t *sample = json_object();
    for (size_t i = 0; i <= count; i++) {
        const struct tremolo_study_feature *feature =
            i < count ? tremolo_study_file_feature(file, i) : tremolo_study_file_response(file);
        double middle =
            isnan(feature->typical) ? (feature->low + feature->high) / 2 : feature->typical;
        bool yes = feature->typical > 0.5;
        json_t *value = feature->kind == TREMOLO_STUDY_CATEGORY ? json_string(feature->levels[0])
                        : feature->kind == TREMOLO_STUDY_YES_NO ? json_string(yes ? "yes" : "no")
                        : fabs(middle) < 0x1p53 && middle == floor(middle)
                            ? json_integer((json_int_t)middle)
                            : json_real(middle);
        (void)json_object_set_new(sample, feature->name, value);
    }
    return sample;
}

/* Everything that a device needs is printed as commands to paste: the key that signs, the
 * address, a policy if the default refuses the study, and an example of a sample. */
static void print_published(const char *url, const char *key, const struct tremolo_study_file *file)
{
    bool keys = tremolo_study_file_terms(file)->enrolment == TREMOLO_STUDY_KEYS;
    char id[TREMOLO_STUDY_ID_TEXT_BYTES];
    char why[STUDY_WARNING_BYTES];
    char warnings[STUDY_WARNINGS_MAX][STUDY_WARNING_BYTES];
    char policy[STUDY_POLICY_BYTES];
    (void)study_is_refused(why, policy, file);
    json_t *sample = example_sample(file);
    char *text = json_dumps(sample, DUMP_FLAGS);
    tremolo_study_id_text(id, tremolo_study_file_id(file));
    (void)printf("id   %s\nurl  %s\nkey  %s\n\n", id, url, key);
    (void)printf(
        "A device takes part with\n\n"
        "  echo %s > server.key\n"
        "%s%s%s"
        "  tremolo report --study %s \\\n%s"
        "      --state DIRECTORY --sample sample.json --server-key server.key --enrol%s\n\n",
        key, policy[0] != '\0' ? "  echo '" : "", policy,
        policy[0] != '\0' ? "' > policy.json\n" : "", url,
        policy[0] != '\0' ? "      --policy policy.json \\\n" : "",
        keys ? " \\\n      --device NAME --key FILE" : "");
    (void)printf("where sample.json is like\n\n  %s\n", text != NULL ? text : "{}");
    size_t count = study_warnings(warnings, file, (int64_t)time(NULL));
    for (size_t i = 0; i < count; i++) { /* that devices refuse is the last */
        (void)fprintf(stderr, "tremolo study: warning: %s%s\n", warnings[i],
                      policy[0] != '\0' && i + 1 == count
                          ? "; only with policy.json as printed do they take part"
                          : "");
    }
    if (keys) {
        (void)printf("\nand each device's name and key come from\n\n"
                     "  tremolo study enrol %s \\\n"
                     "      NAME --token-file operator.token\n",
                     url);
    }
    free(text);
    json_decref(sample);
}

/* The id is computed on both sides. A server with another id understood the file otherwise, and
 * nothing may be reported to it. */
static int report_published(const struct study_options *options, const char *studies_url,
                            const json_t *answer, const struct tremolo_study_file *file)
{
    char url[2 * TREMOLO_CLIENT_MAX_URL];
    char id[TREMOLO_STUDY_ID_TEXT_BYTES];
    const char *theirs = json_string_value(json_object_get(answer, "id"));
    const char *key = json_string_value(json_object_get(answer, "key"));
    uint8_t public_key[TREMOLO_SIGNING_PUBLIC_BYTES];
    tremolo_study_id_text(id, tremolo_study_file_id(file));
    if (theirs == NULL || key == NULL || strcmp(theirs, id) != 0) {
        return cli_fail(CLI_FAILED, "study", "the server's study has another id than this file");
    }
    /* It is printed within a command to paste into a shell. */
    if (tremolo_base64_decode(public_key, sizeof public_key, key) != TREMOLO_OK) {
        return cli_fail(CLI_FAILED, "study", "the server's key is not one");
    }
    (void)snprintf(url, sizeof url, "%s/%s", studies_url, id);
    if (options->json) {
        return cli_print_json("study",
                              json_pack("{s:s, s:s, s:s}", "id", id, "url", url, "key", key), true);
    }
    print_published(url, key, file);
    return CLI_DONE;
}

/* A study that devices refuse by default is still published, after a warning: its author may have
 * agreed on a policy with the devices. */
static int publish_study(const struct study_options *options, const struct tremolo_study_file *file)
{
    char url[TREMOLO_CLIENT_MAX_URL];
    char *body = NULL;
    json_t *answer = NULL;
    int code = fetch_join(url, sizeof url, "study", options->server, "/v1/studies");
    if (code != CLI_DONE) {
        return code;
    }
    enum tremolo_status status = tremolo_study_file_json(&body, file);
    if (status != TREMOLO_OK) {
        return cli_fail_status("study", status);
    }
    code = post(&answer, options, url, body, 201);
    free(body);
    if (code == CLI_DONE) {
        code = report_published(options, url, answer, file);
    }
    json_decref(answer);
    return code;
}

/* ---------------------------------------------------------------- close
 *
 * Rounds are counted from 1 by people, in options and in text, and from 0 in requests and
 * answers. */

/* The answer is the round that is current now. The server counts rounds from 0 and people from 1;
 * --json keeps the server's numbers, because programs compare them with other answers. */
static int report_closed(const struct study_options *options, json_t *answer)
{
    long long current = member_integer(answer, "round") + 1;
    long long rounds = member_integer(answer, "rounds");
    if (options->json) {
        (void)json_object_set_new(answer, "closed_round", json_integer(options->round - 1));
        return cli_print_json("study", json_incref(answer), true);
    }
    if (strcmp(member_text(answer, "state"), "done") == 0) {
        (void)printf("round %ld of %lld is closed, and so is the study\n", options->round, rounds);
    } else {
        (void)printf("round %ld of %lld is closed; round %lld is open\n", options->round, rounds,
                     current);
    }
    return CLI_DONE;
}

/* The newest round's number, from 1, and whether the study is done, so that no report may come. A
 * number that no study could have is a failure. */
static int newest_round(long *round, bool *done, const struct study_options *options)
{
    char url[TREMOLO_CLIENT_MAX_URL];
    char *text = NULL;
    int code = get_study(&text, url, options, "/round");
    if (code != CLI_DONE) {
        return code;
    }
    json_t *answer = json_loads(text, 0, NULL);
    long long number = member_integer(answer, "round");
    bool sound =
        json_is_integer(json_object_get(answer, "round")) && number >= 0 && number < UINT16_MAX;
    *done = strcmp(member_text(answer, "state"), "done") == 0;
    *round = sound ? (long)number + 1 : 0;
    json_decref(answer);
    free(text);
    return sound ? CLI_DONE : cli_fail(CLI_FAILED, "study", "%s: the answer is no round", url);
}

/* A round is closed by its number, so that a request that arrives twice, or is made
 * again, closes no other. A study that is done is the exception: it has no other round
 * with reports, and only without a number does the server say that nothing was left to
 * close. */
static int close_study(const struct study_options *options)
{
    char path[40] = "/round/close";
    struct study_options named = *options;
    json_t *answer = NULL;
    bool done = false;
    int code = options->round > 0 ? CLI_DONE : newest_round(&named.round, &done, options);
    if (code != CLI_DONE) {
        return code;
    }
    if (!done) {
        (void)snprintf(path, sizeof path, "/round/close?round=%ld", named.round - 1);
    }
    code = post_study(&answer, &named, path, "{}", 200);
    if (code == CLI_DONE) {
        code = report_closed(&named, answer);
    }
    json_decref(answer);
    return code;
}

/* ---------------------------------------------------------------- discard */

/* The span has its first second and not its end, as two spans then meet without a gap. Times are
 * read and written again, so that the server gets one form of them. Discarded reports stay known
 * to the server, so that a device that repeats one is not counted again. */
static int discard_study(const struct study_options *options)
{
    char path[2 * TREMOLO_STUDY_DATE_BYTES + 32];
    char text[2][TREMOLO_STUDY_DATE_BYTES];
    int64_t span[2];
    json_t *answer = NULL;
    if (!tremolo_study_date_read(&span[0], options->from) ||
        !tremolo_study_date_read(&span[1], options->to) || span[0] >= span[1]) {
        return cli_fail(
            CLI_USAGE, "study",
            "a span is two times like 2026-03-01T12:00:00Z, the first before the other");
    }
    tremolo_study_date_text(text[0], span[0]);
    tremolo_study_date_text(text[1], span[1]);
    (void)snprintf(path, sizeof path, "/discard?from=%s&to=%s", text[0], text[1]);
    int code = post_study(&answer, options, path, "{}", 200);
    if (code == CLI_DONE && options->json) {
        code = cli_print_json("study", json_incref(answer), true);
    } else if (code == CLI_DONE) {
        (void)printf("%lld reports that came from %s to %s no longer count; %lld do\n",
                     member_integer(answer, "discarded"), text[0], text[1],
                     member_integer(answer, "reports"));
    }
    json_decref(answer);
    return code;
}

/* ---------------------------------------------------------------- enrol */

/* The key is shown once, here. The server can compute it again from its secret, and keeps no
 * list. */
static int enrol_study(const struct study_options *options)
{
    json_t *answer = NULL;
    json_t *wish = json_pack("{s:s}", "name", options->device);
    char *body = wish != NULL ? json_dumps(wish, 0) : NULL;
    json_decref(wish);
    if (body == NULL) {
        return cli_fail(CLI_USAGE, "study", "the name of a device must be text in UTF-8");
    }
    int code = post_study(&answer, options, "/devices", body, 201);
    free(body);
    if (code == CLI_DONE && options->json) {
        code = cli_print_json("study", json_incref(answer), true);
    } else if (code == CLI_DONE) {
        (void)printf("device %s\nkey    %s\n", member_text(answer, "device"),
                     member_text(answer, "key"));
    }
    json_decref(answer);
    return code;
}

/* ---------------------------------------------------------------- fetch */

/* The id in the address must be the hash of what came, and the signature must be right; trust in
 * the key named there is the person's decision. */
static int receive(struct tremolo_study_file **file, const char *url, const char *answer)
{
    uint8_t id[TREMOLO_STUDY_ID_BYTES];
    uint8_t key[TREMOLO_SIGNING_PUBLIC_BYTES];
    const char *text = strrchr(url, '/') + 1;
    static struct tremolo_study_problems problems; /* large, and not printed */
    enum tremolo_status status = tremolo_base64_decode(id, sizeof id, text);
    if (status == TREMOLO_OK) {
        status = tremolo_study_receive(file, key, &problems, answer, strlen(answer), id, NULL);
    }
    return status == TREMOLO_OK
               ? CLI_DONE
               : cli_fail(CLI_FAILED, "study", "%s: %s", url, tremolo_status_sentence(status));
}

/* For `show` with an address: the study as its devices see it. */
int study_fetch(struct tremolo_study_file **file, const struct study_options *options)
{
    char url[TREMOLO_CLIENT_MAX_URL];
    char *answer = NULL;
    int code = get_study(&answer, url, options, "");
    if (code == CLI_DONE) {
        code = receive(file, url, answer);
    }
    free(answer);
    return code;
}

/* ---------------------------------------------------------------- move */

/* "sqlite:DIR" sets *data, anything else must be a store's address, which is reached as `given`
 * says. False for any other text. */
static bool take_place(const char **data, struct tremolo_store_options *store, const char *place,
                       const struct tremolo_store_options *given)
{
    if (strncmp(place, "sqlite:", 7) == 0) {
        *data = place + 7;
        return place[7] != '\0';
    }
    *store = *given;
    return options_take_store(&store->url, place) == NULL;
}

/* Copies first and compares the exact sums after; both places have the study then. */
static int move_study(const struct study_options *options)
{
    struct tremolo_move_options move = {.study = options->file};
    uint64_t reports = 0;
    char words[TREMOLO_WORDS_BYTES] = "";
    if (!take_place(&move.from_data, &move.from_store, options->from, &options->store) ||
        !take_place(&move.to_data, &move.to_store, options->to, &options->store)) {
        return cli_fail(CLI_USAGE, "study", "a place is sqlite:DIR or nats://HOST:PORT");
    }
    enum tremolo_status status = tremolo_study_move(&reports, &move, words);
    if (status != TREMOLO_OK) {
        return cli_fail(
            CLI_FAILED, "study", "%s%s", words,
            status == TREMOLO_STORE_COPIED ? "; serve a moved directory once with --moved" : "");
    }
    if (options->json) {
        return cli_print_json("study",
                              json_pack("{s:s, s:s, s:s, s:I, s:b}", "study", options->file, "from",
                                        options->from, "to", options->to, "reports",
                                        (json_int_t)reports, "equal", 1),
                              true);
    }
    (void)printf("%" PRIu64 " reports moved; the sums at both places are equal\n", reports);
    return CLI_DONE;
}

/* One entry for all that needs an operator's token or a store. */
int study_operate(const struct study_options *options, enum study_action action,
                  const struct tremolo_study_file *file)
{
    switch (action) {
    case STUDY_PUBLISH: return publish_study(options, file);
    case STUDY_CLOSE: return close_study(options);
    case STUDY_DISCARD: return discard_study(options);
    case STUDY_ENROL: return enrol_study(options);
    default: return move_study(options);
    }
}
