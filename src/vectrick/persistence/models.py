"""Model files: a fitted estimator with its parameters, how it was trained, and its fitted function."""

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from vectrick._typing import Array
from vectrick.backends import HOST, Backend, backend_names
from vectrick.backends.arrays import to_host
from vectrick.kernels import KERNELS, as_kernel
from vectrick.kernels.pairwise import PAIRWISE
from vectrick.losses import LOSSES
from vectrick.models.pairwise import PairwisePredictor
from vectrick.models.predictor import Predictor
from vectrick.models.product import PrimalPredictor
from vectrick.persistence.checks import (
    LOADING_ERRORS,
    Tensors,
    finite,
    numbers,
    of_kind,
    plain,
    tensor_of,
)
from vectrick.persistence.composites import Composite, is_same, put_parts, read_parts
from vectrick.persistence.container import ModelFileError, read_container, write_container
from vectrick.persistence.edges import read_source, write_known
from vectrick.persistence.read import (
    read_coefficients,
    read_function,
    read_kernel,
    read_known_edges,
    read_pairwise,
    read_plan,
)
from vectrick.persistence.registry import UnknownNameError
from vectrick.persistence.write import function_header, kernel_header, pairwise_header
from vectrick.solvers import SOLVERS, Solution, Solver
from vectrick.training.fitted import Fitted, KeepsEdges
from vectrick.training.one_vs_rest import set_machines
from vectrick.training.parameters import DEFAULTS_OF_OLDER_FILES, check_parameters

_LONGEST_CLASSES = 1 << 24  # characters
_PRECONDITIONED = ("preconditioner", "preconditioner_reason")
_FITTED = {"intercept_": float, "n_iter_": int, "form_": str, "form_reason_": str}

ESTIMATORS: dict[str, type[Any]] = {}  # that files may name


def register_estimator(kind: type[Any]) -> None:
    """Let files hold models of a class."""
    ESTIMATORS[kind.__name__] = kind


def save_model(model: Fitted, path: Path | str, about: dict[str, Any] | None = None) -> None:
    """Write a fitted model to a file; see `FittedModel.save`."""
    if type(model) not in ESTIMATORS.values():
        raise TypeError(f"a model of type {type(model).__name__} has no file format: it is not a class of vectrick")
    header, tensors = _whole(model)
    write_container(path, "model", _readable({**header, "about": about or {}}, tensors), tensors)


def _whole(model: Any) -> tuple[dict[str, Any], Tensors]:
    """Return a model with everything that it is made of as a header and tensors."""
    if hasattr(model, "_file_parts"):
        return _composite(model)
    header, tensors = _described(model)
    machines = getattr(model, "machines_", None)
    if machines is not None:
        header["machines"] = []
        for number, machine in enumerate(machines):
            described, own = _described(machine)
            header["machines"].append({**described, "about": {}})
            # Tensors that all machines share, above all the tables, are stored once.
            tensors |= {f"machine.{number}.{name}": tensor for name, tensor in own.items()
                        if not is_same(tensor, tensors.get(name))}  # fmt: skip
    return header, tensors


def _composite(model: Composite) -> tuple[dict[str, Any], Tensors]:
    """Return a model that is made of others as a header and tensors."""
    tensors: Tensors = {}
    parts = [_whole(part) for part in model._file_parts]
    header: dict[str, Any] = {
        "estimator": type(model).__name__,
        "parameters": _parameters(model, tensors),
        "state": model._file_state(),
        "parts": put_parts(parts, tensors),
        "fitted": _array_names(model),
    }
    if hasattr(model, "classes_"):
        header["classes"] = _classes_header(model.classes_)
    write_known(model, tensors)
    return header, tensors


def _read_composite(header: dict[str, Any], tensors: Tensors, depth: int) -> Any:
    """Return a model that is made of others."""
    kind = ESTIMATORS[header["estimator"]]
    parts = read_parts(header["parts"], tensors, made_again, depth)
    parameters = {name: _parameter(name, value, tensors) for name, value in header["parameters"].items()}
    if hasattr(kind, "_file_parameters"):  # those that are models
        parameters |= kind._file_parameters(parts)
    model = kind(**parameters)
    if "classes" in header:
        model.classes_ = _classes(header["classes"], None)
    _set_array_names(model, header["fitted"])
    model._restore(of_kind(dict, header["state"]), parts)
    model._known_edges = read_known_edges(tensors, model.predictor_)
    model._source = read_source(model, tensors)
    model._remember_parameters()
    model.about_ = of_kind(dict, header["about"])
    return model


