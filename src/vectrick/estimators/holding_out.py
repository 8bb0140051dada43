"""Vertices that early stopping holds out of the training edges."""

import itertools
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from vectrick._typing import Array
from vectrick.backends.arrays import to_host, true_places, zeros
from vectrick.data import Edges
from vectrick.data.splits import TooFewLabelsError, hold_out_labeled


def hold_out_some(model: Any, edges: Edges, labels: Array, rows: Array | None) -> tuple[Array, Array]:
    """Return masks of the training and the validation edges; a mask ``rows`` limits both to its edges."""
    rng = np.random.default_rng(check_random_state(model.random_state).randint(2**31 - 1))
    usable, known = (edges, labels) if rows is None else (edges[rows], labels[rows])
    try:
        masks = hold_out_labeled(usable, known, model.validation_fraction, itertools.repeat(rng))
    except TooFewLabelsError as error:
        raise ValueError(
            f"validation_fraction is {model.validation_fraction}, which leaves {error.n_edges} edges with "
            f"{error.n_labels} different labels in the {error.part} part; choose another fraction or "
            "random_state, or give validation=(X, y)"
        ) from None
    if rows is None:
        return masks
    parts = zeros(len(edges), rows), zeros(len(edges), rows)
    for part, mask in zip(parts, masks, strict=True):
        part[true_places(rows)[mask]] = True
    return parts


def vertices_only_in(held: Edges, trained: Edges) -> dict[str, list[Any]]:
    """Return the vertices of held-out edges that no training edge has: ids, or positions in the tables."""
    found = {}
    for side, table in (("start", held.start_table), ("end", held.end_table)):
        parts = [to_host(getattr(edges, each)) for edges in (held, trained) for each in (side, "start", "end")]
        own, known = parts[0], np.concatenate(parts[4:]) if held.is_one_set else parts[3]
        rows = np.setdiff1d(own, known)
        found[side] = (rows if table.ids is None else np.asarray(table.ids)[rows]).tolist()
    return found
