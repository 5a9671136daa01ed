# One estimate from six sources: every document is as docs/estimate.schema.json describes it,
# and the same estimate has the same numbers to the last digit. Study files are as
# docs/study.schema.json describes them.
. tests/common/tap.sh
. tests/common/server.sh
python=python3
$python -c 'import jsonschema' 2>/dev/null || python=/usr/bin/python3

# valid SCHEMA FILE...: silent when every file fits.
valid() {
    $python - "$@" <<'TEXT' 2>&1
import json, sys
import jsonschema
schema = json.load(open(sys.argv[1]))
jsonschema.Draft202012Validator.check_schema(schema)
for name in sys.argv[2:]:
    for error in jsonschema.Draft202012Validator(schema).iter_errors(json.load(open(name))):
        print(name, "/".join(map(str, error.absolute_path)), error.message[:200])
TEXT
}

$python - >"$work/people.csv" <<'TEXT'
import random
random.seed(7)
print("steps,sleep,pulse,score")
for _ in range(1500):
    steps, sleep, pulse = random.uniform(0, 20000), random.uniform(3, 11), random.uniform(40, 110)
    print(f"{steps:.0f},{sleep:.3f},{pulse:.2f},{20 + .001 * steps + 3 * sleep + .1 * pulse + random.gauss(0, 3):.3f}")
TEXT
study_text '{"kind": "one-shot"}' |
    sed 's/"epsilon": 8/"epsilon": 60/; s/"neighbours": "any"/"neighbours": {"distance": 1}/; s/"name": "score"/"name": "score", "unit": "points"/' >"$work/one.json"
simulate="$tremolo simulate $work/people.csv --study $work/one.json --test-share 0 --seed 3"
$simulate --reports "$work/reports" --json >"$work/simulate.json"
expect "simulate" $? 0
$simulate --reports "$work/again" --save "$work/saved.json" >/dev/null
expect "simulate --save" $? 0
$tremolo fit "$work/reports" --json >"$work/file.json"
expect "fit FILE" $? 0
start_server "$work/data"
one=$(create_study "$work/one.json")
$python - "$work/reports" "$url/v1/studies/$one/reports" >"$work/out" 2>&1 <<'TEXT'
import sys, urllib.request
data = open(sys.argv[1], "rb").read()
data = data.split(b"\n", 2)[2]
reports, at = [], data.index(b"\n") + 1
while at < len(data):
    length = data[at] + 256 * data[at + 1]
    reports.append(data[at + 2:at + 2 + length])
    at += 2 + length
head = lambda n: bytes([0x40 | n]) if n < 24 else bytes([0x58, n])
for first in range(0, len(reports), 100):
    body = b"".join(head(len(r)) + r for r in reports[first:first + 100])
    request = urllib.request.Request(sys.argv[2], body, {"Content-Type": "application/cbor-seq"})
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request).read()
TEXT
expect "the server takes the very reports of the file" "$?$(cat "$work/out")" 0
curl -s "$url/v1/studies/$one/estimate" >"$work/server.json"
$tremolo fit "$url/v1/studies/$one" --json >"$work/url.json"
expect "fit URL" $? 0
$tremolo fit "$url/v1/studies/$one" --level 0.8 --json >"$work/url80.json"
$tremolo fit "$url/v1/studies/$one" >"$work/url.txt"
none=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
$tremolo fit "$url/v1/studies/$none" 2>"$work/err"
expect "a wrong study's address" "$? $(cat "$work/err")" \
    "1 tremolo fit: $url/v1/studies/$none/estimate answered 404: no such study; 'tremolo status $url' lists the studies there"
$tremolo fit "$url" 2>"$work/err"
expect "a server's address is no study's" "$? $(cat "$work/err")" \
    "2 tremolo fit: $url is no study's address, which ends in /v1/studies/ and its id; 'tremolo status $url' lists them"
stop_server
$tremolo fit "$work/data" --json >"$work/directory.json"
expect "fit DIR" $? 0
$tremolo fit "$work/data" --level 0.8 --json >"$work/directory80.json"
$tremolo fit "$work/reports" --level 0.8 --json >"$work/file80.json"
$tremolo fit "$work/reports" >"$work/file.txt"
table() { sed -n '/^Coefficients/,/^F test/p' "$1" | cut -c1-40; }
expect "fit URL and fit FILE print one table" "$(table "$work/url.txt")" "$(table "$work/file.txt")"
expect "which is there" "$(table "$work/file.txt" | grep -c 'intercept')" 1

