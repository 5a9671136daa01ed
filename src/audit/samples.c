/* samples.c -- what becomes of a sample, under a magnifying glass.
 *
 * At a study's own noise a wrong clip or a wrong wave is hidden, though it costs privacy. So the same
 * core also makes reports for a study of the same shape with a clip radius of a thousand noise standard
 * deviations; a small distance between neighbours keeps its charge small. Samples come from all over the
 * domain: the middle, axes, near them, corners, within the ball, on its surface, beyond it, along the
 * vectors, and beyond the features' own bounds.
 *
 * There are several such studies (`glasses`): without modulation, with it, with as many features as
 * take the generator through several buffers, and on the finest grid, where a value is hardly ever
 * the sample's own. */
#include "audit_parts.h"

#include <math.h>
#include <string.h>

/* The constants of the magnified studies, and how many reports each takes: enough to see the faults
 * of the zoo (tests/stat/test_audit_zoo.c), in seconds. */

enum {
    FAMILIES = 9,
    NOISE_LOG2 = 13,
    WIRE_SHIFT = 10, /* eight steps to the noise: rounding shows */
    WIRE_BITS = 16,
    UNIT = 1 << 23,
    CLIP = UNIT / 4 * 3, /* axes end beyond the ball */
    RELEASES = 4,        /* of a device */
    LONG_RELEASES = 64,  /* of each LONG_EVERYth: some faults wait a while */
    LONG_EVERY = 128,
    REPORTS_MAX = 12000, /* of a frame: enough for all that is looked for here */
    APART_TRIES = 100,
    WIDE = 40, /* features: the generator fills its buffer several times a report */
    WIDE_REPORTS_MAX = 1500,
    WIDE_VECTORS = 6,
    WIDE_WAVES_MAX = 6000, /* what phases and noise share is small */
    FINE_NOISE_LOG2 =
        10, /* on the finest grid, with samples in the middle, a report is the noise */
    FINE_UNIT = 1 << 14,
    FINE_REPORTS_MAX = 8000,
    BARE_REPORTS_MAX = 100000, /* a value that is bare once in a thousand is bare 100 times */
};

/* The study with too little noise. What it claims does not matter. */
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
    large.rounds = LONG_RELEASES;
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

