/* test_server_answers_memory.c -- answers of the broker that come twice, or not at all, when many
 * messages are asked for at once: each message is taken once, and nothing of it stays behind.
 *
 * The calls of libnats that ask, wait and read an answer are replaced here: the library would free
 * its messages on a thread of its own. */
#include "failing_memory.h"

#ifdef TREMOLO_HAS_NATS

#include "bus_nats.h"

enum { SPAN = 4, FROM = 10, QUEUE_MAX = 32 };

static struct nats_bus bus;
static int here; /* its address is that of a connection, a subscription, a message */
static char answer[128];
static const char *answer_subject;
static char replies[QUEUE_MAX][BUS_NAME_BYTES];
static size_t asked;
static size_t order[QUEUE_MAX]; /* questions in the order in which they are answered */
static size_t answers;
static size_t answered;

bool natsConnection_IsClosed(natsConnection *connection)
{
    (void)connection;
    return false;
}

natsStatus js_GetStreamInfo(jsStreamInfo **info, jsCtx *stream, const char *name,
                            jsOptions *options, jsErrCode *code)
{
    (void)info;
    (void)stream;
    (void)name;
    (void)options;
    if (code != NULL) {
        *code = (jsErrCode)0;
    }
    return NATS_ERR; /* so it may have several copies */
}

natsStatus natsConnection_SubscribeSync(natsSubscription **made, natsConnection *connection,
                                        const char *subject)
{
    (void)connection;
    (void)subject;
    *made = (natsSubscription *)(void *)&here;
    return NATS_OK;
}

natsStatus natsConnection_PublishRequestString(natsConnection *connection, const char *subject,
                                               const char *reply, const char *question)
{
    (void)connection;
    (void)subject;
    (void)question;
    (void)snprintf(replies[asked++], BUS_NAME_BYTES, "%s", reply);
    return NATS_OK;
}

natsStatus natsSubscription_NextMsg(natsMsg **message, natsSubscription *subscription,
                                    int64_t timeout)
{
    (void)subscription;
    (void)timeout;
    if (answered == answers) {
        return NATS_TIMEOUT;
    }
    size_t question = order[answered++];
    answer_subject = replies[question];
    (void)snprintf(answer, sizeof answer,
                   "{\"message\":{\"subject\":\"a.b\",\"seq\":%zu,\"data\":\"aGk=\"}}",
                   FROM + question);
    *message = (natsMsg *)(void *)&here;
    return NATS_OK;
}

const char *natsMsg_GetSubject(const natsMsg *message)
{
    (void)message;
    return answer_subject;
}

const char *natsMsg_GetData(const natsMsg *message)
{
    (void)message;
    return answer;
}

int natsMsg_GetDataLength(const natsMsg *message)
{
    (void)message;
    return (int)strlen(answer);
}

void natsMsg_Destroy(natsMsg *message)
{
    (void)message;
}

/* The messages that come of `count` answers in this order. What was handed out and is not freed
 * by us is counted. */
static enum tremolo_status ask(size_t *found, const size_t *these, size_t count)
{
    struct bus_value messages[SPAN];
    memcpy(order, these, count * sizeof *order);
    answers = count;
    asked = 0;
    answered = 0;
    *found = 0;
    live_count = 0;
    countdown = INT32_MAX;
    armed = 1;
    enum tremolo_status status =
        bus_nats_next_many(&bus.base, "stream", "a.>", FROM, SPAN, messages, found);
    for (size_t i = 0; i < *found; i++) {
        free(messages[i].bytes);
    }
    armed = 0;
    for (size_t i = 0; i < *found; i++) {
        assert_int_equal(messages[i].revision, FROM + i);
    }
    return status;
}

static int begin(void **state)
{
    (void)state;
    bus = (struct nats_bus){.connection = (natsConnection *)(void *)&here};
    return 0;
}

static void test_each_once(void **state)
{
    static const struct {
        size_t order[8];
        size_t count;
        size_t found;
    } cases[] = {
        {{0, 1, 2, 3}, 4, 4},          /* as they should */
        {{3, 1, 0, 2}, 4, 4},          /* in another order */
        {{0, 1, 1, 2, 3}, 5, 4},       /* one of them twice: it is not the last one's */
        {{1, 0, 0, 1, 2, 1, 3}, 7, 4}, /* and again */
        {{0, 1, 1, 3}, 4, 2},          /* and another not at all */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t found = 0;
        assert_status(ask(&found, cases[i].order, cases[i].count), TREMOLO_OK);
        assert_int_equal(found, cases[i].found);
        assert_int_equal(live_count, 0);
    }
}

static void test_without_the_first(void **state)
{
    static const size_t late[] = {1, 1, 2, 3};
    size_t found = 0;
    (void)state;
    assert_status(ask(&found, late, 4), TREMOLO_NETWORK_FAILED);
    assert_int_equal(found, 0);
    assert_int_equal(live_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_each_once, begin),
        cmocka_unit_test_setup(test_without_the_first, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    (void)puts("1..1\nok 1 - answers that come twice # SKIP this build has no NATS");
    return 0;
}

#endif
