"""Scores of local alignments, computed by parasail in threads and cached in memory and on disk.

A thousand or more new scores are written to ``alignments.sqlite`` in the folder ``VECTRICK_CACHE_DIR``, by default
``vectrick`` in the user's cache folder. Sequences are stored as hashes. If the file cannot be read or written, scores
are computed; this is never an error.
"""

import hashlib
import sqlite3
import threading
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any

import numpy as np

from vectrick._progress import Progress
from vectrick._typing import Array
from vectrick.backends.threads import count_threads, run_tasks
from vectrick.kernels.strings.kept import opened

_NEEDED = "alignments need parasail, which is not installed: pip install 'vectrick[molecules]'"
_MOST = 6_000  # sequences whose scores are cached, as a square matrix
_WORTH = 1_000  # least number of new scores that are written to disk
_STANDARD = str.maketrans("UOJ", "CKL")  # rare amino acids and the most similar common ones
_ENTRY = np.dtype([("other", "<i8"), ("score", "<i4")])


def alignment_scores(
    X: Sequence[str], Y: Sequence[str], matrix: str, opening: int, extension: int
) -> tuple[Array, Array, Array]:
    """Return the scores of sequences X with sequences Y, and the scores of X and of Y with themselves."""
    store = _store_of(matrix.lower(), opening, extension)
    first, second = ([sequence.translate(_STANDARD) for sequence in part] for part in (X, Y))
    if len(store.place.keys() | set(first) | set(second)) > _MOST:
        store = _Store(store.settings)  # for these sequences only
    return store.scores(first, second)


def known_matrix(name: str | None) -> Any:
    """Return a substitution matrix of parasail by its name."""
    try:
        import parasail
    except ImportError:
        raise ImportError(_NEEDED) from None
    found = None
    if isinstance(name, str) and name.lower().startswith(("blosum", "pam")):
        found = getattr(parasail, name.lower(), None)
    if not isinstance(found, parasail.Matrix):
        raise ValueError(f"matrix is {name!r}, but it must be the name of a matrix such as 'BLOSUM62' or 'PAM250'")
    return found


_stores: dict[Any, "_Store"] = {}
_lock = threading.RLock()


def _store_of(*settings: Any) -> "_Store":
    with _lock:
        return _stores.setdefault(settings, _Store(settings))


class _Store:
    """The computed scores for one substitution matrix and one gap cost."""

    def __init__(self, settings: Any) -> None:
        self.settings = settings
        self.place: dict[str, int] = {}
        self.known = np.full((0, 0), -1, np.int32)

    def scores(self, X: list[str], Y: list[str]) -> tuple[Array, Array, Array]:
        """Return the scores of X with Y, and of both with themselves."""
        with _lock:
            self._add(dict.fromkeys([*X, *Y]))
            rows, columns = (np.array([self.place[sequence] for sequence in part], np.int64) for part in (X, Y))
            self._complete(np.unique(rows), np.unique(columns))
            own = self.known.diagonal().astype(np.float64)  # products of scores of long sequences exceed 32 bits
            return self.known[np.ix_(rows, columns)].astype(np.float64), own[rows], own[columns]

    def _add(self, sequences: Iterable[str]) -> None:
        for sequence in sequences:
            self.place.setdefault(sequence, len(self.place))
        n, old = len(self.place), len(self.known)
        if n > old:
            larger = np.full((n, n), -1, np.int32)
            larger[:old, :old] = self.known
            self.known = larger

    def _complete(self, rows: Array, columns: Array) -> None:
        """Read or compute the missing scores of a block, and of the diagonal."""
        pairs = self._missing(rows, columns)
        if not len(pairs):
            return
        sequences = list(self.place)
        kept = _Kept(self.settings) if len(pairs) >= _WORTH else None
        if kept is not None:
            codes = [_code(sequence) for sequence in sequences]
            kept.read(codes, np.unique(pairs), self.known)
            pairs = self._missing(rows, columns)
        self._align(sequences, pairs)
        if kept is not None and len(pairs):
            kept.write(codes, pairs, self.known)

    def _missing(self, rows: Array, columns: Array) -> Array:
        """Return the pairs of a block, and of its sequences with themselves, that have no score yet."""
        at, to = np.nonzero(self.known[np.ix_(rows, columns)] < 0)
        both = np.union1d(rows, columns)
        own = both[self.known.diagonal()[both] < 0]
        pairs = np.concatenate([np.stack([rows[at], columns[to]], 1), np.stack([own, own], 1)])
        return np.unique(np.sort(pairs, axis=1), axis=0)

    def _align(self, sequences: list[str], pairs: Array) -> None:
        """Compute the scores of pairs, in threads."""
        if not len(pairs):
            return
        matrix, opening, extension = self.settings
        table = known_matrix(matrix)  # raises if parasail is missing
        import parasail

        starts = np.flatnonzero(np.diff(pairs[:, 0], prepend=-1))
        ends = np.append(starts[1:], len(pairs))
        progress = Progress("alignments", len(starts), 0)

        def align(number: int) -> None:
            some = pairs[starts[number] : ends[number]]
            own = sequences[int(some[0, 0])]
            profile = parasail.profile_create_16(own, table)
            for _, other in some.tolist():
                found = parasail.sw_striped_profile_16(profile, sequences[other], opening, extension)
                if found.saturated:
                    found = parasail.sw_striped_32(own, sequences[other], opening, extension, table)
                self.known[some[0, 0], other] = self.known[other, some[0, 0]] = found.score
            progress.step("alignments")

        run_tasks(align, len(starts), count_threads(None))


