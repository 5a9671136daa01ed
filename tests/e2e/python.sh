#!/bin/sh
# python.sh -- the Python package: built by pip in a virtual environment of its own under the
# build directory, its tests, types, doctests and notebook. The environment is kept; the
# package is built into it again when something changed. Skipped with a sentence where pip
# cannot install what it needs.
set -u
. tests/common/tap.sh
build=$(cd "${BUILD:-build}" && pwd)
venv=$build/python-venv
log=$build/python.log
skip() {
    echo "ok 1 - the Python package # SKIP $1"
    exit 0
}
python3 -c 'import venv, ensurepip' 2>/dev/null || skip "python3-venv is not installed ('tools/setup test' brings it)"
# Python's own pip, where there is one that can: to install one more takes longer than most packages.
pip() { timeout 600 python3 -m pip --python "$venv/bin/python" "$@" >"$log" 2>&1; }
without=--without-pip
if ! python3 -m pip --python "$(command -v python3)" --version >"$log" 2>&1; then
    pip() { timeout 600 "$venv/bin/python" -m pip "$@" >"$log" 2>&1; }
    without=
fi
if [ ! -e "$venv/.ready" ]; then
    rm -rf "$venv"
    python3 -m venv $without "$venv" || skip "no virtual environment can be made"
    # Most of these files are never imported: Python compiles those that are.
    pip -q install --no-compile 'setuptools>=68' wheel cffi numpy pandas scikit-learn matplotlib tqdm pytest mypy \
        types-cffi jsonschema nbformat ipython ||
        skip "pip cannot install NumPy and the other packages: $(tail -n 1 "$log")"
    touch "$venv/.ready"
fi
# A tree of its own, so that nothing is left in the sources; the library is the one that is built.
site=$(find "$venv/lib" -maxdepth 2 -name site-packages | head -n 1)
if [ ! -e "$venv/.installed" ] || [ -n "$(find python/src python/binding python/setup.py python/pyproject.toml \
    "$build/libtremolo.so.0" "$build/tremolo" -newer "$venv/.installed" | head -n 1)" ]; then
    # Files that an installation left among the sources may be older than they are.
    rm -rf "$build/python" && mkdir -p "$build/python" && cp -r python "$build/python/" &&
        rm -rf "$build/python/python/build" && cp VERSION "$build/python/" &&
        mkdir -p "$build/python/src" && for module in src/*/include; do
            mkdir -p "$build/python/$module" && cp "$module"/*.h "$build/python/$module/"
        done && mkdir -p "$build/python/src/include" && cp src/include/*.h "$build/python/src/include/"
    export TREMOLO_BUILD="$build"
    pip -q install --no-deps --no-build-isolation --force-reinstall "$build/python/python" && touch "$venv/.installed"
fi
expect "pip builds and installs the package" "$([ -e "$venv/.installed" ] && echo yes || tail -n 3 "$log")" yes
[ -e "$site/tremolo/libtremolo.so.0" ] || { echo "1..$tests_run"; exit 0; }

# The wheel says abi3: one for Python 3.9 and all that follow.
expect_match "the wheel is for every Python from 3.9" "$site"/tremolo-*.dist-info/WHEEL '^Tag: cp39-abi3-linux'
pip check
expect "its requirements are met" $? 0

# pytest's lines become TAP.
tests=$(pwd)/python/tests
run_pytest() {
    (cd "$build" && OPENBLAS_NUM_THREADS=1 timeout 900 "$venv/bin/python" -m pytest -p no:cacheprovider -q -rA --tb=short "$@") >"$log" 2>&1
    code=$?
    sed -n 's/^PASSED \(.*\)/ok - \1/p; s/^FAILED \(.*\)/not ok - \1/p; s/^ERROR \(.*\)/not ok - \1/p' "$log" |
        sed "s|[^ ]*tests/||" >"$log.tap"
    while read -r line; do
        case $line in
        "ok - "*) report "${line#ok - }" yes ;;
        *) report "${line#not ok - }" no ;;
        esac
    done <"$log.tap"
    [ $code -eq 0 ] || { report "pytest ends well" no "exit $code"; sed 's/^/# /' "$log" | tail -n 60; }
}
# With them the doctests of the package as it is installed: both import the same packages.
run_pytest --doctest-modules --pyargs "$tests" tremolo
(cd "$build/python/python" && timeout 300 "$venv/bin/python" -m mypy --cache-dir "$build/mypy") >"$log" 2>&1
expect_match "mypy --strict finds nothing" "$log" '^Success: no issues found'
BUILD=$build sh python/tests/gateway.sh "$venv/bin/python" || report "the gateway's tests end well" no "exit $?"
echo "1..$tests_run"
