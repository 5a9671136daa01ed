# Building only ever looks for what it needs: it installs nothing. And without the
# tools of the pages there is a program without pages that says so.
. tests/common/tap.sh
. tests/common/server.sh
build=${BUILD:-build}
compiler="${CC:-cc}"
unset MAKEFLAGS MAKELEVEL MFLAGS

# Stand-ins before everything else on the path: a machine without SQLite and
# without the tools of the pages, where apt-get leaves a trace.
mkdir "$work/bin"
stand_in() { printf '#!/bin/sh\n%s\n' "$2" >"$work/bin/$1" && chmod +x "$work/bin/$1"; }
stand_in apt-get "touch $work/installed"
stand_in pkg-config "case \"\$*\" in *--exists*sqlite3*) exit 1 ;; esac; exec $(command -v pkg-config) \"\$@\""
PATH=$work/bin:$PATH make -s BUILD="$work/poor" CC="$compiler" >"$work/out" 2>&1
expect "make without SQLite ends" $? 2
expect "with one sentence" "$(grep -c . "$work/out"), $(grep -c '^make: missing here: libsqlite3-dev;' "$work/out")" "2, 1"
expect_match "that names the remedy" "$work/out" "'make deps' installs them"
expect "and nothing was installed" "$(ls "$work/installed" 2>/dev/null)" ""

# The objects of this build, without the pages.
mkdir "$work/plain"
cp -al "$build/obj" "$work/plain/obj" && cp -a "$build"/.nats-* "$build/.flags" "$work/plain/"
rm -f "$work/plain/obj/src/web/table.o" "$work/bin/pkg-config"
for tool in clang wasm-ld esbuild; do stand_in "$tool" "touch $work/used; exit 1"; done
PATH=$work/bin:$PATH make -s BUILD="$work/plain" CC="$compiler" WEB=no "$work/plain/tremolo" >"$work/out" 2>&1
expect "WEB=no builds" $? 0
expect "without clang, lld and esbuild" "$(ls "$work/used" 2>/dev/null)" ""
tremolo=$work/plain/tremolo
start_server "$work/data"
expect "the server starts" $? 0
expect "and has a page" "$(http_status "$url/")" 200
expect_match "that says there are none" "$work/body" 'built without its pages'
expect "a wrong address is no crash" "$(http_status -H 'Accept: text/html' "$url/nowhere")" 404
stop_server
printf 'x,y\n1,2\n2,3\n3,5\n4,4\n5,7\n6,6\n' >"$work/data.csv"
$tremolo simulate "$work/data.csv" --response y --epsilon 4 --save "$work/result.html" >"$work/out" 2>&1
expect "a result is saved as a page" $? 0
expect_match "which is its text" "$work/result.html" '^Coefficients \(unbiased'

# Every fuzz target is a program of its own, too, for an input that was found elsewhere.
programs=$(for source in tests/fuzz/fuzz_*.c; do echo "$work/plain/bin/${source%.c}"; done)
# shellcheck disable=SC2086 # a list of words
PATH=$work/bin:$PATH make -s -j2 BUILD="$work/plain" CC="$compiler" WEB=no $programs >"$work/out" 2>&1
expect "fuzz targets build without a fuzzer" $? 0
for program in $programs; do "$program" "$work/data.csv" || echo "$program"; done >"$work/out" 2>&1
expect "and take a file" "$(cat "$work/out")" ""
