# Results saved as one file: whole or not at all, the same numbers in all three
# forms, and pages that a real browser opens from the disk (tests/web/result.mjs).
. tests/common/tap.sh
. tests/common/server.sh
. tests/common/web.sh
. tests/common/made_data.sh

python3 - >"$work/people.csv" <<'TEXT'
import random
random.seed(11)
print('"age <b>old</b>",sleep,"</script><script>alert(1)</script>",pulse')
for _ in range(4000):
    age, sleep, steps = random.uniform(18, 90), random.gauss(7, 1), random.gauss(8000, 3000)
    print(f"{age:.2f},{sleep:.3f},{steps:.0f},{60 + .15 * age - 1.2 * sleep - .0009 * steps + random.gauss(0, 4):.3f}")
TEXT
cd_free() { ls "$work" | grep -cE '\.(html|json|csv|txt)\.'; }
$tremolo simulate "$work/people.csv" --response pulse --neighbours distance=0.5 --protect features --epsilon 4 --seed 5 --repeats 4 \
    --reports "$work/reports" --save "$work/simulate.html" >"$work/out" 2>&1
expect "simulate saves a page" $? 0
$tremolo simulate "$work/people.csv" --response pulse --neighbours distance=0.5 --protect features --epsilon 4 --seed 5 --repeats 4 \
    --reports "$work/again" --save "$work/simulate.json" >"$work/out" 2>&1
expect "and a document" $? 0
for form in html json csv; do
    $tremolo fit "$work/reports" --save "$work/fit.$form" >"$work/out" 2>&1
    expect "fit saves .$form" $? 0
done
$tremolo fit "$work/reports" --json >"$work/printed.json" 2>&1

python3 - "$work" <<'TEXT' >"$work/out" 2>&1
import csv, json, sys
work = sys.argv[1]
saved, printed = json.load(open(f"{work}/fit.json")), json.load(open(f"{work}/printed.json"))
rows = list(csv.DictReader(open(f"{work}/fit.csv", newline="")))
assert saved["tremolo_estimate"] == 1
assert len(rows) == len(saved["coefficients"]) == 4
for row, one, said, guess in zip(rows, saved["coefficients"], printed["coefficients"], saved["prediction"]["coefficients"]):
    assert row["name"] == one["name"] == said["name"]
    for key in ("estimate", "standard_error", "low", "high", "z", "p"):
        assert (float(row[key]) if row[key] else None) == one[key] == said[key], key
    assert row["identified"] == str(one["identified"]).lower()
    assert float(row["prediction"]) == guess["estimate"]
assert saved["guarantee"]["epsilon"] == printed["guarantee"]["epsilon"]
assert all(0 < point["false_alarms"] < point["caught"] < 1 for point in saved["guarantee"]["tradeoff"])
assert set(saved["diagnostics"]) == {"residual_sd", "residual_sd_low", "residual_sd_high", "f_test", "variance_inflation", "condition", "negative_eigenvalues", "noise_sd", "noise_ratio",
                                     "shift_max"}
assert saved["made"]["command"].startswith("tremolo fit ")
TEXT
expect "the three forms and --json have the same numbers, to the bit" "$?$(cat "$work/out")" 0

$tremolo fit "$work/reports" --save "$work/fit.txt" >"$work/out" 2>&1
expect "a text is what the terminal shows" "$? $(cmp "$work/fit.txt" "$work/out" && echo same)" "0 same"
$tremolo fit "$work/reports" --save "$work/fit.pdf" >"$work/out" 2>&1
expect "another suffix is wrong usage" $? 2
expect_match "and the four are named" "$work/out" '\.html, \.json, \.csv or \.txt'
$tremolo fit "$work/reports" --save "$work/fit.json" >"$work/out" 2>&1
expect "a file that is there is not replaced" $? 2
$tremolo fit "$work/reports" --save "$work/fit.json" --force >"$work/out" 2>&1
expect "but with --force" $? 0
$tremolo fit "$work/reports" --save "$work/none/fit.html" >"$work/out" 2>&1
expect "a directory that is not there is a failure" $? 1
mkdir "$work/taken.html"
$tremolo fit "$work/reports" --save "$work/taken.html" --force >"$work/out" 2>&1
expect "so is a name that cannot be replaced" $? 1
expect "nothing half written is left" "$(cd_free)" 0
(trap '' XFSZ; ulimit -f 8; $tremolo fit "$work/reports" --save "$work/full.html" >"$work/out" 2>&1)
expect "a disk that is full leaves no file" "$(ls "$work" | grep -c '^full')" 0
grep -qi '<script>alert' "$work/fit.html"
expect "no name becomes markup" $? 1
expect "the page has the text in full, for readers without scripts" "$(python3 - "$work" <<'TEXT'
import html, re, subprocess, sys
work = sys.argv[1]
page = open(f"{work}/fit.html", encoding="utf-8").read()
text = html.unescape(re.search(r'<pre id="text"[^>]*>(.*?)</pre>', page, re.S)[1])
shown = open(f"{work}/fit.txt", encoding="utf-8").read()
print(text.split("\n\n")[1] == shown.split("\n\n")[1], "For the participant:" in text)
TEXT
)" "True True"
grep -Eq '(src|href)="?[a-z/]' "$work/fit.html"
expect "the page refers to nothing outside" $? 1

