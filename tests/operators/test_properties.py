"""Every path equals ``np.kron`` and the literal Algorithm 1, for all shapes, kinds, orders and dtypes."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import vectrick as vt
from tests.operators.factories import KINDS, index, kron_matrix, make_edges, make_factor, path_names
from vectrick.backends.reference.algorithm import generalized_vec_trick
from vectrick.testing import assert_close, dot_test

sizes = st.integers(1, 40) | st.sampled_from([63, 64, 65, 129])
dtypes = st.sampled_from([np.float64, np.float32])
edge_counts = st.sampled_from([None, 0, 1, 7, 8, 9, 60, 500])


@st.composite
def products(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    a, b, c, d = (draw(sizes) for _ in range(4))
    M = make_factor(rng, a, b, draw(st.sampled_from(KINDS)), draw(dtypes))
    N = make_factor(rng, c, d, draw(st.sampled_from(KINDS)), draw(dtypes))
    f, e = draw(edge_counts), draw(edge_counts)
    rows = None if f is None else make_edges(rng, f, a, c)
    cols = None if e is None else make_edges(rng, e, b, d)
    return rng, M, N, rows, cols


@pytest.mark.slow
@given(products(), st.sampled_from([1, 3]))
@settings(max_examples=800)
def test_every_path_equals_kron(product, n_vectors):
    rng, M, N, rows, cols = product
    matrix = kron_matrix(M, N, rows, cols)
    V = rng.standard_normal((matrix.shape[1], n_vectors))
    dtype = np.result_type(M.dtype, N.dtype)
    expected = matrix @ V.astype(dtype).astype(np.float64)
    # Cancellation is judged against the size of what is added up.
    scale = np.abs(matrix) @ np.abs(V)
    names = path_names(M, N, rows, cols)
    if rows is not None and cols is not None and names:
        assert {"sparse:M", "sparse:N"} <= set(names)
    for path in ["auto", *names]:
        op = vt.kron(M, N, path=path)[index(rows), index(cols)]
        assert op.plan.path in (path, "zero") or path == "auto"
        found = op @ V
        assert found.dtype == dtype
        tolerance = 1e-12 if dtype == np.float64 else 1e-5
        assert (np.abs(found - expected) <= tolerance * scale.max(initial=1e-300)).all(), path


@given(products())
@settings(max_examples=150)
def test_both_branches_equal_the_literal_algorithm(product):
    rng, M, N, rows, cols = product
    if rows is None or cols is None:
        return
    dense_M, dense_N = (np.asarray(F if isinstance(F, np.ndarray) else F.toarray()) for F in (M, N))
    dtype = np.result_type(M.dtype, N.dtype)
    v = rng.standard_normal(len(cols[0])).astype(dtype)
    for branch in "MN":
        literal = generalized_vec_trick(dense_M.astype(float), dense_N.astype(float), v, *rows, *cols, branch)
        op = vt.kron(dense_M, dense_N, path=f"sparse:{branch}")[rows, cols]
        assert_close(op @ v, literal, dtype)


@given(products())
@settings(max_examples=100)
def test_adjoint_of_every_path(product):
    rng, M, N, rows, cols = product
    for path in ["auto", *path_names(M, N, rows, cols)]:
        dot_test(vt.kron(M, N, path=path)[index(rows), index(cols)], rng)


@pytest.mark.slow
@given(products(), st.floats(0, 1), st.floats(0, 1))
@settings(max_examples=100)
def test_restriction_of_every_path(product, row_share, col_share):
    rng, M, N, rows, cols = product
    if rows is None or cols is None:
        return
    matrix = kron_matrix(M, N, rows, cols)
    row_mask, col_mask = rng.random(len(rows[0])) < row_share, rng.random(len(cols[0])) < col_share
    v = rng.standard_normal(col_mask.sum())
    expected = matrix[np.ix_(row_mask, col_mask)] @ v
    scale = (np.abs(matrix[np.ix_(row_mask, col_mask)]) @ np.abs(v)).max(initial=1e-300)
    for path in ["auto", *path_names(M, N, rows, cols)]:
        op = vt.kron(M, N, path=path)[rows, cols]
        found = op.restrict(rows=row_mask, cols=col_mask) @ v
        assert (np.abs(found - expected) <= (1e-12 if op.dtype == np.float64 else 1e-5) * scale).all(), path


@given(products())
@settings(max_examples=80)
def test_one_thread_and_two_give_the_same_bits(product):
    rng, M, N, rows, cols = product
    for path in path_names(M, N, rows, cols):
        one, two = (vt.kron(M, N, path=path, n_threads=n)[index(rows), index(cols)] for n in (1, 2))
        v = rng.standard_normal(one.shape[1])
        np.testing.assert_array_equal(one @ v, two @ v, err_msg=path)
