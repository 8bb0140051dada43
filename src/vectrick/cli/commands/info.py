"""``vectrick info``: facts about a data set or a model file, and warnings."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vectrick.cli.lakes import ScanOptions, lake_info
from vectrick.cli.options import DataOptions
from vectrick.cli.output import Output, shown

if TYPE_CHECKING:
    from vectrick.automatic import AutoKron
    from vectrick.cli.model_options import ModelOptions
    from vectrick.data import Edges, VertexTable
    from vectrick.data.files.dataset import Dataset
    from vectrick.estimators import FittedModel, KronEstimator

EXAMPLE = "vectrick info gpcr"

ONE_SET = "both ends come from one vertex set: --pairwise symmetric is for edges without a direction"
_LONGEST = 500  # characters of a value
_LARGEST_RANK = 3000  # vertices up to which the rank of a kernel is computed


def run(
    out: Output,
    data: DataOptions,
    lakes: ScanOptions,
    ranks: Annotated[
        bool, typer.Option("--ranks/--no-ranks", help="Compute the ranks of kernels and features.")
    ] = True,
) -> None:
    """Describe a data set or a model file.

    DATA is a folder, a lake or a model file. For a data set, the command shows vertices, edges, density, labels,
    degrees, the ranks of kernels, the plan of a training step, and warnings (repeated edges, ids without features,
    copies of vertices).
    """
    from vectrick.data.files.frames import ENDINGS

    if data.data is not None and data.data.is_file() and not data.data.name.endswith(ENDINGS):
        _model_info(out, data.data)
        return
    lake = lakes.lake(data)
    if lake is not None:
        lake_info(out, lake)
        return
    dataset = data.read(drop_unknown=True)
    for complaint in dataset.dropped:
        out.warn(complaint)
    if not len(dataset.X):
        raise ValueError("no edge is left whose ids are in both tables")
    facts = describe(dataset, ranks)
    for warning in dataset_warnings(dataset):
        out.warn(warning)
    if dataset.X.is_one_set:
        out.note(ONE_SET)
    out.result |= facts
    out.facts({name: _text(value) for name, value in facts.items()})


def read_told(out: Output, data: DataOptions, model: "ModelOptions", **more: bool) -> tuple[Any, str | None]:
    """Read a data set before training, and print its size, notes and warnings.

    Return the data, and the reason for training a single model (None for a search). ``more`` are further options of
    single models, and whether they are given.
    """
    dataset = data.read()
    out.note(f"{dataset.X}, read in {out.seconds:.1f} s")
    single = model.why_single(dataset, **more)
    for warning in dataset_warnings(dataset, single is None or model.standardize):
        out.warn(warning)
    if single is not None:
        if model.budget is not None:
            raise ValueError(f"--budget is the time of a search, but there is none: {single}")
        if dataset.X.is_one_set and model.pairwise_names() == ["kronecker"]:
            out.note(ONE_SET)
        if not model.manual:
            out.note(f"{single}: there is no search")
    return dataset, single


def describe(data: "Dataset", ranks: bool = True) -> dict[str, Any]:
    """Return facts about a data set."""
    import numpy as np

    X, y = data.X, data.y
    used = [len(np.unique(X.start)), len(np.unique(X.end))]
    pairs = len(np.unique(X.start.astype(np.int64) * len(X.end_table) + X.end))
    facts: dict[str, Any] = {
        "start_vertices": len(X.start_table),
        "end_vertices": len(X.end_table),
        "one_vertex_set": X.is_one_set,
        "start_vertices_with_edges": used[0],
        "end_vertices_with_edges": used[1],
        "edges": len(X),
        "density": pairs / max(1, used[0] * used[1]),
    }
    if X.is_one_set:
        both = np.concatenate([X.start, X.end])
        n_used, low, high = len(np.unique(both)), np.minimum(X.start, X.end), np.maximum(X.start, X.end)
        pairs = len(np.unique(low.astype(np.int64) * len(X.end_table) + high))
        facts = {"vertices": len(X.start_table), "one_vertex_set": True, "vertices_with_edges": n_used,
                 "edges": len(X), "density": pairs / max(1, n_used * (n_used - 1) / 2)}  # fmt: skip
    if data.is_binary and data.classes is not None:
        n_positive = int((y == y.max()).sum())
        facts["labels"] = {data.classes[1]: n_positive, data.classes[0]: len(y) - n_positive}
        facts["positive_label"] = data.classes[1]
    elif data.classes is not None:
        facts["labels"] = {name: int((y == name).sum()) for name in data.classes}
    else:
        low, middle, high = np.quantile(y, [0, 0.5, 1])
        facts["labels"] = {"lowest": float(low), "median": float(middle), "highest": float(high)}
    sides = [("", both)] if X.is_one_set else [("start_", X.start), ("end_", X.end)]
    for side, vertices in sides:
        degrees = np.bincount(vertices)
        degrees = degrees[degrees > 0]
        facts[f"{side}degrees"] = {
            "lowest": int(degrees.min()), "median": round(float(np.median(degrees))), "highest": int(degrees.max())
        }  # fmt: skip
        table, kind = (X.end_table, data.kinds["end"]) if side == "end_" else (X.start_table, data.kinds["start"])
        facts[f"{side}table"] = (
            f"{kind}, {len(table)} × {table.n_features}" if table.text is None else f"{kind}, {len(table)}"
        )
        if table.notes:
            facts[f"{side}columns"] = dict(table.notes)
        if ranks and table.text is None:
            facts[f"{side}rank"] = _rank(table, kind)
    facts["plan"] = plan_of(X)
    return facts


def plan_of(X: "Edges") -> str:
    """Describe how a product of a training step on all edges would be computed."""
    import numpy as np

    from vectrick.backends.memory import format_bytes
    from vectrick.operators import plan_kron
    from vectrick.operators.plan import format_seconds

    G, K = (np.broadcast_to(1.0, (len(table), len(table))) for table in (X.end_table, X.start_table))
    edges = X.end, X.start
    try:
        plan = plan_kron(G, K, edges, edges)
    except MemoryError as error:
        return (
            f"no plan with whole kernel matrices fits: {str(error).partition('. What helps')[0]}; low-rank factors may"
        )
    return f"{plan.path}: {format_seconds(plan.seconds)} and {format_bytes(plan.memory)} for a product with all edges"


def dataset_warnings(data: "Dataset", standardized: bool = False) -> list[str]:
    """Return warnings about a data set."""
    import numpy as np

    from vectrick.data.complaints import copies, repeated_edges, reported_on, uneven_scales

    X, y = data.X, data.y
    warnings = []
    repeated = repeated_edges(X, y)
    if repeated:
        warnings.append(repeated)
    if X.is_one_set:
        key = X.start.astype(np.int64) * len(X.end_table) + X.end
        reverse = X.end.astype(np.int64) * len(X.end_table) + X.start
        both = np.isin(reverse, key) & (X.start != X.end)
        if both.any():
            warnings.append(f"{int(both.sum())} edges occur in both directions; see --pairwise for their treatment")
    tables = [("start", X.start_table)] if X.is_one_set else [("start", X.start_table), ("end", X.end_table)]
    for side, table in tables:
        found = None if data.kinds[side] == "smiles" else copies(table)  # the reader of molecules reports more
        if found:
            warnings.append(f"{found}: if one of them is in the training edges, the other is not new (leakage)")
        scale = None if standardized or data.kinds[side] == "kernel" else uneven_scales(table)
        if scale is not None:
            warnings.append(f"{scale}, so the larger ones dominate; --standardize scales them")
        reported_on(table).update(("edges", "copies", "scales"))  # so the library does not repeat them
    if data.is_binary and data.classes is not None:
        rare = min(np.unique(y, return_counts=True)[1])
        if rare < 50:
            warnings.append(f"only {rare} edges are of the rarer class, so scores will vary strongly between folds")
    return warnings


def _rank(table: "VertexTable", kind: str) -> str:
    import numpy as np
    from scipy.sparse import issparse

    if len(table) > _LARGEST_RANK or issparse(table.features):
        return "not computed"
    matrix = table.features
    if kind != "kernel":
        return f"{np.linalg.matrix_rank(matrix)} of {min(matrix.shape)}"
    values = np.linalg.eigvalsh(0.5 * (matrix + matrix.T))
    limit = 1e-8 * np.abs(values).max()
    skew = float(np.abs(matrix - matrix.T).max())
    text = f"{int((np.abs(values) > limit).sum())} of {len(values)}"
    if (values < -limit).any():
        text += f"; {int((values < -limit).sum())} negative eigenvalues, down to {values[0]:.3g}"
    return text + (f"; not symmetric, by up to {skew:.2g}" if skew > limit else "")


def _model_info(out: Output, path: Path) -> None:
    import vectrick as vt
    from vectrick.backends.memory import format_bytes
    from vectrick.cli.vertices import class_names

    model: Any = vt.load(path)  # of any kind
    file = {"file": path, "size": format_bytes(path.stat().st_size), "estimator": type(model).__name__}
    facts: dict[str, Any] = {**file, **(_search_facts(model) if hasattr(model, "search_") else _model_facts(model))}
    classes = class_names(model)
    if classes is not None:
        facts |= {"positive_label": classes[1]} if len(classes) == 2 else {"classes": classes}
    about = {**model.about_, "calibration": _calibration(model)}
    out.result |= {**facts, "about": about}
    for side in ("start", "end"):
        table = getattr(model, f"{side}_table_", None)
        if table is not None and table.notes:
            facts[f"{side}_columns"] = dict(table.notes)
    out.result |= facts
    others = {name: value for name, value in about.items() if name not in facts and value not in ({}, None)}
    out.facts({name: _text(value) for name, value in (facts | others).items()})


def _calibration(model: "FittedModel") -> dict[str, int] | None:
    """Return the number of held-out edges that calibrate intervals, for each setting; None if there are none."""
    from vectrick.cli.certainty import calibration_of

    try:
        errors = calibration_of(model).errors
    except ValueError:
        return None
    return {new: sum(each.n for each in some) for new, some in errors.items()}


def _model_facts(model: "KronEstimator") -> dict[str, Any]:
    """Return facts about a single model."""
    from vectrick.kernels.text import format_kernel

    predictor = model.predictor_
    facts = {
        "start_kernel": format_kernel(predictor.start.kernel),
        "end_kernel": format_kernel(predictor.end.kernel),
        "pairwise": predictor.kernel.words,
        "alpha": model.alpha,
        "form": f"{model.form_}: {model.form_reason_}",
        "iterations": model.n_iter_,
        "ended": model.solution_.reason,
        "converged": model.solution_.converged,
        "start_vertices": len(model.start_table_),
        "end_vertices": len(model.end_table_),
        "trained_start_vertices": len(predictor.start.used),
        "trained_end_vertices": len(predictor.end.used),
        "coefficients": len(predictor.coefficients),
    }
    if hasattr(model, "validation_vertices_"):
        facts["validation_vertices"] = model.validation_vertices_
    return facts


def _search_facts(model: "AutoKron") -> dict[str, Any]:
    """Return facts about the model of a search."""
    from vectrick.cli.automatic import members_of
    from vectrick.cli.training import shown_parameters

    facts: dict[str, Any] = {
        "new": model.new,
        "scoring": model.scoring_,
        "score": model.score_,
        "spread": model.spread_,
        "folds": model.folds_,
        "tried": len(model.search_),
        "start_vertices": len(model.start_table_),
        "end_vertices": len(model.end_table_),
        "parameters": {name: value for name, value in shown_parameters(model).items() if value is not None},
    }
    if hasattr(model, "machines_"):
        return facts
    for number, member in enumerate(members_of(model), 1):
        facts[f"member_{number}"] = member
    return facts


def _text(value: object) -> str:
    """Return a value as one line; long values from a file are cut."""
    if isinstance(value, dict):
        text = ", ".join(f"{name}: {_text(inner)}" for name, inner in value.items())
    elif isinstance(value, list | tuple):
        text = ", ".join(map(str, value))
    else:
        text = shown(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
