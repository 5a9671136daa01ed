"""Costs: the library's numbers, its direction of rounding, its sentences."""

import math

import pytest

from tremolo import InputError, account, explain


def test_numbers_of_the_command_line(program):
    said = program("account", "epsilon", "--sigma", "4", "--releases", "40", "--delta", "1e-9")
    ours = account.epsilon(sigma=4, releases=40, delta=1e-9)
    assert f"{ours.upper:.4f}"[:5] in said


def test_upper_is_what_is_promised():
    cost = account.epsilon(sigma=3.0, delta=1e-6)
    assert cost.lower <= cost.value <= cost.upper == float(cost)
    assert account.delta(float(cost), sigma=3.0).lower <= 1e-6


def test_sigma_and_epsilon_are_inverse():
    noise = account.sigma(1.5, 1e-6, releases=3)
    assert account.epsilon(sigma=noise.upper, releases=3, delta=1e-6).lower <= 1.5


def test_ballots_are_pure():
    assert account.epsilon(ballot=2.0).upper <= 2.0
    assert account.delta(2.0, ballot=2.0).upper < 1e-280  # zero, rounded up
    assert 0.5 < account.attack(ballot=0.1).upper < account.attack(ballot=3.0).upper < 1.0


@pytest.mark.parametrize("bad", [-1.0, 0.0, math.nan, math.inf])
def test_bad_noise_is_refused(bad):
    with pytest.raises(InputError):
        account.epsilon(sigma=bad)


@pytest.mark.parametrize("releases", [0, -1, 1.5, True, 10**10])
def test_bad_counts_are_refused(releases):
    with pytest.raises(InputError, match="releases must be"):
        account.epsilon(sigma=1.0, releases=releases)


def test_words_say_against_whom():
    any_two = explain(epsilon=1)
    assert any_two.delta == 0 and "any two samples" in any_two.reviewer
    near = explain(epsilon=1, delta=1e-6, neighbours="distance=0.5", protect="features")
    assert near.neighbours == "distance=0.5" and near.protects == "features"
    assert "at most 0.5 apart" in near.reviewer
    assert near.epsilon <= 1.0


def test_bad_guarantees_are_refused():
    for arguments in ({}, {"epsilon": -1}, {"epsilon": 1, "neighbours": "near"}, {"epsilon": 1, "protect": "y"}):
        with pytest.raises(ValueError):
            explain(**arguments)
    with pytest.raises(InputError, match="promises nothing"):
        explain(3)
