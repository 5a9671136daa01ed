/* device.c -- reports made by devices in memory, and how the audit reads them.
 *
 * A device is driven as a real one would be: ledger, generator, clip, modulation, noise, rounding and
 * encoding all run, and the audit sees nothing but the bytes. What is written to a device can be made
 * to fail or be lost, and its entropy to fail, repeat itself or change by a bit.
 *
 * Noisy samples are read in a *scene*, which is a study with what is known of its law. A report is
 *
 *     (1 - alpha) clip(x) + waves along the broadcast vectors + noise, rounded to the wire.
 *
 * The audit knows x and computes the kept sample by itself, in floating point. The residue is normal in
 * every direction orthogonal to the vectors, and a cosine of a uniform angle plus a normal along each
 * of them. Half a step of dither makes the rounded values continuous: noise is eight steps or more, so
 * that the sum of both is normal to 1e-5. A *frame* is an orthonormal basis of the directions along
 * which residues are taken. Ids of either release come last. */
#include "audit_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* Fill bytes from the operating system, or from the device's seeded generator. A seeded source
 * can be made to repeat itself with a period, at every call, and to have one bit flipped. */
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

/* The platform's entropy callback. It gives seeds only: the device's own generator makes
 * everything else of them. The last seed is kept, so that the audit can compute what a report
 * must hold. */
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

/* The platform's read callback. It fails on request, and for a slot that the device does not
 * have. */
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

/* The platform's write callback, with the same rules. */
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

/* True if all bytes of the object, at most those of a working memory, are zero. */
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

/* The secret follows the report in a slot. A broken build may have stored any length. */
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
        /* The first report of a study sets the length that all others must have. */
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

/* The integer nearest to a place given in half ranges from the middle of the bounds. */
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

/* ---------------------------------------------------------------- frames */

/* In the frame along the axes a score belongs to one coordinate, so findings can name it. A
 * turned frame sees what is spread over many coordinates. The third takes the axes in reverse,
 * because the first noise that a device draws would otherwise always lie along a vector, where it
 * is hardest to see. */

