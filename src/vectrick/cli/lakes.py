"""Lakes on the command line: their options, a cluster to compute on, training and info."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from vectrick.cli.command import Interrupted
from vectrick.cli.options import DataOptions, panel
from vectrick.cli.output import Output
from vectrick.cli.training import show_step

if TYPE_CHECKING:
    from vectrick.cli.model_options import ModelOptions
    from vectrick.data.lake.counts import Counts
    from vectrick.data.lake.folder import LakeDataset
    from vectrick.data.lake.scan import ScannedEdges
    from vectrick.estimators import FittedModel
    from vectrick.streaming.plan import LakePlan

_lake = panel("Lakes: a folder edges/ of Parquet files, larger than memory")


@dataclass(frozen=True)
class ScanOptions:
    """The options for reading a lake."""

    weight_column: Annotated[
        str | None, _lake("--weight-column", help="The column of weights in the edges.", show_default="no weights")
    ] = None
    missing: Annotated[
        str,
        _lake("--missing", help="Edges of unknown vertices or without a label: error, or drop and count them."),
    ] = "error"
    max_memory: Annotated[
        str | None, _lake("--max-memory", help="Memory for edges and features, such as 1GB.", show_default="half")
    ] = None
    cache_dir: Annotated[
        Path | None,
        _lake("--cache-dir", help="A folder for edges that exceed --max-memory.", show_default="temporary files"),
    ] = None
    partition_edges: Annotated[
        int | None,
        _lake("--partition-edges", help="The approximate number of edges in a partition.", show_default="by size"),
    ] = None

    def lake(self, data: DataOptions) -> "LakeDataset | None":
        """Return the lake, None if the data are no lake."""
        from vectrick.data.lake.folder import edges_of_lake, read_lake_folder

        edges = edges_of_lake(data.data, data.edges)
        if edges is None:
            return None
        if data.log is not None or data.relation_column is not None:
            raise ValueError("--log and --relation-column are for edges in memory, but the data are a lake")
        if data.positive is not None:
            raise ValueError("--positive is given, but the data are a lake: the larger of its two labels is positive")
        missing = "drop" if data.skip_unlabeled else self.missing
        scan: dict[str, Any] = {
            "weight": self.weight_column,
            "missing": missing,
            "max_memory": self.max_memory,
            "cache_dir": self.cache_dir,
            "partition_edges": self.partition_edges,
        }
        return read_lake_folder(edges, data.data, data.options(edges=None), **scan)

    @property
    def is_given(self) -> bool:
        """Whether an option for lakes was given."""
        return self != type(self)()


@dataclass(frozen=True)
class LakeOptions(ScanOptions):
    """The options for training on a lake."""

    components: Annotated[
        int | None,
        _lake("--components", help="The number of features that approximate a kernel with more.", show_default="256"),
    ] = None
    cluster: Annotated[
        str | None,
        _lake("--cluster", help="A Dask cluster to compute on: tcp://HOST:PORT, tls://HOST:PORT, or local:4 for four "
              "processes on this machine."),
    ] = None  # fmt: skip
    worker_timeout: Annotated[
        str | None,
        _lake("--worker-timeout", help="How long to wait for workers that hang.", show_default="10 minutes"),
    ] = None
    dry_run: Annotated[bool, _lake("--dry-run", help="Print the plan and its cost; train nothing.")] = False


@contextmanager
def on_cluster(cluster: str | None, timeout: str | None) -> Iterator[str]:
    """Connect to a cluster, and yield the backend to use: "dask", or "cpu" if there is no cluster."""
    if cluster is None:
        if timeout is not None:
            raise ValueError(f"--worker-timeout is {timeout!r}, but there is no --cluster to wait for")
        yield "cpu"
        return
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise ValueError("--cluster needs Dask: pip install 'vectrick[dask]'") from error
    from dask.utils import parse_timedelta

    from vectrick.passes.cluster import TIMEOUT

    try:
        parse_timedelta(timeout or "1s")
    except (ValueError, KeyError):
        raise ValueError(f"--worker-timeout is {timeout!r}, but it must be a time such as 30s or 10min") from None
    kind, _, rest = cluster.partition(":")
    local = None
    if kind == "local":
        if not rest.isdecimal() or int(rest) < 1:
            raise ValueError(f"--cluster is {cluster!r}, but it must be an address, or local:4 for four processes")
        local = LocalCluster(n_workers=int(rest), threads_per_worker=1, dashboard_address=":0")
    elif "://" not in cluster:
        raise ValueError(f"--cluster is {cluster!r}, but it must be an address such as tcp://host:8786, or local:4")
    try:
        client = Client(local or cluster)
    except (OSError, TimeoutError, ValueError) as error:
        raise ValueError(f"--cluster is {cluster!r}, but no scheduler responds there: {error}") from error
    try:
        with dask.config.set({} if timeout is None else {TIMEOUT: timeout}):
            yield "dask"
    finally:
        client.close()
        if local is not None:
            local.close()


def fit_lake(
    out: Output, lake: "LakeDataset", model: "ModelOptions", options: LakeOptions, new: str, output: Path
) -> None:
    """Train a model on a lake and write it to a file, or only print the plan."""
    from dataclasses import replace

    X = lake.X
    out.note(f"{X}")
    single = model.why_single(lake)  # type: ignore[arg-type]
    dry = options.dry_run
    with on_cluster(None if dry else options.cluster, None if dry else options.worker_timeout) as place:
        backend = model.backend if place == "cpu" else place
        chosen = replace(model, backend="cpu")
        if single is not None or options.dry_run:
            extra: dict[str, Any] = {"n_components": options.components, "refit": not model.no_early_stopping}
            estimator = chosen.estimator(lake, **extra)  # type: ignore[arg-type]
        else:
            estimator = chosen.searcher(lake, new)  # type: ignore[arg-type]
        estimator.set_params(backend=backend)
        if options.dry_run:
            _tell_plan(out, estimator.plan(X))
            return
        with out.library_progress("training on the lake") as bar:
            if single is None:
                estimator.fit(X)
            else:
                estimator.fit(X, callback=lambda step: show_step(bar, step, "score"), keep_interrupted=True)
    about = {
        "edges": X.count(),
        "trained_edges": X.count(),
        "start_vertices": len(X.start_table),
        "end_vertices": len(X.end_table),
        "files": {name: path.name for name, path in lake.files.items()},
        "label": lake.label,
        "classes": [str(name) for name in estimator.classes_.tolist()] if hasattr(estimator, "classes_") else None,
        "medians": lake.medians,
    }
    estimator.save(output, about=about)
    _summarise(out, estimator, X)
    out.wrote("model", output)
    out.result["seconds"] = {"total": out.seconds}
    if estimator.solution_.reason.startswith("interrupted"):
        raise Interrupted(f"interrupted: {output} holds the best model so far, from iteration {estimator.n_iter_}")


def _tell_plan(out: Output, plan: "LakePlan") -> None:
    from dataclasses import asdict

    out.result |= {**asdict(plan), "seconds": plan.seconds, "workers": [plan.with_workers(n) for n in (1, 2, 4, 8, 16)]}
    for line in str(plan).splitlines():
        out.say(line)


def _summarise(out: Output, model: "FittedModel", X: "ScannedEdges") -> None:
    """Print the model, the reason for its end, and the number of edges."""
    solution, counts = model.solution_, X.counts
    out.result |= {
        "estimator": type(model).__name__,
        "edges": counts.n_edges,
        "dropped": counts.n_unknown + counts.n_unlabeled,
        "partitions": X.n_partitions,
        "iterations": model.n_iter_,
        "converged": solution.converged,
        "reason": solution.reason,
        "scores": {key: model.history_[key][-1] for key in ("score",) if model.history_.get(key)},
    }
    if hasattr(model, "search_"):
        for line in str(model).splitlines():
            out.say(line)
        out.result |= {"score": model.score_, "scoring": model.scoring_, "notes": model.told_}
    else:
        out.say(f"{type(model).__name__}: {model.n_iter_} iterations; it stopped because: {solution.reason}")
        if model.history_.get("score"):
            out.say(f"the best score on held-out vertices was {max(model.history_['score']):.4f}")
    out.say(f"trained on {counts.n_edges:,} edges of {X.n_partitions} partitions; {model.form_reason_}")
    dropped = counts.n_unknown + counts.n_unlabeled
    if dropped:
        out.warn(
            f"{dropped} edges were dropped: {counts.n_unknown} of unknown vertices, {counts.n_unlabeled} unlabeled"
        )


def lake_info(out: Output, lake: "LakeDataset") -> None:
    """Describe a lake, in one pass."""
    X = lake.X
    with out.progress("reading", X.n_partitions) as bar:
        X.count_edges(bar.step)
    counts = X.counts
    facts: dict[str, Any] = {
        "start_vertices": len(X.start_table),
        "end_vertices": len(X.end_table),
        "edges": counts.n_edges,
        "dropped_edges": {"unknown vertex": counts.n_unknown, "no label": counts.n_unlabeled},
        "partitions": X.n_partitions,
        "labels": _labels(counts),
        "start_degrees": _degrees(counts.start),
        "end_degrees": _degrees(counts.end),
        "start_table": f"{lake.kinds['start']}, {len(X.start_table)} × {X.start_table.n_features}",
        "end_table": f"{lake.kinds['end']}, {len(X.end_table)} × {X.end_table.n_features}",
    }
    out.result |= facts
    out.facts({name: str(value) for name, value in facts.items()})


def _labels(counts: "Counts") -> dict[str, Any]:
    values = None if counts.labels is None else counts.labels.tolist()
    return {"lowest": counts.low, "mean": counts.total / counts.n_edges, "highest": counts.high, "different": values}


def _degrees(degrees: Any) -> dict[str, int]:
    import numpy as np

    used = degrees[degrees > 0]
    return {
        "vertices": len(used),
        "lowest": int(used.min()),
        "median": int(np.median(used)),
        "highest": int(used.max()),
    }
