"""Bases that make the degree model of a graph diagonal, and its inverse for any alpha.

`vectrick.objectives.degree_model` explains the model.
"""

from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np

from vectrick._typing import Array, SpectralFilter
from vectrick.backends.arrays import cast, contiguous, like, namespace, numpy_dtype
from vectrick.objectives.risks import Sides

FILTERS = get_args(SpectralFilter)
_MORE, _ROUNDS = 20, 2  # additional directions, and rounds of products, that find the largest directions


@dataclass(frozen=True)
class Basis:
    """Features of the vertices of one side that make its part of the degree model diagonal.

    Attributes
    ----------
    features : array
        A row for each vertex.
    spectrum : array
        The diagonal of ``Φᵀ D Φ``.
    turn : array, optional
        The matrix U if the features are ``Φ U`` for given features Φ; None if they come from a kernel matrix.
    inverse : array, optional
        The matrix C if the features are ``K C`` for a kernel matrix K.
    is_part : bool
        Whether the basis contains only the largest directions.
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
        """Return approximately the largest directions of the basis of a kernel matrix; O(m² rank).

        A few products of the matrix with random directions find them (Halko, Martinsson and Tropp 2011). They are
        orthonormal functions of the kernel even if they are not exact eigenvectors. SciPy's ``eigsh`` and
        scikit-learn's randomized methods do the same only on the CPU.

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
        """Return the transformed basis of given features; ``centred`` takes moments about their weighted mean."""
        xp = namespace(features)
        m, rank = features.shape
        if rank > m and not centred:  # directions outside the span of the rows need no coefficient
            weighted = degrees[:, None] ** 0.5 * features
            values, vectors = xp.linalg.eigh(weighted @ weighted.T)
            kept = values > 4 * float(np.finfo(np.float64).eps) * _largest(values)
            turn = weighted.T @ (vectors[:, kept] / values[kept] ** 0.5)
            return cls(features @ turn, values[kept], turn)
        values, turn = xp.linalg.eigh(moment(features, degrees, centred))
        return cls(features @ turn, xp.clip(values, 0.0, None), turn)

    @property
    def rank(self) -> int:
        """The number of features."""
        return int(self.features.shape[1])


def moment(features: Array, degrees: Array, centred: bool) -> Array:
    """Return ``Φᵀ D Φ``, or ``Σ d (φ - φ̄)(φ - φ̄)ᵀ``."""
    moment: Array = features.T @ (degrees[:, None] * features)
    if not centred:
        return moment
    mean = degrees @ features / degrees.sum()
    moment -= degrees.sum() * mean[:, None] * mean
    return moment


def _largest(values: Array) -> float:
    return max(float(values[-1]), 0.0) if len(values) else 0.0


