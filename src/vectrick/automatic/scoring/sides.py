"""Candidates of a search, and their shared kernel matrices and eigenvectors of a side."""

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from vectrick._typing import Array, Features
from vectrick.automatic.candidates.vertex_kernels import VertexChoice, matrix_of
from vectrick.backends import HOST, Backend
from vectrick.backends.arrays import cast, like, placed
from vectrick.kernels.cosine import Cosine
from vectrick.kernels.pairwise import PAIRWISE
from vectrick.kernels.profile import mean_of_copies, profiles_of
from vectrick.objectives.degrees import Basis

ALPHAS = 2.0 ** np.arange(-8, 13, 2)  # relative to the mean kernel value of an edge with itself
_NEGLIGIBLE = 1e-4  # directions of a kernel below this share of the smallest alpha are dropped
NEARLY_ALL = 0.9  # of the vertices of a side


class StopSearch(Exception):  # noqa: N818 (nothing went wrong)
    """The search must end with its present results."""


@dataclass(frozen=True)
class Candidate:
    """A model without its alpha: a kernel with a constant for each side, a pairwise kernel and a loss."""

    start: VertexChoice
    end: VertexChoice
    start_constant: float = 0.0
    end_constant: float = 0.0
    pairwise: str = "kronecker"
    loss: str = "ridge"

    @property
    def is_one_set(self) -> bool:
        """Whether both ends share one kernel, because predictions are symmetric or antisymmetric."""
        return bool(PAIRWISE[self.pairwise].one_set)

    @property
    def has_intercept(self) -> bool:
        """Whether its predictions may have an intercept; antisymmetric predictions have none."""
        return bool(PAIRWISE[self.pairwise].symmetry >= 0)

    @property
    def words(self) -> dict[str, str]:
        """Its loss and kernels as text."""
        sides = ((self.start, self.start_constant), (self.end, self.end_constant))
        start, end = (f"{side.name} + {constant:g}" if constant else side.name for side, constant in sides)
        return {"loss": self.loss, "pairwise": self.pairwise, "start_kernel": start, "end_kernel": end}


@dataclass(frozen=True)
class SideRows:
    """The vertices of a side in a fold: training vertices, tested vertices, and the tested vertex of each test edge."""

    train: Array
    tested: Array
    place: Array
    key: bytes  # the same for parts with the same training vertices


class SideMatrices:
    """Kernel matrices of a side, and for sets of training vertices their features in the degree model.

    Parameters
    ----------
    features : array or sparse matrix
        The features of the vertices that have edges.
    positions : array
        Their rows in the table.
    degrees : array
        The number of edges of each.
    backend : Backend
        The backend of the matrices and of the features in the degree model.
    """

    def __init__(self, features: Features, positions: Array, degrees: Array, backend: Backend = HOST) -> None:
        self.features, self.positions, self.backend = features, positions, backend
        self.degrees = placed(degrees.astype(np.float64), backend)
        self._matrices: dict[str, tuple[Array, float]] = {}
        self._bases: dict[Any, tuple[Array, Array]] = {}

    def matrix(self, choice: VertexChoice) -> tuple[Array, float]:
        """Return the kernel matrix with a mean diagonal of one, and the scale."""
        name = choice.plain.name
        if name not in self._matrices:
            if choice.plain.family == "identity":
                K = placed(np.eye(len(self.degrees)), self.backend)
                self._matrices[name] = K, 1.0
            elif choice.plain.parts:
                self._matrices[name] = self._sum(choice.plain)
            else:
                self._matrices[name] = matrix_of(choice.plain, self.features, self.positions, self.backend)
        return self._matrices[name]

    def _sum(self, choice: VertexChoice) -> tuple[Array, float]:
        """Return the matrix of a sum, from the matrices of its parts, and its scale: the sum of their weights."""
        total = sum(weight for _, weight in choice.parts)
        return reduce(add, (weight / total * self.matrix(part)[0] for part, weight in choice.parts)), total

    def basis(
        self, choice: VertexChoice, constant: float, part: SideRows, profiles: "FoldProfiles"
    ) -> tuple[Array, Array]:
        """Return the features of all vertices, and the spectrum, for the training vertices of a part.

        ``profiles`` come from the training edges of a fold, for choices with profiles.
        """
        key = choice.name, constant, part.key, id(profiles) if choice.profile else 0
        if key not in self._bases:
            K = self.matrix(choice)[0] + constant
            if choice.profile:
                K = K + choice.profile * profiles.kernel_of(self)
            if choice.identity:
                K = K + choice.identity * like(np.eye(len(self.degrees)), K)
            of_training = K[:, part.train]
            made = Basis.of_matrix(of_training[part.train], self.degrees[part.train])
            assert made.inverse is not None
            # The largest value of the other side's part of the degree model is about its number of edges.
            kept = made.spectrum > _NEGLIGIBLE * ALPHAS[0]
            self._bases[key] = cast(of_training @ made.inverse[:, kept], np.float32), made.spectrum[kept]
        return self._bases[key]

    def forget(self, kept: set[str]) -> None:
        """Drop the matrices and features of kernels that are no longer tried."""
        self._bases = {key: value for key, value in self._bases.items() if key[0] in kept}
        self._matrices = {name: value for name, value in self._matrices.items() if name in kept}


class FoldProfiles:
    """The profile kernels of both sides, from the training edges of one fold only."""

    def __init__(self, pairs: tuple[Array, Array], y: Array, sides: "tuple[SideMatrices, SideMatrices]") -> None:
        self._pairs, self._y, self._sides = pairs, y, sides  # of the training edges
        self._made: dict[int, Array] = {}

    def kernel_of(self, side: SideMatrices) -> Array:
        """Return the matrix of a side, computed once."""
        if id(side) not in self._made:
            own, other = (0, 1) if side is self._sides[0] else (1, 0)
            shape = len(side.degrees), len(self._sides[other].degrees)
            profiles = profiles_of(self._pairs[own], self._pairs[other], self._y, shape)
            profiles = mean_of_copies(profiles, side.features)
            self._made[id(side)] = placed(Cosine()(profiles, profiles), side.backend)
        return self._made[id(side)]
