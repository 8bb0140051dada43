"""Splits of edges by their vertices, in the four settings of pairwise learning."""

import itertools
from collections.abc import Iterable

import numpy as np

from vectrick._typing import Array, New
from vectrick.backends.arrays import distinct, like, namespace, to_host, zeros
from vectrick.data.edges import Edges

_TRIES = 20  # divisions of the vertices to try, because a part of a division may have one label only


def hold_out_vertices(edges: Edges, fraction: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return masks of the training edges and of the test edges; test edges join held-out vertices only.

    A ``fraction`` of the vertices that occur on each side is held out, at least one. If both ends come from one vertex
    set, a vertex is held out wherever it appears. Edges with one held-out vertex only are in neither mask.

    >>> import numpy as np, vectrick as vt
    >>> X = vt.Edges.grid(np.eye(4), np.eye(4))
    >>> train, test = hold_out_vertices(X, 0.5, np.random.default_rng(0))
    >>> train.sum(), test.sum()
    (np.int64(4), np.int64(4))
    """
    if edges.is_one_set:
        both = namespace(edges.start).concatenate([edges.start, edges.end])
        held = _draw(both, len(edges.start_table), fraction, rng)
        new_start, new_end = held[edges.start], held[edges.end]
    else:
        new_start = _draw(edges.start, len(edges.start_table), fraction, rng)[edges.start]
        new_end = _draw(edges.end, len(edges.end_table), fraction, rng)[edges.end]
    return edges_of_split("both", new_start, new_end)


class TooFewLabelsError(ValueError):
    """Every division of the vertices left a part with too few different labels.

    Attributes
    ----------
    part : str
        "training" or "validation", of the last division that was tried.
    n_edges, n_labels, n_tries : int
        The numbers of edges and of different labels of that part, and the number of divisions that were tried.
    """

    def __init__(self, part: str, n_edges: int, n_labels: int) -> None:
        self.part, self.n_edges, self.n_labels, self.n_tries = part, n_edges, n_labels, _TRIES
        super().__init__(
            f"{_TRIES} divisions of the vertices all left a part with too few labels: the {part} part of the last one "
            f"has {n_edges} edges with {n_labels} different labels"
        )


def hold_out_labeled(
    edges: Edges, labels: Array, fraction: float, generators: Iterable[np.random.Generator], n_labels: int = 2
) -> tuple[Array, Array]:
    """Return the masks of the first division whose parts both have at least ``n_labels`` different labels.

    Each try takes the next generator. If all tries fail, `TooFewLabelsError` describes the last one.
    """
    for rng in itertools.islice(generators, _TRIES):
        parts = hold_out_vertices(edges, fraction, rng)
        different = [len(distinct(labels[mask])) for mask in parts]
        if min(different) >= n_labels:
            return parts
    worst = int(np.argmin(different))
    raise TooFewLabelsError(("training", "validation")[worst], int(parts[worst].sum()), different[worst])


def edges_of_split(new: New, new_start: Array, new_end: Array) -> tuple[Array, Array]:
    """Return masks of the training and the test edges, given which edges have a held-out start and end vertex.

    No training edge has a held-out vertex. A test edge has held-out vertices exactly at the ends that the setting
    names. All other edges are in neither mask.

    >>> import numpy as np
    >>> edges_of_split("start", np.array([True, True, False]), np.array([True, False, False]))[1]
    array([False,  True, False])
    """
    train = ~new_start & ~new_end
    return train, (new_start == (new in ("both", "start"))) & (new_end == (new in ("both", "end")))


def divide_vertices(
    vertices: Array, size: int, sizes: Array, rng: np.random.Generator, positive: Array | None = None
) -> Array:
    """Return the part of each of ``size`` vertices, -1 if it has no edges; part p has ``sizes[p]`` vertices.

    ``vertices`` holds the vertex of each edge. With ``positive``, a mask of edges, the parts get positive edges
    approximately in proportion to their sizes: vertices with the most positive edges come first, and each goes to the
    part with room that lacks the most positive edges.

    >>> import numpy as np
    >>> vertices = np.array([0, 0, 0, 1, 1, 1, 2, 3])
    >>> divide_vertices(vertices, 5, np.array([2, 2]), np.random.default_rng(0), np.arange(8) < 6)
    array([ 0,  1,  0,  1, -1])
    """
    used = rng.permutation(np.unique(vertices))
    parts = np.full(size, -1)
    if positive is None:
        parts[used] = np.repeat(np.arange(len(sizes)), sizes)
        return parts
    weight = np.bincount(vertices[positive], minlength=size)
    room, lack = sizes.astype(np.int64), weight.sum() * sizes / sizes.sum()
    for vertex in used[np.argsort(-weight[used], kind="stable")]:
        part = int(np.argmax(np.where(room > 0, lack, -np.inf)))
        parts[vertex] = part
        room[part] -= 1
        lack[part] -= weight[vertex]
    return parts


def _draw(vertices: Array, size: int, fraction: float, rng: np.random.Generator) -> Array:
    occurs = zeros(size, vertices, bool)
    occurs[vertices] = True
    used = np.flatnonzero(to_host(occurs))
    held = np.zeros(size, bool)
    held[rng.choice(used, max(1, round(fraction * len(used))), replace=False)] = True
    return like(held, vertices)
