"""Compare a trained model with baselines on its held-out edges, within seconds."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from vectrick._typing import Frame
from vectrick.data import Edges
from vectrick.data.settings import NEW
from vectrick.model_selection.baselines.sampling import OnSomeEdges, drawn
from vectrick.model_selection.scorers import get_scorer, predictions
from vectrick.model_selection.splitting.pairs import Pairs
from vectrick.model_selection.trained import Trained

_NUMBERS, _LEAST = 20_000_000, 2000  # most feature values and fewest edges to train a baseline on
_NUMBERS_OF_FOLD = 5_000_000  # most feature values if it trains once for each of many folds
_CHEAP = ("vertex mean",)


def limited(others: dict[str, Any], X: Edges, n_edges: int | None = None) -> dict[str, Any]:
    """Limit baselines to ``n_edges`` training edges (default: as many as take seconds), and add this to their names."""
    n_features = X.start_table.n_features + X.end_table.n_features
    most = max(_LEAST, _NUMBERS_OF_FOLD // max(1, n_features)) if n_edges is None else n_edges
    if most >= len(X):
        return others
    return {
        name if name in _CHEAP else f"{name} on {most} edges": method if name in _CHEAP else OnSomeEdges(method, most)
        for name, method in others.items()
    }


@dataclass(frozen=True)
class Verdict:
    """The difference between a method and the best other method in one setting.

    Attributes
    ----------
    setting, best : str
        The setting, and the name of the best other method.
    difference, spread : float
        The mean difference of the scores over the folds, and its standard deviation between folds.
    """

    setting: str
    best: str
    difference: float
    spread: float

    @property
    def is_clear(self) -> bool:
        """Whether the difference is more than its spread over folds."""
        return abs(self.difference) > self.spread

    def words(self, method: str) -> str:
        """Return the verdict in a sentence."""
        how = "ahead of" if self.difference >= 0 else "behind"
        than = "more than" if self.is_clear else "no more than"
        spread = f"{than} its spread over folds ({self.spread:.3f})"
        return f"{method} is {how} the best baseline, {self.best}, by {abs(self.difference):.3f}, {spread}"


def verdicts(rows: Frame) -> list[Verdict]:
    """Compare the first method of a frame of settings, methods and folds with the best other method, fold by fold."""
    found = []
    for setting, some in rows.groupby("setting", sort=False):
        scores = {method: part["score"].to_numpy() for method, part in some.groupby("method", sort=False)}
        first = next(iter(scores))
        own = scores.pop(first)
        others = {name: each for name, each in scores.items() if len(each) == len(own) and np.isfinite(each).all()}
        if others and np.isfinite(own).all():
            best = max(others, key=lambda name: others[name].mean())
            difference = own - others[best]
            spread = float(difference.std(ddof=1)) if len(difference) > 1 else float("nan")
            found.append(Verdict(str(setting), best, float(difference.mean()), spread))
    return found


def beside_baselines(
    trained: Trained,
    others: dict[str, Any],
    *,
    done: Callable[[int, str], None] = lambda number, name: None,
    failed: Callable[[str, Exception], None] = lambda name, error: None,
) -> Any:
    """Train baselines on the same edges; return a pandas frame with a row for each setting and method.

    If that would take long, they train on a sample of the edges, and their names contain its size. If a baseline fails,
    for example for lack of memory, ``failed`` is called and the baseline is left out. ``done`` is called after each
    baseline. If there is nothing to compare, the result is None.
    """
    import pandas as pd

    holdout, X, y = trained.holdout, trained.data.X, trained.y
    if not trained.scores or not others:
        return None
    scoring = "auc" if trained.data.is_binary else "concordance"
    scorer = get_scorer(scoring)
    rows = []

    def judge(method: str, predict: Any, fit: float) -> None:
        for new in trained.predictions:
            edges, begin = X[holdout.tests[new]], time.perf_counter()
            predicted = predict(new, edges)
            seconds = time.perf_counter() - begin
            score = scorer.score(y[holdout.tests[new]], predicted, Pairs.of(edges))
            rows.append({"setting": new, "method": method, "score": score, "fit": fit, "predict": seconds})

    judge(type(trained.model).__name__, lambda new, edges: trained.predictions[new], trained.seconds["training"])
    n_features = X.start_table.n_features + X.end_table.n_features
    most = max(_LEAST, _NUMBERS // max(1, n_features))
    sample = holdout.train[drawn(y[holdout.train], most, np.random.default_rng(0))]
    for number, (name, baseline) in enumerate(others.items(), 1):
        begin = time.perf_counter()
        all_edges = len(sample) == len(holdout.train) or name in _CHEAP
        taken = holdout.train if all_edges else sample
        method = name if all_edges else f"{name} on {len(sample)} edges"
        try:
            model = baseline.fit(X[taken], y[taken])
            judge(method, lambda new, edges, model=model: predictions(model, edges), time.perf_counter() - begin)
        except (ValueError, MemoryError) as error:
            failed(method, error)
        done(number, method)
    rows.sort(key=lambda row: NEW.index(str(row["setting"])))
    return pd.DataFrame(rows).assign(scoring=scoring)
