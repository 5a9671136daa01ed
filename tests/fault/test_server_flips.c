/* test_server_flips.c -- one byte of a data directory is another: refused, harmless, or wrong?
 *
 * A small directory, once with everything in the database and once, as a killed server leaves it, with a
 * write-ahead log. Every byte in turn is inverted, and one bit of it; then its studies are read
 * offline, and a server is started. Each must refuse, or have the same studies, rounds, sums and ids
 * as before. Not one may be silently wrong.
 *
 * Each try takes milliseconds and a directory has some hundred thousand bytes, so here every STRIDE-th is
 * taken, a prime, so that it is another one in each page, and every one of the tip; with TREMOLO_FLIPS=all
 * every byte. */
#include "testing.h"

#include "fault_vfs.h"
#include "server_files.h"

enum { STRIDE = 251, OPEN_REPORTS = 3 };

struct counts {
    unsigned refused, harmless, wrong;
};

static struct file_image images[FILE_COUNT];
static uint8_t right[ANSWER_BYTES];
static char ids[2][TREMOLO_STUDY_ID_TEXT_BYTES];

static int set_up(void **state)
{
    (void)state;
    return !make_directory();
}

static int tear_down(void **state)
{
    (void)state;
    files_free(images);
    return remove_directory();
}

static void judge(struct counts *counts, bool refused, const uint8_t *answer, const char *words)
{
    bool same = !refused && memcmp(answer, right, ANSWER_BYTES) == 0;
    counts->refused += refused;
    counts->harmless += same;
    counts->wrong += !refused && !same;
    assert_true(!refused || strlen(words) > 10);
}

static void try_once(struct counts *server, struct counts *reader)
{
    struct writer *writer = NULL;
    char words[TREMOLO_WORDS_BYTES];
    uint8_t answer[ANSWER_BYTES] = {0};
    files_save(images);
    bool refused = hash_offline(answer, ids, 2, words) != TREMOLO_OK;
    judge(reader, refused, answer, words);
    refused = try_writer(&writer, STORE_CAREFUL, words) != TREMOLO_OK;
    if (!refused) {
        hash_answer(answer, writer);
        writer_stop(writer);
    }
    judge(server, refused, answer, words);
}

static void print_counts(size_t which, const char *who, const struct counts *counts)
{
    print_message("# tremolo.db%s, %zu bytes, %s: %u refused, %u harmless, %u silently wrong\n",
                  file_suffix[which], images[which].length, who, counts->refused, counts->harmless,
                  counts->wrong);
}

static void flip_file(struct counts *server, struct counts *reader, size_t which)
{
    struct file_image *image = &images[which];
    const char *all = getenv("TREMOLO_FLIPS");
    bool each = which == FILE_TIP || (all != NULL && strcmp(all, "all") == 0);
    size_t stride = each ? 1 : STRIDE;
    for (size_t i = 0; i < image->length; i += stride) {
        uint8_t was = image->bytes[i];
        image->bytes[i] = (uint8_t)~was;
        try_once(server, reader);
        image->bytes[i] = (uint8_t)(was ^ 1u << i % 8);
        try_once(server, reader);
        image->bytes[i] = was;
    }
    print_counts(which, "server", server);
    print_counts(which, "reader", reader);
}

static void flip_directory(void)
{
    size_t full = images[FILE_LOG].length > 0 ? FILE_LOG : FILE_DATABASE; /* where reports are */
    struct counts nothing[2] = {{0}, {0}};
    try_once(&nothing[0], &nothing[1]); /* nothing flipped, nothing refused */
    assert_int_equal(nothing[0].harmless, 1);
    assert_int_equal(nothing[1].harmless, 1);
    for (size_t which = 0; which < FILE_COUNT; which++) {
        struct counts server = {0}, reader = {0};
        flip_file(&server, &reader, which);
        assert_int_equal(server.wrong, 0);
        assert_int_equal(reader.wrong, 0);
        if (which == FILE_TIP) { /* nothing in it is unused */
            assert_int_equal(server.harmless + reader.harmless, 0);
        }
        if (which == full) { /* or the check itself is broken */
            assert_true(server.refused > 0 && reader.refused > 0);
        }
    }
}

static void fill_and_remember(struct writer *writer)
{
    fill_directory(writer, OPEN_REPORTS);
    hash_answer(right, writer);
    for (size_t i = 0; i < 2; i++) {
        memcpy(ids[i], studies_at(&writer->studies, i)->id_text, sizeof ids[i]);
    }
}

/* Of a server that ended: all of it is in the database. */
static void test_every_byte_of_a_database(void **state)
{
    struct writer *writer = start_writer(open_store());
    (void)state;
    fill_and_remember(writer);
    writer_stop(writer);
    files_load(images);
    assert_int_equal(images[FILE_LOG].length, 0);
    flip_directory();
}

/* Of one that was killed: most of it is in the log, and the tip is exact. */
static void test_every_byte_of_a_log(void **state)
{
    struct writer *writer = start_writer(open_store());
    (void)state;
    fill_and_remember(writer);
    files_load(images);
    writer_stop(writer);
    assert_true(images[FILE_LOG].length > 0);
    flip_directory();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_byte_of_a_database, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_every_byte_of_a_log, set_up, tear_down),
    };
    if (sodium_init() < 0) {
        return 1;
    }
    fault_vfs_install();
    atomic_store(&fault.no_syncs, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
