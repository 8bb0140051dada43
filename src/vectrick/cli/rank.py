"""``vectrick rank``: the best partners of some vertices."""

from pathlib import Path
from typing import Annotated, Any

import typer

from vectrick.cli.options import VertexOptions
from vectrick.cli.output import Output

EXAMPLE = "vectrick rank gpcr.vt --start D00095 --top 20"


def run(
    out: Output,
    vertices: VertexOptions,
    model: Annotated[Path, typer.Argument(help="The model's file.")],
    start: Annotated[
        list[str] | None, typer.Option("--start", help="A start vertex, by its id; may be repeated.")
    ] = None,
    end: Annotated[list[str] | None, typer.Option("--end", help="An end vertex, by its id; may be repeated.")] = None,
    top: Annotated[int, typer.Option("--top", "-n", help="How many partners to show for each.")] = 20,
    edges: Annotated[
        Path | None, typer.Option("--edges", help="Edges that are known, to be marked as such; a file with ids.")
    ] = None,
    new: Annotated[bool, typer.Option("--new", help="Leave out the edges that --edges knows.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A file to write as well, .csv or .parquet.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace a file that exists.")] = False,
) -> None:
    """Show the best end vertices for start vertices, or the best start vertices for end vertices.

    Vertices are known to the model, or new ones of a file. Partners are all that the model knows, and those of a file.
    """
    import vectrick as vt
    from vectrick.cli.writing import check_table_output

    if bool(start) == bool(end):
        raise ValueError("give --start ID for the best end vertices, or --end ID for the best start vertices")
    if top < 1:
        raise ValueError(f"--top is {top}, but it must be at least 1")
    if new and edges is None:
        raise ValueError("--new leaves out known edges, but there is no --edges that says which are known")
    if output is not None:
        check_table_output(output, force)
    fitted = vt.load(model)
    tables = vertices.tables(fitted)
    side, other = (0, 1) if start else (1, 0)
    asked = start or end or []
    rows = _positions(tables[side], asked, ("start", "end")[side])
    known = None if edges is None else _known(edges, vertices.start_column, vertices.end_column)
    found = [
        line
        for name, row in zip(asked, rows, strict=True)
        for line in _best(fitted, tables, side, row, name, top, known, new)
    ]
    columns = ["rank", ("start", "end")[side], ("start", "end")[other], "score"]
    columns += ["probability"] * hasattr(fitted, "predict_proba") + ["known"] * (known is not None)
    out.result["ranking"] = [dict(zip(columns, line, strict=True)) for line in found]
    out.table(columns, found)
    if output is not None:
        _write(output, columns, found)
        out.say(f"written to {output}")


def _positions(table: Any, asked: list[str], side: str) -> list[int]:
    place = {str(vertex): row for row, vertex in enumerate(table.ids.tolist())}
    for vertex in asked:
        if vertex not in place:
            some = ", ".join(list(place)[:3])
            raise ValueError(
                f"--{side} is {vertex!r}, but neither the model nor --{side}-features has it; vertices there are {some}"
            )
    return [place[vertex] for vertex in asked]


def _known(path: Path, start_column: str, end_column: str) -> set[tuple[str, str]]:
    from vectrick.data.folder import read_pairs

    source = read_pairs(path, start_column, end_column)
    table = source.read([start_column, end_column], text=[start_column, end_column])
    return set(zip(table.column(start_column).to_pylist(), table.column(end_column).to_pylist(), strict=True))


def _best(
    model: Any, tables: Any, side: int, row: int, name: str, top: int, known: set[tuple[str, str]] | None, new: bool
) -> list[list[Any]]:
    """Return the lines of one vertex, the best partner first."""
    import numpy as np

    from vectrick.cli.vertices import probabilities

    one = tables[side].features[[row]]
    grid = (
        model.predict_grid(one, tables[1].features)[0]
        if side == 0
        else model.predict_grid(tables[0].features, one)[:, 0]
    )
    chance = probabilities(model, grid)
    lines: list[list[Any]] = []
    for at in np.argsort(-grid, kind="stable"):
        partner = str(tables[1 - side].ids[at])
        line: list[Any] = [len(lines) + 1, name, partner, float(grid[at])]
        if chance is not None:
            line.append(float(chance[at]))
        if known is not None:
            is_known = ((name, partner) if side == 0 else (partner, name)) in known
            if new and is_known:
                continue
            line.append(is_known)
        lines.append(line)
        if len(lines) == top:
            break
    return lines


def _write(path: Path, columns: list[str], lines: list[list[Any]]) -> None:
    import pyarrow as pa

    from vectrick.cli.writing import table_writer

    with table_writer(path) as write:
        write({name: pa.array(list(values)) for name, values in zip(columns, zip(*lines, strict=True), strict=True)})
