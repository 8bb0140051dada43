"""Dataset folders: edges with labels, and a table of features or a kernel matrix for each side, as files with ids."""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from vectrick._typing import Array
from vectrick._warnings import warn
from vectrick.data.edges import Edges
from vectrick.data.files.affinities import check_unit, read_affinities
from vectrick.data.files.columns import TableWarning, read_columns
from vectrick.data.files.dataset import Dataset
from vectrick.data.files.frames import ENDINGS, TableFile
from vectrick.data.files.labels import read_labels
from vectrick.data.strings.files import KINDS, read_strings
from vectrick.data.tables import VertexTable

TABLES = ("features", "kernel", *KINDS)  # what can describe the vertices of a side
_LONG = ("feature", "value")  # the columns of sparse features beside the ids
_SHOWN = 5


def read_dataset(
    folder: Path | str | None = None,
    *,
    edges: Path | str | None = None,
    start_features: Path | str | None = None,
    end_features: Path | str | None = None,
    start_matrix: Path | str | None = None,
    end_matrix: Path | str | None = None,
    start_smiles: Path | str | None = None,
    end_smiles: Path | str | None = None,
    start_sequences: Path | str | None = None,
    end_sequences: Path | str | None = None,
    start_column: str = "start",
    end_column: str = "end",
    label_column: str = "label",
    start_id_column: str | None = None,
    end_id_column: str | None = None,
    positive: str | None = None,
    log: str | None = None,
    relation_column: str | None = None,
    drop_unknown: bool = False,
    skip_unlabeled: bool = False,
    impute: str | None = None,
    skip_invalid: bool = False,
) -> Dataset:
    """Read a dataset folder, or files that are named one by one.

    A folder holds ``edges``, ``start_features`` or ``start_kernel``, and ``end_features`` or ``end_kernel`` (neither of
    these if both ends come from one vertex set), each as CSV or TSV (also gzipped) or Parquet. A table has ids in its
    column "id" (or in the column with the name of the edges' column). The other columns hold numbers, or words, which
    become columns of 0 and 1. A table with the columns id, feature and value is sparse. A kernel matrix also has the
    ids in its header, in the same order. In place of features, ``start_smiles`` or ``end_smiles`` has molecules as
    SMILES strings (a table with ids, or .smi), ``start_sequences`` or ``end_sequences`` sequences (a table, or FASTA).

    Parameters
    ----------
    folder : path, optional
        The folder; files that are named replace those in it.
    edges, start_features, end_features, start_matrix, end_matrix : path, optional
        Files.
    start_smiles, end_smiles, start_sequences, end_sequences : path, optional
        Files of molecules or sequences.
    start_column, end_column, label_column : str
        Names of the columns of the edges.
    start_id_column, end_id_column : str, optional
        Names of the id columns in the tables; by default "id", or the name of the edges' column.
    positive : str, optional
        Which of two classes is the positive one; by default the larger number, a word such as "yes" or "active", or
        the later one in the alphabet.
    log : str, optional
        The unit of labels that are concentrations, "M", "mM", "uM", "nM" or "pM": their negative logarithm in mol/l is
        the label then, 9 - log10 of nM.
    relation_column : str, optional
        A column of the edges that says which labels are bounds: "<", ">" or "=". Labels such as "> 10000" say so
        themselves.
    drop_unknown : bool
        Whether to leave out edges whose ids have no features, in place of an error.
    skip_unlabeled : bool
        Whether to leave out edges without a label, in place of an error.
    impute : "median", optional
        What to fill gaps in tables with, in place of an error.
    skip_invalid : bool
        Whether to leave out molecules and sequences that are invalid, with their edges, in place of an error.
    """
    tables_given = {
        "start": dict(zip(TABLES, (start_features, start_matrix, start_smiles, start_sequences), strict=True)),
        "end": dict(zip(TABLES, (end_features, end_matrix, end_smiles, end_sequences), strict=True)),
    }
    check_unit(log)
    files, kinds = _locate(None if folder is None else Path(folder), edges, tables_given)
    source = TableFile(files["edges"])
    columns = [source.need(start_column, "--start-column"), source.need(end_column, "--end-column")]
    columns.append(source.need(label_column, "--label-column"))
    if relation_column is not None:
        columns.append(source.need(relation_column, "--relation-column"))
    options = ("--start-column", "--end-column", "--label-column", "--relation-column")
    _check_roles(*zip(options, columns, strict=False))
    tables: dict[str, VertexTable] = {}
    for side, given, usual in (("start", start_id_column, start_column), ("end", end_id_column, end_column)):
        if side in files and kinds[side] in KINDS:
            tables[side] = read_strings(files[side], side, kinds[side], given, usual, skip_invalid)
        elif side in files:
            tables[side] = read_vertices(files[side], side, kinds[side], given, usual, impute=impute)
    if "end" not in tables:
        tables["end"] = tables["start"]
    rows = _with_labels(source, source.read(columns, ids=columns[:2]), label_column, skip_unlabeled)
    dropped: list[str] = []
    for side, column in (("start", start_column), ("end", end_column)):
        rows = _without(source, rows, column, tables[side].skipped, dropped)
    measured = read_affinities(source, rows, label_column, log, relation_column)
    bounds = None
    if measured is None:
        y, classes = read_labels(source, rows.column(label_column), label_column, positive)
    elif positive is not None:
        raise ValueError(f"--positive is {positive!r}, but column {label_column!r} has measurements, not two classes")
    else:
        (y, bounds), classes = measured, None
    names = {side: path.name for side, path in files.items()}
    names.setdefault("end", f"{names['start']} (which both ends share, since there is no table of end vertices)")
    start, end = (
        source.positions(rows, column, _as_arrow(tables[side]), names[side],
                         dropped if drop_unknown else None)
        for side, column in (("start", start_column), ("end", end_column))
    )  # fmt: skip
    known = (start >= 0) & (end >= 0)
    if not known.all():
        start, end, y = start[known], end[known], y[known]
        bounds = None if bounds is None else bounds[known]
    X = Edges._of(start, end, tables["start"], tables["end"])
    medians = {side: table.medians for side, table in tables.items() if table.medians}
    return Dataset(X, y, kinds, files, label_column, classes, dropped, medians, bounds)


