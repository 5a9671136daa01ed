# The device's public header from C99 and C++, and the example in its opening
# comment: it is cut out of the comment, compiled as it stands and run. A build
# without the MAC is made too.
. tests/common/tap.sh
build=${BUILD:-build}
cc=${CC:-cc}
warnings="-Wall -Wextra -Wpedantic -Werror"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cat >"$scratch/main.c" <<'SOURCE'
#include "tremolo_device.h"
#include "tremolo_host.h"
static size_t sent;
static void send(const uint8_t *bytes, size_t length) { sent = bytes[0] == 0x86 ? length : 0; }
int main(void)
{
    static struct tremolo_host_memory memory;
    static const struct tremolo_bounds bounds[2] = {{0, 20000}, {30, 200}};
    struct tremolo_platform platform = tremolo_host_memory_platform(&memory);
    struct tremolo_study study = {0};
    study.bounds = bounds;
    study.response_bounds = bounds[1];
    study.unit = study.clip = 1 << 18;
    study.dimension = 2;
    study.keep = TREMOLO_KEEP_ONE;
    study.rounds = study.samples = 1;
    study.noise_log2 = 18;
    study.wire_shift = study.wire_bits = 12;
    {
        static struct tremolo_work first;
        if (tremolo_device_enrol(&first, &platform, 5 * TREMOLO_CHARGE_ONE) != TREMOLO_OK) {
            return 1;
        }
    }
SOURCE
# The example is what the first comment indents by four further blanks.
sed -n '1,/\*\//s/^ \*     //p' device/tremolo_device.h >"$scratch/example.c"
expect "the example has ten lines, a few more or less" \
    "$([ "$(wc -l <"$scratch/example.c")" -ge 8 ] && [ "$(wc -l <"$scratch/example.c")" -le 14 ] && echo yes)" yes
cat "$scratch/example.c" >>"$scratch/main.c"
printf '    return sent > 40 ? 0 : 2;\n}\n' >>"$scratch/main.c"
libraries="$build/libtremolo.a -lm"
$cc -std=c99 $warnings -Istatus -Idevice -Ihost -o "$scratch/main" "$scratch/main.c" $libraries 2>"$scratch/out"
code=$?
cat "$scratch/out" >&2
expect "the example compiles as C99" "$code" 0
"$scratch/main"
expect "and makes a report" "$?" 0

printf '#include "tremolo_device.h"\n#include "tremolo_host.h"\nint main() { return tremolo_device_version() == 0; }\n' >"$scratch/main.cc"
g++ -std=c++11 $warnings -Istatus -Idevice -Ihost -o "$scratch/plus" "$scratch/main.cc" $libraries 2>"$scratch/out"
expect "the headers compile as C++" "$?" 0
"$scratch/plus"
expect "and link from C++" "$?" 0

mkdir "$scratch/small"
code=0
for source in device/*.c; do
    $cc -std=c99 -ffreestanding $warnings -DTREMOLO_WITHOUT_MAC -DTREMOLO_MAX_DIMENSION=8 -Istatus \
        -Idevice -c -o "$scratch/small/$(basename "$source" .c).o" "$source" 2>"$scratch/out" || code=1
done
expect "the core compiles without the MAC and with eight features" "$code" 0
