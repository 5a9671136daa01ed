# A release takes the same way through the core whatever the sample is: every basic
# block that the compiled core enters, in order, for samples in the middle, at corners,
# beyond the clip and the bounds (ports/run_time.c). A clock would say less: on a shared
# machine its noise hides a difference of a few instructions, or needs a threshold that
# fails by chance. Here nothing is left to chance: the false-alarm probability is zero.
# tools/test-ports counts the instructions themselves on a Cortex-M0.
. tests/common/tap.sh
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
compiler=${CC:-cc}
tools/amalgamate "$work" || exit 1

# ways CORE LANES: how many different ways the four kinds of reports took.
ways() {
    flags="-std=c99 -O2 -DTREMOLO_MAX_DIMENSION=4 -DTREMOLO_LANES=$2 -I$work -Iports"
    $compiler $flags -fsanitize-coverage=trace-pc -c -o "$work/core.o" "$1" &&
        $compiler $flags -DTRACE -o "$work/program" ports/run_time.c "$work/core.o" &&
        "$work/program" >"$work/log" && uniq "$work/log" | grep -c '^path'
}

for lanes in 1 4; do
    expect "one way for each kind of report, $lanes lanes" "$(ways "$work/tremolo_device.c" $lanes)" 4
done

# caught NAME SED: a core that branches on the sample.
caught() {
    sed "$2" "$work/tremolo_device.c" >"$work/changed.c"
    found=$(ways "$work/changed.c" 1)
    [ "$found" -gt 4 ]
    expect "$1 is caught" $? 0
}
caught "a clip that returns early" 's/^    beyond = tremolo_root_up.*/& if (tremolo_sign(beyond)) return;/'
caught "a division that skips zeros" 's/^        missing = tremolo_sign(rest);/& if (missing) __asm__ volatile("");/'
caught "a wave that is mirrored by a branch" 's/^    uint32_t mirrored = .*/& if (mirrored) __asm__ volatile("");/'
caught "a ballot that branches on its way to the answer" 's/^        key |= bit & tremolo_sign(enough);/& if (tremolo_sign(enough)) __asm__ volatile("");/'