@dataclass(frozen=True)
class Preconditioner:
    """The inverse of a degree model for one alpha, ``(M - s m mᵀ)⁻¹``; m is the mean feature if there is an intercept.

    ``inverse`` is diagonal after the optional transformations ``turns`` of the end and the start features.
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
        result: Array = (z if end is None else end @ z).reshape(-1)
        return result

    def without_constant(self, mean: Array, total: float) -> "Preconditioner":
        """Return the inverse after an intercept was minimized out, given the mean feature and the sum of weights."""
        moved = self.times(mean)
        rest = 1.0 - total * float(mean @ moved)
        return self if not rest > 0 else replace(self, mean=moved, scale=total / rest)

    def lowered(self) -> "Preconditioner":
        """Return the same preconditioner in float32."""
        end, start = (None if turn is None else cast(turn, np.float32) for turn in self.turns)
        mean = None if self.mean is None else cast(self.mean, np.float32)
        return Preconditioner(cast(self.inverse, np.float32), (end, start), mean, self.scale, self.outside)


@dataclass(frozen=True)
class DegreeSpectrum:
    """The degree model of both sides: bases that make it diagonal, and the mean feature of an edge.

    >>> features = np.array([[1.0, 0.0], [1.0, 2.0]])
    >>> model = DegreeSpectrum.of(Sides(features, features), (np.ones(2), np.ones(2)))
    >>> model.inverse(1.0).times(np.array([1.0, 0.0, 0.0, 0.0])).round(3)
    array([ 0.544, -0.175, -0.175,  0.035])
    """

    start: Basis
    end: Basis
    total: float  # the sum of the weights
    mean: Array
    kappa: float  # the expected weight of the edges between two vertices, over the product of degrees

    @classmethod
    def of(cls, sides: Sides, degrees: tuple[Array, Array], centred: str | None = None) -> "DegreeSpectrum":
        """Return the model of degrees; features of the side opposite to the side ``centred`` are centered."""
        bases = []
        for features, degree, centre in zip((sides.start, sides.end), degrees, ("end", "start"), strict=True):
            used = degree > 0
            own = features if bool(used.all()) else features[used]
            basis = Basis.of_features(cast(own, np.float64), degree[used], centred == centre)
            bases.append(replace(basis, features=basis.features[:0]))  # the features are as large as the table
        return cls.in_bases(bases[0], bases[1], sides, degrees, 1.0 / float(degrees[0].sum()))

    @classmethod
    def in_bases(
        cls, start: Basis, end: Basis, sides: Sides, degrees: tuple[Array, Array], kappa: float
    ) -> "DegreeSpectrum":
        """Return the model of degrees in existing bases."""
        pairs = zip((sides.start, sides.end), degrees, strict=True)
        sums = [degree @ cast(features, np.float64) for features, degree in pairs]
        mean = (sums[1][:, None] * sums[0]).reshape(-1) / float(degrees[0].sum() * degrees[1].sum())
        return cls(start, end, float(degrees[0].sum()), mean, kappa)

    @property
    def spectrum(self) -> Array:
        """The eigenvalues of the model, a row for each end direction and a column for each start direction."""
        return self.kappa * self.end.spectrum[:, None] * self.start.spectrum

    def inverse(self, alpha: float, scale: float = 1.0, centred: bool = False) -> Preconditioner:
        """Return the inverse of ``scale`` times the model plus alpha, optionally with an intercept minimized out."""
        turns = self.end.turn, self.start.turn
        plain = Preconditioner(1.0 / (scale * self.spectrum + alpha), turns)
        return plain.without_constant(self.mean, scale * self.total) if centred else plain

    def turned(self, sides: Sides) -> Sides:
        """Return transformed features that make the model diagonal."""
        start, end = (
            values if basis.turn is None else contiguous(values @ cast(basis.turn, numpy_dtype(values)))
            for values, basis in ((sides.start, self.start), (sides.end, self.end))
        )
        return Sides(start, end)

    def of_turned(self, turned: Sides, degrees: tuple[Array, Array]) -> "DegreeSpectrum":
        """Return the model of transformed features."""
        start, end = (replace(basis, turn=None) for basis in (self.start, self.end))
        return DegreeSpectrum.in_bases(start, end, turned, degrees, self.kappa)

    def to_features(self, w: Array) -> Array:
        """Return coefficients of the original features from coefficients of the transformed features."""
        return turned_back(w, self.end, self.start)

    def filtered(self, alpha: float, spectral_filter: str, filter_iter: int) -> Preconditioner:
        """Return the inverse after a spectral filter."""
        inverse = filtered(self.spectrum, alpha, spectral_filter, filter_iter)
        return Preconditioner(inverse, (self.end.turn, self.start.turn))


def turned_back(w: Array, end: Basis, start: Basis) -> Array:
    """Return coefficients of the original features from coefficients of the bases."""
    z = w.reshape(len(end.spectrum), len(start.spectrum))
    for basis in (end, start):
        z = z if basis.turn is None else cast(basis.turn, numpy_dtype(w)) @ z
        z = z.T
    return contiguous(z).reshape(-1)


def filtered(s: Array, alpha: float | Array, spectral_filter: str, filter_iter: int) -> Any:
    """Return the inverse of a spectrum s after a spectral filter.

    "ridge" is ``1 / (s + α)``. "iterated" is ``(1 - (α / (s + α))ᵏ) / s``: ridge regression k times, each time for the
    remaining residuals. "cut-off" is ``1 / s`` for s above α, else zero.

    >>> import numpy as np
    >>> s = np.array([3.0, 1.0])
    >>> filtered(s, 1.0, "ridge", 2), filtered(s, 1.0, "iterated", 2), filtered(s, 1.0, "cut-off", 2).round(4)
    (array([0.25, 0.5 ]), array([0.3125, 0.75  ]), array([0.3333, 0.    ]))
    """
    xp = namespace(s)
    if spectral_filter == "ridge":
        return 1.0 / (s + alpha)
    safe = xp.where(s > 0, s, xp.ones_like(s))
    if spectral_filter == "cut-off":
        return xp.where(s > alpha, 1.0 / safe, xp.zeros_like(s))
    left = (alpha / (s + alpha)) ** filter_iter
    # If s is much smaller than alpha, 1 - left has no correct digits; its series begins with k s / alpha.
    small = s < 1e-8 * alpha
    return xp.where(small, xp.zeros_like(s) + filter_iter / alpha, (1.0 - left) / safe)
