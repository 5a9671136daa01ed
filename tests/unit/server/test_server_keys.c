/* test_server_keys.c -- secret files are made once, whole, and for their owner only. */
#include "testing.h"

#include <dirent.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "keys.h"

enum { KEY_BYTES = 32 };

static char directory[64];

static int make_directory(void **state)
{
    (void)state;
    (void)snprintf(directory, sizeof directory, "/tmp/tremolo-keys-XXXXXX");
    return mkdtemp(directory) != NULL ? 0 : -1;
}

/* Removes all files and counts them. */
static int sweep(void)
{
    DIR *listing = opendir(directory);
    int count = 0;
    assert_non_null(listing);
    for (struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        char path[512];
        (void)snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        count += entry->d_name[0] != '.' && unlink(path) == 0;
    }
    (void)closedir(listing);
    return count;
}

static int remove_directory(void **state)
{
    (void)state;
    (void)sweep();
    return rmdir(directory);
}

static void a_key_is_made_once(void **state)
{
    uint8_t first[KEY_BYTES] = {0}, second[KEY_BYTES] = {1};
    char words[TREMOLO_WORDS_BYTES] = "", path[512];
    struct stat about;
    (void)state;
    assert_int_equal(keys_load(first, KEY_BYTES, directory, "key", true, words), TREMOLO_OK);
    assert_int_equal(keys_load(second, KEY_BYTES, directory, "key", true, words), TREMOLO_OK);
    assert_memory_equal(first, second, KEY_BYTES);
    (void)snprintf(path, sizeof path, "%s/key", directory);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    assert_int_equal(sweep(), 1); /* no draft is left */
}

/* A crashed start of the same process number, as in a container, left its draft. */
static void a_draft_left_behind_stops_nobody(void **state)
{
    uint8_t key[KEY_BYTES];
    char words[TREMOLO_WORDS_BYTES] = "", path[512];
    (void)state;
    (void)snprintf(path, sizeof path, "%s/key.%ld", directory, (long)getpid());
    FILE *draft = fopen(path, "w");
    assert_non_null(draft);
    assert_int_equal(fclose(draft), 0);
    assert_int_equal(keys_load(key, KEY_BYTES, directory, "key", true, words), TREMOLO_OK);
}

static void a_key_of_another_length_is_refused(void **state)
{
    uint8_t key[KEY_BYTES], untouched[KEY_BYTES];
    char words[TREMOLO_WORDS_BYTES] = "";
    (void)state;
    memset(key, 7, sizeof key);
    memset(untouched, 7, sizeof untouched);
    assert_int_equal(keys_load(key, KEY_BYTES / 2, directory, "key", true, words), TREMOLO_OK);
    memset(key, 7, sizeof key);
    assert_int_not_equal(keys_load(key, KEY_BYTES, directory, "key", true, words), TREMOLO_OK);
    assert_memory_equal(key, untouched, sizeof key);
    assert_non_null(strstr(words, "another length"));
}

/* In a process of somebody else's, which is all that root can try: 0 read, 1 refused. */
static int read_as_nobody(const char *path)
{
    enum { NOBODY = 65534 };
    pid_t child = fork();
    if (child == 0) {
        uint8_t bytes[8];
        const char *reason = NULL;
        _exit(setgid(NOBODY) != 0 || setuid(NOBODY) != 0           ? 2
              : keys_read(path, bytes, sizeof bytes, &reason) == 6 ? 0
                                                                   : 1);
    }
    int ended = 0;
    assert_int_equal(waitpid(child, &ended, 0), child);
    return WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
}

static void what_root_hands_over_may_be_read_by_a_group(void **state)
{
    char path[512];
    const char *reason = NULL;
    uint8_t bytes[8];
    (void)state;
    (void)snprintf(path, sizeof path, "%s/given", directory);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs("secret", file);
    (void)fclose(file);
    assert_int_equal(chmod(path, 0440), 0);
    assert_int_equal(keys_read(path, bytes, sizeof bytes, &reason), -1); /* our own */
    assert_non_null(strstr(reason, "0600"));
    if (geteuid() == 0) {
        assert_int_equal(chmod(directory, 0755), 0);
        assert_int_equal(chown(path, 0, 65534), 0);
        assert_int_equal(read_as_nobody(path), 0);
        assert_int_equal(chmod(path, 0444), 0);
        assert_int_equal(read_as_nobody(path), 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_key_is_made_once, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(a_draft_left_behind_stops_nobody, make_directory,
                                        remove_directory),
        cmocka_unit_test_setup_teardown(a_key_of_another_length_is_refused, make_directory,
                                        remove_directory),
        cmocka_unit_test_setup_teardown(what_root_hands_over_may_be_read_by_a_group, make_directory,
                                        remove_directory),
    };
    return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
