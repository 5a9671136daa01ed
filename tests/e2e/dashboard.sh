# The dashboard in a real browser, against a real server with real devices:
# tests/web/dashboard.mjs says what is looked at.
. tests/common/tap.sh
. tests/common/server.sh
. tests/common/web.sh
skip_unless_browser "the dashboard in a browser"

run_web tests/web/gaussian.mjs
run_web tests/web/parts.mjs

# Names and title full of markup, and 50 features.
study_text '{"kind": "one-shot"}' | sed 's/"epsilon": 8/"epsilon": 40/' >"$work/plain.json"
study_text '{"kind": "one-shot"}' | sed 's|steps, sleep and pulse|<img src=x onerror=alert(1)> \&amp; <b>bold</b>|
    s|"name": "steps"|"name": "<script>alert(2)</script>"|' >"$work/markup.json"
study_text '{"kind": "iterative", "rounds": 3, "radius": 2}' >"$work/rounds.json"
{
    printf '{"tremolo": 1, "title": "fifty at once", "features": ['
    for i in $(seq 50); do printf '%s{"name": "feature number %d", "low": 0, "high": %d}' "${comma-}" "$i" "$i" && comma=,; done
    printf '], "response": {"name": "score", "low": 0, "high": 100},'
    printf '"privacy": {"epsilon": 50, "protects": "features"}, "protocol": {"kind": "one-shot"}}'
} >"$work/fifty.json"

start_server "$work/data"
cat >"$work/setting.json" <<TEXT
{"url": "$url", "swarm": "$swarm", "work": "$work",
 "plain": "$(create_study "$work/plain.json")", "markup": "$(create_study "$work/markup.json")",
 "rounds": "$(create_study "$work/rounds.json")", "fifty": "$(create_study "$work/fifty.json")"}
TEXT
id_of() { sed "s/.*\"$1\": \"\([^\"]*\)\".*/\1/;t;d" "$work/setting.json"; }
$swarm --url "$url/v1/studies/$(id_of rounds)" --devices 2000 --batch 100 --token-file "$work/data/operator.token" >"$work/out" 2>&1
expect "devices report in three rounds" $? 0
$swarm --url "$url/v1/studies/$(id_of fifty)" --devices 3000 --batch 500 >"$work/out" 2>&1
expect "devices report fifty features" $? 0
run_web tests/web/dashboard.mjs "$work/setting.json"
