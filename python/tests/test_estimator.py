"""PrivateLinearRegression among scikit-learn's own."""

import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from tremolo import PrivateLinearRegression

BOUNDS = [(0, 1), (0, 1), (-1, 1)]

# scikit-learn's checks, none of which is expected to fail. Its data have no public bounds, so
# they are taken from the data; its few rows tell noise from nothing, which the tag poor_score says.
@parametrize_with_checks([PrivateLinearRegression(bounds="from data", random_state=0)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    generator = np.random.default_rng(0)
    X = generator.uniform(0, 1, (3000, 2))
    return X, X @ [1.0, -1.0] + generator.normal(0, 0.1, 3000)


def test_bounds_are_needed_or_said(data):
    with pytest.raises(ValueError, match="bounds are needed"):
        PrivateLinearRegression(epsilon=2).fit(*data)
    said = PrivateLinearRegression(epsilon=2, bounds="from data", random_state=0).fit(*data)
    assert said.bounds_from_data_ and "taken from the data" in said.result_.summary()
    given = PrivateLinearRegression(epsilon=2, bounds=BOUNDS, random_state=0).fit(*data)
    assert not given.bounds_from_data_ and not given.result_.bounds_from_data


@pytest.mark.parametrize(
    "bounds", ["guess", [(0, 1)], [(1, 0), (0, 1), (0, 1)], {"a": (0, 1)}, [(0, 1), (0, 1), (np.nan, 1)]]
)
def test_bad_bounds(data, bounds):
    with pytest.raises(ValueError):
        PrivateLinearRegression(epsilon=2, bounds=bounds).fit(*data)


def test_it_learns_and_predicts(data):
    X, y = data
    model = PrivateLinearRegression(epsilon=4, bounds=BOUNDS, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.8
    assert np.allclose(model.predict(X[:3]), X[:3] @ model.coef_ + model.intercept_)
    assert model.result_.guarantee.epsilon <= 4.0001


def test_pipelines_scores_and_clones(data):
    X, y = data
    model = PrivateLinearRegression(epsilon=4, bounds="from data", random_state=0)
    assert clone(model).get_params() == model.get_params()
    scores = cross_val_score(make_pipeline(StandardScaler(), model), X, y, cv=3)
    assert len(scores) == 3 and scores.min() > 0.5


def test_noise_is_fresh_without_a_seed(data):
    fits = [PrivateLinearRegression(epsilon=2, bounds=BOUNDS).fit(*data).coef_ for _ in range(2)]
    assert not np.array_equal(*fits)
    same = [PrivateLinearRegression(epsilon=2, bounds=BOUNDS, random_state=3).fit(*data).coef_ for _ in range(2)]
    assert np.array_equal(*same)


def test_names_of_pandas_are_kept(data):
    pandas = pytest.importorskip("pandas")
    X, y = data
    frame, response = pandas.DataFrame(X, columns=["sleep", "age"]), pandas.Series(y, name="pulse")
    bounds = {"age": (0, 1), "sleep": (0, 1), "pulse": (-1, 1)}
    model = PrivateLinearRegression(epsilon=4, bounds=bounds, random_state=0).fit(frame, response)
    assert list(model.feature_names_in_) == ["sleep", "age"] == model.result_.names[:2]
    assert model.result_.response == "pulse" and model.coef_[0] > 0 > model.coef_[1]


def test_noisy_samples_and_public_responses(data):
    model = PrivateLinearRegression(
        epsilon=8, delta=1e-6, bounds=BOUNDS, protect="features", neighbours="distance=0.5", random_state=1
    ).fit(*data)
    guarantee = model.result_.guarantee
    assert (guarantee.delta, guarantee.protects) == (1e-6, "features")
    assert guarantee.neighbours == "distance=0.5"
