"""The sentence at the top of a report: the score of the model, and the edges that it was measured on."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vectrick.automatic import AutoKron
from vectrick.data.files.dataset import Dataset
from vectrick.data.settings import SETTINGS, settings_of
from vectrick.model_selection.baselines.beside_baselines import verdicts
from vectrick.model_selection.nested import NestedScore
from vectrick.model_selection.search import VertexSearch
from vectrick.model_selection.trained import Trained

if TYPE_CHECKING:
    import pandas

_SCORES = {"auc": "AUC", "average_precision": "average precision", "concordance": "concordance index", "r2": "R²"}
Tuning = tuple[VertexSearch, NestedScore | None]  # a search and its nested score


def words_of(trained: Trained) -> dict[str, str]:
    """Return the names of the settings."""
    return {new: setting.label for new, setting in settings_of(trained.data.X.is_one_set).items()}


def name_of(data: Dataset) -> str:
    """Return the name of the data set: the name of its folder."""
    edges = data.files.get("edges")
    return "Checker" if edges is None else Path(edges).resolve().parent.name or "edges"


def score_name(scoring: str) -> str:
    """Return the name of a score as reports write it."""
    return _SCORES.get(scoring, scoring)


def lead_of(trained: Trained, evaluation: "pandas.DataFrame | None", tuning: Tuning | None) -> str:
    """Return the most reliable score: nested, on inner folds, cross-validated, or on held-out edges."""
    if tuning is not None and tuning[1] is not None:
        score = tuning[1]
        return (
            f"{score_name(score.scoring)} {score.mean:.3f} ± {score.spread:.3f} for edges between vertices that "
            "were used neither for training nor for the choice of kernels (nested cross-validation)."
        )
    if isinstance(trained.model, AutoKron) and trained.is_divided and not is_outer(evaluation):
        return _searched(trained, evaluation)
    if is_folded(evaluation):
        return _cross_validated(evaluation)
    if "both" in trained.scores:
        return (
            f"{score_name(trained.scoring)} {trained.scores['both']:.3f} for {len(trained.holdout.tests['both'])} "
            "edges between vertices that the model has never seen."
        )
    if trained.scores:
        new, reached = next(iter(trained.scores.items()))
        tests = len(trained.holdout.tests[new])
        return f"{score_name(trained.scoring)} {reached:.3f} for {tests} edges ({words_of(trained)[new]})."
    held = "no edges were held out" if not trained.holdout.tests else "the others have one label only"
    return f"Trained on {trained.n_trained} edges; {held}, so the quality is unknown."


def is_folded(rows: "pandas.DataFrame | None") -> bool:
    """Whether methods have scores of several folds."""
    return rows is not None and bool((rows.groupby(["setting", "method"]).size() > 1).any())


def is_outer(rows: "pandas.DataFrame | None") -> bool:
    """Whether scores come from a cross-validation, not from one split or from the inner folds of a search."""
    return rows is not None and "repeat" in rows


def _searched(trained: Trained, rows: "pandas.DataFrame | None") -> str:
    """Return the score of a search and of the best baseline, both on its inner folds."""
    model = trained.model
    if not np.isfinite(model.score_):
        return f"Trained on {len(trained.data.X)} edges; no edges could be held out, so the quality is unknown."
    beside = ""
    if rows is not None and rows["scoring"].iloc[0] == model.scoring_:
        found = verdicts(rows)
        beside = "".join(f" {verdict.words(type(model).__name__)}." for verdict in found[:1])
    score = f"{score_name(model.scoring_)} {model.score_:.3f} ± {model.spread_:.3f}"
    return f"{score} over {model.folds_}; the models were chosen on these folds.{beside}"


def _cross_validated(rows: "pandas.DataFrame") -> str:
    """Return the cross-validated scores of the model and of the best other method, in the first setting."""
    setting, model = rows["setting"].iloc[0], rows["method"].iloc[0]
    scores = rows[rows["setting"] == setting].groupby("method", sort=False)["score"]
    means = scores.mean().drop(model)
    beside = "" if means.empty else f" The best other method, {means.idxmax()}, has {means.max():.3f}."
    return (
        f"{score_name(rows['scoring'].iloc[0])} {scores.mean()[model]:.3f} ± {scores.std()[model]:.3f} by "
        f"cross-validation, {SETTINGS[setting].label}.{beside}"
    )
