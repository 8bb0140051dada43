"""The interaction concordance: it shows whether predictions rank interactions, or only main effects of vertices."""

from typing import Any

import numpy as np

from vectrick._typing import Array, ArrayLike
from vectrick.backends.threads import count_threads, even_parts, run_tasks
from vectrick.metrics.concordance import checked_scores, share_in_order

_UNIT = 1e-10  # differences closer than this share of the largest value are rounding errors, so they are ties


def interaction_concordance(
    y_true: ArrayLike, y_score: ArrayLike, start: Any, end: Any, *, n_threads: int | None = None
) -> float:
    """Return the share of quadruples whose interaction is predicted with the right sign; a predicted zero counts half.

    Two start vertices d, d' and two end vertices t, t' with all four edges have the interaction
    ``(y(d, t) - y(d', t)) - (y(d, t') - y(d', t'))``. It is zero for a model of main effects, ``f(d) + g(t)``, even if
    that model ranks the edges well, so its interaction concordance is 0.5. Interactions of two start vertices are pairs
    of differences, so the share is a concordance index for each pair of start vertices (or of end vertices, if there
    are fewer): O(m² q log q) for m ≤ q. It is NaN if the labels have no interaction. Labels and scores of a repeated
    edge are averaged.

    Parameters
    ----------
    y_true, y_score : array
        Labels and predictions.
    start, end : array
        The start and the end vertex of each edge.
    n_threads : int, optional
        The number of threads; by default VECTRICK_NUM_THREADS, or the number of CPUs.

    Examples
    --------
    >>> import numpy as np
    >>> start, end = np.repeat([0, 1, 2], 3), np.tile([0, 1, 2], 3)
    >>> y = np.array([1.0, 0, 0, 0, 1, 0, 0, 0, 1])
    >>> interaction_concordance(y, y, start, end), interaction_concordance(y, start + 10.0 * end, start, end)
    (1.0, 0.5)
    """
    y, score = checked_scores(y_true, y_score)
    numbers = []
    for name, vertices in (("start", start), ("end", end)):
        if np.shape(vertices) != y.shape:
            raise ValueError(f"{name} has shape {np.shape(vertices)}, but y_true has {y.shape}")
        numbers.append(np.unique(vertices, return_inverse=True)[1].ravel())
    if not len(y) or np.isnan(score).any():
        return float("nan")
    wrong = np.flatnonzero(np.isinf(score))
    if wrong.size:
        raise ValueError(f"y_score[{wrong[0]}] is {score[wrong[0]]}, but differences need finite numbers")
    fewer, more = sorted(numbers, key=lambda vertices: int(vertices.max()))
    fewer, more, y, score = _without_repetition(fewer, more, y, score)
    bounds = np.concatenate([[0], np.cumsum(np.bincount(fewer))])
    units = [max(float(np.abs(values).max()), 1e-300) * _UNIT for values in (y, score)]
    from vectrick.backends.cpu.order import interaction_differences  # compiled code, loaded only if needed

    # Vertex d has d pairs, so many small parts balance the work.
    parts = even_parts(len(bounds) - 1, 64)
    counts = np.zeros((len(parts), 2), np.int64)

    def count(part: int) -> None:
        counts[part] = interaction_differences(bounds, more, y, score, *units, *parts[part])

    run_tasks(count, len(parts), count_threads(n_threads))
    return share_in_order(counts.sum(axis=0, keepdims=True))


def _without_repetition(fewer: Array, more: Array, y: Array, score: Array) -> tuple[Array, Array, Array, Array]:
    """Return the distinct edges in order, with mean labels and scores of repeated edges."""
    size = int(more.max()) + 1
    edges, which, times = np.unique(fewer.astype(np.int64) * size + more, return_inverse=True, return_counts=True)
    of_y, of_score = (np.bincount(which, values) / times for values in (y, score))
    return edges // size, edges % size, of_y, of_score
