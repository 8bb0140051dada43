"""`AutoKron` on a lake: kernels are chosen on a sample in memory, alphas on held-out vertices of the whole lake."""

import time
import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from vectrick._progress import Progress
from vectrick._typing import Array, New
from vectrick.data import DataWarning, Edges
from vectrick.data.lake.counts import Counts
from vectrick.data.lake.parts import Part
from vectrick.data.lake.scan import ScannedEdges
from vectrick.data.settings import NEW, SETTINGS
from vectrick.estimators import engine_of, fit_lake_along
from vectrick.kernels import Identity, Kernel, KernelWarning, Profile, Sum
from vectrick.kernels.tables.binding import contains
from vectrick.kernels.text import format_kernel
from vectrick.metrics.scores import SCORES
from vectrick.model_selection.calibration.calibrated import log_odds

_VERTICES = 2000  # of each side, in the sample on which kernels are chosen
_STEPS = 4.0 ** np.arange(-2.0, 3.0)  # factors of the alpha from the sample that are tried on the lake
_JUDGED = 500_000  # held-out edges for the weights and the score of the ensemble
_HELD = 0.2  # share of the vertices
_LOSSES = {"KronRidge": "ridge", "KronLogistic": "logistic", "KronSVM": "svm", "KronRanker": "rank"}


