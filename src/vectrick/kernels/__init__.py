"""Vertex kernels, by name or as objects.

>>> import numpy as np, vectrick as vt
>>> vt.kernels.as_kernel("linear", "start_kernel")(np.eye(2), np.ones((1, 2)))
array([[1.],
       [1.]])
"""

from typing import Any

from vectrick._warnings import warn
from vectrick.kernels import pairwise
from vectrick.kernels.base import KERNELS, Kernel, KernelWarning, Product, Scaled, Sum
from vectrick.kernels.constant import Constant
from vectrick.kernels.cosine import Cosine
from vectrick.kernels.function import Function
from vectrick.kernels.gaussian import Gaussian
from vectrick.kernels.linear import Linear
from vectrick.kernels.maps.factor import CholeskyMap, FeatureMap, feature_map, pivoted_cholesky
from vectrick.kernels.minmax import MinMax
from vectrick.kernels.polynomial import Polynomial
from vectrick.kernels.precomputed import Precomputed
from vectrick.kernels.profile import Profile
from vectrick.kernels.radial import Radial
from vectrick.kernels.standardized import Standardized
from vectrick.kernels.strings.encoded import TextKernel
from vectrick.kernels.strings.molecule import Molecule
from vectrick.kernels.strings.morgan import Morgan
from vectrick.kernels.strings.smith_waterman import SmithWaterman
from vectrick.kernels.strings.spectrum import Spectrum
from vectrick.kernels.tables.identity import Identity
from vectrick.kernels.tables.on import On
from vectrick.kernels.tables.parts import Parts
from vectrick.kernels.tanimoto import Tanimoto

for _kind in (
    Linear, Gaussian, Polynomial, Cosine, Tanimoto, MinMax, Constant, Precomputed, Standardized, Sum, Product, Scaled,
    On, Identity, Parts, Morgan, Molecule, Spectrum, SmithWaterman, Profile, Radial,
):  # fmt: skip
    KERNELS.register(_kind)


def as_kernel(value: object, argument: str) -> Kernel:
    """Return a kernel from its name, a function of two feature tables, or a kernel.

    >>> as_kernel("gaussian", "start_kernel")
    Gaussian()
    """
    if isinstance(value, Kernel):
        return value
    names = KERNELS.plain_names()
    if isinstance(value, str) and value in names:
        return KERNELS[value]()
    if callable(value) and not isinstance(value, type):
        return Function(value)
    if hasattr(value, "shape"):
        raise ValueError(
            f"{argument} is a matrix of shape {value.shape}, but it must be a kernel; give a kernel matrix as the "
            f"vertex table, and {argument}='precomputed'"
        )
    raise ValueError(
        f"{argument} is {value!r}, but it must be one of {', '.join(map(repr, names))}, a kernel such as "
        "vt.Gaussian(), or a function"
    )


def __getattr__(name: str) -> Any:
    if name == "NAMES":
        warn("vectrick.kernels.NAMES is now vectrick.kernels.KERNELS", DeprecationWarning)
        return {known: KERNELS[known] for known in KERNELS.plain_names()}
    raise AttributeError(f"module 'vectrick.kernels' has no attribute {name!r}")


__all__ = [
    "KERNELS",
    "CholeskyMap",
    "Constant",
    "Cosine",
    "FeatureMap",
    "Function",
    "Gaussian",
    "Identity",
    "Kernel",
    "KernelWarning",
    "Linear",
    "MinMax",
    "Molecule",
    "Morgan",
    "On",
    "Parts",
    "Polynomial",
    "Precomputed",
    "Product",
    "Profile",
    "Radial",
    "Scaled",
    "SmithWaterman",
    "Spectrum",
    "Standardized",
    "Sum",
    "Tanimoto",
    "TextKernel",
    "as_kernel",
    "feature_map",
    "pairwise",
    "pivoted_cholesky",
]
