"""One split of edges by their vertices into training, validation and test parts."""

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real

import numpy as np
from sklearn.utils import check_random_state

from vectrick._html import html_bar, html_block
from vectrick._typing import Array, ArrayLike, New, RandomState
from vectrick.data import EdgesLike
from vectrick.data.splits import divide_vertices, edges_of_split
from vectrick.model_selection.splitting.folds import (
    COLOURS,
    as_labels,
    check_new,
    divide_edges,
    make_fold,
    rarer_class,
    stratify_advice,
)
from vectrick.model_selection.splitting.pairs import Pairs


@dataclass(frozen=True)
class VertexSplit:
    """The positions of training, validation and test edges; it unpacks into these three.

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
        """The number of edges in no part: they join vertices of different parts, or ``strict`` removed them."""
        return self.n_edges - len(self.train) - len(self.validation) - len(self.test)

    def __iter__(self) -> Iterator[Array]:
        return iter((self.train, self.validation, self.test))

    def __repr__(self) -> str:
        return (
            f"<{len(self.train)} training, {len(self.validation)} validation and {len(self.test)} test edges; "
            f"{self.n_left_out} of {self.n_edges} left out>"
        )

    def _repr_html_(self) -> str:
        parts = {"training": self.train, "validation": self.validation, "test": self.test}
        shares = [(name, len(rows), COLOURS[name]) for name, rows in parts.items()]
        return html_block(
            f"{self.n_edges:,} edges", html_bar([*shares, ("left out", self.n_left_out, COLOURS["left out"])])
        )


def vertex_split(
    X: EdgesLike,
    y: ArrayLike | None = None,
    *,
    groups: ArrayLike | None = None,
    validation_size: float = 0.25,
    test_size: float = 0.25,
    new: New = "both",
    stratify: bool = False,
    strict: bool = True,
    one_set: bool | None = None,
    random_state: RandomState = None,
) -> VertexSplit:
    """Split edges once into training, validation and test edges by their vertices.

    Parameters
    ----------
    X, y, groups
        Edges and labels, as for `VertexKFold.split`.
    validation_size, test_size : float
        The shares of the vertices to hold out (of the edges, with ``new="neither"``). ``validation_size=0.0`` makes no
        validation part.
    new, stratify, strict, one_set, random_state
        As for `VertexKFold`.

    Returns
    -------
    VertexSplit
        It unpacks as ``train, validation, test = vertex_split(X, y)``, positions for ``X[train]`` and so on. It shows
        how many edges were left out.

    Examples
    --------
    >>> import vectrick as vt
    >>> X, y = vt.datasets.make_checkerboard(100, random_state=0)
    >>> vt.vertex_split(X, y, random_state=0)
    <622 training, 174 validation and 141 test edges; 1563 of 2500 left out>
    """
    pairs = Pairs.of(X, groups, one_set)
    y = as_labels(y, len(pairs))
    check_new(new)
    _check_sizes(validation_size, test_size)
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
    positive = rarer_class(y) if stratify else None
    shares = np.array([1.0 - validation_size - test_size, validation_size, test_size])
    start, end = _parts(pairs, new, shares, rng, positive)
    train = (start == 0) & (end == 0)
    parts = [np.flatnonzero(train)]
    advice = f"use {stratify_advice(y, stratify)}other sizes or another random_state"
    for part_number, name, share in ((1, "validation", validation_size), (2, "test", test_size)):
        if new == "neither":
            test = start == part_number
        else:
            inside = edges_of_split(new, start == part_number, end == part_number)[1]
            known = [(start == 0) | (start == part_number), (end == 0) | (end == part_number)]
            test = inside & known[0] & known[1]
        fold = make_fold(f"the {name} split", pairs, new, train, test, strict)
        if share:
            fold.check(y, advice)
        parts.append(fold.test)
    return VertexSplit(parts[0], parts[1], parts[2], len(pairs))


def _check_sizes(validation_size: float, test_size: float) -> None:
    """Raise an error if the shares leave nothing to test, or nothing to train on."""
    for name, share in (("validation_size", validation_size), ("test_size", test_size)):
        least = 0.0 if name == "validation_size" else 1e-9
        if isinstance(share, bool) or not isinstance(share, Real) or not least <= share < 1:
            raise ValueError(f"{name} is {share!r}, but it must be a share between 0 and 1")
    if validation_size + test_size >= 1:
        raise ValueError(
            f"validation_size is {validation_size} and test_size is {test_size}; this leaves nothing to train on"
        )


def _parts(
    pairs: Pairs, new: New, shares: Array, rng: np.random.Generator, positive: Array | None
) -> tuple[Array, Array]:
    """Return the part of each edge's start and end vertex: 0 for training, 1 for validation, 2 for testing."""
    if new == "neither":
        part = divide_edges(pairs, lambda n_pairs: _sizes(n_pairs, shares, "pairs of vertices"), rng, positive)
        return part, part
    if pairs.one_set:
        vertices = np.concatenate([pairs.start, pairs.end])
        twice = None if positive is None else np.tile(positive, 2)
        part = divide_vertices(vertices, pairs.n_start, _sizes(len(np.unique(vertices)), shares), rng, twice)
        return part[pairs.start], part[pairs.end]
    start, end = (
        divide_vertices(vertices, size, _sizes(len(np.unique(vertices)), shares), rng, positive)[vertices]
        if new in ("both", side)
        else np.zeros(len(pairs), int)
        for side, vertices, size in (("start", pairs.start, pairs.n_start), ("end", pairs.end, pairs.n_end))
    )
    return start, end


def _sizes(total: int, shares: Array, what: str = "vertices") -> Array:
    """Return the sizes of the training, validation and test parts; a part with a positive share is not empty."""
    held = [max(1, round(share * total)) if share else 0 for share in shares[1:]]
    if sum(held) >= total:
        raise ValueError(f"validation_size and test_size leave none of {total} {what} to train on")
    return np.array([total - sum(held), *held])
