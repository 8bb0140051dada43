"""The page on the architecture is true: its files exist, imports point down, and calls pass its files in order."""

import ast
import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import vectrick as vt

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "vectrick"
PAGE = (ROOT / "docs" / "develop" / "architecture.md").read_text()


def section(title):
    return PAGE.partition(f"# {title}\n")[2].partition("\n#")[0]


def layers():
    """Return the names of each layer, from the top down, as in the table."""
    rows = [line for line in section("Layers").splitlines() if line.startswith("| `")]
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


def test_every_file_is_in_a_layer():
    named = {name for layer in layers() for name in layer}
    inside = {file.relative_to(SOURCE).parts[0].removesuffix(".py") for file in SOURCE.rglob("*.py")}
    assert inside - {"__init__", "__main__"} == named


def test_imports_point_down():
    known = modules()
    rank = {name: number for number, layer in enumerate(layers()) for name in layer}
    for name, file in known.items():
        if name in ("vectrick", "vectrick.__main__"):
            continue
        layer = name.split(".")[1]
        for other in imports_of(file, known):
            below = other.split(".")[1:2]
            if below:  # `import vectrick` itself loads nothing
                assert rank[below[0]] >= rank[layer], f"{name} imports {other}"


def test_rooms_are_small():
    rooms = Counter(file.parent for file in SOURCE.rglob("*.py"))
    assert not {room.name: size for room, size in rooms.items() if size > 16}


def functions():
    """Yield each function of the package with its file."""
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef):
                yield file, node


def test_files_and_functions_are_short():
    assert not {file.name for file in SOURCE.rglob("*.py") if len(file.read_text().splitlines()) > 400}
    for file, function in functions():  # without its parameters and its docstring
        body = function.body[ast.get_docstring(function) is not None :]
        assert not body or body[-1].end_lineno - body[0].lineno < 60, f"{function.name} in {file.name}"


def test_few_parameters_may_be_anything():
    def parameters(function):
        a = function.args
        return [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]

    every = [(file, p) for file, function in functions() for p in parameters(function)]
    loose = [(file, p) for file, p in every if p.annotation is not None and ast.unparse(p.annotation) == "Any"]
    assert len(every) > 5000
    assert len(loose) <= 250


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


def test_upper_layers_use_the_door_of_estimators():
    known = modules()
    for layer in ("cli", "reports", "plot", "model_selection", "extensions"):
        for name, file in known.items():
            if name.startswith(f"vectrick.{layer}"):
                inside = [other for other in imports_of(file, known) if other.startswith("vectrick.estimators.")]
                assert not inside, f"{name} imports {inside[0]}"


def test_models_know_neither_scikit_learn_nor_fitting():
    for file in (SOURCE / "models").rglob("*.py"):
        assert not re.search(r"^\s*(from|import) sklearn", file.read_text(), re.MULTILINE), file.name


def test_the_files_that_are_named_exist():
    named = set(re.findall(r"`([\w/]+\.py)`", PAGE + (ROOT / "docs/develop/engine.md").read_text()))
    assert len(named) > 30
    for name in named:
        assert name.endswith("/mine.py") or (SOURCE / name).exists() or (ROOT / name).exists(), name
    for folder in ("backends/reference", "backends/cpu", "backends/torch"):
        assert (SOURCE / folder).is_dir()


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


def column(number):
    """Return the files in a column of the table of a fit, from top to bottom."""
    rows = [line.split("|")[1:-1] for line in section("One way of a fit").splitlines() if line.startswith("| ")]
    return [name for row in rows[2:] for name in re.findall(r"`([\w/]+\.py)`", row[number])]


def features(m, n, seed):
    rng = np.random.default_rng(seed)
    X = vt.Edges(*(rng.integers(0, m, n) for _ in range(2)), *(rng.standard_normal((m, 6)) for _ in range(2)))
    return X, np.sign(X.start_table.features[X.start, 0] * X.end_table.features[X.end, 0] + rng.standard_normal(n))


def in_memory(_):
    X, y = features(300, 200_000, 0)  # enough edges for their vertices
    return vt.KronRidge(), (X, y)


def on_lake(folder):
    X, y = features(40, 2000, 1)
    parquet.write_table(pa.table({"start": X.start, "end": X.end, "label": y}), folder / "part.parquet")
    tables = {"start_table": X.start_table.features, "end_table": X.end_table.features}
    return vt.KronRidge(), (vt.scan_edges(str(folder), start="start", end="end", label="label", **tables),)


def search(_):
    return vt.AutoKron(new="both", budget=20, random_state=0), features(20, 300, 2)


@pytest.mark.parametrize(("number", "make", "most"), [(1, in_memory, 80), (2, on_lake, 70), (3, search, 125)])
def test_a_fit_enters_the_files_of_the_table_in_order(number, make, most, tmp_path):
    first, data = make(tmp_path)
    first.fit(*data)
    model, data = make(tmp_path)
    entered = files_passed(lambda: model.fit(*data))
    named = column(number)
    assert len(named) > 8
    assert set(named) <= set(entered)
    assert named == sorted(named, key=entered.index)
    assert len(entered) <= most  # fewer are easier to follow


def test_a_prediction_enters_the_files_of_the_list_in_order():
    X, y = features(30, 500, 3)
    model = vt.KronRidge().fit(X, y)
    entered = files_passed(lambda: model.predict(X))
    steps = [line for line in section("One way of a prediction").splitlines() if re.match(r"\d+\. ", line)]
    named = [re.search(r"`([\w/]+\.py)`", line)[1] for line in steps]
    assert len(named) == 5
    assert named == sorted(named, key=entered.index)
    assert len(entered) <= 25


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


def test_tuned_numbers_are_explained():
    sys.path.insert(0, str(ROOT / "docs" / "_ext"))
    try:
        from tuned_numbers import MEASUREMENTS, numbers_of, page
    finally:
        sys.path.pop(0)
    for layer in MEASUREMENTS:
        for file in (SOURCE / layer).rglob("*.py"):
            for names, _, comment in numbers_of(file):
                assert comment, f"{names} in {layer}/{file.name} has no comment"
    assert page().count("\n| `") > 150


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
