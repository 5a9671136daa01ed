/* scene.c -- a study's reports, read along directions in which their law is known.
 *
 * A report is (1 - alpha) clip(x) + waves along the broadcast vectors + noise, rounded to the
 * wire. The audit knows x and computes the kept sample by itself, in floating point. What is
 * left is normal in every direction orthogonal to the vectors, and a cosine of a uniform angle
 * plus a normal along each of them. Half a step of dither makes the rounded values
 * continuous: noise is eight steps or more, so that the sum of both is normal to 1e-5. */
#include "audit_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- frames */

static double product(const double *a, const double *b, unsigned n)
{
    double sum = 0.0;
    for (unsigned i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* Rows of the features' space at random, made orthonormal one after the other, twice. */
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
    scene->table_end = contrast + 9.0;
    for (unsigned k = 0; k < AUDIT_TABLE; k++) {
        double t = scene->table_end * (2.0 * k / (AUDIT_TABLE - 1.0) - 1.0);
        double below = 0.0;
        double density = 0.0;
        for (unsigned i = 0; i < nodes; i++) {
            double off = t - contrast * cosine[i];
            if (fabs(off) < 9.5) { /* beyond, nothing is added: a node is above t or below it */
                below += audit_normal_cdf(off);
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

static double look_up(const double *table, double place)
{
    place = fmin(fmax(place, 0.0), AUDIT_TABLE - 1.0001);
    unsigned k = (unsigned)place;
    return table[k] + (place - k) * (table[k + 1] - table[k]);
}

static double place_of(const struct audit_scene *scene, double t)
{
    return 0.5 * (t / scene->sd / scene->table_end + 1.0) * (AUDIT_TABLE - 1.0);
}

double audit_wave_cdf(const struct audit_scene *scene, double t)
{
    return look_up(scene->table, place_of(scene, t));
}

/* Up to a constant. */
double audit_wave_log_density(const struct audit_scene *scene, double t)
{
    return look_up(scene->table + AUDIT_TABLE, place_of(scene, t));
}

/* ---------------------------------------------------------------- scenes */

bool audit_scene_open(struct audit_scene *scene, const char *name,
                      const struct tremolo_study *study, struct audit *audit)
{
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

static double scaled(int32_t raw, const struct tremolo_bounds *bounds, double unit)
{
    double inside = fmin(fmax(raw, bounds->low), bounds->high);
    return rint((2.0 * (inside - bounds->low) / ((double)bounds->high - bounds->low) - 1.0) * unit);
}

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
