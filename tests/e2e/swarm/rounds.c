/* rounds.c -- from one round to the next, as the server broadcasts them. */
#include <stdio.h>
#include <stdlib.h>

#include "swarm.h"
#include "study_internal.h"

static void read_round(struct swarm *swarm, struct exchange *exchange)
{
    size_t d = swarm->study->dimension;
    size_t m = swarm->study->vectors;
    double until = seconds() + swarm->patience;
    long seen = -1;
    json_t *answer = NULL;
    while (seen != (long)swarm->round && seconds() < until) {
        json_decref(answer);
        if (exchange_insist(exchange, swarm, "/round", NULL, NULL, 0) != 200) {
            stop_with("there is no round");
        }
        answer = json_loads(exchange->answer, 0, NULL);
        seen = (long)json_integer_value(json_object_get(answer, "round"));
    }
    if (seen != (long)swarm->round) {
        stop_with("the round did not open");
    }
    swarm->vectors[swarm->round] = calloc(m * d + 1, sizeof(int16_t));
    for (size_t i = 0; i < m * d; i++) {
        const json_t *row = json_array_get(json_object_get(answer, "vectors"), i / d);
        swarm->vectors[swarm->round][i] = (int16_t)json_integer_value(json_array_get(row, i % d));
    }
    struct tremolo_round round = {m > 0 ? swarm->vectors[swarm->round] : NULL,
                                  (uint16_t)swarm->round};
    must(tremolo_round_check(swarm->study, &round), "vectors");
    json_decref(answer);
}

void run_rounds(struct swarm *swarm, struct exchange *exchange)
{
    const struct tremolo_study_terms *terms = tremolo_study_file_terms(swarm->file);
    for (swarm->round = 0; swarm->round < swarm->study->rounds; swarm->round++) {
        read_round(swarm, exchange);
        send_all(swarm);
        fold_round(swarm);
        char close[64];
        (void)snprintf(close, sizeof close, "/round/close?round=%u", (unsigned)swarm->round);
        if (swarm->study->rounds > 1 && terms->close_reports == 0 &&
            exchange_insist(exchange, swarm, close, "application/json", (const uint8_t *)"", 0) !=
                200) {
            stop_with("the round was not closed");
        }
    }
}
