"""Cross-validation by clusters of vertices: no training vertex is similar to a test vertex."""

from numbers import Real

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from vectrick._typing import Array, ArrayLike, New, RandomState
from vectrick._warnings import warn
from vectrick.data import Edges, EdgesLike, VertexTable
from vectrick.data.strings.molecules import scaffold
from vectrick.data.strings.table import kind_of_strings
from vectrick.model_selection.splitting.folds import Fold
from vectrick.model_selection.splitting.similarity import Similarity
from vectrick.model_selection.splitting.splitters import VertexKFold

SCAFFOLD = "scaffold"
_LARGE = 1.5  # parts larger than this times an even share cause a warning


class ClusterKFold(VertexKFold):
    """A `VertexKFold` that keeps similar vertices in one part, so that test vertices differ from training vertices.

    Vertices whose similarity is above a threshold are in one cluster, directly or through a chain of similar vertices.
    So no test vertex is more similar to any training vertex than the threshold. The parts have nearly equal numbers of
    vertices, as far as whole clusters allow.

    The similarities of all pairs of m vertices of a side take O(m²) kernel values; a fold then takes O(n).

    Parameters
    ----------
    n_start, n_end, new, stratify, n_repeats, strict, random_state
        As for `VertexKFold`, except that "neither" is not allowed, because it divides edges.
    threshold : float
        The similarity, from 0 to 1, above which two vertices are in one cluster.
    start, end : str or Kernel
        The similarity of the vertices of a side. A kernel is normalized to ``k(x, y) / √(k(x, x) k(y, y))``. "scaffold"
        puts molecules with the same Bemis–Murcko scaffold into one cluster. "auto" uses Morgan fingerprints for
        molecules, alignments for sequences, a given matrix of similarities, the Tanimoto kernel for bits, and a
        Gaussian kernel for other features.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> drugs = np.array([[1.0, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 0], [0, 1, 0, 1]])
    >>> X = vt.Edges.grid(drugs, np.eye(4))
    >>> cv = vt.ClusterKFold(2, new="start", threshold=0.4, random_state=0)
    >>> [sorted(set(X.start[test].tolist())) for _, test in cv.split(X)]
    [[0, 1, 4], [2, 3]]
    """

    def __init__(
        self,
        n_start: int = 3,
        n_end: int | None = None,
        new: New = "both",
        *,
        threshold: float = 0.6,
        start: ArrayLike | str | None = "auto",
        end: ArrayLike | str | None = "auto",
        stratify: bool = False,
        n_repeats: int = 1,
        strict: bool = True,
        random_state: RandomState = None,
    ) -> None:
        super().__init__(
            n_start, n_end, new, stratify=stratify, n_repeats=n_repeats, strict=strict, random_state=random_state
        )
        self.threshold = threshold
        self.start = start
        self.end = end

    def folds(self, X: EdgesLike, y: ArrayLike | None = None, groups: ArrayLike | None = None) -> list[Fold]:
        """Check and return all folds; each has a readable name."""
        if not isinstance(X, Edges) or groups is not None:
            raise TypeError(f"X is of type {type(X).__name__}, but clusters need Edges with tables, and no groups")
        if self.new == "neither":
            raise ValueError("new is 'neither', but clusters divide vertices; use 'both', 'start' or 'end'")
        is_number = isinstance(self.threshold, Real) and not isinstance(self.threshold, bool)
        if not is_number or not 0 <= float(self.threshold) < 1:
            raise ValueError(f"threshold is {self.threshold!r}, but it must be a number from 0 to below 1")
        sides = ["start"] if X.is_one_set else [side for side in ("start", "end") if self.new in ("both", side)]
        self._clusters: dict[str, Array] = {side: self.clusters(X, side) for side in sides}
        try:
            return super().folds(X, y)
        finally:
            del self._clusters

    def clusters(self, X: Edges, side: str) -> Array:
        """Return the cluster of each vertex of the table of a side, -1 for vertices without edges."""
        table, vertices = (X.start_table, X.start) if side == "start" else (X.end_table, X.end)
        used = np.unique(np.concatenate([X.start, X.end]) if X.is_one_set else vertices)
        given = self.start if side == "start" else self.end
        found = np.full(len(table), -1)
        if isinstance(given, str) and given == SCAFFOLD:
            found[used] = _by_scaffold(table, used, side)
            return found
        similarity = Similarity(table, used, given, side)
        pairs, everything = [], np.arange(len(used))
        for rows, values in similarity.blocks(everything, everything):
            at, to = np.nonzero(values > float(self.threshold))
            pairs.append(np.stack([rows[at], to]))
        at, to = np.concatenate(pairs, axis=1)
        graph = coo_array((np.ones(len(at), np.int8), (at, to)), (len(used), len(used)))
        found[used] = connected_components(graph, directed=False)[1]
        return found

    def _parts(
        self, side: str, vertices: Array, size: int, n_parts: int, rng: np.random.Generator, positive: Array | None
    ) -> Array:
        if side not in self._clusters:  # the vertices of this side are not divided
            return super()._parts(side, vertices, size, n_parts, rng, positive)
        cluster = self._clusters[side]
        n_clusters = int(cluster.max()) + 1
        if n_clusters < n_parts:
            raise ValueError(
                f"the {side} vertices form {n_clusters} clusters, but {n_parts} parts are needed; raise the threshold "
                f"of {self.threshold}, or use fewer parts"
            )
        used = np.unique(vertices)
        sizes = np.bincount(cluster[used], minlength=n_clusters).astype(np.float64)
        weight = sizes / sizes.sum()
        if positive is not None:
            of_class = np.bincount(cluster[vertices[positive]], minlength=n_clusters)
            weight = weight + of_class / max(1, of_class.sum())
        place, filled = np.zeros(n_clusters, np.int64), np.zeros(n_parts)
        order = rng.permutation(n_clusters)
        for number in order[np.argsort(-weight[order], kind="stable")]:  # the largest first, each to the emptiest part
            place[number] = int(np.argmin(filled))
            filled[place[number]] += weight[number]
        parts = np.full(size, -1)
        parts[used] = place[cluster[used]]
        largest = int(np.bincount(parts[used]).max())
        if largest * n_parts > _LARGE * len(used):
            warn(
                f"a cluster of {int(sizes.max())} of the {len(used)} {side} vertices makes a part of {largest} instead "
                f"of {len(used) // n_parts}; a threshold above {self.threshold} makes smaller clusters",
                UserWarning,
            )
        return parts


def _by_scaffold(table: VertexTable, used: Array, side: str) -> Array:
    """Return the number of each molecule's scaffold; molecules without rings form one cluster."""
    strings = table.take(used).strings if table.text is not None else []
    if table.text is None or kind_of_strings(strings, table.text) != "smiles":
        raise ValueError(f"{side} is 'scaffold', but the {side} vertices are not molecules in SMILES strings")
    return np.asarray(np.unique([scaffold(string) for string in strings], return_inverse=True)[1])
