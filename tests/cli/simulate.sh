# tremolo simulate: a known relation is found, results depend on the seed
# alone, devices in bulk and with the core agree, and bad input is refused in one sentence.
. tests/common/tap.sh
tremolo=${BUILD:-build}/tremolo
dir=$(mktemp -d)
out=$dir/out err=$dir/err
trap 'rm -rf "$dir"' EXIT

# y = 3 + 2 a - b + noise; c is a category that adds 1 for "high".
awk 'BEGIN { srand(7); print "a;b;c;y"
    for (i = 0; i < 4000; i++) {
        a = rand() * 10; b = rand() * 4; high = rand() < 0.5
        noise = rand() + rand() + rand() - 1.5
        printf "%.6f;%.6f;%s;%.6f\n", a, b, high ? "high" : "basic", 3 + 2 * a - b + high + noise
    }
    print "NA;1;high;5"; print "1;;high;5" }' >"$dir/known.csv"

number() { # the value of a top-level key of JSON, one key to a line
    sed -n "s/^ *\"$1\": \(-*[0-9.e+-]*\),*$/\1/p" "$out" | head -n 1
}
near() { # name, value, wanted, tolerance
    expect "$1 ($2 near $3)" "$(awk "BEGIN { d = $2 - $3; print (d < $4 && d > -$4) }")" 1
}

# The paper's release; ballots have their own tests below.
paper="--neighbours distance=0.5 --protect features"
$tremolo simulate "$dir/known.csv" --response y $paper --epsilon 50 --seed 1 --json >"$out"
expect "a simulation exits 0" $? 0
expect_match "the method" "$out" '"method": "auto"'
expect_match "one-hot with the first level as reference" "$out" '"name": "c=high"'
near "features" "$(grep -c '"standard_error"' "$out")" 4 0.5
near "devices" "$(number devices)" 3200 0.5
near "dropped rows" "$(number dropped)" 2 0.5
near "R^2 with little noise" "$(number mean)" "$(number r2_ols)" 0.01
expect_match "what is protected" "$out" '"protects": "features"'
expect_match "the neighbours" "$out" '"neighbours": "distance=0.5"'
# The coefficient of a is 2: at this noise its standard error is near 0.03, and
# the tolerance five of them.
near "the first coefficient" "$(number estimate)" 2 0.15

for threads in 1 2 3; do
    for release in "$paper" ""; do
        $tremolo simulate "$dir/known.csv" --response y $release --epsilon 1 --seed 5 --threads $threads \
            --json | grep -v '"seconds"' >"$dir/threads$threads${release:+sample}"
    done
done
for release in "" sample; do
    cmp -s "$dir/threads1$release" "$dir/threads2$release" && cmp -s "$dir/threads1$release" "$dir/threads3$release"
    expect "${release:-ballot}: the same on 1, 2 and 3 threads" $? 0
done
$tremolo simulate "$dir/known.csv" --response y $paper --epsilon 1 --seed 6 --json | grep -v '"seconds"' |
    cmp -s - "$dir/threads1sample"
expect "another seed, another result" $? 1

# Noisy samples are the device core's, whether or not their reports are kept; ballots in bulk have other
# random bits than those of the core and the same law. Means of 20 draws each: at epsilon 8 a draw's
# standard deviation is below 0.01, so the difference of means has at most 0.004; five of them.
$tremolo simulate "$dir/known.csv" --response y $paper --epsilon 2 --seed 1 --json --reports "$dir/core" | grep -v '"seconds"' >"$dir/same"
$tremolo simulate "$dir/known.csv" --response y $paper --epsilon 2 --seed 1 --json | grep -v '"seconds"' >"$out"
expect "noisy samples do not depend on whether they are kept" "$(cmp "$out" "$dir/same")" ""
expect_match "the noise is exact" "$out" '"noise": "exact"'
means() { # the mean R^2 of 20 seeds
    for seed in $(seq 20); do
        $tremolo simulate "$dir/known.csv" --response y --epsilon 8 --seed "$seed" --json "$@" |
            sed -n 's/^ *"mean": \([-0-9.e]*\),*$/\1/p' | head -n 1
    done | awk '{ s += $1 } END { print s / NR }'
}
near "ballots in bulk and with the core agree" "$(means)" "$(means --reports "$dir/core" --force)" 0.02

for method in auto one-shot iterative pooled ols; do
    $tremolo simulate "$dir/known.csv" --response y $paper --epsilon 20 --seed 1 --method $method \
        >"$out" 2>"$err"
    expect "method $method exits 0" $? 0
    expect_match "and says what it promises" "$out" '^Privacy: '
done
for options in "--neighbours any" "--protect all" "--neighbours any --protect all" "--neighbours distance=1" \
    "--method iterative --rounds 3" "--test-share 0"; do
    # shellcheck disable=SC2086
    $tremolo simulate "$dir/known.csv" --response y $paper --epsilon 5 --seed 1 $options >"$out" 2>"$err"
    expect "simulate $options" $? 0
