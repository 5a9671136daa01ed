/* server_files.h -- a small data directory with two studies, its files as bytes, and what a server or
 * a reader makes of them: for tests that damage files. Files are put back before each try. */
#ifndef TREMOLO_SERVER_FILES_H
#define TREMOLO_SERVER_FILES_H

#include <fcntl.h>

#include "server_world.h"
#include "study_internal.h"

enum { FILE_DATABASE, FILE_LOG, FILE_TIP, FILE_COUNT };

struct file_image {
    uint8_t *bytes;
    size_t length; /* 0: there is no such file */
};

static const char *const file_suffix[FILE_COUNT] = {"", "-wal", "-tip"};

static inline void file_path(char path[128], size_t which)
{
    (void)snprintf(path, 128, "%s/tremolo.db%s", directory, file_suffix[which]);
}

static inline void file_load(struct file_image *image, size_t which)
{
    char path[128];
    struct stat about;
    file_path(path, which);
    free(image->bytes);
    *image = (struct file_image){0};
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return;
    }
    assert_int_equal(fstat(fileno(file), &about), 0);
    image->length = (size_t)about.st_size;
    image->bytes = malloc(image->length + 1);
    assert_int_equal(fread(image->bytes, 1, image->length, file), image->length);
    (void)fclose(file);
}

/* In place where there is such a file: the tip stays the same file, and file systems do not take a file cut
 * to nothing and written again for one that must be on the disk at once. */
static inline void file_save(const struct file_image *image, size_t which)
{
    char path[128];
    file_path(path, which);
    if (image->length == 0) {
        (void)unlink(path);
        return;
    }
    int file = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(file >= 0);
    assert_int_equal(pwrite(file, image->bytes, image->length, 0), image->length);
    assert_int_equal(ftruncate(file, (off_t)image->length), 0);
    assert_int_equal(close(file), 0);
}

static inline void files_load(struct file_image images[FILE_COUNT])
{
    for (size_t i = 0; i < FILE_COUNT; i++) {
        file_load(&images[i], i);
    }
}

static inline void files_save(const struct file_image images[FILE_COUNT])
{
    for (size_t i = 0; i < FILE_COUNT; i++) {
        file_save(&images[i], i);
    }
}

static inline void files_free(struct file_image images[FILE_COUNT])
{
    for (size_t i = 0; i < FILE_COUNT; i++) {
        free(images[i].bytes);
        images[i] = (struct file_image){0};
    }
}

/* One report of a named device for a round, taken. */
static inline void give_named(struct writer *writer, struct served_study *served, unsigned round,
                              unsigned device)
{
    struct server_report report;
    uint8_t key[TREMOLO_MAC_KEY_BYTES];
    char name[16];
    (void)snprintf(name, sizeof name, "device %u", device);
    assert_status(tremolo_device_key(key, secret, (const uint8_t *)name, strlen(name)), TREMOLO_OK);
    server_report_make(&report, served->study, round, served->sums.rounds[round].vectors, key);
    assert_int_equal(send_report(writer, served, &report, name), OUTCOME_ACCEPTED);
}

static inline void close_newest_round(struct writer *writer, struct served_study *served)
{
    struct job job = {.kind = JOB_CLOSE, .served = served};
    assert_true(submit_and_wait(writer, &job));
    assert_status(job.status, TREMOLO_OK);
}

/* Two studies: one of a single round with `open` reports, one in its second round. */
static inline void fill_directory(struct writer *writer, unsigned open)
{
    struct served_study *single = NULL;
    struct served_study *rounds = NULL;
    struct server_report report;
    assert_status(create_study(&single, writer, server_study_open), TREMOLO_OK);
    assert_status(create_study(&rounds, writer, server_study_rounds), TREMOLO_OK);
    for (unsigned i = 0; i < open; i++) {
        server_report_make(&report, single->study, 0, NULL, NULL);
        assert_int_equal(send_report(writer, single, &report, ""), OUTCOME_ACCEPTED);
    }
    for (unsigned i = 0; i < 6; i++) {
        give_named(writer, rounds, 0, i);
    }
    close_newest_round(writer, rounds);
    for (unsigned i = 0; i < 3; i++) {
        give_named(writer, rounds, 1, i);
    }
}

