"""Write model files: a fitted estimator with its parameters, its training history, and its fitted function."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from vectrick._typing import Array
from vectrick.backends import HOST, Backend
from vectrick.backends.arrays import to_host
from vectrick.kernels import as_kernel
from vectrick.losses import LOSSES
from vectrick.models.predictor import Predictor
from vectrick.persistence.checks import (
    LOADING_ERRORS,
    Tensors,
)
from vectrick.persistence.composites import Composite, is_same, put_parts
from vectrick.persistence.container import write_container
from vectrick.persistence.edges import write_known
from vectrick.persistence.reading import ESTIMATORS, FITTED, PRECONDITIONED, array_names, made_again
from vectrick.persistence.write import function_header, kernel_header, pairwise_header
from vectrick.solvers import SOLVERS, Solver
from vectrick.training.fitted import Fitted, KeepsEdges
from vectrick.training.parameters import DEFAULTS_OF_OLDER_FILES


def save_model(model: Fitted, path: Path | str, about: dict[str, Any] | None = None) -> None:
    """Write a fitted model to a file; see `FittedModel.save`."""
    if type(model) not in ESTIMATORS.values():
        raise TypeError(f"a model of type {type(model).__name__} has no file format: it is not a class of vectrick")
    header, tensors = _whole(model)
    write_container(path, "model", _readable({**header, "about": about or {}}, tensors), tensors)


def _whole(model: Any) -> tuple[dict[str, Any], Tensors]:
    """Return a model and all its parts as a header and tensors."""
    if hasattr(model, "_file_parts"):
        return _composite(model)
    header, tensors = _described(model)
    machines = getattr(model, "machines_", None)
    if machines is not None:
        header["machines"] = []
        for number, machine in enumerate(machines):
            described, own = _described(machine)
            header["machines"].append({**described, "about": {}})
            # Tensors that all one-vs-rest models share, above all the tables, are stored once.
            tensors |= {f"machine.{number}.{name}": tensor for name, tensor in own.items()
                        if not is_same(tensor, tensors.get(name))}  # fmt: skip
    return header, tensors


def _composite(model: Composite) -> tuple[dict[str, Any], Tensors]:
    """Return a composite model as a header and tensors."""
    tensors: Tensors = {}
    parts = [_whole(part) for part in model._file_parts]
    header: dict[str, Any] = {
        "estimator": type(model).__name__,
        "parameters": _parameters(model, tensors),
        "state": model._file_state(),
        "parts": put_parts(parts, tensors),
        "fitted": array_names(model),
    }
    if hasattr(model, "classes_"):
        header["classes"] = _classes_header(model.classes_)
    write_known(model, tensors)
    return header, tensors


def _described(model: Fitted) -> tuple[dict[str, Any], Tensors]:
    """Return a fitted model as a header and tensors; with several classes, of the first one-vs-rest model."""
    fitted = model if not hasattr(model, "machines_") else model.machines_[0]
    predictor: Predictor = fitted.predictor_.on(HOST)
    tensors: Tensors = {}
    header: dict[str, Any] = {
        "estimator": type(model).__name__,
        "parameters": _parameters(model, tensors),
        "fitted": {name: getattr(fitted, name) for name in FITTED},
        "history": fitted.history_,
        "solution": {
            name: getattr(fitted.solution_, name)
            for name in ("converged", "reason", "n_iter", "n_products", "residuals", *PRECONDITIONED)
        },
        "plan": asdict(model.plan_) if hasattr(model, "plan_") else None,
        **function_header(predictor, tensors),
    }
    if hasattr(model, "classes_"):
        header["classes"] = _classes_header(model.classes_)
    header["fitted"] |= array_names(model)
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
    """Return a NumPy number as a JSON number."""
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
            parameters[name] = None  # the state of a generator has changed since
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
    """Return the registered name of a class."""
    if not registry.knows(kind):
        raise ValueError(
            f"{family} is {kind.__name__}, but a model file cannot name it until you register it with vt.register"
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
