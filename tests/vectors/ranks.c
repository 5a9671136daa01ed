/* ranks.c -- where the table in src/privacy/rank_means.h comes from.
 *
 *     cc -O2 -o ranks tests/vectors/ranks.c -lm && ./ranks > src/privacy/rank_means.h
 *
 * A ballot has 8 blocks of 5 standard normal scores z; the 32 answers of a block score
 * sum +-z_j / sqrt 5. m_r is the mean of the r-th largest of all 256. With V_j the j-th
 * largest of a block, P(V_j > t) gives the law of the number of answers above t in a
 * block, eight times convolved in all of them, and
 *     m_r = integral of P(at least r above t) - 1{t < 0}.
 * P(V_j > t) is counted over Sobol points in six dimensions (direction numbers of Joe and
 * Kuo), two of which make a normal pair; eight random digital shifts give the error that the
 * table states. The integral is a sum over a grid, exact to far more digits for so smooth a
 * function. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIGNS = 5,
    HALF = 16, /* answers of a block with a positive leading sign */
    ANSWERS = 256,
    SHIFTS = 8,
    GRID = 1280, /* points from -10 to 10 */
    TABLE = 128,
    POINT_BITS = 24,
};
static const double grid_step = 20.0 / GRID;
static const uint64_t points = UINT64_C(1) << POINT_BITS;

/* Sums of the five numbers with all signs, the positive half sorted downward. */
static void order_block(double value[HALF], const double z[SIGNS])
{
    for (unsigned answer = 0; answer < HALF; answer++) {
        double sum = z[0];
        for (unsigned j = 1; j < SIGNS; j++) {
            sum += (answer >> (j - 1) & 1) != 0 ? -z[j] : z[j];
        }
        double size = fabs(sum) / sqrt(SIGNS);
        unsigned place = answer;
        for (; place > 0 && value[place - 1] < size; place--) {
            value[place] = value[place - 1];
        }
        value[place] = size;
    }
}

/* Direction numbers of a dimension, as the highest bits of 64. */
static void directions(uint64_t v[POINT_BITS], int dimension)
{
    static const struct {
        int degree;
        unsigned polynomial;
        unsigned m[4];
    } primitive[] = {
        {1, 0, {1}}, {2, 1, {1, 3}}, {3, 1, {1, 3, 1}}, {3, 2, {1, 1, 1}}, {4, 1, {1, 1, 3, 3}}};
    for (int i = 0; i < POINT_BITS; i++) {
        int degree = dimension > 0 ? primitive[dimension - 1].degree : POINT_BITS;
        if (dimension == 0 || i < degree) {
            v[i] = (uint64_t)(dimension > 0 ? primitive[dimension - 1].m[i] : 1) << (63 - i);
            continue;
        }
        v[i] = v[i - degree] ^ (v[i - degree] >> degree);
        for (int k = 1; k < degree; k++) {
            if ((primitive[dimension - 1].polynomial >> (degree - 1 - k) & 1) != 0) {
                v[i] ^= v[i - k];
            }
        }
    }
}

/* above[j][i]: the share of blocks in which the j-th largest exceeds grid point i of the upper
 * half. */
static void count_blocks(double above[HALF][GRID / 2 + 1], uint64_t shift)
{
    uint64_t v[6][POINT_BITS];
    uint64_t at[6];
    for (int j = 0; j < 6; j++) {
        directions(v[j], j);
        shift = shift * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        at[j] = shift;
    }
    memset(above, 0, HALF * sizeof above[0]);
    for (uint64_t n = 0; n < points; n++) {
        double z[6];
        double value[HALF] = {0};
        int changed = n == 0 ? 0 : __builtin_ctzll(n); /* of the Gray code */
        for (int j = 0; j < 6; j++) {
            at[j] ^= n == 0 ? 0 : v[j][changed];
        }
        for (int j = 0; j < 6; j += 2) {
            double radius = sqrt(-2.0 * log(ldexp((double)(at[j] >> 11) + 0.5, -53)));
            double angle = 6.283185307179586 * ldexp((double)(at[j + 1] >> 11), -53);
            z[j] = radius * cos(angle);
            z[j + 1] = radius * sin(angle);
        }
        order_block(value, z);
        for (int j = 0; j < HALF; j++) {
            int last = (int)(value[j] / grid_step);
            above[j][last < GRID / 2 ? last : GRID / 2] += 1.0 / (double)points;
        }
    }
    for (int j = 0; j < HALF; j++) {
        for (int i = GRID / 2 - 1; i >= 0; i--) {
            above[j][i] += above[j][i + 1];
        }
    }
}