done
$tremolo simulate "$dir/known.csv" --response y $paper --epsilon 20 --seed 1 --method iterative >"$out"
expect_match "rounds: the gradient's variance" "$out" '^Gradient variance at the estimate '
expect_match "and both convergence bounds" "$out" '^Excess loss after 10 rounds: .* as printed '
$tremolo simulate "$dir/known.csv" --response y $paper --epsilon 20 --seed 1 >"$out"
expect_match "a large epsilon is warned of" "$out" '^Epsilon 20 protects hardly anything'
expect "of rounds only" "$(grep -c '^Gradient variance' "$out")" 0

# The guarantee is a few lines, with the numbers of the long form.
guarantee() { sed -n '/^Privacy: /,/^$/p' "$out" | tr '\n' ' '; }
$tremolo simulate "$dir/known.csv" --response y --features a --epsilon 2 --seed 1 >"$out"
expect "ballots: the guarantee in short" "$(guarantee)" "Privacy: epsilon 2, delta 0, for any two people.  "
expect "before the table it is an answer" "$(sed -n '/^Private: /,/^$/p' "$out" | tr '\n' ' ')" \
    "Private: Guessing between any two people, an attacker is right at most 79.2% of the time; a coin is right 50%.  "
$tremolo simulate "$dir/known.csv" --response y --features a --epsilon 15 --seed 1 >"$dir/weak"
expect_match "what is a little less than always is not said to be always" "$dir/weak" 'above 99\.9% of'
expect_match "degrees of freedom are explained" "$out" "^errors come from leaving out each of 32 groups of reports in turn\.$"
$tremolo simulate "$dir/known.csv" --response y --features a $paper --epsilon 5 --seed 1 --explain >"$dir/long"
$tremolo simulate "$dir/known.csv" --response y --features a $paper --epsilon 5 --seed 1 >"$out"
expect "a distance: whom it protects" "$(guarantee | sed 's/ For two people.*//')" "Privacy: epsilon 5, delta 1e-05, for two people at \
most 0.5 apart in half ranges, and for those only; responses are sent in the clear."
expect "the long form has the same table" "$(grep -c 'attacker right' "$dir/long")" "$(grep -c 'attacker right' "$out")"
# Whoever chooses a distance sees, in own units, what it leaves out: noise for half a range is
# as far from hiding a whole one as mu is from 4 mu.
$tremolo simulate "$dir/known.csv" --response y --features a,b --neighbours distance=0.5 --epsilon 2 --seed 1 >"$out"
expect_match "a distance is in half ranges" "$out" '^Privacy: epsilon 2, delta 1e-05, for two people at most 0.5 apart in half$'
for row in 'a, 9\.99[0-9]* apart +distance 2 .* 84\.[34]%' 'b, 3\.99[0-9]* apart +distance 2 .* 84\.[34]%' \
    'y, [0-9.]+ apart +distance 2 .* 84\.[34]%' 'promised +distance 0.5 .* 60%' 'any two +distance 3\.46'; do
    expect_match "a distance: $row" "$out" "^$row"
done
expect_match "what is promised, in own units" "$out" '^promised, each alone: a 2\.49, b 0\.99[0-9], y '
expect_match "a small distance is warned of" "$out" '^Distance 0.5 protects only people that near'
# Heavy tails: features count up to eight half ranges, in predictions as on devices. Without that
# R^2 was -5.1 here.
awk 'BEGIN { srand(3); print "a,b,y"
    for (i = 0; i < 2500; i++) {
        a = rand() - 0.5; b = rand() - 0.5; a = sin(3.14159 * a) / cos(3.14159 * a); b = sin(3.14159 * b) / cos(3.14159 * b)
        print a "," b "," (rand() + rand() + rand() - 1.5)
    } }' >"$dir/tails.csv"
$tremolo simulate "$dir/tails.csv" --response y --epsilon 2 --repeats 10 --seed 1 --json >"$out"
expect "heavy tails do not ruin a prediction ($(number mean))" "$(awk "BEGIN { print ($(number mean) > -0.05) }")" 1
$tremolo simulate "$dir/known.csv" --response y --features a --epsilon 2 --seed 1 --reports "$dir/kept" --json >"$out"
ballots=$(number attacker_right)
$tremolo fit "$dir/kept" --json >"$out"
expect "a simulation and its reports promise the same" "$ballots $(number attacker_right)" "0.79200000000000004 0.79200000000000004"

# Least squares on the raw rows: every standard error, and no word of noise. R's lm() on the same
# 4000 rows gives 0.0243 for the intercept.
$tremolo simulate "$dir/known.csv" --response y --features a,b --method ols --test-share 0 --seed 1 >"$out"
expect_match "ols has the intercept's standard error" "$out" '^\(intercept\) +3\.[0-9]+ +0\.02[0-9]+ '
expect "and no noise that could hide R^2" "$(grep -c 'at this noise\|leaving out' "$out")" 0
$tremolo simulate "$dir/known.csv" --response y --features a $paper --epsilon 5 --seed 1 >"$out"
expect_match "one feature is no plural" "$out" '^y ~ 1 feature: '
$tremolo simulate "$dir/known.csv" --response y --epsilon 5 --release sample >"$out"
expect_match "bounds from the data are not private, and it says so" "$out" 'which is not private'

