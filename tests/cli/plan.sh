# tremolo plan: known numbers, refusals, agreement with simulated devices.
. tests/common/tap.sh
tremolo=${BUILD:-build}/tremolo
dir=$(mktemp -d)
out=$dir/out
trap 'rm -rf "$dir"' EXIT

# Ballots, for any two people and all of their samples, unless told otherwise.
$tremolo plan --dimension 8 --devices 50k --epsilon 2 >"$out"
expect "a plan exits 0" $? 0
expect_match "for a ballot" "$out" '^8 features, 50000 devices, one ballot with epsilon = 2, delta = 0$'
expect_match "that protects everything" "$out" "^protects: any two people's features and responses, whatever they are$"
needed() { sed -n "s/^$1  *\([0-9]*\) .*/\1/p" "$out"; }
expect "with 500 times fewer devices than noisy samples, at least" \
    "$(echo "$(needed 'as planned: ballots') $(needed 'noisy samples for any two people')" | awk '{print ($1 > 0 && $2 >= 500 * $1)}')" 1
for lever in 'epsilon 1' 'epsilon 4' '4 features with the same R^2' 'response in the clear' \
    'noisy samples for distance=1' 'a trusted server, any two people'; do
    expect "a lever: $lever" "$(needed "$lever" | wc -l)" 1
done
expect_match "an attacker's success" "$out" '^as planned: ballots +[0-9]+ +0\.[0-9]+ +79\.[0-9]%$'
expect "the end says what to do" "$(grep -c '^What to do: ' "$out") $(tail -4 "$out" | grep -c '^What to do: ')" "1 1"
expect_match "and what is guessed of the features" "$out" '^guessed: R.2 0\.5 without privacy, features that are not correlated, with sd 0\.62 '
need=$(needed 'as planned: ballots')
$tremolo plan --dimension 3 --devices 1000 --epsilon 20 --neighbours distance=0.2 --delta 1e-5 >"$out.weak"
expect_match "an attacker who is nearly always right" "$out.weak" '^as planned: noisy samples +[0-9]+ +0\.[0-9]+ +>99\.9%$'
expect "and never at most always" "$(grep -c '100\(\.0\)*%' "$out.weak")" 0
$tremolo plan --dimension 8 --devices 50000 --epsilon 2 --correlation 0.9 >"$out.alike"
expect_match "a correlation that is given is said" "$out.alike" '^guessed: R.2 0\.5 without privacy, features with correlation 0\.9, with sd 0\.62 '
$tremolo plan --dimension 8 --devices 1M --epsilon 2 >"$out"
expect "what is needed does not depend on what there is" "$(needed 'as planned: ballots')" "$need"
expect_match "which is enough" "$out" '^What to do: go ahead\.$'
# Devices enough for the size of coefficients may be too few for intervals to hold.
$tremolo plan --dimension 8 --devices 55k --epsilon 2 >"$out"
tr '\n' ' ' <"$out" >"$dir/flat"
expect_match "coefficients that would be told" "$out" '^Verdict: with 55000 devices each of the 8 coefficients'
expect_match "may be hidden: the verdict says so" "$dir/flat" 'The noise ratio will be about 0\.2[0-9]*, and intervals are exact up to 0\.21: above that read score sets instead, and noise may hide coefficients\.'
expect_match "and which number of devices is which" "$dir/flat" 'You need about 5[0-9]000 devices to detect effects and about 7[0-9]000 for exact intervals\.'
expect_match "as the table's foot does" "$out" '^With the devices needed, coefficients of the guessed size are significant in four studies of five\.$'
expect_match "and what to do is not to go ahead" "$dir/flat" 'What to do: bring about 7[0-9]000 devices, with which intervals are exact, or take a larger epsilon'
enough=$(sed -n 's/.*bring about \([0-9]*\) devices, .*/\1/p' "$dir/flat")
$tremolo plan --dimension 8 --devices "$enough" --epsilon 2 >"$out"
expect "with as many one may" "$(grep -c '^What to do: go ahead\.$' "$out") $(grep -c 'score' "$out")" "1 0"
$tremolo plan --dimension 8 --devices 55k --epsilon 2 --json >"$out"
expect "JSON has it as data" "$(python3 -c 'import json, sys
plan = json.load(open(sys.argv[1]))
verdict, ratio = plan["verdict"], plan["expected"]["noise_ratio"]
print(verdict["told_from_zero"], verdict["identified"], verdict["noise_ratio_max"],
      abs(55000 * (ratio / 0.21) ** 2 - verdict["devices_identified"]) <= 1)' "$out")" "True False 0.21 True"
