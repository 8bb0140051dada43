"""Compare all pairwise kernels that suit the data, in the four settings, on the same folds."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from vectrick._files import replacing
from vectrick._html import html_block, html_note, html_table
from vectrick._progress import Progress, told_to
from vectrick._typing import Array, ArrayLike, Frame, New, RandomState
from vectrick._warnings import warn
from vectrick.backends.arrays import unmasked
from vectrick.data import Edges, EdgesLike, Graph
from vectrick.data.censored import refuse_bounds
from vectrick.data.settings import NEW, SETTINGS
from vectrick.data.signs import check_signs
from vectrick.estimators import KronEstimator, KronRidge, check_parameters, has_intercept
from vectrick.kernels import Gaussian, as_kernel
from vectrick.kernels.pairwise import PAIRWISE, as_pairwise
from vectrick.model_selection.alpha_paths import check_alphas
from vectrick.model_selection.candidates import settle_scoring
from vectrick.model_selection.nested import nested_score
from vectrick.model_selection.splitting.splitters import VertexKFold
from vectrick.models.kernel_spec import KernelSpec
from vectrick.persistence.checkpoints import Finished

ALPHAS = (0.01, 0.1, 1.0, 10.0, 100.0)  # values that are tried for every kernel


@dataclass(frozen=True)
class KernelComparison:
    """The result of `compare_kernels`.

    Its frames and tables take O(rows).

    Attributes
    ----------
    folds : pandas.DataFrame
        A row for each setting, kernel and fold: "setting", "kernel", "fold", "score", the "alpha" and the "iteration"
        that were chosen inside its training edges, and "seconds".
    scoring : str
        The name of the score.
    left_out : dict
        The kernels that do not suit the data or the estimator, with the reasons.

    Examples
    --------
    >>> import vectrick as vt
    >>> X, y = vt.datasets.make_checkerboard(40, noise=0.0, density=0.5, random_state=0)
    >>> found = vt.compare_kernels(X, y, kernels=["kronecker", "linear"], settings=["both"], alphas=[1.0])
    >>> found.table().shape, found.scoring
    ((2, 1), 'auc')
    """

    folds: Any
    scoring: str
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def frame(self) -> Frame:
        """A pandas frame with a row for each setting and kernel, the best of a setting first.

        The other columns are "mean", "spread" (the standard deviation over folds), "lowest" and "highest" score, and
        "seconds".
        """
        import pandas as pd

        rows = []
        for (setting, kernel), results in self.folds.groupby(["setting", "kernel"], sort=False):
            score = results["score"]
            mean = score.mean(skipna=False)
            rows.append({"setting": setting, "kernel": kernel, "mean": mean, "spread": score.std(skipna=False),
                         "lowest": score.min(), "highest": score.max(),
                         "seconds": results["seconds"].sum()})  # fmt: skip
        frame = pd.DataFrame(rows)
        order = frame["setting"].map({name: place for place, name in enumerate(frame["setting"].unique())})
        frame = frame.assign(order=order).sort_values(["order", "mean"], ascending=[True, False])
        return frame.drop(columns="order").reset_index(drop=True)

    def table(self) -> Frame:
        """Return the means as a frame with a row for each kernel and a column for each setting."""
        frame = self.frame
        table = frame.pivot(index="kernel", columns="setting", values="mean")
        return table.loc[list(dict.fromkeys(self.folds["kernel"])), list(dict.fromkeys(self.folds["setting"]))]

    def plot(self, path: Path | str | None = None) -> Any:
        """Return a matplotlib figure of the scores by setting, with the spread over folds; save it if a path is given.

        It needs matplotlib: ``pip install 'vectrick[plot]'``.
        """
        from vectrick.model_selection.kernel_comparison import plot_kernels

        return plot_kernels(self.frame, self.scoring, path)

    def __repr__(self) -> str:
        return f"{self.scoring}, mean over folds\n{self.table().round(3)}"

    def _repr_html_(self) -> str:
        table = self.table()
        best = {name: column.idxmax() if column.notna().any() else None for name, column in table.items()}
        rows = [
            [kernel, *(f"{score:.3f}" + " ★" * (best[setting] == kernel) for setting, score in row.items())]
            for kernel, row in table.iterrows()
        ]
        head = ["kernel", *(SETTINGS[setting].label for setting in table.columns)]
        note = html_note("★: the best of a setting")
        if self.left_out:
            note += html_note("left out: " + "; ".join(f"{name}, {why}" for name, why in self.left_out.items()))
        return html_block(f"{self.scoring}, mean over folds", html_table(head, rows), note)


def compare_kernels(
    X: Edges,
    y: ArrayLike,
    estimator: KronEstimator | None = None,
    *,
    kernels: Sequence[Any] | Mapping[str, Any] | None = None,
    settings: Sequence[New] = NEW,
    alphas: Sequence[float] = ALPHAS,
    n_folds: int = 3,
    n_repeats: int = 1,
    scoring: str = "auto",
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
    checkpoint: Finished | str | Path | None = None,
) -> KernelComparison:
    """Compare pairwise kernels in the settings of pairwise learning, all on the same folds.

    For each kernel and fold, alpha and the iteration are chosen inside the training edges (`nested_score`), so that no
    kernel profits from an alpha that happens to suit it.

    Parameters
    ----------
    X, y : Edges, array
        Edges and labels.
    estimator : estimator, optional
        The estimator, with its loss and vertex kernels; by default `KronRidge` with Gaussian kernels. For one vertex
        set, the start kernel replaces an end kernel of "linear", the default.
    kernels : list or dict, optional
        Pairwise kernels, as for ``pairwise``; a dict gives them names. By default, all kernels that suit the data:
        kernels for one vertex set if X has one, antisymmetric kernels (without intercept) if no labels contradict them,
        and "two_step" if the graph is complete and the estimator is a `KronRidge`.
    settings : sequence of str
        Which vertices of the test edges are new: "both", "start", "end", "neither".
    alphas : sequence of float
        The weights of the regularizer to choose from, in increasing order.
    n_folds : int
        The number of parts of the vertices of each side; with "neither", of the edges.
    n_repeats : int
        The number of repeats, each with a new division of the vertices.
    scoring : str
        As for `nested_score`: "auc", "average_precision", "concordance", "r2", or "auto".
    random_state : int
        The seed of the divisions.
    n_jobs : int, optional
        The number of processes that fit in parallel.
    verbose : int
        1 reports progress.
    checkpoint : path, optional
        A file that keeps finished results. After an interruption, the same call continues from it. Remove it
        afterwards.

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

    model, labels = _checked(estimator, X, y, settings)
    check_alphas(alphas)
    chosen, left_out = _fitting(model, X, labels) if kernels is None else (_named(kernels), {})
    models = {name: _with_kernel(model, kernel, X) for name, kernel in chosen.items()}
    scoring = settle_scoring(scoring, [model], labels, 1)
    seed = random_state if isinstance(random_state, Integral) else check_random_state(random_state).randint(2**31 - 1)
    divisions = {new: _division(new, n_folds, n_repeats, labels, int(seed)) for new in settings}
    for outer, _ in divisions.values():  # raises errors before anything is fitted
        outer.folds(X, labels)
    tasks = [
        (new, name)
        for new in settings
        for name in models
        if not (kernels is None and name == "two_step" and new == "neither")  # a part of the edges is no complete graph
    ]
    progress, rows, finished = Progress("compare_kernels", len(tasks), verbose), [], Finished.of(checkpoint)
    for new, name in tasks:
        begin, (outer, inner) = time.perf_counter(), divisions[new]
        limits: dict[str, Any] = {"outer": outer, "inner": inner, "scoring": scoring, "n_jobs": n_jobs}
        limits["checkpoint"] = finished
        try:
            with told_to(lambda *_: None):  # progress counts the kernels instead
                scores = nested_score(models[name], X, labels, {"alpha": list(alphas)}, **limits).chosen
        except (ValueError, MemoryError) as error:
            warn(f"{name} failed with {new} new: {error}", UserWarning)
            scores = [{"fold": "all", "score": np.nan}]
        each = (time.perf_counter() - begin) / len(scores)
        shown = [{key: fold.get(key) for key in ("fold", "score", "alpha", "iteration")} for fold in scores]
        rows += [{"setting": new, "kernel": name, **fold, "seconds": each} for fold in shown]
        progress.step(f"{name}, {new} new: {np.mean([fold['score'] for fold in scores]):.3f}")
    return KernelComparison(pd.DataFrame(rows), scoring, left_out)


