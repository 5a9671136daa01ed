# The host client against the real server: tremolo report, once, again, in
# rounds, with keys, while the server goes away and comes back.
. tests/common/tap.sh
. tests/common/server.sh

study_text '{"kind": "one-shot"}' | sed 's/"epsilon": 8/"epsilon": 2/' >"$work/one.json"
study_text '{"kind": "iterative", "rounds": 3, "vectors": 1, "alpha": 0.25, "lambda": 0.4, "omega": 2,
             "radius": 2, "close": {"reports": 2}}' '{"enrolment": "keys"}' |
    sed 's/"epsilon": 8/"epsilon": 2/' >"$work/keys.json"
start_server "$work/data"
port=${url##*:}
sed -n 's/^server key //p' "$work/server.out" >"$work/key"
one=$url/v1/studies/$(create_study "$work/one.json")
keys=$url/v1/studies/$(create_study "$work/keys.json")
echo '{"steps": 7200, "sleep": 7.5, "pulse": 61, "score": 48}' >"$work/sample"

# run_device STATE OPTIONS: tremolo report, its words in $work/out.
run_device() {
    state=$1
    shift
    $tremolo report --state "$work/$state" --sample "${sample:-$work/sample}" --server-key "$work/key" --enrol "$@" \
        >"$work/out" 2>&1
}
count() { curl -s "$1/estimate" | sed 's/.*"reports":\([0-9]*\).*/\1/'; }

run_device a --study "$one"
expect "a device reports" $? 0
run_device a --study "$one"
expect "and reports again" $? 0
expect_match "with what was sent before" "$work/out" "known already: this device's report was sent before, and the values of --sample were not used;"
expect "which counts once" "$(count "$one")" 1
echo AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA >"$work/other_key"
$tremolo report --state "$work/b" --sample "$work/sample" --server-key "$work/other_key" --enrol --study "$one" \
    >"$work/out" 2>&1
expect "a server with another key gets nothing" "$([ $? -ne 0 ] && count "$one")" 1

run_device a --study "$url/v1/studies/nonsense"
expect "an address that is no study's" "$? $(cat "$work/out")" \
    "2 tremolo report: the study's URL must end in /v1/studies/ and its id"
run_device b --study "$keys"
expect "a device without a key, where one is needed" "$? $(cat "$work/out")" \
    "2 tremolo report: the study takes enrolled devices only; give this one's name and key; --device and --key do"

# The server is away when the device wants to report.
stop_server
run_device c --study "$one" --give-up 30 &
client=$!
sleep 1
start_server "$work/data"
wait $client
expect "a device waits for a server that is away" $? 0
expect "and then counts" "$(count "$one")" 2

# Three rounds of two devices with keys, each following by itself.
follow() {
    curl -s -X POST -H "Authorization: Bearer $(cat "$work/data/operator.token")" \
        -d "{\"name\": \"watch $1\"}" "$keys/devices" >"$work/enrolled.$1"
    sed 's/.*"key":"\([^"]*\)".*/\1/' "$work/enrolled.$1" >"$work/key.$1"
    chmod 600 "$work/key.$1"
    $tremolo report --state "$work/$1" --sample "$work/sample" --server-key "$work/key" --enrol --study "$keys" \
        --device "$(sed 's/.*"device":"\([^"]*\)".*/\1/' "$work/enrolled.$1")" --key "$work/key.$1" \
        --follow >"$work/out.$1" 2>&1
}
follow d &
d=$!
follow e
expect "a device follows three rounds" $? 0
wait $d
expect "and so does another" $? 0
expect "six reports are there" "$(count "$keys")" 6
curl -s "$keys/round" >"$work/round"
expect_match "and the study is done" "$work/round" '"state":"done"'

# A browser's fetch, if there is one to ask.
if command -v node >/dev/null; then
    ${BUILD:-build}/bin/tests/e2e/forge "$work/published" "$work/made" 2>/dev/null ||
        { curl -s "$one" >"$work/published"; ${BUILD:-build}/bin/tests/e2e/forge "$work/published" "$work/made"; }
    node -e "fetch('$one/reports', {method: 'POST', headers: {'Content-Type': 'application/cbor'},
        body: require('fs').readFileSync('$work/made')}).then(r => r.json()).then(j => console.log(j.accepted))" \
        >"$work/out" 2>&1
    expect "fetch submits a report" "$(cat "$work/out")" 1
fi

# That a study is over comes before what is wrong with a sample.
echo '{"steps": 7200}' >"$work/short"
sample=$work/short run_device g --study "$one"
expect "a sample that lacks values" "$? $(grep -c 'sleep is missing' "$work/out")" "2 1"
curl -s -o "$work/closed" -X POST -H "Authorization: Bearer $(cat "$work/data/operator.token")" "$one/round/close"
sample=$work/short run_device g --study "$one"
expect "of a study that is over" "$? $(cat "$work/out")" "1 tremolo report: the study is over; nothing was charged"
