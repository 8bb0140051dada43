"""The commands, run as commands: what they print, write and return."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

import vectrick as vt
from tests.cli.commands import as_json, vectrick, write_data
from tests.data import folder_of

COMMANDS = ("demo", "fit", "predict", "rank", "evaluate", "tune", "info", "doctor")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a data set, a model of it and its result."""
    folder = tmp_path_factory.mktemp("cli")
    write_data(folder / "data")
    (folder / "fit.json").write_text(vectrick("fit", "data", "--manual", "-o", "model.vt", "--json", cwd=folder).stdout)
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(command, tmp_path):
    said = vectrick(command, "--help", cwd=tmp_path).stdout
    assert f"Example: vectrick {command}" in said
    for option in ("--json", "--quiet", "--verbose", "--config", "--debug"):
        assert option in said


def test_help_is_light_and_tells_the_exit_codes(tmp_path):
    said = vectrick("--help", cwd=tmp_path).stdout
    assert all(command in said for command in COMMANDS)
    assert "2 bad input or options" in " ".join(said.split())
    heavy = {"numpy", "scipy", "numba", "sklearn", "pandas", "pyarrow"}
    code = f"import sys, vectrick.cli; print(sorted({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_version_and_completion(tmp_path):
    assert vectrick("--version", cwd=tmp_path).stdout.strip() == f"vectrick {vt.__version__}"
    env = {**os.environ, "_VECTRICK_COMPLETE": "complete_bash", "COMP_WORDS": "vectrick ev", "COMP_CWORD": "1"}
    assert vectrick(cwd=tmp_path, env=env).stdout.split() == ["evaluate"]


def test_fit_writes_the_model_that_python_fits(place):
    told = json.loads((place / "fit.json").read_text())
    assert told["estimator"] == "KronSVM"
    assert set(told["scores"]) == {"both", "start", "end"}
    assert told["scores"]["both"] > 0.75
    model = vt.load(place / "model.vt")
    assert model.about_["scores"]["both"] == told["scores"]["both"]
    assert model.n_iter_ == told["iterations"]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bits(place):
    for name in ("a.vt", "b.vt"):
        vectrick("fit", "data", "--manual", "-o", name, "-q", cwd=place)
    first, second = (vt.load(place / name) for name in ("a.vt", "b.vt"))
    np.testing.assert_array_equal(first.dual_coef_, second.dual_coef_)
    assert first.history_["risk"] == second.history_["risk"]


@pytest.mark.slow
def test_quiet_says_nothing_and_verbose_says_more(place):
    quiet = vectrick("fit", "data", "--manual", "-o", "q.vt", "-q", cwd=place)
    assert quiet.stdout == quiet.stderr == ""
    loud = vectrick("fit", "data", "--manual", "-o", "v.vt", "-v", cwd=place)
    assert "training: 1 of" in loud.stderr
    assert "risk" in loud.stderr
    assert "form:" in loud.stderr
    assert "both vertices new" in loud.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loss", "kind"), [("svm", "KronSVM"), ("hinge", "KronSVM"), ("logistic", "KronLogistic"), ("ridge", "KronRidge"),
                       ("rank", "KronRanker"), ("rank-start", "KronRanker")],
)  # fmt: skip
def test_losses(place, loss, kind):
    told = as_json("fit", "data", "-o", f"{loss}.vt", "--loss", loss, "--patience", "20", cwd=place)
    assert told["estimator"] == kind
    assert told["scores"]["both"] > 0.7


@pytest.mark.slow
def test_values_get_ridge_regression_with_an_intercept(tmp_path):
    write_data(tmp_path / "values", classes=False)
    told = as_json("fit", "values", "--manual", cwd=tmp_path)
    assert told["estimator"] == "KronRidge"
    assert told["scoring"] == "r2"
    assert told["scores"]["both"] > 0.5
    assert vt.load(tmp_path / "model.vt").fit_intercept


