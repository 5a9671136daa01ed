/* tremolo_status.h -- what a call can answer, for every module.
 *
 * This header is vocabulary, not a module: it includes nothing, needs nothing
 * and every module may use it. One list gives the enum, the name and the
 * sentence, so they cannot drift apart.
 *
 * Numbers are part of the interface: they are never changed or reused, new
 * ones are appended within their range.
 *
 *     0        done
 *     10..29   the caller's mistake (arguments, parameters out of range)
 *     30..49   input from outside (reports, samples, files)
 *     50..59   the system beneath (entropy, storage, memory, network)
 *     60..69   the store of reports
 *     70..89   numerical
 *     90..109  refused for privacy
 *     110..129 refused by a server to its operator */
#ifndef TREMOLO_STATUS_H
#define TREMOLO_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#define TREMOLO_STATUS_LIST(X)                                                                     \
    X(OK, 0, "done")                                                                               \
    X(BAD_ARGUMENT, 10, "an argument is null or outside its documented range")                     \
    X(SHORT_BUFFER, 11, "the buffer is too small")                                                 \
    X(BAD_DIMENSION, 12, "the number of features is outside 1..TREMOLO_MAX_DIMENSION")             \
    X(BAD_ALPHA, 13, "alpha must leave a share 1 - alpha in (0, 1]")                               \
    X(BAD_LAMBDA, 14, "lambda is too large for the fixed-point range")                             \
    X(BAD_OMEGA, 15, "omega is out of range, or given without modulation vectors")                 \
    X(BAD_VECTORS, 16, "the modulation vectors are not orthonormal within the tolerance")          \
    X(BAD_GRID, 17, "the noise scale, the wire grid and the clip radius do not fit together")      \
    X(BAD_BOUNDS, 18, "a feature's lower bound is not below its upper bound")                      \
    X(BAD_NEIGHBOURS, 19, "the neighbour distance must be positive and at most twice the radius")  \
    X(BAD_SAMPLES, 20, "the sample's number is not one the study allows")                          \
    X(BAD_BALLOT, 21, "the ballot's constants or the law of its rank are out of range")            \
    X(BAD_RELEASE, 22, "this device was built without the release the study asks for")             \
    X(BAD_ADDRESS, 23, "the address is not that of a study, or not safe to use")                   \
    X(BAD_DEVICE, 24, "a device's name has 1 to 32 bytes and needs the device's key")              \
    X(LONG_NAME, 25, "the name of a file or directory is too long")                                \
    X(NOT_A_NUMBER, 30, "a value is NaN or infinite")                                              \
    X(MALFORMED, 31, "the bytes are not a well-formed report")                                     \
    X(UNKNOWN_VERSION, 32, "the report's version is not one this build reads")                     \
    X(WRONG_STUDY, 33, "the report belongs to another study")                                      \
    X(OUT_OF_BOUNDS, 34, "a value is outside the study's bounds")                                  \
    X(BAD_MAC, 35, "the report's authentication tag is missing or does not match")                 \
    X(BAD_STUDY, 36, "the file is not a valid study")                                              \
    X(BAD_SIGNATURE, 37, "the signature is not that of the expected key")                          \
    X(BAD_POLICY, 38, "the policy file is not valid")                                              \
    X(BAD_SAMPLE, 39, "the sample does not name every feature once, in the study's terms")         \
    X(BAD_ANSWER, 40, "the server's answer is not what the protocol says")                         \
    X(SERVER_REFUSED, 41, "the server refused the report")                                         \
    X(ROUND_CLOSED, 42, "the study takes no reports now")                                          \
    X(TOO_FEW, 43, "there are too few reports or rows to estimate from")                           \
    X(NO_STORE, 44, "there is no server's data directory at this place")                           \
    X(NO_SUCH_STUDY, 45, "there is no such study")                                                 \
    X(STUDY_NOT_NAMED, 46, "there are several studies; name one of them")                          \
    X(BAD_OPTIONS, 47, "these options do not go together")                                         \
    X(NO_ENTROPY, 50, "the entropy source failed or is stuck")                                     \
    X(STORAGE_FAILED, 51, "the ledger's storage could not be read or written")                     \
    X(NO_MEMORY, 52, "out of memory")                                                              \
    X(LEDGER_BUSY, 53, "another process is using this ledger")                                     \
    X(NETWORK_FAILED, 54, "the server could not be reached in time")                               \
    X(STOPPED, 55, "the work was stopped before its end")                                          \
    X(FILE_FAILED, 56, "a file or directory could not be read or made")                            \
    X(NOT_LISTENING, 57, "the address cannot be listened on")                                      \
    X(TOKEN_FAILED, 58, "the operator's token cannot be read, or cannot be used")                  \
    X(STORE_FULL, 60, "there is no room left on the disk")                                         \
    X(STORE_FAILED, 61, "the store could not be read or written")                                  \
    X(NOT_SYNCED, 62, "the disk did not confirm a write")                                          \
    X(CHANGED, 63, "another process changed this first")                                           \
    X(STORE_IN_USE, 64, "a running server uses the store")                                         \
    X(STORE_BEHIND, 65, "the store lacks reports that were acknowledged")                          \
    X(STORE_COPIED, 66, "the store is a copy, and a study in it has rounds to come")               \
    X(NOT_CONVERGED, 70, "the computation did not reach its stated accuracy")                      \
    X(SINGULAR, 71, "the matrix is singular to working precision")                                 \
    X(OVERFLOWED, 72, "the result does not fit the range of numbers")                              \
    X(BUDGET_EXHAUSTED, 90, "the privacy budget does not cover another release")                   \
    X(LEDGER_MISSING, 91, "this device has no ledger; enrol it first")                             \
    X(LEDGER_EXISTS, 92, "this device already has a ledger")                                       \
    X(LEDGER_DAMAGED, 93, "the ledger is damaged and nothing can be released")                     \
    X(LEDGER_ROLLED_BACK, 94, "the ledger is older than it must be; nothing can be released")      \
    X(LEDGER_FULL, 95, "the ledger has no room for another study")                                 \
    X(ROUND_PASSED, 96, "a later round or sample of this study was already released")              \
    X(INVALID_CALIBRATION, 97, "this calibration rule does not hold for the request")              \
    X(UNREACHABLE, 98, "no amount of noise within range gives this guarantee")                     \
    X(NOT_TRUSTED, 99, "the server's key is not pinned, and no option says to trust it")           \
    X(POLICY_REFUSED, 100, "the study asks for more than this device's policy allows")             \
    X(STUDY_DONE, 110, "the study is done")                                                        \
    X(STUDIES_FULL, 111, "the server has no room for another study")                               \
    X(TAG_TAKEN, 112, "another study on this server has an id that begins with the same bytes")    \
    X(ROUND_NOT_BEGUN, 113, "that round has not begun")                                            \
    X(TOO_FEW_REPORTS, 114, "a round needs at least two reports before it can be closed")          \
    X(SPAN_NOT_BEGUN, 115, "that span of time has not begun")                                      \
    X(SPANS_FULL, 116, "no more spans of time can be discarded from this study")                   \
    X(NOT_IN_CLUSTER, 117, "a clustered store cannot do this")

