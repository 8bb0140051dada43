"""``vectrick suggest``: which edges to label next."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from vectrick.cli.options import VertexOptions
from vectrick.cli.output import Output

if TYPE_CHECKING:
    from vectrick._typing import SuggestBy
    from vectrick.data import VertexTable

EXAMPLE = "vectrick suggest gpcr.vt -n 384 --per-start 16 -o plate.csv"

_SHOWN = 10
_BATCH = 1 << 21  # edges that are read at a time


def run(
    out: Output,
    vertices: VertexOptions,
    model: Annotated[Path, typer.Argument(help="The model file.")],
    number: Annotated[int, typer.Option("--number", "-n", help="The number of edges to choose.")] = 384,
    by: Annotated[
        str,
        typer.Option(
            "--by",
            help="variance: learn all pairs; diverse: take edges unlike known edges and each other; improvement or "
            "thompson: find the largest values.",
        ),
    ] = "variance",
    per_start: Annotated[
        int | None,
        typer.Option("--per-start", help="The maximum number of edges of a start vertex.", show_default="any"),
    ] = None,
    per_end: Annotated[
        int | None, typer.Option("--per-end", help="The maximum number of edges of an end vertex.", show_default="any")
    ] = None,
    edges: Annotated[
        Path | None,
        typer.Option("--edges", help="A file of edges to choose from.", show_default="all unknown pairs"),
    ] = None,
    aim: Annotated[
        Path | None,
        typer.Option(
            "--aim",
            help="With --by variance: a file of edges whose predictions should become certain; --start-features and "
            "--end-features then describe their vertices.",
            show_default="the edges to choose from",
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="The random seed.")] = 0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file to write, .csv or .parquet.", show_default="none")
    ] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace a file that exists.")] = False,
) -> None:
    """Choose a batch of edges whose labels would be most informative; each choice accounts for the previous ones.

    By default, the candidates are all pairs of the model's vertices, without its training edges. With --start-features
    or --end-features, they are the pairs of these vertices; with --edges, the edges of a file. Give the edges that
    you will predict with --aim, if they are fixed: far fewer labels are then enough.
    """
    from vectrick import suggest
    from vectrick._files import check_targets
    from vectrick.cli.writing import check_table_output, plain, write_columns

    check_targets({"--output": output}, [model, edges, aim, *vertices.inputs, out.config])
    if output is not None:
        check_table_output(output, force)
    if seed < 0:
        raise ValueError(f"--seed is {seed}, but it must not be negative")
    if number < 1:
        raise ValueError(f"--number is {number}, but it must be at least 1")
    fitted = vertices.load(model)
    tables = vertices.tables(fitted, only_new=edges is None and aim is None)
    pool: Any = None if aim is not None else tables
    if edges is not None:
        pool = _edges_of(vertices, tables, edges)
    aims = None if aim is None else _edges_of(vertices, tables, aim)
    with out.library_progress("choosing"):
        limits: dict[str, Any] = {"per_start": per_start, "per_end": per_end, "random_state": seed}
        frame = suggest(fitted, pool, number, cast("SuggestBy", by), X_aim=aims, **limits)
    frame = frame.drop(columns=["row", *(["std"] if frame["std"].isna().all() else [])], errors="ignore")
    lines = [list(row) for row in frame.itertuples(index=False)]
    out.result["edges"] = frame.to_dict("records")
    out.table(list(frame.columns), [[plain(value) for value in line] for line in lines[:_SHOWN]])
    if len(lines) > _SHOWN:
        out.say(f"and {len(lines) - _SHOWN} more" + (": -o writes all of them" if output is None else ""))
    n_start, n_end = frame["start"].nunique(), frame["end"].nunique()
    out.say(f"{len(lines)} edges of {n_start} start and {n_end} end vertices, by {by}")
    if output is not None:
        write_columns(output, {name: [plain(value) for value in frame[name]] for name in frame})
        out.wrote(f"{len(lines)} edges", output)


def _edges_of(vertices: VertexOptions, tables: "tuple[VertexTable, VertexTable]", path: Path) -> Any:
    """Return the edges of a file."""
    import numpy as np

    from vectrick.cli.vertices import ids_of
    from vectrick.data import Edges
    from vectrick.data.files.folder import read_pairs

    columns = vertices.start_column, vertices.end_column
    source = read_pairs(path, *columns)
    sides = list(zip(columns, map(ids_of, tables), ("start", "end"), strict=True))
    parts = [
        [source.positions(batch, column, ids, f"the {side} vertices of the model or of --{side}-features")
         for column, ids, side in sides]
        for batch in source.batches(list(columns), columns, _BATCH)
    ]  # fmt: skip
    start, end = (
        (np.concatenate([np.zeros(0, np.int32), *rows]) for rows in zip(*parts, strict=True)) if parts else ([], [])
    )
    return Edges._of(np.asarray(start, np.int32), np.asarray(end, np.int32), *tables)
