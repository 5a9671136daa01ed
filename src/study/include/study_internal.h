/* study_internal.h -- what the other modules use of studies beyond tremolo_study_file.h; not installed.
 *
 * The guarantee in numbers, words and JSON; keys and signatures; what a server publishes; and text that
 * comes from outside. A file, once parsed, is never changed: any number of threads may read it. */
#ifndef TREMOLO_STUDY_INTERNAL_H
#define TREMOLO_STUDY_INTERNAL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "document.h"
#include "explain.h"
#include "tremolo_study_file.h"

struct tremolo_inputs; /* inputs.h */
struct tremolo_explanation;
struct tremolo_extent;
struct tremolo_difference;
struct tremolo_promise; /* tremolo_privacy.h */

/* One coordinate after expansion: "name", or "name=level". Of a ballot its range lies about what
 * is typical: of each of k levels 1/k. Its centre
 * (low + high) / 2 and half range (high - low) / 2 are what struct
 * tremolo_units calls centre and scale. */
struct tremolo_study_coordinate {
    const char *name;
    const char *unit; /* "" without one */
    const char *from; /* the answers at low and at high, of a choice; NULL of a number */
    const char *to;
    double low;
    double high;
    double written[2]; /* low and high without regard to what is typical */
};

/* Everything else, in plain numbers. Optional numbers that the file leaves
 * out hold the stated default. */
struct tremolo_study_terms {
    const char *title;
    const char *purpose; /* "" without one */
    /* The guarantee as asked for; tremolo_study_file_guarantee() has what the
     * integers give. */
    double epsilon;
    double delta;          /* 0 for ballots */
    double distance;       /* of neighbours, scaled; 0: any two people */
    double clip;           /* radius, scaled; default: the whole box, sqrt(coordinates) */
    bool response_private; /* protects "all" */
    enum tremolo_calibration calibration;
    /* Protocol. A ballot is one-shot and has nothing of what follows. */
    enum tremolo_release_kind release;
    enum tremolo_study_protocol protocol;
    unsigned rounds;  /* T; 1 for one-shot */
    unsigned vectors; /* m; 0 without modulation, the default */
    double alpha;
    double lambda;
    double omega;
    double radius;          /* ball that iterative coefficients are kept in, scaled; default 1 */
    double step;            /* step = this / |S|; default 1 */
    uint64_t close_reports; /* close a round at so many reports; 0: not by count */
    uint64_t close_seconds; /* after so long; 0: not by time */
    /* Limits. */
    uint64_t devices; /* that may report at most; default TREMOLO_STUDY_MAX_DEVICES */
    unsigned samples; /* of a device in each round; default 1 */
    int64_t opens;    /* Unix seconds; INT64_MIN: always was */
    int64_t closes;   /* INT64_MAX: never */
    enum tremolo_study_enrolment enrolment;
};

const struct tremolo_study_terms *tremolo_study_file_terms(const struct tremolo_study_file *file);

/* Coordinates after expansion: d of them, and the response as number d, be it
 * public or private. */
size_t tremolo_study_file_dimension(const struct tremolo_study_file *file);
const struct tremolo_study_coordinate *
tremolo_study_file_coordinate(const struct tremolo_study_file *file, size_t index);

/* The integers a device obeys, checked, with bounds of +-TREMOLO_STUDY_RAW_MAX,
 * or +-RAW_TYPICAL for a ballot's features,
 * and the id. Lives as long as the file. */
const struct tremolo_study *tremolo_study_file_device(const struct tremolo_study_file *file);

/* How coordinates follow from features: inputs in the order of the features, and as many
 * features there as the study has coordinates. Lives as long as the file. */
const struct tremolo_inputs *tremolo_study_file_inputs(const struct tremolo_study_file *file);

/* The two ends between which values of coordinate `index` differ for a device,
 * as raw values -RAW_MAX and RAW_MAX: its bounds, or for a
 * ballot's features TREMOLO_STUDY_REACH times its typical range. */
struct tremolo_study_coordinate tremolo_study_file_reach(const struct tremolo_study_file *file,
                                                         size_t index);

/* As files and options write them; NULL after the last. */
extern const char *const tremolo_calibration_names[];

/* The typical range by that rule where values are at hand, as in a simulation; `values` are sorted.
 * False when there are none, or they are equal or too far apart. */
bool tremolo_study_typical_range(double *low, double *high, double *values, size_t count);

/* ------------------------------------------------------------------------
 * The guarantee. */

