# tremolo predict, and the terms and missing values that lead to it: intervals are those that the
# document's covariance gives by another computation, and awkward data are answered in a sentence.
. tests/common/tap.sh
tremolo=${BUILD:-build}/tremolo
dir=$(mktemp -d)
out=$dir/out err=$dir/err
trap 'rm -rf "$dir"' EXIT
awk 'BEGIN { srand(11); print "age,sleep,income,platform,smoker,score"
    split("web,iOS,android", p, ",")
    for (i = 0; i < 20000; i++) {
        age = 18 + 72 * rand(); sleep = 4 + 6 * rand(); income = exp(8 + 3 * rand())
        place = p[1 + int(3 * rand())]; smoker = rand() < 0.5 ? "yes" : "no"
        printf "%.2f,%.2f,%.0f,%s,%s,%.3f\n", age, sleep, income, place, smoker,
            20 + 0.2 * age - sleep + 0.1 * (age - 50) * (sleep - 7) + 4 * log(income) \
            + 3 * (place == "iOS") + 2 * (smoker == "yes") + rand()
    } }' >"$dir/people.csv"
predict() { $tremolo predict "$@" >"$out" 2>"$err"; }

# refused NAME CODE WORDS ARGUMENTS...
refused() {
    name=$1 code=$2 words=$3
    shift 3
    "$tremolo" "$@" >"$out" 2>"$err"
    expect "$name" "$? $(wc -l <"$err")" "$code 1"
    expect_match "$name: in words" "$err" "$words"
}

terms='score ~ age + sleep + I((age-50)*(sleep-7)) + C(platform) + smoker + log(income)'
$tremolo simulate "$dir/people.csv" --terms "$terms" --epsilon 60 --release sample --neighbours any \
    --seed 1 --save "$dir/result.json" --reports "$dir/reports" >"$dir/shown" 2>&1
expect "simulate takes terms" $? 0
expect_match "and names them" "$dir/shown" '^\(age-50\):\(sleep-7\) +0\.[01]'
expect_match "a logarithm, too" "$dir/shown" '^log\(income\) +(3\.[5-9]|4\.)'
expect_match "with an F test" "$dir/shown" '^F test that all slopes are zero: F = [0-9.e+]+ on 7 and 25 degrees'
expect_match "a residual standard error" "$dir/shown" '^Residual standard error: [0-9.]+ \[[0-9.]+, [0-9.]+\]$'
expect_match "and the largest inflation" "$dir/shown" '^Largest variance inflation: 1\.[0-9]+ \[1[0-9.]*, [0-9.]+\] of '

cat >"$dir/new.csv" <<'DATA'
note,platform,smoker,income,age,sleep
a,web,no,20000,50,7
b,iOS,yes,5000,30,NA
"c,d",android,TRUE,60000,70,5
DATA
predict "$dir/result.json" "$dir/new.csv"
expect "predict reads columns by name" "$? $(wc -l <"$out") $(head -n 1 "$out" | tr -d '\r')" \
    "0 4 row,prediction,mean,standard_error,low,high"
expect "a row with a missing value has no prediction" "$(sed -n 3p "$out" | tr -d '\r')" "2,,,,,"
expect_match "and is counted" "$err" '1 row has a missing value and no prediction'
python3 - "$dir/result.json" "$out" >"$dir/compared" 2>&1 <<'TEXT'
import csv, json, math, sys
document = json.load(open(sys.argv[1]))
rows = list(csv.DictReader(open(sys.argv[2], newline="")))
def features(age, sleep, income, platform, smoker):
    return [age, sleep, (age - 50) * (sleep - 7), platform == "iOS", platform == "web", smoker, math.log(income), 1]
names = [row["name"] for row in document["coefficients"]]
assert names[3:5] == ["platform=iOS", "platform=web"], names
beta = [row["estimate"] for row in document["coefficients"]]
shrunken = [row["estimate"] for row in document["prediction"]["coefficients"]]
lower = document["covariance"]
C = [[lower[max(i, j)][min(i, j)] for j in range(8)] for i in range(8)]
for i in range(8):
    error = document["coefficients"][i]["standard_error"]
    assert abs(math.sqrt(C[i][i]) - error) < 1e-6 * error, i
