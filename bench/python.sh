#!/bin/sh
# python.sh -- the table of docs/tutorials/python.md: PrivateLinearRegression beside diffprivlib's and
# scikit-learn's linear regression on the same rows, and what the binding costs beside the
# command at a million rows. One run, in a virtual environment under the build directory (diffprivlib
# needs scikit-learn before 1.6). Skipped with one line where that cannot be installed.
set -u
build=$(cd "${BUILD:-build}" && pwd)
venv=$build/python-bench
if [ ! -e "$venv/.ready" ]; then
    rm -rf "$venv"
    if ! { python3 -m venv "$venv" && "$venv/bin/pip" -q install setuptools wheel cffi numpy 'scikit-learn<1.6' \
        'diffprivlib==0.6.6'; } >/dev/null 2>&1; then
        echo "skipped: diffprivlib cannot be installed here"
        exit 0
    fi
    touch "$venv/.ready"
fi
TREMOLO_BUILD=$build "$venv/bin/pip" -q install --no-deps --no-build-isolation --force-reinstall ./python >/dev/null 2>&1 ||
    { echo "skipped: the package cannot be built here"; exit 0; }
rm -rf python/build python/src/*.egg-info
cd "$build" && exec "$venv/bin/python" ../bench/python_table.py "$build/tremolo"
