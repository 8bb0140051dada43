"""What the pages say is true: their code and commands run, and names, options, files and figures exist."""

import inspect
import re
import shlex
import subprocess
import sys
import tomllib
import warnings
from importlib.util import find_spec
from pathlib import Path

import pytest
from benchmarks import tables

import vectrick as vt
from tests.data import folder_of
from tests.extensions import registries_restored
from tests.site import sandbox
from vectrick import testing

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
MADE = ("_build", "numbers", "tutorials", "generated", "recorded")  # by the build
PAGES = sorted(page for page in DOCS.rglob("*.md") if not set(MADE) & set(page.parts) and page.name != "commands.md")
PROSE = [
    *PAGES,
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    *sorted((DOCS / "gallery").glob("*.py")),
]
NOT_RUN = ("pip install", "make ")  # which the tests of the package and of the demo do


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def with_python(needs_data):
    pages = [page for page in PAGES if blocks(page, "python")]
    return [page for page in pages if ("VECTRICK_DATA" in "".join(blocks(page, "python"))) == needs_data]


def run(page):
    """Run the blocks of a page one after the other, as a reader would."""
    space = {"__name__": "page"}
    with registries_restored():
        for block in blocks(page, "python"):
            exec(compile(block, name_of(page), "exec"), space)


@pytest.mark.parametrize("page", with_python(needs_data=False), ids=name_of)
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch, capsys):
    text = page.read_text(encoding="utf-8")
    for package, sign in (("rdkit", "vt.Morgan("), ("distributed", "dask.distributed")):
        if sign in text and find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    monkeypatch.chdir(tmp_path)
    run(page)
    assert "movie" not in capsys.readouterr().out  # a frame of ids, without the names of the columns that they had