t = 2.0395134  # Student's, 31 degrees, 0.975
for row, w in ((rows[0], features(50, 7, 20000, "web", 0)), (rows[2], features(70, 5, 60000, "android", 1))):
    mean = sum(a * b for a, b in zip(w, beta))
    se = math.sqrt(sum(w[i] * C[i][j] * w[j] for i in range(8) for j in range(8)))
    wanted = [sum(a * b for a, b in zip(w, shrunken)), mean, se, mean - t * se, mean + t * se]
    for key, value in zip(("prediction", "mean", "standard_error", "low", "high"), wanted):
        assert abs(float(row[key]) - value) < 1e-6 * max(1, abs(value)), (key, row[key], value)
print("same")
TEXT
expect "means and intervals are those of the document's coefficients and covariance" "$(cat "$dir/compared")" same
$tremolo fit "$dir/reports" --save "$dir/fit.json" >/dev/null 2>&1
cp "$out" "$dir/first"
predict "$dir/fit.json" "$dir/new.csv"
expect "a file of reports predicts the same" "$? $(cut -d, -f3 "$out" | cut -c1-7 | tr -d '\r\n')" \
    "0 $(cut -d, -f3 "$dir/first" | cut -c1-7 | tr -d '\r\n')"
predict "$dir/result.json" "$dir/new.csv" --level 0.5
expect "--level narrows the interval" "$? $(awk -F, 'NR == FNR { wide[$1] = $6 - $5; next }
    FNR == 2 { print ($6 - $5 < 0.4 * wide[1] && $6 > $5) }' "$dir/first" "$out")" "0 1"
$tremolo predict "$dir/result.json" "$dir/new.csv" >/dev/full 2>"$err"
expect "a table that cannot be written is an error" "$? $(grep -c 'cannot write to stdout$' "$err")" "1 1"

sed 's/iOS/windows/' "$dir/new.csv" >"$dir/other.csv"
refused "another level is refused" 2 "line 3, column 'platform': 'windows' must be one of" \
    predict "$dir/result.json" "$dir/other.csv"
sed 's/5000/much/' "$dir/new.csv" >"$dir/other.csv"
refused "a word for a number, too" 2 "column 'income': 'much' must be a number" predict "$dir/result.json" "$dir/other.csv"
cut -d, -f1-4 "$dir/new.csv" | sed '4d' >"$dir/other.csv"
refused "a column that is not there" 2 "no column 'age', which the estimate needs" predict "$dir/result.json" "$dir/other.csv"
refused "data that are no result" 2 "line 1 is not JSON, as a result saved under a name in .json is" predict "$dir/new.csv" "$dir/new.csv"
echo '{"tremolo_estimate": 1, "coefficients": [], "prediction": {}}' >"$dir/odd.json"
refused "a result without columns" 2 "not there, or not sound" predict "$dir/odd.json" "$dir/new.csv"
refused "one file alone" 2 "takes RESULT.json DATA.csv" predict "$dir/result.json"

# What noise hides is not concluded from.
$tremolo simulate "$dir/people.csv" --response score --features age,sleep,smoker,income --epsilon 1 --seed 4 \
    --save "$dir/hidden.json" >/dev/null 2>&1
expect "noise may hide every coefficient, and leave R^2 with its interval and the F test" "$(python3 -c 'import json, sys
told = json.load(open(sys.argv[1]))
print(any(row["identified"] for row in told["coefficients"]), told["r2_low"] < told["r2"] < told["r2_high"],
      told["diagnostics"]["f_test"]["p"] < 0.05, told["prediction"]["told"])' "$dir/hidden.json")" "False True True True"
predict "$dir/hidden.json" "$dir/new.csv"
expect "with hidden coefficients there is a prediction and no interval" \
    "$? $(sed -n 2p "$out" | tr -d '\r' | sed 's/[0-9][0-9.]*,,,,$/number,,,,/')" "0 1,number,,,,"
expect_match "and it is said by what" "$err" 'shrunken'

