# The participant's page in a real browser, against a real server:
# tests/web/participant.mjs says what is looked at.
. tests/common/tap.sh
. tests/common/server.sh
. tests/common/web.sh
skip_unless_browser "the participant's page in a browser"

# about EPSILON [LIMITS]: a study with every kind of value and names full of markup.
about() {
    cat <<TEXT
{"tremolo": 1, "title": "Sleep & <b>pulse</b>", "purpose": "Does <i>sleep</i> predict the pulse?",
 "features": [{"name": "age", "unit": "years", "low": 18, "high": 90},
              {"name": "sleep <img src=x onerror=alert(1)>", "unit": "h", "low": 3, "high": 11},
              {"name": "smoker", "kind": "yes-no"},
              {"name": "watch", "kind": "category", "levels": ["wrist", "</script><b>ring", "phone"]}],
 "response": {"name": "heart rate", "unit": "bpm", "low": 40, "high": 110},
 "privacy": {"epsilon": $1, "delta": 1e-5, "neighbours": "any", "protects": "$3"},
 "protocol": $4, "limits": $2}
TEXT
}
once='{"kind": "one-shot"}'
start_server "$work/data"
make_study() {
    about "$@" >"$work/one.json"
    create_study "$work/one.json"
}
# The default guarantee: a ballot, any two people, all of the sample.
make_ballot() {
    about 2 '{}' all '{"release": "ballot"}' | sed 's/"delta": 1e-5, //' >"$work/one.json"
    create_study "$work/one.json"
}
cat >"$work/setting.json" <<TEXT
{"url": "$url", "token": "$work/data/operator.token",
 "ballot": "$(make_ballot)",
 "open": "$(make_study 2 '{}' features "$once")",
 "damaged": "$(make_study 1.5 '{}' all "$once")",
 "over": "$(make_study 2.5 '{}' features "$once")",
 "keys": "$(make_study 2 '{"enrolment": "keys"}' features "$once")",
 "closed": "$(make_study 2 '{"opens": "2020-01-01", "closes": "2020-02-01"}' features "$once")",
 "rounds": "$(make_study 1 '{}' all '{"kind": "iterative", "rounds": 3, "vectors": 1, "alpha": 0.25, "lambda": 0.4, "omega": 2}')"}
TEXT
for name in ballot open damaged over keys closed rounds; do
    curl -s "$url/v1/studies/$(sed "s/.*\"$name\": \"\([^\"]*\)\".*/\1/;t;d" "$work/setting.json")" >"$work/$name.published"
done
# The default policy's budget, as in a real device's ledger.
echo '{"age": 44, "sleep <img src=x onerror=alert(1)>": 7, "smoker": "no", "watch": "phone", "heart rate": 61}' >"$work/sample.json"
open=$(sed 's/.*"open": "\([^"]*\)".*/\1/;t;d' "$work/setting.json")
$tremolo report --study "$url/v1/studies/$open" --state "$work/device" --sample "$work/sample.json" \
    --enrol --trust-new >"$work/out" 2>&1
expect "a program takes part in the same study" $? 0
python3 - "$work" >"$work/numbers.json" <<'TEXT'
import glob, hashlib, json, struct, sys
work = sys.argv[1]
with open(f"{work}/device/ledger", "rb") as file:
    file.seek(4096 + 12)  # the budget in slot A of the first entry (struct tremolo_slot)
    budget = struct.unpack("=I", file.read(4))[0]
hashes = [{"length": n, "hash": hashlib.blake2b(bytes(7 * i % 256 for i in range(n)), digest_size=32).hexdigest()}
          for n in (0, 1, 127, 128, 129, 255, 256, 1000)]
print(json.dumps({"published": sorted(glob.glob(f"{work}/*.published")), "budget": budget, "hashes": hashes}))
TEXT
run_web tests/web/study_id.mjs "$work/numbers.json"
run_web tests/web/participant.mjs "$work/setting.json"
