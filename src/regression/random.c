/* random.c -- the seeded generator, one number at a time and on eight lanes.
 *
 * Each step of the eight lanes draws 32-bit words a and b in every lane and gives
 * sqrt(-2 ln u) times the cosine and the sine of an angle, with
 *
 *     u = (floor(a / 2) + 1/2) / 2^31, so that the tail reaches 6.6 deviations,
 *     angle = 2 pi b / 2^32.
 *
 * Logarithm, sine and cosine are polynomials in single precision (relative
 * error below 2e-7, which is the resolution of the numbers themselves). The
 * scalar and the AVX2 form perform the same operations in the same order. */
#include "tremolo_random.h"

#include <math.h>
#include <string.h>

/* ln(1 + t) = t - t^2/2 + t^3 P(t) on [sqrt(1/2) - 1, sqrt(2) - 1]: minimax. */
static const float log_terms[9] = {7.0376836292e-2F,  -1.1514610310e-1F, 1.1676998740e-1F,
                                   -1.2420140846e-1F, 1.4249322787e-1F,  -1.6668057665e-1F,
                                   2.0000714765e-1F,  -2.4999993993e-1F, 3.3333331174e-1F};
static const float sine_terms[3] = {-1.9515295891e-4F, 8.3321608736e-3F, -1.6666654611e-1F};
static const float cosine_terms[3] = {2.443315711809948e-5F, -1.388731625493765e-3F,
                                      4.166664568298827e-2F};
static const float half_pi = 1.57079632679489662F;
static const float ln_2 = 0.693147180559945309F;
static const float root_half = 0.707106781186547524F;

/* ------------------------------------------------------------- one at a time */

static const uint64_t golden = UINT64_C(0x9E3779B97F4A7C15);