@pytest.mark.slow
def test_options_reach_the_estimator(place):
    vectrick(
        "fit", "data", "-o", "options.vt", "--start-kernel", "polynomial(degree=2) + constant(0.5)", "--end-kernel",
        "linear", "--standardize", "--alpha", "0.5", "--form", "primal", "--solver", "lbfgs", "--max-iter", "30",
        "--no-early-stopping", "--dtype", "float32", "--threads", "1", "--intercept", "--seed", "3", "--tol", "0.01",
        cwd=place,
    )  # fmt: skip
    model = vt.load(place / "options.vt")
    assert model.get_params()["start_kernel__kernel__first__degree"] == 2
    assert (model.alpha, model.form_, model.solver, model.n_threads) == (0.5, "primal", "lbfgs", 1)
    assert model.fit_intercept
    assert model.dtype == "float32"
    assert model.end_kernel.kernel.__class__ is vt.Linear
    assert not model.early_stopping


@pytest.mark.slow
def test_a_config_file_has_the_same_options(place):
    (place / "run.toml").write_text(
        'data = "data"\nalpha = 0.25\nfolds = 2\n[fit]\noutput = "toml.vt"\nmax-iter = 7\nrefit = false\n'
    )
    vectrick("fit", "--config", "run.toml", cwd=place)
    assert vt.load(place / "toml.vt").alpha == 0.25
    assert vt.load(place / "toml.vt").max_iter == 7
    vectrick("fit", "--config", "run.toml", "--alpha", "2", "--force", cwd=place)
    assert vt.load(place / "toml.vt").alpha == 2.0
    for content, message in (
        ("alhpa = 1", "has 'alhpa', but there is no option --alhpa"),
        ("[fit]\nfolds = 2", "has 'folds', but there is no option --folds"),
        ("alpha = ", "cannot be read"),
        ("fit = 3", "must be a table of options"),
        ("alpha = 'much'", "alpha"),
    ):
        (place / "bad.toml").write_text(content)
        said = " ".join(vectrick("fit", "data", "--config", "bad.toml", cwd=place, code=2).stderr.split())
        assert message in said.replace("│ ", "").replace(" │", "")


def edges_of(place):
    return pd.read_csv(place / "data" / "edges.csv")


def python_edges(place, frame):
    tables = [pd.read_csv(place / "data" / f"{side}_features.csv") for side in ("start", "end")]
    return vt.Edges.from_frame(frame, start_table=tables[0], end_table=tables[1])


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_predict_edges(place, ending):
    frame = edges_of(place).drop(columns="label").rename(columns={"start": "drug"})
    frame.to_parquet(place / "new.parquet")
    name = f"edges_out.{ending}"
    told = as_json("predict", "model.vt", "new.parquet", "--start-column", "drug", "-o", name, cwd=place)
    assert told["edges"] == len(frame)
    found = pd.read_csv(place / name) if ending == "csv" else pd.read_parquet(place / name)
    model = vt.load(place / "model.vt")
    X = python_edges(place, edges_of(place))
    np.testing.assert_allclose(found["score"], model.decision_function(X), rtol=1e-12)
    assert found["start"].astype(str).tolist() == frame["drug"].tolist()
    np.testing.assert_array_equal(found["prediction"].astype(float), model.predict(X))


@pytest.mark.slow
def test_predict_new_vertices(place):
    rng = np.random.default_rng(5)
    new = pd.DataFrame({"g": rng.standard_normal(3), "id": ["n0", "n1", "d0"], "f": rng.standard_normal(3)})
    new.to_csv(place / "new_starts.csv", index=False)
    pd.DataFrame({"start": ["n0", "n1", "d0", "d1"], "end": ["t0", "t1", "t2", "t3"]}).to_csv(
        place / "new_edges.csv", index=False
    )
    vectrick("predict", "model.vt", "new_edges.csv", "--start-features", "new_starts.csv", "-o", "n.csv", cwd=place)
    model = vt.load(place / "model.vt")
    known = model.start_table_.features[model.start_table_.ids == "d1"]
    rows = np.vstack([new[["f", "g"]], known])
    ends = model.end_table_.features[[model.end_table_.ids.tolist().index(f"t{j}") for j in range(4)]]
    np.testing.assert_allclose(
        pd.read_csv(place / "n.csv")["score"], np.diagonal(model.predict_grid(rows, ends)), rtol=1e-10
    )


@pytest.mark.slow
def test_predict_a_grid(place):
    vectrick("fit", "data", "-o", "log.vt", "--loss", "logistic", cwd=place)
    told = as_json("predict", "log.vt", "--grid", "-o", "grid.parquet", cwd=place)
    assert told["edges"] == 60 * 40
    found = pd.read_parquet(place / "grid.parquet")
    model = vt.load(place / "log.vt")
    grid = model.predict_grid(model.start_table_, model.end_table_)
    np.testing.assert_allclose(found["score"], grid.ravel())
    np.testing.assert_allclose(found["probability"], 1 / (1 + np.exp(-grid.ravel())))
    assert found["start"].iloc[40] == "d1"
    assert found["end"].iloc[41] == "t1"