enum tremolo_status {
#define TREMOLO_STATUS_ENUM(name, number, sentence) TREMOLO_##name = (number),
    TREMOLO_STATUS_LIST(TREMOLO_STATUS_ENUM)
#undef TREMOLO_STATUS_ENUM
};

#if defined(__GNUC__) || defined(__clang__)
#define TREMOLO_MUST_USE __attribute__((warn_unused_result))
#else
#define TREMOLO_MUST_USE
#endif

/* Room for a sentence that says what failed. */
enum { TREMOLO_WORDS_BYTES = 512 };

/* The ranges above. */
enum tremolo_status_kind {
    TREMOLO_KIND_DONE,
    TREMOLO_KIND_CALLER,
    TREMOLO_KIND_INPUT,
    TREMOLO_KIND_SYSTEM,
    TREMOLO_KIND_STORE,
    TREMOLO_KIND_NUMERICAL,
    TREMOLO_KIND_PRIVACY,
    TREMOLO_KIND_OPERATOR,
};

static inline enum tremolo_status_kind tremolo_status_kind(enum tremolo_status status)
{
    return status < 10    ? TREMOLO_KIND_DONE
           : status < 30  ? TREMOLO_KIND_CALLER
           : status < 50  ? TREMOLO_KIND_INPUT
           : status < 60  ? TREMOLO_KIND_SYSTEM
           : status < 70  ? TREMOLO_KIND_STORE
           : status < 90  ? TREMOLO_KIND_NUMERICAL
           : status < 110 ? TREMOLO_KIND_PRIVACY
                          : TREMOLO_KIND_OPERATOR;
}

/* The name without its prefix ("NO_ENTROPY"), or "UNKNOWN". Header-only, so
 * that a device that prints nothing carries no strings. */
static inline const char *tremolo_status_name(enum tremolo_status status)
{
    switch (status) {
#define TREMOLO_STATUS_CASE(name, number, sentence)                                                \
    case TREMOLO_##name: return #name;
        TREMOLO_STATUS_LIST(TREMOLO_STATUS_CASE)
#undef TREMOLO_STATUS_CASE
    }
    return "UNKNOWN";
}

/* One sentence in lower case without a full stop, for messages. */
static inline const char *tremolo_status_sentence(enum tremolo_status status)
{
    switch (status) {
#define TREMOLO_STATUS_CASE(name, number, sentence)                                                \
    case TREMOLO_##name: return sentence;
        TREMOLO_STATUS_LIST(TREMOLO_STATUS_CASE)
#undef TREMOLO_STATUS_CASE
    }
    return "unknown status";
}

#ifdef __cplusplus
}
#endif

#endif