# Nor is anything predicted where the reports tell nothing at all.
for form in json html csv; do
    $tremolo simulate "$dir/people.csv" --response score --features age,sleep --epsilon 0.1 --seed 3 \
        --save "$dir/nothing.$form" >"$dir/shown" 2>&1
done
refused "a result that tells nothing predicts nothing" 2 "nothing.json: the reports tell nothing to predict from: " \
    predict "$dir/nothing.json" "$dir/new.csv"
expect "and no table" "$(wc -c <"$out")" 0
expect_match "which JSON has as data" "$dir/nothing.json" '"told": false'
expect_match "the terminal says" "$dir/shown" 'do not support a prediction yet\.$'
expect "and the page, without the numbers" \
    "$(grep -c 'do not support a prediction yet\.$' "$dir/nothing.html") $(grep -c '^ *Prediction$' "$dir/nothing.html")" "1 0"
expect "nor has the table any" "$(cut -d, -f12 "$dir/nothing.csv" | tr -d '\r\n')" prediction

# Terms and missing values in simulate.
short="$dir/people.csv --epsilon 8 --seed 1"
# shellcheck disable=SC2086
{
    refused "a term without a column" 2 "no column 'ages' for the terms; did you mean 'age'" simulate $short --response score --terms 'ages + sleep'
    refused "a term that cannot be read" 2 "cannot be read" simulate $short --response score --terms 'age sleep'
    refused "a term that is not closed" 2 'a \) is missing at the end' simulate $short --response score --terms 'log(age'
    refused "a term that is not closed in time" 2 "a \) is missing at '\+ sleep'" simulate $short --response score --terms 'log(age + sleep'
    refused "a term with the response" 2 "both the response and in a term" simulate $short --response score --terms 'score:age'
    refused "another response" 2 "another response" simulate $short --response score --terms 'age ~ sleep'
    refused "terms and features" 2 "do not go together" simulate $short --response score --terms age --features age
    refused "a distance between computed terms" 2 "neighbours must be any" simulate $short --response score --terms 'age + sleep + age^2' --neighbours distance=1
}
awk -F, 'NR == 5 { $1 = "" } NR == 7 { $4 = "N/A" } { print }' OFS=, "$dir/people.csv" >"$dir/holes.csv"
for how in drop mean; do
    $tremolo simulate "$dir/holes.csv" --response score --epsilon 8 --seed 1 --missing $how --json >"$dir/$how" 2>"$err"
    expect "--missing $how" $? 0
done
expect "drops two rows, or none" "$(grep -h '"dropped"' "$dir/drop" "$dir/mean" | tr -d ' ,' | tr '\n' ' ')" '"dropped":2 "dropped":0 '
expect_match "and says what stands for a missing number" "$dir/mean" '"missing": 5[0-9]\.'
refused "--missing refuse names the cell" 2 "line 5, column 'age': the value is missing" \
    simulate "$dir/holes.csv" --response score --epsilon 8 --missing refuse
# A missing response is never imputed.
awk -F, 'NR == 9 { $NF = "" } { print }' OFS=, "$dir/holes.csv" >"$dir/silent.csv"
$tremolo simulate "$dir/silent.csv" --response score --epsilon 8 --seed 1 >"$out" 2>"$err"
expect_match "--missing drop says what mean would keep" "$err" ': 3 rows dropped for missing values; --missing mean keeps 2$'
$tremolo simulate "$dir/silent.csv" --response score --epsilon 8 --seed 1 --missing mean >"$out" 2>"$err"
expect "mean cannot fill a response" "$(tr '\n' ' ' <"$out" | grep -c ' 1 dropped for missing values')$(cat "$err")" 1
sed 6,8d "$dir/silent.csv" | sed 5d >"$dir/response.csv"
refused "--missing refuse says the same of a response" 2 "column 'score': .* rows with missing values can be dropped$" \
    simulate "$dir/response.csv" --response score --epsilon 8 --missing refuse
awk -F, 'NR > 1 && NR % 100 == 0 { $3 = 0 } { print }' OFS=, "$dir/people.csv" >"$dir/zero.csv"
refused "a logarithm of nothing" 2 "line 100: 'log\(income\)' has no value there" \
    simulate "$dir/zero.csv" --response score --terms 'log(income)' --epsilon 8

