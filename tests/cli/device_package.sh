# The device core as one folder for every build system (tools/device-package): one version
# everywhere, the same bytes twice, and each manifest says what is there. CMake builds, installs and
# finds it; ESP-IDF and Zephyr are here only by the few functions that our files call. The tools
# of PlatformIO and ESP-IDF themselves judge it in tests/packages/device.sh.
. tests/common/tap.sh
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
version=$(cat VERSION)
compiler=${CC:-cc}
tremolo=${BUILD:-build}/tremolo
package=$work/tremolo-device
tools/device-package "$package"
expect "it is assembled" $? 0
cp "$package-$version.tar.gz" "$work/first.tar.gz"
sleep 1
tools/device-package "$package" && cmp -s "$work/first.tar.gz" "$package-$version.tar.gz"
expect "the archive has the same bytes twice" $? 0
expect "no template is left" "$(grep -rl '@VERSION@' "$package")" ""
for file in tremolo_device.c tremolo_device.h; do
    head -n 1 "$package/src/$file" >"$work/out"
    expect_match "$file says its version" "$work/out" "^/\* $file $version -- "
    expect "$file carries the licence" "$(sed -n '/\*\/$/q; s/^ \* \{0,1\}//p' "$package/src/$file" | sed -n '/^MIT License/,$p')" "$(sed '$d' LICENSE)"
done

cat >"$work/manifests.py" <<'PYTHON'
import json, os, re, sys
import jsonschema, yaml

root, version = sys.argv[1:]
here = lambda *parts: os.path.exists(os.path.join(root, *parts))
text = lambda name: open(os.path.join(root, name), encoding="utf-8").read()
def check(name, sound):
    print(("ok" if sound else "not ok") + " - " + name)

# What PlatformIO's documents ask of library.json.
words = {"type": "string", "minLength": 1}
library = json.loads(text("library.json"))
jsonschema.validate(library, {
    "type": "object", "additionalProperties": False, "required": ["name", "version", "description", "license", "headers"],
    "properties": {
        "name": {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,50}$"}, "version": {"const": version},
        "description": {"type": "string", "maxLength": 255}, "keywords": {"type": "array", "items": words},
        "authors": {"type": "array", "items": {"type": "object", "required": ["name"]}}, "license": {"const": "MIT"},
        "frameworks": words, "platforms": words, "headers": words, "build": {"type": "object"}, "export": {"type": "object"},
        "examples": {"type": "array", "items": {"type": "object", "required": ["name", "base", "files"]}}}})
check("library.json: the header is there", here("src", library["headers"]))
check("library.json: the examples are there", all(
    here(one["base"], name) for one in library["examples"] for name in one["files"]))

# Arduino's library specification.
properties = dict(line.split("=", 1) for line in text("library.properties").splitlines())
check("library.properties: what the specification requires, and no more than it knows",
      {"name", "version", "author", "maintainer", "sentence", "paragraph", "category", "url", "architectures"}
      <= set(properties) <= {"name", "version", "author", "maintainer", "sentence", "paragraph", "category", "url",
                             "architectures", "includes", "license", "depends", "precompiled", "ldflags"})
check("library.properties: the version", properties["version"] == version)
check("library.properties: a name and a category it allows",
      re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,62}", properties["name"]) is not None
      and properties["category"] in {"Display", "Communication", "Signal Input/Output", "Sensors", "Device Control", "Timing",
                                     "Data Storage", "Data Processing", "Other"})
check("library.properties: the header is there", here("src", properties["includes"]))

component = yaml.safe_load(text("idf_component.yml"))
check("idf_component.yml: the version, and keys the manager knows", component["version"] == version
      and set(component) <= {"version", "description", "license", "dependencies", "targets", "url", "repository", "files"})
module = yaml.safe_load(text("zephyr/module.yml"))
check("zephyr/module.yml: its build files are there", set(module) == {"name", "build"} and set(module["build"]) == {"cmake", "kconfig"}
      and here(module["build"]["cmake"], "CMakeLists.txt") and here(module["build"]["kconfig"]))

# Kconfig, as Zephyr and ESP-IDF read it.
try:
    import kconfiglib
except ImportError:
    print("ok - Kconfig # SKIP there is no python3-kconfiglib ('tools/setup test' brings it)")
    sys.exit()
def symbols(name, **chosen):
    os.environ["srctree"] = root
    tree = kconfiglib.Kconfig(os.path.join(root, name), warn_to_stderr=False)
    for symbol, value in chosen.items():
        tree.syms[symbol].set_value(value)
    return {symbol.name: symbol.str_value for symbol in tree.unique_defined_syms if symbol.config_string}, tree.warnings
values, warnings = symbols("Kconfig")
check("Kconfig: the defaults", not warnings and values["TREMOLO_MAX_DIMENSION"] == "16" and values["TREMOLO_WITHOUT_SAMPLE"] == "n")
values, warnings = symbols("zephyr/Kconfig")
check("zephyr/Kconfig: nothing unless it is asked for", not warnings and "TREMOLO_MAX_DIMENSION" not in values)
values, warnings = symbols("zephyr/Kconfig", TREMOLO=2, TREMOLO_MAX_DIMENSION="2", TREMOLO_WITHOUT_SAMPLE=2)
check("zephyr/Kconfig: and what is asked for", not warnings and values["TREMOLO_MAX_DIMENSION"] == "2"
      and values["TREMOLO_WITHOUT_SAMPLE"] == "y" and values["TREMOLO_WITHOUT_BALLOT"] == "n")
