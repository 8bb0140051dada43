"""Fits to lakes equal fits in memory; what lakes do not have is refused."""

import os
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import vectrick as vt
from tests.lakes.lake import make_lake
from vectrick.data.lake import store
from vectrick.metrics import concordance_index
from vectrick.models.kernel_spec import KernelSpec
from vectrick.streaming.fit import needed_bytes

EXACT = {"alpha": 0.7, "tol": 1e-13}


def near(one, other, tol=1e-10):
    return np.abs(np.asarray(one) - np.asarray(other)).max() <= tol * max(1.0, np.abs(np.asarray(one)).max())


@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("max_iter", [1, 3, None])
def test_ridge_regression_makes_the_iterates_of_a_fit_in_memory(lake, weight, constant, max_iter):
    given = {**EXACT, "solver": "cg", "fit_intercept": constant, "max_iter": max_iter}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        inside = vt.KronRidge(form="primal", preconditioner="kronecker", **given)
        inside.fit(lake.X, lake.y, None if weight is None else lake.weight)
        outside = vt.KronRidge(**given).fit(lake.scan(weight=weight))
    assert outside.n_iter_ == inside.n_iter_
    assert near(inside.coef_, outside.coef_)
    assert near(inside.intercept_, outside.intercept_)
    assert np.allclose(inside.history_["risk"], outside.history_["risk"], rtol=1e-9)
    assert outside.form_ == "primal"
    assert outside.solution_.converged == (max_iter is None)


@pytest.mark.parametrize("groups", [None, "start", "end"])
@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("transposed", [False, True])
def test_rankings_need_no_order_of_the_edges(tmp_path, groups, weight, transposed):
    sizes = {"m": 25, "q": 35} if transposed else {"m": 40, "q": 30}  # blocks have the rows of the smaller side
    lake = make_lake(tmp_path, n=600, **sizes)
    inside = vt.KronRanker(form="primal", groups=groups, **EXACT)
    inside.fit(lake.X, lake.y, None if weight is None else lake.weight)
    X = lake.scan(weight=weight)
    assert X.reader.rows_are_start == transposed
    outside = vt.KronRanker(groups=groups, **{**EXACT, "tol": 1e-12}).fit(X)
    assert near(inside.coef_, outside.coef_, 1e-9)
    assert np.isclose(inside.history_["risk"][-1], outside.history_["risk"][-1], rtol=1e-9)


@pytest.mark.parametrize("kind", [vt.KronLogistic, vt.KronSVM])
@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("constant", [True, False])
def test_classifiers_reach_the_minimum(lake, kind, weight, constant):
    given = {"alpha": 0.7, "tol": 1e-11, "fit_intercept": constant}
    inside = kind(form="primal", solver="newton", **given)
    inside.fit(lake.X, lake.good, None if weight is None else lake.weight)
    outside = kind(**given).fit(lake.scan("good", weight=weight))
    assert outside.solution_.converged
    assert outside.classes_.tolist() == [0, 1]
    assert outside.classes_.dtype.kind == "i"
    assert near(inside.coef_, outside.coef_, 1e-8)
    assert near(inside.intercept_, outside.intercept_, 1e-8)
    assert (inside.predict(lake.X) == outside.predict(lake.X)).all()


def test_more_classes_have_a_machine_each(lake):
    inside = vt.KronLogistic(form="primal", tol=1e-9).fit(lake.X, lake.grade)
    outside = vt.KronLogistic(tol=1e-9).fit(lake.scan("grade"))
    assert outside.classes_.tolist() == [0, 1, 2]
    assert near(inside.coef_, outside.coef_, 1e-5)
    assert (inside.predict(lake.X) == outside.predict(lake.X)).all()


@pytest.mark.parametrize("more", [{}, {"spectral_filter": "cut-off"}, {"refine": 3}])
def test_one_pass_equals_one_pass_in_memory(lake, more):
    given = {"solver": "one-pass", "alpha": 0.7, **more}
    inside, outside = vt.KronRidge(**given).fit(lake.X, lake.y), vt.KronRidge(**given).fit(lake.scan())
    assert near(inside.coef_, outside.coef_)
    assert not outside.solution_.converged


