# The server under ThreadSanitizer while devices report, an analyst asks for
# estimates and the operator creates studies and closes rounds, all at once.
# Run by `make test-tsan` with BUILD naming a build under -fsanitize=thread.
. tests/common/tap.sh
. tests/common/server.sh
export TSAN_OPTIONS="halt_on_error=0 exitcode=66 log_path=$work/race suppressions=tests/sanitize/tsan.supp"
plain=${PLAIN:-build}/bin/tests/e2e/swarm

study_text '{"kind": "one-shot"}' >"$work/one.json"
study_text '{"kind": "iterative", "rounds": 3, "vectors": 1, "alpha": 0.25, "lambda": 0.4, "omega": 2,
             "radius": 2}' >"$work/three.json"
start_server "$work/data" --threads 4
one=$(create_study "$work/one.json")
three=$(create_study "$work/three.json")
$plain --url "$url/v1/studies/$one" --devices 6000 --threads 8 >"$work/a" 2>&1 &
a=$!
$plain --url "$url/v1/studies/$three" --devices 3000 --threads 4 --batch 20 \
    --token-file "$work/data/operator.token" >"$work/b" 2>&1 &
b=$!
for i in $(seq 1 60); do
    curl -s "$url/v1/studies/$one/estimate" >/dev/null
    curl -s "$url/v1/studies/$three/round" >/dev/null
    curl -s "$url/v1/studies" >/dev/null
    curl -s "$url/metrics" >/dev/null
    sed "s/steps, sleep/study $i/" "$work/one.json" >"$work/more.json"
    create_study "$work/more.json" >/dev/null
done
wait $a
expect "devices of a one-shot study" $? 0
wait $b
expect "devices of three rounds" $? 0
stop_server
expect "the server ends without a race" $? 0
cat "$work"/race* 2>/dev/null | head -60
[ -z "$(ls "$work"/race* 2>/dev/null)" ]
expect "and none was reported" $? 0
