"""What pytest leaves out where a package of an extra is missing: the examples in files that need it."""

import os
from importlib.util import find_spec

_NEEDS = {
    "rdkit": [
        "src/vectrick/data/strings/molecules.py",
        "src/vectrick/kernels/strings/morgan.py",
        "src/vectrick/kernels/strings/molecule.py",
    ],
    "parasail": ["src/vectrick/kernels/strings/smith_waterman.py"],
    "matplotlib": [f"src/vectrick/plot/{name}.py" for name in ("__init__", "curves", "pictures")],
    "plotly": ["src/vectrick/reports/fitted.py"],
}
collect_ignore = [path for package, paths in _NEEDS.items() if find_spec(package) is None for path in paths]
os.environ["MPLBACKEND"] = "agg"  # no windows
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # tests run side by side, and would slow each other
