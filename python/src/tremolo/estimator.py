"""Private linear regression in the manner of scikit-learn."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ._arguments import count
from .errors import InputError
from .result import Result
from .simulation import Design, Question, Simulation
from .table import Table, columns_of

__all__ = ["PrivateLinearRegression"]

FROM_DATA = "from data"


def _validate(estimator: Any, X: Any, **wanted: Any) -> Any:
    """scikit-learn's own check of X and y, by the name that this version has for it."""
    wanted["dtype"] = np.float64
    try:
        from sklearn.utils.validation import validate_data
    except ImportError:
        return estimator._validate_data(X, **wanted)
    return validate_data(estimator, X, **wanted)


class PrivateLinearRegression(RegressorMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """Linear regression that learns from one private report of every row.

    Every row of X and y is a device's sample. Devices report through the device core, and the
    coefficients follow from the reports alone: the guarantee is local, it holds against whoever
    runs `fit`. This is the library's simulation with no row held out.

    Parameters
    ----------
    epsilon : float, default=1.0
        What a device's report costs.
    delta : float, optional
        Asks for noisy samples at this delta instead of ballots, which have delta 0.
    bounds : sequence of pairs, mapping, or "from data"
        Public ranges (low, high), between which about nine of ten people lie: one for every
        feature, in their order, and the response's last; or by name, the response's under
        "response". Devices cut responses at the ends of theirs, which draws coefficients to zero
        by about the share that is cut; a wider range costs devices. Needed: ranges that are read
        off the data are not private. To take them from there anyway, say bounds="from data";
        `bounds_from_data_` and every result say so then.
    neighbours : "any" or "distance=R", default="any"
        Between whom the guarantee holds. A distance needs noisy samples.
    protect : "all" or "features", default="all"
        All of a sample, or its features, with the response sent in the clear.
    random_state : int, RandomState or None
        Makes a fit repeatable, for tests: whoever knows it can undo the noise, so a study that
        people take part in has none.

    Attributes
    ----------
    coef_, intercept_ : to predict with: shrunken as the noise asks for
    result_ : Result, with unbiased coefficients, intervals and the guarantee
    bounds_from_data_ : bool
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> from tremolo import PrivateLinearRegression
    >>> generator = np.random.default_rng(0)
    >>> X = generator.uniform(0, 1, (4000, 2))
    >>> y = X @ [1.0, -1.0] + generator.normal(0, 0.1, 4000)
    >>> model = PrivateLinearRegression(epsilon=4, bounds=[(0, 1), (0, 1), (-1, 1)], random_state=0)
    >>> bool(model.fit(X, y).score(X, y) > 0.8)
    True
    >>> model.result_.guarantee.neighbours
    'any'
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: Optional[float] = None,
        *,
        bounds: Union[str, Sequence[Tuple[float, float]], Mapping[str, Tuple[float, float]], None] = None,
        neighbours: Any = "any",
        protect: str = "all",
        random_state: Any = None,
        n_jobs: Optional[int] = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.neighbours = neighbours
        self.protect = protect
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _simulation(self) -> Simulation:
        simulation = Simulation(None)
        sample = "sample" if self.delta is not None or self.neighbours != "any" else "ballot"
        simulation.guarantee(self.epsilon, self.delta, self.neighbours, self.protect, sample)
        struct = simulation.struct
        struct.test_share = 0.0
        if self.n_jobs is not None and self.n_jobs > 0:
            struct.experiment.threads = count("n_jobs", self.n_jobs, 1, 64)
        if self.random_state is not None:
            struct.seed = self._seed()
        simulation.settle()
        return simulation

    def _seed(self) -> int:
        if isinstance(self.random_state, Integral):
            return count("random_state", int(self.random_state), 0, 2**63 - 1)
        return int(check_random_state(self.random_state).randint(0, 2**31 - 1))

    def _ranges(self, names: List[str], response: str) -> Optional[Dict[str, Tuple[float, float]]]:
        """Bounds by the design's names; None when they are to come from the data."""
        if self.bounds is None:
            raise InputError(
                "bounds are needed: public ranges of every feature and the response; "
                f"bounds={FROM_DATA!r} takes them from the data, which is not private"
            )
        if isinstance(self.bounds, str):
            if self.bounds != FROM_DATA:
                raise InputError(f"bounds must be ranges or {FROM_DATA!r}, not {self.bounds!r}")
            return None
        if isinstance(self.bounds, Mapping):
            given = dict(self.bounds)
            if "response" in given and response not in given:
                given[response] = given.pop("response")
            return given
        pairs = list(self.bounds)
        if len(pairs) != len(names) + 1:
            raise InputError(
                f"bounds has {len(pairs)} ranges for {len(names)} features and the response"
            )
        return dict(zip([*names, response], pairs))

    def fit(self, X: Any, y: Any) -> "PrivateLinearRegression":
        """Let every row report, and learn from the reports."""
        response = str(getattr(y, "name", None) or "response")
        X, y = _validate(self, X, y=y, reset=True, y_numeric=True)
        if len(X) < 2:
            raise InputError(f"a regression needs several devices, and n_samples={len(X)} is one")
        names = [str(name) for name in getattr(self, "feature_names_in_", [])]
        names = names or [f"x{place}" for place in range(X.shape[1])]
        while response in names:
            response += "_"
        simulation = self._simulation()
        ranges = self._ranges(names, response)
        table = Table({**columns_of(X, names), response: np.asarray(y, dtype=np.float64)})
        design = Design(table, Question(None, None, response, names, "refuse"))
        if ranges is not None:
            design.bound(ranges)
        self.result_ = Result(simulation.run(design.struct, False))
        self.bounds_from_data_ = ranges is None
        prediction = dict(self.result_.prediction)
        self.coef_ = np.array([prediction[name] for name in names])
        self.intercept_ = float(prediction["(intercept)"])
        return self

    def predict(self, X: Any) -> Any:
        """What the learnt coefficients say of new rows."""
        check_is_fitted(self)
        return _validate(self, X, reset=False) @ self.coef_ + self.intercept_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # at a few dozen rows noise is all there is
        tags.non_deterministic = self.random_state is None
        return tags

    def _more_tags(self) -> Dict[str, Any]:
        """The same for scikit-learn before 1.6."""
        return {"poor_score": True, "non_deterministic": self.random_state is None}
