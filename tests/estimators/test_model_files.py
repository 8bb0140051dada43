"""Model files: a loaded model is the saved one, and nothing else is ever accepted."""

import json
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from sklearn.svm import SVC

import vectrick as vt
from tests.estimators.fuzz import fuzz, models
from vectrick.persistence import container
from vectrick.persistence.models import _readable, _whole
from vectrick.persistence.reading import made_again

FITTED = models()


def predictions(model, X):
    return model._decide(X)


@pytest.mark.parametrize("number", range(len(FITTED)))
def test_a_loaded_model_is_the_saved_one(number, tmp_path):
    model, X = FITTED[number]
    model.save(tmp_path / "model.vt", about={"note": "ÿ"})
    same = vt.load(tmp_path / "model.vt")
    assert type(same) is type(model)
    np.testing.assert_array_equal(predictions(same, X), predictions(model, X))
    np.testing.assert_array_equal(same.predict(X), model.predict(X))
    assert repr(same.get_params()) == repr(model.get_params())
    assert same.history_ == model.history_
    assert (same.form_, same.form_reason_, same.n_iter_) == (model.form_, model.form_reason_, model.n_iter_)
    assert (same.solution_.converged, same.solution_.reason) == (model.solution_.converged, model.solution_.reason)
    assert str(same.plan_) == str(model.plan_)
    assert same.about_ == {"note": "ÿ"}
    for name in ("dual_coef_", "coef_", "support_", "classes_"):
        if hasattr(model, name):
            np.testing.assert_array_equal(getattr(same, name), getattr(model, name))
    for side in ("start_table_", "end_table_"):
        before, after = getattr(model, side), getattr(same, side)
        assert (before.ids is None) == (after.ids is None)
        if before.ids is not None:
            assert before.ids.tolist() == after.ids.tolist()
        dense = [t.features.toarray() if hasattr(t.features, "toarray") else t.features for t in (before, after)]
        np.testing.assert_array_equal(*dense)


def test_a_file_is_the_same_bytes_each_time(tmp_path):
    model, _ = FITTED[0]
    for name in "ab":
        model.save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_loaded_model_can_be_saved_again(tmp_path):
    for model, _ in FITTED:
        model.save(tmp_path / "a")
        vt.load(tmp_path / "a").save(tmp_path / "b", about={})
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_libsvm_models_and_plain_arrays(tmp_path):
    X = np.random.default_rng(0).standard_normal((60, 4))
    svc = SVC().fit(X, X[:, 0] * X[:, 3] > 0)
    vt.from_svc(svc, 2).save(tmp_path / "svc.vt")
    same = vt.load(tmp_path / "svc.vt")
    np.testing.assert_allclose(same.decision_function(X), svc.decision_function(X), atol=1e-10)
    assert same.predict(X).dtype == bool
    with pytest.raises(ValueError, match="X has 3 features, but KronSVM is expecting 4"):
        same.predict(X[:, :3])


def test_what_changed_after_the_fit_does_not_get_into_the_file(tmp_path):
    X, y = vt.datasets.make_checkerboard(20, random_state=0)
    model = vt.KronSVM("gaussian", "gaussian", early_stopping=True, random_state=0, validation_fraction=0.3).fit(X, y)
    expected = model.decision_function(X)
    features = X.start_table.features.copy()
    X.start_table.features[model.predictor_.start.used] += 1.0
    model.save(tmp_path / "model.vt")
    X.start_table.features[:] = features
    np.testing.assert_array_equal(vt.load(tmp_path / "model.vt").decision_function(X), expected)


def test_sparse_tables_with_vertices_that_do_not_train(tmp_path):
    from scipy.sparse import random_array

    X, y = vt.datasets.make_checkerboard(40, density=0.5, random_state=0)
    table = random_array((40, 10**7), density=1e-5, rng=np.random.default_rng(0), format="csr")  # 3 GB if it were dense
    edges = vt.Edges(X.start, X.end, table, X.end_table.features)
    model = vt.KronSVM("linear", "gaussian", form="dual", early_stopping=True, random_state=0).fit(edges, y)
    assert len(model.predictor_.start.used) < 40
    model.save(tmp_path / "model.vt")
    same = vt.load(tmp_path / "model.vt")
    assert (tmp_path / "model.vt").stat().st_size < 1_000_000
    assert (same.start_table_.features != table).nnz == 0
    np.testing.assert_array_equal(same.decision_function(edges), model.decision_function(edges))


@pytest.mark.parametrize("kind", [np.asarray, list, tuple])
def test_kernels_that_were_given_arrays(tmp_path, kind):
    X, y = vt.datasets.make_checkerboard(20, random_state=0)
    kernel = vt.Standardized(vt.Gaussian(1.0), mean=kind([1.0]), scale=kind([2.0]))
    model = vt.KronRidge(kernel, "gaussian").fit(X, y)
    model.save(tmp_path / "model.vt")
    same = vt.load(tmp_path / "model.vt")
    assert same.start_kernel.scale == [2.0]
    np.testing.assert_array_equal(same.predict(X), model.predict(X))


