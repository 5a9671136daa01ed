/* bus_nats_read.c -- many messages of a stream of NATS for one wait.
 *
 * nats-server 2.9 gives one message an answer. A reader that is far behind would wait once for each,
 * and on a busy machine that is most of its time. So it asks for the next message after each of
 * several numbers at once; where none of its own lies between two of them both answers
 * are the same message. */
#include "bus.h"

#ifdef TREMOLO_HAS_NATS

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bus_nats.h"

struct answers {
    struct bus_value message[BUS_SPAN_MAX];
    bool came[BUS_SPAN_MAX]; /* an answer, */
    bool good[BUS_SPAN_MAX]; /* and one that was understood */
};

static natsStatus open_inbox(struct nats_bus *bus)
{
    char subject[BUS_NAME_BYTES];
    if (bus->many != NULL) {
        return NATS_OK;
    }
    (void)snprintf(subject, sizeof subject, "%s.%016" PRIx64 ".*", bus->inbox, bus->run);
    return natsConnection_SubscribeSync(&bus->many, bus->connection, subject);
}

static natsStatus ask(struct nats_bus *bus, const char *stream, const char *subjects, uint64_t from,
                      unsigned number)
{
    char inbox[BUS_NAME_BYTES];
    struct bus_nats_question question;
    bus_nats_ask_for(&question, stream, subjects, from + number);
    (void)snprintf(inbox, sizeof inbox, "%s.%016" PRIx64 ".%" PRIu64, bus->inbox, bus->run,
                   bus->asked + number);
    return natsConnection_PublishRequestString(bus->connection, question.subject, inbox,
                                               question.text);
}

/* Until all have come, or it has taken too long. Answers to earlier questions are passed over, and so
 * is a second one to the same: the first one's bytes are ours to free. */
static void gather(struct nats_bus *bus, struct answers *answers, unsigned span)
{
    int64_t until = clock_ms() + REQUEST_MS;
    unsigned open = span;
    for (int64_t left = REQUEST_MS; open > 0 && left > 0; left = until - clock_ms()) {
        natsMsg *answer = NULL;
        if (natsSubscription_NextMsg(&answer, bus->many, left) != NATS_OK) {
            return;
        }
        const char *dot = strrchr(natsMsg_GetSubject(answer), '.');
        uint64_t number = dot != NULL ? strtoull(dot + 1, NULL, 10) : 0;
        uint64_t at = number >= bus->asked ? number - bus->asked : span;
        if (at < span && !answers->came[at]) {
            answers->came[at] = true;
            answers->good[at] =
                bus_nats_read_answer(bus, &answers->message[at], answer) == TREMOLO_OK;
            open--;
        }
        natsMsg_Destroy(answer);
    }
}

/* The messages as far as they follow each other without a gap, each once; the others are freed. An
 * answer that is another message than the one before has already shown to be next is from a
 * leader that numbers differently: what follows is left for the next question. */
static size_t take_in_order(struct bus_value *messages, struct answers *answers, uint64_t from,
                            unsigned span)
{
    size_t count = 0;
    bool whole = true;
    for (unsigned i = 0; i < span; i++) {
        struct bus_value *found = &answers->message[i];
        uint64_t last = count > 0 ? messages[count - 1].revision : 0;
        whole = whole && answers->good[i] && found->revision >= from + i &&
                (last < from + i || found->revision == last);
        if (whole && found->revision != last) {
            messages[count++] = *found;
        } else {
            free(found->bytes);
        }
    }
    return count;
}

enum tremolo_status bus_nats_next_many(struct bus *base, const char *stream, const char *subjects,
                                       uint64_t from, unsigned span, struct bus_value *messages,
                                       size_t *count)
{
    struct nats_bus *bus = self(base);
    struct answers answers = {0};
    *count = 0;
    enum tremolo_status status = bus_nats_reopen(bus);
    if (status != TREMOLO_OK) {
        return status;
    }
    span = span < BUS_SPAN_MAX ? span : (unsigned)BUS_SPAN_MAX;
    from = from > 0 ? from : 1;
    if (span <= 1 || bus_nats_is_single(bus, stream)) {
        status = base->next(base, stream, subjects, from, &messages[0]);
        *count = status == TREMOLO_OK && messages[0].revision != 0;
        return status;
    }
    natsStatus sent = open_inbox(bus);
    for (unsigned i = 0; i < span && sent == NATS_OK; i++) {
        sent = ask(bus, stream, subjects, from, i);
    }
    status = bus_nats_judge(bus, stream, sent, (jsErrCode)0, TREMOLO_NETWORK_FAILED);
    if (status == TREMOLO_OK) {
        gather(bus, &answers, span);
        *count = take_in_order(messages, &answers, from, span);
        status = answers.good[0] ? TREMOLO_OK
                                 : bus_nats_judge(bus, stream, NATS_TIMEOUT, (jsErrCode)0,
                                                  TREMOLO_NETWORK_FAILED);
    }
    bus->asked += span;
    return status;
}

#endif
