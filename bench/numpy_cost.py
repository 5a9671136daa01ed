"""The peer's side of bench/curves.sh: what one job costs with NumPy.

    numpy_cost.py JOB FEATURES REPORTS

JOB is `samples`, reports privatised with Gaussian noise and folded in float64 as
numpy_reference.py does, or `estimate`, plain least squares on raw rows (no privacy). Prints
seconds of processor time, seconds on the clock, and the most memory in MB.
"""
import resource
import sys
import time

import numpy as np


def main():
    job, dimension, devices = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    rng = np.random.default_rng(1)
    x = rng.standard_normal((devices, dimension))
    y = rng.standard_normal(devices)
    start, processor = time.perf_counter(), time.process_time()
    if job == "samples":
        reports = x + 3.7 * rng.standard_normal(x.shape)
        _ = reports.T @ reports, reports.T @ y
    else:
        np.linalg.lstsq(x, y, rcond=None)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{time.process_time() - processor:.6f} {time.perf_counter() - start:.6f} {memory:.1f}")


main()
