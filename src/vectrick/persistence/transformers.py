"""Fitted scikit-learn transformers in model files, without pickle.

A general serializer of scikit-learn objects must know every class, and has run code from files before. A view of a
vertex table needs few classes, so we store parameters and fitted attributes of a list of modules, and nothing else.
"""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from vectrick._typing import Array
from vectrick.persistence.checks import Tensors, finite, of_kind, plain, tensor_of

_MODULES = (
    "sklearn.feature_extraction.text", "sklearn.preprocessing", "sklearn.decomposition", "sklearn.feature_selection",
    "sklearn.impute", "sklearn.random_projection", "sklearn.kernel_approximation", "sklearn.pipeline",
)  # fmt: skip
_LARGEST_DEPTH = 20  # of nested values
_PLAIN = (type(None), bool, int, float, str)


def transformer_header(transformer: BaseEstimator, name: str, tensors: Tensors, depth: int = 0) -> dict[str, Any]:
    """Return a transformer as JSON; its arrays go to the tensors.

    >>> from sklearn.preprocessing import StandardScaler
    >>> transformer_header(StandardScaler(with_mean=False), "view", {})["transformer"]
    'sklearn.preprocessing.StandardScaler'
    """
    kind = type(transformer)
    module = next((module for module in _MODULES if _class_of(f"{module}.{kind.__name__}") is kind), None)
    if module is None:
        raise ValueError(
            f"{name} is {transformer!r}, but a model file holds only transformers of {', '.join(_MODULES)}; or give "
            "its output as columns of the table"
        )
    _check_safe(transformer.get_params(deep=False))
    parameters = transformer.get_params(deep=False)
    state = {key: value for key, value in vars(transformer).items() if key not in parameters}
    return {
        "transformer": f"{module}.{kind.__name__}",
        "parameters": _encoded(parameters, f"{name}.parameters", tensors, depth + 1),
        "state": _encoded(state, f"{name}.state", tensors, depth + 1),
    }


def read_transformer(header: dict[str, Any], tensors: Tensors, depth: int = 0) -> Any:
    """Return a transformer with its fitted attributes."""
    kind = _class_of(of_kind(str, header["transformer"]))
    if kind is None:
        raise ValueError(f"it names the transformer {header['transformer']!r}, which a model file cannot hold")
    parameters = _decoded(header["parameters"], tensors, depth + 1)
    state = _decoded(header["state"], tensors, depth + 1)
    _check_safe(parameters)
    made = kind(**parameters)
    for name, value in state.items():
        # A fitted attribute never replaces a method.
        if not name.strip("_").isidentifier() or name.startswith("__") or callable(getattr(kind, name, None)):
            raise ValueError(f"the transformer has the attribute {name!r}")
        setattr(made, name, value)
    return made


def _class_of(path: str) -> type[BaseEstimator] | None:
    """Return a public class of scikit-learn that transforms; None for all other names."""
    module, _, name = path.rpartition(".")
    if module not in _MODULES or name.startswith("_"):
        return None
    found: Any = getattr(importlib.import_module(module), name, None)
    is_class = isinstance(found, type) and issubclass(found, BaseEstimator) and hasattr(found, "transform")
    return found if is_class else None


def _check_safe(parameters: dict[str, Any]) -> None:
    """Raise an error for parameters by which a transformer reads or writes files."""
    if parameters.get("input", "content") != "content" or parameters.get("memory") is not None:
        raise ValueError("a transformer in a model file must not read or write other files (input, memory)")


def _encoded(value: object, name: str, tensors: Tensors, depth: int) -> Any:
    """Return a value as JSON that `_decoded` understands."""
    if depth > _LARGEST_DEPTH:
        raise ValueError(f"{name} is nested too deeply for a model file")
    if isinstance(value, np.generic):
        value = value.item()
    if type(value) in _PLAIN:
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        tensors[name] = value.astype(np.int64 if value.dtype.kind in "biu" else np.float64)
        return {"array": name, "dtype": value.dtype.str}
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return {"words": [of_kind(str, word) for word in value.tolist()]}
    if isinstance(value, list | tuple):
        items = [_encoded(item, f"{name}.{place}", tensors, depth + 1) for place, item in enumerate(value)]
        return {"tuple" if isinstance(value, tuple) else "list": items}
    if isinstance(value, dict):
        pairs = enumerate(value.items())
        return {"dict": [[of_kind(str, key), _encoded(item, f"{name}.{place}", tensors, depth + 1)]
                         for place, (key, item) in pairs]}  # fmt: skip
    if isinstance(value, type) and issubclass(value, np.generic):
        return {"numbers": np.dtype(value).str}
    if isinstance(value, BaseEstimator):
        return {"inner": transformer_header(value, name, tensors, depth + 1)}
    raise ValueError(f"{name} is {value!r} of type {type(value).__name__}, which a model file cannot hold")


def _decoded(value: object, tensors: Tensors, depth: int) -> Any:
    if depth > _LARGEST_DEPTH:
        raise ValueError("a transformer is nested too deeply")
    if not isinstance(value, dict):
        return plain(value)
    (kind, content), *_ = value.items()
    readers: dict[str, Callable[[], Any]] = {
        "array": lambda: _array(of_kind(str, content), of_kind(str, value["dtype"]), tensors),
        "words": lambda: np.array([of_kind(str, word) for word in content], object),
        "list": lambda: [_decoded(item, tensors, depth + 1) for item in of_kind(list, content)],
        "tuple": lambda: tuple(_decoded(item, tensors, depth + 1) for item in of_kind(list, content)),
        "dict": lambda: {of_kind(str, key): _decoded(item, tensors, depth + 1) for key, item in content},
        "numbers": lambda: _numbers(of_kind(str, content)).type,
        "inner": lambda: read_transformer(of_kind(dict, content), tensors, depth + 1),
    }
    if kind not in readers:
        raise ValueError(f"a transformer has a value of the kind {kind!r}")
    return readers[kind]()


def _array(name: str, dtype: str, tensors: Tensors) -> Array:
    tensor = tensors[name]
    return finite(tensor_of(tensors, name, "if", (None,) * tensor.ndim)).astype(_numbers(dtype))


def _numbers(dtype: str) -> np.dtype[Any]:
    found = np.dtype(dtype)
    if found.kind not in "biuf":
        raise ValueError(f"a transformer has numbers of the type {dtype!r}")
    return found
