"""Sources of the edges of a lake: partitions of row groups of Parquet files, or of a Dask frame."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from vectrick._typing import Frame

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.dataset as ds
    import pyarrow.fs as fs


_FOOTERS_AT_ONCE = 16  # files whose footers are read at the same time
_ENDINGS = (".parquet", ".pq", ".parq")


class LakeError(ValueError):
    """A lake cannot be read, or has changed since it was scanned; the message names the file.

    Examples
    --------
    >>> import vectrick as vt
    >>> issubclass(vt.LakeError, ValueError)
    True
    """


class Source(Protocol):
    """Rows in partitions."""

    n_rows: int | None  # None if they have to be read to be counted
    sizes: list[int | None]  # rows of each partition
    schema: Any
    name: str  # for errors

    def read(self, number: int, columns: Sequence[str]) -> Iterator[tuple[str, Any]]:
        """Yield the tables of a partition, each with its origin."""

    def check(self) -> None:
        """Raise an error if the source has changed since it was scanned."""


@dataclass(frozen=True)
class RowGroups:
    """Some row groups of one file."""

    path: str
    size: int  # bytes of the file
    groups: tuple[int, ...]
    n_rows: tuple[int, ...]
    expression: Any  # the partition values in the names of its folders


class ParquetSource:
    """A Parquet file, or a folder of them.

    A row group is never divided, so a partition has at least one.
    """

    def __init__(
        self,
        path: str | Path | Sequence[str | Path],
        columns: Sequence[str],
        filters: "pc.Expression" = None,
        filesystem: "fs.FileSystem | None" = None,
    ) -> None:
        import pyarrow as pa

        paths = [str(one) for one in path] if isinstance(path, list | tuple) else str(path)
        self.name = paths if isinstance(paths, str) else ", ".join(paths)
        for one in [paths] if isinstance(paths, str) else paths:
            if filesystem is None and "://" not in one and not Path(one).exists():
                raise FileNotFoundError(f"there is no file or folder {one}, so there are no edges")
        try:
            found = _found(paths, filesystem)
            files = sorted(found.get_fragments(), key=lambda fragment: fragment.path)
            files = [file for file in files if file.path.endswith(_ENDINGS)] or files  # others may be no edges
        except (pa.ArrowInvalid, OSError) as error:
            raise LakeError(f"{self.name} cannot be read as Parquet: {error}") from error
        if not files:
            raise LakeError(f"{self.name} has no Parquet files, so there are no edges")
        self.schema, self.filesystem = found.schema, found.filesystem
        self.filters = _expression(filters)
        missing = [column for column in columns if column not in self.schema.names]
        if missing:
            known = ", ".join(self.schema.names)
            raise LakeError(f"{self.name} has no column {missing[0]!r}; its columns are {known}")
        self.columns = tuple(columns)
        _check_filters(self.filters, self.schema, filters)
        with ThreadPoolExecutor(_FOOTERS_AT_ONCE) as pool:
            footers = list(pool.map(self._footer, files))
        self.files = [footer for footer, _ in footers]
        for _, own in footers:
            self._widen(own)
        self._parts: list[list[RowGroups]] = [[each] for each in self.files if each.groups]

    def _widen(self, own: "pa.Schema") -> None:
        """Widen the types of the columns to include the types of another file, independent of the order of files."""
        import pyarrow as pa

        for column in self.columns:
            place = self.schema.get_field_index(column)
            if column not in own.names or own.field(column).type == self.schema.field(place).type:
                continue
            kinds = [schema.field(column).type for schema in (self.schema, own)]
            if any(pa.types.is_dictionary(kind) for kind in kinds):  # categories are read as their values
                kinds = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in kinds]
            both = [pa.schema([pa.field(column, kind)]) for kind in kinds]
            wide = pa.unify_schemas(both, promote_options="permissive").field(column)
            self.schema = self.schema.set(place, wide)

    def _footer(self, fragment: "ds.Fragment") -> tuple[RowGroups, Any]:
        import pyarrow as pa
        from pyarrow import dataset

        try:
            groups, own = fragment.row_groups, fragment.physical_schema
            size = self.filesystem.get_file_info(fragment.path).size
        except (pa.ArrowInvalid, OSError) as error:
            raise LakeError(f"{fragment.path} cannot be read, is it complete? {error}") from error
        in_path = dataset.get_partition_keys(fragment.partition_expression)
        for column in self.columns:
            if column not in own.names and column not in in_path:
                raise LakeError(f"{fragment.path} has no column {column!r}, but other files of the lake have it")
            kinds = {_kind(schema.field(column).type) for schema in (own, self.schema) if column in schema.names}
            if len(kinds - {"null"}) > 1:  # a column without any value has no type
                raise LakeError(
                    f"{fragment.path}: column {column!r} has type {own.field(column).type}, but "
                    f"{self.schema.field(column).type} in other files of the lake"
                )
        numbers = [(group.id, group.num_rows) for group in groups if group.num_rows]
        ids, sizes = zip(*numbers, strict=True) if numbers else ((), ())
        return RowGroups(fragment.path, size, ids, sizes, fragment.partition_expression), own

    @property
    def n_rows(self) -> int | None:
        """The number of rows, if there is no filter."""
        return None if self.filters is not None else self.n_rows_before_filters

    @property
    def n_rows_before_filters(self) -> int:
        """The number of rows in all files."""
        return sum(sum(each.n_rows) for each in self.files)

    def divide(self, target: int) -> None:
        """Make partitions of about ``target`` rows, about equally large."""
        n_rows = self.n_rows_before_filters
        size = n_rows / max(1, round(n_rows / target))
        parts: list[list[RowGroups]] = []
        before = last = 0
        for file in self.files:
            for group, rows in zip(file.groups, file.n_rows, strict=True):
                # A row group belongs to the partition that contains its middle.
                number = int((before + rows / 2) // size)
                if not parts or number > last:
                    parts.append([])
                last, before, part = number, before + rows, parts[-1]
                if part and part[-1].path == file.path:
                    own = part.pop()
                    groups, sizes = (*own.groups, group), (*own.n_rows, rows)
                else:
                    groups, sizes = (group,), (rows,)
                part.append(RowGroups(file.path, file.size, groups, sizes, file.expression))
        self._parts = parts

    @property
    def sizes(self) -> list[int | None]:
        """The rows of each partition, before filters."""
        return [sum(sum(groups.n_rows) for groups in part) for part in self._parts]

    def check(self) -> None:
        """Raise an error if the size of a file has changed."""
        self._check(self.files)

    def _check(self, files: Sequence[RowGroups]) -> None:
        infos = self.filesystem.get_file_info([file.path for file in files])
        for file, info in zip(files, infos, strict=True):
            if info.size != file.size:
                now = "is gone" if info.size is None else f"has {info.size} bytes instead of {file.size}"
                raise LakeError(f"{file.path} has changed since the lake was scanned: it {now}; scan it again")

    def read(self, number: int, columns: Sequence[str]) -> Iterator[tuple[str, Any]]:
        """Yield the row groups of a partition as tables."""
        import pyarrow as pa
        from pyarrow import dataset

        part = self._parts[number]
        self._check(part)
        for file in part:
            for group, n_rows in zip(file.groups, file.n_rows, strict=True):
                where = f"{file.path}, row group {group}"
                fragment = dataset.ParquetFileFormat().make_fragment(
                    file.path, self.filesystem, file.expression, row_groups=[group]
                )
                try:
                    if fragment.row_groups[0].num_rows != n_rows:
                        raise LakeError(f"{where} has another number of rows than when the lake was scanned")
                    table = fragment.to_table(schema=self.schema, columns=list(columns), filter=self.filters)
                except (pa.ArrowInvalid, pa.ArrowTypeError, OSError, IndexError) as error:
                    raise LakeError(f"{where} cannot be read, is the file complete? {error}") from error
                if self.filters is None and len(table) != n_rows:
                    raise LakeError(f"{where} has {len(table)} rows, but {n_rows} according to its footer")
                yield where, table


class DaskSource:
    """The partitions of a Dask frame; each is computed by the process that reads it."""

    def __init__(self, frame: Frame, columns: Sequence[str]) -> None:
        import pyarrow as pa

        self.name = "the Dask frame"
        missing = [column for column in columns if column not in frame.columns]
        if missing:
            raise LakeError(f"{self.name} has no column {missing[0]!r}; its columns are {', '.join(frame.columns)}")
        self.frame = frame[list(columns)]
        self.schema = pa.Schema.from_pandas(self.frame._meta_nonempty, preserve_index=False)
        self.partitions = self.frame.to_delayed()
        self.sizes: list[int | None] = [None] * len(self.partitions)
        self.n_rows: int | None = None

    def read(self, number: int, columns: Sequence[str]) -> Iterator[tuple[str, Any]]:
        """Yield the partition as one table."""
        import pyarrow as pa

        # In this thread: on a cluster, this task runs in a worker thread, so it must not wait for other tasks.
        frame = self.partitions[number].compute(scheduler="synchronous")
        yield f"partition {number} of the Dask frame", pa.Table.from_pandas(frame[list(columns)], preserve_index=False)

    def check(self) -> None:
        """Do nothing; Dask raises its own errors."""


def _found(paths: object, filesystem: "fs.FileSystem | None") -> Any:
    """Return the files as an Arrow dataset; if a folder has other files, select Parquet files by name."""
    import pyarrow as pa
    from pyarrow import dataset, fs

    how = {"format": "parquet", "partitioning": "hive"}
    root = _local_folder(paths, filesystem)
    linked = None if root is None else _behind_links(root)
    if linked is not None:
        return dataset.dataset(linked, partition_base_dir=root, **how)
    try:
        return dataset.dataset(paths, filesystem=filesystem, **how)
    except pa.ArrowInvalid:
        if not isinstance(paths, str):
            raise
        place, root = (filesystem, paths) if filesystem is not None else fs.FileSystem.from_uri(_address(paths))
        inside = place.get_file_info(fs.FileSelector(root, recursive=True, allow_not_found=True))
        names = [one.path for one in inside if one.is_file and one.path.endswith(_ENDINGS)]
        if not names or len(names) == len([one for one in inside if one.is_file]):
            raise
        return dataset.dataset(names, filesystem=place, partition_base_dir=root, **how)


def _local_folder(path: object, filesystem: object) -> str | None:
    """Return the folder on this machine that a path or an address names, or None if it is elsewhere."""
    from pyarrow import fs

    if not isinstance(path, str) or not (filesystem is None or isinstance(filesystem, fs.LocalFileSystem)):
        return None
    if "://" not in path:
        return path
    return str(fs.FileSystem.from_uri(path)[1]) if path.startswith("file://") else None


def _behind_links(root: str) -> list[str] | None:
    """Return the Parquet files of a folder with links, each file once; None if the folder has no links.

    Arrow follows links, and follows a link to a parent folder forty times.
    """
    if not os.path.isdir(root):
        return None
    has_links, seen = False, set()
    files: dict[str, str] = {}
    for folder, folders, names in os.walk(root, followlinks=True):
        has_links |= any(os.path.islink(os.path.join(folder, name)) for name in (*folders, *names))
        seen.add(os.path.realpath(folder))
        # Arrow ignores hidden folders and files, too.
        folders[:] = sorted(
            name for name in folders
            if not name.startswith((".", "_")) and os.path.realpath(os.path.join(folder, name)) not in seen
        )  # fmt: skip
        for name in sorted(names):
            if name.endswith(_ENDINGS) and not name.startswith((".", "_")):
                path = os.path.join(folder, name)
                files.setdefault(os.path.realpath(path), path)
    return list(files.values()) or None if has_links else None


def _address(path: str) -> str:
    return path if "://" in path else Path(path).resolve().as_uri()


def _kind(kind: "pa.DataType") -> str:
    """Return the kind of an Arrow type; types of one kind can be converted to each other."""
    from pyarrow import types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "text"
    if types.is_integer(kind):
        return "integers"
    return "numbers" if types.is_floating(kind) else str(kind)


def _check_filters(expression: "pc.Expression", schema: "pa.Schema", given: "pc.Expression") -> None:
    """Raise an error if filters do not fit the columns."""
    import pyarrow as pa

    if expression is None:
        return
    try:
        schema.empty_table().filter(expression)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise ValueError(f"filters is {given!r}, but it does not fit the columns of the lake: {error}") from error


def _expression(filters: object) -> Any:
    """Return filters as an Arrow expression, given as an expression or as a list in the form of pandas."""
    from pyarrow import dataset, parquet

    if filters is None or isinstance(filters, dataset.Expression):
        return filters
    try:
        return parquet.filters_to_expression(filters)
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"filters is {filters!r}, but it must be an expression of pyarrow or a list such as "
            f"[('year', '>', 2020)]: {error}"
        ) from error
