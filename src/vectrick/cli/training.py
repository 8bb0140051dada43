"""Training as the commands do it: hold out vertices, fit with progress, keep what is there when it is interrupted."""

import os
import time
import warnings
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vectrick._files import check_output
from vectrick._typing import Array
from vectrick.cli.output import Output

if TYPE_CHECKING:
    from vectrick.data.folder import Dataset
    from vectrick.estimators import FitStep


_TRIES = 20  # divisions of the vertices to try, where one leaves a part with one label only
_PAUSE = "60"  # seconds between checkpoints, unless VECTRICK_CHECKPOINT_SECONDS says otherwise


@dataclass(frozen=True)
class Holdout:
    """Which edges train, and which are held out, by what is new about them."""

    train: Array
    tests: dict[str, Array]  # "both", "start", "end": positions of edges that do not train; of one vertex set no "end"

    @property
    def n_left_out(self) -> int:
        """The number of edges with one held-out vertex."""
        return sum(len(rows) for new, rows in self.tests.items() if new != "both")


@dataclass
class Trained:
    """A fitted model beside the data, the held-out edges, their predictions, and how long it took."""

    model: Any
    data: "Dataset"
    y: Array
    holdout: Holdout | None
    scoring: str
    scores: dict[str, float] = field(default_factory=dict)
    predictions: dict[str, Array] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    history: dict[str, list[Any]] = field(default_factory=dict)
    is_refitted: bool = False  # on all edges, after the scores
    is_interrupted: bool = False  # so that something is missing

    @property
    def n_trained(self) -> int:
        """The number of edges that the model was trained on before it was validated."""
        return len(self.data.X) if self.holdout is None else len(self.holdout.train)


def hold_out(data: "Dataset", fraction: float, seed: int) -> Holdout:
    """Hold out a share of the vertices of each side, so that both parts have edges with different labels."""
    from vectrick.data import hold_out_vertices

    if not 0 < fraction < 1:
        raise ValueError(f"--validation-fraction is {fraction}, but it must be between 0 and 1")
    X, y = data.X, data.y
    needed = max(2, len(data.classes or ()))
    for attempt in range(_TRIES):
        train, both = hold_out_vertices(X, fraction, np.random.default_rng([seed, attempt]))
        if min(len(np.unique(y[train])), len(np.unique(y[both]))) >= needed:
            break
    else:
        lack = "with one label only" if needed == 2 else f"without one of the {needed} classes"
        raise ValueError(
            f"--validation-fraction is {fraction}, but {_TRIES} divisions of the vertices all left a part {lack}; "
            "choose another fraction, or --no-early-stopping"
        )
    known_start, known_end = (
        np.isin(np.arange(len(table)), vertices[train])
        for table, vertices in ((X.start_table, X.start), (X.end_table, X.end))
    )
    if X.is_one_set:
        known_start = known_end = known_start | known_end
    old_start, old_end, rest = known_start[X.start], known_end[X.end], ~train & ~both
    tests = {"both": both, "start": rest & ~old_start & old_end, "end": rest & old_start & ~old_end}
    if X.is_one_set:  # whose edges have one new vertex or the other: one setting
        tests = {"both": both, "start": tests["start"] | tests["end"]}
    return Holdout(np.flatnonzero(train), {new: np.flatnonzero(mask) for new, mask in tests.items()})


def train(
    estimator: Any,
    data: "Dataset",
    holdout: Holdout | None,
    out: Output,
    checkpoint: "Checkpoint | None" = None,
    keep_interrupted: bool = False,
) -> Trained:
    """Fit with a progress bar, and score the held-out edges; Ctrl-C keeps the best model so far, if that is wanted."""
    X, y, validation = data.X, data.y, None
    rows = np.arange(len(X)) if holdout is None else holdout.train
    if holdout is not None and estimator.early_stopping:
        validation = X[holdout.tests["both"]], y[holdout.tests["both"]]
    begin = time.perf_counter()
    resume = None if checkpoint is None else checkpoint.read(estimator, X[rows], y[rows], validation)
    if resume is not None:
        out.note(f"going on after iteration {resume.iteration}")
    score_name = estimator._auto_scoring(y) if estimator.scoring == "auto" else estimator.scoring
    with out.progress("training", None) as bar:

        def told(step: "FitStep") -> None:
            bar.total = step.max_iter
            score = step.history.get("score")
            text = f"iteration {step.iteration} of at most {step.max_iter}, risk {step.risk:.5g}"
            bar.step(step.iteration, text + (f", {score_name} {score[-1]:.4f}" if score else ""))
            if checkpoint is not None:
                checkpoint.write(step)

        watch: dict[str, Any] = {"callback": told, "keep_interrupted": keep_interrupted, "resume": resume}
        model = estimator.fit(X[rows], y[rows], validation=validation, **watch)
    model._known_edges = X.start, X.end  # also those that were held out
    made = Trained(model, data, y, holdout, score_name, history=model.history_)
    made.is_interrupted = str(model.solution_.reason).startswith("interrupted")
    made.seconds["training"] = time.perf_counter() - begin
    if holdout is not None:
        try:
            _judge(made, holdout)
        except KeyboardInterrupt:
            if not keep_interrupted:
                raise
            made.is_interrupted = True
    return made


