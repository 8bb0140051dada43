"""The vertices that a command names: those of the model's own tables, or of a file with new ones."""

from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from vectrick.data import VertexTable


def vertex_table(model: Any, side: str, path: Path | None, id_column: str, only_new: bool) -> VertexTable:
    """Return the vertices of a side: those of a file, and unless ``only_new``, those that the model knows as well."""
    from vectrick.data.folder import read_vertices

    known: VertexTable = getattr(model, f"{side}_table_")
    if path is None:
        if known.ids is None:
            raise ValueError(f"the model knows its {side} vertices by position only; name them with --{side}-features")
        return known
    new = read_vertices(path, side, "features", id_column, known.columns)
    if issparse(known.features) and not issparse(new.features):
        new.features = csr_array(new.features)
    if only_new or known.ids is None:
        return new
    old = ~np.isin(np.asarray(known.ids).astype(str), np.asarray(new.ids).astype(str))
    features: Any = known.features[old]
    if issparse(features) or issparse(new.features):
        features = csr_array(vstack([csr_array(new.features), csr_array(features)]))
    else:
        features = np.vstack([new.features, features])
    made = VertexTable(features, new.name, np.concatenate([new.ids, np.asarray(known.ids)[old].astype(str)]))
    made.columns = new.columns
    return made


def ids_of(table: VertexTable) -> Any:
    """Return the ids of a table as Arrow text."""
    import pyarrow as pa

    return pa.array(np.asarray(table.ids).astype(str).astype(object), pa.string())


def probabilities(model: Any, scores: Any) -> Any:
    """Return the probability of the second class from scores, or None for models that have none."""
    from scipy.special import expit

    return expit(scores) if hasattr(model, "predict_proba") else None
