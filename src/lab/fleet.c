/* fleet.c -- simulated devices: preparation, the core's reports, threads, debiased moments.
 *
 * A report is made exactly as a device makes it and read exactly as a server reads it, so that a
 * simulation tests the protocol, too. Devices are simulated by the block and folded by the batch:
 * the fold wants long runs of each of its 32 buckets. */
#include "fleet.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "study_internal.h"
#include "experiment.h"
#include "regression.h"
#include "report_file.h"

/* A block is what progress is counted in and what a stream of entropy covers for ballots. A batch
 * is what a thread makes before it folds, so its rows bound a thread's memory. */
enum { BLOCK_ROWS = 512, BATCH_ROWS = 16 * BLOCK_ROWS };

/* At most as many as the fold takes threads. */
unsigned tremolo_processors(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1                          ? 1
           : count > TREMOLO_MAX_FOLD_THREADS ? TREMOLO_MAX_FOLD_THREADS
                                              : (unsigned)count;
}

/* ------------------------------------------------------------ preparation */

/* Would a device of this study send the same reports? Id and bounds are left out, because a fleet
 * has its own. If all these integers agree, reports that a simulation keeps can be read as the
 * study's own. */
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

/* The ballots of a device share its epsilon. The mechanism is asked for the epsilon of one
 * ballot; a request without a number of rounds has one. The charge is read back from the
 * integers, because rounding to them can change epsilon. */
static enum tremolo_status fill_ballot(struct fleet *fleet)
{
    const struct tremolo_mechanism_request *request = &fleet->setup.request;
    double ballots = request->rounds > 0 ? request->rounds : 1;
    enum tremolo_status status = tremolo_mechanism_ballot(
        &fleet->study, request->dimension, request->response_private, request->epsilon / ballots);
    if (status == TREMOLO_OK) {
        take_ballot(&fleet->study, fleet->setup.study);
        /* What a device is charged; guarantees count the same. */
        double charge = (double)tremolo_study_charge(&fleet->study);
        fleet->scales = (struct tremolo_mechanism_scales){.epsilon = ballots * charge /
                                                                     (double)TREMOLO_CHARGE_ONE};
    }
    return status;
}

/* The integers of the release that the devices make. The request counts every release of a
 * device, since all spend from one budget. A study counts rounds, each with `samples` of them, so
 * the number is divided after the noise is found. */
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

/* The study that these devices report to. Its id is that of simulated studies, unless a device
 * of the given study would send the same reports. */
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

/* A row in the integers that a device measures. The range that the integers cover depends on the
 * release: TREMOLO_STUDY_REACH half ranges for a ballot's features, which are not clipped at
 * their typical range, and the bound for noisy samples. A public response of noisy samples has a
 * bound of its own. */
static enum tremolo_status raw_row(int32_t *raw, const struct fleet_setup *setup, size_t row)
{
    size_t d = setup->request.dimension;
    bool ballots = setup->release == TREMOLO_RELEASE_BALLOT;
    double bound = ballots ? TREMOLO_STUDY_REACH : setup->request.bound;
    double response = ballots                           ? 1
                      : setup->request.response_private ? setup->request.bound
                                                        : setup->response_bound;
    const struct tremolo_host_range range = {-bound, bound};
    const struct tremolo_host_range response_range = {-response, response};
    enum tremolo_status status = TREMOLO_OK;
    for (size_t i = 0; i < d && status == TREMOLO_OK; i++) {
        status = tremolo_host_raw(&raw[i], setup->X[row * d + i], &range);
    }
    if (status == TREMOLO_OK) {
        status = tremolo_host_raw(&raw[d], setup->y[row], &response_range);
    }
    return status;
}

/* The samples, and with several rounds the devices, which keep their ledgers. With one round a
 * device is made when it reports and dropped after it, so no ledgers are kept. Ballots made in
 * bulk have none in any case. */
static enum tremolo_status prepare_devices(struct fleet *fleet)
{
    size_t n = fleet->d + 1;
    enum tremolo_status status = TREMOLO_OK;
    fleet->raw = malloc(fleet->setup.rows * n * sizeof *fleet->raw);
    if (fleet->study.rounds > 1 && !fleet->bulk) {
        fleet->devices = calloc(fleet->setup.rows, sizeof *fleet->devices);
    }
    if (fleet->raw == NULL || (fleet->study.rounds > 1 && !fleet->bulk && fleet->devices == NULL)) {
        return TREMOLO_NO_MEMORY;
    }
    for (size_t r = 0; r < fleet->setup.rows && status == TREMOLO_OK; r++) {
        status = raw_row(fleet->raw + r * n, &fleet->setup, r);
    }
    return status;
}

/* Room for a round's vectors, and buckets. A device is where its first report's id says, as in
 * `tremolo fit` and on the server, and stays there in every round, so that rounds can be pooled
 * bucket by bucket. */
