# tremolo fit: the reports that simulate keeps give simulate's own estimates;
# repeats count once; damaged files are refused in one sentence.
. tests/common/tap.sh
tremolo=${BUILD:-build}/tremolo
dir=$(mktemp -d)
out=$dir/out err=$dir/err
trap 'rm -rf "$dir"' EXIT
awk 'BEGIN { srand(7); print "a,b,y"
    for (i = 0; i < 1500; i++) {
        a = rand() * 10; b = rand() * 4
        printf "%.6f,%.6f,%.6f\n", a, b, 3 + 2 * a - b + rand()
    } }' >"$dir/known.csv"
# Nine digits: the sums are exact, what follows is rounded.
numbers() { sed -n "s/^ *\"$1\": \([0-9.e+-]*\),\$/\1/p" "$2" | awk '{ printf "%.9g\n", $1 }'; }
estimates() { numbers estimate "$1"; }

# A study with the paper's modulation, and one with a ball that coefficients stay in.
study() { # NAME PROTECTS PROTOCOL
    cat >"$dir/$1.json" <<STUDY
{"tremolo": 1, "title": "t", "features": [{"name": "a", "low": 0, "high": 10}, {"name": "b", "low": 0, "high": 4}],
 "response": {"name": "y", "low": -10, "high": 30},
 "privacy": {"epsilon": 5, "neighbours": {"distance": 0.5}, "protects": "$2"}, "protocol": $3}
STUDY
}
study one features '{"kind": "one-shot", "alpha": 0.5, "lambda": 0.3, "omega": 2, "vectors": 1}'
study two all '{"kind": "one-shot", "alpha": 0.5, "lambda": 0.3, "omega": 2, "vectors": 2}'
study ball all '{"kind": "iterative", "rounds": 3, "radius": 0.9}'
sample="--neighbours distance=0.5 --protect features --epsilon 5"

for options in "" "--protect all" "--neighbours any --release sample" "--neighbours any --protect all" "--neighbours any --protect features" \
    "--study $dir/one.json" "--study $dir/two.json --protect all" "--method one-shot" "--method iterative --rounds 4" \
    "--method pooled --rounds 3" "--study $dir/ball.json --method iterative --protect all"; do
    # shellcheck disable=SC2086
    $tremolo simulate "$dir/known.csv" --response y $sample --seed 1 --json $options \
        --reports "$dir/reports" --force >"$out"
    expect "simulate --reports $options" $? 0
    case $options in
    *one-shot*) method="--method one-shot" ;;
    *iterative*) method="--method iterative" ;;
    *) method="" ;;
    esac
    # shellcheck disable=SC2086
    $tremolo fit "$dir/reports" --json $method >"$dir/fit" 2>"$err"
    expect "fit reads them" $? 0
    # The unbiased estimates of both; predictions of one-shot differ by the intercept.
    expect "with the same standard errors" "$(numbers standard_error "$dir/fit")" \
        "$(numbers standard_error "$out")"
    expect "and finds the same" "$(estimates "$dir/fit" | head -n 3)" "$(estimates "$out" | head -n 3)"
    case $options in *one-shot*) continue ;; esac
    expect "and predicts the same" "$(estimates "$dir/fit")" "$(estimates "$out")"
    expect "and the same convergence" "$(sed -n '/"convergence"/,/}/p' "$out" | numbers gradient_variance -)" \
        "$(case $options in *rounds* | *ball*) numbers gradient_variance "$dir/fit" ;; esac)"
done
# The file now there is of three rounds.
$tremolo fit "$dir/reports" --explain >"$out"
expect_match "rounds are counted" "$out" '^y ~ 2 features: 3600 reports of 1200 devices in 3 rounds, 0 repeated$'
expect_match "the gradient's variance" "$out" '^Gradient variance at the estimate [0-9.e-]+, at most '
expect_match "the convergence bound, corrected and as printed" "$out" \
    '^Excess loss after 3 rounds: at most [0-9.e-]+ \(corrected.*as printed [0-9.e-]+$'
