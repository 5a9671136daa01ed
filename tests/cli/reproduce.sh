# tremolo reproduce on made-up data in the real files' shape: the output is
# whole, repeatable, and nothing is left behind by a failure.
. tests/common/tap.sh
. tests/common/made_data.sh
tremolo=${BUILD:-build}/tremolo
dir=$(mktemp -d)
out=$dir/out err=$dir/err
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/data"
made_modechoice >"$dir/data/modechoice.csv"
awk 'BEGIN { print "date,co2"
    for (i = 0; i < 200; i++) {
        printf "%d%02d%02d,%s\n", 1960 + int(i / 24), 1 + int(i % 24 / 2), 1 + 14 * (i % 2),
            i % 7 == 3 ? "" : sprintf("%.2f", 310 + i / 20 + 3 * sin(i * 0.2618))
    } }' >"$dir/data/co2.csv"
: >"$dir/data/fair.csv"
: >"$dir/data/randhie.csv"

$tremolo reproduce --out "$dir/a" --data "$dir/data" --tasks modechoice,co2 --repeats 2 >"$out" 2>"$err"
expect "reproduce exits 0" $? 0
expect_match "and names its report" "$out" '/a/report\.html$'
expect "all files, nothing hidden" "$(ls -A "$dir/a" | tr '\n' ' ')" \
    "datasets.csv report.html report.json report.txt sweep.csv tuning.csv "
expect "a line for each task, method and epsilon" "$(wc -l <"$dir/a/sweep.csv")" $((2 * 4 * 39 + 1))
expect_match "gaps in co2 are filled, not dropped" "$dir/a/datasets.csv" '^co2,200,7,'
expect_match "seven features" "$dir/a/datasets.csv" '^modechoice,300,7,0\.9'
expect "the page has a curve of least squares for each task" "$(python3 -c 'import json, sys
print([[line["name"] for line in figure["series"] if line.get("reference")] for figure in json.load(open(sys.argv[1]))["figures"]])' "$dir/a/report.json")" "[['ols'], ['ols']]"
expect_match "the page says how private the epsilons are, at any two people, too" "$dir/a/report.json" \
    'Features only, at epsilon 2 and delta 1e-5: between people at most 1 apart in standard deviations an attacker is right at most 60% of the time, between any two >?[0-9.]+%\. At epsilon 0\.5: 52\.9% and [0-9.]+%; at 10: 84\.2% and >?[0-9.]+%"'
tr '\n' ' ' <"$dir/a/report.txt" >"$dir/line"
expect_match "the report says how noise was made" "$dir/line" "the noise has the device's law exactly"

$tremolo reproduce --out "$dir/b" --data "$dir/data" --tasks modechoice,co2 --repeats 2 >"$out" 2>"$err"
cmp -s "$dir/a/sweep.csv" "$dir/b/sweep.csv" && cmp -s "$dir/a/tuning.csv" "$dir/b/tuning.csv"
expect "the same numbers again" $? 0

$tremolo reproduce --any-two --out "$dir/any" --data "$dir/data" --tasks modechoice --repeats 2 >"$out" 2>"$err"
expect "any two people: reproduce exits 0" $? 0
expect_match "ballots say how private its epsilons are" "$dir/any/report.json" \
    'At epsilon 2: between any two people an attacker is right at most 79\.2% of the time\. At epsilon 0\.5: 60\.8%; at 8: 96\.1%"'
expect "nothing is tuned" "$(ls -A "$dir/any" | tr '\n' ' ')" \
    "datasets.csv report.html report.json report.txt sweep.csv "
expect "a line for each release, protection and epsilon" "$(wc -l <"$dir/any/sweep.csv")" $((6 * 5 + 1))
expect "noisy samples, ballots and a trusted server, all protected and features only" \
    "$(cut -d, -f2 "$dir/any/sweep.csv" | sort -u | tr '\n' ' ')" \
    "adassp-all adassp-features ballot-all ballot-features method sample-all sample-features "
expect_match "least squares beside them" "$dir/any/report.txt" '^epsilon .* ols$'
expect_match "the report says how a trusted server spends its budget" "$dir/any/report.txt" 'a third of mu\^2'
# 240 devices explain next to nothing of a noisy sample; a server that is trusted learns at epsilon 8.
awk -F, '$3 == 8 { r2[$2] = $4 } END { exit !(r2["adassp-all"] > 0.5 && r2["adassp-all"] > r2["sample-all"]) }' \
    "$dir/any/sweep.csv"
expect "trust buys much of R^2" $? 0

$tremolo reproduce --out "$dir/a" --data "$dir/data" >"$out" 2>"$err"
expect "an earlier report is not overwritten" $? 2
$tremolo reproduce --out "$dir/c" --data "$dir/data" --tasks fair >"$out" 2>"$err"
expect "an empty data file fails" $? 1
expect "in one line" "$(wc -l <"$err")" 1
[ ! -e "$dir/c" ]
expect "and leaves nothing behind" $? 0
mkdir "$dir/bad"
cp "$dir/data/"*.csv "$dir/bad"
sed '5s/,.*/,about 310/' "$dir/data/co2.csv" >"$dir/bad/co2.csv"
$tremolo reproduce --out "$dir/c" --data "$dir/bad" --tasks co2 --repeats 1 >"$out" 2>"$err"
expect "a cell that is no number fails" $? 1
expect_match "and is named" "$err" "line 5, column 'co2': 'about 310' is not a finite number"
for arguments in "--repeats 0" "--tasks magic" "--force=1" "extra" "--frobnicate"; do
    # shellcheck disable=SC2086
    $tremolo reproduce --out "$dir/d" $arguments >"$out" 2>"$err"
    expect "refused: reproduce $arguments" $? 2
done
[ ! -e "$dir/d" ]
expect "refusals create nothing" $? 0
$tremolo reproduce --out "$dir/d" --tasks '' >"$out" 2>"$err"
expect "no task at all is refused" $? 2
expect_match "naming the option and what it takes" "$err" '--tasks must be of co2, fair'
mkdir -p "$dir/e/sweep.csv"
$tremolo reproduce --out "$dir/e" --data "$dir/data" --tasks modechoice --repeats 1 >"$out" 2>"$err"
expect "a file that cannot be put in its place fails" $? 1
expect "without a report" "$(ls -A "$dir/e" | grep -c 'report')" 0
