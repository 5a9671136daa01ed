# Each request that must be refused gets its status, and the server stays up.
. tests/common/tap.sh
. tests/common/server.sh
forge=${BUILD:-build}/bin/tests/e2e/forge
nuisance=${BUILD:-build}/bin/tests/e2e/nuisance

study_text '{"kind": "one-shot"}' >"$work/open.json"
study_text '{"kind": "iterative", "rounds": 3, "vectors": 1, "alpha": 0.25, "lambda": 0.4,
             "omega": 2, "radius": 2}' '{"enrolment": "keys"}' >"$work/keys.json"
start_server "$work/data" --timeout 3
token="Authorization: Bearer $(cat "$work/data/operator.token")"
port=${url##*:}
open=$url/v1/studies/$(create_study "$work/open.json")
keys=$url/v1/studies/$(create_study "$work/keys.json")
curl -s "$open" >"$work/open"
curl -s "$keys" >"$work/keys"

# post URL FILE [HEADER]: the status of one report.
post() {
    http_status -X POST -H 'Content-Type: application/cbor' ${3:+-H "$3"} --data-binary @"$2" "$1/reports"
}
# enrol: sets device and key of a fresh device.
enrol() {
    curl -s -X POST -H "$token" "$keys/devices" >"$work/enrolled"
    device=$(sed 's/.*"device":"\([^"]*\)".*/\1/' "$work/enrolled")
    key=$(sed 's/.*"key":"\([^"]*\)".*/\1/' "$work/enrolled")
}

# ------------------------------------------------------------ open study
$forge "$work/open" "$work/good"
expect "a good report is taken" "$(post "$open" "$work/good")" 200
expect_match "and counted" "$work/body" '"accepted":1,"repeated":0'
expect "the same bytes again succeed" "$(post "$open" "$work/good")" 200
expect_match "and are known as such" "$work/body" '"accepted":0,"repeated":1'
# The last bit of the public response, byte 41 (docs/reference/wire-format.md).
last=$(od -An -tu1 -j41 -N1 "$work/good")
{ head -c 41 "$work/good"; printf "\\$(printf %o $((last ^ 1)))"; tail -c +43 "$work/good"; } >"$work/other"
expect "the same id with other bytes" "$(post "$open" "$work/other")" 409
expect_match "said as a problem document" "$work/body" '^\{"type":"about:blank","title":"Conflict","status":409'
$forge "$work/open" "$work/liar" --norm
expect "a norm no honest device has" "$(post "$open" "$work/liar")" 422
head -c 30 "$work/good" >"$work/short"
expect "a truncated report" "$(post "$open" "$work/short")" 400
{ cat "$work/good"; printf x; } >"$work/long"
expect "a report with something after it" "$(post "$open" "$work/long")" 400
: >"$work/nothing"
expect "an empty body" "$(post "$open" "$work/nothing")" 400
head -c 2000 /dev/zero >"$work/zeros"
expect "a report too large" "$(post "$open" "$work/zeros")" 413
head -c 5000000 /dev/zero >"$work/huge"
expect "a body too large" "$(post "$open" "$work/huge")" 413
expect "a body without a length" "$(post "$open" "$work/good" 'Transfer-Encoding: chunked')" 411
expect "a wrong media type" \
    "$(http_status -X POST -H 'Content-Type: text/plain' --data-binary @"$work/good" "$open/reports")" 415
expect "no such study" "$(post "$url/v1/studies/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" "$work/good")" 404
expect "no such path" "$(http_status "$url/v2")" 404
expect "a wrong method" "$(http_status -X DELETE "$url/v1/studies")" 405
expect "a preflight of a browser" "$(http_status -X OPTIONS "$open/reports")" 204
curl -s -i -X POST -H 'Origin: https://a.example' -H 'Content-Type: application/cbor' \
    --data-binary @"$work/good" "$open/reports" >"$work/out"
expect_match "and its fetch may then read the answer" "$work/out" '^Access-Control-Allow-Origin: \*'
for path in "" /round /guarantee; do
    curl -s -i "$open$path" >"$work/out"
    expect_match "a page elsewhere may read ${path:-the study}" "$work/out" '^Access-Control-Allow-Origin: \*'
done
for path in "$open/estimate" "$open/history" "$url/v1/studies" "$url/metrics" "$url/healthz" "$url/v2"; do
    curl -s -i "$path" >"$work/out"
    expect "but not ${path#"$url"}" "$(grep -ci '^Access-Control' "$work/out")" 0
done
expect "nor ask to close a round" "$(http_status -X OPTIONS "$open/round/close")" 405
curl -s -i -X OPTIONS "$open/reports" >"$work/out"
expect "nor use the operator's token" "$(grep -ci 'Allow-Headers:.*Authorization' "$work/out")" 0

# ------------------------------------------------------------ sequences
$forge "$work/open" "$work/second"
string() { printf "\\130\\$(printf %o "$(wc -c <"$1")")"; cat "$1"; }
{ string "$work/second"; string "$work/liar"; string "$work/good"; string "$work/other"; } >"$work/sequence"
expect "a sequence is answered by index" \
    "$(http_status -X POST -H 'Content-Type: application/cbor-seq' --data-binary @"$work/sequence" "$open/reports")" 200
expect_match "one new, one repeated" "$work/body" '"accepted":1,"repeated":1'
expect_match "one impossible, one in conflict" "$work/body" '"index":1,"status":422.*"index":3,"status":409'
head -c 90 "$work/sequence" >"$work/cut"
expect "a truncated sequence" \
    "$(http_status -X POST -H 'Content-Type: application/cbor-seq' --data-binary @"$work/cut" "$open/reports")" 400

# ------------------------------------------------------------ enrolled study
enrol
$forge "$work/keys" "$work/mine" --key "$key"
expect "an enrolled device's report" "$(post "$keys" "$work/mine" "Tremolo-Device: $device")" 200
expect "the same again" "$(post "$keys" "$work/mine" "Tremolo-Device: $device")" 200
$forge "$work/keys" "$work/again" --key "$key"
expect "a second report of one device" "$(post "$keys" "$work/again" "Tremolo-Device: $device")" 409
expect "no name" "$(post "$keys" "$work/again")" 401
expect "a name that is not base64url" "$(post "$keys" "$work/again" 'Tremolo-Device: a+b/')" 400
$forge "$work/keys" "$work/bare"
expect "no MAC" "$(post "$keys" "$work/bare" "Tremolo-Device: $device")" 401
expect "an unknown device" "$(post "$keys" "$work/again" 'Tremolo-Device: AAAA')" 403
$forge "$work/keys" "$work/wrong" --key AAAAAAAAAAAAAAAAAAAAAA
expect "a wrong MAC" "$(post "$keys" "$work/wrong" "Tremolo-Device: $device")" 403
expect "a replay in another study" "$(post "$open" "$work/mine")" 422
enrol
$forge "$work/keys" "$work/second" --key "$key"
expect "a second device" "$(post "$keys" "$work/second" "Tremolo-Device: $device")" 200
$forge "$work/keys" "$work/early" --key "$key" --round 1
expect "a round that has not begun" "$(post "$keys" "$work/early" "Tremolo-Device: $device")" 422
expect "closing a round without the token" "$(http_status -X POST "$keys/round/close")" 401
expect "with a wrong one" "$(http_status -X POST -H 'Authorization: Bearer nonsense-nonsense' "$keys/round/close")" 403
expect "with the token" "$(http_status -X POST -H "$token" "$keys/round/close")" 200
expect_match "the next round is open and signed" "$work/body" '"round":1,.*"state":"open".*"signature":"'
expect "closing the same round again, by its number" "$(http_status -X POST -H "$token" "$keys/round/close?round=0")" 200
expect_match "closes no other" "$work/body" '"round":1,.*"state":"open"'
expect "closing a round that has not begun" "$(http_status -X POST -H "$token" "$keys/round/close?round=2")" 409
expect "closing what is no round" "$(http_status -X POST -H "$token" "$keys/round/close?round=one")" 400
expect "a late report" "$(enrol; $forge "$work/keys" "$work/late" --key "$key"
    post "$keys" "$work/late" "Tremolo-Device: $device")" 410
