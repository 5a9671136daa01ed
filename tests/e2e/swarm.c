/* swarm.c -- thousands of devices against a running server, and the proof.
 *
 *   swarm --url http://HOST:PORT/v1/studies/ID --devices N [--threads T] [--batch B]
 *         [--token-file FILE] [--patience SECONDS] [--data DIR] [--drop SHARE] [--pause MS]
 *         [--url ...] [--twin http://HOST:PORT/v1/studies/ID] [--until FILE [--least N]]
 *
 * Every device is the real core with a ledger of its own and kernel entropy.
 * Its report is sent until it is acknowledged, the same bytes each time. When
 * all rounds are through, the acknowledged reports are folded here, without
 * the server's code, and compared with the server's answer, double by double:
 * a report lost, doubled or changed would show. With --data (the
 * server stopped by then) the stored checkpoint is compared byte by byte.
 *
 * With several --url the threads spread over those gateways of one cluster, and
 * each goes to the next one when it gets no answer. With --twin a second,
 * single server is then sent the same bytes, and both must give
 * the same estimate, character by character.
 *
 * Rounds are closed through the operator's token, unless the study closes
 * them by count. --drop lets a share of devices miss each round. With --until, in a
 * study of one round, no further device begins once FILE is there and N have begun:
 * --devices is then the most that take part. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "swarm/swarm.h"
#include "study_internal.h"

double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

_Noreturn void stop_with(const char *what)
{
    (void)fprintf(stderr, "swarm: %s\n", what);
    exit(1);
}

void must(enum tremolo_status status, const char *what)
{
    if (status != TREMOLO_OK) {
        (void)fprintf(stderr, "swarm: %s: %s\n", what, tremolo_status_sentence(status));
        exit(1);
    }
}

static void get_study(struct swarm *swarm, struct exchange *exchange)
{
    uint8_t id[TREMOLO_STUDY_ID_BYTES];
    const char *text = strrchr(swarm->url[0], '/');
    must(text != NULL ? tremolo_base64_decode(id, sizeof id, text + 1) : TREMOLO_BAD_ARGUMENT,
         "the URL's id");
    if (exchange_insist(exchange, swarm, "", NULL, NULL, 0) != 200) {
        stop_with("the study cannot be fetched");
    }
    must(tremolo_study_receive(&swarm->file, NULL, NULL, exchange->answer, exchange->length, id,
                               NULL),
         "the study");
    swarm->study = tremolo_study_file_device(swarm->file);
    if (swarm->study->rounds > (swarm->until != NULL ? 1 : ROUNDS_MAX)) {
        stop_with("too many rounds");
    }
}

static void read_token(struct swarm *swarm, const char *path)
{
    FILE *file = fopen(path, "r");
    if (file == NULL || fgets(swarm->token, sizeof swarm->token, file) == NULL) {
        stop_with("the token cannot be read");
    }
    (void)fclose(file);
    swarm->token[strcspn(swarm->token, "\n")] = '\0';
}

static void parse_arguments(struct swarm *swarm, int argc, char **argv)
{
    static const struct option options[] = {
        {"url", required_argument, NULL, 'u'},
        {"devices", required_argument, NULL, 'd'},
        {"threads", required_argument, NULL, 't'},
        {"batch", required_argument, NULL, 'b'},
        {"token-file", required_argument, NULL, 'o'},
        {"patience", required_argument, NULL, 'p'},
        {"data", required_argument, NULL, 's'},
        {"drop", required_argument, NULL, 'x'},
        {"pause", required_argument, NULL, 'w'},
        {"twin", required_argument, NULL, 'i'},
        {"until", required_argument, NULL, 'e'},
        {"least", required_argument, NULL, 'l'},
        {NULL, 0, NULL, 0},
    };
    int option;
    *swarm = (struct swarm){.devices = 1000, .threads = 8, .batch = 1, .patience = 30.0};
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 'u':
            if (swarm->urls == URLS_MAX) {
                stop_with("too many gateways");
            }
            swarm->url[swarm->urls++] = optarg;
            break;
        case 'i': swarm->twin = optarg; break;
        case 'e': swarm->until = optarg; break;
        case 'l': swarm->least = strtoul(optarg, NULL, 10); break;
        case 'd': swarm->devices = strtoul(optarg, NULL, 10); break;
        case 't': swarm->threads = (unsigned)strtoul(optarg, NULL, 10); break;
        case 'b': swarm->batch = strtoul(optarg, NULL, 10); break;
        case 'o': read_token(swarm, optarg); break;
        case 'p': swarm->patience = strtod(optarg, NULL); break;
        case 's': swarm->data = optarg; break;
        case 'x': swarm->drop = strtod(optarg, NULL); break;
        case 'w': swarm->pause_ms = (unsigned)strtoul(optarg, NULL, 10); break;
        default: stop_with("usage");
        }
    }
    if (swarm->urls == 0 || swarm->threads < 1 || swarm->threads > THREADS_MAX ||
        swarm->batch < 1) {
        stop_with("usage");
    }
}

int main(int argc, char **argv)
{
    struct swarm swarm;
    struct exchange exchange;
    double start = seconds();
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
    parse_arguments(&swarm, argc, argv);
    exchange_open(&exchange, 0);
    get_study(&swarm, &exchange);
    swarm.device = calloc(swarm.devices, sizeof *swarm.device);
    run_rounds(&swarm, &exchange);
    compare_estimate(&swarm, &exchange);
    (void)printf("sent %zu repeated %zu retries %zu seconds %.1f lag %.3f silence %.3f\n",
                 (size_t)swarm.accepted, (size_t)swarm.repeated, (size_t)swarm.retries,
                 seconds() - start, swarm.lag, (double)swarm.silence_ms / 1000.0);
    (void)fflush(stdout);
    if (swarm.twin != NULL) {
        compare_twin(&swarm, &exchange);
    }
    exchange_close(&exchange);
    if (swarm.data != NULL) {
        compare_store(&swarm);
    }
    (void)printf("equal in %zu places\n", swarm.compared);
    for (unsigned t = 0; t < swarm.study->rounds; t++) {
        tremolo_moments_free(swarm.moments[t]);
        free(swarm.vectors[t]);
    }
    free(swarm.device);
    tremolo_study_file_free(swarm.file);
    return 0;
}
