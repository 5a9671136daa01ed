#!/bin/sh
# account.sh -- `tremolo account` against reference values, exact output and
# exit codes. Run from the top of the tree; prints TAP.
set -u
tremolo=${BUILD:-build}/tremolo
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count=0

say() { # say 0|1 NAME
    count=$((count + 1))
    if [ "$1" -eq 0 ]; then echo "ok $count - $2"; else echo "not ok $count - $2"; fi
}

# The number that follows "NAME": in compact JSON.
member() { sed -n "s/.*\"$1\":\([-0-9.e+]*\).*/\1/p"; }

# ---- reference values, and lower <= value <= upper in every answer
tab=$(printf '\t')
while IFS="$tab" read -r expected tolerance name question; do
    case $expected in '#'*) continue ;; esac
    # shellcheck disable=SC2086 # the question is a list of words
    answer=$($tremolo account $question --json)
    value=$(echo "$answer" | member "$name")
    lower=$(echo "$answer" | member lower)
    upper=$(echo "$answer" | member upper)
    awk -v v="$value" -v e="$expected" -v t="$tolerance" -v l="$lower" -v u="$upper" 'BEGIN {
        # 1e-234 is beyond some awks when squared, so compare the quotient.
        off = v / e - 1; if (off < 0) off = -off
        exit !(v != "" && off <= t && (l == "" || (l + 0 <= v + 0 && v + 0 <= u + 0))) }'
    say $? "$question gives $expected"
done <tests/vectors/accountant.tsv

# ---- exact output
exact() { # exact EXPECTED ARGUMENTS...
    expected=$1
    shift
    got=$($tremolo account "$@" 2>&1)
    [ "$got" = "$expected" ]
    say $? "output of: account $*"
}
exact '{"exact":0.50000000000000022,"known_phase":0.69177021544168216,"paper":0.70000000000000095,"distance":1.0}' \
    sensitivity --alpha 0.5 --lambda 0.2 --omega 1 --vectors 1 --json
exact '10 rounds, delta 1e-05, neighbours at distance 1, alpha 0.5 lambda 0.2 omega 1 m 1
noise sd per round, and the epsilon it really costs

 epsilon       paper     spent        zcdp     spent       exact     spent
     0.5   21.472182  0.244096   15.337273  0.352156   11.118294       0.5
       1   10.847841  0.513609    7.748458  0.741638    5.898647         1
       2    5.532417   1.07297    3.951727   1.55548    3.152494         2
       5    2.334310   2.80333    1.667364   4.11665    1.410168         5
      10    1.257093   5.72121    0.897924   8.55521    0.790393        10' compare
exact 'sigma 0.48448052626053961  (classical rule, rounded up; the least is above 0.48448052626053817)  NOT A GUARANTEE: epsilon exceeds 1 per release
assumed: sensitivity 1 as given' \
    sigma --rule classical --force --epsilon 10 --delta 1e-5 --sensitivity 1

# Nothing that lowers the cost is assumed silently, and mu stands for the noise.
$tremolo account explain --sigma 2 --delta 1e-5 --neighbours distance=0.5 >"$work/out"
grep -q '^assumed: sensitivity 0.5, from neighbours 0.5 apart and alpha 0$' "$work/out" &&
    grep -q 'with mu = 0.25 ' "$work/out"
say $? "explain assumes no shrinking"
[ "$($tremolo account epsilon --mu 0.25 --delta 1e-5 --json)" = \
    "$($tremolo account epsilon --sigma 4 --sensitivity 1 --delta 1e-5 --json)" ]
say $? "epsilon takes --mu"

exact 'epsilon 1.1317748966408963  (at delta 1e-05, between 1.1317748966408931 and 1.1317748966408963)
assumed: delta 1e-05' epsilon --mu 0.3
[ "$($tremolo account epsilon --sigma 4 --json)" = "$($tremolo account epsilon --sigma 4 --delta 1e-5 --json)" ] &&
    [ "$($tremolo account epsilon --sigma 4 --json | member delta)" = 1.0000000000000001e-5 ]
say $? "epsilon takes delta 1e-5 unless told, and names it"
$tremolo account rho --epsilon 1 >"$work/out"
grep -q '^assumed: delta 1e-05$' "$work/out" &&
    [ "$(sed -n 1p "$work/out")" = "$($tremolo account rho --epsilon 1 --delta 1e-5)" ]
say $? "so does rho"

