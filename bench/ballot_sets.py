"""R^2 of ballots on made and real sets: the table of docs/reference/numerics.md.

    python3 bench/ballot_sets.py [REPEATS] [NAME...]

Every set is written as CSV and given to `tremolo simulate`, which makes the devices' real ballots:
any two people, all protected and features only, epsilon 1, 2 and 4, seed 1. A draw of a set with
16,000 rows takes about four seconds of processor time for each of the six.
"""

import csv
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

TREMOLO = os.path.join(os.environ.get("BUILD", "build"), "tremolo")


def with_signal(rng, x, share):
    """A linear response of which the features explain this share."""
    mean = x @ rng.uniform(0.5, 1.5, x.shape[1])
    return mean + rng.standard_normal(len(x)) * mean.std() * np.sqrt(1 / share - 1)


def made(name, rng):
    n = 20000
    if name == "3 uniform":
        x = rng.uniform(-1, 1, (9200, 3))
    elif name == "8 uniform":
        x = rng.uniform(-1, 1, (62000, 8))
    elif name == "6 log-normal":
        x = rng.lognormal(size=(30000, 6))
    elif name == "5 categories":
        level = rng.choice(6, n, p=[0.3, 0.25, 0.2, 0.1, 0.1, 0.05])
        x = np.eye(6)[level][:, :5]
    elif name == "6 rare binary":
        x = (rng.uniform(size=(n, 6)) < [0.02, 0.05, 0.1, 0.2, 0.35, 0.5]).astype(float)
    elif name == "6 correlated .8":
        x = np.sqrt(0.8) * rng.standard_normal((n, 1)) + np.sqrt(0.2) * rng.standard_normal((n, 6))
    elif name == "5 Student's t, 3 degrees":
        x = rng.standard_t(3, (n, 5))
    elif name == "10 of two factors":
        x = rng.standard_normal((n, 2)) @ rng.standard_normal((2, 10)) + rng.standard_normal((n, 10))
    else:
        raise SystemExit(f"no set {name}")
    return np.column_stack([x, with_signal(rng, x, 0.5)])


MADE = ["3 uniform", "8 uniform", "6 log-normal", "5 categories", "6 rare binary", "6 correlated .8",
        "5 Student's t, 3 degrees", "10 of two factors"]
REAL = {"fair, yrs_married": ("fair.csv", "yrs_married"), "fair, age": ("fair.csv", "age"),
        "fair, educ": ("fair.csv", "educ"), "fair, affairs": ("fair.csv", "affairs"),
        "randhie, lncoins": ("randhie.csv", "lncoins"), "randhie, disea": ("randhie.csv", "disea"),
        "randhie, mdvis": ("randhie.csv", "mdvis")}


def simulate(path, response, epsilon, protect, repeats):
    command = [TREMOLO, "simulate", path, "--response", response, "--epsilon", str(epsilon), "--protect",
               protect, "--repeats", str(repeats), "--seed", "1", "--json"]
    told = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["simulation"]
    return told["r2"]["mean"], told["r2_ols"]


def row(name, path, response, repeats):
    cells = []
    for protect in ("all", "features"):
        told = [simulate(path, response, epsilon, protect, repeats) for epsilon in (1, 2, 4)]
        cells.append(" / ".join("%.2f" % r2 for r2, _ in told))
        ols = told[0][1]
    print(f"| {name} | {ols:.2f} | {cells[0]} | {cells[1]} |".replace("0.", "."), flush=True)


def main():
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    wanted = sys.argv[2:] or MADE + list(REAL)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["tools/fetch-data", folder], check=True)
        for name in wanted:
            if name in REAL:
                row(name, os.path.join(folder, REAL[name][0]), REAL[name][1], repeats)
                continue
            data = made(name, np.random.default_rng(1))
            path = os.path.join(folder, "made.csv")
            with open(path, "w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow([f"x{i}" for i in range(data.shape[1] - 1)] + ["y"])
                writer.writerows(data.tolist())
            row(name, path, "y", repeats)


main()
