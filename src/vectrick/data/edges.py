"""``Edges``: pairs of start and end vertices, with the two tables that describe the vertices."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import issparse

from vectrick._html import html_block, html_note, html_table
from vectrick._typing import Array, ArrayLike, Device, Frame, Index, Table
from vectrick.backends import Backend, as_backend, backend_of, common_backend
from vectrick.backends.arrays import placed, to_host, unmasked
from vectrick.data.named import are_frames, eager_frame, named_table, pairs_of
from vectrick.data.tables import VertexTable

_SHOWN = 5  # edges in a notebook


class Edges:
    """Edges of a bipartite graph; one row is one edge, and slicing shares the tables.

    Edges take 8 bytes each; slices take O(selected edges), because the tables are shared.

    Parameters
    ----------
    start, end : array
        The start and the end vertex of each edge: ids if the table has ids, else positions. Integers are ids if some
        ids of the table are integers (such as the index of a pandas frame that was sorted) or numerals such as "7".
        They are positions if all ids are other strings.
    start_features, end_features : array, tensor, SciPy sparse matrix, pandas or polars frame
        One row for each vertex. ``end_features=None`` means that both ends come from one vertex set. For a precomputed
        kernel, row i holds the kernel values between vertex i and all vertices of the table.
    start_ids, end_ids : array, optional
        Ids of the rows. Default: the column "id" of a frame, else the index of a pandas frame, else none.
    positions : bool
        Whether ``start`` and ``end`` are positions, even if the tables have ids.
    invalid : "error" (or "raise"), or "skip"
        How to treat vertices whose SMILES string or sequence is missing or cannot be read. "skip" leaves them out, with
        their edges, and warns with their number; the mask ``kept`` selects the labels: ``model.fit(X, y[X.kept])``.
        With "error", a kernel raises an error when it reads them.
    impute : "median", optional
        How to fill missing numbers in frames: with the median of the column, and with a feature such as "age is
        missing" beside it. A model fills tables for predictions with the same medians. Default: an error.

    Attributes
    ----------
    kept : array of bool
        Which of the given edges were kept; only with ``invalid="skip"``.
    start, end : array
        The positions of the vertices of each edge: ``X.start_table.features[X.start]`` holds their features. A mask
        over vertices gives a mask over edges: ``X[~held[X.start]]`` leaves out the edges of held-out start vertices.
    start_table, end_table : VertexTable
        The tables, with ``features`` and ``ids``; one object if both ends come from one vertex set.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> X = vt.Edges([0, 1, 1], [2, 0, 1], np.eye(2), np.eye(3))
    >>> X.shape, X[X.start == 1].end
    ((3, 2), array([0, 1], dtype=int32))
    >>> vt.Edges(["a", "b"], ["b", "a"], np.eye(2), start_ids=["a", "b"])
    <2 edges between 2 vertices of one set>
    """

    def __init__(
        self,
        start: ArrayLike,
        end: ArrayLike,
        start_features: Table,
        end_features: Table = None,
        *,
        start_ids: ArrayLike | None = None,
        end_ids: ArrayLike | None = None,
        positions: bool = False,
        invalid: str = "error",
        impute: str | None = None,
    ) -> None:
        gaps = _skips(invalid)
        self.start_table = _table_of(start_features, "start_features", start_ids, gaps=gaps, impute=impute)
        if end_features is None:
            if end_ids is not None:
                raise ValueError("end_ids is given, but end_features is None: both ends share the start table")
            self.end_table = self.start_table
        else:
            self.end_table = _table_of(end_features, "end_features", end_ids, gaps=gaps, impute=impute)
        self.start: Any = _rows_of(self.start_table, start, "start", positions)
        self.end: Any = _rows_of(self.end_table, end, "end", positions)
        if len(self.start) != len(self.end):
            raise ValueError(f"start has length {len(self.start)} and end has {len(self.end)}, but an edge has both")
        if gaps:
            self._skip_unreadable()
        self._settle_device()

    def _settle_device(self) -> None:
        """Move everything to the device of the tensors, if there are any; all tensors must be on one device."""
        named = {
            "start": self.start,
            "end": self.end,
            "start_features": self.start_table.features,
            "end_features": self.end_table.features,
        }
        advice = "the tensors are on different devices: {}; move them to one of them with .to()"
        self.__dict__ = self.on(common_backend(named, advice)).__dict__

    @classmethod
    def _of(cls, start: ArrayLike, end: Array, start_table: VertexTable, end_table: VertexTable) -> "Edges":
        """Make edges from checked positions and tables."""
        edges = cls.__new__(cls)
        edges.start, edges.end, edges.start_table, edges.end_table = start, end, start_table, end_table
        return edges

    def _skip_unreadable(self) -> None:
        """Leave out vertices whose strings cannot be read, and their edges."""
        from vectrick.data.strings.readable import readable_part  # needs RDKit for molecules

        first, of_start = readable_part(self.start_table)
        second, of_end = (first, of_start) if self.is_one_set else readable_part(self.end_table)
        start, end = of_start[to_host(self.start)], of_end[to_host(self.end)]
        self.kept, self._readable = (start >= 0) & (end >= 0), (of_start >= 0, of_end >= 0)
        self.start_table, self.end_table = first, second
        self.start, self.end = start[self.kept].astype(np.int32), end[self.kept].astype(np.int32)

    def settled(self) -> "Edges":
        """Return the same edges with the note that several models with different kernels need all columns."""
        first = self.start_table.settled()
        return self.with_tables(first, first if self.is_one_set else self.end_table.settled())

    def with_tables(self, start_table: VertexTable, end_table: VertexTable) -> "Edges":
        """Return the same edges with other tables of the same vertices."""
        return Edges._of(self.start, self.end, start_table, end_table)

    @classmethod
    def from_frame(
        cls,
        frame: Frame,
        *,
        start: "str | Sequence[str]" = "start",
        end: "str | Sequence[str]" = "end",
        start_table: Table,
        end_table: Table = None,
        start_id: str | None = None,
        end_id: str | None = None,
        invalid: str = "error",
        impute: str | None = None,
    ) -> "Edges":
        """Make edges from a pandas or polars frame whose columns ``start`` and ``end`` hold ids.

        A table holds the features of the vertices. Its ids are in its column ``start_id`` or ``end_id``; by default in
        the column with the same name as in the edges, else in the column "id", else in the index of a pandas frame. If
        a column could hold the ids, the default index 0, 1, 2, … of pandas raises an error, unless the index has a name
        (``table.rename_axis("movie")``). ``end_table=None`` means that both ends share one table. Two columns,
        ``start=["drug_a", "drug_b"]``, make vertices that are `Pairs`, of one table or of a tuple of two. A list of
        tables, ``start_table=[drugs, embeddings]``, is joined by ids; the first one has the vertices. With
        ``invalid="skip"``, vertices whose strings cannot be read are left out with their edges, and the mask ``kept``
        selects the labels. ``impute="median"`` fills missing numbers, and marks them in further features.

        >>> import pandas as pd, vectrick as vt
        >>> drugs = pd.DataFrame({"weight": [1.0, 2.0]}, index=["aspirin", "caffeine"])
        >>> targets = pd.DataFrame({"uniprot": ["P1", "P2"], "length": [3.0, 4.0]})
        >>> df = pd.DataFrame({"drug": ["caffeine", "aspirin"], "target": ["P1", "P1"]})
        >>> columns = {"start": "drug", "end": "target", "end_id": "uniprot"}
        >>> vt.Edges.from_frame(df, **columns, start_table=drugs, end_table=targets).start
        array([1, 0], dtype=int32)
        """
        gaps = _skips(invalid)
        edges = eager_frame(frame, "frame")
        for argument, given in (("start", start), ("end", end)):
            for column in [given] if isinstance(given, str) or not isinstance(given, list | tuple) else given:
                if column not in edges.columns:
                    known = ", ".join(map(str, edges.columns))
                    raise ValueError(f"{argument} is {given!r}, but the frame has the columns {known}")
        how: dict[str, Any] = {"gaps": gaps, "impute": impute}
        if isinstance(start, list | tuple) or isinstance(end, list | tuple):
            first, rows = pairs_of(edges, "start", start, start_table, start_id, **how)
            second, others = pairs_of(edges, "end", end, end_table, end_id, **how)
            return cls._of(rows, others, first, second)
        one_set = end_table is None or end_table is start_table
        if one_set and None not in (start_id, end_id) and end_id != start_id:
            raise ValueError(
                f"end_id is {end_id!r}, but both ends share the start table, whose ids are in {start_id!r}"
            )
        start_id = end_id if one_set and start_id is None else start_id
        names: Any = (start, end)
        ids = [edges.get_column(column).to_numpy() for column in names]
        of_first = np.concatenate([np.asarray(part, object) for part in ids]) if one_set else ids[0]
        first = named_table(start_table, "start_table", names[0], start_id, of_first, **how)
        second = first if one_set else named_table(end_table, "end_table", names[1], end_id, ids[1], **how)
        found = cls._of(first.positions(ids[0], names[0]), second.positions(ids[1], names[1]), first, second)
        if gaps:
            found._skip_unreadable()
        return found

    @classmethod
    def grid(
        cls,
        start_features: Table,
        end_features: Table = None,
        *,
        start_ids: ArrayLike | None = None,
        end_ids: ArrayLike | None = None,
        invalid: str = "error",
        impute: str | None = None,
    ) -> "Edges":
        """Return all pairs as edges, the complete graph: edge ``i * n_end + j`` joins start vertex i and end vertex j.

        >>> import numpy as np, vectrick as vt
        >>> vt.Edges.grid(np.eye(2), np.eye(3)).end
        array([0, 1, 2, 0, 1, 2], dtype=int32)
        """
        none = np.empty(0, np.int32)
        how: dict[str, Any] = {"invalid": invalid, "impute": impute}
        empty = cls(none, none, start_features, end_features, start_ids=start_ids, end_ids=end_ids, **how)
        first, second = empty.start_table, empty.end_table
        start, end = (np.arange(len(table), dtype=np.int32) for table in (first, second))
        edges = cls._of(np.repeat(start, len(end)), np.tile(end, len(start)), first, second)
        if invalid == "skip":
            edges.kept = np.logical_and.outer(*empty._readable).ravel()
        edges._settle_device()
        return edges

    @property
    def shape(self) -> tuple[int, int]:
        """The number of edges, and 2."""
        return len(self.start), 2

    @property
    def is_one_set(self) -> bool:
        """Whether both ends come from one vertex set."""
        return self.start_table is self.end_table

    def count(self) -> int:
        """Return the number of edges."""
        return len(self)

    def degrees(self) -> tuple[Array, Array]:
        """Return the number of edges of each start and of each end vertex."""
        pairs = zip((self.start, self.end), (self.start_table, self.end_table), strict=True)
        start, end = (np.bincount(to_host(vertices), minlength=len(table)) for vertices, table in pairs)
        return start, end

    def __len__(self) -> int:
        return len(self.start)

    def __getitem__(self, key: Index) -> "Edges":
        """Return the edges that a mask, positions or a slice selects; ``X[key, ...]`` is equivalent."""
        if isinstance(key, tuple):
            if len(key) != 2 or (key[1] is not Ellipsis and key[1] != slice(None)):
                raise IndexError(f"edges were indexed with {key!r}, but only rows can be selected, as in X[mask]")
            key = key[0]
        key = unmasked(key, "the index of edges")
        key = self.backend.index(key, len(self))
        start, end = self.start[key], self.end[key]
        if start.ndim == 0:
            start, end = start.reshape(1), end.reshape(1)
        return Edges._of(start, end, self.start_table, self.end_table)

    @property
    def device(self) -> Any:
        """The torch device of the positions; None if they are NumPy arrays."""
        return self.backend.device

    @property
    def backend(self) -> Backend:
        """The backend of the positions."""
        return backend_of(self.start)

    def on(self, device: Device) -> "Edges":
        """Return the edges as tensors on a torch device, or as NumPy arrays for None; the copy takes O(n).

        Estimators with ``backend="torch"`` do this in each call. For edges that are used often, do it once yourself.
        """
        backend = as_backend(device)
        tables = [table for table in (self.start_table, self.end_table) if not issparse(table.features)]
        if all(backend.owns(array) for array in (self.start, self.end, *(table.features for table in tables))):
            return self
        first = self.start_table.on(backend)
        second = first if self.is_one_set else self.end_table.on(backend)
        return Edges._of(placed(self.start, backend), placed(self.end, backend), first, second)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(
            "Edges are not an array: pass them to vectrick's estimators directly, or use X.start, X.end and the tables "
            "X.start_table.features, X.end_table.features. To scale features, use vt.Standardized(kernel) instead "
            "of a StandardScaler in a pipeline"
        )

    def __repr__(self) -> str:
        n_start, n_end = len(self.start_table), len(self.end_table)
        between = f"{n_start} vertices of one set" if self.is_one_set else f"{n_start} start and {n_end} end vertices"
        return f"<{len(self)} edges between {between}>"

    def _repr_html_(self) -> str:
        """Return the tables and the first edges, for a notebook."""
        sides = [("start", self.start_table, self.start), ("end", self.end_table, self.end)]
        if self.is_one_set:
            sides = [("both", self.start_table, np.concatenate([to_host(self.start), to_host(self.end)]))]
        about = []
        for side, table, vertices in sides:
            what = "strings" if table.text is not None else f"{table.n_features:,} features"
            what = f"a matrix of {len(table):,} × {len(table):,}" if table.looks_like_kernel else what
            about.append(
                [side, len(table), len(np.unique(to_host(vertices))), what, "yes" if table.has_names else "no"]
            )
        first = [
            rows if table.ids is None else np.asarray(table.ids)[rows]
            for table, rows in (
                (self.start_table, to_host(self.start)[:_SHOWN]),
                (self.end_table, to_host(self.end)[:_SHOWN]),
            )
        ]
        rows = [[str(start), str(end)] for start, end in zip(*first, strict=True)]
        rest = f"and {len(self) - len(rows):,} more" if len(self) > len(rows) else ""
        return html_block(
            repr(self)[1:-1],
            html_table(["vertices", "number", "with edges", "described by", "ids"], about),
            html_table(["start", "end"], rows),
            html_note(rest),
        )


# The types of X in estimators: edges, or a plain array of concatenated features with ``n_start_features``.
EdgesLike: TypeAlias = Edges | ArrayLike


def _skips(invalid: str) -> bool:
    if invalid not in ("error", "raise", "skip"):
        raise ValueError(f"invalid is {invalid!r}, but it must be 'error' or 'skip'")
    return invalid == "skip"


def _table_of(features: Table, name: str, ids: ArrayLike | None, **how: Any) -> VertexTable:
    """Return features as a table; a table without new ids is used as it is."""
    if isinstance(features, VertexTable) and ids is None:
        return features
    if are_frames(features) and ids is None:
        return named_table(features, name, "", None, None, **how)
    return VertexTable(features, name, ids, **how)


def _rows_of(table: VertexTable, vertices: ArrayLike, argument: str, positions: bool) -> Any:
    return table.rows(vertices, argument) if positions else table.positions(vertices, argument, or_rows=True)
