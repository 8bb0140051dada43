"""Searches on the command line: an `AutoKron` with a progress bar, and a summary of its result."""

from typing import TYPE_CHECKING, Any

from vectrick.cli.output import Output

if TYPE_CHECKING:
    from vectrick.data.files.dataset import Dataset
    from vectrick.estimators import FittedModel
    from vectrick.model_selection.trained import Trained


def train_automatic(out: Output, estimator: "FittedModel", data: "Dataset") -> "Trained":
    """Search and train with a progress bar; Ctrl-C during the search keeps the best so far."""
    from vectrick.automatic.trained import train_automatic

    with out.library_progress("searching"):
        return train_automatic(estimator, data)


def beside_baselines_inside(trained: "Trained", others: dict[str, Any], out: Output) -> Any:
    """Run the library's function of this name with a progress bar; on large data, baselines train on some edges."""
    from vectrick.automatic.trained import beside_baselines_inside as run, compared_folds
    from vectrick.model_selection.baselines.beside_baselines import limited

    folds = compared_folds(trained)
    if not folds:
        return None
    with out.progress("baselines", len(others) * len(folds)) as bar:
        return run(trained, limited(others, trained.data.X[folds[0].train]), done=bar.step)


def summarise_search(out: Output, trained: "Trained") -> None:
    """Print the chosen model, its score and the spread of the score."""
    from vectrick.cli.training import result_of

    model, data = trained.model, trained.data
    members = [] if hasattr(model, "machines_") else members_of(model)
    out.result |= {
        **result_of(trained),
        "new": model.new,
        "score": model.score_,
        "spread": model.spread_,
        "folds": model.folds_,
        "members": members,
        "candidates": len(model.search_),
        "notes": model.told_,
        "computed_on": model.predictor_.backend.place,
    }
    for line in str(model).splitlines():
        out.say(line)
    if data.is_binary:
        share = float((trained.y == trained.y.max()).mean())
        negative, positive = data.class_names
        out.say(f"positive label: {positive} ({100 * share:.3g} % of the edges), the other: {negative}")
    out.say(f"trained on all {len(data.X)} edges; vectrick evaluate tests the whole search on unseen vertices")


def members_of(model: "FittedModel") -> list[dict[str, Any]]:
    """Return the members of a model with their parameters, weights and scores."""
    from vectrick.kernels.text import format_kernel

    rows = model.search_[model.search_["member"]]
    return [
        {
            "estimator": type(member).__name__,
            "start_kernel": format_kernel(member.start_kernel),
            "end_kernel": format_kernel(member.end_kernel),
            "pairwise": member.pairwise,
            "alpha": float(member.alpha),
            "weight": float(weight),
            "score": float(row.score),
            "spread": float(row.spread),
        }
        for member, weight, row in zip(model.members_, model.weights_, rows.itertuples(), strict=True)
    ]