def test_one_vertex_set(tmp_path):
    rng = np.random.default_rng(0)
    features, start, end = rng.standard_normal((25, 3)), rng.integers(0, 25, 300), rng.integers(0, 25, 300)
    y = rng.standard_normal(300)
    pd.DataFrame({"start": start, "end": end, "label": y}).to_parquet(tmp_path / "a.parquet")
    inside = vt.KronRidge(form="primal", **EXACT).fit(vt.Edges(start, end, features), y)
    outside = vt.KronRidge(**EXACT).fit(vt.scan_edges(tmp_path, start_table=features))
    assert near(inside.coef_, outside.coef_, 1e-9)


def test_spilled_blocks_give_the_same_bits(lake, tmp_path):
    whole = vt.KronRidge().fit(lake.scan())
    X = lake.scan(max_memory="16KB", cache_dir=tmp_path)
    spilled = vt.KronRidge().fit(X)
    assert X._store.n_spilled > 0
    assert np.array_equal(whole.coef_, spilled.coef_)
    assert [path.name for path in tmp_path.iterdir()] == ["edges"]
    X.close()
    assert np.array_equal(vt.KronRidge().fit(X).coef_, whole.coef_)


def test_a_second_fit_does_not_read_again(lake, monkeypatch):
    X = lake.scan()
    first = vt.KronRidge().fit(X)
    monkeypatch.setattr(type(X.reader), "read", lambda *_: pytest.fail("the lake was read again"))
    assert np.array_equal(vt.KronRidge().fit(X).coef_, first.coef_)


@pytest.mark.parametrize("landmarks", ["cholesky", "kmeans"])
def test_kernels_without_thin_factors_get_features_of_landmarks(lake, landmarks, tmp_path):
    exact = vt.KronRidge("gaussian", "gaussian", alpha=0.1).fit(lake.X, lake.y)
    errors = []
    for n in (5, 15, 40):
        model = vt.KronRidge("gaussian", "gaussian", alpha=0.1, n_components=n, landmarks=landmarks).fit(lake.scan())
        assert max(model.coef_.shape) <= n
        assert "Nyström features of the start kernel, which leave out" in model.form_reason_
        errors.append(np.abs(model.predict(lake.X) - exact.predict(lake.X)).mean())
    assert errors[0] > errors[1] > errors[2]
    if landmarks == "cholesky":
        assert errors[2] < 1e-4
    model.save(tmp_path / "model.vt")
    assert np.array_equal(vt.load(tmp_path / "model.vt").predict(lake.X), model.predict(lake.X))


def test_standardized_kernels_see_vertices_with_edges_only(tmp_path):
    lake = make_lake(tmp_path, n=300)
    lake.users[7] = 1e6  # has no edge
    keep = lake.start != 7
    frame = pd.DataFrame({"user": lake.start[keep], "item": lake.end[keep], "y": lake.y[keep]})
    for file in tmp_path.iterdir():
        file.unlink()
    frame.to_parquet(tmp_path / "a.parquet")
    kernel = vt.Standardized(vt.Linear())
    inside = vt.KronRidge(kernel, kernel, form="primal", **EXACT).fit(lake.X[keep], lake.y[keep])
    outside = vt.KronRidge(kernel, kernel, **EXACT).fit(lake.scan())
    assert near(inside.coef_, outside.coef_, 1e-9)


def test_early_stopping_on_held_out_vertices_and_a_refit(lake):
    given = {"early_stopping": True, "random_state": 0, "alpha": 0.01}
    model = vt.KronRidge(**given).fit(lake.scan())
    scores = model.history_["score"]
    assert model.n_iter_ == 1 + int(np.argmax(scores))
    train, held = lake.scan().split("both", 0.25, random_state=0)
    edges, y, _ = held.edges()
    assert np.isclose(vt.KronRidge.score(model, edges, y), max(scores))
    given_apart = vt.KronRidge(alpha=0.01).fit(train, validation=held)
    assert np.array_equal(given_apart.coef_, model.coef_)
    refitted = vt.KronRidge(**given, refit=True).fit(lake.scan())
    assert refitted.history_["score"] == scores
    assert not np.array_equal(refitted.coef_, model.coef_)


