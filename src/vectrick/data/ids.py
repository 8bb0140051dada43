"""Ids of vertices: integers or words, each once."""

from decimal import Decimal
from numbers import Integral
from typing import Any

import numpy as np

from vectrick._typing import Array, ArrayLike
from vectrick.backends.arrays import unmasked


def distinct_ids(values: Array, argument: str) -> tuple[Array, Array]:
    """Return the distinct ids and the place of each id among them; raise an error if an id is missing."""
    import pandas as pd  # for its hash table: ten million text ids take a second; sorting them takes minutes

    missing: Array = np.flatnonzero(pd.isna(values) if values.dtype.kind in "Of" else [])
    if len(missing):
        raise ValueError(f"{argument}[{missing[0]}] is missing ({len(missing)} of {len(values)} ids are)")
    inverse, distinct = pd.factorize(values)
    kinds = sorted({type(value).__name__ for value in distinct.tolist()})
    if "str" in kinds and len(kinds) > 1:
        raise TypeError(f"{argument} has ids of several types, {' and '.join(kinds)}, but all must have one type")
    return distinct, inverse


def as_integers(values: Array) -> Array:
    """Return an array of objects or floats, as from pandas, as integers if all values are whole numbers."""
    if values.dtype.kind not in "Of" or not values.size or values.ndim != 1:
        return values
    if values.dtype.kind == "f":
        whole = np.isfinite(values) & (values == np.floor(values)) & (np.abs(values) < 2**53)
        return values.astype(np.int64) if whole.all() else values
    if not is_whole(values[0]) or not all(map(is_whole, values.tolist())):
        return values
    values = np.array([int(value) for value in values.tolist()], object)
    least, most = min(values.tolist()), max(values.tolist())
    if least < -(2**63) or most >= 2**64 or (least < 0 and most >= 2**63):
        return values
    return values.astype(np.uint64 if most >= 2**63 else np.int64)


def is_whole(value: object) -> bool:
    """Return whether an object is a whole number of any type, except a truth value."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral | Decimal | float):
        return False
    number: Any = value
    return bool(number == number) and abs(number) < 2**64 and number == int(number)


def as_ids(ids: ArrayLike, length: int, name: str) -> Array:
    """Return the ids of a table; raise an error if one is missing or repeated, or if their number is wrong."""
    values = as_integers(np.asarray(unmasked(ids, f"the id column of {name}")))
    if values.shape != (length,):
        raise ValueError(f"the ids of {name} have shape {values.shape}, but there are {length} vertices")
    distinct, inverse = distinct_ids(values, f"the id column of {name}")
    if len(distinct) < length:
        often = distinct[np.bincount(inverse) > 1]
        raise ValueError(f"{name} has the id {often.tolist()[0]!r} more than once")
    return values
