/* study_file.h -- inside of a parsed study; private to this module.
 *
 * A file keeps the JSON tree it was read from: all strings point into it. */
#ifndef TREMOLO_STUDY_INSIDE_H
#define TREMOLO_STUDY_INSIDE_H

#include <jansson.h>

#include "inputs.h"
#include "study_internal.h"
#include "tremolo_study_file.h"

enum {
    STUDY_VERSION = 1,
    STUDY_VERSION_BALLOT = 2,  /* of the encoding alone: studies of samples keep their ids */
    STUDY_VERSION_DERIVED = 2, /* more, with terms or fillings: others keep their ids */
    STUDY_VERSION_TYPICAL = 4, /* more, where a ballot's ranges need not be the written ones */
    STUDY_MAX_TERM_BYTES = 512,
    STUDY_COORDINATE_NAME_BYTES = 2 * TREMOLO_STUDY_MAX_NAME + 2, /* "feature=level" */
    STUDY_MAX_ROUNDS = 1000,
};

struct study_feature {
    struct tremolo_study_feature shown;
    const char *level[TREMOLO_STUDY_MAX_LEVELS];
};

struct tremolo_study_file {
    json_t *root;
    struct tremolo_study_terms terms;
    size_t feature_count;
    struct study_feature *features; /* feature_count, then the response */
    size_t dimension;
    struct tremolo_study_coordinate coordinates[TREMOLO_MAX_COORDINATES];
    char names[TREMOLO_MAX_COORDINATES][STUDY_COORDINATE_NAME_BYTES];
    struct tremolo_bounds bounds[TREMOLO_MAX_DIMENSION];
    struct tremolo_study device;
    struct tremolo_inputs *inputs;
    uint8_t *canonical;
    size_t canonical_length;
};

/* Where a reader stands in the file, and what it found wrong so far. */
struct study_place {
    const json_t *value; /* NULL: there is none */
    size_t path_length;
};
struct study_reader {
    struct tremolo_study_problems *problems;
    struct study_place at;
    char path[TREMOLO_STUDY_PATH_BYTES];
    bool no_memory; /* for a part of it */
};

/* Note a problem of member `key` ("" is the value itself) where we stand; false. */
bool study_problem(struct study_reader *reader, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Step into a member or, with the list's key, an element; the answer is what
 * study_leave() takes to step back. */
struct study_place study_enter(struct study_reader *reader, const char *key);
struct study_place study_enter_element(struct study_reader *reader, const char *key, size_t index);
void study_leave(struct study_reader *reader, struct study_place before);

/* Readers of one member of the object where we stand. False, with a problem noted and
 * the output untouched, when it is wrong; true, with the output untouched, when it is left
 * out and not required. */
enum study_need { STUDY_OPTIONAL, STUDY_REQUIRED };
struct study_interval {
    double low;
    double high;
    bool low_open; /* the bound itself is refused */
    bool high_open;
};
bool study_number(struct study_reader *reader, double *value, const char *key, enum study_need need,
                  const struct study_interval *interval);
bool study_whole(struct study_reader *reader, uint64_t *value, const char *key,
                 enum study_need need, uint64_t low, uint64_t high);
bool study_text(struct study_reader *reader, const char **value, const char *key,
                enum study_need need, size_t low, size_t high);
bool study_choice(struct study_reader *reader, unsigned *value, const char *key,
                  enum study_need need, const char *const *choices);
bool study_date(struct study_reader *reader, int64_t *value, const char *key);

/* Step into the object at `key` and check that it has no key outside the NULL-ended list.
 * False, having stayed, when it is none, with a problem unless it is optional and left out. */
bool study_open(struct study_reader *reader, struct study_place *before, const char *key,
                enum study_need need, const char *const *keys);
void study_only_keys(struct study_reader *reader, const char *const *keys);

/* Features or terms into coordinates and inputs, the response as coordinate d, and a ballot's ranges
 * about what is typical; false when there are none. Then: every name is of one thing. (expand.c) */
bool study_expand(struct study_reader *reader, struct tremolo_study_file *file);
void study_check_names(struct study_reader *reader, const struct tremolo_study_file *file);

/* The bounds of a feature or term; false, with a problem noted, if they are none. (parse.c) */
bool study_read_bounds(struct study_reader *reader, double *low, double *high);

/* A sentence about terms, and false. (terms.c) */
bool study_fail(char error[TREMOLO_TERMS_ERROR_BYTES], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* As tremolo_formula_parse() and tremolo_inputs_new(), which are made of them: BAD_STUDY with a
 * sentence in `error`, or NO_MEMORY. (terms.c, inputs.c) */
enum tremolo_status study_formula_parse(struct tremolo_formula **formula, const char *text,
                                        char error[TREMOLO_TERMS_ERROR_BYTES]);
enum tremolo_status study_inputs_new(struct tremolo_inputs **inputs,
                                     const struct tremolo_input *columns, size_t count,
                                     const char *terms, bool floors,
                                     char error[TREMOLO_TERMS_ERROR_BYTES]);

/* With everything read and no problem: the device's integers, computed or as
 * the file has them and then checked. */
void study_read_mechanism(struct study_reader *reader, struct tremolo_study_file *file);

/* Canonical encoding and id. */
enum tremolo_status study_identify(struct tremolo_study_file *file);

/* The words of a file's choices, NULL-ended, indexed by their enums, and a word's place in such
 * a list; false, with *place untouched, when it is not there or NULL. */
bool study_find(unsigned *place, const char *const *words, const char *word);
extern const char *const study_kinds[];
extern const char *const study_protects[];
extern const char *const study_sent[];
extern const char *const study_protocols[];
extern const char *const study_releases[];
extern const char *const study_enrolments[];

#endif
