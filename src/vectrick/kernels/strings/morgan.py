"""The kernel of molecules by their Morgan fingerprints."""

from collections.abc import Callable, Iterator, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.sparse import csr_array

from vectrick._progress import Progress
from vectrick._typing import Array
from vectrick._warnings import warn
from vectrick.backends.threads import count_threads
from vectrick.data.files.columns import TableWarning
from vectrick.data.strings.molecules import has_odd_valence, molecule, rdkit
from vectrick.kernels.base import Kernel
from vectrick.kernels.minmax import MinMax
from vectrick.kernels.strings.encoded import ROWS, TextKernel, chosen_kernel
from vectrick.kernels.tanimoto import Tanimoto

_AT_ONCE, _MANY = 1000, 20_000  # molecules of a part, and the number from which processes compute the parts
_SHOWN = 60  # characters of an invalid string
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
        made_by = "morgan", self.radius, self.n_bits, bool(self.counts), bool(self.functional), bool(self.parent)
        return ROWS.of(made_by, strings, self.n_bits, self._fingerprints)

    def _check(self) -> None:
        for name, most in _LARGEST.items():
            value = getattr(self, name)
            least = 0 if name == "radius" else 1
            if isinstance(value, bool) or not isinstance(value, Integral) or not least <= int(value) <= most:
                raise ValueError(f"{name} is {value!r}, but it must be an integer from {least} to {most}")
        for name in ("counts", "functional", "parent"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise ValueError(f"{name} is {getattr(self, name)!r}, but it must be True or False")

    def _fingerprints(self, strings: list[str]) -> Iterator[tuple[Array, Array]]:
        """Yield the places and the values of the nonzero entries of fingerprints."""
        rdkit()  # raises if RDKit is missing
        settings = int(self.radius), int(self.n_bits), bool(self.counts), bool(self.functional), bool(self.parent)
        progress, n_jobs = Progress("fingerprints", len(strings), 0), count_threads(None)
        parts = [strings[low : low + _AT_ONCE] for low in range(0, len(strings), _AT_ONCE)]
        made: Any = (_rows(part, *settings, molecule) for part in parts)
        if len(strings) >= _MANY and n_jobs > 1:  # in processes, since RDKit reads one molecule per process at a time
            made = Parallel(n_jobs=n_jobs, return_as="generator")(delayed(_rows)(part, *settings) for part in parts)
        odd: list[str] = []
        for part, rows in zip(parts, made, strict=True):
            for string, (places, values, is_odd) in zip(part, rows, strict=True):
                progress.step("fingerprints")
                odd += [string] if is_odd else []
                yield places, values
        _tell_odd(odd)


def _rows(
    strings: list[str],
    radius: int,
    n_bits: int,
    counts: bool,
    functional: bool,
    parent: bool,
    read: Callable[[str, bool], Any] = molecule.__wrapped__,
) -> list[tuple[Array, Array, bool]]:
    """Return the places and the values of the nonzero entries of fingerprints; processes cache no molecules.

    Each item also states whether the molecule was read without the check of valences.
    """
    from rdkit.Chem.rdFingerprintGenerator import GetMorganFeatureAtomInvGen, GetMorganGenerator

    invariants = GetMorganFeatureAtomInvGen() if functional else None
    generator = GetMorganGenerator(radius=radius, fpSize=n_bits, atomInvariantsGenerator=invariants)
    rows = []
    for string in strings:
        found = read(string, parent)
        if found is None:
            raise ValueError(
                f"{string[:_SHOWN]!r} is no molecule: RDKit cannot read this SMILES string; vt.Edges(..., "
                "invalid='skip') leaves out invalid vertices and their edges"
            )
        if counts:
            entries = sorted(generator.GetCountFingerprint(found).GetNonzeroElements().items())
            places, values = np.array(entries, np.int32).reshape(-1, 2).T
        else:
            places = np.array(generator.GetFingerprint(found).GetOnBits(), np.int32)
            values = np.ones(len(places), np.int32)
        rows.append((places, values, has_odd_valence(found)))
    return rows


_told: set[str] = set()  # molecules with a warning


def _tell_odd(strings: list[str]) -> None:
    """Warn once about molecules that were read without the check of valences."""
    new = [string for string in strings if string not in _told]
    if new:
        _told.update(new)
        warn(
            f"{len(new)} molecules have an atom with an unusual valence, such as {new[0][:_SHOWN]!r}; they were read "
            "without the check of valences",
            TableWarning,
        )
