"""Cross-validation by the parts of vertices that are pairs."""

from collections.abc import Iterator
from numbers import Integral

import numpy as np
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state

from vectrick._typing import Array, ArrayLike, RandomState
from vectrick.backends.arrays import to_host
from vectrick.data import Edges
from vectrick.data.pairs import Pairs
from vectrick.model_selection.splitting.folds import Fold, as_labels


class PartKFold(BaseCrossValidator):
    """A cross-validator for vertices that are pairs, which holds out their parts: for predictions about a new drug.

    A fold tests every edge whose pair has a held-out part, and trains on the edges of all other pairs. A pair of parts
    from two folds is tested in both. To hold out pairs of known parts, use `VertexKFold` with ``new="start"``.

    A fold takes O(n) for n edges.

    Parameters
    ----------
    n_splits : int
        The number of folds.
    side : str
        The side with the pairs, "start" or "end".
    part : str
        Which parts are held out: "any", "first" or "second". Pairs without order have "any" only.
    random_state : int, optional
        The seed of the division.

    Examples
    --------
    >>> import numpy as np, vectrick as vt
    >>> pairs = vt.Pairs([0, 0, 1, 2], [1, 2, 2, 3], np.eye(4))
    >>> X = vt.Edges.grid(pairs, np.eye(2))
    >>> [(len(train), len(test)) for train, test in vt.PartKFold(4, random_state=0).split(X)]
    [(4, 4), (2, 6), (4, 4), (6, 2)]
    """

    def __init__(
        self, n_splits: int = 5, side: str = "start", part: str = "any", *, random_state: RandomState = None
    ) -> None:
        self.n_splits = n_splits
        self.side = side
        self.part = part
        self.random_state = random_state

    def split(
        self, X: Edges, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Iterator[tuple[Array, Array]]:
        """Yield the positions of the training and of the test edges of each fold."""
        for fold in self.folds(X, y):
            yield fold.train, fold.test

    def folds(self, X: Edges, y: ArrayLike | None = None) -> list[Fold]:
        """Check and return all folds; each has a readable name."""
        table = self._table(X)
        labels = as_labels(y, len(X))
        vertices = to_host(X.start if self.side == "start" else X.end)
        whole = {"first": [table.first], "second": [table.second], "any": [table.first, table.second]}[self.part]
        parts = [each[vertices] for each in whole]
        known = np.unique(np.concatenate(parts))
        if len(known) < self.n_splits:
            raise ValueError(f"n_splits is {self.n_splits}, but the pairs have only {len(known)} parts")
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        number = np.zeros(int(known.max()) + 1, np.int64)
        number[rng.permutation(known)] = np.arange(len(known)) % self.n_splits
        folds = []
        for each in range(self.n_splits):
            held = np.logical_or.reduce([number[part] == each for part in parts])
            fold = Fold(f"fold {each} (parts {each} of {self.n_splits})", np.flatnonzero(~held), np.flatnonzero(held))
            fold.check(labels, "use another number of folds or another random_state")
            folds.append(fold)
        return folds

    def get_n_splits(self, X: Edges | None = None, y: ArrayLike | None = None, groups: ArrayLike | None = None) -> int:
        """Return the number of folds."""
        return int(self.n_splits)

    def _table(self, X: Edges) -> Pairs:
        """Return the table of pairs; raise an error if there is none, or if a parameter is wrong."""
        if self.side not in ("start", "end") or self.part not in ("any", "first", "second"):
            wrong, value, known = (
                ("side", self.side, "'start' or 'end'")
                if self.side not in ("start", "end")
                else ("part", self.part, "'any', 'first' or 'second'")
            )
            raise ValueError(f"{wrong} is {value!r}, but it must be {known}")
        if isinstance(self.n_splits, bool) or not isinstance(self.n_splits, Integral) or self.n_splits < 2:
            raise ValueError(f"n_splits is {self.n_splits!r}, but it must be an integer of at least 2")
        if not isinstance(X, Edges):
            raise TypeError(f"X is of type {type(X).__name__}, but PartKFold divides vt.Edges with vt.Pairs")
        table = X.start_table if self.side == "start" else X.end_table
        if not isinstance(table, Pairs):
            raise ValueError(f"side is {self.side!r}, but the {self.side} vertices of X are no vt.Pairs")
        if self.part != "any" and (table.symmetric or table.parts[0] is table.parts[1]):
            raise ValueError(f"part is {self.part!r}, but the parts of the pairs are of one kind; use part='any'")
        return table
