"""Models as files: a fitted estimator as a JSON header and tensors."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from vectrick._arrays import to_host
from vectrick.estimators.base import KronEstimator
from vectrick.estimators.container import write_container
from vectrick.estimators.edge_kernel import EdgeKernel
from vectrick.estimators.loading import ESTIMATORS, FITTED, KERNELS, LOADING_ERRORS, Array, Tensors, made_again
from vectrick.estimators.pairwise_predictor import PairwisePredictor
from vectrick.estimators.predictor import Predictor
from vectrick.estimators.product_predictor import DualPredictor, PrimalPredictor
from vectrick.estimators.side import Side, SpectralMap
from vectrick.kernels import CholeskyMap, FeatureMap, Kernel, as_kernel
from vectrick.kernels.pairwise import PAIRWISE, PairwiseKernel

_KEPT_EDGES = 1_000_000  # training edges that go to the file, for recommendations to leave out


def save_model(model: KronEstimator, path: Path | str, about: dict[str, Any] | None = None) -> None:
    """Write a fitted model to a file; see `KronEstimator.save`."""
    if type(model) not in ESTIMATORS.values():
        raise TypeError(f"a model of type {type(model).__name__} is none of vectrick's, so it has no file format")
    header, tensors = _described(model)
    header["about"] = about or {}
    machines = getattr(model, "machines_", None)
    if machines is not None:
        header["machines"] = []
        for number, machine in enumerate(machines):
            described, own = _described(machine)
            header["machines"].append({**described, "about": {}})
            # What all have, above all the tables, is there once.
            tensors |= {f"machine.{number}.{name}": tensor for name, tensor in own.items()
                        if not _is_same(tensor, tensors.get(name))}  # fmt: skip
    write_container(path, "model", _readable(header, tensors), tensors)


def _is_same(tensor: Array, other: Array | None) -> bool:
    return other is not None and tensor.dtype == other.dtype and np.array_equal(tensor, other)


def _described(model: KronEstimator) -> tuple[dict[str, Any], Tensors]:
    """Return a fitted model as a header and tensors; of several classes, with what the first machine has."""
    fitted: Any = model if not hasattr(model, "machines_") else model.machines_[0]
    predictor: Predictor = fitted._predictor if fitted._predictor.device is None else fitted._predictor.on(None)
    tensors: Tensors = {}
    header: dict[str, Any] = {
        "estimator": type(model).__name__,
        "parameters": _parameters(model, tensors),
        "fitted": {name: getattr(fitted, name) for name in FITTED},
        "history": fitted.history_,
        "solution": {
            name: getattr(fitted.solution_, name)
            for name in ("converged", "reason", "n_iter", "n_products", "residuals")
        },
        "plan": asdict(model.plan_) if hasattr(model, "plan_") else None,
        "one_set": predictor.start.known is predictor.end.known,
    }
    if hasattr(model, "classes_"):
        header["classes"] = _classes_header(model.classes_)
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(model, name):
            value = getattr(model, name)
            header["fitted"][name] = value.tolist() if isinstance(value, np.ndarray) else int(value)
    for name, side in (("start", predictor.start), ("end", predictor.end)):
        with_table = name == "start" or not header["one_set"]
        header[name] = _side_header(side, name, tensors, with_table)
    if model._known_edges is not None and len(model._known_edges[0]) <= _KEPT_EDGES:
        tensors["known"] = np.stack([np.asarray(to_host(vertices), np.int32) for vertices in model._known_edges])
    if hasattr(fitted, "support_"):
        tensors["support"] = np.asarray(to_host(fitted.support_), np.int64)
    if isinstance(predictor, PairwisePredictor):
        header["edge_kernel"] = _edge_kernel_header(predictor.kernel, tensors)
    if isinstance(predictor, DualPredictor | PairwisePredictor):
        header["n_edges"] = len(fitted.dual_coef_)
        tensors["a"], tensors["edges"] = predictor.a, np.stack([predictor.graph.start, predictor.graph.end])
    else:
        assert isinstance(predictor, PrimalPredictor)
        tensors["w"] = predictor.w
        for name, found in (("start", predictor.start_map), ("end", predictor.end_map)):
            header[name]["map"] = _map_header(found, name, tensors)
    return header, tensors


def _readable(header: dict[str, Any], tensors: Tensors) -> dict[str, Any]:
    """Return the header as JSON has it, once it is sure that a model can be made of it again."""
    try:
        plain: dict[str, Any] = json.loads(json.dumps(header, default=_plain))
        made_again(plain, {name: np.asarray(tensor) for name, tensor in tensors.items()})
    except LOADING_ERRORS as error:
        raise ValueError(f"the model cannot be saved, since it could not be loaded again: {error}") from None
    return plain


def _plain(value: Any) -> Any:
    """Return a NumPy number as JSON has it."""
    if isinstance(value, np.floating):
        return float(value)
    if isinstance(value, np.generic) and not isinstance(plain := value.item(), np.generic):
        return plain
    raise TypeError(f"{value!r} is of type {type(value).__name__}, but a model file holds numbers and text")


def _classes_header(classes: Array) -> dict[str, Any]:
    """Return the labels of a classifier as JSON; text and numbers of unusual types become usual ones."""
    if classes.dtype.kind == "T":  # NumPy's own strings of any length
        classes = classes.astype(object)
    elif classes.dtype == np.longdouble:
        classes = classes.astype(np.float64)
    return {"dtype": classes.dtype.str, "values": classes.tolist()}


def _parameters(model: KronEstimator, tensors: Tensors) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in model.get_params(deep=False).items():
        if name.endswith("_kernel"):
            if isinstance(value, list | tuple):
                found[name] = [_given_kernel(one, f"{name}.{i}", tensors) for i, one in enumerate(value)]
            else:
                found[name] = _given_kernel(value, name, tensors)
        elif name == "pairwise":
            several = isinstance(value, list | tuple)
            found[name] = [_given_pairwise(one) for one in value] if several else _given_pairwise(value)
        elif name == "kernel_weights" and value is not None and not isinstance(value, str):
            found[name] = np.asarray(value, np.float64).tolist()
        elif name == "random_state" and not isinstance(value, int | np.integer | None):
            found[name] = None  # a generator has moved on
        elif name == "dtype" and value is not None:
            found[name] = np.dtype(value).name
        elif name == "device" and value is not None:
            found[name] = str(value)
        else:
            found[name] = value
    return found


def _given_kernel(value: Any, name: str, tensors: Tensors) -> Any:
    return value if isinstance(value, str) else _kernel_header(as_kernel(value, name), name, tensors)


def _given_pairwise(value: Any) -> Any:
    """Return a pairwise kernel, or one with its weight, as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        return {"kernel": _given_pairwise(value[0]), "weight": float(value[1])}
    return _pairwise_header(value)


