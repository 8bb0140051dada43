"""Splits of edges by their vertices, for the four settings of pairwise learning."""

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state

from vectrick.data.splits import NEW, divide_vertices, edges_of_split
from vectrick.model_selection.pairs import Pairs

Array = NDArray[Any]


@dataclass(frozen=True)
class Fold:
    """The training and the test edges of a fold, as positions; the others are left out."""

    name: str
    train: Array
    test: Array

    def check(self, y: Array | None, advice: str) -> None:
        """Refuse a fold that nothing can be learned from, or measured with."""
        for part, rows in (("training", self.train), ("test", self.test)):
            if not len(rows):
                raise ValueError(f"{self.name} has no {part} edges; {advice}")
            if y is not None and (y[rows] == y[rows[0]]).all():
                label = y[rows[:1]].tolist()[0]
                raise ValueError(f"{self.name} has {len(rows)} {part} edges with one label only, {label!r}; {advice}")


class VertexKFold(BaseCrossValidator):
    """Cross-validation over parts of the vertices, for a model that is to predict edges of new vertices.

    An ordinary splitter of scikit-learn, for ``cross_val_score``, ``GridSearchCV`` and the like. ``new`` says what a
    test edge has that no training edge has:

    - "both": the start and the end vertices are divided into parts; a fold tests the edges between a start part and an
      end part, ``n_start × n_end`` folds, and trains on those with neither. Edges that join a test vertex to a training
      vertex are left out. With 3 × 3 parts this is the paper's ninefold cross-validation, which trains on 4/9.
    - "start" (or "end"): a fold tests the edges of one of ``n_start`` parts of the start vertices, and trains on the
      rest; the end vertex is one that the training edges have.
    - "neither": the edges themselves are divided into ``n_start × n_end`` parts; a test edge joins training vertices.

    Where both ends come from one vertex set, a vertex is new on both sides at once: there are ``n_start`` parts and
    folds; "both" tests the edges within a part, "start" and "end" those from or to it. ("neither" is as above.)

    Parameters
    ----------
    n_start, n_end : int
        Into how many parts the start and the end vertices are divided; ``n_end=None`` means as many.
    new : str
        "both", "start", "end" or "neither".
    stratify : bool
        Whether to spread the rarer class evenly over the parts; for two classes.
    n_repeats : int
        How often to divide anew.
    strict : bool
        Whether to leave out test edges that are new in another way than ``new`` says: with "start", those whose end
        vertex has no training edge. ``strict=False`` keeps them, as ``cross_val_predict`` needs, which wants each edge
        in one test part.
    one_set : bool, optional
        Whether both ends come from one vertex set, where X does not tell: an array of pairs is taken for two sets.
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

    __metadata_request__split: ClassVar = {"groups": True}  # so that scikit-learn's metadata routing passes them on

    def __init__(
        self,
        n_start: int = 3,
        n_end: int | None = None,
        new: str = "both",
        *,
        stratify: bool = False,
        n_repeats: int = 1,
        strict: bool = True,
        one_set: bool | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_start = n_start
        self.n_end = n_end
        self.new = new
        self.stratify = stratify
        self.n_repeats = n_repeats
        self.strict = strict
        self.one_set = one_set
        self.random_state = random_state

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Array, Array]]:
        """Yield the positions of the training and of the test edges of each fold.

        Parameters
        ----------
        X : Edges or array
            The edges: `Edges`, or an n × 2 array with the start and the end vertex of each (numbers or ids).
        y : array, optional
            Their labels. With labels, a fold with one label only is refused.
        groups : array, optional
            An n × 2 array with the vertices, where X is something else, such as a table of features.
        """
        for fold in self.folds(X, y, groups):
            yield fold.train, fold.test

    def folds(self, X: Any, y: Any = None, groups: Any = None) -> list[Fold]:
        """Return all folds, checked, each with a name for people."""
        pairs = Pairs.of(X, groups, self.one_set)
        y = _labels(y, len(pairs))
        self._check(pairs)
        positive = _rarer(y) if self.stratify else None
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=self.n_repeats)
        found = []
        for repeat, seed in enumerate(seeds):
            where = f" of repeat {repeat}" if self.n_repeats > 1 else ""
            found += self._divide(pairs, np.random.default_rng(seed), positive, where)
        advice = f"use {_stratify_advice(y, self.stratify)}fewer parts or another random_state"
        for fold in found:
            fold.check(y, advice)
        return found

    def report(self, X: Any, y: Any = None, groups: Any = None) -> Any:
        """Return a pandas frame with a row for each fold: how many edges it uses, and how many it leaves out.

        With labels of two classes, also how many of them are of the rarer class. With ``new="both"``, fold
        ``i * n_end + j`` tests the edges between start part i and end part j.
        """
        import pandas as pd

        n_edges = len(Pairs.of(X, groups))
        labels = _labels(y, n_edges)
        rare = _rarer(labels) if labels is not None and len(np.unique(labels)) == 2 else None
        rows = []
        for fold in self.folds(X, y, groups):
            train, test = len(fold.train), len(fold.test)
            name = fold.name.partition(" (")[0]  # without its parts: fold i · n_end + j has start part i and end part j
            row: dict[str, Any] = {"fold": name, "train": train, "test": test, "left_out": n_edges - train - test}
            if rare is not None:
                row |= {"train_rare": int(rare[fold.train].sum()), "test_rare": int(rare[fold.test].sum())}
            rows.append(row)
        return pd.DataFrame(rows)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds; of one vertex set there are fewer, so that X is needed to tell."""
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
            part = _divide_edges(len(pairs), _even(len(pairs), n_parts), rng, positive)
            masks = [(f"fold {i}{where}", part != i, part == i) for i in range(n_parts)]
        elif pairs.one_set:
            vertices = np.concatenate([pairs.start, pairs.end])
            twice = None if positive is None else np.tile(positive, 2)
            part = _divide_evenly(vertices, pairs.n_start, self.n_start, rng, twice)
            masks = [
                (f"fold {i}{where} (part {i} of {self.n_start})",
                 *edges_of_split(self.new, part[pairs.start] == i, part[pairs.end] == i))
                for i in range(self.n_start)
            ]  # fmt: skip
        else:
            start = _divide_evenly(pairs.start, pairs.n_start, self.n_start, rng, positive)[pairs.start]
            end = _divide_evenly(pairs.end, pairs.n_end, n_end, rng, positive)[pairs.end]
            # A side that stays known has no held-out part: -1 is none.
            starts = range(self.n_start) if self.new != "end" else [-1]
            ends = range(n_end) if self.new != "start" else [-1]
            masks = []
            for number, (i, j) in enumerate((i, j) for i in starts for j in ends):
                sides = [f"start part {i} of {self.n_start}"] * (i >= 0) + [f"end part {j} of {n_end}"] * (j >= 0)
                name = f"fold {number}{where} ({', '.join(sides)})"
                masks.append((name, *edges_of_split(self.new, start == i, end == j)))
        return [_fold(name, pairs, self.new, train, test, self.strict) for name, train, test in masks]

    def _check(self, pairs: Pairs) -> None:
        _check_new(self.new)
        for name in ("n_start", "n_end", "n_repeats"):
            value = getattr(self, name)
            least = 1 if name == "n_repeats" else 2
            if name == "n_end" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
                raise ValueError(f"{name} is {value!r}, but it must be an integer of at least {least}")
        n_end = self.n_start if self.n_end is None else self.n_end
        if self.new == "neither":
            if self.n_start * n_end > len(pairs):
                raise ValueError(f"there are {self.n_start} × {n_end} folds, but X has only {len(pairs)} edges")
            return
        if pairs.one_set:
            if n_end != self.n_start:
                raise ValueError(
                    f"n_start is {self.n_start} and n_end is {n_end}, but both ends come from one vertex set, which is "
                    "divided once: give n_start alone"
                )
            available = [("n_start", self.n_start, "", np.concatenate([pairs.start, pairs.end]))]
        else:
            sides = [("n_start", self.n_start, "start ", pairs.start), ("n_end", n_end, "end ", pairs.end)]
            available = [side for side in sides if self.new in ("both", side[2].strip())]
        for name, n_parts, side, vertices in available:
            n_vertices = len(np.unique(vertices))
            if n_parts > n_vertices:
                raise ValueError(f"{name} is {n_parts}, but the edges have only {n_vertices} {side}vertices")