def read_vertices(
    path: Path | str,
    side: str,
    kind: str,
    id_column: str | None = None,
    usual: str = "id",
    expected: list[Any] | None = None,
    impute: str | None = None,
    medians: dict[str, float] | None = None,
) -> VertexTable:
    """Read a table of features or a kernel matrix; `read_columns` explains how words and gaps are treated.

    Ids are in ``id_column``; by default in the column "id" or ``usual``. ``expected`` are the columns that a model was
    trained with: they are taken by name, in that order. A sparse table may lack some of them. Its other features are
    left out, since nothing was learned about them; vertices that have only such features are refused.
    """
    source = TableFile(path)
    option = f"--{side}-id-column"
    if id_column is not None:
        column = source.need(id_column, option)
    else:
        column = usual if usual in source.columns else source.need("id", option)
    filled: dict[str, float] = {}
    if set(source.columns) == {column, *_LONG}:
        features, ids, names = _read_long(source, column, expected)
    else:
        table = source.read(text=[column])
        ids = source.ids(table, column)
        names = [name for name in source.columns if name != column]
        if not names:
            raise ValueError(f"{source.path} has ids only, but it must have columns with numbers beside them")
        wanted = None if expected is None else [str(name) for name in expected]
        if kind == "kernel":
            features = source.numbers(table, names)
        else:
            features, names, filled = read_columns(source, table, names, wanted, impute, medians)
        if not features.shape[1]:
            raise ValueError(f"{source.path} has no columns with numbers or categories beside its ids")
    if kind == "kernel" and expected is None:
        _check_matrix(source, ids.to_pylist(), names)
    vertices = VertexTable(features, f"{side}_features", np.array(ids.to_pylist(), object))
    vertices.columns, vertices.medians = names, filled
    return vertices


