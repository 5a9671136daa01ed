# A real restore, real damage and a directory that goes away, as an operator meets them: what serve,
# check and fit say, and that no round is broadcast twice.
. tests/common/tap.sh
. tests/common/server.sh
forge=${BUILD:-build}/bin/tests/e2e/forge

# send ROUND N: N new reports of a round; the last stays in $work/report. Prints the last status.
send() {
    for _ in $(seq "$2"); do
        $forge "$work/published" "$work/report" --round "$1"
        status=$(send_file "$work/report")
    done
    echo "$status"
}
send_file() {
    http_status -X POST -H 'Content-Type: application/cbor' --data-binary @"$1" "$at/reports"
}
count() { curl -s "$at/estimate" | sed 's/.*"reports":\([0-9]*\).*/\1/'; }
ask_round() { curl -s "$at/round" | tr -d ' '; }
close_round() {
    http_status -X POST -H "Authorization: Bearer $(cat "$data/operator.token")" "$at/round/close"
}
open_server() {
    start_server "$@" || return 1
    at="$url/v1/studies/$id"
}
# refused NAME PATTERN COMMAND...: must end by itself, not well, and with these words.
refused() {
    name=$1 pattern=$2
    shift 2
    timeout 20 "$@" >"$work/out" 2>"$work/err"
    code=$?
    expect "$name is refused" "$([ $code -eq 1 ] || [ $code -eq 2 ] && echo yes)" yes
    cat "$work/out" "$work/err" >"$work/both"
    expect_match "  and says why" "$work/both" "$pattern"
}
serve() { refused "$1" "$2" "$tremolo" serve --data "$3" --listen 127.0.0.1:0; }

study_text '{"kind": "iterative", "rounds": 3, "vectors": 1, "alpha": 0.25, "lambda": 0.4, "omega": 2,
             "radius": 2}' >"$work/study.json"
start_server "$work/data"
id=$(create_study "$work/study.json")
at="$url/v1/studies/$id"
curl -s "$at" >"$work/published"
expect "reports of round 0" "$(send 0 5)" 200
stop_server
cp -r "$work/data" "$work/backup"
"$tremolo" check "$work/backup" >"$work/out"
expect "the backup is sound" $? 0
expect_match "  and check says what is in it" "$work/out" "study $id: 5 reports, round 1 of 3"
expect_match "  and that it is a copy" "$work/out" "the directory is a copy"

open_server "$work/data"
send 0 5 >/dev/null
expect "the round ends" "$(close_round)" 200
ask_round >"$work/round"
expect_match "the next one is broadcast" "$work/round" '"round":1,.*"signature"'
expect "a device reports in it" "$(send 1 1)" 200
cp "$work/report" "$work/old"
stop_server

# The backup comes back.
mv "$work/data" "$work/lost"
cp -r "$work/backup" "$work/data"
serve "a restored directory without a word" "the directory is a copy, and study $id has rounds to come after round 0: start once with --moved" "$work/data"
serve "  and once more" "the directory is a copy" "$work/data"
open_server "$work/data" --accept-loss
expect "with a word it is served" $? 0
expect "  with the reports of the backup" "$(count)" 5
expect "the old report of round 1 belongs to no round" "$([ "$(send_file "$work/old")" -ge 400 ] && count)" 5
expect "round 0 goes on" "$(send 0 3)" 200
expect "  and ends" "$(close_round)" 200
ask_round >"$work/round"
expect_match "  as the last one" "$work/round" '"round":0,.*"state":"done"'
expect "  without another signature" "$(grep -c signature "$work/round")" 0
expect "the old report comes too late, too" "$([ "$(send_file "$work/old")" -ge 400 ] && count)" 8
curl -s "$at/estimate" >"$work/online.json"
stop_server
"$tremolo" fit "$work/data" --json >"$work/offline.json" 2>/dev/null
expect "offline the estimate is the same, to the bit" "$(document "$work/offline.json")" "$(document "$work/online.json")"
open_server "$work/data"
ask_round >"$work/round"
expect_match "after a restart it is done as well" "$work/round" '"state":"done"'
stop_server