def _checked(
    estimator: KronEstimator | None, X: EdgesLike, y: ArrayLike, settings: Sequence[New]
) -> tuple[KronEstimator, Array]:
    """Check the arguments; return the estimator and the labels."""
    if not isinstance(X, Edges):
        raise TypeError(f"X is of type {type(X).__name__}, but it must be Edges")
    model = KronRidge(Gaussian(), Gaussian()) if estimator is None else estimator
    if not isinstance(model, KronEstimator):
        raise TypeError(f"estimator is of type {type(model).__name__}, but it must be one of vectrick's")
    if X.is_one_set and isinstance(model.end_kernel, str) and model.end_kernel == "linear":
        model = clone(model).set_params(end_kernel=clone(model.start_kernel, safe=False))  # for all pairwise kernels
    check_parameters(clone(model).set_params(pairwise="kronecker"), None)
    refuse_bounds(y, "compare_kernels")
    labels = np.asarray(unmasked(y, "y"))
    if labels.shape != (len(X),):
        raise ValueError(f"y has shape {labels.shape}, but X has {len(X)} edges")
    if isinstance(settings, str) or not len(settings):
        raise ValueError(f"settings is {settings!r}, but it must be a list of some of {', '.join(map(repr, NEW))}")
    for name in settings:
        if name not in NEW:
            raise ValueError(f"settings has {name!r}, but it must be some of {', '.join(map(repr, NEW))}")
    return model, labels


