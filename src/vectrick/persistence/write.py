"""Write fitted functions to files: a predictor as a JSON header and tensors."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse, vstack
from sklearn.base import BaseEstimator

from vectrick._typing import Array
from vectrick.data import VertexTable
from vectrick.data.pairs import Pairs
from vectrick.kernels import KERNELS, CholeskyMap, FeatureMap, Kernel
from vectrick.kernels.pairwise import PAIRWISE, PairwiseKernel
from vectrick.models.edge_kernel import EdgeKernel
from vectrick.models.pairwise import PairwisePredictor
from vectrick.models.predictor import Predictor
from vectrick.models.product import DualPredictor, PrimalPredictor
from vectrick.models.vertex_kernel import SpectralMap, VertexKernel
from vectrick.persistence.checks import Tensors
from vectrick.persistence.transformers import transformer_header


def function_header(predictor: Predictor, tensors: Tensors) -> dict[str, Any]:
    """Return the header of a fitted function on the host; its arrays go to the tensors."""
    one_set = predictor.start.known is predictor.end.known
    header: dict[str, Any] = {"one_set": one_set}
    for name, side in (("start", predictor.start), ("end", predictor.end)):
        header[name] = _vertex_kernel_header(side, name, tensors, name == "start" or not one_set)
    if isinstance(predictor, PairwisePredictor):
        header["edge_kernel"] = _edge_kernel_header(predictor.kernel, tensors)
    if isinstance(predictor, DualPredictor | PairwisePredictor):
        tensors["a"], tensors["edges"] = predictor.a, np.stack([predictor.graph.start, predictor.graph.end])
    else:
        assert isinstance(predictor, PrimalPredictor)
        tensors["w"] = predictor.w
        for name, feature_map in (("start", predictor.start_map), ("end", predictor.end_map)):
            header[name]["map"] = _map_header(feature_map, name, tensors)
    return header


def pairwise_header(kernel: PairwiseKernel) -> dict[str, Any]:
    """Return a pairwise kernel as JSON."""
    if not PAIRWISE.knows(type(kernel)):
        raise ValueError(
            f"pairwise is {kernel!r}, but a model file holds only vectrick's own kernels, and yours after vt.register"
        )
    return {"name": kernel.name, **kernel.get_params()}


def _edge_kernel_header(kernel: EdgeKernel, tensors: Tensors) -> dict[str, Any]:
    """Return a kernel of edges as JSON; after the first kernel of a side, only kernels and projections are stored."""
    header: dict[str, Any] = {
        "components": [[pairwise_header(each.pairwise), each.start, each.end] for each in kernel.components],
        "weights": kernel.weights.tolist(),
        "one_set": kernel.one_set,
    }
    for name, sides in (("starts", kernel.starts), ("ends", () if kernel.one_set else kernel.ends)):
        header[name] = []
        for i, side in enumerate(sides[1:], 1):
            header[name].append(kernel_header(side.kernel, f"{name}.{i}.kernel", tensors))
            if side.projection is not None:
                tensors[f"{name}.{i}.projection"] = side.projection
    return header


def kernel_header(kernel: Kernel, name: str, tensors: Tensors) -> dict[str, Any]:
    """Return a kernel as JSON; its learned parameters go to the tensors."""
    if not KERNELS.knows(type(kernel)):
        raise ValueError(
            f"{name} is {kernel!r}, but a model file holds only vectrick's own kernels, yours after "
            "vt.register, and no functions. Compute the kernel and use 'precomputed'"
        )
    header: dict[str, Any] = {"type": type(kernel).__name__}
    for parameter, value in kernel.get_params(deep=False).items():
        if parameter in kernel.of_vertices:  # already in the file
            continue
        if isinstance(value, Kernel):
            header[parameter] = kernel_header(value, f"{name}.{parameter}", tensors)
        elif isinstance(value, BaseEstimator):
            header[parameter] = transformer_header(value, f"{name}.{parameter}", tensors)
        elif isinstance(value, list | tuple) and value and all(isinstance(word, str) for word in value):
            header[parameter] = {"words": list(value)}
        elif isinstance(value, np.ndarray | list | tuple):
            array = np.asarray(value)
            if array.dtype.kind not in "biuf":
                raise ValueError(f"{name}.{parameter} is {value!r}, but a model file holds numbers, text and arrays")
            tensors[f"{name}.{parameter}"] = array.astype(np.int64 if array.dtype.kind in "iu" else np.float64)
            header[parameter] = {"tensor": f"{name}.{parameter}"}
        elif isinstance(value, dict):
            raise ValueError(f"{name}.{parameter} is {value!r}, but a model file holds numbers, text and arrays")
        else:
            header[parameter] = value
    return header


def _vertex_kernel_header(side: VertexKernel, name: str, tensors: Tensors, with_table: bool) -> dict[str, Any]:
    """Return the header of a side; its table, training vertices and learned parameters go to the tensors."""
    table = side.known
    tensors[f"{name}.used"] = np.asarray(side.used, np.int64)
    if side.projection is not None:
        tensors[f"{name}.projection"] = side.projection
    header: dict[str, Any] = {"kernel": kernel_header(side.kernel, f"{name}.kernel", tensors)}
    if not with_table:
        return header
    if isinstance(table, Pairs):
        return header | _pairs_header(table, name, tensors)
    # The table as it was in training, even if the user's array has changed since.
    features: Any = side.vertices
    if len(side.used) < len(table):
        others = np.setdiff1d(np.arange(len(table)), side.used)
        rest: Any = table.features[others].astype(np.float64)
        both = vstack([features, rest], "csr") if issparse(features) else np.vstack([features, rest])
        features = both[np.argsort(np.concatenate([side.used, others]))]
    return header | _table_header(table, features, name, tensors)


def _pairs_header(table: Pairs, name: str, tensors: Tensors) -> dict[str, Any]:
    """Return the header of a table of pairs: the tables of their parts, and the positions in them."""
    tensors[f"{name}.pairs"] = np.stack([table.first, table.second]).astype(np.int64)
    first, second = table.parts
    tables = [first] if second is first else [first, second]
    return {
        "pairs": {"symmetric": table.symmetric},
        "parts": [
            _table_header(part, part.features, f"{name}.parts.{place}", tensors) for place, part in enumerate(tables)
        ],
    }


def _table_header(table: VertexTable, features: Any, name: str, tensors: Tensors) -> dict[str, Any]:
    """Return the header of a vertex table; its features and ids go to the tensors."""
    for column in table.columns or ():
        if not isinstance(column, str | int | float | np.integer | np.floating) or column != column:
            raise ValueError(
                f"{table.name} has the column name {column!r} of type {type(column).__name__}, but a model file holds "
                "names that are text or numbers; rename the columns"
            )
    header: dict[str, Any] = {"name": table.name, "columns": table.columns, "id_column": table.id_column, "ids": None}
    header["named"] = table.is_named
    if table.string_columns:
        header["string_columns"] = list(table.string_columns)
    if table.numbered:
        header["numbered"] = True
    if table.notes:
        header["notes"] = dict(table.notes)
    if table.medians:
        header["medians"] = dict(table.medians)
    if table.text is not None:
        header["text"] = table.text
    if issparse(features):
        features = csr_array(features)
        for part in ("data", "indices", "indptr"):
            tensors[f"{name}.features.{part}"] = getattr(features, part)
        header["shape"] = list(features.shape)
    else:
        tensors[f"{name}.features"] = features
    if table.ids is not None:
        header["ids"] = _put_ids(table.ids, name, tensors)
    return header


def _put_ids(ids: Array, name: str, tensors: Tensors) -> str:
    """Put ids into the tensors; return their kind."""
    if ids.dtype.kind == "u" and len(ids) and ids.max() >= 2**63:
        tensors[f"{name}.ids"] = ids.astype(np.uint64).view(np.int64)  # the container has no unsigned integers
        return "uint"
    if ids.dtype.kind in "iu":
        tensors[f"{name}.ids"] = ids.astype(np.int64)
        return "int"
    words = ids.tolist()
    if not all(isinstance(word, str) for word in words):
        kinds = sorted({type(word).__name__ for word in words if not isinstance(word, str)})
        raise TypeError(f"{name} has ids of type {kinds[0]}, but a model file holds integers or text")
    _put_words(words, f"{name}.ids", tensors)
    return "str"


def _put_words(words: list[str], name: str, tensors: Tensors) -> None:
    """Put words into the tensors, as bytes and the positions of their ends."""
    coded = [word.encode() for word in words]
    tensors[name] = np.frombuffer(b"".join(coded), np.uint8)
    tensors[f"{name}.ends"] = np.cumsum([len(word) for word in coded], dtype=np.int64)


def _map_header(feature_map: FeatureMap, name: str, tensors: Tensors) -> dict[str, Any]:
    header = {"kind": type(feature_map).__name__, "rank": feature_map.rank, "tolerance": feature_map.tolerance}
    if isinstance(feature_map, CholeskyMap):
        tensors[f"{name}.map.pivots"], tensors[f"{name}.map.corner"] = (
            feature_map.pivots.astype(np.int64),
            feature_map.corner,
        )
    elif isinstance(feature_map, SpectralMap):
        assert feature_map.inverse is not None
        tensors[f"{name}.map.inverse"] = feature_map.inverse
    return header
