"""Checkpoint files: the state of a long fit, so that the same fit can continue."""

import os
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from vectrick._files import check_output
from vectrick._typing import Array, ArrayLike
from vectrick.data import EdgesLike
from vectrick.persistence.checkpoints import fingerprint
from vectrick.persistence.container import ModelFileError, read_container, write_container
from vectrick.training.fitted import Trainable
from vectrick.training.monitor import FitStep

_PAUSE = "60"  # seconds between checkpoints, unless VECTRICK_CHECKPOINT_SECONDS is set


class FitCheckpoint:
    """A file with the state of a long fit, so that the same fit can continue.

    Parameters
    ----------
    path : Path
        The file.
    resume : bool
        Whether to continue from the file, if it exists.
    force : bool
        Whether to replace an existing file if ``resume`` is false.
    resumed : callable
        Called with the iteration after which the fit continues.
    """

    def __init__(
        self, path: Path, resume: bool, force: bool, resumed: Callable[[int], None] = lambda iteration: None
    ) -> None:
        self.resumed = resumed
        self.path, self.resume = path, resume and path.exists()
        check_output(path, force or resume)
        self._key, self._written = "", time.perf_counter()
        self._last: FitStep | None = None  # the last step, if it is not written yet
        self._pause = float(os.environ.get("VECTRICK_CHECKPOINT_SECONDS", _PAUSE))

    def read(
        self, estimator: Trainable, X: EdgesLike, y: Array, validation: tuple[EdgesLike, ArrayLike] | None
    ) -> FitStep | None:
        """Return the step to continue from, or None; raise an error for a file of other data or options."""

        self._key = fingerprint("fit", type(estimator).__name__, estimator, X, y, list(validation or ()))
        if not self.resume:
            return None
        header, tensors = read_container(self.path, "checkpoint")
        if header.get("key") != self._key:
            raise ValueError(
                f"{self.path} is the checkpoint of a run with other data or options; remove or replace it to "
                "start again"
            )
        try:
            step = _checked_step(header["step"], tensors)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ModelFileError(f"{self.path} is damaged: {error}") from None
        self.resumed(step.iteration)
        return step

    def write(self, step: FitStep) -> None:
        """Write the state, unless it was written a moment ago."""
        if time.perf_counter() >= self._written + self._pause:
            self._write(step)
            self._last = None
        else:
            self._last = replace(step, x=np.array(step.x))

    def _write(self, step: FitStep) -> None:
        state = asdict(step)
        tensors = {"x": state.pop("x")}
        best = state.pop("best")
        if best is not None:
            tensors["best"] = best
        write_container(self.path, "checkpoint", {"key": self._key, "step": state}, tensors)
        self._written = time.perf_counter()

    def finish(self, interrupted: bool) -> None:
        """Write the last state of a fit that was interrupted; remove the file of one that is complete."""
        if not interrupted:
            self.path.unlink(missing_ok=True)
        elif self._last is not None:
            self._write(self._last)


def _checked_step(state: dict[str, Any], tensors: dict[str, Array]) -> FitStep:
    """Return the state in a checkpoint, or raise an error if it is not valid: the file is not trusted."""
    step = FitStep(**state, x=tensors["x"], best=tensors.get("best"))
    for name in ("iteration", "max_iter", "best_iteration"):
        if type(getattr(step, name)) is not int or not 0 <= getattr(step, name) < 2**53:
            raise ValueError(f"{name} is {getattr(step, name)!r}")
    for name in ("risk", "best_intercept", "best_score"):
        if type(getattr(step, name)) not in (int, float):
            raise ValueError(f"{name} is {getattr(step, name)!r}")
    lengths = set()
    for name, values in step.history.items():
        if not isinstance(values, list) or any(type(value) not in (int, float) for value in values):
            raise ValueError(f"{name!r} in its history is not a list of numbers")
        lengths.add(len(values))
    if lengths != {step.iteration} or not {"iteration", "risk", "seconds"} <= set(step.history):
        raise ValueError(f"its history does not have {step.iteration} iterations")
    for name, array in (("x", step.x), ("best", step.best)):
        if array is not None and (array.ndim != 1 or array.dtype.kind != "f" or not np.isfinite(array).all()):
            raise ValueError(f"{name} is not a vector of finite numbers")
    if step.best is not None and step.best.shape != step.x.shape:
        raise ValueError("best and x have different lengths")
    return step