/* The inner product of two vectors of n. */
static double product(const double *a, const double *b, unsigned n)
{
    double sum = 0.0;
    for (unsigned i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* Fill d rows with a random orthonormal basis of the features' space: normal vectors, made
 * orthogonal to the earlier ones twice, because once leaves errors of the size of the
 * cancellation. The response keeps its axis. */
static void turn(double *row, unsigned d, unsigned n, struct tremolo_random *random)
{
    for (unsigned j = 0; j < d; j++) {
        double *mine = row + (size_t)j * n;
        for (unsigned i = 0; i < d; i++) {
            mine[i] = tremolo_random_normal(random);
        }
        for (unsigned k = 0; k < 2 * j; k++) {
            const double *earlier = row + (size_t)(k % j) * n;
            double along = product(mine, earlier, d);
            for (unsigned i = 0; i < d; i++) {
                mine[i] -= along * earlier[i];
            }
        }
        double length = sqrt(product(mine, mine, d));
        for (unsigned i = 0; i < d; i++) {
            mine[i] /= length;
        }
    }
}

/* Make a frame of one kind. The vectors that devices get are its first m rows, rounded to the
 * device's integers. */
static enum tremolo_status open_frame(struct audit_frame *frame, const struct audit_scene *scene,
                                      enum audit_frame_kind kind)
{
    static const char *const names[AUDIT_FRAMES] = {"along the axes", "turned",
                                                    "axes from the last on"};
    unsigned n = scene->n;
    *frame = (struct audit_frame){
        .scene = scene,
        .name = names[kind],
        .axes = kind == AUDIT_AXES,
        .row = calloc((size_t)n * n, sizeof *frame->row),
        .vectors =
            scene->m > 0 ? calloc((size_t)scene->m * scene->d, sizeof *frame->vectors) : NULL,
    };
    if (frame->row == NULL || (scene->m > 0 && frame->vectors == NULL)) {
        return TREMOLO_NO_MEMORY;
    }
    for (unsigned i = 0; i < n; i++) {
        bool last = kind == AUDIT_AXES_FROM_LAST && i < scene->d;
        frame->row[(size_t)i * n + (last ? scene->d - 1 - i : i)] = 1.0;
    }
    if (kind == AUDIT_TURNED) {
        turn(frame->row, scene->d, n, &scene->audit->random);
    }
    for (unsigned j = 0; j < scene->m; j++) {
        for (unsigned i = 0; i < scene->d; i++) {
            frame->vectors[j * scene->d + i] =
                (int16_t)lrint(frame->row[(size_t)j * n + i] * TREMOLO_VECTOR_ONE);
        }
    }
    return TREMOLO_OK;
}

/* ---------------------------------------------------------------- waves */

/* Means over the angle by the midpoint rule, which converges geometrically once the nodes
 * are closer than the noise. */
enum { CONTRAST_MAX = 256, NODES_MAX = 64 + 8 * CONTRAST_MAX };

/* Tabulate the law of a modulated direction in units of the noise: distribution, then log
 * density. */
static enum tremolo_status fill_table(struct audit_scene *scene)
{
    double contrast = scene->amplitude / scene->sd;
    unsigned nodes = 64 + (unsigned)(8.0 * contrast);
    double cosine[NODES_MAX];
    if (contrast > CONTRAST_MAX) {
        return TREMOLO_BAD_LAMBDA; /* the table would be too coarse for the noise */
    }
    for (unsigned i = 0; i < nodes; i++) {
        cosine[i] = cos(M_PI * (i + 0.5) / nodes);
    }
    /* Nine standard deviations beyond the largest wave. */
    scene->table_end = contrast + 9.0;
    for (unsigned k = 0; k < AUDIT_TABLE; k++) {
        double t = scene->table_end * (2.0 * k / (AUDIT_TABLE - 1.0) - 1.0);
        double below = 0.0;
        double density = 0.0;
        for (unsigned i = 0; i < nodes; i++) {
            double off = t - contrast * cosine[i];
            if (fabs(off) < 9.5) { /* beyond, nothing is added: a node is above t or below it */
                below += tremolo_normal_cdf(off);
                density += exp(-0.5 * off * off);
            } else {
                below += off > 0.0;
            }
        }
        scene->table[k] = below / nodes;
        scene->table[AUDIT_TABLE + k] = log(density / nodes);
    }
    return TREMOLO_OK;
}

/* Linear interpolation in one half of the table; beyond the ends the last value holds. */
static double look_up(const double *table, double place)
{
    place = fmin(fmax(place, 0.0), AUDIT_TABLE - 1.0001);
    unsigned k = (unsigned)place;
    return table[k] + (place - k) * (table[k + 1] - table[k]);
}

/* Where a residue t lies in the table. */
static double place_of(const struct audit_scene *scene, double t)
{
    return 0.5 * (t / scene->sd / scene->table_end + 1.0) * (AUDIT_TABLE - 1.0);
}

struct audit_law audit_wave_law(const struct audit_scene *scene, double t)
{
    double place = place_of(scene, t);
    return (struct audit_law){look_up(scene->table, place),
                              look_up(scene->table + AUDIT_TABLE, place)};
}

/* ---------------------------------------------------------------- scenes */

/* Every report that is made in a scene passes through audit_look(), so that what must hold of
 * each single report (its length, its round, its response, a wiped working memory) is noted there
 * for all parts. */

bool audit_scene_open(struct audit_scene *scene, const char *name,
                      const struct tremolo_study *study, struct audit *audit)
{
    /* The variance of what is added to a kept sample: noise, rounding to the wire (step^2 / 12),
     * and the dither that hides the rounding (as much again). */
    double noise = ldexp(1.0, study->noise_log2);
    double step = ldexp(1.0, study->wire_shift);
    double sd = sqrt(noise * noise + step * step / 6.0);
    *scene = (struct audit_scene){
        .audit = audit,
        .name = name,
        .study = *study,
        .n = tremolo_study_coordinates(study),
        .d = study->dimension,
        .m = study->vectors,
        .step = step,
        .sd = sd,
        .keep = (double)study->keep / TREMOLO_KEEP_ONE,
        .amplitude = study->amplitude,
        .waves = study->vectors > 0 && study->amplitude > 4.0 * sd,
        .table = calloc((size_t)2 * AUDIT_TABLE, sizeof *scene->table),
    };
    audit->length_of = NULL; /* another study's reports may be longer */
    return audit_goes_on(audit, tremolo_study_check(study)) &&
           audit_goes_on(audit, scene->table == NULL ? TREMOLO_NO_MEMORY : TREMOLO_OK) &&
           audit_goes_on(audit, open_frame(&scene->frame[AUDIT_AXES], scene, AUDIT_AXES)) &&
           audit_goes_on(audit, open_frame(&scene->frame[AUDIT_TURNED], scene, AUDIT_TURNED)) &&
           audit_goes_on(audit, open_frame(&scene->frame[AUDIT_AXES_FROM_LAST], scene,
                                           AUDIT_AXES_FROM_LAST)) &&
           audit_goes_on(audit, scene->m > 0 ? fill_table(scene) : TREMOLO_OK);
}

void audit_scene_close(struct audit_scene *scene)
{
    for (unsigned f = 0; f < AUDIT_FRAMES; f++) {
        free(scene->frame[f].row);
        free(scene->frame[f].vectors);
    }
    free(scene->table);
}

/* A raw value in fine units: clamped to its bounds, scaled and rounded as the device does. */
static double scaled(int32_t raw, const struct tremolo_bounds *bounds, double unit)
{
    double inside = fmin(fmax(raw, bounds->low), bounds->high);
    return rint((2.0 * (inside - bounds->low) / ((double)bounds->high - bounds->low) - 1.0) * unit);
}

/* (1 - alpha) clip(x) by the audit's own arithmetic, in fine units, and the norm before the clip
 * in clip radii. */
void audit_kept(double *kept, double *norm, const struct audit_scene *scene,
                const struct audit_sample *sample)
{
    const struct tremolo_study *study = &scene->study;
    for (unsigned i = 0; i < scene->n; i++) {
        kept[i] = i < scene->d ? scaled(sample->features[i], &study->bounds[i], study->unit)
                               : scaled(sample->response, &study->response_bounds, study->unit);
    }
    *norm = sqrt(product(kept, kept, scene->n)) / study->clip;
    for (unsigned i = 0; i < scene->n; i++) {
        kept[i] *= scene->keep / fmax(*norm, 1.0);
    }
}

/* Note whether the response was sent as the study says: a public one as its place between the
 * bounds, a private one not at all. */
static void read_response(const struct audit_scene *scene, const struct tremolo_report *report,
                          const struct audit_sample *sample)
{
    bool is_public = scene->study.response == TREMOLO_RESPONSE_PUBLIC;
    double place =
        is_public ? scaled(sample->response, &scene->study.response_bounds, TREMOLO_RESPONSE_MAX)
                  : 0.0;
    bool wrong = (report->has_response != 0) != is_public || fabs(report->response - place) > 1.0;
    audit_note(scene->audit, CHECK_RESPONSE, wrong ? 0.0 : 1.0,
               report->response / (double)TREMOLO_RESPONSE_MAX, place / TREMOLO_RESPONSE_MAX,
               "a %s response is sent as %d, to be sent: %s%g", is_public ? "public" : "private",
               report->response, is_public ? "" : "nothing, ", place);
}

bool audit_look(struct audit_view *view, const struct audit_frame *frame,
                const struct audit_sample *sample, unsigned release)
{
    const struct audit_scene *scene = frame->scene;
    struct audit *audit = scene->audit;
    struct tremolo_report report;
    unsigned n = scene->n;
    double off[AUDIT_COORDINATES_MAX];
    const struct tremolo_round round = {frame->vectors, (uint16_t)(release / scene->study.samples)};
    if (!audit_report(audit, &report, &scene->study, &round, sample,
                      release % scene->study.samples) ||
        !audit_goes_on(audit, tremolo_report_unpack(view->wire, AUDIT_COORDINATES_MAX, &report,
                                                    &scene->study))) {
        return false;
    }
    read_response(scene, &report, sample);
    memcpy(view->id, report.id, sizeof view->id);
    audit_kept(view->kept, &view->norm, scene, sample);
    for (unsigned i = 0; i < n; i++) {
        double dither = tremolo_random_uniform(&audit->random) - 0.5;
        off[i] = (view->wire[i] + dither) * scene->step - view->kept[i];
    }
    for (unsigned j = 0; j < n; j++) {
        const double *row = frame->row + (size_t)j * n;
        view->along[j] = frame->axes ? off[j] : product(row, off, n);
        view->seen[j] =
            view->along[j] + (frame->axes ? view->kept[j] : product(row, view->kept, n));
    }
    return true;
}

/* ---------------------------------------------------------------- ids of reports
 *
 * Every bit of an id is compared with its neighbour bits, with the same bit of the report before,
 * and with numbers that it might reveal: coordinates of the sample, its length, noise or rank. */

enum { BYTES = TREMOLO_REPORT_ID_BYTES };

/* Bit `bit` of an id, least significant first. */
static unsigned bit_of(const uint8_t *id, unsigned bit)
{
    return id[bit / 8] >> bit % 8 & 1;
}

/* Add one id and what it must not reveal. False when there is no memory. */
bool audit_ids_add(struct audit_ids *ids, struct audit *audit, const uint8_t *id,
                   const double tells[AUDIT_TELLS])
{
    if (ids->count == ids->capacity) {
        size_t capacity = ids->capacity == 0 ? 1024 : 2 * ids->capacity;
        void *larger = realloc(ids->seen, capacity * sizeof *ids->seen);
        if (larger == NULL) {
            return audit_goes_on(audit, TREMOLO_NO_MEMORY);
        }
        ids->seen = larger;
        ids->capacity = capacity;
    }
    memcpy(ids->seen[ids->count], id, BYTES);
    for (unsigned i = 0; i < BYTES; i++) {
        ids->nibble[2 * i][id[i] >> 4]++;
        ids->nibble[2 * i + 1][id[i] & 15]++;
    }
    for (unsigned bit = 0; bit < AUDIT_ID_BITS; bit++) {
        unsigned set = bit_of(id, bit);
        ids->changed[bit] += ids->count > 0 && bit_of(ids->seen[ids->count - 1], bit) != set;
        for (unsigned k = 0; k < AUDIT_TELLS; k++) {
            ids->revealed[k][bit] += set ? tells[k] : -tells[k];
        }
    }
    for (unsigned k = 0; k < AUDIT_TELLS; k++) {
        ids->square[k] += tells[k] * tells[k];
    }
    ids->count++;
    return true;
}

/* Order ids by their bytes. */
static int compare(const void *one, const void *two)
{
    return memcmp(one, two, BYTES);
}

/* Judge all ids: nibbles uniform, bits changing in half of the reports, no correlation with any
 * of the numbers, none twice. Sorts the list of ids. */
void audit_ids_judge(const struct audit_ids *ids, struct audit *audit,
                     const struct audit_tell *tells)
{
    double n = (double)ids->count;
    for (unsigned i = 0; i < 2 * BYTES; i++) {
        audit_note(audit, CHECK_IDS_LAW, audit_p_uniform(ids->nibble[i], 16), ids->nibble[i][0] / n,
                   1.0 / 16.0,
                   "byte %u of the ids is not uniform: its %s half is 0 in %.4g of reports", i / 2,
                   i % 2 == 0 ? "upper" : "lower", ids->nibble[i][0] / n);
    }
    for (unsigned k = 0; k < AUDIT_TELLS && tells[k].name != NULL && n <= 100.0; k++) {
        audit_leave_out(audit, tells[k].check);
    }
    for (unsigned bit = 0; bit < AUDIT_ID_BITS && n > 100.0; bit++) {
        double changed = (double)ids->changed[bit];
        audit_note(audit, CHECK_IDS_LAW, audit_p_binomial(changed, n - 1.0, 0.5),
                   changed / (n - 1.0), 0.5,
                   "bit %u of the ids changes in %.4g of reports, not in half of them", bit,
                   changed / (n - 1.0));
        for (unsigned k = 0; k < AUDIT_TELLS && tells[k].name != NULL; k++) {
            /* A set bit adds the number, a clear one subtracts it: under the claim a sum of
             * symmetric terms. */
            double r = ids->revealed[k][bit] / sqrt(fmax(ids->square[k] * n, 1e-300));
            double z = ids->revealed[k][bit] / sqrt(fmax(ids->square[k], 1e-300));
            audit_note(audit, tells[k].check, audit_p_even(z), r, 0.0,
                       "bit %u of the ids tells %s: correlation %.3f", bit, tells[k].name, r);
        }
    }
    uint64_t repeats = 0;
    /* Sixteen uniform bytes come twice among 2^30 ids with probability 2^-69. */
    qsort(ids->seen, ids->count, sizeof *ids->seen, compare);
    for (size_t i = 1; i < ids->count; i++) {
        repeats += memcmp(ids->seen[i], ids->seen[i - 1], BYTES) == 0;
    }
    audit_note(audit, CHECK_IDS_REPEATED, repeats > 0 ? 0.0 : 1.0, (double)repeats, 0.0,
               "%llu of %llu ids came before", (unsigned long long)repeats,
               (unsigned long long)ids->count);
}
