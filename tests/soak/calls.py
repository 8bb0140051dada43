"""Calls with one argument that cannot be meant: a clear error, or a result that is one."""

import numpy as np
import pandas as pd
import polars as pl
from scipy.sparse import csr_array

import vectrick as vt

ERRORS = (ValueError, TypeError, MemoryError, IndexError, ImportError)

NASTY = [
    lambda rng: None,
    lambda rng: float("nan"),
    lambda rng: float("inf"),
    lambda rng: -1,
    lambda rng: 0,
    lambda rng: 10**400,
    lambda rng: "",
    lambda rng: "x",
    lambda rng: b"x",
    lambda rng: [],
    lambda rng: {},
    lambda rng: object(),
    lambda rng: lambda *_: 1,
    lambda rng: np.array([]),
    lambda rng: np.zeros((0, 3)),
    lambda rng: np.full((12, 3), np.nan),
    lambda rng: np.full(40, np.inf),
    lambda rng: rng.standard_normal((3, 3, 3)),
    lambda rng: 1j * rng.standard_normal(40),
    lambda rng: rng.standard_normal(40) * 1e300,
    lambda rng: rng.standard_normal((12, 3)) * 1e200,
    lambda rng: rng.standard_normal((12, 3)).astype(np.float32) * np.float32(1e30),
    lambda rng: np.ma.array(rng.standard_normal(40), mask=rng.random(40) < 0.5),
    lambda rng: np.array(["a", 1, None] * 13, object),
    lambda rng: rng.integers(-5, 100, 40),
    lambda rng: rng.integers(0, 3, 40).astype(np.uint64) + np.uint64(2**63),
    lambda rng: np.array(["x"] * 40, np.dtypes.StringDType()),
    lambda rng: np.array("2020-01-01", "datetime64[D]") + np.arange(40),
    lambda rng: csr_array(np.eye(12)),
    lambda rng: pd.DataFrame({"id": range(12), "word": ["a"] * 12}),
    lambda rng: pd.DataFrame(
        rng.standard_normal((12, 3)), columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)])
    ),
    lambda rng: pl.DataFrame({"a": [1.0]}).lazy(),
    lambda rng: rng.standard_normal(40).tolist(),
    lambda rng: "gaussian",
    lambda rng: vt.KronRidge(),
    lambda rng: vt.Gaussian(-1),
    lambda rng: vt.Standardized(vt.Linear(), mean=[1.0, 2.0]),
    lambda rng: np.longdouble(1) / 3,
    lambda rng: True,
]
PARAMETERS = list(vt.KronRidge().get_params(deep=False))


def nasty(rng):
    """Return something that cannot be meant, or hardly."""
    return NASTY[int(rng.integers(len(NASTY)))](rng)


def check_call(rng, place):
    """Replace one argument of a good call; what comes out is an error in words, or a model that predicts numbers."""
    D, T = rng.standard_normal((12, 3)), rng.standard_normal((10, 2))
    good = {
        "start": rng.integers(0, 12, 40), "end": rng.integers(0, 10, 40), "start_features": D, "end_features": T,
        "start_ids": None, "end_ids": None,
    }  # fmt: skip
    y = rng.standard_normal(40)
    what = str(rng.choice(["edges", "labels", "weights", "parameter", "kron", "fitted", "split", "metric"]))
    try:
        if what == "edges":
            X = vt.Edges(**{**good, str(rng.choice(list(good))): nasty(rng)})
            _finite(vt.KronRidge(max_iter=20).fit(X, y[: len(X)]), X)
        elif what in ("labels", "weights"):
            X = vt.Edges(**good)
            kind = (vt.KronRidge, vt.KronSVM, vt.KronLogistic, vt.KronRanker)[int(rng.integers(4))]
            labels = nasty(rng) if what == "labels" else np.sign(y)
            model = kind("gaussian", "gaussian", max_iter=20)
            before = vars(model).copy()
            try:
                model.fit(X, labels, nasty(rng) if what == "weights" else None)
            except ERRORS:
                assert vars(model) == before, "a fit that failed has changed the estimator"
                raise
            _finite(model, X)
        elif what == "parameter":
            X = vt.Edges(**good)
            model = vt.KronRidge(max_iter=20).set_params(**{str(rng.choice(PARAMETERS)): nasty(rng)})
            _finite(model.fit(X, y), X)
        elif what == "kron":
            factors = [nasty(rng), D] if rng.random() < 0.5 else [D, nasty(rng)]
            op = vt.kron(*factors)
            op @ np.ones(op.shape[1]) if op.shape[1] < 10_000 else None
        elif what == "fitted":
            model = vt.KronRidge().fit(vt.Edges(**good), y)
            name = str(rng.choice(["predict", "predict_grid", "top_k", "recommend", "save"]))
            getattr(model, name)(nasty(rng), *([nasty(rng)] if name in ("predict_grid", "top_k") else []))
        elif what == "split":
            vt.VertexKFold(nasty(rng), 2).folds(vt.Edges(**good), np.sign(y))
        else:
            vt.concordance_index(nasty(rng), y)
    except ERRORS as error:
        assert str(error), f"{type(error).__name__} without a word"
    except OSError as error:  # of save, which takes any path
        assert what == "fitted", error
    except AttributeError as error:
        # scikit-learn asks anything that it is given for its attributes, but our own code must not.
        assert "vectrick" not in _last_file(error), error


def _finite(model, X):
    assert np.isfinite(model.predict(X)).all(), "a model that was accepted predicts something else than numbers"


def _last_file(error):
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame.f_code.co_filename
