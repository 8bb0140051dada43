"""All pairwise kernels that fit the data, in the four settings, on the same folds."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from vectrick._progress import Progress, told_to
from vectrick._warnings import warn
from vectrick.data import Edges
from vectrick.data.splits import NEW
from vectrick.estimators import KronRidge
from vectrick.estimators.base import KronEstimator
from vectrick.estimators.edge_kernel import check_recipe, check_signs
from vectrick.estimators.inputs import Graph
from vectrick.estimators.recipe import read_recipe
from vectrick.kernels import Gaussian
from vectrick.kernels.pairwise import PAIRWISE, as_pairwise
from vectrick.model_selection.nested import nested_score
from vectrick.model_selection.splitters import VertexKFold

Array = NDArray[Any]

ALPHAS = (0.01, 0.1, 1.0, 10.0, 100.0)


@dataclass(frozen=True)
class KernelComparison:
    """What `compare_kernels` found.

    Attributes
    ----------
    folds : pandas.DataFrame
        A row for each setting, kernel and fold: "setting", "kernel", "fold", "score", the "alpha" and the "iteration"
        that were chosen inside its training edges, and "seconds".
    scoring : str
        What the score is.
    """

    folds: Any
    scoring: str

    @property
    def frame(self) -> Any:
        """A pandas frame with a row for each setting and kernel, the best of a setting first.

        "mean", "spread" (the standard deviation over folds), "lowest" and "highest" score, and "seconds".
        """
        import pandas as pd

        rows = []
        for (setting, kernel), some in self.folds.groupby(["setting", "kernel"], sort=False):
            score = some["score"]
            mean = score.mean(skipna=False)
            rows.append({"setting": setting, "kernel": kernel, "mean": mean, "spread": score.std(skipna=False),
                         "lowest": score.min(), "highest": score.max(), "seconds": some["seconds"].sum()})  # fmt: skip
        found = pd.DataFrame(rows)
        order = found["setting"].map({name: place for place, name in enumerate(found["setting"].unique())})
        found = found.assign(order=order).sort_values(["order", "mean"], ascending=[True, False])
        return found.drop(columns="order").reset_index(drop=True)

    def table(self) -> Any:
        """Return the means as a frame with a row for each kernel and a column for each setting."""
        frame = self.frame
        found = frame.pivot(index="kernel", columns="setting", values="mean")
        return found.loc[list(dict.fromkeys(self.folds["kernel"])), list(dict.fromkeys(self.folds["setting"]))]

    def plot(self, path: Path | str | None = None) -> Any:
        """Return a matplotlib figure of the scores by setting, with the spread over folds; written to a file if named.

        It needs matplotlib: ``pip install 'vectrick[plot]'``.
        """
        from vectrick.model_selection.plots import plot_kernels

        return plot_kernels(self.frame, self.scoring, path)

    def __repr__(self) -> str:
        return f"{self.scoring}, mean over folds\n{self.table().round(3)}"


def compare_kernels(
    X: Edges,
    y: Any,
    estimator: KronEstimator | None = None,
    *,
    kernels: Sequence[Any] | Mapping[str, Any] | None = None,
    settings: Sequence[str] = NEW,
    alphas: Sequence[float] = ALPHAS,
    n_folds: int = 3,
    n_repeats: int = 1,
    scoring: str = "auto",
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> KernelComparison:
    """Compare pairwise kernels in the settings of pairwise learning, all on the same folds.

    For each kernel and fold, alpha and the iteration are chosen inside the training edges (`nested_score`), so that no
    kernel profits from an alpha that happens to suit it.

    Parameters
    ----------
    X, y : Edges, array
        Edges and labels.
    estimator : estimator, optional
        The loss and the vertex kernels; by default `KronRidge` with Gaussian kernels.
    kernels : list or dict, optional
        Pairwise kernels as ``pairwise`` takes them, with names in a dict. By default all that fit the data: those of
        one vertex set where X has one, antisymmetric ones where no labels contradict them, "two_step" where the graph
        is complete and the loss is that of ridge regression.
    settings : sequence of str
        What is new in the test edges: "both", "start", "end", "neither".
    alphas : sequence of float
        The weights of the regularizer to choose from, increasing.
    n_folds : int
        Parts of the vertices of each side, of the edges where no vertex is new.
    n_repeats : int
        How often to divide the vertices anew.
    scoring : str
        As for `nested_score`: "auc", "average_precision", "concordance", "r2", or "auto".
    random_state : int
        The seed of the divisions.
    n_jobs : int, optional
        How many processes fit at once.
    verbose : int
        1 reports progress.

    Returns
    -------
    KernelComparison
        ``frame`` with a row for each setting and kernel, ``table()``, ``plot()``, and ``folds`` with all scores.

    Examples
    --------
    >>> import vectrick as vt
    >>> X, y = vt.datasets.make_checkerboard(60, noise=0.0, density=0.5, random_state=0)
    >>> ridge = vt.KronRidge(vt.Gaussian(1.0), vt.Gaussian(1.0))
    >>> found = vt.compare_kernels(X, y, ridge, kernels=["kronecker", "linear"], settings=["neither"], n_jobs=1)
    >>> found.frame["kernel"].tolist()
    ['kronecker', 'linear']
    """
    import pandas as pd

    if not isinstance(X, Edges):
        raise TypeError(f"X is of type {type(X).__name__}, but it must be Edges")
    model = KronRidge(Gaussian(), Gaussian()) if estimator is None else estimator
    if not isinstance(model, KronEstimator):
        raise TypeError(f"estimator is of type {type(model).__name__}, but it must be one of vectrick's")
    for name in settings:
        if name not in NEW:
            raise ValueError(f"settings has {name!r}, but it must be some of {', '.join(map(repr, NEW))}")
    labels = np.asarray(y)
    chosen = _fitting(model, X, labels) if kernels is None else _named(kernels)
    for kernel in chosen.values():  # what cannot be meant is refused before anything is fitted
        check_recipe(read_recipe(clone(model).set_params(pairwise=kernel)), X, model)
    two_classes = len(np.unique(labels)) == 2
    progress = Progress("compare_kernels", len(settings) * len(chosen), verbose)
    rows, found = [], scoring
    for new in settings:
        division = {"new": new, "stratify": two_classes, "random_state": random_state}
        parts = 1 if new == "neither" else None  # as many folds as for one new vertex
        outer, inner = VertexKFold(n_folds, parts, n_repeats=n_repeats, **division), VertexKFold(2, parts, **division)
        for name, kernel in chosen.items():
            begin = time.perf_counter()
            one = clone(model).set_params(pairwise=kernel)
            try:
                with told_to(lambda *_: None):  # the kernels are counted here
                    score = nested_score(
                        one,
                        X,
                        labels,
                        {"alpha": list(alphas)},
                        outer=outer,
                        inner=inner,
                        scoring=scoring,
                        n_jobs=n_jobs,
                    )
                scores, found = score.chosen, score.scoring
            except (ValueError, MemoryError) as error:
                warn(f"{name} failed with {new} new: {error}", UserWarning)
                scores = [{"fold": "all", "score": np.nan}]
            each = (time.perf_counter() - begin) / len(scores)
            kept = ("fold", "score", "alpha", "iteration")
            rows += [
                {"setting": new, "kernel": name, **{k: fold.get(k) for k in kept}, "seconds": each} for fold in scores
            ]
            progress.step(f"{name}, {new} new: {np.mean([fold['score'] for fold in scores]):.3f}")
    return KernelComparison(pd.DataFrame(rows), found)


def _named(kernels: Any) -> dict[str, Any]:
    """Return pairwise kernels with names."""
    if isinstance(kernels, Mapping):
        found = dict(kernels)
    else:
        found = {}
        for one in kernels:
            name = one if isinstance(one, str) else repr(one) if isinstance(one, list) else as_pairwise(one).name
            found[name if name not in found else f"{name} {len(found) + 1}"] = one
    if not found:
        raise ValueError("kernels is empty, so there is nothing to compare")
    return found


def _fitting(model: KronEstimator, X: Edges, y: Array) -> dict[str, Any]:
    """Return the names of all pairwise kernels that fit the data and the estimator."""
    found = {}
    for name in PAIRWISE:
        one = clone(model).set_params(pairwise=name)
        try:
            recipe = read_recipe(one)
            check_recipe(recipe, X, one)
            if recipe.symmetry < 0:
                values = np.unique(y)
                check_signs(X, np.where(y == values[-1], 1.0, -1.0) if len(values) == 2 else y)
        except ValueError:
            continue
        complete = isinstance(model, KronRidge) and not model.fit_intercept and Graph.of(X).is_complete
        if name == "two_step" and not complete:
            continue
        if name == "gaussian" and all(isinstance(k, Gaussian) for k in (model.start_kernel, model.end_kernel)):
            continue  # which is the Kronecker product of these
        found[name] = name
    return found
