"""The contract of estimators on `Edges`."""

import pickle
import warnings
from typing import Any

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal, assert_raises
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from vectrick.data import Edges
from vectrick.kernels import Gaussian, Linear, Precomputed
from vectrick.testing.bad_input import BadInputContract
from vectrick.testing.cases import N_END, N_END_FEATURES, N_START, N_START_FEATURES


class EstimatorContract(BadInputContract):
    """Contract tests for estimators on edges. ``make(**parameters)`` returns an estimator that is not fitted.

    The tests fit small graphs within some seconds in all; the cost of a test is that of the estimator.

    Examples
    --------
    >>> import vectrick as vt
    >>> from vectrick.testing import EstimatorContract
    >>> class TestMine(EstimatorContract):
    ...     def make(self, **parameters):
    ...         return vt.KronRidge(**parameters)
    >>> TestMine().test_fit_returns_self()
    """

    # scikit-learn's conventions

    def test_fit_returns_self(self) -> None:
        """``fit`` returns the estimator."""
        X, y = self._data()
        model = self.make()
        assert model.fit(X, y) is model

    def test_init_computes_nothing(self) -> None:
        """Parameters are stored unchanged, even if they are invalid."""
        model = self.make(alpha="nonsense", start_kernel="nonsense")
        assert model.alpha == "nonsense"
        assert model.start_kernel == "nonsense"

    def test_fit_changes_no_parameter(self) -> None:
        """``fit`` does not change parameters, including the parameters of kernels."""
        X, y = self._data()
        model = self.make(start_kernel=Gaussian(gamma="scale"), end_kernel="gaussian")
        before = repr(model.get_params())
        model.fit(X, y)
        assert repr(model.get_params()) == before

    def test_fit_leaves_the_data_alone(self) -> None:
        """``fit`` does not change edges, tables or labels."""
        X, y = self._data()
        copies = [array.copy() for array in (X.start, X.end, X.start_table.features, X.end_table.features, y)]
        self.make().fit(X, y)
        arrays = (X.start, X.end, X.start_table.features, X.end_table.features, y)
        for array, copy in zip(arrays, copies, strict=True):
            assert_array_equal(array, copy)

    def test_not_fitted(self) -> None:
        """Predicting before ``fit`` raises an error."""
        X, _ = self._data()
        assert_raises(NotFittedError, self.make().predict, X)
        assert_raises(NotFittedError, self.make().predict_grid, np.eye(N_START_FEATURES), np.eye(N_END_FEATURES))

    def test_clone(self) -> None:
        """A clone learns the same model."""
        model, X, y = self._fitted(start_kernel=Gaussian(gamma=0.5))
        assert_array_equal(self._scores(clone(model).fit(X, y), X), self._scores(model, X))

    def test_pickle(self) -> None:
        """A pickled model predicts the same, in either form."""
        for form in ("dual", "primal"):
            model, X, _ = self._fitted(start_kernel=Gaussian(gamma=0.5), form=form)
            assert_array_equal(self._scores(pickle.loads(pickle.dumps(model)), X), self._scores(model, X))

    def test_parameters_of_kernels(self) -> None:
        """``start_kernel__gamma`` sets the parameter of the kernel."""
        model = self.make(start_kernel=Gaussian(gamma=1.0))
        assert model.get_params()["start_kernel__gamma"] == 1.0
        model.set_params(start_kernel__gamma=3.0)
        assert model.start_kernel.gamma == 3.0

    def test_fit_again_forgets(self) -> None:
        """A second ``fit`` gives the same model as a new estimator."""
        X, y = self._data(1)
        model = self._fitted(form="primal")[0]
        model.set_params(form="dual").fit(X, y)
        assert not hasattr(model, "coef_")
        assert_array_equal(self._scores(model, X), self._scores(self.make(form="dual").fit(X, y), X))

    def test_is_deterministic(self) -> None:
        """The same seed gives the same bits."""
        first, X, _ = self._fitted(early_stopping=True, random_state=3)
        other, _, _ = self._fitted(early_stopping=True, random_state=3)
        assert_array_equal(self._scores(first, X), self._scores(other, X))

    def test_threads_do_not_matter(self) -> None:
        """One thread and three give the same predictions."""
        single, X, _ = self._fitted(n_threads=1)
        self._assert_same(single, self._fitted(n_threads=3)[0], X, rtol=1e-9)

    # Learning

    def test_it_learns(self) -> None:
        """The score on the training edges is far above chance."""
        model, X, y = self._fitted(alpha=0.1)
        assert model.score(X, y) > 0.7

    def test_dual_and_primal_agree(self) -> None:
        """Both forms give the same predictions at convergence, for linear and for smooth kernels."""
        for kernel in ("linear", Gaussian(gamma=0.3)):
            dual, X, _ = self._fitted(start_kernel=kernel, end_kernel=kernel, form="dual", tol=1e-9)
            primal, _, _ = self._fitted(start_kernel=kernel, end_kernel=kernel, form="primal", tol=1e-9)
            assert dual.form_ == "dual"
            assert primal.form_ == "primal"
            self._assert_same(dual, primal, X, rtol=1e-5)
            new, _ = self._data(5)
            self._assert_same(dual, primal, new, rtol=1e-5)

    def test_forms_have_their_coefficients(self) -> None:
        """Dual coefficients belong to edges, primal ones to pairs of features."""
        dual, X, _ = self._fitted(form="dual")
        assert dual.dual_coef_.shape == (len(X),)
        assert_array_equal(dual.support_, np.flatnonzero(dual.dual_coef_))
        primal, _, _ = self._fitted(form="primal")
        assert primal.coef_.shape == (N_START_FEATURES, N_END_FEATURES)
        assert not hasattr(primal, "dual_coef_")

    def test_primal_coefficients_predict(self) -> None:
        """In primal form the prediction is ``dᵀ W t``."""
        model, X, _ = self._fitted(form="primal")
        D, T = X.start_table.features[X.start], X.end_table.features[X.end]
        expected = np.einsum("ni,ij,nj->n", D, model.coef_, T) + model.intercept_
        assert_allclose(self._scores(model, X), expected, atol=1e-10 * np.abs(expected).max())

    def test_dual_coefficients_predict(self) -> None:
        """In dual form the prediction is the sum of kernel values times coefficients."""
        model, X, _ = self._fitted(form="dual")
        D, T = X.start_table.features[X.start], X.end_table.features[X.end]
        expected = ((D @ D.T) * (T @ T.T)) @ model.dual_coef_ + model.intercept_
        assert_allclose(self._scores(model, X), expected, atol=1e-9 * np.abs(expected).max())

    def test_small_and_iterative_agree(self) -> None:
        """The exact solver of small problems and the iterative one find the same model."""
        exact, X, _ = self._fitted(form="dual")
        stepwise, _, _ = self._fitted(form="dual", solver=self.iterative, tol=1e-9)
        self._assert_same(exact, stepwise, X, rtol=1e-4)

    def test_larger_alpha_gives_smaller_functions(self) -> None:
        """The norm of the coefficients decreases with alpha."""
        norms = [np.linalg.norm(self._fitted(form="primal", alpha=alpha)[0].coef_) for alpha in (0.1, 1.0, 10.0)]
        assert norms[0] > norms[1] > norms[2]

    # Equivalent inputs

    def test_order_of_edges_does_not_matter(self) -> None:
        """Shuffled edges give the same model."""
        model, X, y = self._fitted(tol=1e-9)
        order = np.random.default_rng(0).permutation(len(X))
        self._assert_same(model, self.make(tol=1e-9).fit(X[order], y[order]), X)

    def test_numbers_of_vertices_do_not_matter(self) -> None:
        """Renumbered vertices give the same model."""
        model, X, y = self._fitted(tol=1e-9)
        order = np.random.default_rng(0).permutation(N_START)
        place = np.argsort(order)
        renumbered = Edges(place[X.start], X.end, X.start_table.features[order], X.end_table.features)
        self._assert_same(model, self.make(tol=1e-9).fit(renumbered, y), X, renumbered)

    def test_vertices_without_edges_do_not_matter(self) -> None:
        """Additional vertices in the tables change nothing, even if their features are NaN."""
        model, X, y = self._fitted(start_kernel="gaussian")
        D = np.vstack([X.start_table.features, np.full((3, N_START_FEATURES), np.nan)])
        wider = Edges(X.start, X.end, D, X.end_table.features)
        self._assert_same(model, self.make(start_kernel="gaussian").fit(wider, y), X, wider, rtol=1e-9)

    def test_subsets_of_edges(self) -> None:
        """A mask, positions and a slice select the same edges."""
        X, y = self._data()
        mask = np.arange(len(X)) < 60
        model = self.make().fit(X[mask], y[mask])
        self._assert_same(model, self.make().fit(X[np.flatnonzero(mask)], y[mask]), X, rtol=1e-12)
        self._assert_same(model, self.make().fit(X[:60], y[:60]), X, rtol=1e-12)

    def test_sparse_features(self) -> None:
        """Sparse tables give the same model."""
        model, X, y = self._fitted(tol=1e-9)
        sparse = Edges(X.start, X.end, csr_array(X.start_table.features), csr_array(X.end_table.features))
        self._assert_same(model, self.make(tol=1e-9).fit(sparse, y), X, sparse)
        self._assert_same(model, self.make(tol=1e-9, form="primal").fit(sparse, y), X, sparse)

    def test_ids(self) -> None:
        """Ids give the same model as positions."""
        model, X, y = self._fitted()
        names = np.array([f"v{i}" for i in range(N_START)])
        named = Edges(names[X.start], X.end, X.start_table.features, X.end_table.features, start_ids=names)
        self._assert_same(model, self.make().fit(named, y), X, named, rtol=1e-12)

    def test_plain_arrays(self) -> None:
        """Concatenated features give the same model."""
        model, X, y = self._fitted(tol=1e-9)
        rows = np.hstack([X.start_table.features[X.start], X.end_table.features[X.end]])
        plain = self.make(tol=1e-9, n_start_features=N_START_FEATURES).fit(rows, y)
        assert_allclose(self._scores(plain, rows), self._scores(model, X), atol=1e-6)

    def test_precomputed_kernels(self) -> None:
        """The kernel matrix of all vertices gives the same predictions as the features, also for new vertices."""
        X, y = self._data()
        known = (X.start < 10) & (X.end < 8)
        D, T = X.start_table.features, X.end_table.features
        kernels = Edges(X.start, X.end, D @ D.T, T @ T.T)
        model = self.make(form="dual").fit(X[known], y[known])
        given = self.make(start_kernel="precomputed", end_kernel=Precomputed(), form="dual")
        self._assert_same(model, given.fit(kernels[known], y[known]), X, kernels)

    def test_functions_as_kernels(self) -> None:
        """A function gives the same model as the kernel with the same formula."""
        model, X, _ = self._fitted()
        own, _, _ = self._fitted(start_kernel=lambda X, Y: X @ Y.T)
        self._assert_same(model, own, X)

    def test_sums_and_products_of_kernels(self) -> None:
        """A linear kernel plus itself is twice the kernel, and the gammas of a product of Gaussian kernels add up."""
        plain, X, _ = self._fitted(start_kernel=Gaussian(gamma=0.6))
        other, _, _ = self._fitted(start_kernel=Gaussian(gamma=0.3) * Gaussian(gamma=0.3))
        self._assert_same(plain, other, X)
        scaled = Edges(X.start, X.end, np.sqrt(2) * X.start_table.features, X.end_table.features)
        twice, _, y = self._fitted(start_kernel=Linear() + Linear())
        self._assert_same(twice, self.make().fit(scaled, y), X, scaled)

    def test_one_vertex_set(self) -> None:
        """``end_features=None`` uses the start table for both ends."""
        rng = np.random.default_rng(0)
        D = rng.standard_normal((12, 3))
        start, end = rng.integers(0, 12, (2, 60))
        y = self.labels(np.einsum("ij,ij->i", D[start], D[end]))
        one, two = Edges(start, end, D), Edges(start, end, D, D.copy())
        self._assert_same(self.make().fit(one, y), self.make().fit(two, y), one, two, rtol=1e-9)

    def test_float32(self) -> None:
        """float32 is used if it is requested or the tables have it, and predictions are close to float64."""
        model, X, y = self._fitted()
        narrow = self.make(dtype="float32", tol=1e-4).fit(X, y)
        assert self._scores(narrow, X).dtype == np.float32
        self._assert_same(model, narrow, X, rtol=2e-2)
        tables = X.start_table.features.astype(np.float32), X.end_table.features.astype(np.float32)
        assert self._scores(self.make(tol=1e-4).fit(Edges(X.start, X.end, *tables), y), X).dtype == np.float32

    def test_weights(self) -> None:
        """An edge of weight two counts as two edges, and an edge of weight zero as none."""
        X, y = self._data()
        weight = np.ones(len(X))
        weight[:10] = 0
        left_out = self.make(tol=1e-9).fit(X, y, sample_weight=weight)
        self._assert_same(self.make(tol=1e-9).fit(X[10:], y[10:]), left_out, X)
        weight = np.ones(len(X))
        weight[:20] = 2
        twice = np.concatenate([np.arange(len(X)), np.arange(20)])
        weighted = self.make(tol=1e-9, form="primal").fit(X, y, sample_weight=weight)
        self._assert_same(self.make(tol=1e-9, form="primal").fit(X[twice], y[twice]), weighted, X, rtol=1e-5)

    # Predicting

    def test_new_vertices(self) -> None:
        """Edges with new tables get finite predictions."""
        model, _, _ = self._fitted()
        new, _ = self._data(7)
        assert self._scores(model, new).shape == (len(new),)
        assert np.isfinite(self._scores(model, new)).all()

    def test_parts_of_edges_are_predicted_alike(self) -> None:
        """A prediction does not depend on the other edges to predict."""
        for form in ("dual", "primal"):
            model, X, _ = self._fitted(form=form)
            assert_allclose(self._scores(model, X)[:7], self._scores(model, X[:7]), rtol=1e-9, atol=1e-12)

    def test_no_edges(self) -> None:
        """Without edges, the array of predictions is empty."""
        model, X, _ = self._fitted()
        assert self._scores(model, X[:0]).shape == (0,)

    def test_grid(self) -> None:
        """`predict_grid` gives the predictions for `Edges.grid`."""
        for form in ("dual", "primal"):
            model, _, _ = self._fitted(form=form)
            D, T = self._tables(3)
            expected = self._scores(model, Edges.grid(D, T)).reshape(N_START, N_END)
            assert_allclose(model.predict_grid(D, T), expected, rtol=1e-9, atol=1e-12)

    def test_top_k(self) -> None:
        """`top_k` gives the largest scores of each row of the grid, in order."""
        for form in ("dual", "primal"):
            model, _, _ = self._fitted(form=form)
            D, T = self._tables(3)
            grid = model.predict_grid(D, T)
            which, scores = model.top_k(D, T, 4)
            assert_array_equal(which, np.argsort(-grid, axis=1, kind="stable")[:, :4])
            assert_allclose(scores, -np.sort(-grid, axis=1)[:, :4], rtol=1e-9)

    # History and warnings

    def test_history(self) -> None:
        """The history has risk and seconds for each iteration, and the risk never rises."""
        model, _, _ = self._fitted(solver=self.iterative, form="dual")
        history = model.history_
        assert len(history["risk"]) == len(history["seconds"]) == len(history["iteration"]) == model.n_iter_
        assert all(later <= earlier for earlier, later in zip(history["risk"], history["risk"][1:], strict=False))
        assert model.solution_.converged

    def test_an_early_end_is_told(self) -> None:
        """Too few iterations cause a ConvergenceWarning."""
        X, y = self._data()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = self.make(max_iter=1, inner_iter=1, solver=self.iterative, alpha=1e-3).fit(X, y)
        assert any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
        assert not model.solution_.converged

    def test_early_stopping_restores_the_best(self) -> None:
        """The model is from the iteration with the best validation score."""
        X, y = self._data()
        X_val, y_val = self._data(1)
        model = self.make(solver=self.iterative, alpha=1e-3, n_iter_no_change=3, max_iter=50)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y, validation=(X_val, y_val))
        scores = model.history_["score"]
        assert model.n_iter_ == 1 + int(np.argmax(scores))
        assert len(scores) <= model.n_iter_ + 3

    def test_early_stopping_holds_out_vertices(self) -> None:
        """Edges of held-out vertices get no coefficient."""
        model, X, _ = self._fitted(early_stopping=True, random_state=0, form="dual")
        used = set(X.start[model.support_].tolist())
        assert len(used) < len(set(X.start.tolist()))
        assert model.dual_coef_.shape == (len(X),)

    def test_progress(self, capsys: Any) -> None:
        """``verbose`` reports iterations, and the reason why the fit ended."""
        model, _, _ = self._fitted(verbose=2, solver=self.iterative)
        lines = capsys.readouterr().err.splitlines()
        assert "iteration 1, risk" in lines[0]
        assert model.solution_.reason in lines[-1]
        assert len(lines) == model.n_iter_ + 1
