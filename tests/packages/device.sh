# The device package before the judges of the build systems it is for: PlatformIO Core packs it and
# builds the firmware with it, ESP-IDF's component manager packs it. Both come from PyPI into a
# folder of the build; where there is no network they are left out, and that is said.
. tests/common/tap.sh
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
build=$(realpath "${BUILD:-build}")
version=$(cat VERSION)
tools=$build/package-tools
tremolo=$build/tremolo
if [ ! -x "$tools/bin/compote" ] && ! { python3 -m venv "$tools" &&
    "$tools/bin/pip" --quiet install platformio idf-component-manager; } >"$work/log" 2>&1; then
    rm -rf "$tools"
    echo "ok 1 - PlatformIO and ESP-IDF # SKIP their tools could not be installed: $(tail -n 1 "$work/log")"
    exit 0
fi
export PLATFORMIO_CORE_DIR="$build/platformio" PLATFORMIO_SETTING_ENABLE_TELEMETRY=No PLATFORMIO_SETTING_CHECK_PLATFORMIO_INTERVAL=9999
package=$work/tremolo-device
tools/device-package "$package"

# PlatformIO asks the network which licences there are. Where it gets no answer, MIT is one.
cat >"$work/pio.py" <<'PYTHON'
import sys
import requests
from platformio.package.manifest.schema import ManifestSchema

ask = ManifestSchema.load_spdx_licenses
def licences():
    try:
        return ask()
    except requests.exceptions.RequestException:
        return {"licenses": [{"licenseId": "MIT"}]}
ManifestSchema.load_spdx_licenses = staticmethod(licences)
from platformio.__main__ import main
sys.exit(main(["pio", *sys.argv[1:]]))
PYTHON
pio() { timeout 120 "$tools/bin/python" "$work/pio.py" "$@" >"$work/log" 2>&1; }
pio pkg pack --output "$work/packed.tar.gz" "$package"
expect "PlatformIO packs the library" "$? $(grep -c 'Wrote a tarball' "$work/log")" "0 1"
expect "with the core in it" "$(tar tzf "$work/packed.tar.gz" | grep -c '^src/tremolo_device\.[ch]$')" 2
expect "and without what is Zephyr's" "$(tar tzf "$work/packed.tar.gz" | grep -c zephyr)" 0
sed 's/"version": "[^"]*"/"version": "one"/' "$package/library.json" >"$work/library.json"
mkdir "$work/bad" && cp -r "$package/." "$work/bad/" && cp "$work/library.json" "$work/bad/"
pio pkg pack --output "$work/bad.tar.gz" "$work/bad"
expect "a manifest that is wrong is refused, for its version" "$? $(grep -c "'version'" "$work/log")" "1 1"

(cd "$package" && "$tools/bin/compote" component pack --name tremolo-device --dest-dir "$work/idf") >"$work/log" 2>&1
expect "ESP-IDF's component manager packs the component" "$? $(ls "$work/idf" | grep tgz)" "0 tremolo-device_$version.tgz"
expect "with the core in it" "$(tar tzf "$work/idf/tremolo-device_$version.tgz" | grep -c 'src/tremolo_device\.[ch]$')" 2
sed -i 's/^version:.*/version: "one"/' "$work/bad/idf_component.yml"
(cd "$work/bad" && "$tools/bin/compote" component pack --name tremolo-device --dest-dir "$work/idf-bad") >"$work/log" 2>&1
expect "a manifest that is wrong is refused" "$([ $? -ne 0 ] && echo refused)" refused

# A project that depends on the packed library, built by PlatformIO for this machine.
mkdir -p "$work/project/src"
cp tests/common/board.c tests/common/fake_entropy.h examples/firmware.c "$work/project/src/"
$tremolo study init | $tremolo study show - --c >"$work/project/src/tremolo_the_study.h"
cat >"$work/project/platformio.ini" <<INI
[env:native]
platform = native
build_flags = -D_GNU_SOURCE -DTREMOLO_MAX_DIMENSION=2 -DTREMOLO_MAX_VECTORS=1
lib_deps = file://$work/packed.tar.gz
INI
if pio pkg install --global --platform native; then
    pio run --project-dir "$work/project"
    expect "PlatformIO builds the firmware with it" $? 0
    "$work/project/.pio/build/native/program" 1 2 3 >"$work/out"
    expect_match "and it reports" "$work/out" '^report 8602'
else
    echo "ok - PlatformIO builds the firmware # SKIP its registry is not reachable from here: $(tail -n 1 "$work/log")"
fi
