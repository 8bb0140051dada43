"""The style of figures in the gallery: letters that are large enough for a phone."""

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
    """Set the style before each tutorial, and ignore data warnings that the tutorial does not discuss."""
    import warnings

    import matplotlib

    import vectrick as vt

    matplotlib.rcParams.update(STYLE)
    warnings.formatwarning = lambda message, category, *where: f"{category.__name__}: {message}\n"
    warnings.simplefilter("ignore", vt.DataWarning)
