"""Data that several tests use."""

import numpy as np
import pytest

import tremolo


@pytest.fixture(scope="session")
def people():
    """Three thousand people with a known truth: pulse = 70 + 0.1 age - 1.2 sleep + 3 (ring)."""
    generator = np.random.default_rng(7)
    n = 3000
    age = generator.uniform(18, 90, n)
    sleep = generator.normal(7, 1, n)
    worn = generator.choice(["chest", "ring", "wrist"], n)
    pulse = 70 + 0.1 * age - 1.2 * sleep + 3.0 * (worn == "ring") + generator.normal(0, 2, n)
    return {"age": age, "sleep": sleep, "worn": worn, "pulse": pulse}


@pytest.fixture(scope="session")
def study():
    return tremolo.Study.build(
        title="Pulse",
        features={"age": (18, 90), "sleep": (5, 9), "worn": ["chest", "ring", "wrist"]},
        response=("pulse", {"low": 50, "high": 90, "unit": "1/min"}),
        epsilon=2,
        devices=3000,
    )


@pytest.fixture(scope="session")
def result(people):
    return tremolo.simulate(people, response="pulse", epsilon=4, seed=1)


@pytest.fixture(scope="session")
def program():
    """Run the program that came with the package; what it prints."""
    import subprocess

    from tremolo.server import program as find

    def call(*arguments):
        return subprocess.run(
            [str(find()), *map(str, arguments)], check=True, capture_output=True, text=True
        ).stdout

    return call