@pytest.mark.slow
def test_rank_both_ways(place):
    model = vt.load(place / "model.vt")
    grid = model.predict_grid(model.start_table_, model.end_table_)
    told = as_json("rank", "model.vt", "--start", "d3", "--start", "d5", "--top", "4", cwd=place)["partners"]
    order = np.argsort(-grid[3])[:4]
    assert [one["end"] for one in told[:4]] == [f"t{j}" for j in order]
    assert [one["start"] for one in told] == ["d3"] * 4 + ["d5"] * 4
    np.testing.assert_allclose([one["score"] for one in told[:4]], grid[3, order], rtol=1e-9)
    other = as_json("rank", "model.vt", "--end", "t2", "--top", "100", "-o", "rank.csv", cwd=place)["partners"]
    assert [one["start"] for one in other] == [f"d{i}" for i in np.argsort(-grid[:, 2])]
    assert pd.read_csv(place / "rank.csv")["start"].tolist() == [one["start"] for one in other]
    marked = as_json("rank", "model.vt", "--start", "d3", "--edges", "data/edges.csv", "--top", "40", cwd=place)[
        "partners"
    ]
    known = set(edges_of(place).query("start == 'd3'")["end"])
    assert {one["end"] for one in marked if one["label"] != "new"} == known
    new = as_json("rank", "model.vt", "--start", "d3", "--edges", "data/edges.csv", "--new", cwd=place)["partners"]
    assert not {one["end"] for one in new} & known
    table = vectrick("rank", "model.vt", "--start", "d3", "--top", "2", cwd=place).stdout
    assert f"t{order[0]}" in table


@pytest.mark.slow
def test_words_for_classes(tmp_path):
    folder = write_data(tmp_path / "data")
    edges = pd.read_csv(folder / "edges.csv")
    edges.assign(label=np.where(edges["label"] > 0, "active", "{inactive}")).to_csv(folder / "edges.csv", index=False)
    said = vectrick("fit", "data", "--report", "r.html", "--baselines", "none", cwd=tmp_path).stdout
    assert "positive label: active" in said
    best = as_json("rank", "model.vt", "--start", "d0", "--edges", "data/edges.csv", "--top", "40", cwd=tmp_path)[
        "partners"
    ]
    labels = [one["label"] for one in best if one["label"] != "new"]
    assert labels.index("active") < labels.index("{inactive}")
    vectrick("predict", "model.vt", "data/edges.csv", "-o", "p.csv", cwd=tmp_path)
    predicted = pd.read_csv(tmp_path / "p.csv")["label"]
    assert set(predicted) == {"active", "{inactive}"}
    assert (predicted == pd.read_csv(folder / "edges.csv")["label"]).mean() > 0.7
    other = as_json("fit", "data", "-o", "o.vt", "--positive", "{inactive}", "--refit", cwd=tmp_path)
    assert other["positive"] == "{inactive}"
    assert other["trained_edges"] == len(edges)
    low = as_json("rank", "o.vt", "--start", "d0", "--lowest", "--top", "40", cwd=tmp_path)["partners"]
    assert [one["score"] for one in low] == sorted(one["score"] for one in low)


@pytest.mark.slow
def test_nothing_left_to_rank(place):
    model = vt.load(place / "model.vt")
    every = pd.DataFrame({"start": "d3", "end": model.end_table_.ids})
    every.to_csv(place / "every.csv", index=False)
    said = vectrick(
        "rank", "model.vt", "--start", "d3", "--edges", "every.csv", "--new", "-o", "none.csv", cwd=place
    ).stdout
    assert "nothing is left: every.csv has every pair" in said
    assert not (place / "none.csv").exists()


def test_json_has_null_for_what_is_no_number():
    from vectrick.cli.output import _plain

    found = _plain({"a": [1.0, float("nan")], "b": np.array([np.inf, 2.0]), "c": None, "d": np.float64(3)})
    assert found == {"a": [1.0, None], "b": [None, 2.0], "c": None, "d": 3.0}


