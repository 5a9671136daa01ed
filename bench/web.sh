# The dashboard: bytes that travel, first paint, and what one refresh costs the
# browser, with 50 features and many reports. BENCH_LONG=1 takes 10 million.
. tests/common/server.sh
. tests/common/web.sh
skip_unless_browser "the dashboard, measured"
make -s BUILD="${BUILD:-build}" "${BUILD:-build}/bin/bench/flood" "${BUILD:-build}/bin/tests/e2e/forge" >/dev/null || exit 1
reports=${BENCH_LONG:+10000000}
reports=${reports:-500000}

# features N: a study with N of them.
features() {
    awk -v n="$1" 'BEGIN { printf "{\"tremolo\": 1, \"title\": \"%d features\", \"features\": [", n
        for (i = 0; i < n; i++) printf "%s{\"name\": \"feature %d\", \"low\": 0, \"high\": 1}", i ? ", " : "", i
        print "], \"response\": {\"name\": \"y\", \"low\": 0, \"high\": 1}, \"privacy\": {\"epsilon\": 40, \"protects\": \"features\"}, \"protocol\": {\"kind\": \"one-shot\"}}" }'
}
# fill ID REPORTS: copies of one honest report under ids of their own.
fill() {
    curl -s "$url/v1/studies/$1" >"$work/published"
    "${BUILD:-build}/bin/tests/e2e/forge" "$work/published" "$work/report"
    "${BUILD:-build}/bin/bench/flood" "${url##*:}" "/v1/studies/$1/reports" "$work/report" 1000 4 "$2" >"$work/out"
}
features 50 >"$work/fifty.json"
features 10 >"$work/ten.json"
start_server "$work/data" --quiet || exit 1
fifty=$(create_study "$work/fifty.json")
ten=$(create_study "$work/ten.json")
fill "$fifty" 20000
fill "$ten" "$reports"

total=0
for path in / $(curl -s "$url/" | grep -o '/assets/[^"]*\.\(js\|css\|svg\)'); do
    bytes=$(curl -s -H 'Accept-Encoding: gzip' -o "$work/file" -w '%{size_download}' "$url$path")
    total=$((total + bytes))
done
printf 'bytes of the page, compressed: %d\n' "$total"
run_web bench/web.mjs "$url/studies/$fifty" "50 features, 20,000 reports"
run_web bench/web.mjs "$url/studies/$ten" "10 features, $reports reports"
