# The committed vectors are what their generator writes now, and the core as
# two files gives their bytes with this compiler, with and without the MAC.
# tools/test-ports does the same on the other targets.
. tests/common/tap.sh
export PYTHONDONTWRITEBYTECODE=1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
compiler=${CC:-cc}

python3 tests/vectors/generate.py json "$work/device.json" header "$work/vectors_generated.h" &&
    cmp -s "$work/device.json" tests/vectors/device.json
expect "the committed vectors are up to date" $? 0

tools/amalgamate "$work" && [ -s "$work/vectors_generated.h" ]
expect "the core as two files and the vectors as a header" $? 0

for option in "" -DTREMOLO_LANES=4 -DTREMOLO_WITHOUT_MAC -DTREMOLO_MAX_DIMENSION=10 \
    -DTREMOLO_WITHOUT_SAMPLE -DTREMOLO_WITHOUT_BALLOT; do
    $compiler -std=c99 -Wall -Wextra -Wpedantic -Werror -O2 $option -I"$work" -Iports \
        -o "$work/check" ports/check_vectors.c "$work/tremolo_device.c" &&
        "$work/check" >"$work/log" && grep -q '^[1-9][0-9]* vectors, 0 differences$' "$work/log"
    expect "the same bytes${option:+ with $option}" $? 0
done

# The comparison must be able to fail: one changed coefficient of the cosine.
sed 's/51471 - t/51470 - t/' "$work/tremolo_device.c" >"$work/broken.c"
$compiler -std=c99 -O1 -I"$work" -Iports -o "$work/check" ports/check_vectors.c "$work/broken.c"
"$work/check" >"$work/log"
grep -q '^[1-9][0-9]* vectors, [1-9][0-9]* differences$' "$work/log"
expect "a changed coefficient is noticed" $? 0
