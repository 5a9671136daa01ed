/* tremolo_study_file.h -- what everybody agreed on, as people write it.
 *
 * A study is a JSON file: features with public bounds, a response, a
 * guarantee, a protocol and limits (docs/reference/protocol.md lists every key). Reading
 * it explains every problem at once; what is read is immutable, and its id is
 * a hash of its canonical encoding, so two parties with the same id agree on
 * every number, the device's integers included.
 *
 *     struct tremolo_study_file *file = NULL;
 *     struct tremolo_study_problems problems;
 *     enum tremolo_status status = tremolo_study_file_parse(&file, &problems, json, length);
 *     if (status == TREMOLO_BAD_STUDY) {
 *         for (size_t i = 0; i < problems.stored; i++) {
 *             printf("%s: %s\n", problems.item[i].path, problems.item[i].reason);
 *         }
 *     }
 *     const uint8_t *id = tremolo_study_file_id(file);
 *     ...
 *     tremolo_study_file_free(file);
 *
 * Scaled units: a feature (and a private response) at its public bounds has
 * the scaled value -1 or 1; clip radius, neighbour distance, lambda, omega
 * and the coefficients' ball are given in these. A category of k levels
 * becomes k - 1 yes/no coordinates, the first level being the reference. A study
 * with "terms" has their features as coordinates, computed by the device.
 *
 * A file, once parsed, is never changed: any number of threads may read it.
 * All strings are UTF-8, as written (markup included: escape them when you
 * print HTML), free of control characters, and live as long as the file. */
#ifndef TREMOLO_STUDY_FILE_H
#define TREMOLO_STUDY_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tremolo_device.h"
#include "tremolo_status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Limits of a file. */
enum {
    TREMOLO_STUDY_MAX_BYTES = 256 * 1024, /* of JSON text */
    TREMOLO_STUDY_MAX_DEPTH = 16,
    TREMOLO_STUDY_MAX_TITLE = 200, /* bytes of UTF-8, here and below */
    TREMOLO_STUDY_MAX_PURPOSE = 4000,
    TREMOLO_STUDY_MAX_NAME = 64, /* of features, levels and units */
    TREMOLO_STUDY_MAX_LEVELS = 64,
    TREMOLO_STUDY_MAX_SAMPLES = 1000,
    TREMOLO_STUDY_MAX_PROBLEMS = 64, /* stored; all are counted */
    TREMOLO_STUDY_PATH_BYTES = 96,
    TREMOLO_STUDY_REASON_BYTES = 192,
    TREMOLO_STUDY_DATE_BYTES = 24, /* "2026-11-15T08:00:00Z" and a zero */
};
#define TREMOLO_STUDY_MAX_DEVICES 8000000000u

/* Raw values of a device with an operating system run from -RAW_MAX to
 * RAW_MAX between the bounds of each coordinate (the same numbers as
 * TREMOLO_HOST_BOUNDS). */
#define TREMOLO_STUDY_RAW_MAX 1073741823

/* For a ballot low and high are a feature's typical range, and values count up to
 * TREMOLO_STUDY_REACH half ranges from the middle: that is what raw values then
 * span, so the typical range itself ends at RAW_TYPICAL. */
#define TREMOLO_STUDY_REACH       8
#define TREMOLO_STUDY_RAW_TYPICAL 134217728

/* Where and why a file is not a study. Path as in "features[2].high"; "" is
 * the whole file. */
struct tremolo_study_problem {
    char path[TREMOLO_STUDY_PATH_BYTES];
    char reason[TREMOLO_STUDY_REASON_BYTES];
};
struct tremolo_study_problems {
    size_t count;  /* all that were found */
    size_t stored; /* the first of them, in `item` */
    struct tremolo_study_problem item[TREMOLO_STUDY_MAX_PROBLEMS];
};

struct tremolo_study_file; /* opaque */

/* Read a study. On success *file is the caller's (tremolo_study_file_free) and
 * problems->count is 0. BAD_STUDY: problems says all; NO_MEMORY, BAD_ARGUMENT.
 * *file is untouched on failure. `problems` is always written unless null. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_study_file_parse(struct tremolo_study_file **file, struct tremolo_study_problems *problems,
                         const char *json, size_t length);
void tremolo_study_file_free(struct tremolo_study_file *file); /* accepts NULL */

/* ------------------------------------------------------------------------
 * What a study says. */

enum tremolo_study_kind {
    TREMOLO_STUDY_NUMERIC = 0,
    TREMOLO_STUDY_CATEGORY = 1,
    TREMOLO_STUDY_YES_NO = 2,
};

/* A feature as written, or the response (always numeric, first = d). */
struct tremolo_study_feature {
    const char *name;
    const char *unit; /* "" without one */
    enum tremolo_study_kind kind;
    double low; /* public bounds in the feature's own unit; 0 and 1 unless numeric */
    double high;
    const char *const *levels; /* of a category, NULL otherwise */
    size_t level_count;
    double missing; /* what replaces a missing value: a number, a level's place, 0 or 1; NAN:
                     * nothing does, and a sample without it is refused */
    size_t first;   /* its first coordinate, unless the study has terms */
    size_t width;   /* how many it has: 1, or levels - 1 */
    double typical; /* what one expects of a person, a number or the share of yes, in a ballot;
                     * NAN: the middle of low and high */
};

