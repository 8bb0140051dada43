"""What is published: the wheel has the package and nothing else, the sdist can be tested, both say what they are."""

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

import vectrick as vt

pytest.importorskip("build", reason="wheel and sdist need the package build")
pytest.importorskip("hatch_fancy_pypi_readme", reason="wheel and sdist need hatchling and hatch-fancy-pypi-readme")
pytestmark = pytest.mark.slow
ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """Build both without network, with the hatchling that is installed."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(dist):
    (path,) = dist.glob("*.whl")
    return path


def test_the_wheel_has_the_package_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    about = f"vectrick-{vt.__version__}.dist-info"
    assert {name.partition("/")[0] for name in names} == {"vectrick", about}
    for asset in ("page.html", "script.js", "style.css"):
        assert f"vectrick/reports/assets/{asset}" in names
    assert "vectrick/py.typed" in names
    assert f"{about}/licenses/LICENSE" in names
    inside = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*.py")}
    assert {name for name in names if name.endswith(".py")} == inside
    assert not [name for name in names if "test_" in name or "/results/" in name or name.endswith((".csv", ".vt"))]
    assert wheel.stat().st_size < 1_500_000


def test_its_metadata_say_what_it_is(wheel):
    about = message_from_bytes(zipfile.ZipFile(wheel).read(f"vectrick-{vt.__version__}.dist-info/METADATA"))
    assert about["Version"] == vt.__version__
    assert about["Requires-Python"] == ">=3.11"
    assert {"Documentation", "Source", "Changelog", "Issues"} <= {
        line.partition(",")[0] for line in about.get_all("Project-URL")
    }
    assert "Typing :: Typed" in about.get_all("Classifier")
    links = re.findall(r"\]\(([^)]+)\)", about.get_payload())
    assert len(links) > 10
    assert all(link.startswith("https://") for link in links)  # the page of the package has no files of the repository
    assert {"report", "plot", "torch", "dask", "molecules"} <= set(about.get_all("Provides-Extra"))


def test_the_sdist_can_be_tested(dist):
    (path,) = dist.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {
        "tests/conftest.py", "conftest.py", "pyproject.toml", "Makefile", "CITATION.cff", "SECURITY.md", "CHANGELOG.md",
        "docs/conf.py", "docs/gallery/01_drug_target.py", "benchmarks/results/products.json",
    }  # fmt: skip
    assert wanted <= names
    assert not [name for name in names if name.startswith(("docs/_build", "docs/tutorials", ".venv"))]


def test_twine_is_content(dist):
    pytest.importorskip("twine")
    files = [str(path) for path in dist.iterdir()]
    done = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", *files], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_what_is_in_the_wheel_works(wheel, tmp_path):
    """Unpacked elsewhere, with the dependencies of this environment."""
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    how = {"env": {**os.environ, "PYTHONPATH": str(tmp_path / "site")}, "cwd": tmp_path, "capture_output": True}
    code = "import vectrick; print(vectrick.__file__)"
    where = subprocess.run([sys.executable, "-c", code], text=True, check=True, **how)
    assert str(tmp_path) in where.stdout
    done = subprocess.run([sys.executable, "-m", "vectrick", "demo", "--small"], text=True, check=False, **how)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "vectrick_demo.html").stat().st_size > 1_000_000


def test_types_help_those_who_use_it(tmp_path):
    """mypy knows the names, the parameters and the results of a program that imports the package."""
    (tmp_path / "program.py").write_text(
        "import numpy as np\n"
        "import vectrick as vt\n"
        "X = vt.Edges([0], [0], np.eye(1), np.eye(1))\n"
        "model = vt.KronRidge(vt.Gaussian(gamma=1.0), alpha=1.0).fit(X, [1.0])\n"
        "reveal_type(model)\n"
        "reveal_type(vt.vertex_split(X))\n"
        "vt.KronRidge(alhpa=1.0)\n"
        "vt.no_such_name\n"
    )
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--no-incremental",
        "--config-file",
        os.devnull,
        "--follow-imports",
        "silent",
    ]
    done = subprocess.run([*command, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert 'Revealed type is "vectrick.estimators.ridge.KronRidge"' in done.stdout
    assert "VertexSplit" in done.stdout
    assert 'Unexpected keyword argument "alhpa"' in done.stdout
    assert "no_such_name" in done.stdout


def test_the_citation_is_that_of_this_version():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {vt.__version__}\n" in text
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## {vt.__version__} (" in changes
