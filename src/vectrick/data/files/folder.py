"""Dataset folders: edges with labels, and a table of features or a kernel matrix for each side, as files with ids."""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from vectrick._typing import Array
from vectrick._warnings import warn
from vectrick.data.edges import Edges
from vectrick.data.files.affinities import check_unit, read_affinities
from vectrick.data.files.columns import Expected, TableWarning, read_columns
from vectrick.data.files.dataset import Dataset, ReadOptions, TableOptions
from vectrick.data.files.frames import ENDINGS, TableFile
from vectrick.data.files.labels import read_labels
from vectrick.data.pairs import Pairs
from vectrick.data.strings.files import KINDS, read_strings
from vectrick.data.strings.readable import readable_part
from vectrick.data.tables import VertexTable

if TYPE_CHECKING:
    import pyarrow as pa


TABLES = ("features", "kernel", *KINDS)  # the kinds of tables that describe the vertices of a side
_LONG = ("feature", "value")  # the columns of sparse features, apart from the ids
_SHOWN = 5  # ids or rows named in an error


def read_dataset(folder: Path | str | None = None, options: ReadOptions | None = None) -> Dataset:
    """Read a dataset folder, or the files that the options name.

    A folder holds ``edges``, ``start_features`` or ``start_kernel``, and ``end_features`` or ``end_kernel`` (neither of
    these if both ends come from one vertex set), each as CSV or TSV (also gzipped) or Parquet. A table has ids in its
    column "id" (or in the column with the name of the edges' column). The other columns hold numbers or words; words
    become columns of 0 and 1. A table with the columns id, feature and value is sparse. A kernel matrix also has the
    ids in its header, in the same order. Instead of features, ``start_smiles`` or ``end_smiles`` has molecules as
    SMILES strings (a table with ids, or .smi), ``start_sequences`` or ``end_sequences`` sequences (a table, or FASTA).
    """
    options = ReadOptions() if options is None else options
    check_unit(options.log)
    files, kinds = _locate(None if folder is None else Path(folder), options)
    source = TableFile(files["edges"])
    columns = _edge_columns(source, options)
    tables: dict[str, VertexTable] = {
        side: read_side(files[side], side, kinds[side], options) for side in ("start", "end") if side in files
    }
    if "end" not in tables:
        tables["end"] = tables["start"]
    label = options.label_column
    of_ids = [(side, column) for side in ("start", "end") for column in options.id_columns(side)]
    rows = source.read(columns, ids=[column for _, column in of_ids])
    rows = _with_labels(source, rows, label, options.skip_unlabeled)
    dropped: list[str] = []
    for side, column in of_ids:
        rows = _without(source, rows, column, tables[side].skipped, dropped)
    y, classes, bounds = _read_labels(source, rows, options)
    names = {side: path.name for side, path in files.items()}
    names.setdefault("end", f"{names['start']} (shared by both ends, because there is no table of end vertices)")
    unknown = dropped if options.drop_unknown else None
    found = [source.positions(rows, column, _as_arrow(tables[side]), names[side], unknown) for side, column in of_ids]
    known = np.logical_and.reduce([places >= 0 for places in found])
    if not known.all():
        found, y = [places[known] for places in found], y[known]
        bounds = None if bounds is None else bounds[known]
    counts = [len(options.id_columns(side)) for side in ("start", "end")]
    X = edges_between([tables["start"], tables["end"]], found, counts)
    medians = {side: dict(table.medians) for side, table in tables.items() if table.medians}
    return Dataset(X, y, kinds, files, label, classes, dropped, medians, bounds)


def edges_between(tables: Sequence[VertexTable], rows: Sequence[Array], counts: Sequence[int]) -> Edges:
    """Return edges from the positions of each column of ids; a side with a count of two columns gets pairs."""
    ends: list[Array] = []
    whole: list[VertexTable] = []
    for table, count in zip(tables, counts, strict=True):
        own, rows = rows[:count], rows[count:]
        if count == 1:
            ends.append(own[0])
            whole.append(table)
            continue
        ids = np.asarray(table.ids)
        pairs = Pairs(ids[own[0]], ids[own[1]], table)
        ends.append(pairs.vertices.astype(np.int32))
        whole.append(pairs)
    return Edges._of(ends[0], ends[1], whole[0], whole[1])