enum tremolo_study_protocol {
    TREMOLO_STUDY_ONE_SHOT = 0,
    TREMOLO_STUDY_ITERATIVE = 1,
};
enum tremolo_calibration {
    TREMOLO_CALIBRATION_EXACT, /* Gaussian composition of the release as it is */
    TREMOLO_CALIBRATION_ZCDP,  /* the same release through zCDP */
    TREMOLO_CALIBRATION_PAPER, /* zCDP with the modulation counted as sensitivity */
};

enum tremolo_study_enrolment {
    TREMOLO_STUDY_OPEN = 0, /* anybody may report */
    TREMOLO_STUDY_KEYS = 1, /* reports carry a MAC under a per-device key */
};

/* Features as written, and the response. */
size_t tremolo_study_file_feature_count(const struct tremolo_study_file *file);
const struct tremolo_study_feature *
tremolo_study_file_feature(const struct tremolo_study_file *file, size_t index);
const struct tremolo_study_feature *
tremolo_study_file_response(const struct tremolo_study_file *file);

struct tremolo_promise; /* tremolo_privacy.h */

/* What the study promises, and what a promise that costs this epsilon says, as the member
 * "guarantee" of every document (docs/estimate.schema.json). The caller frees the text; NULL
 * when it cannot be said. */
char *tremolo_study_file_guarantee_json(const struct tremolo_study_file *file);
char *tremolo_promise_json(const struct tremolo_promise *promise, double epsilon);

/* ------------------------------------------------------------------------
 * Identity. */

/* 32 bytes: BLAKE2b-256 of the canonical encoding. */
const uint8_t *tremolo_study_file_id(const struct tremolo_study_file *file);

/* The normalised study as compact JSON, with the device's integers under
 * "mechanism": parsing it gives the same id on every machine. The caller
 * frees *json with free(). Untouched on failure. */
TREMOLO_MUST_USE enum tremolo_status tremolo_study_file_json(char **json,
                                                             const struct tremolo_study_file *file);

/* Unpadded base64url, as ids, keys and signatures are written everywhere.
 * decode wants exactly `length` bytes (64 at most) and refuses any other text
 * (MALFORMED). */
#define TREMOLO_BASE64_BYTES(length) (((length)*4 + 2) / 3 + 1)
#define TREMOLO_STUDY_ID_TEXT_BYTES  TREMOLO_BASE64_BYTES(TREMOLO_STUDY_ID_BYTES)
TREMOLO_MUST_USE enum tremolo_status tremolo_base64_decode(uint8_t *bytes, size_t length,
                                                           const char *text);

/* A study's id in base64url. */
void tremolo_study_id_text(char text[TREMOLO_STUDY_ID_TEXT_BYTES],
                           const uint8_t id[TREMOLO_STUDY_ID_BYTES]);

/* Keys. A server has one Ed25519 key, made from a 32-byte seed that it keeps
 * in a file, and one 32-byte secret from which the keys of devices follow. */
enum {
    TREMOLO_SIGNING_SEED_BYTES = 32,
    TREMOLO_SIGNING_SECRET_BYTES = 64,
    TREMOLO_SIGNING_PUBLIC_BYTES = 32,
    TREMOLO_SIGNATURE_BYTES = 64,
    TREMOLO_DEVICE_SECRET_BYTES = 32,
    TREMOLO_DEVICE_ID_MAX = 32, /* a device's name: 1 to 32 bytes of any kind */
};

/* ------------------------------------------------------------------------
 * Files to begin with. */

/* A starter file that explains itself by example (`names` is NULL), or one for the columns of
 * a CSV header (`count` names, 2..257; the last is the response,
 * unless `response` names another). Bounds are placeholders to be replaced, but those of a
 * response of yes and no, or 0 and 1. What a
 * column looks like (NULL: all like numbers) decides its kind; one of words, codes or
 * dates becomes a category; its levels must be named before the file is a study. The
 * caller frees *json. */
enum tremolo_column_look {
    TREMOLO_LOOKS_NUMBER = 0,
    TREMOLO_LOOKS_WORDS = 1,
    TREMOLO_LOOKS_YES_NO = 2,
    TREMOLO_LOOKS_CODE = 3, /* digits that are a name, not an amount */
    TREMOLO_LOOKS_DATE = 4,
    TREMOLO_LOOKS_NAMES = 5,    /* more different words or codes than a category may have */
    TREMOLO_LOOKS_ZERO_ONE = 6, /* 0 and 1, nothing else */
};
#define TREMOLO_STUDY_TYPICAL "about nine of ten people lie" /* between low and high */
#define TREMOLO_STUDY_PLACEHOLDER                                                                  \
    "replace low and high by a typical range, between which " TREMOLO_STUDY_TYPICAL                \
    ", from public knowledge"
#define TREMOLO_STUDY_UNTITLED "Untitled study"
TREMOLO_MUST_USE enum tremolo_status tremolo_study_starter(char **json, const char *const *names,
                                                           size_t count, const char *response,
                                                           const enum tremolo_column_look *looks);

#ifdef __cplusplus
}
#endif

#endif