# Bad input: one sentence, the right code, nothing on stdout.
refused() { # name, code, pattern, arguments...
    name=$1 code=$2 pattern=$3
    shift 3
    $tremolo simulate "$@" >"$out" 2>"$err"
    expect "refused: $name" $? "$code"
    expect "in one line, nothing on stdout" "$(wc -l <"$err") $(wc -c <"$out")" "1 0"
    expect_match "that says why" "$err" "$pattern"
}
printf 'y,x\n1,2\n2,oops\n3,4\n4,5\n' >"$dir/text.csv"
printf 'y,x\n1,2\n2,2\n3,2\n4,2\n5,2\n' >"$dir/constant.csv"
printf 'y,a,b,c\n1,2,3,5\n2,1,3,4\n3,4,1,1\n' >"$dir/wide.csv"
printf 'y,a,b\n1,2,4\n2,1,2\n3,4,8\n5,7,14\n2,9,18\n7,3,6\n' >"$dir/dependent.csv"
refused "missing file" 2 'No such file' "$dir/none.csv" --response y --epsilon 1
refused "non-numeric cell" 2 "line 3, column 'x'" "$dir/text.csv" --response y --epsilon 1
refused "constant feature" 2 "'x' is constant" "$dir/constant.csv" --response y --epsilon 1
refused "more features than devices" 2 '[0-9]+ features need at least [0-9]+ devices, and' "$dir/wide.csv" --response y \
    --epsilon 1
awk 'BEGIN { print "x,rare,y"; for (i = 0; i < 40; i++) print i % 7 "," (i == 5) "," i % 5 }' >"$dir/rare.csv"
refused "an answer so rare that a split has none" 2 "'rare' is the same in all training rows of a split.*; try another seed or, if it is a feature, leave its column out" \
    "$dir/rare.csv" --response y --epsilon 1 --repeats 40 --seed 1
refused "dependent features" 2 'depend linearly' "$dir/dependent.csv" --response y --epsilon 1 \
    --test-share 0
refused "response not found" 2 "no column 'z'" "$dir/known.csv" --response z --epsilon 1
refused "feature not found" 2 "no column 'w'" "$dir/known.csv" --response y --features a,w \
    --epsilon 1
refused "epsilon 0" 2 'epsilon must be a number above 0' "$dir/known.csv" --response y --epsilon 0
refused "negative epsilon" 2 'epsilon must be' "$dir/known.csv" --response y --epsilon -1
refused "epsilon that is no number" 2 'epsilon must be' "$dir/known.csv" --response y --epsilon x
refused "no epsilon" 2 '--epsilon is needed' "$dir/known.csv" --response y
refused "no response" 2 'response NAME is needed' "$dir/known.csv" --epsilon 1
refused "no file" 2 'DATA.csv' --response y --epsilon 1
refused "unknown option" 2 'unknown option' "$dir/known.csv" --frobnicate
refused "unknown method" 2 'method must be' "$dir/known.csv" --response y --epsilon 1 --method magic
refused "delta 1" 2 'delta must be' "$dir/known.csv" --response y --epsilon 1 --delta 1
refused "a feature named twice" 2 "'a' is named twice" "$dir/known.csv" --response y --epsilon 1 \
    --features a,a
refused "an epsilon beyond all range" 2 'above 0 and at most 1000000' "$dir/known.csv" --response y \
    --epsilon 1e9
refused "rounds of auto" 2 'rounds has no effect with the method auto' "$dir/known.csv" --response y \
    --epsilon 1 --rounds 3
for option in "--alpha 0.5" "--calibration zcdp" "--scale standard" "--neighbours deviations=1" "--method dp-sgd"; do
    # shellcheck disable=SC2086
    refused "what only study files and reproduce have: $option" 2 'unknown option|must be' "$dir/known.csv" --response y --epsilon 1 $option
done
{ printf 'a,y\n1,"'; head -c 200000 /dev/zero | tr '\0' x; } >"$dir/endless.csv"
refused "a field without end" 2 'line 2, column 2: the field is longer than 4096 bytes' \
    "$dir/endless.csv" --response y --epsilon 1

# Ballots, the default: any two people, all protected. Three features that explain half; the
# R^2 of a seed that passes is 0.04 above the limit, one standard deviation of a split.
awk 'BEGIN { srand(7); print "y,a,b,c"; for (i = 0; i < 9200; i++) { a = 2 * rand() - 1; b = 2 * rand() - 1
    c = 2 * rand() - 1; e = sqrt(-2 * log(1 - rand())) * cos(6.283185307 * rand()); print 3 + a + b + c + e "," a "," b "," c } }' \
    >"$dir/half.csv"
$tremolo simulate "$dir/half.csv" --response y --epsilon 2 --seed 1 --repeats 3 --json >"$out"
expect "ballots" $? 0
expect_match "are what is released" "$out" '"release": "ballot"'
expect_match "for any two people" "$out" '"neighbours": "any"'
expect_match "with everything protected" "$out" '"protects": "all"'
r2=$(sed -n 's/^ *"mean": \([-0-9.e]*\).*/\1/p' "$out" | head -n 1)
expect "and they explain most of what can be ($r2 of .5)" "$(awk -v r="$r2" 'BEGIN { print (r > 0.38 && r < 0.55) }')" 1
$tremolo simulate "$dir/half.csv" --response y --epsilon 2 --seed 1 --repeats 3 --release sample --json >"$out"
r2=$(sed -n 's/^ *"mean": \([-0-9.e]*\).*/\1/p' "$out" | head -n 1)
expect "where noisy samples explain nothing ($r2)" "$(awk -v r="$r2" 'BEGIN { print (r < 0.1) }')" 1
for threads in 1 2; do
    $tremolo simulate "$dir/half.csv" --response y --protect features --epsilon 1 --seed 5 --threads $threads --json |
        grep -v seconds >"$dir/$threads"