@dataclass(frozen=True)
class VertexSplit:
    """Training, validation and test edges, as positions; it unpacks into the three.

    Attributes
    ----------
    train, validation, test : array
        Positions of the edges.
    n_edges : int
        The number of all edges.
    """

    train: Array
    validation: Array
    test: Array
    n_edges: int

    @property
    def n_left_out(self) -> int:
        """The number of edges that are in no part, since they join vertices of different parts."""
        return self.n_edges - len(self.train) - len(self.validation) - len(self.test)

    def __iter__(self) -> Iterator[Array]:
        return iter((self.train, self.validation, self.test))

    def __repr__(self) -> str:
        return (
            f"<{len(self.train)} training, {len(self.validation)} validation and {len(self.test)} test edges; "
            f"{self.n_left_out} of {self.n_edges} left out>"
        )


def vertex_split(
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    validation_size: float = 0.25,
    test_size: float = 0.25,
    new: str = "both",
    stratify: bool = False,
    strict: bool = True,
    one_set: bool | None = None,
    random_state: Any = None,
) -> VertexSplit:
    """Split edges once into training, validation and test edges by their vertices.

    Parameters
    ----------
    X, y, groups
        Edges and labels, as for `VertexKFold.split`.
    validation_size, test_size : float
        The shares of the vertices (of the edges, with ``new="neither"``) that are held out; ``validation_size=0.0``
        makes no validation part.
    new, stratify, strict, one_set, random_state
        As for `VertexKFold`.

    Returns
    -------
    VertexSplit
        ``train, validation, test = vertex_split(X, y)`` are positions for ``X[train]``; it shows how many edges were
        left out.

    Examples
    --------
    >>> import vectrick as vt
    >>> X, y = vt.datasets.make_checkerboard(100, random_state=0)
    >>> vt.vertex_split(X, y, random_state=0)
    <622 training, 174 validation and 141 test edges; 1563 of 2500 left out>
    """
    pairs = Pairs.of(X, groups, one_set)
    y = _labels(y, len(pairs))
    _check_new(new)
    for name, share in (("validation_size", validation_size), ("test_size", test_size)):
        least = 0.0 if name == "validation_size" else 1e-9
        if isinstance(share, bool) or not isinstance(share, Real) or not least <= share < 1:
            raise ValueError(f"{name} is {share!r}, but it must be a share between 0 and 1")
    if validation_size + test_size >= 1:
        raise ValueError(
            f"validation_size is {validation_size} and test_size {test_size}, which leaves nothing to train on"
        )
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
    positive = _rarer(y) if stratify else None
    shares = np.array([1.0 - validation_size - test_size, validation_size, test_size])
    if new == "neither":
        start = end = _divide_edges(len(pairs), _sizes(len(pairs), shares), rng, positive)
    elif pairs.one_set:
        vertices = np.concatenate([pairs.start, pairs.end])
        twice = None if positive is None else np.tile(positive, 2)
        part = divide_vertices(vertices, pairs.n_start, _sizes(len(np.unique(vertices)), shares), rng, twice)
        start, end = part[pairs.start], part[pairs.end]
    else:
        start, end = (
            divide_vertices(vertices, size, _sizes(len(np.unique(vertices)), shares), rng, positive)[vertices]
            if new in ("both", side)
            else np.zeros(len(pairs), int)
            for side, vertices, size in (("start", pairs.start, pairs.n_start), ("end", pairs.end, pairs.n_end))
        )
    train = (start == 0) & (end == 0)
    found = [np.flatnonzero(train)]
    advice = f"use {_stratify_advice(y, stratify)}other sizes or another random_state"
    for part_number, name, share in ((1, "validation", validation_size), (2, "test", test_size)):
        if new == "neither":
            test = start == part_number
        else:
            inside = edges_of_split(new, start == part_number, end == part_number)[1]
            known = [(start == 0) | (start == part_number), (end == 0) | (end == part_number)]
            test = inside & known[0] & known[1]
        fold = _fold(f"the {name} split", pairs, new, train, test, strict)
        if share:
            fold.check(y, advice)
        found.append(fold.test)
    return VertexSplit(found[0], found[1], found[2], len(pairs))


