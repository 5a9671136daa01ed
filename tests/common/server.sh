# server.sh -- start and stop servers of our own on loopback, for the tests.
#
# Every script has a directory of its own ($work) that is removed at the end,
# together with the server it started, by its process id.
tremolo=${BUILD:-build}/tremolo
swarm=${BUILD:-build}/bin/tests/e2e/swarm
work=$(mktemp -d)
server_pid=
trap 'stop_server >/dev/null 2>&1; rm -rf "$work"' EXIT

# start_server DIR [OPTIONS]: sets server_pid and url; non-zero when it ended.
start_server() {
    data=$1
    shift
    : >"$work/server.out"
    $tremolo serve --data "$data" --listen "127.0.0.1:${port:-0}" "$@" \
        >"$work/server.out" 2>>"$work/server.log" &
    server_pid=$!
    tries=0
    until grep -q '^server key' "$work/server.out"; do
        kill -0 "$server_pid" 2>/dev/null || return 1
        tries=$((tries + 1))
        [ $tries -lt 3000 ] || return 1
        sleep 0.02
    done
    url=$(sed -n 's/^listening on //p' "$work/server.out")
}

# stop_server: SIGTERM and wait; the exit code of the server.
stop_server() {
    [ -n "$server_pid" ] || return 0
    kill "$server_pid" 2>/dev/null
    wait "$server_pid"
    code=$?
    server_pid=
    return $code
}

# create_study FILE: prints the new study's id.
create_study() {
    curl -s -X POST -H "Authorization: Bearer $(cat "$data/operator.token")" \
        --data-binary @"$1" "$url/v1/studies" | sed -n 's/^{"id": *"\([^"]*\)".*/\1/p'
}

# http_status CURL-ARGUMENTS: the status, the body in $work/body.
http_status() {
    curl -s -k -o "$work/body" -w '%{http_code}' --max-time 20 "$@"
}

# wait_for COMMAND...: until it is true; false when it never was, in a time that is long
# for the slowest machine.
wait_for() {
    for _ in $(seq 300); do
        "$@" >/dev/null 2>&1 && return 0
        sleep 0.1
    done
    return 1
}

# document FILE: its JSON without its layout; numbers keep every digit.
document() {
    python3 -c 'import json, sys; print(json.dumps(json.load(open(sys.argv[1]))))' "$1"
}

# study_text PROTOCOL [LIMITS]: a small study with three features.
study_text() {
    cat <<TEXT
{"tremolo": 1, "title": "steps, sleep and pulse",
 "features": [{"name": "steps", "low": 0, "high": 20000},
              {"name": "sleep", "unit": "h", "low": 3, "high": 11},
              {"name": "pulse", "low": 40, "high": 110}],
 "response": {"name": "score", "low": 0, "high": 100},
 "privacy": {"epsilon": 8, "delta": 1e-5, "neighbours": "any", "protects": "features"},
 "protocol": $1${2:+, \"limits\": $2}}
TEXT
}
