"""Explanations and predictions without edges agree with the model and with a new fit, in every form."""

import numpy as np
import pytest
from sklearn.base import clone

import vectrick as vt

rng = np.random.default_rng(1)
START, END = rng.standard_normal((12, 3)), rng.standard_normal((8, 2))
X = vt.Edges.grid(START, END)
Y = rng.standard_normal(96)
SCARCE = np.flatnonzero((X.start != 5) | (X.end == 2))  # start vertex 5 has one edge


@pytest.mark.parametrize("kernel", [
    vt.Gaussian(0.5), vt.Gaussian("scale"), vt.Standardized(vt.Gaussian(0.5)), vt.Standardized(vt.Linear()),
    vt.Linear() + vt.Profile(), vt.Gaussian(0.5) * vt.Standardized(vt.Linear()),
])  # fmt: skip
def test_predictions_without_are_those_of_a_new_fit(kernel):
    some, labels = X[SCARCE], Y[SCARCE]
    model = vt.KronRidge(kernel, vt.Gaussian(0.5), alpha=0.3).fit(some, labels)

    def refit(kept):
        return clone(model).fit(some[kept], labels[kept]).predict(X[:20])

    for row in (7, int(np.flatnonzero(some.start == 5)[0])):
        without = model.predict_without(X[:20], edges=some[row : row + 1])
        np.testing.assert_allclose(without, refit(np.arange(len(some)) != row), atol=1e-8)
    for side, vertex in (("start", 2), ("end", 3)):
        without = model.predict_without(X[:20], **{side: vertex})
        np.testing.assert_allclose(without, refit(getattr(some, side) != vertex), atol=1e-8)


def test_influence_is_that_of_a_new_fit_also_for_the_last_edge_of_a_vertex():
    some, labels = X[SCARCE], Y[SCARCE]
    model = vt.KronRidge(vt.Gaussian("scale"), vt.Gaussian(0.5), alpha=0.3).fit(some, labels)
    row = int(np.flatnonzero(some.start == 5)[0])
    frame = model.explain(some[row : row + 1], k=len(some), influence=True)
    told = frame[(frame["start"] == 5) & (frame["what"] == "edge")]["without"].item()
    kept = np.arange(len(some)) != row
    again = clone(model).fit(some[kept], labels[kept]).predict(some[row : row + 1])[0]
    assert told == pytest.approx(again, abs=1e-8)


def test_influence_refuses_kernels_of_labels():
    model = vt.KronRidge(vt.Linear() + vt.Profile(), "linear").fit(X, Y)
    with pytest.raises(ValueError, match="made from the labels of the training edges"):
        model.explain(X[:1], influence=True)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_both_forms_have_the_same_explanation(loss, tmp_path):
    models = [
        vt.KronSVM("linear", "linear", loss=loss, form=form, tol=1e-11, fit_intercept=False).fit(X, np.sign(Y))
        for form in ("dual", "primal")
    ]
    models[1].save(tmp_path / "model.vt")
    for edge in (3, 50):
        dual, primal, loaded = (m.explain(X[edge : edge + 1], k=96) for m in (*models, vt.load(tmp_path / "model.vt")))
        left = [frame["contribution"].iloc[-1] for frame in (dual, primal, loaded)]
        np.testing.assert_allclose(left, 0.0, atol=1e-5)
        np.testing.assert_allclose(loaded["contribution"], primal["contribution"], atol=1e-12)
        assert abs(primal["contribution"]).max() < 3 * abs(dual["contribution"]).max()


def test_hinge_without_dual_coefficients_says_so():
    model = vt.KronSVM("linear", "linear", loss="hinge", form="primal").fit(X, np.sign(Y))
    del model._dual_of_primal
    with pytest.raises(ValueError, match="fit it again with form='dual'"):
        model.explain(X[:1])


def test_two_step_is_not_taken_for_ridge_regression_with_the_kronecker_kernel():
    two_step = vt.pairwise.TwoStep(0.1, 1.0)
    model = vt.KronRidge(vt.Gaussian(0.5), vt.Gaussian(0.5), alpha=0.1, pairwise=two_step).fit(X, Y)
    for method in (
        lambda: model.predict(X, return_std=True),
        lambda: model.novelty(X),
        lambda: vt.suggest(model, X, n=2),
        model.posterior,
        lambda: model.explain(X[:1], influence=True),
    ):
        with pytest.raises(ValueError, match="two_step"):
            method()
    assert abs(model.explain(X[:1], k=5)["contribution"].iloc[-1]) < 1e-10
    again = clone(model).fit(X[X.start != 4], Y[X.start != 4]).predict(X[:5])
    np.testing.assert_allclose(model.predict_without(X[:5], start=4), again, atol=1e-10)


def test_two_step_refuses_lakes(tmp_path):
    import pandas as pd

    pd.DataFrame({"start": X.start, "end": X.end, "label": Y}).to_parquet(tmp_path / "edges.parquet")
    lake = vt.scan_edges(tmp_path, start_table=START, end_table=END)
    with pytest.raises(ValueError, match="two_step"):
        vt.KronRidge(pairwise="two_step").fit(lake)


@pytest.mark.parametrize("kind", [vt.KronRidge, vt.KronSVM])
def test_primal_fits_that_ended_early_are_not_explained_by_their_gradient(kind):
    y = Y if kind is vt.KronRidge else np.sign(Y)
    how = {"alpha": 0.001, "early_stopping": True, "random_state": 0, "validation_fraction": 0.3, "refit": False}
    dual = kind(vt.Gaussian(0.5), vt.Gaussian(0.5), form="dual", **how).fit(X, y)
    assert abs(dual.explain(X[:1])["contribution"].iloc[-1]) < 1e-8
    with pytest.raises(ValueError, match="fit it with form='dual', or to convergence"):
        kind(vt.Gaussian(0.5), vt.Gaussian(0.5), form="primal", **how).fit(X, y).explain(X[:1])


def test_hinge_in_primal_form_can_be_updated():
    y = np.sign(Y)
    model = vt.KronSVM(vt.Gaussian(0.5), vt.Gaussian(0.5), loss="hinge", form="primal", tol=1e-6).fit(X[:60], y[:60])
    whole = clone(model).fit(X[:65], y[:65])
    np.testing.assert_allclose(
        model.update(X[60:65], y[60:65]).decision_function(X), whole.decision_function(X), atol=1e-2
    )