uint64_t tremolo_random_hash(uint64_t a, uint64_t b)
{
    uint64_t z = a + golden * (b + 1);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

uint64_t tremolo_random_bits(struct tremolo_random *random)
{
    uint64_t bits = tremolo_random_hash(random->state, 0);
    random->state += golden;
    return bits;
}

/* Both numbers are mixed into the state, so that streams differ. */
struct tremolo_random tremolo_random_from(uint64_t seed, uint64_t stream)
{
    struct tremolo_random random = {seed};
    uint64_t first = tremolo_random_bits(&random);
    random.state = first ^ (stream * UINT64_C(0xd1342543de82ef95) + 1u);
    (void)tremolo_random_bits(&random);
    return random;
}

double tremolo_random_uniform(struct tremolo_random *random)
{
    return ((double)(tremolo_random_bits(random) >> 11) + 0.5) * 0x1p-53;
}

double tremolo_random_normal(struct tremolo_random *random)
{
    double u = tremolo_random_uniform(random);
    double v = tremolo_random_uniform(random);
    return sqrt(-2.0 * log(u)) * cos(2.0 * 3.14159265358979323846 * v);
}

/* ------------------------------------------------------------- eight lanes */

void tremolo_normals_seed(struct tremolo_normals *source, uint64_t seed, uint64_t stream)
{
    uint64_t key = tremolo_random_hash(seed, stream);
    for (unsigned word = 0; word < 4; word++) {
        for (unsigned lane = 0; lane < TREMOLO_NORMALS_LANES; lane++) {
            source->state[word][lane] =
                (uint32_t)(tremolo_random_hash(key, word * TREMOLO_NORMALS_LANES + lane) >> 32) |
                (word == 0);
        }
    }
}

/* ------------------------------------------------------------- scalar form */

static uint32_t rotate(uint32_t value, unsigned count)
{
    return value << count | value >> (32 - count);
}

static uint32_t next_word(struct tremolo_normals *source, unsigned lane)
{
    uint32_t s[4] = {source->state[0][lane], source->state[1][lane], source->state[2][lane],
                     source->state[3][lane]};
    uint32_t result = rotate(s[0] + s[3], 7) + s[0];
    uint32_t shifted = s[1] << 9;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate(s[3], 11);
    for (unsigned word = 0; word < 4; word++) {
        source->state[word][lane] = s[word];
    }
    return result;
}

/* sqrt(-2 ln u) for the word a. */
static float radius_of(uint32_t a)
{
    float u = ((float)(int32_t)(a >> 1) + 0.5F) * 0x1p-31F;
    uint32_t bits;
    memcpy(&bits, &u, sizeof bits);
    float exponent = (float)((int32_t)(bits >> 23) - 126);
    bits = (bits & 0x007fffff) | 0x3f000000;
    float x;
    memcpy(&x, &bits, sizeof x);
    float doubled = x < root_half ? x : 0.0F;
    exponent -= x < root_half ? 1.0F : 0.0F;
    x = (x - 1.0F) + doubled;
    float square = x * x, p = log_terms[0];
    for (int i = 1; i < 9; i++) {
        p = p * x + log_terms[i];
    }
    float logarithm = exponent * ln_2 + (x + (p * x * square - 0.5F * square));
    return sqrtf(-2.0F * logarithm);
}

/* The circle's quarter q holds angles within an eighth turn of q quarter
 * turns; there, polynomials in the remaining angle suffice. */
static void circle_of(float *cosine, float *sine, uint32_t b)
{
    uint32_t quarter = (b + 0x20000000u) >> 30;
    float t = (float)(int32_t)(b - (quarter << 30)) * 0x1p-30F * half_pi;
    float square = t * t;
    float s = ((sine_terms[0] * square + sine_terms[1]) * square + sine_terms[2]) * square * t + t;
    float c = ((cosine_terms[0] * square + cosine_terms[1]) * square + cosine_terms[2]) * square *
                  square -
              0.5F * square + 1.0F;
    float first = (quarter & 1) != 0 ? s : c, second = (quarter & 1) != 0 ? c : s;
    *cosine = ((quarter + 1) & 2) != 0 ? -first : first;
    *sine = (quarter & 2) != 0 ? -second : second;
}

void tremolo_normals_fill_scalar(struct tremolo_normals *source, float *out, size_t count)
{
    for (size_t i = 0; i < count; i += TREMOLO_NORMALS_STEP) {
        for (unsigned lane = 0; lane < TREMOLO_NORMALS_LANES; lane++) {
            float cosine, sine, radius = radius_of(next_word(source, lane));
            circle_of(&cosine, &sine, next_word(source, lane));
            out[i + lane] = radius * cosine;
            out[i + TREMOLO_NORMALS_LANES + lane] = radius * sine;
        }
    }
}

void tremolo_normals_waves(struct tremolo_normals *source, float *out, size_t count)
{
    for (size_t i = 0; i < count; i += TREMOLO_NORMALS_LANES) {
        for (unsigned lane = 0; lane < TREMOLO_NORMALS_LANES; lane++) {
            float sine;
            circle_of(&out[i + lane], &sine, next_word(source, lane));
        }
    }
}

/* --------------------------------------------------------------- AVX2 form */

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <immintrin.h>

#define AVX2_INLINE static inline __attribute__((always_inline, target("avx2")))

AVX2_INLINE __m256i rotate_8(__m256i value, int count)
{
    return _mm256_or_si256(_mm256_slli_epi32(value, count), _mm256_srli_epi32(value, 32 - count));
}

AVX2_INLINE __m256i next_word_8(__m256i s[4])
{
    __m256i result = _mm256_add_epi32(rotate_8(_mm256_add_epi32(s[0], s[3]), 7), s[0]);
    __m256i shifted = _mm256_slli_epi32(s[1], 9);
    s[2] = _mm256_xor_si256(s[2], s[0]);
    s[3] = _mm256_xor_si256(s[3], s[1]);
    s[1] = _mm256_xor_si256(s[1], s[2]);
    s[0] = _mm256_xor_si256(s[0], s[3]);
    s[2] = _mm256_xor_si256(s[2], shifted);
    s[3] = rotate_8(s[3], 11);
    return result;
}

AVX2_INLINE __m256 multiply_add(__m256 a, __m256 b, float c)
{
    return _mm256_add_ps(_mm256_mul_ps(a, b), _mm256_set1_ps(c));
}

AVX2_INLINE __m256 radius_8(__m256i a)
{
    __m256 u = _mm256_mul_ps(
        multiply_add(_mm256_cvtepi32_ps(_mm256_srli_epi32(a, 1)), _mm256_set1_ps(1.0F), 0.5F),
        _mm256_set1_ps(0x1p-31F));
    __m256i bits = _mm256_castps_si256(u);
    __m256 exponent =
        _mm256_cvtepi32_ps(_mm256_sub_epi32(_mm256_srli_epi32(bits, 23), _mm256_set1_epi32(126)));
    bits = _mm256_or_si256(_mm256_and_si256(bits, _mm256_set1_epi32(0x007fffff)),
                           _mm256_set1_epi32(0x3f000000));
    __m256 x = _mm256_castsi256_ps(bits), one = _mm256_set1_ps(1.0F);
    __m256 low = _mm256_cmp_ps(x, _mm256_set1_ps(root_half), _CMP_LT_OQ);
    __m256 doubled = _mm256_and_ps(low, x);
    exponent = _mm256_sub_ps(exponent, _mm256_and_ps(low, one));
    x = _mm256_add_ps(_mm256_sub_ps(x, one), doubled);
    __m256 square = _mm256_mul_ps(x, x), p = _mm256_set1_ps(log_terms[0]);
#pragma GCC unroll 8
    for (int i = 1; i < 9; i++) {
        p = multiply_add(p, x, log_terms[i]);
    }
    __m256 tail = _mm256_sub_ps(_mm256_mul_ps(_mm256_mul_ps(p, x), square),
                                _mm256_mul_ps(_mm256_set1_ps(0.5F), square));
    __m256 logarithm =
        _mm256_add_ps(_mm256_mul_ps(exponent, _mm256_set1_ps(ln_2)), _mm256_add_ps(x, tail));
    return _mm256_sqrt_ps(_mm256_mul_ps(_mm256_set1_ps(-2.0F), logarithm));
}

AVX2_INLINE void circle_8(__m256 *cosine, __m256 *sine, __m256i b)
{
    __m256i quarter = _mm256_srli_epi32(_mm256_add_epi32(b, _mm256_set1_epi32(0x20000000)), 30);
    __m256i rest = _mm256_sub_epi32(b, _mm256_slli_epi32(quarter, 30));
    __m256 t = _mm256_mul_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(rest), _mm256_set1_ps(0x1p-30F)),
                             _mm256_set1_ps(half_pi));
    __m256 square = _mm256_mul_ps(t, t);
    __m256 s = multiply_add(_mm256_set1_ps(sine_terms[0]), square, sine_terms[1]);
    s = multiply_add(s, square, sine_terms[2]);
    s = _mm256_add_ps(_mm256_mul_ps(_mm256_mul_ps(s, square), t), t);
    __m256 c = multiply_add(_mm256_set1_ps(cosine_terms[0]), square, cosine_terms[1]);
    c = multiply_add(c, square, cosine_terms[2]);
    c = _mm256_sub_ps(_mm256_mul_ps(_mm256_mul_ps(c, square), square),
                      _mm256_mul_ps(_mm256_set1_ps(0.5F), square));
    c = _mm256_add_ps(c, _mm256_set1_ps(1.0F));
    __m256 odd = _mm256_castsi256_ps(_mm256_slli_epi32(quarter, 31));
    __m256 first = _mm256_blendv_ps(c, s, odd), second = _mm256_blendv_ps(s, c, odd);
    __m256i one = _mm256_set1_epi32(1), sign = _mm256_set1_epi32((int)0x80000000u);
    __m256i first_sign =
        _mm256_and_si256(_mm256_slli_epi32(_mm256_add_epi32(quarter, one), 30), sign);
    __m256i second_sign = _mm256_and_si256(_mm256_slli_epi32(quarter, 30), sign);
    *cosine = _mm256_xor_ps(first, _mm256_castsi256_ps(first_sign));
    *sine = _mm256_xor_ps(second, _mm256_castsi256_ps(second_sign));
}

