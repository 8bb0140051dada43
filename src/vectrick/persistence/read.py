"""Read fitted functions from files: predictors from a JSON header and tensors, with all values checked.

No code from a file is run. Anybody can write a correct checksum, so kinds, shapes, ranges and sizes are checked before
values are used.
"""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from vectrick._typing import Array, Features
from vectrick.backends import HOST
from vectrick.backends.memory import format_bytes
from vectrick.backends.product_path import Allocation
from vectrick.data import Graph, VertexTable
from vectrick.data.pairs import Pairs
from vectrick.data.strings.table import LONGEST
from vectrick.kernels import CholeskyMap, FeatureMap, Kernel, On, Parts, Precomputed, Profile, Standardized
from vectrick.kernels.maps.factor import ExactMap
from vectrick.kernels.pairwise import PairwiseKernel, TwoStep
from vectrick.kernels.strings.encoded import Encoded
from vectrick.models.edge_kernel import EdgeKernel
from vectrick.models.kernel_spec import Component, KernelSpec, check_weights
from vectrick.models.pairwise import PairwisePredictor
from vectrick.models.predictor import Predictor
from vectrick.models.product import DualPredictor, PrimalPredictor
from vectrick.models.vertex_kernel import MatrixMap, SpectralMap, VertexKernel
from vectrick.operators.plan import Estimate, Plan
from vectrick.persistence.checks import Tensors, check_range, finite, numbers, of_kind, plain, tensor_of
from vectrick.persistence.registry import kernel_called, pairwise_called
from vectrick.persistence.transformers import read_transformer


def read_function(
    header: dict[str, Any], tensors: Tensors, form: str, spec: KernelSpec, n_threads: int | None
) -> Predictor:
    """Return the fitted function that a header and tensors describe; its kernel must match the parameters."""
    if spec.is_product == ("edge_kernel" in header):
        raise ValueError("the kernel of edges does not match the parameters")
    tables = {"start": _table(header["start"], "start", tensors)}
    tables["end"] = tables["start"] if header["one_set"] is True else _table(header["end"], "end", tensors)
    start, end = (_vertex_kernel(header[name], name, tables[name], tensors) for name in ("start", "end"))
    pairwise = spec.components[0].pairwise
    if form == "primal":
        maps = [_map(header[side.name]["map"], side, tensors) for side in (start, end)]
        w = finite(tensor_of(tensors, "w", "f", (maps[0].rank * maps[1].rank,)))
        return PrimalPredictor(EdgeKernel.product(start, end, pairwise), maps[0], maps[1], w, n_threads)
    n_support = len(tensor_of(tensors, "support", "i", (None,)))
    a, edges = finite(tensor_of(tensors, "a", "f", (n_support,))), tensor_of(tensors, "edges", "i", (2, n_support))
    check_range(edges[0], len(start.used), "start")
    check_range(edges[1], len(end.used), "end")
    graph = Graph(edges[0], edges[1], start.used, end.used)
    if "edge_kernel" not in header:
        return DualPredictor(EdgeKernel.product(start, end, pairwise), graph, a, n_threads)
    return PairwisePredictor(_edge_kernel(header["edge_kernel"], tensors, start, end), graph, a, n_threads)


def read_known_edges(tensors: Tensors, predictor: Predictor, name: str = "known") -> tuple[Array, Array] | None:
    """Return the training edges of a model as positions in its tables, or None if the file has none."""
    if name not in tensors:
        return None
    known = tensor_of(tensors, name, "i", (2, None))
    for side, vertices in zip((predictor.start, predictor.end), known, strict=True):
        check_range(vertices, len(side.known), f"the {side.name} vertices of known edges")
    return known[0], known[1]


def read_coefficients(header: dict[str, Any], tensors: Tensors) -> tuple[Array, Array]:
    """Return the dual coefficients of all edges, and the positions of nonzero coefficients."""
    support, n_edges = tensor_of(tensors, "support", "i", (None,)), of_kind(int, header["n_edges"])
    check_range(support, n_edges, "support")
    if 8 * n_edges > HOST.free_memory():
        raise ValueError(f"the coefficients of {n_edges} edges take {format_bytes(8 * n_edges)}")
    coefficients = np.zeros(n_edges, tensors["a"].dtype)
    coefficients[support] = tensors["a"]
    return coefficients, support


def read_pairwise(header: dict[str, Any]) -> PairwiseKernel:
    """Return a pairwise kernel."""
    return pairwise_called(header["name"])(**{name: plain(value) for name, value in header.items() if name != "name"})


