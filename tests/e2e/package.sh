# The npm package as a stranger gets it: packed, installed into an empty project without a
# network, checked by tsc --strict, run by Node and in a browser against a real server.
. tests/common/tap.sh
. tests/common/server.sh
. tests/common/web.sh
if ! command -v tsc >/dev/null; then
    echo "ok 1 - the npm package # SKIP tsc is not installed ('tools/setup test' brings it)"
    exit 0
fi
skip_unless_browser "the npm package"

assembled=$work/pack/tremolo-device
tools/npm-package "$assembled" "$(cat VERSION)" && tools/npm-package --pack "$assembled" >"$work/log" 2>&1
expect "it is packed, and its types are sound" "$? $(cat "$work/log")" "0 tremolo-device-$(cat VERSION).tgz"
kilobytes() { echo $((($(stat -c %s "$1") + 500) / 1000)); }
expect "its README states its sizes" "$(sed -n 's/.*prints them: \([0-9]*\) kB of WebAssembly.*; \([0-9]*\) kB packed.*/\1 \2/p' ports/wasm/README.md)" \
    "$(kilobytes "$assembled.core/tremolo.wasm") $(kilobytes "$work/pack/tremolo-device-$(cat VERSION).tgz")"
mkdir "$work/project"
cp tests/web/package_consumer.mts "$work/project/"
(cd "$work/project" && npm init -y >/dev/null && npm install --offline --no-audit --no-fund --ignore-scripts \
    "$work/pack/tremolo-device-$(cat "$OLDPWD/VERSION").tgz") >"$work/log" 2>&1
expect "it installs into an empty project without a network" $? 0
expect "and brings nothing else" "$(ls "$work/project/node_modules")" tremolo-device
expect "what is in it" "$(cd "$work/project/node_modules/tremolo-device" && ls | grep -v '\.mjs$\|\.d\.mts$' | tr '\n' ' ')" \
    "LICENSE README.md package.json "
(cd "$work/project" && tsc --strict --target es2022 --module nodenext --moduleResolution nodenext --lib es2022,dom \
    package_consumer.mts) >"$work/log" 2>&1
expect "an application in TypeScript passes tsc --strict" "$? $(cat "$work/log")" "0 "

start_server "$work/data"
$tremolo study init >"$work/one.json"
study=$url/v1/studies/$(create_study "$work/one.json")
sed 's/"title": "/"title": "Closed: /' "$work/one.json" | python3 -c '
import json, sys
study = json.load(sys.stdin)
study["limits"] = {"opens": "2020-01-01", "closes": "2020-02-01"}
print(json.dumps(study))' >"$work/closed.json"
closed=$url/v1/studies/$(create_study "$work/closed.json")
key=$(sed -n 's/^server key //p' "$work/server.out")
for visit in "1,0" "0,1"; do
    node "$work/project/package_consumer.mjs" "$study" "$key" "$work/ledger" >"$work/out" 2>"$work/err"
    expect "Node takes part: accepted, repeated" \
        "$(sed 's/.*"accepted":\([0-9]*\),"repeated":\([0-9]*\).*/\1,\2/' "$work/out")" "$visit"
    sed 's/.*"bytes"/"bytes"/' "$work/out" >>"$work/bytes"
done
expect "with the same bytes both times" "$(sort -u "$work/bytes" | wc -l)" 1
cat >"$work/setting.json" <<TEXT
{"url": "$url", "key": "$key", "study": "$study", "closed": "$closed", "project": "$work/project"}
TEXT
run_web tests/web/package.mjs "$work/setting.json"
