"""How figures of the gallery look: large letters, for a phone as well."""

from typing import Any

STYLE = {
    "font.size": 13.0,
    "axes.titlesize": 14.0,
    "figure.dpi": 100,
    "savefig.dpi": 100,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.constrained_layout.use": True,
}


def reset(gallery_conf: dict[str, Any], fname: str) -> None:
    """Set the style before each tutorial, and leave out warnings that a tutorial does not speak of."""
    import warnings

    import matplotlib

    import vectrick as vt

    matplotlib.rcParams.update(STYLE)
    warnings.formatwarning = lambda message, category, *where: f"{category.__name__}: {message}\n"
    warnings.simplefilter("ignore", vt.DataWarning)
