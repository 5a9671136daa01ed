/* offline.c -- a study's estimate from a data directory without a server.
 *
 * The same recovery and the same estimate as a server would give, so the same
 * bits. The store is opened for reading, so that nothing in the directory changes;
 * one that a server is using is refused. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "estimate.h"
#include "tremolo_server.h"
#include "log.h"

enum { NAMED_MAX = 2 };

struct wanted {
    const char *id; /* NULL: the only study */
    struct served_study *served;
    size_t studies;
    char refused[TREMOLO_WORDS_BYTES];               /* why one cannot be read; "": all can */
    char ids[3 * (TREMOLO_STUDY_ID_TEXT_BYTES + 1)]; /* of the first few */
};

static enum tremolo_status take_study(void *context, const uint8_t *key, size_t key_length,
                                      const uint8_t *value, size_t length)
{
    struct wanted *wanted = context;
    struct served_study *served = NULL;
    enum tremolo_status status =
        served_from_row(&served, key, key_length, value, length, NULL, NULL, wanted->refused);
    wanted->studies++;
    if (status != TREMOLO_OK) { /* it may not be the one that is wanted */
        return status == TREMOLO_BAD_STUDY || status == TREMOLO_MALFORMED ? TREMOLO_OK : status;
    }
    size_t used = strlen(wanted->ids);
    (void)snprintf(wanted->ids + used, sizeof wanted->ids - used, "%s%s", used > 0 ? ", " : "",
                   wanted->studies <= NAMED_MAX       ? served->id_text
                   : wanted->studies == NAMED_MAX + 1 ? "..."
                                                      : "");
    if (wanted->served == NULL &&
        (wanted->id == NULL || strcmp(wanted->id, served->id_text) == 0)) {
        wanted->served = served;
    } else {
        served_free(served);
    }
    return TREMOLO_OK;
}

static enum tremolo_status choose(const struct wanted *wanted, char words[TREMOLO_WORDS_BYTES])
{
    if (wanted->served == NULL && wanted->refused[0] != '\0') {
        return words_say(words, TREMOLO_BAD_STUDY, "%s", wanted->refused);
    }
    if (wanted->served == NULL) {
        return words_say(words, TREMOLO_BAD_ARGUMENT,
                         wanted->studies == 0 ? "no study was published on this server yet"
                                              : "there is no such study in this directory");
    }
    if (wanted->id == NULL && wanted->studies > 1) {
        return words_say(words, TREMOLO_BAD_ARGUMENT,
                         "there are %zu studies in this directory; choose by --study: %s",
                         wanted->studies, wanted->ids);
    }
    return TREMOLO_OK;
}

enum tremolo_status served_load(struct served_study **served, struct store *store,
                                const char *study, char words[TREMOLO_WORDS_BYTES])
{
    struct wanted wanted = {.id = study};
    struct studies *one = calloc(1, sizeof *one);
    if (one == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    studies_init(one);
    enum tremolo_status status = store->each(store, "study", take_study, &wanted);
    if (status == TREMOLO_OK) {
        status = choose(&wanted, words);
    }
    if (status == TREMOLO_OK) {
        studies_add(one, wanted.served);
        status = served_recover_all(one, wanted.studies == 1, store, words);
        one->count = 0; /* the study is the caller's */
    }
    if (status == TREMOLO_OK) {
        *served = wanted.served;
    } else {
        served_free(wanted.served);
    }
    studies_free(one);
    free(one);
    return status;
}

enum tremolo_status tremolo_server_offline(char **json, const char *data, const char *study,
                                           double level, char words[TREMOLO_WORDS_BYTES])
{
    struct served_study *served = NULL;
    struct store *store = NULL;
    words[0] = '\0';
    if (sodium_init() < 0) {
        return TREMOLO_NO_ENTROPY;
    }
    enum tremolo_status status = store_read_sqlite(&store, data, words);
    if (status != TREMOLO_OK && strncmp(words, STORE_IN_USE, strlen(STORE_IN_USE)) == 0) {
        (void)snprintf(words, TREMOLO_WORDS_BYTES,
                       "a server uses this directory; ask it: tremolo fit URL");
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    status = served_load(&served, store, study, words);
    if (status == TREMOLO_OK) {
        status = estimate_at_level(json, served, level);
    }
    if (status != TREMOLO_OK && words[0] == '\0') {
        (void)snprintf(words, TREMOLO_WORDS_BYTES, "%s", tremolo_status_sentence(status));
    }
    served_free(served);
    store->close(store);
    return status;
}