# From a server and from its directory.
study_text '{"kind": "one-shot"}' | sed 's/"epsilon": 8/"epsilon": 60/; s/"name": "score"/"name": "score", "unit": "points"/; s/"steps"/"Länge ä ö ü"/' >"$work/one.json"
start_server "$work/data"
one=$(create_study "$work/one.json")
$swarm --url "$url/v1/studies/$one" --devices 2000 --threads 2 --batch 100 >/dev/null 2>&1
for form in html json; do
    $tremolo fit "$url/v1/studies/$one" --save "$work/server.$form" >"$work/out" 2>&1
    expect "a server's estimate is saved as .$form" $? 0
done
caption='What one more unit of each does to score (points), all others equal'
expect "the response and its unit stand before the table, printed and saved" \
    "$(grep -cFx "$caption:" "$work/out") $(grep -cFx "$caption:" "$work/server.html")" "1 1"
$tremolo status "$url/v1/studies/$one" >"$work/out" 2>&1
expect "and before that of status" "$(grep -cFx "$caption:" "$work/out")" 1
expect "and its columns are counted in characters" "$(python3 - "$work/out" <<'TEXT'
import re, sys
lines = open(sys.argv[1], encoding="utf-8").read().split("all others equal:\n")[1].split("\n\n")[0].splitlines()
end = lines[0].index("Estimate") + len("Estimate")
rows = lines[1:lines.index("---")]
print(len(rows), all(re.search(r"[0-9]$", line[:end]) and line[end] == " " for line in rows))
TEXT
)" "4 True"
stop_server
$tremolo fit "$work/data" --save "$work/offline.json" >"$work/out" 2>&1
expect "so is that of its directory" $? 0
strip() { sed '/"time":/d; /"command":/d' "$1"; }
expect "with the same content" "$(strip "$work/offline.json")" "$(strip "$work/server.json")"
expect_match "and the study's id" "$work/server.json" "\"study\": \"$one\""

# The paper's experiments, on one small task.
mkdir "$work/tasks"
made_modechoice >"$work/tasks/modechoice.csv"
for unused in co2 fair randhie; do : >"$work/tasks/$unused.csv"; done
$tremolo reproduce --out "$work/reproduced" --data "$work/tasks" --tasks modechoice --repeats 2 >"$work/out" 2>&1
expect "reproduce writes a page" "$?$([ -s "$work/reproduced/report.html" ] && echo yes)" 0yes
grep -Eq '(src|href)="?[a-z/]' "$work/reproduced/report.html"
expect "which refers to nothing outside, either" $? 1

skip_unless_browser "saved results in a browser"
cat >"$work/setting.json" <<TEXT
{"pages": [{"name": "fit", "html": "$work/fit.html", "json": "$work/fit.json", "charts": 1},
           {"name": "simulate", "html": "$work/simulate.html", "json": "$work/simulate.json", "charts": 2},
           {"name": "server", "html": "$work/server.html", "json": "$work/server.json", "charts": 1},
           {"name": "reproduce", "html": "$work/reproduced/report.html",
            "json": "$work/reproduced/report.json", "charts": 1}],
 "readable": {"html": "$work/simulate.html", "json": "$work/simulate.json"}}
TEXT
run_web tests/web/result.mjs "$work/setting.json"
