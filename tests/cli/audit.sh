#!/bin/sh
# audit.sh -- the audit passes a sound build, and says of an unsound one what is wrong.
# Seeds are fixed; a sound build fails a random one with probability 1e-6. Broken cores are
# in tests/stat/test_audit_zoo.c. Prints TAP.
set -u
build=${BUILD:-build}
tremolo=$build/tremolo
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count=0
say() {
    count=$((count + 1))
    if [ "$1" -eq 0 ]; then echo "ok $count - $2"; else echo "not ok $count - $2"; fi
}
# get FILE EXPRESSION: of the JSON document d, and of its first audit a.
get() {
    python3 -c 'import json, sys
d = json.load(open(sys.argv[1])); a = d["audits"][0]
checks = {c["name"]: c for c in a["checks"]}
sys.exit(0 if eval(sys.argv[2]) else 1)' "$work/$1" "$2"
}

$tremolo audit --seed 7 --pairs 20000 --json >"$work/sound"
say $? "a sound build passes"
[ "$(wc -l <"$work/sound")" -eq 1 ] && get sound 'len(d["audits"]) == 2 and [x["release"] for x in d["audits"]] == ["sample", "ballot"]'
say $? "one document for both releases"
get sound 'd["false_alarm"] == 1e-6 and not d["exceeds_claim"] and all(x["check_p"] < 1e-6 / 30 for x in d["audits"])'
say $? "the false alarm is stated and shared by all checks"
get sound 'all(not c["failed"] and c["finding"] == "" and c["tests"] > 0 for x in d["audits"] for c in x["checks"])'
say $? "no check fails"
get sound 'set("axis,near an axis,vector,across vectors,random,mixed,diagonal".split(",")) == {p["apart"] for p in a["people"]}'
say $? "people are apart in every way"
# Ballots come close: six seeds gave 0.88 to 0.97 of their claim. A bound exceeds it in one run of twenty
# at most, and the seed is fixed.
get sound '0.3 <= a["measured"]["epsilon_lower"] <= 1 and 0.85 <= d["audits"][1]["measured"]["epsilon_lower"] <= 1'
say $? "bounds are below the claim and not far"
# 20,000 devices of the diagonal's people tell mu within 0.018: five of these above the claim.
get sound 'all(p["mu_seen"] <= 0.389 + 9 / p["devices"] ** .5 for p in a["people"])'
say $? "no direction gives more than another"
# 800,000 squared errors: 1% is six standard errors of their mean.
get sound 'abs(a["reconstruction"]["mean_squared_error"] / a["reconstruction"]["bound"] - 1) < 0.01'
say $? "the attack's error is the bound's"

$tremolo audit --seed 7 --pairs 2000 --fault under-noised >"$work/out"
[ $? -eq 1 ] && [ "$(grep -c '^CAUGHT' "$work/out")" -eq 2 ] && grep -q '^claim.charge: the study.s own integers make mu' "$work/out"
say $? "samples 25% too large, and the law of a larger epsilon, are caught"
grep -q '^FAILED  claim.charge' "$work/out" && grep -q '^A sound build fails with probability 1e-06 at most.$' "$work/out"
say $? "the failed check is marked, the false alarm said"

# The mechanisms of study files, with both notions of neighbours.
study() {
    printf '{"tremolo": 1, "title": "T", "features": [{"name": "age", "low": 0, "high": 100},
 {"name": "smoker", "kind": "yes-no"}, {"name": "watch", "kind": "category", "levels": ["a", "b", "c"]}],
 "response": {"name": "pulse", "low": 40, "high": 140},
 "privacy": {"epsilon": 1, "delta": 0.001, "neighbours": %s, "protects": "%s"},
 "protocol": %s, "limits": {"samples": %s}}' "$2" "$3" "$4" "$5" >"$work/$1.json"
}
study any '"any"' all '{"kind": "one-shot"}' 1
study near '{"distance": 0.5}' features '{"kind": "one-shot"}' 1
study rounds '{"distance": 0.5}' all '{"kind": "iterative", "rounds": 5, "vectors": 3, "alpha": 0.5,
 "lambda": 0.2, "omega": 1, "close": {"reports": 700}}' 2
sed 's/"delta": 0.001, //; s/"kind": "one-shot"/"release": "ballot"/; s/"any", "protects": "all"/"any", "protects": "features"/; s/"samples": 1/"samples": 2/' \
    "$work/any.json" >"$work/ballot.json"
