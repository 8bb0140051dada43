"""Fits in memory by passes over one sorted block are those by products, for every loss that has compiled loops."""

import itertools

import numpy as np
import pytest

import vectrick as vt
from tests.ways import take

rng = np.random.default_rng(0)
M, Q, N = 60, 45, 3000
START, END = rng.standard_normal((M, 5)), rng.standard_normal((Q, 4))
ROWS, COLS = rng.integers(0, M, N), rng.integers(0, Q, N)
Y = np.einsum("ij,ij->i", (START @ rng.standard_normal((5, 4)))[ROWS], END[COLS]) + rng.standard_normal(N) + 0.5
WEIGHT = rng.random(N)
MODELS = [vt.KronRidge, vt.KronLogistic, vt.KronSVM]
WIDE = vt.Gaussian(0.003)  # of small numerical rank


@pytest.fixture
def tiles(monkeypatch):
    """Take tiles, however few edges there are."""
    take("tiles", monkeypatch.setattr)


def _labels(kind):
    return Y if kind is vt.KronRidge else np.where(Y > 0, "yes", "no")


def _both(monkeypatch, kind, X, weight=None, **options):
    """Return the model by passes and the model by products."""
    fitted = []
    for way in ("tiles", "products"):
        take(way, monkeypatch.setattr)
        fitted.append(kind(**{"tol": 1e-10, "form": "primal", **options}).fit(X, _labels(kind), weight))
    assert fitted[0].plan_.path == "tiles"
    assert fitted[1].plan_.path != "tiles"
    return fitted


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize(("weighted", "constant"), list(itertools.product([False, True], repeat=2)))
@pytest.mark.parametrize("swapped", [False, True])
def test_coefficients_are_those_by_products(kind, weighted, constant, swapped, monkeypatch):
    X = vt.Edges(COLS, ROWS, END, START) if swapped else vt.Edges(ROWS, COLS, START, END)
    weight = WEIGHT if weighted else None
    passes, products = _both(monkeypatch, kind, X, weight, fit_intercept=constant, alpha=0.7)
    np.testing.assert_allclose(passes.coef_, products.coef_, atol=1e-7 * abs(products.coef_).max())
    assert passes.intercept_ == pytest.approx(products.intercept_, abs=1e-7)
    assert passes.solution_.converged
    assert passes.history_["risk"][-1] == pytest.approx(products.history_["risk"][-1], rel=1e-9)
    if kind is vt.KronSVM:
        np.testing.assert_array_equal(passes.support_, products.support_)


@pytest.mark.parametrize("kind", MODELS)
def test_smooth_kernels_one_vertex_set_and_single_precision(kind, monkeypatch):
    smooth = vt.Edges(ROWS, COLS, START, END)
    passes, products = _both(monkeypatch, kind, smooth, start_kernel=WIDE, end_kernel=WIDE, factor_tol=1e-5)
    np.testing.assert_allclose(
        passes.predict_grid(START + 0.1, END), products.predict_grid(START + 0.1, END), atol=1e-5 * abs(Y).max()
    )
    one_set = vt.Edges(ROWS, COLS, START)
    passes, products = _both(monkeypatch, kind, one_set)
    np.testing.assert_allclose(passes.coef_, products.coef_, atol=1e-7 * abs(products.coef_).max())
    single = vt.Edges(ROWS, COLS, START.astype(np.float32), END.astype(np.float32))
    passes, products = _both(monkeypatch, kind, single, tol=1e-4)
    assert passes.coef_.dtype == np.float32
    np.testing.assert_allclose(passes.coef_, products.coef_, atol=3e-4 * abs(products.coef_).max())


@pytest.mark.usefixtures("tiles")
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_bits_do_not_depend_on_threads(threads):
    X = vt.Edges(ROWS, COLS, START, END)
    one, other = (vt.KronLogistic(n_threads=n).fit(X, Y > 0) for n in (1, threads))
    np.testing.assert_array_equal(one.coef_, other.coef_)


