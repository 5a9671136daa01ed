# The check of the layers must pass on a sound tree and fail on a turned arrow, on a
# device that needs anything, and on a header that is used past its module's include/.
. tests/common/tap.sh
rules="device: privacy: host:device,"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
src=$scratch/src
for module in device privacy host; do mkdir -p "$scratch/obj/src/$module" "$src/$module/include" "$src/include"; done
compile() { printf '%s\n' "$2" | ${CC:-cc} -x c -c -O0 -fno-builtin -o "$scratch/obj/src/$1.o" -; }
check() { SOURCES=$src BUILD=$scratch tools/check-layers $rules >"$scratch/out" 2>&1; }
# fails NAME PATTERN: the check finds what was just written, and says so.
fails() {
    check
    expect "$1 fails" $? 1
    expect_match "and is named" "$scratch/out" "$2"
}

compile device/a 'int device_call(void) { return 1; }'
compile host/b 'int device_call(void); int host_call(void) { return device_call(); }'
compile privacy/c 'int privacy_call(void) { return 2; }'
echo 'int status_name(void);' >"$src/include/status.h"
printf '#include "status.h"\nint device_call(void);\n' >"$src/device/include/device.h"
echo 'int secret(void);' >"$src/device/inner.h"
printf '#include <stdio.h>\n#include "device.h"\n#include "inner.h"\n' >"$src/device/a.c"
printf '#include "device.h"\n' >"$src/host/b.c"
check
expect "a sound tree passes" $? 0

compile privacy/c 'int device_call(void); int privacy_call(void) { return device_call(); }'
fails "an arrow that turns back" 'privacy/ may not use device/'
compile privacy/c 'int privacy_call(void) { return 2; }'
compile device/a 'void *memcpy(void *, const void *, unsigned long); int device_call(char *p) { memcpy(p, p + 8, 8); return 1; }'
fails "a device that needs memcpy" 'memcpy'
compile device/a 'int device_call(void) { return 1; }'

echo '#include "inner.h"' >"$src/host/b.c"
fails "a private header used from outside" 'host/b.c includes inner.h, which is private to device/'
echo '#include "../device/inner.h"' >"$src/host/b.c"
fails "a path around include/" 'host/b.c includes ../device/inner.h: name the header'
echo '#include "include/device.h"' >"$src/device/a.c"
fails "a path to the own public header" 'device/a.c includes include/device.h: name the header'
rm "$src/host/b.c" "$src/device/a.c"
echo '#include "device.h"' >"$src/privacy/c.c"
fails "a public header of a module it does not depend on" 'privacy/c.c includes device.h, but privacy/ does not depend on device/'
rm "$src/privacy/c.c"
echo '#include "inner.h"' >"$src/device/include/outer.h"
fails "a public header that needs a private one" 'outer.h is public and includes inner.h, which is private'
echo '#include "device.h"' >"$src/device/include/tremolo_outer.h"
fails "an installed header that needs one that is not" 'tremolo_outer.h is installed and includes device.h'
rm "$src/device/include/outer.h" "$src/device/include/tremolo_outer.h"
echo 'size_t length(void);' >"$src/device/include/outer.h"
fails "a public header that does not compile alone" 'outer.h does not compile alone'
rm "$src/device/include/outer.h"

rules="$rules host=low,high"
mkdir -p "$src/host/low" "$src/host/high" "$scratch/obj/src/host/low" "$scratch/obj/src/host/high"
echo 'int high_call(void);' >"$src/host/high/high.h"
compile host/high/h 'int low_call(void); int high_call(void) { return low_call(); }'
compile host/low/l 'int low_call(void) { return 3; }'
echo '#include "high.h"' >"$src/host/high/h.c"
check
expect "folders in their order pass" $? 0
compile host/low/l 'int high_call(void); int low_call(void) { return high_call(); }'
fails "a folder that needs a later one" 'host/low/ comes before high/, but needs: high_call'
compile host/low/l 'int low_call(void) { return 3; }'
echo '#include "high.h"' >"$src/host/low/l.c"
fails "a header of a later folder" 'host/low/l.c includes high.h of a later folder'
