/* parts.h -- what the device's files share. Not installed, not stable.
 *
 * Tests and the audit use these parts directly; devices use
 * tremolo_device.h alone. */
#ifndef TREMOLO_DEVICE_PARTS_H
#define TREMOLO_DEVICE_PARTS_H

#include "tremolo_device.h"

/* The single-file build turns every part into a static function. */
#ifndef TREMOLO_PART
#define TREMOLO_PART
#endif

/* generator.c computes TREMOLO_LANES consecutive ChaCha20 blocks at once: four
 * where the compiler offers vectors and speed matters, one on small devices.
 * The bytes are the same. */
#ifndef TREMOLO_LANES
#define TREMOLO_LANES 1
#endif

/* Functions that are kept apart: merged into their one caller, its branches
 * grow too long for Thumb's short form and the core gets larger. */
#if defined(__GNUC__) && TREMOLO_LANES == 1
#define TREMOLO_APART __attribute__((noinline))
#else
#define TREMOLO_APART
#endif

/* The release of a checked study: a build that makes one of them alone need not look. */
static inline unsigned tremolo_release(const struct tremolo_study *study)
{
#if defined(TREMOLO_WITHOUT_SAMPLE)
    (void)study;
    return TREMOLO_RELEASE_BALLOT;
#elif defined(TREMOLO_WITHOUT_BALLOT)
    (void)study;
    return TREMOLO_RELEASE_SAMPLE;
#else
    return study->release;
#endif
}

#include "bytes.h"

/* integer.c. What touches the sample chooses by masks, which are all ones or
 * zero: of the highest bit, and to give a number a sign. */
static inline uint32_t tremolo_sign(uint32_t value)
{
    return 0 - (value >> 31);
}

static inline uint64_t tremolo_mask(uint64_t value)
{
    return 0 - (value >> 63);
}

static inline uint32_t tremolo_signed(uint32_t size, uint32_t sign)
{
    return (size ^ sign) - sign;
}

TREMOLO_PART uint64_t tremolo_product(uint32_t a, uint32_t b);
TREMOLO_APART TREMOLO_PART uint32_t tremolo_divide(uint64_t numerator, uint32_t divisor);
#ifndef TREMOLO_WITHOUT_BALLOT
TREMOLO_PART uint32_t tremolo_root(uint32_t square);
#endif
TREMOLO_APART TREMOLO_PART uint64_t tremolo_place(int32_t raw, const struct tremolo_bounds *bounds,
                                                  uint64_t reach);
#ifndef TREMOLO_WITHOUT_SAMPLE
TREMOLO_PART uint32_t tremolo_product_shifted(uint32_t a, uint32_t b, unsigned shift);
TREMOLO_PART uint32_t tremolo_root_up(uint64_t square);
TREMOLO_PART int32_t tremolo_product_down(int32_t value, int32_t factor, unsigned shift);
#endif

/* generator.c */
TREMOLO_PART void tremolo_chacha_blocks(uint8_t out[64 * TREMOLO_LANES], uint32_t state[16],
                                        unsigned round_pairs);
TREMOLO_APART TREMOLO_PART void tremolo_generator_key(struct tremolo_generator *generator);
TREMOLO_PART enum tremolo_status tremolo_generator_seed(struct tremolo_generator *generator,
                                                        const struct tremolo_platform *platform,
                                                        const uint8_t *one, const uint8_t *other);
TREMOLO_PART void tremolo_generator_refill(struct tremolo_generator *generator);
TREMOLO_APART TREMOLO_PART void tremolo_generator_fill(struct tremolo_generator *generator,
                                                       uint8_t *bytes, unsigned count);

/* Every draw goes through here, so it is inline: one random byte, erased from
 * the buffer as it is handed out. */
static inline uint8_t tremolo_generator_byte(struct tremolo_generator *generator)
{
    uint8_t byte;
    if (generator->next == sizeof generator->block) {
        tremolo_generator_refill(generator);
    }
    byte = generator->block[generator->next];
    generator->block[generator->next++] = 0;
    return byte;
}
TREMOLO_APART TREMOLO_PART uint32_t tremolo_generator_word(struct tremolo_generator *generator);
TREMOLO_APART TREMOLO_PART unsigned tremolo_generator_below(struct tremolo_generator *generator,
                                                            unsigned count);

#ifndef TREMOLO_WITHOUT_SAMPLE
/* noise.c */
TREMOLO_APART TREMOLO_PART int32_t tremolo_noise_draw(struct tremolo_generator *generator,
                                                      unsigned noise_log2);

/* cosine.c */
TREMOLO_PART int32_t tremolo_cosine(uint32_t angle);

/* sample.c */
TREMOLO_PART int32_t tremolo_scale(int32_t raw, const struct tremolo_bounds *bounds, uint32_t unit);
TREMOLO_APART TREMOLO_PART void tremolo_sample_prepare(int32_t *value,
                                                       const struct tremolo_study *study,
                                                       const struct tremolo_sample *sample);

/* modulate.c */
TREMOLO_APART TREMOLO_PART void tremolo_modulate(int32_t *value, const struct tremolo_study *study,
                                                 const struct tremolo_round *round,
                                                 uint32_t *phase);

#endif

/* ballot.c: check the study; what a ballot costs; draw the rank before the
 * sample is touched, then find the answer at that rank. */
#ifndef TREMOLO_WITHOUT_BALLOT
TREMOLO_PART enum tremolo_status tremolo_ballot_check(const struct tremolo_study *study);
TREMOLO_PART uint32_t tremolo_ballot_charge(const struct tremolo_study *study);
TREMOLO_PART void tremolo_ballot_draw(struct tremolo_work *work);
TREMOLO_PART int32_t tremolo_ballot_response(const struct tremolo_work *work);
TREMOLO_APART TREMOLO_PART uint8_t tremolo_ballot_answer(struct tremolo_work *work);
#endif

/* siphash.c */
#ifndef TREMOLO_WITHOUT_MAC
TREMOLO_PART void tremolo_report_mac(uint8_t mac[TREMOLO_MAC_BYTES], const uint8_t *key,
                                     const struct tremolo_study *study, const uint8_t *bytes,
                                     size_t length);
#endif

/* report.c: encode the answer, or work->value + work->noise, under work->id
 * into work->slot.report and return the report's length. */
TREMOLO_PART size_t tremolo_report_encode(struct tremolo_work *work);

/* ledger.c; see there. */
TREMOLO_PART enum tremolo_status tremolo_ledger_create(struct tremolo_work *work, uint32_t budget,
                                                       uint32_t epsilon);
TREMOLO_PART enum tremolo_status tremolo_ledger_find(struct tremolo_work *work,
                                                     const uint8_t *study_tag, unsigned release);
TREMOLO_PART enum tremolo_status tremolo_ledger_stored(const struct tremolo_work *work,
                                                       size_t *length);
TREMOLO_PART enum tremolo_status tremolo_ledger_commit(struct tremolo_work *work, uint32_t charge,
                                                       size_t length);

#endif
