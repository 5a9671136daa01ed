/* audit_life.h -- one device from its enrolment on, asked for whatever a device can be asked. */
#ifndef TREMOLO_LAB_AUDIT_LIFE_H
#define TREMOLO_LAB_AUDIT_LIFE_H

#include "audit_parts.h"

struct audit_life {
    struct audit *audit;
    struct tremolo_study study;
    struct audit_sample sample;
    uint16_t number; /* of the sample */
    int16_t vectors[TREMOLO_MAX_VECTORS * TREMOLO_MAX_DIMENSION];
    const uint8_t *mac_key; /* NULL: none */
    uint8_t bytes[TREMOLO_MAX_REPORT_BYTES];
    size_t length;
};

/* Enrol with a budget of this many charges, rounded up to what the ledger counts in. */
bool audit_enrol_for(struct audit_life *life, double charges);
/* Several charges, if a ledger can hold them. */
double audit_room(const struct audit_life *life);
/* Every value of the sample this many half ranges from the middle. */
void audit_place_all(struct audit_life *life, double place);

struct tremolo_round audit_round_of(const struct audit_life *life, unsigned number);

/* Report number `release`, straight from the core: refusals are what is looked for. */
enum tremolo_status audit_ask(struct audit_life *life, unsigned release);
/* The same where nothing may refuse it. */
bool audit_make(struct audit_life *life, unsigned release);
/* Nothing leaves, for this reason or, with TREMOLO_OK, for whichever. */
bool audit_refuses(struct audit_life *life, unsigned release, enum tremolo_status reason);
/* Of the budget of the study's release; -1 when the ledger is refused. */
double audit_left(struct audit_life *life);

/* What there is to say of chance (audit_entropy.c). */
void audit_entropy_run(struct audit_life *life);

#endif