def _described(model: Fitted) -> tuple[dict[str, Any], Tensors]:
    """Return a fitted model as a header and tensors; with several classes, those of the first machine."""
    fitted = model if not hasattr(model, "machines_") else model.machines_[0]
    predictor: Predictor = fitted.predictor_.on(HOST)
    tensors: Tensors = {}
    header: dict[str, Any] = {
        "estimator": type(model).__name__,
        "parameters": _parameters(model, tensors),
        "fitted": {name: getattr(fitted, name) for name in _FITTED},
        "history": fitted.history_,
        "solution": {
            name: getattr(fitted.solution_, name)
            for name in ("converged", "reason", "n_iter", "n_products", "residuals", *_PRECONDITIONED)
        },
        "plan": asdict(model.plan_) if hasattr(model, "plan_") else None,
        **function_header(predictor, tensors),
    }
    if hasattr(model, "classes_"):
        header["classes"] = _classes_header(model.classes_)
    header["fitted"] |= _array_names(model)
    write_known(model, tensors)
    for source in (fitted, model):
        if hasattr(source, "validation_vertices_"):
            header["validation_vertices"] = source.validation_vertices_
    if hasattr(fitted, "support_"):
        tensors["support"] = np.asarray(to_host(fitted.support_), np.int64)
    if "_dual_of_primal" in fitted.__dict__:
        tensors["dual"] = np.asarray(to_host(fitted.__dict__["_dual_of_primal"]), np.float64)
    if hasattr(fitted, "dual_coef_"):
        header["n_edges"] = len(fitted.dual_coef_)
    return header, tensors


def _readable(header: dict[str, Any], tensors: Tensors) -> dict[str, Any]:
    """Return the header as plain JSON, after checking that a model can be made from it again."""
    try:
        plain: dict[str, Any] = json.loads(json.dumps(header, default=_plain))
        made_again(plain, {name: np.asarray(tensor) for name, tensor in tensors.items()})
    except LOADING_ERRORS as error:
        raise ValueError(f"the model cannot be saved, since it could not be loaded again: {error}") from None
    return plain


def _plain(value: object) -> Any:
    """Return a NumPy number as JSON has it."""
    if isinstance(value, np.floating):
        return float(value)
    if isinstance(value, np.generic) and not isinstance(plain := value.item(), np.generic):
        return plain
    raise TypeError(f"{value!r} is of type {type(value).__name__}, but a model file holds numbers and text")


def _array_names(model: KeepsEdges) -> dict[str, Any]:
    """Return what a model knows of the columns of a plain array."""
    known = {name: getattr(model, name) for name in ("n_features_in_", "feature_names_in_") if hasattr(model, name)}
    return {name: value.tolist() if isinstance(value, np.ndarray) else int(value) for name, value in known.items()}


def _set_array_names(model: KeepsEdges, fitted: dict[str, Any]) -> None:
    """Set what a model knows of the columns of a plain array."""
    if "n_features_in_" in fitted:
        model.__dict__["n_features_in_"] = of_kind(int, fitted["n_features_in_"])
    if "feature_names_in_" in fitted:
        names = [of_kind(str, word) for word in fitted["feature_names_in_"]]
        model.__dict__["feature_names_in_"] = np.array(names, object)


def _classes_header(classes: Array) -> dict[str, Any]:
    """Return the labels of a classifier as JSON; text and numbers of unusual types become usual ones."""
    if classes.dtype.kind == "T":  # NumPy's own strings of any length
        classes = classes.astype(object)
    elif classes.dtype == np.longdouble:
        classes = classes.astype(np.float64)
    return {"dtype": classes.dtype.str, "values": classes.tolist()}


def _parameters(model: KeepsEdges, tensors: Tensors) -> dict[str, Any]:
    """Return the parameters as JSON; arrays of kernels go to the tensors."""
    parameters: dict[str, Any] = {}
    fitted = model._as_fitted() if hasattr(model, "_as_fitted") else model
    for name, value in fitted.get_params(deep=False).items():
        several = isinstance(value, list | tuple)
        if type(value) in ESTIMATORS.values():  # its parts are in the file
            continue
        if name.endswith("_kernel") and several:
            parameters[name] = [_given_kernel(kernel, f"{name}.{i}", tensors) for i, kernel in enumerate(value)]
        elif name.endswith("_kernel"):
            parameters[name] = _given_kernel(value, name, tensors)
        elif name == "pairwise":
            parameters[name] = [_given_pairwise(kernel) for kernel in value] if several else _given_pairwise(value)
        elif name == "kernel_weights" and value is not None and not isinstance(value, str):
            parameters[name] = np.asarray(value, np.float64).tolist()
        elif name == "random_state" and not isinstance(value, int | np.integer | None):
            parameters[name] = None  # a generator has moved on
        elif name == "dtype" and value is not None:
            parameters[name] = np.dtype(value).name
        elif name == "device" and value is not None:
            parameters[name] = str(value)
        elif name == "backend" and isinstance(value, Backend):
            parameters[name] = value.name
        elif name == "solver" and isinstance(value, Solver):
            own = value.get_params(deep=False)
            known = _registered(type(value), SOLVERS, "solver")
            parameters[name] = {"name": known, **own} if own else known
        elif name == "loss" and isinstance(value, type):
            parameters[name] = _registered(value, LOSSES, "loss")
        elif name not in DEFAULTS_OF_OLDER_FILES or value != DEFAULTS_OF_OLDER_FILES[name]:
            parameters[name] = value
    return parameters


