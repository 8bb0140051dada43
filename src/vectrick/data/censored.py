"""Labels that are bounds: measurements such as "> 10000" that limit the true value on one side only."""

from typing import Any

import numpy as np

from vectrick._typing import Array, ArrayLike

CENSORED = np.dtype([("value", np.float64), ("bound", np.int8)])
_LOWER, _UPPER, _EQUAL = (">", ">=", "≥", ">>"), ("<", "<=", "≤", "<<"), ("=", "==", "~", "≈", "")
_SIGNS = dict.fromkeys(_LOWER, 1) | dict.fromkeys(_UPPER, -1) | dict.fromkeys(_EQUAL, 0)


def with_bounds(labels: Array) -> Array:
    """Return labels as records with bounds; plain labels are taken as values."""
    return labels if labels.dtype == CENSORED else censored(labels, np.zeros(len(labels)))


def censored(values: ArrayLike, relation: ArrayLike) -> Array:
    """Return labels that may be bounds, for ``KronRidge(loss="censored")``.

    Parameters
    ----------
    values : array
        Numbers.
    relation : array
        The type of each number: ">" or 1 for a lower bound of the true value, "<" or -1 for an upper bound, "=" or 0
        for the value.

    Returns
    -------
    array
        A NumPy array of records with the fields "value" and "bound". It can be sliced and split like other arrays.

    Examples
    --------
    >>> import vectrick as vt
    >>> y = vt.censored([5.1, 7.3], ["<", "="])
    >>> y["bound"]
    array([-1,  0], dtype=int8)
    """
    numbers = np.asarray(values, np.float64)
    given = np.asarray(relation)
    if numbers.ndim != 1 or given.shape != numbers.shape:
        raise ValueError(
            f"values has shape {numbers.shape} and relation {given.shape}, but both must be vectors of one length"
        )
    out = np.empty(len(numbers), CENSORED)
    out["value"], out["bound"] = numbers, signs_of(given)
    return out


def signs_of(relation: Array) -> Array:
    """Return 1 for lower bounds, -1 for upper bounds, 0 for values."""
    if relation.dtype.kind in "iuf":
        wrong = np.flatnonzero(~np.isin(relation, (-1, 0, 1)))
        signs = relation
    else:
        found = [_SIGNS.get(str(word).strip()) for word in relation.tolist()]
        wrong = np.array([at for at, sign in enumerate(found) if sign is None], np.int64)
        signs = np.array([sign or 0 for sign in found])
    if len(wrong):
        at = int(wrong[0])
        raise ValueError(f"relation[{at}] is {relation.tolist()[at]!r}, but it must be '<', '>' or '=' (-1, 1 or 0)")
    return signs.astype(np.int8)


def split_bounds(y: ArrayLike | None) -> tuple[Any, Array | None]:
    """Return labels as numbers, and their bounds; the bounds of plain labels are None."""
    if isinstance(y, np.ndarray) and y.dtype.names is not None:
        if y.dtype.names != CENSORED.names:
            raise ValueError(
                f"y has the fields {', '.join(y.dtype.names)}, but labels with fields must be made by vt.censored"
            )
        return np.ascontiguousarray(y["value"]), np.ascontiguousarray(y["bound"])
    return y, None


def refuse_bounds(y: ArrayLike, what: str) -> None:
    """Raise an error if labels have bounds; ``what`` names the part that takes values only."""
    if split_bounds(y)[1] is not None:
        raise ValueError(
            f"y has bounds (vt.censored), but {what} takes values only; pass y['value'], or leave out edges with bounds"
        )


def within_bounds(y: ArrayLike, predictions: ArrayLike) -> tuple[Any, Any]:
    """Return labels as numbers, and predictions; a prediction that satisfies a bound is replaced by the bound."""
    values, bounds = split_bounds(y)
    if bounds is None:
        return y, predictions
    beyond = ((bounds > 0) & (predictions > values)) | ((bounds < 0) & (predictions < values))
    return values, np.where(beyond, values, predictions)
