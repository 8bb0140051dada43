"""The package as a whole: what an import costs, which layer may know which, and that the demo runs."""

import ast
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import vectrick as vt

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "vectrick"
# From the top down, as in the design; an import only ever points down this list, or stays within its line.
LAYERS = [
    ["testing"],
    ["estimators"],
    ["solvers"],  # uses the losses beside it
    ["losses", "metrics"],
    ["kernels"],
    ["operators"],
    ["backends"],
    ["datasets"],
    ["data"],
    ["_version"],
]


def test_import_is_light():
    code = "import sys, vectrick; print(sorted({'numba', 'scipy', 'numpy', 'psutil'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_planning_a_dense_product_does_not_load_numba():
    product = "vt.kron(np.eye(3), np.eye(2)) @ np.ones(6)"
    code = f"import sys, numpy as np, vectrick as vt; {product}; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_public_names():
    assert set(vt.__all__) <= set(dir(vt))
    for name in vt.__all__:
        assert getattr(vt, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'krom'"):
        vt.krom  # noqa: B018


def imports_of(file):
    for node in ast.walk(ast.parse(file.read_text())):
        names = [node.module] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        yield from (name.split(".")[1] for name in names if name and name.startswith("vectrick."))


def test_imports_point_down():
    rank = {name: number for number, layer in enumerate(LAYERS) for name in layer}
    for file in SOURCE.rglob("*.py"):
        layer = file.relative_to(SOURCE).parts[0].removesuffix(".py")
        if layer == "__init__":
            continue
        for other in imports_of(file):
            assert rank[other] >= rank[layer], f"{file.name} imports vectrick.{other}"


def test_every_file_says_its_subject_and_stays_short():
    for file in SOURCE.rglob("*.py"):
        assert ast.get_docstring(ast.parse(file.read_text())), f"{file.name} has no first line"
        assert len(file.read_text().splitlines()) <= 450, f"{file.name} has grown a second subject"


def test_demo(capsys, monkeypatch):
    demo = runpy.run_path(str(ROOT / "examples" / "demo.py"))
    row = demo["compare"](60)
    assert row[:2] == ["60 × 60", "900"]
    assert float(row[-1]) < 1e-12
