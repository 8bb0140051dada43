"""Training on the command line: hold out vertices, and fit with a progress bar."""

from typing import TYPE_CHECKING, Any

from vectrick.cli.output import Bar, Output

if TYPE_CHECKING:
    from vectrick.data.files.dataset import Dataset
    from vectrick.estimators import FitStep, FittedModel
    from vectrick.model_selection.splitting.holdout import Holdout
    from vectrick.model_selection.trained import Trained
    from vectrick.persistence.fit_checkpoint import FitCheckpoint


def hold_out(data: "Dataset", fraction: float, seed: int) -> "Holdout":
    """Hold out a share of the vertices of each side; errors name the command-line option."""
    from vectrick.data.splits import TooFewLabelsError
    from vectrick.model_selection.splitting.holdout import hold_out

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
    estimator: "FittedModel",
    data: "Dataset",
    holdout: "Holdout | None",
    checkpoint: "FitCheckpoint | None" = None,
    keep_interrupted: bool = False,
) -> "Trained":
    """Fit with a progress bar, and score the held-out edges; Ctrl-C can keep the best model so far."""
    from vectrick.model_selection.trained import scoring_of, train

    scoring = scoring_of(estimator, data.y)
    with out.progress("training", None) as bar:

        def on_step(step: "FitStep") -> None:
            show_step(bar, step, scoring)

        return train(
            estimator, data, holdout, callback=on_step, checkpoint=checkpoint, keep_interrupted=keep_interrupted
        )


def show_step(bar: Bar, step: "FitStep", scoring: str) -> None:
    """Show an iteration of a fit."""
    bar.total = step.max_iter
    score = step.history.get("score")
    text = f"iteration {step.iteration} of at most {step.max_iter}, risk {step.risk:.5g}"
    bar.step(step.iteration, text + (f", {scoring} {score[-1]:.4f}" if score else ""))


def result_of(trained: "Trained") -> dict[str, Any]:
    """Return the part of the JSON result that all fits share."""
    model, data = trained.model, trained.data
    return {
        "estimator": type(model).__name__,
        "parameters": shown_parameters(model),
        "edges": len(data.X),
        "trained_edges": len(data.X) if trained.is_refitted else trained.n_trained,
        "positive": data.class_names[1] if data.is_binary else None,
        "classes": data.classes,
        "iterations": model.n_iter_,
        "converged": model.solution_.converged,
        "reason": model.solution_.reason,
        "form": model.form_,
        "scoring": trained.scoring,
        "scores": dict(trained.scores),
    }


def shown_parameters(model: "FittedModel") -> dict[str, Any]:
    """Return the parameters of a model, with kernels as text."""
    from vectrick.kernels.text import format_kernel

    return {
        name: format_kernel(value) if name.endswith("_kernel") and not isinstance(value, str) else value
        for name, value in model.get_params(deep=False).items()
    }
