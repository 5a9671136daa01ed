/* client_parts.h -- what a client's files share.
 *
 *     client.c        opening; the ledger; the server's key; the policy
 *     client_report.c samples, rounds, making and sending a report
 *     client_wire.c   exchanges with the server: retry, backoff, answers
 *     transport.c     HTTP by libcurl */
#ifndef TREMOLO_CLIENT_PARTS_H
#define TREMOLO_CLIENT_PARTS_H

#include "file_steps.h"
#include "ledger_file.h"
#include "policy.h"
#include "transport.h"
#include "tremolo_client.h"

enum round_state { ROUND_OPEN, ROUND_WAITING, ROUND_DONE };

/* The round as broadcast, and when to come again. */
struct client_round {
    enum round_state state;
    uint16_t number;
    int64_t earliest_ms;
    int64_t latest_ms;
    int16_t *vectors; /* m * d, or NULL without modulation */
};

struct tremolo_client {
    struct tremolo_client_surroundings around;
    struct tremolo_files files;
    struct transport *transport;        /* NULL when the exchange is the caller's */
    struct tremolo_ledger_file *ledger; /* NULL until it is made */
    char state[HOST_PATH_BYTES];        /* its directory */
    char counter[HOST_PATH_BYTES];      /* "" without */
    unsigned ledger_studies;
    bool to_enrol;                    /* there is no whole ledger yet, and one may be made */
    bool to_pin;                      /* the server's key is to be kept */
    bool signs;                       /* reports carry a MAC */
    struct tremolo_platform platform; /* the ledger's, with our MAC key */
    struct tremolo_policy policy;
    struct tremolo_study_file *study;
    uint8_t study_id[TREMOLO_STUDY_ID_BYTES];
    uint8_t server_key[TREMOLO_SIGNING_PUBLIC_BYTES];
    uint8_t mac_key[TREMOLO_MAC_KEY_BYTES];
    char device_name[TREMOLO_BASE64_BYTES(TREMOLO_DEVICE_ID_MAX)]; /* "" without */
    char url[TREMOLO_CLIENT_MAX_URL];                              /* of the study */
    long attempt_ms;
    long give_up_ms;
    int64_t deadline_ms; /* of the call that is running */
    unsigned attempts;   /* of the exchange that is running */
    struct client_round round;
    uint8_t *answer; /* room for the longest answer and a zero */
    bool has_sample;
    uint16_t sample_number;
    int32_t features[TREMOLO_MAX_DIMENSION];
    int32_t response;
    struct tremolo_work work;
    char why[TREMOLO_CLIENT_WHY_BYTES];
};

/* Remember a sentence; the status comes back, so that a function can end with
 * it. */
enum tremolo_status client_fails(struct tremolo_client *client, enum tremolo_status status,
                                 const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same with the status's sentence and `why`, or with what the storage said when that failed. */
enum tremolo_status client_fails_because(struct tremolo_client *client, enum tremolo_status status,
                                         const char *why);
enum tremolo_status client_fails_plainly(struct tremolo_client *client, enum tremolo_status status);

/* Make the ledger, if to_enrol: with the budget of the policy of the day, for life. Called once a
 * report is about to be made and everything else is in order. */
enum tremolo_status client_make_ledger(struct tremolo_client *client);

/* What may still be spent: what the ledger has left and, where the policy's
 * total is below the one the ledger was made with, no more than that total
 * less what was spent. *by_policy, unless NULL, tells which. */
enum tremolo_status client_budget_left(struct tremolo_client *client, uint32_t *left,
                                       bool *by_policy);

/* The time allowed for one call starts now. */
void client_start_clock(struct tremolo_client *client);

/* GET url/path, or POST a body that is not NULL, until the server answers 2xx, refuses for
 * good, or time is up. The answer, of at most `most` bytes, is in
 * client->answer. SERVER_REFUSED, ROUND_CLOSED (410), NETWORK_FAILED. */
enum tremolo_status client_exchange(struct tremolo_client *client, size_t *length, const char *path,
                                    const uint8_t *body, size_t body_length, size_t most);

/* Wait a random time between both ends. NETWORK_FAILED when the caller stops the wait. */
enum tremolo_status client_wait(struct tremolo_client *client, int64_t low_ms, int64_t high_ms);

#endif
