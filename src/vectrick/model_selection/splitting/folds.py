"""Building blocks of splits by vertices: folds, parts of vertices or edges, and their checks."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from vectrick._colours import BLUE, GREEN, ORANGE, PALE
from vectrick._typing import Array, ArrayLike, New
from vectrick.backends.arrays import unmasked
from vectrick.data.settings import NEW
from vectrick.data.splits import divide_vertices
from vectrick.model_selection.splitting.pairs import Pairs

# Colors for the uses of edges in pictures of splits.
COLOURS = {"training": BLUE, "validation": GREEN, "test": ORANGE, "left out": PALE}


@dataclass(frozen=True)
class Fold:
    """The training and the test edges of a fold, as positions; other edges are left out."""

    name: str
    train: Array
    test: Array

    def check(self, y: Array | None, advice: str) -> None:
        """Raise an error if the training or the test edges are empty or have only one label."""
        for part, rows in (("training", self.train), ("test", self.test)):
            if not len(rows):
                raise ValueError(f"{self.name} has no {part} edges; {advice}")
            if y is not None and (y[rows] == y[rows[0]]).all():
                label = y[rows[:1]].tolist()[0]
                raise ValueError(f"{self.name} has {len(rows)} {part} edges with one label only, {label!r}; {advice}")


def make_fold(name: str, pairs: Pairs, new: New, train: Array, test: Array, strict: bool) -> Fold:
    """Return a fold; with ``strict``, leave out test edges with an unseen vertex on another side."""
    if strict:
        for side, vertices, size in (("start", pairs.start, pairs.n_start), ("end", pairs.end, pairs.n_end)):
            if new in ("both", side):
                continue
            known = np.zeros(size, bool)
            known[vertices[train]] = True
            if pairs.one_set:
                known[(pairs.end if side == "start" else pairs.start)[train]] = True
            test = test & known[vertices]
    kind = np.int32 if len(pairs) < 2**31 else np.int64  # saves memory if many folds have many edges
    return Fold(name, np.flatnonzero(train).astype(kind), np.flatnonzero(test).astype(kind))


def divide_evenly(vertices: Array, size: int, n_parts: int, rng: np.random.Generator, positive: Array | None) -> Array:
    """Return the part of each vertex, in parts of nearly equal size; see `divide_vertices`."""
    return np.asarray(divide_vertices(vertices, size, even_sizes(len(np.unique(vertices)), n_parts), rng, positive))


def divide_edges(
    pairs: Pairs, sizes_of: Callable[[int], Array], rng: np.random.Generator, positive: Array | None
) -> Array:
    """Return the part of each edge; edges between the same two vertices are in the same part.

    ``sizes_of`` returns the sizes of the parts for a number of distinct pairs. With a mask ``positive``, each part gets
    its share of the pairs that have a positive edge.
    """
    number = pairs.distinct()
    n_pairs = int(number.max(initial=-1)) + 1
    sizes = sizes_of(n_pairs)
    part, order = np.empty(n_pairs, int), rng.permutation(n_pairs)
    places = np.repeat(np.arange(len(sizes)), sizes)
    if positive is not None:  # sorts the pairs by class, and deals them out evenly
        order = order[np.argsort((np.bincount(number, positive) > 0)[order], kind="stable")]
        shares = np.concatenate([(np.arange(size) + 0.5) / size for size in sizes])
        places = places[np.argsort(shares, kind="stable")]
    part[order] = places
    return part[number]


def even_sizes(total: int, n_parts: int) -> Array:
    """Return the sizes of parts that differ by at most one."""
    return np.full(n_parts, total // n_parts) + (np.arange(n_parts) < total % n_parts)


def as_labels(y: ArrayLike | None, n_edges: int) -> Array | None:
    """Return labels as an array of the right length, or None if y is None."""
    if y is None:
        return None
    labels = np.asarray(unmasked(y, "y"))
    if labels.shape != (n_edges,):
        raise ValueError(f"y has shape {labels.shape}, but there are {n_edges} edges")
    return labels


def rarer_class(y: Array | None) -> Array:
    """Return a mask of the edges of the rarer of two classes."""
    if y is None:
        raise ValueError("stratify is True, but y is None")
    classes, counts = np.unique(y, return_counts=True)
    if len(classes) != 2:
        raise ValueError(f"stratify is True, which needs two classes, but y has {len(classes)} values")
    return np.asarray(y == classes[np.argmin(counts)])


def stratify_advice(y: Array | None, stratify: bool) -> str:
    """Return the advice to stratify if that is possible and not requested yet."""
    return "stratify=True, " if y is not None and not stratify and len(np.unique(y)) == 2 else ""


def check_new(new: object) -> None:
    """Raise an error unless ``new`` is one of the four settings."""
    if new not in NEW:
        raise ValueError(f"new is {new!r}, but it must be one of {', '.join(map(repr, NEW))}")
