# A device written from docs/reference/wire-format.md and docs/reference/protocol.md in another language
# takes part in a study with modulation: what it sends is accepted, a repeat is known,
# and other bytes under a stored id are refused. tests/cli/device_vectors.sh
# compares the same Python with our core, byte by byte.
. tests/common/tap.sh
. tests/common/server.sh
export PYTHONDONTWRITEBYTECODE=1
client="python3 tests/common/independent_client.py"

for protects in features all; do
    study_text '{"kind": "iterative", "rounds": 2, "vectors": 2, "alpha": 0.25, "lambda": 0.4,
        "omega": 2, "close": {"reports": 4}}' |
        sed "s/\"protects\": \"features\"/\"protects\": \"$protects\"/" >"$work/$protects.json"
done
start_server "$work/data"
expect "the server starts" $? 0
for protects in features all; do
    study=$(create_study "$work/$protects.json")
    expect "modulated reports are accepted, $protects protected; a repeat is, a changed one is not" \
        "$($client "$url" "$study" 3 first)" "0 200 200 200 200 409"
    expect "the report that ends the round" "$($client "$url" "$study" 1 second | cut -d' ' -f1-2)" "0 200"
    tries=0
    until curl -s "$url/v1/studies/$study/round" | grep -q '"round": *1'; do
        tries=$((tries + 1))
        [ $tries -lt 200 ] || break
        sleep 0.1
    done
    expect "and the next round's vectors" "$($client "$url" "$study" 2 third)" "1 200 200 200 409"
done
stop_server
expect "the server ends well" $? 0
