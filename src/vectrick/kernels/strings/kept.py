"""Features of strings on disk, by the hash of the string: computed once for all processes and later runs.

They are in ``features.sqlite`` in the folder ``VECTRICK_CACHE_DIR``, by default ``vectrick`` in the user's cache
folder. If the file cannot be read or written, features are computed; this is never an error.
"""

import hashlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress

import numpy as np

from vectrick._typing import Array
from vectrick.backends.rates import cache_folder

_WORTH = 500  # least number of strings for which the file is opened: a few are computed faster
_AT_ONCE = 500  # strings of a query
_WAIT = 10.0  # seconds for another process that writes
_VALUES = {"bits": None, "counts": np.dtype("<i4"), "numbers": np.dtype("<f8")}


@contextmanager
def opened(name: str, table: str) -> Iterator[sqlite3.Connection]:
    """Open a file of the cache folder with a table; without the file, make it."""
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(folder / name, timeout=_WAIT, isolation_level=None)) as file:
        file.execute(table)
        yield file


class KeptRows:
    """The sparse rows of strings for one kind of features.

    Parameters
    ----------
    recipe : str
        All settings that the features depend on, with the version of the package that computes them.
    kind : str
        The type of the values: "bits", "counts" or "numbers".
    n_columns : int
        The number of features.
    """

    def __init__(self, recipe: str, kind: str, n_columns: int) -> None:
        self.recipe, self.kind, self.n_columns = recipe, kind, n_columns

    def read(self, strings: Sequence[str]) -> dict[str, tuple[Array, Array]]:
        """Return the rows on disk of some strings."""
        rows: dict[str, tuple[Array, Array]] = {}
        if len(strings) < _WORTH:
            return rows
        string_of = {_code(string): string for string in strings}
        codes = list(string_of)
        with suppress(sqlite3.Error, OSError, ValueError), self._opened() as file:
            for low in range(0, len(codes), _AT_ONCE):
                some = codes[low : low + _AT_ONCE]
                marks = ",".join("?" * len(some))
                query = f"select string, places, found from rows where recipe = ? and string in ({marks})"
                for code, *parts in file.execute(query, (self.recipe, *some)):
                    row = self._row(*parts)
                    if row is not None:
                        rows[string_of[code]] = row
        return rows

    def write(self, rows: Mapping[str, tuple[Array, Array]]) -> None:
        """Store rows."""
        if len(rows) < _WORTH:
            return
        with suppress(sqlite3.Error, OSError), self._opened() as file:
            file.execute("begin immediate")
            kept = ((self.recipe, _code(string), *self._blobs(*row)) for string, row in rows.items())
            file.executemany("insert or replace into rows values (?, ?, ?, ?)", kept)
            file.execute("commit")

    def _opened(self) -> AbstractContextManager[sqlite3.Connection]:
        return opened(
            "features.sqlite",
            "create table if not exists rows (recipe text, string blob, places blob, found blob, "
            "primary key (recipe, string)) without rowid",
        )

    def _blobs(self, places: Array, values: Array) -> tuple[bytes, bytes]:
        dtype = _VALUES[self.kind]
        return places.astype("<u4").tobytes(), b"" if dtype is None else values.astype(dtype).tobytes()

    def _row(self, places: object, found: object) -> tuple[Array, Array] | None:
        """Return a row from its blobs, or None if they are damaged."""
        dtype = _VALUES[self.kind]
        if not isinstance(places, bytes) or not isinstance(found, bytes) or len(places) % 4:
            return None
        columns = np.frombuffer(places, "<u4").astype(np.int32)
        if len(found) != (0 if dtype is None else len(columns) * dtype.itemsize):
            return None
        values = np.ones(len(columns), np.int32) if dtype is None else np.frombuffer(found, dtype)
        is_sound = not len(columns) or (columns.min() >= 0 and columns.max() < self.n_columns)
        return (columns, values) if is_sound and np.isfinite(values).all() else None


def _code(string: str) -> bytes:
    return hashlib.blake2b(string.encode(), digest_size=16).digest()
