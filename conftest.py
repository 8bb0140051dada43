"""What pytest leaves out where a package of an extra is missing: the examples in files that need it."""

from importlib.util import find_spec

_NEEDS = {
    "rdkit": ["src/vectrick/data/molecules.py", "src/vectrick/kernels/morgan.py"],
    "parasail": ["src/vectrick/kernels/smith_waterman.py"],
}
collect_ignore = [path for package, paths in _NEEDS.items() if find_spec(package) is None for path in paths]
