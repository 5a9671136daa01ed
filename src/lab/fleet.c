/* fleet.c -- simulated devices: preparation, threads, and the way from a
 * round's reports to debiased moments. The ways to make reports are in
 * fleet_core.c, fleet_bulk.c and fleet_ballot.c. */
#include "fleet.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tremolo_experiment.h"
#include "regression.h"
#include "report_file.h"
#include "study_internal.h"

unsigned tremolo_processors(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1                          ? 1
           : count > TREMOLO_MAX_FOLD_THREADS ? TREMOLO_MAX_FOLD_THREADS
                                              : (unsigned)count;
}

/* ------------------------------------------------------------ preparation */

/* Would a device of this study send the same reports? */
static bool is_study(const struct tremolo_study *ours, const struct tremolo_study *study)
{
    return study != NULL && study->release == ours->release && study->rounds == ours->rounds &&
           study->samples == ours->samples && study->unit == ours->unit &&
           study->clip == ours->clip && study->distance == ours->distance &&
           study->amplitude == ours->amplitude && study->frequency == ours->frequency &&
           study->dimension == ours->dimension && study->keep == ours->keep &&
           study->vectors == ours->vectors && study->noise_log2 == ours->noise_log2 &&
           study->wire_shift == ours->wire_shift && study->wire_bits == ours->wire_bits &&
           study->response == ours->response && study->rank_first == ours->rank_first &&
           study->rank_top == ours->rank_top && study->constant == ours->constant &&
           study->response_weight == ours->response_weight;
}

/* A study brings its law along, which another version may have chosen. */
static void take_ballot(struct tremolo_study *ours, const struct tremolo_study *study)
{
    if (study != NULL && study->release == TREMOLO_RELEASE_BALLOT &&
        study->dimension == ours->dimension && study->response == ours->response) {
        ours->rank_first = study->rank_first;
        ours->rank_top = study->rank_top;
        ours->constant = study->constant;
        ours->response_weight = study->response_weight;
    }
}

/* The ballots of a device share its epsilon. */
static enum tremolo_status fill_ballot(struct fleet *fleet)
{
    const struct tremolo_mechanism_request *request = &fleet->setup.request;
    double ballots = request->rounds > 0 ? request->rounds : 1;
    enum tremolo_status status = tremolo_mechanism_ballot(
        &fleet->study, request->dimension, request->response_private, request->epsilon / ballots);
    if (status == TREMOLO_OK) {
        take_ballot(&fleet->study, fleet->setup.study);
        /* What a device is charged, as every guarantee has it. */
        double charge = (double)tremolo_study_charge(&fleet->study);
        fleet->scales = (struct tremolo_mechanism_scales){.epsilon = ballots * charge /
                                                                     (double)TREMOLO_CHARGE_ONE};
    }
    return status;
}

/* The integers of the release that the devices make. */
static enum tremolo_status fill_study(struct fleet *fleet)
{
    const struct fleet_setup *setup = &fleet->setup;
    enum tremolo_status status =
        setup->release == TREMOLO_RELEASE_BALLOT
            ? fill_ballot(fleet)
            : tremolo_mechanism_fill(&fleet->study, &fleet->scales, &setup->request);
    if (status == TREMOLO_OK && setup->samples > 1) {
        fleet->study.samples = (uint16_t)setup->samples;
        fleet->study.rounds = (uint16_t)(setup->request.rounds / setup->samples);
    }
    return status;
}

