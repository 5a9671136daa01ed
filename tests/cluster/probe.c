/* probe.c -- one request to NATS as a given user, for the tests of permissions.
 *
 *   probe URL CA CERT KEY PREFIX request SUBJECT [BODY]   prints the answer
 *   probe URL CA CERT KEY PREFIX publish SUBJECT [BODY]   prints "sent"
 *   probe URL CA CERT KEY PREFIX listen SUBJECT           prints "listening"
 *
 * PREFIX is the prefix of the user's inboxes. What the server forbids
 * prints "denied" and ends with 3; no answer within two seconds, or no connection, prints the
 * reason and ends with 1. */
#include <nats/nats.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { WAIT_MS = 2000, EXIT_DENIED = 3 };

static _Atomic int denied;

/* The server says no to a publication or subscription apart from its answer. */
static void on_error(natsConnection *nc, natsSubscription *sub, natsStatus status, void *context)
{
    (void)nc;
    (void)sub;
    (void)context;
    if (status == NATS_NOT_PERMITTED) {
        denied = 1;
    }
}

static natsStatus connect_as(natsConnection **nc, char **argv)
{
    natsOptions *options = NULL;
    natsStatus status = natsOptions_Create(&options);
    const char *servers[] = {argv[1]};
    status = status == NATS_OK ? natsOptions_SetServers(options, servers, 1) : status;
    status = status == NATS_OK ? natsOptions_SetSecure(options, true) : status;
    status = status == NATS_OK ? natsOptions_LoadCATrustedCertificates(options, argv[2]) : status;
    status =
        status == NATS_OK ? natsOptions_LoadCertificatesChain(options, argv[3], argv[4]) : status;
    status = status == NATS_OK ? natsOptions_SetCustomInboxPrefix(options, argv[5]) : status;
    status = status == NATS_OK ? natsOptions_SetErrorHandler(options, on_error, NULL) : status;
    status = status == NATS_OK ? natsOptions_SetAllowReconnect(options, false) : status;
    status = status == NATS_OK ? natsConnection_Connect(nc, options) : status;
    natsOptions_Destroy(options);
    return status;
}

static natsStatus ask(natsConnection *nc, const char *subject, const char *body)
{
    natsMsg *answer = NULL;
    natsStatus status = natsConnection_RequestString(&answer, nc, subject, body, WAIT_MS);
    if (status == NATS_OK) {
        (void)printf("%.*s\n", natsMsg_GetDataLength(answer), natsMsg_GetData(answer));
    }
    natsMsg_Destroy(answer);
    return status;
}

/* The server's no comes before its answer to the flush, and the library notes it
 * before it answers us; the handler's thread may be later. */
static void note_refusal(natsConnection *nc)
{
    const char *text = NULL;
    if (natsConnection_GetLastError(nc, &text) == NATS_NOT_PERMITTED) {
        denied = 1;
    }
    for (int i = 0; i < 10 && !denied; i++) {
        nats_Sleep(50);
    }
}

static natsStatus say(natsConnection *nc, const char *subject, const char *body)
{
    natsStatus status = natsConnection_PublishString(nc, subject, body);
    status = status == NATS_OK ? natsConnection_FlushTimeout(nc, WAIT_MS) : status;
    note_refusal(nc);
    return status;
}

static natsStatus hear(natsConnection *nc, const char *subject)
{
    natsSubscription *sub = NULL;
    natsStatus status = natsConnection_SubscribeSync(&sub, nc, subject);
    status = status == NATS_OK ? natsConnection_FlushTimeout(nc, WAIT_MS) : status;
    note_refusal(nc);
    natsSubscription_Destroy(sub);
    return status;
}

int main(int argc, char **argv)
{
    natsConnection *nc = NULL;
    if (argc < 8) {
        (void)fprintf(stderr, "usage: probe URL CA CERT KEY PREFIX request|publish|listen SUBJECT "
                              "[BODY]\n");
        return 2;
    }
    const char *body = argc > 8 ? argv[8] : "";
    natsStatus status = connect_as(&nc, argv);
    const char *done = NULL;
    if (status == NATS_OK && strcmp(argv[6], "request") == 0) {
        status = ask(nc, argv[7], body);
    } else if (status == NATS_OK && strcmp(argv[6], "publish") == 0) {
        status = say(nc, argv[7], body);
        done = "sent";
    } else if (status == NATS_OK) {
        status = hear(nc, argv[7]);
        done = "listening";
    }
    natsConnection_Destroy(nc);
    if (denied) {
        (void)puts("denied");
        return EXIT_DENIED;
    }
    (void)puts(status != NATS_OK ? natsStatus_GetText(status) : done != NULL ? done : "");
    nats_Close();
    return status == NATS_OK ? 0 : 1;
}