# An answer that one in thirty gives varies less than a plan's usual feature.
$tremolo study init | sed 's/"typical": 0.2/"typical": 0.03/' >"$dir/rare.json"
$tremolo plan --study "$dir/rare.json" >"$out"
expect_match "rare answers have wider intervals" "$out" '^Answers that few give have wider intervals'
$tremolo plan --study "$dir/rare.json" --sd 0.3 >"$out.little"
expect "not where all features are guessed to vary as little" "$(grep -c '^Answers that few give' "$out.little")" 0
$tremolo study init >"$dir/usual.json"
$tremolo plan --study "$dir/usual.json" >"$dir/usual"
rare=$(needed 'as planned: ballots')
cp "$dir/usual" "$out"
expect "and the verdict counts the devices that they need, by about the square" "$(awk -v r="$rare" -v u="$(needed 'as planned: ballots')" 'BEGIN { print (r > 8 * u && r < 14 * u) }')" 1
$tremolo plan --study "$dir/rare.json" >"$out"
expect "by one over their variance" "$(awk '/^  smoker/ { w[FILENAME] = $3 } END { printf "%.1f", w[ARGV[1]] / w[ARGV[2]] }' "$out" "$dir/usual")" 3.3
$tremolo plan --dimension 8 --devices 50k --epsilon 2 --release sample >"$out"
expect_match "noisy samples are not what to take" "$out" '^What to do: take ballots for any two people'
tr '\n' ' ' <"$out" >"$dir/flat"
expect_match "whose ratio has its own limit" "$dir/flat" 'intervals are exact up to 0\.12'
$tremolo plan --dimension 8 --devices 50k --epsilon 12 --protect features --json >"$out"
expect_match "JSON has the release" "$out" '"release": "ballot"'
expect_match "what is protected" "$out" '"protect": "features"'
expect_match "and the levers" "$out" '"attack_success": 0\.[0-9]+'
$tremolo plan --dimension 8 --devices 50k --epsilon 12 >"$out"
expect_match "a large epsilon is warned of" "$out" '^Epsilon 12 protects hardly anything'
$tremolo plan --dimension 8 --devices 50k --epsilon 2 --neighbours distance=1 >"$out"
expect_match "a distance, too" "$out" '^An attacker who tells two people apart'

# The paper's release and its units, in which features have standard deviation 1.
paper="--neighbours distance=1 --protect features --sd 1"
# shellcheck disable=SC2086 # in this file $paper stands for several words
paper_plan() { $tremolo plan $paper "$@"; }
paper_plan --dimension 8 --devices 10000 --epsilon 1 --json >"$out"
expect "a plan for noisy samples exits 0" $? 0
# the analytic Gaussian mechanism: 3.7306 at epsilon 1, delta 1e-5
expect_match "exact noise" "$out" '"noise_sd": 3\.730'
expect_match "the neighbours, as simulate names them" "$out" '"neighbours": "distance=1"'
cp "$out" "$dir/plain"
for count in 10k 10,000 1e4; do
    paper_plan --dimension 8 --devices $count --epsilon 1 --json >"$out"
    expect "a count may be written $count" "$? $(cmp "$out" "$dir/plain" && echo same)" "0 same"
done
# A study file brings the paper's mechanism and its calibration, L/(1-alpha) = (0.5 + 0.2)/0.5 times zCDP's 4.9.
cat >"$dir/paper.json" <<'JSON'
{"tremolo": 1, "title": "T", "features": [{"name": "a", "low": 0, "high": 1}, {"name": "b", "low": 0, "high": 1}],
 "response": {"name": "y", "low": 0, "high": 1},
 "privacy": {"epsilon": 1, "neighbours": {"distance": 1}, "protects": "features"},
 "protocol": {"kind": "one-shot", "calibration": "paper", "vectors": 1, "alpha": 0.5, "lambda": 0.2, "omega": 1}, "limits": {"devices": 10000}}
