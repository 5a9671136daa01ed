/* study_move.c -- `tremolo study move`: between a data directory and a clustered store. */
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "store_options.h"
#include "study.h"
#include "suggest.h"
#include "tremolo_server.h"

static const char usage[] =
    "usage: tremolo study move ID --from PLACE --to PLACE [OPTIONS]\n"
    "\n"
    "A PLACE is sqlite:DIR, the data directory of a server that does not run, or\n"
    "nats://HOST:PORT[,...], a clustered store. The study with its rounds and reports is\n"
    "copied, folded anew and compared; the old place keeps its copy. Out of a store this\n"
    "is a backup, into one a restore. Stop the gateways first, or close the study.\n"
    "\n" STORE_USAGE "  --shards N           of the study in its new store (default 8)\n"
    "  --replicas N         of its stream (default 3, or the number of nodes)\n"
    "  --json               what was done as JSON\n";

static const struct option long_options[] = {
    STORE_LONG_OPTIONS,
    {"from", required_argument, NULL, 'f'},
    {"to", required_argument, NULL, 't'},
    {"json", no_argument, NULL, 'j'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

struct move_arguments {
    struct tremolo_store_options store;
    const char *from;
    const char *to;
    bool json;
};

/* "sqlite:DIR" sets *data, anything else must be a store's address. */
static bool take_place(const char **data, struct tremolo_store_options *store, const char *place,
                       const struct tremolo_store_options *given)
{
    bool known = false;
    if (strncmp(place, "sqlite:", 7) == 0) {
        *data = place + 7;
        return place[7] != '\0';
    }
    *store = *given;
    return store_option(store, STORE_OPTION_URL, place, &known);
}

static int run(const struct move_arguments *arguments, const char *study)
{
    struct tremolo_move_options options = {.study = study};
    uint64_t reports = 0;
    char words[512] = "";
    if (!take_place(&options.from_data, &options.from_store, arguments->from, &arguments->store) ||
        !take_place(&options.to_data, &options.to_store, arguments->to, &arguments->store)) {
        return cli_fail(CLI_USAGE, "study", "a place is sqlite:DIR or nats://HOST:PORT");
    }
    enum tremolo_status status = tremolo_study_move(&reports, &options, words, sizeof words);
    if (status != TREMOLO_OK) {
        return cli_fail(CLI_FAILED, "study", "%s", words);
    }
    if (arguments->json) {
        return study_print_json(json_pack("{s:s, s:s, s:s, s:I, s:b}", "study", study, "from",
                                          arguments->from, "to", arguments->to, "reports",
                                          (json_int_t)reports, "equal", 1));
    }
    (void)printf("%" PRIu64 " reports moved; the sums at both places are equal\n", reports);
    return CLI_DONE;
}

int study_move(int argc, char **argv)
{
    struct move_arguments arguments = {0};
    int option;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        bool known = false;
        switch (option) {
        case 'f': arguments.from = optarg; break;
        case 't': arguments.to = optarg; break;
        case 'j': arguments.json = true; break;
        case 'h': (void)fputs(usage, stdout); return CLI_DONE;
        case '?': return cli_bad_option("study", argv, long_options);
        default:
            if (!store_option(&arguments.store, option, optarg, &known)) {
                return cli_fail(CLI_USAGE, "study", "'%s' is not a value for that option", optarg);
            }
        }
    }
    if (arguments.from == NULL || arguments.to == NULL || optind + 1 != argc) {
        return cli_fail(CLI_USAGE, "study", "move takes a study's id, --from and --to");
    }
    return run(&arguments, argv[optind]);
}
