"""Kernels bound to a vertex table: each of their parts learns which columns it reads."""

from collections.abc import Iterable, Iterator

from vectrick.data import VertexTable
from vectrick.data.files.columns import TEXT
from vectrick.data.pairs import Pairs
from vectrick.kernels.base import Combination, Kernel
from vectrick.kernels.standardized import Standardized
from vectrick.kernels.tables.identity import Identity
from vectrick.kernels.tables.on import WHOLE, On
from vectrick.kernels.tables.parts import Parts


def bound(kernel: Kernel, table: VertexTable, argument: str) -> Kernel:
    """Return a kernel whose parts know their columns in a table.

    In a table of numbers and strings, a part without `On` reads all numbers, or the only column of strings.

    >>> import pandas as pd, vectrick as vt
    >>> table = VertexTable(pd.DataFrame({"id": [1, 2], "age": [3.0, 4.0], "smiles": ["CCO", "CCN"]}))
    >>> kernel = bound(vt.Linear() + vt.Morgan(), table, "start_kernel")
    >>> kernel.first.names, kernel.second.names
    (['age'], ['smiles'])
    """
    if isinstance(table, Pairs):
        return _bound_to_pairs(kernel, table, argument)
    if contains(kernel, Parts):
        raise ValueError(f"{argument} has {kernel!r}, but {table.name} is no vt.Pairs, so its vertices have no parts")
    if isinstance(kernel, On):
        return kernel.of_table(table, argument)
    if isinstance(kernel, Combination):
        return kernel.changed(lambda part: bound(part, table, argument))
    inside = next((kind for kind in (On, Identity) if not isinstance(kernel, kind) and contains(kernel, kind)), None)
    if inside is not None:
        raise ValueError(
            f"{argument} has {kernel!r}, but {inside.__name__} must be outside of other kernels, in a sum or a product"
        )
    if kernel.reads == "any" or kernel.is_matrix or not (table.string_columns or table.numbered):
        return kernel
    if not table.string_columns:  # all but the numbers of the vertices
        places, kind = (tuple(range(table.n_numbers)), "numbers") if table.text is None else ((0,), "strings")
        return On(WHOLE, kernel, where=places, kind=kind, n_numbers=table.n_numbers)
    columns = [str(column) for column in table.columns or ()]
    numbers, strings = columns[: table.n_numbers], columns[table.n_numbers :]
    if kernel.reads == "text" and len(strings) > 1:  # kernels of text are transformers, so these columns do not count
        strings = [column for column in strings if table.notes.get(column) != TEXT] or strings
    if kernel.reads == "text" and len(strings) > 1:
        raise ValueError(
            f"{argument} has {kernel!r}, but {table.name} has several columns of strings, "
            f"{', '.join(map(repr, strings))}; choose one: vt.On({strings[0]!r}, {kernel!r})"
        )
    if kernel.reads == "numbers" and not numbers:
        raise ValueError(
            f"{argument} has {kernel!r}, a kernel of numbers, but {table.name} has only columns of strings, "
            f"{', '.join(map(repr, strings))}; kernels of strings are vt.Molecule and vt.Morgan for SMILES strings, "
            "vt.Spectrum and vt.SmithWaterman for sequences, and vt.On(column, TfidfVectorizer()) is for text"
        )
    if kernel.reads == "text":
        return On(strings, kernel).of_table(table, argument)
    names = [column for column in table.notes if column not in strings] or numbers
    return On(names, kernel, where=tuple(range(table.n_numbers)), kind="dense", n_numbers=table.n_numbers)


def _bound_to_pairs(kernel: Kernel, table: Pairs, argument: str) -> Kernel:
    """Return a kernel of pairs; without `Parts`, it is a kernel of their parts."""
    if isinstance(kernel, Parts) or not contains(kernel, Parts):
        whole = kernel if isinstance(kernel, Parts) else Parts(kernel)
        return whole.of_table(table, argument, bound)
    if isinstance(kernel, Combination):
        return kernel.changed(lambda part: part if _is_of_pairs(part) else _bound_to_pairs(part, table, argument))
    raise ValueError(f"{argument} has {kernel!r}, but Parts must be outside: vt.Parts({kernel!r})")


def _is_of_pairs(kernel: Kernel) -> bool:
    """Return whether a kernel beside `Parts` reads no features, so that it is one of pairs."""
    return kernel.reads == "any" and not contains(kernel, Parts) and not contains(kernel, Identity)


def part_kernels(kernel: Kernel, second: bool) -> Iterator[Kernel]:
    """Yield the kernels of the first or second parts in a kernel of pairs."""
    if isinstance(kernel, Parts):
        yield kernel.other if second and kernel.other is not None else kernel.kernel
    elif isinstance(kernel, Combination) and contains(kernel, Parts):
        for part in kernel.kernels:
            if not _is_of_pairs(part):
                yield from part_kernels(part, second)
    else:
        yield kernel


def contains(kernel: Kernel, kind: type[Kernel]) -> bool:
    """Return whether a kernel is of a kind, or contains one that is."""
    inside = (value for value in kernel.get_params(deep=False).values() if isinstance(value, Kernel))
    return isinstance(kernel, kind) or any(contains(part, kind) for part in inside)


def standardized(kernel: Kernel) -> Kernel:
    """Return a kernel whose parts read standardized features; strings have no scale.

    >>> import vectrick as vt
    >>> standardized(vt.On("age", vt.Gaussian()) + vt.On("smiles", vt.Morgan()))
    Sum(first=On(names='age', view=Standardized(kernel=Gaussian())),
        second=On(names='smiles', view=Morgan()))
    """
    is_plain = not any(contains(kernel, kind) for kind in (On, Identity, Parts))
    if isinstance(kernel, Combination) and not (is_plain and kernel.reads == "numbers"):
        return kernel.changed(standardized)
    if isinstance(kernel, Parts):
        other = None if kernel.other is None else standardized(kernel.other)
        return kernel.with_parameters(kernel=standardized(kernel.kernel), other=other)
    if isinstance(kernel, On):
        view = kernel.view
        return kernel.with_parameters(view=standardized(view)) if isinstance(view, Kernel) else kernel
    return Standardized(kernel) if kernel.reads == "numbers" else kernel


def narrowed(kernels: Iterable[tuple[str, Kernel]], table: VertexTable) -> VertexTable:
    """Return a table with only the columns that kernels read, so that predictions need no others.

    ``kernels`` are pairs of an argument, for errors, and a kernel.
    """
    numbers: set[int] = set()
    strings: set[int] = set()
    for argument, kernel in kernels:
        for part in _leaves(bound(kernel, table, argument)):
            if isinstance(part, On) and part.where is not None:
                (strings if part.kind == "strings" else numbers).update(part.where)
            elif part.reads != "any":
                return table
    columns = list(table.columns or ())
    kept = [columns[place] for place in sorted(numbers)]
    kept_strings = [table.string_columns[place] for place in sorted(strings)] if table.string_columns else []
    if table.text is not None or not kept + kept_strings or len(kept) + len(kept_strings) == len(columns):
        return table
    return table.with_columns(kept + kept_strings, tuple(kept_strings), {})


def _leaves(kernel: Kernel) -> list[Kernel]:
    """Return the parts of a combination, or the kernel itself."""
    if isinstance(kernel, Combination):
        return [leaf for part in kernel.kernels for leaf in _leaves(part)]
    return [kernel]