/* True if the clip acts. By default its radius is that of the whole box, which shortens nothing. */
bool tremolo_study_file_clips(const struct tremolo_study_file *file);

/* What the integers promise over all releases of a device, each number
 * rounded to the side that promises less. */
struct tremolo_study_guarantee {
    double mu; /* NaN for ballots, as are rho, sigma, sensitivity and distance */
    double rho;
    double epsilon;     /* at `delta` */
    double delta;       /* 0 for ballots, whatever was asked */
    double sigma;       /* noise of one release, scaled */
    double sensitivity; /* l2, scaled */
    double distance;    /* between neighbours, scaled: r, or the diameter */
    uint64_t releases;
    uint32_t charge; /* of one release, mu^2 or epsilon / 2^24, as ledgers count */
};
TREMOLO_MUST_USE enum tremolo_status
tremolo_study_file_guarantee(struct tremolo_study_guarantee *guarantee,
                             const struct tremolo_study_file *file, double delta);

/* The same between people `distance` apart (scaled; 0: any two), whatever
 * distance the study names: a device's own notion of neighbours. A study for
 * any two people keeps that promise. OVERFLOWED when it protects hardly anything. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_study_file_guarantee_at(struct tremolo_study_guarantee *guarantee,
                                const struct tremolo_study_file *file, double delta,
                                double distance);

/* The device's integers with that distance in place of the study's, rounded
 * up. Reports are the same bytes; what a ledger is charged for them holds at
 * that distance. Points into the file. */
struct tremolo_study tremolo_study_file_device_at(const struct tremolo_study_file *file,
                                                  double distance);

/* The numbers among the features and, where it is private, the response: what their ranges
 * are, each 2 half ranges wide. How many, TREMOLO_MAX_DIMENSION + 1 at most. */
size_t tremolo_study_file_extents(struct tremolo_extent *extents,
                                  const struct tremolo_study_file *file);
/* The same of all kinds: how far apart people can be in each feature alone, and in a private
 * response; the last is for all beyond TREMOLO_EXPLAIN_WAYS. */
size_t tremolo_study_file_ways(struct tremolo_difference *ways,
                               const struct tremolo_study_file *file);

/* The guarantee at a delta in words, and for samples that differ in one feature
 * by all of its range; distances are in half ranges. Untouched on failure. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_study_file_explain(struct tremolo_explanation *explanation,
                           const struct tremolo_study_file *file, double delta);

/* Fill release, constants, law, rounds, samples, dimension and response of a study of
 * ballots of this epsilon each, with the default constants; its bounds are set before.
 * BAD_ARGUMENT for an epsilon outside TREMOLO_RANK_EPSILON_MIN..MAX; the study is
 * untouched on failure. */
TREMOLO_MUST_USE enum tremolo_status tremolo_mechanism_ballot(struct tremolo_study *study,
                                                              size_t dimension,
                                                              bool response_private,
                                                              double epsilon);

/* "reviewer", "participant" and "differences", an array of objects with the
 * members of struct tremolo_difference; what is infinite is null: no epsilon
 * means no protection, no distance that all are the same. NULL without
 * memory. The caller owns it. */
json_t *guarantee_words_json(const struct tremolo_explanation *explanation);

/* What the study promises at its own delta: "epsilon", "delta", "mu", "rho",
 * "neighbours" ("any" or "distance=R"), "protects" ("all" or "features"), "releases",
 * "attacker_right" and "tradeoff", and the words. NULL when it cannot be said. The
 * caller owns it. */
json_t *guarantee_study_json(const struct tremolo_study_file *file);

/* The rows of that document, for others that have it as a member: its value is made by one of the two
 * functions. */
extern const struct document_row guarantee_rows[];
json_t *guarantee_schema(void);

/* The same of a promise that costs this epsilon at its delta. */
json_t *guarantee_promise_json(const struct tremolo_promise *promise, double epsilon);

/* ------------------------------------------------------------------------
 * The integers of a device's study by their names, so that documents list them in tables. */

/* A row of such a table; more members of the row may follow. */
#define STUDY_INTEGER(member, ...)                                                                 \
    {                                                                                              \
        .key = #member, .type = DOCUMENT_WHOLE, DOCUMENT_AT(struct tremolo_study, member),         \
        .high = UINT32_MAX >> (32 - 8 * sizeof((struct tremolo_study *)0)->member), __VA_ARGS__    \
    }

/* What the study's release rests on, in the order of its encoding. */
const struct document_row *study_integers_of(enum tremolo_release_kind release);

/* The JSON Schema of a study file. */
json_t *study_schema(void);

