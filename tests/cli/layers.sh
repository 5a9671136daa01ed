# The layer check must pass on the tree and fail on a turned arrow and on a
# device that needs anything.
. tests/common/tap.sh
build=${BUILD:-build}
rules="device: privacy: host:device,"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/obj/src/device" "$scratch/obj/src/privacy" "$scratch/obj/src/host"
compile() { printf '%s\n' "$2" | ${CC:-cc} -x c -c -O0 -fno-builtin -o "$scratch/obj/src/$1.o" -; }
check() { BUILD=$scratch tools/check-layers $rules >"$scratch/out" 2>&1; }

compile device/a 'int device_call(void) { return 1; }'
compile host/b 'int device_call(void); int host_call(void) { return device_call(); }'
compile privacy/c 'int privacy_call(void) { return 2; }'
check
expect "a sound tree passes" $? 0

compile privacy/c 'int device_call(void); int privacy_call(void) { return device_call(); }'
check
expect "an arrow that turns back fails" $? 1
expect_match "and is named" "$scratch/out" 'privacy/ may not use device/'

compile privacy/c 'int privacy_call(void) { return 2; }'
compile device/a 'void *memcpy(void *, const void *, unsigned long); int device_call(char *p) { memcpy(p, p + 8, 8); return 1; }'
check
expect "a device that needs memcpy fails" $? 1
expect_match "and the symbol is named" "$scratch/out" 'memcpy'

cat >"$scratch/include.c" <<'SOURCE'
#include "tremolo_device.h"
SOURCE
${CC:-cc} -Isrc/include -Isrc/privacy/include -c -o "$scratch/include.o" "$scratch/include.c" 2>"$scratch/out"
expect "privacy/ cannot include the device's header" $? 1
