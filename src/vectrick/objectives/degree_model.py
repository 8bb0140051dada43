"""The degree model of a graph: degrees replace its edges, so that a Newton system is one Kronecker product.

In primal form the matrix of a Newton system is ``Zᵀ H Z + α I``. The row of an edge (d, t) in Z is the Kronecker
product of the features φ of d and ψ of t, and h contains the curvatures at the edges. If the weight h of an edge is
replaced by ``deg(d) deg(t) / s``, with the sum ``deg`` of h at a vertex and the sum ``s`` of all h, the matrix becomes

    (Φᵀ D Φ) ⊗ (Ψᵀ D' Ψ) / s + α I  =  (U ⊗ V) (λᵢ μⱼ / s + α) (U ⊗ V)ᵀ

with two small eigendecompositions (in the order of ``vec`` the factors change places). In the features ``Φ U`` and
``Ψ V`` it is diagonal for every alpha. It is a good preconditioner, because the degrees of most graphs
determine their edge pattern approximately. On a complete graph it equals the matrix.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from vectrick._typing import Array
from vectrick.backends import Backend
from vectrick.backends.arrays import cast, contiguous, group_sums, namespace, placed, zeros
from vectrick.losses import Centered, Curvature, Diagonal
from vectrick.objectives.degrees import Basis, Preconditioner, moment, turned_back
from vectrick.objectives.extended import Extended
from vectrick.objectives.space import Mirrored, Primal
from vectrick.operators import Operator, kron

_WORTH_TURNING = 128  # maximum number of features of a side whose basis is transformed for changed degrees


class NoDegreeModelError(ValueError):
    """Raised for problems without a degree model; the message contains the reason."""


class DegreeModel:
    """The degree model of a graph in the bases of its two sides, and the space of their features.

    It takes two eigendecompositions, O(m³ + q³), or O((m + q) r² + r³) with low-rank factors. Each application takes
    two small matrix products.

    Parameters
    ----------
    start, end : Basis
        The bases of both sides, made for the degrees of the graph; the same object if there is one vertex set.
    edges : (array, array)
        The start and the end vertex of each edge, as rows of the bases.
    dtype, backend, n_threads
        How to compute products.
    symmetry : int
        1 or -1 for only symmetric or antisymmetric functions on one vertex set; else 0.
    grouped : bool
        Whether one of the bases is centered, for losses that only compare edges of one vertex of the other side.
    space : Primal, optional
        The space of the original features, if it exists already. Products then use these features, and the
        preconditioner transforms coefficients. By default, products use the features of the bases.
    kernel : Operator, optional
        The edge kernel matrix, if the bases contain only the largest directions; the space then includes its functions.

    Examples
    --------
    >>> import vectrick as vt
    >>> X, y = vt.datasets.make_checkerboard(100, random_state=0)
    >>> k = vt.Gaussian(gamma=1.0)
    >>> model = vt.KronRidge(k, k, solver="cg", preconditioner="kronecker").fit(X, y)
    >>> model.solution_.preconditioner
    'kronecker'
    """

    def __init__(
        self,
        start: Basis,
        end: Basis,
        edges: tuple[Array, Array],
        *,
        dtype: np.dtype[Any],
        backend: Backend,
        n_threads: int | None,
        symmetry: int = 0,
        grouped: bool = False,
        space: Primal | None = None,
        kernel: Operator | None = None,
    ) -> None:
        self.start, self.end, self.edges, self.dtype = start, end, edges, dtype
        self.symmetry, self.grouped, self._is_given = symmetry, grouped, space is not None
        self.turns: list[Array | None] = [None, None]  # of the end and the start features, in each preconditioner
        if space is not None:
            self.space: Primal | Extended = space
            self.turns = [None if basis.turn is None else cast(basis.turn, dtype) for basis in (end, start)]
            return
        S, E = (placed(cast(basis.features, dtype), backend) for basis in (start, end))
        memory = backend.operator_memory()
        # The transpose first: the one-pass solver needs no other product. Edges are sorted when they are needed.
        lift = kron(E.T, S.T, max_memory=memory, n_threads=n_threads, backend=backend)[:, edges[::-1]]
        if kernel is not None:
            self.space = Extended(kernel, lift.T, lift)
        else:
            self.space = Primal(lift.T, lift) if symmetry == 0 else Mirrored(lift.T, symmetry, lift)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of end and start features: the shape of the coefficient matrix."""
        return self.end.rank, self.start.rank

    def degrees(self, h: Array) -> tuple[Array, Array]:
        """Return the sums of curvatures at the start and at the end vertices."""
        return degrees_of(self.edges, h, (self.start.features.shape[0], self.end.features.shape[0]), self.symmetry)

    def spectrum(self, total: float) -> Array:
        """Return ``λᵢ μⱼ / s`` for the degrees of the bases."""
        return self.end.spectrum[:, None] * self.start.spectrum / total

    def preconditioner(self, curvature: Curvature, alpha: float, as_made: bool = False) -> Preconditioner:
        """Return the preconditioner of ``B + α I`` for a curvature; ``as_made`` if the bases were made for it.

        For other degrees, a basis with few features is transformed. A basis with many features keeps its directions,
        and only its spectrum is updated.
        """
        h = curvature_of(curvature)
        total = float(h.sum())
        if not total > 0:
            nothing = (zeros(self.shape, self.start.features) + 1) / alpha
            return Preconditioner(nothing, self._turned([None, None]), outside=1.0 / alpha)
        sizes: Sequence[Array] = (self.end.spectrum, self.start.spectrum)
        turns: Sequence[Array | None] = (None, None)
        if not as_made:
            degrees = self.degrees(h)
            sizes, turns = zip(*map(_renewed, (self.end, self.start), degrees[::-1]), strict=True)
        inverse = 1.0 / (sizes[0][:, None] * sizes[1] / total + alpha)
        outside = self._outside(alpha, sizes, total)
        plain = Preconditioner(cast(inverse, self.dtype), self._turned(turns), outside=outside)
        return self._with_mean(curvature, h, total, plain)

    def _outside(self, alpha: float, sizes: Sequence[Array], total: float) -> float:
        """Return the inverse for directions outside the bases, with eigenvalues up to the smallest one in the bases.

        It is the inverse of the geometric mean of the smallest and the largest possible eigenvalue, including alpha.
        """
        pairs = zip((self.end, self.start), sizes, sizes[::-1], strict=True)
        largest = max([float(own.min() * other.max()) for basis, own, other in pairs if basis.is_part], default=0.0)
        return float((alpha * (alpha + largest / total)) ** -0.5)

    def _turned(self, turns: Sequence[Array | None]) -> tuple[Array | None, Array | None]:
        """Return the transformations of both sides, the end first, combined with the transformations of the bases."""
        both = []
        for first, second in zip(self.turns, turns, strict=True):
            more = None if second is None else cast(second, self.dtype)
            both.append(more if first is None else first if more is None else first @ more)
        return both[0], both[1]

    def _with_mean(self, curvature: Curvature, h: Array, total: float, plain: Preconditioner) -> Preconditioner:
        """Return the preconditioner after the mean feature was minimized out, if the curvature is centered."""
        if self.grouped or not isinstance(curvature, Centered):
            return plain
        return plain.without_constant(self.mean(h), total)

    def mean(self, h: Array) -> Array:
        """Return the mean feature of an edge in the degree model."""
        start, end = self.degrees(h)
        sides = [cast(end @ self.end.features, self.dtype), cast(start @ self.start.features, self.dtype)]
        sides = [side if turn is None else turn @ side for side, turn in zip(sides, self.turns, strict=True)]
        return (sides[0][:, None] * sides[1]).reshape(-1) / float(start.sum() * end.sum())

    def to_features(self, w: Array) -> Array:
        """Return coefficients of the original features, before the transformation of the bases."""
        return w if self._is_given else turned_back(w, self.end, self.start)

    def from_features(self, w: Array) -> Array:
        """Return coefficients of the space from coefficients of the original features."""
        if self._is_given:
            return w
        turns = [None if basis.turn is None else cast(basis.turn, self.dtype) for basis in (self.end, self.start)]
        z = w.reshape(-1, self.start.rank if turns[1] is None else turns[1].shape[0])
        for turn in turns:
            z = z if turn is None else turn.T @ z
            z = z.T
        return contiguous(z).reshape(-1)


