"""A lake folder: a folder ``edges`` of Parquet files, and the two vertex tables of a dataset folder."""

import copy
import itertools
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from vectrick.data.files.dataset import Labeled, ReadOptions
from vectrick.data.files.folder import choose_table, read_side
from vectrick.data.lake.ids import IdTypeError
from vectrick.data.lake.scan import ScannedEdges, scan_edges
from vectrick.data.lake.source import LakeError
from vectrick.data.tables import VertexTable

_LOOKED_AT = 64  # row groups whose labels decide whether there are classes


@dataclass(frozen=True)
class LakeDataset(Labeled):
    """A scanned lake with the attributes of a data set; ``classes`` is derived from the first labels."""

    X: ScannedEdges
    label: str
    kinds: dict[str, str]
    classes: tuple[str, ...] | None
    files: dict[str, Path] = field(default_factory=dict)
    medians: dict[str, dict[str, float]] = field(default_factory=dict)


def edges_of_lake(folder: Path | None, edges: Path | None) -> str | None:
    """Return the address of the edges of a lake, or None if the edges are a file of a dataset folder."""
    if edges is not None:
        address = str(edges)
        if "://" in address or ":/" in address:  # a path has one slash less
            return address if "://" in address else address.replace(":/", "://", 1)
        return address if edges.is_dir() else None
    return str(folder / "edges") if folder is not None and (folder / "edges").is_dir() else None


def read_lake_folder(
    edges: str, folder: Path | None = None, options: ReadOptions | None = None, **scan: Any
) -> LakeDataset:
    """Scan the edges of a lake and read the tables of its vertices; ``scan`` holds arguments of `scan_edges`."""
    options = ReadOptions() if options is None else options
    files: dict[str, Path] = {}
    kinds: dict[str, str] = {}
    tables: dict[str, VertexTable] = {}
    for side, named in options.tables.items():
        chosen = choose_table(folder, side, named)
        if chosen is not None:
            kinds[side], files[side] = chosen
            tables[side] = read_side(files[side], side, kinds[side], options)
    if "start" not in tables:
        raise FileNotFoundError(
            f"{folder or edges} has no table of its start vertices: a lake folder has edges/, start_features and "
            "end_features"
        )
    kinds.setdefault("end", kinds["start"])
    medians = {side: dict(table.medians) for side, table in tables.items() if table.medians}
    scan |= {"start": options.start_column, "end": options.end_column, "label": options.label_column}
    X = scan_lake(edges, tables["start"], tables.get("end"), **scan)
    return LakeDataset(X, options.label_column, kinds, _first_classes(X), files, medians)


def scan_lake(edges: str, first: VertexTable, second: VertexTable | None, **scan: Any) -> ScannedEdges:
    """Scan edges with vertices from files or models, whose ids are text; the lake may hold numerals as numbers."""
    try:
        return scan_edges(edges, start_table=first, end_table=second, **scan)
    except IdTypeError as error:
        # One column may hold text and the other one numbers.
        table = first if error.column == scan["start"] else second
        changed = None if table is None else _with_numbers(table)
        if changed is None or changed is table:
            raise
        pair = (changed, None if second is None else second) if table is first else (first, changed)
        return scan_lake(edges, *pair, **scan)


def _with_numbers(table: VertexTable) -> VertexTable:
    """Return a table whose ids are numbers, if all of them are whole numbers in their usual form."""
    words = [] if table.ids is None else [str(word) for word in table.ids.tolist()]
    try:
        numbers = [int(word) for word in words]
    except ValueError:
        return table
    if not numbers or [str(number) for number in numbers] != words:
        return table
    changed = copy.copy(table)
    changed.ids = np.array(numbers, np.int64)
    return changed


def _first_classes(X: ScannedEdges) -> tuple[str, ...] | None:
    """Return the classes if the first row groups of all partitions have at most two different labels, else None."""
    found: set[Any] = set()
    for number in range(X.n_partitions):
        groups = X.reader.source.read(number, [X.reader.label])
        for _, table in itertools.islice(groups, max(1, _LOOKED_AT // X.n_partitions)):
            values = table.column(0).unique().drop_null()
            found.update(values.to_pylist() if len(values) <= 2 else range(3))
            if len(found) > 2:
                return None
    if not found:
        raise LakeError(f"{X.reader.source.name} has no edges with a label in column {X.reader.label!r}")
    return tuple(map(str, sorted(found)))
