"""Learning from labeled bipartite graphs with Kronecker product kernels.

Names are loaded on first use, so that ``import vectrick`` stays fast.

>>> import numpy as np, vectrick as vt
>>> M, N = np.array([[1.0, 2.0], [3.0, 4.0]]), np.eye(2)
>>> op = vt.kron(M, N)[([0, 1], [0, 1]), :]
>>> op @ np.ones(4)
array([3., 7.])
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from vectrick._version import __version__

if TYPE_CHECKING:
    from vectrick.operators import KronOperator, LowRank, Operator, Plan, kron

_HOME = {
    "Cosine": "vectrick.kernels",
    "Edges": "vectrick.data",
    "Function": "vectrick.kernels",
    "Gaussian": "vectrick.kernels",
    "KronLogistic": "vectrick.estimators",
    "KronRanker": "vectrick.estimators",
    "KronRidge": "vectrick.estimators",
    "KronSVM": "vectrick.estimators",
    "KronOperator": "vectrick.operators",
    "Linear": "vectrick.kernels",
    "LowRank": "vectrick.operators",
    "Operator": "vectrick.operators",
    "Plan": "vectrick.operators",
    "Polynomial": "vectrick.kernels",
    "Precomputed": "vectrick.kernels",
    "Tanimoto": "vectrick.kernels",
    "concordance_index": "vectrick.metrics",
    "datasets": "vectrick",
    "from_svc": "vectrick.estimators",
    "kron": "vectrick.operators",
}

__all__ = ["KronOperator", "LowRank", "Operator", "Plan", "__version__", "kron"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'vectrick' has no attribute {name!r}")
    value = import_module("vectrick.datasets") if name == "datasets" else getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
