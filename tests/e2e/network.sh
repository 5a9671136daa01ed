# 20,000 devices over HTTP, once and in five rounds: the server's estimate is
# that of the offline fold of the same reports, to the bit.
. tests/common/tap.sh
. tests/common/server.sh

study_text '{"kind": "one-shot"}' >"$work/one.json"
study_text '{"kind": "iterative", "rounds": 5, "vectors": 2, "alpha": 0.25, "lambda": 0.4,
             "omega": 2, "radius": 2, "step": 1}' >"$work/five.json"

start_server "$work/data"
expect "the server starts" $? 0
one=$(create_study "$work/one.json")
five=$(create_study "$work/five.json")
$swarm --url "$url/v1/studies/$one" --devices 20000 --threads 16 >"$work/swarm" 2>&1
expect "one-shot: 20,000 devices, the estimate equal to the bit" $? 0
expect_match "every report was new" "$work/swarm" '^sent 20000 repeated 0 '
sed 's/^/# /' "$work/swarm"
$swarm --url "$url/v1/studies/$five" --devices 20000 --threads 8 --batch 100 --drop 0.05 \
    --token-file "$work/data/operator.token" >"$work/swarm" 2>&1
expect "five rounds of 20,000 devices, one in twenty missing each, equal to the bit" $? 0
sed 's/^/# /' "$work/swarm"
curl -s "$url/v1/studies/$five/round" >"$work/round"
expect_match "the study is done" "$work/round" '"state":"done"'
curl -s "$url/v1/studies/$one/estimate" >"$work/before"
curl -s "$url/v1/studies/$five/estimate" >>"$work/before"
stop_server
expect "SIGTERM ends the server with 0" $? 0
start_server "$work/data"
curl -s "$url/v1/studies/$one/estimate" >"$work/after"
curl -s "$url/v1/studies/$five/estimate" >>"$work/after"
cmp -s "$work/before" "$work/after"
expect "a restart gives the same answers, byte for byte" $? 0
$tremolo status "$url" >"$work/out" 2>&1
expect "tremolo status lists the studies" $? 0
expect_match "with their reports" "$work/out" '20000 reports'
$tremolo status "$url/v1/studies/$one" >"$work/out" 2>&1
expect_match "and prints a study's table" "$work/out" '^steps .*([0-9]|anything)'
$tremolo fit "$url/v1/studies/$one" --json >"$work/out" 2>&1
curl -s "$url/v1/studies/$one/estimate" >"$work/online"
expect "tremolo fit reads a study from its server" "$(document "$work/out")" "$(document "$work/online")"
curl -s "$url/v1/studies/$five/estimate" >"$work/online"
$tremolo fit "$work/data" >"$work/out" 2>&1
expect "a directory that a server uses is refused" $? 1
stop_server
$tremolo fit "$work/data" --study "$five" --json >"$work/offline"
expect "tremolo fit reads a data directory" $? 0
expect "and says what the server said" "$(document "$work/offline")" "$(document "$work/online")"
