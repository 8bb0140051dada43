"""Every estimator and loss on every way of a fit: products, passes in memory, a lake, two Dask workers, and torch."""

import warnings

import numpy as np
import pytest

import vectrick as vt
from tests.ways import take

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

# The estimator, its parameters, and its labels in the lake.
MODELS = {
    "ridge": (vt.KronRidge, {}, "y"),
    "censored, without bounds": (vt.KronRidge, {"loss": "censored"}, "y"),
    "squared hinge": (vt.KronSVM, {}, "good"),
    "logistic": (vt.KronLogistic, {}, "good"),
    "several classes": (vt.KronLogistic, {}, "grade"),
    "ranking": (vt.KronRanker, {}, "y"),
    "ranking within start vertices": (vt.KronRanker, {"groups": "start"}, "y"),
    "ranking within end vertices": (vt.KronRanker, {"groups": "end"}, "y"),
    "one pass": (vt.KronRidge, {"solver": "one-pass"}, "y"),
    "ridge, mixed precision": (vt.KronRidge, {"precision": "mixed"}, "y"),
    "squared hinge, mixed precision": (vt.KronSVM, {"precision": "mixed"}, "good"),
    "logistic, mixed precision": (vt.KronLogistic, {"precision": "mixed"}, "good"),
    "ranking within start vertices, mixed precision": (vt.KronRanker, {"groups": "start", "precision": "mixed"}, "y"),
}
# What some ways do not have, and what they say. The table in docs/guide/scale.md gives the reasons.
MISSING = {
    "hinge": (vt.KronSVM, {"loss": "hinge"}, "good", "hinge"),
    "dual form": (vt.KronRidge, {"form": "dual"}, "y", "form"),
}


def labels(lake, name):
    return {"y": lake.y, "good": lake.good, "grade": lake.grade}[name]


def fitted(way, lake, kind, label, monkeypatch, **parameters):
    """Return a model that was fitted in one way."""
    take("tiles" if way == "tiles" else "products", monkeypatch.setattr)
    if way in ("lake", "dask"):
        return kind(**parameters, backend="dask" if way == "dask" else "auto").fit(lake.scan(label, weight="weight"))
    if way == "torch":
        pytest.importorskip("torch")
        parameters |= {"backend": "torch", "device": "cpu"}
    model = kind(**parameters).fit(lake.X, labels(lake, label), lake.weight)
    if way == "tiles" and model.plan_.path != "tiles":
        assert parameters.get("solver") == "one-pass" or parameters.get("loss") == "censored" or label == "grade"
    return model


def coefficients(model):
    machines = getattr(model, "estimators_", None) or [model]
    return np.concatenate([np.append(np.ravel(machine.coef_), machine.intercept_) for machine in machines])


@pytest.mark.parametrize("way", ["tiles", "lake", pytest.param("dask", marks=pytest.mark.slow), "torch"])
@pytest.mark.parametrize("name", MODELS)
def test_coefficients_are_those_of_products_in_memory(name, way, lake, monkeypatch, request):
    if way == "dask":
        request.getfixturevalue("two")
    kind, parameters, label = MODELS[name]
    parameters = {"alpha": 0.7, "form": "primal", **parameters}
    if parameters.get("solver") != "one-pass":
        parameters["tol"] = 1e-11
    reference = fitted("products", lake, kind, label, monkeypatch, **parameters)
    if way in ("lake", "dask"):
        del parameters["form"]
    model = fitted(way, lake, kind, label, monkeypatch, **parameters)
    expected = coefficients(reference)
    np.testing.assert_allclose(coefficients(model), expected, atol=1e-7 * abs(expected).max())


@pytest.mark.parametrize("name", MISSING)
def test_lakes_say_what_they_do_not_have(name, lake, monkeypatch):
    kind, parameters, label, word = MISSING[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted("products", lake, kind, label, monkeypatch, **parameters)
    with pytest.raises(ValueError, match=word):
        fitted("lake", lake, kind, label, monkeypatch, **parameters)
