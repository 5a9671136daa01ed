/* study_move.c -- `tremolo study move`: between a data directory and a clustered store. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "store_options.h"
#include "study.h"

/* "sqlite:DIR" sets *data, anything else must be a store's address. */
static bool take_place(const char **data, struct tremolo_store_options *store, const char *place,
                       const struct tremolo_store_options *given)
{
    if (strncmp(place, "sqlite:", 7) == 0) {
        *data = place + 7;
        return place[7] != '\0';
    }
    *store = *given;
    return store_take_url(&store->url, place) == NULL;
}

int study_move(const struct study_options *options)
{
    struct tremolo_move_options move = {.study = options->file};
    uint64_t reports = 0;
    char words[512] = "";
    if (!take_place(&move.from_data, &move.from_store, options->from, &options->store) ||
        !take_place(&move.to_data, &move.to_store, options->to, &options->store)) {
        return cli_fail(CLI_USAGE, "study", "a place is sqlite:DIR or nats://HOST:PORT");
    }
    if (tremolo_study_move(&reports, &move, words, sizeof words) != TREMOLO_OK) {
        return cli_fail(CLI_FAILED, "study", "%s", words);
    }
    if (options->json) {
        return study_print_json(json_pack("{s:s, s:s, s:s, s:I, s:b}", "study", options->file,
                                          "from", options->from, "to", options->to, "reports",
                                          (json_int_t)reports, "equal", 1));
    }
    (void)printf("%" PRIu64 " reports moved; the sums at both places are equal\n", reports);
    return CLI_DONE;
}