done
expect "ballots depend on the seed alone" "$(cat "$dir/1")" "$(cat "$dir/2")"
refused "a ballot for a distance" 2 'a distance needs the release sample' "$dir/known.csv" --response y --epsilon 1 \
    --release ballot --neighbours distance=1
refused "rounds of ballots" 2 '--method iterative needs the release sample' "$dir/known.csv" --response y \
    --epsilon 1 --release ballot --method iterative
cat >"$dir/ballot.json" <<'STUDY'
{"tremolo": 1, "title": "t", "features": [{"name": "a", "low": -1, "high": 1}], "response": {"name": "y", "low": -1, "high": 1},
 "privacy": {"epsilon": 2, "neighbours": "any", "protects": "all"}, "protocol": {"release": "ballot"}}
STUDY
$tremolo simulate "$dir/known.csv" --study "$dir/ballot.json" --method ols --test-share 0 >"$out"
expect_match "least squares reads the raw data of a study of ballots, too" "$out" '^Privacy: none; raw data were read\.'
$tremolo simulate "$dir/known.csv" --response y --features a --method ols --test-share 0 >"$dir/raw"
expect "and cuts nothing" "$(grep '^a ' "$out")" "$(grep '^a ' "$dir/raw")"
expect_match "where codes are explained" "$out" '^Signif\. codes: '
refused "delta of ballots" 2 'delta has no effect on ballots' "$dir/known.csv" --response y --epsilon 1 --delta 1e-6
refused "an epsilon that no ballot has" 2 'epsilon of ballots must be from 0.001 to 15.9' "$dir/known.csv" --response y --epsilon 50

# What spreadsheets write: another encoding, commas for points, names with accents.
printf 'a,y\n1,2\n\351t\351,3\n4,5\n' >"$dir/latin.csv"
refused "Latin-1" 2 'line 3, column 1: not UTF-8; convert it' "$dir/latin.csv" --response y --epsilon 1
printf 'a;y\n0,5;2\n1,5;3\n2;5\n' >"$dir/comma.csv"
refused "decimal commas" 2 "line 2, column 'a': '0,5' has a decimal comma" "$dir/comma.csv" \
    --response y --epsilon 1
refused "and in the response" 2 "'0,5' has a decimal comma" "$dir/comma.csv" --response a --epsilon 1
{ printf '\303\251t\303\251;b;c;y\n' && sed 1d "$dir/known.csv"; } >"$dir/accents.csv"
$tremolo simulate "$dir/accents.csv" --response y $paper --epsilon 5 --seed 1 --method ols >"$out"
expect "columns are counted in characters" "$(LC_ALL=C sed 's/\xc3\xa9/e/g' "$out" |
    awk '/Estimate/ { end = index($0, "Estimate") + 7 }
         /^(ete|b) / { right += substr($0, end, 2) ~ /^[0-9] $/ } END { print right + 0 }')" 2

# At this noise nothing is identified: one sentence, no stars, the score sets.
$tremolo simulate "$dir/known.csv" --response y $paper --epsilon 0.01 --seed 1 >"$out"
expect "hidden coefficients are said once" "$(grep -c 'not identified at this noise' "$out")" 1
expect "and earn no star" "$(grep -c '^[ab(].*\*$' "$out")" 0
expect_match "their set is the score test's" "$out" '^a .*(anything|outside \()'
$tremolo simulate "$dir/known.csv" --response y $paper --epsilon 0.01 --seed 1 --json >"$out"
expect_match "also in JSON" "$out" '"shape": "(anything|outside)"'
expect_match "which says that its scaling is not private" "$out" '"scale_is_private": false'

# Public bounds come from a study file; a column without any is refused.
cat >"$dir/study.json" <<'STUDY'
{"tremolo": 1, "title": "bounds",
 "features": [{"name": "a", "low": -10, "high": 10}, {"name": "b", "low": -10, "high": 10}],
 "response": {"name": "y", "low": -50, "high": 50},
 "privacy": {"epsilon": 2, "delta": 1e-5, "neighbours": "any", "protects": "features"},
 "protocol": {"kind": "one-shot"}}
STUDY
$tremolo simulate "$dir/known.csv" --response y --features a,b --epsilon 3 --neighbours any \
    --study "$dir/study.json" --seed 1 --json >"$out"
expect "public bounds from a study file" $? 0
expect_match "are the scale" "$out" '"scale_is_private": true'
$tremolo simulate "$dir/known.csv" --study "$dir/study.json" --seed 1 --json >"$dir/alone"
expect "a study file is enough" $? 0
$tremolo simulate "$dir/known.csv" --response y --features '"a",b' --epsilon 2 --neighbours any \
    --study "$dir/study.json" --seed 1 --json >"$out"
