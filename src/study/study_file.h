/* study_file.h -- inside of a parsed study; private to this module.
 *
 * A file keeps the JSON tree it was read from: all strings point into it. */
#ifndef TREMOLO_STUDY_INSIDE_H
#define TREMOLO_STUDY_INSIDE_H

#include <jansson.h>

#include "document.h"
#include "inputs.h"
#include "study_internal.h"
#include "tremolo_study_file.h"

enum {
    STUDY_MAX_TERM_BYTES = 512,
    STUDY_COORDINATE_NAME_BYTES = 2 * TREMOLO_STUDY_MAX_NAME + 2, /* "feature=level" */
    STUDY_MAX_ROUNDS = 1000,
    STUDY_SENT_UNSAID = 2, /* a response that does not say how it is sent */
};

/* The encodings that a member of a study can be part of, as bits of document_row.id. */
enum { STUDY_ID_SAMPLE = 1, STUDY_ID_BALLOT = 2, STUDY_ID = STUDY_ID_SAMPLE | STUDY_ID_BALLOT };

struct study_feature {
    struct tremolo_study_feature shown;
    const char *level[TREMOLO_STUDY_MAX_LEVELS];
    const char *comment; /* of a starter; NULL otherwise */
    unsigned sent;       /* of the response: public, private or STUDY_SENT_UNSAID */
    bool ballot;         /* the study's release is a ballot */
};

/* One of "terms": its text and the bounds that are written; NAN without. */
struct study_term {
    const char *text;
    double low, high;
};

struct tremolo_study_file {
    json_t *root;
    struct tremolo_study_terms terms;
    size_t feature_count;
    struct study_feature *features; /* feature_count, then the response */
    struct study_feature *response;
    size_t term_count;
    struct study_term *term; /* NULL without "terms" */
    size_t dimension;
    struct tremolo_study_coordinate coordinates[TREMOLO_MAX_COORDINATES];
    char names[TREMOLO_MAX_COORDINATES][STUDY_COORDINATE_NAME_BYTES];
    struct tremolo_bounds bounds[TREMOLO_MAX_DIMENSION];
    struct tremolo_study device;
    struct tremolo_inputs *inputs;
    uint8_t *canonical;
    size_t canonical_length;
};

/* The table of keys, of struct tremolo_study_file. (study_table.c) */
extern const struct document_row study_rows[];

/* Features or terms into coordinates and inputs, the response as coordinate d, and a ballot's ranges
 * about what is typical; every name is of one thing. A problem is noted where it is not so. (expand.c) */
void study_expand(struct document_reader *reader, struct tremolo_study_file *file);
extern const struct document_row study_term_rows[];

/* The bounds of a feature or term make sense; false, with a problem noted, if not. NAN is a bound with
 * a problem of its own. (expand.c) */
bool study_check_bounds(struct document_reader *reader, double low, double high);

/* A sentence about terms, and false. (terms.c) */
bool study_fail(char error[TREMOLO_TERMS_ERROR_BYTES], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* As tremolo_formula_parse(), which is made of it: BAD_STUDY with a sentence in `error`, or NO_MEMORY.
 * (terms.c) */
enum tremolo_status study_formula_parse(struct tremolo_formula **formula, const char *text,
                                        char error[TREMOLO_TERMS_ERROR_BYTES]);

/* Read the file's tree, check it and compute its id; OK, BAD_STUDY with problems noted, or NO_MEMORY.
 * (study_table.c) */
enum tremolo_status study_read(struct document_reader *reader, struct tremolo_study_file *file);

/* The device's integers, with everything else read: as the file has them and then checked, or
 * computed if there was no problem. (mechanism.c) */
void study_read_mechanism(struct document_reader *reader, struct tremolo_study_file *file);

/* The words of a feature's kind, by enum tremolo_study_kind, and of what is private. (inputs.c,
 * guarantee.c) */
extern const char *const study_kinds[];
extern const char *const study_protects[];

#endif