# Unequal rounds with the weights of a 3-4-5 triangle add up to the whole.
got=$($tremolo account sigma --epsilon 1 --delta 1e-5 --sensitivity 1 --weights 9,16 --json)
first=$(echo "$got" | sed 's/.*\[\([0-9.]*\),.*/\1/')
second=$(echo "$got" | sed 's/.*,\([0-9.]*\)\].*/\1/')
back=$($tremolo account epsilon --sigma "$first,$second" --sensitivity 1 --delta 1e-5 --json | member epsilon)
awk -v e="$back" 'BEGIN { exit !(e <= 1 + 1e-13 && e > 1 - 1e-9) }'
say $? "unequal rounds spend the budget, not more"

# ---- refusals: exit code and one sentence on stderr
refused() { # refused CODE NAME ARGUMENTS...
    code=$1 name=$2
    shift 2
    $tremolo account "$@" >"$work/out" 2>"$work/err"
    got=$?
    [ "$got" -eq "$code" ] && [ ! -s "$work/out" ] && [ "$(wc -l <"$work/err")" -eq 1 ] &&
        grep -q '^tremolo account: ' "$work/err"
    say $? "$name: exit $code and one sentence"
}
base="--sensitivity 1"
refused 3 "classical beyond its proof" sigma --rule classical --epsilon 10 --delta 1e-5 $base
refused 3 "epsilon 0 by the paper's conversion" sigma --rule zcdp --epsilon 0 --delta 1e-5 $base
refused 2 "delta 0" sigma --epsilon 1 --delta 0 $base
refused 2 "delta 1" sigma --epsilon 1 --delta 1 $base
refused 2 "delta 2" epsilon --sigma 1 --delta 2 $base
refused 2 "negative epsilon" sigma --epsilon -1 --delta 1e-5 $base
refused 2 "NaN" sigma --epsilon nan --delta 1e-5 $base
refused 2 "infinite epsilon" sigma --epsilon inf --delta 1e-5 $base
refused 2 "T = 0" sigma --epsilon 1 --delta 1e-5 --releases 0 $base
refused 2 "T = 1.5" sigma --epsilon 1 --delta 1e-5 --releases 1.5 $base
refused 2 "T beyond any count" sigma --epsilon 1 --delta 1e-5 --releases 99999999999999999999 $base
refused 2 "sensitivity 0" sigma --epsilon 1 --delta 1e-5 --sensitivity 0
refused 2 "overflowing budget" epsilon --sigma 1e-300 --delta 1e-5 --sensitivity 1e200
refused 2 "overflowing epsilon" epsilon --sigma 0.0001 --delta 1e-5 $base
refused 2 "trailing characters" sigma --epsilon 1x --delta 1e-5 $base
refused 2 "nothing given" sigma
refused 2 "unknown rule" sigma --rule magic --epsilon 1 --delta 1e-5 $base
refused 2 "unknown question" love
refused 2 "two questions" sigma epsilon
refused 2 "unknown option" sigma --colour red
refused 2 "option without value" sigma --epsilon
refused 2 "empty list" epsilon --sigma 1,,2 --delta 1e-5 $base
echo '{"step":1}' >"$work/heavy.json"
refused 2 "vectors beyond the dimension" reconstruction --sigma 1 --vectors 9 --dimension 8
refused 2 "a share that overflows" sigma --epsilon 1 --delta 1e-5 --weights 1e300,1e-300 $base
refused 2 "shares and a number of rounds" sigma --epsilon 1 --delta 1e-5 --weights 1,2 --releases 5 $base
refused 2 "a total and a number of releases" epsilon --rho 0.1 --delta 1e-5 --releases 10
refused 2 "a test's noise told twice" tradeoff --mu 1 --epsilon 1 --delta 1e-5
refused 2 "noise told twice" epsilon --sigma 1 --rho 1 --delta 1e-5 $base
$tremolo study init >"$work/study.json"
refused 2 "a study and a noise level" explain --study "$work/study.json" --sigma 1
refused 2 "a study and a dimension" explain --study "$work/study.json" --dimension 8
refused 2 "a study and another question" epsilon --study "$work/study.json" --sigma 1
refused 2 "a study that is none" explain --study "$work/heavy.json"

refused 2 "a ballot without an epsilon" ballot
refused 2 "explain told twice" explain --epsilon 1 --mu 1
refused 2 "a ballot beyond the device's law" ballot --epsilon 16
refused 2 "ballots and a noise level" ballot --epsilon 1 --sigma 1
for idle in "--neighbours distance=1" "--distance 4" "--alpha 0.5" "--rule zcdp" "--sensitivity 2"; do
    refused 2 "what says nothing of ballots: $idle" ballot --epsilon 2 $idle
done

