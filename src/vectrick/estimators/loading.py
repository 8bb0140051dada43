"""Models from files: a fitted estimator made again from a JSON header and tensors, all of it checked.

Nothing that a file says is ever run, and a checksum can be right by intent, so that kinds, shapes, ranges and sizes are
looked at before they are used.
"""

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from vectrick.backends.memory import available_memory, format_bytes
from vectrick.data import VertexTable
from vectrick.estimators.base import KronEstimator
from vectrick.estimators.container import ModelFileError, read_container
from vectrick.estimators.edge_kernel import EdgeKernel
from vectrick.estimators.inputs import Graph
from vectrick.estimators.logistic import KronLogistic
from vectrick.estimators.pairwise_predictor import PairwisePredictor
from vectrick.estimators.parameters import check_parameters
from vectrick.estimators.product_predictor import DualPredictor, PrimalPredictor
from vectrick.estimators.ranker import KronRanker
from vectrick.estimators.recipe import Component, check_weights, read_recipe
from vectrick.estimators.ridge import KronRidge
from vectrick.estimators.several import set_machines
from vectrick.estimators.side import MatrixMap, Side, SpectralMap
from vectrick.estimators.svm import KronSVM
from vectrick.kernels import (
    CholeskyMap,
    Constant,
    Cosine,
    FeatureMap,
    Gaussian,
    Kernel,
    Linear,
    Polynomial,
    Precomputed,
    Product,
    Standardized,
    Sum,
    Tanimoto,
)
from vectrick.kernels.factor import ExactMap
from vectrick.kernels.pairwise import PAIRWISE, PairwiseKernel, TwoStep
from vectrick.operators.plan import Estimate, Plan
from vectrick.operators.steps import Allocation
from vectrick.solvers import Solution

Array = NDArray[Any]
Tensors = dict[str, Array]

ESTIMATORS: dict[str, type[KronEstimator]] = {
    kind.__name__: kind for kind in (KronLogistic, KronRanker, KronRidge, KronSVM)
}
KERNELS: dict[str, type[Kernel]] = {
    kind.__name__: kind
    for kind in (
        Constant, Cosine, Gaussian, Linear, Polynomial, Precomputed, Product, Standardized, Sum, Tanimoto,
    )
}  # fmt: skip
_PLAIN = (type(None), bool, int, float, str)
LOADING_ERRORS = (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError)
FITTED = {"intercept_": float, "n_iter_": int, "form_": str, "form_reason_": str}


def load(path: Path | str) -> Any:
    """Return the model of a file that ``save`` or ``vectrick fit`` wrote.

    Loading runs no code from the file. A file that is truncated, damaged, foreign or too new raises `ModelFileError`;
    a checksum covers all of it, which is no protection against somebody who writes a model of his own.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    KronRidge, KronSVM, KronLogistic or KronRanker
        The fitted model. ``about_`` holds what was said about it when it was saved.

    Examples
    --------
    >>> import os, tempfile, vectrick as vt
    >>> X, y = vt.datasets.make_checkerboard(30, random_state=0)
    >>> model = vt.KronSVM("gaussian", "gaussian").fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.vt")
    ...     model.save(path)
    ...     same = vt.load(path)
    >>> bool((same.decision_function(X) == model.decision_function(X)).all())
    True
    """
    header, tensors = read_container(path, "model")
    try:
        return made_again(header, tensors)
    except LOADING_ERRORS as error:
        raise ModelFileError(f"{path} is damaged: {type(error).__name__}: {error}") from None


