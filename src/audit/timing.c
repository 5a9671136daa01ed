/* timing.c -- does a report take as long for one sample as for another?
 *
 * Which of two samples a device gets is a fair coin, thrown for every report apart from all
 * else. If time does not depend on the sample, every order of the times is as likely for one
 * as for the other, whatever else the machine does meanwhile: the rank sum has its stated
 * law under any load. Only the smaller part of the times is compared as well, where the
 * machine's other work disturbs least. */
#include "audit_parts.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

enum { REPORTS_MIN = 1000, REPORTS_MAX = 200000 };

struct timed {
    double seconds;
    unsigned person;
};

static int compare(const void *one, const void *two)
{
    double a = ((const struct timed *)one)->seconds;
    double b = ((const struct timed *)two)->seconds;
    return (a > b) - (a < b);
}

/* The rank sum of person 1 among the first `count` by time, as a standard normal; ties share
 * nothing, the coin decides their order as well. */
static double rank_sum(const struct timed *timed, unsigned count, unsigned people[2])
{
    double sum = 0.0;
    people[0] = people[1] = 0;
    for (unsigned i = 0; i < count; i++) {
        people[timed[i].person]++;
        sum += timed[i].person == 1 ? i + 1.0 : 0.0;
    }
    double a = people[0];
    double b = people[1];
    return (sum - 0.5 * b * (count + 1.0)) / sqrt(fmax(1.0, a * b * (count + 1.0) / 12.0));
}

static void judge(struct audit *audit, struct timed *timed, unsigned count, const char *what)
{
    unsigned people[2];
    qsort(timed, count, sizeof *timed, compare);
    for (unsigned part = 1; part <= 2; part++) {
        unsigned among = count / part;
        double z = rank_sum(timed, among, people);
        double r = z / sqrt(among);
        audit_note(audit, CHECK_TIMING, audit_p_normal(z), r, 0.0,
                   "a report takes longer for %s: rank correlation %.3f",
                   r > 0.0 ? what : "the middle", r);
    }
}

static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Times of `count` reports of either sample; false when the run has failed. */
static bool take_times(struct timed *timed, unsigned count, struct audit *audit,
                       const struct tremolo_round *round, const struct audit_sample sample[2])
{
    bool good = true;
    for (unsigned k = 0; k < count && good; k++) {
        struct tremolo_report report;
        timed[k].person = tremolo_random_bits(&audit->random) >> 63 != 0;
        good = audit_enrol(audit, UINT32_MAX, UINT32_MAX);
        timed[k].seconds = -seconds();
        good = good && audit_report(audit, &report, &audit->plan->study, round,
                                    &sample[timed[k].person], 0);
        timed[k].seconds += seconds();
    }
    return good;
}

void audit_timing_run(struct audit *audit)
{
    static const double places[3][2] = {{1.0, 1.0}, {0.9, 0.0}, {0.01, 0.01}};
    static const char *const names[3] = {"a corner", "an axis", "a small sample"};
    const struct tremolo_study *study = &audit->plan->study;
    int16_t *vectors = calloc((size_t)study->vectors * study->dimension + 1, sizeof *vectors);
    uint64_t wanted = audit->plan->pairs / 3;
    unsigned count = wanted < REPORTS_MAX ? (unsigned)wanted : REPORTS_MAX;
    struct timed *timed = calloc((size_t)count + 1, sizeof *timed);
    bool good =
        audit_goes_on(audit, timed == NULL || vectors == NULL ? TREMOLO_NO_MEMORY : TREMOLO_OK);
    for (unsigned j = 0; j < study->vectors && good; j++) {
        vectors[j * study->dimension + j] = TREMOLO_VECTOR_ONE;
    }
    const struct tremolo_round round = {study->vectors > 0 ? vectors : NULL, 0};
    for (unsigned pair = 0; pair < 3 && good; pair++) {
        struct audit_sample sample[2];
        for (unsigned person = 0; person < 2; person++) {
            double place[AUDIT_COORDINATES_MAX + 1] = {0.0};
            for (unsigned i = 0; i <= study->dimension && person == 1; i++) {
                place[i] = places[pair][i > 0];
            }
            audit_sample_at(&sample[person], study, place);
        }
        good = take_times(timed, count, audit, &round, sample);
        if (good && count >= REPORTS_MIN) {
            judge(audit, timed, count, names[pair]);
        } else if (good) {
            audit_leave_out(audit, CHECK_TIMING);
        }
    }
    free(vectors);
    free(timed);
}