def _pairwise_header(kernel: PairwiseKernel) -> dict[str, Any]:
    if type(kernel) not in PAIRWISE.values():
        raise ValueError(f"pairwise is {kernel!r}, which a model file cannot hold: it holds vectrick's own kernels")
    return {"name": kernel.name, **kernel.get_params()}


def _edge_kernel_header(kernel: EdgeKernel, tensors: Tensors) -> dict[str, Any]:
    """Return a kernel of edges as JSON; the sides behind the first of either end have kernels of their own only."""
    header: dict[str, Any] = {
        "components": [[_pairwise_header(one.pairwise), one.start, one.end] for one in kernel.components],
        "weights": kernel.weights.tolist(),
        "one_set": kernel.one_set,
    }
    for name, sides in (("starts", kernel.starts), ("ends", () if kernel.one_set else kernel.ends)):
        header[name] = []
        for i, side in enumerate(sides[1:], 1):
            header[name].append(_kernel_header(side.kernel, f"{name}.{i}.kernel", tensors))
            if side.projection is not None:
                tensors[f"{name}.{i}.projection"] = side.projection
    return header


def _kernel_header(kernel: Kernel, name: str, tensors: Tensors) -> dict[str, Any]:
    """Return a kernel as JSON; what it has learned goes to the tensors."""
    if type(kernel) not in KERNELS.values():
        raise ValueError(
            f"{name} is {kernel!r}, which a model file cannot hold: it holds vectrick's own kernels, but no functions. "
            "Compute the kernel and use 'precomputed'"
        )
    header: dict[str, Any] = {"type": type(kernel).__name__}
    for parameter, value in kernel.get_params(deep=False).items():
        if isinstance(value, Kernel):
            header[parameter] = _kernel_header(value, f"{name}.{parameter}", tensors)
        elif isinstance(value, np.ndarray | list | tuple):
            array = np.asarray(value)
            tensors[f"{name}.{parameter}"] = array.astype(np.int64 if array.dtype.kind in "iu" else np.float64)
            header[parameter] = {"tensor": f"{name}.{parameter}"}
        else:
            header[parameter] = value
    return header


