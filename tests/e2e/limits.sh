# What a study's limits and clocks say: devices, dates, rounds that end by
# count and by time, and a server that is told to stop under load.
. tests/common/tap.sh
. tests/common/server.sh
forge=${BUILD:-build}/bin/tests/e2e/forge

# submit URL ROUND: the status of a fresh report.
submit() {
    curl -s "$1" >"$work/published"
    $forge "$work/published" "$work/report" --round "$2"
    http_status -X POST -H 'Content-Type: application/cbor' --data-binary @"$work/report" "$1/reports"
}
at() { date -u -d "$1 seconds" +%Y-%m-%dT%H:%M:%SZ; }
rounds='"vectors": 0, "radius": 2, "kind": "iterative", "rounds": 2'

start_server "$work/data"
study_text '{"kind": "one-shot"}' '{"devices": 2}' >"$work/two.json"
two=$url/v1/studies/$(create_study "$work/two.json")
expect "the first of two devices" "$(submit "$two" 0)" 200
expect "the second" "$(submit "$two" 0)" 200
expect "there is no third" "$(submit "$two" 0)" 410
curl -s "$two/round" >"$work/round"
expect_match "and a device learns so before it pays" "$work/round" '"state":"done"'

study_text '{"kind": "one-shot"}' "{\"opens\": \"$(at +3600)\"}" >"$work/later.json"
later=$url/v1/studies/$(create_study "$work/later.json")
expect "a study that has not begun" "$(submit "$later" 0)" 425
curl -s -D "$work/head" -o /dev/null -X POST -H 'Content-Type: application/cbor' --data-binary @"$work/report" "$later/reports"
expect_match "says when to try again" "$work/head" '^Retry-After: [1-9]'
curl -s "$later/round" >"$work/round"
expect_match "and its round is waiting" "$work/round" '"state":"waiting"'
study_text '{"kind": "one-shot"}' "{\"closes\": \"$(at -3600)\"}" >"$work/past.json"
past=$url/v1/studies/$(create_study "$work/past.json")
expect "a study that is over" "$(submit "$past" 0)" 410
echo '{"steps": 7200, "sleep": 7.5, "pulse": 61, "score": 48}' >"$work/sample"
echo '{"epsilon_per_study": 8, "epsilon_total": 8}' >"$work/policy"
for study in "$two" "$later" "$past"; do
    $tremolo report --study "$study" --state "$work/device" --sample "$work/sample" --enrol --trust-new \
        --policy "$work/policy" >"$work/out" 2>&1
    code=$?
    expect_match "tremolo report says that nothing was charged" "$work/out" 'nothing was charged'
    expect "and fails" $code 1
done
expect "nor was a ledger made" "$(find "$work/device" -name 'ledger*' 2>/dev/null | wc -l)" 0
study_text '{"kind": "one-shot"}' '{"devices": 3}' >"$work/three.json"
three=$url/v1/studies/$(create_study "$work/three.json")
$tremolo report --study "$three" --state "$work/device" --sample "$work/sample" --enrol --trust-new \
    --policy "$work/policy" >"$work/out" 2>&1
expect "all of the budget is left for a study that is open" $? 0

study_text "{$rounds, \"close\": {\"reports\": 3}}" >"$work/count.json"
count=$url/v1/studies/$(create_study "$work/count.json")
for i in 1 2 3; do submit "$count" 0 >/dev/null; done
# round_is STUDY NUMBER: asks, too.
round_is() { curl -s "$1/round" >"$work/round" && grep -q "\"round\":$2," "$work/round"; }
wait_for round_is "$count" 1
expect_match "three reports end a round that ends by count" "$work/round" '"round":1,'
expect "whose latecomers are refused" "$(submit "$count" 0)" 410

study_text "{$rounds, \"close\": {\"seconds\": 4}}" >"$work/time.json"
time=$url/v1/studies/$(create_study "$work/time.json")
submit "$time" 0 >/dev/null
submit "$time" 0 >/dev/null
curl -s "$time/round" >"$work/round"
expect_match "a round that ends by time says when" "$work/round" '"round":0,.*"closes":[0-9]'
wait_for round_is "$time" 1
expect_match "and ends then" "$work/round" '"round":1,'
sleep 5
curl -s "$time/round" >"$work/round"
expect_match "but not while nobody has reported" "$work/round" '"round":1,.*"state":"open"'

# SIGTERM under load, five times: what was acknowledged is there afterwards.
study_text '{"kind": "one-shot"}' >"$work/one.json"
port=${url##*:}
one=$(create_study "$work/one.json")
$swarm --url "$url/v1/studies/$one" --devices 60000 --threads 16 --batch 3 --pause 2 --patience 30 \
    >"$work/swarm" 2>&1 &
swarm_pid=$!
ended=""
for delay in 0.4 0.3 0.5 0.2 0.35; do
    sleep $delay
    stop_server
    ended="$ended $?"
    start_server "$work/data"
done
expect "SIGTERM under load ends with 0" "$ended" " 0 0 0 0 0"
wait $swarm_pid
expect "and nothing acknowledged was lost or doubled" $? 0
expect_match "though devices were interrupted" "$work/swarm" 'retries [1-9]'
sed 's/^/# /' "$work/swarm"