def train_on_all(trained: Trained, out: Output) -> None:
    """Put a model in the place of the trained one that makes as many iterations on all edges."""
    from sklearn.exceptions import ConvergenceWarning

    from vectrick.model_selection.nested import with_iterations

    model = trained.model
    begin = time.perf_counter()
    out.note(f"training on all edges for {model.n_iter_} iterations")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the number of iterations was chosen
            trained.model = with_iterations(model, model.alpha, model.n_iter_).fit(trained.data.X, trained.y)
    except KeyboardInterrupt:  # the model that was validated is still there
        trained.is_interrupted = True
        return
    trained.is_refitted = True
    trained.seconds["training on all edges"] = time.perf_counter() - begin


def _judge(made: Trained, holdout: Holdout) -> None:
    """Score the model on the held-out edges of each setting that has different labels."""
    from vectrick.model_selection.pairs import Pairs
    from vectrick.model_selection.scorers import get_scorer, predictions

    scorer, begin = get_scorer(made.scoring), time.perf_counter()
    for new, rows in holdout.tests.items():
        if len(np.unique(made.y[rows])) < 2:
            continue
        edges = made.data.X[rows]
        made.predictions[new] = predictions(made.model, edges)
        classes = getattr(made.model, "classes_", None)
        made.scores[new] = scorer.score(made.y[rows], made.predictions[new], Pairs.of(edges), classes)
    made.seconds["predicting"] = time.perf_counter() - begin


class Checkpoint:
    """A file with the state of a long fit, for the same fit to go on from.

    Parameters
    ----------
    path : Path
        The file.
    resume : bool
        Whether to go on from it, where it is there.
    force : bool
        Whether to replace it otherwise.
    """

    def __init__(self, path: Path, resume: bool, force: bool) -> None:
        self.path, self.resume = path, resume and path.exists()
        check_output(path, force or resume)
        self._key, self._written = "", time.perf_counter()
        self._last: FitStep | None = None  # what is not written yet
        self._pause = float(os.environ.get("VECTRICK_CHECKPOINT_SECONDS", _PAUSE))

    def read(self, estimator: Any, X: Any, y: Array, validation: Any) -> "FitStep | None":
        """Return the step to go on from, if there is one; a file of other data or options is refused."""
        from vectrick.model_selection.finished import fingerprint
        from vectrick.models.files.container import ModelFileError, read_container

        self._key = fingerprint("fit", type(estimator).__name__, estimator, X, y, list(validation or ()))
        if not self.resume:
            return None
        header, tensors = read_container(self.path, "checkpoint")
        if header.get("key") != self._key:
            raise ValueError(
                f"{self.path} is the checkpoint of a run with other data or options; --force "
                "without --resume starts anew"
            )
        try:
            return _checked_step(header["step"], tensors)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ModelFileError(f"{self.path} is damaged: {error}") from None

    def write(self, step: "FitStep") -> None:
        """Write the state, unless it was written a moment ago."""
        if time.perf_counter() >= self._written + self._pause:
            self._write(step)
            self._last = None
        else:
            self._last = replace(step, x=np.array(step.x))

    def _write(self, step: "FitStep") -> None:
        from vectrick.models.files.container import write_container

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


def _checked_step(state: dict[str, Any], tensors: dict[str, Array]) -> "FitStep":
    """Return the state that a checkpoint holds, or say what is no part of one: the file may be anybody's."""
    from vectrick.estimators import FitStep

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
            raise ValueError(f"its history has {name!r}, which is no list of numbers")
        lengths.add(len(values))
    if lengths != {step.iteration} or not {"iteration", "risk", "seconds"} <= set(step.history):
        raise ValueError(f"its history is not that of {step.iteration} iterations")
    for name, array in (("x", step.x), ("best", step.best)):
        if array is not None and (array.ndim != 1 or array.dtype.kind != "f" or not np.isfinite(array).all()):
            raise ValueError(f"{name} is no vector of finite numbers")
    if step.best is not None and step.best.shape != step.x.shape:
        raise ValueError("best has another length than x")
    return step