def fit_lake_search(auto: Any, X: ScannedEdges) -> None:
    """Choose and train the members of a search on the edges of a lake."""
    begin = time.perf_counter()
    if X.reader.label is None:
        raise ValueError("X was scanned with label=None, but training needs labels; name their column")
    seed = int(check_random_state(auto.random_state).randint(2**31 - 1))
    counts = engine_of(auto, X).read(X.memory_limit // 2)
    n_edges = counts.n_edges
    sample, y, weight = _sample(X, counts, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # a sample has no more duplicates than the lake
        # A lake supports products of vertex kernels only.
        settings = {"backend": "cpu", "pairwise": "kronecker", "keep_edges": False, "random_state": seed}
        inner = clone(auto).set_params(**settings).fit(sample, y, weight)
    if inner._machines:
        raise ValueError(
            f"the labels of the lake are {len(inner.classes_)} classes, but a search on a lake supports two classes or "
            "values; use KronLogistic to train a one-vs-rest model for each class"
        )
    X.close()  # the next passes are over parts of it
    X = X.settled()  # the members may read different columns
    new: New = auto.new if auto.new in NEW else "both"
    train, held = X.split(new, _HELD, seed)
    candidates = _distinct(inner.members_, auto, inner.scoring_)
    progress = Progress("AutoKron, on held-out vertices of the lake", len(candidates), auto.verbose)
    best, rows = [], []
    for candidate in candidates:
        share = (1 - _HELD) ** (2 if new == "both" else 1) * n_edges / len(sample)
        alphas = [candidate.alpha * share] if auto.alpha is not None else (candidate.alpha * share * _STEPS).tolist()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", KernelWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = fit_lake_along(candidate, train, alphas, held)
        scores = [score for _, _, score in found]
        best.append(found[int(np.nanargmax(scores))])
        rows += [_row(model, score, "lake") for model, _, score in found]
        progress.step(_words(candidate))
    order = np.argsort([-score for _, _, score in best], kind="stable")[: int(auto.n_best)]
    chosen = [best[place] for place in order]
    weights, constant, score = _mean(auto, inner, held, [model for model, _, _ in chosen])
    n_trained = train.count()
    train.close()
    held.close()
    searching = time.perf_counter() - begin
    members = []
    for model, _, _ in chosen:
        member = clone(model).set_params(alpha=model.alpha * n_edges / n_trained)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", KernelWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            members.append(member.fit(X))
    messages = [
        f"kernels were chosen on {len(sample)} edges between {_used(sample)} vertices, alphas on held-out vertices of "
        f"all {n_edges} edges"
    ]
    _keep(auto, inner, members, weights, constant, score, messages, rows, chosen, new, n_edges / n_trained)
    auto.seconds_ = {"search": searching, "training": time.perf_counter() - begin - searching}


def _sample(X: ScannedEdges, counts: Counts, seed: int) -> tuple[Edges, Any, Any]:
    """Return the edges between vertices of each side that are sampled in proportion to their degrees."""
    rng = np.random.default_rng(seed)
    masks = [_drawn(degrees, rng) for degrees in (counts.start, counts.end)]
    if X.is_one_set:
        masks = [_drawn(counts.start + counts.end, rng)] * 2
    edges, y, weight = X.only(Part(masks[0], masks[1], ((True, True),))).edges()
    if not len(edges) or (y == y[0]).all():
        raise ValueError(
            f"a sample of {_VERTICES} vertices of each side has {len(edges)} edges and at most one label, too few to "
            "choose a model; use KronRidge or KronLogistic with given kernels and alpha"
        )
    return edges, y, weight


def _drawn(degrees: Array, rng: np.random.Generator) -> Array:
    """Return a mask of vertices sampled in proportion to their degrees."""
    used = np.flatnonzero(degrees)
    if len(used) > _VERTICES:
        used = rng.choice(used, _VERTICES, replace=False, p=degrees[used] / degrees[used].sum())
    mask = np.zeros(len(degrees), bool)
    mask[used] = True
    return mask


def _used(sample: Edges) -> str:
    return f"{len(np.unique(sample.start))} × {len(np.unique(sample.end))}"


def _distinct(members: list[Any], auto: Any, scoring: str) -> list[Any]:
    """Return estimators for the lake from the members of the sample, one for each loss and pair of kernels."""
    seen: dict[Any, Any] = {}
    for member in members:
        kernels = {name: _for_lake(getattr(member, name)) for name in ("start_kernel", "end_kernel")}
        if None in kernels.values():
            continue
        lake = clone(member).set_params(
            **kernels, backend=auto.backend, form="auto", solver="auto", scoring=scoring, n_threads=auto.n_threads
        )
        seen.setdefault((type(lake), _words(lake)), lake)
    if not seen:
        raise ValueError("the best models of the sample know only the identity of vertices, which a lake does not "
                         "support; give start_kernel and end_kernel")  # fmt: skip
    return list(seen.values())


def _for_lake(kernel: Kernel) -> Kernel | None:
    """Return a kernel without summands of profiles and identities, which need edges or features in memory."""
    if isinstance(kernel, Sum):
        parts = [part for part in map(_for_lake, kernel.kernels) if part is not None]
        return parts[0] + parts[1] if len(parts) == 2 else parts[0] if parts else None
    return None if contains(kernel, Profile) or contains(kernel, Identity) else kernel


def _words(model: Any) -> str:
    return f"{format_kernel(model.start_kernel)}, {format_kernel(model.end_kernel)}"


def _row(model: Any, score: float, stage: str) -> dict[str, Any]:
    """Return a row of the table of a search."""
    return {
        "start_kernel": format_kernel(model.start_kernel),
        "end_kernel": format_kernel(model.end_kernel),
        "loss": _LOSSES[type(model).__name__],
        "pairwise": "kronecker",
        "alpha": model.alpha,
        "score": score,
        "spread": float("nan"),
        "folds": 1,
        "stage": stage,
        "member": False,
    }


def _mean(auto: Any, inner: Any, held: ScannedEdges, models: list[Any]) -> tuple[Array, float, float]:
    """Return the weights and the intercept of the ensemble, and its score, from held-out edges."""
    # Sampled from all partitions, because the first ones may have different labels.
    share = _JUDGED / max(1, held.count())
    edges, y, _ = (held if share >= 1 else held.only(Part(share=(0.0, share), seed=1))).edges()
    decisions = np.array([model._decide(edges) for model in models])
    classes = getattr(inner, "classes_", None)
    is_scaled = classes is None and not auto.loss.startswith("rank")
    spreads = np.maximum(decisions.std(axis=1), 1e-300)
    weights = np.full(len(models), 1.0 / len(models)) / (1.0 if is_scaled else spreads)
    constant = 0.0 if is_scaled else -float(weights @ decisions.mean(axis=1))
    total = weights @ decisions + constant
    truth = y if classes is None else np.where(y == float(classes[1]), 1.0, -1.0)
    score = float(SCORES[inner.scoring_](truth, total, None))
    if classes is not None:
        slope, odds = log_odds(total, truth > 0)
        weights, constant = slope * weights, slope * constant + odds
    return weights, constant, score


def _keep(
    auto: Any, inner: Any, members: list[Any], weights: Array, constant: float, score: float, messages: list[str],
    rows: list[dict[str, Any]], chosen: list[Any], new: New, scale: float,
) -> None:  # fmt: skip
    """Set the fitted attributes of a search."""
    import pandas as pd

    for name in ("machines_", "classes_", "_held_out", "_paths"):
        auto.__dict__.pop(name, None)
    if hasattr(inner, "classes_"):
        auto.classes_ = inner.classes_
    auto.members_, auto.weights_, auto._has_two_labels = members, weights, inner._has_two_labels
    auto.score_, auto.spread_, auto.scoring_ = score, float("nan"), inner.scoring_
    auto.folds_ = f"{SETTINGS[new].label}: one division of the vertices of the lake"
    auto.told_ = [*messages, *inner.told_]
    trained = [
        {**_row(model, score, "lake"), "alpha": model.alpha * scale, "member": True} for model, _, score in chosen
    ]
    tried = inner.search_.assign(member=False, stage="sample, " + inner.search_["stage"].astype(str))
    auto.search_ = pd.concat([pd.DataFrame(trained + rows), tried], ignore_index=True)
    auto._was_interrupted = False
    auto._keep(constant, None)