static enum tremolo_status prepare_rounds(struct fleet *fleet)
{
    size_t vectors = (size_t)fleet->study.vectors * fleet->d;
    fleet->wire_vectors = calloc(vectors + 1, sizeof *fleet->wire_vectors);
    fleet->buckets = malloc(fleet->setup.rows);
    return fleet->buckets == NULL || fleet->wire_vectors == NULL ? TREMOLO_NO_MEMORY : TREMOLO_OK;
}

/* Everything that does not depend on the round. Rows are converted to the devices' integers
 * once. */
enum tremolo_status fleet_new(struct fleet **fleet, const struct fleet_setup *setup)
{
    struct fleet *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    made->setup = *setup;
    made->d = setup->request.dimension;
    made->bulk = setup->release == TREMOLO_RELEASE_BALLOT && !setup->core && setup->reports == NULL;
    enum tremolo_status status = prepare_study(made);
    if (status == TREMOLO_OK) {
        made->width = tremolo_row_values(&made->study);
        status = prepare_rounds(made);
    }
    if (status == TREMOLO_OK) {
        status = prepare_devices(made);
    }
    if (status != TREMOLO_OK) {
        fleet_free(made);
        return status;
    }
    *fleet = made;
    return TREMOLO_OK;
}

/* Accepts NULL. */
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
    free(fleet);
}

/* ------------------------------------------------------------ a report by the core */

/* Entropy for the core, from the seed: a counter hashed with the device's key. It is no entropy
 * for a real device, which must not be predictable. */
static int draw_entropy(void *context, uint8_t *bytes, size_t length)
{
    struct fleet_device *device = context;
    for (size_t i = 0; i < length; i += sizeof(uint64_t)) {
        uint64_t word = tremolo_random_hash(device->key, device->counter++);
        size_t rest = length - i;
        memcpy(bytes + i, &word, rest < sizeof word ? rest : sizeof word);
    }
    return 0;
}

/* What the wire carries back, through the server's decoder. */
static enum tremolo_status read_report(int16_t *row, uint8_t *bucket, const struct fleet *fleet,
                                       const uint8_t *bytes, size_t length)
{
    struct tremolo_report report;
    enum tremolo_status status = tremolo_report_decode(&report, bytes, length);
    status = status == TREMOLO_OK ? tremolo_row_unpack(row, &report, &fleet->study) : status;
    if (status == TREMOLO_OK) {
        *bucket = (uint8_t)tremolo_bucket_of(report.id);
    }
    return status;
}

/* Enrol with a budget for exactly the study's rounds: a device that would
 * have to spend more refuses, and the simulation fails. */
static enum tremolo_status enrol(struct tremolo_work *work, const struct tremolo_platform *platform,
                                 const struct tremolo_study *study)
{
    uint64_t budget = (uint64_t)tremolo_study_charge(study) * study->rounds;
    if (budget > UINT32_MAX) {
        return TREMOLO_OVERFLOWED;
    }
    if (study->release == TREMOLO_RELEASE_BALLOT) {
        /* The ledger rounds epsilon down to 1/256. */
        return tremolo_device_enrol(work, platform, 0, (uint32_t)budget + TREMOLO_CHARGE_ONE / 256);
    }
    return tremolo_device_enrol(work, platform, (uint32_t)budget, 0);
}

/* One report of one device: enrol in the first round, let the core make the bytes, keep them if
 * asked, and read them back as the server does. The entropy's key depends on seed, device and
 * round, so that no two reports share noise. */
static enum tremolo_status run_device(int16_t *row, struct fleet *fleet, size_t number,
                                      const struct tremolo_round *round, struct tremolo_work *work,
                                      struct fleet_device *device)
{
    uint8_t bytes[TREMOLO_MAX_REPORT_BYTES];
    size_t length = sizeof bytes;
    const int32_t *raw = fleet->raw + number * (fleet->d + 1);
    const struct tremolo_sample sample = {.features = raw, .response = raw[fleet->d]};
    struct tremolo_platform platform = tremolo_host_memory_platform(&device->memory);
    platform.entropy = draw_entropy;
    device->key =
        tremolo_random_hash(tremolo_random_hash(fleet->setup.seed, number), round->number);
    device->counter = 0;
    enum tremolo_status status = TREMOLO_OK;
    if (round->number == 0) {
        status = enrol(work, &platform, &fleet->study);
    }
    if (status == TREMOLO_OK) {
        status =
            tremolo_device_report(work, bytes, &length, &fleet->study, round, &sample, &platform);
    }
    if (status == TREMOLO_OK && fleet->setup.reports != NULL) {
        const uint8_t head[2] = {(uint8_t)length, (uint8_t)(length >> 8)};
        bool written = fwrite(head, sizeof head, 1, fleet->setup.reports) == 1 &&
                       fwrite(bytes, length, 1, fleet->setup.reports) == 1;
        status = written ? TREMOLO_OK : TREMOLO_STORAGE_FAILED;
    }
    uint8_t bucket = 0;
    if (status == TREMOLO_OK) {
        status = read_report(row, &bucket, fleet, bytes, length);
    }
    if (status == TREMOLO_OK && round->number == 0) {
        fleet->buckets[number] = bucket;
    }
    return status;
}

