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


def test_history_of_several_classes_has_a_line_for_each(edges):
    X, y = edges
    model = vt.KronSVM(K, K).fit(X, np.arange(len(y)) % 3)
    ax = vt.plot.history(model)
    assert [line.get_label() for line in ax.lines] == ["0", "1", "2"]
    assert ax.lines[2].get_ydata().tolist() == model.machines_[2].history_["risk"]


def test_the_best_candidates_come_first(edges):
    auto = vt.AutoKron(random_state=0, n_best=2).fit(*edges)
    tried, chosen = (container[0] for container in vt.plot.history(auto).containers)
    places, scores = (np.concatenate([getattr(line, f"get_{axis}data")() for line in (tried, chosen)]) for axis in "xy")
    assert (np.diff(scores[np.argsort(places)]) <= 0).all()


def test_roc_says_the_auc_of_each(edges, model):
    X, y = edges
    ax = vt.plot.roc({"model": model, "scores": -y, "$a^^$": y}, X, np.where(y > 0, "yes", "no"))
    labels = [line.get_label() for line in ax.lines]
    assert labels[1:] == ["scores: AUC 0.000", r"\$a^^\$: AUC 1.000", "chance"]
    assert labels[0] == f"model: AUC {vt.get_scorer('auc')(model, X, y):.3f}"
    for line, area in zip(ax.lines[1:], (0.0, 1.0, 0.5), strict=True):
        assert np.trapezoid(line.get_ydata(), line.get_xdata()) == pytest.approx(area)
    ax.figure.canvas.draw()  # names are no formulas


def test_matrix_is_that_of_predict_grid(edges, model):
    X, _ = edges
    ids = [f"s{i}" for i in range(20)], [f"t{i}" for i in range(15)]
    small = vt.Edges(
        X.start[(X.start < 20) & (X.end < 15)], X.end[(X.start < 20) & (X.end < 15)], X.start_table.features[:20],
        X.end_table.features[:15], start_ids=ids[0], end_ids=ids[1],
    )  # fmt: skip
    ax = vt.plot.matrix(model, small, known=True)
    rows, cols = ([label.get_text() for label in axis.get_ticklabels()] for axis in (ax.yaxis, ax.xaxis))
    grid = model.predict_grid(small.start_table.features, small.end_table.features)
    order = [[names.index(name) for name in shown] for names, shown in zip(ids, (rows, cols), strict=True)]
    np.testing.assert_allclose(ax.images[0].get_array(), grid[np.ix_(*order)])
    dots = {(rows[int(i)], cols[int(j)]) for j, i in zip(*ax.lines[0].get_data(), strict=True)}
    assert dots == {(ids[0][i], ids[1][j]) for i, j in zip(small.start, small.end, strict=True)}


def test_path_has_a_line_for_each_alpha_and_a_star(edges):
    found = vt.alpha_path(vt.KronRidge(K, K, random_state=0), *edges, [0.1, 1.0, 10.0])
    ax = vt.plot.path(found)
    assert len(ax.lines) == 4
    assert ax.lines[1].get_ydata().tolist() == found.steps[1].scores.tolist()
    assert (ax.lines[-1].get_xdata()[0], ax.lines[-1].get_ydata()[0]) == (found.best.best, found.best.best_score)
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


def test_held_out_vertices_are_on_top_and_left(edges):
    X, y = edges
    part = vt.vertex_split(X, y, random_state=0)
    parts = {each.get_label(): each.get_offsets() for each in vt.plot.split(part, X).collections}
    for axis, vertices in ((1, X.start), (0, X.end)):
        assert parts["test"][:, axis].max() < parts["validation"][:, axis].min()
        assert parts["validation"][:, axis].max() < parts["training"][:, axis].min()
        assert len(np.unique(parts["test"][:, axis])) == len(np.unique(vertices[part.test]))
    one = vt.Edges(X.start, X.end, X.start_table.features)
    ax = vt.plot.split(vt.VertexKFold(3, random_state=0), one)
    assert ax.get_xlabel() == "vertices"


def test_axes_that_are_given_are_used(model):
    _, ax = pyplot.subplots()
    assert vt.plot.history(model, ax=ax) is ax


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, y, m: vt.plot.history(vt.KronRidge()), "without a history_"),
        (lambda X, y, m: vt.plot.roc({"mine": np.full(len(y), np.nan)}, X, y), "mine has scores that are NaN"),
        (lambda X, y, m: vt.plot.matrix(vt.KronSVM(K, K).fit(X, np.arange(len(y)) % 3), X), "several models inside"),
        (lambda X, y, m: vt.plot.matrix(vt.KronRidge(K, K).fit(X, np.stack([y, y], 1)), X), r"machines_\[0\]"),
        (lambda X, y, m: vt.plot.matrix(m, vt.Edges([], [], np.empty((0, 1)), np.eye(1))), "empty table"),
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
    assert not pyplot.get_fignums()