def test_callbacks_stop_and_see_iterations(lake):
    seen = []

    def told(step):
        seen.append(step.iteration)
        return len(seen) == 2

    model = vt.KronRidge(alpha=1e-3).fit(lake.scan(), callback=told)
    assert seen == [1, 2]
    assert not model.solution_.converged


def test_ctrl_c_keeps_the_model_if_that_is_asked_for(lake):
    def interrupt(step):
        if step.iteration == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        vt.KronRidge(alpha=1e-3).fit(lake.scan(), callback=interrupt)
    model = vt.KronRidge(alpha=1e-3).fit(lake.scan(), callback=interrupt, keep_interrupted=True)
    assert model.solution_.reason == "interrupted"
    assert model.predict(lake.X).shape == (700,)


@pytest.mark.parametrize("solver", ["auto", "one-pass"])
def test_a_path_over_alpha_reads_once_and_chooses_on_held_out_vertices(lake, solver):
    alphas = 10.0 ** np.arange(-2, 4)
    X = lake.scan()
    path = vt.alpha_path(vt.KronRidge(random_state=0, solver=solver), X, None, alphas)
    train, held = lake.scan().split("both", 0.25, random_state=0)
    edges, y, _ = held.edges()
    for model, score in zip(path.models, path.scores, strict=True):
        assert np.isclose(vt.KronRidge.score(model, edges, y), score)
        alone = clone(model).fit(train)
        assert near(alone.coef_, model.coef_, 1e-4)
    with pytest.raises(ValueError, match="y must be None"):
        vt.alpha_path(vt.KronRidge(), X, lake.y, alphas)


def test_scores_of_lakes(lake):
    train, test = lake.scan().split("both", 0.4, random_state=0)
    ridge = vt.KronRidge().fit(train)
    edges, y, _ = test.edges()
    assert np.isclose(ridge.score(test), ridge.score(edges, y))
    assert np.isclose(vt.score_lake(ridge, test, "mse"), np.mean((ridge.predict(edges) - y) ** 2))
    score = vt.score_lake(ridge, test, "concordance")
    assert abs(score - concordance_index(y, ridge.predict(edges))) <= score.bound
    train, test = lake.scan("good").split("neither", 0.4, random_state=0)
    svm = vt.KronSVM().fit(train)
    edges, good, _ = test.edges()
    assert np.isclose(svm.score(test), svm.score(edges, good))
    score = vt.score_lake(svm, test)
    assert abs(score - concordance_index(good, svm.decision_function(edges))) <= score.bound
    with pytest.raises(ValueError, match="scoring is 'f1'"):
        vt.score_lake(svm, test, "f1")
    with pytest.raises(ValueError, match="have more than 100 values"):
        vt.score_lake(ridge, lake.scan(), "auc")
    with pytest.raises(ValueError, match="over all pairs"):
        vt.KronRanker(groups="start").fit(lake.scan()).score(lake.scan())
    with pytest.raises(ValueError, match="primal form"):
        vt.score_lake(vt.KronRidge(form="dual").fit(lake.X, lake.y), lake.scan())


