"""The inputs of a search, made from the user's edges (facts, folds, a sample), and its results."""

from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from vectrick._typing import Array, New
from vectrick._warnings import warn
from vectrick.automatic.candidates.facts import SideFacts
from vectrick.automatic.candidates.vertex_kernels import SideChoices, scaled, with_constant
from vectrick.automatic.candidates.views import MixedChoices, PairChoices
from vectrick.automatic.labels import Labels
from vectrick.automatic.mean import Mean
from vectrick.automatic.parameters import SearchParameters
from vectrick.automatic.scoring.folding import Folding, NoFoldsError, make_folds
from vectrick.automatic.scoring.problem import FAST, SearchProblem
from vectrick.automatic.scoring.results import Result
from vectrick.automatic.scoring.sampling import ENOUGH_EDGES, FEW, sampled
from vectrick.automatic.scoring.sides import Candidate
from vectrick.automatic.search import Search
from vectrick.backends import HOST, Backend, settle_backend
from vectrick.data import Edges
from vectrick.data.complaints import reverse_labels
from vectrick.data.pairs import Pairs
from vectrick.kernels import Identity, Kernel, Parts, as_kernel
from vectrick.kernels.tables.binding import bound
from vectrick.metrics.scores import OF_CLASSES
from vectrick.models.kernel_spec import tables_for

_PRODUCTS = (*FAST, "mlpk")  # products of two kernel values, so that alpha absorbs their scales
_MORE_PAIRWISE = {"kronecker": ("linear", "poly2d", "cartesian"), "symmetric": ("mlpk",), "antisymmetric": ("ranking",)}
_THOROUGH = 2  # factor of the number of candidates that are solved
_MORE_SOLVED = 1  # candidates that are solved in addition to the number of members


class SearchWarning(UserWarning):
    """A search differs from the requested one, for example because it has fewer folds, other folds or none.

    Examples
    --------
    >>> import warnings, numpy as np, vectrick as vt
    >>> X = vt.Edges([0, 0, 1], [0, 1, 0], np.eye(2), np.eye(2))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = vt.AutoKron(random_state=0).fit(X, [1.0, 2.0, 3.0])  # too few vertices to hold any out
    >>> any(issubclass(each.category, vt.SearchWarning) for each in caught)
    True
    """


@dataclass(frozen=True)
class HeldOut:
    """An inner fold: its setting, the rows of its training and test edges, the test predictions and their score."""

    new: New
    train: Array
    test: Array
    decisions: Array
    score: float


@dataclass
class Found:
    """The results of a search.

    Attributes
    ----------
    labels : Labels
        The labels of all edges.
    scoring : str
        The name of the score.
    facts : tuple
        Facts about the tables of the start and of the end vertices.
    problem : SearchProblem
        The problem on which the best candidates were solved.
    folding : Folding, optional
        The inner folds; None if there are none.
    ranked : list of Result
        The results on all folds, the best first.
    results : list of Result
        All results.
    messages : list of str
        Notes for the user.
    rows : array
        The rows of the edges that the folds divide.
    ended : str
        Why the search ended.
    """

    labels: Labels
    scoring: str
    facts: tuple[SideFacts, SideFacts]
    problem: SearchProblem
    folding: Folding | None = None
    ranked: list[Result] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    ended: str = ""
    run: Any = None
    rows: Any = None

    def held_out(self, chosen: list[Result], mean: Mean | None) -> list[HeldOut]:
        """Return the folds on which the ensemble was scored, with the rows of the edges."""
        if mean is None or self.folding is None:
            return []
        return [
            HeldOut(self.folding.settings[number], self.rows[fold.train], self.rows[fold.test], decisions, score)
            for number, decisions, score in zip(chosen[0].folds, mean.decisions, mean.scores.tolist(), strict=True)
            for fold in [self.problem.folds[number]]
        ]

    def model_of(self, result: Result) -> tuple[Kernel, Kernel, float]:
        """Return the kernels of a result for an estimator, and its alpha in the unit of the estimator."""
        candidate = result.candidate
        start, end = (self.problem.side(candidate, which) for which in ("start", "end"))
        first, second = start.matrix(candidate.start)[1], end.matrix(candidate.end)[1]
        kernels = (
            with_constant(candidate.start, candidate.start_constant, first),
            with_constant(candidate.end, candidate.end_constant, second),
        )
        if candidate.pairwise in _PRODUCTS:
            return *kernels, result.alpha * first * second
        return scaled(kernels[0], first), scaled(kernels[1], second), result.alpha


