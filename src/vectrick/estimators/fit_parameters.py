"""The result of a fit, and its parameters: fitted methods use them even after `set_params`."""

import copy
from typing import Any, Self

from vectrick.solvers import Solution
from vectrick.training.checks import check_finite_model

_OF_SOME = (  # attributes that some fits have
    "dual_coef_", "support_", "coef_", "components_", "kernel_weights_", "_dual_of_primal", "machines_", "plan_",
)  # fmt: skip
_HOW = ("backend", "device", "n_threads", "verbose")  # parameters of the computation, not of the result


def _copied(value: object) -> Any:
    """Return a copy of a parameter that later changes of kernels do not affect."""
    if isinstance(value, list | tuple):
        return type(value)(_copied(item) for item in value)
    if not hasattr(value, "get_params") or isinstance(value, type):
        return value
    copied = copy.copy(value)  # not a clone: the data of a custom kernel may be large, or impossible to copy
    for name, part in value.get_params(deep=False).items():
        setattr(copied, name, _copied(part))
    return copied


class FitParameters:
    """Keeps the parameters of the last fit of an estimator."""

    def _remember_parameters(self) -> None:
        """Keep the parameters of this fit: `set_params` is for the next fit, and must not change a fitted model."""
        estimator: Any = self
        given = estimator.get_params(deep=False).items()
        self._fitted_parameters = {name: _copied(value) for name, value in given if name not in _HOW}

    def _set_fitted(
        self,
        predictor: Any,
        solution: Solution,
        form: tuple[str, str],
        n_iter: int,
        history: dict[str, list[Any]],
        source: Any = None,
    ) -> None:
        """Set the attributes that all fits have and remove attributes of an earlier fit; raise if the result has NaN.

        ``form`` is the name of the form and the reason for it.
        """
        check_finite_model(solution, solution.intercept)
        self._remember_parameters()
        for name in _OF_SOME:
            self.__dict__.pop(name, None)
        self.predictor_, self._source = predictor, source
        self._known_edges = None if source is None else (source.start, source.end)
        self.solution_, self.intercept_ = solution, float(solution.intercept)
        self.n_iter_, self.history_ = n_iter, history
        self.form_, self.form_reason_ = form

    def _as_fitted(self) -> Self:
        """Return the model with the parameters that it was fitted with."""
        known = self.__dict__.get("_fitted_parameters", {})
        if all(getattr(self, name) is value for name, value in known.items()):
            return self
        model = copy.copy(self)
        model.__dict__.update(known)
        return model
