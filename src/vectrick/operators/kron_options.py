"""What the caller of ``kron`` asked for: path, threads, memory, and where to compute."""

from dataclasses import dataclass, replace

from vectrick.backends import HOST, Backend
from vectrick.backends.product_path import mirrored


@dataclass(frozen=True)
class KronOptions:
    """What the caller asked for."""

    path: str
    n_threads: int | None
    max_memory: int | float | str | None
    once: bool = False
    must: bool = True  # take the path, or take it only where it applies
    backend: Backend = HOST
    fast: bool = False

    @property
    def transposed(self) -> "KronOptions":
        """The options for the transpose; a path through a sparse factor need not have a mirror image."""
        return replace(self, path=mirrored(self.path), must=False)
