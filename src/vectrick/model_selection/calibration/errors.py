"""Errors on held-out edges, and the intervals and sets of labels that follow from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from vectrick._typing import Array, New
from vectrick.backends.arrays import to_host
from vectrick.data import Edges
from vectrick.data.settings import NEW
from vectrick.estimators import label_scale
from vectrick.persistence.checks import numbers, of_kind
from vectrick.training.fitted import Fitted

_KEPT = 1000  # errors kept for a setting; of more, the largest of each of as many equal shares
_HALVINGS = 60  # bisection steps: an interval shrinks to rounding error


def check_coverage(coverage: float, name: str = "coverage") -> float:
    """Return the coverage as a float, or raise an error if it is not between 0 and 1."""
    if isinstance(coverage, bool) or not isinstance(coverage, Real) or not 0 < float(coverage) < 1:
        raise ValueError(f"{name} is {coverage!r}, but it must be a number between 0 and 1, such as 0.9")
    return float(coverage)


@dataclass(frozen=True)
class Errors:
    """Sorted errors; of many, only the largest of each of equal shares of all n errors.

    >>> import numpy as np
    >>> errors = Errors.of(np.arange(10.0))
    >>> errors.at_most(np.array([3.5])), errors.at_least(np.array([3.5]))
    (array([4.]), array([6.]))
    """

    values: Array
    n: int

    @classmethod
    def of(cls, errors: Array) -> "Errors":
        """Sort errors, and keep few enough for a small file; this can only widen intervals."""
        ordered, n = np.sort(errors), len(errors)
        if n > _KEPT:
            ordered = ordered[np.ceil(n * np.arange(1, _KEPT + 1) / _KEPT).astype(int) - 1]
        return cls(ordered, n)

    @property
    def _share(self) -> float:
        return self.n / max(1, len(self.values))

    def at_most(self, bound: Array) -> Array:
        """Return how many errors are at most ``bound``."""
        return self._share * np.searchsorted(self.values, bound, "right")

    def at_least(self, bound: Array) -> Array:
        """Return how many errors are at least ``bound``."""
        return self.n - self._share * np.searchsorted(self.values, bound, "left")

    def header(self) -> dict[str, Any]:
        """Return the errors as JSON."""
        return {"values": self.values.tolist(), "n": self.n}

    @classmethod
    def read(cls, header: Mapping[str, Any]) -> "Errors":
        """Return errors from JSON."""
        values, n = np.array(numbers(of_kind(dict, header)["values"]), np.float64), of_kind(int, header["n"])
        if n < len(values) or (n and not len(values)) or not (np.diff(values) >= 0).all():
            raise ValueError("the errors of a calibration are damaged")
        return cls(values, n)


class Centre(NamedTuple):
    """Predictions of a model for some edges, their expected errors, and the model's errors on held-out edges."""

    mean: Array
    scale: Array
    errors: Errors


def interval(centres: Sequence[Centre], coverage: float) -> tuple[Array, Array]:
    """Return the bounds of intervals for labels, from the errors of one model or of the models of several folds.

    The upper bound is the ``⌈coverage (n + 1)⌉``-th smallest of all ``mean + scale error``, each with the errors of its
    own model (the "CV+" of Barber and others, 2021).
    """
    upper = _upper(centres, coverage)
    return -_upper([centre._replace(mean=-centre.mean) for centre in centres], coverage), upper


def _upper(centres: Sequence[Centre], coverage: float) -> Array:
    n = sum(centre.errors.n for centre in centres)
    rank = np.ceil(coverage * (n + 1) - 1e-9)
    if rank > n:
        return np.full(len(centres[0].mean), np.inf)
    high = np.max([mean + scale * errors.values[-1] for mean, scale, errors in centres], axis=0)
    low = np.min([mean + scale * errors.values[0] for mean, scale, errors in centres], axis=0)
    low = low - 1e-12 * (1.0 + np.abs(low))
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        counts = sum(errors.at_most((middle - mean) / scale) for mean, scale, errors in centres)
        enough = counts >= rank - 1e-6
        high, low = np.where(enough, middle, high), np.where(enough, low, middle)
        if (high - low <= 1e-12 * (1.0 + np.abs(high))).all():
            break
    return np.asarray(high)


def margins(decisions: Array) -> Array:
    """Return the evidence against each class, a column for each; two classes share one decision value."""
    return np.stack([decisions, -decisions], axis=1) if decisions.ndim == 1 else -decisions


def sets(parts: Sequence[tuple[Array, list[Errors]]], coverage: float) -> Array:
    """Return a mask of the possible classes of edges, a column for each class.

    A class is left out of the set if the evidence against it exceeds that of all but a share ``1 - coverage`` of the
    held-out edges of the class. So the coverage holds within each class. ``parts`` are decision values of models, and
    their errors.
    """
    columns = []
    for label in range(len(parts[0][1])):
        n = sum(errors[label].n for _, errors in parts)
        worse = sum(errors[label].at_least(margins(decisions)[:, label]) for decisions, errors in parts)
        columns.append((1.0 + worse) / (n + 1) > 1.0 - coverage)
    return np.stack(columns, axis=1)


