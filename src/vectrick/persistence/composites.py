"""Files of composite models: each part is stored as in a file of its own, and shared arrays are stored once."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from vectrick._typing import Array, Frame
from vectrick.persistence.checks import Tensors, of_kind, plain
from vectrick.persistence.container import ModelFileError
from vectrick.training.fitted import KeepsEdges

_DEEPEST = 3  # levels of nested parts


class Composite(KeepsEdges, Protocol):
    """A fitted model that consists of other models, as its file stores it."""

    @property
    def _file_parts(self) -> list[Any]:
        """The models in the file."""

    def _file_state(self) -> dict[str, Any]:
        """Return the attributes that cannot be derived from these models."""


def put_parts(parts: list[tuple[dict[str, Any], Tensors]], tensors: Tensors) -> list[dict[str, Any]]:
    """Add the arrays of parts to the arrays of the whole, and return the headers of the parts.

    Each header has the names of its arrays. Arrays that the first part has as well, above all the tables, are stored
    once.
    """
    headers = []
    for number, (header, own) in enumerate(parts):
        names = {}
        for name, tensor in own.items():
            first = parts[0][1].get(name)
            place = f"part.{0 if is_same(tensor, first) else number}.{name}"
            names[name] = place
            tensors[place] = tensor
        headers.append({**header, "about": {}, "tensors": names})
    return headers


def read_parts(
    headers: Any, tensors: Tensors, made_again: Callable[[dict[str, Any], Tensors, int], Any], depth: int
) -> list[Any]:
    """Return the parts that headers and arrays describe."""
    if depth >= _DEEPEST:
        raise ModelFileError("the models are nested more deeply than vectrick writes them")
    parts = []
    for header in of_kind(list, headers):
        own = {of_kind(str, name): tensors[place] for name, place in of_kind(dict, header["tensors"]).items()}
        parts.append(made_again(header, own, depth + 1))
    if not parts:
        raise ValueError("there are no parts")
    return parts


def frame_header(frame: Frame) -> dict[str, list[Any]]:
    """Return a pandas frame of numbers, text and booleans as JSON."""
    columns: dict[str, list[Any]] = {str(name): frame[name].tolist() for name in frame.columns}
    return columns


def read_frame(header: Any) -> Frame:
    """Return a pandas frame from JSON."""
    import pandas as pd

    columns = {of_kind(str, name): [plain(value) for value in values] for name, values in of_kind(dict, header).items()}
    if len({len(values) for values in columns.values()}) > 1:
        raise ValueError("the columns of a table have different lengths")
    return pd.DataFrame(columns)


def is_same(tensor: Array, other: Array | None) -> bool:
    """Whether two arrays have the same type and values."""
    return other is not None and tensor.dtype == other.dtype and np.array_equal(tensor, other)
