# Studies of ballots, all protected and features only: the server's estimate and its stored
# sums are, to the bit, those of the acknowledged reports, also when it is killed in between; a
# directory and a file of the same reports say the same.
. tests/common/tap.sh
. tests/common/server.sh
forge=${BUILD:-build}/bin/tests/e2e/forge
python=python3
$python -c 'import jsonschema' 2>/dev/null || python=/usr/bin/python3

# ballots PROTECTS
ballots() {
    study_text '{"kind": "one-shot", "release": "ballot"}' |
        sed "s/\"epsilon\": 8, \"delta\": 1e-5/\"epsilon\": 4/; s/\"protects\": \"features\"/\"protects\": \"$1\"/"
}

for protects in all features; do
    ballots $protects >"$work/study.json"
    start_server "$work/$protects" --quiet
    port=${url##*:}
    study=$(create_study "$work/study.json")
    $swarm --url "$url/v1/studies/$study" --devices 3000 --threads 2 --patience 60 --batch 20 --pause 5 \
        --data "$work/$protects" >"$work/swarm" 2>&1 &
    swarm_pid=$!
    for wait in 0.2 0.3; do
        sleep $wait
        kill -9 "$server_pid"
        wait "$server_pid" 2>/dev/null
        start_server "$work/$protects" --quiet
    done
    wait_for grep -q '^sent' "$work/swarm"
    curl -s "$url/v1/studies/$study/estimate" >"$work/server.json"
    stop_server
    wait $swarm_pid
    expect "$protects: estimate and sums are those of the reports" "$?" 0
    sed 's/^/# /' "$work/swarm"
    $tremolo fit "$work/$protects" --json >"$work/directory.json"
    expect "$protects: a directory says the same" \
        "$(document "$work/directory.json" | md5sum)" "$(document "$work/server.json" | md5sum)"
    expect "$protects: in a document as described" "$($python - "$work/server.json" <<'TEXT'
import json, sys
import jsonschema
document = json.load(open(sys.argv[1]))
jsonschema.validate(document, json.load(open("docs/estimate.schema.json")))
assert document["release"] == "ballot" and document["reports"] == 3000
assert document["guarantee"]["delta"] == 0 and 3.9 < document["guarantee"]["epsilon"] <= 4
assert .88 < document["guarantee"]["attacker_right"] < .9
TEXT
)" ""
    port=
done

# One file of forged reports, and the same sent to a server. The study is the last one.
start_server "$work/few" --quiet
study=$(create_study "$work/study.json")
curl -s "$url/v1/studies/$study" >"$work/published.json"
for i in $(seq 40); do
    $forge "$work/published.json" "$work/report.$i" || break
    curl -s -o /dev/null --data-binary @"$work/report.$i" -H 'Content-Type: application/cbor' \
        "$url/v1/studies/$study/reports"
done
expect "one more ballot is accepted" "$($forge "$work/published.json" "$work/report.41" &&
    http_status --data-binary @"$work/report.41" -H 'Content-Type: application/cbor' "$url/v1/studies/$study/reports")" 200
expect "the same again, too" \
    "$(http_status --data-binary @"$work/report.41" -H 'Content-Type: application/cbor' "$url/v1/studies/$study/reports")" 200
head -c 40 "$work/report.41" >"$work/short"
expect "a shorter one is not" \
    "$(http_status --data-binary @"$work/short" -H 'Content-Type: application/cbor' "$url/v1/studies/$study/reports")" 400
curl -s "$url/v1/studies/$study/estimate" >"$work/server.json"
stop_server
$python - "$work" >"$work/reports" <<'TEXT'
import base64, json, sys
work, out = sys.argv[1], sys.stdout.buffer
study = json.load(open(work + "/published.json"))
features, response = study["study"]["features"], study["study"]["response"]
names = "unit clip distance amplitude frequency keep vectors noise_log2 wire_shift wire_bits response_private".split()
integers = dict.fromkeys(names, 0) | study["study"]["mechanism"]
integers |= {"id": base64.urlsafe_b64decode(study["id"] + "=").hex(), "dimension": 3, "rounds": 1, "release": "ballot"}
middle = lambda one: (one["low"] + one["high"]) / 2
half = lambda one: (one["high"] - one["low"]) / 2
header = {"study": integers, "step": 0, "radius": 0, "feature_bound": 1, "response_bound": 1, "distance": 0, "delta": 0,
          "centre": [middle(one) for one in features], "scale": [half(one) for one in features],
          "response_centre": middle(response), "response_scale": half(response),
          "names": [one["name"] for one in features], "response": response["name"], "unit": "",
          "range": [2 * half(one) for one in features + [response]],
          "inputs": {"columns": [{"name": one["name"], "kind": "numeric"} for one in features], "terms": None}}
out.write(b"tremolo reports 2\n" + json.dumps(header).encode() + b"\n\0\0" + b'{"round": 0, "vectors": []}\n')
for number in range(1, 42):
    report = open(f"{work}/report.{number}", "rb").read()
    out.write(bytes([len(report) % 256, len(report) // 256]) + report)
TEXT
$tremolo fit "$work/reports" --json >"$work/file.json"
expect "a file of ballots is fitted" $? 0
expect "with the server's numbers, to the last digit" "$($python - "$work" <<'TEXT'
import json, sys
file, server = (json.load(open(f"{sys.argv[1]}/{name}.json")) for name in ("file", "server"))
for one in (file, server):  # units of features are known to a study alone
    for row in one["coefficients"]:
        for key in ("unit", "from", "to"): del row[key]
for key in ("study", "release", "response", "rounds", "reports", "devices", "level", "coefficients", "inference",
            "not_identified", "remark", "prediction", "r2", "r2_low", "r2_high", "diagnostics", "tails"):
    if file[key] != server[key]: print(key, file[key], server[key])
for key in ("epsilon", "delta", "mu", "rho", "neighbours", "protects", "releases", "attacker_right", "tradeoff"):
    if file["guarantee"][key] != server["guarantee"][key]: print(key, file["guarantee"][key], server["guarantee"][key])
TEXT
)" ""
$tremolo fit "$work/reports" --method one-shot >"$work/out" 2>&1
expect "one-shot does not predict from ballots" $? 2
$tremolo fit "$work/reports" --method unbiased >"$work/out" 2>&1
expect "unbiased does" $? 0
