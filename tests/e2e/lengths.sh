# What a network sees of a device through TLS are lengths: requests of a study's devices have the
# same ones, whatever their samples are. A relay between device and server counts bytes.
. tests/common/tap.sh
. tests/common/server.sh

# study RELEASE PROTECTS [MORE]
study() {
    cat <<TEXT
{"tremolo": 1, "title": "lengths",
 "features": [{"name": "age", "low": 0, "high": 100}, {"name": "smoker", "kind": "yes-no"},
              {"name": "watch", "kind": "category", "levels": ["wrist", "ring", "phone and tablet"]}],
 "response": {"name": "ill", "low": 0, "high": 1},
 "privacy": {"epsilon": 2, "neighbours": "any", "protects": "$2"$3},
 "protocol": {"kind": "one-shot", "release": "$1"}}
TEXT
}

start_server "$work/data" --quiet
# Prints a line for each connection when it ends: bytes of every request, in order.
cat >"$work/relay.py" <<'TEXT'
import socket, sys, threading
upstream, log = int(sys.argv[1]), open(sys.argv[2], "a", buffering=1)
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
def relay(device):
    server = socket.create_connection(("127.0.0.1", upstream))
    requests, answered = [], [True]
    def back():
        while data := server.recv(65536):
            answered[0] = True
            device.sendall(data)
        device.close()
    other = threading.Thread(target=back)
    other.start()
    while data := device.recv(65536):
        if answered[0]:
            requests.append(0)
            answered[0] = False
        requests[-1] += len(data)
        server.sendall(data)
    server.shutdown(socket.SHUT_WR)
    other.join()
    log.write(" ".join(map(str, requests)) + "\n")
while True:
    threading.Thread(target=relay, args=(listener.accept()[0],), daemon=True).start()
TEXT
python3 "$work/relay.py" "${url##*:}" "$work/seen" >"$work/relay.port" 2>"$work/relay.err" &
relay_pid=$!
trap 'kill $relay_pid; stop_server >/dev/null 2>&1; rm -rf "$work"' EXIT
wait_for test -s "$work/relay.port"
relay=http://127.0.0.1:$(cat "$work/relay.port")

number=0
for kind in 'sample features ,"delta":1e-5' 'sample all ,"delta":1e-5' "ballot features" "ballot all"; do
    # shellcheck disable=SC2086
    study $kind >"$work/study.json"
    id=$(create_study "$work/study.json")
    : >"$work/seen"
    for sample in '"age": 0, "smoker": "no", "watch": "wrist", "ill": 0' \
        '"age": 100, "smoker": "yes", "watch": "phone and tablet", "ill": 1' \
        '"age": 33.333333333333336, "smoker": "no", "watch": "ring", "ill": 0.5' \
        '"age": 1e9, "smoker": "yes", "watch": "wrist", "ill": 0.0001'; do
        number=$((number + 1))
        echo "{$sample}" >"$work/sample.json"
        $tremolo report --study "$relay/v1/studies/$id" --state "$work/device.$number" --sample "$work/sample.json" \
            --enrol --trust-new >"$work/out" 2>&1 || sed 's/^/# /' "$work/out"
    done
    all_seen() { [ "$(wc -l <"$work/seen")" -eq 4 ]; }
    wait_for all_seen
    expect "${kind% ,*}: four samples, one sequence of lengths" "$(sort "$work/seen" | uniq -c | wc -l)" 1
    expect_match "${kind% ,*}: with a report among them" "$work/seen" '^([0-9]+ )+[0-9]+$'
done
