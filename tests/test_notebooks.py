"""What notebooks and loggers get: tables in place of text, bars in place of lines, messages by ``logging``."""

import logging
import re
import sys
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest

import vectrick as vt

K = vt.Gaussian(gamma=1.0)
VOID = {"circle", "rect", "polyline", "meta", "br"}


class Balance(HTMLParser):
    """Checks that every element is closed, in the right order."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag


def text_of(markup):
    parser = Balance()
    words = []
    parser.handle_data = words.append
    parser.feed(markup)
    assert not parser.open
    return " ".join(words)


@pytest.fixture(scope="module")
def edges():
    return vt.datasets.make_checkerboard(40, noise=0.0, density=0.5, random_state=0)


def test_edges_show_their_tables_and_first_rows(edges):
    X, _ = edges
    assert "800 edges between 40 start and 40 end vertices" in text_of(X._repr_html_())
    named = vt.Edges(["<b>", "c"], ["c", "<b>"], np.eye(2), start_ids=["<b>", "c"])
    assert "<b>" not in named._repr_html_().replace("&lt;b&gt;", "")
    text_of(vt.Edges([], [], np.eye(2), np.eye(3))._repr_html_())
    text_of(vt.Edges([0], [0], ["CCO"], ["MKT"])._repr_html_())


def test_plans_mark_the_chosen_path(edges):
    X, y = edges
    plan = vt.KronRidge(K, K, solver="cg").fit(X, y).plan_
    for estimate in plan.estimates:
        assert estimate.path in text_of(plan._repr_html_())
    (bold,) = re.findall(r'<tr style="font-weight:bold">.*?</tr>', plan._repr_html_())
    assert plan.path in text_of(bold)


@pytest.mark.parametrize("new", ["both", "start", "end", "neither"])
def test_splits_show_what_is_used(edges, new):
    X, y = edges
    cv = vt.VertexKFold(3, 2, new=new, random_state=0)
    board = np.array(cv.board())
    assert board.shape == (3, 2)
    fold = cv.folds(X, y)[0]
    shares = [(board == use).mean() for use in ("training", "test", "left out")]
    counts = np.array([len(fold.train), len(fold.test), len(X) - len(fold.train) - len(fold.test)]) / len(X)
    assert np.abs(shares - counts).max() < 0.1
    assert "test" in text_of(cv._repr_html_())
    split = vt.vertex_split(X, y, new=new, random_state=0)
    assert f"{len(split.test):,}" in text_of(split._repr_html_())


@pytest.mark.parametrize("new", ["both", "start", "end"])
def test_splits_of_one_vertex_set_show_what_is_used(edges, new):
    X, _ = edges
    one = vt.Edges(X.start, X.end, X.start_table.features)
    cv = vt.VertexKFold(3, new=new, one_set=True, random_state=0)
    fold, board = cv.folds(one)[0], np.array(cv.board())
    assert abs((board == "training").mean() - len(fold.train) / len(X)) < 0.1
    assert abs((board == "test").mean() - len(fold.test) / len(X)) < 0.12


@pytest.mark.parametrize(
    "wrong", [{"n_start": 0}, {"n_start": "a"}, {"n_start": None}, {"new": "bad"}, {"n_start": 500}]
)
def test_what_cannot_be_drawn_is_text(wrong):
    assert len(vt.VertexKFold(**wrong)._repr_html_()) < 1000


@pytest.mark.slow
def test_results_show_their_tables(edges):
    X, y = edges
    path = vt.alpha_path(vt.KronRidge(K, K, random_state=0), X, y, [0.1, 1.0])
    assert f"{path.best.best_score:.4g}" in text_of(path._repr_html_())
    grid = {"start_kernel": [K, "linear"], "end_kernel": [K], "alpha": [0.1, 1.0]}
    search = vt.vertex_search(vt.KronRidge(max_iter=5), X, y, grid, n_jobs=1)
    assert "the best of 2 combinations" in text_of(search._repr_html_())
    nested = vt.nested_score(vt.KronRidge(max_iter=5), X, y, grid, n_jobs=1)
    assert f"{nested.mean:.3f}" in text_of(nested._repr_html_())
    compared = vt.compare_kernels(X, y, vt.KronRidge(K, K), kernels=["kronecker", "linear"], settings=["both"])
    best = compared.table()["both"].idxmax()
    assert re.search(rf"{best}</td>[^/]*★", compared._repr_html_())
    assert text_of(compared._repr_html_()).count("★") == 2
    auto = vt.AutoKron(random_state=0, n_best=2).fit(X, y)
    assert "an ensemble of the best 2 of" in auto._repr_html_()
    assert auto._repr_mimebundle_()["text/html"].startswith("<div>")


def test_messages_go_to_the_logger(edges, caplog, capsys):
    with caplog.at_level(logging.INFO, "vectrick"):
        vt.KronRidge(K, K, solver="cg").fit(*edges)
    assert "tolerance reached" in caplog.records[-1].getMessage()
    assert all(record.name == "vectrick" for record in caplog.records)
    assert capsys.readouterr().err == ""
    n_info = len(caplog.records)
    caplog.clear()
    with caplog.at_level(logging.DEBUG, "vectrick"):
        vt.KronRidge(K, K, solver="cg").fit(*edges)
    assert len(caplog.records) > n_info


def test_verbose_is_a_handler_and_no_more(edges, caplog, capsys):
    vt.KronRidge(K, K, solver="cg", verbose=1).fit(*edges)
    shown = capsys.readouterr().err.splitlines()
    assert "tolerance reached" in shown[-1]
    assert not caplog.records  # nobody asked the logger for them
    assert not logging.getLogger("vectrick").handlers


def test_a_notebook_gets_one_bar_for_each_piece_of_work(edges, monkeypatch, capsys):
    shown = []

    def display(output, raw, display_id):
        shown.append([output])
        return SimpleNamespace(update=lambda output, raw: shown[-1].append(output))

    shell = SimpleNamespace(kernel=object())
    page = SimpleNamespace(display=display)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell, display=page))
    monkeypatch.setitem(sys.modules, "IPython.display", page)
    vt.KronRidge(K, K, solver="cg", verbose=2).fit(*edges)
    (bar,) = shown
    assert len(bar) > 2
    done = [int(re.search(r'value="(\d+)"', output["text/html"])[1]) for output in bar[:-1]]
    assert done == sorted(done)
    assert done[-1] > 1
    assert 'value="1" max="1"' in bar[-1]["text/html"]  # full in the end
    assert "tolerance reached" in bar[-1]["text/plain"]
    assert capsys.readouterr().err == ""
    shown.clear()
    X, y = edges
    vt.KronRidge(K, K, preconditioner="none", verbose=1).fit(X, np.stack([y, -y], axis=1))
    assert 'value="1" max="1"' in shown[-1][-1]["text/html"]  # of several labels as well
