/* test_server_flips.c -- one byte of a data directory is another: refused, harmless, or wrong?
 *
 * A small directory, once with everything in the database and once, as a killed server leaves it, with a
 * write-ahead log. Every byte in turn is inverted, and one bit of it; then a server is started. It must
 * refuse, or have the same studies, rounds, sums and ids as before. Not one may be silently wrong.
 *
 * Each try takes milliseconds and a directory has some hundred thousand bytes, so here every STRIDE-th is
 * taken, a prime, so that it is another one in each page; with TREMOLO_FLIPS=all every byte. */
#include "testing.h"

#include "fault_vfs.h"
#include "server_files.h"

enum { STRIDE = 251, OPEN_REPORTS = 3 };

struct counts {
    unsigned refused, harmless, wrong;
};

static struct file_image images[FILE_COUNT];
static uint8_t right[ANSWER_BYTES];

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

static void try_once(struct counts *counts)
{
    struct writer *writer = NULL;
    char words[400];
    uint8_t answer[ANSWER_BYTES];
    files_save(images);
    if (try_writer(&writer, STORE_CAREFUL, words, sizeof words) != TREMOLO_OK) {
        counts->refused++;
        assert_true(strlen(words) > 10);
        return;
    }
    hash_answer(answer, writer);
    bool same = memcmp(answer, right, sizeof answer) == 0;
    counts->harmless += same;
    counts->wrong += !same;
    writer_stop(writer);
}

static void flip_file(struct counts *counts, size_t which)
{
    struct file_image *image = &images[which];
    const char *all = getenv("TREMOLO_FLIPS");
    size_t stride = all != NULL && strcmp(all, "all") == 0 ? 1 : STRIDE;
    for (size_t i = 0; i < image->length; i += stride) {
        uint8_t was = image->bytes[i];
        image->bytes[i] = (uint8_t)~was;
        try_once(counts);
        image->bytes[i] = (uint8_t)(was ^ 1u << i % 8);
        try_once(counts);
        image->bytes[i] = was;
    }
    print_message("# tremolo.db%s, %zu bytes: %u refused, %u harmless, %u silently wrong\n",
                  file_suffix[which], image->length, counts->refused, counts->harmless,
                  counts->wrong);
}

static void flip_directory(void)
{
    for (size_t which = 0; which < FILE_COUNT; which++) {
        struct counts counts = {0};
        flip_file(&counts, which);
        assert_int_equal(counts.wrong, 0);
        if (which == (images[FILE_LOG].length > 0 ? FILE_LOG : FILE_DATABASE)) {
            assert_true(counts.refused > 0); /* where the reports are; or the check is broken */
        }
    }
    struct counts counts = {0};
    try_once(&counts); /* nothing flipped, nothing refused */
    assert_int_equal(counts.harmless, 1);
}

/* Of a server that ended: all of it is in the database. */
static void test_every_byte_of_a_database(void **state)
{
    struct writer *writer = start_writer(open_store());
    (void)state;
    fill_directory(writer, OPEN_REPORTS);
    hash_answer(right, writer);
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
    fill_directory(writer, OPEN_REPORTS);
    hash_answer(right, writer);
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
