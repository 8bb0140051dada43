"""The parts of a report: the matrix of predictions, figures and pages, without a browser."""

import sys

import numpy as np
import pytest

import vectrick as vt
from vectrick.reports import figures, matrix
from vectrick.reports.page import Report, check_report

X, Y = vt.datasets.make_checkerboard(40, 30, density=0.3, random_state=0)
MODEL = vt.KronSVM(vt.Gaussian(1.0), vt.Gaussian(1.0)).fit(X, Y)
GRID = MODEL.predict_grid(X.start_table.features, X.end_table.features)


def brute_force(grid, X, count):
    masked = grid.copy()
    masked[X.start, X.end] = -np.inf
    if X.is_one_set:
        np.fill_diagonal(masked, -np.inf)
    order = np.argsort(-masked.ravel(), kind="stable")[:count]
    order = order[np.isfinite(masked.ravel()[order])]
    return *np.divmod(order, grid.shape[1]), masked.ravel()[order]


@pytest.mark.parametrize("count", [1, 20, 5000])
@pytest.mark.parametrize("block", [1 << 26, 2000])
def test_the_best_new_edges(count, block, monkeypatch):
    monkeypatch.setattr("vectrick.backends.NumpyBackend.grid_bytes", block)
    start, end, score = matrix.best_new(MODEL, X, count)
    expected = brute_force(GRID, X, count)
    np.testing.assert_allclose(score, expected[2], rtol=1e-9)
    np.testing.assert_allclose(GRID[start, end], score, rtol=1e-9)
    assert not set(zip(start, end, strict=True)) & set(zip(X.start, X.end, strict=True))


def test_the_best_new_edges_of_one_vertex_set():
    one = vt.Edges(X.start, X.end, X.start_table.features)
    model = vt.KronSVM("gaussian", "gaussian").fit(one, Y)
    grid = model.predict_grid(one.start_table.features, one.start_table.features)
    start, end, score = matrix.best_new(model, one, 50)
    np.testing.assert_allclose(score, brute_force(grid, one, 50)[2], rtol=1e-9)
    assert (start != end).all()


def test_a_complete_graph_has_no_new_edges():
    full = vt.Edges.grid(X.start_table.features, X.end_table.features)
    assert len(matrix.best_new(MODEL, full, 10)[0]) == 0


def test_where_pairs_are_too_many_the_vertices_with_most_edges_are_taken(monkeypatch):
    monkeypatch.setattr(matrix, "_PAIRS", 10 * 30)
    start, _, _ = matrix.best_new(MODEL, X, 100)
    busiest = np.argsort(-np.bincount(X.start, minlength=40), kind="stable")[:10]
    assert set(start) <= set(busiest)


@pytest.mark.parametrize(("cells", "shape"), [(10_000, (40, 30)), (100, (10, 10)), (900, (30, 30))])
def test_the_part_of_the_matrix_that_is_shown(cells, shape, monkeypatch):
    monkeypatch.setattr(matrix, "_CELLS", cells)
    part = matrix.shown_part(MODEL, X)
    assert part.scores.shape == shape
    assert part.is_all == (shape == (40, 30))
    np.testing.assert_allclose(part.scores, GRID[np.ix_(part.starts, part.ends)], rtol=1e-9)


def test_thin_matrices_keep_their_short_side():
    assert matrix._sizes(10**6, 5) == (50_000, 5)
    assert matrix._sizes(5, 10**6) == (5, 50_000)


def test_curves_keep_their_ends_and_shape():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=20_000)
    roc, recall = figures.curves({"both": (y, y + rng.standard_normal(20_000))}, {"both": 0.76})
    line = roc["data"][1]
    assert (line["x"][0], line["y"][0], line["x"][-1], line["y"][-1]) == (0.0, 0.0, 1.0, 1.0)
    assert len(line["x"]) <= 401
    area = np.trapezoid(line["y"], line["x"])
    assert abs(area - 0.76) < 0.01
    assert recall["data"][0]["x"][0] == 0.0


