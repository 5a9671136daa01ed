# The pages in Firefox: tests/web/firefox.mjs says what is looked at.
. tests/common/tap.sh
. tests/common/server.sh
. tests/common/web.sh
for program in firefox-esr node; do
    command -v $program >/dev/null || {
        echo "ok 1 - the pages in Firefox # SKIP $program is not installed ('tools/setup test' brings it)"
        exit 0
    }
done
mkdir -p "$screenshots"

study_text '{"kind": "one-shot"}' | sed 's/"epsilon": 8/"epsilon": 40/' >"$work/plain.json"
study_text '{"release": "ballot"}' | sed 's/"epsilon": 8, "delta": 1e-5/"epsilon": 2/; s/"protects": "features"/"protects": "all"/' >"$work/ballot.json"
start_server "$work/data"
learnt=$(create_study "$work/plain.json")
$swarm --url "$url/v1/studies/$learnt" --devices 10000 --batch 100 >"$work/out" 2>&1
expect "devices report" $? 0
# A chart needs an estimate from before the last one, whatever the machine's speed: one more reports
# when there is one, and the last has counted it.
is_remembered() { curl -s "$url/v1/studies/$learnt/history" | grep -q '"convergence":\[{'; }
expect "an estimate is remembered" "$(wait_for is_remembered && echo yes)" yes
curl -s "$url/v1/studies/$learnt" >"$work/published"
"${BUILD:-build}/bin/tests/e2e/forge" "$work/published" "$work/report"
expect "one more device reports" "$(http_status -X POST -H 'Content-Type: application/cbor' \
    --data-binary @"$work/report" "$url/v1/studies/$learnt/reports")" 200
is_counted() { curl -s "$url/v1/studies/$learnt/estimate" | grep -q '"reports":10001,'; }
expect "and is counted" "$(wait_for is_counted && echo yes)" yes
cat >"$work/setting.json" <<TEXT
{"url": "$url", "learnt": "$learnt", "ballot": "$(create_study "$work/ballot.json")"}
TEXT
run_web tests/web/firefox.mjs "$work/setting.json"
