# tremolo status --watch: plain text, printed again when it has changed, until a signal ends it.
. tests/common/tap.sh
. tests/common/server.sh

study_text '{"kind": "one-shot"}' | sed 's/"epsilon": 8/"epsilon": 60/' >"$work/one.json"
start_server "$work/data"
study=$url/v1/studies/$(create_study "$work/one.json")
timeout 120 $tremolo status --watch "$study" >"$work/out" 2>"$work/err" &
watching=$!
wait_for grep -q '^no reports yet' "$work/out"
expect "the status is printed" $? 0
$swarm --url "$study" --devices 1500 --threads 2 --batch 50 >/dev/null 2>&1
wait_for grep -q ': 1500 reports' "$work/out"
expect "and again when reports have come" $? 0
expect_match "with the time before it" "$work/out" '^---- [0-9-]*T[0-9:]*Z$'
grep -q "$(printf '\033')" "$work/out"
expect "without a control character" $? 1
count=$(grep -c '^----' "$work/out")
sleep 5
expect "not when nothing has changed" "$(grep -c '^----' "$work/out")" "$count"
stop_server
wait_for test -s "$work/err"
expect_match "a server that is away is a message" "$work/err" '^tremolo status: http'
kill -0 $watching
expect "and is asked again" $? 0
kill -TERM $watching
wait $watching
expect "a signal ends it" $? 143
$tremolo status --watch "$study" >"$work/out" 2>&1
expect "a server that never answered is a failure" $? 1
$tremolo status --watch --json "$study" >"$work/out" 2>&1
expect "--watch with --json is wrong usage" $? 2
