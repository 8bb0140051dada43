"""The parameters of a fit: fitted methods use them, whatever `set_params` set since."""

import copy
from typing import Any, Self

_HOW = ("backend", "device", "n_threads", "verbose")  # parameters of how to compute, not of what


def _copied(value: Any) -> Any:
    """Return a parameter that later changes of kernels do not reach."""
    if isinstance(value, list | tuple):
        return type(value)(_copied(item) for item in value)
    if not hasattr(value, "get_params") or isinstance(value, type):
        return value
    copied = copy.copy(value)  # not a clone: what an own kernel holds may be large, or impossible to copy
    for name, part in value.get_params(deep=False).items():
        setattr(copied, name, _copied(part))
    return copied


class FitParameters:
    """Keeps the parameters of the last fit of an estimator."""

    def _remember_parameters(self) -> None:
        """Keep the parameters of this fit: `set_params` is for the next one, and must not change a fitted model."""
        estimator: Any = self
        given = estimator.get_params(deep=False).items()
        self._fitted_parameters = {name: _copied(value) for name, value in given if name not in _HOW}

    def _as_fitted(self) -> Self:
        """Return the model with the parameters that it was fitted with."""
        known = self.__dict__.get("_fitted_parameters", {})
        if all(getattr(self, name) is value for name, value in known.items()):
            return self
        model = copy.copy(self)
        model.__dict__.update(known)
        return model
