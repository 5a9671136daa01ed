# cluster.sh -- a NATS cluster of three nodes on loopback, to break on purpose.
#
# Sourced after tests/common/tap.sh. Everything lies in $work, a private
# directory; every process is ended by its id at exit. The nodes run the
# configuration of examples/nats with machine.conf written for loopback:
#
#   cluster_start              three nodes with TLS and users; sets $store
#                              (cluster_nodes=1 before sourcing: a single one)
#   cluster_kill 2             kill -9         cluster_launch 2    bring it back
#   cluster_pause 2            SIGSTOP         cluster_resume 2
#   cluster_cut 3              drop its routes cluster_heal 3      and let them come back
#   cluster_leader             the number of the meta leader's node
#
# Routes between nodes run through socat, one relay a pair, so that a node can be
# cut off from the others without root: its relays are stopped, as a
# network that swallows packets would, and its clients still reach it. This is
# the mean half of a partition; a node that no other reaches is cluster_pause.
tremolo=${BUILD:-build}/tremolo
work=${work:-$(mktemp -d)}
nats=$work/nats
ca=$nats/certificates
cluster_nodes=${cluster_nodes:-1 2 3}
cluster_pairs="12 13 21 23 31 32"
cluster_store_bytes=${cluster_store_bytes:-2GB}
cluster_server=$(command -v nats-server || echo /usr/sbin/nats-server)

# pid_of NAME, note_pid NAME PID: the processes of ours, by name.
pid_of() { cat "$work/pids/$1" 2>/dev/null; }
note_pid() { mkdir -p "$work/pids" && echo "$2" >"$work/pids/$1"; }

# end_process NAME [SIGNAL]: one of ours, and wait until it is gone.
end_process() {
    ended=$(pid_of "$1") || return 0
    rm -f "$work/pids/$1"
    kill "-${2:-TERM}" "$ended" 2>/dev/null
    kill -CONT "$ended" 2>/dev/null
    wait "$ended" 2>/dev/null
}

# cluster_stop: everything that was started, by its id.
cluster_stop() {
    for file in "$work"/pids/*; do
        [ -e "$file" ] || continue
        case ${file##*/} in relay.*) relay_signal "${file##*.}" KILL ;; esac
        end_process "${file##*/}" KILL
    done
}
trap 'cluster_stop >/dev/null 2>&1; [ -n "${KEEP:-}" ] || rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

# wait_until SECONDS COMMAND...: false when it never became true.
wait_until() {
    deadline=$(($(date +%s) + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ "$(date +%s)" -lt $deadline ] || return 1
        sleep 0.2
    done
}

# Ports: client, route, monitor, mqtt of node N are base + 10 N + 1..4; the
# relay of a pair is base + the pair.
client_port() { echo $((cluster_base + 10 * $1 + 1)); }
route_port() { echo $((cluster_base + 10 * $1 + 2)); }
monitor_port() { echo $((cluster_base + 10 * $1 + 3)); }
mqtt_port() { echo $((cluster_base + 10 * $1 + 4)); }
relay_port() { echo $((cluster_base + 50 + $1)); }

# A block of free ports: below those the kernel gives out.
cluster_choose_ports() {
    used=$(awk 'FNR > 1 { print $2 }' /proc/net/tcp /proc/net/tcp6 | sed 's/.*://')
    while :; do
        cluster_base=$((10000 + $(od -An -N2 -tu2 /dev/urandom) % 220 * 100))
        clash=no
        for offset in $(seq 0 99); do
            case " $used " in *"$(printf '%04X' $((cluster_base + offset)))"*) clash=yes ;; esac
        done
        [ $clash = yes ] || return 0
    done
}

