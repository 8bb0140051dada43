"""The names that a file may use: kernels and pairwise kernels that are registered in this process."""

from typing import Any

from vectrick.kernels import KERNELS, Kernel
from vectrick.kernels.pairwise import PAIRWISE, PairwiseKernel


class UnknownNameError(ValueError):
    """A file contains a name that is not registered."""

    def __init__(self, family: str, name: Any) -> None:
        super().__init__(
            f"it names the {family} {name!r}, but this is not registered; if it is your own, register its class with "
            "vt.register before you load the model"
        )


def kernel_called(name: Any) -> type[Kernel]:
    """Return the class of a kernel that a file names."""
    kind = KERNELS.called(name)
    if kind is None:
        raise UnknownNameError("kernel", name)
    return kind


def pairwise_called(name: Any) -> type[PairwiseKernel]:
    """Return the class of a pairwise kernel that a file names."""
    if name not in PAIRWISE:
        raise UnknownNameError("pairwise kernel", name)
    return PAIRWISE[name]
