/* take_part.c -- an application that takes part in a study.
 *
 *     take_part URL STATE-DIRECTORY KEY
 *
 * KEY is the server's public key in base64url, which an application carries
 * with it. The sample comes from wherever the application measures; here it
 * is three numbers and a response. */
#include <stdio.h>

#include "tremolo_client.h"

static int fail(const char *what, const char *why)
{
    (void)fprintf(stderr, "take_part: %s: %s\n", what, why);
    return 1;
}

int main(int argc, char **argv)
{
    static const char sample[] = "{\"steps\": 7200, \"sleep\": 7.5, \"pulse\": 61, \"score\": 70}";
    uint8_t key[TREMOLO_SIGNING_PUBLIC_BYTES];
    if (argc != 4 || tremolo_base64_decode(key, sizeof key, argv[3]) != TREMOLO_OK) {
        return fail("usage", "take_part URL STATE-DIRECTORY KEY");
    }

    /* What this application allows, whatever a study asks. */
    struct tremolo_policy policy = TREMOLO_POLICY_DEFAULTS;
    policy.epsilon_per_study = 8;
    policy.epsilon_total = 16;

    struct tremolo_client_options options = TREMOLO_CLIENT_DEFAULTS;
    options.study_url = argv[1];
    options.state_directory = argv[2];
    options.server_key = key;
    options.policy = &policy;
    options.enrol = true; /* when the application is installed */

    struct tremolo_client *client = NULL;
    char why[TREMOLO_CLIENT_WHY_BYTES] = "";
    if (tremolo_client_open(&client, why, &options, NULL) != TREMOLO_OK) {
        return fail("open", why);
    }
    struct tremolo_client_receipt receipt;
    enum tremolo_status status = tremolo_client_sample(client, sample, sizeof sample - 1);
    if (status == TREMOLO_OK) {
        status = tremolo_client_report(client, &receipt);
    }
    if (status == TREMOLO_OK) {
        (void)printf("round %u reported, %zu bytes%s\n", receipt.round + 1, receipt.report_bytes,
                     receipt.repeated ? ", as before" : "");
    } else {
        (void)fail("report", tremolo_client_why(client));
    }
    tremolo_client_close(client);
    return status == TREMOLO_OK ? 0 : 1;
}
