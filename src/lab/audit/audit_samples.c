/* audit_samples.c -- what becomes of a sample, under a magnifying glass.
 *
 * At a study's own noise a wrong clip or a wrong wave is hidden, though it costs privacy. So
 * the same core also makes reports for a study of the same shape whose clip radius is a
 * thousand noise standard deviations: neighbours at a small distance keep its charge small. Samples
 * come from all over the domain: the middle, axes, near them, corners, within the ball, on
 * its surface, beyond it, along the vectors, and beyond the features' own bounds. */
#include "audit_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FAMILIES = 9,
    NOISE_LOG2 = 13,
    WIRE_SHIFT = 10, /* eight steps to the noise: rounding shows */
    WIRE_BITS = 16,
    UNIT = 1 << 23,
    CLIP = UNIT / 4 * 3, /* axes end beyond the ball */
    RELEASES = 4,        /* of a device */
    REPORTS_MAX = 12000, /* of a frame: enough for all that is looked for here */
    APART_TRIES = 100,
    WIDE = 40, /* features: the generator fills its buffer several times a report */
    WIDE_REPORTS_MAX = 1500,
    FINE_NOISE_LOG2 =
        10, /* on the finest grid, with samples in the middle, a report is the noise */
    FINE_UNIT = 1 << 14,
    FINE_REPORTS_MAX = 8000,
    BARE_REPORTS_MAX = 50000, /* a value that is bare once in a thousand is bare 50 times */
};

/* The study with too little noise. Its claim is nothing to go by. */
static struct tremolo_study magnify(const struct tremolo_study *study, bool modulated)
{
    struct tremolo_study large = *study;
    large.noise_log2 = NOISE_LOG2;
    large.wire_shift = WIRE_SHIFT;
    large.wire_bits = WIRE_BITS;
    large.unit = UNIT;
    large.clip = CLIP;
    large.distance = 1;
    large.keep = study->keep == TREMOLO_KEEP_ONE ? TREMOLO_KEEP_ONE / 4 * 3 : study->keep;
    large.rounds = RELEASES;
    large.samples = 1;
    large.vectors = modulated ? study->vectors : 0;
    large.amplitude = modulated ? 256u << NOISE_LOG2 : 0;
    large.frequency = 0;
    while (large.vectors * (double)large.amplitude * large.amplitude > 0x1p44) {
        large.amplitude /= 2; /* many vectors have small waves each */
    }
    if (modulated) { /* one radian to the clip radius: phases that are shared show as such */
        large.frequency = (uint32_t)(0x1p40 / (2.0 * M_PI * CLIP));
    }
    return large;
}

static double signed_one(struct tremolo_random *random)
{
    return (tremolo_random_bits(random) & 1) != 0 ? 1.0 : -1.0;
}

/* Places in half ranges: the ball's radius is CLIP / UNIT. */
static void draw_place(double *place, unsigned family, const struct audit_scene *scene,
                       const struct audit_frame *frame, struct tremolo_random *random)
{
    const double ball = (double)CLIP / UNIT;
    unsigned n = scene->n;
    unsigned chosen = (unsigned)(tremolo_random_bits(random) % n);
    unsigned row = (unsigned)(tremolo_random_bits(random) % (scene->m > 0 ? scene->m : n));
    double square = 0.0;
    double length = family == 5   ? ball * (0.98 + 0.04 * tremolo_random_uniform(random))
                    : family == 6 ? ball * (1.0 + tremolo_random_uniform(random))
                                  : ball * tremolo_random_uniform(random);
    for (unsigned i = 0; i < n; i++) {
        place[i] = tremolo_random_normal(random);
        square += place[i] * place[i];
    }
    for (unsigned i = 0; i < n; i++) {
        double sign = signed_one(random);
        switch (family) {
        case 0: /* in the middle */ place[i] = 0.0; break;
        case 1: /* on an axis */ place[i] = i == chosen ? sign : 0.0; break;
        case 2: /* near one */ place[i] = i == chosen ? sign : 0.2 * sign; break;
        case 3: /* at a corner */ place[i] = sign; break;
        case 7: /* along a vector */
            place[i] = length / ball * frame->row[(size_t)row * n + i];
            break;
        case 8: /* out of bounds */ place[i] = 3.0 * sign; break;
        default: /* within, on, beyond the sphere */ place[i] *= length / sqrt(square); break;
        }
    }
}

