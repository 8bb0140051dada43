"""The package as a whole: what an import costs, how long files are, and that the README and the pages run."""

import ast
import re
import subprocess
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

import pytest

import vectrick as vt
from tests.data import folder_of
from tests.extensions import registries_restored

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
    assert set(vt.__all__) <= set(dir(vt))
    for name in vt.__all__:
        assert getattr(vt, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'krom'"):
        vt.krom  # noqa: B018


def test_every_file_says_its_subject_and_stays_short():
    for file in SOURCE.rglob("*.py"):
        assert ast.get_docstring(ast.parse(file.read_text())), f"{file.name} has no first line"
        assert len(file.read_text().splitlines()) <= 450, f"{file.name} has grown a second subject"


@pytest.mark.slow
def test_the_examples_of_the_readme_run(capsys):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len(blocks) == 3
    first = {}
    exec(blocks[0], first)
    assert len(blocks[0].strip().splitlines()) == 10
    assert float(capsys.readouterr().out) > 0.735
    assert first["ends"].shape == (1000, 5)
    for block in blocks[1:]:
        exec(block, {})


def examples(with_data):
    """Return the examples of the pages, those that read the real data, or the others."""
    pages = [page.read_text() for page in sorted((ROOT / "docs").glob("*.md"))]
    blocks = [block for page in pages for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL)]
    return [block for block in blocks if ("VECTRICK_DATA" in block) == with_data]


@pytest.mark.slow
def test_the_examples_with_real_data_run(capsys, monkeypatch):
    monkeypatch.setenv("VECTRICK_DATA", str(folder_of("gdsc").parent))
    (story,) = examples(with_data=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", vt.KernelWarning)
        exec(story, {"__name__": "page"})
    scores = re.findall(r"R² (\d\.\d+)", capsys.readouterr().out)
    assert float(scores[1]) > float(scores[0]) + 0.1  # it rises with what was measured


def test_the_examples_of_the_pages_run(capsys):
    for block in examples(with_data=False):
        if find_spec("rdkit") is None and "vt.Morgan" in block:
            continue  # which the extra vectrick[molecules] is for
        with registries_restored():
            exec(block, {"__name__": "page"})
    assert "movie" not in capsys.readouterr().out  # a frame of ids, without the names of the columns that they had