def test_predictions_from_lake_to_lake(lake, tmp_path):
    model = vt.KronLogistic().fit(lake.scan("good"))
    target = tmp_path / "predicted"
    assert model.predict_lake(lake.scan("good"), target) == 700
    assert len(list(target.iterdir())) == lake.scan().n_partitions
    frame = pd.read_parquet(target)
    X = vt.Edges(frame["user"], frame["item"], lake.users, lake.items)
    assert np.allclose(frame["score"], model.decision_function(X))
    assert np.allclose(frame["probability"], model.predict_proba(X)[:, 1])
    assert (frame["prediction"] == model.predict(X)).all()
    assert frame["good"].tolist() == lake.good.tolist()
    with pytest.raises(FileExistsError, match="exists already"):
        model.predict_lake(lake.scan(None), target)
    vt.KronRidge("gaussian", "gaussian").fit(lake.X, lake.y).predict_lake(lake.scan(None), target, overwrite=True)
    assert pd.read_parquet(target).columns.tolist() == ["user", "item", "score"]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize(
    "model",
    [
        vt.KronRidge(),
        vt.KronSVM(),
        vt.KronLogistic(),
        vt.KronRidge("gaussian", "gaussian", form="dual"),
        vt.KronLogistic("gaussian", "gaussian", alpha=3.0),
        vt.AutoKron(random_state=0, budget=1.0),
    ],
    ids=str,
)
def test_a_lake_is_predicted_like_edges_in_memory(lake, model):
    X = lake.scan(None)
    label = (
        lake.y if type(model) is vt.KronRidge else lake.grade if model.get_params().get("alpha") == 3.0 else lake.good
    )
    model = clone(model).fit(lake.X, label)
    for method in ("predict", "decision_function", "predict_proba"):
        if hasattr(model, method):
            inside, outside = getattr(model, method)(lake.X), getattr(model, method)(X)
            assert inside.shape == outside.shape
            np.testing.assert_allclose(outside, inside, atol=1e-10)
    assert model.predict(X).shape == (700,)


def test_predictions_beyond_the_memory_limit_are_refused(lake):
    model = vt.KronRidge().fit(lake.X, lake.y)
    with pytest.raises(MemoryError, match=r"fit twice into max_memory=.*predict_lake"):
        model.predict(lake.scan(None, max_memory="4KB"))


def test_failed_predictions_leave_nothing(lake, tmp_path):
    model = vt.KronRidge().fit(lake.scan())
    X = lake.scan()
    (lake.folder / "part-3.parquet").unlink()
    with pytest.raises(vt.LakeError, match="is gone"):
        model.predict_lake(X, tmp_path / "predicted")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["edges"]


