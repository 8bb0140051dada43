"""The preconditioner and one-pass learning as estimators have them: the same minimum, told honestly."""

import contextlib
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import vectrick as vt
from vectrick.models.preconditioning import Preconditioning
from vectrick.objectives.degree_model import NoDegreeModelError

G = vt.Gaussian(gamma=1.0)
TIGHT = 1e-9


def problem(seed=0, m=30, q=24, n=420, d=3):
    rng = np.random.default_rng(seed)
    cells = rng.choice(m * q, n, replace=False)
    X = vt.Edges(cells // q, cells % q, rng.standard_normal((m, d)), rng.standard_normal((q, d)))
    values = np.sin(X.start_table.features[X.start, 0] * X.end_table.features[X.end, 0]) + 0.1 * rng.standard_normal(n)
    return X, values


def within(seed=0, m=26, n=300):
    rng = np.random.default_rng(seed)
    start, end = rng.integers(m, size=n), rng.integers(m, size=n)
    keep = start < end  # so that no pair occurs in both directions
    X = vt.Edges(start[keep], end[keep], rng.standard_normal((m, 3)), None)
    first = X.start_table.features[:, 0]
    return X, first[X.start] - first[X.end] + 0.1 * rng.standard_normal(len(X))


def decided(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


LOSSES = {
    "ridge": (vt.KronRidge, {}),
    "ridge, intercept": (vt.KronRidge, {"fit_intercept": True}),
    "squared hinge": (vt.KronSVM, {}),
    "squared hinge, intercept": (vt.KronSVM, {"fit_intercept": True}),
    "logistic": (vt.KronLogistic, {}),
    "logistic, intercept": (vt.KronLogistic, {"fit_intercept": True}),
    "rank": (vt.KronRanker, {}),
    "rank within start": (vt.KronRanker, {"groups": "start"}),
    "rank within end": (vt.KronRanker, {"groups": "end"}),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", ["dual", "primal"])
@pytest.mark.parametrize("kernel", [G, "linear"], ids=["gaussian", "linear"])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_preconditioned_solution_is_the_plain_and_the_dense_one(loss, kernel, form, weighted):
    X, values = problem()
    kind, parameters = LOSSES[loss]
    y = values if kind in (vt.KronRidge, vt.KronRanker) else np.sign(values)
    weight = np.random.default_rng(1).random(len(X)) + 0.2 if weighted else None
    iterative = "cg" if kind in (vt.KronRidge, vt.KronRanker) else "newton"
    dense = "direct" if iterative == "cg" else "newton-direct"
    fits = {}
    for name, more in (
        ("kronecker", {"solver": iterative, "preconditioner": "kronecker"}),
        ("none", {"solver": iterative, "preconditioner": "none"}),
        ("dense", {"solver": dense}),
    ):
        model = kind(kernel, kernel, alpha=0.5, form=form, tol=TIGHT, **parameters, **more)
        fits[name] = model.fit(X, y, sample_weight=weight)
    assert fits["kronecker"].solution_.preconditioner == "kronecker"
    assert fits["none"].solution_.preconditioner == "none"
    assert fits["kronecker"].solution_.converged
    found = decided(fits["kronecker"], X)
    for name in ("none", "dense"):
        np.testing.assert_allclose(found, decided(fits[name], X), atol=1e-5 * np.abs(found).max(), err_msg=name)
    np.testing.assert_allclose(fits["kronecker"].intercept_, fits["dense"].intercept_, atol=1e-5)
    assert fits["kronecker"].form_ == form


@pytest.mark.parametrize("pairwise", ["symmetric", "antisymmetric"])
@pytest.mark.parametrize("kind", [vt.KronRidge, vt.KronSVM, vt.KronLogistic])
@pytest.mark.parametrize("weight", [1.0, 0.3])
def test_mirrored_kernels_have_it(pairwise, kind, weight):
    X, values = within()
    if pairwise == "symmetric":
        values = values**2 - 1
    y = values if kind is vt.KronRidge else np.sign(values)
    kernels = [(pairwise, weight)] if weight != 1 else pairwise
    both = [
        kind(G, G, pairwise=kernels, alpha=0.5, tol=TIGHT, solver="newton" if kind is not vt.KronRidge else "cg",
             preconditioner=preconditioner).fit(X, y)
        for preconditioner in ("kronecker", "none")
    ]  # fmt: skip
    assert both[0].solution_.preconditioner == "kronecker"
    np.testing.assert_allclose(both[0].dual_coef_, both[1].dual_coef_, atol=1e-5 * np.abs(both[1].dual_coef_).max())


def test_a_weighted_product_has_it():
    X, y = problem()
    both = [
        vt.KronRidge(G, G, pairwise=[("kronecker", 0.4)], alpha=0.5, tol=TIGHT, solver="cg", preconditioner=name)
        .fit(X, y).predict(X)
        for name in ("kronecker", "none")
    ]  # fmt: skip
    np.testing.assert_allclose(*both, atol=1e-6)


@pytest.mark.parametrize("pairwise", ["linear", "cartesian", "poly2d", [("kronecker", 0.5), ("linear", 0.5)]])
def test_other_sums_say_that_they_have_none(pairwise):
    X, y = problem()
    with pytest.raises(ValueError, match="not one Kronecker product; use preconditioner='auto' or 'none'"):
        vt.KronRidge(G, G, pairwise=pairwise, preconditioner="kronecker").fit(X, y)
    model = vt.KronRidge(G, G, pairwise=pairwise, solver="cg").fit(X, y)
    assert model.solution_.preconditioner == "none"
    assert "not one Kronecker product" in model.solution_.preconditioner_reason


@pytest.mark.parametrize("form", ["dual", "primal"])
@pytest.mark.parametrize("intercept", [False, True])
def test_a_complete_graph_takes_one_iteration(form, intercept):
    rng = np.random.default_rng(0)
    X = vt.Edges.grid(rng.standard_normal((15, 3)), rng.standard_normal((12, 2)))
    y = rng.standard_normal(len(X))
    how = {"alpha": 0.3, "fit_intercept": intercept, "form": form}
    model = vt.KronRidge(G, G, preconditioner="kronecker", **how).fit(X, y)
    assert model.n_iter_ == 1
    assert model.solution_.converged
    closed = vt.KronRidge(G, G, alpha=0.3, fit_intercept=intercept, solver="eigen").fit(X, y)
    np.testing.assert_allclose(model.predict(X), closed.predict(X), atol=1e-9)
    one = vt.KronRidge(G, G, alpha=0.3, fit_intercept=intercept, solver="one-pass").fit(X, y)
    np.testing.assert_allclose(one.predict(X), closed.predict(X), atol=1e-9)
    np.testing.assert_allclose(one.intercept_, closed.intercept_, atol=1e-9)
    assert one.solution_.n_products == 1


def test_iterations_on_the_simulation_stay_below_those_of_the_issue():
    """Checker with 400² vertices and 40 000 edges: 18 iterations at alpha 1, 120 at 0.01, in primal form to 1e-6."""
    X, y = vt.datasets.make_checkerboard(400, random_state=0)
    for alpha, limit in ((1.0, 20), (0.01, 132)):
        model = vt.KronRidge(G, G, alpha=alpha, form="primal", preconditioner="kronecker").fit(X, y)
        assert model.solution_.converged
        assert model.n_iter_ <= limit


def test_dual_coefficients_are_as_exact_as_they_say():
    """Predictions within 1e-6 do not make coefficients within 1e-6: the fit goes on until they are."""
    X, y = problem(n=500)
    alpha = 1e-3
    model = vt.KronRidge(
        G, G, alpha=alpha, form="dual", solver="cg", preconditioner="kronecker", fit_intercept=False
    ).fit(X, y)
    K, H = (G(table.features, table.features) for table in (X.start_table, X.end_table))
    A = K[X.start][:, X.start] * H[X.end][:, X.end]
    rest = A @ model.dual_coef_ + alpha * model.dual_coef_ - y
    assert rest @ A @ rest <= (1e-6) ** 2 * (y @ A @ y)
    assert model.solution_.converged


def test_an_svm_has_exact_zeros_outside_the_margin():
    X, values = problem(n=600)
    y = np.sign(values)
    fits = [vt.KronSVM(G, G, alpha=0.5, form="dual", solver="newton", tol=1e-8, preconditioner=name).fit(X, y)
            for name in ("kronecker", "none")]  # fmt: skip
    assert set(fits[0].support_) == set(fits[1].support_)
    assert len(fits[0].support_) < len(y)


@pytest.mark.parametrize("kind", [vt.KronRidge, vt.KronLogistic])
def test_mixed_precision_and_float32_take_it(kind):
    X, values = problem()
    y = values if kind is vt.KronRidge else np.sign(values)
    solver = "cg" if kind is vt.KronRidge else "newton"
    plain = decided(kind(G, G, solver=solver, tol=1e-8, preconditioner="none").fit(X, y), X)
    mixed = kind(G, G, solver=solver, tol=1e-8, precision="mixed", preconditioner="kronecker").fit(X, y)
    np.testing.assert_allclose(decided(mixed, X), plain, atol=1e-5)
    assert mixed.solution_.n_corrections > 0
    single = kind(G, G, solver=solver, dtype="float32", preconditioner="kronecker").fit(X, y)
    np.testing.assert_allclose(decided(single, X), plain, atol=2e-2)


def test_auto_leaves_the_path_of_the_iterates_alone():
    X, y = problem()
    for more in ({"early_stopping": True, "random_state": 0}, {"max_iter": 5}, {"solver": "minres"}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = vt.KronRidge(G, G, **more).fit(X, y)
        assert model.solution_.preconditioner == "none"
        assert model.solution_.preconditioner_reason


def test_auto_takes_it_where_it_pays_and_says_why():
    X, y = vt.datasets.make_checkerboard(1000, random_state=0)
    for alpha in (0.01, 1e6):  # fits in primal form run to convergence with it
        model = vt.KronRidge(G, G, alpha=alpha).fit(X, y)
        assert (model.form_, model.solution_.preconditioner) == ("primal", "kronecker")
        assert "passes over the edges are few with it" in model.solution_.preconditioner_reason
    dual = vt.KronRidge(G, G, alpha=0.01, form="dual").fit(X, y)
    assert dual.solution_.preconditioner == "kronecker"
    assert "iterations" in dual.solution_.preconditioner_reason
    easy = vt.KronRidge(G, G, alpha=1e6, form="dual").fit(X, y)
    assert easy.solution_.preconditioner == "none"


def test_auto_gives_up_what_gains_less_than_predicted(monkeypatch):
    X, y = problem(m=60, q=60, n=700)
    from vectrick.models import preconditioning

    patience = preconditioning.Patience(1e-3, 1e-6)
    forecast = preconditioning.Forecast((10, 1), (10.0, 1.0), patience, preconditioning.Prediction(1, 1.0, 0.0))
    monkeypatch.setattr(Preconditioning, "is_short", lambda *args: False)
    monkeypatch.setattr(Preconditioning, "forecast", lambda *args: forecast)
    told = []
    model = vt.KronRidge(G, G, alpha=1e-4, solver="cg", fit_intercept=False).fit(
        X, y, callback=lambda step: told.append(step.iteration)
    )
    assert model.solution_.preconditioner == "none"
    assert "given up" in model.solution_.preconditioner_reason
    assert model.solution_.converged
    assert told == sorted(told)  # iterations are counted on
    plain = vt.KronRidge(G, G, alpha=1e-4, solver="cg", preconditioner="none", fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.predict(X), plain.predict(X), atol=1e-6)


def test_auto_gives_up_if_systems_of_newtons_method_do_not_converge(monkeypatch):
    from vectrick.models import preconditioning

    X, y = problem(m=60, q=60, n=700)
    patience = preconditioning.Patience(1e9, 1e-6)  # of a quadratic loss, it would go on
    forecast = preconditioning.Forecast((10, 1), (10.0, 1.0), patience, preconditioning.Prediction(1, 1.0, 0.0))
    monkeypatch.setattr(Preconditioning, "is_short", lambda *args: False)
    monkeypatch.setattr(Preconditioning, "forecast", lambda *args: forecast)
    how = {"alpha": 1e-2, "form": "dual", "inner_iter": 3, "max_iter": 2000}
    model = vt.KronSVM(G, G, **how).fit(X, np.sign(y))
    assert model.solution_.preconditioner == "none"
    assert "given up" in model.solution_.preconditioner_reason
    assert model.solution_.converged
    plain = vt.KronSVM(G, G, preconditioner="none", **how).fit(X, np.sign(y))
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-3)


def test_bad_input():
    X, y = problem()
    for parameters, words in (
        ({"preconditioner": "jacobi"}, "preconditioner is 'jacobi', but it must be one of"),
        (
            {"preconditioner": "kronecker", "solver": "minres"},
            "the preconditioner is for 'auto', 'cg', 'one-pass', 'newton'",
        ),
        ({"solver": "one-pass", "spectral_filter": "low"}, "spectral_filter is 'low'"),
        ({"solver": "one-pass", "filter_iter": 0}, "filter_iter is 0"),
        ({"solver": "one-pass", "refine": -1}, "refine is -1"),
        ({"solver": "one-pass", "form": "dual"}, "form is 'dual' and solver is 'one-pass'"),
        ({"solver": "one-pass", "preconditioner": "none"}, "is the preconditioner itself"),
        ({"solver": "one-pass", "precision": "mixed"}, "precision is 'mixed'"),
        ({"solver": "one-pass", "early_stopping": True}, "makes no iterations to stop at"),
        ({"solver": "one-pass", "pairwise": "linear"}, "is for one Kronecker product"),
    ):
        with pytest.raises(ValueError, match=words):
            vt.KronRidge(G, G, **parameters).fit(X, y)
    with pytest.raises(ValueError, match="is for smooth losses, but the loss is the hinge loss"):
        vt.KronSVM(G, G, loss="hinge", preconditioner="kronecker").fit(X, np.sign(y))
    with pytest.raises(ValueError, match="solver is 'one-pass', which needs a quadratic loss"):
        vt.KronSVM(G, G, solver="one-pass").fit(X, np.sign(y))


def test_memory_that_the_eigenvectors_pass(monkeypatch):
    X, y = problem()

    def too_little(self, rank):
        raise NoDegreeModelError("the eigenvectors of 30 start features take 1 GB, but there are only 1 kB")

    monkeypatch.setattr("vectrick.models.graph_side.GraphSide.check_memory", too_little)
    with pytest.raises(ValueError, match="the eigenvectors of 30 start features take"):
        vt.KronRidge(G, G, preconditioner="kronecker").fit(X, y)


@pytest.mark.parametrize("one", ["start", "end"])
def test_a_side_of_one_vertex(one):
    """All edges at one vertex: the pattern is its degrees, and one iteration suffices."""
    rng = np.random.default_rng(0)
    many, single = np.arange(20), np.zeros(20, int)
    pair = (single, many) if one == "start" else (many, single)
    X = vt.Edges(*pair, rng.standard_normal((20, 3)), rng.standard_normal((20, 3)))
    y = rng.standard_normal(20)
    both = [vt.KronRidge(G, G, solver="cg", preconditioner=name).fit(X, y) for name in ("kronecker", "none")]
    np.testing.assert_allclose(both[0].predict(X), both[1].predict(X), atol=1e-5)
    assert both[0].n_iter_ <= 2


def test_an_indefinite_kernel_is_repaired_first():
    rng = np.random.default_rng(0)
    K = rng.standard_normal((20, 20))
    K = K + K.T
    start, end = rng.integers(20, size=150), rng.integers(20, size=150)
    X = vt.Edges(start, end, K, K)
    y = rng.standard_normal(150)
    with pytest.warns(vt.KernelWarning):
        both = [
            vt.KronRidge("precomputed", "precomputed", solver="cg", tol=1e-9, preconditioner=name).fit(X, y).predict(X)
            for name in ("kronecker", "none")
        ]
    np.testing.assert_allclose(*both, atol=1e-6)


@pytest.mark.parametrize("kernel", [G, "linear"], ids=["gaussian", "linear"])
def test_one_pass_is_the_first_preconditioned_direction(kernel):
    """``M⁻¹ Zᵀ y`` by its definition, with features of the edges and the degrees."""
    X, y = problem()
    alpha = 0.7
    K, H = (
        (G if kernel is G else vt.Linear())(table.features, table.features) for table in (X.start_table, X.end_table)
    )
    model = vt.KronRidge(kernel, kernel, alpha=alpha, solver="one-pass", fit_intercept=False).fit(X, y)
    assert model.solution_.n_products == 1
    assert not model.solution_.converged
    assert model.form_ == "primal"
    # In function space: f = K_all c with (W K_all + alpha I) c = the labels at their pairs, W the weights of the pairs.
    n, pairs = len(y), np.kron(H, K)
    weight = np.kron(np.bincount(X.end, minlength=len(H)), np.bincount(X.start, minlength=len(K))) / n
    at = X.end * len(K) + X.start
    labels = np.bincount(at, y, minlength=len(pairs))
    c = np.linalg.solve(weight[:, None] * pairs + alpha * np.eye(len(pairs)), labels)
    np.testing.assert_allclose(model.predict(X), (pairs @ c)[at], atol=1e-6)


def test_refining_one_pass_ends_at_the_minimum():
    X, y = problem()
    exact = vt.KronRidge(G, G, solver="direct").fit(X, y).predict(X)
    errors = [
        np.abs(vt.KronRidge(G, G, solver="one-pass", refine=k).fit(X, y).predict(X) - exact).max() for k in (0, 2, 60)
    ]
    assert errors[0] > errors[1] > errors[2]
    model = vt.KronRidge(G, G, solver="one-pass", refine=60, fit_intercept=True).fit(X, y)
    assert model.solution_.converged
    direct = vt.KronRidge(G, G, solver="direct", fit_intercept=True).fit(X, y)
    np.testing.assert_allclose(model.predict(X), direct.predict(X), atol=1e-5)


@pytest.mark.parametrize("spectral_filter", ["ridge", "iterated", "cut-off"])
def test_one_pass_along_alpha(spectral_filter):
    X, y = vt.datasets.make_checkerboard(120, random_state=0)
    ridge = vt.KronRidge(G, G, random_state=0)
    alphas = [0.1, 1.0, 10.0]
    path = vt.alpha_path(ridge, X, y, alphas, solver="one-pass", spectral_filter=spectral_filter)
    assert [model.alpha for model in path.models] == alphas
    assert ridge.solver == "auto"  # what was given is not changed
    assert np.isfinite(path.scores).all()
    assert all(model.solution_.n_products == 1 for model in path.models)
    refined = vt.alpha_path(ridge, X, y, alphas, solver="one-pass", refine=3)
    assert all(model.n_iter_ == 4 for model in refined.models)
    singles = vt.KronRidge(G, G, solver="one-pass", spectral_filter=spectral_filter).fit_path(X, y, alphas)
    for model in singles:
        one = vt.KronRidge(G, G, alpha=model.alpha, solver="one-pass", spectral_filter=spectral_filter).fit(X, y)
        np.testing.assert_array_equal(model.coef_, one.coef_)


def test_one_pass_fails_where_the_pattern_is_far_from_its_degrees():
    """Two blocks without edges between them: the degree model sees edges everywhere."""
    rng = np.random.default_rng(0)
    m = 40
    features = np.linspace(0, 3, m)[:, None]
    start, end = (vertices.ravel() for vertices in np.meshgrid(np.arange(m), np.arange(m)))
    block = (start < m // 2) == (end < m // 2)
    X = vt.Edges(start[block], end[block], features, features)
    y = np.cos(features[X.start, 0] - features[X.end, 0]) + 0.05 * rng.standard_normal(len(X))
    minimum = vt.KronRidge(G, G, alpha=0.1).fit(X, y)
    one = vt.KronRidge(G, G, alpha=0.1, solver="one-pass").fit(X, y)
    assert minimum.score(X, y) > 0.9
    assert one.score(X, y) < minimum.score(X, y) - 0.2


def test_files_and_clones_keep_it(tmp_path):
    X, y = problem()
    model = vt.KronRidge(G, G, solver="one-pass", spectral_filter="iterated", filter_iter=3, fit_intercept=True)
    model.fit(X, y).save(tmp_path / "model.vt")
    again = vt.load(tmp_path / "model.vt")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.get_params()["filter_iter"] == 3
    assert again.solution_.preconditioner == "kronecker"
    new = vt.Edges([0, 1], [1, 0], np.random.default_rng(5).standard_normal((2, 3)), X.end_table.features[:2])
    np.testing.assert_array_equal(again.predict(new), model.predict(new))


def test_callbacks_and_resuming():
    X, y = problem()
    steps = []
    model = vt.KronRidge(G, G, alpha=0.1, solver="cg", preconditioner="kronecker").fit(X, y, callback=steps.append)
    assert [step.iteration for step in steps] == list(range(1, model.n_iter_ + 1))
    for form in ("dual", "primal"):
        kept = []
        how = {"alpha": 0.1, "solver": "cg", "form": form, "preconditioner": "kronecker"}
        vt.KronRidge(G, G, **how).fit(X, y, callback=kept.append)
        again = vt.KronRidge(G, G, **how).fit(X, y, resume=kept[3])
        np.testing.assert_allclose(again.predict(X), model.predict(X), atol=1e-5)


@pytest.mark.parametrize("form", ["dual", "primal"])
@pytest.mark.parametrize("loss", ["ridge, intercept", "squared hinge", "logistic", "rank within start"])
def test_torch_has_it(loss, form):
    torch = pytest.importorskip("torch")
    X, values = problem()
    kind, parameters = LOSSES[loss]
    y = values if kind in (vt.KronRidge, vt.KronRanker) else np.sign(values)
    how = {"alpha": 0.5, "form": form, "tol": 1e-8, "preconditioner": "kronecker", **parameters}
    there = kind(G, G, backend="torch", device="cpu", **how).fit(X, torch.as_tensor(y))
    assert there.solution_.preconditioner == "kronecker"
    found, here = decided(there, X), decided(kind(G, G, **how).fit(X, y), X)
    np.testing.assert_allclose(np.asarray(found), here, atol=1e-5 * np.abs(here).max())


def test_one_pass_on_torch():
    pytest.importorskip("torch")
    X, y = problem()
    for more in ({}, {"spectral_filter": "cut-off"}, {"spectral_filter": "iterated"}, {"refine": 3}):
        both = [vt.KronRidge(G, G, solver="one-pass", fit_intercept=True, **where, **more).fit(X, y).predict(X)
                for where in ({}, {"backend": "torch", "device": "cpu"})]  # fmt: skip
        np.testing.assert_allclose(*both, atol=1e-8)
    path = vt.alpha_path(vt.KronRidge(G, G, backend="torch", device="cpu", random_state=0), X, y, [0.1, 1.0],
                         solver="one-pass")  # fmt: skip
    assert len(path.models) == 2


@pytest.mark.filterwarnings("ignore:y is constant")
@pytest.mark.parametrize("form", ["dual", "primal"])
def test_where_there_is_nothing_to_do(form):
    """Zero labels, zero features, one edge, tiny weights: the start is the solution."""
    X, y = problem()
    how = {"form": form, "preconditioner": "kronecker"}
    assert not vt.KronRidge(G, G, **how, fit_intercept=False).fit(X, 0 * y).predict(X).any()
    constant = vt.KronRidge(G, G, fit_intercept=True, **how).fit(X, 0 * y + 3)
    np.testing.assert_allclose(constant.predict(X), 3.0)
    vt.KronRanker(G, G, **how).fit(X[:1], y[:1])
    nothing = vt.Edges(X.start, X.end, 0 * X.start_table.features, X.end_table.features)
    with contextlib.suppress(ValueError):  # in primal form there is no feature
        assert not vt.KronRidge(**how, fit_intercept=False).fit(nothing, y).predict(nothing).any()


def test_a_kernel_that_maps_coefficients_to_zero():
    """Dual coefficients of a linear kernel with a small alpha: what cannot be had is given up, and said."""
    X, y = problem()
    large = vt.Edges(X.start, X.end, 100 * X.start_table.features, 100 * X.end_table.features)
    plain = vt.KronRidge(form="dual", solver="cg", alpha=1e-3, preconditioner="none").fit(large, y)
    model = vt.KronRidge(form="dual", solver="cg", alpha=1e-3, preconditioner="kronecker").fit(large, y)
    assert model.solution_.converged
    np.testing.assert_allclose(model.predict(large), plain.predict(large), atol=1e-4)


def test_a_fit_that_ends_early_tells_the_residual_of_its_own_form():
    X, y = problem(n=600)
    K, H = (G(table.features, table.features) for table in (X.start_table, X.end_table))
    A = K[X.start][:, X.start] * H[X.end][:, X.end]
    with pytest.warns(ConvergenceWarning, match="iteration limit reached"):
        model = vt.KronRidge(
            G, G, alpha=1e-4, form="dual", max_iter=12, preconditioner="kronecker", fit_intercept=False
        ).fit(X, y)
    rest = A @ model.dual_coef_ + 1e-4 * model.dual_coef_ - y
    relative = np.sqrt(rest @ A @ rest / (y @ A @ y))
    np.testing.assert_allclose(model.solution_.residuals[-1], relative, rtol=1e-3)


def test_a_side_where_no_sampled_vertex_has_features():
    rng = np.random.default_rng(0)
    m, n = 5000, 60_000
    S = np.zeros((m, 20))
    S[:5] = 30 * rng.standard_normal((5, 20))
    X = vt.Edges(rng.integers(m, size=n), rng.integers(400, size=n), S, rng.standard_normal((400, 40)))
    y = rng.standard_normal(n)
    both = [vt.KronRidge(alpha=1e-3, preconditioner=name).fit(X, y) for name in ("auto", "none")]
    assert both[0].solution_.converged
    np.testing.assert_allclose(*(model.predict(X) for model in both), atol=1e-4)


def test_a_callback_stops_a_fit_that_has_lost_patience(monkeypatch):
    from vectrick.estimators import base
    from vectrick.models import preconditioning

    choose = base.choose_preconditioner

    def impatient(asked, *how):
        choice = choose("kronecker", *how)
        return preconditioning.ChosenPreconditioner(choice.model, choice.reason, preconditioning.Patience(0.5, 1e-12))

    monkeypatch.setattr(base, "choose_preconditioner", impatient)
    X, y = problem()
    model = vt.KronRidge(G, G, alpha=1e-3, tol=1e-12, solver="cg").fit(X, y, callback=lambda step: step.iteration == 5)
    assert model.n_iter_ == 5


def test_what_a_truncated_basis_leaves_out_has_a_size_between_those_that_it_can_have():
    from vectrick.objectives.degrees import Basis

    rng = np.random.default_rng(0)
    K = np.cov(rng.standard_normal((40, 400)))
    part, whole = Basis.largest(K, np.ones(40), 10), Basis.of_matrix(K, np.ones(40))
    assert part.is_part
    assert not whole.is_part
    np.testing.assert_allclose(np.sort(part.spectrum), whole.spectrum[-10:], rtol=0.3)