def _fold(name: str, pairs: Pairs, new: str, train: Array, test: Array, strict: bool) -> Fold:
    """Return a fold; strictly, without test edges whose vertices are new where they should be known."""
    if strict:
        for side, vertices, size in (("start", pairs.start, pairs.n_start), ("end", pairs.end, pairs.n_end)):
            if new in ("both", side):
                continue
            known = np.zeros(size, bool)
            known[vertices[train]] = True
            if pairs.one_set:
                known[(pairs.end if side == "start" else pairs.start)[train]] = True
            test = test & known[vertices]
    kind = np.int32 if len(pairs) < 2**31 else np.int64  # there may be many folds of many edges
    return Fold(name, np.flatnonzero(train).astype(kind), np.flatnonzero(test).astype(kind))


def _divide_evenly(vertices: Array, size: int, n_parts: int, rng: np.random.Generator, positive: Array | None) -> Array:
    return divide_vertices(vertices, size, _even(len(np.unique(vertices)), n_parts), rng, positive)


def _divide_edges(n_edges: int, sizes: Array, rng: np.random.Generator, positive: Array | None) -> Array:
    """Return the part of each edge; with a mask, the parts get their share of it."""
    part = np.empty(n_edges, int)
    order = rng.permutation(n_edges)
    if positive is not None:  # those of one class after those of the other, dealt out evenly
        order = order[np.argsort(positive[order], kind="stable")]
        places = np.concatenate([(np.arange(size) + 0.5) / size for size in sizes])
        part[order] = np.repeat(np.arange(len(sizes)), sizes)[np.argsort(places, kind="stable")]
        return part
    part[order] = np.repeat(np.arange(len(sizes)), sizes)
    return part