expect "closing a round without reports" "$(http_status -X POST -H "$token" "$keys/round/close")" 409
{ head -c 21 "$work/mine"; printf '\001'; tail -c +23 "$work/mine"; } >"$work/moved"
expect "a replay in another round breaks the MAC" \
    "$(enrol; post "$keys" "$work/moved" "Tremolo-Device: $device")" 403
expect "creating a study without the token" "$(http_status -X POST --data-binary @"$work/open.json" "$url/v1/studies")" 401
expect "an empty study" "$(http_status -X POST -H "$token" -d '' "$url/v1/studies")" 400
expect "a study that is none" "$(http_status -X POST -H "$token" -d '{"tremolo": 1}' "$url/v1/studies")" 422
expect_match "with every problem listed" "$work/body" '"problems":\[\{"path":"title"'
expect "a device's key without the token" "$(http_status -X POST "$keys/devices")" 401

# ------------------------------------------------------------ nuisances
cut=$($nuisance drip "$port" 30)
[ "$cut" -ge 0 ] && [ "$cut" -le 20 ]
expect "a head that drips is cut (after $cut s)" $? 0
cut=$($nuisance body "$port" "${open#"$url"}/reports" 30)
[ "$cut" -ge 0 ] && [ "$cut" -le 20 ]
expect "a body that never comes is cut (after $cut s)" $? 0
expect "2,000 requests of noise" "$($nuisance noise "$port" 2000 1)" 2000
$nuisance idle "$port" 10000 4 >"$work/idle" &
idle_pid=$!
sleep 2
expect "with $(cat "$work/idle") idle connections open the server answers" "$(http_status "$url/healthz")" 200
curl -s "$url/metrics" >"$work/metrics"
memory=$(sed -n 's/^process_resident_memory_bytes //p' "$work/metrics")
awk -v m="$memory" 'BEGIN { exit !(m < 400e6) }'
expect "in bounded memory ($memory bytes)" $? 0
wait $idle_pid
expect "two reports are in the open study" "$(curl -s "$open/estimate" | sed 's/.*"reports":\([0-9]*\).*/\1/')" 2
grep -q "$(tail -c 12 "$work/good" | od -An -tx1 | tr -d ' \n')" "$work/server.log"
expect "the log holds no report" $? 1
stop_server
expect "and it ends in peace" $? 0