def test_the_plan_says_what_a_fit_takes(lake):
    plan = vt.KronRidge().plan(lake.scan())
    assert (plan.n_edges, plan.n_partitions, plan.ranks) == (700, 5, (5, 4))
    assert 8 <= plan.bytes_per_edge <= 13
    assert plan.seconds > 0
    assert "workers of one thread" in str(plan)
    assert plan.with_workers(4)["pass_seconds"] <= plan.with_workers(1)["pass_seconds"]
    assert vt.KronSVM().plan(lake.scan("good")).passes > plan.passes
    with pytest.raises(ValueError, match="edges in memory need labels"):
        vt.KronRidge().plan(lake.X)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (vt.KronRidge(form="dual"), "form is 'dual'"),
        (vt.KronRidge(solver="minres"), "solver is 'minres'"),
        (vt.KronRidge(pairwise="cartesian"), "pairwise is 'cartesian'"),
        (vt.KronRidge(["linear", "gaussian"], "linear"), "a lake takes one start kernel and one end kernel"),
        (vt.KronRidge(preconditioner="none"), "preconditioner is 'none'"),
        (vt.KronSVM(loss="hinge"), "loss is 'hinge'"),
        (vt.KronRidge(n_components=0), "n_components is 0"),
        (vt.KronRidge(landmarks="random"), "landmarks is 'random'"),
        (vt.KronRidge(solver="one-pass", early_stopping=True), "no iterations to stop at"),
        (vt.KronLogistic(), "more than 100 values"),
    ],
)
def test_what_lakes_do_not_have_is_refused(lake, model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(lake.scan())


def test_labels_beside_a_lake_are_refused_and_labels_in_it_are_needed(lake):
    with pytest.raises(ValueError, match="y is given, but X is a lake"):
        vt.KronRidge().fit(lake.scan(), lake.y)
    with pytest.raises(ValueError, match="validation is of type tuple"):
        vt.KronRidge().fit(lake.scan(), validation=(lake.X, lake.y))
    with pytest.raises(ValueError, match="label=None"):
        vt.KronRidge().fit(lake.scan(None))
    with pytest.raises(MemoryError, match="max_memory is 1 KB"):
        vt.KronRidge().fit(lake.scan(max_memory="1KB"))
    with pytest.raises(ValueError, match="fit requires y"):
        vt.KronRidge().fit(lake.X)


def test_a_failed_fit_leaves_the_model_as_it_was(lake):
    X = lake.scan()
    model = vt.KronRidge().fit(X)
    before = model.coef_
    (lake.folder / "part-0.parquet").unlink()
    with pytest.raises(vt.LakeError, match="is gone"):
        model.fit(X)
    assert model.coef_ is before


def test_a_search_on_a_lake(lake, tmp_path):
    given = {"start_kernel": "linear", "end_kernel": "linear", "loss": "ridge", "random_state": 0, "n_best": 2}
    auto = vt.AutoKron(**given).fit(lake.scan())
    assert auto.score_ > 0.8
    assert auto.search_["member"].sum() == len(auto.members_)
    assert set(auto.search_["stage"].str.partition(",")[0]) == {"lake", "sample"}
    assert "held-out vertices" in auto.told_[0]
    auto.save(tmp_path / "model.vt")
    assert np.array_equal(vt.load(tmp_path / "model.vt").predict(lake.X), auto.predict(lake.X))
    classes = vt.AutoKron(start_kernel="linear", end_kernel="linear", random_state=0).fit(lake.scan("good"))
    chance = classes.predict_proba(lake.X)[:, 1]
    assert concordance_index(lake.good, chance) > 0.85
    assert abs(chance.mean() - 0.5) < 0.1
    with pytest.raises(ValueError, match="y and sample_weight"):
        auto.fit(lake.scan(), lake.y)


@pytest.mark.parametrize("weight", [None, "weight"])
def test_torch_computes_passes_as_well(lake, weight):
    pytest.importorskip("torch")
    for kind, label in ((vt.KronRidge, "y"), (vt.KronLogistic, "good"), (vt.KronSVM, "good"), (vt.KronRanker, "y")):
        given = {"alpha": 0.7, "tol": 1e-10}
        on_cpu = kind(**given).fit(lake.scan(label, weight=weight))
        on_device = kind(**given, backend="torch", device="cpu").fit(lake.scan(label, weight=weight))
        assert near(on_cpu.coef_, on_device.coef_, 1e-8)
        assert isinstance(on_device.coef_, np.ndarray)
        assert np.isclose(on_device.score(lake.scan(label)), on_cpu.score(lake.scan(label)), atol=1e-3)


def test_a_full_disk_ends_a_fit_and_leaves_nothing(lake, small_disk):
    model, X = vt.KronRidge(), lake.scan(cache_dir=small_disk)
    X.max_memory = needed_bytes(model, X, KernelSpec.of(model), np.float64)  # so that no edge stays in memory
    free = os.statvfs(small_disk)
    (small_disk / "filler").write_bytes(bytes(free.f_bavail * free.f_frsize - 8192))
    with pytest.raises(OSError, match=r"cache_dir .* has no room for another"):
        model.fit(X)
    assert not hasattr(model, "coef_")
    (small_disk / "filler").unlink()
    assert np.allclose(model.fit(X).coef_, vt.KronRidge().fit(lake.scan()).coef_)
    assert X._store.n_spilled > 1
    assert os.listdir(small_disk) == []  # the file has no name


def named(lake, columns="abcde", **more):
    users = pd.DataFrame(lake.users, columns=list("abcde")).rename_axis("user")[list(columns)]
    return lake.scan(start_table=users, **more)


def test_scores_match_columns_by_name(lake):
    model = vt.KronRidge().fit(named(lake))
    turned = named(lake, "edcba")
    assert np.isclose(model.score(turned), model.score(named(lake)))
    stopped = [vt.KronRidge().fit(named(lake), validation=X).history_["score"] for X in (turned, named(lake))]
    assert np.allclose(*stopped)
    for score in (model.score, lambda X: vt.score_lake(model, X, "r2")):
        with pytest.raises(ValueError, match="start_features lacks 1 of the 5 columns"):
            score(named(lake, "abcd"))


def test_scores_that_cannot_be_meant(lake):
    values, classes = vt.KronRidge().fit(lake.scan()), vt.KronLogistic().fit(lake.scan("good"))
    with pytest.raises(ValueError, match="scoring is 'accuracy', but KronRidge predicts values"):
        vt.score_lake(values, lake.scan("good"), "accuracy")
    with pytest.raises(ValueError, match="scoring is 'mse', but KronLogistic predicts classes"):
        vt.score_lake(classes, lake.scan("good"), "mse")
    with pytest.raises(ValueError, match=r"the lake has the label 2, but the model has the classes \[0, 1\]"):
        classes.score(lake.scan("grade"))
    with pytest.raises(ValueError, match="validation was scanned with label=None"):
        vt.KronRidge().fit(lake.scan(), validation=lake.scan(None))
    with pytest.raises(TypeError, match="score_lake is for edges of a lake"):
        vt.score_lake(values, lake.X)
    for ask in (values.novelty, values.explain, lambda X: values.predict(X, return_std=True)):
        with pytest.raises(ValueError, match=r"X is a lake, .*: X.edges\(\) reads them"):
            ask(lake.scan())


def rewritten(lake, **columns):
    """Change columns of all files of a lake."""
    for path in sorted(lake.folder.iterdir()):
        frame = pd.read_parquet(path)
        frame.assign(**{name: change(frame) for name, change in columns.items()}).to_parquet(path, row_group_size=100)


def test_weights_of_one_class_only_are_refused(lake):
    rewritten(lake, weight=lambda frame: frame["weight"] * (frame["good"] == 1))
    with pytest.raises(ValueError, match="column 'weight' is zero for all edges of one class"):
        vt.KronLogistic().fit(lake.scan("good", weight="weight"))


def test_held_out_edges_of_one_class_only_are_refused(lake):
    held, train = lake.scan("good", filters=[("good", "==", 0)]), lake.scan("good")
    with pytest.raises(ValueError, match=r"the held-out edges have the label\(s\) 0 only"):
        vt.KronLogistic().fit(train, validation=held)


def test_parts_are_forgotten_before_the_whole_is_read(lake, monkeypatch):
    stores, most = {}, [0]
    add, close = store.BlockStore.add, store.BlockStore.close

    def adding(self, block):
        add(self, block)
        stores[id(self)] = self.n_bytes
        most[0] = max(most[0], sum(stores.values()))

    def closing(self):
        close(self)
        stores.pop(id(self), None)

    monkeypatch.setattr(store.BlockStore, "add", adding)
    monkeypatch.setattr(store.BlockStore, "close", closing)
    for model, label in ((vt.KronRidge, "y"), (vt.KronLogistic, "grade")):
        X, most[0] = lake.scan(label), 0
        fitted = model(early_stopping=True, refit=True, random_state=0).fit(X)
        assert len(fitted.history_ if label == "y" else fitted.machines_) > 0
        assert most[0] <= X._store.n_bytes
        assert len(fitted.predict(lake.X)) == 700
        assert label == "y" or fitted.predict_proba(lake.X).shape == (700, 3)
        X.close()


def test_plans_know_filters(lake):
    X = lake.scan(filters=[("user", ">=", 20)])
    plan = vt.KronRidge().plan(X)
    assert plan.bytes_per_edge > 8
    assert 0.5 < plan.n_edges / X.count() < 2
    few = vt.KronRidge("gaussian", "gaussian").plan(lake.scan())
    assert few.ranks == (40, 30)
    with pytest.raises(ValueError, match="form is 'dual'"):
        vt.KronRidge(form="dual").plan(lake.scan())


def test_predictions_replace_nothing_but_predictions(lake, tmp_path):
    model, X = vt.KronRidge().fit(lake.scan()), lake.scan()
    for target in (lake.folder, lake.folder.parent, lake.folder / "inside"):
        with pytest.raises(ValueError, match="is a folder that the lake is read from, or lies in it"):
            model.predict_lake(X, target, overwrite=True)
    apart = tmp_path / "apart"
    (apart / "thesis").mkdir(parents=True)
    with pytest.raises(FileExistsError, match="holds 'thesis', not only files of predictions"):
        model.predict_lake(X, apart, overwrite=True)
    assert sorted(os.listdir(lake.folder)) == [f"part-{number}.parquet" for number in range(4)]
    target = tmp_path / "predicted"
    assert model.predict_lake(X, target) == model.predict_lake(X, target, overwrite=True) == 700


def test_edges_without_labels_are_predicted(lake, tmp_path):
    model = vt.KronRidge().fit(lake.scan())
    rewritten(lake, y=lambda frame: frame["y"].where(frame["y"] > 2))
    assert model.predict_lake(lake.scan(), tmp_path / "predicted") == 700
    for path in sorted(lake.folder.iterdir()):
        pd.read_parquet(path).rename(columns={"item": "score"}).to_parquet(path)
    X = vt.scan_edges(lake.folder, start="user", end="score", label=None, start_table=lake.users, end_table=lake.items)
    with pytest.raises(ValueError, match="the column of ids 'score' has the name of a column of predictions"):
        model.predict_lake(X, tmp_path / "others")


def test_a_search_is_calibrated_on_edges_from_everywhere(lake, monkeypatch):
    from vectrick.automatic import lakes

    frame = pd.concat([pd.read_parquet(path) for path in sorted(lake.folder.iterdir())]).sort_values("good")
    for number, rows in enumerate(np.array_split(np.arange(len(frame)), 4)):
        frame.iloc[rows].to_parquet(lake.folder / f"part-{number}.parquet", row_group_size=100)
    monkeypatch.setattr(lakes, "_JUDGED", 20)
    given = {"start_kernel": "linear", "end_kernel": "linear", "loss": "logistic", "random_state": 0, "n_best": 1}
    model = vt.AutoKron(**given).fit(lake.scan("good"))
    assert 0.2 < model.predict_proba(lake.X)[:, 1].mean() < 0.8


@pytest.mark.parametrize("kernel", ["linear", vt.Gaussian(0.5)])
@pytest.mark.parametrize("spectral_filter", ["ridge", "iterated", "cut-off"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_one_pass_is_that_of_memory(kernel, spectral_filter, fit_intercept, tmp_path):
    rng = np.random.default_rng(3)
    D, T = rng.standard_normal((12, 3)) + 1, rng.standard_normal((8, 2)) + 1
    start, end = np.nonzero(rng.random((12, 8)) < 0.3)
    weight, y = rng.random(len(start)) ** 3, rng.standard_normal(len(start)) + 3
    frame = pd.DataFrame({"start": start, "end": end, "label": y, "weight": weight})
    frame.to_parquet(tmp_path / "edges.parquet")
    how = {"solver": "one-pass", "fit_intercept": fit_intercept, "spectral_filter": spectral_filter}
    X = vt.Edges(start, end, D, T)
    in_memory = vt.KronRidge(kernel, kernel, **how).fit(X, y, weight)
    lake = vt.scan_edges(tmp_path, weight="weight", start_table=D, end_table=T)
    np.testing.assert_allclose(
        vt.KronRidge(kernel, kernel, **how).fit(lake).predict(X), in_memory.predict(X), atol=1e-9
    )
    if fit_intercept:  # which is the best one for these predictions
        assert np.average(in_memory.predict(X) - y, weights=weight) == pytest.approx(0.0, abs=1e-9)
