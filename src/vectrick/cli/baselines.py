"""Baselines beside a model, on the edges that it held out."""

import time
from typing import TYPE_CHECKING, Any

from vectrick.cli.output import Output

if TYPE_CHECKING:
    from vectrick.cli.training import Trained

_NUMBERS, _LEAST = 20_000_000, 2000  # feature values that a baseline may train on, and edges that it gets at least
_NUMBERS_OF_FOLD = 5_000_000  # where it trains once for each of many folds
_CHEAP = ("vertex mean",)
QUICK = "boosted trees,vertex mean"
HELP = (
    "Methods to compare with: none, all, or some of 'SGD hinge', 'SGD logistic', 'KNN', 'LIBSVM', 'boosted trees', "
    "'vertex mean', with commas between."
)


def named_baselines(text: str) -> dict[str, Any]:
    """Return the baselines that an option names."""
    import vectrick as vt

    known = vt.baselines()
    if text in ("none", "all"):
        return known if text == "all" else {}
    return {name: known[name] for name in some_of(text, "--baselines", list(known))}


def limited(others: dict[str, Any], X: Any, n_edges: int | None = None) -> dict[str, Any]:
    """Return baselines that train on no more edges than was asked for, or than take seconds; their names say so."""
    from vectrick.model_selection.sampling import OnSomeEdges

    if n_edges is not None and n_edges < 1:
        raise ValueError(f"--baseline-edges is {n_edges}, but it must be at least 1")
    n_features = X.start_table.n_features + X.end_table.n_features
    most = max(_LEAST, _NUMBERS_OF_FOLD // max(1, n_features)) if n_edges is None else n_edges
    if most >= len(X):
        return others
    return {
        name if name in _CHEAP else f"{name} on {most} edges": method if name in _CHEAP else OnSomeEdges(method, most)
        for name, method in others.items()
    }


def some_of(text: str, option: str, allowed: list[str]) -> list[str]:
    """Return the names in a list with commas, each of them one that is allowed."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in allowed:
            raise ValueError(f"{option} has {name!r}, but it must be some of {', '.join(allowed)}")
    if not names:
        raise ValueError(f"{option} is empty, but it must be some of {', '.join(allowed)}")
    return names


def beside_baselines(trained: "Trained", others: dict[str, Any], out: Output) -> Any:
    """Train baselines on the same edges; return a pandas frame with a row for each setting and method.

    Where that would take long, they train on some of the edges, which their name says.
    One that fails, as for want of memory, is left out with a warning. Where there is nothing to compare, it is None.
    """
    import numpy as np
    import pandas as pd

    from vectrick.data.splits import NEW
    from vectrick.model_selection.pairs import Pairs
    from vectrick.model_selection.sampling import drawn
    from vectrick.model_selection.scorers import get_scorer, predictions

    holdout, X, y = trained.holdout, trained.data.X, trained.y
    if holdout is None or not trained.scores or not others:
        return None
    scoring = "auc" if trained.data.is_binary else "concordance"
    scorer = get_scorer(scoring)
    name, fit = type(trained.model).__name__, trained.seconds["training"]
    rows = []

    def judge(method: str, predict: Any, fit: float) -> None:
        for new in trained.predictions:
            edges, begin = X[holdout.tests[new]], time.perf_counter()
            predicted = predict(new, edges)
            seconds = time.perf_counter() - begin
            score = scorer.score(y[holdout.tests[new]], predicted, Pairs.of(edges))
            rows.append({"setting": new, "method": method, "score": score, "fit": fit, "predict": seconds})

    judge(name, lambda new, edges: trained.predictions[new], fit)
    n_features = X.start_table.n_features + X.end_table.n_features
    most = max(_LEAST, _NUMBERS // max(1, n_features))
    some = holdout.train[drawn(y[holdout.train], most, np.random.default_rng(0))]
    with out.progress("baselines", len(others)) as bar:
        for done, (baseline_name, baseline) in enumerate(others.items(), 1):
            begin = time.perf_counter()
            all_edges = len(some) == len(holdout.train) or baseline_name in _CHEAP
            taken = holdout.train if all_edges else some
            method = baseline_name if all_edges else f"{baseline_name} on {len(some)} edges"
            try:
                model = baseline.fit(X[taken], y[taken])
                judge(method, lambda new, edges, model=model: predictions(model, edges), time.perf_counter() - begin)
            except (ValueError, MemoryError) as error:
                out.warn(f"the baseline {method!r} failed: {error}")
            bar.step(done, method)
    rows.sort(key=lambda row: NEW.index(str(row["setting"])))
    return pd.DataFrame(rows).assign(scoring=scoring)
