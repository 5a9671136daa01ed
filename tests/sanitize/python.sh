#!/bin/sh
# python.sh -- hostile values across the boundary of the Python package, with the library under
# ASan and UBSan. BUILD is that build, PLAIN the plain one, whose virtual environment
# (tests/e2e/python.sh) has the package; the loader gives it the other library.
set -u
. tests/common/tap.sh
plain=$(cd "${PLAIN:-build}" && pwd)
build=$(cd "${BUILD:-build/asan}" && pwd)
tests=$(pwd)/python/tests
python=$plain/python-venv/bin/python
log=$build/python.log
if [ ! -e "$plain/python-venv/.installed" ]; then
    echo "ok 1 - the boundary of the Python package # SKIP the package is not installed (tests/e2e/python.sh does it)"
    exit 0
fi
runtime=$(gcc -print-file-name=libasan.so)
undefined=$(gcc -print-file-name=libubsan.so)
# Python itself leaks, and its allocator hides what C does to its objects.
export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc OPENBLAS_NUM_THREADS=1
(cd "$plain" && LD_PRELOAD="$runtime $undefined" LD_LIBRARY_PATH="$build" timeout 600 "$python" -X faulthandler -c '
import sys
from tremolo._binding import lib
print(any(sys.argv[1] in line for line in open("/proc/self/maps") if "libtremolo" in line))' "$build") >"$log" 2>&1
expect "the library under ASan is the one that is loaded" "$(tail -n 1 "$log")" True
(cd "$plain" && LD_PRELOAD="$runtime $undefined" LD_LIBRARY_PATH="$build" timeout 600 "$python" -X faulthandler \
    "$tests/fuzz_boundary.py" "${PYTHON_FUZZ_SECONDS:-20}" 7) >"$log" 2>&1
code=$?
expect "hostile values give exceptions and nothing else" $code 0
[ $code -eq 0 ] || sed 's/^/# /' "$log" | tail -n 40
expect_match "some were taken, some refused" "$log" '^[0-9]+ calls, [0-9]+ of them refused$'
echo "1..$tests_run"
