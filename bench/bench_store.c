/* bench_store.c -- what the embedded store costs a report: appending, and opening again.
 *
 * Reports of 58 bytes (d = 10) in segments of 1, 64 and 10,000, one segment a commit, in a directory
 * under TMPDIR or /tmp. Processor time of this thread; the elapsed time is mostly the disk's. The last row
 * opens a store of 2 million reports and reads its log to the end, as a server does at its start. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "segment.h"
#include "store.h"

enum { REPORT_BYTES = 58, MANY = 10000, MANY_COMMITS = 200 };

static void must(enum tremolo_status status)
{
    if (status != TREMOLO_OK) {
        (void)fprintf(stderr, "bench_store: %s\n", tremolo_status_sentence(status));
        exit(1);
    }
}

static void fill(struct segment *segment, unsigned reports)
{
    uint8_t bytes[REPORT_BYTES];
    uint32_t offset;
    segment_clear(segment);
    for (unsigned i = 0; i < reports; i++) {
        randombytes_buf(bytes, sizeof bytes);
        struct segment_record record = {.report = bytes, .length = sizeof bytes};
        must(segment_add(segment, &record, &offset));
    }
}

static void append(const char *directory, unsigned reports, unsigned commits)
{
    static const uint8_t study[STORE_STUDY_BYTES] = {1};
    struct segment segment = {0};
    struct store *store = NULL;
    double processor = 0.0;
    double elapsed = 0.0;
    must(store_open_sqlite(&store, directory, STORE_CAREFUL, NULL));
    for (unsigned i = 0; i < commits; i++) {
        uint64_t position;
        fill(&segment, reports);
        double from = bench_processor_seconds();
        double at = bench_seconds();
        must(segment_seal(&segment, 1234567890));
        must(store->append(store, study, segment.bytes, segment.length, &position));
        must(store->sync(store));
        processor += bench_processor_seconds() - from;
        elapsed += bench_seconds() - at;
    }
    store->close(store);
    segment_free(&segment);
    double total = (double)reports * commits;
    (void)printf("%6u reports a commit: %8.3f us a report, %8.1f us a commit (%.1f elapsed)\n",
                 reports, 1e6 * processor / total, 1e6 * processor / commits,
                 1e6 * elapsed / commits);
}

static void open_again(const char *directory)
{
    struct store *store = NULL;
    struct store_segment segment = {0};
    double from = bench_processor_seconds();
    must(store_open_sqlite(&store, directory, STORE_CAREFUL, NULL));
    double opened = bench_processor_seconds() - from;
    do {
        must(store->read(store, segment.position + 1, &segment));
        if (segment.position != 0) {
            must(segment_check(segment.bytes, segment.length));
        }
    } while (segment.position != 0);
    (void)printf("%6.1f million reports: %.3f s to open, %.3f s with reading\n",
                 1e-6 * MANY * MANY_COMMITS, opened, bench_processor_seconds() - from);
    store->close(store);
}

static void clean(const char *directory)
{
    static const char *const suffix[] = {"", "-wal", "-tip"};
    char path[256];
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(path, sizeof path, "%s/tremolo.db%s", directory, suffix[i]);
        (void)unlink(path);
    }
}

int main(void)
{
    const char *place = getenv("TMPDIR");
    char directory[200];
    (void)snprintf(directory, sizeof directory, "%s/tremolo-bench-XXXXXX",
                   place != NULL ? place : "/tmp");
    if (sodium_init() < 0 || mkdtemp(directory) == NULL) {
        return 1;
    }
    append(directory, 1, 2000);
    clean(directory);
    append(directory, 64, 1000);
    clean(directory);
    append(directory, MANY, MANY_COMMITS);
    open_again(directory);
    clean(directory);
    return rmdir(directory) == 0 ? 0 : 1;
}
