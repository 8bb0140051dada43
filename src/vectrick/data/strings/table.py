"""Vertices that are strings, as a sparse table of characters, so that all operations on sparse tables apply.

Row i holds the code of its j-th character in column j. The table is sliced, joined, compared, pickled and written to
model files like any other sparse table. Only string kernels decode it.
"""

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
from scipy.sparse import csr_array, issparse

from vectrick._typing import Array, Features, Table

LONGEST = 65_521  # characters of a string; the width of every table of characters, and hardly ever of other tables
_LAST, _SURROGATES = 0x10FFFF, (0xD800, 0xDFFF)  # of Unicode
LETTERS, _ATOMS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ*"), frozenset("BCNOPSFI")  # atoms that need no brackets


def characters(strings: Sequence[str], name: str = "strings") -> csr_array:
    """Return strings as a table of characters; ``name`` is the name of the strings in errors.

    >>> table = characters(["CCO", "N"])
    >>> table.shape, strings_of(table[[1, 0]])
    ((2, 65521), ['N', 'CCO'])
    """
    lengths = np.fromiter(map(len, strings), np.int64, len(strings))
    if len(lengths) and lengths.max() > LONGEST:
        at = int(lengths.argmax())
        raise ValueError(f"{name}[{at}] has {lengths[at]} characters, but a string has at most {LONGEST}")
    try:
        codes = np.frombuffer("".join(strings).encode("utf-32-le"), np.uint32).astype(np.float64)
    except UnicodeEncodeError:
        raise ValueError(f"{name} has half a character (a lone surrogate), so it is not text") from None
    ends = np.concatenate([[0], np.cumsum(lengths)])
    if len(codes) and not codes.all():
        at = int(np.searchsorted(ends, np.flatnonzero(codes == 0)[0], "right")) - 1
        raise ValueError(f"{name}[{at}] has the character 0, so it is not text")
    columns = np.arange(len(codes)) - np.repeat(ends[:-1], lengths)
    return csr_array((codes, columns.astype(np.int32), ends.astype(np.int32)), (len(strings), LONGEST))


def strings_of(table: Any) -> list[str]:
    """Return the strings of a table of characters; raise an error if the table is not text."""
    if not holds_characters(table):
        raise TypeError(f"a kernel of strings was given a table of shape {table.shape}, but it takes strings")
    codes, ends = table.data, table.indptr.astype(np.int64)
    lengths = np.diff(ends)
    whole = (codes >= 1) & (codes <= _LAST) & (codes == np.floor(codes))
    whole &= (codes < _SURROGATES[0]) | (codes > _SURROGATES[1])
    in_order = np.array_equal(table.indices, np.arange(ends[0], ends[-1]) - np.repeat(ends[:-1], lengths))
    if not (whole.all() and in_order):
        raise ValueError("a table of characters is damaged: it has invalid or missing characters")
    text = codes.astype("<u4").tobytes().decode("utf-32-le")
    return [text[low:high] for low, high in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]


def holds_characters(features: Any) -> bool:
    """Return whether a table of features is a table of characters."""
    return bool(issparse(features) and features.shape[1] == LONGEST)


def as_characters(X: Features, name: str) -> Any:
    """Return strings as a table of characters; such a table is returned unchanged."""
    if holds_characters(X):
        return X
    given = given_strings(X, name)
    if given is None:
        raise TypeError(f"{name} is of type {type(X).__name__}, but a kernel of strings takes strings")
    return characters(given[0], name)


def given_strings(features: Table, name: str, gaps: bool = False) -> tuple[list[str], Array | None, str] | None:
    """Return strings that were given as a list, an array or a column, with the index and the name of a column.

    Return None if there are no strings. Missing strings raise an error; with ``gaps`` they become empty strings.
    """
    if isinstance(features, str):
        raise TypeError(f"{name} is the string {features[:40]!r}, but it must have one for each vertex: give a list")
    column = nw.from_native(features, series_only=True, pass_through=True)
    index, title = None, ""
    if isinstance(column, nw.Series):
        values = column.to_list()
        title = "" if column.name is None else str(column.name)
        index = getattr(getattr(features, "index", None), "to_numpy", lambda: None)()
    elif isinstance(features, list | tuple):
        values = list(features)
    elif isinstance(features, np.ndarray) and features.ndim == 1 and features.dtype.kind in "OUT":
        values = features.tolist()
    else:
        return None
    if not any(isinstance(value, str) for value in values):
        return None
    if gaps:
        values = ["" if is_missing(value) else value for value in values]
        if all(isinstance(value, str) for value in values):
            return [str(value) for value in values], index, title
    return checked_strings(values, name), index, title


def is_missing(value: object) -> bool:
    """Return whether a value is None, NaN or pandas' NA; only NA cannot be compared."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def checked_strings(values: Sequence[Any], name: str) -> list[str]:
    """Return strings; raise an error if one is missing or not a string."""
    for at, value in enumerate(values):
        if not isinstance(value, str) or not value.strip():
            shown = "empty" if isinstance(value, str) or is_missing(value) else repr(value)
            raise ValueError(f"{name}[{at}] is {shown}, but each vertex must have a string")
    return [str(value) for value in values]


def kind_of_strings(strings: Sequence[str], column: str = "") -> str:
    """Return the kind of strings, "smiles" or "sequence", by the name of their column or else by their letters.

    >>> kind_of_strings(["CCO"], "canonical_smiles"), kind_of_strings(["MKTAYIAKQR" * 5])
    ('smiles', 'sequence')
    """
    word = column.lower()
    if "smi" in word or "mol" in word:
        return "smiles"
    if "seq" in word or "fasta" in word or "protein" in word:
        return "sequence"
    letters = set().union(*strings) if strings else set()
    return "sequence" if letters <= LETTERS and letters - _ATOMS else "smiles"
