"""Figures show what the objects hold, and refuse what they cannot show."""

import numpy as np
import pytest

import vectrick as vt

pytest.importorskip("matplotlib")
from matplotlib import pyplot

K = vt.Gaussian(gamma=1.0)


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def edges():
    return vt.datasets.make_checkerboard(40, noise=0.0, density=0.5, random_state=0)


@pytest.fixture(scope="module")
def model(edges):
    return vt.KronSVM(K, K, alpha=0.1, early_stopping=True, random_state=0).fit(*edges)


def test_history_has_risk_score_and_the_kept_iteration(model):
    ax = vt.plot.history(model)
    assert ax.lines[0].get_ydata().tolist() == model.history_["risk"]
    (right,) = [other for other in ax.figure.axes if other is not ax]
    assert right.lines[0].get_ydata().tolist() == model.history_["score"]
    assert ax.lines[1].get_xdata()[0] == model.n_iter_


def test_history_of_a_search_shows_every_candidate(edges):
    auto = vt.AutoKron(random_state=0, n_best=2).fit(*edges)
    ax = vt.plot.history(auto)
    shown = [len(container[0].get_xdata()) for container in ax.containers]
    assert shown == [(~auto.search_["member"]).sum(), auto.search_["member"].sum()]


def test_roc_says_the_auc_of_each(edges, model):
    X, y = edges
    ax = vt.plot.roc({"model": model, "scores": -y, "words": y}, X, np.where(y > 0, "yes", "no"))
    labels = [line.get_label() for line in ax.lines]
    assert labels[1:] == ["scores: AUC 0.000", "words: AUC 1.000", "chance"]
    assert labels[0] == f"model: AUC {vt.get_scorer('auc')(model, X, y):.3f}"


def test_matrix_is_that_of_predict_grid(edges, model):
    X, _ = edges
    ax = vt.plot.matrix(model, X, known=True)
    grid = model.predict_grid(X.start_table.features, X.end_table.features)
    assert np.allclose(np.sort(ax.images[0].get_array().ravel()), np.sort(grid.ravel()))
    assert len(ax.lines[0].get_xdata()) == len(X)


def test_path_has_a_line_for_each_alpha_and_a_star(edges):
    found = vt.alpha_path(vt.KronRidge(K, K, random_state=0), *edges, [0.1, 1.0, 10.0])
    ax = vt.plot.path(found)
    assert len(ax.lines) == 4
    assert ax.lines[-1].get_ydata() == [found.best.best_score]
    one = vt.alpha_path(vt.KronRidge(K, K, random_state=0), *edges, [0.1, 1.0], iterations=[5])
    assert vt.plot.path(one).get_xlabel() == "alpha"


@pytest.mark.parametrize("new", ["both", "start", "end", "neither"])
def test_split_shows_every_edge_by_its_use(edges, new):
    X, y = edges
    cv = vt.VertexKFold(3, 3, new=new, random_state=0)
    ax = vt.plot.split(cv, X, y, fold=1)
    fold = cv.folds(X, y)[1]
    dots = {part.get_label(): len(part.get_offsets()) for part in ax.collections}
    assert dots["training"] == len(fold.train)
    assert dots["test"] == len(fold.test)
    assert sum(dots.values()) == len(X)


def test_axes_that_are_given_are_used(model):
    _, ax = pyplot.subplots()
    assert vt.plot.history(model, ax=ax) is ax


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, y, m: vt.plot.history(vt.KronRidge()), "without a history_"),
        (lambda X, y, m: vt.plot.history(vt.AutoKron()), "not fitted"),
        (lambda X, y, m: vt.plot.roc(m, X, np.arange(len(y))), "different labels"),
        (lambda X, y, m: vt.plot.roc({"mine": y[:3]}, X, y), "mine has scores of shape"),
        (lambda X, y, m: vt.plot.matrix(m, np.eye(3)), "must be Edges"),
        (lambda X, y, m: vt.plot.path(m), "vt.alpha_path"),
        (lambda X, y, m: vt.plot.split(m, X), "vt.vertex_split"),
        (lambda X, y, m: vt.plot.split(vt.VertexKFold(), X, fold=9), "fold is 9"),
        (lambda X, y, m: vt.plot.split(vt.vertex_split(X, y), X[:5]), "but X has 5"),
        (lambda X, y, m: vt.plot.history(m, ax=3), "axes of matplotlib"),
    ],
)
def test_bad_input_is_named(edges, model, call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call(*edges, model)