def _side_header(side: Side, name: str, tensors: Tensors, with_table: bool) -> dict[str, Any]:
    """Return what to know about a side; its table, its training vertices and what it learned go to the tensors."""
    table = side.known
    tensors[f"{name}.used"] = np.asarray(side.used, np.int64)
    if side.projection is not None:
        tensors[f"{name}.projection"] = side.projection
    header: dict[str, Any] = {"kernel": _kernel_header(side.kernel, f"{name}.kernel", tensors)}
    if not with_table:
        return header
    for column in table.columns or ():
        if not isinstance(column, str | int | float | np.integer | np.floating) or column != column:
            raise ValueError(
                f"{table.name} has the column name {column!r} of type {type(column).__name__}, but a model file holds "
                "names that are text or numbers; rename the columns"
            )
    header |= {"name": table.name, "columns": table.columns, "id_column": table.id_column, "ids": None}
    header["named"] = table.is_named
    header["named"] = table.is_named
    # As it was when the model was trained, whatever has become of the user's array since.
    features: Any = side.vertices
    if len(side.used) < len(table):
        others = np.setdiff1d(np.arange(len(table)), side.used)
        rest: Any = table.features[others].astype(np.float64)
        both = vstack([features, rest], "csr") if issparse(features) else np.vstack([features, rest])
        features = both[np.argsort(np.concatenate([side.used, others]))]
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
    """Put ids into the tensors; return of which kind they are."""
    if ids.dtype.kind == "u" and len(ids) and ids.max() >= 2**63:
        tensors[f"{name}.ids"] = ids.astype(np.uint64).view(np.int64)  # the container has no unsigned ones
        return "uint"
    if ids.dtype.kind in "iu":
        tensors[f"{name}.ids"] = ids.astype(np.int64)
        return "int"
    words = ids.tolist()
    if not all(isinstance(word, str) for word in words):
        kinds = sorted({type(word).__name__ for word in words if not isinstance(word, str)})
        raise TypeError(f"{name} has ids of type {kinds[0]}, but a model file holds integers or text")
    coded = [word.encode() for word in words]
    tensors[f"{name}.ids"] = np.frombuffer(b"".join(coded), np.uint8)
    tensors[f"{name}.ids.ends"] = np.cumsum([len(word) for word in coded], dtype=np.int64)
    return "str"


def _map_header(found: FeatureMap, name: str, tensors: Tensors) -> dict[str, Any]:
    header = {"kind": type(found).__name__, "rank": found.rank, "tolerance": found.tolerance}
    if isinstance(found, CholeskyMap):
        tensors[f"{name}.map.pivots"], tensors[f"{name}.map.corner"] = found.pivots.astype(np.int64), found.corner
    elif isinstance(found, SpectralMap):
        tensors[f"{name}.map.inverse"] = found.inverse
    return header