@pytest.mark.slow
def test_the_code_with_real_data_runs(capsys, monkeypatch):
    monkeypatch.setenv("VECTRICK_DATA", str(folder_of("gdsc").parent))
    (story,) = with_python(needs_data=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", vt.KernelWarning)
        run(story)
    scores = re.findall(r"R² (\d\.\d+)", capsys.readouterr().out)
    assert float(scores[1]) > float(scores[0]) + 0.1  # it rises with what was measured


@pytest.mark.slow
def test_the_ten_lines_of_the_readme(capsys):
    (block,) = blocks(ROOT / "README.md", "python")
    assert len(block.strip().splitlines()) == 10
    space = {}
    exec(block, space)
    assert float(capsys.readouterr().out) > 0.735
    assert space["ends"].shape == (1000, 5)


def commands_of(page):
    """Return the commands of a page, without those that install or make."""
    lines = "".join(blocks(page, "console")).replace("\\\n", " ").splitlines()
    assert all(line.startswith("$ ") for line in lines), f"{name_of(page)} has a line that is no command"
    return [line[2:] for line in lines if not line[2:].startswith(NOT_RUN)]


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in [*PAGES, ROOT / "README.md"] if commands_of(page)], ids=name_of)
def test_the_commands_of_a_page_run(page, tmp_path):
    if find_spec("rdkit") is None and "smiles" in page.read_text(encoding="utf-8"):
        pytest.skip("rdkit is not installed")
    sandbox.make(tmp_path)
    for command in commands_of(page):
        words = shlex.split(command, comments=True)
        assert words[0] == "vectrick"
        done = subprocess.run(
            [sys.executable, "-m", "vectrick", *words[1:]], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"


def inline(page):
    """Return the pieces of code within the prose of a page."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return [" ".join(code.split()) for code in re.findall(r"`{1,2}([^`]+)`{1,2}", text)]


@pytest.mark.parametrize("page", PROSE, ids=name_of)
def test_names_exist(page):
    text = page.read_text(encoding="utf-8")
    for path in set(re.findall(r"\bvt((?:\.\w+)+)", text)):
        place = vt
        for name in path.strip(".").split("."):
            assert hasattr(place, name), f"{name_of(page)} names vt{path}"
            place = getattr(place, name)


def options():
    """Return the options of each command."""
    import typer

    from vectrick.cli.app import app

    group = typer.main.get_command(app)
    return {
        name: {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        for name, command in group.commands.items()
    }


@pytest.mark.parametrize("page", PROSE, ids=name_of)
def test_options_and_commands_exist(page):
    known = options()
    every = set().union(*known.values()) | {"--help", "--version", "--install-completion"}
    others = {"--minutes", "--jobs", "--figure", "--worst", "--edges"}  # of modules that are run with python -m
    for code in inline(page):
        words = code.split()
        if words[:1] == ["vectrick"] and len(words) > 1 and re.fullmatch(r"[a-z]+", words[1]):
            assert words[1] in known, f"{name_of(page)} names vectrick {words[1]}"
            given = {word.partition("=")[0] for word in words[2:] if re.match(r"--?[a-z]", word)}
            missing = given - known[words[1]]
            assert not missing, f"{name_of(page)} gives {missing} to vectrick {words[1]}"
        elif not code.startswith(("python", "sphinx")):
            missing = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", code)) - every - others
            assert not missing, f"{name_of(page)} names {missing}"


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"], ids=name_of)
def test_extras_modules_and_make_targets_exist(page):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras, text = set(project["project"]["optional-dependencies"]), page.read_text(encoding="utf-8")
    for names in re.findall(r"vectrick\[([\w,]+)\]", text):
        assert set(names.split(",")) <= extras
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert (
        set(re.findall(r"`make ([\w-]+)`", text)) | set(re.findall(r"^\$ make ([\w-]+)", text, re.MULTILINE)) <= targets
    )
    for module in re.findall(r"python -m ((?:benchmarks|experiments|tests)[\w.]*)", text):
        place = ROOT / module.replace(".", "/")
        assert place.with_suffix(".py").exists() or (place / "__main__.py").exists(), module


def test_the_readme_is_one_page_with_figures_from_files():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 130
    assert max(map(len, text.splitlines())) <= 120
    assert tables.headline() in text, "run python -m benchmarks.tables and put its first table into the README"
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / target).exists(), target


def public_names():
    """Yield every public name with its object."""
    modules = {
        "": vt,
        **{name: getattr(vt, name) for name in ("kernels", "pairwise", "losses", "solvers", "backends", "plot")},
        "testing": testing,
    }
    for prefix, module in modules.items():
        for name in module.__all__:
            if not name.startswith("__") and not name.isupper():
                yield f"{prefix}.{name}".lstrip("."), getattr(module, name)
    yield "datasets.make_checkerboard", vt.datasets.make_checkerboard
    yield "ONES", vt.ONES


@pytest.mark.parametrize(
    ("name", "thing"), list(public_names()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_every_public_name_has_an_example(name, thing):
    assert ">>>" in (thing.__doc__ or ""), f"{name} has no example"
    is_message = inspect.isclass(thing) and issubclass(thing, Exception)
    if inspect.isclass(thing) and not is_message:
        assert re.search(r"O\(|[Cc]ost", thing.__doc__), f"{name} does not say its cost"


def test_every_public_name_is_in_the_reference():
    text = "\n".join(page.read_text() for page in (DOCS / "reference").glob("*.md"))
    listed = set()
    for module, names in re.findall(r"currentmodule:: ([\w.]+)\n\n.*?\n\n((?:   \w+\n)+)", text, re.DOTALL):
        listed |= {(module, name) for name in names.split()}
    homes = {"pairwise": "vectrick.kernels.pairwise"}
    top = {name for module, name in listed if module == "vectrick"}
    for name, thing in public_names():
        module, _, own = name.rpartition(".")
        if inspect.ismodule(thing):
            continue
        assert own in top or (homes.get(module, f"vectrick.{module}"), own) in listed, f"{name} is on no page"


def test_recorded_results_are_those_of_the_tutorials(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    recorded = pytest.importorskip("recorded")
    for script in sorted((DOCS / "gallery").glob("[0-9]*.py")):
        name, folder = script.stem, DOCS / "recorded" / script.stem
        assert folder.is_dir() == recorded.needs_data(name)
        if folder.is_dir():
            kept = (folder / f"{name}.py.md5").read_text().strip()
            assert kept == recorded.checksum(name), f"{script.name} has changed; run make docs-record"
            assert list((folder / "images").glob("*.png"))