def made_again(header: dict[str, Any], tensors: Tensors) -> KronEstimator:
    """Return the model that a header and tensors describe; one of `LOADING_ERRORS` says what is wrong with them."""
    if "machines" in header:
        return _several(header, tensors)
    kind = ESTIMATORS[header["estimator"]]
    parameters = {name: _parameter(name, value, tensors) for name, value in header["parameters"].items()}
    model = kind(**parameters)
    check_parameters(model, None)
    tables = {"start": _table(header["start"], "start", tensors)}
    tables["end"] = tables["start"] if header["one_set"] is True else _table(header["end"], "end", tensors)
    sides = [_side(header[name], name, tables[name], tensors) for name in ("start", "end")]
    if "classes" in header:
        model.classes_ = _classes(header["classes"])
    _set_fitted(model, header)
    if model.form_ == "dual":
        kernel = _edge_kernel(header["edge_kernel"], tensors, *sides) if "edge_kernel" in header else None
        if (kernel is None) != read_recipe(model).is_product:
            raise ValueError("the kernel of edges is another one than the parameters say")
        _set_dual(model, header, tensors, sides[0], sides[1], kernel)
    else:
        maps = [_map(header[side.name]["map"], side, tensors) for side in sides]
        w = _finite(_tensor(tensors, "w", "f", (maps[0].rank * maps[1].rank,)))
        model._predictor = PrimalPredictor(sides[0], sides[1], maps[0], maps[1], w, model.n_threads)
        model.coef_ = model._predictor.core
        if "support" in tensors:
            model.support_ = _tensor(tensors, "support", "i", (None,))
    if "known" in tensors:
        known = _tensor(tensors, "known", "i", (2, None))
        for name, vertices in zip(("start", "end"), known, strict=True):
            _check_range(vertices, len(tables[name]), f"the {name} vertices of known edges")
        model._known_edges = known[0], known[1]
    told = header["solution"]
    model.solution_ = Solution(
        model._predictor.coefficients, None, _of(bool, told["converged"]), _of(str, told["reason"]),
        _of(int, told["n_iter"]), _of(int, told["n_products"]), _numbers(told["residuals"]), model.intercept_,
    )  # fmt: skip
    if header["plan"] is not None:
        model.plan_ = _plan(header["plan"])
    model.about_ = _of(dict, header["about"])
    return model


