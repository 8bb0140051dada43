"""`AutoKron`: what it chooses, what it refuses, and that it lives where the other estimators live."""

import itertools
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import cross_val_score

import vectrick as vt
import vectrick.automatic.search as search_module
from vectrick.automatic import SearchWarning
from vectrick.automatic.mean import log_odds
from vectrick.automatic.scoring.problem import SearchProblem
from vectrick.metrics import auc


@pytest.fixture(scope="module", autouse=True)
def one_division():
    """Divide the vertices once, also where edges are few: what is tested is not how good the choice is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vectrick.automatic.scoring.folding._REPEATS", 1)
        yield


def grid(m=24, q=18, seed=0):
    rng = np.random.default_rng(seed)
    X = vt.Edges.grid(rng.standard_normal((m, 3)), rng.standard_normal((q, 3)))
    signal = (X.start_table.features[X.start] * X.end_table.features[X.end]).sum(axis=1)
    return X, signal, rng


@pytest.fixture(scope="module")
def classes():
    X, signal, rng = grid()
    return X, np.where(signal + 0.3 * rng.standard_normal(len(X)) > 0, "yes", "no")


@pytest.fixture(scope="module")
def values():
    X, signal, rng = grid()
    return X, 5.0 + signal + 0.1 * rng.standard_normal(len(X))


@pytest.fixture(scope="module")
def model(classes):
    return vt.AutoKron(random_state=0).fit(*classes)


@pytest.fixture(scope="module")
def regression(values):
    return vt.AutoKron(random_state=0).fit(*values)


@pytest.fixture
def exact(monkeypatch):
    """Let solutions be as good as float32 allows, to compare them."""
    monkeypatch.setattr("vectrick.automatic.scoring.fold_fit._RIDGE", {"tol": 1e-6})
    monkeypatch.setattr("vectrick.automatic.scoring.fold_fit._LOGISTIC", {"tol": 1e-6})
    monkeypatch.setattr("vectrick.automatic.scoring.full_solves._TOL", 1e-8)


class TestChoice:
    def test_it_finds_a_model_for_new_vertices(self, model):
        rng = np.random.default_rng(5)
        A, B = rng.standard_normal((30, 3)), rng.standard_normal((30, 3))
        assert auc(((A @ B.T) > 0).ravel(), model.predict_grid(A, B).ravel()) > 0.95

    def test_it_says_what_it_chose_and_how_sure_it_is(self, model):
        text = str(model)
        assert f"auc {model.score_:.3f} ± {model.spread_:.3f}" in text
        assert "inner folds (both vertices new)" in text
        assert len(model.search_) > 40
        assert model.search_["member"].sum() == len(model.members_)
        assert {"start_kernel", "end_kernel", "alpha", "score", "spread", "seconds"} <= set(model.search_.columns)
        assert str(vt.AutoKron()) == repr(vt.AutoKron())

    def test_its_estimate_is_near_the_score_for_new_vertices(self, values, regression):
        rng = np.random.default_rng(6)
        A, B = rng.standard_normal((40, 3)), rng.standard_normal((40, 3))
        predicted, truth = regression.predict_grid(A, B).ravel(), 5.0 + (A @ B.T).ravel()
        r2 = 1 - ((predicted - truth) ** 2).mean() / truth.var()
        assert abs(r2 - regression.score_) < 0.1

    def test_members_are_trained_on_all_edges(self, classes, model):
        assert all(len(member.predictor_.start.used) == 24 for member in model.members_)

    def test_the_sum_of_members_is_the_prediction(self, classes, model):
        X = classes[0]
        total = sum(w * member._decide(X) for w, member in zip(model.weights_, model.members_, strict=True))
        np.testing.assert_allclose(model.decision_function(X), total + model.constant_, rtol=1e-10)

    def test_the_same_seed_gives_the_same_bits(self, classes, model):
        again = vt.AutoKron(random_state=0, n_threads=1).fit(*classes)
        np.testing.assert_array_equal(again.decision_function(classes[0]), model.decision_function(classes[0]))

    def test_first_scores_are_ridge_regressions_on_a_complete_graph(self, values, exact):
        from vectrick.automatic.candidates.facts import SideFacts
        from vectrick.automatic.candidates.vertex_kernels import SideChoices, with_constant
        from vectrick.automatic.scoring.problem import SearchProblem
        from vectrick.automatic.scoring.sides import Candidate

        X, y = values
        folds = vt.VertexKFold(2, 2, random_state=0).folds(X, y)
        problem = SearchProblem(X, y, folds, "r2")
        sides = [
            SideChoices(SideFacts.of(name, table, np.arange(len(table))), table.features).gaussian(1.0)
            for name, table in (("start", X.start_table), ("end", X.end_table))
        ]
        candidate = Candidate(*sides, end_constant=1.0)
        found = problem.scores([candidate], np.array([0.5]))[0, 0]
        kernels = sides[0].kernel, with_constant(sides[1], 1.0, 1.0)
        # The widths of standardised features are those of all vertices here, and of the training part in a fit.
        tables = X.start_table, X.end_table
        scaled = [kernel.resolve(table.features, None) for kernel, table in zip(kernels, tables, strict=True)]
        ridge = vt.KronRidge(*scaled, alpha=0.5, fit_intercept=True)
        # The intercept is the mean of the labels in the first pass, and its best value in a fit.
        expected = [ridge.fit(X[f.train], y[f.train]).score(X[f.test], y[f.test]) for f in folds]
        np.testing.assert_allclose(found, expected, atol=0.05)
        solved = problem.scores([candidate], np.array([0.5]), solve=True)[0, 0]
        np.testing.assert_allclose(solved, expected, atol=2e-3)

    @pytest.mark.parametrize("loss", ["ridge", "logistic"])
    def test_solutions_are_those_of_the_estimators_on_an_incomplete_graph(self, exact, loss):
        from vectrick.automatic.candidates.vertex_kernels import VertexChoice
        from vectrick.automatic.scoring.full_solves import FullSolves
        from vectrick.automatic.scoring.problem import SearchProblem
        from vectrick.automatic.scoring.sides import Candidate

        X, y = vt.datasets.make_checkerboard(60, density=0.3, noise=0.0, random_state=0)
        folds = vt.VertexKFold(2, 2, random_state=0).folds(X, y)
        problem = SearchProblem(X, y, folds, "auc")
        narrow = VertexChoice("narrow", vt.Gaussian(1.0), "gaussian")
        candidate = Candidate(narrow, narrow, 1.0, 0.0, loss=loss)
        mine = problem.predictions([candidate], [0.3], [0, 3])[0]
        theirs = [FullSolves(problem).predictions(candidate, 0.3, number) for number in (0, 3)]
        for one, other in zip(mine, theirs, strict=True):
            np.testing.assert_allclose(one, other, atol=0.02 * other.std())

    @pytest.mark.parametrize("loss", ["ridge", "logistic"])
    def test_solutions_of_one_vertex_set(self, exact, loss):
        from vectrick.automatic.candidates.vertex_kernels import VertexChoice
        from vectrick.automatic.scoring.full_solves import FullSolves
        from vectrick.automatic.scoring.problem import SearchProblem
        from vectrick.automatic.scoring.sides import Candidate

        rng = np.random.default_rng(0)
        start, end = rng.integers(0, 40, (2, 500))
        F = rng.standard_normal((40, 3))
        X, y = vt.Edges(start, end, F), (F[start] * F[end]).sum(axis=1)
        y = y if loss == "ridge" else np.sign(y + 0.5)
        folds = vt.VertexKFold(2, random_state=0).folds(X, y)
        problem = SearchProblem(X, y, folds, "r2")
        choice = VertexChoice("wide", vt.Gaussian(0.3), "gaussian")
        candidate = Candidate(choice, choice, pairwise="symmetric", loss=loss)
        mine, theirs = problem.predictions([candidate], [0.5], [0])[0][0], FullSolves(problem)
        np.testing.assert_allclose(mine, theirs.predictions(candidate, 0.5, 0), atol=0.02 * mine.std())

    def test_a_kernel_matrix_is_recognised(self):
        X, signal, _ = grid()
        K, G = (vt.Gaussian(0.3)(table.features) for table in (X.start_table, X.end_table))
        model = vt.AutoKron(random_state=0).fit(vt.Edges(X.start, X.end, K, G), signal > 0)
        assert "precomputed" in model.search_["start_kernel"].to_numpy()
        assert model.score_ > 0.8

    def test_binary_features_get_tanimoto_kernels(self):
        rng = np.random.default_rng(0)
        bits, X = (rng.random((25, 40)) < 0.3).astype(float), grid(25, 18)[0]
        labels = (bits[X.start, :3].sum(axis=1) + X.end_table.features[X.end, 0]) > 1
        for table in (bits, csr_array(bits)):
            model = vt.AutoKron(random_state=0).fit(vt.Edges(X.start, X.end, table, X.end_table.features), labels)
            assert model.search_["start_kernel"].str.startswith("tanimoto").any()

    def test_one_vertex_set_gets_symmetric_kernels(self):
        rng = np.random.default_rng(0)
        F = rng.standard_normal((40, 2))
        start, end = np.triu_indices(40, 1)
        y = (F[start] * F[end]).sum(axis=1) > 0
        model = vt.AutoKron(random_state=0).fit(vt.Edges(start, end, F), y)
        assert "symmetric" in model.search_["pairwise"].to_numpy()
        both = vt.Edges(np.r_[start, end], np.r_[end, start], F)
        model = vt.AutoKron(random_state=0).fit(both, np.r_[y, y])
        assert set(model.search_["pairwise"]) == {"symmetric"}
        decisions = model.decision_function(both)
        np.testing.assert_allclose(decisions[: len(y)], decisions[len(y) :], rtol=1e-8, atol=1e-8)

    def test_opposite_labels_get_an_antisymmetric_kernel(self):
        rng = np.random.default_rng(0)
        strength = rng.standard_normal((30, 1))
        start, end = np.triu_indices(30, 1)
        X, y = vt.Edges(np.r_[start, end], np.r_[end, start], strength), strength[start, 0] - strength[end, 0]
        model = vt.AutoKron(random_state=0).fit(X, np.r_[y, -y])
        assert set(model.search_["pairwise"]) == {"antisymmetric"}
        assert model.score_ > 0.8

    @pytest.mark.parametrize("new", ["start", "end", "neither", "all"])
    def test_other_settings(self, classes, new):
        model = vt.AutoKron(new, random_state=0, n_best=2).fit(*classes)
        words = {"start": "new start", "end": "new end", "neither": "known vertices", "all": "both vertices new"}
        assert words[new] in model.folds_
        assert model.score_ > 0.8

    def test_a_large_graph_is_sampled(self, monkeypatch):
        monkeypatch.setattr("vectrick.automatic.find.sampled", lambda X, rng, *most: np.flatnonzero(X.start < 12))
        X, signal, _ = grid()
        with pytest.warns(SearchWarning, match="used 216 of 432 edges"):
            model = vt.AutoKron(random_state=0).fit(X, signal)
        assert all(len(member.predictor_.start.used) == 24 for member in model.members_)

    def test_probabilities_are_calibrated(self, classes, model):
        p = model.predict_proba(classes[0])
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        assert ((p[:, 1] > 0.5) == (model.predict(classes[0]) == "yes")).all()

    def test_scores_without_use_have_the_probability_of_the_base_rate(self):
        slope, odds = log_odds(np.array([1.0, -1.0] * 10), np.array([False, True] * 10))
        assert slope > 0
        assert odds == pytest.approx(0.0)


class TestNarrowing:
    def test_what_is_given_is_all_that_is_tried(self, classes):
        model = vt.AutoKron(start_kernel=vt.Gaussian(0.2), end_kernel="linear", alpha=2.0, random_state=0).fit(*classes)
        assert len(model.members_) == 1
        assert model.members_[0].get_params()["start_kernel__gamma"] == 0.2
        assert model.members_[0].alpha == pytest.approx(2.0)

    @pytest.mark.parametrize("loss", ["ridge", "logistic", "svm", "rank", "rank-start"])
    def test_losses(self, classes, values, loss, monkeypatch):
        monkeypatch.setattr(search_module, "_LONG_LADDER", np.array([0.25, 1.0]))
        X, y = classes if loss in ("logistic", "svm") else values
        model = vt.AutoKron(loss=loss, n_best=1, random_state=0).fit(X, y)
        assert model.search_.loc[model.search_["member"], "loss"].unique().tolist() == [loss]
        assert model.score(X, y) > 0.8
        assert is_classifier(model) == (loss in ("logistic", "svm"))

    def test_several_classes(self, tmp_path):
        X, signal, _ = grid()
        y = np.array(["low", "mid", "top"])[np.digitize(signal, [-0.5, 0.5])]
        model = vt.AutoKron(random_state=0, n_best=2).fit(X, y)
        assert model.predict_proba(X).shape == (len(X), 3)
        assert model.score(X, y) > 0.7
        assert model.machine("top").predict_grid(X.start_table.features, X.end_table.features).shape == (24, 18)
        with pytest.raises(ValueError, match=r"use model\.machine\('low'\)"):
            model.predict_grid(X.start_table.features, X.end_table.features)
        model.save(tmp_path / "m.vt")
        np.testing.assert_array_equal(vt.load(tmp_path / "m.vt").decision_function(X), model.decision_function(X))

    def test_weights(self, classes):
        X, y = classes
        weight = (X.start < 20).astype(float)
        model = vt.AutoKron(random_state=0, n_best=1).fit(X, y, weight)
        same = vt.AutoKron(random_state=0, n_best=1).fit(X[X.start < 20], y[X.start < 20])
        np.testing.assert_allclose(model.decision_function(X), same.decision_function(X), atol=1e-6)


class TestHome:
    def test_file(self, classes, model, regression, tmp_path):
        for each in (model, regression):
            each.save(tmp_path / "m.vt", about={"a": 1})
            loaded = vt.load(tmp_path / "m.vt")
            np.testing.assert_array_equal(loaded._decide(classes[0]), each._decide(classes[0]))
            assert str(loaded) == str(each)
            assert loaded.about_ == {"a": 1}
            pd.testing.assert_frame_equal(loaded.search_, each.search_)

    def test_a_damaged_file_is_refused(self, model, tmp_path, monkeypatch):
        for name, change in (
            ("weights", lambda state: [1.0]),
            ("score_", lambda state: "good"),
            ("search", lambda state: {"a": [1], "b": [1, 2]}),
        ):
            state = {**model._file_state(), name: change(None)}
            monkeypatch.setattr(type(model), "_file_state", lambda self, state=state: state)
            with pytest.raises(ValueError, match="could not be loaded again"):
                model.save(tmp_path / "bad.vt")
            monkeypatch.undo()
        assert not (tmp_path / "bad.vt").exists()

    def test_pickle_and_clone(self, classes, model):
        same = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(same.decision_function(classes[0]), model.decision_function(classes[0]))
        assert clone(model).get_params() == model.get_params()
        assert not hasattr(clone(model), "members_")

    def test_cross_validation(self, classes, values):
        cv = vt.VertexKFold(2, 2, random_state=0)
        auto = vt.AutoKron("neither", random_state=0, n_best=2)
        assert cross_val_score(auto, *classes, cv=cv, scoring="roc_auc").mean() > 0.8
        assert cross_val_score(auto, *values, cv=cv).mean() > 0.8
        table = vt.compare({"auto": auto}, *classes, cv=cv, baselines={"mean": vt.baselines()["vertex mean"]})
        assert table.index[0] == "auto"

    def test_kind_of_estimator(self, model, regression):
        assert is_classifier(model)
        assert is_regressor(regression)
        assert not hasattr(regression, "predict_proba")
        assert is_classifier(vt.AutoKron(loss="svm"))
        assert is_regressor(vt.AutoKron(loss="rank"))

    def test_update_is_a_fit_of_the_same_models(self, classes):
        X, y = classes
        model = vt.AutoKron(random_state=0, n_best=2).fit(X[:400], y[:400])
        before = [clone(member) for member in model.members_]
        model.update(X[400:], y[400:])
        for old, new in zip(before, model.members_, strict=True):
            fitted = old.fit(X, np.where(y == "yes", 1.0, -1.0))
            np.testing.assert_allclose(new.predict(X), fitted.predict(X), atol=1e-3)

    def test_frames_and_ids(self):
        rng = np.random.default_rng(0)
        users = pd.DataFrame({"age": rng.random(20), "rank": rng.random(20)}, index=[f"u{i}" for i in range(20)])
        items = pd.DataFrame({"size": rng.random(15)}, index=[f"i{i}" for i in range(15)])
        df = pd.DataFrame([(u, i) for u in users.index for i in items.index], columns=["start", "end"])
        X = vt.Edges.from_frame(df, start_table=users, end_table=items)
        y = users["age"].to_numpy()[X.start] > items["size"].to_numpy()[X.end]
        model = vt.AutoKron(random_state=0, n_best=2).fit(X[:250], y[:250])
        frame = model.recommend(["u0"], 3, exclude_known=False)
        assert frame["start"].tolist() == ["u0"] * 3
        assert frame["probability"].between(0, 1).all()
        which, scores = model.top_k(users, items, 2)
        np.testing.assert_allclose(scores, np.sort(model.predict_grid(users, items))[:, ::-1][:, :2])
        assert which.shape == (20, 2)

    def test_plain_arrays(self, classes):
        X, y = classes
        rows = np.hstack([X.start_table.features[X.start], X.end_table.features[X.end]])
        model = vt.AutoKron(random_state=0, n_best=2, n_start_features=3).fit(rows, y)
        assert model.score(rows, y) > 0.8

    def test_torch(self, classes, monkeypatch):
        torch = pytest.importorskip("torch")
        monkeypatch.setattr("vectrick.automatic.estimator._TOL", 1e-11)
        X, y = classes
        model = vt.AutoKron(random_state=0, n_best=2).fit(X, y == "yes")
        there = vt.AutoKron(random_state=0, n_best=2, backend="torch", device="cpu").fit(X, y == "yes")
        shown = ["stage", "loss", "start_kernel", "end_kernel"]
        assert there.search_[shown].values.tolist() == model.search_[shown].values.tolist()
        np.testing.assert_allclose(there.search_["score"], model.search_["score"], atol=2e-3)  # float32
        np.testing.assert_allclose(there.decision_function(X), model.decision_function(X), atol=1e-5)
        tables = (torch.tensor(table.features) for table in (X.start_table, X.end_table))
        edges = vt.Edges(torch.tensor(X.start), torch.tensor(X.end), *tables)
        labels = torch.tensor(y == "yes")
        given = vt.AutoKron(random_state=0, n_best=2, backend="torch", device="cpu").fit(edges, labels)
        assert isinstance(given.decision_function(edges), torch.Tensor)
        np.testing.assert_allclose(given.decision_function(edges), model.decision_function(X), atol=1e-5)


class TestEnding:
    def test_budget_and_interrupts_end_the_first_stage(self, classes, monkeypatch):
        """Candidates that were scored before the end are kept, also within the first stage."""
        whole = vt.AutoKron(random_state=0).fit(*classes).search_
        n_first = (whole["stage"] == "all kernels").sum()
        scored, calls = SearchProblem.scores, itertools.count()

        def interrupted(self, *args):
            if next(calls) == 2:
                raise KeyboardInterrupt
            return scored(self, *args)

        monkeypatch.setattr(SearchProblem, "scores", interrupted)
        model = vt.AutoKron(random_state=0).fit(*classes)
        assert any("interrupted" in line for line in model.told_)
        assert set(model.search_["stage"]) == {"all kernels"}
        assert 0 < len(model.search_) < n_first
        monkeypatch.setattr(SearchProblem, "scores", scored)
        clock = itertools.count()
        monkeypatch.setattr("vectrick.automatic.search.time.perf_counter", lambda: float(next(clock)))
        model = vt.AutoKron(random_state=0, budget=60).fit(*classes)
        assert set(model.search_["stage"]) == {"all kernels"}
        assert 0 < len(model.search_) < n_first

    def test_budget(self, classes):
        model = vt.AutoKron(random_state=0, budget=1e-6).fit(*classes)
        assert set(model.search_["stage"]) == {"all kernels"}
        assert len(model.search_) < len(vt.AutoKron(random_state=0).fit(*classes).search_) / 4
        assert any("budget" in line for line in model.told_)
        assert model.score_ > 0.5

    def test_interruption_keeps_the_best_so_far(self, classes, monkeypatch):
        score = search_module.Search._score

        def interrupted(self, stage, *args, **kwargs):
            if stage != "all kernels":
                raise KeyboardInterrupt
            return score(self, stage, *args, **kwargs)

        monkeypatch.setattr(search_module.Search, "_score", interrupted)
        model = vt.AutoKron(random_state=0).fit(*classes)
        assert any("interrupted" in line for line in model.told_)
        assert model.score(*classes) > 0.8

    def test_interruption_before_anything_is_known(self, classes, monkeypatch):
        def interrupted(self, *args, **kwargs):
            raise KeyboardInterrupt

        monkeypatch.setattr(search_module.Search, "_score", interrupted)
        model = vt.AutoKron(random_state=0)
        with pytest.raises(KeyboardInterrupt):
            model.fit(*classes)
        assert not hasattr(model, "members_")

    def test_progress(self, classes, capsys):
        vt.AutoKron(random_state=0, n_best=1, verbose=1).fit(*classes)
        err = capsys.readouterr().err
        assert "AutoKron, all kernels" in err
        assert "best so far" in err
        assert "AutoKron, training" in err


class TestBadInput:
    @pytest.mark.parametrize(
        ("parameters", "words"),
        [
            ({"new": "none"}, "new is 'none', but it must be one of 'both', 'start'"),
            ({"loss": "log"}, "loss is 'log', but it must be one of 'auto', 'ridge'"),
            ({"budget": 0}, "budget is 0, but it must be a positive number or None"),
            ({"n_best": 0}, "n_best is 0, but it must be a positive integer"),
            ({"alpha": -1.0}, "alpha is -1.0, but it must be a positive number"),
            ({"scoring": "f1"}, "scoring is 'f1', but it must be one of 'auto', 'auc'"),
            ({"pairwise": "cubic"}, "pairwise is 'cubic', but it must be one of"),
            ({"pairwise": "symmetric"}, "needs one vertex set for both ends"),
            ({"start_kernel": "gauss"}, "start_kernel is 'gauss', but it must be one of"),
            ({"backend": "gpu"}, "backend is 'gpu', but it must be one of"),
        ],
    )
    def test_parameters(self, classes, parameters, words):
        with pytest.raises(ValueError, match=words):
            vt.AutoKron(**parameters).fit(*classes)

    def test_labels(self, classes):
        X = classes[0]
        for y, words in (
            (np.ones(len(X)), "one class only"),
            (np.full(len(X), np.nan), "NaN"),
            (np.full(len(X), None), "missing"),
            (np.zeros(3), "y has length 3, but X has 432 edges"),
        ):
            with pytest.raises(ValueError, match=words):
                vt.AutoKron().fit(X, y)
        with pytest.raises(ValueError, match="y is constant"):
            vt.AutoKron(loss="ridge").fit(X, np.ones(len(X)))
        with pytest.raises(ValueError, match="needs two classes"):
            vt.AutoKron(scoring="auc").fit(X, np.arange(len(X), dtype=float))

    def test_equal_features(self, classes):
        X, y = classes
        with pytest.raises(ValueError, match=r"nothing (to learn|can be learned)"):
            vt.AutoKron().fit(vt.Edges(X.start, X.end, np.ones((24, 2)), np.ones((18, 2))), y)
        with_ends = vt.Edges(X.start, X.end, np.ones((24, 2)), X.end_table.features)
        model = vt.AutoKron(random_state=0).fit(with_ends, X.end_table.features[X.end, 0] > 0)
        assert set(model.search_["start_kernel"]) == {"constant"}

    def test_one_vertex_on_a_side_is_said(self):
        rng = np.random.default_rng(0)
        F = rng.standard_normal((60, 2))
        X = vt.Edges(np.zeros(60, int), np.arange(60), np.ones((1, 2)), F)
        with pytest.warns(SearchWarning, match="no folds with both vertices new are possible"):
            model = vt.AutoKron(random_state=0).fit(X, F[:, 0] > 0)
        assert "new end vertices" in model.folds_
        assert vt.AutoKron("end", random_state=0).fit(X, F[:, 0] > 0).score_ > 0.8

    def test_without_folds_there_is_no_score(self):
        X = vt.Edges([0, 1], [0, 1], np.eye(2), np.eye(2))
        with pytest.warns(SearchWarning, match="there is no score"):
            model = vt.AutoKron(random_state=0).fit(X, [0, 1])
        assert np.isnan(model.score_)
        assert "±" not in str(model)
        assert np.isfinite(model.decision_function(X)).all()

    def test_candidates_that_all_fail(self, classes):
        class Broken(vt.kernels.Kernel):
            def _matrix(self, X, Y):
                return np.full((X.shape[0], Y.shape[0]), np.nan)

            def diagonal(self, X):
                return np.ones(X.shape[0])

        with pytest.raises(ValueError, match=r"no candidate could be scored: .*not finite"):
            vt.AutoKron(start_kernel=Broken(), random_state=0).fit(*classes)

    def test_a_failed_fit_leaves_the_model_as_it_was(self, classes):
        model = vt.AutoKron(random_state=0, n_best=1).fit(*classes)
        before = model.decision_function(classes[0])
        with pytest.raises(ValueError, match="one class only"):
            model.fit(classes[0], np.ones(len(classes[0])))
        np.testing.assert_array_equal(model.decision_function(classes[0]), before)


def test_the_search_of_a_file_is_json(model):
    state = json.loads(json.dumps(model._file_state(), default=float))
    assert state["weights"] == model.weights_.tolist()
    assert state["score_"] == model.score_