/* With a single round a device and its ledger last for one report. */
static enum tremolo_status core_block(int16_t *rows, struct fleet *fleet, size_t from, size_t count,
                                      const struct tremolo_round *round)
{
    struct tremolo_work work;
    enum tremolo_status status = TREMOLO_OK;
    for (size_t r = 0; r < count && status == TREMOLO_OK; r++) {
        struct fleet_device passing = {.key = 0};
        struct fleet_device *device = fleet->devices != NULL ? &fleet->devices[from + r] : &passing;
        status = run_device(rows + r * fleet->width, fleet, from + r, round, &work, device);
    }
    return status;
}

/* ---------------------------------------------------------------- threads */

/* One thread's share. Each has moments of its own, which are merged when all have ended; the
 * first worker adds to the caller's moments directly. */
struct worker {
    struct fleet *fleet;
    struct tremolo_moments *moments;
    pthread_t thread;
    const struct tremolo_round *round;
    unsigned number;
    enum tremolo_status status;
    bool started;
};

/* The smaller of both. */
static size_t at_most(size_t count, size_t limit)
{
    return count < limit ? count : limit;
}

/* Rows of the devices from `from`, block by block. */
static enum tremolo_status make_batch(int16_t *rows, struct worker *worker, size_t from,
                                      size_t count)
{
    struct fleet *fleet = worker->fleet;
    enum tremolo_status status = TREMOLO_OK;
    for (size_t done = 0; done < count && status == TREMOLO_OK; done += BLOCK_ROWS) {
        size_t block = at_most(count - done, BLOCK_ROWS);
        int16_t *at = rows + done * fleet->width;
        if (fleet->bulk) {
            fleet_ballot_block(at, fleet, from + done, block);
        } else {
            status = core_block(at, fleet, from + done, block, worker->round);
        }
        status = tremolo_progress_add(fleet->setup.progress, block, status);
    }
    return status;
}

/* Batches are dealt out in turn; which thread makes one changes nothing. */
static void *work(void *argument)
{
    struct worker *worker = argument;
    struct fleet *fleet = worker->fleet;
    /* Small fleets are cut into shares for the threads. Batches are whole blocks: blocks then
     * start at the same rows for every number of threads, and so does their entropy. */
    size_t batch = at_most(fleet->setup.rows / fleet->setup.threads + 1, BATCH_ROWS);
    batch = (batch + BLOCK_ROWS - 1) / BLOCK_ROWS * BLOCK_ROWS;
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

/* Run the first worker on this thread, the others on their own. A thread that cannot be started
 * is run here, so that fewer threads only take longer. The status is that of the first worker in
 * number that failed, whichever failed first in time. All have ended when this returns. */
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
                                    const struct tremolo_round *round)
{
    struct worker workers[TREMOLO_MAX_FOLD_THREADS] = {{0}};
    enum tremolo_status status = TREMOLO_OK;
    for (unsigned t = 0; t < fleet->setup.threads && status == TREMOLO_OK; t++) {
        workers[t] = (struct worker){.fleet = fleet, .round = round, .number = t};
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

/* -------------------------------------------------------------- releasing */

/* The sums of all workers are exact integers, so the evidence does not depend on who made which
 * report. */
enum tremolo_status fleet_release(struct tremolo_debiased **evidence,
                                  struct tremolo_debiased **copy, struct fleet *fleet,
                                  uint16_t round, const double *V)
{
    struct tremolo_moments *moments = NULL;
    struct tremolo_debiased *made = NULL;
    struct tremolo_round opened = {NULL, round};
    if (fleet->study.vectors > 0) {
        tremolo_release_to_wire(fleet->wire_vectors, V, fleet->study.vectors * fleet->d);
        opened.vectors = fleet->wire_vectors;
    }
    enum tremolo_status status = tremolo_release_plain_sums(&moments, &fleet->study);
    status = status == TREMOLO_OK ? run_pass(moments, fleet, &opened) : status;
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

/* No ballots at all are the caller's mistake. */
enum tremolo_status fleet_ballots(struct tremolo_ballot **ballots, struct fleet *fleet)
{
    struct tremolo_moments *moments = NULL;
    const struct tremolo_round round = {NULL, 0};
    enum tremolo_status status = tremolo_release_plain_sums(&moments, &fleet->study);
    status = status == TREMOLO_OK ? run_pass(moments, fleet, &round) : status;
    if (status == TREMOLO_OK) {
        status = tremolo_release_ballots(ballots, moments, &fleet->study);
    }
    tremolo_moments_free(moments);
    return status == TREMOLO_OK && *ballots == NULL ? TREMOLO_BAD_ARGUMENT : status;
}
