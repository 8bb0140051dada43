"""Every backend keeps the contract: the CPU's, the reference, torch's on the CPU, and a toy of a user."""

import types

import numpy as np
import pytest

import vectrick as vt
from tests.extensions import registries_restored
from tests.extensions.mine import Recording
from vectrick.backends import HOST, Backend, NumpyBackend, backend_of, settle_backend
from vectrick.backends.arrays import like, placed, to_host
from vectrick.testing import BackendContract


class TestHost(BackendContract):
    def make(self):
        return HOST


class TestReference(BackendContract):
    def make(self):
        return settle_backend("reference", None)


class TestRecording(BackendContract):
    def make(self):
        return Recording()


class Generic(NumpyBackend):
    """What a new backend has from the start: every method that the base writes in terms of `xp`."""

    name = "generic"
    is_finite, squared_norms, unit_rows, variance = (
        Backend.is_finite, Backend.squared_norms, Backend.unit_rows, Backend.variance,
    )  # fmt: skip
    gaussian, sigmoid, log_sigmoid, scattered_all = (
        Backend.gaussian, Backend.sigmoid, Backend.log_sigmoid, Backend.scattered_all,
    )  # fmt: skip
    run_columns, sums_by_vertex, add_by_vertex, multiply_all, in_parallel = (
        Backend.run_columns, Backend.sums_by_vertex, Backend.add_by_vertex, Backend.multiply_all, Backend.in_parallel,
    )  # fmt: skip


class TestGeneric(BackendContract):
    def make(self):
        return Generic()


class TestTorch(BackendContract):
    def make(self):
        pytest.importorskip("torch", reason="torch is not installed: its backend was left out")
        return settle_backend("torch", "cpu")


def test_an_unknown_backend_is_refused():
    with pytest.raises(ValueError, match="backend is 'jax', but it must be one of 'cpu', 'torch', 'auto', 'reference'"):
        vt.KronRidge(backend="jax").fit(*vt.datasets.make_checkerboard(10, random_state=0))


class Boxed:
    """An array of a library that nobody knows."""

    def __init__(self, values):
        self.values = np.asarray(values)


class Boxes(NumpyBackend):
    """A backend whose arrays are not NumPy's: what users give of them is found by `owns`."""

    name, xp = "boxes", types.SimpleNamespace()

    def owns(self, x):
        return isinstance(x, Boxed)

    def asarray(self, values, dtype=None):
        return values if isinstance(values, Boxed) else Boxed(np.asarray(values, dtype))

    def to_host(self, x):
        return x.values


def test_arrays_of_a_further_backend_find_their_home():
    with registries_restored():
        boxes, values = vt.register(Boxes()), np.arange(3.0)
        there = placed(values, boxes)
        assert backend_of(there) is boxes
        assert backend_of(values) is HOST
        np.testing.assert_array_equal(to_host(there), values)
        np.testing.assert_array_equal(like(there, values), values)
    assert backend_of(there) is HOST
