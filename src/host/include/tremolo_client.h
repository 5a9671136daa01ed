/* tremolo_client.h -- take part in a study from a program.
 *
 *     struct tremolo_client *client = NULL;
 *     struct tremolo_client_options options = TREMOLO_CLIENT_DEFAULTS;
 *     options.study_url = "https://example.org/v1/studies/NZ...";
 *     options.state_directory = "/var/lib/app/tremolo";
 *     options.server_key = key;
 *     char why[TREMOLO_CLIENT_WHY_BYTES];
 *     enum tremolo_status status = tremolo_client_open(&client, why, &options, NULL);
 *     if (status != TREMOLO_OK) {
 *         log_line(why);
 *         return;
 *     }
 *     const char sample[] = "{\"age\": 41, \"steps\": 7200}";
 *     struct tremolo_client_receipt receipt;
 *     status = tremolo_client_sample(client, sample, strlen(sample));
 *     if (status == TREMOLO_OK) {
 *         status = tremolo_client_report(client, &receipt);
 *     }
 *     if (status != TREMOLO_OK) {
 *         log_line(tremolo_client_why(client));
 *     }
 *     tremolo_client_close(client);
 *
 * The study is fetched, its id and signature verified, the device's own
 * policy asked, the charge and the bytes stored; only then is anything sent.
 * After a kill at any point the same calls send the same bytes. What a client
 * does in which order is section 5 of docs/reference/protocol.md.
 *
 * A client belongs to one thread at a time. Clock, sleep, entropy, network
 * and files come in as functions; NULL takes the system's. */
#ifndef TREMOLO_CLIENT_H
#define TREMOLO_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tremolo_device.h"
#include "tremolo_files.h"
#include "tremolo_policy.h"
#include "tremolo_study_file.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TREMOLO_CLIENT_WHY_BYTES = 512,
    TREMOLO_CLIENT_MAX_URL = 1024,
    TREMOLO_CLIENT_MAX_STUDY_BYTES = 320 * 1024,
    TREMOLO_CLIENT_MAX_ROUND_BYTES = 2 * 1024 * 1024,
    TREMOLO_CLIENT_MAX_RECEIPT_BYTES = 16 * 1024,
    TREMOLO_CLIENT_MAX_SAMPLE_BYTES = 64 * 1024,
    TREMOLO_CLIENT_MAX_RETRY_AFTER_S = 3600,
};

/* ---------------------------------------------------------------- network */

struct tremolo_http_request {
    const char *method; /* "GET" or "POST" */
    const char *url;
    const char *media_type; /* of the body; NULL without one */
    const char *device;     /* value of Tremolo-Device; NULL without */
    const uint8_t *body;
    size_t body_length;
    size_t answer_max; /* a longer answer is a failure */
    long timeout_ms;   /* for the whole exchange */
};

/* status 0: no answer, and `error` says why. body has answer_max + 1 bytes of
 * room, belongs to the caller and is terminated by a zero. */
struct tremolo_http_answer {
    long status;
    long retry_after_s; /* -1 without */
    uint8_t *body;
    size_t length;
    char error[128];
};

/* What surrounds a client. Functions return 0 for success. Any may be NULL. */
struct tremolo_client_surroundings {
    void *context; /* for all of them but files */
    int (*exchange)(void *context, struct tremolo_http_answer *answer,
                    const struct tremolo_http_request *request);
    int64_t (*now_ms)(void *context);                     /* of a clock that never goes back */
    int (*sleep_ms)(void *context, int64_t milliseconds); /* non-zero: stop waiting and give up */
    int (*entropy)(void *context, uint8_t *bytes, size_t length);
    const struct tremolo_files *files;
    int64_t (*unix_seconds)(void *context); /* the date, for a study that opens and closes */
};

/* https, or http on this machine: plain HTTP never leaves it. */
bool tremolo_client_is_safe_url(const char *url);

/* ---------------------------------------------------------------- client */

