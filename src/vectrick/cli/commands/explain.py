"""``vectrick explain``: the training edges, vertices, features or views that make up a prediction."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vectrick.cli.options import VertexOptions
from vectrick.cli.output import Output

if TYPE_CHECKING:
    from vectrick._typing import Frame


EXAMPLE = "vectrick explain gpcr.vt --start D00095 --end hsa:1128"


def run(
    out: Output,
    vertices: VertexOptions,
    model: Annotated[Path, typer.Argument(help="The model file.")],
    start: Annotated[str, typer.Option("--start", help="The start vertex of the edge, by its id.")],
    end: Annotated[str, typer.Option("--end", help="The end vertex of the edge, by its id.")],
    top: Annotated[int, typer.Option("--top", "-n", help="The number of contributions to show.")] = 10,
    by: Annotated[
        str,
        typer.Option(
            "--by",
            help="What contributes: edge (training edges), start or end (vertices), features (pairs of them), or view "
            "(pairs of summands of the kernels).",
        ),
    ] = "edge",
    influence: Annotated[
        bool, typer.Option("--influence", help="For ridge regression: add the prediction without each edge.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also write the table to this file, .csv or .parquet.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace a file that exists.")] = False,
) -> None:
    """Explain the prediction of a model for one edge.

    A prediction is a sum over the training edges. The table shows the largest contributions, and below them the sum of
    the rest, the intercept, and the remainder left by the solver. Together they add up to the prediction. The vertices
    are vertices of the model, or new vertices from a file.
    """
    import numpy as np

    from vectrick._files import check_targets
    from vectrick.cli.commands.rank import positions
    from vectrick.cli.vertices import class_names
    from vectrick.cli.writing import check_table_output, plain, write_columns
    from vectrick.data import Edges

    if top < 1:
        raise ValueError(f"--top is {top}, but it must be at least 1")
    check_targets({"--output": output}, [model, *vertices.inputs, out.config])
    if output is not None:
        check_table_output(output, force)
    fitted = vertices.load(model)
    tables = vertices.tables(fitted)
    rows = [np.array(positions(table, [name], side), np.int32)
            for table, name, side in zip(tables, (start, end), ("start", "end"), strict=True)]  # fmt: skip
    names = class_names(fitted)
    frame = fitted.explain(Edges._of(rows[0], rows[1], tables[0], tables[1]), top, by=by, influence=influence)
    prediction = float(frame.attrs["prediction"])
    if names is not None and "label" in frame:
        frame["label"] = frame["label"].map(dict(zip(fitted.classes_.tolist(), names, strict=True)))
    out.result |= {"start": start, "end": end, "prediction": prediction, "contributions": _records(frame)}
    out.say(f"the prediction for {start} and {end} is {prediction:.4g}, the sum of:")
    out.table(list(frame.columns), [[plain(value) for value in row] for row in frame.itertuples(index=False)])
    if output is not None:
        write_columns(output, {name: [plain(value) for value in frame[name]] for name in frame})
        out.wrote("explanation", output)


def _records(frame: "Frame") -> list[dict[str, Any]]:
    from vectrick.cli.writing import plain

    return [{name: plain(value) for name, value in row.items()} for row in frame.to_dict("records")]
