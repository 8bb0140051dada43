"""Which engine makes the passes of an estimator over a lake."""

from typing import Any

from vectrick._progress import Progress
from vectrick.backends import settle_backend
from vectrick.backends.threads import count_threads
from vectrick.data.lake.scan import ScannedEdges
from vectrick.passes.engine import LakeEngine
from vectrick.passes.local import LocalEngine


def engine_of(model: Any, X: ScannedEdges) -> LakeEngine:
    """Return the engine that an estimator asks for."""
    reading: list[Progress] = []

    def told(what: str, done: int, total: int) -> None:
        if not reading:
            reading.append(Progress(f"{type(model).__name__}: {what} partitions", total, model.verbose))
        reading[0].step()

    if model.backend == "dask":
        from vectrick.passes.cluster import DaskEngine  # Dask takes long to load

        return DaskEngine(X, told)
    backend = settle_backend(model.backend, model.device)
    return LocalEngine(X, count_threads(model.n_threads), told, backend)
