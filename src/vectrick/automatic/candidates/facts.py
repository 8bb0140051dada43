"""Facts about the vertices of a side: kernel matrix, features or strings, and the range of their values."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from vectrick._typing import Array
from vectrick.data import VertexTable
from vectrick.data.files.columns import kind_of_words
from vectrick.data.pairs import Pairs
from vectrick.data.strings.table import kind_of_strings


@dataclass(frozen=True)
class SideFacts:
    """Facts about the table of the vertices of one side.

    Attributes
    ----------
    name : str
        "start" or "end".
    kind : str
        "kernel" if the table is a matrix of similarities between its own vertices, "smiles" or "sequence" if the
        vertices are strings, "text", "pairs", "mixed" if there are columns of numbers and of strings, else "features".
    n_vertices, n_features : int
        The numbers of vertices that have edges, and of columns.
    is_sparse, is_binary, is_negative : bool
        Whether the table is sparse, holds zeros and ones only, and has negative numbers.
    is_constant : bool
        Whether all vertices have the same features, so that nothing can be learned from them.
    """

    name: str
    kind: str
    n_vertices: int
    n_features: int
    is_sparse: bool
    is_binary: bool
    is_negative: bool
    is_constant: bool

    @property
    def is_text(self) -> bool:
        """Whether vertices are strings."""
        return self.kind in ("smiles", "sequence", "text")

    @classmethod
    def of(cls, name: str, table: VertexTable, used: Array) -> "SideFacts":
        """Return the facts about the vertices of a side that have edges."""
        features: Any = table.features[used]
        values = features.data if issparse(features) else features
        kind = "kernel" if table.looks_like_kernel else "features"
        if isinstance(table, Pairs):
            kind = "pairs"
        elif table.text is not None:
            strings = table.take(used).strings
            kind = "text" if kind_of_words(strings, table.text) == "text" else kind_of_strings(strings, table.text)
        elif table.string_columns:
            kind = "mixed"
        is_constant = len(used) < 2 or (abs(features - features[[0] * len(used)]).max() == 0)
        return cls(
            name, kind, len(used), table.n_features, issparse(features), bool(np.isin(values, (0, 1)).all()),
            bool(values.size and values.min() < 0), bool(is_constant),
        )  # fmt: skip

    def __str__(self) -> str:
        if self.kind == "kernel":
            return f"{self.n_vertices} {self.name} vertices with a kernel matrix"
        if self.is_text:
            what = {"smiles": "molecules", "sequence": "sequences", "text": "texts"}[self.kind]
            return f"{self.n_vertices} {self.name} vertices that are {what}"
        if self.kind == "pairs":
            return f"{self.n_vertices} {self.name} vertices that are pairs"
        if self.kind == "mixed":
            return f"{self.n_vertices} {self.name} vertices with {self.n_features} columns of numbers and strings"
        words = ["sparse"] * self.is_sparse + ["binary"] * self.is_binary
        return f"{self.n_vertices} {self.name} vertices with {' '.join([str(self.n_features), *words])} features"
