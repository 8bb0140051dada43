"""Several columns of labels at once: each is the model that its own fit would have made."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge

import vectrick as vt
from vectrick.solvers.linear import columns
from vectrick.solvers.linear.cg import ConjugateGradients

RNG = np.random.default_rng(3)
STARTS, ENDS = RNG.standard_normal((40, 3)), RNG.standard_normal((30, 4))
PLACES = RNG.permutation(40 * 30)[:900]
X = vt.Edges(PLACES // 30, PLACES % 30, STARTS, ENDS)
Y = RNG.standard_normal((900, 3)) + [0.0, 2.0, -1.0] + STARTS[X.start][:, :1]
WEIGHT = RNG.integers(0, 3, 900).astype(float)
KERNELS = vt.Gaussian(gamma=0.5), vt.Gaussian(gamma=0.3)


def fits(Y=Y, X=X, weight=None, kernels=KERNELS, **parameters):
    """Return a fit to all columns, and a fit to each."""
    parameters = {"alpha": 0.1, "tol": 1e-10, **parameters}
    whole = vt.KronRidge(*kernels, **parameters).fit(X, Y, weight)
    return whole, [vt.KronRidge(*kernels, **parameters).fit(X, column, weight) for column in np.asarray(Y).T]


def check(whole, single, X=X, atol=1e-7):
    n = len(single)
    assert whole.predict(X).shape == (len(X), n)
    assert_allclose(whole.predict(X), np.stack([one.predict(X) for one in single], -1), atol=atol)
    assert_allclose(whole.intercept_, [one.intercept_ for one in single], atol=atol)
    name = "dual_coef_" if whole.form_ == "dual" else "coef_"
    assert getattr(whole, name).shape == (n, *getattr(single[0], name).shape)
    assert all(machine.solution_.converged == one.solution_.converged
               for machine, one in zip(whole.machines_, single, strict=True))  # fmt: skip


@pytest.mark.parametrize("form", ["dual", "primal"])
@pytest.mark.parametrize("preconditioner", ["none", "kronecker"])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["", "weights"])
def test_columns_are_fits_of_their_own(form, preconditioner, fit_intercept, weight):
    how = {"form": form, "preconditioner": preconditioner, "fit_intercept": fit_intercept}
    whole, single = fits(weight=weight, **how)
    check(whole, single)
    assert whole.solution_.preconditioner == preconditioner
    assert whole.solution_.n_products < 1.5 * single[0].solution_.n_products + 10  # for all columns


def test_columns_share_products(monkeypatch):
    """One call of the block solver makes all columns, and columns that are done leave it."""
    widths = []
    predict = columns.Dual.predict
    monkeypatch.setattr(columns.Dual, "predict", lambda self, c: (widths.append(c.shape), predict(self, c))[1])
    monkeypatch.setattr(ConjugateGradients, "solve", None)
    rank_one = np.stack([Y[:, 0], Y[:, 1], np.zeros(900)], -1)
    rank_one[:, 2] = vt.KronRidge(*KERNELS, solver="one-pass").fit(X, Y[:, 0]).predict(X)  # converges early
    model = vt.KronRidge(*KERNELS, alpha=0.1, tol=1e-6, preconditioner="none").fit(X, rank_one)
    assert model.solution_.converged
    assert widths[0] == (900, 3)
    assert (900, 2) in widths


@pytest.mark.parametrize("backend", ["cpu", "torch"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_backends_and_types(backend, dtype):
    if backend == "torch":
        pytest.importorskip("torch")
    for how in ({"preconditioner": "kronecker"}, {"preconditioner": "none"}, {"solver": "one-pass"}):
        whole, single = fits(backend=backend, dtype=dtype, tol=1e-4, **how)
        check(whole, single, atol=1e-2 if "solver" not in how else 1e-4)
        assert whole.machines_[0].solution_.x.dtype == dtype


@pytest.mark.parametrize("spectral_filter", ["ridge", "iterated", "cut-off"])
@pytest.mark.parametrize("refine", [0, 2])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_one_pass(spectral_filter, refine):
    how = {"spectral_filter": spectral_filter, "refine": refine, "fit_intercept": True}
    whole, single = fits(solver="one-pass", **how)
    check(whole, single, atol=1e-12)
    assert refine or whole.solution_.n_products == 1


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_complete_graphs(fit_intercept):
    grid = vt.Edges.grid(STARTS, ENDS)
    labels = RNG.standard_normal((1200, 4))
    whole, single = fits(labels, grid, fit_intercept=fit_intercept)
    assert whole.solution_.reason == "solved exactly"
    check(whole, single, grid, atol=1e-12)
    assert whole.predict_grid(STARTS, ENDS).shape == (40, 30, 4)
    assert_allclose(whole.predict_grid(STARTS, ENDS)[..., 2], single[2].predict_grid(STARTS, ENDS), atol=1e-12)


@pytest.mark.parametrize("pairwise", ["symmetric", "antisymmetric", "cartesian", "two_step", ["kronecker", "linear"]])
def test_pairwise_kernels(pairwise):
    if pairwise == "two_step":
        edges, labels = vt.Edges.grid(STARTS, ENDS), RNG.standard_normal((1200, 2))
    else:
        one, other = np.triu_indices(40, 1)
        keep = RNG.permutation(len(one))[:600]
        edges = vt.Edges(one[keep], other[keep], STARTS)
        labels = RNG.standard_normal((600, 2))
    whole, single = fits(labels, edges, pairwise=pairwise, kernels=(KERNELS[0], KERNELS[0]))
    check(whole, single, edges)


def test_small_problems_are_solved_directly():
    whole, single = fits(Y[:300], X[:300])
    assert whole.solution_.reason == "solved exactly"
    check(whole, single, X[:300], atol=1e-12)


@pytest.mark.parametrize(
    "how",
    [
        {"early_stopping": True, "random_state": 0},
        {"precision": "mixed"},
        {"solver": "minres", "max_iter": 200},
        {"solver": "qmr"},
        {"kernel_weights": "alignment", "pairwise": ["kronecker", "linear"]},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_differs_has_fits_of_its_own(how):
    whole, single = fits(tol=1e-6, **how)
    assert_allclose(whole.predict(X), np.stack([one.predict(X) for one in single], -1), atol=1e-12)


def test_validation_and_callbacks():
    held = X[:200], Y[:200]
    model = vt.KronRidge(*KERNELS).fit(X[200:], Y[200:], validation=held)
    single = vt.KronRidge(*KERNELS).fit(X[200:], Y[200:, 1], validation=(held[0], Y[:200, 1]))
    assert_allclose(model.predict(X)[:, 1], single.predict(X), atol=1e-12)
    steps = []
    stopped = vt.KronRidge(*KERNELS).fit(X, Y, callback=lambda step: steps.append(step) or len(steps) == 2)
    assert [machine.n_iter_ for machine in stopped.machines_] == [2, 1, 1]
    with pytest.raises(ValueError, match="y has 3 columns, but the labels of validation do not"):
        vt.KronRidge().fit(X, Y, validation=(X, Y[:, 0]))
    with pytest.raises(ValueError, match="resume is given, but y has 3 columns"):
        vt.KronRidge().fit(X, Y, resume=steps[0])


def test_linear_kernels_are_scikit_learns_ridge():
    """With one end vertex of feature 1, edges are rows of a table."""
    rows = vt.Edges(np.arange(40), np.zeros(40, int), STARTS, np.ones((1, 1)))
    labels = RNG.standard_normal((40, 5))
    model = vt.KronRidge(alpha=0.3, form="primal", fit_intercept=True, tol=1e-12).fit(rows, labels)
    ridge = Ridge(alpha=0.3).fit(STARTS, labels)
    assert_allclose(model.coef_[:, :, 0], ridge.coef_, atol=1e-8)
    assert_allclose(model.intercept_, ridge.intercept_, atol=1e-8)
    assert model.score(rows, labels) == pytest.approx(ridge.score(STARTS, labels))


def test_frames_lists_and_columns():
    model = vt.KronRidge(*KERNELS).fit(X, Y)
    frame = vt.KronRidge(*KERNELS).fit(X, pd.DataFrame(Y, columns=["a", "b", "c"]))
    listed = vt.KronRidge(*KERNELS).fit(X, Y.tolist())
    assert (model.predict(X) == frame.predict(X)).all()
    assert (model.predict(X) == listed.predict(X)).all()
    again = model.fit(X, Y[:, 0])  # one column only, after several
    assert again.predict(X).shape == (900,)
    assert not hasattr(again, "machines_")
    assert vt.KronRidge(*KERNELS).fit(X, np.tile(Y[:, :1], 2)).predict(X).shape == (900, 2)


def test_files_pickles_and_updates(tmp_path):
    for how in ({}, {"form": "primal"}, {"solver": "one-pass"}):
        model = vt.KronRidge(*KERNELS, tol=1e-10, **how).fit(X[:700], Y[:700], WEIGHT[:700] + 1)
        model.save(tmp_path / "model.vt", about={"what": "several"})
        again = vt.load(tmp_path / "model.vt")
        assert (again.predict(X) == model.predict(X)).all()
        assert again.about_ == {"what": "several"}
        assert len(again.machines_) == 3
        assert (pickle.loads(pickle.dumps(model)).predict(X) == model.predict(X)).all()
        again.update(X[700:], Y[700:], WEIGHT[700:] + 1)
        whole = vt.KronRidge(*KERNELS, tol=1e-10, **how).fit(X, Y, WEIGHT + 1)
        assert_allclose(again.predict(X), whole.predict(X), atol=1e-7)
        with pytest.raises(ValueError, match=r"y has shape \(10,\), but X has 10 edges and the model 3 labels for"):
            again.update(X[:10], Y[:10, 0])


def test_bad_labels_and_what_is_for_one():
    with pytest.raises(ValueError, match=r"y contains NaN or infinity: y\[5\] is nan"):
        vt.KronRidge().fit(X, np.where(np.arange(2700).reshape(900, 3) == 16, np.nan, Y))
    with pytest.raises(ValueError, match="y has length 899, but X has 900 edges"):
        vt.KronRidge().fit(X, Y[1:])
    with pytest.raises(ValueError, match=r"y has shape \(900, 0\)"):
        vt.KronRidge().fit(X, Y[:, :0])
    with pytest.raises(ValueError, match=r"y has shape \(900, 3, 1\)"):
        vt.KronRidge().fit(X, Y[:, :, None])
    with pytest.raises(ValueError, match="1d array"):
        vt.KronSVM().fit(X, np.sign(Y))
    model = vt.KronRidge(*KERNELS).fit(X, Y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X, Y * np.nan)
    assert (model.predict(X) == before).all()  # an earlier model stays intact
    for method in (lambda: model.top_k(STARTS, ENDS), lambda: model.recommend([0])):
        with pytest.raises(ValueError, match="3 labels for each edge, but rankings are for one of them"):
            method()
    assert model.machines_[1].top_k(STARTS, ENDS, k=2)[0].shape == (40, 2)


def test_the_limit_of_iterations_is_told():
    with pytest.warns(ConvergenceWarning, match="stopped after 3 iterations"):
        model = vt.KronRidge(*KERNELS, max_iter=3).fit(X, Y)
    assert [machine.n_iter_ for machine in model.machines_] == [3, 3, 3]
    assert not model.solution_.converged


def test_progress(capsys):
    vt.KronRidge(*KERNELS, verbose=2, alpha=0.1, preconditioner="none").fit(X, Y)
    assert "iteration 10 of 3 columns, relative residual" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:y is constant")  # other warnings are errors
def test_a_column_of_zeros_and_float32():
    zero = np.c_[Y[:, 0], np.zeros(len(Y))]
    model = vt.KronRidge(*KERNELS, preconditioner="kronecker").fit(X, zero)
    assert not model.predict(X)[:, 1].any()
    small = vt.Edges(X.start, X.end, STARTS.astype(np.float32), ENDS.astype(np.float32))
    assert vt.KronRidge(*KERNELS, solver="cg").fit(small, Y).predict(small).dtype == np.float32
