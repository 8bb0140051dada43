"""Compare methods on the same folds: mean, spread and seconds of each."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier

from vectrick._progress import Progress
from vectrick._typing import Array, ArrayLike, Frame
from vectrick._warnings import warn
from vectrick.backends.arrays import unmasked
from vectrick.data import Edges
from vectrick.data.censored import split_bounds
from vectrick.model_selection.baselines.against_rest import AgainstRest
from vectrick.model_selection.baselines.models import Baseline, baselines as all_baselines
from vectrick.model_selection.baselines.sampling import OnSomeEdges
from vectrick.model_selection.scorers import EdgeScorer, get_scorer, predictions
from vectrick.model_selection.splitting.folds import Fold
from vectrick.model_selection.splitting.pairs import Pairs
from vectrick.model_selection.splitting.splitters import VertexKFold, check_splitter
from vectrick.persistence.checkpoints import Finished


def compare(
    estimators: Any,
    X: Edges,
    y: ArrayLike,
    *,
    cv: VertexKFold | None = None,
    scoring: str = "auto",
    baselines: bool | Mapping[str, Any] = True,
    per_fold: bool = False,
    verbose: int = 0,
    checkpoint: Finished | str | Path | None = None,
    callback: Callable[[dict[str, Any]], None] | None = None,
) -> Frame:
    """Compare methods on the same folds of vertices.

    The methods run one after another, each with all CPUs, so that their seconds can be compared. If a method fails in a
    fold, it gets a warning and the score NaN, and the other methods continue.

    Parameters
    ----------
    estimators : estimator, list of estimators, or dict
        Methods that take Edges; a dict gives them names.
    X, y : Edges, array
        Edges and labels.
    cv : VertexKFold, optional
        The folds, by default ``VertexKFold(3, 3, random_state=0)``; with ``n_repeats`` the spread is over repeats.
    scoring : str
        A name that `get_scorer` accepts, or "auto": "auc" for classes, "concordance" for values. For several classes
        (strings, or numbers with a classifier), "auc" is the mean over the classes, each against the rest.
    baselines : bool or dict
        Whether to compare with `baselines` as well, or a dict of the baselines to use.
    per_fold : bool
        Whether to return a row for each method and fold, with the error if the method failed.
    verbose : int
        1 reports progress about twice a second, 2 after each fold.
    checkpoint : path, optional
        A file that keeps finished results. After an interruption, the same call continues from it. Remove it
        afterwards.
    callback : callable, optional
        Called with each finished row of ``per_fold``.

    Returns
    -------
    pandas.DataFrame
        A row for each method, the best first. The columns are "mean", "spread" (the standard deviation of the mean
        scores of the repeats; with one repeat, of the scores of the folds), the "lowest" and the "highest" score of a
        fold, and the "seconds" for all folds, split into "fit" and "predict". ``columns.name`` is the score's name.

    Examples
    --------
    >>> import vectrick as vt
    >>> X, y = vt.datasets.make_checkerboard(100, noise=0.0, random_state=0)
    >>> svm = vt.KronSVM(vt.Gaussian(1.0), vt.Gaussian(1.0), alpha=0.1)
    >>> trees = {"trees": vt.baselines()["boosted trees"]}
    >>> found = vt.compare({"KronSVM": svm}, X, y, cv=vt.VertexKFold(2, 2, random_state=0), baselines=trees)
    >>> sorted(found.index), list(found.columns)
    (['KronSVM', 'trees'], ['mean', 'spread', 'lowest', 'highest', 'seconds', 'fit', 'predict'])
    """
    import pandas as pd

    if not isinstance(X, Edges):
        raise TypeError(f"X is of type {type(X).__name__}, but it must be Edges")
    check_splitter(cv, "cv")
    methods = _methods(estimators, baselines)
    target = np.asarray(unmasked(y, "y"))
    labels = split_bounds(target)[0]
    several = _has_several_classes(methods, labels)
    if several:  # the baselines support two classes only
        methods = {name: AgainstRest(each) if isinstance(each, Baseline | OnSomeEdges) else each
                   for name, each in methods.items()}  # fmt: skip
    if scoring == "auto":
        scoring = "auc" if several or len(np.unique(labels)) == 2 else "concordance"
    scorer = get_scorer(scoring)
    cv = VertexKFold(3, 3, random_state=0) if cv is None else cv
    folds = cv.folds(X, labels)
    progress = Progress("compare", len(methods) * len(folds), verbose)
    rows, finished = [], Finished.of(checkpoint)
    for name, method in methods.items():
        with finished.work("compare", method, X, labels, scoring, [[fold.train, fold.test] for fold in folds]) as work:
            for number, fold in enumerate(folds):
                row = work.get(fold.name, dict)
                if row is None:
                    row = run_fold(name, method, X, target, fold, scorer)
                    if row["error"] is None:  # a failed fold is tried again later
                        work.put(fold.name, row)
                repeat = number // (len(folds) // cv.n_repeats)
                rows.append({"method": name, "repeat": repeat, "fold": fold.name, **row})
                if callback is not None:
                    callback(rows[-1])
                progress.step(f"{name}, {fold.name}: {scoring} {row['score']:.3f}")
    scores = pd.DataFrame(rows)
    return scores if per_fold else _summary(scores).rename_axis(columns=scoring)


def _has_several_classes(methods: dict[str, Any], labels: Array) -> bool:
    """Return whether there are more than two classes: strings, or numbers if any method is a classifier."""
    if len(np.unique(labels)) <= 2:
        return False
    return labels.dtype.kind not in "biuf" or any(is_classifier(method) for method in methods.values())


def _methods(estimators: Any, baselines: Any) -> dict[str, Any]:
    """Check the methods and the baselines; return them by name."""
    if not isinstance(baselines, bool | Mapping):
        raise TypeError(f"baselines is of type {type(baselines).__name__}, but it must be True, False or a dict")
    methods = _named(estimators)
    others = dict(baselines) if isinstance(baselines, Mapping) else all_baselines() if baselines else {}
    for name in others.keys() & methods.keys():
        raise ValueError(f"estimators and baselines both have the name {name!r}, but each method needs its own")
    methods |= others
    if not methods:
        raise ValueError("estimators is empty and there are no baselines, so there is nothing to compare")
    for name, method in methods.items():
        if not hasattr(method, "fit"):
            raise TypeError(f"the method {name!r} is of type {type(method).__name__}, but it must be an estimator")
    return methods


def _named(estimators: Any) -> dict[str, Any]:
    """Return the methods with names."""
    if isinstance(estimators, Mapping):
        return dict(estimators)
    named: dict[str, Any] = {}
    for estimator in estimators if isinstance(estimators, list | tuple) else [estimators]:
        name = base = type(estimator).__name__
        while name in named:
            name = f"{base} {2 if name == base else int(name.rpartition(' ')[2]) + 1}"
        named[name] = estimator
    return named


def run_fold(name: str, method: BaseEstimator, X: Edges, y: Array, fold: Fold, scorer: EdgeScorer) -> dict[str, Any]:
    """Return the score of a method in one fold and its seconds, or warn and return the error."""
    try:
        return {**_judged(method, X, y, fold, scorer), "error": None}
    except Exception as error:
        if _was_interrupted(error):
            raise KeyboardInterrupt from error
        why = f"{type(error).__name__}: {error}"
        warn(f"{name} failed in {fold.name}: {why}", UserWarning)
        return {"score": float("nan"), "fit": float("nan"), "predict": float("nan"), "error": why}


def _takes_bounds(method: object) -> bool:
    """Whether a method, or the inner estimator of a search, accepts labels with bounds."""
    inner = getattr(method, "estimator", None)
    return bool(getattr(method, "_takes_bounds", False)) or (inner is not None and _takes_bounds(inner))


def _was_interrupted(error: BaseException | None) -> bool:
    """Return whether Ctrl-C caused an error; for example, NumPy turns it into a ValueError when it reads a buffer."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _judged(method: BaseEstimator, X: Edges, y: Array, fold: Fold, scorer: EdgeScorer) -> dict[str, float]:
    """Train and predict in one fold; return the score and the seconds of both."""
    begin = time.perf_counter()
    values, bounds = split_bounds(y)
    target = y if bounds is None or _takes_bounds(method) else values
    model = clone(method).fit(X[fold.train], target[fold.train])
    if getattr(model, "_was_interrupted", False):  # a search keeps its results, but a comparison ends
        raise KeyboardInterrupt
    fitted = time.perf_counter()
    test = X[fold.test]
    score = predictions(model, test)
    predicted = time.perf_counter()
    reached = scorer.score(y[fold.test], score, Pairs.of(test), getattr(model, "classes_", None))
    return {"score": reached, "fit": fitted - begin, "predict": predicted - fitted}


def _summary(rows: Frame) -> Any:
    """Return a row for each method, the best first."""
    import pandas as pd

    summary = {}
    for name, results in rows.groupby("method", sort=False):
        # NaN if a fold failed: a mean over the other folds is not comparable.
        score = results["score"]
        means = np.array([rows.mean(skipna=False) for _, rows in score.groupby(results["repeat"])])
        fit, predict = results["fit"].sum(skipna=False), results["predict"].sum(skipna=False)
        summary[name] = {
            "mean": score.mean(skipna=False),
            "spread": means.std(ddof=1) if len(means) > 1 else score.std(skipna=False),
            "lowest": score.min(skipna=False),
            "highest": score.max(skipna=False),
            "seconds": fit + predict,
            "fit": fit,
            "predict": predict,
        }
    return pd.DataFrame.from_dict(summary, orient="index").sort_values("mean", ascending=False)
