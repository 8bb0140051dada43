"""``vectrick predict``: predictions for a list of edges, or for every pair of vertices."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vectrick.cli.options import VertexOptions
from vectrick.cli.output import Output

if TYPE_CHECKING:
    from vectrick._typing import Array
    from vectrick.data import VertexTable
    from vectrick.estimators import FittedModel

EXAMPLE = "vectrick predict gpcr.vt new_edges.csv --start-features new_drugs.csv -o predictions.parquet"

_SIDES = ("start", "end")
_BATCH = 1 << 21  # edges at a time


def run(
    out: Output,
    vertices: VertexOptions,
    model: Annotated[Path, typer.Argument(help="The model file.")],
    edges: Annotated[
        Path | None, typer.Argument(help="A file of edges, with ids, or a folder of Parquet files; not with --grid.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write, .parquet or .csv.")] = Path(
        "predictions.parquet"
    ),
    label_column: Annotated[
        str, typer.Option("--label-column", help="A column of the edges to keep in the output, if it exists.")
    ] = "label",
    grid: Annotated[bool, typer.Option("--grid", help="Predict every pair of a start and an end vertex.")] = False,
    interval: Annotated[
        float | None,
        typer.Option(
            "--interval",
            help="Add lower and upper bounds that contain this share of labels, such as 0.9, or for classes the set of "
            "likely classes; also add the novelty.",
            show_default="none",
        ),
    ] = None,
    novelty: Annotated[
        bool, typer.Option("--novelty", help="Add the novelty of each edge for the model, from 0 to 1.")
    ] = False,
    missing: Annotated[
        str, typer.Option("--missing", help="Edges of a lake with unknown vertices: error, or drop and count them.")
    ] = "error",
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace a file that exists.")] = False,
) -> None:
    """Predict edges with a trained model and write them to a file with the columns start, end and score.

    An edge with a larger score is more likely to be positive, or has a larger value. Logistic models add a probability.
    Lists of edges get the predicted class as "prediction", and keep the true "label" if they have one. --interval adds
    intervals from the errors on edges that vectrick fit held out in the same setting. Vertices of the model need no
    features. With --grid, or with new vertices and no edges, every pair is predicted: the vertices of a side come from
    the given file, or else from the model. Predictions for a folder of Parquet files are a folder as well. Results are
    written block by block, so they may be larger than memory.
    """
    from vectrick._files import check_targets
    from vectrick.cli.certainty import Certainty
    from vectrick.cli.writing import check_table_output
    from vectrick.data.lake.folder import edges_of_lake

    if grid and edges is not None:
        raise ValueError("give a file of edges, or --grid for every pair, but not both")
    if edges is None and not grid and not any(vertices.has_new):
        raise ValueError("give a file of edges, new vertices to pair with all others, or --grid for every pair")
    grid = edges is None
    lake = None if edges is None else edges_of_lake(edges, None) or edges_of_lake(None, edges)
    if lake is not None:
        if interval is not None or novelty:
            raise ValueError("--interval and --novelty are for files of edges and for --grid, but the edges are a lake")
        _predict_lake(out, vertices, model, lake, output, label_column, missing, force)
        return
    if missing != "error":
        raise ValueError(f"--missing is {missing!r}, but it is for folders of Parquet files")
    check_targets({"--output": output}, [model, edges, *vertices.inputs, out.config])
    check_table_output(output, force)
    fitted = vertices.load(model)
    sure = Certainty(out, fitted, interval, novelty)
    start, end = vertices.tables(fitted, only_new=grid)
    if edges is None:
        n_pairs = _predict_grid(out, fitted, start, end, output, sure)
    else:
        columns = vertices.id_columns("start"), vertices.id_columns("end")
        n_pairs = _predict_edges(out, fitted, (start, end), edges, output, columns, label_column, sure)
    sure.tell()
    out.wrote(f"{n_pairs} predictions", output)
    out.result = {"output": str(output), "edges": n_pairs, "seconds": out.seconds}


def _predict_lake(
    out: Output, vertices: VertexOptions, path: Path, edges: str, output: Path, label: str, missing: str,
    force: bool,
) -> None:  # fmt: skip
    """Predict the edges of a folder of Parquet files, and write a folder."""
    from pyarrow import dataset

    from vectrick._files import check_targets
    from vectrick.data.lake.folder import scan_lake

    check_targets({"--output": output}, [path, Path(edges), *vertices.inputs, out.config])
    if output.suffix in (".parquet", ".csv"):
        raise ValueError(f"--output is {output}, a file, but the predictions of a lake are a folder; name a folder")
    fitted = vertices.load(path)
    start, end = vertices.tables(fitted)
    known = dataset.dataset(edges, format="parquet", partitioning="hive").schema.names
    X = scan_lake(
        edges, start, None if end is start else end, start=vertices.start_column, end=vertices.end_column,
        label=label if label in known else None, missing=missing,
    )  # fmt: skip
    with out.library_progress("predicting"):
        n_edges = fitted.predict_lake(X, output, overwrite=force)
    n_dropped = (X.n_rows or n_edges) - n_edges
    if n_dropped:
        out.warn(f"{n_dropped} edges of unknown vertices, or without a label, were left out")
    out.wrote(f"{n_edges} predictions", output)
    out.result = {"output": str(output), "edges": n_edges, "dropped": n_dropped, "seconds": out.seconds}


def _predict_grid(out: Output, model: "FittedModel", start: Any, end: Any, output: Path, sure: Any) -> int:
    import numpy as np

    from vectrick.cli.vertices import as_written, ids_of
    from vectrick.cli.writing import named, table_writer
    from vectrick.data import Edges

    ids, total = (as_written(ids_of(start)), as_written(ids_of(end))), len(start) * len(end)
    done = 0
    with out.progress("predicting", total) as bar, table_writer(output) as write:
        for rows, cols, block in model.iter_grid(start, end):
            height, width = block.shape
            first = np.repeat(np.arange(rows.start, rows.stop, dtype=np.int32), width)
            second = np.tile(np.arange(cols.start, cols.stop, dtype=np.int32), height)
            more = sure.columns(Edges._of(first, second, start, end), block.ravel())
            columns = {**_columns(model, block.ravel()), **more}
            write({"start": named(ids[0], first), "end": named(ids[1], second), **columns})
            done += block.size
            bar.step(done)
    return done


def _predict_edges(
    out: Output, model: "FittedModel", tables: "tuple[VertexTable, VertexTable]", edges: Path, output: Path,
    columns: "tuple[tuple[str, ...], tuple[str, ...]]", label: str, sure: Any,
) -> int:  # fmt: skip
    import numpy as np
    import pyarrow as pa

    from vectrick.cli.vertices import as_written, class_names, ids_of, parts_of
    from vectrick.cli.writing import named, table_writer
    from vectrick.data.files.folder import edges_between, read_pairs

    # A side has one column of ids, or two if its vertices are pairs; then the table has their parts.
    singles = [parts_of(table, len(own), side) for table, own, side in zip(tables, columns, _SIDES, strict=True)]
    of_ids = [(side, column) for side, own in enumerate(columns) for column in own]
    names = [column for _, column in of_ids]
    source, classes = read_pairs(edges, *names), class_names(model)
    # Edges of vertices that were skipped are written, but not predicted: their positions are beyond the tables.
    ids = [pa.concat_arrays([ids_of(table), pa.array(table.skipped, pa.string())]) for table in singles]
    shown = [as_written(ids[side], source.type_of(column)) for side, column in of_ids]
    wanted = [*names, *([label] if label in source.columns and label not in names else [])]
    titles = [_SIDES[side] if len(columns[side]) == 1 else column for side, column in of_ids]
    done = without = 0
    with out.progress("predicting", None) as bar, table_writer(output) as write:
        for batch in source.batches(wanted, names, _BATCH):
            rows = [
                source.positions(batch, column, ids[side], f"the {_SIDES[side]} vertices of the model or of "
                                 f"--{_SIDES[side]}-features")
                for side, column in of_ids
            ]  # fmt: skip
            known = np.logical_and.reduce(
                [places < len(singles[side]) for places, (side, _) in zip(rows, of_ids, strict=True)]
            )
            X = edges_between(singles, [places[known] for places in rows], [len(own) for own in columns])
            scores = model._decide(X)
            predicted = _columns(model, scores)
            if classes is not None:
                predicted["prediction"] = _labels(classes, scores)
            predicted |= sure.columns(X, scores)
            if not known.all():
                place = pa.array(np.cumsum(known) - 1, mask=~known)
                predicted = {name: pa.array(values).take(place) for name, values in predicted.items()}
            table = {title: named(words, places) for title, words, places in zip(titles, shown, rows, strict=True)}
            table |= predicted
            if len(wanted) > len(names):
                table["label"] = batch.column(label)
            write(table)
            done += len(X)
            without += len(known) - len(X)
            bar.step(done + without)
        if not done + without:
            raise ValueError(f"{edges} has a header, but no rows")
    if without:
        out.warn(f"{without} of {done + without} edges have a vertex that was left out, and got no prediction")
    return done


def _columns(model: "FittedModel", scores: "Array") -> dict[str, Any]:
    from vectrick.cli.vertices import class_names, probabilities

    if scores.ndim == 2:  # a score for each of several classes
        names = class_names(model) or []
        chance = probabilities(model, scores)
        columns = {"score": scores.max(axis=1), **{f"score_{name}": scores[:, j] for j, name in enumerate(names)}}
        if chance is not None:
            columns["probability"] = (chance / chance.sum(axis=1)[:, None]).max(axis=1)
        return columns
    chance = probabilities(model, scores)
    return {"score": scores} if chance is None else {"score": scores, "probability": chance}


def _labels(names: list[str], scores: "Array") -> Any:
    """Return the predicted classes as an Arrow array; integer classes stay integers."""
    import pyarrow as pa

    from vectrick.cli.vertices import as_written
    from vectrick.cli.writing import named

    which = scores.argmax(axis=1) if scores.ndim == 2 else scores > 0
    return named(as_written(pa.array(names)), which.astype("int32"))