expect_match "and why one of them does not hold" "$out" '^The bound as printed does not hold'
expect_match "all releases are paid for" "$out" '^Each device makes 3 releases, of one sample in each of 3 rounds\.'
for method in auto pooled one-shot unbiased; do
    $tremolo fit "$dir/reports" --method $method >"$out"
    expect "several rounds, method $method" $? 0
done
$tremolo fit "$dir/reports" --ridge 2 >"$out" 2>"$err"
expect "a ridge that would change nothing is refused" "$? $(cat "$err")" \
    "2 tremolo fit: --ridge has no effect with the method auto"
$tremolo fit "$dir/reports" --method one-shot --ridge 2 >"$out"
expect "and taken where it does" $? 0
$tremolo fit "$dir" --method unbiased >"$out" 2>"$err"
expect "a server's data have no other method" "$? $(cat "$err")" \
    "2 tremolo fit: --method unbiased needs a file of reports"
# Without its last report, whose length is the first one's: no response, no MAC.
bytes=$(wc -c <"$dir/reports")
length=$(tail -n +4 "$dir/reports" | head -c 1 | od -An -tu1)
head -c $((bytes - 2 - length)) "$dir/reports" >"$dir/uneven"
$tremolo simulate "$dir/known.csv" --response y $sample --reports "$dir/reports" >"$out" 2>"$err"
expect "reports are not overwritten" $? 2
$tremolo simulate "$dir/known.csv" --response y $sample --reports "$dir/x" --method ols \
    >"$out" 2>"$err"
expect "least squares makes no reports" $? 2
[ ! -e "$dir/x" ] && [ ! -e "$dir/x.part" ]
expect "and no file" $? 0

$tremolo simulate "$dir/known.csv" --response y $sample --seed 1 --reports "$dir/reports" \
    --force >/dev/null
$tremolo fit "$dir/reports" >"$out"
expect_match "a table for people" "$out" '^a  .*\*\*\*$'
# The data's own ranges, which a forest plot draws: a to 10, b to 4.
$tremolo fit "$dir/reports" --json >"$dir/fit"
expect "features have their own ranges" "$(numbers range "$dir/fit" | awk '{ printf "%.1f ", $1 }' | cut -c1-9)" "10.0 4.0 "
expect_match "with its guarantee" "$out" '^Privacy: epsilon '
head_lines() { head -n 3 "$dir/reports"; }
body() { tail -n +4 "$dir/reports"; }
{ head_lines; body; body; } >"$dir/twice"
$tremolo fit "$dir/twice" --json >"$out"
expect_match "the same bytes count once" "$out" '"devices": 1200'
expect_match "and are counted" "$out" '"repeated": 1200'

refused() { # name, pattern, file
    $tremolo fit "$3" >"$out" 2>"$err"
    expect "refused: $1" $? 2
    expect "in one line, nothing on stdout" "$(wc -l <"$err") $(wc -c <"$out")" "1 0"
    expect_match "that says why" "$err" "$2"
}
bytes=$(wc -c <"$dir/reports")
head -c $((bytes - 5)) "$dir/reports" >"$dir/short"
refused "cut short" 'cut short after report 1199' "$dir/short"
head_lines | sed 's/"wire_bits":12/"wire_bits":99/' >"$dir/study"
refused "unsound study" "the study's numbers are not sound" "$dir/study"
head_lines | sed 's/"id":"../"id":"00/' >"$dir/other"
body >>"$dir/other"
refused "reports of another study" 'report 1: the report belongs to another study' "$dir/other"
head_lines >"$dir/empty"
refused "no reports" '0 reports are too few' "$dir/empty"
echo "a,b" >"$dir/csv"
head -n 2 "$dir/reports" >"$dir/nothing"
refused "no round" 'there is no round in it' "$dir/nothing"
head_lines | sed 's/"round":0/"round":1/' >"$dir/second"
refused "a first round that is the second" 'the line of round 0 is not sound' "$dir/second"
{ cat "$dir/reports"; printf '\000\000{"round":1,"vectors":[]}\n'; } >"$dir/more"
refused "more rounds than the study has" 'the line of round 1 is not sound' "$dir/more"
refused "another kind of file" 'no file of reports' "$dir/csv"
refused "missing file" 'No such file' "$dir/none"
{ head_lines; printf '\377\377'; } >"$dir/long"
refused "an impossible length" 'cut short after report 0' "$dir/long"
refused "a device that left" 'round 2 has 1199 reports and the first one 1200' "$dir/uneven"
for arguments in "" "$dir/reports --method iterative" "$dir/reports --method pooled" "$dir/reports extra" "$dir/reports --level 1" "$dir/reports --method magic"; do
    # shellcheck disable=SC2086
    $tremolo fit $arguments >"$out" 2>"$err"
    expect "refused: fit ${arguments##*/}" $? 2
