# A study moves from a data directory into a clustered store and back, and every
# place gives the same estimate. Needs nats-server; skipped with a reason without.
. tests/common/tap.sh
. tests/common/server.sh
broker=$(PATH=$PATH:/usr/sbin command -v nats-server)
if $tremolo status --store nats://127.0.0.1:1 2>&1 | grep -q 'has no NATS'; then
    echo "ok 1 - moving a study # SKIP this build has no NATS"
    exit 0
fi
if [ -z "$broker" ]; then
    echo "ok 1 - moving a study # SKIP no nats-server on this machine"
    exit 0
fi
broker_pid= folder_pid=
trap 'stop_server >/dev/null 2>&1; for p in $folder_pid $broker_pid; do kill "$p"; done 2>/dev/null; wait; rm -rf "$work"' EXIT

# start_broker: a port that was free, taken by the broker itself.
start_broker() {
    $broker -a 127.0.0.1 -p -1 -js -sd "$work/js" --ports_file_dir "$work" >"$work/broker.log" 2>&1 &
    broker_pid=$!
    tries=0
    until ls "$work"/*.ports >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ $tries -lt 3000 ] || return 1
        sleep 0.02
    done
    sleep 0.2
    store=$(sed -n 's/.*"nats": *\[ *"\([^"]*\)".*/\1/p' "$work"/*.ports)
    [ -n "$store" ] || store=$(tr -d '\n' <"$(ls "$work"/*.ports)" | sed 's/.*"nats": *\[ *"\([^"]*\)".*/\1/')
}
estimate() { curl -s "$url/v1/studies/$id/estimate"; }

# The study is made and grows on one machine.
study_text '{"kind": "iterative", "rounds": 3, "radius": 2}' >"$work/study.json"
start_server "$work/one" --quiet || exit 1
id=$(create_study "$work/study.json")
$swarm --url "$url/v1/studies/$id" --devices 120 --token-file "$work/one/operator.token" >"$work/out" 2>&1
expect "three rounds on one machine" $? 0
estimate >"$work/before"
$tremolo study move "$id" "sqlite:$work/typo" nats://127.0.0.1:1 >"$work/out" 2>"$work/err"
expect "a directory that is none is refused, and not made" "$([ $? != 0 ] && ls -d "$work/typo" 2>&1 | grep -c 'No such')" 1
expect_match "with a sentence" "$work/err" "this is no server.s data directory"
$tremolo study move "$id" "sqlite:$work/one" nats://127.0.0.1:1 >"$work/out" 2>"$work/err"
expect "a directory that a server uses is refused" $? 1
stop_server

# Into a store.
$tremolo study move "$id" "sqlite:$work/one" nats://127.0.0.1:1 >"$work/out" 2>"$work/err"
expect "a store that is not there is a failure" $? 1
expect_match "with one sentence" "$work/err" '^tremolo study: nats://127.0.0.1:1: no server answers there$'
start_broker || exit 1
$tremolo study move "$id" "sqlite:$work/one" "$store" --shards 5 >"$work/out" 2>"$work/err"
expect "into a store" $? 0
expect_match "all of it" "$work/out" '^360 reports moved; the sums at both places are equal$'
$tremolo study move "$id" "sqlite:$work/one" "$store" >"$work/out" 2>"$work/err"
expect "not twice" $? 1
cp -r "$work/one" "$work/keys" && rm "$work"/keys/tremolo.db*
start_server "$work/keys" --quiet --store "$store" || exit 1
estimate >"$work/there"
expect "a gateway gives the same estimate" "$(cmp "$work/before" "$work/there" && echo same)" same

# It goes on there: another study, with a folder.
$tremolo fold --store "$store" --name worker --metrics 127.0.0.1:0 >"$work/fold.out" 2>/dev/null &
folder_pid=$!
sed 's/"steps, sleep/"more steps, sleep/' "$work/study.json" >"$work/second.json"
second=$(create_study "$work/second.json")
$swarm --url "$url/v1/studies/$second" --devices 50 --token-file "$work/keys/operator.token" >"$work/out" 2>&1
code=$?
expect "another study of three rounds through gateway and folder" $code 0
[ $code = 0 ] || sed "s/^/# /" "$work/out"
$tremolo status --store "$store" >"$work/out"
expect "status of the store" $? 0
expect_match "names the owner" "$work/out" '^ +0  worker +yes '
expect_match "and the copies" "$work/out" '1 of 1 replicas up to date'
$tremolo status --store "$store" --json >"$work/out"
expect_match "also as JSON" "$work/out" '"counted":[0-9]+.*"alive":true'
curl -s "$(sed -n 's/^metrics on //p' "$work/fold.out")" >"$work/out"
expect_match "a folder has metrics" "$work/out" '^tremolo_fold_shards [1-9]'
id=$second
estimate >"$work/before"
stop_server
expect "the gateway ends in peace" $? 0

# And back.
$tremolo study move "$second" "$store" "sqlite:$work/back" --json >"$work/out" 2>"$work/err"
expect "out of a store" $? 0
expect_match "all of it" "$work/out" '"reports": 150'
$tremolo study move AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA "$store" "sqlite:$work/back" >"$work/out" 2>"$work/err"
expect "a study that is not there" $? 1
expect_match "is said not to be" "$work/err" '^tremolo study: there is no such study in that store$'
$tremolo serve --data "$work/back" --listen 127.0.0.1:0 >"$work/out" 2>"$work/err"
expect "but not without the keys it was signed with" $? 1
cp "$work/keys/signing.seed" "$work/keys/device.secret" "$work/back/"
start_server "$work/back" --quiet || exit 1
estimate >"$work/there"
expect "one machine gives the same estimate again" "$(cmp "$work/before" "$work/there" && echo same)" same
stop_server
kill "$folder_pid"
wait "$folder_pid"
expect "a folder ends in peace" $? 0
folder_pid=

# Words.
$tremolo study move "$second" here there >"$work/out" 2>"$work/err"
expect "places have a form" $? 2
$tremolo fold >"$work/out" 2>"$work/err"
expect "a folder needs a store" $? 2
$tremolo fold --store http://127.0.0.1 >"$work/out" 2>"$work/err"
expect "of the right kind" $? 2
