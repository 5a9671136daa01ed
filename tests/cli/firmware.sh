# A published study as C source: it compiles freestanding with the core as two
# files, warns of nothing, and a firmware made of them sends, byte for byte,
# what a host sends for the same entropy.
. tests/common/tap.sh
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
compiler=${CC:-cc}
tremolo=${BUILD:-build}/tremolo
host=${BUILD:-build}/bin/tests/e2e/host_report
strict="-std=c99 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -Os"
tools/amalgamate "$work"

# compare NAME STUDY SAMPLE POLICY [OPTIONS]: firmware against host.
compare() {
    name=$1 study=$2 sample=$3 policy=$4
    shift 4
    echo "$policy" >"$work/policy.json"
    echo "$sample" >"$work/sample.json"
    $host "$study" "$work/sample.json" "$work/policy.json" >"$work/host"
    expect "$name: the host reports" $? 0
    $tremolo study show "$study" --c --policy "$work/policy.json" >"$work/tremolo_the_study.h"
    expect "$name: written as C" $? 0
    for file in examples/firmware.c "$work/tremolo_device.c"; do
        $compiler $strict -ffreestanding -fno-builtin "$@" -I"$work" -c "$file" -o "$work/$(basename "$file" .c).o"
        expect "$name: $(basename "$file") compiles freestanding" $? 0
    done
    needs=$(nm -u "$work/firmware.o" | awk '{print $2}' | grep -Ev '^(board_|tremolo_device_|_GLOBAL_OFFSET_TABLE_)')
    expect "$name: and needs the board and the core only" "$needs" ""
    $compiler -std=c11 -Wall -Werror "$@" -Itests/common -I"$work" -o "$work/board" tests/common/board.c \
        "$work/firmware.o" "$work/tremolo_device.o" &&
        "$work/board" $(sed -n 's/^raw //p' "$work/host") >"$work/board.out"
    expect "$name: the firmware reports" $? 0
    # Each pair of numbers, the range in its comment, and the formula of docs/how-to/microcontroller.md.
    sed -n 's|^.*[ ={]{*{\(-*[0-9]*\), \(-*[0-9]*\)}, /\* \(.*\) \*/$|\1\t\2\t\3|p' "$work/tremolo_the_study.h" |
        python3 -c '
import json, re, sys
values, raw = json.loads(sys.argv[1]), [int(word) for word in sys.argv[2].split()]
rows = [line.rstrip("\n").split("\t") for line in sys.stdin]
assert len(rows) == len(raw), (rows, raw)
for (least, most, words), is_raw in zip(rows, raw):
    name, text = words.replace("/ *", "/*").replace("* /", "*/").rsplit(": ", 1)
    ends = re.match("(-?[0-9.e+-]+) to (-?[0-9.e+-]+)(,| |$)", text)
    low, high = map(float, ends.groups()[:2]) if ends else (0.0, 1.0)
    by_formula = int(least) + (values.get(name, 0) - low) / (high - low) * (int(most) - int(least))
    # The host rounds to a step, and a step of its bounds is an eighth of a step less over half a range.
    assert abs(by_formula - is_raw) <= 1, (name, by_formula, is_raw)
' "$sample" "$(sed -n 's/^raw //p' "$work/host")"
    expect "$name: bounds, comments and the formula of docs/how-to/microcontroller.md give the host's numbers" $? 0
    sed '/^raw/d' "$work/host" | cmp -s - "$work/board.out"
    expect "$name: id, budget, charge and bytes are the host's" $? 0
}

$tremolo study init >"$work/starter.json"
compare "the starter" "$work/starter.json" '{"sleep": 7.2, "smoker": 0, "heart rate": 61}' '{}' \
    -DTREMOLO_MAX_DIMENSION=2 -DTREMOLO_MAX_VECTORS=1

