"""An estimator, and a small graph to test it on."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.testing import assert_allclose

from vectrick._typing import Array
from vectrick.data import Edges, EdgesLike

if TYPE_CHECKING:
    from vectrick.estimators import FittedModel


N_START, N_END, N_START_FEATURES, N_END_FEATURES = 14, 11, 4, 3


class EstimatorCase:
    """The base of contracts: makes an estimator, fits it, and compares its predictions."""

    iterative = "newton"  # an iterative solver

    def make(self, **parameters: Any) -> Any:
        """Return an estimator."""
        raise NotImplementedError

    def labels(self, values: Array) -> Array:
        """Return labels made from real values; by default, the values themselves."""
        return values

    def _tables(self, seed: int = 0) -> tuple[Array, Array]:
        rng = np.random.default_rng(seed)
        return rng.standard_normal((N_START, N_START_FEATURES)), rng.standard_normal((N_END, N_END_FEATURES))

    def _data(self, seed: int = 0) -> tuple[Edges, Array]:
        rng = np.random.default_rng(100 + seed)
        features = self._tables(seed)
        cells = rng.choice(N_START * N_END, 90, replace=False)
        start, end = cells // N_END, cells % N_END
        values = np.einsum("ij,ij->i", features[0][start, :3], features[1][end]) + 0.3 * rng.standard_normal(90)
        return Edges(start, end, *features), self.labels(values)

    def _scores(self, model: "FittedModel", X: EdgesLike) -> Array:
        return np.asarray(model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X))

    def _fitted(self, **parameters: Any) -> tuple[Any, Edges, Array]:
        X, y = self._data()
        return self.make(**parameters).fit(X, y), X, y

    def _assert_same(
        self, model: "FittedModel", other: "FittedModel", X: Edges, X_other: Edges | None = None, rtol: float = 1e-6
    ) -> None:
        expected = self._scores(model, X)
        scores = self._scores(other, X if X_other is None else X_other)
        assert_allclose(scores, expected, rtol=0, atol=rtol * max(1e-3, np.abs(expected).max()))