# relay_start PAIR: from the first node of the pair to the routes of the second.
relay_start() {
    setsid socat "TCP-LISTEN:$(relay_port "$1"),bind=127.0.0.1,reuseaddr,nodelay,fork" \
        "TCP:127.0.0.1:$(route_port "${1#?}"),nodelay" 2>>"$work/relay.log" &
    note_pid "relay.$1" $!
}
# The relay and the children it forked for its connections.
relay_signal() { kill -s "$2" -- "-$(pid_of "relay.$1")"; }

cluster_pairs_of() { for pair in $cluster_pairs; do case $pair in *"$1"*) echo "$pair" ;; esac; done; }
cluster_cut() { for pair in $(cluster_pairs_of "$1"); do relay_signal "$pair" STOP || return 1; done; }
# What was swallowed in that time is gone: connections are made again.
cluster_heal() {
    for pair in $(cluster_pairs_of "$1"); do
        relay_signal "$pair" KILL
        end_process "relay.$pair" KILL
        relay_start "$pair"
    done
}

# cluster_configure N: node.conf and users.conf as they are, machine.conf for loopback.
cluster_configure() {
    peers=
    for pair in $cluster_pairs; do
        case $pair in "$1"?) peers="$peers${peers:+,} \"nats-route://127.0.0.1:$(relay_port "$pair")\"" ;; esac
    done
    mkdir -p "$nats/$1"
    cp examples/nats/node.conf examples/nats/users.conf "$nats/$1/"
    cat >"$nats/$1/machine.conf" <<CONF
NODE: "n$1"
CLIENTS: "127.0.0.1:$(client_port "$1")"
ROUTES: "127.0.0.1:$(route_port "$1")"
PEERS: [$peers]
DEVICES: "127.0.0.1:$(mqtt_port "$1")"
MONITOR: "127.0.0.1:$(monitor_port "$1")"
STORE: "$nats/$1/store"
STORE_BYTES: $cluster_store_bytes
NODE_CERT: "$ca/n$1.pem"
NODE_KEY: "$ca/n$1.key"
NODES_CA: "$ca/nodes-ca.pem"
USERS_CA: "$ca/users-ca.pem"
CONF
    # One node alone has no routes.
    [ "$cluster_nodes" != 1 ] || sed -i -e '/^cluster {/,/^}/d' -e '/stream_replicas/d' \
        -e '/^PEERS/d' -e '/^ROUTES/d' -e '/^NODES_CA/d' "$nats/$1/node.conf" "$nats/$1/machine.conf"
}

cluster_launch() {
    "$cluster_server" --config "$nats/$1/node.conf" --log "$nats/$1/log" >>"$nats/$1/out" 2>&1 &
    note_pid "nats.$1" $!
}
cluster_kill() { end_process "nats.$1" KILL; }
cluster_pause() { kill -STOP "$(pid_of "nats.$1")"; }
cluster_resume() { kill -CONT "$(pid_of "nats.$1")"; }