def _edge_kernel(header: dict[str, Any], tensors: Tensors, start: VertexKernel, end: VertexKernel) -> EdgeKernel:
    """Return the kernel of edges; ``start`` and ``end`` are the first kernel of each side."""
    all_kernels: dict[str, tuple[VertexKernel, ...]] = {}
    for name, first in (("starts", start), ("ends", end)):
        kernels = [first]
        for i, described in enumerate(header[name], 1):
            kernel, m, projection = read_kernel(described, tensors), len(first.used), None
            _know(kernel, first.vertices)
            _check_kernel(kernel, first.name, first.known, first.used)
            if f"{name}.{i}.projection" in tensors:
                projection = tensor_of(tensors, f"{name}.{i}.projection", "f", (m, m))
            kernels.append(VertexKernel.restored(first.name, kernel, first.known, first.used, projection))
        all_kernels[name] = tuple(kernels)
    one_set = of_kind(bool, header["one_set"])
    if one_set and (start.known is not end.known or not np.array_equal(start.used, end.used)):
        raise ValueError("the kernel is of one vertex set, but there are two")
    starts, ends = all_kernels["starts"], all_kernels["starts" if one_set else "ends"]
    components = []
    for kind, i, j in header["components"]:
        components.append(Component(read_pairwise(kind), of_kind(int, i), of_kind(int, j)))
        pairwise = components[-1].pairwise
        if isinstance(pairwise, TwoStep) or (pairwise.one_set and not one_set):
            raise ValueError(f"{pairwise.name!r} cannot be a part of this kernel of edges")
        if not (0 <= i < len(starts) and 0 <= j < len(ends)):
            raise ValueError(f"a component has the kernels {i} and {j}, but these do not exist")
    weights = check_weights(numbers(header["weights"]), len(components), "the weights")
    return EdgeKernel(tuple(components), starts, ends, weights)


def _table(header: dict[str, Any], name: str, tensors: Tensors) -> VertexTable:
    """Return the table of a side."""
    if "pairs" not in header:
        return _single_table(header, name, tensors)
    described = of_kind(list, header["parts"])
    if len(described) not in (1, 2):
        raise ValueError(f"the {name} table has pairs of {len(described)} tables")
    parts = [_single_table(each, f"{name}.parts.{place}", tensors) for place, each in enumerate(described)]
    places = tensor_of(tensors, f"{name}.pairs", "i", (2, None))
    for part, rows in zip((parts[0], parts[-1]), places, strict=True):
        check_range(rows, len(part), f"the parts of the {name} table")
    symmetric = of_kind(bool, header["pairs"]["symmetric"])
    if symmetric and len(parts) > 1:
        raise ValueError(f"the {name} table has pairs without order of two tables")
    return Pairs.of_parts(places[0], places[1], (parts[0], parts[-1]), symmetric)


def _single_table(header: dict[str, Any], name: str, tensors: Tensors) -> VertexTable:
    if f"{name}.features" in tensors:
        features: Any = tensor_of(tensors, f"{name}.features", "f", (None, None))
    else:
        features = _sparse(header["shape"], name, tensors)
    table = VertexTable.__new__(VertexTable)
    table.name, table.features = of_kind(str, header["name"]), features
    medians = of_kind(dict, header.get("medians", {}))
    table.medians = {of_kind(str, column): of_kind(float, value) for column, value in medians.items()}
    notes = of_kind(dict, header.get("notes", {}))
    table.notes = {of_kind(str, column): of_kind(str, note) for column, note in notes.items()}
    table.numbered = of_kind(bool, header.get("numbered", False))
    table.string_columns = tuple(of_kind(str, column) for column in of_kind(list, header.get("string_columns", [])))
    table.origin = table.text = None
    table.id_column = None if header["id_column"] is None else of_kind(str, header["id_column"])
    table.columns = None if header["columns"] is None else [plain(word) for word in header["columns"]]
    if table.columns is None:
        if table.string_columns:
            raise ValueError(f"the {name} table has columns of strings without names")
    elif len(table.columns) + (LONGEST - 1) * len(table.string_columns) + table.numbered != features.shape[1]:
        raise ValueError(f"the {name} table has {features.shape[1]} columns, but {len(table.columns)} names")
    elif table.string_columns:
        if tuple(table.columns[table.n_numbers :]) != table.string_columns or not issparse(features):
            raise ValueError(f"the {name} table has other columns of strings than its names say")
        for column in table.string_columns:
            table.strings_in(column)  # raises an error for invalid text
    table.ids = _ids(header["ids"], name, len(table), tensors)
    # Files of earlier versions do not record whether the user gave the ids.
    counted = table.ids is not None and np.array_equal(table.ids, np.arange(len(table)))
    table.is_named = of_kind(bool, header.get("named", table.ids is not None and not counted))
    if "text" in header:
        table.text = of_kind(str, header["text"])
        _ = table.strings  # raises an error for invalid text
    return table


