"""``vectrick rank``: the best partners of some vertices."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vectrick.cli.options import VertexOptions
from vectrick.cli.output import Output

if TYPE_CHECKING:
    from vectrick._typing import Array
    from vectrick.data import VertexTable
    from vectrick.estimators import FittedModel

EXAMPLE = "vectrick rank gpcr.vt --start D00095 --top 20"

_AT_A_TIME = 256  # vertices whose partners are scored together


def run(
    out: Output,
    vertices: VertexOptions,
    model: Annotated[Path, typer.Argument(help="The model file.")],
    start: Annotated[
        list[str] | None, typer.Option("--start", help="A start vertex, by its id; may be repeated.")
    ] = None,
    end: Annotated[list[str] | None, typer.Option("--end", help="An end vertex, by its id; may be repeated.")] = None,
    top: Annotated[int, typer.Option("--top", "-n", help="The number of partners of each vertex.")] = 20,
    lowest: Annotated[bool, typer.Option("--lowest", help="Show the smallest scores first, as for IC50.")] = False,
    edges: Annotated[
        Path | None, typer.Option("--edges", help="A file of known edges, to mark them with their labels.")
    ] = None,
    label_column: Annotated[str, typer.Option("--label-column", help="The column of labels in --edges.")] = "label",
    new: Annotated[bool, typer.Option("--new", help="Leave out the edges of --edges.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also write the ranking to this file, .csv or .parquet.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace a file that exists.")] = False,
) -> None:
    """Show the end vertices with the largest scores for start vertices, or the start vertices for end vertices.

    The vertices are vertices of the model, or new vertices from a file. Without --start and --end, they are all
    vertices of --start-features (or of --end-features). Their partners are all vertices of the model and of a file. For
    a model of molecules or sequences, --start-smiles and similar options take a file, or one string.
    """
    from vectrick._files import check_targets
    from vectrick.cli.certainty import warn_of_prior
    from vectrick.cli.writing import check_table_output, write_columns

    files = vertices.has_new
    if (start and end) or not (start or end or any(files)):
        raise ValueError(
            "give --start ID for the best end vertices, or --end ID for the best start vertices; or new vertices with "
            "--start-features, --start-smiles, --end-sequences, … to rank for all of them"
        )
    if top < 1:
        raise ValueError(f"--top is {top}, but it must be at least 1")
    if new and edges is None:
        raise ValueError("--new leaves out known edges, but there is no --edges; give a file of known edges")
    check_targets({"--output": output}, [model, edges, *vertices.inputs, out.config])
    if output is not None:
        check_table_output(output, force)
    fitted = vertices.load(model)
    tables = vertices.tables(fitted)
    side, other = (0, 1) if start or (not end and files[0]) else (1, 0)
    asked = start or end or vertices.tables(fitted, only_new=True)[side].ids.astype(str).tolist()
    rows = positions(tables[side], asked, ("start", "end")[side])
    known = None if edges is None else _known(edges, (vertices.start_column, vertices.end_column), label_column)
    lines = []
    with out.progress("ranking", len(rows)) as bar:
        for low in range(0, len(rows), _AT_A_TIME):
            block = rows[low : low + _AT_A_TIME]
            for row, scores in zip(block, _scores(fitted, tables, side, block), strict=True):
                lines += _best(fitted, tables, side, row, scores, top, known, new, lowest)
            bar.step(low + len(block))
    warn_of_prior(out, fitted, _edges_of(lines, tables, side))
    lines = _as_written(lines, tables, side)
    columns = ["rank", ("start", "end")[side], ("start", "end")[other], "score"]
    columns += ["probability"] * hasattr(fitted, "predict_proba") + ["label"] * (known is not None)
    out.result["partners"] = [dict(zip(columns, line, strict=True)) for line in lines]
    out.table(columns, [[rank, str(vertex), str(other), *rest] for rank, vertex, other, *rest in lines])
    if not lines:
        out.say(f"nothing is left: {edges} has every pair of these vertices")
    if output is not None and lines:
        write_columns(output, dict(zip(columns, zip(*lines, strict=True), strict=True)))
        out.wrote("ranking", output)


def ids_of(table: "VertexTable") -> "Array":
    """Return the ids of a table; models of the command line have ids."""
    assert table.ids is not None
    return table.ids


def positions(table: "VertexTable", asked: list[str], side: str) -> list[int]:
    """Return the rows of the vertices with these ids."""
    place = {str(vertex): row for row, vertex in enumerate(ids_of(table).tolist())}
    for vertex in asked:
        if vertex not in place:
            shown = ", ".join(list(place)[:3])
            raise ValueError(
                f"--{side} is {vertex!r}, but neither the model nor --{side}-features has it; some vertices are {shown}"
            )
    return [place[vertex] for vertex in asked]


def _known(path: Path, columns: tuple[str, str], label: str) -> dict[tuple[str, str], str]:
    """Return the labels of known pairs, "yes" for each if the file has no labels."""
    from vectrick.data.files.folder import read_pairs

    source = read_pairs(path, *columns)
    wanted = [*columns, *([label] if label in source.columns else [])]
    edges = source.read(wanted, text=wanted)
    words = [edges.column(name).to_pylist() for name in wanted]
    labels = words[2] if len(words) > 2 else ["yes"] * len(words[0])
    return dict(zip(zip(words[0], words[1], strict=True), labels, strict=True))


def _scores(model: "FittedModel", tables: "tuple[VertexTable, VertexTable]", side: int, rows: list[int]) -> Any:
    """Return the scores of some vertices with all partners, a row for each vertex."""
    vertices = tables[side].take(rows)  # with their ids, because a kernel may use them
    return model.predict_grid(vertices, tables[1]) if side == 0 else model.predict_grid(tables[0], vertices).T


def _as_written(lines: list[list[Any]], tables: "tuple[VertexTable, VertexTable]", side: int) -> list[list[Any]]:
    """Return the lines, with ids as integers if all ids of their side are integers."""
    from vectrick.cli.vertices import as_written, ids_of

    texts = [ids_of(tables[vertex]) for vertex in (side, 1 - side)]
    names = [dict(zip(ids.to_pylist(), as_written(ids).to_pylist(), strict=True)) for ids in texts]
    return [[rank, names[0][vertex], names[1][other], *rest] for rank, vertex, other, *rest in lines]


def _best(
    model: "FittedModel",
    tables: "tuple[VertexTable, VertexTable]",
    side: int,
    row: int,
    scores: "Array",
    top: int,
    known: dict[tuple[str, str], str] | None,
    new: bool,
    lowest: bool,
) -> list[list[Any]]:
    """Return the lines of one vertex, the best partner first."""
    import numpy as np

    from vectrick.cli.vertices import probabilities

    name = str(ids_of(tables[side])[row])
    chance, has_no_direction = probabilities(model, scores), model.predictor_.kernel.symmetry > 0
    lines: list[list[Any]] = []
    for at in np.argsort(scores if lowest else -scores, kind="stable"):
        partner = str(ids_of(tables[1 - side])[at])
        if has_no_direction and new and partner == name:
            continue
        line: list[Any] = [len(lines) + 1, name, partner, float(scores[at])]
        if chance is not None:
            line.append(float(chance[at]))
        if known is not None:
            label = known.get((name, partner) if side == 0 else (partner, name))
            if label is None and has_no_direction:
                label = known.get((partner, name) if side == 0 else (name, partner))
            if new and label is not None:
                continue
            line.append("new" if label is None else label)
        lines.append(line)
        if len(lines) == top:
            break
    return lines


def _edges_of(lines: list[list[Any]], tables: "tuple[VertexTable, VertexTable]", side: int) -> Any:
    """Return the edges that are shown."""
    import numpy as np

    from vectrick.data import Edges

    place = [{str(vertex): row for row, vertex in enumerate(ids_of(table).tolist())} for table in tables]
    own, other = [place[side][line[1]] for line in lines], [place[1 - side][line[2]] for line in lines]
    start, end = (own, other) if side == 0 else (other, own)
    return Edges._of(np.array(start, np.int32), np.array(end, np.int32), *tables)