expect "and means the same as its terms by hand" "$(grep -v seconds "$out")" "$(grep -v seconds "$dir/alone")"
$tremolo simulate "$dir/known.csv" --response y --without b $paper --epsilon 2 --seed 1 --json >"$out"
expect "a column is left out" "$? $(grep -c '"name": "b"' "$out")" "0 0"
refused "which must be there" 2 "no column 'q' to leave out" "$dir/known.csv" --response y --without q --epsilon 2
$tremolo simulate "$dir/known.csv" --study "$dir/study.json" --without b --seed 1 --json >"$out"
expect "or a study's feature" "$? $(grep -c '"name": "a"' "$out") $(grep -c '"name": "b"' "$out")" "0 6 0"
refused "which must be in the study" 2 "no column 'y' to leave out" "$dir/known.csv" --study "$dir/study.json" --without y
refused "but nothing is left out of a list" 2 '--without and --features do not go together' "$dir/known.csv" --study "$dir/study.json" \
    --features a --without b

# A study's clip is the device's: its noise and sensitivity are those of the study file.
sed 's/"protects": "features"/&, "clip": 0.05/' "$dir/study.json" >"$dir/clip.json"
number() { sed -nE "s/^ *\"$1\": ([-0-9.e+]+),?\$/\1/p" "$2" | head -n 1; }
$tremolo study show "$dir/clip.json" --json >"$dir/shown"
for keep in "" "--reports $dir/clipped --force"; do
    $tremolo simulate "$dir/known.csv" --study "$dir/clip.json" --seed 1 --json $keep >"$out"
    expect "a study that clips is simulated${keep:+ with the core}" $? 0
    expect "with the study's noise" "$(number sigma "$out")" "$(number sigma "$dir/shown")"
    expect "and its sensitivity" "$(number sensitivity "$out")" "$(number sensitivity "$dir/shown")"
    expect "which the whole box does not have" \
        "$([ "$(number sensitivity "$out")" = "$(number sensitivity "$dir/alone")" ] && echo same)" ""
done
$tremolo simulate "$dir/known.csv" --study "$dir/clip.json" --seed 1 >"$out"
expect_match "and how many were clipped is said" "$(tr '\n' ' ' <"$out" >"$dir/line"; echo "$dir/line")" \
    'clips samples to a norm of 0.05 in scaled units'
# The response and its unit stand before the table, in JSON, and in what is kept for fit.
sed 's/"name": "y"/"name": "y", "unit": "1\/min"/' "$dir/study.json" >"$dir/unit.json"
$tremolo simulate "$dir/known.csv" --study "$dir/unit.json" --seed 1 --reports "$dir/unit.reports" >"$out"
caption='^What one more unit of each does to y .1/min., all others equal:$'
expect_match "the response and its unit stand before the table" "$out" "$caption"
$tremolo fit "$dir/unit.reports" >"$out"
expect_match "and before that of fit" "$out" "$caption"
$tremolo fit "$dir/unit.reports" --json >"$out"
expect "and are in JSON" "$(grep -cE '^    "(name": "y"|unit": "1/min")' "$out")" 2
$tremolo simulate "$dir/known.csv" --study "$dir/unit.json" --seed 1 --json >"$out"
expect "as in that of simulate" "$(grep -cE '^    "(name": "y"|unit": "1/min")' "$out")" 2
$tremolo simulate "$dir/known.csv" --response a --features b --epsilon 2 --study "$dir/unit.json" --seed 1 >"$out"
expect_match "another response has no unit" "$out" '^What one more unit of each does to a, all others equal:$'

# What the study's bounds cut off is counted by the table itself: all rows are devices here.
sed 's/"low": -10, "high": 10}, {"name": "b"/"low": 2, "high": 10}, {"name": "b"/; s/"low": -50, "high": 50/"low": -50, "high": 20/' \
    "$dir/study.json" >"$dir/narrow.json"
low=$(awk -F';' 'NR > 1 && $1 != "NA" && $2 != "" { n += $1 < 2 } END { print n }' "$dir/known.csv")
high=$(awk -F';' 'NR > 1 && $1 != "NA" && $2 != "" { n += $4 > 20 } END { print n }' "$dir/known.csv")
for keep in "" "--reports $dir/clipped --force"; do
    $tremolo simulate "$dir/known.csv" --study "$dir/narrow.json" --test-share 0 --seed 1 $keep | tr '\n' ' ' >"$out"
    expect_match "how many values were clamped is said${keep:+ with the core}, with the columns" "$out" \
        " $((low + high)) of 12000 values are outside of the study's bounds .* they are in a \($low\), y \($high\)\."
done
$tremolo simulate "$dir/known.csv" --study "$dir/narrow.json" --test-share 0 --seed 1 --json >"$out"
expect "and in JSON" "$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["simulation"]["clamped"])' "$out")" \
    "{'values': $((low + high)), 'columns': [{'name': 'a', 'values': $low}, {'name': 'b', 'values': 0}, {'name': 'y', 'values': $high}]}"
$tremolo simulate "$dir/known.csv" --study "$dir/study.json" --seed 1 >"$out"
expect_match "none is said, too" "$out" "^No value is outside of the study's bounds\.\$"