def _edge_columns(source: TableFile, options: ReadOptions) -> list[str]:
    """Return the columns of the edges to read: two columns of ids, the labels, and optionally their relations."""
    named: dict[str, str] = {}
    for side in ("start", "end"):
        columns = options.id_columns(side)
        names = [f"--{side}-column"] if len(columns) == 1 else [f"--{side}-columns", f"--{side}-columns (second)"]
        named |= dict(zip(names, columns, strict=True))
    named["--label-column"] = options.label_column
    if options.relation_column is not None:
        named["--relation-column"] = options.relation_column
    wanted = [source.need(column, option) for option, column in named.items()]
    _check_roles(*named.items())
    return wanted


def _read_labels(source: TableFile, rows: "pa.Table", options: ReadOptions) -> tuple[Array, Any, Array | None]:
    """Return labels as numbers, the names of their classes (or None), and their bounds (or None)."""
    label, positive = options.label_column, options.positive
    measured = read_affinities(source, rows, label, options.log, options.relation_column)
    if measured is None:
        return *read_labels(source, rows.column(label), label, positive), None
    if positive is not None:
        raise ValueError(f"--positive is {positive!r}, but column {label!r} has measurements, not two classes")
    return measured[0], None, measured[1]


def read_side(path: Path, side: str, kind: str, options: ReadOptions) -> VertexTable:
    """Return the vertex table of a side."""
    table = options.tables[side]
    if kind in KINDS:
        return read_strings(path, side, kind, table.id_column, table.column, options.skip_invalid)
    whole = read_vertices(path, side, kind, table.id_column, table.column, impute=options.impute)
    if not (options.skip_invalid and whole.string_columns):
        return whole
    readable, position = readable_part(whole)
    readable.skipped = np.asarray(whole.ids)[position < 0].tolist()
    return readable


def read_vertices(
    path: Path | str,
    side: str,
    kind: str,
    id_column: str | None = None,
    usual: str = "id",
    expected: Expected | None = None,
    impute: str | None = None,
) -> VertexTable:
    """Read a table of features or a kernel matrix; `read_columns` describes words and missing values.

    Ids are in ``id_column``; by default in the column "id" or ``usual``. ``expected`` describes the columns that a
    model was trained with: they are selected by name, in that order. A sparse table may lack some of them. Its other
    features are left out, because the model learned nothing about them; vertices with only unknown features raise an
    error.
    """
    source = TableFile(path)
    option = f"--{side}-id-column"
    if id_column is not None:
        column = source.need(id_column, option)
    else:
        column = usual if usual in source.columns else source.need("id", option)
    if set(source.columns) == {column, *_LONG}:
        features, ids, names = _read_long(source, column, None if expected is None else expected.columns)
    else:
        table = source.read(text=[column])
        ids = source.ids(table, column)
        names = [name for name in source.columns if name != column]
        if not names:
            raise ValueError(f"{source.path} has ids only, but it must also have columns with numbers")
        if kind != "kernel":
            found = read_columns(source, table, names, expected, impute)
            if not found.features.shape[1] and not found.strings:
                raise ValueError(f"{source.path} has no columns with numbers or categories apart from its ids")
            return VertexTable.of_columns(found, f"{side}_features", np.array(ids.to_pylist(), object))
        features = source.numbers(table, names)
    if kind == "kernel" and expected is None:
        _check_matrix(source, ids.to_pylist(), names)
    vertices = VertexTable(features, f"{side}_features", np.array(ids.to_pylist(), object))
    vertices.columns = names
    return vertices


def read_pairs(path: Path | str, *columns: str) -> TableFile:
    """Return a file of edges without labels; check its columns."""
    source = TableFile(path)
    options = ("--start-column", "--end-column") if len(columns) == 2 else ("--start-columns or --end-columns",) * 4
    named = [(option, source.need(column, option)) for option, column in zip(options, columns, strict=False)]
    _check_roles(*named)
    return source