six="$work/simulate.json $work/saved.json $work/file.json $work/server.json $work/url.json $work/directory.json"
# shellcheck disable=SC2086
expect "six documents are as described" "$(valid docs/estimate.schema.json $six)" ""
cat >"$work/same.py" <<'TEXT'
import json, sys
members = ["study", "release", "response", "rounds", "reports", "devices", "level", "coefficients", "inference",
           "not_identified", "remark", "prediction", "r2", "r2_low", "r2_high", "diagnostics"]
promises = ["epsilon", "delta", "mu", "rho", "neighbours", "protects", "releases", "attacker_right", "tradeoff"]
documents = [json.load(open(name)) for name in sys.argv[1:]]
for one in documents:  # units of features are known to a study alone
    for row in one["coefficients"] + ((one["tails"] or {}).get("robust") or []):
        for key in ("unit", "from", "to"): del row[key]
for name, one in zip(sys.argv[2:], documents[1:]):
    for key in members:
        if one[key] != documents[0][key]: print(name, key, one[key], documents[0][key])
    # A server plans from the study's integers, a file from what its reports were debiased with: the
    # same noise, summed in another order.
    if abs(one["devices_needed"] / documents[0]["devices_needed"] - 1) > 1e-9:
        print(name, one["devices_needed"], documents[0]["devices_needed"])
    # A simulation's reports are honest, and it watches none.
    if None not in (one["tails"], documents[-1]["tails"]) and one["tails"] != documents[-1]["tails"]:
        print(name, one["tails"], documents[-1]["tails"])
    for key in promises:
        if one["guarantee"][key] != documents[0]["guarantee"][key]: print(name, key)
TEXT
# shellcheck disable=SC2086
expect "and have the same numbers, to the last digit" "$($python "$work/same.py" $six)" ""
expect "something is identified" "$(grep -c '"identified": true' "$work/file.json" | grep -c '[1-9]')" 1
expect "another level, too, from a server, its directory and a file" \
    "$($python "$work/same.py" "$work/url80.json" "$work/directory80.json" "$work/file80.json")" ""
expect "which is 80%" "$(grep -c '"level": 0.8' "$work/url80.json")" 1