/* All that answers come from, as one hash: the studies, their rounds, sums and ids. */
enum { ANSWER_BYTES = 32 };

static inline void hash_round(crypto_generichash_state *hash, const struct served_study *served,
                              const struct served_round *round)
{
    static uint8_t sums[400000];
    size_t d = served->study->dimension;
    size_t length = tremolo_moments_encoded_bytes(round->moments);
    assert_true(length <= sizeof sums);
    assert_status(tremolo_moments_encode(round->moments, sums, length), TREMOLO_OK);
    (void)crypto_generichash_update(hash, sums, length);
    (void)crypto_generichash_update(hash, (const uint8_t *)&round->opened_at, 8);
    (void)crypto_generichash_update(hash, (const uint8_t *)&round->closed_at, 8);
    (void)crypto_generichash_update(hash, (const uint8_t *)round->beta, d * sizeof(double));
    (void)crypto_generichash_update(hash, (const uint8_t *)round->vectors,
                                    2 * d * served->study->vectors);
}

/* Studies may come in any order: their hashes are added bit by bit. */
static inline void hash_study(uint8_t answer[ANSWER_BYTES], const struct served_study *served)
{
    crypto_generichash_state hash;
    uint8_t one[ANSWER_BYTES];
    uint64_t counts[5] = {served->sums.opened, served->sums.round_limit, served->sums.reports,
                          served->log.ids.count, served->log.position};
    (void)crypto_generichash_init(&hash, NULL, 0, sizeof one);
    (void)crypto_generichash_update(&hash, served->id, sizeof served->id);
    (void)crypto_generichash_update(&hash, (const uint8_t *)counts, sizeof counts);
    for (unsigned t = 0; t < served->sums.opened; t++) {
        hash_round(&hash, served, &served->sums.rounds[t]);
    }
    (void)crypto_generichash_final(&hash, one, sizeof one);
    for (size_t i = 0; i < ANSWER_BYTES; i++) {
        answer[i] ^= one[i];
    }
}

static inline void hash_answer(uint8_t answer[ANSWER_BYTES], struct writer *writer)
{
    memset(answer, 0, ANSWER_BYTES);
    for (size_t i = 0; i < studies_count(&writer->studies); i++) {
        hash_study(answer, studies_at(&writer->studies, i));
    }
}

/* The same of studies that are read offline. Not OK: refused. */
static inline enum tremolo_status hash_offline(uint8_t answer[ANSWER_BYTES],
                                               char ids[][TREMOLO_STUDY_ID_TEXT_BYTES],
                                               size_t count, char words[TREMOLO_WORDS_BYTES])
{
    struct store *store = NULL;
    words[0] = '\0';
    memset(answer, 0, ANSWER_BYTES);
    enum tremolo_status status = store_read_sqlite(&store, directory, words);
    for (size_t i = 0; i < count && status == TREMOLO_OK; i++) {
        struct served_study *served = NULL;
        status = served_load(&served, store, ids[i], words);
        if (status == TREMOLO_OK) {
            hash_study(answer, served);
            served_free(served);
        }
    }
    if (store != NULL) {
        store->close(store);
    }
    return status;
}

/* Start a server's writer on the directory as it is. Not OK: it is refused, with words. */
static inline enum tremolo_status try_writer(struct writer **writer, enum store_consent consent,
                                             char words[TREMOLO_WORDS_BYTES])
{
    struct store *store = NULL;
    words[0] = '\0';
    enum tremolo_status status = store_open_sqlite(&store, directory, consent, words);
    if (status == TREMOLO_OK) {
        status = writer_start_embedded(writer, store, signing_key, secret, words);
        if (status != TREMOLO_OK) {
            store->close(store);
        }
    }
    return status;
}

#endif
