# nginx before a server, with the lines of docs/how-to/server.md that ask for a password
# at the dashboard: devices and participants get through, others do not.
# Without nginx this is skipped.
. tests/common/tap.sh
nginx=$(command -v nginx || ls /usr/sbin/nginx 2>/dev/null)
if [ -z "$nginx" ]; then
    echo "ok 1 - the proxy of docs/how-to/server.md # SKIP nginx is not installed (tools/setup test brings it)"
    exit 0
fi
. tests/common/server.sh
nginx_pid=
trap '[ -z "$nginx_pid" ] || kill "$nginx_pid"; stop_server >/dev/null 2>&1; rm -rf "$work"' EXIT
start_server "$work/data"
study_text '{"kind": "one-shot"}' >"$work/study.json"
id=$(create_study "$work/study.json")
echo "ada:$(openssl passwd -apr1 secret)" >"$work/users"
chmod 711 "$work" # nginx' workers are another user's when root starts it
chmod 644 "$work/users"

# The documented lines: from the first 'location ~' of that section to its end.
sed -n '/^## Who sees/,/^## Sizes/p' docs/how-to/server.md | sed -n '/^    location ~/,/^    }/p' |
    sed "s|/etc/nginx/tremolo.users|$work/users|" >"$work/locations"

# nginx_start PORT: the documented site, except addresses and TLS, which is the proxy's own
# affair; non-zero when the port is taken.
nginx_start() {
    sed -n '/^    map .request_method/,/^    }/p' docs/how-to/server.md | grep -v 'ssl_cert\|server_name\|location / ' |
        sed -e "s|127.0.0.1:8787|${url#http://}|" -e "s|listen 443 ssl http2|listen 127.0.0.1:$1|" \
            -e '/location = .metrics/r '"$work/locations" >"$work/site"
    {
        echo "daemon off; pid $work/nginx.pid; error_log $work/nginx.log; worker_processes 1;"
        echo "events { worker_connections 64; }"
        echo "http { client_body_temp_path $work/b; proxy_temp_path $work/p;"
        echo "fastcgi_temp_path $work/f; uwsgi_temp_path $work/u; scgi_temp_path $work/s;"
        cat "$work/site"
        echo "}"
    } >"$work/nginx.conf"
    "$nginx" -c "$work/nginx.conf" -e "$work/nginx.log" 2>>"$work/nginx.err" &
    nginx_pid=$!
    for _ in $(seq 100); do
        sleep 0.2
        kill -0 "$nginx_pid" 2>/dev/null || return 1
        [ "$(http_status "http://127.0.0.1:$1/")" = 000 ] || return 0
    done
    return 1
}
proxy=
for _ in 1 2 3 4 5; do
    try=$((10000 + $(od -An -N2 -tu2 /dev/urandom) % 20000))
    if nginx_start "$try"; then
        proxy=http://127.0.0.1:$try
        break
    fi
    kill "$nginx_pid" 2>/dev/null
    nginx_pid=
done
expect "nginx starts with the documented lines" "${proxy:+yes}" yes
[ -n "$proxy" ] || { sed 's/^/# /' "$work/nginx.err"; exit 1; }

# Devices.
study=$proxy/v1/studies/$id
echo '{"steps": 8000, "sleep": 7, "pulse": 60, "score": 50}' >"$work/sample.json"
echo '{"epsilon_per_study": 20, "epsilon_total": 40}' >"$work/policy.json"
$tremolo report --study "$study" --state "$work/device" --sample "$work/sample.json" --policy "$work/policy.json" \
    --enrol --trust-new >"$work/out" 2>&1
expect "a device reports through the proxy" "$?" 0
expect_match "and is answered" "$work/out" 'accepted'
expect "the server has the report" "$(curl -s "$url/v1/studies/$id/estimate" | grep -c '"reports": *1[,}]')" 1

# Participants: the page, whatever it refers to, and every request of its scripts.
expect "the participant's page" "$(http_status "$proxy/studies/$id/about")" 200
assets=$(grep -o '/assets/[^"]*' "$work/body")
expect "refers to assets" "$([ "$(echo "$assets" | wc -l)" -ge 3 ] && echo yes)" yes
for path in $assets; do expect "${path#/}" "$(http_status "$proxy$path")" 200; done
for route in "" /round /guarantee; do
    expect "GET /v1/studies/ID$route" "$(http_status "$study$route")" 200
done
expect "POST /v1/studies/ID/reports gets to the server" \
    "$(http_status -H 'Content-Type: application/cbor' --data-binary x "$study/reports")" 400
expect "the pages' policy comes through" \
    "$(curl -s -I "$proxy/studies/$id/about" | grep -ci '^content-security-policy: default-src .none.')" 1

# Everybody else.
for route in / /studies/"$id" /v1/studies /v1/studies/"$id"/estimate /v1/studies/"$id"/history /healthz; do
    expect "$route asks for a password" "$(http_status "$proxy$route")" 401
    expect "  and opens with it" "$(http_status -u ada:secret "$proxy$route")" 200
    expect "  and with no other" "$(http_status -u ada:guess "$proxy$route")" 401
done
for route in /v1/studies /v1/studies/"$id"/round/close /v1/studies/"$id"/discard /v1/studies/"$id"/devices; do
    expect "the operator's POST $route does not pass" "$(http_status -X POST \
        -H "Authorization: Bearer $(cat "$data/operator.token")" -d '' "$proxy$route")" 401
done
