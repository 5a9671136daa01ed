# The clustered path against the embedded one, in one run on one machine: reports
# a second and processor time a report, then how long things take. Ratios and
# processor times mean something; the rates share this machine's cores
# between clients, gateways, folders and nodes.
#
#   BENCH_BATCHED=N   reports of each throughput run (default 2,000,000)
#   BENCH_LONG=1      memory of a folder at 10 million ids
. tests/common/tap.sh
if ! command -v nats-server >/dev/null && [ ! -x /usr/sbin/nats-server ] || ! command -v socat >/dev/null; then
    echo "skipped: nats-server or socat is not installed (tools/setup cluster)"
    exit 0
fi
. tests/cluster/cluster.sh
reports=${BENCH_BATCHED:-2000000}
make -s BUILD="${BUILD:-build}" "${BUILD:-build}/bin/bench/flood" "${BUILD:-build}/bin/tests/e2e/forge" \
    "${BUILD:-build}/bin/tests/cluster/probe" >/dev/null || exit 1
flood=${BUILD:-build}/bin/bench/flood
forge=${BUILD:-build}/bin/tests/e2e/forge

# cpu_of NAME...: seconds of processor time that these processes of ours took.
cpu_of() {
    for process in "$@"; do sed 's/.*) //' "/proc/$(pid_of "$process")/stat"; done |
        awk -v tick="$(getconf CLK_TCK)" '{ sum += $12 + $13 } END { printf "%.3f", sum / tick }'
}
resident_mib() { awk '/VmRSS/ { printf "%.0f", $2 / 1024 }' "/proc/$(pid_of "$1")/status"; }
per_report() { awk -v cpu="$1" -v before="$2" -v n="$3" 'BEGIN { printf "%.2f", (cpu - before) * 1e6 / n }'; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a / b }'; }

awk 'BEGIN { printf "{\"tremolo\": 1, \"title\": \"ten features\", \"features\": ["
    for (i = 0; i < 10; i++) printf "%s{\"name\": \"x%d\", \"low\": 0, \"high\": 1}", i ? ", " : "", i
    print "], \"response\": {\"name\": \"y\", \"low\": 0, \"high\": 1}, \"privacy\": {\"epsilon\": 2, \"protects\": \"features\"}, \"protocol\": {\"kind\": \"one-shot\"}}" }' >"$work/ten.json"

# begin URL: creates the study there, sets id, path and a report to copy.
begin() {
    id=$(create_study "$1" "$work/ten.json")
    path=/v1/studies/$id/reports
    curl -s "$1/v1/studies/$id" >"$work/published"
    $forge "$work/published" "$work/report"
}
covers() { [ "$(reports_in "$1" "$id" || echo 0)" -ge "$2" ] 2>/dev/null; }

# ---------------------------------------------------------------- embedded

mkdir -p "$work/keys"
$tremolo serve --data "$work/keys" --listen 127.0.0.1:0 --quiet >"$work/single.out" 2>"$work/single.log" &
note_pid single $!
wait_until 10 grep -q '^server key' "$work/single.out" || exit 1
url=$(sed -n 's/^listening on //p' "$work/single.out")
begin "$url"
before=$(cpu_of single)
rate=$($flood "${url##*:}" "$path" "$work/report" 1000 4 "$reports")
embedded=$(per_report "$(cpu_of single)" "$before" "$reports")
printf 'embedded, batches of 1,000 at d = 10: %s reports/s, %s us of processor a report\n' "$rate" "$embedded"
end_process single

# ---------------------------------------------------------------- clusters

