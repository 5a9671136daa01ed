/* vectors.h -- the shape of the generated test vectors in C.
 *
 * tests/vectors/generate.py writes tables of these; see there for what a case
 * means. All of it is constant data, so a microcontroller keeps it in flash. */
#ifndef TREMOLO_PORTS_VECTORS_H
#define TREMOLO_PORTS_VECTORS_H

#include "tremolo_device.h"

/* One call of tremolo_device_report() and what must come of it. */
struct vector_request {
    uint16_t round;
    uint16_t sample;
    const int32_t *features;
    int32_t response;
    uint8_t entropy[TREMOLO_SEED_BYTES];
    int status;
    const uint8_t *report;
    size_t length;
    const int16_t *wire; /* the report's coordinates, or what the answer says */
    uint32_t left;       /* of the budget the release draws on, afterwards */
};

/* One study on one device, its requests in order. */
struct vector_case {
    const char *name;
    struct tremolo_study study;
    uint32_t sensitivity;
    uint32_t charge;
    uint32_t budget;
    int has_mac;
    uint8_t mac_key[TREMOLO_MAC_KEY_BYTES];
    uint8_t entropy[TREMOLO_SEED_BYTES]; /* of the enrolment */
    const int16_t *vectors;
    const struct vector_request *requests;
    size_t count;
};

/* Bytes that the decoder must refuse, or the study they claim to be of. */
struct vector_refused {
    const char *name;
    const uint8_t *bytes;
    size_t length;
    int status;
};

#endif
