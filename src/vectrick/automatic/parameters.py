"""The parameters of `AutoKron` that a search reads."""

from typing import Protocol

from vectrick._typing import NewOrAll, RandomState
from vectrick.backends import Backend
from vectrick.models.kernel_spec import VertexKernels


class SearchParameters(Protocol):
    """An `AutoKron`, as its search sees it; `AutoKron` describes the parameters."""

    new: NewOrAll
    loss: str
    budget: float | None
    n_best: int
    start_kernel: VertexKernels
    end_kernel: VertexKernels
    pairwise: str
    thorough: bool
    alpha: float | None
    scoring: str
    backend: str | Backend
    device: str | None
    n_threads: int | None
    verbose: int
    random_state: RandomState