/* P(V_j > t) for j = 1..32 at grid point i of -GRID/2..GRID/2; V_(33-j) is -V_j. */
static double exceeds(double above[HALF][GRID / 2 + 1], int j, int i)
{
    if (j > HALF) {
        return i <= 0 ? 1.0 - exceeds(above, 2 * HALF + 1 - j, -i) : 0.0;
    }
    return i >= 0 ? above[j - 1][i] : 1.0;
}

static void square(double law[ANSWERS + 1], int count)
{
    double out[ANSWERS + 1] = {0};
    for (int i = 0; i <= count; i++) {
        for (int j = 0; j <= count; j++) {
            out[i + j] += law[i] * law[j];
        }
    }
    memcpy(law, out, sizeof out);
}

static void means(double mean[TABLE], double above[HALF][GRID / 2 + 1])
{
    memset(mean, 0, TABLE * sizeof *mean);
    for (int i = -GRID / 2; i <= GRID / 2; i++) {
        double law[ANSWERS + 1] = {0};
        for (int k = 0; k <= 2 * HALF; k++) {
            law[k] = (k == 0 ? 1.0 : exceeds(above, k, i)) -
                     (k == 2 * HALF ? 0.0 : exceeds(above, k + 1, i));
        }
        square(law, 32);
        square(law, 64);
        square(law, 128);
        double least = i < 0 ? -1.0 : i == 0 ? -0.5 : 0.0; /* P(at least r) - 1{t < 0} */
        for (int r = ANSWERS; r >= 1; r--) {
            least += law[r];
            if (r <= TABLE) {
                mean[r - 1] += least * grid_step;
            }
        }
    }
}

int main(void)
{
    static double above[HALF][GRID / 2 + 1];
    static double all[SHIFTS][TABLE];
    double mean[TABLE] = {0};
    double worst = 0.0;
    for (int s = 0; s < SHIFTS; s++) {
        count_blocks(above, (uint64_t)s + 1);
        means(all[s], above);
        for (int r = 0; r < TABLE; r++) {
            mean[r] += all[s][r] / SHIFTS;
        }
    }
    for (int r = 0; r < TABLE; r++) {
        double spread = 0.0;
        for (int s = 0; s < SHIFTS; s++) {
            spread += (all[s][r] - mean[r]) * (all[s][r] - mean[r]);
        }
        worst = fmax(worst, sqrt(spread / (SHIFTS * (SHIFTS - 1))));
    }
    printf("/* rank_means.h -- made by tests/vectors/ranks.c; do not edit. The mean r-th largest\n"
           " * of a ballot's 256 normalised scores, r = 1..128; the others are their negatives in\n"
           " * reverse. Largest standard error %.1e. */\n"
           "#ifndef TREMOLO_PRIVACY_RANK_MEANS_H\n#define TREMOLO_PRIVACY_RANK_MEANS_H\n\n"
           "static const double rank_means[%d] = {\n",
           worst, TABLE);
    for (int r = 0; r < TABLE; r++) {
        printf("%s%.7f,%s", r % 8 == 0 ? "    " : " ", mean[r], r % 8 == 7 ? "\n" : "");
    }
    printf("};\n\n#endif\n");
    return EXIT_SUCCESS;
}
