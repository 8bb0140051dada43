"""Uncertainty of predictions on the command line: intervals, sets of classes, novelty, and warnings."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vectrick.cli.output import Output

if TYPE_CHECKING:
    from vectrick._typing import Array
    from vectrick.data import Edges
    from vectrick.estimators import FittedModel
    from vectrick.model_selection.calibration.errors import Calibration

_PRIOR = 0.98  # novelty above which a prediction is little more than the intercept
_LOOKED_AT = 10_000  # edges of a command that are checked for warnings
_QUICK = 3000  # vertices of a side up to which the check is cheap


def calibration_of(model: "FittedModel") -> "Calibration":
    """Return the errors on held-out edges that a model stores; raise if it has none."""
    from vectrick.model_selection.calibration.errors import Calibration

    stored = getattr(model, "about_", {}).get("calibration")
    try:
        return Calibration.read(stored)
    except (KeyError, TypeError, ValueError):  # a file can contain anything
        raise ValueError(
            "--interval needs errors on held-out edges, but this model has none: vectrick fit stores them if it holds "
            "out edges in memory, and vt.ConformalKron in Python calibrates any model"
        ) from None


@dataclass
class Certainty:
    """The columns that show how certain predictions are.

    Parameters
    ----------
    out : Output
        The output of the command, for notes and warnings.
    model : estimator
        The model.
    coverage : float, optional
        The share of labels that intervals should contain; None for no intervals.
    novelty : bool
        Whether to add the novelty.
    """

    out: Output
    model: "FittedModel"
    coverage: float | None
    novelty: bool

    def __post_init__(self) -> None:
        from vectrick.model_selection.calibration.errors import check_coverage

        self._calibration = None
        if self.coverage is not None:
            check_coverage(self.coverage, "--interval")
            self._calibration = calibration_of(self.model)
        self._looked, self._has_novelty = 0, True
        self._harder: dict[str, int] = {}

    def columns(self, X: "Edges", scores: "Array") -> dict[str, Any]:
        """Return the columns of edges with the given scores."""
        columns: dict[str, Any] = {}
        if self._calibration is not None and self.coverage is not None:
            if hasattr(self.model, "classes_"):
                from vectrick.cli.vertices import class_names

                members, taken = self._calibration.sets(self.model, X, scores, self.coverage)
                names = class_names(self.model) or []
                columns["set"] = [" ".join(name for name, member in zip(names, row, strict=True) if member)
                                  for row in members.tolist()]  # fmt: skip
            else:
                columns["lower"], columns["upper"], taken = self._calibration.intervals(
                    self.model, X, scores, self.coverage
                )
            self._count(X, taken)
        if self.novelty or (self.coverage is not None and self._has_novelty):
            try:
                columns["novelty"] = self.model.novelty(X)
            except ValueError as error:
                if self.novelty:
                    raise ValueError(f"--novelty: {error}") from None
                self._has_novelty = False
                self.out.note(f"there is no column of novelty: {error}")
        elif self._looked < _LOOKED_AT:
            self._looked += len(X)
            warn_of_prior(self.out, self.model, X)
        return columns

    def _count(self, X: "Edges", taken: Any) -> None:
        """Count edges whose intervals come from errors of another setting, or that have no interval."""
        import numpy as np

        from vectrick.model_selection.calibration.errors import news_of

        news = news_of(self.model, X)
        for new in np.unique(news).tolist():
            for setting in np.unique(taken[news == new]).tolist():
                if setting != new:
                    key = f"{new}:{setting}"
                    self._harder[key] = self._harder.get(key, 0) + int(((news == new) & (taken == setting)).sum())

    def tell(self) -> None:
        """Report the intervals that do not come from errors of their own setting."""
        from vectrick.data.settings import settings_of

        words = settings_of(self.model.start_table_ is self.model.end_table_)
        for key, n_edges in self._harder.items():
            new, _, setting = key.partition(":")
            if setting:
                self.out.note(
                    f"{n_edges} edges ({words[new].words}) have intervals from held-out edges with "
                    f"{words[setting].words}; these are harder, so the intervals are rather too wide"
                )
            else:
                self.out.warn(
                    f"{n_edges} edges ({words[new].words}) have no interval: too few edges like them were held out; "
                    "train with --new all"
                )


def warn_of_prior(out: Output, model: "FittedModel", X: "Edges") -> None:
    """Warn of predictions for new vertices that are too unlike the training vertices to be informative."""
    import numpy as np

    from vectrick.model_selection.calibration.errors import news_of

    kernel = model.predictor_.kernel
    if not len(X) or max(len(kernel.start.used), len(kernel.end.used)) > _QUICK:
        return
    some = X[:_LOOKED_AT]
    some = some[news_of(model, some) != "neither"]
    try:
        novelty = model.novelty(some) if len(some) else np.zeros(0)
    except ValueError:  # no novelty: another pairwise kernel, or no edges kept
        return
    n_prior = int((novelty > _PRIOR).sum())
    if n_prior:
        out.warn(
            f"{n_prior} of {len(X)} predictions are mostly prior: their vertices are so unlike the training vertices "
            f"(novelty above {_PRIOR}) that the model falls back to its mean; vectrick predict --novelty shows which"
        )
