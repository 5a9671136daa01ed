/* study_integers.h -- the integers of a device's study by their names, so that documents list
 * them in tables. */
#ifndef TREMOLO_STUDY_INTEGERS_H
#define TREMOLO_STUDY_INTEGERS_H

#include <jansson.h>
#include <stddef.h>

#include "tremolo_device.h"

struct study_integer {
    const char *name; /* NULL ends a list */
    size_t offset;    /* in struct tremolo_study, */
    uint32_t max;     /* of an unsigned field, which is as wide as this needs */
};
#define STUDY_INTEGER(field)                                                                       \
    {                                                                                              \
        .name = #field, .offset = offsetof(struct tremolo_study, field),                           \
        .max = UINT32_MAX >> (32 - 8 * sizeof((struct tremolo_study *)0)->field)                   \
    }

/* What the study's release rests on, in the order of its encoding. */
const struct study_integer *study_integers_of(enum tremolo_release_kind release);

uint32_t study_integer_get(const struct tremolo_study *study, const struct study_integer *integer);
void study_integer_set(struct tremolo_study *study, const struct study_integer *integer,
                       uint64_t value);

/* The object with those of a list added; NULL, and it is freed, without memory. */
json_t *study_integers_json(json_t *object, const struct tremolo_study *study,
                            const struct study_integer *list);

#endif
