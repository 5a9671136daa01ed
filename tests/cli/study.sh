# tremolo study: starters, every problem at once, ids by an independent program.
. tests/common/tap.sh
tremolo=${BUILD:-build}/tremolo
dir=$(mktemp -d)
out=$dir/out err=$dir/err
trap 'rm -rf "$dir"' EXIT

$tremolo study init >"$dir/study.json"
expect "init writes a starter" $? 0
said=$(trap '' XFSZ; ulimit -f 0; $tremolo study init 2>&1 >"$dir/full")
expect "on a full disk init fails" "$? $said" "1 tremolo study: cannot write: File too large"
$tremolo study check "$dir/study.json" >"$out"
expect "the starter is a study" $? 0
expect_match "in one line" "$out" 'a study of 2 features$'
expect_match "which says how many liars turn a sign" "$out" '^about [0-9]+ liars among 50000 devices could turn the sign'
expect_match "and what open enrolment means" "$out" '^enrolment is open: nothing ties a report to a person'
expect_match "as the starter itself does" "$dir/study.json" "enrolment: 'open' lets anybody report"
sed 's/"enrolment": "open"/"enrolment": "keys"/' "$dir/study.json" >"$dir/keys.json"
expect "with keys there is nothing to say of it" "$($tremolo study check "$dir/keys.json" | grep -c 'enrolment is open')" 0
$tremolo study check - --json <"$dir/study.json" >"$out"
expect_match "check --json" "$out" '"valid": true'
expect_match "with the number" "$out" '"liars_turn_sign": [1-9][0-9.]+'

printf 'age,"steps, daily",pulse\n' >"$dir/header.csv"
$tremolo study init "$dir/header.csv" >"$dir/csv.json" 2>"$err"
expect "a header alone is enough" $? 0
expect_match "and the hint says when a range is done" "$err" 'then delete the comment of each, '
problem="features: the range of age, of 1 more feature and of the response is a placeholder: replace low and high, then delete the comment"
$tremolo study check "$dir/csv.json" >"$out" 2>"$err"
expect "bounds that nobody replaced are a problem" "$? $(cat "$err")" "2 $dir/csv.json: $problem"
expect "and nothing else is said" "$(wc -c <"$out")" 0
$tremolo study check "$dir/csv.json" --json >"$out" 2>"$err"
expect "as JSON, too" "$? $(python3 -c 'import json, sys
told = json.load(open(sys.argv[1])); print(told["valid"], told["count"], ": ".join(told["problems"][0].values()))' "$out")" "2 False 1 $problem"
$tremolo study publish "$dir/csv.json" http://127.0.0.1:1 --token-file none >"$out" 2>"$err"
expect "publish says the same" "$? $(cat "$err")" "2 $dir/csv.json: $problem"
printf 'age,"steps, daily",pulse\n50,7000,60\n' >"$dir/data.csv"
for command in "plan --devices 1000" "simulate $dir/data.csv" "audit"; do
    # shellcheck disable=SC2086
    $tremolo $command --study "$dir/csv.json" >"$out" 2>"$err"
    expect "so does ${command%% *}" "$? $(cat "$err")" \
        "2 tremolo ${command%% *}: $dir/csv.json: $problem; 'tremolo study check' says more"
done
sed 's/"comment": "replace low[^"]*", *//' "$dir/csv.json" >"$dir/replaced.json"
$tremolo study check "$dir/replaced.json" >/dev/null 2>"$out"
expect "without the comments it is a study" $? 0
expect_match "that lacks a title" "$out" 'replaced.json: warning: title: is still "Untitled study"'
expect "one rule for all ranges, the response's, too" \
    "$(grep -c 'about nine of ten people lie' "$dir/csv.json") $(grep -c 'nine of ten' "$dir/study.json") $(grep -c 'nearly' "$dir/study.json")" "3 2 0"
