# run.sh -- `make run-cluster`: a study on three NATS nodes, two gateways and two
# folders, of which one each is killed in the middle. It ends with the
# estimate equal to the bit to a single server's over the same reports.
. tests/common/tap.sh
. tests/cluster/cluster.sh
devices=${DEVICES:-20000}

say() { printf '%s  %s\n' "$(date +%H:%M:%S)" "$1"; }
fail() {
    say "$1"
    for file in "$work"/gateway.*.log "$work"/folder.*.log "$work"/swarm; do
        tail -n 5 "$file" | sed "s|^|  ${file##*/}: |" >&2
    done
    exit 1
}

say "three NATS nodes with TLS, JetStream and the users of examples/nats"
cluster_start || exit 1
gateway_start a --quiet && gateway_start b --quiet
gateway_wait a && gateway_wait b || fail "a gateway did not start"
folder_start a && folder_start b
say "two gateways and two folders run"

study_text "run-cluster" >"$work/study.json"
id=$(create_study "$(gateway_url a)" "$work/study.json")
[ -n "$id" ] || fail "the study was not created"
say "study $id, $shards shards, three copies of each report"

# The single server on SQLite that gets the same bytes at the end.
mkdir -p "$work/single"
cp "$work/keys/operator.token" "$work/single/"
$tremolo serve --data "$work/single" --listen 127.0.0.1:0 --quiet >"$work/single.out" 2>"$work/single.log" &
note_pid single $!
wait_until 30 grep -q '^server key' "$work/single.out" || fail "the single server did not start"
single=$(sed -n 's/^listening on //p' "$work/single.out")
[ "$(create_study "$single" "$work/study.json")" = "$id" ] || fail "the single server has another study"

start=$(now_ms)
$swarm --url "$(gateway_url a)/v1/studies/$id" --url "$(gateway_url b)/v1/studies/$id" \
    --twin "$single/v1/studies/$id" --devices "$devices" --threads 16 --patience 60 --pause "${PAUSE:-8}" \
    >"$work/swarm" 2>&1 &
note_pid swarm $!
swarm_pid=$!
say "$devices devices report over HTTP, each until it is acknowledged"

reports_reach() { [ "$(reports_in "$(gateway_url "$1")" "$id")" -ge "$2" ]; }
wait_until 60 reports_reach a $((devices / 5)) || fail "the first fifth did not arrive"
victim=$(cluster_leader)
cluster_kill "$victim"
end_process gateway.a KILL
end_process folder.a KILL
killed=$(now_ms)
say "after $(reports_in "$(gateway_url b)" "$id") reports: kill -9 of NATS node $victim (the leader), gateway a, folder a"
before=$(reports_in "$(gateway_url b)" "$id")
wait_until 60 reports_reach b $((${before:-0} + devices / 20)) || fail "the rest of the cluster did not go on"
say "the rest goes on: $(reports_in "$(gateway_url b)" "$id") reports counted $(($(now_ms) - killed)) ms later"
cluster_launch "$victim"
gateway_start a --quiet
folder_start a
gateway_wait a || fail "the gateway did not come back"
say "node $victim, gateway a and folder a are back"

wait "$swarm_pid" || fail "the swarm: $(tail -n 1 "$work/swarm")"
# The swarm's line is 'sent N repeated N retries N seconds S lag S silence S'.
say "$(awk -v ms=$(($(now_ms) - start)) '$1 == "sent" {
    printf "%d reports acknowledged and each counted once, %.1f s after the first was sent\n", $2 + $4, ms / 1000
    printf "          %d requests got no answer, or \"later\", and were sent again; what had arrived is \"repeated\" below\n", $6
    printf "          %.2f s from the last acknowledgement to an estimate with all of them; ", $10
    printf "longest time without any acknowledgement: %.2f s", $12 }' "$work/swarm")"
wait_until 60 cluster_is_well || fail "the cluster is not well again"
a=$(curl -s "$(gateway_url a)/v1/studies/$id/estimate" | sha256sum)
b=$(curl -s "$(gateway_url b)/v1/studies/$id/estimate" | sha256sum)
c=$(curl -s "$single/v1/studies/$id/estimate" | sha256sum)
[ "$a" = "$b" ] && [ "$a" = "$c" ] || fail "the estimates differ"
say "both gateways and the single server give the same estimate, byte for byte (sha256 $(echo "$a" | cut -c1-16)...)"
$tremolo status --store "$store" $(store_user reader)
$tremolo status "$(gateway_url b)/v1/studies/$id" | sed -n '1,8p'
