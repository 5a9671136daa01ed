# The server against nginx's empty 204, and on its own. Same machine, loopback,
# one run, both in turn several times and the medians compared, so that the
# ratios mean something where the absolute numbers do not. Both run as they do by
# themselves: nginx with a worker for each processor, the server with a request thread for
# two. wrk has 64 keep-alive connections and makes every report a new one for both. With one
# thread it leaves a processor to whom it asks, but may be what limits nginx; with two it
# takes turns with the server on both processors. Both ratios are printed.
#
# BENCH_TURNS turns (5) of BENCH_SECONDS (3) each. BENCH_DATA is where the data
# directory lies (the temporary directory); a tmpfs there shows what remains
# when syncs cost nothing. BENCH_THREADS gives the server another number of
# request threads. BENCH_LONG=1 also measures 10 million reports.
. tests/common/server.sh
seconds=${BENCH_SECONDS:-3} turns=${BENCH_TURNS:-5}
built=${BUILD:-build}/bin
make -s BUILD="${BUILD:-build}" "$built/bench/flood" "$built/bench/pace" "$built/tests/e2e/forge" >/dev/null || exit 1
directory=$(mktemp -d "${BENCH_DATA:-$work}/data.XXXXXX") || exit 1
nginx_pid=
trap 'stop_server >/dev/null 2>&1; [ -z "$nginx_pid" ] || kill "$nginx_pid" 2>/dev/null; rm -rf "$work" "$directory"' EXIT

awk 'BEGIN { printf "{\"tremolo\": 1, \"title\": \"ten features\", \"features\": ["
    for (i = 0; i < 10; i++) printf "%s{\"name\": \"x%d\", \"low\": 0, \"high\": 1}", i ? ", " : "", i
    print "], \"response\": {\"name\": \"y\", \"low\": 0, \"high\": 1}, \"privacy\": {\"epsilon\": 2, \"protects\": \"features\"}, \"protocol\": {\"kind\": \"one-shot\"}}" }' >"$work/ten.json"

start_server "$directory" --quiet ${BENCH_THREADS:+--threads "$BENCH_THREADS"} || exit 1
id=$(create_study "$work/ten.json")
port=${url##*:}
reports="/v1/studies/$id/reports"
curl -s "$url/v1/studies/$id" >"$work/published"
$built/tests/e2e/forge "$work/published" "$work/report"
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

# load NAME THREADS URL: one turn of wrk; its rate is added to $work/rates.NAME.THREADS.
load() {
    wrk -t"$2" -c64 -d"${seconds}s" --latency -s bench/server_post.lua "$3$reports" >"$work/wrk.$1.$2"
    sed -n 's/^Requests\/sec: *//p' "$work/wrk.$1.$2" >>"$work/rates.$1.$2"
    sed -n 's/ requests in .*//p' "$work/wrk.$1.$2" >>"$work/requests.$1"
    grep -E 'Non-2xx|Socket errors' "$work/wrk.$1.$2"
}
# median FILE; metric NAME: a number of the server's; processor PID..: their seconds, the server's without.
median() { sort -n "$1" | awk '{ v[NR] = $1 } END { printf "%.0f", NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
metric() { curl -s "$url/metrics" | sed -n "s/^$1 //p"; }
processor() {
    for pid in "${@:-$server_pid}"; do cat "/proc/$pid/stat"; done |
        awk -v tick="$(getconf CLK_TCK)" '{ sum += $14 + $15 } END { printf "%.2f", sum / tick }'
}
latency() { sed -n "s/^ *$2% *//p" "$1"; }

for _ in $(seq "$turns"); do
    for threads in 1 2; do
        load nginx $threads "http://127.0.0.1:$nginx_port"
        load tremolo $threads "$url"
    done
done
theirs=$(processor $(cat "/proc/$nginx_pid/task/$nginx_pid/children"))
kill $nginx_pid
wait $nginx_pid 2>/dev/null
nginx_pid=
printf '%d processors, load %s, data on %s\n' "$(nproc)" \
    "$(cut -d' ' -f1 /proc/loadavg)" "$(df --output=fstype "$directory" | tail -1)"
awk -v seconds="$(metric tremolo_sync_seconds_total)" -v groups="$(metric tremolo_group_commits_total)" \
    -v reports="$(metric 'tremolo_reports_total{outcome="accepted"}')" -v ours="$(processor)" -v theirs="$theirs" \
    '{ requests += $1 } END {
        printf "  %.0f reports in a group commit, %.2f ms a sync\n", reports / groups, 1e3 * seconds / groups
        ours *= 1e6 / reports; theirs *= 1e6 / requests
        printf "  processor time: %.1f us a report, nginx %.1f us an empty 204, ratio %.2f\n", ours, theirs, ours / theirs
    }' "$work/requests.nginx"
printf 'single POSTs, 64 connections, medians of %d turns\n' "$turns"
for threads in 1 2; do
    ours=$(median "$work/rates.tremolo.$threads") theirs=$(median "$work/rates.nginx.$threads")
    printf '  wrk -t%d: %s/s durable, nginx empty 204 %s/s, ratio %s (turns %s); p50 %s, p99 %s\n' $threads \
        "$ours" "$theirs" "$(awk -v a="$ours" -v b="$theirs" 'BEGIN { printf "%.2f", a / b }')" \
        "$(paste "$work/rates.tremolo.$threads" "$work/rates.nginx.$threads" |
            awk '{ printf "%s%.2f", (NR > 1 ? " " : ""), $1 / $2 }')" \
        "$(latency "$work/wrk.tremolo.$threads" 50)" "$(latency "$work/wrk.tremolo.$threads" 99)"