# measure WHAT NODES...: floods a cluster and says what each part of it took.
measure() {
    what=$1
    shift
    url=$(gateway_url a)
    begin "$url"
    gateway_before=$(cpu_of gateway.a) folder_before=$(cpu_of folder.a) nats_before=$(cpu_of "$@")
    start=$(now_ms)
    rate=$($flood "${url##*:}" "$path" "$work/report" 1000 4 "$reports")
    sent=$(now_ms)
    wait_until 120 covers "$url" "$reports" || echo "  the estimate covers $(reports_in "$url" "$id") reports only"
    counted=$(now_ms)
    gateway_cost=$(per_report "$(cpu_of gateway.a)" "$gateway_before" "$reports")
    folder_cost=$(per_report "$(cpu_of folder.a)" "$folder_before" "$reports")
    nats_cost=$(per_report "$(cpu_of "$@")" "$nats_before" "$reports")
    total=$(awk -v a="$gateway_cost" -v b="$folder_cost" -v c="$nats_cost" 'BEGIN { printf "%.2f", a + b + c }')
    printf '%s: %s reports/s, %s us a report = %s times embedded (gateway %s, folder %s, NATS %s)\n' "$what" "$rate" \
        "$total" "$(ratio "$total" "$embedded")" "$gateway_cost" "$folder_cost" "$nats_cost"
    printf '  all counted %s ms after the last acknowledgement, %s ms after the first report\n' \
        $((counted - sent)) $((counted - start))
    printf '  log: %s bytes a report; folder: %s MiB resident with %s ids\n' \
        "$(awk -v b="$(stream_bytes)" -v n="$reports" 'BEGIN { printf "%.1f", b / n }')" "$(resident_mib folder.a)" "$reports"
}
stream_bytes() {
    tag=$(printf '%s=' "$id" | tr '_-' '/+' | base64 -d 2>/dev/null | od -An -N16 -tx1 | tr -d ' \n')
    as_user operator 1 request "\$JS.API.STREAM.INFO.TREMOLO-$tag" | sed -n 's/.*"state":{"messages":[0-9]*,"bytes":\([0-9]*\).*/\1/p'
}
begin_cluster() {
    cluster_start || exit 1
    gateway_start a --quiet
    gateway_wait a || exit 1
    folder_start a
}

cluster_nodes=1
begin_cluster
measure "one NATS node, one copy" nats.1
# One report, until the estimate has it; ten times.
sort_numbers() { sort -n | awk '{ v[NR] = $1 } END { printf "median %d ms, longest %d ms\n", v[int((NR + 1) / 2)], v[NR] }'; }
for i in $(seq 10); do
    sleep 1.1 # ids of flood begin with the second
    have=$(reports_in "$url" "$id")
    start=$(now_ms)
    $flood "${url##*:}" "$path" "$work/report" 1 1 1 >/dev/null
    tries=0
    until covers "$url" $((have + 1)) || [ $((tries = tries + 1)) -gt 1000 ]; do :; done
    echo $(($(now_ms) - start))
done >"$work/lags"
printf '  from a report to the estimate that has it: %s' "$(sort_numbers <"$work/lags")"
echo
if [ -n "${BENCH_LONG:-}" ]; then
    $flood "${url##*:}" "$path" "$work/report" 1000 4 $((10000000 - reports)) >/dev/null
    wait_until 300 covers "$url" 10000000
    printf '  memory at 10 million ids: folder %s MiB, gateway %s MiB\n' "$(resident_mib folder.a)" "$(resident_mib gateway.a)"
fi
cluster_stop
rm -rf "$nats" "$work/port.a"

cluster_nodes="1 2 3"
begin_cluster
folder_start b
measure "three NATS nodes, three copies" nats.1 nats.2 nats.3
# The owner of shards dies; reports for all shards are sent at once.
for i in 1 2 3 4 5; do
    wait_until 30 cluster_is_well
    sleep 3
    have=$(reports_in "$url" "$id")
    victim=$([ $((i % 2)) = 1 ] && echo a || echo b)
    end_process "folder.$victim" KILL
    start=$(now_ms)
    $flood "${url##*:}" "$path" "$work/report" 64 1 64 >/dev/null
    wait_until 60 covers "$url" $((have + 64))
    echo $(($(now_ms) - start))
    folder_start "$victim"
done >"$work/takeovers"
printf '  kill -9 of a folder until its shards count again: %s' "$(sort_numbers <"$work/takeovers")"
echo
