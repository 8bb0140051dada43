"""The spectrum kernel of sequences."""

from collections.abc import Iterator, Sequence
from numbers import Integral

import numpy as np
from scipy.sparse import csr_array

from vectrick._typing import Array
from vectrick.data.strings.sequences import plain_sequence, wrong_sequence
from vectrick.kernels.base import Kernel
from vectrick.kernels.cosine import Cosine
from vectrick.kernels.strings.encoded import ROWS, TextKernel, chosen_kernel

_LETTERS = 26  # of the alphabet
_EXACT = 4  # letters up to which each word has its own column; longer words are hashed and rarely collide
_COLUMNS = 1_048_573  # a prime
_LONGEST = 20  # characters of a word
_SHOWN = 30  # characters of a sequence shown in an error
# Classes of amino acids by dipole and volume of their side chains, as in the conjoint triad of Shen et al. (2007).
_GROUPS = ("AGV", "ILFP", "YMTS", "HNQW", "RK", "DE", "C")
_GROUP_OF = np.full(_LETTERS, len(_GROUPS), np.int64)  # other letters are a class of their own
for _number, _letters in enumerate(_GROUPS):
    _GROUP_OF[[ord(_letter) - ord("A") for _letter in _letters]] = _number


class Spectrum(TextKernel):
    """A kernel of sequences (of amino acids or bases) by their common words of ``k`` letters (k-mers).

    The features are the counts of each word. The default kernel is their cosine, so that long sequences are not more
    similar than short ones. A sequence takes O(length), once. The kernel needs no optional package.

    Parameters
    ----------
    k : int
        The number of letters of a word: 1 is the composition, 2 are dipeptides. Words of up to 4 letters have a column
        each; longer words are hashed to a million columns.
    kernel : Kernel, optional
        The kernel of the counts, by default ``Cosine()``. ``Linear()`` gives the original spectrum kernel;
        ``Gaussian()`` and ``MinMax()`` are alternatives.
    groups : bool
        Whether letters are replaced by seven physico-chemical classes of amino acids; with k=3, words are conjoint
        triads.

    Examples
    --------
    >>> import vectrick as vt
    >>> vt.Spectrum(k=2)(["MKTA", "MKMK", "GGGG"]).round(2)
    array([[1.  , 0.52, 0.  ],
           [0.52, 1.  , 0.  ],
           [0.  , 0.  , 1.  ]])
    """

    name = "spectrum"

    def __init__(self, k: int = 3, kernel: Kernel | None = None, groups: bool = False) -> None:
        self.k = k
        self.groups = groups
        self.kernel = kernel

    @property
    def inner(self) -> Kernel:
        """The kernel of the counts."""
        return chosen_kernel(self.kernel, Cosine())

    def encode(self, strings: Sequence[str]) -> csr_array:
        """Return the counts of the words of sequences, as a sparse matrix with a row for each sequence.

        >>> Spectrum(k=1).encode(["ABBA"]).toarray()[0, :2]
        array([2., 2.])
        """
        if isinstance(self.k, bool) or not isinstance(self.k, Integral) or not 1 <= self.k <= _LONGEST:
            raise ValueError(f"k is {self.k!r}, but it must be an integer from 1 to {_LONGEST}")
        if not isinstance(self.groups, bool | np.bool_):
            raise ValueError(f"groups is {self.groups!r}, but it must be True or False")
        n_columns = _LETTERS**self.k if self.k <= _EXACT else _COLUMNS
        return ROWS.of(("spectrum", int(self.k), bool(self.groups)), strings, n_columns, self._counts)

    def _counts(self, strings: list[str]) -> Iterator[tuple[Array, Array]]:
        """Yield the columns and the counts of the words of sequences."""
        k, n_columns = int(self.k), _LETTERS**self.k if self.k <= _EXACT else _COLUMNS
        for string in strings:
            wrong = wrong_sequence(string)
            if wrong is not None:
                raise ValueError(f"the sequence {string[:_SHOWN]!r} {wrong}")
            letters = np.frombuffer(plain_sequence(string).encode(), np.uint8).astype(np.int64) - ord("A")
            letters = _GROUP_OF[letters.clip(0, _LETTERS - 1)] if self.groups else letters
            words = np.zeros(max(0, len(letters) - k + 1), np.int64)
            for at in range(k):
                words = (words * _LETTERS + letters[at : at + len(words)]) % n_columns
            places, counts = np.unique(words, return_counts=True)
            yield places.astype(np.int32), counts