/* ------------------------------------------------------------------------
 * Identity. */

/* The canonical encoding (docs/reference/protocol.md); *bytes lives as long as the file. */
size_t tremolo_study_file_canonical(const uint8_t **bytes, const struct tremolo_study_file *file);

/* Public and secret key from a seed. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_signing_keys(uint8_t public_key[TREMOLO_SIGNING_PUBLIC_BYTES],
                     uint8_t secret_key[TREMOLO_SIGNING_SECRET_BYTES],
                     const uint8_t seed[TREMOLO_SIGNING_SEED_BYTES]);

/* Sign a round's broadcast, and check that signature: BAD_SIGNATURE when it is not this key's.
 * Signed are the bytes "tremolo round 1", a zero byte, the id, the round's number and the study's
 * m * d vector entries, each as two bytes, most significant first. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_round_sign(uint8_t signature[TREMOLO_SIGNATURE_BYTES], const struct tremolo_study *study,
                   const struct tremolo_round *round,
                   const uint8_t secret_key[TREMOLO_SIGNING_SECRET_BYTES]);
TREMOLO_MUST_USE enum tremolo_status
tremolo_round_verify(const uint8_t signature[TREMOLO_SIGNATURE_BYTES],
                     const struct tremolo_study *study, const struct tremolo_round *round,
                     const uint8_t public_key[TREMOLO_SIGNING_PUBLIC_BYTES]);

/* The MAC key of a device: the first 16 bytes of BLAKE2b-256 of the device's
 * id, keyed with the server's secret. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_device_key(uint8_t key[TREMOLO_MAC_KEY_BYTES],
                   const uint8_t secret[TREMOLO_DEVICE_SECRET_BYTES], const uint8_t *device_id,
                   size_t device_id_length);

/* ------------------------------------------------------------------------
 * What a server publishes: the body of GET /v1/studies/{id}. */

/* {"id", "key", "signature", "study"} as text; the caller frees it. Signed are the bytes
 * "tremolo study 1", a zero byte, the id. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_study_publish(char **body, const struct tremolo_study_file *file,
                      const uint8_t secret_key[TREMOLO_SIGNING_SECRET_BYTES]);

/* Read such a body. The study's id is computed again and must be the one that
 * was asked for (WRONG_STUDY); the signature must be that of `public_key`
 * (BAD_SIGNATURE). When public_key is NULL the key the body names is used and
 * returned in `named_key`: that is trust on first use, the caller's decision.
 * BAD_STUDY with problems otherwise. Outputs untouched on failure, except
 * problems; named_key and problems may be NULL. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_study_receive(struct tremolo_study_file **file,
                      uint8_t named_key[TREMOLO_SIGNING_PUBLIC_BYTES],
                      struct tremolo_study_problems *problems, const char *body, size_t length,
                      const uint8_t id[TREMOLO_STUDY_ID_BYTES],
                      const uint8_t public_key[TREMOLO_SIGNING_PUBLIC_BYTES]);

/* ------------------------------------------------------------------------
 * Text.
 *
 * Some characters do not show themselves but change what is shown: controls move a
 * cursor or end a line, and others turn the direction of writing, so that "a=1, b=2" reads
 * otherwise than it is. Studies may not hold them, and nothing prints them:
 *
 *     C0, DEL and C1 controls      U+0000 to U+001F, U+007F to U+009F
 *     lines and paragraphs         U+2028, U+2029
 *     directions                   U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069
 *     a mark without a width       U+FEFF */

/* True if UTF-8 text has none of them. */
bool tremolo_text_is_plain(const char *text);

/* Put '?' in the place of each, and drop a last character that was cut. True when something
 * changed. The text never grows. */
bool tremolo_text_clean(char *text);

/* ------------------------------------------------------------------------
 * Dates and bytes. */

/* A date as files have it; "" for one that no calendar holds. */
void tremolo_study_date_text(char text[TREMOLO_STUDY_DATE_BYTES], int64_t unix_seconds);

/* The other way: a date (its first second) or a date with a time, in UTC, like 2026-03-01 or
 * 2026-03-01T12:00:00Z. False, and *seconds untouched, for anything else. */
bool tremolo_study_date_read(int64_t *seconds, const char *text);

/* Needs TREMOLO_BASE64_BYTES(length) bytes with the terminating zero. */
TREMOLO_MUST_USE enum tremolo_status tremolo_base64_encode(char *text, size_t capacity,
                                                           const uint8_t *bytes, size_t length);

#endif
