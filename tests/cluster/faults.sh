# Faults at random points while devices report: no acknowledged report is lost
# and none is counted twice. For each kind of fault devices send their
# reports until they are acknowledged, while the fault strikes several times; then
# the estimate must equal, to the bit, the fold of the acknowledged reports, so one
# report lost or doubled cannot pass.
#
#   CLUSTER_RUNS=N   faults of each kind (default 4, nine kinds)
#   FAULTS="..."     which kinds
#   SEED=N           the random points of an earlier run
. tests/common/tap.sh
. tests/cluster/cluster.sh
runs=${CLUSTER_RUNS:-4}
seed=${SEED:-$(date +%s)}
kinds=${FAULTS:-gateway-killed folder-killed node-killed folder-paused node-paused node-cut-off storage-full user-revoked rounds-moved}
echo "# SEED=$seed"

# random LOW HIGH: in steps of a hundredth; the next one of the seed.
random() {
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    drawn=$(awk -v r=$((seed / 65536 % 10000)) -v low="$1" -v high="$2" 'BEGIN { printf "%.2f", low + (high - low) * r / 10000 }')
}
random_of() {
    random 0 $#
    drawn=${drawn%.*}
    shift "$drawn"
    drawn=$1
}

# draw_node: first the leader of the study's log, where it hurts most; then any.
draw_node() {
    random_of $cluster_nodes
    [ $struck -gt 0 ] || drawn=$(as_user operator 1 request "\$JS.API.STREAM.INFO.$log" | sed -n 's/.*"leader":"n\([0-9]\)".*/\1/p')
}

# ---------------------------------------------------------------- kinds
# strike_KIND begins a fault and end_KIND ends it; between them `hold` seconds.

strike_gateway_killed() { random_of a b; victim=$drawn hold=$1; end_process "gateway.$victim" KILL; }
end_gateway_killed() { gateway_start "$victim" --quiet; }

strike_folder_killed() { random_of a b; victim=$drawn hold=$1; end_process "folder.$victim" KILL; }
end_folder_killed() { folder_start "$victim"; }

strike_node_killed() { draw_node; victim=$drawn hold=$1; cluster_kill "$victim"; }
end_node_killed() { cluster_launch "$victim"; wait_until 60 cluster_node_is_well "$victim"; }

# Past the lease: the others take its shards, then it wakes up and must do no harm.
strike_folder_paused() { random_of a b; victim=$drawn hold=$lease_seconds; kill -STOP "$(pid_of "folder.$victim")"; }
end_folder_paused() { kill -CONT "$(pid_of "folder.$victim")"; }

strike_node_paused() { draw_node; victim=$drawn hold=$1; cluster_pause "$victim"; }
end_node_paused() { cluster_resume "$victim"; wait_until 60 cluster_node_is_well "$victim"; }

strike_node_cut_off() {
    draw_node
    victim=$drawn hold=$((3 + ${1%.*}))
    cluster_cut "$victim" || report "node $victim is cut off" no
}
end_node_cut_off() { cluster_heal "$victim"; wait_until 60 cluster_node_is_well "$victim"; }

# limit_log BYTES: the most that the log of the study may hold; -1: no limit.
limit_log() {
    as_user operator 1 request "\$JS.API.STREAM.INFO.$log" >"$work/info"
    as_user operator 1 request "\$JS.API.STREAM.UPDATE.$log" "$(python3 -c '
import json, sys
config = json.load(open(sys.argv[1]))["config"]
config["max_bytes"] = int(sys.argv[2])
print(json.dumps(config))' "$work/info" "$1")" >"$work/update"
    grep -q '"max_bytes":'"$1" "$work/update"
}
# While gateways stand still: nats-server 2.9 deletes the oldest messages of a log that is already larger
# than its new limit, although it is one that refuses when it is full.
strike_storage_full() {
    victim=$log hold=$1
    for which in a b; do kill -STOP "$(pid_of "gateway.$which")"; done
    sleep 0.3
    held=$(as_user operator 1 request "\$JS.API.STREAM.INFO.$log" | sed -n 's/.*"state":{"messages":[0-9]*,"bytes":\([0-9]*\).*/\1/p')
    limit_log $((held + 2000)) || echo "# the limit was not set: $(cat "$work/update")"
    for which in a b; do kill -CONT "$(pid_of "gateway.$which")"; done
}
end_storage_full() { limit_log -1 || echo "# the limit was not lifted: $(cat "$work/update")"; }

# The user is taken out of the file and the nodes read it again: every gateway, or
# folder, is thrown out.
reload_users() {
    for node in $cluster_nodes; do
        sed "$1" examples/nats/users.conf >"$nats/$node/users.conf"
        kill -HUP "$(pid_of "nats.$node")"
    done
}
strike_user_revoked() { random_of gateway folder; victim=$drawn hold=$1; reload_users "s/CN=$victim/CN=no-$victim/"; }
end_user_revoked() { reload_users ''; }