def _division(new: New, n_folds: int, n_repeats: int, y: Array, seed: int) -> tuple[VertexKFold, VertexKFold]:
    """Return the outer and the inner folds of a setting."""
    parts = 1 if new == "neither" else None  # as many folds as for one new vertex
    same: dict[str, Any] = {"new": new, "stratify": len(np.unique(y)) == 2, "random_state": seed}
    return VertexKFold(n_folds, parts, n_repeats=n_repeats, **same), VertexKFold(2, parts, **same)


def _with_kernel(model: KronEstimator, kernel: Any, X: Edges) -> KronEstimator:
    """Return the estimator with a pairwise kernel, and without intercept if the kernel cannot have one."""
    with_kernel: KronEstimator = clone(model).set_params(pairwise=kernel)
    spec = KernelSpec.of(with_kernel)
    if spec.symmetry < 0 or spec.two_step is not None:
        with_kernel.set_params(fit_intercept=False)
    spec.check(X, form=with_kernel.form, fit_intercept=has_intercept(with_kernel, spec, with_kernel._loss_type))
    return with_kernel


def _named(kernels: Any) -> dict[str, Any]:
    """Return pairwise kernels with names."""
    if isinstance(kernels, str):
        raise ValueError(f"kernels is {kernels!r}, but it must be a list of pairwise kernels, or a dict")
    if isinstance(kernels, Mapping):
        named = dict(kernels)
    else:
        named = {}
        for kernel in kernels:
            name = repr(kernel) if isinstance(kernel, list) else as_pairwise(kernel).name
            name = kernel if isinstance(kernel, str) else name
            named[name if name not in named else f"{name} {len(named) + 1}"] = kernel
    if not named:
        raise ValueError("kernels is empty, so there is nothing to compare")
    return named


def _fitting(model: KronEstimator, X: Edges, y: Array) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the names of all pairwise kernels that suit the data and the estimator, and why others do not."""
    fitting: dict[str, Any] = {}
    left_out: dict[str, str] = {}
    vertex_kernels = [as_kernel(kernel, "start_kernel") for kernel in (model.start_kernel, model.end_kernel)
                      if not isinstance(kernel, list | tuple)]  # fmt: skip
    for name in PAIRWISE:
        if name == "two_step" and not (isinstance(model, KronRidge) and Graph.of(X).is_complete):
            left_out[name] = "it is for ridge regression on complete graphs"
            continue
        if name == "gaussian" and all(isinstance(kernel, Gaussian) for kernel in vertex_kernels):
            left_out[name] = "it is the Kronecker product of the Gaussian vertex kernels"
            continue
        try:
            spec = KernelSpec.of(_with_kernel(model, name, X))
            if spec.symmetry < 0:
                values = np.unique(y)
                check_signs(X, np.where(y == values[-1], 1.0, -1.0) if len(values) == 2 else y, None, name)
        except ValueError as error:
            left_out[name] = str(error)
            continue
        fitting[name] = name
    return fitting, left_out


_MARKERS = "osD^vPX*<>"


def plot_kernels(frame: Frame, scoring: str, path: Path | str | None = None) -> Any:
    """Return a figure with the scores and spreads of the kernels, side by side in each setting."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("a plot needs matplotlib; install it with pip install 'vectrick[plot]'") from None
    settings, known = list(dict.fromkeys(frame["setting"])), list(PAIRWISE)
    names = sorted(set(frame["kernel"]), key=lambda name: (known.index(name) if name in known else len(known), name))
    kernels = {name: known.index(name) if name in known else len(known) + i for i, name in enumerate(names)}
    figure = Figure(figsize=(1.6 + 2.1 * len(settings), 3.6), layout="constrained")
    axes = figure.subplots()
    for number, (kernel, colour) in enumerate(kernels.items()):
        results = frame[frame["kernel"] == kernel].set_index("setting")
        shift = (number - (len(kernels) - 1) / 2) * 0.8 / len(kernels)
        places = [settings.index(setting) + shift for setting in results.index]
        axes.errorbar(
            places, results["mean"], yerr=np.nan_to_num(results["spread"]), fmt=_MARKERS[colour % len(_MARKERS)],
            color=f"C{colour % 10}", markersize=5, capsize=2, linewidth=1, label=kernel,
        )  # fmt: skip
    if scoring in ("auc", "concordance"):
        axes.axhline(0.5, color="0.6", linewidth=0.8, linestyle=":", label="chance")
    for place in range(1, len(settings)):
        axes.axvline(place - 0.5, color="0.85", linewidth=0.8)
    axes.set_xticks(range(len(settings)), [SETTINGS[setting].words for setting in settings])
    axes.set_ylabel(f"{scoring}: mean, standard deviation over folds")
    axes.grid(axis="y", color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
    figure.legend(loc="outside right upper", frameon=False)
    if path is not None:
        with replacing(path) as draft:
            figure.savefig(draft, dpi=150, format=Path(path).suffix[1:] or "png")
    return figure
