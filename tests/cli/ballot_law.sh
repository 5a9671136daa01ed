# A ballot's privacy rests on the law of its rank alone. The core as two files is
# broken on purpose, once in each part of its arithmetic: other answers come out, and
# still every rank holds one answer, so that the law of the answers keeps epsilon.
# A broken law of the rank is caught.
. tests/common/tap.sh
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
compiler=${CC:-cc}

tools/amalgamate "$work"
cat >"$work/law.c" <<'END'
/* Prints: whether every rank holds one answer, for a few samples and ids; whether
 * drawn ranks follow the stated law for two samples; and a sum over the answers.
 *
 * The law: 64,000 draws a sample, chi-square over 256 ranks with 255 degrees of
 * freedom, seeds fixed. 400 is passed by an honest law with probability 10^-8. */
#include <stdio.h>

#include CORE

enum { D = 3, DRAWS = 64000 };

static struct tremolo_bounds bounds[D] = {{-10, 10}, {0, 7}, {-3, 2000}};
static struct tremolo_work work;
static struct tremolo_study study;
static int32_t features[D];
static struct tremolo_sample sample;

static int one_answer_each(unsigned long *sum)
{
    unsigned char seen[256] = {0};
    unsigned rank;
    for (rank = 0; rank < 256; rank++) {
        unsigned answer;
        work.rank = rank;
        answer = tremolo_ballot_answer(&work);
        *sum = *sum * 31 + answer;
        if (seen[answer]++ != 0) {
            return 0;
        }
    }
    return 1;
}

static int seed(void *context, uint8_t *bytes, size_t length)
{
    size_t i;
    for (i = 0; i < length; i++) {
        bytes[i] = (uint8_t)(i * 7 + *(unsigned *)context);
    }
    return 0;
}

static double chi_square(unsigned which)
{
    static unsigned count[256];
    struct tremolo_platform platform = {0};
    double early = study.rank_top / 4294967296.0;
    double sum = 0;
    unsigned i;
    platform.context = &which;
    platform.entropy = seed;
    if (tremolo_generator_seed(&work.generator, &platform, work.id, work.id) != TREMOLO_OK) {
        return 1e9;
    }
    for (i = 0; i < 256; i++) {
        count[i] = 0;
    }
    for (i = 0; i < DRAWS; i++) {
        tremolo_ballot_draw(&work);
        count[work.rank & 255]++;
    }
    for (i = 0; i < 256; i++) {
        double wanted = DRAWS * (i < study.rank_first ? early / study.rank_first
                                                      : (1 - early) / (256 - study.rank_first));
        sum += (count[i] - wanted) * (count[i] - wanted) / wanted;
    }
    return sum;
}

int main(void)
{
    unsigned long sum = 0;
    int each = 1;
    int law = 1;
    unsigned trial;
    study.bounds = bounds;
    study.response_bounds = bounds[0];
    study.dimension = D;
    study.response = TREMOLO_RESPONSE_PRIVATE;
    study.release = TREMOLO_RELEASE_BALLOT;
    study.samples = 1;
    study.rounds = 1;
    study.rank_first = 57;
    study.rank_top = 2923410234u;
    study.constant = 154;
    study.response_weight = TREMOLO_BALLOT_WEIGHT(154);
    sample.features = features;
    work.study = &study;
    work.sample = &sample;
    for (trial = 0; trial < 4; trial++) {
        features[0] = (int32_t)(trial * 5) - 9;
        features[1] = (int32_t)(trial * 3) - 1;
        features[2] = (int32_t)(trial * 900);
        sample.response = (int32_t)(trial * 4) - 7;
        work.id[0] = (uint8_t)(trial + 1);
        each &= one_answer_each(&sum);
        law &= chi_square(trial + 1) < 400;
    }
    printf("%s %s %lu\n", each ? "each" : "not-each", law ? "law" : "no-law", sum % 1000000007);
    return 0;
}
END

# try NAME [SED]: sets $found to the program's line for the core so changed.
try() {
    sed "${2:-}" "$work/tremolo_device.c" >"$work/core_$1.c"
    $compiler -std=c99 -O1 -w -fwrapv -I"$work" -DCORE="\"core_$1.c\"" -o "$work/law" "$work/law.c" &&
        found=$("$work/law")
}

try sound
sound=$found
case $sound in "each law "*) true ;; *) false ;; esac
expect "the sound core: one answer for each rank, ranks by their law" $? 0

# broken NAME SED: another order of the answers, and the same law.
broken() {
    try "$1" "$2"
    case $found in "$sound") false ;; "each law "*) true ;; *) false ;; esac
    expect "$1 broken: other answers, the same law" $? 0
}
broken scale 's/PLACE_LOG2 = 16/PLACE_LOG2 = 3/'
broken products 's|(uint32_t)\*other|(uint32_t)*work->value|'
broken directions 's/entry = count_ones(generator) - 16;/entry = 5;/'
broken rounding 's/ROW_SHIFT = 6/ROW_SHIFT = 0/'
broken overflow 's/ROUGH_SHIFT = 9/ROUGH_SHIFT = 1/; s/return (value + (INT32_C(1) << shift >> 1)) >> shift;/return value;/'

# caught NAME SED: the law of the rank is another one.
caught() {
    try "$1" "$2"
    case $found in *" no-law "*) true ;; *) false ;; esac
    expect "$1 is caught" $? 0
}
caught "a_rank_too_often_early" 's|< work->study->rank_top)|< work->study->rank_top + (1u << 28))|'
caught "a_rank_that_is_not_uniform" 's/early = tremolo_generator_below(generator, first)/& * 7 % first \/ 2/'
caught "a_rank_that_looks_at_the_sample" 's/^    work->rank = late ^ .*/& work->rank += work->sample->features[0] > 0;/'
