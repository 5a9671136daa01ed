/* device.c -- devices in memory, driven as a real one would be.
 *
 * Ledger, generator, clip, modulation, noise, rounding and encoding all run, and the audit
 * sees nothing but the bytes. */
#include "audit_parts.h"

#include <math.h>
#include <string.h>
#include <sys/random.h>

static int draw_entropy(struct audit_device *device, uint8_t *bytes, size_t length)
{
    size_t start = device->entropy_bytes;
    device->entropy_bytes += length;
    if (!device->seeded) {
        return getrandom(bytes, length, 0) == (ssize_t)length ? 0 : -1;
    }
    struct tremolo_random random = device->random;
    for (size_t i = 0; i < length; i += 8) {
        uint64_t word = tremolo_random_bits(&random);
        memcpy(bytes + i, &word, length - i < 8 ? length - i : 8);
    }
    for (size_t i = device->period; i < length && device->period > 0; i++) {
        bytes[i] = bytes[i - device->period];
    }
    device->random = device->period > 0 ? device->random : random;
    if (device->flipped / 8 - start < length) {
        bytes[device->flipped / 8 - start] ^= (uint8_t)(1u << device->flipped % 8);
    }
    return 0;
}

/* Seeds only: the device's own generator makes everything else of them. */
static int give_entropy(void *context, uint8_t *bytes, size_t length)
{
    struct audit_device *device = context;
    if (device->without_entropy || draw_entropy(device, bytes, length) != 0) {
        return -1;
    }
    memcpy(device->entropy, bytes,
           length < sizeof device->entropy ? length : sizeof device->entropy);
    return 0;
}

static int read_slot(void *context, unsigned slot, uint8_t *bytes, size_t length)
{
    struct audit_device *device = context;
    if (slot >= 2 * device->studies || length > sizeof device->slots[0] ||
        device->without_reading) {
        return -1;
    }
    memcpy(bytes, &device->slots[slot], length);
    return 0;
}

static int write_slot(void *context, unsigned slot, const uint8_t *bytes, size_t length)
{
    struct audit_device *device = context;
    if (slot >= 2 * device->studies || length > sizeof device->slots[0] ||
        device->without_storage) {
        return -1;
    }
    memcpy(&device->slots[slot], bytes, length);
    return 0;
}

static int read_counter(void *context, uint32_t *value)
{
    const struct audit_device *device = context;
    *value = device->counter;
    return 0;
}

static int advance_counter(void *context, uint32_t value)
{
    struct audit_device *device = context;
    device->counter = value;
    return 0;
}

struct tremolo_platform audit_platform(struct audit *audit)
{
    return (struct tremolo_platform){
        .context = &audit->device,
        .entropy = give_entropy,
        .read = read_slot,
        .write = write_slot,
        .counter = audit->device.counted ? read_counter : NULL,
        .advance = audit->device.counted ? advance_counter : NULL,
        .studies = audit->device.studies,
    };
}

static bool is_zero(const void *object, size_t length)
{
    static const uint8_t zeros[sizeof(struct tremolo_work)];
    return length <= sizeof zeros && memcmp(object, zeros, length) == 0;
}

void audit_expect_wiped(struct audit *audit)
{
    audit_expect(audit, CHECK_WIPED, is_zero(&audit->work, sizeof audit->work),
                 "the working memory is not wiped after a report");
}

/* A broken build may have stored any length. */
uint8_t *audit_secret_of(struct tremolo_slot *slot)
{
    return slot->report + slot->length % (TREMOLO_MAX_REPORT_BYTES + 1);
}

bool audit_enrol(struct audit *audit, uint32_t budget, uint32_t epsilon)
{
    const struct tremolo_platform platform = audit_platform(audit);
    memset(audit->device.slots, 0, sizeof audit->device.slots);
    audit->device.counter = 0;
    audit->device.number++;
    return audit_goes_on(audit, tremolo_device_enrol(&audit->work, &platform, budget, epsilon));
}

bool audit_report(struct audit *audit, struct tremolo_report *report,
                  const struct tremolo_study *study, const struct tremolo_round *round,
                  const struct audit_sample *sample, unsigned number)
{
    const struct tremolo_platform platform = audit_platform(audit);
    const struct tremolo_sample given = {sample->features, sample->response, (uint16_t)number};
    size_t length = sizeof audit->bytes;
    enum tremolo_status status =
        tremolo_device_report(&audit->work, audit->bytes, &length, study, round, &given, &platform);
    audit_expect_wiped(audit);
    if (status == TREMOLO_OK) {
        bool first = audit->length_of != study;
        audit->length = first ? length : audit->length;
        audit->length_of = study;
        audit_note(audit, CHECK_LENGTH, length == audit->length ? 1.0 : 0.0, (double)length,
                   (double)audit->length, "reports of one study have %zu bytes and %zu",
                   audit->length, length);
        status = tremolo_report_decode(report, audit->bytes, length);
    }
    audit_note(audit, CHECK_READ, status == TREMOLO_OK ? 1.0 : 0.0, status, 0.0,
               "a report was refused or cannot be read: %s", tremolo_status_sentence(status));
    if (status == TREMOLO_OK) {
        audit_note(audit, CHECK_READ, report->round == round->number ? 1.0 : 0.0, report->round,
                   round->number, "a report of round %u says round %u", round->number,
                   report->round);
    }
    return audit_goes_on(audit, status);
}

static int32_t raw_at(double place, const struct tremolo_bounds *bounds)
{
    double width = (double)bounds->high - bounds->low;
    double raw = bounds->low + 0.5 * (place + 1.0) * width;
    return (int32_t)llrint(fmin(fmax(raw, INT32_MIN), INT32_MAX));
}

void audit_sample_at(struct audit_sample *sample, const struct tremolo_study *study,
                     const double *place)
{
    for (unsigned i = 0; i < study->dimension; i++) {
        sample->features[i] = raw_at(place[i], &study->bounds[i]);
    }
    sample->response = raw_at(place[study->dimension], &study->response_bounds);
}
