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


def test_rooms_are_small():
    rooms = Counter(file.parent for file in SOURCE.rglob("*.py"))
    assert not {room.name: size for room, size in rooms.items() if size > 16}


def test_there_is_no_cycle():
    known = modules()
    graph = {name: set(imports_of(file, known)) - {name, "vectrick"} for name, file in known.items()}
    left = dict(graph)
    while left:  # take away what imports nothing that is left
        free = [name for name, others in left.items() if not others & left.keys()]
        assert free, f"these files import each other in a circle: {sorted(left)}"
        for name in free:
            del left[name]


def test_one_file_tells_lakes_from_edges_in_memory():
    for file in SOURCE.rglob("*.py"):
        asks = re.search(r"isinstance\([^()]*, [^()]*ScannedEdges", file.read_text())
        assert not asks or file == SOURCE / "data" / "source.py", f"{file.name}: use is_lake"


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
                         "cli/commands/mine.py", "kernels/strings/mine.py"}:  # fmt: skip
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
        "training/parameters.py": ["check_parameters"],
        "training/validate.py": ["as_edges", "labels_on", "as_weights"],
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


def updates(loop):
    """Yield target, sign and factors of vectors that move: ``x += t * p``, ``x.add(t, p)``, anywhere ``x - t * p``."""
    signs = {ast.Add: 1, ast.Sub: -1}

    def of(target, sign, value):
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
            yield from ((target, sign, ast.unparse(side)) for side in (value.left, value.right))

    for node in ast.walk(loop):
        if isinstance(node, ast.AugAssign) and type(node.op) in signs:
            yield from of(ast.unparse(node.target), signs[type(node.op)], node.value)
        elif isinstance(node, ast.BinOp) and type(node.op) in signs and not isinstance(node.left, ast.BinOp):
            yield from of(ast.unparse(node.left), signs[type(node.op)], node.right)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".add") and len(node.args) == 2:
            yield ast.unparse(node.func).removesuffix(".add"), 1, ast.unparse(node.args[0])


def quotients(loop):
    """Return the names that a loop gives to quotients."""
    found = set()
    for node in ast.walk(loop):
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
            both = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
            for name, part in zip(target.elts, value.elts, strict=True) if both else [(target, value)]:
                if any(isinstance(inner, ast.Div) for inner in ast.walk(part)):
                    found.add(ast.unparse(name))
    return found


def conjugate_gradients_in(tree):
    """Return whether a loop goes by one quotient along a direction, and takes as much of its image from a residual."""
    for loop in ast.walk(tree):
        if isinstance(loop, ast.For | ast.While):
            if not any(isinstance(node, ast.Div) for node in ast.walk(loop)):
                continue
            lengths = quotients(loop)
            found = [update for update in updates(loop) if update[2] in lengths or " / " in update[2]]
            up = {(target, factor) for target, sign, factor in found if sign > 0}
            down = {(target, factor) for target, sign, factor in found if sign < 0}
            if any(one == other and x != r for x, one in up for r, other in down):
                return True
    return False


SYSTEMS = ("conjugate_gradients", "solve_system", "solve_directly", "quasi_minimal_residuals", "linalg.solve", "lstsq")


def newton_in(tree):
    """Return whether a loop solves systems, itself or through functions of its file, with curvatures of its own."""
    words_of = {getattr(node, "id", getattr(node, "attr", None)) for node in ast.walk(tree)}
    if not words_of & {system.rpartition(".")[2] for system in SYSTEMS}:
        return False
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}

    def reached(node, seen):
        words = [ast.unparse(call.func) for call in ast.walk(node) if isinstance(call, ast.Call)]
        yield from words
        for word in words:
            name = word.removeprefix("self.")
            if name in functions and name not in seen:
                yield from reached(functions[name], seen | {name})

    for loop in ast.walk(tree):
        if isinstance(loop, ast.For | ast.While):
            words = list(reached(loop, frozenset()))
            if any(word.endswith(SYSTEMS) for word in words) and any("curvature" in word for word in words):
                return True
    return False


def test_there_is_one_loop_of_conjugate_gradients_and_one_of_newton():
    trees = {file.relative_to(SOURCE).as_posix(): ast.parse(file.read_text()) for file in SOURCE.rglob("*.py")}
    assert {name for name, tree in trees.items() if conjugate_gradients_in(tree)} == {"solvers/linear/cg.py"}
    assert not {name for name, tree in trees.items() if newton_in(tree)}  # the one loop asks a problem to move


@pytest.mark.parametrize(
    "steps",
    [
        "x += (along / curve) * p; r -= (along / curve) * q",
        "a = rr / pq; x, r = x + a * p, r - a * q",
        "length = np.float32(rz / float(p @ q))\n    w = w + length * d\n    rest = rest - length * image",
        "step, before = z.along / curve, z.along; x.add(step, p); r -= step * (A @ p)",
        "step = along / curve; x.c[:, on] += step * p.c; now = measured(r); r = r - step * q",
    ],
)
def test_a_second_loop_of_conjugate_gradients_would_be_seen(steps):
    assert conjugate_gradients_in(ast.parse(f"while True:\n    {steps}"))


def test_a_second_newton_would_be_seen():
    direct = "for k in range(9):\n    h = loss.curvature(p)\n    p = p - np.linalg.solve(H(h), loss.gradient(p))"
    apart = "def step(p):\n    return solve_system(loss.curvature(p))\nwhile True:\n    p = p - step(p)"
    assert newton_in(ast.parse(direct))
    assert newton_in(ast.parse(apart))