def _check_roles(*named: tuple[str, str]) -> None:
    """Raise an error if one column is named for two roles."""
    for (option, column), (other, same) in itertools.combinations(named, 2):
        if column == same:
            raise ValueError(f"{option} and {other} are both {column!r}, but they must be two columns")


def _locate(root: Path | None, options: ReadOptions) -> tuple[dict[str, Path], dict[str, str]]:
    """Return the files of a data set by their role, and the kind of table of each side."""
    if root is not None and root.is_file():
        raise NotADirectoryError(
            f"{root} is a file, but DATA must be a folder; name files with --edges, --start-features, --start-matrix, …"
        )
    if root is not None and not root.is_dir():
        raise FileNotFoundError(f"there is no folder {root}, so there is no data set")
    edge_file = Path(options.edges) if options.edges is not None else _find(root, "edges")
    if edge_file is None:
        raise FileNotFoundError(f"{root or 'the data set'} has no edges: a file edges{ENDINGS[0]}, {_endings('edges')}")
    files, kinds = {"edges": edge_file}, {}
    for side, table in options.tables.items():
        chosen = choose_table(root, side, table)
        if chosen is not None:
            kinds[side], files[side] = chosen
    if "start" not in files:
        raise FileNotFoundError(
            f"{root or 'the data set'} has no table of its start vertices: add start_features, start_kernel, "
            "start_smiles or start_sequences"
        )
    kinds.setdefault("end", kinds["start"])
    return files, kinds


def _find(root: Path | None, stem: str, endings: tuple[str, ...] = ENDINGS) -> Path | None:
    """Return the file of that name in a folder, with any of the endings."""
    if root is None:
        return None
    matches = [root / f"{stem}{ending}" for ending in endings if (root / f"{stem}{ending}").exists()]
    if len(matches) > 1:
        both = f"{matches[0].name} and {matches[1].name}"
        raise ValueError(f"{root} has both {both}; remove one, or name the file to use")
    return matches[0] if matches else None


def choose_table(root: Path | None, side: str, table: TableOptions) -> tuple[str, Path] | None:
    """Return the kind and the path of the file that describes the vertices of a side."""
    named = [(kind, Path(path)) for kind, path in table.paths.items() if path is not None]
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


def _without(source: TableFile, rows: "pa.Table", column: str, ids: Sequence[str], dropped: list[str]) -> Any:
    """Return the rows without edges of vertices that were left out; warn with the number of these edges."""
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
    """Read a table of id, feature and value; return sparse features, the ids and the names of the features."""
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
        raise ValueError(f"{source.path} has the same feature of a vertex more than once")
    if expected is not None:
        place = {str(name): number for number, name in enumerate(expected)}
        where = np.array([place.get(name, -1) for name in names])[columns]
        rows, columns, values, names = rows[where >= 0], where[where >= 0], values[where >= 0], list(expected)
        _refuse_strangers(source, ids, rows)
    shape = (len(ids), len(names))
    return csr_array((values, (rows, columns)), shape), pa.array(ids.to_pylist(), pa.string()), names


def _refuse_strangers(source: TableFile, ids: Any, rows: Array) -> None:
    """Raise an error for vertices without any training feature, because their predictions would be meaningless."""
    strangers = np.setdiff1d(np.arange(len(ids)), rows)
    if len(strangers):
        shown = ", ".join(repr(ids[int(row)].as_py()) for row in strangers[:_SHOWN])
        raise ValueError(
            f"{source.path} has {len(strangers)} vertices without any feature that the model was trained with: {shown}"
            f"{', …' if len(strangers) > _SHOWN else ''}; leave them out, or check the names of the features"
        )


def _with_labels(source: TableFile, rows: "pa.Table", name: str, skip: bool) -> Any:
    """Return the rows that have a label; warn about rows without a label if ``skip``, else raise an error."""
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
    """Raise an error if the header of a kernel matrix has other ids than its rows, or another order."""
    if len(ids) != len(names):
        raise ValueError(
            f"{source.path} has {len(ids)} rows and {len(names)} columns without the ids, but a kernel matrix is "
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