$tremolo audit --study "$work/ballot.json" --seed 3 --pairs 4000 >"$work/out"
say $? "study of ballots: passes"
grep -q "^study $($tremolo study id "$work/ballot.json")\$" "$work/out" && grep -q 'delta 0 for each ballot, any two people$' "$work/out"
say $? "study of ballots: named, with its claim"
$tremolo audit --study "$work/ballot.json" --seed 3 --pairs 1000 --fault under-noised >"$work/out"
[ $? -eq 1 ] && grep -q '^CAUGHT' "$work/out"
say $? "study of ballots: caught with the law of a larger epsilon"
$tremolo study init >"$work/starter.json"
$tremolo audit --study "$work/starter.json" --seed 3 --pairs 20000 --fault under-noised >"$work/out"
[ "$(sed -n 's/^FAILED *\(rank[.a-z]*\) .*/\1/p' "$work/out")" = rank.law ]
say $? "study of ballots: a wrong law passes for no dependence on samples or devices"
for name in any near rounds; do
    pairs=10000
    [ $name = rounds ] && pairs=4000 # of ten reports each
    $tremolo audit --study "$work/$name.json" --seed 3 --pairs $pairs --json >"$work/answer"
    say $? "study $name: passes"
    # Half of the pairs are the diagonal's: their mu is known within sqrt(4 pi / pairs),
    # 0.035 to 0.056, and lies four of these below the claim at most.
    get answer "[p for p in a['people'] if p['apart'] == 'diagonal'][0]['mu_seen'] >= a['claimed']['mu'] - 4 * (12.6 / $pairs) ** .5"
    say $? "study $name: its two people are as far apart as its claim allows"
    # 80,000 squared errors and more: 2% is four standard errors of their mean.
    get answer 'abs(a["reconstruction"]["mean_squared_error"] / a["reconstruction"]["bound"] - 1) < 0.02'
    say $? "study $name: the attack's error is the bound's"
    get answer "a['claimed']['study'] == '$($tremolo study id "$work/$name.json")'"
    say $? "study $name: named by its id"
    $tremolo audit --study "$work/$name.json" --seed 3 --pairs 500 --fault under-noised >"$work/out"
    [ $? -eq 1 ] && grep -q '^CAUGHT' "$work/out"
    say $? "study $name: caught with too little noise"
done
$tremolo audit --study "$work/rounds.json" --seed 3 --pairs 200 >"$work/out"
grep -q 'people at most 0.5 half ranges apart, 10 reports of each device together$' "$work/out"
say $? "neighbours and reports are said"

one=$($tremolo audit --seed 3 --pairs 500)
two=$($tremolo audit --seed 3 --pairs 500)
[ "$one" = "$two" ]
say $? "a seed repeats the audit"
$tremolo audit --pairs 500 --timing --false-alarm 1e-12 >"$work/out"
[ "$(grep -c '^- *timing .* not tested (too few reports)$' "$work/out")" -eq 2 ]
say $? "too few reports tell nothing about time, which is said"
# 2,000 reports of each of three pairs of samples, drawn by a coin: their times' ranks have their law
# under any load, so that this fails a sound build with probability 1e-6 at most.
$tremolo audit --pairs 6000 --timing >"$work/out"
[ $? -eq 0 ] && [ "$(grep -c '^ok *timing ' "$work/out")" -eq 2 ]
say $? "running time does not depend on the sample (a sound build fails with probability 1e-6)"
$tremolo audit --pairs 100 --seed 1 >"$work/out"
[ "$(grep -c '^- .* not tested (too few reports)$' "$work/out")" -eq 4 ] &&
    grep -q '^nothing that was tested exceeds the claim; 3 checks were not tested' "$work/out" &&
    grep -q '^nothing that was tested exceeds the claim; 1 check was not tested' "$work/out"
say $? "checks without a test are named and counted"
$tremolo audit --pairs 100 --seed 1 --json >"$work/few"
get few 'a["not_tested"] == 3 and checks["server.moments"]["failed"] is None and checks["server.moments"]["p"] is None and checks["server.moments"]["left_out"] > 0'
say $? "and neither failed nor passed in the document"
# Had all of 100 reports told two people apart, epsilon 12 would not be exceeded with confidence.
$tremolo audit --pairs 100 --epsilon 12 --release ballot --seed 1 --json >"$work/few"
get few 'checks["claim.epsilon"]["failed"] is None'
say $? "a claim that these reports could not contradict is not tested"
get sound 'all(x["not_tested"] == 0 for x in d["audits"])'
say $? "with reports enough all checks are tests"

refused() {
    name=$1
    shift
    $tremolo audit "$@" >"$work/out" 2>"$work/err"
    [ $? -eq 2 ] && [ ! -s "$work/out" ] && [ "$(wc -l <"$work/err")" -eq 1 ]
    say $? "$name: exit 2 and one sentence"
}
refused "no pairs" --pairs 0
refused "negative epsilon" --epsilon -1
refused "no false alarm" --false-alarm 0
refused "delta 0" --delta 0
refused "NaN" --epsilon nan
refused "unknown fault" --fault lightning
refused "stray word" now
refused "a delta of ballots" --release ballot --delta 0.1
refused "a study and a claim of one's own" --study "$work/any.json" --epsilon 2
refused "a study that is none" --study /dev/null
refused "a study that is not there" --study "$work/nowhere.json"
echo "1..$count"
