# The device's header compiles as C++, and the example in its opening comment
# compiles and runs as printed.
. tests/common/tap.sh
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
tools/amalgamate "$work" || exit 1

# The example is the first block of lines indented by five blanks.
{
    cat <<'START'
#include <stdio.h>
#include "memory_platform.h"
static const struct tremolo_bounds bounds[2] = {{0, 20000}, {40, 100}};
static size_t sent;
static void send(const uint8_t *report, size_t length)
{
    sent = length > 0 && report[0] == 0x86 ? length : 0;
}
static struct tremolo_study make_study(void)
{
    static struct tremolo_study study;
    study.bounds = bounds;
    study.response_bounds.high = 100;
    study.unit = study.clip = 1 << 18;
    study.dimension = 2;
    study.keep = TREMOLO_KEEP_ONE;
    study.rounds = study.samples = 1;
    study.noise_log2 = 18;
    study.wire_shift = study.wire_bits = 12;
    return study;
}
int main(void)
{
    static struct tremolo_work enrolling;
    static struct memory_device device;
    const uint8_t entropy[TREMOLO_SEED_BYTES] = "thirty-two bytes from hardware.";
    struct tremolo_platform platform = memory_platform(&device, NULL);
    struct tremolo_study study = make_study();
    device.entropy = entropy;
    if (tremolo_device_enrol(&enrolling, &platform, tremolo_study_charge(&study), 0) != TREMOLO_OK) {
        return 1;
    }
START
    sed -n '/\*\/$/q; s/^ \*     //p' src/device/include/tremolo_device.h
    cat <<'END'
    return sent == length && status == TREMOLO_OK ? 0 : 1;
}
END
} >"$work/example.c"

lines=$(sed -n '/\*\/$/q; s/^ \*     //p' src/device/include/tremolo_device.h | wc -l)
[ "$lines" -ge 8 ] && [ "$lines" -le 14 ]
expect "the header's example has $lines lines" $? 0

gcc -std=c99 -Wall -Wextra -Wpedantic -Werror -I"$work" -Iports -o "$work/example" \
    "$work/example.c" "$work/tremolo_device.c" && "$work/example"
expect "the example runs as C" $? 0

gcc -std=c99 -c -o "$work/core.o" "$work/tremolo_device.c"
for compiler in g++ clang++; do
    for standard in c++11 c++17; do
        $compiler -x c++ -std=$standard -Wall -Wextra -Wpedantic -Werror -I"$work" -Iports \
            -c -o "$work/example.o" "$work/example.c" &&
            $compiler -o "$work/example" "$work/example.o" "$work/core.o" && "$work/example"
        expect "the example runs as $standard with $compiler" $? 0
    done
done

code=0
for source in src/device/*.c; do
    gcc -std=c99 -ffreestanding -Wall -Wextra -Wpedantic -Werror -DTREMOLO_WITHOUT_MAC \
        -DTREMOLO_MAX_DIMENSION=8 -Isrc/include -Isrc/device/include -c -o "$work/small.o" "$source" || code=1
done
expect "the core compiles without the MAC and with eight features" $code 0

# A file compiled with other limits than the core would bring a work object of
# another size: it must not link.
gcc -std=c99 -DTREMOLO_MAX_DIMENSION=8 -c -o "$work/core8.o" "$work/tremolo_device.c"
gcc -std=c99 -DTREMOLO_MAX_DIMENSION=8 -I"$work" -Iports -o "$work/example" "$work/example.c" \
    "$work/core8.o" && "$work/example"
expect "the example runs with eight features" $? 0
for limits in -DTREMOLO_MAX_DIMENSION=0 -DTREMOLO_MAX_DIMENSION=257 -DTREMOLO_MAX_VECTORS=0 \
    -DTREMOLO_MAX_VECTORS=257; do
    # shellcheck disable=SC2086
    gcc -std=c99 $limits -c -o "$work/core0.o" "$work/tremolo_device.c" 2>"$work/err"
    expect "no core is built with $limits" $? 1
    expect_match "limits are named" "$work/err" 'TREMOLO_MAX_DIMENSION and TREMOLO_MAX_VECTORS are 1 to 256'
done
for limits in "" -DTREMOLO_MAX_DIMENSION=9 "-DTREMOLO_MAX_DIMENSION=8 -DTREMOLO_MAX_VECTORS=4"; do
    # shellcheck disable=SC2086
    gcc -std=c99 $limits -I"$work" -Iports -o "$work/example" "$work/example.c" "$work/core8.o" \
        2>"$work/err"
    expect "but does not link with '$limits'" $? 1
    expect_match "because a name is missing" "$work/err" 'undefined reference to .tremolo_device_report'
done
