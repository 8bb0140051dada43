"""Simulated data.

>>> import vectrick as vt
>>> vt.datasets.make_checkerboard(10, random_state=0)[0]
<25 edges between 10 start and 10 end vertices>
"""

import numpy as np

from vectrick._typing import Array
from vectrick.data import Edges


def make_checkerboard(
    m: int = 1000,
    q: int | None = None,
    density: float = 0.25,
    noise: float = 0.2,
    random_state: int | np.random.Generator | None = None,
) -> tuple[Edges, Array]:
    """Return edges and labels of the paper's Checker simulation, a problem that no linear model can learn.

    A vertex has one feature, uniform in (0, 100). The label of an edge is +1 if both features have the same parity when
    rounded down, and -1 otherwise. Then each label is flipped with probability ``noise``, so even the best predictor
    has an AUC of ``1 - noise``. Graphs with different ``random_state`` have no vertices in common.

    Parameters
    ----------
    m, q : int
        Numbers of start and end vertices; ``q=None`` means ``q = m``.
    density : float
        The share of all pairs that become edges, drawn without repetition.
    noise : float
        The share of flipped labels.
    random_state : int or Generator, optional
        A seed.

    Examples
    --------
    >>> import vectrick as vt
    >>> X, y = vt.datasets.make_checkerboard(20, 30, density=0.5, random_state=0)
    >>> X
    <300 edges between 20 start and 30 end vertices>
    >>> sorted(set(y.tolist()))
    [-1.0, 1.0]
    """
    q = m if q is None else q
    for name, size in (("m", m), ("q", q)):
        if size != int(size) or size < 1:
            raise ValueError(f"{name} is {size!r}, but it must be a positive integer")
    if not 0 < density <= 1:
        raise ValueError(f"density is {density!r}, but it must be in (0, 1]")
    if not 0 <= noise <= 1:
        raise ValueError(f"noise is {noise!r}, but it must be in [0, 1]")
    rng = np.random.default_rng(random_state)
    d, t = rng.uniform(0, 100, (m, 1)), rng.uniform(0, 100, (q, 1))
    n_edges = max(1, round(density * m * q))
    start, end = np.divmod(rng.choice(m * q, n_edges, replace=False), q)
    even_start, even_end = np.floor(d[:, 0]) % 2 == 0, np.floor(t[:, 0]) % 2 == 0
    y = np.where(even_start[start] == even_end[end], 1.0, -1.0)
    y[rng.random(n_edges) < noise] *= -1
    return Edges(start, end, d, t), y
