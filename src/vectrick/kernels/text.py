"""Kernels as text, such as ``gaussian(gamma=0.1) + constant(0.3)``: parsed without running code, and formatted."""

import ast
import inspect
from keyword import iskeyword

from vectrick.kernels.base import KERNELS, Kernel, Product, Scaled, Sum
from vectrick.kernels.tables.on import On

_LARGEST = 1e300  # limit of numbers in a text
_TFIDF = "tfidf"
_LONGEST = 1000  # characters; also limits the depth of nesting


def words() -> dict[str, tuple[str, ...]]:
    """Return the names that text may use, each with its parameters in positional order.

    >>> words()["polynomial"]
    ('degree', 'gamma', 'coef0')
    """
    return {
        name: tuple(parameter for parameter in inspect.signature(kind).parameters if parameter not in kind.learned)
        for name, kind in KERNELS.items()
        if kind not in (Sum, Product, Scaled, On)  # they are written as operators, and as ``gaussian[age]``
    }


def parse_kernel(text: str, argument: str = "kernel") -> Kernel:
    """Return the kernel that a text describes: names, parameters, ``+`` and ``*``, and columns in brackets.

    The name ``tfidf`` stands for scikit-learn's ``TfidfVectorizer``, for columns of text.

    >>> parse_kernel("gaussian(gamma=0.1) + constant(0.3)")
    Sum(first=Gaussian(gamma=0.1), second=Constant(value=0.3))
    >>> parse_kernel("0.5 * gaussian[age, 'body height']")
    Scaled(kernel=On(names=['age', 'body height'], view=Gaussian()), weight=0.5)
    """
    try:
        if len(text) > _LONGEST:
            raise SyntaxError
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(_refusal(text, argument, "it is not a formula")) from None
    return _kernel(tree, text, argument)


def format_kernel(kernel: Kernel) -> str:
    """Return a kernel as text for `parse_kernel`, without the parameters that a fit has learned.

    >>> import vectrick as vt
    >>> format_kernel((vt.Gaussian(0.1) + vt.Constant(0.3)) * vt.Linear())
    '(gaussian(gamma=0.1) + constant(value=0.3)) * linear'
    """
    if isinstance(kernel, str):
        return kernel
    if isinstance(kernel, Sum):
        return f"{format_kernel(kernel.first)} + {format_kernel(kernel.second)}"
    if isinstance(kernel, Product):
        sides = (kernel.first, kernel.second)
        return " * ".join(f"({format_kernel(k)})" if isinstance(k, Sum) else format_kernel(k) for k in sides)
    if isinstance(kernel, Scaled):
        inner = format_kernel(kernel.kernel)
        return f"{kernel.weight:.6g} * " + (f"({inner})" if isinstance(kernel.kernel, Sum) else inner)
    if isinstance(kernel, On):
        return f"{_view(kernel)}[{', '.join(map(_column, kernel.all_names))}]"
    if not KERNELS.knows(type(kernel)):
        return repr(kernel)
    values = {name: getattr(kernel, name) for name in words()[kernel.name]}
    values = {name: value for name, value in values.items() if value is not None}  # the default of string kernels
    shown = [f"{name}={_shown(value)}" for name, value in values.items()]
    if next(iter(values), "") == "kernel":
        shown[0] = _shown(values["kernel"])
    return f"{kernel.name}({', '.join(shown)})" if shown else str(kernel.name)


def _view(kernel: On) -> str:
    """Return the view of an `On` as text; transformers other than ``tfidf`` cannot be parsed."""
    if isinstance(kernel.view, Kernel):
        inner = format_kernel(kernel.view)
        return f"({inner})" if isinstance(kernel.view, Sum | Product | Scaled) else inner
    if isinstance(kernel.view, str):
        return kernel.view
    name = type(kernel.view).__name__
    return _TFIDF if name == "TfidfVectorizer" else name


def _column(name: str) -> str:
    return name if name.isidentifier() and not iskeyword(name) else repr(name)


def _shown(value: object) -> str:
    if isinstance(value, Kernel):
        return format_kernel(value)
    return f"{value:.6g}" if isinstance(value, float) else repr(value)


