"""Vertex tables of numbers and strings: one sparse matrix, with a block of characters for each column of strings.

Such a table is sliced, joined, compared and stored like any other sparse table. Only kernels that are bound to columns
(`vectrick.kernels.columns`) take it apart.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack, issparse

from vectrick._typing import Array, Features
from vectrick.backends.arrays import like, namespace, numpy_dtype, to_host
from vectrick.data.strings.table import LONGEST, characters


def with_strings(numbers: Array, strings: Mapping[str, Sequence[str | None]], name: str) -> csr_array:
    """Return numbers and, for each column of strings, a block of characters; missing strings are empty.

    >>> with_strings(np.ones((1, 2)), {"smiles": ["CCO"]}, "drugs").shape
    (1, 65523)
    """
    blocks = [csr_array(np.asarray(numbers, np.float64))]
    for column, words in strings.items():
        blocks.append(characters([word or "" for word in words], f"{name}, column {column!r},"))
    return csr_array(hstack(blocks, "csr"))


def with_column(features: Any, column: Array) -> Any:
    """Return features with a further column."""
    if issparse(features):
        return csr_array(hstack([features, csr_array(np.asarray(column, np.float64)[:, None])], "csr"))
    return namespace(features).hstack([features, like(column, features, numpy_dtype(features))[:, None]])


def block_of(features: Features, n_numbers: int, place: int) -> csr_array:
    """Return the characters of the column of strings number ``place``."""
    first = n_numbers + place * LONGEST
    return csr_array(features[:, first : first + LONGEST])


def numbers_of(features: Features, n_numbers: int, places: Sequence[int]) -> Array:
    """Return some of the columns of numbers, dense."""
    numbers: Any = features[:, :n_numbers]
    return np.asarray(numbers.toarray()[:, list(places)])


def rearranged(features: Any, n_numbers: int, numbers: Sequence[Any], places: Sequence[int]) -> Any:
    """Return other features of the same vertices: columns of numbers (or new ones), and columns of strings by place."""
    is_mixed = features.shape[1] > n_numbers
    if all(isinstance(column, int) for column in numbers) and not is_mixed:
        return features[:, list(numbers)]
    dense = to_host(features[:, :n_numbers].toarray() if issparse(features) else features)
    columns = [dense[:, column] if isinstance(column, int) else column for column in numbers]
    block = np.stack([np.asarray(column, np.float64) for column in columns], axis=1) if columns else dense[:, :0]
    if not places:
        return block
    return csr_array(hstack([csr_array(block), *(block_of(features, n_numbers, place) for place in places)], "csr"))
