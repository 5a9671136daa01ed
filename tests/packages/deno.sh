# The npm package where neither Node nor a browser runs it: Deno, which comes from npm into a folder
# of the build; where there is no network it is left out, and that is said.
. tests/common/tap.sh
. tests/common/server.sh
build=$(realpath "${BUILD:-build}")
deno=$build/deno-tools/node_modules/.bin/deno
if [ ! -x "$deno" ]; then
    mkdir -p "$build/deno-tools"
    if ! (cd "$build/deno-tools" && timeout 600 npm install --silent --prefix . --no-audit --no-fund deno) >"$work/log" 2>&1; then
        rm -rf "$build/deno-tools"
        echo "ok 1 - Deno # SKIP it could not be installed: $(tail -n 1 "$work/log")"
        exit 0
    fi
fi
version=$(cat VERSION)
tools/npm-package "$work/pack/tremolo-device" "$version" && tools/npm-package --pack "$work/pack/tremolo-device" >"$work/log" 2>&1
expect "it is packed" $? 0
mkdir "$work/project"
cp tests/web/package_consumer.mts "$work/project/"
(cd "$work/project" && npm init -y && npm install --offline --no-audit --no-fund --ignore-scripts "$work/pack/tremolo-device-$version.tgz") >"$work/log" 2>&1
expect "and installed" $? 0

start_server "$work/data"
$tremolo study init >"$work/one.json"
study=$url/v1/studies/$(create_study "$work/one.json")
key=$(sed -n 's/^server key //p' "$work/server.out")
export DENO_DIR="$work/deno" DENO_NO_UPDATE_CHECK=1
# takes_part FOLDER: as a process that may read and write that folder, its own files and this server.
takes_part() {
    (cd "$work/project" && timeout 120 "$deno" run --quiet --cached-only --no-prompt --allow-read="$work" --allow-write="$1" --allow-env \
        --allow-sys --allow-net="${url#http://}" package_consumer.mts "$study" "$key" "$1") >"$work/out" 2>"$work/err" || cat "$work/err"
}
for visit in "1,0" "0,1"; do
    takes_part "$work/ledger"
    expect "Deno takes part: accepted, repeated" \
        "$(sed 's/.*"accepted":\([0-9]*\),"repeated":\([0-9]*\).*/\1,\2/' "$work/out")" "$visit"
    sed 's/.*"bytes"/"bytes"/' "$work/out" >>"$work/bytes"
done
expect "with the same bytes both times" "$(sort -u "$work/bytes" | wc -l)" 1
expect "it counts once" "$(curl -s "$study/estimate" | sed 's/.*"reports": *\([0-9]*\).*/\1/')" 1
