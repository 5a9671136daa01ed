"""The reference of bench/bench_simulate.c: one round of reports with NumPy.

Privatise K samples of d features (shrink, one modulation vector, Gaussian
noise) and form the moments that estimation needs, in float64, the way a
researcher would write it. Prints reports per second.
"""
import sys
import time

import numpy as np


def one_round(rng, x, y, v, alpha, lam, omega, sigma):
    phase = rng.uniform(0.0, 2.0 * np.pi, size=len(x))
    wave = lam * np.cos(omega * (x @ v) + phase)
    reports = (1.0 - alpha) * x + wave[:, None] * v
    reports += sigma * rng.standard_normal(x.shape)
    return reports.T @ reports, reports.T @ y


def plain_round(rng, x, y, sigma):
    reports = x + sigma * rng.standard_normal(x.shape)
    return reports.T @ reports, reports.T @ y


def main():
    dimension, devices = int(sys.argv[1]), int(sys.argv[2])
    rng = np.random.default_rng(1)
    x = rng.standard_normal((devices, dimension))
    y = rng.standard_normal(devices)
    v = np.zeros(dimension)
    v[0] = 1.0
    best = {"plain": 1e9, "modulated": 1e9}
    for _ in range(5):
        start = time.perf_counter()
        plain_round(rng, x, y, 3.7)
        best["plain"] = min(best["plain"], time.perf_counter() - start)
        start = time.perf_counter()
        one_round(rng, x, y, v, 0.5, 0.2, 1.0, 3.7)
        best["modulated"] = min(best["modulated"], time.perf_counter() - start)
    print(f"{devices / best['plain']:.0f} {devices / best['modulated']:.0f}")


main()