def _several(header: dict[str, Any], tensors: Tensors) -> KronEstimator:
    """Return a classifier of several classes, whose machines share the tensors that they do not have themselves."""
    shared = {name: tensor for name, tensor in tensors.items() if not name.startswith("machine.")}
    told, classes = _of(list, header["machines"]), _classes(header["classes"], None)
    if len(told) != len(classes) or len(classes) < 3:
        raise ValueError(f"there are {len(told)} machines for {len(classes)} classes")
    machines = []
    for number, one in enumerate(told):
        prefix = f"machine.{number}."
        own = {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
        if one["estimator"] != header["estimator"] or "machines" in one:
            raise ValueError(f"machine {number} is of another kind than the model")
        machines.append(made_again(one, {**shared, **own}))
    model = ESTIMATORS[header["estimator"]](**machines[0].get_params(deep=False))
    set_machines(model, classes, machines)
    model.about_ = _of(dict, header["about"])
    return model


def _parameter(name: str, value: Any, tensors: Tensors) -> Any:
    """Return a parameter of the estimator."""
    if isinstance(value, list) and (name.endswith("_kernel") or name == "pairwise"):
        return [_parameter(name, one, tensors) for one in value]
    if isinstance(value, dict) and name.endswith("_kernel"):
        return _kernel(value, tensors)
    if isinstance(value, dict) and name == "pairwise":
        if "weight" in value:
            return _parameter(name, value["kernel"], tensors), _of(float, value["weight"])
        return _pairwise(value)
    if isinstance(value, list) and name == "kernel_weights":
        return [_numbers(one) if isinstance(one, list) else _of(float, one) for one in value]
    return _checked(value)


def _pairwise(header: dict[str, Any]) -> PairwiseKernel:
    return PAIRWISE[header["name"]](**{name: _checked(value) for name, value in header.items() if name != "name"})


def _edge_kernel(header: dict[str, Any], tensors: Tensors, start: Side, end: Side) -> EdgeKernel:
    """Return the kernel of edges, with the first side of either end."""
    sides: dict[str, tuple[Side, ...]] = {}
    for name, first in (("starts", start), ("ends", end)):
        made = [first]
        for i, one in enumerate(header[name], 1):
            kernel, m, projection = _kernel(one, tensors), len(first.used), None
            _check_kernel(kernel, first.name, first.known, first.used)
            if f"{name}.{i}.projection" in tensors:
                projection = _tensor(tensors, f"{name}.{i}.projection", "f", (m, m))
            made.append(Side.restored(first.name, kernel, first.known, first.used, projection))
        sides[name] = tuple(made)
    one_set = _of(bool, header["one_set"])
    if one_set and (start.known is not end.known or not np.array_equal(start.used, end.used)):
        raise ValueError("the kernel is of one vertex set, but there are two")
    starts, ends = sides["starts"], sides["starts"] if one_set else sides["ends"]
    components = []
    for kind, i, j in header["components"]:
        components.append(Component(_pairwise(kind), _of(int, i), _of(int, j)))
        pairwise = components[-1].pairwise
        if isinstance(pairwise, TwoStep) or (pairwise.one_set and not one_set):
            raise ValueError(f"{pairwise.name!r} cannot be a part of this kernel of edges")
        if not (0 <= i < len(starts) and 0 <= j < len(ends)):
            raise ValueError(f"a component is of the kernels {i} and {j}, which are not there")
    weights = check_weights(_numbers(header["weights"]), len(components), "the weights")
    return EdgeKernel(tuple(components), starts, ends, weights)


def _set_fitted(model: Any, header: dict[str, Any]) -> None:
    """Set the fitted attributes that are numbers and words."""
    for name, kind in FITTED.items():
        setattr(model, name, _of(kind, header["fitted"][name]))
    _finite(np.asarray(model.intercept_))
    if model.form_ not in ("dual", "primal"):
        raise ValueError(f"form is {model.form_!r}")
    if "n_features_in_" in header["fitted"]:
        model.n_features_in_ = _of(int, header["fitted"]["n_features_in_"])
    if "feature_names_in_" in header["fitted"]:
        model.feature_names_in_ = np.array([_of(str, word) for word in header["fitted"]["feature_names_in_"]], object)
    model.history_ = {_of(str, name): _numbers(values) for name, values in header["history"].items()}


def _set_dual(
    model: Any, header: dict[str, Any], tensors: Tensors, start: Side, end: Side, kernel: EdgeKernel | None
) -> None:
    """Set the coefficients of the support edges, and the predictor."""
    support = _tensor(tensors, "support", "i", (None,))
    n_support, n_edges = len(support), _of(int, header["n_edges"])
    a, edges = _finite(_tensor(tensors, "a", "f", (n_support,))), _tensor(tensors, "edges", "i", (2, n_support))
    _check_range(support, n_edges, "support")
    if 8 * n_edges > available_memory():
        raise ValueError(f"the coefficients of {n_edges} edges take {format_bytes(8 * n_edges)}")
    _check_range(edges[0], len(start.used), "start")
    _check_range(edges[1], len(end.used), "end")
    model.support_ = support
    model.dual_coef_ = np.zeros(n_edges, a.dtype)
    model.dual_coef_[support] = a
    graph = Graph(edges[0], edges[1], start.used, end.used)
    if kernel is None:
        model._predictor = DualPredictor(start, end, graph, a, model.n_threads)
        return
    model._predictor = PairwisePredictor(kernel, graph, a, model.n_threads)
    model.components_, model.kernel_weights_ = kernel.labels, kernel.weights


def _table(header: dict[str, Any], name: str, tensors: Tensors) -> VertexTable:
    if f"{name}.features" in tensors:
        features: Any = _tensor(tensors, f"{name}.features", "f", (None, None))
    else:
        features = _sparse(header["shape"], name, tensors)
    table = VertexTable.__new__(VertexTable)
    table.name, table.features, table.medians = _of(str, header["name"]), features, {}
    table.origin = None
    table.id_column = None if header["id_column"] is None else _of(str, header["id_column"])
    table.columns = None if header["columns"] is None else [_checked(word) for word in header["columns"]]
    if table.columns is not None and len(table.columns) != table.n_features:
        raise ValueError(f"the {name} table has {table.n_features} columns, but {len(table.columns)} names")
    table.ids = _ids(header["ids"], name, len(table), tensors)
    # Files of earlier versions do not say whether somebody gave the ids.
    counted = table.ids is not None and np.array_equal(table.ids, np.arange(len(table)))
    table.is_named = _of(bool, header.get("named", table.ids is not None and not counted))
    return table


def _sparse(shape: Any, name: str, tensors: Tensors) -> csr_array:
    """Return a sparse table; SciPy's own check lets differences of row ends overflow."""
    m, n = (_of(int, size) for size in shape)
    data = _tensor(tensors, f"{name}.features.data", "f", (None,))
    columns = _tensor(tensors, f"{name}.features.indices", "i", (len(data),))
    ends = _tensor(tensors, f"{name}.features.indptr", "i", (m + 1,))
    _check_range(columns, n, "columns")
    if ends[0] != 0 or ends[-1] != len(data) or not (ends[:-1] <= ends[1:]).all() or not 0 <= n < 2**31:
        raise ValueError(f"the {name} table has damaged rows")
    made = csr_array((data, columns, ends), (m, n))
    if not made.has_canonical_format:
        raise ValueError(f"the {name} table has columns twice or out of order")
    return made


def _ids(kind: Any, name: str, length: int, tensors: Tensors) -> Array | None:
    if kind is None:
        return None
    if kind in ("int", "uint"):
        numbers = _tensor(tensors, f"{name}.ids", "i", (length,))
        return numbers if kind == "int" else numbers.astype(np.int64, copy=False).view(np.uint64)
    if kind != "str":
        raise ValueError(f"the {name} table has ids of kind {kind!r}")
    ends, content = _tensor(tensors, f"{name}.ids.ends", "i", (length,)), _tensor(tensors, f"{name}.ids", "u", (None,))
    bounds = [0, *ends.tolist()]
    if bounds[-1] != len(content) or (np.diff(bounds) < 0).any():
        raise ValueError(f"the {name} table has damaged ids")
    text = content.tobytes()
    return np.array([text[low:high].decode() for low, high in itertools.pairwise(bounds)], object)


def _side(header: dict[str, Any], name: str, table: VertexTable, tensors: Tensors) -> Side:
    used = _tensor(tensors, f"{name}.used", "i", (None,))
    _check_range(used, len(table), "used")
    if (np.diff(used) <= 0).any():
        raise ValueError(f"the training vertices of the {name} are not in order")
    kernel = _kernel(header["kernel"], tensors)
    _check_kernel(kernel, name, table, used)
    projection = None
    if f"{name}.projection" in tensors:
        projection = _tensor(tensors, f"{name}.projection", "f", (len(used), len(used)))
    return Side.restored(name, kernel, table, used, projection)


def _check_kernel(kernel: Kernel, name: str, table: VertexTable, used: Array) -> None:
    """Refuse a kernel whose learned parameters do not go with the table, or whose values are no numbers."""
    for part in _parts(kernel):
        if isinstance(part, Precomputed):
            columns = part.used
            if not isinstance(columns, np.ndarray) or columns.shape != used.shape:
                raise ValueError(f"the {name} kernel has other columns than there are vertices")
            _check_range(columns, table.n_features, "used")
        if isinstance(part, Standardized):
            learned = [value for value in (part.mean, part.scale) if value is not None]
            if part.scale is None or any(np.shape(value) != (table.n_features,) for value in learned):
                raise ValueError(f"the scale of the {name} features has another length than their number")
    one = table.features[used[:1]].astype(np.float64)
    if not np.isfinite(kernel(one, one)).all():
        raise ValueError(f"the {name} kernel has values that are no numbers")


def _parts(kernel: Kernel) -> list[Kernel]:
    """Return a kernel and those that it is made of."""
    inner = [value for value in kernel.get_params(deep=False).values() if isinstance(value, Kernel)]
    return [kernel, *(part for one in inner for part in _parts(one))]


def _kernel(header: dict[str, Any], tensors: Tensors) -> Kernel:
    values: dict[str, Any] = {}
    for name, value in header.items():
        if name == "type":
            continue
        if not isinstance(value, dict):
            values[name] = _checked(value)
        elif "tensor" in value:
            values[name] = _tensor(tensors, value["tensor"], "if", (None,))
        else:
            values[name] = _kernel(value, tensors)
    return KERNELS[header["type"]](**values)


def _map(header: dict[str, Any], side: Side, tensors: Tensors) -> FeatureMap:
    rank, tolerance, m = _of(int, header["rank"]), _of(float, header["tolerance"]), side.vertices.shape[0]
    if rank < 0:
        raise ValueError(f"the rank of the {side.name} kernel is {rank}")
    nothing, name = np.broadcast_to(0.0, (0, rank)), f"{side.name}.map"  # the training vertices' own are not needed
    if header["kind"] == "ExactMap":
        features = side.kernel.features(side.vertices[:1])
        if features is None or features.shape[1] != rank:
            raise ValueError(f"the rank of the {side.name} kernel is another one than it says")
        return ExactMap(side.kernel, nothing)
    if header["kind"] == "SpectralMap":
        return SpectralMap(side, nothing, _tensor(tensors, f"{name}.inverse", "f", (m, rank)))
    pivots = _tensor(tensors, f"{name}.pivots", "i", (rank,))
    corner = _tensor(tensors, f"{name}.corner", "f", (rank, rank))
    _check_range(pivots, m, "pivots")
    if header["kind"] == "MatrixMap":
        return MatrixMap(side, nothing, pivots, tolerance, corner)
    if header["kind"] != "CholeskyMap":
        raise ValueError(f"the {side.name} kernel has a factor of kind {header['kind']!r}")
    return CholeskyMap(side.kernel, side.vertices, nothing, pivots, tolerance, corner)


def _plan(header: dict[str, Any]) -> Plan:
    estimates = tuple(
        Estimate(**{**one, "arrays": tuple(Allocation(**array) for array in one["arrays"])})
        for one in header["estimates"]
    )
    return Plan(**{**header, "estimates": estimates})


def _classes(header: dict[str, Any], n_classes: int | None = 2) -> Array:
    kind, values = _of(str, header["dtype"]), header["values"]
    plain = re.fullmatch(r"[<>|=]?[biufUO]\d{0,5}", kind)  # NumPy would read much more than that
    if plain is None or {type(value) for value in values} - {bool, int, float, str}:
        raise ValueError("the classes are no labels")
    if n_classes is not None and len(values) != n_classes:
        raise ValueError(f"there are {len(values)} classes in place of {n_classes}")
    return np.array(values, object if "O" in kind else kind)


def _tensor(tensors: Tensors, name: str, kinds: str, shape: tuple[int | None, ...]) -> Array:
    """Return a tensor of the kind of numbers and the shape that it must have."""
    found = tensors[name]
    if found.dtype.kind not in kinds or len(found.shape) != len(shape):
        raise ValueError(f"the tensor {name!r} is of another kind than it must be")
    if any(expected is not None and n != expected for n, expected in zip(found.shape, shape, strict=True)):
        raise ValueError(f"the tensor {name!r} has shape {found.shape}, but it must be {shape}")
    return found


def _finite(values: Array) -> Array:
    if not np.isfinite(values).all():
        raise ValueError("some coefficients are no finite numbers")
    return values


def _check_range(values: Array, size: int, name: str) -> None:
    if values.dtype.kind != "i" or (values.size and (values.min() < 0 or values.max() >= size)):
        raise ValueError(f"{name} has positions that are not in 0 to {size - 1}")


def _of(kind: Callable[..., Any], value: Any) -> Any:
    """Return a value that is of a kind; an integer is also a number."""
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise TypeError(f"{value!r} is no {getattr(kind, '__name__', kind)}")
    return value


def _numbers(values: Any) -> list[Any]:
    if not isinstance(values, list) or any(type(value) not in (int, float) for value in values):
        raise TypeError("a list of numbers is none")
    return values


def _checked(value: Any) -> Any:
    """Return a value that JSON has without structure."""
    if type(value) not in _PLAIN:
        raise TypeError(f"{value!r} is no plain value")
    return value
