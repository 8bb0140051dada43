"""The kernel of sequences by local alignment."""

import re
from collections.abc import Sequence
from numbers import Integral

import numpy as np

from vectrick._typing import Array, ArrayLike, Features
from vectrick.data.strings.sequences import plain_sequence, wrong_sequence
from vectrick.data.strings.table import as_characters, strings_of
from vectrick.kernels.base import Kernel
from vectrick.kernels.rows import ones
from vectrick.kernels.strings.alignments import alignment_scores
from vectrick.kernels.strings.encoded import TextKernel, chosen_kernel

_SHOWN = 30  # characters of a sequence shown in an error
_LARGEST = 10_000  # penalty
_MATRIX = re.compile(r"(blosum|pam)\d+")


class SmithWaterman(TextKernel):
    """A kernel of protein sequences: scores of local alignments, ``s(x, y) / √(s(x, x) s(y, y))``.

    In general, the scores are not a positive semi-definite kernel: negative eigenvalues of their matrix are set to
    zero, as for precomputed kernels. With a ``kernel``, the scores of a sequence with the training sequences are its
    features; the features of a new sequence then lack its score with itself. ``Radial(SmithWaterman())`` avoids this.
    The kernel needs parasail (``pip install 'vectrick[molecules]'``). An alignment takes O(length²), about 0.05 ms for
    two kinases; scores are cached in memory and on disk (see `vectrick.kernels.strings.alignments`).

    Parameters
    ----------
    matrix : str
        The substitution matrix by its name in parasail, such as "BLOSUM62", "BLOSUM50" or "PAM250".
    open, extend : int
        The cost of a gap: ``open`` for its first letter, ``extend`` for each further one.
    kernel : Kernel, optional
        A kernel of the scores with the training sequences, for example ``Gaussian()``; by default the scores are the
        kernel values.
    known : table of characters, optional
        The training sequences; a fit sets them.

    Examples
    --------
    >>> import vectrick as vt
    >>> vt.SmithWaterman()(["MKTAYIAKQR", "MKTAYIAKQK", "GGGG"]).round(2)
    array([[1.  , 0.94, 0.  ],
           [0.94, 1.  , 0.  ],
           [0.  , 0.  , 1.  ]])
    """

    name = "smith_waterman"
    learned = ("known",)
    of_vertices = ("known",)

    def __init__(
        self,
        matrix: str = "BLOSUM62",
        open: int = 11,
        extend: int = 1,
        kernel: Kernel | None = None,
        known: ArrayLike | None = None,
    ) -> None:
        self.matrix = matrix
        self.open = open
        self.extend = extend
        self.kernel = kernel
        self.known = known

    @property
    def inner(self) -> Kernel:
        """The kernel of the scores with the training sequences."""
        return chosen_kernel(self.kernel, _Scores())

    def similarities(self, X: Sequence[str], Y: Sequence[str]) -> Array:
        """Return the normalized scores of sequences X with sequences Y."""
        self._check()
        first, second = _plain(X), _plain(Y)
        scores, own_first, own_second = alignment_scores(first, second, self.matrix, int(self.open), int(self.extend))
        values = scores / np.sqrt(np.multiply.outer(np.maximum(own_first, 1), np.maximum(own_second, 1)))
        for row in np.flatnonzero(own_first <= 0):  # only unknown letters, but equal to itself
            values[row, [other == first[row] for other in second]] = 1.0
        return values

    def encode(self, strings: Sequence[str]) -> Array:
        """Return the scores of sequences with the training sequences, a row for each."""
        if self.known is None:
            raise ValueError(
                "SmithWaterman(kernel=...) takes scores with the training sequences, so it has features only after it "
                "was fitted"
            )
        return self.similarities(strings, strings_of(self.known))

    def resolve(self, X: Features, positions: Array) -> "SmithWaterman":
        """Return the kernel with the training sequences, if their scores are features."""
        self._check()
        if self.kernel is None:
            _plain(strings_of(X))
            return self
        settled = SmithWaterman(self.matrix, self.open, self.extend, self.kernel, X)
        settled.kernel = settled.inner.resolve(settled.encoded(X), positions)
        return settled

    def _matrix(self, X: Features, Y: Features) -> Array:
        if self.kernel is None:
            return self.similarities(strings_of(X), strings_of(Y))
        return super()._matrix(X, Y)

    def diagonal(self, X: Features) -> Array:
        """Return the kernel values of the sequences of X with themselves."""
        return ones(as_characters(X, "X")) if self.kernel is None else super().diagonal(X)

    def features(self, X: Features) -> Features | None:
        """Return the features of the kernel of scores, if it has finitely many."""
        return None if self.kernel is None else super().features(X)

    def _check(self) -> None:
        if not isinstance(self.matrix, str) or not _MATRIX.fullmatch(self.matrix.lower()):
            raise ValueError(f"matrix is {self.matrix!r}, but it must be the name of a matrix such as 'BLOSUM62'")
        for name in ("open", "extend"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Integral) or not 0 <= int(value) <= _LARGEST:
                raise ValueError(f"{name} is {value!r}, but it must be an integer from 0 to {_LARGEST}")


class _Scores(Kernel):
    """A placeholder for scores that are the kernel values."""

    is_psd = False


def _plain(sequences: Sequence[str]) -> list[str]:
    """Return sequences in the form for alignment; raise on letters other than A to Z."""
    for sequence in sequences:
        wrong = wrong_sequence(sequence)
        if wrong is not None:
            raise ValueError(f"the sequence {sequence[:_SHOWN]!r} {wrong}")
    return [plain_sequence(sequence) for sequence in sequences]