/* Samples of all families, or of the first so many. */
static enum tremolo_status run_frame(struct audit *audit, const struct audit_scene *scene,
                                     const struct audit_frame *frame, unsigned families,
                                     unsigned reports)
{
    struct audit_view view;
    struct audit_sample sample;
    struct audit_battery *battery = audit_battery_new(scene, frame);
    enum tremolo_status status = battery == NULL ? TREMOLO_NO_MEMORY : TREMOLO_OK;
    for (unsigned k = 0; k < reports && status == TREMOLO_OK; k++) {
        double place[AUDIT_COORDINATES_MAX + 1] = {0.0};
        unsigned family = (unsigned)(tremolo_random_bits(&audit->random) % families);
        draw_place(place, family, scene, frame, &audit->random);
        if (scene->n == scene->d) { /* a public response is any */
            place[scene->n] = 2.0 * tremolo_random_uniform(&audit->random) - 1.0;
        }
        audit_sample_at(&sample, &scene->study, place);
        if (k % RELEASES == 0) {
            status = audit_enrol(audit, UINT32_MAX, UINT32_MAX);
        }
        if (status == TREMOLO_OK) {
            status = audit_look(&view, audit, scene, frame, &sample, k % RELEASES);
        }
        if (status == TREMOLO_OK) {
            view.family = family;
            status = audit_battery_add(battery, audit, &view);
        }
    }
    if (status == TREMOLO_OK) {
        status = audit_battery_judge(battery, audit);
    }
    audit_battery_free(battery);
    return status;
}

/* Two devices with the same entropy, whose reports may differ by their samples alone: by the
 * difference of what is kept, and one step for the rounding. */
static enum tremolo_status try_apart(struct audit *audit, const struct audit_scene *scene)
{
    struct audit_view view[2];
    struct audit_sample sample;
    enum tremolo_status status = TREMOLO_OK;
    double worst = 0.0;
    unsigned where = 0;
    bool ids = true;
    const struct audit_device device = audit->device;
    for (unsigned k = 0; k < APART_TRIES && status == TREMOLO_OK; k++) {
        uint64_t seed = tremolo_random_bits(&audit->random);
        audit->device.seeded = true;
        for (unsigned person = 0; person < 2 && status == TREMOLO_OK; person++) {
            double place[AUDIT_COORDINATES_MAX + 1] = {0.0};
            draw_place(place, (k + person) % FAMILIES, scene, &scene->frame[0], &audit->random);
            audit_sample_at(&sample, &scene->study, place);
            audit->device.random = tremolo_random_from(seed, 0);
            status = audit_enrol(audit, UINT32_MAX, UINT32_MAX);
            if (status == TREMOLO_OK) {
                status = audit_look(&view[person], audit, scene, &scene->frame[0], &sample, 0);
            }
        }
        for (unsigned i = 0; i < scene->n && status == TREMOLO_OK; i++) {
            double off = fabs(view[0].wire[i] - view[1].wire[i] -
                              (view[0].kept[i] - view[1].kept[i]) / scene->step);
            where = off > worst ? i : where;
            worst = fmax(worst, off);
        }
        ids =
            ids && (status != TREMOLO_OK || memcmp(view[0].id, view[1].id, sizeof view[0].id) == 0);
    }
    audit->device.random = device.random;
    audit->device.seeded = device.seeded;
    audit_note(audit, CHECK_APART, worst > 1.01 || !ids ? 0.0 : 1.0, worst, 1.0,
               "with the same entropy two samples' reports differ by %.4g wire steps more than the "
               "samples do (coordinate %u)%s",
               worst, where, ids ? "" : ", and in their ids");
    return status;
}