def test_calibration_of_a_calibrated_model_is_the_diagonal():
    rng = np.random.default_rng(0)
    chance = rng.random(200_000)
    line = figures.calibration({"both": ((rng.random(200_000) < chance).astype(int), chance)})["data"][1]
    np.testing.assert_allclose(line["x"], line["y"], atol=0.01)
    assert len(line["x"]) == 10


def test_text_is_escaped_everywhere():
    report = Report("<i>title</i>", "a & b")
    report.tiles = [("<i>name</i>", "<i>1</i>")]
    section = report.section("<i>section</i>")
    section.text("<i>text</i>")
    section.code("<i>code</i>")
    section.facts({"<i>fact</i>": "<i>value</i>"})
    section.table(["<i>column</i>"], [["<i>cell</i>"]])
    section.figure("x", '"<i>caption</i>')
    page = report.html()
    assert "<i>" not in page
    assert page.count("&lt;i&gt;") >= 12
    assert "{{" not in page.partition('id="library"')[0]


def test_a_missing_plotly_is_said(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "plotly", None)
    monkeypatch.setattr("vectrick.reports.page.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pip install 'vectrick\[report\]'"):
        check_report(tmp_path / "page.html", force=False)
    with pytest.raises(ValueError, match=r"its name must end in \.html"):
        check_report(tmp_path / "page.txt", force=False)


@pytest.mark.parametrize("block", [1 << 26, 2000])
def test_the_best_partners_of_every_vertex(block, monkeypatch):
    monkeypatch.setattr("vectrick.backends.NumpyBackend.grid_bytes", block)
    start, end, score = matrix.best_new(MODEL, X, 10, per_vertex=3)
    pairs = set(zip(start.tolist(), end.tolist(), strict=True))
    assert len(pairs) == len(start)
    assert (np.diff(score) <= 0).all()
    masked = GRID.copy()
    masked[X.start, X.end] = -np.inf
    for grid, turned in ((masked, False), (masked.T, True)):
        for row, scores in enumerate(grid):
            for other in np.argsort(-scores, kind="stable")[:3]:
                assert ((other, row) if turned else (row, other)) in pairs
    assert set(zip(*(part.tolist() for part in matrix.best_new(MODEL, X, 10)[:2]), strict=True)) <= pairs


def test_every_score_of_the_heat_map_has_a_colour_of_its_own():
    rng = np.random.default_rng(0)
    grid = -1 + 0.01 * rng.random((100, 100))
    grid[0, :5] = [0.1, 0.5, 1.0, 2.0, 3.0]  # as few positive edges as a sparse graph has
    for signed in (False, True):
        trace = figures.heat_map(grid, ["s"] * 100, ["e"] * 100, ["0" * 100] * 100, ["new"], signed)["data"][0]
        assert trace["zmin"] <= grid.min()
        assert trace["zmax"] >= grid.max()
        places = [place for place, _ in trace["colorscale"]]
        assert places == sorted(places)
        assert (places[0], places[-1]) == (0.0, 1.0)
    white = next(place for place, colour in trace["colorscale"] if colour == "#f7f7f7")
    assert trace["zmin"] + white * (trace["zmax"] - trace["zmin"]) == pytest.approx(0, abs=1e-6)


def test_a_title_that_looks_like_a_place_in_the_page():
    for title in ("{{lead}}", "{{body}}", "{{figures}} {{nothing}}"):
        report = Report(title, "the lead {{script}}")
        report.section("{{title}}").text("{{style}}")
        page = report.html()
        assert f"<title>{title}</title>" in page
        assert page.count("the lead {{script}}") == 1
        assert "<p>{{style}}</p>" in page


def test_times_in_units_that_suit_them():
    from vectrick.reports.page import Seconds, Section

    section = Section("times")
    section.table(["what", "time"], [["one", Seconds(0.0005236)], ["two", Seconds(12.0)]])
    assert "524 µs" in section.parts[0]
    assert "12 s" in section.parts[0]
    assert '<th class="number">time</th>' in section.parts[0]
    assert "0.0005236 s" not in section.parts[0]
