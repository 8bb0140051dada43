"""Scores on the edges of a lake: exact sums, and histograms for scores that depend on the order of edges."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from vectrick._typing import Array
from vectrick.data.lake.counts import Counts
from vectrick.data.lake.scan import ScannedEdges
from vectrick.data.source import is_lake
from vectrick.metrics.binned import Bins, BoundedScore
from vectrick.models.product import PrimalPredictor
from vectrick.objectives.risks import Sides
from vectrick.passes.engine import LakeEngine
from vectrick.passes.score_tasks import Counted, Sample
from vectrick.passes.tasks import Coding, add_up
from vectrick.streaming.features import features_of
from vectrick.streaming.solve import engine_of
from vectrick.training.fitted import Machine

LAKE_SCORES = ("auc", "average_precision", "concordance", "r2", "mse", "accuracy")
_OF_CLASSES, _OF_VALUES = ("accuracy",), ("r2", "mse")
_SAMPLE = 1 << 18  # predictions that determine the bins


@dataclass
class LakeValidation:
    """The validation edges of a lake: an engine with the features of its vertices.

    Attributes
    ----------
    scoring : str
        The score.
    """

    engine: LakeEngine
    sides: Sides
    scoring: str
    coding: Coding = field(default_factory=Coding)

    def score(self, w: Array, intercept: float) -> float:
        """Return the score of coefficients, the larger the better; one pass."""
        value = self.measured(w, intercept)
        return -float(value) if self.scoring == "mse" else float(value)

    def measured(self, w: Array, intercept: float) -> BoundedScore:
        """Return the score of coefficients with a bound of its error; one pass, after reading a sample."""
        core = self.sides.core(w, self.engine.rows_are_start)
        bins = self._bins(core, intercept) if self.scoring in ("auc", "average_precision", "concordance") else None
        sums, *counts = add_up(self.engine.answers(Counted(core, intercept, self.coding, bins)))
        self.engine.n_passes += 1
        n, total, squares, errors, right, wrong = (float(number) for number in sums)
        if wrong:
            return BoundedScore(np.nan, 0.0, int(n))
        if bins is not None:
            histograms = tuple(count.astype(np.int64) for count in counts)
            return (
                bins.average_precision(histograms)
                if self.scoring == "average_precision"
                else bins.concordance(histograms)
            )
        spread = squares - total * total / n
        values = {"r2": 1.0 - errors / spread if spread > 0 else np.nan, "mse": errors / n, "accuracy": right / n}
        return BoundedScore(values[self.scoring], 0.0, int(n))

    def _bins(self, core: Array, intercept: float) -> Bins:
        engine = self.engine
        size = max(1, _SAMPLE // max(1, engine.edges.n_partitions))
        parts = list(engine.answers(Sample(core, intercept, self.coding, size)))
        predictions, labels = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
        distinct = engine.edges.counts.labels
        if distinct is not None and self.coding.positive is not None:
            distinct = np.array([-1.0, 1.0])
        if self.scoring != "concordance" and (distinct is None or len(distinct) != 2):
            found = "more than 100" if distinct is None else str(len(distinct))
            raise ValueError(f"scoring is {self.scoring!r}, but the labels of the lake have {found} values, not two")
        return Bins.of(predictions, labels, distinct)


def check_known_classes(model: Machine, counts: Counts) -> None:
    """Raise an error if a lake has labels that are not classes of a model."""
    classes: Any = getattr(model, "classes_", None)
    if classes is None or counts.labels is None or len(classes) < 2 or classes.dtype.kind not in "biuf":
        return
    unknown = np.setdiff1d(counts.labels, classes.astype(np.float64))
    if len(unknown):
        raise ValueError(f"the lake has the label {unknown[0]:g}, but the model has the classes {classes.tolist()}")


def score_lake(model: Machine, X: ScannedEdges, scoring: str = "auto") -> BoundedScore:
    """Return the score of a fitted model on the edges of a lake, with a bound of the error.

    Parameters
    ----------
    model : fitted KronRidge, KronSVM, KronLogistic or KronRanker in primal form
        The model, for example from a fit to a lake. With ``backend="dask"``, the workers of the active client compute.
    X : ScannedEdges
        Edges with labels.
    scoring : str
        "auc", "average_precision" or "concordance", computed from histograms (their ``bound`` is at most about 1e-4
        for many edges); "r2", "mse" or "accuracy", computed exactly; or "auto".

    Returns
    -------
    BoundedScore
        A number with ``bound`` and ``n_edges``.

    Examples
    --------
    >>> import tempfile, numpy as np, pandas as pd, vectrick as vt
    >>> folder, rng = tempfile.mkdtemp(), np.random.default_rng(0)
    >>> start, end = rng.integers(0, 8, 200), rng.integers(0, 9, 200)
    >>> frame = pd.DataFrame({"start": start, "end": end, "label": 1.0 * start * end})
    >>> frame.to_parquet(folder + "/edges.parquet")
    >>> X = vt.scan_edges(folder, start_table=np.arange(8.0)[:, None], end_table=np.arange(9.0)[:, None])
    >>> model = vt.KronRidge(alpha=0.01).fit(X)
    >>> float(vt.score_lake(model, X, "r2")) > 0.99
    True
    """
    check_is_fitted(model)
    if not is_lake(X):
        raise TypeError(f"X is of type {type(X).__name__}, but score_lake is for edges of a lake (vt.scan_edges)")
    predictor: Any = getattr(model, "predictor_", None)
    if scoring != "auto" and scoring not in LAKE_SCORES:
        raise ValueError(f"scoring is {scoring!r}, but it must be 'auto' or one of {', '.join(map(repr, LAKE_SCORES))}")
    if not isinstance(predictor, PrimalPredictor) or model._machines:
        raise ValueError(
            "score_lake requires one model in primal form, as from a fit to a lake; this one is an ensemble, has "
            "several classes, or has a coefficient for each edge: score X.edges() in memory"
        )
    if X.reader.label is None:
        raise ValueError("X was scanned with label=None, but a score needs labels; name their column")
    groups = getattr(model, "groups", None)
    if groups and scoring in ("auto", "concordance"):
        raise ValueError(
            f"the model ranks within each {groups} vertex, but the concordance of a lake is over all pairs; read "
            "X.edges() into memory to score it, or use another scoring"
        )
    classes: Any = getattr(model, "classes_", None)
    if (scoring in _OF_CLASSES and classes is None) or (scoring in _OF_VALUES and classes is not None):
        kind = "values" if classes is None else "classes"
        raise ValueError(f"scoring is {scoring!r}, but {type(model).__name__} predicts {kind}")
    engine = engine_of(model, X)
    counts = engine.read(X.memory_limit // 2)
    check_known_classes(model, counts)
    sides = [
        features_of(kernel, found, table, np.flatnonzero(degree), predictor.w.dtype)
        for kernel, found, table, degree in (
            (predictor.start, predictor.start_map, X.start_table, counts.start),
            (predictor.end, predictor.end_map, X.end_table, counts.end),
        )
    ]
    engine.set_features(*sides)
    coding = Coding(None if classes is None else float(classes[1]))
    scoring = model._lake_scoring(counts) if scoring == "auto" else scoring
    return LakeValidation(engine, Sides(*sides), scoring, coding).measured(
        predictor.w.astype(np.float64), float(model.intercept_)
    )
