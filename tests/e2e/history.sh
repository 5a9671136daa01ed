# GET .../history: counts by outcome, samples over time, rounds with their betas
# and gradients, and the score sets and reasons in the estimate.
. tests/common/tap.sh
. tests/common/server.sh
forge=${BUILD:-build}/bin/tests/e2e/forge
cbor='Content-Type: application/cbor'

study_text '{"kind": "iterative", "rounds": 3, "radius": 2}' >"$work/study.json"
start_server "$work/data"
token="Authorization: Bearer $(cat "$work/data/operator.token")"
id=$(create_study "$work/study.json")
at="$url/v1/studies/$id"
curl -s "$at" >"$work/published"

# send N: N new reports of round 0; the last stays in $work/report.
send() {
    for _ in $(seq "$1"); do
        $forge "$work/published" "$work/report" --round 0
        curl -s -o "$work/body" -X POST -H "$cbor" --data-binary @"$work/report" "$at/reports"
    done
}

# history_until PATTERN: ask until the answer matches; 30 seconds at most.
history_until() {
    for _ in $(seq 300); do
        curl -s "$at/history" >"$work/history"
        grep -Eq "$1" "$work/history" && return 0
        sleep 0.1
    done
    return 1
}

send 40
curl -s -o "$work/body" -X POST -H "$cbor" --data-binary @"$work/report" "$at/reports"
curl -s -o "$work/body" -X POST -H "$cbor" -d nonsense "$at/reports"
expect "a sample is taken of all reports" "$(history_until '"samples":\[.*"reports":40,"r2"' && echo yes)" yes
expect_match "reports" "$work/history" '"reports":40,"devices":40,"round_reports":40'
expect_match "accepted and repeated" "$work/history" '"accepted":40,"repeated":1,"malformed":1'
expect "the gradient of the open round comes" \
    "$(history_until '"closed":null,"reports":40,"beta":\[0.0,0.0,0.0\],"gradient_norm":0\.[0-9]+' && echo yes)" yes
gradient=$(sed 's/.*"gradient_norm":\([^}]*\)}.*/\1/' "$work/history")

curl -s -o "$work/body" -X POST -H "$token" "$at/round/close"
send 1
expect "the closed round keeps its gradient" \
    "$(history_until "\"closed\":[0-9]+,\"reports\":40,\"beta\":\[0.0,0.0,0.0\],\"gradient_norm\":$gradient}" && echo yes)" yes
expect_match "the next round began from another beta" "$work/history" \
    '"round":1,"opened":[0-9]*,"closed":null,"reports":0,"beta":\[-?0\.[0-9]*'
expect "late reports are counted" "$(history_until '"closed":1,"wrong_study"' && echo yes)" yes
expect_match "the state" "$work/history" '"state":"open"'

curl -s "$at/estimate" >"$work/estimate"
expect_match "score sets" "$work/estimate" '"score":{"shape":"[a-z]*","low":'
expect_match "the reason is given" "$work/estimate" '"why":"devices of this study have no names'
expect "one sentence at most" "$(sed 's/.*"not_identified":\[\([^]]*\)\].*/\1/' "$work/estimate" | grep -c '","')" 0

# Of three features: a point of the coefficients, whether noise hides them or not.
expect_match "coefficients at so many devices" "$work/history" \
    '"convergence":\[{"time":[0-9]*,"devices":[0-9]*,"estimate":\[[^],]*,[^],]*,[^],]*\],"low":\['
past() { sed 's/.*"samples":\(.*\),"rounds".*/\1/' "$work/history"; }
before=$(past)
# The same gradient after a restart: rounds come from the log.
stop_server
start_server "$work/data"
at="$url/v1/studies/$id"
expect "the same after a restart" \
    "$(history_until "\"reports\":40,\"beta\":\[0.0,0.0,0.0\],\"gradient_norm\":$gradient}" && echo yes)" yes
expect "and what charts show of the past" "$(past)" "$before"
expect_match "counts begin again" "$work/history" '"accepted":0,"repeated":0'
expect "no such study" "$(http_status "$url/v1/studies/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA/history")" 404