static enum tremolo_status prepare_study(struct fleet *fleet)
{
    const struct fleet_setup *setup = &fleet->setup;
    const struct tremolo_bounds whole = TREMOLO_HOST_BOUNDS;
    const struct tremolo_bounds typical = {-TREMOLO_STUDY_RAW_TYPICAL, TREMOLO_STUDY_RAW_TYPICAL};
    bool ballots = setup->release == TREMOLO_RELEASE_BALLOT;
    fleet->bounds = malloc(fleet->d * sizeof *fleet->bounds);
    if (fleet->bounds == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    for (size_t i = 0; i < fleet->d; i++) {
        fleet->bounds[i] = ballots ? typical : whole;
    }
    fleet->study.bounds = fleet->bounds;
    fleet->study.response_bounds = whole;
    memcpy(fleet->study.id, TREMOLO_SIMULATED_STUDY, TREMOLO_STUDY_ID_BYTES);
    enum tremolo_status status = fill_study(fleet);
    if (status == TREMOLO_OK) {
        if (!ballots) {
            fleet->release =
                tremolo_release_of(&fleet->study, setup->request.bound, setup->response_bound);
        }
        if (is_study(&fleet->study, setup->study)) {
            memcpy(fleet->study.id, setup->study->id, TREMOLO_STUDY_ID_BYTES);
        }
    }
    return status;
}

/* Room for a round's vectors, and buckets. The same device is in the same bucket in every
 * round, so that rounds can be pooled bucket by bucket. Real devices are put where their first
 * report's id says, as by `tremolo fit` and the server, once it is there. */
static enum tremolo_status prepare_rounds(struct fleet *fleet)
{
    size_t vectors = (size_t)fleet->study.vectors * fleet->d;
    fleet->wire_vectors = calloc(vectors + 1, sizeof *fleet->wire_vectors);
    fleet->buckets = malloc(fleet->setup.rows);
    if (fleet->buckets == NULL || fleet->wire_vectors == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    for (size_t r = 0; r < fleet->setup.rows; r++) {
        uint64_t half[2] = {tremolo_random_hash(fleet->setup.seed, r), r};
        uint8_t id[16];
        memcpy(id, half, sizeof id);
        fleet->buckets[r] = (uint8_t)tremolo_bucket_of(id);
    }
    return TREMOLO_OK;
}

enum tremolo_status fleet_new(struct fleet **fleet, const struct fleet_setup *setup)
{
    struct fleet *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    made->setup = *setup;
    made->d = setup->request.dimension;
    made->bulk = !setup->core && setup->reports == NULL;
    enum tremolo_status status = prepare_study(made);
    if (status == TREMOLO_OK) {
        made->width = tremolo_row_values(&made->study);
        status = prepare_rounds(made);
    }
    if (status == TREMOLO_OK) {
        bool kept = made->bulk && setup->release == TREMOLO_RELEASE_SAMPLE;
        status = kept ? fleet_bulk_prepare(made) : fleet_core_prepare(made);
    }
    if (status != TREMOLO_OK) {
        fleet_free(made);
        return status;
    }
    *fleet = made;
    return TREMOLO_OK;
}

void fleet_free(struct fleet *fleet)
{
    if (fleet == NULL) {
        return;
    }
    free(fleet->bounds);
    free(fleet->buckets);
    free(fleet->wire_vectors);
    free(fleet->raw);
    free(fleet->devices);
    free(fleet->base);
    free(fleet->response);
    free(fleet);
}

/* ---------------------------------------------------------------- threads */

struct worker {
    struct fleet *fleet;
    struct tremolo_moments *moments;
    pthread_t thread;
    struct fleet_pass pass;
    unsigned number;
    enum tremolo_status status;
    bool started;
};

static size_t at_most(size_t count, size_t limit)
{
    return count < limit ? count : limit;
}

static enum tremolo_status make_block(int16_t *rows, struct fleet *fleet, size_t from, size_t count,
                                      const struct fleet_pass *pass)
{
    if (!fleet->bulk) {
        return fleet_core_block(rows, fleet, from, count, pass);
    }
    if (fleet->study.release == TREMOLO_RELEASE_SAMPLE) {
        return fleet_bulk_block(rows, fleet, from, count, pass);
    }
    fleet_ballot_block(rows, fleet, from, count, pass);
    return TREMOLO_OK;
}

/* Rows of the devices from `from`, block by block. */
static enum tremolo_status make_batch(int16_t *rows, struct worker *worker, size_t from,
                                      size_t count)
{
    struct fleet *fleet = worker->fleet;
    enum tremolo_status status = TREMOLO_OK;
    for (size_t done = 0; done < count && status == TREMOLO_OK; done += FLEET_BLOCK_ROWS) {
        size_t block = at_most(count - done, FLEET_BLOCK_ROWS);
        int16_t *at = rows + done * fleet->width;
        status = make_block(at, fleet, from + done, block, &worker->pass);
        status = tremolo_progress_add(fleet->setup.progress, block, status);
    }
    return status;
}

/* Batches are dealt out in turn; which thread makes one changes nothing. */
static void *work(void *argument)
{
    struct worker *worker = argument;
    struct fleet *fleet = worker->fleet;
    size_t batch = at_most(fleet->setup.rows / fleet->setup.threads + 1, FLEET_BATCH_ROWS);
    batch = (batch + FLEET_BLOCK_ROWS - 1) / FLEET_BLOCK_ROWS * FLEET_BLOCK_ROWS;
    int16_t *rows = malloc(batch * fleet->width * sizeof *rows);
    worker->status = rows == NULL ? TREMOLO_NO_MEMORY : TREMOLO_OK;
    for (size_t from = worker->number * batch;
         from < fleet->setup.rows && worker->status == TREMOLO_OK;
         from += fleet->setup.threads * batch) {
        size_t count = at_most(fleet->setup.rows - from, batch);
        worker->status = make_batch(rows, worker, from, count);
        if (worker->status == TREMOLO_OK) {
            worker->status = tremolo_release_fold(worker->moments, &fleet->study, rows,
                                                  fleet->buckets + from, count);
        }
    }
    free(rows);
    return NULL;
}

static enum tremolo_status run_workers(struct worker *workers, unsigned threads)
{
    enum tremolo_status status = TREMOLO_OK;
    for (unsigned t = 1; t < threads; t++) {
        workers[t].started = pthread_create(&workers[t].thread, NULL, work, &workers[t]) == 0;
    }
    for (unsigned t = 0; t < threads; t++) {
        if (workers[t].started) {
            (void)pthread_join(workers[t].thread, NULL);
        } else {
            (void)work(&workers[t]);
        }
        status = status == TREMOLO_OK ? workers[t].status : status;
    }
    return status;
}

/* All rows once, into `moments`; what it holds after a failure is of no use. */
static enum tremolo_status run_pass(struct tremolo_moments *moments, struct fleet *fleet,
                                    const struct fleet_pass *pass)
{
    struct worker workers[TREMOLO_MAX_FOLD_THREADS] = {{0}};
    enum tremolo_status status = TREMOLO_OK;
    for (unsigned t = 0; t < fleet->setup.threads && status == TREMOLO_OK; t++) {
        workers[t] = (struct worker){.fleet = fleet, .pass = *pass, .number = t};
        workers[t].moments = t == 0 ? moments : NULL;
        if (t > 0) {
            status = tremolo_release_plain_sums(&workers[t].moments, &fleet->study);
        }
    }
    if (status == TREMOLO_OK) {
        status = run_workers(workers, fleet->setup.threads);
    }
    for (unsigned t = 1; t < fleet->setup.threads; t++) {
        if (status == TREMOLO_OK) {
            status = tremolo_moments_merge(moments, workers[t].moments);
        }
        tremolo_moments_free(workers[t].moments);
    }
    return status;
}

enum tremolo_status fleet_fold(struct tremolo_moments *moments, const struct fleet *fleet,
                               uint64_t stream)
{
    struct fleet copy = *fleet; /* a pass in bulk changes nothing in it */
    struct fleet_pass pass = {.stream = stream};
    return fleet->bulk ? run_pass(moments, &copy, &pass) : TREMOLO_BAD_ARGUMENT;
}

/* -------------------------------------------------------------- releasing */

enum tremolo_status fleet_release(struct tremolo_debiased **evidence,
                                  struct tremolo_debiased **copy, struct fleet *fleet,
                                  uint16_t round, const double *V)
{
    struct tremolo_moments *moments = NULL;
    struct tremolo_debiased *made = NULL;
    struct fleet_pass pass = {.round = {NULL, round}, .stream = round};
    if (fleet->study.vectors > 0) {
        tremolo_release_to_wire(fleet->wire_vectors, V, fleet->study.vectors * fleet->d);
        pass.round.vectors = fleet->wire_vectors;
    }
    enum tremolo_status status = tremolo_release_plain_sums(&moments, &fleet->study);
    status = status == TREMOLO_OK ? run_pass(moments, fleet, &pass) : status;
    if (status == TREMOLO_OK) {
        status = tremolo_release_evidence(&made, moments, &fleet->release, fleet->wire_vectors);
    }
    if (status == TREMOLO_OK && copy != NULL) {
        status = tremolo_release_evidence(copy, moments, &fleet->release, fleet->wire_vectors);
    }
    tremolo_moments_free(moments);
    if (status != TREMOLO_OK) {
        tremolo_debias_free(made);
        return status;
    }
    *evidence = made;
    return TREMOLO_OK;
}

enum tremolo_status fleet_ballots(struct tremolo_ballot **ballots, struct fleet *fleet)
{
    struct tremolo_moments *moments = NULL;
    const struct fleet_pass pass = {.stream = 0};
    enum tremolo_status status = tremolo_release_plain_sums(&moments, &fleet->study);
    status = status == TREMOLO_OK ? run_pass(moments, fleet, &pass) : status;
    if (status == TREMOLO_OK) {
        status = tremolo_release_ballots(ballots, moments, &fleet->study);
    }
    tremolo_moments_free(moments);
    return status == TREMOLO_OK && *ballots == NULL ? TREMOLO_BAD_ARGUMENT : status;
}
