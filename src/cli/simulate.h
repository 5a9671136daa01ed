/* simulate.h -- what the files of `tremolo simulate` share. */
#ifndef TREMOLO_CLI_SIMULATE_H
#define TREMOLO_CLI_SIMULATE_H

#include "convergence.h"
#include "coefficients.h"
#include "experiment.h"
#include "result.h"
#include "tremolo_privacy.h"
#include "tremolo_study_file.h"

enum { SIMULATE_REPEATS_MAX = 100000, SIMULATE_WITHOUT_MAX = 64 };

#define SIMULATE_LEVEL 0.95 /* of the intervals */

struct simulate_options {
    const char *path, *response, *features;
    const char *study; /* bounds and all else that this file fixes; may be NULL */
    struct tremolo_study_file *study_file; /* the same, read; NULL without */
    char *listed_features; /* made from the study or --without, as --features has them */
    const char *without[SIMULATE_WITHOUT_MAX];
    size_t without_count;
    double clip;    /* of samples, by the study, scaled; 0: the whole box */
    char separator; /* 0: detect */
    struct experiment_options experiment;
    enum scaling scaling;
    double test_share;
    size_t repeats;
    uint64_t seed;
    bool json;
    const char *reports; /* keep the first repeat's reports in this file; may be NULL */
    bool force;
    const char *report;           /* save the result under this name, too; may be NULL */
    char line[RESULT_LINE_BYTES]; /* the command as typed, for the report */
};

struct simulate_result {
    size_t rows, dropped, dimension, devices, held_out;
    double *r2, *r2_ols; /* one for each repeat */
    double seconds;
    /* of the first repeat */
    struct tremolo_mechanism_scales privacy;
    size_t clipped;      /* devices whose sample the study's clip shortens */
    size_t *clamped;     /* values beyond the study's bounds: of each feature, of the response */
    size_t coefficients; /* 0 when there is no inference; else features + intercept */
    struct tremolo_coefficient *coefficient;
    double *prediction;                            /* features, then intercept; own units */
    const char *remark;                            /* why there is no inference, or NULL */
    struct tremolo_convergence_answer convergence; /* of methods with rounds */
};

/* Read the command line. False with the exit code in *code when there is
 * nothing to run (help included). */
bool simulate_parse(struct simulate_options *options, int *code, int argc, char **argv);

/* List the features that --without leaves of the study's, or of the table's columns.
 * False with a sentence in `error`. */
bool simulate_leave_out(struct simulate_options *options, const struct tremolo_table *table,
                        char error[TREMOLO_TABLE_ERROR_BYTES]);

/* Do devices scale by the study's bounds in this simulation, and clamp what is beyond? */
bool simulate_clamps(const struct simulate_options *options);

/* Does the study's clip act on the devices of this simulation? By bounds only: in
 * other units its radius means nothing. */
bool simulate_clips(const struct simulate_options *options);

/* What simulate_parse() made. */
void simulate_options_free(struct simulate_options *options);

void simulate_print(const struct simulate_options *options, const struct tremolo_design *design,
                    const struct simulate_result *result);
/* False without memory. */
bool simulate_print_json(const struct simulate_options *options,
                         const struct tremolo_design *design, const struct simulate_result *result);

/* What a result's mechanism promises; not for ols, which promises nothing. */
struct tremolo_promise simulate_promise(const struct simulate_options *options,
                                        const struct simulate_result *result);

/* Save the result as a file to hand on. Codes of the command line. */
int simulate_save(const struct simulate_options *options, const struct tremolo_design *design,
                  const struct simulate_result *result);

enum { SIMULATE_SENTENCE_BYTES = 1024 };

/* How many values were clamped, and in which columns most; for simulate_clamps(). */
void simulate_clamped_words(char text[SIMULATE_SENTENCE_BYTES], const struct tremolo_design *design,
                            const struct simulate_result *result);
json_t *simulate_clamped_json(const struct tremolo_design *design,
                              const struct simulate_result *result);

double simulate_mean(const double *values, size_t count);
double simulate_sd(const double *values, size_t count);
struct coefficients simulate_coefficients(const struct tremolo_design *design,
                                          const struct simulate_result *result);
const char *simulate_neighbours(char text[64], const struct simulate_options *options);

#endif
