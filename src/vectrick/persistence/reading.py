"""Read models from files; no code from a file is run."""

import re
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from vectrick._typing import Array
from vectrick.backends import backend_names
from vectrick.kernels import KERNELS
from vectrick.kernels.pairwise import PAIRWISE
from vectrick.losses import LOSSES
from vectrick.models.pairwise import PairwisePredictor
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
from vectrick.persistence.composites import read_parts
from vectrick.persistence.container import ModelFileError, read_container
from vectrick.persistence.edges import read_source
from vectrick.persistence.read import (
    read_coefficients,
    read_function,
    read_kernel,
    read_known_edges,
    read_pairwise,
    read_plan,
)
from vectrick.persistence.registry import UnknownNameError
from vectrick.solvers import SOLVERS, Solution
from vectrick.training.fitted import Fitted, KeepsEdges, LoadedModel
from vectrick.training.one_vs_rest import set_machines
from vectrick.training.parameters import check_parameters

_LONGEST_CLASSES = 1 << 24  # characters
PRECONDITIONED = ("preconditioner", "preconditioner_reason")
FITTED = {"intercept_": float, "n_iter_": int, "form_": str, "form_reason_": str}

ESTIMATORS: dict[str, type[Any]] = {}  # classes that files may name


def register_estimator(kind: type[Any]) -> None:
    """Allow files to contain models of a class."""
    ESTIMATORS[kind.__name__] = kind


def array_names(model: KeepsEdges) -> dict[str, Any]:
    """Return the attributes of a model that describe the columns of a plain array."""
    known = {name: getattr(model, name) for name in ("n_features_in_", "feature_names_in_") if hasattr(model, name)}
    return {name: value.tolist() if isinstance(value, np.ndarray) else int(value) for name, value in known.items()}


def set_array_names(model: KeepsEdges, fitted: dict[str, Any]) -> None:
    """Set the attributes of a model that describe the columns of a plain array."""
    if "n_features_in_" in fitted:
        model.__dict__["n_features_in_"] = of_kind(int, fitted["n_features_in_"])
    if "feature_names_in_" in fitted:
        names = [of_kind(str, word) for word in fitted["feature_names_in_"]]
        model.__dict__["feature_names_in_"] = np.array(names, object)


def _read_composite(header: dict[str, Any], tensors: Tensors, depth: int) -> Any:
    """Return a composite model."""
    kind = ESTIMATORS[header["estimator"]]
    parts = read_parts(header["parts"], tensors, made_again, depth)
    parameters = {name: _parameter(name, value, tensors) for name, value in header["parameters"].items()}
    if hasattr(kind, "_file_parameters"):  # parameters that are models
        parameters |= kind._file_parameters(parts)
    model = kind(**parameters)
    if "classes" in header:
        model.classes_ = _classes(header["classes"], None)
    set_array_names(model, header["fitted"])
    model._restore(of_kind(dict, header["state"]), parts)
    model._known_edges = read_known_edges(tensors, model.predictor_)
    model._source = read_source(model, tensors)
    model._remember_parameters()
    model.about_ = of_kind(dict, header["about"])
    return model


def load(path: Path | str) -> LoadedModel:
    """Return the model from a file that ``save`` or ``vectrick fit`` wrote.

    Loading runs no code from the file. A file that is truncated, damaged, foreign or too new raises `ModelFileError`.
    A checksum covers the whole file; it does not protect against deliberately crafted files.

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
        model: LoadedModel = made_again(header, tensors)
        return model
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
    stored = header["solution"]
    model.solution_ = Solution(
        predictor.coefficients, None, of_kind(bool, stored["converged"]), of_kind(str, stored["reason"]),
        of_kind(int, stored["n_iter"]), of_kind(int, stored["n_products"]), numbers(stored["residuals"]),
        model.intercept_,
        **{name: of_kind(str, stored[name]) for name in PRECONDITIONED if name in stored},
    )  # fmt: skip
    if "validation_vertices" in header:
        model.validation_vertices_ = of_kind(dict, header["validation_vertices"])
    if header["plan"] is not None:
        model.plan_ = read_plan(header["plan"])
    model._remember_parameters()
    model.about_ = of_kind(dict, header["about"])
    return model


def _check_names(parameters: dict[str, Any]) -> None:
    """Raise an error if a file contains a name that is not registered."""
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
    """Return a model of several classes or labels, whose parts share the tensors that are stored once."""
    shared = {name: tensor for name, tensor in tensors.items() if not name.startswith("machine.")}
    whole = {name: tensor for name, tensor in shared.items() if name.startswith("source.")}
    stored, classes = of_kind(list, header["machines"]), None
    if "classes" in header:
        classes = _classes(header["classes"], None)
        if len(stored) != len(classes) or len(classes) < 3:
            raise ValueError(f"there are {len(stored)} one-vs-rest models for {len(classes)} classes")
    machines: list[Any] = []
    for number, described in enumerate(stored):
        prefix = f"machine.{number}."
        own = {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
        if described["estimator"] != header["estimator"] or "machines" in described:
            raise ValueError(f"part {number} is of another kind than the model")
        part = {name: tensor for name, tensor in shared.items() if name not in whole}
        machine = made_again(described, {**part, **own})
        if machines and own.keys() <= {"a", "w"} and _same_functions(described, stored[0]):
            machine.predictor_ = machine.predictor_.with_functions_of(machines[0].predictor_)
        machines.append(machine)
    model = ESTIMATORS[header["estimator"]](**machines[0].get_params(deep=False))
    if not machines or (classes is None) == is_classifier(model):
        raise ValueError(f"there are {len(machines)} parts, and classes are {classes}")
    set_machines(model, machines)
    if classes is not None:
        model.classes_ = classes
    model._source = read_source(model, whole)
    model.about_ = of_kind(dict, header["about"])
    return model


def _same_functions(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two parts whose tensors differ only in the coefficients have the same form and kernels."""
    names = ("start", "end", "one_set", "edge_kernel")
    same = all(one.get(name) == other.get(name) for name in names)
    return same and one["fitted"]["form_"] == other["fitted"]["form_"]


def _parameter(name: str, value: object, tensors: Tensors) -> Any:
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
    """Set the fitted attributes that are numbers and text."""
    for name, kind in FITTED.items():
        setattr(model, name, of_kind(kind, header["fitted"][name]))
    finite(np.asarray(model.intercept_))
    if model.form_ not in ("dual", "primal"):
        raise ValueError(f"form is {model.form_!r}")
    set_array_names(model, header["fitted"])
    model.history_ = {of_kind(str, name): numbers(values) for name, values in header["history"].items()}


def _classes(header: dict[str, Any], n_classes: int | None = 2) -> Array:
    kind, values = of_kind(str, header["dtype"]), header["values"]
    plain = re.fullmatch(r"[<>|=]?[biufUO]\d{0,5}", kind)  # NumPy accepts many more strings
    if plain is None or {type(value) for value in values} - {bool, int, float, str}:
        raise ValueError("the classes are not labels")
    if n_classes is not None and len(values) != n_classes:
        raise ValueError(f"there are {len(values)} classes instead of {n_classes}")
    if "U" in kind:
        longest = max(map(len, values), default=0)  # a dtype may request much more
        if len(values) * longest > _LONGEST_CLASSES:
            raise ValueError(f"there are {len(values)} classes, of up to {longest} characters")
        return np.array(values, np.str_)
    return np.array(values, object if "O" in kind else kind)