def _registered(kind: type, registry: Any, family: str) -> str:
    """Return the name of a class that a file may name."""
    if not registry.knows(kind):
        raise ValueError(
            f"{family} is {kind.__name__}, which a model file cannot name because it is not registered; use vt.register"
        )
    return str(kind.name)  # type: ignore[attr-defined]


def _given_kernel(value: object, name: str, tensors: Tensors) -> Any:
    return value if isinstance(value, str) else kernel_header(as_kernel(value, name), name, tensors)


def _given_pairwise(value: Any) -> Any:
    """Return a pairwise kernel, or one with its weight, as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        return {"kernel": _given_pairwise(value[0]), "weight": float(value[1])}
    return pairwise_header(value)


def load(path: Path | str) -> Any:
    """Return the model from a file that ``save`` or ``vectrick fit`` wrote.

    Loading runs no code from the file. A file that is truncated, damaged, foreign or too new raises `ModelFileError`.
    A checksum covers the whole file; it is no protection against somebody who writes their own model file.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    AutoKron, KronRidge, KronSVM, KronLogistic or KronRanker
        The fitted model. ``about_`` holds the information that was saved with it.

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
    except UnknownNameError as error:
        raise ModelFileError(f"{path} cannot be loaded: {error}") from None
    except LOADING_ERRORS as error:
        raise ModelFileError(f"{path} is damaged: {type(error).__name__}: {error}") from None


def made_again(header: dict[str, Any], tensors: Tensors, depth: int = 0) -> Any:
    """Return the model that a header and tensors describe; raise one of `LOADING_ERRORS` if they are wrong."""
    if "parts" in header:
        return _read_composite(header, tensors, depth)
    if "machines" in header:
        return _several(header, tensors)
    kind = ESTIMATORS[header["estimator"]]
    _check_names(header["parameters"])
    parameters = {name: _parameter(name, value, tensors) for name, value in header["parameters"].items()}
    model = kind(**parameters)
    spec = check_parameters(model, None)
    if "classes" in header:
        model.classes_ = _classes(header["classes"])
    _set_fitted(model, header)
    predictor = read_function(header, tensors, model.form_, spec, model.n_threads)
    model.predictor_, model._known_edges = predictor, read_known_edges(tensors, predictor)
    model._source = read_source(model, tensors)
    if isinstance(predictor, PrimalPredictor):
        model.coef_ = predictor.core
        if "support" in tensors:
            model.support_ = tensor_of(tensors, "support", "i", (None,))
        if "dual" in tensors:
            model._dual_of_primal = finite(tensor_of(tensors, "dual", "f", (None,)))
    else:
        model.dual_coef_, model.support_ = read_coefficients(header, tensors)
    if isinstance(predictor, PairwisePredictor):
        model.components_, model.kernel_weights_ = predictor.kernel.labels, predictor.kernel.weights
    told = header["solution"]
    model.solution_ = Solution(
        predictor.coefficients, None, of_kind(bool, told["converged"]), of_kind(str, told["reason"]),
        of_kind(int, told["n_iter"]), of_kind(int, told["n_products"]), numbers(told["residuals"]), model.intercept_,
        **{name: of_kind(str, told[name]) for name in _PRECONDITIONED if name in told},
    )  # fmt: skip
    if "validation_vertices" in header:
        model.validation_vertices_ = of_kind(dict, header["validation_vertices"])
    if header["plan"] is not None:
        model.plan_ = read_plan(header["plan"])
    model._remember_parameters()
    model.about_ = of_kind(dict, header["about"])
    return model


