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
    sensitivity --modulation 0.5,0.2,1,1 --json
exact '10 rounds, delta 1e-05, neighbours at distance 1, alpha 0.5 lambda 0.2 omega 1 m 1
noise sd per round, and the epsilon it really costs

 epsilon       paper     spent        zcdp     spent       exact     spent
     0.5   21.472182  0.244096   15.337273  0.352156   11.118294       0.5
       1   10.847841  0.513609    7.748458  0.741638    5.898647         1
       2    5.532417   1.07297    3.951727   1.55548    3.152494         2
       5    2.334310   2.80333    1.667364   4.11665    1.410168         5
      10    1.257093   5.72121    0.897924   8.55521    0.790393        10' compare
exact 'sigma 3.7306316348159494  (at delta 1e-05, between 3.7306316348159356 and 3.7306316348159494)
assumed: delta 1e-05
assumed: sensitivity 1, from neighbours 1 apart and alpha 0' \
    sigma --epsilon 1
exact 'l2 distance of outputs, at most:
  0.50000000000000022  the phase stays on the device
  0.69177021544168216  the phase is published
  0.70000000000000095  the paper'"'"'s Lipschitz bound L
  1  of the neighbours themselves' sensitivity --modulation 0.5,0.2

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

# Unequal rounds of a 3-4-5 triangle cost what one release does.
awk -v a="$($tremolo account epsilon --sigma 2,2.6666666666666665 --json | member epsilon)" \
    -v b="$($tremolo account epsilon --sigma 1.6 --json | member epsilon)" \
    'BEGIN { off = a / b - 1; exit !(off * off < 1e-26) }'
say $? "unequal rounds add up"

# What a budget allows is the noise that it needs: sigma is the sensitivity over sqrt(2 rho).
for rule in exact zcdp; do
    awk -v s="$($tremolo account sigma --epsilon 1 --rule $rule --json | member sigma)" \
        -v r="$($tremolo account rho --epsilon 1 --rule $rule --json | member rho)" \
        'BEGIN { off = s * s * 2 * r - 1; exit !(off * off < 1e-24) }'
    say $? "rho and sigma agree: $rule"
done

# Modulation: the bracket holds a closed form where lambda is 0, and is below it elsewhere.
$tremolo account modulation --sigma 4 --epsilon 2 --releases 64 --modulation 0,0 --json >"$work/out"
awk -v l="$(sed 's/.*along_v[^}]*"lower":\([0-9.e-]*\).*/\1/' "$work/out")" \
    -v u="$(sed 's/.*along_v[^}]*"upper":\([0-9.e-]*\).*/\1/' "$work/out")" \
    -v t="$($tremolo account delta --sigma 4 --epsilon 2 --releases 64 --json | member delta)" \
    'BEGIN { exit !(l <= t && t <= u && u < 1.01 * l) }'
say $? "64 rounds along a vector are composed"
$tremolo account modulation --sigma 1 --epsilon 1 --json >"$work/out"
awk -v u="$(sed 's/.*along_v[^}]*"upper":\([0-9.e-]*\).*/\1/' "$work/out")" \
    -v e="$(sed 's/.*elsewhere[^}]*"lower":\([0-9.e-]*\).*/\1/' "$work/out")" 'BEGIN { exit !(u < e) }'
say $? "modulation hides a part along its vector"

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
refused 2 "vectors beyond the dimension" reconstruction --sigma 1 --modulation 0,0,1,9 --dimension 8
refused 2 "a total and a number of releases" epsilon --mu 0.1 --delta 1e-5 --releases 10
for wrong in 0.5 1,0.2 -1,0 0.5,0.2,1,0 0.5,0.2,1,1.5 0.5,x 0,0,0,0,0; do
    refused 2 "a modulation that is none: $wrong" sensitivity --modulation $wrong
done
refused 2 "the classical rule for given noise" epsilon --sigma 1 --rule classical
refused 2 "any two people without a distance" epsilon --sigma 1 --neighbours any
refused 2 "a test's noise given twice" tradeoff --mu 1 --epsilon 1 --delta 1e-5
refused 2 "noise given twice" epsilon --sigma 1 --mu 1 --delta 1e-5 $base
refused 2 "a ballot without an epsilon" ballot
refused 2 "explain given twice" explain --epsilon 1 --mu 1
refused 2 "a ballot beyond the device's law" ballot --epsilon 16
refused 2 "ballots and a noise level" ballot --epsilon 1 --sigma 1
for idle in "--neighbours distance=1" "--modulation 0.5,0.2" "--rule zcdp" "--sensitivity 2"; do
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
$tremolo account sigma --epsilon 1 >"$work/out"
grep -q '^sigma 3\.7306' "$work/out" && grep -q '^assumed: delta 1e-05$' "$work/out" &&
    grep -q '^assumed: sensitivity 1, from neighbours 1 apart and alpha 0$' "$work/out"
say $? "sigma says what it assumes"
$tremolo account --help | grep -q 'usage: tremolo account'
say $? "--help"
echo "1..$count"
