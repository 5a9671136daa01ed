/* host_report.c -- what a device with an operating system makes of a study and
 * a sample, for comparison with a firmware (tests/cli/firmware.sh).
 *
 *     host_report STUDY.json SAMPLE.json POLICY.json
 *
 * Prints the lines of tests/common/board.c, and first the raw numbers that
 * the sample becomes. Entropy is fake_entropy.h from seed 1, as there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_entropy.h"
#include "files.h"
#include "policy.h"
#include "tremolo_host.h"
#include "tremolo_study_file.h"
#include "study_internal.h"

#include <jansson.h>

struct host {
    struct tremolo_host_memory memory;
    struct fake_entropy entropy;
};

static int host_entropy(void *context, uint8_t *bytes, size_t length)
{
    return fake_entropy_fill(&((struct host *)context)->entropy, bytes, length);
}

static int host_read(void *context, unsigned slot, uint8_t *bytes, size_t length)
{
    memcpy(bytes, &((struct host *)context)->memory.slot[slot], length);
    return 0;
}

static int host_write(void *context, unsigned slot, const uint8_t *bytes, size_t length)
{
    memcpy(&((struct host *)context)->memory.slot[slot], bytes, length);
    return 0;
}

static void print_hex(const char *name, const uint8_t *bytes, size_t length)
{
    (void)printf("%s ", name);
    for (size_t i = 0; i < length; i++) {
        (void)printf("%02x", (unsigned)bytes[i]);
    }
    (void)printf("\n");
}

/* The sample's coordinates, numbers only: each by its coordinate's name. */
static int read_raw(int32_t *raw, const struct tremolo_study_file *file, const char *sample)
{
    json_t *values = json_loads(sample, 0, NULL);
    size_t d = tremolo_study_file_dimension(file);
    enum tremolo_status status = TREMOLO_OK;
    (void)printf("raw");
    for (size_t i = 0; i <= d && status == TREMOLO_OK; i++) {
        const struct tremolo_study_coordinate reach = tremolo_study_file_reach(file, i);
        struct tremolo_host_range range = {reach.low, reach.high};
        double value = json_number_value(json_object_get(values, reach.name));
        status = tremolo_host_raw(&raw[i], value, &range);
        (void)printf(" %ld", (long)raw[i]);
    }
    (void)printf("\n");
    json_decref(values);
    return status == TREMOLO_OK ? 0 : 1;
}

static int report(const struct tremolo_study_file *file, const struct tremolo_policy *policy,
                  const int32_t *raw)
{
    static struct tremolo_work work;
    static struct host host = {.entropy = {.state = 1}};
    struct tremolo_platform platform = {.context = &host,
                                        .entropy = host_entropy,
                                        .read = host_read,
                                        .write = host_write,
                                        .studies = 1};
    struct tremolo_study study = tremolo_policy_device(policy, file);
    struct tremolo_sample sample = {raw, raw[study.dimension], 0};
    struct tremolo_round round = {NULL, 0};
    uint8_t bytes[TREMOLO_MAX_REPORT_BYTES];
    size_t length = sizeof bytes;
    /* As `study show --c` has it: all of the policy's total for the study's own release. */
    bool ballot = study.release == TREMOLO_RELEASE_BALLOT;
    uint32_t budget = 0, epsilon = ballot ? tremolo_policy_epsilon(policy) : 0;
    if ((!ballot && tremolo_policy_budget(&budget, policy) != TREMOLO_OK) ||
        tremolo_device_enrol(&work, &platform, budget, epsilon) != TREMOLO_OK ||
        tremolo_device_report(&work, bytes, &length, &study, &round, &sample, &platform) !=
            TREMOLO_OK) {
        return 1;
    }
    print_hex("id", tremolo_study_file_id(file), TREMOLO_STUDY_ID_BYTES);
    (void)printf("budget %lu\n", (unsigned long)budget);
    print_hex("report", bytes, length);
    (void)printf("charged %lu\n", (unsigned long)host.memory.slot[0].spent);
    print_hex("report", bytes, length);
    return 0;
}

int main(int argc, char **argv)
{
    struct tremolo_study_file *file = NULL;
    struct tremolo_policy policy = TREMOLO_POLICY_DEFAULTS;
    int32_t raw[TREMOLO_MAX_COORDINATES];
    char *text = NULL;
    char *sample = NULL;
    size_t length = 0;
    if (argc != 4 || cli_read_policy(&policy, "host_report", argv[3]) != 0 ||
        cli_read_file(&text, &length, "host_report", argv[1], TREMOLO_STUDY_MAX_BYTES) != 0 ||
        tremolo_study_file_parse(&file, NULL, text, length) != TREMOLO_OK ||
        cli_read_file(&sample, &length, "host_report", argv[2], 4096) != 0) {
        return 1;
    }
    int failed = read_raw(raw, file, sample) || report(file, &policy, raw);
    tremolo_study_file_free(file);
    free(text);
    free(sample);
    return failed;
}
