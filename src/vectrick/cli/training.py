"""Training as the commands do it: with options for holding out vertices, and a progress bar."""

from typing import TYPE_CHECKING, Any

from vectrick.cli.output import Output

if TYPE_CHECKING:
    from vectrick.data.folder import Dataset
    from vectrick.estimators import FitStep
    from vectrick.model_selection.fit_checkpoint import FitCheckpoint
    from vectrick.model_selection.holdout import Holdout
    from vectrick.model_selection.trained import Trained


def hold_out(data: "Dataset", fraction: float, seed: int) -> "Holdout":
    """Hold out a share of the vertices of each side, in the words of the option that asks for it."""
    from vectrick.data.splits import TooFewLabelsError
    from vectrick.model_selection.holdout import hold_out

    needed = max(2, len(data.class_names))
    try:
        return hold_out(data.X, data.y, fraction, seed, needed)
    except TooFewLabelsError as error:
        lack = "with one label only" if needed == 2 else f"without one of the {needed} classes"
        raise ValueError(
            f"--validation-fraction is {fraction}, but {error.n_tries} divisions of the vertices all left a part "
            f"{lack}; choose another fraction, or --no-early-stopping"
        ) from None


def train(
    out: Output,
    estimator: Any,
    data: "Dataset",
    holdout: "Holdout | None",
    checkpoint: "FitCheckpoint | None" = None,
    keep_interrupted: bool = False,
) -> "Trained":
    """Fit with a progress bar, and score the held-out edges; Ctrl-C keeps the best model so far, if that is wanted."""
    from vectrick.model_selection.trained import scoring_of, train

    scoring = scoring_of(estimator, data.y)
    with out.progress("training", None) as bar:

        def told(step: "FitStep") -> None:
            bar.total = step.max_iter
            score = step.history.get("score")
            text = f"iteration {step.iteration} of at most {step.max_iter}, risk {step.risk:.5g}"
            bar.step(step.iteration, text + (f", {scoring} {score[-1]:.4f}" if score else ""))

        return train(estimator, data, holdout, callback=told, checkpoint=checkpoint, keep_interrupted=keep_interrupted)
