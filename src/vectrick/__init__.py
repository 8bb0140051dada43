"""Learning from labeled bipartite graphs with Kronecker product kernels.

Names are loaded on first use, so that ``import vectrick`` stays fast.

>>> import vectrick as vt
>>> X, y = vt.datasets.make_checkerboard(50, noise=0.0, random_state=0)
>>> model = vt.KronSVM(vt.Gaussian(gamma=1.0), vt.Gaussian(gamma=1.0), alpha=0.01).fit(X, y)
>>> model.score(X, y) > 0.9
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from vectrick._version import __version__

if TYPE_CHECKING:
    import vectrick.kernels.pairwise as pairwise
    from vectrick import backends, datasets, kernels, losses, plot, solvers
    from vectrick.automatic import AutoKron, SearchWarning, load
    from vectrick.data import DataWarning, Edges
    from vectrick.data.censored import censored
    from vectrick.data.lake.scan import ScannedEdges, scan_edges
    from vectrick.data.lake.source import LakeError
    from vectrick.estimators import (
        KronLogistic,
        KronRanker,
        KronRidge,
        KronSVM,
        ModelFileError,
        from_svc,
        score_lake,
        suggest,
    )
    from vectrick.extensions import register
    from vectrick.kernels import (
        Constant,
        Cosine,
        Function,
        Gaussian,
        KernelWarning,
        Linear,
        MinMax,
        Morgan,
        Polynomial,
        Precomputed,
        Profile,
        Radial,
        SmithWaterman,
        Spectrum,
        Standardized,
        Tanimoto,
    )
    from vectrick.metrics import concordance_index, interaction_concordance
    from vectrick.model_selection import (
        Calibrated,
        ClusterKFold,
        ConformalKron,
        KernelComparison,
        VertexKFold,
        alpha_path,
        baselines,
        compare,
        compare_kernels,
        get_scorer,
        leave_out_predictions,
        nested_score,
        vertex_search,
        vertex_split,
    )
    from vectrick.operators import ONES, KronOperator, KronSum, LowRank, Operator, Plan, Term, kron, kron_sum
    from vectrick.reports import report

_NAMES = {
    "vectrick.automatic": ["AutoKron", "SearchWarning", "load"],  # which loads an AutoKron as well
    "vectrick.data": ["DataWarning", "Edges"],
    "vectrick.data.censored": ["censored"],
    "vectrick.data.lake.scan": ["ScannedEdges", "scan_edges"],
    "vectrick.data.lake.source": ["LakeError"],
    "vectrick.estimators": [
        "KronLogistic",
        "KronRanker",
        "KronRidge",
        "KronSVM",
        "ModelFileError",
        "from_svc",
        "score_lake",
        "suggest",
    ],
    "vectrick.kernels": [
        "Constant",
        "Cosine",
        "Function",
        "Gaussian",
        "KernelWarning",
        "Linear",
        "MinMax",
        "Morgan",
        "Polynomial",
        "Precomputed",
        "Profile",
        "Radial",
        "SmithWaterman",
        "Spectrum",
        "Standardized",
        "Tanimoto",
    ],
    "vectrick.extensions": ["register"],
    "vectrick.metrics": ["concordance_index", "interaction_concordance"],
    "vectrick.model_selection": [
        "Calibrated",
        "ClusterKFold",
        "ConformalKron",
        "KernelComparison",
        "VertexKFold",
        "alpha_path",
        "baselines",
        "compare",
        "compare_kernels",
        "get_scorer",
        "leave_out_predictions",
        "nested_score",
        "vertex_search",
        "vertex_split",
    ],
    "vectrick.operators": [
        "ONES",
        "KronOperator",
        "KronSum",
        "LowRank",
        "Operator",
        "Plan",
        "Term",
        "kron",
        "kron_sum",
    ],
    "vectrick.reports": ["report"],
}
_MODULES = {
    "backends": "vectrick.backends",
    "datasets": "vectrick.datasets",
    "kernels": "vectrick.kernels",
    "losses": "vectrick.losses",
    "pairwise": "vectrick.kernels.pairwise",
    "plot": "vectrick.plot",
    "solvers": "vectrick.solvers",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "ONES",
    "AutoKron",
    "Calibrated",
    "ClusterKFold",
    "ConformalKron",
    "Constant",
    "Cosine",
    "DataWarning",
    "Edges",
    "Function",
    "Gaussian",
    "KernelComparison",
    "KernelWarning",
    "KronLogistic",
    "KronOperator",
    "KronRanker",
    "KronRidge",
    "KronSVM",
    "KronSum",
    "LakeError",
    "Linear",
    "LowRank",
    "MinMax",
    "ModelFileError",
    "Morgan",
    "Operator",
    "Plan",
    "Polynomial",
    "Precomputed",
    "Profile",
    "Radial",
    "ScannedEdges",
    "SearchWarning",
    "SmithWaterman",
    "Spectrum",
    "Standardized",
    "Tanimoto",
    "Term",
    "VertexKFold",
    "__version__",
    "alpha_path",
    "backends",
    "baselines",
    "censored",
    "compare",
    "compare_kernels",
    "concordance_index",
    "datasets",
    "from_svc",
    "get_scorer",
    "interaction_concordance",
    "kernels",
    "kron",
    "kron_sum",
    "leave_out_predictions",
    "load",
    "losses",
    "nested_score",
    "pairwise",
    "plot",
    "register",
    "report",
    "scan_edges",
    "score_lake",
    "solvers",
    "suggest",
    "vertex_search",
    "vertex_split",
]


if not TYPE_CHECKING:  # which would take any name for one of ours

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return import_module(_MODULES[name])
        if name not in _HOME:
            raise AttributeError(f"module 'vectrick' has no attribute {name!r}")
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