struct tremolo_client_options {
    const char *study_url;               /* ends in /v1/studies/{id} */
    const char *state_directory;         /* ledger, pinned key */
    const char *counter_file;            /* of the ledger's counter; NULL: none */
    const struct tremolo_policy *policy; /* NULL: TREMOLO_POLICY_DEFAULTS */
    const uint8_t *server_key; /* TREMOLO_SIGNING_PUBLIC_BYTES; NULL: the one pinned in the
                                    state directory */
    bool trust_new;            /* with neither: accept and pin the key the server names */
    bool enrol;                /* make the state directory and ledger when there is none, with
                                    the first report and not before */
    unsigned ledger_studies;   /* room of a ledger that is made, 0: 16 */
    const uint8_t *device_id;  /* enrolment keys: the device's name, 1..32 bytes, and its */
    size_t device_id_length;
    const uint8_t *mac_key; /* TREMOLO_MAC_KEY_BYTES; NULL in open studies */
    const char *ca_file;    /* certificates to trust instead of the system's; NULL */
    long attempt_ms;        /* for one exchange */
    long give_up_ms;        /* for one call below, waits included */
};
#define TREMOLO_CLIENT_DEFAULTS                                                                    \
    {                                                                                              \
        .attempt_ms = 20000, .give_up_ms = 300000                                                  \
    }

struct tremolo_client; /* opaque */

/* Lock the state, if there is one, fetch and verify the study, ask the policy. Statuses of
 * refusal: NOT_TRUSTED, POLICY_REFUSED, LEDGER_*; of the server's side:
 * BAD_SIGNATURE, WRONG_STUDY, BAD_STUDY, BAD_ANSWER, SERVER_REFUSED,
 * NETWORK_FAILED. Wrong options: BAD_ADDRESS, BAD_DEVICE, LONG_NAME. Options are
 * copied; contexts of functions and files are not. *client is untouched on failure; `why` then holds a sentence. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_client_open(struct tremolo_client **client, char why[TREMOLO_CLIENT_WHY_BYTES],
                    const struct tremolo_client_options *options,
                    const struct tremolo_client_surroundings *surroundings);
void tremolo_client_close(struct tremolo_client *client); /* accepts NULL; wipes the sample */

const struct tremolo_study_file *tremolo_client_study(const struct tremolo_client *client);
const char *tremolo_client_why(const struct tremolo_client *client); /* the last failure */

/* Take the sample, as text or as numbers. Text is a JSON object with one
 * member for each feature and the response: numbers; a level's name for a
 * category; true, false, 0, 1, "yes" or "no" for yes/no. Or two CSV lines:
 * names, values. Numbers: one value per coordinate in its own unit (tremolo_study_file_coordinate), the response last.
 * Values outside the public bounds are clamped by the device. BAD_SAMPLE,
 * NOT_A_NUMBER: no sample is held then. `number` counts a device's
 * samples within a round, from 0. */
TREMOLO_MUST_USE enum tremolo_status tremolo_client_sample(struct tremolo_client *client,
                                                           const char *text, size_t length);
TREMOLO_MUST_USE enum tremolo_status tremolo_client_values(struct tremolo_client *client,
                                                           const double *values, size_t count);
TREMOLO_MUST_USE enum tremolo_status tremolo_client_sample_number(struct tremolo_client *client,
                                                                  unsigned number);

struct tremolo_client_receipt {
    unsigned round;
    size_t report_bytes;
    uint8_t report_id[TREMOLO_REPORT_ID_BYTES];
    bool repeated; /* the server had it already */
    unsigned attempts;
    uint32_t budget_left; /* mu^2 / 2^24, or epsilon / 2^24 of ballots */
    bool of_epsilon;      /* which of them */
    bool left_by_policy;  /* the policy's total is below the ledger's and sets what is left */
};

/* Make, or repeat, this device's report for the current round and send it.
 *
 * A new report is charged only when the study is open by this device's own
 * date and the server says so of its round. Otherwise ROUND_CLOSED, and
 * nothing was spent. The round may still close between that and the report's
 * arrival: ROUND_CLOSED then, too, the charge stands, the bytes are kept, and
 * tremolo_client_why() says so. The receipt is untouched on failure. */
TREMOLO_MUST_USE enum tremolo_status tremolo_client_report(struct tremolo_client *client,
                                                           struct tremolo_client_receipt *receipt);

/* Report in this and every later round until the study is done; `each`, unless
 * NULL, hears of every receipt, and stops the following by a non-zero answer.
 * give_up_ms holds for each exchange, waits between rounds do not count. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_client_follow(struct tremolo_client *client,
                      int (*each)(void *context, const struct tremolo_client_receipt *receipt),
                      void *context);

#ifdef __cplusplus
}
#endif

#endif
