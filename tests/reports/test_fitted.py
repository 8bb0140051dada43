"""`vt.report` judges a model on edges that it has not seen, and says which these are."""

import numpy as np
import pytest

import vectrick as vt

pytest.importorskip("plotly")
K = vt.Gaussian(gamma=1.0)


@pytest.fixture(scope="module")
def parts():
    X, y = vt.datasets.make_checkerboard(40, noise=0.0, density=0.5, random_state=0)
    train, _, test = vt.vertex_split(X, y, validation_size=0.0, random_state=0)
    return X, y, train, test


def page_of(tmp_path, model, X, y, **kwargs):
    path = vt.report(model, X, y, tmp_path / "page.html", **kwargs)
    return path.read_text()


def test_edges_of_all_settings_are_counted(parts, tmp_path):
    X, y, train, test = parts
    page = page_of(tmp_path, vt.KronSVM(K, K).fit(X[train], y[train]), X, y, title="My board")
    assert "<title>My board: KronSVM" in page
    assert f"for {len(test)} edges between vertices that the model has never seen" in page
    assert page.count("start new") >= 2
    assert f"trained on {len(train)} edges" in page


def test_training_edges_do_not_judge(parts, tmp_path):
    X, y, train, _ = parts
    page = page_of(tmp_path, vt.KronRidge(K, K).fit(X[train], y[train]), X[train], y[train])
    assert "the quality is not known" in page


def test_words_values_and_one_vertex_set(parts, tmp_path):
    X, y, train, test = parts
    words = np.where(y > 0, "binds", "does not")
    page = page_of(tmp_path, vt.KronLogistic(K, K).fit(X[train], words[train]), X[test], words[test])
    assert "positive (does not)" in page  # the larger one of the two
    values = y + np.arange(len(y)) / len(y)
    page = page_of(tmp_path, vt.KronRidge(K, K).fit(X[train], values[train]), X[test], values[test], overwrite=True)
    assert "oncordance" in page
    one = vt.Edges(X.start, X.end, X.start_table.features)
    page = page_of(tmp_path, vt.KronRidge(K, pairwise="symmetric").fit(one[train], y[train]), one, y, overwrite=True)
    assert "one new" in page


def test_a_search_has_its_inner_folds_or_the_edges_that_are_given(parts, tmp_path):
    X, y, train, test = parts
    model = vt.AutoKron(random_state=0, n_best=2).fit(X[train], y[train])
    page = page_of(tmp_path, model, X[train], y[train])
    assert "on which the models were chosen" in page
    assert "What it is judged on" not in page
    page = page_of(tmp_path, model, X[test], y[test], overwrite=True)
    assert "What it is judged on" in page
    assert "those on the inner folds" not in page


def test_bad_input_is_refused_before_work(parts, tmp_path):
    X, y, train, test = parts
    model = vt.KronRidge(K, K).fit(X[train], y[train])
    with pytest.raises(ValueError, match=r"path is .*page.pdf.* must end in .html"):
        vt.report(model, X, y, tmp_path / "page.pdf")
    with pytest.raises(TypeError, match="an estimator of vectrick"):
        vt.report(object(), X, y, tmp_path / "page.html")
    (tmp_path / "page.html").write_text("mine")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        vt.report(model, X, y, tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == "mine"
    several = vt.KronSVM(K, K).fit(X, np.arange(len(y)) % 3)
    with pytest.raises(ValueError, match="machine"):
        vt.report(several, X, y, tmp_path / "other.html")
    short = vt.KronRidge(K, K, keep_edges=False).fit(X[train], y[train])
    with pytest.raises(ValueError, match="keep"):
        vt.report(short, X[test], y[test], tmp_path / "other.html")
    assert not (tmp_path / "other.html").exists()
