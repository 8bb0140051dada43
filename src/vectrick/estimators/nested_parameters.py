"""Parameters within lists of kernels, as ``start_kernel__0__gamma``, for `get_params` and `set_params`."""

import re
from typing import Any, Self

from sklearn.base import BaseEstimator

from vectrick.kernels import as_kernel
from vectrick.kernels.pairwise import as_pairwise

_LISTS = ("start_kernel", "end_kernel", "pairwise")
_NAME = re.compile(rf"({'|'.join(_LISTS)})__(\d+)__(.+)")


class NestedParameters(BaseEstimator):
    """Parameters as in scikit-learn, also of kernels in lists, numbered by position."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; ``deep`` includes the parameters of kernels, also of kernels in lists."""
        params: dict[str, Any] = super().get_params(deep)
        for name in _LISTS if deep else ():
            value = params.get(name)
            for number, item in enumerate(value if isinstance(value, list | tuple) else ()):
                if hasattr(kernel := _kernel_of(item), "get_params"):
                    params |= {f"{name}__{number}__{key}": inner for key, inner in kernel.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also of kernels: ``start_kernel__gamma``, or ``start_kernel__0__gamma`` in a list."""
        plain = {name: value for name, value in params.items() if "__" not in name}
        super().set_params(**plain)  # first, so that the rest applies to the new kernels
        within = {name: match for name in params if (match := _NAME.fullmatch(name))}
        for name in params:
            parameter = name.partition("__")[0]
            if name not in plain and name not in within and isinstance(getattr(self, parameter, None), str):
                setattr(self, parameter, _as_object(getattr(self, parameter), parameter))
        super().set_params(**{name: value for name, value in params.items() if name not in (*plain, *within)})
        for name, match in within.items():
            given, number = getattr(self, match[1]), int(match[2])
            if not isinstance(given, list | tuple) or number >= len(given):
                raise ValueError(f"{name} is set, but {match[1]} is {given!r}, which has no kernel {number}")
            kernel = _kernel_of(given[number])
            if isinstance(kernel, str):
                kernel = _as_object(kernel, match[1])
                setattr(self, match[1], _with_kernel(given, number, kernel))
            if not hasattr(kernel, "set_params"):
                raise ValueError(f"{name} is set, but {match[1]}[{number}] is {kernel!r}; give a kernel object")
            kernel.set_params(**{match[3]: params[name]})
        return self


def _as_object(name: str, parameter: str) -> Any:
    """Return the kernel with this name, so that its parameters can be set; return other strings unchanged."""
    if parameter == "pairwise":
        return as_pairwise(name)
    return as_kernel(name, parameter) if parameter in _LISTS else name


def _with_kernel(given: Any, number: int, kernel: Any) -> Any:
    """Return a list of kernels with one kernel replaced; its weight stays the same."""
    old = given[number]
    new = (kernel, *old[1:]) if isinstance(old, list | tuple) else kernel
    return type(given)([new if i == number else item for i, item in enumerate(given)])


def _kernel_of(item: object) -> Any:
    """Return a kernel without its weight."""
    return item[0] if isinstance(item, list | tuple) and item else item
