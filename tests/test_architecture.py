"""The page on the architecture is true: its files exist, imports point down, and calls pass its files in order."""

import ast
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

import vectrick as vt

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "vectrick"
PAGE = (ROOT / "docs" / "develop" / "architecture.md").read_text()


def section(title):
    return PAGE.partition(f"# {title}\n")[2].partition("\n#")[0]


def floors():
    """Return the floors from the top down, each with the names on it, as the table has them."""
    rows = [line for line in section("Floors").splitlines() if line.startswith("| `")]
    return [re.findall(r"`(\w+)`", row.split("|")[1]) for row in rows]


def modules():
    """Return the files of the package by the names of their modules."""
    names = {}
    for file in SOURCE.rglob("*.py"):
        parts = ("vectrick", *file.relative_to(SOURCE).with_suffix("").parts)
        names[".".join(parts).removesuffix(".__init__")] = file
    return names


def imports_of(file, known):
    """Yield the modules that a file imports, also inside functions and for types only."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("vectrick"):
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in known else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)


def test_every_file_is_on_a_floor():
    named = {name for floor in floors() for name in floor}
    inside = {file.relative_to(SOURCE).parts[0].removesuffix(".py") for file in SOURCE.rglob("*.py")}
    assert inside - {"__init__", "__main__"} == named


def test_imports_point_down():
    known = modules()
    rank = {name: number for number, floor in enumerate(floors()) for name in floor}
    for name, file in known.items():
        if name in ("vectrick", "vectrick.__main__"):
            continue
        floor = name.split(".")[1]
        for other in imports_of(file, known):
            below = other.split(".")[1:2]
            if below:  # `import vectrick` itself loads nothing
                assert rank[below[0]] >= rank[floor], f"{name} imports {other}"


def test_there_is_no_cycle():
    known = modules()
    graph = {name: set(imports_of(file, known)) - {name, "vectrick"} for name, file in known.items()}
    left = dict(graph)
    while left:  # take away what imports nothing that is left
        free = [name for name, others in left.items() if not others & left.keys()]
        assert free, f"these files import each other in a circle: {sorted(left)}"
        for name in free:
            del left[name]


def test_upper_floors_use_the_door_of_estimators():
    known = modules()
    for floor in ("cli", "reports", "plot", "model_selection", "extensions"):
        for name, file in known.items():
            if name.startswith(f"vectrick.{floor}"):
                inside = [other for other in imports_of(file, known) if other.startswith("vectrick.estimators.")]
                assert not inside, f"{name} imports {inside[0]}"


def test_models_know_neither_scikit_learn_nor_fitting():
    for file in (SOURCE / "models").rglob("*.py"):
        assert not re.search(r"^\s*(from|import) sklearn", file.read_text(), re.MULTILINE), file.name


def test_the_files_that_are_named_exist():
    named = set(re.findall(r"`([\w/]+\.py)`", PAGE))
    assert len(named) > 30
    for name in named - {"kernels/mine.py", "kernels/pairwise/mine.py", "losses/mine.py", "solvers/mine.py",
                         "cli/mine.py"}:  # fmt: skip
        assert (SOURCE / name).exists() or (ROOT / name).exists(), name
    for folder in ("backends/reference", "backends/cpu", "backends/torch"):
        assert (SOURCE / folder).is_dir()


def test_the_files_of_the_picture_exist():
    picture = section("One picture").partition("```\n")[2].partition("```")[0]
    floor = None
    for line in picture.splitlines():
        floor = match[1] if (match := re.match(r" (\w+) ", line)) else floor
        for name in re.findall(r"[\w/]+\.py", line):
            assert (SOURCE / floor / name).exists(), f"{floor}/{name}"


def files_passed(work):
    """Return the files of the package that a call enters, in the order in which it enters them first."""
    order = {}

    def watch(frame, event, argument):
        if event == "call":
            order.setdefault(frame.f_code.co_filename, None)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        work()
    finally:
        sys.setprofile(before)
    return [str(Path(name).relative_to(SOURCE)) for name in order if name.startswith(str(SOURCE))]


@pytest.mark.parametrize("title", ["The way of a fit", "The way of a prediction"])
def test_calls_pass_the_files_in_this_order(title):
    X, y = vt.datasets.make_checkerboard(60, noise=0.1, random_state=0)
    model = vt.KronSVM(vt.Gaussian(1.0), vt.Gaussian(1.0), alpha=0.1).fit(X, y)
    passed = files_passed((lambda: model.fit(X, y)) if title.endswith("fit") else (lambda: model.decision_function(X)))
    steps = [line for line in section(title).splitlines() if re.match(r"\d+\. ", line)]
    told = [re.search(r"`([\w/]+\.py)`", line)[1] for line in steps]
    assert len(told) > 4
    assert set(told) <= set(passed)
    assert told == sorted(told, key=passed.index)


def test_what_the_user_asked_for_is_read_once():
    X, y = vt.datasets.make_checkerboard(30, random_state=0)
    model = vt.KronSVM("gaussian", vt.Gaussian(1.0), loss="squared_hinge", solver="newton")
    readers = {
        "models/kernel_spec.py": ["_read"],
        "losses/__init__.py": ["as_loss"],
        "kernels/pairwise/__init__.py": ["as_pairwise"],
        "estimators/parameters.py": ["check_parameters"],
        "estimators/validate.py": ["as_edges", "labels_on", "as_weights"],
        "data/graph.py": ["of"],
    }
    times = Counter()

    def watch(frame, event, argument):
        if event == "call" and frame.f_code.co_filename.startswith(str(SOURCE)):
            times[str(Path(frame.f_code.co_filename).relative_to(SOURCE)), frame.f_code.co_name] += 1

    sys.setprofile(watch)
    try:
        model.fit(X, y)
    finally:
        sys.setprofile(None)
    for file, names in readers.items():
        for name in names:
            assert times[file, name] == 1, f"{name} in {file} is entered {times[file, name]} times"
    assert times["kernels/__init__.py", "as_kernel"] == 2  # one for the start, one for the end vertices


def test_few_questions_about_devices_are_left_above_the_backends():
    question = re.compile(r"is_tensor\(|device is (not )?None|[!=]= HOST|HOST not in|\[HOST|import torch")
    asked = [
        f"{file.relative_to(SOURCE)}: {line.strip()}"
        for file in SOURCE.rglob("*.py")
        if file.relative_to(SOURCE).parts[0] not in ("backends", "testing")
        for line in file.read_text().splitlines()
        if question.search(line) and not line.lstrip().startswith(("#", '"'))
    ]
    assert len(asked) < 10, "\n".join(asked)
