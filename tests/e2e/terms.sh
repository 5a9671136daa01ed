# Studies with terms and fillings, through a real server: every client computes the same integers
# (tests/vectors/terms.py), devices report, and the estimate predicts from raw columns.
. tests/common/tap.sh
. tests/common/server.sh
. tests/common/web.sh

python3 tests/vectors/terms.py | cmp -s - tests/vectors/terms.json
expect "the committed vectors are what their generator writes" $? 0
python3 - "$work" <<'TEXT'
import json, sys
for name, vector in zip(("sample", "ballot"), json.load(open("tests/vectors/terms.json"))):
    json.dump(vector["study"], open(f"{sys.argv[1]}/{name}.json", "w"))
    json.dump(vector["cases"][3]["sample"], open(f"{sys.argv[1]}/{name}.person", "w"))
TEXT
echo '{"epsilon_per_study": 20, "epsilon_total": 40}' >"$work/policy.json"
start_server "$work/data"
for name in sample ballot; do
    $tremolo study show "$work/$name.json" --json >"$work/out"
    id=$(create_study "$work/$name.json")
    expect "the id of a $name's study with terms, by another program" "$(python3 tests/vectors/study_id.py "$work/out")" "$id"
    curl -s "$url/v1/studies/$id" >"$work/$name.published"
    $tremolo report --study "$url/v1/studies/$id" --state "$work/device-$name" --sample "$work/$name.person" \
        --enrol --trust-new --policy "$work/policy.json" >"$work/out" 2>&1
    expect "a person with values missing reports a $name" $? 0
    $swarm --url "$url/v1/studies/$id" --devices 3000 --threads 2 --batch 100 >/dev/null 2>&1
    $tremolo fit "$url/v1/studies/$id" --save "$work/$name-result.json" >"$work/out" 2>&1
    expect "the estimate of ${name}s" $? 0
    expect_match "names its terms" "$work/out" '^log\(income\):platform=iOS:age '
    printf 'age,hours of sleep,income,platform,smoker\n40,,30000,iOS,yes\n,7,1,web,no\n' >"$work/new.csv"
    # In most runs these people are too few to predict from. How columns are read shows anyway.
    sed -i 's/"told": false/"told": true/' "$work/$name-result.json"
    $tremolo predict "$work/$name-result.json" "$work/new.csv" >"$work/out" 2>"$work/err"
    expect "predicts from raw columns, with what stands for missing values" \
        "$? $(awk -F, 'NR > 1 { print ($2 != "") }' "$work/out" | tr '\n' ' ')" "0 1 0 "
done
if command -v node >/dev/null; then
    run_web tests/web/terms.mjs "$work/sample.published" "$work/ballot.published"
else
    report "derived features in JavaScript # SKIP node is not installed" yes
fi