done
half=$(awk -v a="$ours" 'BEGIN { printf "%.0f", a / 2 }')
$built/bench/pace "$port" "$reports" "$work/report" "$half" 64 "$((2 * seconds))" |
    awk -v asked="$half" '{ printf "  latency at half load, %s/s asked on a schedule, 64 connections, %s/s answered: p50 %.2f ms, p99 %.2f ms, p99.9 %.2f ms\n", asked, $1, $2 / 1e3, $3 / 1e3, $4 / 1e3 }'
# batches KIND PATH REPORT COUNT: rate and processor time.
batches() {
    before=$(processor)
    rate=$($built/bench/flood "$port" "$2" "$3" 1000 4 "$4")
    awk -v kind="$1" -v rate="$rate" -v spent="$(processor)" -v before="$before" -v count="$4" 'BEGIN {
        printf "batches of 1,000 %s, d = 10, 4 connections: %s durable reports/s, %.2f us of processor time a report\n",
            kind, rate, 1e6 * (spent - before) / count }'
}
batches "noisy samples" "$reports" "$work/report" "${BENCH_BATCHED:-2000000}"
sed 's/"protects": "features"/"protects": "all", "neighbours": "any"/; s/ten features/ten features, ballots/' "$work/ten.json" >"$work/ballots.json"
ballots=$(create_study "$work/ballots.json")
curl -s "$url/v1/studies/$ballots" >"$work/published"
$built/tests/e2e/forge "$work/published" "$work/ballot"
batches ballots "/v1/studies/$ballots/reports" "$work/ballot" "${BENCH_BATCHED:-2000000}"
if [ -n "${BENCH_LONG:-}" ]; then
    so_far=$(metric "tremolo_study_reports{study=\"$id\"}")
    $built/bench/flood "$port" "$reports" "$work/report" 1000 4 $(((10000000 - so_far) / 1000 * 1000)) >/dev/null
fi
count=$(metric "tremolo_study_reports{study=\"$id\"}")
printf 'memory with %s reports: %s MiB\n' "$count" "$(metric process_resident_memory_bytes | awk '{ printf "%.0f", $1 / 1048576 }')"
port=
stop_server
start=$(date +%s.%N)
start_server "$directory" --quiet
printf 'start-up from %s reports: %s s, %s s of processor time; %s MiB on disk\n' "$count" \
    "$(awk -v a="$start" -v b="$(date +%s.%N)" 'BEGIN { printf "%.2f", b - a }')" \
    "$(processor)" \
    "$(du -sm "$directory" | cut -f1)"
