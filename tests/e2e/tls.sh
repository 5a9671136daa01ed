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
expect_match "unless an option says that a proxy does TLS" "$work/out" '^listening on http://0\.0\.0\.0:'
certificate first
start_server "$work/data" --tls-cert "$work/cert.pem" --tls-key "$work/key.pem"
expect "the server starts with a certificate" $? 0
expect_match "and says https" "$work/server.out" '^listening on https://'
expect "curl verifies it" "$(curl -s --cacert "$work/first.pem" "$url/healthz")" '{"status":"ok"}'
# negotiated OPENSSL-OPTIONS: the version that the server agrees to, or none.
negotiated() {
    openssl s_client -connect "127.0.0.1:${url##*:}" "$@" </dev/null 2>/dev/null |
        sed -n 's/^New, \(TLSv[0-9.]*\), Cipher is [A-Z].*/\1/p'
}
expect "TLS 1.3 is spoken" "$(negotiated -tls1_3)" TLSv1.3
expect "and 1.2" "$(negotiated -tls1_2)" TLSv1.2
expect "but not 1.1" "$(negotiated -tls1_1 -cipher ALL:@SECLEVEL=0)" ""
expect "nor 1.0" "$(negotiated -tls1 -cipher ALL:@SECLEVEL=0)" ""
expect "nor ciphers that do not authenticate" "$(negotiated -tls1_2 -cipher ECDHE-ECDSA-AES128-SHA)" ""
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
start_server "$work/data" --tls-cert "$work/none.pem" --tls-key "$work/key.pem"
expect "and one that is not there" "$? $(tail -n 1 "$work/server.log")" "1 tremolo serve: $work/none.pem: No such file or directory"
certificate third
chmod 0644 "$work/key.pem"
start_server "$work/data" --tls-cert "$work/cert.pem" --tls-key "$work/key.pem"
expect "a key that others may read is refused" $? 1
expect_match "in one sentence" "$work/server.log" 'key\.pem: others may read this secret; set its mode to 0600$'
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=rsa -addext 'subjectAltName=IP:127.0.0.1' \
    -keyout "$work/key.pem" -out "$work/cert.pem" >/dev/null 2>&1
chmod 0600 "$work/key.pem"
start_server "$work/data" --tls-cert "$work/cert.pem" --tls-key "$work/key.pem"
expect "with an RSA key no session without forward secrecy" "$(negotiated -tls1_2 -cipher AES128-GCM-SHA256)" ""
expect "but one with it" "$(negotiated -tls1_2 -cipher ECDHE-RSA-AES128-GCM-SHA256)" TLSv1.2
stop_server

# Connections that begin a handshake and say no more are closed, descriptors and all.
start_server "$work/data" --tls-cert "$work/cert.pem" --tls-key "$work/key.pem" --timeout 1
# Clock ticks of which a second has a hundred: a thread that never sleeps takes 50.
ticks() { sed 's/.*) //' "/proc/$server_pid/stat" | awk '{ print $12 + $13 }'; }
half_a_second_takes() {
    ticks=$(ticks)
    sleep 0.5
    ticks=$(($(ticks) - ticks))
    [ "$ticks" -le 25 ] && echo little || echo "$ticks ticks"
}
descriptors() { find "/proc/$server_pid/fd" | wc -l; }
before=$(descriptors)
python3 - "${url##*:}" <<'END' &
import socket, sys, time
lines = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for i in range(20)]
for line in lines:
    line.sendall(b"\x16\x03\x01\x02")
time.sleep(60)
END
stalling=$!
more_than_before() { [ "$(descriptors)" -ge $((before + 20)) ]; }
as_before() { [ "$(descriptors)" -le "$before" ]; }
wait_for more_than_before
expect "half a handshake holds a connection" $? 0
expect "and next to no processor" "$(half_a_second_takes)" little
wait_for as_before
expect "but not for ever" $? 0
kill $stalling
stop_server
