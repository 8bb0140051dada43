"""Vertex kernels, by name or as objects."""

from typing import Any

from vectrick.kernels.base import Kernel, KernelWarning, Product, Sum
from vectrick.kernels.constant import Constant
from vectrick.kernels.cosine import Cosine
from vectrick.kernels.factor import CholeskyMap, FeatureMap, feature_map, pivoted_cholesky
from vectrick.kernels.function import Function
from vectrick.kernels.gaussian import Gaussian
from vectrick.kernels.linear import Linear
from vectrick.kernels.polynomial import Polynomial
from vectrick.kernels.precomputed import Precomputed
from vectrick.kernels.standardized import Standardized
from vectrick.kernels.tanimoto import Tanimoto

NAMES: dict[str, type[Kernel]] = {
    "linear": Linear,
    "constant": Constant,
    "gaussian": Gaussian,
    "rbf": Gaussian,
    "polynomial": Polynomial,
    "poly": Polynomial,
    "cosine": Cosine,
    "tanimoto": Tanimoto,
    "precomputed": Precomputed,
}


def as_kernel(value: Any, argument: str) -> Kernel:
    """Return a kernel from its name, a function of two feature tables, or a kernel.

    >>> as_kernel("gaussian", "start_kernel")
    Gaussian()
    """
    if isinstance(value, Kernel):
        return value
    if isinstance(value, str) and value in NAMES:
        return NAMES[value]()
    if callable(value) and not isinstance(value, type):
        return Function(value)
    names = ", ".join(map(repr, NAMES))
    if hasattr(value, "shape"):
        raise ValueError(
            f"{argument} is a matrix of shape {value.shape}, but it must be a kernel; give a kernel matrix as the "
            f"vertex table, and {argument}='precomputed'"
        )
    raise ValueError(
        f"{argument} is {value!r}, but it must be one of {names}, a kernel such as vt.Gaussian(), or a function"
    )


__all__ = [
    "NAMES",
    "CholeskyMap",
    "Constant",
    "Cosine",
    "FeatureMap",
    "Function",
    "Gaussian",
    "Kernel",
    "KernelWarning",
    "Linear",
    "Polynomial",
    "Precomputed",
    "Product",
    "Standardized",
    "Sum",
    "Tanimoto",
    "as_kernel",
    "feature_map",
    "pivoted_cholesky",
]
