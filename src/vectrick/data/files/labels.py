"""Labels of edges in files: numbers, two classes of any type (one is positive), or several words."""

from typing import TYPE_CHECKING

import numpy as np

from vectrick._typing import Array
from vectrick.data.files.frames import TableFile
from vectrick.data.files.numerals import is_number, refuse_commas

if TYPE_CHECKING:
    import pyarrow as pa


_YES = ("yes", "y", "true", "t", "active", "positive", "pos", "+", "binder", "binding", "hit", "interaction")
_SHOWN = 5  # labels named in an error
_MOST = 100  # classes


def read_labels(
    source: TableFile, values: "pa.ChunkedArray", name: str, positive: str | None = None
) -> tuple[Array, tuple[str, ...] | None]:
    """Return the labels in a column, and the names of the classes if they are classes; of two, the positive one last.

    Numbers stay unchanged. Two classes become -1 and 1 if they are words or truth values, or if the smaller number is
    the positive class. More than two words stay words.
    """
    if hasattr(values.type, "value_type"):  # a categorical column
        values = values.cast(values.type.value_type)
    words = _words(source, values, name)
    if words is None:
        y = source.vector(values, name)
        pair = _pair(y)
        if pair is None and positive is not None:
            raise ValueError(f"--positive is {positive!r}, but column {name!r} has numbers, not two classes")
        if pair is None:
            return y, None
        if pair[0] == pair[1]:
            raise ValueError(f"{source.path}: column {name!r} is {y[0]:g} in every row, so there is nothing to learn")
        names = [_numeral(value) for value in pair]
        usual = names[1]
        positive = None if positive is None else _matching(positive, names)
    else:
        names = sorted(set(words))
        if len(names) > 2:
            if positive is not None:
                raise ValueError(f"--positive is {positive!r}, but column {name!r} has {len(names)} classes, not two")
            return np.array(words, object), tuple(names)
        usual = next((word for word in names if word.lower() in _YES), names[1])
    chosen = usual if positive is None else positive
    if chosen not in names:
        raise ValueError(f"--positive is {chosen!r}, but column {name!r} has the classes {names[0]!r}, {names[1]!r}")
    classes = next(word for word in names if word != chosen), chosen
    if words is None and chosen == usual:
        return y, classes
    is_positive = y == pair[0] if words is None and pair else np.array([word == chosen for word in words or ()])
    return np.where(is_positive, 1.0, -1.0), classes


def _pair(y: Array) -> tuple[float, float] | None:
    """Return the two different labels, the smaller one first, or None if there are more than two."""
    others = y[y != y[0]]
    if len(others) == 0:
        return float(y[0]), float(y[0])
    low, high = sorted((float(y[0]), float(others[0])))
    return (low, high) if (others == others[0]).all() else None


def _words(source: TableFile, values: "pa.ChunkedArray", name: str) -> list[str] | None:
    """Return labels that are words or truth values, or None if they must be read as numbers."""
    import pyarrow as pa
    from pyarrow import compute

    if pa.types.is_boolean(values.type) and not values.null_count:
        words = [str(value).lower() for value in values.to_pylist()]
    elif pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        words = values.to_pylist()
    else:
        return None
    empty = next((at for at, word in enumerate(words) if not word), None)
    if empty is not None:
        raise ValueError(f"{source.path}: row {empty + 1}, column {name!r} is empty, but each edge needs a label")
    distinct = sorted(set(words)) if pa.types.is_boolean(values.type) else compute.unique(values).to_pylist()
    refuse_commas(distinct, f"{source.path}: column {name!r}")
    if len(distinct) == 2:
        return list(words)
    if any(is_number(word) for word in distinct):
        return None  # the error of the reader of numbers names the one that is not a number
    if 2 < len(distinct) <= _MOST:
        return list(words)
    shown = ", ".join(map(repr, distinct[:_SHOWN])) + (", …" if len(distinct) > _SHOWN else "")
    raise ValueError(
        f"{source.path}: column {name!r} has the words {shown} ({len(distinct)} different ones), but labels must be "
        f"numbers or 2 to {_MOST} classes"
    )


def _numeral(value: float) -> str:
    """Return a number in its usual notation, with all its digits.

    >>> _numeral(1.0), _numeral(0.1), _numeral(1700000001.0)
    ('1', '0.1', '1700000001')
    """
    return str(int(value)) if value.is_integer() and abs(value) < 1e16 else repr(value)


def _matching(positive: str, names: list[str]) -> str:
    """Return the class that a word names; "1" and "1.0" are equivalent."""
    same = [name for name in names if is_number(positive) and float(positive) == float(name)]
    return same[0] if same else positive