def _check_names(parameters: dict[str, Any]) -> None:
    """Refuse a file that names something that is not registered here."""
    known: dict[str, tuple[str, Any]] = {
        "start_kernel": ("kernel", KERNELS),
        "end_kernel": ("kernel", KERNELS),
        "pairwise": ("pairwise kernel", PAIRWISE),
        "solver": ("solver", ("auto", *SOLVERS)),
        "loss": ("loss", LOSSES),
        "backend": ("backend", (*backend_names(), "dask")),
    }
    for parameter, (family, names) in known.items():
        value = parameters.get(parameter)
        for item in value if isinstance(value, list) else [value]:
            name = item.get("name", item.get("kernel")) if isinstance(item, dict) and family != "kernel" else item
            if isinstance(name, str) and name not in names:
                raise UnknownNameError(family, name)


def _several(header: dict[str, Any], tensors: Tensors) -> Any:
    """Return a model of several classes or labels, whose machines share the tensors that they do not have."""
    shared = {name: tensor for name, tensor in tensors.items() if not name.startswith("machine.")}
    whole = {name: tensor for name, tensor in shared.items() if name.startswith("source.")}
    told, classes = of_kind(list, header["machines"]), None
    if "classes" in header:
        classes = _classes(header["classes"], None)
        if len(told) != len(classes) or len(classes) < 3:
            raise ValueError(f"there are {len(told)} machines for {len(classes)} classes")
    machines: list[Any] = []
    for number, described in enumerate(told):
        prefix = f"machine.{number}."
        own = {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
        if described["estimator"] != header["estimator"] or "machines" in described:
            raise ValueError(f"machine {number} is of another kind than the model")
        part = {name: tensor for name, tensor in shared.items() if name not in whole}
        machine = made_again(described, {**part, **own})
        if machines and own.keys() <= {"a", "w"} and _same_functions(described, told[0]):
            machine.predictor_ = machine.predictor_.with_functions_of(machines[0].predictor_)
        machines.append(machine)
    model = ESTIMATORS[header["estimator"]](**machines[0].get_params(deep=False))
    if not machines or (classes is None) == is_classifier(model):
        raise ValueError(f"there are {len(machines)} machines, and classes are {classes}")
    set_machines(model, machines)
    if classes is not None:
        model.classes_ = classes
    model._source = read_source(model, whole)
    model.about_ = of_kind(dict, header["about"])
    return model


def _same_functions(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two machines whose tensors are the same but for the coefficients have the same form and kernels."""
    names = ("start", "end", "one_set", "edge_kernel")
    same = all(one.get(name) == other.get(name) for name in names)
    return same and one["fitted"]["form_"] == other["fitted"]["form_"]


def _parameter(name: str, value: Any, tensors: Tensors) -> Any:
    """Return a parameter of the estimator."""
    if isinstance(value, list) and (name.endswith("_kernel") or name == "pairwise"):
        return [_parameter(name, item, tensors) for item in value]
    if isinstance(value, dict) and name.endswith("_kernel"):
        return read_kernel(value, tensors)
    if isinstance(value, dict) and name == "solver":
        return SOLVERS[value["name"]](**{key: plain(item) for key, item in value.items() if key != "name"})
    if isinstance(value, dict) and name == "pairwise":
        if "weight" in value:
            return _parameter(name, value["kernel"], tensors), of_kind(float, value["weight"])
        return read_pairwise(value)
    if isinstance(value, list) and name == "kernel_weights":
        return [numbers(item) if isinstance(item, list) else of_kind(float, item) for item in value]
    return plain(value)


def _set_fitted(model: Fitted, header: dict[str, Any]) -> None:
    """Set the fitted attributes that are numbers and words."""
    for name, kind in _FITTED.items():
        setattr(model, name, of_kind(kind, header["fitted"][name]))
    finite(np.asarray(model.intercept_))
    if model.form_ not in ("dual", "primal"):
        raise ValueError(f"form is {model.form_!r}")
    _set_array_names(model, header["fitted"])
    model.history_ = {of_kind(str, name): numbers(values) for name, values in header["history"].items()}


def _classes(header: dict[str, Any], n_classes: int | None = 2) -> Array:
    kind, values = of_kind(str, header["dtype"]), header["values"]
    plain = re.fullmatch(r"[<>|=]?[biufUO]\d{0,5}", kind)  # NumPy would read much more than that
    if plain is None or {type(value) for value in values} - {bool, int, float, str}:
        raise ValueError("the classes are no labels")
    if n_classes is not None and len(values) != n_classes:
        raise ValueError(f"there are {len(values)} classes in place of {n_classes}")
    if "U" in kind:
        longest = max(map(len, values), default=0)  # a dtype may ask for much more
        if len(values) * longest > _LONGEST_CLASSES:
            raise ValueError(f"there are {len(values)} classes, of up to {longest} characters")
        return np.array(values, np.str_)
    return np.array(values, object if "O" in kind else kind)
