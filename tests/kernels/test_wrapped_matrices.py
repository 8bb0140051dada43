"""A kernel matrix inside another kernel is checked like one that stands alone."""

import numpy as np
import pandas as pd
import pytest

import vectrick as vt

rng = np.random.default_rng(0)
START, END = rng.standard_normal((12, 3)), rng.standard_normal((8, 2))
IDS = [f"v{i}" for i in range(12)]
MATRIX = pd.DataFrame(START @ START.T + 0.1 * np.eye(12), IDS, IDS)
Y = rng.standard_normal(96)
WRAPPED = [
    vt.Precomputed() + vt.Constant(0.3),
    vt.Constant(0.3) + vt.Precomputed(),
    vt.Precomputed() * vt.Constant(2.0),
]


def _fit(kernel, table, y=Y):
    return vt.KronRidge(kernel, vt.Gaussian(0.5), alpha=0.1).fit(vt.Edges.grid(table, END), y)


@pytest.mark.parametrize("kernel", [vt.Precomputed(), *WRAPPED])
def test_tables_that_are_no_kernel_matrix_are_refused(kernel):
    with pytest.raises(ValueError, match="must be square, but it is 12 × 20"):
        _fit(kernel, rng.standard_normal((12, 20)))
    with pytest.raises(ValueError, match="not in the order of its rows"):
        _fit(kernel, MATRIX[IDS[::-1]])


@pytest.mark.parametrize("kernel", [vt.Precomputed(), *WRAPPED])
def test_columns_of_new_tables_are_matched_by_name(kernel):
    model = _fit(kernel, MATRIX)
    some = vt.Edges.grid(MATRIX.iloc[3:5][IDS[::-1]], END)
    np.testing.assert_array_equal(model.predict(some), model.predict(vt.Edges.grid(MATRIX, END))[24:40])


@pytest.mark.parametrize("kernel", [vt.Precomputed(), *WRAPPED])
def test_update_with_another_table_is_refused(kernel):
    model = _fit(kernel, MATRIX)
    new = pd.DataFrame(rng.standard_normal((1, 12)), ["new"], IDS)
    with pytest.raises(ValueError, match="start_kernel is precomputed"):
        model.update(vt.Edges.grid(new, END), np.ones(8))


@pytest.mark.parametrize("wrapper", [lambda k: vt.Radial(k, 0.1), vt.Standardized])
@pytest.mark.parametrize("kernel", [vt.Precomputed(), *WRAPPED])
def test_wrappers_that_need_more_than_a_row_refuse_matrices(wrapper, kernel):
    with pytest.raises(ValueError, match="reads a kernel matrix"):
        _fit(wrapper(kernel), MATRIX)


def test_kernels_of_made_features_refuse_matrices():
    strings = ["ACDE", "ACDF", "WYWY", "KLMN"]
    X = vt.Edges.grid(strings, END)
    with pytest.raises(ValueError, match="kernel=precomputed"):
        vt.KronRidge(vt.Spectrum(2, kernel=vt.Precomputed()), "linear").fit(X, Y[:32])


@pytest.mark.parametrize("kernel", [vt.Precomputed(), *WRAPPED])
def test_single_edges_are_predicted_as_in_a_batch(kernel):
    X = vt.Edges.grid(MATRIX, END)
    model = _fit(kernel, MATRIX)
    batch = model.predict(X)
    for row in (0, 40, 95):
        assert model.predict(X[row : row + 1])[0] == pytest.approx(batch[row], abs=1e-12)