/* A sample of one family, in half ranges from the middle: the ball's radius is CLIP / UNIT. */
static void draw_place(double *place, unsigned family, const struct audit_frame *frame)
{
    const struct audit_scene *scene = frame->scene;
    struct tremolo_random *random = &scene->audit->random;
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
        double sign = (tremolo_random_bits(random) & 1) != 0 ? 1.0 : -1.0;
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

/* Make up to `most` reports of samples of the first `families` families, and judge them. Most
 * devices live for RELEASES reports, some for LONG_RELEASES. */
static void run_frame(const struct audit_frame *frame, unsigned families, unsigned most)
{
    const struct audit_scene *scene = frame->scene;
    struct audit *audit = scene->audit;
    struct audit_view view;
    struct audit_sample sample;
    struct audit_battery *battery = audit_battery_new(frame);
    unsigned release = 0;
    unsigned releases = 0; /* of this device */
    for (unsigned k = 0; k < most && k < audit->plan->pairs && audit->status == TREMOLO_OK; k++) {
        double place[AUDIT_COORDINATES_MAX + 1] = {0.0};
        unsigned family = (unsigned)(tremolo_random_bits(&audit->random) % families);
        draw_place(place, family, frame);
        if (scene->n == scene->d) { /* a public response is any */
            place[scene->n] = 2.0 * tremolo_random_uniform(&audit->random) - 1.0;
        }
        audit_sample_at(&sample, &scene->study, place);
        if (release == releases && audit_enrol(audit, UINT32_MAX, UINT32_MAX)) {
            releases = audit->device.number % LONG_EVERY == 0 ? LONG_RELEASES : RELEASES;
            release = 0;
        }
        if (audit->status == TREMOLO_OK && audit_look(&view, frame, &sample, release)) {
            release++;
            view.family = family;
            (void)audit_battery_add(battery, &view);
        }
    }
    if (audit->status == TREMOLO_OK) {
        audit_battery_judge(battery);
    }
    audit_battery_free(battery);
}

/* Two devices with the same entropy and different samples: their reports may differ by the
 * difference of what is kept and one step for the rounding, and not in their ids. */
static void try_apart(struct audit *audit, const struct audit_frame *frame)
{
    const struct audit_scene *scene = frame->scene;
    struct audit_view view[2];
    struct audit_sample sample;
    double worst = 0.0;
    unsigned where = 0;
    bool ids = true;
    const struct audit_device device = audit->device;
    for (unsigned k = 0; k < APART_TRIES && audit->status == TREMOLO_OK; k++) {
        uint64_t seed = tremolo_random_bits(&audit->random);
        audit->device.seeded = true;
        /* The same seed for both people: everything that is random is the same, unless it depends
         * on the sample. */
        bool both = true;
        for (unsigned person = 0; person < 2 && both; person++) {
            double place[AUDIT_COORDINATES_MAX + 1] = {0.0};
            draw_place(place, (k + person) % FAMILIES, frame);
            audit_sample_at(&sample, &scene->study, place);
            audit->device.random = tremolo_random_from(seed, 0);
            both = audit_enrol(audit, UINT32_MAX, UINT32_MAX) &&
                   audit_look(&view[person], frame, &sample, 0);
        }
        for (unsigned i = 0; i < scene->n && both; i++) {
            /* In wire steps, less the difference that the samples themselves make. */
            double off = fabs(view[0].wire[i] - view[1].wire[i] -
                              (view[0].kept[i] - view[1].kept[i]) / scene->step);
            where = off > worst ? i : where;
            worst = fmax(worst, off);
        }
        ids = ids && (!both || memcmp(view[0].id, view[1].id, sizeof view[0].id) == 0);
    }
    audit->device.random = device.random;
    audit->device.seeded = device.seeded;
    audit_note(audit, CHECK_APART, worst > 1.01 || !ids ? 0.0 : 1.0, worst, 1.0,
               "with the same entropy two samples' reports differ by %.4g wire steps more than the "
               "samples do (coordinate %u)%s",
               worst, where, ids ? "" : ", and in their ids");
}

/* In this order, because a fault that shows without waves is no fault of the waves. The last has samples
 * in the middle alone: there a report is its noise, and a value that comes too often shows, such as a
 * zero of either sign. */
static const struct glass {
    const char *name;
    bool modulated;
    bool turned; /* both frames */
    bool fine;
    bool wide;
    unsigned families;
    unsigned reports; /* at most */
    unsigned pairs;   /* at least: fewer hold too few of each value */
} glasses[] = {
    {"little noise", .turned = true, .families = FAMILIES, .reports = REPORTS_MAX},
    {"little noise, modulated", true, true, .families = FAMILIES, .reports = REPORTS_MAX},
    {"the finest grid, all samples", .fine = true, .families = FAMILIES,
     .reports = BARE_REPORTS_MAX},
    {"40 features", .wide = true, .families = FAMILIES, .reports = WIDE_REPORTS_MAX},
    {"40 features, modulated", true, .wide = true, .families = FAMILIES, .reports = WIDE_WAVES_MAX},
    {"the finest grid", .fine = true, .wide = true, .families = 1, .reports = FINE_REPORTS_MAX,
     .pairs = FINE_REPORTS_MAX},
};

/* One way of looking: its study, its frame, and the turned frame too where it says so. */
static void look_through(struct audit *audit, const struct glass *glass)
{
    struct audit_scene scene;
    struct tremolo_bounds bounds[WIDE];
    struct tremolo_study study = magnify(&audit->plan->study, glass->modulated);
    for (unsigned i = 0; i < WIDE; i++) {
        bounds[i] = study.bounds[i % study.dimension];
    }
    if (glass->wide) {
        study.bounds = bounds;
        study.dimension = WIDE;
        study.vectors = glass->modulated ? WIDE_VECTORS : 0;
        study.frequency *= 6; /* a sample of so many features is short along each vector */
    }
    if (glass->fine) {
        study.noise_log2 = FINE_NOISE_LOG2;
        study.wire_shift = 0;
        study.unit = FINE_UNIT;
        study.clip = FINE_UNIT;
    }
    if (audit_scene_open(&scene, glass->name, &study, audit)) {
        run_frame(&scene.frame[glass->wide && glass->modulated ? AUDIT_AXES_FROM_LAST : AUDIT_AXES],
                  glass->families, glass->reports);
        if (glass->turned && audit->status == TREMOLO_OK) {
            run_frame(&scene.frame[AUDIT_TURNED], glass->families, glass->reports);
        }
        if (glass == glasses && audit->status == TREMOLO_OK) {
            try_apart(audit, &scene.frame[0]);
        }
    }
    audit_scene_close(&scene);
}

void audit_samples_run(struct audit *audit)
{
    const struct tremolo_audit_plan *plan = audit->plan;
    for (size_t i = 0; i < sizeof glasses / sizeof glasses[0]; i++) {
        bool there = (!glasses[i].modulated || plan->study.vectors > 0) &&
                     (!glasses[i].wide || plan->study.dimension < WIDE) &&
                     plan->pairs >= glasses[i].pairs;
        if (there && audit->status == TREMOLO_OK) {
            look_through(audit, &glasses[i]);
        }
    }
}
