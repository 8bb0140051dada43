# The public names of vectrick, each once: type checkers read this file, and __init__.py loads names from it.

from . import (
    backends as backends,
    datasets as datasets,
    kernels as kernels,
    losses as losses,
    plot as plot,
    solvers as solvers,
)
from .automatic import AutoKron as AutoKron, SearchWarning as SearchWarning, load as load
from .data import DataWarning as DataWarning, Edges as Edges, Pairs as Pairs
from .data.censored import censored as censored
from .data.lake.scan import ScannedEdges as ScannedEdges, scan_edges as scan_edges
from .data.lake.source import LakeError as LakeError
from .estimators import (
    KronLogistic as KronLogistic,
    KronRanker as KronRanker,
    KronRidge as KronRidge,
    KronSVM as KronSVM,
    ModelFileError as ModelFileError,
    from_svc as from_svc,
    score_lake as score_lake,
    suggest as suggest,
)
from .extensions import register as register
from .kernels import (
    Constant as Constant,
    Cosine as Cosine,
    Function as Function,
    Gaussian as Gaussian,
    Identity as Identity,
    KernelWarning as KernelWarning,
    Linear as Linear,
    MinMax as MinMax,
    Molecule as Molecule,
    Morgan as Morgan,
    On as On,
    Parts as Parts,
    Polynomial as Polynomial,
    Precomputed as Precomputed,
    Profile as Profile,
    Radial as Radial,
    SmithWaterman as SmithWaterman,
    Spectrum as Spectrum,
    Standardized as Standardized,
    Tanimoto as Tanimoto,
    pairwise as pairwise,
)
from .metrics import concordance_index as concordance_index, interaction_concordance as interaction_concordance
from .model_selection import (
    Calibrated as Calibrated,
    ClusterKFold as ClusterKFold,
    ConformalKron as ConformalKron,
    KernelComparison as KernelComparison,
    PartKFold as PartKFold,
    VertexKFold as VertexKFold,
    alpha_path as alpha_path,
    baselines as baselines,
    compare as compare,
    compare_kernels as compare_kernels,
    get_scorer as get_scorer,
    leave_out_predictions as leave_out_predictions,
    nested_score as nested_score,
    vertex_search as vertex_search,
    vertex_split as vertex_split,
)
from .operators import (
    ONES as ONES,
    KronOperator as KronOperator,
    KronSum as KronSum,
    LowRank as LowRank,
    Operator as Operator,
    Plan as Plan,
    Term as Term,
    kron as kron,
    kron_sum as kron_sum,
)
from .reports import report as report

__version__: str
