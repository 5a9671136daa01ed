/* noise.c -- floor(2^p N(0,1)), exactly.
 *
 * Karney's method: an integer part k is drawn with probability proportional
 * to exp(-k^2/2), a uniform fraction x is accepted with probability
 * exp(-x(2k+x)/2), and k + x with a random sign is a standard normal. All
 * probabilities come from von Neumann's trick of counting how long a chain
 * of uniforms descends, so only comparisons of uniforms are needed and no
 * constant is ever rounded. The fraction is a string of random bytes of
 * which only as many are drawn as the comparisons, or the p output bits, ask
 * for: the result is the real normal deviate, rounded down once.
 *
 * Two events end a draw without a result and set generator->stuck, and the
 * caller then refuses to release, before anything is charged: two uniforms
 * agreeing in DIGITS_MAX bytes, with probability below 2^-120 a draw, and an
 * accepted k of WHOLE_MAX, with probability below exp(-2048). A broken
 * generator meets one of the two soon. */
#include "parts.h"

#ifndef TREMOLO_WITHOUT_SAMPLE

enum { DIGITS_MAX = 16, WHOLE_MAX = 64 };

/* A uniform number in (0, 1) as its leading base-256 digits. */
struct lazy {
    uint8_t digit[DIGITS_MAX];
    uint8_t known;
};

static TREMOLO_APART uint8_t digit_of(struct tremolo_generator *generator, struct lazy *x,
                                      unsigned place)
{
    if (place == x->known) {
        x->digit[place] = tremolo_generator_byte(generator);
        x->known++;
    }
    return x->digit[place];
}

/* Draw a fresh uniform and say whether it is below x. When it is and `lower`
 * is not NULL, *lower becomes that uniform (lower may be x itself): it shares
 * x's digits up to the first that differs. */
static int fresh_below(struct tremolo_generator *generator, struct lazy *x, struct lazy *lower)
{
    unsigned place;
    for (place = 0; place < DIGITS_MAX; place++) {
        uint8_t mine = digit_of(generator, x, place);
        uint8_t fresh = tremolo_generator_byte(generator);
        if (fresh == mine) {
            continue;
        }
        if (fresh > mine) {
            return 0;
        }
        if (lower != NULL) {
            tremolo_bytes_copy(lower->digit, x->digit, place);
            lower->digit[place] = fresh;
            lower->known = (uint8_t)(place + 1);
        }
        return 1;
    }
    generator->stuck = 1;
    return 0;
}

/* True with probability exp(-1/2): the chain 1/2 > u1 > u2 > ... breaks
 * after an even number of steps. */
static int half_exponential(struct tremolo_generator *generator)
{
    struct lazy chain;
    unsigned steps = 1;
    chain.digit[0] = tremolo_generator_byte(generator);
    chain.known = 1;
    if (chain.digit[0] >= 128) {
        return 1;
    }
    while (fresh_below(generator, &chain, &chain)) {
        steps++;
    }
    return (steps & 1) == 0;
}

/* k with probability proportional to exp(-k^2/2) = exp(-k/2) exp(-k(k-1)/2). */
static unsigned draw_whole(struct tremolo_generator *generator)
{
    unsigned whole;
    unsigned more;
    do {
        whole = 0;
        while (whole < WHOLE_MAX && half_exponential(generator)) {
            whole++;
        }
        more = whole * (whole - 1);
        while (more > 0 && half_exponential(generator)) {
            more--;
        }
    } while (more > 0);
    generator->stuck |= (uint8_t)(whole / WHOLE_MAX);
    return whole;
}

/* True with probability exp(-x (2k+x) / (2k+2)): the chain x > u1 > u2 > ...,
 * each step also passing a coin of probability (2k+x)/(2k+2), breaks after an
 * even number of steps. */
static int accept_fraction(struct tremolo_generator *generator, struct lazy *x, unsigned whole)
{
    struct lazy chain;
    struct lazy *last = x;
    unsigned steps = 0;
    for (;;) {
        unsigned face = tremolo_generator_below(generator, 2 * whole + 2);
        if (face == 0 || (face == 1 && !fresh_below(generator, x, NULL)) ||
            !fresh_below(generator, last, &chain)) {
            return (steps & 1) == 0;
        }
        last = &chain;
        steps++;
    }
}

static int accept(struct tremolo_generator *generator, struct lazy *x, unsigned whole)
{
    unsigned trial;
    for (trial = 0; trial <= whole; trial++) {
        if (!accept_fraction(generator, x, whole)) {
            return 0;
        }
    }
    return 1;
}

/* The magnitude's floor is taken from below, so a negative deviate -(k + x)
 * has the floor -(v + 1): x is never exactly on the grid. */
TREMOLO_PART int32_t tremolo_noise_draw(struct tremolo_generator *generator, unsigned noise_log2)
{
    struct lazy x;
    unsigned whole;
    unsigned place;
    uint32_t magnitude;
    do {
        whole = draw_whole(generator);
        x.known = 0;
    } while (!accept(generator, &x, whole) && !generator->stuck);
    magnitude = whole;
    for (place = 0; place < 3; place++) {
        magnitude = magnitude << 8 | digit_of(generator, &x, place);
    }
    magnitude >>= 24 - noise_log2;
    tremolo_bytes_wipe(&x, sizeof x);
    return (tremolo_generator_byte(generator) & 1) ? -(int32_t)magnitude - 1 : (int32_t)magnitude;
}

#else
typedef int tremolo_noise_is_left_out;
#endif