def _even(total: int, n_parts: int) -> Array:
    """Return the sizes of parts that differ by one at most."""
    return np.full(n_parts, total // n_parts) + (np.arange(n_parts) < total % n_parts)


def _sizes(total: int, shares: Array) -> Array:
    """Return the sizes of the training, validation and test parts; a part with a share has at least one."""
    held = [max(1, round(share * total)) if share else 0 for share in shares[1:]]
    if sum(held) >= total:
        raise ValueError(f"validation_size and test_size leave none of {total} vertices to train on")
    return np.array([total - sum(held), *held])


def _labels(y: Any, n_edges: int) -> Array | None:
    if y is None:
        return None
    labels = np.asarray(y)
    if labels.shape != (n_edges,):
        raise ValueError(f"y has shape {labels.shape}, but there are {n_edges} edges")
    return labels


def _rarer(y: Array | None) -> Array:
    """Return a mask of the edges of the rarer of two classes."""
    if y is None:
        raise ValueError("stratify is True, but y is None")
    classes, counts = np.unique(y, return_counts=True)
    if len(classes) != 2:
        raise ValueError(f"stratify is True, which needs two classes, but y has {len(classes)} values")
    return np.asarray(y == classes[np.argmin(counts)])


def _stratify_advice(y: Array | None, stratify: bool) -> str:
    """Return the advice to stratify where that is possible and was not done."""
    return "stratify=True, " if y is not None and not stratify and len(np.unique(y)) == 2 else ""


def check_splitter(cv: Any, name: str) -> None:
    """Refuse what is neither None nor splits by vertices."""
    if cv is not None and not isinstance(cv, VertexKFold):
        raise TypeError(f"{name} is {cv!r}, but it must be a vt.VertexKFold, such as vt.VertexKFold(3, 3)")


def _check_new(new: Any) -> None:
    if new not in NEW:
        raise ValueError(f"new is {new!r}, but it must be one of {', '.join(map(repr, NEW))}")
