"""The degree model of a graph: its edges replaced by their degrees, which makes a Newton system one Kronecker product.

In primal form the matrix of a Newton system is ``Zᵀ H Z + α I``, where the row of an edge (d, t) in Z is the Kronecker
product of the features φ of d and ψ of t, and h are the curvatures at the edges. If the weight h of an edge is replaced
by ``deg(d) deg(t) / s``, with the sums ``deg`` of h at a vertex and ``s`` of all, the matrix becomes

    (Φᵀ D Φ) ⊗ (Ψᵀ D' Ψ) / s + α I  =  (U ⊗ V) (λᵢ μⱼ / s + α) (U ⊗ V)ᵀ

with two small eigendecompositions (in the order of ``vec`` the factors change places). In the features ``Φ U`` and
``Ψ V`` it is diagonal for every alpha. It is a good preconditioner, since the pattern of most graphs is nearly that of
its degrees, and on a complete graph it is the matrix itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vectrick._typing import Array
from vectrick.backends import Backend
from vectrick.backends.arrays import cast, contiguous, group_sums, like, namespace, placed, zeros
from vectrick.losses import Centered, Curvature, Diagonal
from vectrick.operators import Operator, kron
from vectrick.solvers.extended import Extended
from vectrick.solvers.space import Mirrored, Primal

_MORE, _ROUNDS = 20, 2  # directions and products beyond what is kept, when the largest are found
_WORTH_TURNING = 128  # features of a side up to which its basis is turned when the degrees have changed


class NoDegreeModelError(ValueError):
    """A problem has no degree model; the message says why."""


@dataclass(frozen=True)
class Basis:
    """Features of the vertices of a side in which its part of the degree model is diagonal.

    Attributes
    ----------
    features : array
        A row for each vertex.
    spectrum : array
        The diagonal of ``Φᵀ D Φ``.
    turn : array, optional
        The columns of U if the features are ``Φ U`` for given features Φ; None if they were made from a kernel matrix.
    inverse : array, optional
        If they were made from a kernel matrix K, the C for which they are ``K C``.
    is_part : bool
        Whether these are the largest directions only.
    """

    features: Array
    spectrum: Array
    turn: Array | None = None
    inverse: Array | None = None
    is_part: bool = False

    @classmethod
    def of_matrix(cls, K: Array, degrees: Array, centred: bool = False) -> "Basis":
        """Return the basis of a kernel matrix: ``Φ Φᵀ = K``; O(m³). All degrees must be positive.

        >>> import numpy as np
        >>> basis = Basis.of_matrix(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([1.0, 1.0]))
        >>> basis.spectrum.round(6), (basis.features @ basis.features.T).round(6)
        (array([1., 3.]), array([[2., 1.],
               [1., 2.]]))
        """
        xp = namespace(K)
        roots = degrees**0.5
        values, vectors = xp.linalg.eigh(roots[:, None] * K * roots)
        kept = values > 4 * float(np.finfo(np.float64).eps) * _largest(values)
        values, vectors = values[kept], vectors[:, kept]
        features = vectors * values**0.5 / roots[:, None]
        if not centred:
            return cls(features, values, inverse=roots[:, None] * vectors / values**0.5)
        turned = cls.of_features(features, degrees, centred=True)
        return cls(turned.features, turned.spectrum)

    @classmethod
    def largest(cls, K: Array, degrees: Array, rank: int) -> "Basis":
        """Return about the largest directions of the basis of a kernel matrix; O(m² rank).

        They are found from random ones in a few products with the matrix (Halko, Martinsson and Tropp 2011), and are
        orthonormal functions of the kernel, however near they are to eigenvectors. SciPy's ``eigsh`` and scikit-learn's
        randomized methods do the same on the CPU only.

        >>> import numpy as np
        >>> Basis.largest(np.diag([1.0, 2.0, 9.0]), np.ones(3), 1).spectrum.round(6)
        array([9.])
        """
        xp = namespace(K)
        roots = degrees**0.5
        M = roots[:, None] * K * roots
        more = min(rank + _MORE, len(K))
        Q = like(np.random.default_rng(0).standard_normal((len(K), more)), K)
        for _ in range(_ROUNDS):
            Q = xp.linalg.qr(M @ Q)[0]
        image = M @ Q
        values, vectors = xp.linalg.eigh(Q.T @ image)
        kept = values > 1e-10 * _largest(values)
        values, vectors = values[kept][-rank:], vectors[:, kept][:, -rank:]
        features = (image @ (vectors / values**0.5)) / roots[:, None]
        return cls(features, degrees @ features**2, is_part=True)

    @classmethod
    def of_features(cls, features: Array, degrees: Array, centred: bool = False) -> "Basis":
        """Return the basis of given features, turned; ``centred`` takes their mean at the degrees from them first."""
        xp = namespace(features)
        m, rank = features.shape
        if rank > m and not centred:  # directions that no vertex has need no coefficient
            weighted = degrees[:, None] ** 0.5 * features
            values, vectors = xp.linalg.eigh(weighted @ weighted.T)
            kept = values > 4 * float(np.finfo(np.float64).eps) * _largest(values)
            turn = weighted.T @ (vectors[:, kept] / values[kept] ** 0.5)
            return cls(features @ turn, values[kept], turn)
        values, turn = xp.linalg.eigh(_moment(features, degrees, centred))
        return cls(features @ turn, xp.clip(values, 0.0, None), turn)

    @property
    def rank(self) -> int:
        """The number of features."""
        return int(self.features.shape[1])


def _moment(features: Array, degrees: Array, centred: bool) -> Array:
    """Return ``Φᵀ D Φ``, or ``Σ d (φ - φ̄)(φ - φ̄)ᵀ``."""
    moment = features.T @ (degrees[:, None] * features)
    if not centred:
        return moment
    mean = degrees @ features / degrees.sum()
    return moment - degrees.sum() * mean[:, None] * mean


def _largest(values: Array) -> float:
    return max(float(values[-1]), 0.0) if len(values) else 0.0


@dataclass(frozen=True)
class Preconditioner:
    """The inverse of a degree model for one alpha, ``(M - s m mᵀ)⁻¹``; m is the mean feature if there is an intercept.

    ``inverse`` is diagonal after ``turns`` of the end and the start features, if there are any.
    """

    inverse: Array  # a row for each end feature, a column for each start feature
    turns: tuple[Array | None, Array | None] = (None, None)
    mean: Array | None = None  # M⁻¹ m
    scale: float = 0.0  # s / (1 - s mᵀ M⁻¹ m)
    outside: float = 0.0  # the inverse for functions that are orthogonal to the features

    def times(self, c: Array) -> Array:
        """Return the inverse times coefficients, or times each column of a matrix of them."""
        if c.ndim == 2:
            return namespace(c).stack([self.times(contiguous(column)) for column in c.T], -1)
        z = self._diagonal(c)
        if self.mean is not None:
            z += (self.scale * (self.mean @ c)) * self.mean
        return z

    def _diagonal(self, c: Array) -> Array:
        end, start = self.turns
        if end is None and start is None:
            return self.inverse.reshape(-1) * c
        z = c.reshape(-1, self.inverse.shape[1] if start is None else start.shape[0])
        z = z if end is None else end.T @ z
        z = self.inverse * (z if start is None else z @ start)
        z = z if start is None else z @ start.T
        return (z if end is None else end @ z).reshape(-1)

    def lowered(self) -> "Preconditioner":
        """Return the same in float32."""
        end, start = (None if turn is None else cast(turn, np.float32) for turn in self.turns)
        mean = None if self.mean is None else cast(self.mean, np.float32)
        return Preconditioner(cast(self.inverse, np.float32), (end, start), mean, self.scale, self.outside)


class DegreeModel:
    """The degree model of a graph in the bases of its two sides, and the space of their features.

    It takes two eigendecompositions, O(m³ + q³) or of thin factors O((m + q) r² + r³), and each application two small
    matrix products.

    Parameters
    ----------
    start, end : Basis
        The bases of both sides, made for the degrees of the graph; one object if there is one vertex set.
    edges : (array, array)
        The start and the end vertex of each edge, as rows of the bases.
    dtype, backend, n_threads
        How to make products.
    symmetry : int
        1 or -1 if only symmetric or antisymmetric functions count, of one vertex set; else 0.
    grouped : bool
        Whether one of the bases is centred, for losses that compare edges of one vertex of the other side only.
    space : Primal, optional
        The space of the features that the bases were turned from, if that is already there: products are then made with
        these, and the preconditioner turns. By default, there are products with the turned features.
    kernel : Operator, optional
        The edge kernel matrix, if the bases have the largest directions only; its functions then count, too.

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
        self.turns: list[Array | None] = [None, None]  # of the end and the start, in each preconditioner
        if space is not None:
            self.space: Primal | Extended = space
            self.turns = [None if basis.turn is None else cast(basis.turn, dtype) for basis in (end, start)]
            return
        S, E = (placed(cast(basis.features, dtype), backend) for basis in (start, end))
        memory = backend.operator_memory()
        # The transpose first: one pass needs no other product, and its edges are sorted when they are needed.
        lift = kron(E.T, S.T, max_memory=memory, n_threads=n_threads, backend=backend)[:, edges[::-1]]
        if kernel is not None:
            self.space = Extended(kernel, lift.T, lift)
        else:
            self.space = Primal(lift.T, lift) if symmetry == 0 else Mirrored(lift.T, symmetry, lift)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of end and start features, as coefficients are arranged."""
        return self.end.rank, self.start.rank

    def degrees(self, h: Array) -> tuple[Array, Array]:
        """Return the sums of curvatures at the start and at the end vertices."""
        return degrees_of(self.edges, h, (self.start.features.shape[0], self.end.features.shape[0]), self.symmetry)

    def spectrum(self, total: float) -> Array:
        """Return ``λᵢ μⱼ / s``, for the degrees that the bases were made for."""
        return self.end.spectrum[:, None] * self.start.spectrum / total

    def preconditioner(self, curvature: Curvature, alpha: float, as_made: bool = False) -> Preconditioner:
        """Return the preconditioner of ``B + α I`` for a curvature; ``as_made`` if the bases were made for it.

        For other degrees, a basis with few features is turned, and one with many keeps its directions and gets new
        sizes along them.
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
        """Return the inverse for directions that the bases leave out, whose sizes are anything up to the least kept.

        It is that of the geometric mean of the least and the largest that they may have with alpha.
        """
        pairs = zip((self.end, self.start), sizes, sizes[::-1], strict=True)
        largest = max([float(own.min() * other.max()) for basis, own, other in pairs if basis.is_part], default=0.0)
        return float((alpha * (alpha + largest / total)) ** -0.5)

    def _turned(self, turns: Sequence[Array | None]) -> tuple[Array | None, Array | None]:
        """Return the turns of both sides, the end first, after those that the bases have already."""
        both = []
        for first, second in zip(self.turns, turns, strict=True):
            more = None if second is None else cast(second, self.dtype)
            both.append(more if first is None else first if more is None else first @ more)
        return both[0], both[1]

    def _with_mean(self, curvature: Curvature, h: Array, total: float, plain: Preconditioner) -> Preconditioner:
        """Return the preconditioner after the mean feature has been minimised out with the intercept."""
        if self.grouped or not isinstance(curvature, Centered):
            return plain
        mean = self.mean(h)
        moved = plain.times(mean)
        rest = 1.0 - total * float(mean @ moved)
        return plain if not rest > 0 else replace(plain, mean=moved, scale=total / rest)

    def mean(self, h: Array) -> Array:
        """Return the mean feature of an edge in the degree model."""
        start, end = self.degrees(h)
        sides = [cast(end @ self.end.features, self.dtype), cast(start @ self.start.features, self.dtype)]
        sides = [side if turn is None else turn @ side for side, turn in zip(sides, self.turns, strict=True)]
        return (sides[0][:, None] * sides[1]).reshape(-1) / float(start.sum() * end.sum())

    def outward(self, w: Array) -> Array:
        """Return coefficients of the features that the bases were turned from."""
        if self._is_given:
            return w
        z = w.reshape(self.shape)
        for basis in (self.end, self.start):
            z = z if basis.turn is None else cast(basis.turn, self.dtype) @ z
            z = z.T
        return contiguous(z).reshape(-1)

    def inward(self, w: Array) -> Array:
        """Return coefficients of the space from those of the features that the bases were turned from."""
        if self._is_given:
            return w
        turns = [None if basis.turn is None else cast(basis.turn, self.dtype) for basis in (self.end, self.start)]
        z = w.reshape(-1, self.start.rank if turns[1] is None else turns[1].shape[0])
        for turn in turns:
            z = z if turn is None else turn.T @ z
            z = z.T
        return contiguous(z).reshape(-1)