# cluster_ask "NODE..." PATH: by one curl, which takes longer to start than to ask.
cluster_ask() {
    asked=
    for node in $1; do asked="$asked http://127.0.0.1:$(monitor_port "$node")/$2"; done
    # shellcheck disable=SC2086 # one word a node
    curl -s --max-time 2 $asked
}
# Every stream and consumer these nodes have a copy of is current.
cluster_node_is_well() {
    set -- $1
    [ "$(cluster_ask "$*" healthz | grep -o '"status": *"ok"' | wc -l)" -eq $# ]
}
cluster_leader_is_known() { [ -n "$(cluster_leader)" ]; }
cluster_is_well() {
    cluster_node_is_well "$cluster_nodes" && { [ "$cluster_nodes" = 1 ] || cluster_leader_is_known; }
}
# The one that most nodes name.
cluster_leader() {
    cluster_ask "$cluster_nodes" jsz | awk '
        match($0, /"leader": *"n[0-9]"/) { votes[substr($0, RSTART + RLENGTH - 2, 1)]++ }
        END { for (node in votes) if (votes[node] > votes[best]) best = node; print best }'
}

# store_user NAME: the options by which a process presents itself as that user.
store_user() {
    echo "--store-ca $ca/nodes-ca.pem --store-cert $ca/$1.pem --store-key $ca/$1.key"
}

cluster_certificates() {
    examples/nats/make-certificates "$ca" authorities
    for node in $cluster_nodes; do examples/nats/make-certificates "$ca" node "n$node" 127.0.0.1; done
    for user in gateway folder reader operator; do examples/nats/make-certificates "$ca" user $user; done
}

# cluster_start: non-zero, with the nodes' words, when it does not come up.
cluster_start() {
    cluster_choose_ports
    cluster_certificates
    [ "$cluster_nodes" = 1 ] || for pair in $cluster_pairs; do relay_start "$pair"; done
    store=
    for node in $cluster_nodes; do
        cluster_configure "$node"
        cluster_launch "$node"
        store="${store:-nats://}${store:+,}127.0.0.1:$(client_port "$node")"
    done
    if ! wait_until 60 cluster_is_well; then
        cat "$nats"/*/out "$nats"/*/log >&2
        return 1
    fi
}

# ---------------------------------------------------------------- the product

swarm=${BUILD:-build}/bin/tests/e2e/swarm
shards=${shards:-4}

# gateway_start NAME [OPTIONS]: listens on the port it had before, or on any.
# The keys of the service are those of $work/keys; all gateways share them.
gateway_start() {
    gateway=$1
    shift
    : >"$work/gateway.$gateway.out"
    # shellcheck disable=SC2046
    $tremolo serve --data "$work/keys" --store "$store" $(store_user gateway) --shards "$shards" \
        --listen "127.0.0.1:$(cat "$work/port.$gateway" 2>/dev/null || echo 0)" "$@" \
        >"$work/gateway.$gateway.out" 2>>"$work/gateway.$gateway.log" &
    note_pid "gateway.$gateway" $!
}
gateway_is_up() { grep -q '^server key' "$work/gateway.$1.out"; }
gateway_url() { sed -n 's/^listening on //p' "$work/gateway.$1.out"; }
# gateway_wait NAME: until it listens; remembers its port for the next start.
gateway_wait() {
    wait_until 60 gateway_is_up "$1" || { cat "$work/gateway.$1.log" >&2; return 1; }
    gateway_url "$1" | sed 's/.*://' >"$work/port.$1"
}

folder_start() {
    folder=$1
    shift
    # shellcheck disable=SC2046
    $tremolo fold --store "$store" $(store_user folder) "$@" \
        >>"$work/folder.$folder.out" 2>>"$work/folder.$folder.log" &
    note_pid "folder.$folder" $!
}

# study_text TITLE [PROTOCOL] [LIMITS]: a small study with three features.
study_text() {
    default='{"kind": "one-shot"}'
    cat <<TEXT
{"tremolo": 1, "title": "$1",
 "features": [{"name": "steps", "low": 0, "high": 20000},
              {"name": "sleep", "unit": "h", "low": 3, "high": 11},
              {"name": "pulse", "low": 40, "high": 110}],
 "response": {"name": "score", "low": 0, "high": 100},
 "privacy": {"epsilon": 8, "delta": 1e-5, "neighbours": "any", "protects": "features"},
 "protocol": ${2:-$default}${3:+, \"limits\": $3}}
TEXT
}

# create_study URL FILE: prints the new study's id.
create_study() {
    curl -s --max-time 30 -X POST -H "Authorization: Bearer $(cat "$work/keys/operator.token")" \
        --data-binary @"$2" "$1/v1/studies" | sed -n 's/^{"id": *"\([^"]*\)".*/\1/p'
}

# reports_in URL ID: how many the estimate covers.
reports_in() {
    curl -s --max-time 5 "$1/v1/studies/$2/estimate" | sed -n 's/.*"reports": *\([0-9]*\).*/\1/p'
}

# as_user USER NODE request|publish|listen SUBJECT [BODY]: raw NATS, past the product.
as_user() {
    user=$1 node=$2
    shift 2
    "${BUILD:-build}/bin/tests/cluster/probe" "nats://127.0.0.1:$(client_port "$node")" "$ca/nodes-ca.pem" \
        "$ca/$user.pem" "$ca/$user.key" "_INBOX_$user" "$@"
}

now_ms() { date +%s%3N; }
