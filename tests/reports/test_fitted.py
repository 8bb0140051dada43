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
    known = [np.isin(vertices, vertices[train]) for vertices in (X.start, X.end)]
    for words, rows in (("start new", ~known[0] & known[1]), ("end new", known[0] & ~known[1])):
        assert f'<td>{words}</td><td class="number" data-value="{float(rows.sum())!r}">' in page
        score = vt.get_scorer("auc")(vt.KronSVM(K, K).fit(X[train], y[train]), X[rows], y[rows])
        assert f"<b>{score:.3f}</b><span>AUC, {words}</span>" in page
    assert f"trained on {len(train)} edges" in page


def test_training_edges_do_not_judge(parts, tmp_path):
    X, y, train, _ = parts
    page = page_of(tmp_path, vt.KronRidge(K, K).fit(X[train], y[train]), X[train], y[train])
    assert "the quality is unknown" in page


def test_words_values_and_one_vertex_set(parts, tmp_path):
    X, y, train, test = parts
    words = np.where(y > 0, "binds", "does not")
    page = page_of(tmp_path, vt.KronLogistic(K, K).fit(X[train], words[train]), X[test], words[test])
    assert "positive (does not)" in page  # the larger one of the two
    assert (
        f"AUC {vt.get_scorer('auc')(vt.KronLogistic(K, K).fit(X[train], words[train]), X[test], words[test]):.3f}"
        in page
    )
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
    assert "the models were chosen on these folds" in page
    assert "Training and test edges" not in page
    page = page_of(tmp_path, model, X[test], y[test], overwrite=True)
    assert "Training and test edges" in page
    assert "are from the inner folds" not in page


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


def test_labels_that_the_model_does_not_know_are_refused(parts, tmp_path):
    X, y, train, test = parts
    with pytest.raises(ValueError, match=r"y has labels such as \[0\.0\], but the classes of the model are \[-1"):
        vt.report(vt.KronSVM(K, K).fit(X[train], y[train]), X[test], np.maximum(y[test], 0), tmp_path / "a.html")
    several = np.arange(len(y)) % 3
    machine = vt.KronSVM(K, K).fit(X[train], several[train]).machine(1)
    with pytest.raises(ValueError, match="the classes of the model are"):
        vt.report(machine, X[test], several[test], tmp_path / "a.html")
    page = page_of(tmp_path, machine, X[test], several[test] == 1)
    assert f"AUC {vt.get_scorer('auc')(machine, X[test], several[test] == 1):.3f}" in page


def test_truth_values_are_predicted_as_zero_and_one(parts, tmp_path):
    X, y, train, test = parts
    pages = []
    for labels in (y > 0, 1.0 * (y > 0)):
        page = page_of(tmp_path, vt.KronRidge(K, K).fit(X[train], labels[train]), X[test], labels[test], overwrite=True)
        pages.append(page.partition("in intervals of 90 %")[2].partition("</table>")[0])
    assert pages[0] == pages[1]


def test_what_is_given_is_said(parts, tmp_path):
    X, y, train, test = parts
    model = vt.KronSVM(K, K).fit(X[train], y[train])
    rows = test[y[test] > 0]
    page = page_of(tmp_path, model, X[rows], y[rows], title="")
    assert f"Trained on {len(train)} edges; the others have one label only" in page
    assert "Checker" not in page
    model.save(tmp_path / "model.vt")
    page = page_of(tmp_path, vt.load(tmp_path / "model.vt"), X[test], y[test], overwrite=True)
    assert "nan" not in page.partition("<section")[0]


def test_a_search_of_words_keeps_its_inner_folds(parts, tmp_path):
    X, y, train, _ = parts
    words = np.where(y > 0, "yes", "no")
    model = vt.AutoKron(random_state=0, n_best=2).fit(X[train], words[train])
    assert "the models were chosen on these folds" in page_of(tmp_path, model, X[train], words[train])


def test_the_reverse_of_a_training_edge_does_not_judge_a_symmetric_model(parts, tmp_path):
    X, y, train, _ = parts
    one = vt.Edges(X.start, X.end, X.start_table.features)
    model = vt.KronRidge(K, pairwise="symmetric").fit(one[train], y[train])
    turned = vt.Edges(one.end[train], one.start[train], X.start_table.features)
    assert "no edges were held out" in page_of(tmp_path, model, turned, y[train])
