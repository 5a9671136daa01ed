/* audit_life.c -- one device, asked for whatever a device can be asked. */
#include "audit_life.h"

#include <math.h>
#include <string.h>

struct tremolo_round audit_round_of(const struct audit_life *life, unsigned number)
{
    return (struct tremolo_round){life->study.vectors > 0 ? life->vectors : NULL, (uint16_t)number};
}

enum tremolo_status audit_ask(struct audit_life *life, unsigned release)
{
    struct audit *audit = life->audit;
    struct tremolo_platform platform = audit_platform(audit);
    const struct tremolo_round round = audit_round_of(life, release);
    const struct tremolo_sample sample = {life->sample.features, life->sample.response,
                                          life->number};
    platform.mac_key = life->mac_key;
    memset(life->bytes, 0xff, sizeof life->bytes);
    life->length = sizeof life->bytes;
    enum tremolo_status status = tremolo_device_report(&audit->work, life->bytes, &life->length,
                                                       &life->study, &round, &sample, &platform);
    audit_expect_wiped(audit);
    return status;
}

bool audit_make(struct audit_life *life, unsigned release)
{
    return life->audit->status == TREMOLO_OK &&
           audit_goes_on(life->audit, audit_ask(life, release));
}

static bool is_wiped(const struct audit_life *life)
{
    for (size_t i = 0; i < sizeof life->bytes; i++) {
        if (life->bytes[i] != 0) {
            return false;
        }
    }
    return life->length == 0;
}

bool audit_refuses(struct audit_life *life, unsigned release, enum tremolo_status reason)
{
    enum tremolo_status status = audit_ask(life, release);
    return status != TREMOLO_OK && (reason == TREMOLO_OK || status == reason) && is_wiped(life);
}

double audit_left(struct audit_life *life)
{
    struct audit *audit = life->audit;
    const struct tremolo_platform platform = audit_platform(audit);
    uint32_t value = 0;
    enum tremolo_status status = life->study.release == TREMOLO_RELEASE_BALLOT
                                     ? tremolo_device_epsilon(&audit->work, &value, &platform)
                                     : tremolo_device_budget(&audit->work, &value, &platform);
    return status == TREMOLO_OK ? value : -1.0;
}

bool audit_enrol_for(struct audit_life *life, double charges)
{
    double budget = charges * tremolo_study_charge(&life->study);
    if (life->study.release == TREMOLO_RELEASE_BALLOT) {
        return audit_enrol(life->audit, 0, (uint32_t)(ceil(budget / 65536.0) * 65536.0));
    }
    return audit_enrol(life->audit, (uint32_t)budget, 0);
}

double audit_room(const struct audit_life *life)
{
    return fmin(3.5, (double)UINT32_MAX / tremolo_study_charge(&life->study));
}

void audit_place_all(struct audit_life *life, double place)
{
    double places[AUDIT_COORDINATES_MAX + 1];
    for (unsigned i = 0; i <= life->study.dimension; i++) {
        places[i] = place;
    }
    audit_sample_at(&life->sample, &life->study, places);
}