def errors_of(y: Array, decisions: Array, scale: Array | None, classes: Array | None) -> list[Errors]:
    """Return the errors of predictions for held-out edges: one collection, or one for each class."""
    if classes is None:
        return [Errors.of(np.abs(y - decisions) / (1.0 if scale is None else scale))]
    margin = margins(decisions)
    return [Errors.of(margin[y == label, column]) for column, label in enumerate(classes)]


def decisions_of(model: Fitted, X: Edges) -> Array:
    """Return the real-valued predictions of a model on the host."""
    return np.asarray(to_host(model._decide(X)))


def news_of(model: Fitted, X: Edges) -> Array:
    """Return the setting of each edge for a model: "both", "start", "end" or "neither"."""
    kernel = model.predictor_.kernel
    new_start = kernel.start.places(X.start_table, X.start) < 0
    new_end = kernel.end.places(X.end_table, X.end) < 0
    return np.select([new_start & new_end, new_start, new_end], NEW[:3], NEW[3])


# The settings whose errors may be used for each setting: at least as hard, its own first
_HARDER = {"neither": ("neither", "start", "end", "both"), "start": ("start", "both"), "end": ("end", "both"),
           "both": ("both",)}  # fmt: skip


@dataclass(frozen=True)
class Calibration:
    """The errors of a model on held-out edges by setting, saved in its file.

    Attributes
    ----------
    errors : dict
        For each setting, the errors of values, or of each class.
    scaled : dict
        For each setting, the errors of values relative to the model's standard deviations for labels; empty if it has
        none. They are used for edges of the same setting. Edges of an easier setting use ``errors``, because their
        standard deviations are smaller, but not necessarily by as much as their errors.
    """

    errors: dict[str, list[Errors]]
    scaled: dict[str, Errors]

    def header(self) -> dict[str, Any]:
        """Return the calibration as JSON."""
        errors = {new: [each.header() for each in some] for new, some in self.errors.items()}
        return {"errors": errors, "scaled": {new: errors.header() for new, errors in self.scaled.items()}}

    @classmethod
    def read(cls, header: Mapping[str, Any] | None) -> "Calibration":
        """Return a calibration from JSON."""
        both = of_kind(dict, header)
        absolute, scaled = of_kind(dict, both["errors"]), of_kind(dict, both["scaled"])
        settings: list[str] = [new for new in NEW if new in absolute]
        errors = {new: [Errors.read(each) for each in of_kind(list, absolute[new])] for new in settings}
        return cls(errors, {new: Errors.read(scaled[new]) for new in NEW if new in scaled})

    def setting_for(self, new: New, coverage: float) -> str | None:
        """Return the setting whose errors are used for edges of a setting: its own, else a harder one, else None."""
        for setting in _HARDER[new]:
            least = coverage / (1.0 - coverage)
            if setting in self.errors and all(each.n >= least - 1e-9 for each in self.errors[setting]):
                return setting
        return None

    def intervals(self, model: Fitted, X: Edges, decisions: Array, coverage: float) -> tuple[Array, Array, Array]:
        """Return the bounds of intervals for edges, and the settings whose errors were used, "" for none."""
        low, high = np.full(len(X), -np.inf), np.full(len(X), np.inf)
        taken, news = self._settings(model, X, coverage)
        scale = label_scale(model, X) if self.scaled and len(X) else None
        for new, setting in {*zip(news.tolist(), taken.tolist(), strict=True)}:
            if not setting:
                continue
            rows, errors, own = (news == new) & (taken == setting), self.errors[setting][0], None
            if new == setting and scale is not None and setting in self.scaled:
                errors, own = self.scaled[setting], scale[rows]
            centre = Centre(decisions[rows], np.ones(int(rows.sum())) if own is None else own, errors)
            low[rows], high[rows] = interval([centre], coverage)
        return low, high, taken

    def sets(self, model: Fitted, X: Edges, decisions: Array, coverage: float) -> tuple[Array, Array]:
        """Return the sets of classes of edges, and the settings whose errors were used, "" for none."""
        taken, _ = self._settings(model, X, coverage)
        n_classes = 2 if decisions.ndim == 1 else decisions.shape[1]
        if any(len(errors) != n_classes for errors in self.errors.values()):
            raise ValueError(f"the model has {n_classes} classes, but its calibration belongs to another model")
        members = np.ones((len(X), n_classes), bool)
        for setting in np.unique(taken[taken != ""]).tolist():
            rows = taken == setting
            members[rows] = sets([(decisions[rows], self.errors[setting])], coverage)
        return members, taken

    def _settings(self, model: Fitted, X: Edges, coverage: float) -> tuple[Array, Array]:
        """Return the settings whose errors are used for edges, and the settings of the edges."""
        news = news_of(model, X)
        taken = np.full(len(X), "", dtype="U8")
        for new in np.unique(news).tolist():
            taken[news == new] = self.setting_for(new, coverage) or ""
        return taken, news