# The process that moves rounds dies while three of them are sent, closed and opened.
strike_rounds_moved() {
    random_of gateway.a gateway.b folder.a folder.b
    victim=$drawn hold=$1
    end_process "$victim" KILL
}
end_rounds_moved() {
    case $victim in
    gateway.*) gateway_start "${victim#*.}" --quiet ;;
    folder.*) folder_start "${victim#*.}" ;;
    esac
}
rounds='{"kind": "iterative", "rounds": 3, "vectors": 1, "alpha": 0.25, "lambda": 0.4, "omega": 2, "radius": 2}'

# describe_loss: where are the reports? What each gateway shows, how far each shard is, what
# every node has of the log, and what a fold of the log from its beginning counts: with
# all of them there it is the fold that is late, else the log has lost them.
describe_loss() {
    for which in a b; do echo "# gateway $which shows $(reports_in "$(gateway_url $which)" "$id")"; done
    $tremolo status --store "$store" $(store_user reader) | sed 's/^/# /'
    for node in $cluster_nodes; do
        echo "# node $node has $(cluster_ask "$node" 'jsz?streams=true' | python3 -c '
import json, sys
accounts = json.load(sys.stdin).get("account_details", [])
print([(s["name"][:16], s["state"]["messages"], s["state"]["last_seq"], s.get("cluster", {}).get("leader"))
       for a in accounts for s in a.get("stream_detail", [])])')"
    done
    $tremolo study move "$id" "$store" "sqlite:$work/$id" $(store_user operator) --json 2>&1 | sed 's/^/# the log folded again: /'
    for file in "$work"/gateway.*.log "$work"/folder.*.log; do
        tail -n 40 "$file" | sed "s|^|# ${file##*/}: |"
    done
}

# ---------------------------------------------------------------- running

cluster_start || exit 1
gateway_start a --quiet && gateway_start b --quiet
gateway_wait a && gateway_wait b || exit 1
folder_start a
folder_start b
lease_seconds=4.5 # leases last 3 s (src/server/cluster/lease.h)

swarm_is_done() { ! kill -0 "$swarm_pid" 2>/dev/null; }
study_ids=0
for kind in $kinds; do
    study_ids=$((study_ids + 1))
    # Devices send until the last fault is over, or through three rounds.
    protocol='{"kind": "one-shot"}' devices=$((runs * 10000)) how="--until $work/enough --least $((runs * 1000))"
    if [ "$kind" = rounds-moved ]; then
        protocol=$rounds devices=$((runs * 1200)) how="--token-file $work/keys/operator.token"
    fi
    rm -f "$work/enough"
    study_text "$kind $study_ids" "$protocol" >"$work/study.json"
    id=$(create_study "$(gateway_url a)" "$work/study.json")
    [ -n "$id" ] || id=$(create_study "$(gateway_url b)" "$work/study.json")
    log=TREMOLO-$(printf '%s' "$id" | tr '_-' '/+' | sed 's/$/=/' | base64 -d 2>/dev/null | od -An -N16 -tx1 | tr -d ' \n')
    $swarm --url "$(gateway_url a)/v1/studies/$id" --url "$(gateway_url b)/v1/studies/$id" --devices $devices \
        --threads 8 --batch 5 --pause 60 --patience 90 $how >"$work/swarm" 2>&1 &
    swarm_pid=$!
    note_pid swarm $swarm_pid
    struck=0 name=$(echo "$kind" | tr - _)
    while [ $struck -lt "$runs" ] && ! swarm_is_done; do
        random 0.2 1.8
        sleep "$drawn"
        random 0.3 3
        "strike_$name" "$drawn"
        echo "# $kind: $victim, $hold s"
        sleep "$hold"
        "end_$name"
        struck=$((struck + 1))
    done
    gateway_wait a || echo "# gateway a did not come back"
    gateway_wait b || echo "# gateway b did not come back"
    expect "$kind: struck $runs times while devices were sending" $struck "$runs"
    : >"$work/enough"
    wait $swarm_pid
    code=$?
    expect "$kind: every acknowledged report counts exactly once" $code 0
    sed 's/^/# /' "$work/swarm"
    [ $code -eq 0 ] || describe_loss
    first=$(as_user operator 1 request "\$JS.API.STREAM.INFO.$log" | sed -n 's/.*"first_seq":\([0-9]*\).*/\1/p')
    # A full log of nats-server 2.9 deletes its oldest message when one comes that fits by its payload
    # and not with its head (docs/how-to/cluster.md): those few have long been counted.
    [ "$kind" = storage-full ] || expect "$kind: the log begins with its first message" "$first" 1
    expect "$kind: the cluster is well afterwards" "$(wait_until 60 cluster_is_well && echo yes)" yes
    for process in gateway.a gateway.b folder.a folder.b; do
        kill -0 "$(pid_of $process)" 2>/dev/null || report "$kind: $process is alive" no
    done
done
