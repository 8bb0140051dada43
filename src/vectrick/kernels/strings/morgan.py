"""The kernel of molecules by their Morgan fingerprints."""

from collections.abc import Sequence
from numbers import Integral

import numpy as np
from scipy.sparse import csr_array

from vectrick.kernels.base import Kernel
from vectrick.kernels.minmax import MinMax
from vectrick.kernels.strings.encoded import TextKernel, chosen_kernel
from vectrick.kernels.strings.views import Recipe
from vectrick.kernels.tanimoto import Tanimoto

_LARGEST = {"radius": 10, "n_bits": 1 << 24}


class Morgan(TextKernel):
    """A kernel of molecules, given as SMILES strings, by their Morgan (ECFP) fingerprints.

    A fingerprint records the neighborhoods of atoms in a molecule, up to ``radius`` bonds away. Two molecules are
    compared by their share of common neighborhoods (`Tanimoto`), or with counts by `MinMax`. The kernel needs RDKit
    (``pip install 'vectrick[molecules]'``).

    A fingerprint takes about 0.2 ms and is cached; values between m and p molecules take O(m p) times the number of set
    bits.

    Parameters
    ----------
    radius : int
        The largest number of bonds between an atom and the atoms of its neighborhood; 2 is ECFP4.
    n_bits : int
        The length of the fingerprint.
    counts : bool
        Whether to count how often a neighborhood occurs.
    functional : bool
        Whether to distinguish atoms by function (donors, acceptors, charged, aromatic, halogens) instead of by type;
        fingerprints are then FCFP, not ECFP.
    parent : bool
        Whether to compare parent molecules: the largest organic fragment of a salt, uncharged, without isotopes.
    kernel : Kernel, optional
        The kernel of the fingerprints: by default ``Tanimoto()``, or ``MinMax()`` for counts.

    Examples
    --------
    >>> import vectrick as vt
    >>> vt.Morgan()(["CCO", "CCN", "CCO.Cl"]).round(2)
    array([[1.  , 0.33, 1.  ],
           [0.33, 1.  , 0.33],
           [1.  , 0.33, 1.  ]])
    """

    name = "morgan"

    def __init__(
        self,
        radius: int = 2,
        n_bits: int = 2048,
        counts: bool = False,
        *,
        functional: bool = False,
        parent: bool = True,
        kernel: Kernel | None = None,
    ) -> None:
        self.radius = radius
        self.n_bits = n_bits
        self.counts = counts
        self.functional = functional
        self.parent = parent
        self.kernel = kernel

    @property
    def inner(self) -> Kernel:
        """The kernel of the fingerprints."""
        return chosen_kernel(self.kernel, MinMax() if self.counts else Tanimoto())

    def encode(self, strings: Sequence[str]) -> csr_array:
        """Return the fingerprints of SMILES strings, as a sparse matrix with a row for each.

        >>> Morgan(n_bits=64).encode(["CCO"]).shape
        (1, 64)
        """
        self._check()
        settings = int(self.n_bits), bool(self.counts), int(self.radius), bool(self.functional), bool(self.parent)
        return Recipe("morgan", *settings).matrix(strings)

    def _check(self) -> None:
        for name, most in _LARGEST.items():
            value = getattr(self, name)
            least = 0 if name == "radius" else 1
            if isinstance(value, bool) or not isinstance(value, Integral) or not least <= int(value) <= most:
                raise ValueError(f"{name} is {value!r}, but it must be an integer from {least} to {most}")
        for name in ("counts", "functional", "parent"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise ValueError(f"{name} is {getattr(self, name)!r}, but it must be True or False")
