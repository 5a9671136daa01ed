#!/bin/sh
# peer_accountant.sh -- the questions of bench_privacy asked of dp-accounting
# (PyPI), in a virtual environment of its own under the build directory. Ratios
# are of times taken in this one run, compositions as the best of five. Skipped with one line where it cannot be
# installed.
set -u
build=${BUILD:-build}
venv=$build/peer-accountant
version=0.6.0
if ! [ -x "$venv/bin/python" ] || ! "$venv/bin/python" -c 'import dp_accounting' 2>/dev/null; then
    if ! { python3 -m venv "$venv" && "$venv/bin/pip" -q install "dp-accounting==$version"; } >/dev/null 2>&1 &&
        ! "$venv/bin/pip" -q install dp-accounting >/dev/null 2>&1; then
        echo "skipped: dp-accounting cannot be installed here"
        exit 0
    fi
fi
peer=$("$venv/bin/python" - <<'PYTHON'
import time
from importlib.metadata import version
from dp_accounting.pld import common, privacy_loss_distribution, privacy_loss_mechanism

count = 40
start = time.perf_counter()
for i in range(count):
    privacy_loss_mechanism.GaussianPrivacyLoss.from_privacy_guarantee(
        common.DifferentialPrivacyParameters(0.5 + 9.5 * i / count, 1e-5))
calibration = (time.perf_counter() - start) / count
composition = 1e9
for run in range(5):
    start = time.perf_counter()
    one = privacy_loss_distribution.from_gaussian_mechanism(
        100.0, value_discretization_interval=1e-4, use_connect_dots=True)
    delta = one.self_compose(10000).get_delta_for_epsilon(4.0)
    composition = min(composition, time.perf_counter() - start)
print(version("dp-accounting"), calibration, composition, delta)
PYTHON
) || { echo "skipped: dp-accounting does not run here"; exit 0; }
ours=$("$build/bin/bench/bench_privacy")
rate=$(echo "$ours" | sed -n '1s/.* \([0-9]*\) calibrations.*/\1/p')
seconds=$(echo "$ours" | sed -n 's/^10000 rounds.*, \([0-9.]*\) s$/\1/p')
upper=$(echo "$ours" | sed -n 's/^10000 rounds.*, \([-0-9.e]*\)\], exact.*/\1/p')
echo "$peer" | awk -v rate="$rate" -v seconds="$seconds" -v upper="$upper" '{
    exact = 4.7122412e-05
    printf "dp-accounting %s: %.0f calibrations/s; ours %d (%.0f times)\n", $1, 1 / $2, rate, rate * $2
    printf "10,000 rounds: theirs %.3f s, above exact by %.1e; ours %.3f s, by %.1e, and a lower bound (%.2f times)\n",
           $3, $4 / exact - 1, seconds, upper / exact - 1, $3 / seconds }'