# A ballot takes features as they are and cuts the response: how many is said, and what it does.
$tremolo simulate "$dir/known.csv" --response y --epsilon 4 --test-share 0 --seed 1 >"$out"
expect "responses that ballots cut are counted: a tenth, by the range taken from the data" \
    "$(tr '\n' ' ' <"$out" | grep -cE ' (39[0-9]|400) of 4,000 responses lie outside the range of y .* drawn towards zero by about (9\.[0-9]|10)%')" 1
expect "codes of significance are explained where a row has one" "$(grep -c '^Signif' "$out")" 1
expect "beside the coefficients, before the prediction, and once" \
    "$(sed -n '/^---$/,/^Prediction/p' "$out" | grep -c 'responses lie outside') $(grep -c 'responses lie outside' "$out")" "1 1"
$tremolo simulate "$dir/known.csv" --response y --epsilon 2 --protect features --test-share 0 --seed 1 >"$out"
expect "one in the clear is cut as well, and a wider range is free" \
    "$(tr '\n' ' ' <"$out" | grep -cE ' (39[0-9]|400) of 4,000 responses lie outside the range of y .* costs nothing, as it is sent in the clear')" 1
for form in json csv html; do
    $tremolo simulate "$dir/known.csv" --response y --epsilon 2 --test-share 0 --seed 1 --reports "$dir/cut" \
        --save "$dir/cut.$form" --force >/dev/null
done
expect "the share is in the document and in the table made from it" "$(python3 - "$dir" <<'TEXT'
import csv, json, sys
share = json.load(open(f"{sys.argv[1]}/cut.json"))["response_cut"]
rows = list(csv.DictReader(open(f"{sys.argv[1]}/cut.csv", newline="")))
print(0.097 < share <= 0.1, {float(row["response_cut"]) for row in rows} == {share})
TEXT
)" "True True"
expect "and on the page, for readers without scripts" "$(grep -c '^[0-9]* of 4,000 responses lie outside' "$dir/cut.html")" 1
$tremolo fit "$dir/cut" >"$out"
expect "reports do not tell how many: that is said, in one sentence in the same place" \
    "$(sed -n '/^---$/,/^Prediction/p' "$out" | tr '\n' ' ' | grep -c 'Devices clip responses to their range, .*; reports do not show it\.')" 1
expect "whose the R-squared is stands below it, and on the page" \
    "$(tr '\n' ' ' <"$out" | grep -c 'R-squared describes typical people\. ') $(grep -c '^R-squared describes typical people\. ' "$dir/cut.html")" "1 1"
$tremolo fit "$dir/cut" --json >"$out"
expect_match "and null" "$out" '"response_cut": null'
sed 's/"low": -1, "high": 1}, "privacy"/"low": -50, "high": 50},\n "privacy"/; s/"response": {"name": "y", "low": -1, "high": 1}/"response": {"name": "y", "low": -50, "high": 50}/' \
    "$dir/ballot.json" >"$dir/wide.json"
$tremolo simulate "$dir/known.csv" --study "$dir/wide.json" --test-share 0 --seed 1 >"$out"
expect "and none where all lie within" "$(grep -c 'responses lie beyond' "$out")" 0
$tremolo simulate "$dir/known.csv" --study "$dir/wide.json" --test-share 0 --seed 1 --json >"$out"
expect_match "which is a number" "$out" '"response_cut": 0\.0'
$tremolo simulate "$dir/known.csv" --response y --method ols --json >"$out"
expect_match "where no device reports there is none" "$out" '"response_cut": null'

# --force replaces earlier results, never what is read, nor one of two results by the other.
cp "$dir/known.csv" "$dir/kept.csv"
ln -sf kept.csv "$dir/alias.csv"
for files in "--save $dir/kept.csv" "--save $dir/alias.csv" "--reports $dir/kept.csv" \
    "--save $dir/both.json --reports $dir/./both.json"; do
    $tremolo simulate "$dir/kept.csv" --response y --epsilon 2 --force $files >"$out" 2>"$err"
    expect "refused: ${files##*/}" "$? $(grep -c 'reads or writes as well; name another file$' "$err") $(wc -c <"$out")" "2 1 0"
done
$tremolo simulate "$dir/kept.csv" --study "$dir/study.json" --save "$dir/study.json" --force 2>"$err"
expect "refused: the study" $? 2
$tremolo fit "$dir/cut" --save "$dir/cut.json" --force >/dev/null
expect "and the data are as they were" "$(cmp "$dir/kept.csv" "$dir/known.csv")" ""

# The noise pays for all samples that a device may send.
sed 's/"protects": "features"}/&, "limits": {"samples": 3, "enrolment": "keys"}/' "$dir/study.json" >"$dir/three.json"
$tremolo study show "$dir/three.json" --json >"$dir/shown"
$tremolo simulate "$dir/known.csv" --study "$dir/three.json" --seed 1 --json >"$out"
expect "with several samples a device, too, the noise is the study's" "$(number sigma "$out")" "$(number sigma "$dir/shown")"
$tremolo simulate "$dir/known.csv" --study "$dir/three.json" --seed 1 --explain >"$out"
expect_match "and the guarantee says for how many" "$out" '^Each device makes 3 releases, of up to 3 samples\.'
sed 's/"samples": 3/"samples": 1000/' "$dir/three.json" >"$dir/many.json"
refused "more releases than a device counts" 2 'more than 65535 releases' "$dir/known.csv" --study "$dir/many.json" \
    --method pooled --rounds 66