def test_functions_are_not_saved(tmp_path):
    X, y = vt.datasets.make_checkerboard(10, density=0.6, random_state=0)
    model = vt.KronRidge(lambda A, B: A @ B.T, "linear").fit(X, y)
    with pytest.raises(ValueError, match=r"start_kernel is .*but a model file holds only"):
        model.save(tmp_path / "model.vt")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    model, _ = FITTED[0]
    path = tmp_path / "model.vt"
    model.save(path)
    before = path.read_bytes()
    monkeypatch.setattr(container, "_digest", lambda content: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.slow
def test_a_killed_writer_leaves_the_old_file_or_the_new_one(tmp_path):
    path = tmp_path / "model.vt"
    code = f"""
import vectrick as vt
X, y = vt.datasets.make_checkerboard(300, random_state=0)
model = vt.KronRidge("linear", "linear", form="dual").fit(X, y)
model.save({str(path)!r})
print("saved", flush=True)
while True:
    model.save({str(path)!r})
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "saved\n"
    for _ in range(3):
        vt.load(path)  # also while it is being replaced
    threading.Event().wait(0.05)
    process.kill()
    process.wait()
    process.stdout.close()
    assert vt.load(path).form_ == "dual"


def test_links_and_rights_are_kept(tmp_path):
    model, _ = FITTED[0]
    (tmp_path / "real.vt").write_text("old")
    (tmp_path / "link.vt").symlink_to(tmp_path / "real.vt")
    model.save(tmp_path / "link.vt")
    assert (tmp_path / "link.vt").is_symlink()
    vt.load(tmp_path / "real.vt")
    mask = os.umask(0o022)
    os.umask(mask)
    assert (tmp_path / "real.vt").stat().st_mode & 0o777 == 0o666 & ~mask


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "0 bytes only"),
        (b"start,end,label\n" * 50, "is not a vectrick file"),
        (b"\x80\x04\x95" + bytes(500), "is not a vectrick file"),
        (container._PREFIX * 4, "is not a vectrick file"),
    ],
)
def test_foreign_files(tmp_path, content, message):
    (tmp_path / "x.vt").write_bytes(content)
    with pytest.raises(vt.ModelFileError, match=message):
        vt.load(tmp_path / "x.vt")


def test_other_bad_files(tmp_path):
    model, _ = FITTED[0]
    path = tmp_path / "model.vt"
    model.save(path)
    content = path.read_bytes()
    with pytest.raises(FileNotFoundError, match="there is no file"):
        vt.load(tmp_path / "none.vt")
    with pytest.raises(vt.ModelFileError, match="not a regular file"):
        vt.load(tmp_path)
    path.write_bytes(content[:-100])
    with pytest.raises(vt.ModelFileError, match="damaged or truncated"):
        vt.load(path)
    path.write_bytes(content[:300])
    with pytest.raises(vt.ModelFileError, match="truncated"):
        vt.load(path)
    flipped = bytearray(content)
    flipped[-1] ^= 1
    path.write_bytes(flipped)
    with pytest.raises(vt.ModelFileError, match="checksum"):
        vt.load(path)
    container.write_container(path, "checkpoint", {}, {"x": np.ones(1)})
    with pytest.raises(vt.ModelFileError, match="is a checkpoint, but a model was expected"):
        vt.load(path)


def test_a_newer_file_says_so(tmp_path, monkeypatch):
    model, _ = FITTED[0]
    monkeypatch.setattr(container, "FORMAT", container.FORMAT + 1)
    model.save(tmp_path / "model.vt")
    monkeypatch.undo()
    with pytest.raises(vt.ModelFileError, match=r"in format 6, but vectrick .* reads formats up to 5; update vectrick"):
        vt.load(tmp_path / "model.vt")


def test_a_file_larger_than_memory_is_refused_first(tmp_path, monkeypatch):
    model, _ = FITTED[0]
    model.save(tmp_path / "model.vt")
    monkeypatch.setattr(container, "available_memory", lambda: 100)
    with pytest.raises(MemoryError, match="there are only 100 B of memory"):
        vt.load(tmp_path / "model.vt")


def test_it_is_a_safetensors_file(tmp_path):
    from safetensors.numpy import load_file

    model, _ = FITTED[0]
    model.save(tmp_path / "model.vt")
    tensors = load_file(tmp_path / "model.vt")
    np.testing.assert_array_equal(tensors["a"], model.predictor_.a)
    length = int.from_bytes((tmp_path / "model.vt").read_bytes()[:8], "little")
    header = json.loads((tmp_path / "model.vt").read_bytes()[8 : 8 + length])
    assert json.loads(header["__metadata__"]["vectrick"])["estimator"] == "KronSVM"


def test_an_unfitted_model_has_no_file(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        vt.KronRidge().save(tmp_path / "x.vt")


@pytest.mark.slow
def test_mutated_files_do_no_harm():
    """Ten thousand of them; ``python -m tests.estimators.fuzz`` tries more."""
    found = fuzz(10_000, seed=1)
    assert min(found.values()) > 500


def labeled(**given):
    X, y = vt.datasets.make_checkerboard(12, 9, density=0.5, random_state=0)
    return vt.Edges(X.start, X.end, X.start_table.features, X.end_table.features, **given), y


def test_ids_of_64_bits(tmp_path):
    ids = np.array([2**63 + 5, 2**64 - 1, *range(10)], np.uint64)
    X, y = vt.datasets.make_checkerboard(12, 9, density=0.5, random_state=0)
    edges = vt.Edges(ids[X.start], X.end, X.start_table.features, X.end_table.features, start_ids=ids)
    vt.KronSVM().fit(edges, y).save(tmp_path / "model.vt")
    same = vt.load(tmp_path / "model.vt")
    assert same.start_table_.ids.tolist() == ids.tolist()
    assert same.start_table_.positions(ids[:2], "start").tolist() == [0, 1]


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (np.array(["no", "yes"], np.dtypes.StringDType()), "O"),
        (np.array([0, 1], np.longdouble), "f"),
        (np.array([0, 2**63 + 1], np.uint64), "u"),
        (np.array([False, True]), "b"),
    ],
    ids=["StringDType", "longdouble", "uint64", "bool"],
)
def test_labels_of_every_kind(labels, kind, tmp_path):
    X, y = labeled()
    model = vt.KronSVM().fit(X, labels[(y > 0).astype(int)])
    model.save(tmp_path / "model.vt")
    same = vt.load(tmp_path / "model.vt")
    assert same.classes_.dtype.kind == kind
    assert same.classes_.tolist() == labels.tolist()


def columns(names):
    import pandas as pd

    X, y = vt.datasets.make_checkerboard(12, 9, density=0.5, random_state=0)
    table = pd.DataFrame(np.hstack([X.start_table.features] * 2), columns=names)
    return vt.Edges(X.start, X.end, table, X.end_table.features), y


def test_what_cannot_be_loaded_is_not_saved(tmp_path):
    import pandas as pd

    path = tmp_path / "model.vt"
    path.write_text("what was there")
    X, y = labeled()
    cases = [
        (vt.KronSVM().fit(*columns(pd.MultiIndex.from_tuples([("a", 1), ("b", 2)]))), {}, "has the column name"),
        (vt.KronSVM().fit(*columns(pd.date_range("2020", periods=2))), {}, "of type Timestamp"),
        (vt.KronSVM().fit(*columns([float("nan"), "a"])), {}, "has the column name nan"),
        (vt.KronSVM().fit(X, np.where(y > 0, b"yes", b"no")), {}, "is of type bytes"),
        (vt.KronSVM().fit(X, y), {("a", 1): 2}, "keys must be str"),
    ]
    broken = vt.KronSVM().fit(X, y)
    broken.predictor_.a = broken.predictor_.a * np.nan
    cases.append((broken, {}, "some coefficients are not finite"))
    for model, about, message in cases:
        with pytest.raises((ValueError, TypeError), match=message):
            model.save(path, about=about)
    assert os.listdir(tmp_path) == ["model.vt"]
    assert path.read_text() == "what was there"
    with pytest.raises(ValueError, match=r"kernel_weights add up to 1e\+101"):
        vt.KronRidge(["linear", "gaussian"], kernel_weights=[1e101, 1.0]).fit(X, y)


def test_a_forged_list_of_kernels_does_not_hang(tmp_path):
    import time

    X, y = labeled()
    vt.KronRidge(["linear", "gaussian"], ["linear"]).fit(X, y).save(tmp_path / "model.vt")
    header, tensors = container.read_container(tmp_path / "model.vt", "model")
    for name in ("start_kernel", "end_kernel"):
        header["parameters"][name] = ["linear"] * 3000
    for name in ("sha256", "kind", "format", "version"):
        header.pop(name)
    container.write_container(tmp_path / "model.vt", "model", header, tensors)
    begin = time.perf_counter()
    with pytest.raises(vt.ModelFileError, match="there can be at most 10000"):
        vt.load(tmp_path / "model.vt")
    assert time.perf_counter() - begin < 5


def test_forged_classes_take_no_memory(tmp_path):
    import tracemalloc

    X, y = vt.datasets.make_checkerboard(20, random_state=0)
    words = np.where(y > 0, "yes", "no")
    model = vt.KronLogistic("gaussian", "gaussian").fit(X, words)
    header, tensors = _whole(model)
    header["classes"] = {"dtype": "<U99999", "values": [str(number) for number in range(2)]}
    tracemalloc.start()
    loaded = made_again(_readable({**header, "about": {}}, tensors), tensors)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert loaded.classes_.dtype.itemsize == 4
    assert peak < 20e6
    header["classes"]["values"] = ["a" * 20_000_000, "b"]
    with pytest.raises(ValueError, match="there are 2 classes, of up to 20000000 characters"):
        made_again({**header, "about": {}}, tensors)


def test_files_with_too_many_threads_are_refused():
    X, y = vt.datasets.make_checkerboard(20, random_state=0)
    header, tensors = _whole(vt.KronRidge().fit(X, y))
    header["parameters"]["n_threads"] = 10**30
    with pytest.raises(ValueError, match=r"n_threads is 10+, but it must be at most 65536"):
        made_again({**header, "about": {}}, tensors)
