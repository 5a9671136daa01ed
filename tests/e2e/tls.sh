# TLS with a generated certificate, exchanged by SIGHUP without a restart.
. tests/common/tap.sh
. tests/common/server.sh
forge=${BUILD:-build}/bin/tests/e2e/forge

# certificate NAME: a self-signed pair for loopback.
certificate() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
        -subj "/CN=$1" -addext 'subjectAltName=IP:127.0.0.1' \
        -keyout "$work/key.pem" -out "$work/cert.pem" >/dev/null 2>&1
    cp "$work/cert.pem" "$work/$1.pem"
}
# subject: the name in the certificate that is served now.
subject() { curl -s -k -v "$url/healthz" 2>&1 | sed -n 's/.*subject: CN=//p'; }

timeout 10 $tremolo serve --data "$work/none" --listen 0.0.0.0:0 >"$work/out" 2>&1
expect "beyond loopback a server wants a certificate" $? 2
expect_match "in one sentence" "$work/out" '^tremolo serve: 0\.0\.0\.0 .*--plain-http behind a proxy'
timeout 10 $tremolo serve --data "$work/none" --listen '[::]:0' >"$work/out" 2>&1
expect "by IPv6, too" $? 2
for half in cert key; do
    timeout 10 $tremolo serve --data "$work/none" --listen 127.0.0.1:0 --tls-$half "$work/$half.pem" >"$work/out" 2>&1
    expect "--tls-$half alone is wrong usage" $? 2
    expect_match "which names the other" "$work/out" '^tremolo serve: --tls-(cert needs --tls-key|key needs --tls-cert)$'
done
expect "and has made nothing" "$(ls -d "$work/none" 2>/dev/null)" ""
timeout 60 $tremolo serve --data "$work/plain" --listen 0.0.0.0:0 --plain-http >"$work/out" 2>&1 &
plain_pid=$!
wait_for grep -q '^server key' "$work/out"
kill $plain_pid
wait $plain_pid
expect_match "unless told that a proxy does TLS" "$work/out" '^listening on http://0\.0\.0\.0:'
certificate first
start_server "$work/data" --tls-cert "$work/cert.pem" --tls-key "$work/key.pem"
expect "the server starts with a certificate" $? 0
expect_match "and says https" "$work/server.out" '^listening on https://'
expect "curl verifies it" "$(curl -s --cacert "$work/first.pem" "$url/healthz")" '{"status":"ok"}'
study_text '{"kind": "one-shot"}' >"$work/one.json"
study=$url/v1/studies/$(curl -s --cacert "$work/first.pem" -X POST --data-binary @"$work/one.json" \
    -H "Authorization: Bearer $(cat "$work/data/operator.token")" "$url/v1/studies" |
    sed -n 's/^{"id": *"\([^"]*\)".*/\1/p')
curl -s -k "$study" >"$work/study"
$forge "$work/study" "$work/report"
expect "a report goes through TLS" "$(http_status -X POST -H 'Content-Type: application/cbor' \
    --data-binary @"$work/report" "$study/reports")" 200
certificate second
kill -HUP "$server_pid"
is_second() { [ "$(subject)" = second ]; }
wait_for is_second
expect "SIGHUP serves the new certificate" "$(subject)" second
echo nonsense >"$work/cert.pem"
kill -HUP "$server_pid"
sleep 0.3
expect "one that cannot be read leaves the old in use" "$(subject)" second
http_status "http://127.0.0.1:${url##*:}/healthz" >/dev/null
expect "plain HTTP on that port does not end the server" "$(http_status "$url/healthz")" 200
$tremolo status "$url" --ca "$work/second.pem" >"$work/out" 2>&1
expect_match "tremolo status speaks TLS" "$work/out" 'steps, sleep and pulse'
stop_server
expect "it ends in peace" $? 0
start_server "$work/data" --tls-cert "$work/cert.pem" --tls-key "$work/key.pem"
expect "a bad certificate is refused at the start" $? 1
