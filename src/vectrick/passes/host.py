"""Passes over a block of edges on the CPU: sums of features over its edges, in one reading of them."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from vectrick._typing import Array
from vectrick.backends.cpu.products import dense_product
from vectrick.backends.memory import Workspace
from vectrick.backends.threads import even_parts, run_tasks
from vectrick.data.lake.blocks import EdgeBlock
from vectrick.losses import COMPILED, Loss

_CHUNK = 1 << 13  # edges whose predictions exist at the same time, so that temporary arrays need no new memory pages
_NONE = np.empty(0, np.float32)

# Takes the predictions (one array for each core), labels and weights of some edges; returns values to sum features
# with, and numbers to add up.
Use = Callable[[list[Array], Any, Any], tuple[list[Array], Array]]


class HostPasses:
    """Passes over blocks with the features of both sides: ``R`` of the rows, ``C`` of the columns.

    An edge between row i and column j has the features ``R[i] ⊗ C[j]``; a *core* W has a coefficient for each pair of
    features, and predicts ``R[i] · W C[j]``. Results have the same bits for any number of threads.

    With ``keeps``, `loss_sums` also writes the second derivative of each edge to a vector. The next Newton system then
    takes as long as a system of a quadratic loss, 0.6 of the time with recomputed derivatives.
    """

    def __init__(self, R: Array, C: Array, *, keeps: bool = False) -> None:
        self.R, self.C, self.keeps = np.ascontiguousarray(R), np.ascontiguousarray(C), keeps
        self._curves: tuple[EdgeBlock, Array, float, Array] | None = None  # of a block at a core and an intercept
        self._lock = threading.Lock()
        self._space = Workspace()
        self._lefts: list[tuple[Array, Array]] = []  # cores W, and their products ``R W``

    @property
    def dtype(self) -> Any:
        """The dtype of the features."""
        return self.R.dtype

    def lowered(self) -> "HostPasses":
        """Return the same passes with features in float32."""
        return HostPasses(self.R.astype(np.float32), self.C.astype(np.float32), keeps=self.keeps)

    def __getstate__(self) -> tuple[Array, Array]:
        return self.R, self.C

    def __setstate__(self, state: tuple[Array, Array]) -> None:
        # Data from a socket may begin at any memory address, but compiled loops are slow on unaligned arrays.
        self.__init__(*(np.array(features) for features in state))  # type: ignore[misc]

    def left(self, W: Array, n_threads: int, most: int = 1) -> Array:
        """Return ``R W``, shared by all blocks of a pass; the last ``most`` products are kept."""
        with self._lock:
            kept = self._kept(W)
            if kept is not None:
                return kept
            del self._lefts[: max(0, len(self._lefts) - most + 1)]
            out = np.empty((len(self.R), W.shape[1]), self.dtype)
            dense_product(self.R, np.ascontiguousarray(W, self.dtype), out, n_threads)
            self._lefts.append((W, out))
            return out

    def _kept(self, W: Array) -> Array | None:
        """Return the product of a core if it is kept, else None."""
        for place, (core, left) in enumerate(self._lefts):
            if core is W or np.array_equal(core, W):
                self._lefts.append(self._lefts.pop(place))  # the first one is the least recently used
                return left
        return None

    def quadratic(self, block: EdgeBlock, W: Array, n_threads: int = 1) -> Array:
        """Return the core ``Σ h p φ ⊗ ψ`` over the edges."""
        return self._weighted(block, W, block.weight, n_threads)

    def _weighted(self, block: EdgeBlock, W: Array, weight: Array | None, n_threads: int) -> Array:
        """Return the core ``Σ h p φ ⊗ ψ`` with weights h in the order of the block."""
        from vectrick.backends.cpu.compiled.pass_kernels import quadratic

        low, high = block.rows
        L = self.left(W, n_threads)[low:high]
        how = _NONE if weight is None else weight, weight is not None, low

        def use(_: int, row0: int, col0: int, first: int, stop: int) -> None:
            quadratic(L, self.C, S, block.row, block.col, *how, row0, col0, first, stop)

        with self._sums(block, 1) as (S,):
            _each_piece(block, use, n_threads)
            return self._core(block, S, n_threads)

    def pointwise(
        self, block: EdgeBlock, cores: Sequence[Array], use: Use, n_sums: int, n_threads: int = 1
    ) -> tuple[list[Array], Array]:
        """Return one or two cores ``Σ v φ ⊗ ψ`` of values that ``use`` computes, and the sum of its numbers."""
        from vectrick.backends.cpu.compiled.pass_kernels import row_sums, two_row_sums

        low = block.rows[0]
        numbers: list[Any] = [None] * len(block.pieces)

        def used(piece: int, row0: int, col0: int, first: int, stop: int) -> None:
            for at in range(first, stop, _CHUNK):
                to = min(at + _CHUNK, stop)
                predicted = [self._predicted(block, L, row0, col0, at, to) for L in lefts]
                values, more = use(predicted, _part(block.label, at, to), _part(block.weight, at, to))
                numbers[piece] = more if numbers[piece] is None else numbers[piece] + more
                values = [np.ascontiguousarray(value, self.dtype) for value in values]
                add = two_row_sums if n_sums == 2 else row_sums
                add(self.C, *sums, block.row, block.col, *values, low, row0, col0, at, to)

        lefts = [self.left(W, n_threads, most=len(cores)) for W in cores]
        with self._sums(block, n_sums) as sums:
            _each_piece(block, used, n_threads)
            return [self._core(block, S, n_threads) for S in sums], sum(numbers[1:], numbers[0])

    @staticmethod
    def has_sums(loss: type[Loss]) -> bool:
        """Return whether a loss has compiled loops: `label_sums`, `loss_sums` and `curvature_sums`."""
        return loss in COMPILED

    def label_sums(
        self, block: EdgeBlock, positive: float | None, with_mean: bool, n_threads: int = 1
    ) -> tuple[Array, ...]:
        """Return the core ``Σ h y φ ⊗ ψ``, with means also ``Σ h φ ⊗ ψ``, and the sums of h, h y and h y²."""
        from vectrick.passes.loss_kernels import label_sums

        how = *_labels(block, positive), block.rows[0]
        numbers = np.zeros((len(block.pieces), 3))

        def use(piece: int, row0: int, col0: int, first: int, stop: int) -> None:
            ends = row0, col0, first, stop, numbers[piece]
            label_sums(self.C, sums[0], sums[-1], with_mean, block.row, block.col, *how, *ends)

        with self._sums(block, 2 if with_mean else 1) as sums:
            _each_piece(block, use, n_threads)
            cores = [self._core(block, S, n_threads) for S in sums]
        return (*cores, numbers.sum(0))

    def loss_sums(
        self, block: EdgeBlock, W: Array, constant: float, loss: type[Loss], positive: float | None, n_threads: int = 1
    ) -> tuple[Array, Array, Array]:
        """Return the cores ``Σ L' φ ⊗ ψ`` and ``Σ L'' φ ⊗ ψ``, and the sums of the loss and its derivatives."""
        from vectrick.passes.loss_kernels import loss_sums

        L, low = self.left(W, n_threads)[slice(*block.rows)], block.rows[0]
        curves = np.empty(len(block), self.dtype) if self.keeps else _NONE.astype(self.dtype)
        how = *_labels(block, positive), float(constant), _number(loss), curves, self.keeps, low
        numbers = np.zeros((len(block.pieces), 3))

        def use(piece: int, row0: int, col0: int, first: int, stop: int) -> None:
            loss_sums(L, self.C, *sums, block.row, block.col, *how, row0, col0, first, stop, numbers[piece])

        with self._sums(block, 2) as sums:
            _each_piece(block, use, n_threads)
            cores = [self._core(block, S, n_threads) for S in sums]
        self._curves = (block, W, constant, curves) if self.keeps else None
        return cores[0], cores[1], numbers.sum(0)

    def curvature_sums(
        self, block: EdgeBlock, W: Array, D: Array, constant: float, loss: type[Loss], positive: float | None,
        n_threads: int = 1,
    ) -> Array:  # fmt: skip
        """Return the core ``Σ L'' d φ ⊗ ψ`` with the predictions d of a direction D."""
        from vectrick.passes.loss_kernels import curvature_sums

        if self.keeps and not self._has_curves(block, W, constant):
            self.loss_sums(block, W, constant, loss, positive, n_threads)
        if self._curves is not None:
            return self._weighted(block, D, self._curves[3], n_threads)
        low = block.rows[0]
        L, M = (self.left(core, n_threads, most=2)[slice(*block.rows)] for core in (W, D))
        how = *_labels(block, positive), float(constant), _number(loss), low

        def use(_: int, row0: int, col0: int, first: int, stop: int) -> None:
            curvature_sums(L, M, self.C, S, block.row, block.col, *how, row0, col0, first, stop)

        with self._sums(block, 1) as (S,):
            _each_piece(block, use, n_threads)
            return self._core(block, S, n_threads)

    def _has_curves(self, block: EdgeBlock, W: Array, constant: float) -> bool:
        """Return whether the second derivatives at a function are kept."""
        kept = self._curves
        return kept is not None and kept[0] is block and kept[2] == constant and np.array_equal(kept[1], W)

    def predictions(self, block: EdgeBlock, W: Array, n_threads: int = 1) -> Array:
        """Return the predictions of the edges, in the order of the block."""
        out = np.empty(len(block), self.dtype)
        L = self.left(W, n_threads)

        def use(_: int, row0: int, col0: int, first: int, stop: int) -> None:
            out[first:stop] = self._predicted(block, L, row0, col0, first, stop)

        _each_piece(block, use, n_threads)
        return out

    def predictions_at(self, block: EdgeBlock, W: Array, places: Array, n_threads: int = 1) -> Array:
        """Return the predictions of some edges, given by their places in the block, ascending."""
        which = np.searchsorted(block.pieces[:, 3], places, side="right") - 1
        rows = block.pieces[which, 1] + block.row[places]
        cols = block.pieces[which, 2] + block.col[places]
        result: Array = np.einsum("ij,ij->i", self.left(W, n_threads)[rows], self.C[cols]).astype(np.float64)
        return result

    def row_sums(self, block: EdgeBlock, n_threads: int = 1) -> Array:
        """Return the weighted sum of the features of its columns for each row in ``block.rows``."""
        from vectrick.backends.cpu.compiled.pass_kernels import row_sums

        low, high = block.rows
        S = np.zeros((high - low, self.C.shape[1]), self.dtype)

        def use(_: int, row0: int, col0: int, first: int, stop: int) -> None:
            value = np.ones(stop - first, self.dtype) if block.weight is None else block.weight[first:stop]
            row_sums(self.C, S, block.row, block.col, value.astype(self.dtype), low, row0, col0, first, stop)

        _each_piece(block, use, n_threads)
        return S

    def column_sums(self, block: EdgeBlock) -> Array:
        """Return the weighted sum of the features of its rows for each column."""
        rows, cols = block.positions()
        n = len(self.C)
        weight = np.ones(len(block), self.dtype) if block.weight is None else block.weight.astype(self.dtype)
        result: Array = csr_array((weight, (cols, rows)), (n, len(self.R))) @ self.R
        return result

    @contextmanager
    def _sums(self, block: EdgeBlock, n: int) -> Iterator[list[Array]]:
        """Lend n matrices of zeros with a row for each row of a block; reused memory needs no new pages."""
        shape = (block.rows[1] - block.rows[0], self.C.shape[1])
        with ExitStack() as lent:
            buffers = [lent.enter_context(self._space.borrow(shape[0] * shape[1], self.dtype)) for _ in range(n)]
            for buffer in buffers:
                buffer.fill(0)
            yield [buffer.reshape(shape) for buffer in buffers]

    def _predicted(self, block: EdgeBlock, L: Array, row0: int, col0: int, first: int, stop: int) -> Array:
        from vectrick.backends.cpu.compiled.pass_kernels import predictions

        out = np.empty(stop - first, self.dtype)
        predictions(L, self.C, block.row, block.col, 0, row0, col0, first, stop, out)
        return out

    def _core(self, block: EdgeBlock, S: Array, n_threads: int) -> Array:
        """Return ``Rᵀ S`` of the rows of a block."""
        low, high = block.rows
        out = np.empty((self.R.shape[1], S.shape[1]), self.dtype)
        dense_product(self.R[low:high].T, S, out, n_threads)
        return out


def _number(loss: type[Loss]) -> int:
    """Return the index of a loss in `COMPILED`."""
    return [kind is loss for kind in COMPILED].index(True)


def _labels(block: EdgeBlock, positive: float | None) -> tuple[Any, ...]:
    """Return labels, weights and the positive class of a block as arguments of compiled loops."""
    weight = _NONE if block.weight is None else block.weight
    return block.label, weight, block.weight is not None, float(positive or 0.0), positive is not None


def _part(array: Array | None, first: int, stop: int) -> Array | None:
    return None if array is None else array[first:stop]


def _each_piece(block: EdgeBlock, use: Callable[[int, int, int, int, int], None], n_threads: int) -> None:
    """Call ``use(piece, row0, col0, first, stop)`` for each piece; a thread takes some segments, by tiles."""
    pieces = block.pieces.tolist()
    shares = even_parts(block.n_segments, n_threads)

    def task(number: int) -> None:
        low, high = shares[number]
        for place, (segment, row0, col0, first, stop) in enumerate(pieces):
            if low <= segment < high:
                use(place, row0, col0, first, stop)

    run_tasks(task, len(shares), n_threads)
