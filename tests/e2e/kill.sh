# kill -9 of the server under load, again and again, with devices retrying:
# every acknowledged report is in the fold exactly once. The stored moments
# must equal, byte for byte, the fold of the acknowledged reports, so one
# report lost or doubled cannot pass.
. tests/common/tap.sh
. tests/common/server.sh
kills=${KILLS:-50}

study_text '{"kind": "one-shot"}' >"$work/one.json"
start_server "$work/data" --quiet
port=${url##*:}
one=$(create_study "$work/one.json")
$swarm --url "$url/v1/studies/$one" --devices 200000 --threads 8 --patience 60 --batch 7 --pause 5 \
    --until "$work/enough" --data "$work/data" >"$work/swarm" 2>&1 &
swarm_pid=$!

random_delay() { awk -v seed="$1" 'BEGIN { srand(seed * 7919); printf "%.3f", 0.01 + 0.25 * rand() }'; }
done_kills=0 restarts_failed=0
while [ $done_kills -lt "$kills" ]; do
    sleep "$(random_delay $done_kills)"
    kill -9 "$server_pid"
    wait "$server_pid" 2>/dev/null
    done_kills=$((done_kills + 1))
    grep -q '^sent' "$work/swarm" && break
    start_server "$work/data" --quiet || restarts_failed=$((restarts_failed + 1))
done
kill -0 "$server_pid" 2>/dev/null || start_server "$work/data" --quiet
expect "the server was killed $kills times while devices were sending" $done_kills "$kills"
expect "and came back each time" $restarts_failed 0
: >"$work/enough"
tries=0
until grep -q '^sent' "$work/swarm" || ! kill -0 $swarm_pid 2>/dev/null || [ $tries -gt 900 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
stop_server
wait $swarm_pid
expect "every acknowledged report is in the log and the fold exactly once" $? 0
expect_match "among them such as had to be sent again" "$work/swarm" '^sent .* retries [1-9]'
sed 's/^/# /' "$work/swarm"