JSON
$tremolo plan --study "$dir/paper.json" --json >"$out"
expect_match "the paper's noise" "$out" '"noise_sd": 6\.86'
expect_match "and its calibration" "$out" '"calibration": "paper"'
$tremolo plan --dimension 4 --devices 1000 --epsilon 1 --release sample --protect features --json >"$out"
expect_match "any two people are 2 sqrt(d) apart" "$out" '"sensitivity": 4\.0'
paper_plan --dimension 8 --devices 10000 --epsilon 2 --half-width 0.05 --effect 0.1 >"$out"
expect_match "devices for a width" "$out" '^devices for intervals of \+- 0\.05: [0-9]+$'
expect_match "devices for power" "$out" '^devices to detect 0\.1 with power 0\.8: [0-9]+$'
expect_match "says what is protected" "$out" '^protects: features that differ by at most 1'
paper_plan --dimension 8 --devices 10000 --epsilon 1 >"$out"
expect "a verdict is" "$(grep -c '^Verdict: with 10000 devices not all coefficients ' "$out")" 1
paper_plan --dimension 2 --devices 1000000 --epsilon 2 >"$out"
expect_match "a better one" "$out" '^Verdict: with 1000000 devices each of the 2 coefficients will be significant, in'
paper_plan --dimension 2 --devices 1000000 --epsilon 2 --json >"$out"
expect_match "and in JSON" "$out" '"told_from_zero": true'
expect_match "with the liars that turn a sign" "$out" '"liars_turn_sign": [1-9][0-9.]+'

# A study file instead of numbers.
cat >"$dir/study.json" <<'JSON'
{"tremolo": 1, "title": "T", "features": [{"name": "age", "low": 0, "high": 100},
                                          {"name": "smoker", "kind": "yes-no"}],
 "response": {"name": "pulse", "low": 40, "high": 140},
 "privacy": {"epsilon": 1, "neighbours": {"distance": 0.5}, "protects": "features"},
 "protocol": {"kind": "one-shot"}, "limits": {"devices": 5000}}
JSON
$tremolo plan --study "$dir/study.json" >"$out"
expect "a plan for a study" $? 0
expect_match "has its terms" "$out" '^2 features, 5000 devices, one release with epsilon = 1, delta = 1e-05 \(exact\)'
expect_match "and its units" "$out" '^  age +\+- [0-9.e-]+$'
# pulse has 100 units, age 100, smoker 1: the same scaled width is 100 times as wide
widths=$(sed -n 's/^  \(age\|smoker\) *+- //p' "$out" | tr '\n' ' ')
expect "each feature by its range" "$(echo "$widths" | awk '{print ($2 / $1 > 99.9 && $2 / $1 < 100.1)}')" 1
# Columns are counted in characters, whatever their bytes, and make room for long names.
sed 's/"age"/"Größe des Kühlgeräts"/; s/"smoker"/"a name of more than twenty-four characters"/' "$dir/study.json" >"$dir/accents.json"
$tremolo plan --study "$dir/accents.json" | python3 -c '
import io, sys
lines = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8").read().split("per unit of\n")[1].split("\n\n")[0].splitlines()
print(len({line.index(" +- ") for line in lines}), len(lines) > 1)' >"$out"
expect "columns are counted in characters" "$(cat "$out")" "1 True"
$tremolo plan --study "$dir/study.json" --json >"$out.study"
$tremolo plan --dimension 2 --devices 5000 --epsilon 1 --neighbours distance=0.5 \
    --protect features --json | cmp -s - "$out.study"