@pytest.mark.usefixtures("tiles")
@pytest.mark.parametrize(
    "options",
    [{"form": "dual"}, {"max_iter": 5}, {"solver": "cg"}, {"preconditioner": "none"}, {"early_stopping": True}],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_asks_for_iterates_or_another_way_gets_it(options):
    model = vt.KronRidge(**options).fit(vt.Edges(ROWS, COLS, START, END), Y)
    assert model.plan_.path != "tiles"


def test_few_coefficients_and_wide_features_go_the_usual_way(monkeypatch):
    take("auto", monkeypatch.setattr)
    few = vt.Edges(ROWS, COLS, START, END)
    assert vt.KronRidge().fit(few, Y).plan_.path != "tiles"
    take("tiles", monkeypatch.setattr)
    wide = rng.standard_normal((M, M))
    assert vt.KronRidge().fit(vt.Edges(ROWS, COLS, wide, END), Y).plan_.path != "tiles"


@pytest.mark.usefixtures("tiles")
def test_the_fitted_model_has_all_that_others_have(tmp_path):
    X = vt.Edges(ROWS, COLS, START, END)
    steps = []
    model = vt.KronRidge(alpha=0.5).fit(X, Y, callback=steps.append)
    assert len(steps) == model.n_iter_
    assert "one reading of sorted tiles" in str(model.plan_)
    frame = model.explain(X[:1], k=5)
    assert frame["contribution"].sum() == pytest.approx(model.predict(X[:1])[0])
    assert model.predict(X[:5], return_std=True)[1].min() > 0
    model.save(tmp_path / "model.vt")
    np.testing.assert_array_equal(vt.load(tmp_path / "model.vt").predict(X), model.predict(X))
    parts = vt.KronRidge(alpha=0.5, tol=1e-10).fit(X[:2000], Y[:2000]).update(X[2000:], Y[2000:])
    whole = vt.KronRidge(alpha=0.5, tol=1e-10).fit(X, Y)
    np.testing.assert_allclose(parts.predict(X), whole.predict(X), atol=1e-6)


@pytest.mark.usefixtures("tiles")
def test_an_interrupted_fit_keeps_its_last_iterate():
    def interrupt(step):
        if step.iteration == 2:
            raise KeyboardInterrupt

    X = vt.Edges(ROWS, COLS, START, END)
    model = vt.KronRidge(tol=1e-12).fit(X, Y, callback=interrupt, keep_interrupted=True)
    assert model.solution_.reason.startswith("interrupted")
    assert model.n_iter_ == 2
    with pytest.raises(KeyboardInterrupt):
        vt.KronRidge().fit(X, Y, callback=interrupt)


@pytest.mark.usefixtures("tiles")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_models_of_zeros_and_features_that_are_too_large():
    X = vt.Edges(ROWS, COLS, 1e200 * START, 1e200 * END)
    with pytest.raises(ValueError, match=r"too large|predicts zero"):
        vt.KronRidge().fit(X, Y)
    nothing = vt.Edges(ROWS, COLS, 0.0 * START, END)
    assert vt.KronRidge(fit_intercept=False).fit(nothing, Y).predict(nothing).tolist() == [0.0] * N


@pytest.mark.parametrize(
    ("model", "labels"),
    [(vt.KronRidge(), Y), (vt.KronRidge(form="dual"), Y), (vt.KronRidge(solver="one-pass"), Y),
     (vt.KronRidge(), np.stack([Y, -Y], 1)), (vt.KronSVM(), Y > 0), (vt.KronLogistic(), np.digitize(Y, [-1, 1])),
     (vt.KronRanker(), Y), (vt.KronSVM(loss="hinge"), Y > 0)],
)  # fmt: skip
@pytest.mark.parametrize("way", ["tiles", "products"])
def test_the_plan_of_a_fit_is_that_of_the_fitted_model(model, labels, way, monkeypatch):
    take(way, monkeypatch.setattr)
    X = vt.Edges(ROWS, COLS, START, END)
    before = vars(model).copy()
    plan = model.plan(X, labels)
    assert vars(model) == before
    fitted = model.fit(X, labels)
    fitted = fitted.machines_[0] if getattr(fitted, "machines_", []) else fitted
    assert (plan.path, plan.title) == (fitted.plan_.path, fitted.plan_.title)


def test_the_plan_of_a_complete_graph_is_that_of_its_closed_form():
    X = vt.Edges.grid(START, END)
    assert vt.KronRidge().plan(X, np.arange(len(X))).path == vt.KronRidge().fit(X, np.arange(len(X))).plan_.path