def search(model: SearchParameters, edges: Edges, labels: Labels, weight: Array | None) -> Found:
    """Search for the best candidates for edges with labels; ``model`` has the parameters."""
    X, y, backend = edges.on(HOST), labels.y, settle_backend(model.backend, model.device, edges.backend)
    rng = np.random.default_rng(check_random_state(model.random_state).randint(2**31 - 1))
    scoring = _scoring(model.scoring, labels)
    messages = []
    rows = np.arange(len(X)) if weight is None else np.flatnonzero(weight > 0)
    if len(rows) < len(X):
        X, y = X[rows], y[rows]
    if len(np.unique(y)) < 2:
        raise ValueError("sample_weight is positive for edges of one label or class only, so nothing can be learned")
    drawn = sampled(X, rng)
    if drawn is not None and len(np.unique(y[drawn])) > 1:
        messages.append(f"the search used {len(drawn)} of {len(X)} edges: the edges between a sample of the vertices")
        X, y, rows = X[drawn], y[drawn], rows[drawn]
    X = _with_given(model, X)
    pairwise = _pairwise(model.pairwise, X, y)
    seed = int(rng.integers(2**31 - 10))
    try:
        full, folding = _problem(model, X, y, labels, scoring, seed, backend)
        messages += folding.messages
    except NoFoldsError as error:
        full, folding = SearchProblem(X, y, [], scoring, n_threads=model.n_threads), None
        messages.append(f"no edges could be held out ({error}), so the search chose nothing and there is no score")
    facts, choices = _sides(model, X, full, pairwise)
    if any(side.kind == "sequence" for side in facts) and find_spec("parasail") is None:
        how = "alignments need pip install 'vectrick[molecules]'"
        messages.append(f"sequences are compared by their k-mers only; {how}")
    for line in messages:
        warn(line, SearchWarning)
    found = Found(labels, scoring, facts, full, folding=folding, messages=messages, rows=rows)
    if folding is None:
        found.ranked, found.ended = [_unscored(model, full, choices, pairwise[0])], "there were no folds"
        return found
    losses = _losses(model, labels)
    n_solved = (int(model.n_best) + _MORE_SOLVED) * (_THOROUGH if model.thorough else 1)
    more = _MORE_PAIRWISE[pairwise[0]] if model.thorough and model.pairwise == "auto" else ()
    run = found.run = Search(
        _small_problem(model, X, y, labels, scoring, seed, backend, rng) or full, full, choices, pairwise, losses,
        model.alpha, model.budget, n_solved, more, _known_sides(model), model.verbose,
    )  # fmt: skip
    run.run()
    found.results, found.ended, found.ranked = run.results, run.ended, run.best()
    if run.is_stopped:
        found.messages.append(f"the search ended early: {run.ended}")
    return found


def _problem(
    model: SearchParameters, X: Edges, y: Array, labels: Labels, scoring: str, seed: int, backend: Backend
) -> tuple[SearchProblem, Folding]:
    """Return the search problem of edges with inner folds, and the folds."""
    folding = make_folds(X, y, model.new, len(np.unique(y)) == 2, seed)
    problem = SearchProblem(X, y, folding.folds, scoring, folding.weights, labels.groups(X), model.n_threads, backend)
    return problem, folding


def _small_problem(
    model: SearchParameters,
    X: Edges,
    y: Array,
    labels: Labels,
    scoring: str,
    seed: int,
    backend: Backend,
    rng: np.random.Generator,
) -> SearchProblem | None:
    """Return a problem on a sample of the vertices for first scores; None if the sample is not needed or too small."""
    drawn = sampled(X, rng, FEW)
    if drawn is None or len(drawn) < ENOUGH_EDGES:
        return None
    try:
        return _problem(model, X[drawn], y[drawn], labels, scoring, seed, backend)[0]
    except NoFoldsError:
        return None