# A study's terms and fillings hold for a table, too.
cat >"$dir/terms.json" <<'STUDY'
{"tremolo": 1, "title": "t", "features": [{"name": "age", "low": 18, "high": 90, "missing": 50}, {"name": "sleep", "low": 5, "high": 9},
  {"name": "income", "low": 2900, "high": 60000}, {"name": "platform", "kind": "category", "levels": ["web", "iOS", "android"], "missing": "web"}],
 "terms": ["age", "sleep", {"term": "log(income)", "low": 7.9, "high": 11.1}, "platform", {"term": "I((age-54)*(sleep-7))", "low": -100, "high": 100}],
 "response": {"name": "score", "low": 40, "high": 90}, "privacy": {"epsilon": 8, "neighbours": "any", "protects": "all"},
 "protocol": {"release": "ballot"}}
STUDY
$tremolo simulate "$dir/holes.csv" --study "$dir/terms.json" --seed 1 --save "$dir/study.json" >"$out" 2>"$err"
expect "simulate --study takes terms from it" "$? $(sed -n '/Estimate/,/^---/s/^\([^ ][^ ]*\) .*/\1/p' "$out" | tr '\n' ' ')" \
    "0 age sleep log(income) platform=iOS platform=android (age-54):(sleep-7) (intercept) "
expect "and fills as it says" "$(tr '\n' ' ' <"$out" | grep -c ' 0 dropped for missing values')" 1
predict "$dir/study.json" "$dir/holes.csv"
expect "every row has a prediction" "$? $(awk -F, 'NR > 1 && $2 == ""' "$out" | wc -l)" "0 0"
expect "one in ten is beyond a ballot's typical range, and nothing is said" "$(cat "$err")" ""
cp "$out" "$dir/named"
predict "$dir/study.json" - <"$dir/holes.csv"
expect "- is standard input" "$? $(cmp "$out" "$dir/named")" "0 "
cat >"$dir/far.csv" <<'DATA'
age,sleep,income,platform
342,7,20000,web
1e12,7,20000,web
341,7,20000,web
DATA
predict "$dir/study.json" "$dir/far.csv"
expect "a feature of ballots counts up to eight half ranges" \
    "$? $(tr -d '\r' <"$out" | cut -d, -f2- | awk 'NR == 2 { at = $0 } NR > 2 { print ($0 == at) }' | tr '\n' ' ')" "0 1 0 "
expect_match "rows far beyond are counted" "$err" '^tremolo predict: 3 rows have a number beyond those that were learned from'
# From what is typical, 26 here: up to 26 + 8 * 36 = 314, and down to -262.
sed 's/"name": "age", /&"typical": 26, /' "$dir/terms.json" >"$dir/typical.study.json"
$tremolo simulate "$dir/holes.csv" --study "$dir/typical.study.json" --seed 1 --save "$dir/typical.json" >"$out" 2>"$err"
expect "simulate --study takes what is typical" "$? $(grep -c '"typical": 26' "$dir/typical.json")" "0 1"
for ages in '314 342 313' '-262 -300 -261'; do
    printf '%s\n' age,sleep,income,platform "$(echo "$ages" | tr ' ' '\n' | sed 's/$/,7,20000,web/')" >"$dir/near.csv"
    predict "$dir/typical.json" "$dir/near.csv"
    expect "eight half ranges are counted from what is typical, as devices do: ages $ages" \
        "$? $(tr -d '\r' <"$out" | cut -d, -f2- | awk 'NR == 2 { at = $0 } NR > 2 { print ($0 == at) }' | tr '\n' ' ')" "0 1 0 "
done
sed 's/1e12/1e101/' "$dir/far.csv" >"$dir/other.csv"
refused "a number that simulate would refuse" 2 "line 3, column 'age': '1e101' is beyond 1e\+100, the largest taken" \
    predict "$dir/study.json" "$dir/other.csv"
refused "--without cannot leave out a part of a term" 2 "the terms say which there are" \
    simulate "$dir/holes.csv" --study "$dir/terms.json" --without age