def _sparse(shape: Any, name: str, tensors: Tensors) -> csr_array:
    """Return a sparse table; in SciPy's own check, differences of row ends may overflow."""
    m, n = (of_kind(int, size) for size in shape)
    data = tensor_of(tensors, f"{name}.features.data", "f", (None,))
    columns = tensor_of(tensors, f"{name}.features.indices", "i", (len(data),))
    ends = tensor_of(tensors, f"{name}.features.indptr", "i", (m + 1,))
    check_range(columns, n, "columns")
    if ends[0] != 0 or ends[-1] != len(data) or not (ends[:-1] <= ends[1:]).all() or not 0 <= n < 2**31:
        raise ValueError(f"the {name} table has damaged rows")
    table = csr_array((data, columns, ends), (m, n))
    if not table.has_canonical_format:
        raise ValueError(f"the {name} table has duplicate or unsorted columns")
    return table


def _ids(kind: Any, name: str, length: int, tensors: Tensors) -> Array | None:
    if kind is None:
        return None
    if kind in ("int", "uint"):
        numbers = tensor_of(tensors, f"{name}.ids", "i", (length,))
        return numbers if kind == "int" else numbers.astype(np.int64, copy=False).view(np.uint64)
    if kind != "str":
        raise ValueError(f"the {name} table has ids of kind {kind!r}")
    return np.array(_words(f"{name}.ids", length, tensors), object)


def _words(name: str, length: int | None, tensors: Tensors) -> list[str]:
    """Return words from their bytes and the positions of their ends."""
    ends, content = tensor_of(tensors, f"{name}.ends", "i", (length,)), tensor_of(tensors, name, "u", (None,))
    bounds = [0, *ends.tolist()]
    if bounds[-1] != len(content) or (np.diff(bounds) < 0).any():
        raise ValueError(f"{name} has damaged words")
    text = content.tobytes()
    return [text[low:high].decode() for low, high in itertools.pairwise(bounds)]


def _vertex_kernel(header: dict[str, Any], name: str, table: VertexTable, tensors: Tensors) -> VertexKernel:
    used = tensor_of(tensors, f"{name}.used", "i", (None,))
    check_range(used, len(table), "used")
    if (np.diff(used) <= 0).any():
        raise ValueError(f"the training vertices of the {name} are not in order")
    kernel = read_kernel(header["kernel"], tensors)
    _know(kernel, table.features[used])
    _check_kernel(kernel, name, table, used)
    projection = None
    if f"{name}.projection" in tensors:
        projection = tensor_of(tensors, f"{name}.projection", "f", (len(used), len(used)))
    return VertexKernel.restored(name, kernel, table, used, projection)


def _check_kernel(kernel: Kernel, name: str, table: VertexTable, used: Array) -> None:
    """Raise an error if the learned parameters of a kernel do not fit the table, or if its values are not finite."""
    if kernel.reads not in ("any", "numbers" if table.text is None else "text"):
        raise ValueError(f"the {name} kernel does not apply to these vertices")
    if isinstance(table, Pairs) != any(isinstance(part, Parts) for part in _ingredients(kernel)):
        raise ValueError(f"the {name} kernel does not apply to these vertices")
    if isinstance(table, Pairs):
        _check_parts(kernel, name, table, used)
        return
    for part in _ingredients(kernel):
        if isinstance(part, On):
            _check_columns(part, name, table)
    for part, n_features in _with_widths(kernel, table.features[used[:1]]):
        if isinstance(part, Precomputed):
            columns = part.used
            if not isinstance(columns, np.ndarray) or columns.shape != used.shape:
                raise ValueError(f"the columns of the {name} kernel do not match its vertices")
            check_range(columns, table.n_features, "used")
        if isinstance(part, Profile) and np.shape(part.profiles)[:1] != used.shape:
            raise ValueError(f"the profiles of the {name} kernel do not match its vertices")
        if isinstance(part, Standardized):
            learned = [value for value in (part.mean, part.scale) if value is not None]
            if part.scale is None or any(np.shape(value) != (n_features,) for value in learned):
                raise ValueError(f"the scale of the {name} features has the wrong length")
    first = table.features[used[:1]].astype(np.float64)
    if not np.isfinite(kernel(first, first)).all():
        raise ValueError(f"the {name} kernel has values that are not finite")


def _check_parts(kernel: Kernel, name: str, table: Pairs, used: Array) -> None:
    """Raise an error if a kernel of pairs does not fit the tables of their parts."""
    for each in _ingredients(kernel):
        if isinstance(each, Parts):
            if each.width != table.widths[0] or each.symmetric is not table.symmetric:
                raise ValueError(f"the {name} kernel does not match its pairs")
            of_training = each.of_training(table.features[used])
            for (inner, known), part in zip(of_training, table.parts, strict=False):  # one kernel may be of both
                _check_kernel(inner, name, part, np.arange(known.shape[0]))


