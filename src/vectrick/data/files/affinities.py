"""Measured labels: concentrations in any unit as their negative logarithms, and bounds such as "> 10000"."""

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from vectrick._typing import Array
from vectrick.data.censored import signs_of
from vectrick.data.files.frames import TableFile

if TYPE_CHECKING:
    import pyarrow as pa


UNITS = {"M": 0, "mM": 3, "uM": 6, "µM": 6, "nM": 9, "pM": 12}
_BOUND = re.compile(r"\s*(<<|>>|<=|>=|[<>≤≥=~≈])\s*([-+.\deE]+)\s*")


def check_unit(log: str | None) -> None:
    """Raise an error if a unit is not supported."""
    if log is not None and log not in UNITS:
        raise ValueError(f"--log is {log!r}, but it must be the unit of the labels: {', '.join(UNITS)}")


def read_affinities(
    source: TableFile, rows: "pa.Table", name: str, log: str | None, relation: str | None
) -> tuple[Array, Array | None] | None:
    """Return measured labels as numbers, and their bounds (None without bounds); None for other labels.

    The logarithm swaps lower and upper bounds, because the negative logarithm decreases with the concentration.
    """
    column = rows.column(name)
    split = _with_signs(column)
    if log is None and relation is None and split is None:
        return None
    numbers = column if split is None else split[0]
    values = source.vector(numbers, name)
    bounds = np.zeros(len(values), np.int8) if split is None else split[1]
    if relation is not None:
        words = np.array([word or "" for word in _as_text(rows.column(relation))], object)
        try:
            signs = signs_of(words)
        except ValueError as error:
            raise ValueError(f"{source.path}: column {relation!r}: {error}") from None
        both = (bounds != 0) & (signs != 0) & (bounds != signs)
        if both.any():
            at = int(np.flatnonzero(both)[0])
            raise ValueError(
                f"{source.path}: row {at + 1} is a bound of two kinds, in columns {name!r} and {relation!r}"
            )
        bounds = np.where(bounds == 0, signs, bounds)
    if log is not None:
        wrong = np.flatnonzero(values <= 0)
        if len(wrong):
            at = int(wrong[0])
            raise ValueError(
                f"{source.path}: row {at + 1}, column {name!r} is {values[at]:g}, but --log takes positive "
                "concentrations"
            )
        values, bounds = UNITS[log] - np.log10(values), -bounds
    if (values == values[0]).all():
        raise ValueError(f"{source.path}: column {name!r} is {values[0]:g} in every row, so there is nothing to learn")
    return values, bounds.astype(np.int8) if bounds.any() else None


def _with_signs(column: "pa.ChunkedArray") -> tuple[Any, Array] | None:
    """Return the numbers and signs of a column of text if signs precede some of its numbers, else None."""
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return None
    words = _as_text(column)
    found = [_BOUND.fullmatch(word or "") for word in words]
    if not any(found):
        return None
    signs = signs_of(np.array(["" if match is None else match[1] for match in found], object))
    plain = [word if match is None else match[2] for word, match in zip(words, found, strict=True)]
    return pa.chunked_array([pa.array(plain, pa.string())]), signs


def _as_text(column: "pa.ChunkedArray") -> list[str | None]:
    import pyarrow as pa

    words: list[str | None] = column.cast(pa.string()).to_pylist()
    return words