/* Without waves first: what goes wrong there is no wave's fault. */
static enum tremolo_status run_magnified(struct audit *audit, bool modulated)
{
    struct audit_scene scene;
    const struct tremolo_study study = magnify(&audit->plan->study, modulated);
    uint64_t wanted = audit->plan->pairs;
    unsigned reports = wanted < REPORTS_MAX ? (unsigned)wanted : REPORTS_MAX;
    enum tremolo_status status = audit_scene_open(
        &scene, modulated ? "little noise, modulated" : "little noise", &study, audit);
    for (unsigned f = 0; f < 2 && status == TREMOLO_OK; f++) {
        status = run_frame(audit, &scene, &scene.frame[f], FAMILIES, reports);
    }
    if (status == TREMOLO_OK && !modulated) {
        status = try_apart(audit, &scene);
    }
    audit_scene_close(&scene);
    return status;
}

/* On the finest grid a value is hardly ever the sample's own. */
static void refine(struct tremolo_study *study)
{
    study->noise_log2 = FINE_NOISE_LOG2;
    study->wire_shift = 0;
    study->unit = FINE_UNIT;
    study->clip = FINE_UNIT;
}

static enum tremolo_status run_bare(struct audit *audit)
{
    struct audit_scene scene;
    struct tremolo_study study = magnify(&audit->plan->study, false);
    uint64_t wanted = audit->plan->pairs;
    refine(&study);
    enum tremolo_status status =
        audit_scene_open(&scene, "the finest grid, all samples", &study, audit);
    if (status == TREMOLO_OK) {
        status = run_frame(audit, &scene, &scene.frame[0], FAMILIES,
                           wanted < BARE_REPORTS_MAX ? (unsigned)wanted : BARE_REPORTS_MAX);
    }
    audit_scene_close(&scene);
    return status;
}

/* As many features as take the generator through several buffers: with all kinds of samples,
 * or on the finest grid, where a value that comes too often, as two zeros would, is seen. */
static enum tremolo_status run_wide(struct audit *audit, bool fine)
{
    const unsigned most = fine ? FINE_REPORTS_MAX : WIDE_REPORTS_MAX;
    struct tremolo_bounds bounds[WIDE];
    struct audit_scene scene;
    struct tremolo_study study = magnify(&audit->plan->study, false);
    uint64_t wanted = audit->plan->pairs;
    for (unsigned i = 0; i < WIDE; i++) {
        bounds[i] = study.bounds[i % study.dimension];
    }
    study.bounds = bounds;
    study.dimension = WIDE;
    if (fine) {
        refine(&study);
    }
    enum tremolo_status status =
        audit_scene_open(&scene, fine ? "the finest grid" : "40 features", &study, audit);
    if (status == TREMOLO_OK) {
        status = run_frame(audit, &scene, &scene.frame[0], fine ? 1 : FAMILIES,
                           wanted < most ? (unsigned)wanted : most);
    }
    audit_scene_close(&scene);
    return status;
}

enum tremolo_status audit_noise_run(struct audit *audit)
{
    struct audit_scene scene;
    enum tremolo_status status = run_magnified(audit, false);
    if (status == TREMOLO_OK && audit->plan->study.vectors > 0) {
        status = run_magnified(audit, true);
    }
    if (status == TREMOLO_OK) {
        status = run_bare(audit);
    }
    if (status == TREMOLO_OK && audit->plan->study.dimension < WIDE) {
        status = run_wide(audit, false);
    }
    /* Fewer reports hold too few of each value. */
    if (status == TREMOLO_OK && audit->plan->study.dimension < WIDE &&
        audit->plan->pairs >= FINE_REPORTS_MAX) {
        status = run_wide(audit, true);
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    status = audit_scene_open(&scene, "the study", &audit->plan->study, audit);
    if (status == TREMOLO_OK) {
        status = audit_pairs_run(audit, &scene);
    }
    audit_scene_close(&scene);
    return status;
}
