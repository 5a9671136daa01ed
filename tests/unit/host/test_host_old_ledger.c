/* test_host_old_ledger.c -- a ledger that an earlier version wrote goes on working.
 *
 * tests/vectors/ledger_without_ballots.txt says how it was made. It has spent on one
 * study, whose report of version 1 is repeated to the byte; what it spent stays spent,
 * new charges come on top, and there is nothing for ballots. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fake_device.h"
#include "testing.h"
#include "tremolo_ledger_file.h"

enum { LEDGER_BYTES = 36864, REPORT_BYTES = 46, LINE_BYTES = 512 };

static const uint32_t budget = 548743057;
static const uint32_t spent = 46567810;
static const char report_hex[] = "86015020fe70254fc7c5dd4663e3135bf476e300507d9ccc04a56b9c44574242"
                                 "13505a4c5d19b3324502cfcdffb0";

static char directory[] = "/tmp/tremolo-old-ledger-XXXXXX";

static size_t from_hex(uint8_t *bytes, const char *hex)
{
    size_t length = strspn(hex, "0123456789abcdef") / 2;
    for (size_t i = 0; i < length; i++) {
        char digits[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
        bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return length;
}

/* The fixture as the file it was: lines of an offset and the bytes there. */
static int write_ledger(void **state)
{
    static uint8_t ledger[LEDGER_BYTES];
    char path[sizeof directory + 8];
    char line[LINE_BYTES];
    (void)state;
    FILE *fixture = fopen("tests/vectors/ledger_without_ballots.txt", "r");
    assert_non_null(fixture);
    while (fgets(line, sizeof line, fixture) != NULL) {
        char *hex = NULL;
        unsigned long offset = strtoul(line, &hex, 10);
        if (line[0] != '#') {
            assert_true(offset + strlen(hex) / 2 <= LEDGER_BYTES);
            (void)from_hex(ledger + offset, hex + 1);
        }
    }
    (void)fclose(fixture);
    assert_non_null(mkdtemp(directory));
    (void)snprintf(path, sizeof path, "%s/ledger", directory);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(ledger, 1, sizeof ledger, file), sizeof ledger);
    assert_int_equal(fclose(file), 0);
    return chmod(path, 0600);
}

static int remove_ledger(void **state)
{
    char path[sizeof directory + 8];
    (void)state;
    (void)snprintf(path, sizeof path, "%s/ledger", directory);
    (void)unlink(path);
    (void)snprintf(path, sizeof path, "%s/lock", directory);
    (void)unlink(path);
    return rmdir(directory);
}

static struct tremolo_work work;

static void assert_left(const struct tremolo_platform *platform, uint32_t wanted)
{
    uint32_t left = 1;
    assert_status(tremolo_device_budget(&work, &left, platform), TREMOLO_OK);
    assert_int_equal(left, wanted);
    assert_status(tremolo_device_epsilon(&work, &left, platform), TREMOLO_OK);
    assert_int_equal(left, 0);
}

static enum tremolo_status report_to(uint8_t *bytes, size_t *length,
                                     const struct tremolo_study *study,
                                     const struct tremolo_platform *platform)
{
    static const int32_t features[3] = {1, 2, 3};
    struct tremolo_sample sample = {features, 4, 0};
    struct tremolo_round round = {NULL, 0};
    *length = TREMOLO_MAX_REPORT_BYTES;
    return tremolo_device_report(&work, bytes, length, study, &round, &sample, platform);
}

static void test_it_goes_on(void **state)
{
    struct tremolo_ledger_file *ledger = NULL;
    struct tremolo_ledger_file_options options = {.directory = directory};
    struct tremolo_study known = fake_study(3, 1);
    struct tremolo_study other = fake_study(3, 2);
    uint8_t wanted[REPORT_BYTES];
    uint8_t bytes[TREMOLO_MAX_REPORT_BYTES];
    size_t length = 0;
    (void)state;
    assert_int_equal(from_hex(wanted, report_hex), sizeof wanted);
    memcpy(known.id, wanted + 3, TREMOLO_STUDY_TAG_BYTES);
    assert_status(tremolo_ledger_file_open(&ledger, NULL, &options), TREMOLO_OK);
    const struct tremolo_platform *platform = tremolo_ledger_file_platform(ledger);
    assert_left(platform, budget - spent);
    assert_status(report_to(bytes, &length, &known, platform), TREMOLO_OK);
    assert_int_equal(length, sizeof wanted);
    assert_memory_equal(bytes, wanted, sizeof wanted);
    assert_left(platform, budget - spent);
    assert_status(report_to(bytes, &length, &other, platform), TREMOLO_OK);
    tremolo_ledger_file_close(ledger);
    ledger = NULL;
    assert_status(tremolo_ledger_file_open(&ledger, NULL, &options), TREMOLO_OK);
    platform = tremolo_ledger_file_platform(ledger);
    assert_left(platform, budget - spent - tremolo_study_charge(&other));
    assert_status(report_to(bytes, &length, &known, platform), TREMOLO_OK);
    assert_memory_equal(bytes, wanted, sizeof wanted);
    tremolo_ledger_file_close(ledger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_it_goes_on, write_ledger, remove_ledger),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
