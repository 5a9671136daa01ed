# The server against nginx's empty 204, and on its own. Same machine, loopback,
# one run, so that the ratios mean something where the absolute numbers do
# not. BENCH_LONG=1 also measures 10 million reports.
. tests/common/server.sh
seconds=${BENCH_SECONDS:-5}
make -s BUILD="${BUILD:-build}" "${BUILD:-build}/bin/bench/flood" "${BUILD:-build}/bin/tests/e2e/forge" >/dev/null || exit 1
flood=${BUILD:-build}/bin/bench/flood
forge=${BUILD:-build}/bin/tests/e2e/forge

awk 'BEGIN { printf "{\"tremolo\": 1, \"title\": \"ten features\", \"features\": ["
    for (i = 0; i < 10; i++) printf "%s{\"name\": \"x%d\", \"low\": 0, \"high\": 1}", i ? ", " : "", i
    print "], \"response\": {\"name\": \"y\", \"low\": 0, \"high\": 1}, \"privacy\": {\"epsilon\": 2, \"protects\": \"features\"}, \"protocol\": {\"kind\": \"one-shot\"}}" }' >"$work/ten.json"

start_server "$work/data" --quiet || exit 1
id=$(create_study "$work/ten.json")
curl -s "$url/v1/studies/$id" >"$work/published"
$forge "$work/published" "$work/report"
export REPORT="$work/report"

# nginx: the same POST, an empty 204.
mkdir -p "$work/nginx"
nginx_port=$(awk 'BEGIN { srand(); print 20000 + int(rand() * 20000) }')
cat >"$work/nginx.conf" <<CONF
worker_processes auto; pid $work/nginx/pid; error_log $work/nginx/error.log; daemon off;
events { worker_connections 1024; }
http { access_log off; client_body_temp_path $work/nginx/body; proxy_temp_path $work/nginx/p;
 fastcgi_temp_path $work/nginx/f; uwsgi_temp_path $work/nginx/u; scgi_temp_path $work/nginx/s;
 keepalive_requests 100000000;
 server { listen 127.0.0.1:$nginx_port; location / { return 204; } } }
CONF
nginx -c "$work/nginx.conf" 2>/dev/null &
nginx_pid=$!
sleep 1

# rate OUTPUT, latency OUTPUT P: numbers out of wrk's text.
rate() { sed -n 's/^Requests\/sec: *//p' "$1"; }
latency() { sed -n "s/^ *$2% *//p" "$1"; }

wrk -t2 -c64 -d"${seconds}s" --latency -s bench/server_post.lua "http://127.0.0.1:$nginx_port/v1/studies/$id/reports" >"$work/wrk.nginx"
wrk -t2 -c64 -d"${seconds}s" --latency -s bench/server_post.lua "$url/v1/studies/$id/reports" >"$work/wrk.tremolo"
kill $nginx_pid
wait $nginx_pid 2>/dev/null
ours=$(rate "$work/wrk.tremolo") theirs=$(rate "$work/wrk.nginx")
printf 'single POSTs, 64 connections: %s/s durable, nginx empty 204 %s/s, ratio %s\n' "$ours" "$theirs" \
    "$(awk -v a="$ours" -v b="$theirs" 'BEGIN { printf "%.2f", a / b }')"
printf '  latency at full load: p50 %s, p99 %s\n' "$(latency "$work/wrk.tremolo" 50)" "$(latency "$work/wrk.tremolo" 99)"
grep -E 'Non-2xx|Socket errors' "$work/wrk.tremolo"
wrk -t1 -c8 -d"${seconds}s" --latency -s bench/server_post.lua "$url/v1/studies/$id/reports" >"$work/wrk.half"
printf '  with 8 connections: %s/s, p50 %s, p99 %s\n' "$(rate "$work/wrk.half")" "$(latency "$work/wrk.half" 50)" "$(latency "$work/wrk.half" 99)"
printf 'batches of 1,000, d = 10, 4 connections: %s durable reports/s\n' \
    "$($flood "${url##*:}" "/v1/studies/$id/reports" "$work/report" 1000 4 "${BENCH_BATCHED:-2000000}")"
if [ -n "${BENCH_LONG:-}" ]; then
    $flood "${url##*:}" "/v1/studies/$id/reports" "$work/report" 1000 4 8000000 >/dev/null
fi
count=$(curl -s "$url/v1/studies/$id/estimate" | sed 's/.*"reports":\([0-9]*\).*/\1/')
memory=$(curl -s "$url/metrics" | sed -n 's/^process_resident_memory_bytes //p')
printf 'memory with %s reports: %s MiB\n' "$count" "$(awk -v m="$memory" 'BEGIN { printf "%.0f", m / 1048576 }')"
stop_server
start=$(date +%s.%N)
start_server "$work/data" --quiet
printf 'start-up from %s reports: %s s; %s MiB on disk\n' "$count" \
    "$(awk -v a="$start" -v b="$(date +%s.%N)" 'BEGIN { printf "%.2f", b - a }')" "$(du -sm "$work/data" | cut -f1)"
