"""A lake folder: a folder ``edges`` of Parquet files beside the two vertex tables of a dataset folder."""

import itertools
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from vectrick.data.files.dataset import Labeled
from vectrick.data.files.folder import TABLES, choose_table, read_vertices
from vectrick.data.lake.ids import IdTypeError
from vectrick.data.lake.scan import ScannedEdges, scan_edges
from vectrick.data.lake.source import LakeError
from vectrick.data.strings.files import KINDS, read_strings
from vectrick.data.tables import VertexTable

_LOOKED_AT = 64  # row groups whose labels say whether there are classes


@dataclass(frozen=True)
class LakeDataset(Labeled):
    """A lake that was scanned, as commands see a data set: ``classes`` is what a look at the first labels says."""

    X: ScannedEdges
    label: str
    kinds: dict[str, str]
    classes: tuple[str, ...] | None
    files: dict[str, Path] = field(default_factory=dict)
    medians: dict[str, dict[str, float]] = field(default_factory=dict)


def edges_of_lake(folder: Path | None, edges: Path | None) -> str | None:
    """Return where the edges of a lake are, or None if the edges are a file of a dataset folder."""
    if edges is not None:
        address = str(edges)
        if "://" in address or ":/" in address:  # a path has one slash less
            return address if "://" in address else address.replace(":/", "://", 1)
        return address if edges.is_dir() else None
    return str(folder / "edges") if folder is not None and (folder / "edges").is_dir() else None


def read_lake_folder(
    edges: str,
    folder: Path | None = None,
    *,
    start_features: Path | None = None,
    end_features: Path | None = None,
    start_matrix: Path | None = None,
    end_matrix: Path | None = None,
    start_smiles: Path | None = None,
    end_smiles: Path | None = None,
    start_sequences: Path | None = None,
    end_sequences: Path | None = None,
    start_column: str = "start",
    end_column: str = "end",
    label_column: str = "label",
    start_id_column: str | None = None,
    end_id_column: str | None = None,
    impute: str | None = None,
    skip_invalid: bool = False,
    **scan: Any,
) -> LakeDataset:
    """Scan a lake: its edges, and the tables of its vertices, which are read."""
    given = {
        "start": dict(zip(TABLES, (start_features, start_matrix, start_smiles, start_sequences), strict=True)),
        "end": dict(zip(TABLES, (end_features, end_matrix, end_smiles, end_sequences), strict=True)),
    }
    columns = {"start": (start_id_column, start_column), "end": (end_id_column, end_column)}
    files: dict[str, Path] = {}
    kinds: dict[str, str] = {}
    tables: dict[str, VertexTable] = {}
    for side, named in given.items():
        chosen = choose_table(folder, side, named)
        if chosen is None:
            continue
        kinds[side], files[side] = chosen
        id_column, usual = columns[side]
        if kinds[side] in KINDS:
            tables[side] = read_strings(files[side], side, kinds[side], id_column, usual, skip_invalid)
        else:
            tables[side] = read_vertices(files[side], side, kinds[side], id_column, usual, impute=impute)
    if "start" not in tables:
        raise FileNotFoundError(
            f"{folder or edges} says nothing about its start vertices: a lake folder has edges/, start_features and "
            "end_features"
        )
    kinds.setdefault("end", kinds["start"])
    medians = {side: table.medians for side, table in tables.items() if table.medians}
    X = scan_lake(
        edges, tables["start"], tables.get("end"), start=start_column, end=end_column, label=label_column, **scan
    )
    return LakeDataset(X, label_column, kinds, _first_classes(X), files, medians)


def scan_lake(edges: str, first: VertexTable, second: VertexTable | None, **scan: Any) -> ScannedEdges:
    """Scan edges whose vertices were read from files or models, where ids are text; numerals may be numbers here."""
    try:
        return scan_edges(edges, start_table=first, end_table=second, **scan)
    except IdTypeError as error:
        # One column may hold text while the other holds numbers.
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
    changed = VertexTable(table.features, table.name, np.array(numbers, np.int64))
    changed.columns, changed.medians, changed.origin = table.columns, table.medians, table.origin
    return changed


def _first_classes(X: ScannedEdges) -> tuple[str, ...] | None:
    """Return the labels if those of some row groups of all partitions are two classes or truth values, else None."""
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