# One that was moved, and says so.
cp -r "$work/backup" "$work/moved"
open_server "$work/moved" --moved
send 0 2 >/dev/null
close_round >/dev/null
ask_round >"$work/round"
expect_match "a directory that was moved goes on" "$work/round" '"round":1,.*"state":"open"'

# It goes away while it is served.
mv "$work/moved" "$work/away"
is_unwell() { [ "$(http_status "$url/healthz")" = 503 ]; }
expect "a directory that is gone is noticed" "$(wait_for is_unwell && echo yes)" yes
expect_match "  and named" "$work/body" "was removed or replaced"
expect "  and nothing is taken" "$(send 1 1)" 503
kill "$server_pid"
wait "$server_pid" 2>/dev/null
server_pid=

# A bad byte in a report, and one in the log of a server that was killed.
cp -r "$work/data" "$work/damaged"
byte=$(grep -abo TSG2 "$work/damaged/tremolo.db" | head -1 | cut -d: -f1)
printf '\377' | dd of="$work/damaged/tremolo.db" bs=1 seek=$((byte + 40)) conv=notrunc 2>/dev/null
refused "a damaged report" "segment [0-9]* is damaged or missing" "$tremolo" check "$work/damaged"
expect_match "  and what can be saved is said" "$work/out" "can be saved: [0-9]* reports in [0-9]* of [0-9]* segments"
"$tremolo" check --json "$work/damaged" >"$work/json"
expect "  in JSON as well" "$(python3 -c 'import json,sys; d = json.load(open(sys.argv[1])); print(d["sound"], d["lossy"], len(d["findings"]) > 0, d["saved"]["segments"] + 1 == d["saved"]["of"])' "$work/json")" "False False True True"
serve "  a server on it" "segment [0-9]*, of study" "$work/damaged"
refused "  an estimate from it" "segment [0-9]*, of study" "$tremolo" fit "$work/damaged"

"$tremolo" check "$work/damaged" --rescue "$work/rescued" >"$work/json"
saved=$(sed -n 's/^can be saved: \([0-9]*\) reports.*/\1/p' "$work/json")
expect "what is sound is copied" "$("$tremolo" check "$work/rescued" >"$work/out" && grep -c "^study $id: $saved reports" "$work/out")" 1
refused "  and nothing is overwritten" "is there already" "$tremolo" check "$work/damaged" --rescue "$work/rescued"
cp "$work/data/signing.seed" "$work/data/device.secret" "$work/data/operator.token" "$work/rescued"
open_server "$work/rescued"
expect "  and served with its keys" "$(count)" "$saved"
stop_server

cp -r "$work/backup" "$work/killed"
open_server "$work/killed" --moved
send 0 6 >/dev/null
kill -9 "$server_pid"
wait "$server_pid" 2>/dev/null
server_pid=
printf '\377' | dd of="$work/killed/tremolo.db-wal" bs=1 seek=$((32 + 24 + 7)) conv=notrunc 2>/dev/null
before=$(cat "$work/killed"/* | cksum)
refused "a log with a bad frame" "tremolo.db lacks [0-9]* of the [0-9]* commits that were acknowledged" "$tremolo" check "$work/killed"
expect_match "  and what to do is said" "$work/out" "accept-loss"
serve "  a server on it" "tremolo.db lacks [0-9]* of the .*; see tremolo check, and serve --accept-loss" "$work/killed"
refused "  an estimate from it" "tremolo.db lacks [0-9]* of the" "$tremolo" fit "$work/killed"
expect "  and nothing changed" "$(cat "$work/killed"/* | cksum)" "$before"
open_server "$work/killed" --accept-loss
expect "with a word it is served, without them" "$(count)" 5
refused "a directory in use" "a running server uses" "$tremolo" check "$work/killed"
timeout 20 "$tremolo" check "$work" >"$work/out" 2>"$work/err"
expect "a directory that is no server's" $? 2
