"""Print the table of docs/tutorials/python.md; bench/python.sh runs it.

Times are of one process on one machine in one run, processor time (user and system) first,
because it holds under load; R^2 is on rows that no model saw. Everybody gets the same rows and
the same public bounds, and epsilon 2 where there is one.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import tracemalloc
import warnings

import numpy as np
import diffprivlib
import sklearn
from diffprivlib.models import LinearRegression as TrustedRegression
from sklearn.linear_model import LinearRegression

import tremolo
from tremolo.simulation import Design, Question
from tremolo.table import Table, columns_of

EPSILON = 2.0


def made(rows, seed):
    """Four features, a response of R^2 about 0.8, all within 0 and 1."""
    generator = np.random.default_rng(seed)
    X = generator.uniform(0, 1, (rows, 4))
    y = X @ [0.4, -0.2, 0.2, 0.1] + 0.3 + generator.normal(0, 0.07, rows)
    return X, np.clip(y, 0, 1)


def timed(call):
    wall, before = time.perf_counter(), os.times()
    answer = call()
    after = os.times()
    spent = sum(after[:4]) - sum(before[:4])
    return answer, spent, time.perf_counter() - wall


def compare(rows):
    X, y = made(rows, 1)
    held, truth = made(20000, 2)
    bounds = [(0.0, 1.0)] * 5
    models = {
        f"scikit-learn {sklearn.__version__}, no privacy": LinearRegression(),
        f"diffprivlib {diffprivlib.__version__}, a trusted server": TrustedRegression(
            epsilon=EPSILON, bounds_X=(np.zeros(4), np.ones(4)), bounds_y=(0.0, 1.0), random_state=1
        ),
        "tremolo, any two people, nobody trusted": tremolo.PrivateLinearRegression(
            epsilon=EPSILON, bounds=bounds, random_state=1
        ),
    }
    print(f"| {rows:,} rows, 4 features, epsilon {EPSILON:g} | processor s | wall s | R^2 |")
    print("|---|---:|---:|---:|")
    for name, model in models.items():
        _, spent, wall = timed(lambda: model.fit(X, y))
        print(f"| {name} | {spent:.3f} | {wall:.3f} | {model.score(held, truth):.4f} |")
    print()


def children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def overhead(program, rows):
    X, y = made(rows, 3)
    data = {**columns_of(X, ["a", "b", "c", "d"]), "y": y}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.csv")
        np.savetxt(path, np.column_stack([X, y]), delimiter=",", fmt="%.17g", header="a,b,c,d,y", comments="")
        before = children()
        command = [program, "simulate", path, "--response", "y", "--epsilon", "2", "--seed", "1", "--json"]
        said = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        by_command = children() - before
        ours, by_binding, wall = timed(lambda: tremolo.simulate(data, response="y", epsilon=2, seed=1, progress=False))
    same = ours.document["coefficients"] == said["coefficients"]
    inside = ours.document["simulation"]["seconds"]
    tracemalloc.start()
    question = Question(None, None, "y", ["a", "b", "c", "d"], "drop")
    Design(Table(data, question.words, question.uses), question)
    kept = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    print(f"| {rows:,} rows, 4 features | |")
    print("|---|---:|")
    print(f"| `tremolo simulate`, which reads a CSV file: processor s | {by_command:.2f} |")
    print(f"| `tremolo.simulate` on arrays: processor s | {by_binding:.2f} |")
    print(f"| binding over command | {by_binding / by_command:.3f} |")
    print(f"| wall time outside of the library's own work | {100 * (wall - inside) / inside:.1f}% |")
    print(f"| bytes that Python allocates for the {5 * 8 * rows:,} of the arrays | {kept:,} |")
    print(f"| same coefficients to the last digit | {'yes' if same else 'NO'} |")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    compare(50_000)
    overhead(sys.argv[1], 1_000_000)
