/* integers.c -- the integers of a device's study, read and written by name. */
#include "study_integers.h"

const struct study_integer *study_integers_of(enum tremolo_release_kind release)
{
    static const struct study_integer sample[] = {
        STUDY_INTEGER(noise_log2), STUDY_INTEGER(wire_shift),
        STUDY_INTEGER(wire_bits),  STUDY_INTEGER(keep),
        STUDY_INTEGER(unit),       STUDY_INTEGER(clip),
        STUDY_INTEGER(distance),   STUDY_INTEGER(amplitude),
        STUDY_INTEGER(frequency),  {NULL, 0, 0}};
    static const struct study_integer ballot[] = {STUDY_INTEGER(constant),
                                                  STUDY_INTEGER(response_weight),
                                                  STUDY_INTEGER(rank_first),
                                                  STUDY_INTEGER(rank_top),
                                                  {NULL, 0, 0}};
    return release == TREMOLO_RELEASE_BALLOT ? ballot : sample;
}

uint32_t study_integer_get(const struct tremolo_study *study, const struct study_integer *integer)
{
    const void *field = (const char *)study + integer->offset;
    return integer->max <= UINT8_MAX    ? *(const uint8_t *)field
           : integer->max <= UINT16_MAX ? *(const uint16_t *)field
                                        : *(const uint32_t *)field;
}

void study_integer_set(struct tremolo_study *study, const struct study_integer *integer,
                       uint64_t value)
{
    void *field = (char *)study + integer->offset;
    if (integer->max <= UINT8_MAX) {
        *(uint8_t *)field = (uint8_t)value;
    } else if (integer->max <= UINT16_MAX) {
        *(uint16_t *)field = (uint16_t)value;
    } else {
        *(uint32_t *)field = (uint32_t)value;
    }
}

json_t *study_integers_json(json_t *object, const struct tremolo_study *study,
                            const struct study_integer *list)
{
    for (; list->name != NULL; list++) {
        json_t *value = json_integer(study_integer_get(study, list));
        if (json_object_set_new(object, list->name, value) != 0) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}
