# examples/phone: the C side as Java and Swift see it. Java is compiled and run against a real
# server; Swift is not in Debian, so its importer's view is checked by clang: the header as a module.
. tests/common/tap.sh
. tests/common/server.sh
phone=examples/phone
compiler=${CC:-cc}
strict="-std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -fPIC"
limits="-DTREMOLO_MAX_DIMENSION=2 -DTREMOLO_MAX_VECTORS=1"
tools/amalgamate "$work"
start_server "$work/data"
$tremolo study init >"$work/one.json"
study=$url/v1/studies/$(create_study "$work/one.json")
$tremolo study show "$study" --c >"$work/tremolo_the_study.h"
expect "the study as C" $? 0

for name in tremolo_phone tremolo_device; do
    source=$phone/$name.c
    [ -e "$source" ] || source=$work/$name.c
    $compiler $strict $limits -I"$work" -I$phone -c "$source" -o "$work/$name.o"
    expect "$name.c compiles" $? 0
done
echo '@import CTremolo; int use(void); int use(void) { return (int)tremolo_phone_epsilon_left("") + TREMOLO_PHONE_REPORT_BYTES; }' >"$work/use.m"
if command -v clang >/dev/null; then
    clang -x objective-c -fmodules -fmodules-cache-path="$work/modules" -fmodule-map-file=$phone/module.modulemap \
        -Wall -Werror -fsyntax-only "$work/use.m"
    expect "the header is a module, as Swift imports it" $? 0
fi
expect "Swift calls what the header declares" \
    "$(grep -o 'tremolo_phone_[a-z_]*' $phone/Tremolo.swift | sort -u | while read -r name; do
        grep -q "$name(" $phone/tremolo_phone.h || echo "$name"; done)" ""
if command -v swiftc >/dev/null; then
    swiftc -typecheck -I $phone $phone/Tremolo.swift
    expect "Swift type-checks" $? 0
else
    echo "ok - Swift # SKIP there is no swiftc in Debian 12"
fi

if ! command -v javac >/dev/null; then
    echo "ok - Java # SKIP there is no javac ('tools/setup packages' brings it)"
    exit 0
fi
home=$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")
javac -Xlint:all -Werror -h "$work/jni" -d "$work/classes" $phone/Tremolo.java >"$work/log" 2>&1
expect "javac" "$? $(cat "$work/log")" "0 "
# javac's own declarations, so that the two cannot drift apart.
$compiler $strict -I"$home/include" -I"$home/include/linux" -I$phone -include "$work/jni/Tremolo.h" -c $phone/tremolo_jni.c \
    -o "$work/tremolo_jni.o"
expect "the JNI side compiles" $? 0
$compiler -shared -o "$work/libtremolo_phone.so" "$work/tremolo_jni.o" "$work/tremolo_phone.o" "$work/tremolo_device.o"
mkdir "$work/ledger"
app() { timeout 60 java -Djava.library.path="$work" -cp "$work/classes" Tremolo "$work/ledger" "$@" 2>&1; }
expect "an app reports" "$(app "$study" 1000 2000 3000 | sed 's/ [0-9]* / N /')" "true N 100663299"
expect "and again, the same, at no cost" "$(app "$study" 5 6 7 | sed 's/ [0-9]* / N /')" "true N 100663299"
expect "it counts once" "$(curl -s "$study/estimate" | sed 's/.*"reports": *\([0-9]*\).*/\1/')" 1
app "$study" 1 2 >"$work/out"
expect_match "a refusal is an exception with its name" "$work/out" 'IllegalStateException: SHORT_BUFFER'
cp "$work/ledger/slot0" "$work/kept"
for slot in 0 1; do printf 'x' | dd of="$work/ledger/slot$slot" bs=1 seek=20 conv=notrunc 2>/dev/null; done
app "$study" 1 2 3 >"$work/out"
expect_match "a damaged ledger gives nothing" "$work/out" 'LEDGER_DAMAGED|made: -93'