class _Kept:
    """Scores on disk: for each sequence its scores with others, by hashes."""

    def __init__(self, settings: Any) -> None:
        self.settings = "-".join(map(str, settings))

    def read(self, codes: list[int], wanted: Array, known: Array) -> None:
        """Copy the scores of some sequences from disk to the matrix of scores."""
        place = {code: number for number, code in enumerate(codes)}
        with suppress(sqlite3.Error, OSError, ValueError), self._open() as file:
            for number in wanted.tolist():
                others, scores = self._row(file, codes[number])
                at = np.array([place.get(other, -1) for other in others.tolist()], np.int64)
                here = at >= 0
                known[number, at[here]] = known[at[here], number] = scores[here]

    def write(self, codes: list[int], pairs: Array, known: Array) -> None:
        """Add new scores, each to the row of the first sequence of its pair."""
        with suppress(sqlite3.Error, OSError, ValueError), self._open() as file:
            file.execute("begin immediate")
            for number in np.unique(pairs[:, 0]).tolist():
                others, scores = self._row(file, codes[number])
                new = pairs[pairs[:, 0] == number, 1]
                both = np.concatenate([others, np.array([codes[other] for other in new.tolist()], np.int64)])
                values = np.concatenate([scores, known[number, new]])
                unique, at = np.unique(both, return_index=True)
                row = np.empty(len(unique), _ENTRY)
                row["other"], row["score"] = unique, values[at]
                key = self.settings, codes[number], row.tobytes()
                file.execute("insert or replace into scores values (?, ?, ?)", key)
            file.execute("commit")

    def _open(self) -> AbstractContextManager[sqlite3.Connection]:
        return opened(
            "alignments.sqlite",
            "create table if not exists scores (settings text, sequence integer, found blob, "
            "primary key (settings, sequence)) without rowid",
        )

    def _row(self, file: sqlite3.Connection, code: int) -> tuple[Array, Array]:
        """Return the hashes of other sequences and the scores with them."""
        asked = "select found from scores where settings = ? and sequence = ?"
        found = file.execute(asked, (self.settings, code)).fetchone()
        row = np.frombuffer(found[0] if found is not None and isinstance(found[0], bytes) else b"", _ENTRY)
        return row["other"], row["score"]


def _code(sequence: str) -> int:
    return int.from_bytes(hashlib.blake2b(sequence.encode(), digest_size=8).digest(), "little", signed=True)
