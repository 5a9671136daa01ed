# A browser's fetch, from a page of another origin, submits a report: preflight,
# media type and CORS headers as a real browser wants them.
. tests/common/tap.sh
. tests/common/server.sh
if ! command -v chromium >/dev/null; then
    echo "ok 1 - a browser submits a report # SKIP chromium is not installed ('tools/setup test' brings it)"
    exit 0
fi
start_server "$work/data"
study_text '{"kind": "one-shot"}' >"$work/one.json"
one=$url/v1/studies/$(create_study "$work/one.json")
curl -s "$one" >"$work/published"
"${BUILD:-build}/bin/tests/e2e/forge" "$work/published" "$work/report"
cat >"$work/page.html" <<PAGE
<!doctype html><body><script>
const bytes = new Uint8Array([$(od -An -v -tu1 "$work/report" | tr -s ' \n' ',' | sed 's/^,//; s/,$//')]);
fetch('$one/reports', {method: 'POST', headers: {'Content-Type': 'application/cbor'}, body: bytes})
  .then(r => r.text()).then(t => { document.body.textContent = t; },
                            e => { document.body.textContent = 'failed: ' + e; });
</script></body>
PAGE
timeout 120 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$work/profile" \
    --virtual-time-budget=10000 --dump-dom "file://$work/page.html" >"$work/out" 2>/dev/null
expect_match "a browser submits a report" "$work/out" '"accepted":1,"repeated":0'
expect "and it counts" "$(curl -s "$one/estimate" | sed 's/.*"reports":\([0-9]*\).*/\1/')" 1
