"""The contract of estimators for invalid input: clear errors and warnings."""

import warnings
from typing import Any

import numpy as np
from numpy.testing import assert_allclose, assert_raises_regex

from vectrick.data import Edges
from vectrick.kernels import Gaussian
from vectrick.testing.cases import N_END, N_END_FEATURES, N_START, N_START_FEATURES, EstimatorCase


class BadInputContract(EstimatorCase):
    """Invalid input gets an error that names the argument, or a warning if training can continue."""

    def _assert_refused(self, message: str, *data: Any, error: type[Exception] = ValueError, **parameters: Any) -> None:
        X, y = data or self._data()
        assert_raises_regex(error, message, self.make(**parameters).fit, X, y)

    def test_bad_parameters(self) -> None:
        """Errors name invalid parameters, their values and the expected values."""
        for alpha in (0, -1.0, float("nan"), "1"):
            self._assert_refused("alpha is .* positive", alpha=alpha)
        self._assert_refused("start_kernel is 'lineal', but it must be one of 'linear'", start_kernel="lineal")
        self._assert_refused("form is 'both', but it must be one of", form="both")
        self._assert_refused("solver is 'sgd', but it must be one of", solver="sgd")
        self._assert_refused("max_iter is 0", max_iter=0)
        self._assert_refused("inner_iter is 1.5", inner_iter=1.5)
        self._assert_refused("tol is -1", tol=-1)
        self._assert_refused("step is 0", step=0)
        self._assert_refused("validation_fraction is 1", validation_fraction=1)
        self._assert_refused("dtype is 'int8'", dtype="int8")
        self._assert_refused("backend is 'tpu'", backend="tpu")
        self._assert_refused("pairwise is 'sum'", pairwise="sum")
        self._assert_refused("scoring is 'mse'", scoring="mse")
        self._assert_refused("n_threads is 0", n_threads=0)
        self._assert_refused("gamma is -1", start_kernel=Gaussian(gamma=-1))

    def test_features_that_are_not_finite(self) -> None:
        """The error names the vertex, by its id if it has one."""
        X, y = self._data()
        D = X.start_table.features.copy()
        D[X.start[5], 1] = np.inf
        names = np.array([f"v{i}" for i in range(N_START)])
        T = X.end_table.features
        self._assert_refused(f"NaN or infinity .* vertex {X.start[5]}$", Edges(X.start, X.end, D, T), y)
        named = Edges(X.start, X.end, D, T, start_ids=names)
        self._assert_refused(f"NaN or infinity .* vertex 'v{X.start[5]}'", named, y)

    def test_labels_that_do_not_fit(self) -> None:
        """Labels that are missing, infinite, or not as many as the edges raise an error."""
        X, y = self._data()
        self._assert_refused("y has length 89, but X has 90 edges", X, y[:-1])
        broken = np.array(y, object if y.dtype.kind in "OU" else float)
        if broken.dtype == float:
            broken[3] = np.nan
            self._assert_refused(r"y\[3\] is nan", X, broken)

    def test_nothing_to_train_on(self) -> None:
        """Training without edges raises an error."""
        X, y = self._data()
        self._assert_refused("no edges", X[:0], y[:0])
        assert_raises_regex(ValueError, "zero for every edge", self.make().fit, X, y, np.zeros(len(X)))

    def test_weights_that_do_not_fit(self) -> None:
        """Negative weights and weights of the wrong length raise an error."""
        X, y = self._data()
        assert_raises_regex(ValueError, r"sample_weight\[0\] is -1", self.make().fit, X, y, -np.ones(len(X)))
        assert_raises_regex(ValueError, "sample_weight has shape", self.make().fit, X, y, np.ones(3))

    def test_other_columns_at_prediction(self) -> None:
        """Tables with other columns than in training raise an error, in prediction and in validation."""
        model, X, y = self._fitted()
        wrong = Edges(X.start, X.end, X.start_table.features[:, :2], X.end_table.features)
        message = "start_features has 2 columns, but the model was trained with 4"
        assert_raises_regex(ValueError, message, model.predict, wrong)
        assert_raises_regex(ValueError, "has 2 columns", model.predict_grid, np.eye(2), np.eye(N_END_FEATURES))
        assert_raises_regex(ValueError, "has 2 columns", self.make().fit, X, y, validation=(wrong, y))

    def test_bad_k(self) -> None:
        """``k`` must be between one and the number of end vertices."""
        model, _, _ = self._fitted()
        for k in (0, N_END + 1, 1.5, True):
            start, end = self._tables()
            assert_raises_regex(ValueError, "k is", model.top_k, start, end, k)

    def test_plain_arrays_need_a_border(self) -> None:
        """A plain array without ``n_start_features`` or without end features raises an error."""
        X, y = self._data()
        rows = np.hstack([X.start_table.features[X.start], X.end_table.features[X.end]])
        self._assert_refused("n_start_features is None", rows, y)
        self._assert_refused("need at least one", rows, y, n_start_features=N_START_FEATURES + N_END_FEATURES)
        self._assert_refused("must be a positive integer", rows, y, n_start_features=0)

    def test_kernels_that_are_none(self) -> None:
        """An indefinite kernel matrix is repaired with a warning; a matrix that is not square raises an error."""
        X, y = self._data()
        K = np.diag(np.linspace(-1, 5, N_START))
        kernels = Edges(X.start, X.end, K, X.end_table.features)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = self.make(start_kernel="precomputed").fit(kernels, y)
        text = " ".join(str(warning.message) for warning in caught)
        assert "start_kernel is not positive semi-definite" in text
        assert "set to zero" in text
        negative = np.isin(X.start, np.flatnonzero(np.diagonal(K) < 0))
        assert_allclose(self._scores(model, kernels)[negative], model.intercept_, atol=1e-9)
        self._assert_refused("start_features must be square", X, y, start_kernel="precomputed")
