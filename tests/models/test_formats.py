"""Model files that earlier versions wrote: they load, and predict what a fit of today predicts."""

from pathlib import Path

import numpy as np
import pytest

import vectrick as vt
from vectrick.persistence.container import read_container

FILES = Path(__file__).parent / "files"
MODELS = {
    "dual": vt.KronSVM(vt.Gaussian(0.5), "linear", alpha=0.5, fit_intercept=True),
    "primal": vt.KronRidge("linear", vt.Gaussian(0.5), form="primal", fit_intercept=False),
}


@pytest.mark.parametrize("form", MODELS)
@pytest.mark.parametrize("version", [1, 2, 4])
def test_a_file_of_an_earlier_version(version, form):
    path = FILES / f"format{version}_{form}.vt"
    assert read_container(path, "model")[0]["format"] == version
    X, y = vt.datasets.make_checkerboard(6, 5, density=0.7, random_state=0)
    old, new = vt.load(path), MODELS[form].fit(X, y)
    assert (type(old), old.form_) == (type(new), form)
    tables = np.eye(6, 1), np.eye(5, 1)
    np.testing.assert_allclose(old.predict_grid(*tables), new.predict_grid(*tables))
    np.testing.assert_allclose(old.predict(X), new.predict(X))
    best = [model.recommend([0], exclude_known=False)["end"].tolist() for model in (old, new)]
    assert best[0] == best[1]