expect "the same numbers as by hand" $? 0
$tremolo plan --epsilon 2 --devices 100 --study "$dir/study.json" >"$out"
expect_match "options override it, wherever they stand" "$out" '^2 features, 100 devices, one release with epsilon = 2,'
sed 's/"limits": {/&"samples": 3, "enrolment": "keys", /' "$dir/study.json" >"$dir/three.json"
$tremolo plan --study "$dir/three.json" >"$out.three"
expect "a study that takes several samples of a device" $? 0
expect_match "pays for all of them" "$out.three" 'one release for each of a device.s samples, all together with epsilon = 1,'
sed 's/"protects": "features"/"protects": "all"/' "$dir/study.json" >"$dir/all.json"
for samples in 1 3; do
    sed 's/{"distance": 0.5}/"any"/; s/"kind": "one-shot"/"release": "ballot"/
        s/"limits": {/&"samples": '"$samples"', "enrolment": "keys", /' "$dir/all.json" >"$dir/votes.json"
    right=$($tremolo study show "$dir/votes.json" | sed -n 's/^any two .*attacker right \(.*\)/\1/p')
    $tremolo plan --study "$dir/votes.json" >"$out"
    expect_match "of $samples ballots an attacker is right as often as the study says" "$out" "^as planned: ballots .* ${right:-none}\$"
done
$tremolo plan --study "$dir/all.json" >"$out"
expect_match "and how little its mean is known" "$out" '^Noise alone gives the mean of .* a standard error of '
expect_match "a private response is said" "$out" '^protects: features and responses'
error() { sed -n 's/^standard error *\([0-9.e+-]*\) *\([0-9.e+-]*\) .*/\'"$2"'/p' "$1"; }
$tremolo plan --study "$dir/study.json" >"$dir/public"
expect "and widens the interval" "$(echo "$(error "$out" 1) $(error "$dir/public" 1)" | awk '{print ($1 > 1.5 * $2)}')" 1
expect "but not that without privacy" "$(error "$out" 2)" "$(error "$dir/public" 2)"
sed 's/{"distance": 0.5}/"any"/; s/"kind": "one-shot"/"release": "ballot"/' "$dir/all.json" >"$dir/ballot.json"
$tremolo plan --study "$dir/ballot.json" >"$out"
expect "a plan for a study of ballots" $? 0
expect_match "has its terms" "$out" '^2 features, 5000 devices, one ballot with epsilon = 1, delta = 0$'
expect_match "and its units" "$out" '^  age +\+- [0-9.e-]+$'
$tremolo plan --study "$dir/ballot.json" --json >"$out.study"
$tremolo plan --dimension 2 --devices 5000 --epsilon 1 --json | cmp -s - "$out.study"
expect "the same numbers as by hand" $? 0
$tremolo plan --study "$dir/ballot.json" --release sample >"$out"
expect_match "and another release" "$out" '^as planned: noisy samples '
sed 's/"devices": 5000/"samples": 1/' "$dir/study.json" >"$dir/open.json"
$tremolo plan --study "$dir/open.json" >"$out" 2>"$dir/err"
expect "a study without a limit needs --devices" "$? $(wc -l <"$dir/err")" "2 1"
$tremolo plan --study "$dir/none.json" >"$out" 2>"$dir/err"
expect "a study that is not there" "$? $(wc -l <"$dir/err")" "2 1"
# A study for any two people may be planned for a distance instead; its radius is its own.
cat >"$dir/any.json" <<'STUDY'
{"tremolo": 1, "title": "any", "features": [{"name": "a", "low": 0, "high": 1}], "response": {"name": "y", "low": 0, "high": 1},
 "privacy": {"epsilon": 2, "delta": 1e-5, "neighbours": "any", "protects": "all", "clip": 1},
 "protocol": {"kind": "one-shot", "release": "sample"}, "limits": {"devices": 50000}}
STUDY
$tremolo plan --study "$dir/any.json" --neighbours distance=1 >"$out" 2>"$dir/err"
expect "a study is planned for a distance" "$? $(cat "$dir/err")" "0 "
echo '{}' >"$dir/empty.json"
$tremolo plan --study "$dir/empty.json" >"$out" 2>"$dir/err"
expect "a file that is no study" "$? $(wc -l <"$dir/err")" "2 1"

for arguments in "" "--dimension 0 --devices 10 --epsilon 1" "--dimension 2 --devices 10 --epsilon 0" \
    "--dimension 2 --devices 10 --epsilon x" "--dimension 2 --devices 10 --epsilon 1 --effect 0" \
    "--dimension 2.5 --devices 10 --epsilon 1" "--dimension 2 --devices 10 --epsilon 1 extra" \
    "--dimension 3 --devices 10 --epsilon 1 --correlation -0.9" \
    "--dimension 2 --devices 10 --epsilon 1 --neighbours near" "--dimension 2 --devices 10 --epsilon 20" \
    "--dimension 2 --devices 10 --epsilon 1 --release ballot --neighbours distance=1"; do
    # shellcheck disable=SC2086
    $tremolo plan $arguments >"$out" 2>"$dir/err"
    expect "refused: plan $arguments" $? 2
    expect "in one line, nothing on stdout" "$(wc -l <"$dir/err") $(wc -c <"$out")" "1 0"
    expect "which is no riddle" "$(grep -c 'an argument is null' "$dir/err")" 0
done
$tremolo plan --dimension 8 --devices 100 --epsilon 0.001 --half-width 1e-9 2>"$dir/err"
expect "out of reach is a refusal" $? 3
expect_match "that says what is out of reach" "$dir/err" 'no number of devices'

# What is planned is what simulated devices give: features uniform in -1..1, a response of
# R^2 one half, both scaled so that nine of ten lie in -1..1.
generate() {
    awk -v d="$1" -v rows="$2" '
    function uniform() { seed = (seed * 48271) % 2147483647; return seed / 2147483647 }
    function normal() { return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform()) }
    BEGIN {
        seed = 7
        for (j = 1; j <= d; j++) printf "x%d,", j
        print "y"
        for (i = 0; i < rows; i++) {
            y = sqrt(d / 3) * normal()
            for (j = 1; j <= d; j++) { x = 2 * uniform() - 1; y += x; printf "%.4f,", x }
            printf "%.4f\n", y
        }
    }' >"$dir/people.csv"
}
agrees() { # features, epsilon, protect, rows to spare: at least so many
    $tremolo plan --dimension "$1" --devices 2 --epsilon "$2" --protect "$3" --json >"$dir/planned"
    rows=$(python3 -c 'import json, sys
print(max(int(sys.argv[2]), int(json.load(open(sys.argv[1]))["verdict"]["devices_needed"] / 0.8) + 1))' "$dir/planned" "$4")
    generate "$1" "$rows"
    for seed in 1 2 3 4 5 6 7 8; do
        $tremolo simulate "$dir/people.csv" --response y --epsilon "$2" --protect "$3" --seed $seed \
            --json >"$dir/simulated.$seed"
    done
    $tremolo plan --dimension "$1" --devices $((rows - rows / 5)) --epsilon "$2" --protect "$3" \
        --json >"$dir/planned"
    # A coefficient is 1, and stands out when its standard error is 1/2.8. A jackknife's variance
    # has an error of a quarter and rare large values; the median over eight runs one of a tenth.
    python3 - "$dir/planned" "$dir"/simulated.? >"$out" <<'PYTHON'
import json, statistics, sys
planned, *runs = (json.load(open(path)) for path in sys.argv[1:])
# One that noise hides is larger than all others.
errors = [row["standard_error"] or float("inf") for run in runs for row in run["coefficients"][:planned["dimension"]]]
needed = (2.8 * statistics.median(errors)) ** 2 * planned["devices"]
r2 = sum(run["simulation"]["r2"]["mean"] for run in runs) / len(runs)
expected, devices = planned["expected"]["r2"], planned["verdict"]["devices_needed"]
print(abs(r2 - expected) <= 0.05, 1 / 1.5 <= needed / devices <= 1.5)
print(f"# R^2 {r2:.3f}, planned {expected:.3f}; devices {needed:.0f}, planned {devices:.0f}", file=sys.stderr)
PYTHON
    expect "a plan agrees with simulated devices: $1 features, epsilon $2, $3" "$(cat "$out")" "True True"
}
if [ -n "${TEST_LONG:-}" ]; then # a minute or two
    for protect in all features; do
        for epsilon in 1 2 4; do
            agrees 3 $epsilon $protect 1000
            agrees 8 $epsilon $protect 1000
        done
    done
else
    agrees 3 2 all 1000
    agrees 3 2 features 1000
    agrees 8 4 features 1000
fi