def read_pairs(path: Path | str, start_column: str = "start", end_column: str = "end") -> TableFile:
    """Return a file of edges without labels, after a check of its columns."""
    source = TableFile(path)
    source.need(start_column, "--start-column")
    source.need(end_column, "--end-column")
    _check_roles(("--start-column", start_column), ("--end-column", end_column))
    return source


def _check_roles(*named: tuple[str, str]) -> None:
    """Refuse a column that is named for two roles."""
    for (option, column), (other, same) in itertools.combinations(named, 2):
        if column == same:
            raise ValueError(f"{option} and {other} are both {column!r}, but they must be two columns")


def _locate(
    root: Path | None, edges: Path | str | None, given: dict[str, dict[str, Any]]
) -> tuple[dict[str, Path], dict[str, str]]:
    """Return the files of a data set by their role, and what each side has: features, a kernel or strings."""
    if root is not None and root.is_file():
        raise NotADirectoryError(
            f"{root} is a file, but DATA is a folder; name files with --edges, --start-features or --start-matrix, …"
        )
    if root is not None and not root.is_dir():
        raise FileNotFoundError(f"there is no folder {root}, so there is no data set")
    edge_file = Path(edges) if edges is not None else _find(root, "edges")
    if edge_file is None:
        raise FileNotFoundError(f"{root or 'the data set'} has no edges: a file edges{ENDINGS[0]}, {_endings('edges')}")
    files, kinds = {"edges": edge_file}, {}
    for side, paths in given.items():
        chosen = choose_table(root, side, paths)
        if chosen is not None:
            kinds[side], files[side] = chosen
    if "start" not in files:
        raise FileNotFoundError(
            f"{root or 'the data set'} says nothing about its start vertices: give start_features, start_kernel, "
            "start_smiles or start_sequences"
        )
    kinds.setdefault("end", kinds["start"])
    return files, kinds


def _find(root: Path | None, stem: str, endings: tuple[str, ...] = ENDINGS) -> Path | None:
    """Return the file of that name in a folder, whatever its ending."""
    if root is None:
        return None
    matches = [root / f"{stem}{ending}" for ending in endings if (root / f"{stem}{ending}").exists()]
    if len(matches) > 1:
        both = f"{matches[0].name} and {matches[1].name}"
        raise ValueError(f"{root} has both {both}; remove one, or name the file to use")
    return matches[0] if matches else None


def choose_table(root: Path | None, side: str, paths: dict[str, Any]) -> tuple[str, Path] | None:
    """Return the kind and the path of the file that describes the vertices of a side."""
    named = [(kind, Path(path)) for kind, path in paths.items() if path is not None]
    if not named:
        endings = {kind: (*ENDINGS, *KINDS[kind].endings) if kind in KINDS else ENDINGS for kind in TABLES}
        matches = [(kind, _find(root, f"{side}_{kind}", endings[kind])) for kind in TABLES]
        named = [(kind, path) for kind, path in matches if path is not None]
    if len(named) > 1:
        raise ValueError(
            f"there are both {named[0][1].name} and {named[1][1].name}, but the {side} vertices have one table; name "
            f"it with --{side}-features, --{side}-matrix, --{side}-smiles or --{side}-sequences"
        )
    return named[0] if named else None


def _without(source: TableFile, rows: Any, column: str, ids: Sequence[str], dropped: list[str]) -> Any:
    """Return the rows without those of vertices that were left out, and say how many there were."""
    if not ids:
        return rows
    import pyarrow as pa
    from pyarrow import compute

    out = compute.is_in(compute.cast(rows.column(column), pa.string()), value_set=pa.array(ids, pa.string()))
    count = int(compute.sum(out).as_py() or 0)
    if count == rows.num_rows:
        raise ValueError(f"{source.path}: every edge has an invalid vertex in column {column!r}")
    if count:
        dropped.append(f"{count} of {rows.num_rows} edges have an invalid vertex in column {column!r}")
        warn(f"{dropped[-1]}, and were left out", TableWarning)
    return rows.filter(compute.invert(out))


