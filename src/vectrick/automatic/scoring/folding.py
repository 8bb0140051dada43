"""Inner folds for the requested setting, or fewer or other folds if the data do not allow them."""

from dataclasses import dataclass

import numpy as np

from vectrick._typing import Array, New, NewOrAll
from vectrick.data import Edges
from vectrick.data.settings import NEW, SETTINGS
from vectrick.model_selection.splitting.folds import Fold
from vectrick.model_selection.splitting.splitters import VertexKFold

ASKED = (*NEW, "all")
_PARTS, _FEWEST = 3, 2  # parts of the vertices of each side
_SEEDS = 3  # divisions to try before reducing the number of parts
_FEW_EDGES, _REPEATS = 3000, 3  # with fewer edges, the vertices are divided repeatedly


@dataclass(frozen=True)
class Folding:
    """Inner folds.

    Attributes
    ----------
    folds : list of Fold
        The folds of all settings.
    weights : array
        The weight of each fold; all settings have the same total weight.
    settings : list of str
        The setting of each fold.
    messages : list of str
        Notes about folds that differ from the requested ones, with the reason.
    """

    folds: list[Fold]
    weights: Array
    settings: list[New]
    messages: list[str]

    def words(self, n_used: int) -> str:
        """Return the number of folds in a score, and their settings, as text."""
        settings = list(dict.fromkeys(self.settings))
        count = f"{n_used} of {len(self.folds)}" if n_used < len(self.folds) else str(n_used)
        return f"{count} inner folds ({', '.join(SETTINGS[new].words for new in settings)})"


class NoFoldsError(ValueError):
    """There are too few vertices or labels to hold some of them out."""


def make_folds(X: Edges, y: Array, new: NewOrAll, stratify: bool, seed: int) -> Folding:
    """Return inner folds for a setting, or for all of them.

    If the training or test edges of folds have one label only, the function tries other divisions, then fewer parts,
    then other settings, and finally held-out edges between known vertices; ``messages`` reports this.
    """
    asked: list[New] = ([each for each in NEW if not (X.is_one_set and each == "end")]) if new == "all" else [new]
    folds: list[Fold] = []
    settings: list[New] = []
    messages: list[str] = []
    for each in asked:
        found, setting, words = _folds_of(X, y, each, stratify, seed)
        folds += found
        settings += [setting] * len(found)
        messages += words
    counts = {setting: settings.count(setting) for setting in settings}
    return Folding(folds, np.array([1.0 / counts[setting] for setting in settings]), settings, messages)


def _folds_of(X: Edges, y: Array, new: New, stratify: bool, seed: int) -> tuple[list[Fold], New, list[str]]:
    repeats = _REPEATS if len(X) < _FEW_EDGES else 1
    why = ""
    settings: tuple[New, ...] = NEW if new == "both" and not X.is_one_set else (new, "neither")
    for setting in dict.fromkeys(settings):
        for parts in range(_PARTS, _FEWEST - 1, -1):
            for attempt in range(_SEEDS):
                n_end = 1 if setting == "neither" else None
                cv = VertexKFold(
                    parts, n_end, setting, stratify=stratify, n_repeats=repeats, random_state=seed + attempt
                )
                try:
                    folds = cv.folds(X, y)
                except ValueError as error:
                    why = why or str(error).partition(";")[0]
                    continue
                folds = [fold for fold in folds if _has_labels(y, fold)]
                if len(folds) < _FEWEST:
                    why = why or "too few parts have different labels"
                    continue
                messages = []
                if setting != new:
                    messages = [f"no folds with {SETTINGS[new].words} are possible ({why}); scores come from other "
                            f"folds: {SETTINGS[setting].words}"]  # fmt: skip
                elif parts < _PARTS:
                    messages = [f"folds have {parts} parts instead of {_PARTS}: {why}"]
                return folds, setting, messages
    raise NoFoldsError(why)


def _has_labels(y: Array, fold: Fold) -> bool:
    """Whether both parts of a fold have different labels, as scores require."""
    return all(len(part) > 1 and bool((part != part[0]).any()) for part in (y[fold.train], y[fold.test]))