expect "it ends with a line feed" "$(tail -c 1 "$dir/csv.json" | od -An -c | tr -d ' ')" '\n'
printf '\357\273\277"steps, daily";"a ""quoted"" name";pulse\n1;2;3\n' >"$dir/semicolons.csv"
$tremolo study init "$dir/semicolons.csv" >"$dir/semicolons.json" 2>/dev/null
expect "commas within quotes separate nothing" "$? $(grep -oE '"name": *"([^"\\]|\\.)*"' "$dir/semicolons.json" | tr -d '\n')" \
    '0 "name": "steps, daily""name": "a \"quoted\" name""name": "pulse"'
printf 'age,region,pulse\n3,north,60\n' >"$dir/words.csv"
$tremolo study init "$dir/words.csv" >"$dir/words.json" 2>/dev/null
expect_match "a column of words becomes a category" "$dir/words.json" '"kind": "category"'
printf 'smoker,zip,day,group,pulse\nNo,00501,2024-03-01,2,60\n' >"$dir/looks.csv"
$tremolo study init "$dir/looks.csv" >"$dir/looks.json" 2>"$err"
expect "a column of answers is a question; a code and a date have no bounds" \
    "$? $(tr -d ' \n' <"$dir/looks.json" | grep -oE '"name":"[a-z]*","unit":"",("kind":"[a-z-]*")?' | sed 's/"name":\|"unit":"",\|"kind"://g' | tr -d '\n')" \
    '0 "smoker","yes-no""zip","category""day","category""group","numeric""pulse",'
expect "and are named" "$(grep -c "^Column 'zip' looks like a code; \|^Column 'day' looks like a date; " "$err")" 2
expect_match "a starter from a header says that its ranges are placeholders" "$err" 'which is a placeholder'
# Data must have points in the end, but a study is not about how a table is written.
awk 'BEGIN { print "sleep;pulse"; for (i = 0; i < 200; i++) print i % 90 ",5;6" i ",25" }' >"$dir/commas.csv"
$tremolo study init "$dir/commas.csv" >"$dir/commas.json" 2>"$err"
expect "numbers with a comma are numbers" "$? $(grep -c '"unit"' "$dir/commas.json") $(grep -c 'different values' "$err")" "0 2 0"
# No category holds as many names as there are people; a response of answers has its range.
awk 'BEGIN { print "name,zip,age,left"; for (i = 0; i < 200; i++) print "u" i ",0" i "," i % 50 "," (i % 3 ? "no" : "yes") }' >"$dir/names.csv"
$tremolo study init "$dir/names.csv" >"$dir/names.json" 2>"$err"
expect "what no category holds is left out" "$? $(grep -o '"name": "[a-z]*"' "$dir/names.json" | tr -d '\n')" '0 "name": "age""name": "left"'
expect "which is said" "$(grep -c "^Column '\(name\|zip\)' has more than 64 different values, so it is left out" "$err")" 2
expect_match "a response of yes and no has its range" "$dir/names.json" '"1 is yes and 0 is no, in data and samples, so this range is right"'
expect_match "and so says the hint" "$err" "^The response 'left' is yes or no: its range 0 to 1 is right; "
expect "one number is left to replace" "$($tremolo study check "$dir/names.json" 2>&1 | grep -o 'the range of .* is a placeholder')" "the range of age is a placeholder"
$tremolo study init "$dir/names.csv" --without name --without zip >"$out" 2>"$err"
expect "--without leaves out the same without a word" "$? $(cmp "$out" "$dir/names.json") $(grep -c Column "$err")" "0  0"
sed 's/yes$/1/; s/no$/0/' "$dir/names.csv" >"$dir/bits.csv"
expect "0 and 1 are answers, too" "$($tremolo study init "$dir/bits.csv" 2>/dev/null | cmp - "$dir/names.json")" ""
for name in none left; do
    $tremolo study init "$dir/names.csv" --without $name >"$out" 2>"$err"
    expect "what is not there, or the response, cannot be left out" "$? $(grep -c "'$name'" "$err") $(wc -l <"$err")" "2 1 1"
done
$tremolo simulate "$dir/bits.csv" --response left --epsilon 2 >"$out" 2>"$err"
expect "simulate names the column and the way out" "$? $(grep -c "column 'name': more than 64 categories; leave the column out" "$err")" "2 1"
printf 'a,b,a\n1,2,3\n' | $tremolo study init - >"$out" 2>"$err"
expect "a name that is there twice" "$? $(cat "$err")" "2 tremolo study: -: line 1, column 3: the name of a column before it, so there twice"
sed 's/"name": "heart rate"/"kind": "yes-no", &/' "$dir/study.json" >"$dir/kind.json"
$tremolo study check "$dir/kind.json" >"$out" 2>"$err"
expect "a response's kind says what to do" "$? $(grep -c 'response.kind: .* leave kind out, with low 0 and high 1, and write 1 for yes and 0 for no' "$err")" "2 1"
expect "and nothing of the data is copied" "$(grep -c north "$dir/words.json")" 0
$tremolo study check "$dir/words.json" >/dev/null 2>"$out"
expect "whose levels somebody must name" "$? $(grep -c 'features\[1\]\.levels: ' "$out")" "2 1"
expect "beside the placeholders" "$(grep -c 'features: the range of age and of the response is a placeholder' "$out") $(wc -l <"$out")" "1 2"
sed 's/"name": "age"/"name": "\\u001b[31mage"/' "$dir/words.json" >"$dir/colour.json"
$tremolo study check "$dir/colour.json" 2>&1 | grep placeholder >"$out"
expect "a name that would steer the terminal is not printed" "$(grep -c '?\[31mage' "$out")" 1
$tremolo plan --study "$dir/study.json" >"$out"
expect_match "the starter learns something" "$out" '^Verdict: with 50000 devices each of the 2 coefficients will be significant'
expect_match "quoted names survive" "$dir/csv.json" '"steps, daily"'
$tremolo study init "$dir/header.csv" --response age >"$out" 2>/dev/null
expect_match "the response can be chosen" "$out" '"response"'
$tremolo study init "$dir/header.csv" --response none >"$out" 2>"$err"
expect "but must be there" $? 2
expect_match "the starter says what is done beyond a range" "$dir/study.json" 'a value outside counts as it is, .* and weighs less; '
sed 's/"low": 5,/"low": 9,/; s/"high": 9$/"high": 5, "typical": 7/' "$dir/study.json" >"$dir/typical.json"
$tremolo study check "$dir/typical.json" >"$out" 2>"$err"
expect "of wrong bounds nothing follows" "$? $(cat "$err")" "2 $dir/typical.json: features[0].high: must be above low"
for command in "study check $dir" "plan --study $dir" "simulate $dir --response y --epsilon 1" "predict $dir $dir" "study init $dir"; do
    # shellcheck disable=SC2086
    $tremolo $command >"$out" 2>"$err"
    expect "a folder is no file: ${command%% "$dir"*}" "$? $(grep -c ': Is a directory$' "$err")" "2 1"
done

# All problems of a file, each with its path.
cat >"$dir/bad.json" <<'JSON'
{"tremolo": 1, "titel": "x", "features": [{"name": "a", "low": 3, "high": 1},
 {"name": "a", "kind": "yes-no", "low": 0}], "response": {"name": "y", "low": 0, "high": 1},
 "privacy": {"epsilon": 0, "protects": "all"}, "protocol": {"kind": "iterative"}}
JSON
$tremolo study check "$dir/bad.json" >"$out" 2>"$err"
expect "a bad file exits 2" $? 2
expect "and prints nothing else" "$(wc -c <"$out")" 0
for place in titel title 'features\[0\]\.high' 'features\[1\]\.name' 'features\[1\]\.low' \
    'privacy\.epsilon' 'protocol\.rounds'; do
    expect_match "a problem at $place" "$err" "bad\.json: $place: "
done
expect "seven in all" "$(wc -l <"$err")" 7
$tremolo study check "$dir/bad.json" --json >"$out" 2>"$err"
expect "as JSON, too" "$?" 2
expect_match "with their number" "$out" '"count": 7'
$tremolo study id "$dir/bad.json" >"$out" 2>"$err"
expect "which has no id" $? 2

# Features that are wrong cause no problems elsewhere; both dates are read.
cat >"$dir/bad.json" <<'JSON'
{"tremolo": 1, "title": "x", "features": [], "response": {"name": "y", "low": 0, "high": 1},
 "privacy": {"epsilon": 1, "protects": "features", "neighbours": {"distance": 3}},
 "protocol": {"kind": "iterative", "rounds": 2, "vectors": 2, "lambda": 1, "omega": 1},
 "limits": {"opens": "soon", "closes": "later"}}
JSON
$tremolo study check "$dir/bad.json" >"$out" 2>"$err"
expect "three problems, and no others that follow from them" "$(cut -d: -f2 "$err" | tr -d '\n')" \
    " features limits.opens limits.closes"

# The id, by a program written from the document.
cat >"$dir/full.json" <<'JSON'
{"tremolo": 1, "title": "Full <b>study</b> \u00e9", "purpose": "p", "features": [
 {"name": "a", "low": -0.0, "high": 1e-3}, {"name": "b", "unit": "kg", "low": -5, "high": 250000000},
 {"name": "c", "kind": "category", "levels": ["x", "y", "z"]}, {"name": "d", "kind": "yes-no"}],
 "response": {"name": "y", "low": 0, "high": 1, "sent": "public"},
 "privacy": {"epsilon": 3, "delta": 1e-7, "neighbours": {"distance": 0.7}, "protects": "features"},
 "protocol": {"kind": "iterative", "rounds": 5, "vectors": 3, "alpha": 0.5, "lambda": 0.2,
  "omega": 1, "calibration": "zcdp", "step": 0.5, "close": {"reports": 70000}},
 "limits": {"devices": 5000000000, "samples": 2, "opens": "2026-11-15", "enrolment": "keys"}}
JSON
cat >"$dir/ballot.json" <<'JSON'
{"tremolo": 1, "title": "A ballot", "features": [{"name": "sleep", "unit": "hours", "low": 5, "high": 9},
  {"name": "smoker", "kind": "yes-no"}],
 "response": {"name": "pulse", "low": 40, "high": 110},
 "privacy": {"epsilon": 2, "neighbours": "any", "protects": "all"},
 "protocol": {"kind": "one-shot", "release": "ballot"}, "limits": {"samples": 2}}
JSON
cat >"$dir/terms.json" <<'JSON'
{"tremolo": 1, "title": "Terms", "features": [{"name": "age", "low": 18, "high": 90, "missing": 50},
  {"name": "income", "low": 500, "high": 90000}, {"name": "platform", "kind": "category", "levels": ["web", "app", "none"], "missing": "none"}],
 "terms": ["age", {"term": "log(income)", "low": 6.2, "high": 11.4}, "C(platform)", {"term": "I((age-50)^2)", "low": 0, "high": 1600}],
 "response": {"name": "pulse", "low": 40, "high": 110},
 "privacy": {"epsilon": 2, "neighbours": "any", "protects": "all"}, "protocol": {"release": "ballot"}}
JSON
$tremolo study show "$dir/terms.json" >"$out"
expect_match "computed terms are shown" "$out" '^computed \(age-50\)\^2, 0 to 1600$'
expect_match "and what stands for missing values" "$out" '; missing counts as none$'
$tremolo study show "$dir/terms.json" --c >"$out"
expect_match "a firmware is told to compute them" "$out" 'age \+ log\(income\) \+ C\(platform\) \+ I\(\(age-50\)\^2\)'
expect_match "and their ranges" "$out" '/\* log\(income\): 6\.2[0-9]* to 11\.4'
# wrong_terms SED WORDS: a changed file is refused for this reason.
wrong_terms() {
    sed "$1" "$dir/terms.json" >"$dir/wrong.json"
    $tremolo study check "$dir/wrong.json" >"$out" 2>&1
    expect "terms after $1" $? 2
    expect_match "terms after $1: in words" "$out" "$2"
}
wrong_terms 's/"low": 500/"low": 0/' 'terms\[1\]: takes the logarithm of income: its low must then be above 0'
wrong_terms 's/"term": "log(income)", "low": 6.2, "high": 11.4/"term": "log(income)"/' 'terms\[1\]\.low: is required'
wrong_terms 's/{"term": "log(income)"[^}]*}/"log(income)"/' 'is computed and needs bounds of its own'
wrong_terms 's/"age", {/{"term": "age", "low": 1, "high": 2}, {/' 'has the bounds of its features'
wrong_terms 's/"C(platform)", //' 'terms: do not use platform: leave the feature out'
wrong_terms 's/"C(platform)"/"platform", "C(weight)"/' 'no such column'
wrong_terms 's/"C(platform)"/"C(platform)", "age"/' 'name a term twice'
wrong_terms 's/"C(platform)"/"age*platform"/' 'must be one term'
wrong_terms 's/"C(platform)"/"1 + platform"/' 'must be one term'
wrong_terms 's/"C(platform)"/"platform + platform"/' 'must be one term'
wrong_terms 's/"missing": "none"/"missing": "other"/' 'features\[2\]\.missing: must be one of the levels'
wrong_terms 's/"missing": 50/"missing": "old"/' 'features\[0\]\.missing: must be a number'
wrong_terms 's/"missing": 50/"typical": 91/' 'features\[0\]\.typical: must'
wrong_terms 's/"missing": "none"/"typical": 0.3/' 'features\[2\]\.typical: belongs to ballots, .* numbers and yes/no only'
wrong_terms 's/"missing": 50/"typical": 40/; s/"ballot"/"sample", "kind": "one-shot"/' 'features\[0\]\.typical: belongs to ballots'
# What is typical moves ranges, and the id with them.
sed 's/"high": 9}/"high": 9, "typical": 6.5}/; s/"yes-no"/"yes-no", "typical": 0.15/' "$dir/ballot.json" >"$dir/typical.json"
sed 's/"high": 9}/"high": 9, "typical": 7}/' "$dir/ballot.json" >"$dir/middle.json"
expect "three files, three ids" "$(for name in ballot typical middle; do $tremolo study id "$dir/$name.json"; done | sort -u | wc -l)" 3
$tremolo study show "$dir/typical.json" >"$out"
expect_match "and is shown" "$out" 'typically 6\.5'
wrong_terms 's/"any"/{"distance": 1}/; s/"ballot"/"sample", "kind": "one-shot"/' 'privacy.neighbours: must be "any" where terms are computed'
for file in "$dir/study.json" "$dir/replaced.json" "$dir/full.json" "$dir/ballot.json" "$dir/terms.json" "$dir/typical.json" "$dir/middle.json"; do
    $tremolo study show "$file" --json >"$out"
    expect "the id of ${file##*/}" "$($tremolo study id "$file")" \
        "$(python3 tests/vectors/study_id.py "$out")"
done

$tremolo study show "$dir/ballot.json" >"$out"
expect_match "a ballot is pure" "$out" 'with delta = 0'
$tremolo study show "$dir/ballot.json" --c >"$out"
expect_match "and so is its budget" "$out" '^#define TREMOLO_THE_EPSILON 134217728u$'
sed 's/"any"/{"distance": 1}/; s/"epsilon": 2/"epsilon": 2, "delta": 1e-5, "clip": 1/; s/"kind": "one-shot"/"kind": "iterative", "rounds": 3/' \
    "$dir/ballot.json" >"$dir/wrong.json"
$tremolo study check "$dir/wrong.json" 2>"$out"
expect "what a ballot has not is refused" "$(sed 's/^[^:]*: \([^:]*\):.*/\1/' "$out" | tr '\n' ' ')" \
    "privacy.delta privacy.clip protocol.kind protocol.rounds privacy.neighbours "
$tremolo plan --study "$dir/ballot.json" --devices 10k >"$out"
expect "plan takes one" $? 0

$tremolo study show "$dir/full.json" >"$out"
expect "show exits 0" $? 0
expect_match "and prints limits" "$out" '^limits   2 samples of a device in each round; 5000000000 devices; opens 2026-11-15T00:00:00Z$'
expect_match "says what is near" "$out" 'at most 0\.7 apart'
expect_match "and what is sent as it is" "$out" 'response y, 0 to 1, sent in the clear'
tr '\n' ' ' <"$out" >"$dir/joined" # its lines have 80 columns
expect_match "in words for the participant" "$dir/joined" 'guess more about your a, b, c and d than a device allows by default'
expect_match "the response by its name" "$dir/joined" 'Your y is sent as it is, without noise\.'
$tremolo study show "$dir/full.json" --json >"$out"
expect_match "10 releases" "$out" '"releases": 10'

# What a device gives, and the clip, are said; the whole box and one sample are not.
sed -e 's/"distance": 0.7/"distance": 0.1/' -e 's/"epsilon": 3/"epsilon": 3, "clip": 1/' -e 's/"samples": 2/"samples": 3/' \
    "$dir/full.json" >"$dir/samples.json"
$tremolo study show "$dir/samples.json" >"$out"
expect_match "samples are among the limits" "$out" '^limits   3 samples of a device in each round; 5000000000 devices; opens '
expect_match "the clip is a term" "$out" '^clip     samples are shortened to a norm of at most 1 in half ranges$'
tr '\n' ' ' <"$out" >"$dir/joined"
expect_match "and both are in the guarantee" "$dir/joined" \
    'Each device makes 15 releases, of up to 3 samples in each of 5 rounds. It first shortens samples to a norm of at most 1 .the clip.\. For any two devices, which may differ in all of their samples'
$tremolo study show "$dir/full.json" >"$out"
expect "a clip that does nothing is no term" "$(grep -c -e '^clip' -e 'the clip' "$out")" 0

# Other encodings: the sentence that simulate has for the same file.
printf 'caf\351,y\n1,2\n2,3\n' >"$dir/latin.csv"
python3 -c 'import sys; open(sys.argv[1], "w", encoding="utf-16").write("a,y\n1,2\n2,3\n")' "$dir/wide.csv"
for name in latin wide; do
    $tremolo study init "$dir/$name.csv" >"$out" 2>"$err"
    expect "a $name header is a usage error" "$? $(wc -c <"$out")" "2 0"
    $tremolo simulate "$dir/$name.csv" --response y --epsilon 1 2>&1 | sed 's/^tremolo simulate/tremolo study/' >"$dir/simulate.err"
    expect "in the words of simulate" "$(cat "$err")" "$(cat "$dir/simulate.err")"
done
printf 'a,b\342\200\256,y\n1,2,3\n' | $tremolo study init - >"$out" 2>"$dir/turned"
expect "a name that no study may have is refused by its place" \
    "$? $(wc -c <"$out") $(grep -c 'line 1, column 2: a name that no study may have' "$dir/turned")" "2 0 1"
expect_match "with the place and the remedy" "$err" 'line 1, column 1: a zero byte, so not UTF-8; convert it, .* utf16 -t utf8'

# Allowed, but with a word of warning.
sed -e 's/"distance": 0.7/"distance": 0.001/' -e 's/"epsilon": 3/"epsilon": 12/' \
    -e 's/"opens": "2026-11-15"/"closes": "2020-01-01"/' "$dir/full.json" >"$dir/weak.json"
$tremolo study check "$dir/weak.json" >"$out" 2>"$err"
expect "a weak study passes" $? 0
expect "with four warnings" "$(grep -c 'weak\.json: warning: ' "$err")" 4
expect_match "of devices that refuse it" "$err" "warning: devices with the default policy, and the participant's page, refuse this study: the study costs epsilon"
expect_match "with a policy that takes it, in the features' own units" "$err" \
    'takes part with the policy \{"epsilon_per_study": [0-9.]+, "epsilon_total": .*"distance": .*"b": 125000.*"c": false, "d": false'
expect_match "of pairs that are not covered" "$err" 'yes/no answer .2 apart., two categories .2\.83.'
expect_match "of the epsilon" "$err" 'privacy: Epsilon 12'
expect_match "of its end" "$err" 'limits\.closes: is past'
cat >"$dir/coarse.json" <<'TEXT'
{"tremolo": 1, "title": "grid", "features": [{"name": "a", "low": 0, "high": 1}],
 "response": {"name": "r", "low": 0, "high": 1},
 "privacy": {"epsilon": 0.0001, "delta": 1e-6, "neighbours": {"distance": 1}, "protects": "all"},
 "protocol": {"kind": "one-shot"}}
TEXT
$tremolo study check "$dir/coarse.json" >"$out" 2>"$err"
expect_match "of a grid whose rounding costs noise" "$err" "privacy: The device's grid is coarse: rounding on it costs [0-9.]+% more noise"
$tremolo study check "$dir/weak.json" --json >"$out"
expect_match "as JSON, too" "$out" '"warnings": \[$'
$tremolo study show "$dir/weak.json" >"$out"
expect "and is shown" $? 0
expect_match "with what lies beyond the accountant" "$out" '^typical pair .* no protection$'
$tremolo study check "$dir/study.json" 2>"$err" >"$out"
expect "the starter has no warnings" "$(wc -c <"$err")" 0

for arguments in "" "frobnicate" "check" "check a b" "init a b" "id --policy x y" "show --out x y" \
    "init --response y" "init --without y" "publish a" "discard a b" "enrol a" "move a b" "check --nonsense x"; do
    # shellcheck disable=SC2086
    $tremolo study $arguments >"$out" 2>"$err"
    expect "refused: study $arguments" "$? $(wc -l <"$err") $(wc -c <"$out")" "2 1 0"
done
$tremolo study check "$dir/nowhere" 2>"$err"
expect "a missing file is a usage error" $? 2
head -c 300000 /dev/zero | tr '\0' ' ' | $tremolo study check - >"$out" 2>"$err"
expect "a huge file is refused" $? 2
$tremolo study --help >"$out"
expect "help exits 0" $? 0