# Every kind of feature, six coordinates.
cat >"$work/six.json" <<'STUDY'
{"tremolo": 1, "title": "six coordinates",
 "features": [{"name": "age", "unit": "years", "low": 18, "high": 90}, {"name": "sleep", "low": 3, "high": 12},
              {"name": "steps", "low": 0, "high": 30000}, {"name": "smoker", "kind": "yes-no"},
              {"name": "watch", "kind": "category", "levels": ["wrist", "ring", "chest"]}],
 "response": {"name": "heart rate", "low": 40, "high": 110},
 "privacy": {"epsilon": 2, "neighbours": "any", "protects": "all"},
 "protocol": {"kind": "one-shot"}}
STUDY
compare "six coordinates" "$work/six.json" \
    '{"age": 44, "sleep": 7.2, "steps": 8100, "smoker": 0, "watch=ring": 1, "heart rate": 61}' '{}' \
    -DTREMOLO_MAX_DIMENSION=6 -DTREMOLO_MAX_VECTORS=1

# Distances, several samples, names that try to end a comment.
cat >"$work/odd.json" <<'STUDY'
{"tremolo": 1, "title": "odd */ int main; /* names",
 "features": [{"name": "a*/b/*c", "unit": "*/", "low": -0.5, "high": 1e3}],
 "response": {"name": "/*/", "low": 0, "high": 1},
 "privacy": {"epsilon": 1, "neighbours": {"distance": 0.5}, "protects": "features"},
 "protocol": {"kind": "one-shot", "alpha": 0.25},
 "limits": {"opens": "2026-01-01", "closes": "2030-01-01", "enrolment": "open"}}
STUDY
compare "odd names" "$work/odd.json" '{"a*/b/*c": 17.25, "/*/": 0.75}' '{"distance": {"a*/b/*c": 500.25}, "epsilon_per_study": 4}'
expect_match "the dates are there" "$work/tremolo_the_study.h" 'Closes at 2030-01-01T00:00:00Z'

# A comparison that can fail: another sample gives other bytes.
"$work/board" 1 2 >"$work/other.out"
cmp -s "$work/other.out" "$work/board.out"
expect "another sample is another report" $? 1
$compiler $strict -ffreestanding -DTREMOLO_MAX_DIMENSION=4 -DTREMOLO_MAX_VECTORS=1 -I"$work" -c examples/firmware.c \
    -o "$work/small.o" 2>"$work/err"
expect "a study of one coordinate fits small limits" $? 0
$tremolo study show "$work/six.json" --c >"$work/tremolo_the_study.h"
$compiler $strict -ffreestanding -DTREMOLO_MAX_DIMENSION=4 -DTREMOLO_MAX_VECTORS=1 -I"$work" -c examples/firmware.c \
    -o "$work/small.o" 2>"$work/err"
expect "one of six does not" "$(grep -c 'larger limits' "$work/err" | sed 's/[1-9].*/yes/')" yes
echo '{"epsilon_per_study": 1}' >"$work/policy.json"
$tremolo study show "$work/starter.json" --c --policy "$work/policy.json" >"$work/out" 2>"$work/err"
expect "a policy that refuses the study refuses here, too" "$? $(wc -c <"$work/out")" "3 0"

# The main loop, on a board where everything fails in turn and the power goes at each step.
$tremolo study show "$work/starter.json" --c >"$work/tremolo_the_study.h"
limits="-DTREMOLO_MAX_DIMENSION=2 -DTREMOLO_MAX_VECTORS=1"
for file in examples/firmware.c examples/main_loop.c "$work/tremolo_device.c"; do
    $compiler $strict -ffreestanding -fno-builtin $limits -I"$work" -c "$file" -o "$work/$(basename "$file" .c).o"
    expect "the main loop: $(basename "$file") compiles freestanding" $? 0
done
$compiler -std=c11 -Wall -Werror $limits -Itests/common -I"$work" -o "$work/loop" tests/common/faulty_board.c \
    "$work/firmware.o" "$work/main_loop.o" "$work/tremolo_device.o" && "$work/loop" >"$work/out"
expect "it sends one report whatever happens, and stops at a damaged ledger" "$(cat "$work/out")" \
    "40 days, 0 wrong; a damaged ledger: status 93, sent 0"