def curvature_of(curvature: Curvature) -> Array:
    """Return the curvature at each edge; raise NoDegreeModelError if edges have no curvatures of their own."""
    if not isinstance(curvature, Diagonal | Centered):
        kind = type(curvature).__name__
        raise NoDegreeModelError(f"the loss has a curvature of type {kind}, not one number for each edge")
    return curvature.h


def degrees_of(edges: tuple[Array, Array], h: Array, sizes: tuple[int, int], symmetry: int) -> tuple[Array, Array]:
    """Return the sums of curvatures at the start and end vertices; the mean of both sums with symmetry."""
    start, end = (cast(group_sums(of, h, n), np.float64) for of, n in zip(edges, sizes, strict=True))
    if symmetry == 0:
        return start, end
    both = 0.5 * (start + end)
    return both, both


def _renewed(basis: Basis, degrees: Array) -> tuple[Array, Array | None]:
    """Return the spectrum of a basis at other degrees, and its transformation; None keeps the directions."""
    if basis.rank > _WORTH_TURNING:
        return degrees @ basis.features**2, None
    xp = namespace(basis.features)
    values, vectors = xp.linalg.eigh(moment(basis.features, degrees, False))
    return xp.clip(values, 0.0, None), vectors


def centred_side(curvature: Curvature, edges: tuple[Array, Array]) -> str:
    """Return the side whose features are centered because only edges of one vertex of the other side are compared.

    Return "" if all edges are compared, or none.
    """
    groups = getattr(curvature, "groups", None)
    if groups is None:
        return ""
    for other, vertices in (("end", edges[0]), ("start", edges[1])):
        if _same_parts(groups, vertices):
            return other
    raise NoDegreeModelError("the loss compares edges within groups other than the edges of a start or an end vertex")


def _same_parts(groups: Array, vertices: Array) -> bool:
    """Return whether two numberings divide the edges into the same groups."""
    for one, other in ((groups, vertices), (vertices, groups)):
        last = zeros(int(one.max()) + 1, one)
        last[one] = other  # any edge of each group
        if not bool((last[one] == other).all()):
            return False
    return True
