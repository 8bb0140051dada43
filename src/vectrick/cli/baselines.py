"""Baselines on the command line: their names, and a comparison with a trained model."""

from typing import TYPE_CHECKING, Any

from vectrick.cli.output import Output

if TYPE_CHECKING:
    from vectrick.model_selection.trained import Trained

QUICK = "boosted trees,vertex mean"
HELP = (
    "Methods to compare with: none, all, or some of 'SGD hinge', 'SGD logistic', 'KNN', 'LIBSVM', 'boosted trees', "
    "'vertex mean', separated by commas."
)


def named_baselines(text: str) -> dict[str, Any]:
    """Return the baselines that an option names."""
    import vectrick as vt

    known = vt.baselines()
    if text in ("none", "all"):
        return known if text == "all" else {}
    return {name: known[name] for name in some_of(text, "--baselines", list(known))}


def some_of(text: str, option: str, allowed: list[str]) -> list[str]:
    """Return the names in a list with commas; raise if a name is not allowed."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in allowed:
            raise ValueError(f"{option} has {name!r}, but it must be some of {', '.join(allowed)}")
    if not names:
        raise ValueError(f"{option} is empty, but it must be some of {', '.join(allowed)}")
    return names


def beside_baselines(trained: "Trained", others: dict[str, Any], out: Output) -> Any:
    """Run the library's function of this name with a progress bar, and warn of baselines that fail."""
    from vectrick.model_selection.baselines.beside_baselines import beside_baselines as run

    with out.progress("baselines", len(others)) as bar:
        return run(
            trained,
            others,
            done=bar.step,
            failed=lambda name, error: out.warn(f"the baseline {name!r} failed: {error}"),
        )
