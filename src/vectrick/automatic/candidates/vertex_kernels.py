"""Candidate vertex kernels, chosen by the type of the vertex table, with widths around the median distance."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np
from scipy.sparse import issparse
from sklearn.metrics.pairwise import euclidean_distances

from vectrick._typing import Array, Features
from vectrick.automatic.candidates.facts import SideFacts
from vectrick.automatic.candidates.strings import Strings
from vectrick.backends import Backend
from vectrick.backends.arrays import placed
from vectrick.kernels import (
    Constant,
    Cosine,
    Gaussian,
    Identity,
    Kernel,
    Linear,
    Precomputed,
    Profile,
    Scaled,
    Standardized,
    Tanimoto,
    as_kernel,
)
from vectrick.models.kernel_spec import VertexKernels

WIDTHS = (0.3, 1.0, 3.0, 10.0, 100.0)  # γ times the median squared distance; the last kernel is nearly the identity
_STEP, _NARROWEST = 10.0, 1e6  # factor to narrower kernels, and the largest width
_NEIGHBOURS = 10  # width of the narrowest kernel in nearest distances; narrower kernels reach no neighbor
_SAMPLE = 500  # vertices whose distances give the median


@dataclass(frozen=True, eq=False)
class VertexChoice:
    """A vertex kernel to try.

    Attributes
    ----------
    name : str
        Its name in the table of a search, unique among the choices of a side.
    kernel : Kernel
        The kernel.
    family : str
        Kernels of one family differ in their width only.
    width : float, optional
        For a Gaussian kernel, γ times the median squared distance.
    base, profile : VertexChoice, float
        The kernel of the vertices' profiles, times the weight ``profile``, is added to the kernel of the ``base``.
    identity : float
        The weight of the kernel that compares the vertices themselves, also added to the kernel of the ``base``.
    view : str
        What the kernel looks at, in a table with several views of the vertices; sums combine different views.
    parts : tuple
        The choices that it is a sum of, each scaled to a mean diagonal of one, with their weights.
    """

    name: str
    kernel: Kernel
    family: str
    width: float | None = None
    base: "VertexChoice | None" = None
    profile: float = 0.0
    identity: float = 0.0
    view: str = ""
    parts: "tuple[tuple[VertexChoice, float], ...]" = ()

    @property
    def plain(self) -> "VertexChoice":
        """The choice without profiles."""
        return self if self.base is None else self.base

    def with_profile(self, weight: float) -> "VertexChoice":
        """Return this choice with profiles."""
        name = f"{self.name} + {weight:g} profile"
        return replace(self, name=name, base=self.plain, profile=weight)

    def with_identity(self, weight: float) -> "VertexChoice":
        """Return this choice with the identity of the vertices."""
        return replace(self, name=f"{self.name} + {weight:g} identity", base=self.plain, identity=weight)

    @classmethod
    def sum_of(cls, parts: "Sequence[tuple[VertexChoice, float, float]]") -> "VertexChoice":
        """Return the sum of choices, each with a weight and with the mean diagonal value of its kernel."""
        kernels: list[Kernel] = [Scaled(choice.kernel, weight / scale) for choice, weight, scale in parts]
        words = [choice.name if weight == 1 else f"{weight:g} {choice.name}" for choice, weight, _ in parts]
        views = "+".join(sorted(choice.view for choice, _, _ in parts))
        weighted = tuple((choice, weight) for choice, weight, _ in parts)
        return cls(" + ".join(words), reduce(add, kernels), f"sum of {views}", view=views, parts=weighted)


class SideChoices:
    """The kernels to try for the vertices of one side.

    Parameters
    ----------
    facts : SideFacts
        Facts about the table.
    features : array or sparse matrix
        The features of the vertices that have edges.
    given : str or Kernel
        "auto", or the only kernel to use.
    title : str
        The columns, if the table has others; it begins the names of the kernels.
    bind : function, optional
        It makes a kernel of these features a kernel of the whole table.
    """

    def __init__(
        self,
        facts: SideFacts,
        features: Features,
        given: VertexKernels = "auto",
        title: str = "",
        bind: Callable[[Kernel], Kernel] = lambda kernel: kernel,
    ) -> None:
        self.facts, self.given, self._title, self._bind = facts, given, title, bind
        self._distances: dict[bool, tuple[float, float]] = {}
        self._features = features
        is_auto = isinstance(given, str) and given == "auto"
        self._strings = Strings(facts.kind, features) if facts.is_text and is_auto else None

    def first(self) -> list[VertexChoice]:
        """Return the kernels to try first."""
        return [self._of_table(choice) for choice in self._first()]

    def _of_table(self, choice: VertexChoice) -> VertexChoice:
        """Return a choice for the whole table."""
        if not self._title or choice.family == "constant":
            return choice
        return replace(
            choice,
            name=f"{choice.name}[{self._title}]",
            family=f"{choice.family}[{self._title}]",
            view=f"{choice.view}[{self._title}]",
            kernel=self._bind(choice.kernel),
        )

    def _first(self) -> list[VertexChoice]:
        if not isinstance(self.given, str) or self.given != "auto":
            kernel = as_kernel(self.given, f"{self.facts.name}_kernel")
            return [VertexChoice(_name_of(kernel), self._bind(kernel), "given")]
        if self.facts.is_constant:
            return [self.constant()]
        choices = []
        if self._strings is not None:
            choices = [
                VertexChoice(name, kernel, family, view=family) for name, kernel, family in self._strings.kernels()
            ]
            return choices + ([self.gaussian(width) for width in WIDTHS[:-1]] if self._strings.has_distances else [])
        if self.facts.kind == "kernel":
            choices.append(VertexChoice("precomputed", Precomputed(), "precomputed"))
        elif not self.facts.is_negative and (self.facts.is_binary or self.facts.is_sparse):
            once: Kernel = Tanimoto()
            twice = once * once
            choices += [
                VertexChoice("tanimoto", once, "tanimoto"),
                VertexChoice("tanimoto^2", twice, "tanimoto"),
                VertexChoice("tanimoto^4", twice * twice, "tanimoto"),
            ]
        if self.facts.is_sparse:
            choices.append(VertexChoice("cosine", Cosine(), "cosine"))
        else:
            choices.append(VertexChoice("linear", Standardized(Linear()), "linear"))
        return choices + [self.gaussian(width) for width in self._widths()]

    def usual(self) -> VertexChoice:
        """Return the kernel to use if no edges can be held out."""
        first = self.first()
        return next((choice for choice in first if choice.width == 1.0), first[0])

    def constant(self) -> VertexChoice:
        """Return the constant kernel, to ignore the vertices of this side."""
        return VertexChoice("constant", Constant(), "constant")

    def gaussian(self, width: float) -> VertexChoice:
        """Return the Gaussian kernel of a width, on standardized features if they are dense and not binary."""
        gamma = width / self._of_distances()[0]
        kernel: Kernel = Gaussian(gamma=gamma) if self._strings is None else self._strings.gaussian(gamma)
        if self._is_scaled:
            kernel = Standardized(kernel)
        view = "" if self._strings is None else self._strings.view_of_distances
        return VertexChoice(f"gaussian {width:g}", kernel, "gaussian", width, view=view)

    def beside(self, choice: VertexChoice) -> list[VertexChoice]:
        """Return the kernels with widths between a narrow kernel and its neighbors."""
        if choice.width is None or self.given != "auto" or choice.width < WIDTHS[-1]:
            return []
        return [self._of_table(self.gaussian(choice.width * factor)) for factor in (0.3, 3.0)]

    def has(self, choice: VertexChoice) -> bool:
        """Return whether a choice is one of this view."""
        return choice.view.endswith(f"[{self._title}]") and not choice.parts

    def _widths(self) -> list[float]:
        """Return the widths to try first: more of them if the nearest vertices are much nearer than others.

        This happens in few dimensions; a function of the vertices may then change many times.
        """
        median, nearest = self._of_distances()
        widths, narrowest = list(WIDTHS), min(median / (_NEIGHBOURS**2 * nearest), _NARROWEST)
        while widths[-1] * _STEP <= narrowest:
            widths.append(widths[-1] * _STEP)
        return widths

    @property
    def _is_scaled(self) -> bool:
        return self.facts.kind == "features" and not (self.facts.is_binary or self.facts.is_sparse)

    def _of_distances(self) -> tuple[float, float]:
        """Return the median squared distances of different vertices and of nearest vertices, from a sample."""
        if self._is_scaled not in self._distances:
            n, features = self._features.shape[0], self._features
            rows = np.unique(np.linspace(0, n - 1, min(n, _SAMPLE)).astype(int))
            if self._is_scaled:
                features = Standardized(Linear()).resolve(features, np.arange(n))._scaled(features)
            some = features[rows]
            if self._strings is not None:
                squares = self._strings.squared_distances(rows)
            else:
                squares = euclidean_distances(some if issparse(some) else np.asarray(some), squared=True)
            squares[squares <= 1e-12 * squares.max()] = np.inf  # copies, and each vertex with itself
            nearest, others = squares.min(axis=1), squares[np.isfinite(squares)]
            median = float(np.median(others)) if len(others) else 1.0
            near = float(np.median(nearest[np.isfinite(nearest)])) if len(others) else 1.0
            self._distances[self._is_scaled] = median, near
        return self._distances[self._is_scaled]


def _name_of(kernel: Kernel) -> str:
    from vectrick.kernels.text import format_kernel

    try:
        return format_kernel(kernel)
    except (TypeError, ValueError):  # a user-defined kernel
        return type(kernel).__name__


def with_constant(choice: VertexChoice, constant: float, scale: float) -> Kernel:
    """Return the kernel of a choice plus a constant, given relative to the mean diagonal value of the kernel."""
    kernel = choice.kernel if not choice.profile else choice.kernel + Constant(choice.profile * scale) * Profile()
    kernel = kernel + Scaled(Identity(), choice.identity * scale) if choice.identity else kernel
    return kernel if constant == 0 else kernel + Constant(constant * scale)


def scaled(kernel: Kernel, scale: float) -> Kernel:
    """Return a kernel divided by ``scale``, its mean diagonal value."""
    return kernel if scale == 1.0 else kernel * Constant(1.0 / scale)


def matrix_of(choice: VertexChoice, features: Features, positions: Array, backend: Backend) -> tuple[Array, float]:
    """Return the kernel matrix of vertices, scaled to a mean diagonal of one, and the scale."""
    kernel = choice.kernel.resolve(features, positions)
    # Sparse tables and strings are compared on the host.
    vertices = placed(features, backend) if isinstance(features, np.ndarray) else features
    K = placed(kernel(vertices, vertices), backend, np.float64)
    K = 0.5 * (K + K.T)
    scale = float(K.diagonal().mean())
    if not (backend.is_finite(K) and scale > 0):
        raise ValueError(f"the kernel {choice.name!r} has values that are not finite, or zero for all vertices")
    return K / scale, scale