def _kernel(node: ast.expr, text: str, argument: str) -> Kernel:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mult):
        weight, kernel = (node.left, node.right) if _is_number(node.left) else (node.right, node.left)
        if isinstance(node.op, ast.Mult) and _is_number(weight):
            return Scaled(_kernel(kernel, text, argument), float(_constant(weight, "the weight", text, argument)))
        first, second = _kernel(node.left, text, argument), _kernel(node.right, text, argument)
        return first + second if isinstance(node.op, ast.Add) else first * second
    if isinstance(node, ast.Subscript):
        return _on_columns(node, text, argument)
    call = node if isinstance(node, ast.Call) else ast.Call(node, [], [])
    if not isinstance(call.func, ast.Name) or call.func.id not in words():
        raise ValueError(_refusal(text, argument, f"{ast.unparse(node)!r} is not a kernel"))
    kind, names = KERNELS[call.func.id], words()[call.func.id]
    if len(call.args) > len(names):
        raise ValueError(_refusal(text, argument, f"{call.func.id!r} takes {len(names)} parameters"))
    given = dict(zip(names, call.args, strict=False)) | {word.arg or "": word.value for word in call.keywords}
    for name in given.keys() - set(names):
        raise ValueError(_refusal(text, argument, f"{call.func.id!r} has no parameter {name!r}"))
    for name, parameter in inspect.signature(kind).parameters.items():
        if name not in given and parameter.default is parameter.empty:
            what = "a kernel inside" if name == "kernel" else f"the parameter {name!r}"
            raise ValueError(_refusal(text, argument, f"{call.func.id!r} needs {what}"))
    values = {
        name: _kernel(value, text, argument) if _is_kernel(value, name) else _constant(value, name, text, argument)
        for name, value in given.items()
    }
    return kind(**values)


def _on_columns(node: ast.Subscript, text: str, argument: str) -> On:
    """Return the kernel on the columns that brackets hold."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    given = [part.id if isinstance(part, ast.Name) else getattr(part, "value", None) for part in parts]
    names = [name for name in given if isinstance(name, str)]
    if not names or len(names) < len(given):
        why = f"{ast.unparse(node)!r} must have the names of columns in its brackets, in quotes if they are no words"
        raise ValueError(_refusal(text, argument, why))
    if isinstance(node.value, ast.Name) and node.value.id == _TFIDF:
        from sklearn.feature_extraction.text import TfidfVectorizer

        return On(names, TfidfVectorizer(sublinear_tf=True))
    return On(names, _kernel(node.value, text, argument))


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def _is_kernel(node: ast.expr, parameter: str) -> bool:
    """Whether a parameter is given as a kernel; the parameter ``kernel`` always is."""
    word = node.func if isinstance(node, ast.Call) else node
    return (
        parameter == "kernel"
        or isinstance(node, ast.BinOp | ast.Subscript)
        or (isinstance(word, ast.Name) and word.id in words())
    )


def _constant(node: ast.expr, name: str, text: str, argument: str) -> int | float | str | bool:
    sign, inner = (-1, node.operand) if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else (1, node)
    if isinstance(inner, ast.Constant) and type(inner.value) in (int, float):
        if not abs(inner.value) < _LARGEST:  # type: ignore[arg-type]
            raise ValueError(_refusal(text, argument, f"{name} is beyond {_LARGEST:.0e}"))
        return sign * inner.value  # type: ignore[operator, return-value]
    if isinstance(node, ast.Constant) and type(node.value) in (str, bool):
        return node.value  # type: ignore[return-value]
    raise ValueError(_refusal(text, argument, f"{name} is {ast.unparse(node)!r}, but it must be a number or a word"))


def _refusal(text: str, argument: str, why: str) -> str:
    shown = text if len(text) <= 80 else text[:77] + "..."
    return (
        f"{argument} is {shown!r}, but {why}; kernels are {', '.join(words())}, with parameters, sums and products, as "
        "in 'gaussian(gamma=0.1) + constant(0.3)'"
    )
