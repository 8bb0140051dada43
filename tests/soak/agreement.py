"""Two ways to one answer agree: batches and single edges, lakes and memory, removals and new fits, before and after."""

import itertools
import os
import tempfile

import numpy as np
import pandas as pd
from sklearn.base import clone

import vectrick as vt
from tests.soak.oracle import kernel
from vectrick.model_selection.calibration.folded import calibration_folds

SETTINGS = ("both", "start", "end", "neither")
STRINGS = ["CCO", "CCN", "c1ccccc1O", "CC(=O)O", "CCCl", "C1CCCCC1", "CC(C)C", "NCC", "OCCO", "CC#N", "CCS", "COC"]
SEQUENCES = ["MKTAYIAK", "MKTAYLAK", "GGSGGS", "WWYF", "MKKLLPT", "AVAVAV", "QRQISFVK", "MSEQNNTE", "PLPLPL"]


def repeated(rng, one_set=False):
    """Return random edges of which many repeat; with one vertex set, some of them reversed."""
    m, q = (int(size) for size in rng.integers(6, 16, 2))
    tables = [rng.standard_normal((m, 3)), None if one_set else rng.standard_normal((q, 2))]
    n = int(rng.integers(20, 80))
    start, end = rng.integers(0, m, n), rng.integers(0, m if one_set else q, n)
    again = rng.permutation(np.tile(np.arange(n), 2))
    start, end = start[again], end[again]
    if one_set:
        turned = rng.random(2 * n) < 0.5
        start, end = np.where(turned, end, start), np.where(turned, start, end)
    return vt.Edges(start, end, *tables)


def _pairs(X):
    start, end = (np.minimum(X.start, X.end), np.maximum(X.start, X.end)) if X.is_one_set else (X.start, X.end)
    return set(zip(start.tolist(), end.tolist(), strict=True))


def _check_apart(parts):
    for one, other in itertools.combinations([_pairs(part) for part in parts], 2):
        assert not one & other


def check_splits(rng, place):
    """Edges between the same two vertices are on one side of every split, in memory and in a lake."""
    X = repeated(rng, one_set=bool(rng.random() < 0.4))
    y = rng.choice([-1.0, 1.0], len(X))
    seed, new = int(rng.integers(1000)), str(rng.choice(SETTINGS))
    how = {"stratify": bool(rng.random() < 0.5), "strict": False, "random_state": seed}
    splitters = [vt.VertexKFold(2, 2, new, **how)]
    if new != "neither":
        splitters.append(vt.ClusterKFold(2, 2, new, **how))
    try:
        for cv in splitters:
            for train, test in cv.split(X, y):
                _check_apart([X[train], X[test]])
        _check_apart([X[rows] for rows in vt.vertex_split(X, y, new=new, random_state=seed)])
    except ValueError as error:
        assert "or another random_state" in str(error), error  # a part without edges, or with one class
    for fold in calibration_folds(X, y, new, 3, seed):
        _check_apart([X[fold.train], X[fold.test]])
    lake = _lake(X, y, None, place)
    _check_apart([part.edges()[0] for part in lake.split(new, 0.4, random_state=seed)])


def _lake(X, y, weight, place):
    """Return the same edges as a lake of two files."""
    frame = pd.DataFrame({"start": X.start, "end": X.end, "label": y})
    if weight is not None:
        frame["weight"] = weight
    folder = tempfile.mkdtemp(dir=place)
    half = len(frame) // 2
    for name, part in (("a", frame[:half]), ("b", frame[half:])):
        part.to_parquet(os.path.join(folder, f"{name}.parquet"))
    tables = {"start_table": X.start_table.features, "end_table": None if X.is_one_set else X.end_table.features}
    return vt.scan_edges(folder, weight=None if weight is None else "weight", **tables)


def check_lake(rng, place):
    """A fit to a lake predicts as a fit in memory does, for every loss, with and without weights and intercept."""
    X = repeated(rng, one_set=bool(rng.random() < 0.3))
    kind = (vt.KronRidge, vt.KronRidge, vt.KronLogistic, vt.KronSVM)[int(rng.integers(4))]
    y = rng.standard_normal(len(X)) + 2 if kind is vt.KronRidge else rng.choice([-1.0, 1.0], len(X))
    weight = rng.random(len(X)) + 0.05 if rng.random() < 0.5 else None
    options = {"alpha": float(rng.choice([0.1, 1.0, 10.0])), "fit_intercept": bool(rng.random() < 0.5)}
    if kind is vt.KronRidge and rng.random() < 0.5:
        options |= {"solver": "one-pass", "spectral_filter": str(rng.choice(["ridge", "iterated", "cut-off"]))}
    else:
        options["tol"] = 1e-10
    width = vt.Gaussian(float(rng.choice([0.05, 0.5])))
    kernels = [width if rng.random() < 0.5 else vt.Linear() for _ in range(2)]
    in_memory = kind(*kernels, **options).fit(X, y, weight)
    streamed = kind(*kernels, **options).fit(_lake(X, y, weight, place))
    expected = _decided(in_memory, X)
    np.testing.assert_allclose(_decided(streamed, X), expected, atol=2e-4 * (1 + np.abs(expected).max()))


def _decided(model, X):
    return model.decision_function(X) if hasattr(model, "classes_") else model.predict(X)


