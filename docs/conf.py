"""The Sphinx configuration: ``make docs`` builds the site from pages, docstrings, the gallery and result files."""

import os
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]  # our own extensions, and the packages benchmarks and experiments
os.environ["MPLBACKEND"] = "agg"

import vectrick  # noqa: E402

project = "vectrick"
author = "the vectrick developers"
project_copyright = "2026, the vectrick developers"
release = version = vectrick.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
    "sphinx_design",
    "mathml",
    "commands",
    "tuned_numbers",
    "numbers_pages",
    "recorded",
]
exclude_patterns = ["_build", "gallery", "recorded", "_ext", "**/sg_execution_times.rst", "sg_execution_times.rst"]
smartquotes = False  # two hyphens start an option
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
suppress_warnings = ["config.cache"]  # the functions in the gallery's configuration cannot be pickled

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "attrs_inline"]
myst_heading_anchors = 3

templates_path = ["_templates"]
default_role = "py:obj"
autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the parameter lists show types; thirty of them make a signature unreadable
autodoc_default_options = {"exclude-members": "set_fit_request, set_score_request, set_predict_request"}
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False
html_math_renderer = "mathml"

html_theme = "pydata_sphinx_theme"
html_title = "vectrick"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "vectrick"},
    "navbar_align": "left",
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "header_links_before_dropdown": 7,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "changes": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "tutorials",
    "filename_pattern": r"/\d\d_\w+\.py",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "min_reported_time": 0,
    "abort_on_example_error": True,
    "ignore_repr_types": r"matplotlib|list",  # the results of drawing calls
    "reset_modules": ("matplotlib", "figures.reset"),
    "image_srcset": ["2x"],
    "default_thumb_file": str(HERE / "_static" / "logo.png"),
    "plot_gallery": True,
    "write_computation_times": False,
}


def skip_foreign(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Omit methods documented by scikit-learn or SciPy, except ``get_params`` and ``set_params``."""
    module = getattr(member, "__module__", None) or ""
    foreign = module.partition(".")[0] in ("sklearn", "scipy", "abc") and name not in ("get_params", "set_params")
    return True if foreign else None


def setup(app: Any) -> None:
    """Connect the function above."""
    app.connect("autodoc-skip-member", skip_foreign)