def curvature_of(curvature: Curvature) -> Array:
    """Return the curvature at each edge, or say that there is no such thing."""
    if not isinstance(curvature, Diagonal | Centered):
        kind = type(curvature).__name__
        raise NoDegreeModelError(f"the loss has a curvature of type {kind}, which is not one number for each edge")
    return curvature.h


def degrees_of(edges: tuple[Array, Array], h: Array, sizes: tuple[int, int], symmetry: int) -> tuple[Array, Array]:
    """Return the sums of curvatures at the start and end vertices; half of both ends in one vertex set."""
    start, end = (cast(group_sums(of, h, n), np.float64) for of, n in zip(edges, sizes, strict=True))
    if symmetry == 0:
        return start, end
    both = 0.5 * (start + end)
    return both, both


def _renewed(basis: Basis, degrees: Array) -> tuple[Array, Array | None]:
    """Return the spectrum of a basis at other degrees, and how to turn it; without a turn, the diagonal only."""
    if basis.rank > _WORTH_TURNING:
        return degrees @ basis.features**2, None
    xp = namespace(basis.features)
    values, vectors = xp.linalg.eigh(_moment(basis.features, degrees, False))
    return xp.clip(values, 0.0, None), vectors


def centred_side(curvature: Curvature, edges: tuple[Array, Array]) -> str:
    """Return the side whose features are centred because only edges of one vertex of the other side are compared.

    It is "" if all edges are compared, or none.
    """
    groups = getattr(curvature, "groups", None)
    if groups is None:
        return ""
    for other, vertices in (("end", edges[0]), ("start", edges[1])):
        if _same_parts(groups, vertices):
            return other
    raise NoDegreeModelError("the loss compares edges within groups that are not those of a start or an end vertex")


def _same_parts(groups: Array, vertices: Array) -> bool:
    """Whether two numberings divide the edges in the same way."""
    for one, other in ((groups, vertices), (vertices, groups)):
        last = zeros(int(one.max()) + 1, one)
        last[one] = other  # any one of each part
        if not bool((last[one] == other).all()):
            return False
    return True