# Forty of fifteen hundred lie, with the largest norm that is accepted: features upwards, response at its
# highest. Server, directory and file see the same of it.
start_server "$work/data"
$python - "$work/reports" "$work/lies" "$url/v1/studies/$one/reports" >"$work/out" 2>&1 <<'TEXT'
import json, math, random, sys, urllib.request
random.seed(8)
data = open(sys.argv[1], "rb").read()
study = json.loads(data.split(b"\n", 2)[1])["study"]
bits, n = study["wire_bits"], study["dimension"]
step = 2 ** study["wire_shift"]
reach = study["keep"] / 32768 * study["clip"] / step + math.sqrt(n)
t = 9 * math.log(10)
norm = reach + 2 ** study["noise_log2"] / step * math.sqrt(n + 2 * math.sqrt(n * t) + 2 * t)
first = data.index(b"\n", data.index(b"\n", data.index(b"\n") + 1) + 1) + 1
length = data[first] + 256 * data[first + 1]
honest = data[first + 2:first + 2 + length]
packed = (n * bits + 7) // 8
value = int(norm / math.sqrt(n)) - 1
code = 0
for _ in range(n): code = code << bits | value
coordinates = (code << (8 * packed - n * bits)).to_bytes(packed, "big")
lies = [honest[:23] + random.randbytes(16) + honest[39:length - packed] + coordinates for _ in range(40)]
open(sys.argv[2], "wb").write(data + b"".join(bytes([length % 256, length // 256]) + lie for lie in lies))
body = b"".join(bytes([0x58, length]) + lie for lie in lies)
request = urllib.request.Request(sys.argv[3], body, {"Content-Type": "application/cbor-seq"})
answer = json.load(urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request))
assert answer["accepted"] == 40, answer
TEXT
expect "forty lies are taken" "$?$(cat "$work/out")" 0
curl -s "$url/v1/studies/$one/estimate" >"$work/lied_server.json"
curl -s "$url/metrics" >"$work/metrics"
stop_server
$tremolo fit "$work/data" --json >"$work/lied_directory.json"
$tremolo fit "$work/lies" --json >"$work/lied_file.json"
$tremolo fit "$work/lies" >"$work/lied.txt"
expect "lies or not, the same numbers to the last digit" \
    "$($python "$work/same.py" "$work/lied_server.json" "$work/lied_directory.json" "$work/lied_file.json")" ""
expect "in documents as described" "$(valid docs/estimate.schema.json "$work/lied_server.json" "$work/lied_file.json")" ""
expect "they are seen, set aside, and the rest has the same coefficients as before" "$($python - "$work" <<'TEXT' 2>&1
import json, sys
before, after = (json.load(open(f"{sys.argv[1]}/{name}.json")) for name in ("server", "lied_server"))
tails = after["tails"]
assert not before["tails"]["alarm"] and before["tails"]["robust"] is None
assert tails["alarm"] and tails["set_aside"] == 40 and tails["norms"][tails["worst"]]["seen"] == 40, tails
for old, lied, robust in zip(before["coefficients"], after["coefficients"], tails["robust"]):
    assert abs(robust["estimate"] - old["estimate"]) <= .01 * old["standard_error"], (old, robust)
    # Lies move every slope by many of the standard errors that honest reports had.
    assert lied["name"] == "(intercept)" or abs(lied["estimate"] - old["estimate"]) > 5 * old["standard_error"], (old, lied)
TEXT
)" ""
expect_match "people read it" "$work/lied.txt" '^Tail of reports. norms: at most [0-9.e-]+ expected beyond [0-9.]+, 40 seen'
expect_match "with the table without them" "$work/lied.txt" '^Coefficients without the 40 reports'
expect_match "operators, too" "$work/metrics" '^tremolo_study_reports_suspicious\{study="[^"]+"\} 1$'
expect_match "by the number" "$work/metrics" '^tremolo_study_reports_beyond\{study="[^"]+"\} 40$'
expect_match "with the number that is expected" "$work/metrics" '^tremolo_study_reports_beyond_expected\{study="[^"]+"\} 1$'

table() { sed -n '/^What one more unit/,/^---/p' "$1"; }
expect "a server's table is printed as a file's" "$(table "$work/url.txt")" "$(table "$work/file.txt")"

# Other estimates have the same shape: rounds, raw data, nothing identified, no reports.
for method in "iterative --rounds 3" "pooled --rounds 3" "one-shot" "ols"; do
    # shellcheck disable=SC2086
    $tremolo simulate "$work/people.csv" --response score --epsilon 2 --seed 1 --method $method --json >"$work/other.json"
    expect "simulate --method $method is as described" "$?$(valid docs/estimate.schema.json "$work/other.json")" 0
done
$tremolo simulate "$work/people.csv" --response score --epsilon 0.05 --seed 1 --json \
    --repeats 2 --save "$work/hidden.json" >/dev/null
expect "so is a saved one with figures" "$?$(valid docs/estimate.schema.json "$work/hidden.json")" 0
expect "which has no number where nothing is identified" "$($python - "$work/hidden.json" <<'TEXT'
import json, sys
document = json.load(open(sys.argv[1]))
assert document["r2"] is document["r2_low"] is None
assert all(row["estimate"] is row["p"] is None and row["score"] for row in document["coefficients"] if not row["identified"])
assert not all(row["identified"] for row in document["coefficients"])
TEXT
)" ""

# What the reports say of R^2 against what raw rows that no device held say of it. It takes
# more people: the square of a protected response is told with twice the noise.
{ cat "$work/people.csv" && for _ in 1 2 3; do tail -n +2 "$work/people.csv"; done; } >"$work/more.csv"
for seed in 1 2 3 4 5; do
    $tremolo simulate "$work/more.csv" --response score --epsilon 8 --test-share 0.2 --seed $seed --json
done | $python -c '
import json, sys
text, at, decoder, held = sys.stdin.read(), 0, json.JSONDecoder(), 0
while at < len(text):
    one, at = decoder.raw_decode(text, at)
    at += 1
    held += one["r2_low"] <= one["simulation"]["r2"]["mean"] <= one["r2_high"]
print(held)' >"$work/out"
expect_match "its interval holds that, nineteen times in twenty" "$work/out" '^[45]$'

# Study files.
$tremolo study init >"$work/starter.json"
expect "the starter and a written study are as described" \
    "$(valid docs/study.schema.json "$work/starter.json" "$work/one.json")" ""
sed '1s/{/{"$schema": "study.schema.json", /' "$work/one.json" >"$work/named.json"
expect "a schema may be named in it" "$(valid docs/study.schema.json "$work/named.json")" ""
expect "and is no part of the id" "$($tremolo study id "$work/named.json")" "$($tremolo study id "$work/one.json")"
sed 's/"epsilon"/"epsylon"/' "$work/one.json" >"$work/slip.json"
expect "a slip is found by an editor" "$(valid docs/study.schema.json "$work/slip.json" | grep -c epsylon)" 1