# ---- ballots
$tremolo account ballot --epsilon 2 >"$work/out"
ok=$?
grep -q '^epsilon 1\.99999[0-9]*, delta 0: any two samples, features and response alike$' "$work/out" || ok=1
grep -q '^   79\.[0-9]%  whatever the two samples are$' "$work/out" || ok=1
grep -q '^   88\.1%  by epsilon alone$' "$work/out" || ok=1
grep -q 'together' "$work/out" && ok=1
say $ok "a ballot's epsilon is not above what was asked, and attacks are bounded"
$tremolo account ballot --epsilon 2 --neighbours any --protect features |
    grep -q '^epsilon .*: any two samples, their features; the response is in the clear$'
say $? "a response in the clear is said"
# Three ballots of 1 and mu 0.5: below the sum, above each part.
$tremolo account ballot --epsilon 1 --releases 3 --mu 0.5 --json >"$work/out"
awk -v sum="$(member sum <"$work/out")" -v pure="$(member pure <"$work/out")" \
    -v gaussian="$(member gaussian <"$work/out")" -v exact="$(sed 's/.*"exact"://' "$work/out" | member upper)" \
    'BEGIN { off = sum - pure - gaussian
             exit !(exact < sum && exact > gaussian && pure <= 3 && pure > 2.99999 && off >= 0 && off < 1e-12) }'
say $? "ballots and Gaussian releases cost less together than added up"

# ---- words
$tremolo account explain --sigma 4 --sensitivity 1 --neighbours any --protect all | tr '\n' ' ' |
    grep -q 'guessing between any two candidates, is right at most 55% of the time'
say $? "explain names the neighbours"
[ "$($tremolo account explain --sigma 4 --sensitivity 1 --neighbours any | grep -c 'attacker right')" -eq 1 ]
say $? "any two people have one line of distances"
$tremolo account explain --epsilon 2 --neighbours any --protect all >"$work/out"
ok=$?
tr '\n' ' ' <"$work/out" | grep -q 'is asked a random question about your answers.* about 33 times it is a random wrong one' || ok=1
grep -q '^any two  *epsilon 2  *attacker right 79\.[0-9]%$' "$work/out" || ok=1
say $ok "any two people at an epsilon are promised ballots"
$tremolo account explain --epsilon 2 --neighbours distance=1 | grep -q '^promised  *distance 1 .* epsilon 2 '
say $? "people at a distance are promised Gaussian releases"
$tremolo account explain --epsilon 2 --sensitivity 3 >"$work/out"
ok=$?
tr '\n' ' ' <"$work/out" | grep -q 'For any two samples at most 3 apart' || ok=1
grep -q '^promised  *distance 3 .* epsilon 2 ' "$work/out" || ok=1
say $ok "a sensitivity that was given is how far apart people are"
# A study file has the words that 'study show' prints, at its own delta or another.
id=$($tremolo study id "$work/study.json")
$tremolo account explain --study "$work/study.json" >"$work/out"
ok=$?
grep -q "^Study $id: Sleep and resting heart rate\$" "$work/out" || ok=1
$tremolo study show "$work/study.json" | sed -n '/^Each device/,$p' | grep -v ':$' >"$work/shown"
[ "$(sed -n '/^Each device/,$p' "$work/out" | grep -v '^For the\|^The same')" = "$(grep -v '^For the\|^The same' "$work/shown")" ] || ok=1
say $ok "explain --study has the words of study show"
sed 's/"release": "ballot"/"release": "sample"/; s/, "typical": 0.2//' "$work/study.json" >"$work/noisy.json"
id=$($tremolo study id "$work/noisy.json")
at=$($tremolo study show "$work/noisy.json" --json |
    python3 -c 'import json, sys; print(repr(json.load(sys.stdin)["guarantee"]["mu"]))')
wanted=$($tremolo account epsilon --mu "$at" --delta 1e-8 | sed 's/^epsilon \([0-9]\.[0-9][0-9]\).*/\1/')
$tremolo account explain --study "$work/noisy.json" --delta 1e-8 --json >"$work/out"
grep -q "is ($wanted[0-9]*, 1e-08)-differential privacy" "$work/out" && grep -q "\"study\":\"$id\"" "$work/out"
say $? "at another delta, too"
$tremolo account sigma --epsilon 1 >"$work/out"
grep -q '^sigma 3\.7306' "$work/out" && grep -q '^assumed: delta 1e-05$' "$work/out" &&
    grep -q '^assumed: sensitivity 1, from neighbours 1 apart and alpha 0$' "$work/out"
say $? "sigma says what it assumes"
$tremolo account --help | grep -q 'usage: tremolo account'
say $? "--help"
echo "1..$count"