def _start_side(rng):
    """Return a kernel and a table that it reads: numbers, strings, or a kernel matrix, perhaps in a wrapper."""
    draw = rng.random()
    if draw < 0.35:
        K = rng.standard_normal((12, 4))
        inner = vt.Precomputed()
        wrapped = [inner, inner + vt.Constant(0.3), vt.Constant(0.5) + inner, inner * vt.Constant(2.0), inner * inner]
        return wrapped[int(rng.integers(5))], K @ K.T + 0.1 * np.eye(12)
    if draw < 0.5:
        kernels = [vt.Spectrum(2), vt.Spectrum(3) + vt.Constant(0.2), vt.Radial(vt.Spectrum(2), 0.5)]
        return kernels[int(rng.integers(3))], SEQUENCES
    if draw < 0.6:
        try:
            import rdkit  # noqa: F401
        except ImportError:
            return kernel(rng), rng.standard_normal((12, 3))
        kernels = [vt.Morgan(), vt.Morgan(counts=True) * vt.Morgan(), vt.Radial(vt.Morgan(), 0.5)]
        return kernels[int(rng.integers(3))], STRINGS
    if draw < 0.7:
        return vt.Linear() + vt.Profile(), rng.standard_normal((12, 3))
    kernels = [
        kernel(rng),
        vt.Gaussian("scale"),
        vt.Standardized(vt.Linear()),
        vt.Radial(vt.Linear(), 0.3),
        vt.Tanimoto(),
    ]
    return kernels[int(rng.integers(5))], np.abs(rng.standard_normal((12, 3)))


def check_batches(rng, place):
    """An edge has the same prediction alone, in a batch, in a grid, in a recommendation, and in an ensemble's."""
    start_kernel, table = _start_side(rng)
    X = vt.Edges.grid(table, rng.standard_normal((8, 2)))
    known = rng.random(len(X)) < 0.7
    X_known = X[known]
    y = rng.standard_normal(len(X_known))
    kind = (vt.KronRidge, vt.KronLogistic, vt.KronSVM)[int(rng.integers(3))]
    labels = y if kind is vt.KronRidge else np.sign(y)
    form = str(rng.choice(["auto", "dual", "primal"]))
    model = kind(start_kernel, kernel(rng), alpha=0.3, form=form).fit(X_known, labels)
    batch = _decided(model, X)
    tolerance = 1e-8 * (1 + np.abs(batch).max())
    rows = rng.permutation(len(X))[: int(rng.integers(1, 6))]
    np.testing.assert_allclose(_decided(model, X[rows]), batch[rows], atol=tolerance)
    n_end = len(X.end_table)
    np.testing.assert_allclose(model.predict_grid(X.start_table, X.end_table).ravel(), batch, atol=tolerance)
    vertex = int(rng.choice(X_known.start))
    best = model.recommend([vertex], k=n_end, exclude_known=False)
    for end, score in zip(best["end"], best["score"], strict=True):
        np.testing.assert_allclose(score, batch[vertex * n_end + int(end)], atol=tolerance)


def _results(model, X, edges):
    """Return what fitted methods answer."""
    results = {
        "decide": _decided(model, X),
        "explain": model.explain(X[:1], k=len(edges))["contribution"].to_numpy(),
        "without": model.predict_without(X[:3], edges=edges[:1]),
    }
    if not hasattr(model, "classes_"):
        results["std"] = model.predict(X, return_std=True)[1]
    return results


def check_explanations(rng, place):
    """Explanations add up, removals are new fits, both forms agree, and `set_params` changes nothing of a fit."""
    start_kernel = [vt.Gaussian(0.5), vt.Linear(), vt.Gaussian("scale"), vt.Standardized(vt.Gaussian(0.3))][
        int(rng.integers(4))
    ]
    X = repeated(rng)
    X = X[: int(rng.integers(15, min(60, len(X)) + 1))]
    kind, loss = [
        (vt.KronRidge, None), (vt.KronLogistic, None), (vt.KronSVM, "hinge"), (vt.KronSVM, "squared_hinge")
    ][int(rng.integers(4))]  # fmt: skip
    y = rng.standard_normal(len(X))
    labels = y if kind is vt.KronRidge else np.sign(y)
    if len(np.unique(labels)) < 2:
        return
    options = {"alpha": float(rng.choice([0.3, 2.0])), "tol": 1e-10, "fit_intercept": bool(rng.random() < 0.4)}
    options |= {} if loss is None else {"loss": loss}
    models = [kind(start_kernel, vt.Gaussian(0.4), form=form, **options).fit(X, labels) for form in ("dual", "primal")]
    scale = 1 + np.abs(_decided(models[0], X)).max()
    for model in models:
        frame = model.explain(X[:1], k=len(X))
        np.testing.assert_allclose(frame["contribution"].sum(), _decided(model, X[:1])[0], atol=1e-6 * scale)
        assert abs(frame["contribution"].iloc[-1]) < 1e-3 * scale  # what the solver left
        side = str(rng.choice(["start", "end"]))
        vertex = int(rng.choice(getattr(X, side)))
        kept = getattr(X, side) != vertex
        if len(np.unique(labels[kept])) > 1:
            again = _decided(clone(model).fit(X[kept], labels[kept]), X[:5])
            np.testing.assert_allclose(model.predict_without(X[:5], **{side: vertex}), again, atol=1e-3 * scale)
        copies = (X.start == X.start[0]) & (X.end == X.end[0])
        before = _results(model, X, X)
        if len(np.unique(labels[~copies])) > 1:
            again = _decided(clone(model).fit(X[~copies], labels[~copies]), X[:3])
            np.testing.assert_allclose(before["without"], again, atol=1e-3 * scale)
        model.set_params(alpha=7.0, end_kernel__gamma=5.0, fit_intercept=not options["fit_intercept"])
        for name, after in _results(model, X, X).items():
            np.testing.assert_allclose(after, before[name], atol=1e-9 * scale, err_msg=name)
