# What a study's limits and clocks say: devices, dates, rounds that end by
# count and by time, and a server that is stopped under load.
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
cp "$work/report" "$work/flood"
expect "there is no third" "$(submit "$two" 0)" 410
curl -s "$two/round" >"$work/round"
expect_match "and a device learns so before it pays" "$work/round" '"state":"done"'

# A flood filled the study: what came until now is taken out, and there is room again.
sleep 1.1
$tremolo study discard "$two" 2020-01-01 "$(at +3600)" --token-file "$work/data/operator.token" >"$work/out" 2>&1
expect "a flood is discarded" $? 0
expect_match "how many are said" "$work/out" '^2 reports that came from 2020-01-01T00:00:00Z to .* no longer count; 0 do$'
expect "the flood does not come again" "$(http_status -X POST -H 'Content-Type: application/cbor' --data-binary @"$work/flood" "$two/reports")" 200
expect "but a device does" "$(submit "$two" 0)" 200
expect "and another one" "$(submit "$two" 0)" 200
expect "and no third" "$(submit "$two" 0)" 410
$tremolo study discard "$two" 2020-01-02 2020-01-01 --token-file "$work/data/operator.token" >"$work/out" 2>&1
expect "a span that ends before it begins is a usage error" $? 2
expect "without the token nothing is discarded" "$(http_status -X POST "$two/discard?from=2020-01-01&to=2030-01-01")" 401

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

# One source's quota: a report a minute, so that a second one soon after is over it.
stop_server
start_server "$work/data" --quota 1 --source-header X-Forwarded-For
study_text '{"kind": "one-shot"}' '{"devices": 50}' >"$work/open.json"
open=$url/v1/studies/$(create_study "$work/open.json")
# from SOURCE [CURL-ARGUMENTS]: the status of a fresh report, or of what is given.
from() {
    source=$1
    shift
    curl -s "$open" >"$work/published"
    $forge "$work/published" "$work/report" --round 0
    [ $# -gt 0 ] || set -- -H 'Content-Type: application/cbor' --data-binary @"$work/report"
    http_status -D "$work/head" -X POST -H "X-Forwarded-For: $source" "$@" "$open/reports"
}
expect "a source's first report" "$(from 192.0.2.1)" 200
expect "its second is one too many" "$(from 192.0.2.1)" 429
expect_match "and hears when to come again" "$work/head" '^Retry-After: [1-9]'
expect "the last address counts, which is the proxy's word" "$(from '192.0.2.9, 192.0.2.1')" 429
expect "another source is not affected" "$(from 192.0.2.2)" 200
expect "what a client wrote before is not believed" "$(from 192.0.2.1 -H 'X-Forwarded-For: 192.0.2.3' \
    -H 'Content-Type: application/cbor' --data-binary @"$work/report")" 200
cp "$work/report" "$work/stored"
expect "a report that is stored already" "$(from 192.0.2.6 -H 'Content-Type: application/cbor' \
    --data-binary @"$work/stored")" 200
expect "takes nothing of its source's quota" "$(from 192.0.2.6) $(from 192.0.2.6)" "200 429"
expect "two hosts of an IPv6 network are one source" "$(from 2001:db8::1) $(from 2001:db8::2)" "200 429"
{ for i in 1 2 3; do
    $forge "$work/published" "$work/report" --round 0
    printf '\130'
    wc -c <"$work/report" | awk '{ printf "%c", $1 }' | head -c 1
    cat "$work/report"
done; } >"$work/sequence"
expect "of a sequence the quota is taken" \
    "$(from 192.0.2.4 -H 'Content-Type: application/cbor-seq' --data-binary @"$work/sequence")" 200
expect_match "and the others are named" "$work/body" '"accepted":1.*"index":1,"status":429.*"index":2,"status":429'
curl -s "$url/metrics" >"$work/metrics"
expect_match "metrics count what was over a quota" "$work/metrics" '^tremolo_reports_total\{outcome="over_quota"\} 6$'
stop_server
$tremolo serve --data "$work/gateway" --store nats://127.0.0.1:1 --quota 1 >/dev/null 2>"$work/out"
expect "a gateway cannot tell sources without a header" $? 1
expect_match "and says so" "$work/out" 'balancer'
start_server "$work/data"

study_text "{$rounds, \"close\": {\"reports\": 3}}" >"$work/count.json"
count=$url/v1/studies/$(create_study "$work/count.json")
for i in 1 2 3; do submit "$count" 0 >/dev/null; done
# round_is STUDY NUMBER: asks, too.
round_is() { curl -s "$1/round" >"$work/round" && grep -q "\"round\":$2," "$work/round"; }
wait_for round_is "$count" 1
expect_match "three reports end a round that ends by count" "$work/round" '"round":1,'
expect "reports of a closed study are refused" "$(submit "$count" 0)" 410

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
expect_match "but not while it has no reports" "$work/round" '"round":1,.*"state":"open"'

# More bodies than the server has memory for, all of which stall; no time limit would end them.
stop_server
start_server "$work/data" --timeout 600
time=$url/v1/studies/${time##*/}
cat >"$work/stall.py" <<'END'
import socket, sys
head = ("POST %s/reports HTTP/1.1\r\nHost: a\r\nContent-Type: application/cbor-seq\r\n"
        "Content-Length: 4000000\r\n\r\n" % sys.argv[2]).encode()
lines = [socket.create_connection(("127.0.0.1", int(sys.argv[1])), 20) for _ in range(40)]
for line in lines:
    try:
        line.sendall(head + bytes(3900000))
    except OSError:
        pass  # it lost already
print("stalled", flush=True)
sys.stdin.read()
END
mkfifo "$work/until"
python3 "$work/stall.py" "${url##*:}" "${time#"$url"}" <"$work/until" >"$work/stalled" &
stall_pid=$!
exec 9>"$work/until"
wait_for grep -q stalled "$work/stalled"
head -c 3000000 /dev/zero >"$work/batch"
batch_is_read() {
    [ "$(http_status -X POST -H 'Content-Type: application/cbor-seq' --data-binary @"$work/batch" "$time/reports")" != 503 ]
}
wait_for batch_is_read
expect "bodies that stall lose their memory to one that does not" $? 0
exec 9>&-
wait $stall_pid

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
