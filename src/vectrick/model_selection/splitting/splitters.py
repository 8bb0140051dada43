"""Cross-validation by vertices, for the four settings of pairwise learning."""

from collections.abc import Iterator
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state

from vectrick._html import html_block, html_cells, html_note
from vectrick._typing import Array, ArrayLike, Frame, New, RandomState
from vectrick.data import EdgesLike
from vectrick.data.settings import SETTINGS, settings_of
from vectrick.data.splits import edges_of_split
from vectrick.model_selection.splitting.folds import (
    COLOURS,
    Fold,
    as_labels,
    check_new,
    divide_edges,
    divide_evenly,
    even_sizes,
    make_fold,
    rarer_class,
    stratify_advice,
)
from vectrick.model_selection.splitting.pairs import Pairs

_BOARD = 30  # parts of a side up to which a fold is drawn


class VertexKFold(BaseCrossValidator):
    """A cross-validator that divides the vertices, for models that predict edges of new vertices.

    It works like any scikit-learn splitter, with ``cross_val_score``, ``GridSearchCV`` and similar functions. ``new``
    determines which vertices of a test edge occur in no training edge:

    - "both": the start and the end vertices are divided into parts. Each of the ``n_start × n_end`` folds tests the
      edges between a start part and an end part, and trains on the edges with neither. Edges that join a test vertex to
      a training vertex are left out. With 3 × 3 parts this is the paper's ninefold cross-validation, with 4/9 of the
      edges for training.
    - "start" (or "end"): a fold tests the edges of one of ``n_start`` parts of the start vertices, and trains on the
      other edges. The end vertex of a test edge occurs in the training edges.
    - "neither": the edges themselves are divided into ``n_start × n_end`` parts (``n_end`` may be 1). Both vertices of
      a test edge occur in the training edges. Repeated edges between the same two vertices stay in the same part.

    If both ends come from one vertex set, a new vertex is new on both sides, and there are ``n_start`` parts and
    folds. "both" tests the edges within a part; "start" and "end" test the edges from it or to it. With "neither", an
    edge and its reverse are in the same part.

    A fold takes O(n) for n edges.

    Parameters
    ----------
    n_start, n_end : int
        The numbers of parts of the start and of the end vertices; ``n_end=None`` means ``n_start``.
    new : str
        "both", "start", "end" or "neither".
    stratify : bool
        Whether to spread the rarer class evenly over the parts; this needs two classes.
    n_repeats : int
        The number of repeats, each with a new division.
    strict : bool
        Whether to leave out test edges with more new vertices than ``new`` allows. With "start", these are the edges
        whose end vertex has no training edge. ``strict=False`` keeps them: ``cross_val_predict`` needs each edge in one
        test part.
    one_set : bool, optional
        Whether both ends come from one vertex set, if X is an array of pairs. By default, an array has two sets.
    random_state : int, optional
        The seed of the division.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> from sklearn.model_selection import cross_val_score
    >>> X, y = vt.datasets.make_checkerboard(60, density=0.5, random_state=0)
    >>> cv = vt.VertexKFold(3, 3, random_state=0)
    >>> cross_val_score(vt.KronSVM("gaussian", "gaussian"), X, y, cv=cv, scoring="roc_auc").shape
    (9,)
    >>> cv.report(X, y)[["train", "test", "left_out"]].head(2)
       train  test  left_out
    0    790   189       821
    1    797   210       793
    """

    __metadata_request__split: ClassVar = {"groups": True}  # so that scikit-learn's metadata routing passes groups on

    def __init__(
        self,
        n_start: int = 3,
        n_end: int | None = None,
        new: New = "both",
        *,
        stratify: bool = False,
        n_repeats: int = 1,
        strict: bool = True,
        one_set: bool | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_start = n_start
        self.n_end = n_end
        self.new = new
        self.stratify = stratify
        self.n_repeats = n_repeats
        self.strict = strict
        self.one_set = one_set
        self.random_state = random_state

    def split(
        self, X: EdgesLike, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Iterator[tuple[Array, Array]]:
        """Yield the positions of the training and of the test edges of each fold.

        Parameters
        ----------
        X : Edges or array
            The edges: `Edges`, or an n × 2 array with the start and the end vertex of each (numbers or ids).
        y : array, optional
            The labels of the edges. If given, a fold with only one label raises an error.
        groups : array, optional
            An n × 2 array with the vertices, if X is something else, such as a table of features.
        """
        for fold in self.folds(X, y, groups):
            yield fold.train, fold.test

    def folds(self, X: EdgesLike, y: ArrayLike | None = None, groups: ArrayLike | None = None) -> list[Fold]:
        """Check and return all folds; each has a readable name."""
        pairs = Pairs.of(X, groups, self.one_set)
        y = as_labels(y, len(pairs))
        self._check(pairs)
        positive = rarer_class(y) if self.stratify else None
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=self.n_repeats)
        folds = []
        for repeat, seed in enumerate(seeds):
            where = f" of repeat {repeat}" if self.n_repeats > 1 else ""
            folds += self._divide(pairs, np.random.default_rng(seed), positive, where)
        advice = f"use {stratify_advice(y, self.stratify)}fewer parts or another random_state"
        for fold in folds:
            fold.check(y, advice)
        return folds

    def report(self, X: EdgesLike, y: ArrayLike | None = None, groups: ArrayLike | None = None) -> Frame:
        """Return a pandas frame with a row for each fold: how many edges it uses, and how many it leaves out.

        With labels of two classes, the frame also counts the edges of the rarer class. With ``new="both"``, fold
        ``i * n_end + j`` tests the edges between start part i and end part j.
        """
        import pandas as pd

        n_edges = len(Pairs.of(X, groups))
        labels = as_labels(y, n_edges)
        rare = rarer_class(labels) if labels is not None and len(np.unique(labels)) == 2 else None
        rows = []
        for fold in self.folds(X, y, groups):
            train, test = len(fold.train), len(fold.test)
            name = fold.name.partition(" (")[0]  # without its parts: fold i · n_end + j has start part i and end part j
            row: dict[str, Any] = {"fold": name, "train": train, "test": test, "left_out": n_edges - train - test}
            if rare is not None:
                row |= {"train_rare": int(rare[fold.train].sum()), "test_rare": int(rare[fold.test].sum())}
            rows.append(row)
        return pd.DataFrame(rows)

    def board(self) -> list[list[str]]:
        """Return the use of edges in the first fold, by parts of start vertices (rows) and of end vertices (columns).

        The uses are "training", "test" and "left out". With ``new="neither"`` the parts are parts of the edges.

        >>> import vectrick as vt
        >>> vt.VertexKFold(2, 2).board()
        [['test', 'left out'], ['left out', 'training']]
        """
        n_end = self.n_start if self.n_end is None or self.one_set else self.n_end
        if self.new == "neither":
            return [["test" if i == j == 0 else "training" for j in range(n_end)] for i in range(self.n_start)]
        start, end = np.meshgrid(np.arange(self.n_start) == 0, np.arange(n_end) == 0, indexing="ij")
        if not self.one_set:  # a side without new vertices has no held-out part
            start, end = start & (self.new != "end"), end & (self.new != "start")
        train, test = edges_of_split(self.new, start, end)
        board: list[list[str]] = np.where(test, "test", np.where(train, "training", "left out")).tolist()
        return board

    def _repr_html_(self) -> str:
        numbers = [self.n_start, self.n_start if self.n_end is None else self.n_end]
        if self.new not in SETTINGS or not all(isinstance(each, Integral) and 1 <= each <= _BOARD for each in numbers):
            return html_note(repr(self))  # too large to draw, or invalid
        board, label = self.board(), settings_of(bool(self.one_set))[self.new].words
        picture = html_cells([[COLOURS[use] for use in row] for row in board], f"the first fold, {label}")
        kinds = [use for use in COLOURS if any(use in row for row in board)]
        names = " &nbsp; ".join(f'<span style="color:{COLOURS[use]}">■</span> {use}' for use in kinds)
        parts = "parts of the edges" if self.new == "neither" else "start parts (rows) × end parts (columns)"
        note = html_note(f"the first of {self.get_n_splits()} folds: {parts}")
        return html_block(f"{self!r}: {label}", picture, f"<p>{names}</p>", note)

    def get_n_splits(
        self, X: EdgesLike | None = None, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> int:
        """Return the number of folds; one vertex set in X makes fewer folds."""
        one_set = bool(self.one_set) if X is None else Pairs.of(X, groups, self.one_set).one_set
        n_end = self.n_start if self.n_end is None else self.n_end
        if self.new in ("both", "neither") and not (one_set and self.new == "both"):
            return int(self.n_start * n_end * self.n_repeats)
        return int((n_end if self.new == "end" and not one_set else self.n_start) * self.n_repeats)

    def _divide(self, pairs: Pairs, rng: np.random.Generator, positive: Array | None, where: str) -> list[Fold]:
        """Return the folds of one division."""
        n_end = self.n_start if self.n_end is None else self.n_end
        if self.new == "neither":
            n_parts = self.n_start * n_end
            part = divide_edges(pairs, lambda n_pairs: even_sizes(n_pairs, n_parts), rng, positive)
            masks = [(f"fold {i}{where}", part != i, part == i) for i in range(n_parts)]
        elif pairs.one_set:
            vertices = np.concatenate([pairs.start, pairs.end])
            twice = None if positive is None else np.tile(positive, 2)
            part = self._parts("start", vertices, pairs.n_start, self.n_start, rng, twice)
            masks = [
                (f"fold {i}{where} (part {i} of {self.n_start})",
                 *edges_of_split(self.new, part[pairs.start] == i, part[pairs.end] == i))
                for i in range(self.n_start)
            ]  # fmt: skip
        else:
            start = self._parts("start", pairs.start, pairs.n_start, self.n_start, rng, positive)[pairs.start]
            end = self._parts("end", pairs.end, pairs.n_end, n_end, rng, positive)[pairs.end]
            # A side without new vertices has no held-out part: -1 matches no part.
            starts = range(self.n_start) if self.new != "end" else [-1]
            ends = range(n_end) if self.new != "start" else [-1]
            masks = []
            for number, (i, j) in enumerate((i, j) for i in starts for j in ends):
                sides = [f"start part {i} of {self.n_start}"] * (i >= 0) + [f"end part {j} of {n_end}"] * (j >= 0)
                name = f"fold {number}{where} ({', '.join(sides)})"
                masks.append((name, *edges_of_split(self.new, start == i, end == j)))
        return [make_fold(name, pairs, self.new, train, test, self.strict) for name, train, test in masks]

    def _parts(
        self, side: str, vertices: Array, size: int, n_parts: int, rng: np.random.Generator, positive: Array | None
    ) -> Array:
        """Return the part of each vertex of a side, -1 for vertices without edges."""
        return divide_evenly(vertices, size, n_parts, rng, positive)

    def _check(self, pairs: Pairs) -> None:
        check_new(self.new)
        for name in ("n_start", "n_end", "n_repeats"):
            value = getattr(self, name)
            least = 1 if name == "n_repeats" or (name == "n_end" and self.new == "neither") else 2
            if name == "n_end" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
                raise ValueError(f"{name} is {value!r}, but it must be an integer of at least {least}")
        n_end = self.n_start if self.n_end is None else self.n_end
        if self.new == "neither":
            n_pairs = int(pairs.distinct().max(initial=-1)) + 1
            if self.n_start * n_end > n_pairs:
                raise ValueError(
                    f"there are {self.n_start} × {n_end} folds, but X has edges between only {n_pairs} pairs of "
                    "vertices"
                )
            return
        if pairs.one_set:
            if n_end != self.n_start:
                raise ValueError(
                    f"n_start is {self.n_start} and n_end is {n_end}, but both ends come from one vertex set and share "
                    "its parts: give n_start alone"
                )
            available = [("n_start", self.n_start, "", np.concatenate([pairs.start, pairs.end]))]
        else:
            sides = [("n_start", self.n_start, "start ", pairs.start), ("n_end", n_end, "end ", pairs.end)]
            available = [side for side in sides if self.new in ("both", side[2].strip())]
        for name, n_parts, side, vertices in available:
            n_vertices = len(np.unique(vertices))
            if n_parts > n_vertices:
                raise ValueError(f"{name} is {n_parts}, but the edges have only {n_vertices} {side}vertices")


def check_splitter(cv: object, name: str) -> None:
    """Raise an error unless ``cv`` is None or splits by vertices."""
    if cv is not None and not isinstance(cv, VertexKFold):
        raise TypeError(f"{name} is {cv!r}, but it must be a vt.VertexKFold, such as vt.VertexKFold(3, 3)")
