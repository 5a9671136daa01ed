# The pages: bytes that travel, first paint, how long a phone is blocked, and what one refresh costs the
# browser, with 50 features and many reports. BENCH_LONG=1 takes 10 million, and asks Lighthouse (from npm) for
# the middle of five; that counts time on the wall, so leave the machine alone meanwhile.
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
for page in "" "/studies/$ten/about"; do
    run_web bench/web.mjs "$url$page" "${page:-the list}"
done

# lighthouse PATH: scores, layout shift and blocking time, the middle of five each.
lighthouse() {
    for _ in 1 2 3 4 5; do
        CHROME_PATH=$(command -v chromium) "$npm_home/lighthouse/node_modules/.bin/lighthouse" "$url$1" --quiet --output=json --chrome-flags="--headless=new --no-sandbox" |
            jq -r '[.categories.performance.score, .categories.accessibility.score, .categories["best-practices"].score,
                .audits["cumulative-layout-shift"].numericValue, .audits["total-blocking-time"].numericValue] | @tsv'
    done | sort -n | awk -v page="$1" 'NR == 3 { printf "%s: performance %.0f, accessibility %.0f, best practices %.0f, layout shift %.3f, blocked %.0f ms\n",
        page, 100 * $1, 100 * $2, 100 * $3, $4, $5 }'
}
if [ -n "${BENCH_LONG:-}" ]; then
    npm install --prefix "$npm_home/lighthouse" --no-audit --no-fund --ignore-scripts --no-save lighthouse@12.8.2 >"$work/npm" 2>&1 || exit 1
    for page in / "/studies/$ten" "/studies/$ten/about"; do lighthouse "$page"; done
fi