# Study, simulation and the file of its reports have one guarantee, and ballots one law, which the
# reviewer's words state, whether the study says it or it follows from epsilon.
promise() { python3 -c 'import json, sys
of = json.load(open(sys.argv[1]))["guarantee"]
print(*(of[name] for name in ("epsilon", "delta", "releases", "attacker_right", "reviewer")))' "$1"; }
sed 's/"ballot"}/&, "limits": {"samples": 3, "enrolment": "keys"}/' "$dir/ballot.json" >"$dir/votes.json"
sed 's/"ballot"}/&, "limits": {"samples": 3, "enrolment": "keys"},\n"mechanism": {"constant": 200, "response_weight": 365, "rank_first": 40, "rank_top": 1000000000}/' \
    "$dir/ballot.json" >"$dir/own.json"
for study in three votes own; do
    $tremolo study show "$dir/$study.json" --json >"$dir/shown"
    $tremolo simulate "$dir/known.csv" --study "$dir/$study.json" --seed 1 --json --reports "$dir/reports3" --force >"$dir/cast"
    $tremolo fit "$dir/reports3" --json >"$out"
    expect "$study: a simulation promises what the study does" "$(promise "$dir/cast")" "$(promise "$dir/shown")"
    expect "$study: and so do its reports" "$(promise "$out")" "$(promise "$dir/shown")"
    expect_match "$study: of three releases" "$out" '"releases": 3'
done
expect "ballots are the study's" "$(sed -n 's/^  "study": //p' "$dir/cast")" "$(sed -n 's/^  "id": //p' "$dir/shown")"
$tremolo simulate "$dir/known.csv" --study "$dir/own.json" --epsilon 3 --seed 1 --json >"$out"
$tremolo simulate "$dir/known.csv" --study "$dir/votes.json" --epsilon 3 --seed 1 --json >"$dir/cast"
expect "another epsilon has its own law" "$(promise "$out")" "$(promise "$dir/cast")"
expect "of about that" "$(number epsilon "$out" | cut -c 1-5)" 2.999
refused "an epsilon too small for each" 2 "epsilon of each of a device.s ballots must be from" "$dir/known.csv" \
    --study "$dir/votes.json" --epsilon 0.001
# The protocol brings its own step and ball: another ball, another prediction.
sed 's/{"kind": "one-shot"}/{"kind": "iterative", "rounds": 3, "radius": 0.3, "step": 0.7}/' "$dir/study.json" >"$dir/rounds.json"
sed 's/"radius": 0.3/"radius": 0.01/' "$dir/rounds.json" >"$dir/ball.json"
for study in rounds ball; do
    $tremolo simulate "$dir/known.csv" --study "$dir/$study.json" --seed 1 --json >"$dir/of.$study"
    expect_match "an iterative study is simulated by its rounds" "$dir/of.$study" '"rounds": 3'
done
expect "and within its ball" "$(python3 - "$dir/of.rounds" "$dir/of.ball" <<'TEXT'
import json, sys
# The ball is scaled: a, b have half ranges of 10, y of 50.
norms = [sum((row["estimate"] * 10 / 50) ** 2 for row in json.load(open(path))["prediction"]["coefficients"][:2]) ** 0.5
         for path in sys.argv[1:]]
print(norms[0] <= 0.3001, norms[1] <= 0.0101, norms[0] > norms[1])
TEXT
)" "True True True"

# Names with commas and quotes: read, listed, saved and read back as they are.
sed '1s/.*/"a, ""first""";b;c;y/' "$dir/known.csv" >"$dir/named.csv"
$tremolo simulate "$dir/named.csv" --response y --features '"a, ""first""",b' $paper --epsilon 2 --seed 1 --save "$dir/named-result.csv" >"$out"
expect "a name with a comma and quotes is listed in quotes" $? 0
expect_match "and saved in them" "$dir/named-result.csv" '^"a, ""first""",'
expect "so that a reader of CSV finds its name" \
    "$(python3 -c 'import csv, sys; print([row["name"] for row in csv.DictReader(open(sys.argv[1], newline=""))])' "$dir/named-result.csv")" \
    "['a, \"first\"', 'b', '(intercept)']"
$tremolo simulate "$dir/named.csv" --response y --without 'a, "first"' $paper --epsilon 2 --seed 1 --json >"$out"
expect "left out, it is named as it is" "$? $(grep -c 'a, .*first' "$out")" "0 0"
refused "quotes that do not end" 2 'goes in quotes' "$dir/named.csv" --response y --features '"a, ""first"",b' --epsilon 2
refused "a list that goes on after quotes" 2 'goes in quotes' "$dir/known.csv" --response y --features '"a"b' --epsilon 2

