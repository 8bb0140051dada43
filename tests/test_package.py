"""The package as a whole: what an import costs, which names there are, and how long files are."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import vectrick as vt

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "vectrick"


def test_import_is_light():
    heavy = {"numba", "scipy", "numpy", "psutil", "sklearn", "narwhals"}
    code = f"import sys, vectrick; print(sorted({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_planning_a_dense_product_does_not_load_numba():
    product = "vt.kron(np.eye(3), np.eye(2)) @ np.ones(6)"
    code = f"import sys, numpy as np, vectrick as vt; {product}; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_public_names():
    assert set(dir(vt)) <= set(vt.__all__)  # and no helper of the package itself
    for name in vt.__all__:
        assert getattr(vt, name) is not None
    with pytest.raises(AttributeError, match="krom"):
        vt.krom  # noqa: B018


def test_every_file_says_its_subject_and_stays_short():
    for file in SOURCE.rglob("*.py"):
        assert ast.get_docstring(ast.parse(file.read_text())), f"{file.name} has no first line"
        assert len(file.read_text().splitlines()) <= 450, f"{file.name} has grown a second subject"