def _endings(stem: str) -> str:
    return " or ".join(f"{stem}{ending}" for ending in ENDINGS[1:])


def _read_long(source: TableFile, id_column: str, expected: list[Any] | None) -> tuple[csr_array, Any, list[str]]:
    """Return sparse features, the ids and the names of the features of a table of id, feature and value."""
    import pyarrow as pa

    table = source.read(ids=[id_column, "feature"])
    coded = {name: table.column(name).unify_dictionaries().combine_chunks() for name in (id_column, "feature")}
    for name, column in coded.items():
        source._check_ids(column, name)
    values = source.vector(table.column("value"), "value")
    rows, columns = (coded[name].indices.to_numpy().astype(np.int64) for name in (id_column, "feature"))
    ids, names = coded[id_column].dictionary, coded["feature"].dictionary.to_pylist()
    twice = len(np.unique(rows * max(1, len(names)) + columns)) < len(rows)
    if twice:
        raise ValueError(f"{source.path} has some feature of some vertex more than once")
    if expected is not None:
        place = {str(name): number for number, name in enumerate(expected)}
        where = np.array([place.get(name, -1) for name in names])[columns]
        rows, columns, values, names = rows[where >= 0], where[where >= 0], values[where >= 0], list(expected)
        _refuse_strangers(source, ids, rows)
    shape = (len(ids), len(names))
    return csr_array((values, (rows, columns)), shape), pa.array(ids.to_pylist(), pa.string()), names


def _refuse_strangers(source: TableFile, ids: Any, rows: Array) -> None:
    """Refuse vertices without any feature that the model knows: their predictions would mean nothing."""
    strangers = np.setdiff1d(np.arange(len(ids)), rows)
    if len(strangers):
        shown = ", ".join(repr(ids[int(row)].as_py()) for row in strangers[:_SHOWN])
        raise ValueError(
            f"{source.path} has {len(strangers)} vertices without any feature that the model was trained with: {shown}"
            f"{', …' if len(strangers) > _SHOWN else ''}; leave them out, or look at the names of the features"
        )


def _with_labels(source: TableFile, rows: Any, name: str, skip: bool) -> Any:
    """Return the rows that have a label; say how many have none, or refuse them."""
    import pyarrow as pa
    from pyarrow import compute

    values = rows.column(name)
    empty = compute.is_null(values, nan_is_null=True)
    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        empty = compute.or_(empty, compute.equal(compute.fill_null(values.cast(pa.string()), ""), ""))
    without = np.flatnonzero(empty.to_numpy())
    if not len(without):
        return rows
    if not skip:
        raise ValueError(
            f"{source.path}: row {without[0] + 1}, column {name!r} is empty, but each edge needs a label "
            f"({len(without)} of {len(empty)} edges have none); --skip-unlabeled leaves these edges out"
        )
    if len(without) == len(empty):
        raise ValueError(f"{source.path}: no edge has a label in column {name!r}")
    warn(f"{len(without)} of {len(empty)} edges have no label, and were left out", TableWarning)
    return rows.filter(compute.invert(empty))


def _check_matrix(source: TableFile, ids: list[str], names: list[str]) -> None:
    """Refuse a kernel matrix whose header has other ids than its rows, or another order."""
    if len(ids) != len(names):
        raise ValueError(
            f"{source.path} has {len(ids)} rows and {len(names)} columns beside the ids, but a kernel matrix is "
            "square; is it a table of features?"
        )
    for at, (row, column) in enumerate(zip(ids, names, strict=True)):
        if row != column:
            raise ValueError(
                f"{source.path} is a kernel matrix whose ids differ: row {at + 1} is {row!r}, but the header has "
                f"{column!r} there"
            )


def _as_arrow(table: VertexTable) -> Any:
    import pyarrow as pa

    return pa.array(np.asarray(table.ids), pa.string())