done

$tremolo fit "$dir/reports" --json >"$out"
expect_match "the neighbours, as simulate names them" "$out" '"neighbours": "distance=0.5"'
# A distance is promised as it was asked for, but none that the integers do not cover.
awk 'BEGIN { srand(5); print "x,y"; for (i = 0; i < 200; i++) print rand() "," rand() }' >"$dir/apart.csv"
$tremolo simulate "$dir/apart.csv" --response y --neighbours distance=0.5 --epsilon 2 --seed 1 --reports "$dir/apart" >"$out"
cat >"$dir/further.py" <<'TEXT'
import json, sys
lines = open(sys.argv[1], "rb").read().split(b"\n", 2)
header = json.loads(lines[1])
fine = header["study"]["unit"] / header["feature_bound"]
whole = header["study"]["distance"]
header["distance"] = (whole + float(sys.argv[2])) / fine
open(sys.argv[1] + ".further", "wb").write(b"\n".join([lines[0], json.dumps(header).encode(), lines[2]]))
print(whole / fine if float(sys.argv[2]) > 0 else header["distance"])
TEXT
$tremolo fit "$dir/apart" --json >"$out"
expect_match "the distance that was asked for" "$out" '"neighbours": "distance=0.5"'
for more in 0.9 1e-6 -0.9; do
    distance=$(python3 "$dir/further.py" "$dir/apart" $more)
    $tremolo fit "$dir/apart.further" --json >"$out"
    expect "a distance $more fine units from the integers" "$(python3 -c 'import json, sys
print(abs(float(json.load(open(sys.argv[1]))["guarantee"]["neighbours"].split("=")[1]) / float(sys.argv[2]) - 1) < 1e-14)' "$out" "$distance")" True
done
$tremolo fit "$dir/reports" --level 0.9 >"$out"
expect_match "the table names its level" "$out" '90% interval$'

# Names that a spreadsheet would run, or that would steer a terminal. Numbers stay numbers.
printf '%s\n' "=1+1,@cmd,-slope,+plus,'quoted',$(printf 'zip\033[31m\342\200\256'),$(printf 'y\007')" >"$dir/names.csv"
awk 'BEGIN { srand(3)
    for (i = 0; i < 400; i++) {
        s = 0
        for (k = 0; k < 5; k++) { x = rand() * 10; s -= x; printf "%.4f,", x }
        printf "0%d,", 1000 + i
        printf "%.4f\n", s + rand()
    } }' >>"$dir/names.csv"
$tremolo simulate "$dir/names.csv" --response "$(printf 'y\007')" --neighbours distance=0.5 --protect features --epsilon 8 --seed 1 --repeats 2 \
    --reports "$dir/named" --save "$dir/named.csv" >"$out" 2>"$err"
expect "odd names are simulated" $? 0
$tremolo fit "$dir/named" >>"$out" 2>>"$err"
expect "and fitted" $? 0
expect "no line holds a control or a turn of direction" "$(cat "$out" "$err" "$dir/named.csv" | LC_ALL=C grep -c "$(printf '[\007\033]')\|$(printf '\342\200\256')")" 0
python3 - "$dir/named.csv" >"$out" 2>&1 <<'TEXT'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
names = [row["name"] for row in rows]
assert names[:5] == ["'=1+1", "'@cmd", "'-slope", "'+plus", "'quoted'"], names
assert not any(name[0] in "=+-@\t\r" for name in names)
negative = [row["estimate"] for row in rows if row["estimate"].startswith("-")]
assert negative and all(float(text) < 0 for text in negative), rows
TEXT
expect "names that would be formulas are text, numbers are numbers" "$?$(cat "$out")" 0
