"""Mixed precision: directions of float32, results of float64; with torch where it is installed."""

import warnings
from importlib.util import find_spec

import numpy as np
import pytest

import vectrick as vt

BACKENDS = ["cpu", "torch"] if find_spec("torch") is not None else ["cpu"]


def some_data(m=40, seed=0):
    return vt.datasets.make_checkerboard(m, m - 5, density=0.4, random_state=seed)


def test_small_problems_are_solved_exactly_in_mixed_precision_too():
    X, y = some_data(20)
    model = vt.KronSVM("gaussian", "gaussian", precision="mixed").fit(X, y)
    assert model.solution_.n_corrections == 0
    assert model.solution_.converged


@pytest.mark.parametrize("kind", [vt.KronRidge, vt.KronSVM, vt.KronLogistic])
@pytest.mark.parametrize("form", ["dual", "primal"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_mixed_precision_reaches_the_tolerance_of_float64(kind, form, backend):
    X, y = some_data(60)
    given = {"alpha": 0.1, "form": form, "tol": 1e-9, "solver": "newton"}
    full = kind("gaussian", "gaussian", **given).fit(X, y)
    mixed = kind("gaussian", "gaussian", precision="mixed", backend=backend, **given).fit(X, y)
    assert mixed.solution_.converged
    assert mixed.solution_.residuals[-1] <= 1e-8
    assert mixed.solution_.n_corrections >= 2
    assert mixed.history_["corrections"][-1] == mixed.solution_.n_corrections
    expected = full.predict_grid(X.start_table, X.end_table)
    found = mixed.predict_grid(X.start_table, X.end_table)
    assert np.abs(found - expected).max() <= 1e-6 * np.abs(expected).max()


@pytest.mark.parametrize("kind", [vt.KronRidge, vt.KronRanker])
def test_mixed_precision_has_no_iterates_for_early_stopping_to_choose_from(kind):
    X, y = some_data()
    with pytest.raises(ValueError, match="early stopping requires the iterates on the way; use precision='full'"):
        kind("gaussian", "gaussian", precision="mixed", early_stopping=True).fit(X, y)
    with pytest.raises(ValueError, match="early stopping requires the iterates"):
        kind("gaussian", "gaussian", precision="mixed").fit(X, y, validation=(X, y))


def test_mixed_precision_has_results_of_float64_for_tables_of_float32():
    X, y = some_data()
    single = vt.Edges(X.start, X.end, *(table.features.astype(np.float32) for table in (X.start_table, X.end_table)))
    model = vt.KronRidge("gaussian", "gaussian", precision="mixed", backend=BACKENDS[-1]).fit(single, y)
    assert model.predict(single).dtype == np.float64


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_mixed_precision_says_where_it_cannot_go_on(seed):
    X, y = some_data(80, seed)
    kernels = vt.Gaussian(1e-3), vt.Gaussian(1e-3)  # smooth: far too ill-conditioned for float32
    model = vt.KronRidge(*kernels, alpha=1e-9, form="dual", precision="mixed", tol=1e-9, solver="cg", max_iter=1000)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(X, y)
    assert any("precision is 'mixed', but after" in str(one.message) for one in told)
    assert all("Use precision='full'" in str(one.message) for one in told if "mixed" in str(one.message))


@pytest.mark.filterwarnings("ignore:solver")
def test_mixed_precision_keeps_to_the_iterations_that_were_asked_for():
    X, y = some_data(60)
    model = vt.KronRidge(
        "gaussian", "gaussian", alpha=1e-3, solver="cg", max_iter=9, precision="mixed", form="dual", fit_intercept=False
    )
    model.fit(X, y)
    assert not model.solution_.converged
    assert model.solution_.n_products <= 9 + 5 * model.solution_.n_corrections + 5
    with pytest.raises(ValueError, match="but a path of alphas does not support it; use precision='full'"):
        model.fit_path(X, y, [1.0, 2.0])