__attribute__((target("avx2"))) static void fill_avx2(struct tremolo_normals *source, float *out,
                                                      size_t count)
{
    __m256i s[4];
    for (int word = 0; word < 4; word++) {
        s[word] = _mm256_loadu_si256((const __m256i *)(const void *)source->state[word]);
    }
    for (size_t i = 0; i < count; i += TREMOLO_NORMALS_STEP) {
        __m256 cosine, sine, radius = radius_8(next_word_8(s));
        circle_8(&cosine, &sine, next_word_8(s));
        _mm256_storeu_ps(out + i, _mm256_mul_ps(radius, cosine));
        _mm256_storeu_ps(out + i + TREMOLO_NORMALS_LANES, _mm256_mul_ps(radius, sine));
    }
    for (int word = 0; word < 4; word++) {
        _mm256_storeu_si256((__m256i *)(void *)source->state[word], s[word]);
    }
}

void tremolo_normals_fill(struct tremolo_normals *source, float *out, size_t count)
{
    if (__builtin_cpu_supports("avx2")) {
        fill_avx2(source, out, count);
    } else {
        tremolo_normals_fill_scalar(source, out, count);
    }
}

#else

void tremolo_normals_fill(struct tremolo_normals *source, float *out, size_t count)
{
    tremolo_normals_fill_scalar(source, out, count);
}

#endif