def _check_columns(kernel: On, name: str, table: VertexTable) -> None:
    """Raise an error if a kernel on columns does not fit the table."""
    where = np.asarray(kernel.where)
    size = table.n_numbers if kernel.kind in ("numbers", "dense") else max(len(table.string_columns), 1)
    is_mixed = bool(table.string_columns)
    kinds = ("dense", "strings") if is_mixed else ("strings",) if table.text is not None else ("numbers",)
    if kernel.kind not in kinds or kernel.n_numbers != table.n_numbers or where.ndim != 1 or not len(where):
        raise ValueError(f"the columns of the {name} kernel do not match its table")
    check_range(where, size, f"the columns of the {name} kernel")


def _know(kernel: Kernel, vertices: Features) -> None:
    """Set the training vertices of a kernel, if it keeps them."""
    if isinstance(kernel, Parts):
        for inner, parts in kernel.of_training(vertices):
            _know(inner, parts)
        return
    if kernel.of_vertices and getattr(kernel, "kernel", None) is not None:
        for name in kernel.of_vertices:
            setattr(kernel, name, vertices)
    for value in kernel.get_params(deep=False).values():
        if isinstance(value, Kernel):
            _know(value, vertices)


def _ingredients(kernel: Kernel) -> list[Kernel]:
    """Return a kernel and the kernels that it is made of."""
    inner = [value for value in kernel.get_params(deep=False).values() if isinstance(value, Kernel)]
    return [kernel, *(part for part_kernel in inner for part in _ingredients(part_kernel))]


def _with_widths(kernel: Kernel, vertices: Features) -> Iterator[tuple[Kernel, int]]:
    """Yield a kernel and the kernels that it is made of, each with the number of features that it reads."""
    yield kernel, vertices.shape[1]
    for name, value in kernel.get_params(deep=False).items():
        if isinstance(value, Kernel):
            is_inner = isinstance(kernel, Encoded) and name in ("kernel", "view")
            yield from _with_widths(value, kernel.encoded(vertices) if is_inner else vertices)


def read_kernel(header: dict[str, Any], tensors: Tensors) -> Kernel:
    """Return a kernel with its parameters."""
    values: dict[str, Any] = {}
    for name, value in header.items():
        if name == "type":
            continue
        if not isinstance(value, dict):
            values[name] = plain(value)
        elif "words" in value:
            values[name] = [of_kind(str, word) for word in of_kind(list, value["words"])]
        elif "transformer" in value:
            values[name] = read_transformer(value, tensors)
        elif "tensor" in value:
            tensor = tensors[value["tensor"]]
            values[name] = finite(tensor_of(tensors, value["tensor"], "if", (None,) * min(max(tensor.ndim, 1), 2)))
        else:
            values[name] = read_kernel(value, tensors)
    return kernel_called(header["type"])(**values)


def _map(header: dict[str, Any], side: VertexKernel, tensors: Tensors) -> FeatureMap:
    rank, tolerance, m = of_kind(int, header["rank"]), of_kind(float, header["tolerance"]), side.vertices.shape[0]
    if rank < 0:
        raise ValueError(f"the rank of the {side.name} kernel is {rank}")
    nothing, name = np.broadcast_to(0.0, (0, rank)), f"{side.name}.map"  # features of training vertices are not needed
    if header["kind"] == "ExactMap":
        features = side.kernel.features(side.vertices[:1])
        if features is None or features.shape[1] != rank:
            raise ValueError(f"the rank of the {side.name} kernel does not match its features")
        return ExactMap(side.kernel, nothing)
    if header["kind"] == "SpectralMap":
        return SpectralMap(side, nothing, tensor_of(tensors, f"{name}.inverse", "f", (m, rank)))
    pivots = tensor_of(tensors, f"{name}.pivots", "i", (rank,))
    corner = tensor_of(tensors, f"{name}.corner", "f", (rank, rank))
    check_range(pivots, m, "pivots")
    if header["kind"] == "MatrixMap":
        return MatrixMap(side, nothing, pivots, tolerance, corner)
    if header["kind"] != "CholeskyMap":
        raise ValueError(f"the {side.name} kernel has a factor of kind {header['kind']!r}")
    return CholeskyMap(side.kernel, side.vertices, nothing, pivots, tolerance, corner)


def read_plan(header: dict[str, Any]) -> Plan:
    """Return the plan of the products."""
    estimates = tuple(
        Estimate(**{**estimate, "arrays": tuple(Allocation(**array) for array in estimate["arrays"])})
        for estimate in header["estimates"]
    )
    return Plan(**{**header, "estimates": estimates})