def test_evaluate(place):
    told = as_json(
        "evaluate", "data", "--manual", "--folds", "2", "--settings", "both,neither", "--baselines", "vertex mean",
        cwd=place,
    )  # fmt: skip
    rows = {(one["setting"], one["method"]): one for one in told["evaluation"]}
    assert set(rows) == {(new, name) for new in ("both", "neither") for name in ("KronSVM", "vertex mean")}
    assert rows["both", "KronSVM"]["mean"] > 0.7
    assert rows["both", "vertex mean"]["mean"] == 0.5
    assert rows["both", "KronSVM"]["folds"] == 4


def write_proteins(folder, m=60, seed=0):
    """Write a table of interactions within one vertex set, and one of features."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((m, 2))
    start, end = np.nonzero(np.triu(rng.random((m, m)) < 0.5, 1))
    label = np.where((features[start] * features[end]).sum(axis=1) > 0, 1, -1)
    names = np.array([f"P{i:03}" for i in range(m)])
    turned = rng.random(len(start)) < 0.5
    pairs = np.where(turned, end, start), np.where(turned, start, end)
    folder.mkdir(exist_ok=True)
    pd.DataFrame({"start": names[pairs[0]], "end": names[pairs[1]], "label": label}).to_csv(
        folder / "ppi.csv", index=False
    )
    pd.DataFrame({"id": names, "f": features[:, 0], "g": features[:, 1]}).to_csv(folder / "proteins.csv", index=False)


@pytest.mark.slow
def test_from_interactions_to_a_validated_symmetric_model(tmp_path):
    write_proteins(tmp_path)
    files = "--edges", "ppi.csv", "--start-features", "proteins.csv"
    symmetric = "--manual", "--pairwise", "symmetric", "--start-kernel", "gaussian"
    done = vectrick("fit", *files, *symmetric, "-o", "m.vt", cwd=tmp_path)
    assert "pairwise: symmetric" in done.stdout
    assert "both vertices new" in done.stdout
    model = vt.load(tmp_path / "m.vt")
    grid = model.predict_grid(model.start_table_.features)
    assert (grid == grid.T).all()
    told = as_json("info", "m.vt", cwd=tmp_path)
    assert told["pairwise"].startswith("symmetric: gaussian")
    edges = pd.read_csv(tmp_path / "ppi.csv")
    edges[["start", "end"]] = edges[["end", "start"]]
    edges.to_csv(tmp_path / "turned.csv", index=False)
    for name in ("ppi", "turned"):
        vectrick("predict", "m.vt", f"{name}.csv", "-o", f"{name}_scores.csv", cwd=tmp_path)
    here, there = (pd.read_csv(tmp_path / f"{name}_scores.csv")["score"] for name in ("ppi", "turned"))
    assert (here == there).all()
    assert roc_auc_score(edges["label"], here) > 0.9
    told = as_json("rank", "m.vt", "--start", "P000", "--top", "60", "--edges", "ppi.csv", "--new", cwd=tmp_path)
    partners = {one["end"] for one in told["partners"]}
    known = set(edges[edges["start"] == "P000"]["end"]) | set(edges[edges["end"] == "P000"]["start"])
    assert partners
    assert not partners & (known | {"P000"})  # neither direction of an edge is new
    pd.DataFrame({"id": ["N1", "N2"], "f": [0.1, 0.2], "g": [1.0, -1.0]}).to_csv(tmp_path / "new.csv", index=False)
    pd.DataFrame({"start": ["N1", "P001"], "end": ["N2", "N1"]}).to_csv(tmp_path / "pairs.csv", index=False)
    vectrick("predict", "m.vt", "pairs.csv", "--start-features", "new.csv", "-o", "new_scores.csv", cwd=tmp_path)
    assert len(pd.read_csv(tmp_path / "new_scores.csv")) == 2  # one table of new vertices serves both ends


@pytest.mark.slow
def test_pairwise_kernels_of_the_command_line(place):
    vectrick("fit", "data", "--pairwise", "kronecker=0.7, linear=0.3", "-o", "sum.vt", cwd=place)
    model = vt.load(place / "sum.vt")
    assert model.pairwise == [("kronecker", 0.7), ("linear", 0.3)]
    assert [one.partition(":")[0] for one in model.components_] == ["kronecker", "linear"]
    vectrick("fit", "data", "--pairwise", "gaussian", "-o", "gaussian.vt", cwd=place)
    assert "gaussian" in as_json("info", "gaussian.vt", cwd=place)["pairwise"]
    for text, message in (
        ("symmetric", "needs one vertex set for both ends"),
        ("linear=much", "--pairwise has the weight 'much'"),
    ):
        done = vectrick("fit", "data", "--pairwise", text, "-o", "no.vt", cwd=place, code=2)
        assert message in done.stderr
        assert not (place / "no.vt").exists()


@pytest.mark.slow
def test_matches_have_no_intercept(tmp_path):
    rng = np.random.default_rng(0)
    strength = rng.standard_normal(30)
    start, end = np.nonzero(np.triu(np.ones((30, 30)), 1))
    names = np.array([f"p{i}" for i in range(30)])
    edges = pd.DataFrame({"start": names[start], "end": names[end], "label": strength[start] - strength[end]})
    edges.to_csv(tmp_path / "edges.csv", index=False)
    pd.DataFrame({"id": names, "f": strength}).to_csv(tmp_path / "start_features.csv", index=False)
    for text, report in (("antisymmetric=1,ranking=1", []), ("kronecker=1", ["--report", "m.html"])):
        vectrick("fit", ".", "--pairwise", text, "--start-kernel", "linear", "-o", "m.vt", "-f", *report, cwd=tmp_path)
        assert text.partition("=")[0] in as_json("info", "m.vt", cwd=tmp_path)["pairwise"]


@pytest.mark.slow
def test_evaluate_compares_kernels(place):
    told = as_json(
        "evaluate", "data", "--compare-kernels", "--folds", "2", "--settings", "start", "--loss", "ridge",
        "--figure", "kernels.png", cwd=place,
    )  # fmt: skip
    rows = {one["method"]: one for one in told["evaluation"]}
    assert set(rows) == {"kronecker", "linear", "poly2d", "cartesian"}
    assert rows["kronecker"]["mean"] > 0.7
    assert (place / "kernels.png").stat().st_size > 5000
    assert "symmetric" in told["left_out"]
    told = as_json("evaluate", "data", "--compare-kernels", "--pairwise", "linear,poly2d", "--folds", "2", "--settings",
                   "start", cwd=place)  # fmt: skip
    assert {one["method"] for one in told["evaluation"]} == {"linear", "poly2d"}
    done = vectrick("evaluate", "data", "--compare-kernels", "--report", "k.html", cwd=place, code=2)
    assert "use --figure" in done.stderr
    done = vectrick("evaluate", "data", "--figure", "more.png", cwd=place, code=2)
    assert "--compare-kernels" in done.stderr
    done = vectrick("evaluate", "data", "--compare-kernels", "--figure", "kernels.jpg", cwd=place, code=2)
    assert "its ending must be .png" in done.stderr


@pytest.mark.slow
def test_tune(place):
    told = as_json(
        "tune", "data", "--folds", "2", "--kernel", "gaussian(0.5) + constant(0.3)", "--kernel", "linear", "--alphas",
        "0.1,1", "--losses", "ridge,svm", "--jobs", "1", "-o", "tuned.vt", "--max-iter", "20", cwd=place,
    )  # fmt: skip
    assert told["nested"]["mean"] > 0.7
    assert len(told["choices"]) == 8
    best = told["choices"][0]
    model = vt.load(place / "tuned.vt")
    assert type(model).__name__ == best["estimator"]
    assert model.alpha == best["alpha"]
    assert model.n_iter_ <= best["iteration"]


@pytest.mark.slow
def test_tune_chooses_a_pairwise_kernel(tmp_path):
    write_proteins(tmp_path)
    told = as_json(
        "tune", "--edges", "ppi.csv", "--start-features", "proteins.csv", "--pairwise", "symmetric,ranking", "--kernel",
        "gaussian(0.5)", "--alphas", "0.1,1", "--jobs", "1", "--folds", "2", "-o", "tuned.vt", cwd=tmp_path,
    )  # fmt: skip
    assert {one["pairwise"] for one in told["choices"]} == {"symmetric", "ranking"}
    assert vt.load(tmp_path / "tuned.vt").pairwise == told["choices"][0]["pairwise"] == "symmetric"
    done = vectrick("tune", "data", "--pairwise", "nothing", cwd=tmp_path, code=2)
    assert "--pairwise has 'nothing', but it must be some of kronecker" in done.stderr


@pytest.mark.slow
def test_info_of_data_and_of_a_model(place):
    told = as_json("info", "data", cwd=place)
    assert (told["edges"], told["start_vertices"], told["end_vertices"]) == (800, 60, 40)
    assert sum(told["labels"].values()) == 800
    assert told["start_rank"] == "2 of 2"
    about = as_json("info", "model.vt", cwd=place)
    assert about["estimator"] == "KronSVM"
    assert about["start_vertices"] == 60
    assert "gaussian(gamma=" in about["start_kernel"]


def test_info_warns(tmp_path):
    folder = write_data(tmp_path / "data")
    edges = pd.read_csv(folder / "edges.csv")
    twice = edges.iloc[:3].assign(label=-edges["label"].iloc[:3])
    stranger = pd.DataFrame({"start": ["who"], "end": ["t0"], "label": [1]})
    pd.concat([edges, twice, stranger]).to_csv(folder / "edges.csv", index=False)
    table = pd.read_csv(folder / "end_features.csv")
    pd.concat([table, table.iloc[:2].assign(id=["copy0", "copy1"])]).to_csv(folder / "end_features.csv", index=False)
    said = as_json("info", "data", cwd=tmp_path)["warnings"]
    assert any("3 edges repeat another one, 3 of them with another label" in line for line in said)
    assert any("1 ids in column 'start' are not in start_features.csv: 'who'" in line for line in said)
    assert any("2 vertices of end_features have the same features as another one" in line for line in said)


@pytest.mark.slow
def test_doctor(tmp_path):
    told = as_json("doctor", cwd=tmp_path)
    assert {"product against np.kron", "model file", "speed"} <= set(told["checks"])
    assert all(told["checks"].values())
    assert told["packages"]["numpy"] == np.__version__


@pytest.mark.slow
def test_from_three_files_to_a_report_and_a_ranked_list(tmp_path):
    """The way of a new user: three commands on the real data of GPCRs."""
    data = folder_of("gpcr")
    assert "labels" in vectrick("info", data, cwd=tmp_path).stdout
    told = as_json("fit", data, "-o", "gpcr.vt", "--report", "gpcr.html", cwd=tmp_path)
    assert told["scores"]["both"] > 0.8
    assert told["estimator"] == "AutoKron"
    assert (tmp_path / "gpcr.html").stat().st_size < 5e6
    said = vectrick("rank", "gpcr.vt", "--start", "D00095", "--top", "20", cwd=tmp_path).stdout
    assert said.count("D00095") == 20


@pytest.mark.slow
def test_ids_that_look_like_markup_are_shown_as_they_are(tmp_path):
    folder = write_data(tmp_path / "data")
    for file in folder.iterdir():
        file.write_text(file.read_text().replace("t1,", "[red]t1[/red],").replace("\nt1,", "\n[red]t1[/red],"))
    vectrick("fit", "data", cwd=tmp_path)
    assert "[red]t1[/red]" in vectrick("rank", "model.vt", "--start", "d0", "--top", "40", cwd=tmp_path).stdout


def test_help_texts_name_what_is_registered():
    from vectrick.backends import backend_names
    from vectrick.cli import model_options, options
    from vectrick.kernels import KERNELS
    from vectrick.kernels.pairwise import PAIRWISE
    from vectrick.kernels.text import words
    from vectrick.solvers import SOLVERS

    shown = {name: names for name, names in words().items() if name not in KERNELS[name].aliases}
    shown.pop("standardized")  # which has an option of its own
    described = [f"{name}({', '.join(names)})" if names else name for name, names in shown.items()]
    plain, _, special = model_options._KERNELS.partition("; ")
    assert ", ".join(described).startswith(plain + ", ")
    # Of kernels with many parameters, the help names the first ones.
    named = dict(re.findall(r"(\w+)(?:\(([^)]*)\))?(?=[,;]|$)", special))
    for name in list(shown)[list(shown).index("precomputed") + 1 :]:
        parameters = [word for word in named[name].split(", ") if word]
        assert list(shown[name][: len(parameters)]) == parameters
    assert ", ".join(SOLVERS) == model_options._SOLVERS
    text = model_options.KernelOptions.__annotations__["pairwise"].__metadata__[0].help
    assert all(name in text for name in PAIRWISE)
    assert all(repr(name) in options.BACKEND or name in options.BACKEND for name in backend_names())
