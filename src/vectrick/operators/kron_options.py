"""The options of ``kron``: path, threads, memory and backend."""

from dataclasses import dataclass, replace

from vectrick.backends import HOST, Backend
from vectrick.backends.product_path import mirrored


@dataclass(frozen=True)
class KronOptions:
    """The options that the caller gave."""

    path: str
    n_threads: int | None
    max_memory: int | float | str | None
    once: bool = False
    must: bool = True  # whether the path is required, or used only if it applies
    backend: Backend = HOST
    fast: bool = False

    @property
    def transposed(self) -> "KronOptions":
        """The options for the transpose; a path through a sparse factor may have no mirror image."""
        return replace(self, path=mirrored(self.path), must=False)
