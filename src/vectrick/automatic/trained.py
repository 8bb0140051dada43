"""A search with its data: its held-out edges, its scores by setting, and baselines on the same inner folds."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from vectrick.automatic.estimator import AutoKron
from vectrick.data.files.dataset import Dataset
from vectrick.model_selection.baselines.comparison import run_fold
from vectrick.model_selection.scorers import get_scorer
from vectrick.model_selection.splitting.folds import Fold
from vectrick.model_selection.splitting.holdout import Holdout
from vectrick.model_selection.splitting.pairs import Pairs
from vectrick.model_selection.trained import HeldFold, Trained

_FOLDS = 3  # of each setting, for training baselines and calibrating intervals


def train_automatic(estimator: AutoKron, data: Dataset) -> Trained:
    """Search and train on all edges; return the predictions for the held-out edges of each inner fold."""
    begin = time.perf_counter()
    model = estimator.fit(data.X, data.target)
    return searched(model, data, time.perf_counter() - begin)


def searched(model: AutoKron, data: Dataset, seconds: float) -> Trained:
    """Return a fitted search with its training data and the predictions on its inner folds."""
    folds = getattr(model, "_held_out", [])
    settings = list(dict.fromkeys(fold.new for fold in folds))
    parts = {new: [fold for fold in folds if fold.new == new] for new in settings}
    tests = {new: np.concatenate([fold.test for fold in some]) for new, some in parts.items()}
    return Trained(
        model,
        data,
        Holdout(np.arange(len(data.X)), tests),
        getattr(model, "scoring_", "auc"),
        scores={new: float(np.mean([fold.score for fold in some])) for new, some in parts.items()},
        predictions={new: np.concatenate([fold.decisions for fold in some]) for new, some in parts.items()},
        seconds={**getattr(model, "seconds_", {}), "training": seconds},
        folds=[HeldFold(fold.new, fold.train, fold.test, fold.decisions) for fold in _some(folds)],
        is_refitted=True,
        is_interrupted=model._was_interrupted,
    )


def beside_baselines_inside(
    trained: Trained, others: dict[str, Any], *, done: Callable[[int, str], None] = lambda number, name: None
) -> Any:
    """Train baselines on some inner folds of a search; return a pandas frame of settings, methods and folds.

    The model's own scores come from its members before they were trained on all edges. The column "of" has the number
    of all folds; at most three of each setting are used. If there is nothing to compare, the result is None.
    """
    import pandas as pd

    X, y, folds = trained.data.X, trained.y, compared_folds(trained)
    if not folds or not others:
        return None
    scoring = "auc" if trained.data.is_binary else "concordance"
    scorer, rows = get_scorer(scoring), []
    for fold in folds:
        score = scorer.score(y[fold.test], fold.decisions, Pairs.of(X[fold.test]))
        rows.append({"setting": fold.new, "method": type(trained.model).__name__, "score": score,
                     "fit": trained.seconds["training"] / len(folds), "predict": 0.0})  # fmt: skip
    for number, (name, method) in enumerate(others.items()):
        for place, fold in enumerate(folds):
            named = Fold(f"inner fold {place + 1}", fold.train, fold.test)
            row = run_fold(name, method, X, y, named, scorer)
            rows.append({"setting": fold.new, "method": name, **row})
            done(number * len(folds) + place + 1, name)
    n_all = len(trained.model._held_out)
    return pd.DataFrame(rows).drop(columns="error").assign(scoring=scoring, of=n_all)


def compared_folds(trained: Trained) -> list[Any]:
    """Return the inner folds that baselines are trained on: some of each setting."""
    return _some(getattr(trained.model, "_held_out", []))


def _some(every: list[Any]) -> list[Any]:
    """Return some folds of each setting, evenly spread over all."""
    settings = dict.fromkeys(fold.new for fold in every)
    parts = [[fold for fold in every if fold.new == new] for new in settings]
    return [part[at] for part in parts for at in np.unique(np.linspace(0, len(part) - 1, _FOLDS).astype(int))]
