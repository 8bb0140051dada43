"""The kernel of molecules by one of several views: fingerprints of paths, atom pairs or keys, and descriptors."""

from collections.abc import Sequence
from numbers import Integral

import numpy as np

from vectrick._typing import Features
from vectrick.kernels.base import Kernel
from vectrick.kernels.gaussian import Gaussian
from vectrick.kernels.minmax import MinMax
from vectrick.kernels.standardized import Standardized
from vectrick.kernels.strings.encoded import TextKernel, chosen_kernel
from vectrick.kernels.strings.views import VIEWS, Recipe
from vectrick.kernels.tanimoto import Tanimoto

_SMALLEST, _LARGEST = 16, 1 << 24  # bits; RDKit cannot make shorter fingerprints of some views


class Molecule(TextKernel):
    """A kernel of molecules, given as SMILES strings, by one of their views.

    | view | features | default kernel |
    | --- | --- | --- |
    | "path" | paths of up to seven bonds (RDKit's fingerprint) | `Tanimoto` |
    | "morgan" | neighborhoods of atoms up to two bonds away (ECFP4); see `Morgan` | `Tanimoto` |
    | "atom-pair" | pairs of atoms with their distance | `Tanimoto` |
    | "torsion" | paths of four atoms | `Tanimoto` |
    | "maccs" | 166 structural keys | `Tanimoto` |
    | "avalon" | Avalon's mixture of patterns | `Tanimoto` |
    | "descriptors" | 217 physical and chemical properties, on a logarithmic scale | standardized `Gaussian` |

    Standardization learns from training molecules, so "descriptors" is for fits and cannot be called with strings. Sums
    of views are often better than one: ``vt.Molecule("path") + vt.Molecule("descriptors")``. The kernel needs RDKit
    (``pip install 'vectrick[molecules]'``).

    A drug-like molecule takes 0.2 to 4 ms. Features are cached in memory and, for many molecules, on disk, and are
    computed in several processes if that takes long. Values between m and p molecules take O(m p) times the number of
    features.

    Parameters
    ----------
    view : str
        The kind of features.
    n_bits : int, optional
        The length of a hashed fingerprint, by default 2048 (1024 for "avalon").
    counts : bool
        Whether to count how often a pattern occurs; the default kernel is then `MinMax`.
    parent : bool
        Whether to compare parent molecules: the largest organic fragment of a salt, uncharged, without isotopes.
    kernel : Kernel, optional
        The kernel of the features.

    Examples
    --------
    >>> import vectrick as vt
    >>> vt.Molecule("path")(["CCO", "CCN", "c1ccccc1"]).round(2)
    array([[1. , 0.2, 0. ],
           [0.2, 1. , 0. ],
           [0. , 0. , 1. ]])
    >>> vt.Molecule("descriptors").encode(["CCO", "CCN"]).shape
    (2, 217)
    """

    name = "molecule"

    def __init__(
        self,
        view: str = "path",
        n_bits: int | None = None,
        counts: bool = False,
        *,
        parent: bool = True,
        kernel: Kernel | None = None,
    ) -> None:
        self.view = view
        self.n_bits = n_bits
        self.counts = counts
        self.parent = parent
        self.kernel = kernel

    @property
    def inner(self) -> Kernel:
        """The kernel of the features."""
        if self.view == "descriptors":
            return chosen_kernel(self.kernel, Standardized(Gaussian()))
        return chosen_kernel(self.kernel, MinMax() if self.counts else Tanimoto())

    def encode(self, strings: Sequence[str]) -> Features:
        """Return the features of SMILES strings with a row for each; descriptors are dense, fingerprints sparse.

        >>> Molecule("maccs").encode(["CCO"]).shape
        (1, 167)
        """
        self._check()
        view = VIEWS[self.view]
        settings = view.n_bits if self.n_bits is None else int(self.n_bits), bool(self.counts)
        features = Recipe(self.view, *settings, parent=bool(self.parent)).matrix(strings)
        return features.toarray() if self.view == "descriptors" else features

    def _check(self) -> None:
        if not isinstance(self.view, str) or self.view not in VIEWS:
            raise ValueError(f"view is {self.view!r}, but it must be one of {', '.join(map(repr, VIEWS))}")
        view, n_bits = VIEWS[self.view], self.n_bits
        if n_bits is not None and not view.is_hashed:
            raise ValueError(f"n_bits is {n_bits!r}, but the view {self.view!r} always has {view.n_bits}; leave it out")
        if n_bits is not None and (
            isinstance(n_bits, bool) or not isinstance(n_bits, Integral) or not _SMALLEST <= int(n_bits) <= _LARGEST
        ):
            raise ValueError(f"n_bits is {n_bits!r}, but it must be an integer from {_SMALLEST} to {_LARGEST}, or None")
        for name in ("counts", "parent"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise ValueError(f"{name} is {getattr(self, name)!r}, but it must be True or False")
        if self.counts and not view.has_counts:
            raise ValueError(f"counts is True, but the view {self.view!r} has no counts")