defines = set(re.findall(r"TREMOLO_[A-Z_]+", text("options.cmake")))
check("Kconfig and CMake know the same options", defines <= set(values) and all(name in text("src/tremolo_device.h") or
      name in text("src/tremolo_device.c") for name in defines))
PYTHON
python=python3 # Debian's has the modules; another may come first on the path
$python -c 'import jsonschema, yaml, kconfiglib' 2>/dev/null || python=/usr/bin/python3
$python "$work/manifests.py" "$package" "$version"
expect "the manifests are read" $? 0

if ! command -v cmake >/dev/null; then
    echo "ok - CMake # SKIP there is no cmake"
    exit 0
fi
$tremolo study init | $tremolo study show - --c >"$work/tremolo_the_study.h"
# builds NAME DIR OPTIONS: the firmware on its board, in a project that has the target tremolo::device.
builds() {
    name=$1 dir=$2
    shift 2
    { cmake -S "$dir" -B "$dir/out" -DCMAKE_C_COMPILER="$compiler" "$@" && cmake --build "$dir/out"; } >"$work/log" 2>&1
    expect "$name: builds" $? 0
    "$dir/out/board" 1 2 3 >"$work/out" 2>&1
    expect_match "$name: and reports" "$work/out" '^report 8602'
}
firmware="add_executable(board $PWD/tests/common/board.c $PWD/examples/firmware.c)
target_include_directories(board PRIVATE $work $PWD/tests/common)
target_compile_definitions(board PRIVATE _GNU_SOURCE)"

mkdir "$work/sub" "$work/found" "$work/idf" "$work/zephyr"
cat >"$work/sub/CMakeLists.txt" <<PROJECT
cmake_minimum_required(VERSION 3.16)
project(example C)
add_subdirectory($package device)
$firmware
target_link_libraries(board tremolo::device)
PROJECT
builds "add_subdirectory" "$work/sub" -DTREMOLO_MAX_DIMENSION=2 -DTREMOLO_MAX_VECTORS=1 -DTREMOLO_WITHOUT_SAMPLE=ON

{ cmake -S "$package" -B "$work/core" -DCMAKE_C_COMPILER="$compiler" -DTREMOLO_MAX_DIMENSION=4 \
    -DCMAKE_INSTALL_PREFIX="$work/prefix" && cmake --build "$work/core" --target install; } >"$work/log" 2>&1
expect "it installs" $? 0
cat >"$work/found/CMakeLists.txt" <<PROJECT
cmake_minimum_required(VERSION 3.16)
project(example C)
find_package(tremolo_device $version REQUIRED)
$firmware
target_link_libraries(board tremolo::device)
PROJECT
builds "find_package" "$work/found" -DCMAKE_PREFIX_PATH="$work/prefix"
sed -i "s/tremolo_device $version/tremolo_device 99.0/" "$work/found/CMakeLists.txt"
cmake -S "$work/found" -B "$work/found/out" -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/log" 2>&1
expect "find_package: another version is not taken for this one" $? 1

cat >"$work/idf/CMakeLists.txt" <<PROJECT
cmake_minimum_required(VERSION 3.16)
project(example C)
set(ESP_PLATFORM 1)
set(CONFIG_TREMOLO_MAX_DIMENSION 2)
set(CONFIG_TREMOLO_MAX_VECTORS 1)
set(CONFIG_TREMOLO_WITHOUT_SAMPLE y)
macro(idf_component_register)
  cmake_parse_arguments(component "" "" "SRCS;INCLUDE_DIRS" \${ARGN})
  add_library(__idf_device STATIC \${component_SRCS})
  target_include_directories(__idf_device PUBLIC \${component_INCLUDE_DIRS})
  set(COMPONENT_LIB __idf_device)
endmacro()
add_subdirectory($package device)
$firmware
target_link_libraries(board __idf_device)
PROJECT
builds "ESP-IDF's component" "$work/idf"

cat >"$work/zephyr/CMakeLists.txt" <<PROJECT
cmake_minimum_required(VERSION 3.16)
project(example C)
set(CONFIG_TREMOLO y)
set(CONFIG_TREMOLO_MAX_DIMENSION 2)
set(CONFIG_TREMOLO_MAX_VECTORS 1)
add_library(zephyr_interface INTERFACE)
function(zephyr_compile_definitions)
  target_compile_definitions(zephyr_interface INTERFACE \${ARGV})
endfunction()
function(zephyr_include_directories)
  target_include_directories(zephyr_interface INTERFACE \${ARGV})
endfunction()
macro(zephyr_library_named name)
  add_library(\${name} STATIC)
  target_link_libraries(\${name} PUBLIC zephyr_interface)
  set(ZEPHYR_CURRENT_LIBRARY \${name})
endmacro()
function(zephyr_library_sources)
  target_sources(\${ZEPHYR_CURRENT_LIBRARY} PRIVATE \${ARGV})
endfunction()
add_subdirectory($package/zephyr device)
$firmware
target_link_libraries(board tremolo_device zephyr_interface)
PROJECT
builds "Zephyr's module" "$work/zephyr"