awk 'BEGIN { print "c,y"; for (i = 0; i < 400; i++) print (i % 2 ? "apple" : "pear") "," i % 2 + i % 7 }' >"$dir/fruit.csv"
cat >"$dir/fruit.json" <<'STUDY'
{"tremolo": 1, "title": "levels", "response": {"name": "y", "low": 0, "high": 10},
 "features": [{"name": "c", "kind": "category", "levels": ["pear", "apple", "plum"]}],
 "privacy": {"epsilon": 50, "neighbours": "any", "protects": "features"}, "protocol": {"kind": "one-shot", "release": "sample"}}
STUDY
$tremolo simulate "$dir/fruit.csv" --study "$dir/fruit.json" --seed 1 --json >"$out"
expect "a category is compared with the study's first level" "$? $(grep -c '"c=apple"' "$out")" "0 6"
$tremolo simulate "$dir/fruit.csv" --study "$dir/fruit.json" --seed 1 --save "$dir/fruit.html" >"$out"
expect "and both forms of the result say with which" \
    "$(grep -ch 'A level is compared with its reference: c=pear\.' "$out" "$dir/fruit.html" | tr '\n' ' ')" "1 1 "
sed 's/"b"/"c"/' "$dir/study.json" >"$dir/other.json"
refused "a column the study does not know" 2 "no bounds for column 'b'" "$dir/known.csv" \
    --response y --features a,b --epsilon 3 --study "$dir/other.json"
refused "a study file that is none" 2 'known.csv: ' "$dir/known.csv" --response y --epsilon 3 \
    --study "$dir/known.csv"

# What the study says of a column holds: answers and codes as levels, words as answers.
awk 'BEGIN { print "smoker,group,y"; for (i = 0; i < 600; i++) print (i % 2 ? "Yes" : "no") "," i % 3 + 1 "," i % 2 + i % 3 }' >"$dir/coded.csv"
cat >"$dir/coded.json" <<'STUDY'
{"tremolo": 1, "title": "codes", "response": {"name": "y", "low": 0, "high": 3},
 "features": [{"name": "smoker", "kind": "category", "levels": ["no", "Yes"]},
              {"name": "group", "kind": "category", "levels": ["3", "1", "2"]}],
 "privacy": {"epsilon": 50, "neighbours": "any", "protects": "features"}, "protocol": {"kind": "one-shot", "release": "sample"}}
STUDY
names() { $tremolo simulate "$dir/coded.csv" --seed 1 "$@" 2>"$err" | sed -n '/Estimate/,/^---/s/^\([^ ][^ ]*\) .*/\1/p' | tr '\n' ' '; }
expect "answers and codes are the study's levels" "$(names --study "$dir/coded.json")" "smoker=Yes group=1 group=2 (intercept) "
sed 's/"category", "levels": \["no", "Yes"\]/"yes-no"/' "$dir/coded.json" >"$dir/asked.json"
expect "answers to a question, in any case of letters" "$(names --study "$dir/asked.json")" "smoker group=1 group=2 (intercept) "
expect "and without a study" "$(names --response y --epsilon 5)" "smoker group (intercept) "
sed 's/Yes/ja/' "$dir/coded.csv" >"$dir/german.csv"
refused "other words than yes and no" 2 "the study has yes and no, and 'ja' is neither" "$dir/german.csv" --study "$dir/asked.json"

# What looks like something else is named.
awk 'BEGIN { print "zip,day,town,y"; for (i = 0; i < 99; i++) printf "%05d,2024-%02d-11,town%c,%d\n", i * 7, i % 12 + 1, 65 + i % 26, i % 5 }' >"$dir/looks.csv"
refused "a date is no number" 2 "column 'day': '2024-01-11' looks like a date" "$dir/looks.csv" --response y --epsilon 2
$tremolo simulate "$dir/looks.csv" --response y --without day --epsilon 2 --seed 1 >"$out" 2>"$err"
expect "codes and many words are said" "$? $(cat "$err")" \
    "0 tremolo simulate: column 'zip' looks like a code and is taken as an amount; column 'town' has 26 different words and becomes 25 features"
printf 'x,y\n1,2\n' >"$dir/one.csv"
refused "one row" 2 'one row of data is one device' "$dir/one.csv" --response y --epsilon 2
printf 'x,y\n1,2\n2,1e300\n3,4\n' >"$dir/huge.csv"
refused "a huge number" 2 "line 3, column 'y': '1e300' is beyond 1e\+100" "$dir/huge.csv" --response y --epsilon 2
printf 'x,y\n1,2\n2,none\n3,4\n' >"$dir/none.csv"
refused "a word for missing that is none" 2 'a missing value is empty, NA, N/A, NaN, null or \?$' "$dir/none.csv" --response y --epsilon 2
printf 'x,y\n1,yes\n2,no\n3,yes\n' >"$dir/answers.csv"
refused "answers as the response" 2 'write 1 for yes and 0 for no' "$dir/answers.csv" --response y --epsilon 2
awk 'BEGIN { print "x,y"; print "N/A,1"; print "null,2"; for (i = 0; i < 50; i++) print i % 7 "," i % 5 }' >"$dir/na.csv"
$tremolo simulate "$dir/na.csv" --response y --epsilon 2 --seed 1 --json >"$out"
near "N/A and null are missing" "$(number dropped "$out")" 2 0.5
