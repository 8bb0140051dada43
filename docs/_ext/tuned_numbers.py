"""The page of tuned numbers: module-level constants of each layer, with the comments that explain them."""

import ast
from collections.abc import Iterator
from pathlib import Path

from sphinx.application import Sphinx

HERE = Path(__file__).parent.parent
PAGE = HERE / "develop" / "tuning.md"
SOURCE = HERE.parent / "src" / "vectrick"
_INTRODUCTION = """\
# Tuned numbers

Constants that decide between algorithms, divide work or bound memory stay next to the code that uses them. This page
is generated from the source: the comment at a constant explains it. Before you change one, run the measurement of its
layer before and after, in one sitting.
"""
# How to measure the effect of the numbers of a layer again.
MEASUREMENTS = {
    "automatic": "python -m experiments automatic",
    "backends": "python -m benchmarks.products; on a GPU: python -m benchmarks.gpu",
    "data": "python -m benchmarks.scale",
    "estimators": "python -m benchmarks.training",
    "inference": "python -m benchmarks.commands; python -m experiments suggest",
    "kernels": "python -m benchmarks.commands",
    "model_selection": "python -m benchmarks.selection",
    "models": "python -m benchmarks.preconditioner --worst; python -m benchmarks.training",
    "objectives": "python -m benchmarks.preconditioner",
    "operators": "python -m benchmarks.products",
    "passes": "python -m benchmarks.scale",
    "solvers": "python -m benchmarks.training; python -m benchmarks.preconditioner",
    "streaming": "python -m benchmarks.scale",
    "training": "python -m benchmarks.training; python -m benchmarks.scale",
}


def numbers_of(file: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the names, the values and the comment of each statement of a file that defines module-level numbers."""
    source = file.read_text(encoding="utf-8")
    lines = source.splitlines()
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and _is_number(node.value) and ast.unparse(node.targets[0]).isupper():
            line = lines[node.end_lineno - 1]
            comment = line.partition("  # ")[2]
            above = node.lineno - 2
            while not comment and above >= 0 and lines[above].startswith("#"):
                comment, above = lines[above].lstrip("# "), -1
            yield ast.unparse(node.targets[0]), ast.unparse(node.value), comment


def _is_number(value: ast.expr) -> bool:
    """Whether an expression consists of numbers only."""
    if isinstance(value, ast.Tuple):
        return all(_is_number(each) for each in value.elts)
    if isinstance(value, ast.BinOp):
        return _is_number(value.left) and _is_number(value.right)
    if isinstance(value, ast.UnaryOp):
        return _is_number(value.operand)
    return isinstance(value, ast.Constant) and type(value.value) in (int, float)


def page() -> str:
    """Return the page."""
    parts = [_INTRODUCTION]
    for layer, command in MEASUREMENTS.items():
        rows = []
        for file in sorted((SOURCE / layer).rglob("*.py")):
            for names, values, comment in numbers_of(file):
                shown = names.strip("()"), values.strip("()"), comment.replace("|", "\\|")
                rows.append(f"| `{file.relative_to(SOURCE)}` | `{shown[0]}` | `{shown[1]}` | {shown[2]} |")
        parts.append(f"## {layer}\n\nMeasure with: `{command}`\n")
        parts.append("\n".join(["| file | number | value | meaning |", "| --- | --- | --- | --- |", *rows, ""]))
    return "\n".join(parts)


def write(app: Sphinx) -> None:
    """Write the page if it has changed."""
    text = page()
    if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        PAGE.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the page before Sphinx reads the sources."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True}