def _unscored(model: SearchParameters, problem: SearchProblem, choices: Any, pairwise: str) -> Result:
    """Return the only candidate if no edges can be held out."""
    start, end = (side.usual() for side in choices)
    lone = Candidate(start, start if pairwise != "kronecker" else end, pairwise=pairwise)
    alpha = 1.0 if model.alpha is None else model.alpha / problem.scale(lone)
    return Result(lone, np.array([alpha]), np.full((1, 1), np.nan), np.ones(1), 0.0, "not scored")


def _scoring(asked: str, labels: Labels) -> str:
    """Return the name of the score, or raise an error if it is not possible."""
    if asked in OF_CLASSES and not labels.has_two:
        raise ValueError(f"scoring is {asked!r} and needs two classes, but y has more than two values")
    if asked == "r2" and labels.is_rank:
        raise ValueError("scoring is 'r2', but rankings have no scale; use 'concordance'")
    return labels.usual_score if asked == "auto" else asked


def _losses(model: SearchParameters, labels: Labels) -> list[str]:
    """Return the losses to try; only one if alpha is given."""
    if model.loss != "auto":
        return [model.loss]
    if labels.classes is None or model.alpha is not None:
        return ["ridge"]
    return ["ridge", "logistic", *(["svm"] if model.thorough else [])]


def _known_sides(model: SearchParameters) -> tuple[str, ...]:
    """Return the sides with training edges at prediction time whose kernels the search chooses."""
    sides = {"start": ("end",), "end": ("start",), "neither": ("start", "end")}.get(model.new, ())
    return tuple(side for side in sides if _is_auto(getattr(model, f"{side}_kernel")))


def _is_auto(given: object) -> bool:
    return isinstance(given, str) and given == "auto"


def _pairwise(asked: str, X: Edges, y: Array) -> list[str]:
    """Return the pairwise kernels to try, based on the labels of edges in both directions."""
    if not X.is_one_set:
        if asked not in ("auto", "kronecker"):
            raise ValueError(f"pairwise is {asked!r} and needs one vertex set for both ends, but there are two")
        return ["kronecker"]
    if asked != "auto":
        return [asked]
    reverse = reverse_labels(X, y)
    if reverse == "opposite" and not (X.start == X.end).any():
        return ["antisymmetric"]
    return {"equal": ["symmetric"], "different": ["kronecker"]}.get(reverse, ["symmetric", "kronecker"])


def _with_given(model: SearchParameters, X: Edges) -> Edges:
    """Return edges whose tables have what given kernels read, and the identity of parts, which is tried for pairs."""
    sides = []
    for table, argument in ((X.start_table, "start_kernel"), (X.end_table, "end_kernel")):
        given = getattr(model, argument)
        own = Parts(Identity()) if isinstance(table, Pairs) else None
        sides.append([as_kernel(given, argument)] if not _is_auto(given) else [own] if own is not None else [])
    if any(isinstance(table, Pairs) for table in (X.start_table, X.end_table)):
        X = X.settled()  # all columns of the parts are tried
    return X.with_tables(*tables_for(sides[0], sides[1], X.start_table, X.end_table))


def _sides(model: SearchParameters, X: Edges, problem: SearchProblem, pairwise: list[str]) -> tuple[Any, Any]:
    """Return the facts about both sides, and the kernels to choose from."""
    facts: list[SideFacts] = []
    choices: list[SideChoices | MixedChoices] = []
    shared = pairwise[0] != "kronecker"
    for name, table in (("start", X.start_table), ("end", X.end_table)):
        side = problem.both if shared else problem.start if name == "start" else problem.end
        facts.append(SideFacts.of(name, table, side.positions))
        given = model.start_kernel if shared else getattr(model, f"{name}_kernel")
        if isinstance(table, Pairs) and _is_auto(given):
            choices.append(PairChoices(facts[-1], table, side.positions))
        elif facts[-1].kind in ("mixed", "text") and _is_auto(given):
            choices.append(MixedChoices(facts[-1], table, side.positions))
        else:
            choices.append(
                SideChoices(
                    facts[-1], side.features, given, bind=partial(bound, table=table, argument=f"{name}_kernel")
                )
            )
    if all(each.is_constant for each in facts):
        raise ValueError(
            "all start vertices have equal features, and all end vertices too, so there is nothing to learn"
        )
    return tuple(facts), tuple(choices)
