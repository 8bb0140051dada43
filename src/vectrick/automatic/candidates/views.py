"""Candidates for tables of numbers and strings, and for pairs: the kernels of each view of the vertices."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from vectrick._typing import Array
from vectrick.automatic.candidates.facts import SideFacts
from vectrick.automatic.candidates.vertex_kernels import SideChoices, VertexChoice, matrix_of
from vectrick.backends import HOST
from vectrick.data import VertexTable
from vectrick.data.pairs import Pairs
from vectrick.kernels import Constant, Identity, Kernel, On, Parts, Scaled
from vectrick.kernels.tables.binding import bound
from vectrick.kernels.tables.on import WHOLE
from vectrick.models.kernel_spec import VertexKernels

# The weights of a constant and of the identity that are added to the kernel of parts.
_PART_WEIGHTS = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (3.0, 1.0))
_SHOWN = 3  # columns of numbers in the title of a view


class MixedChoices:
    """The kernels to try for the vertices of one side, whose table has several views; as `SideChoices`.

    Parameters
    ----------
    facts : SideFacts
        Facts about the whole table.
    table : VertexTable
        The table.
    used : array
        The rows of the vertices that have edges.
    """

    given: VertexKernels = "auto"

    def __init__(self, facts: SideFacts, table: VertexTable, used: Array) -> None:
        self.facts = facts
        self.views = []
        for title, names, part in views_of(table):
            about = SideFacts.of(facts.name, part, used)
            if not about.is_constant:
                bind = _binder(names, table, f"{facts.name}_kernel")
                self.views.append(SideChoices(about, part.features[used], "auto", title, bind))

    def first(self) -> list[VertexChoice]:
        """Return the kernels to try first, of all views."""
        return [choice for view in self.views for choice in view.first()] or [self.constant()]

    def usual(self) -> VertexChoice:
        """Return the kernel to use if no edges can be held out."""
        return self.views[0].usual() if self.views else self.constant()

    def constant(self) -> VertexChoice:
        """Return the constant kernel, to ignore the vertices of this side."""
        return VertexChoice("constant", Constant(), "constant")

    def beside(self, choice: VertexChoice) -> list[VertexChoice]:
        """Return the kernels with widths between a narrow kernel and its neighbors."""
        return next((view.beside(choice) for view in self.views if view.has(choice)), [])


class PairChoices(MixedChoices):
    """The kernels to try for vertices that are pairs: those of their parts, with and without effects of single parts.

    Parameters are those of `MixedChoices`.
    """

    def __init__(self, facts: SideFacts, table: Pairs, used: Array) -> None:
        self.facts, self._table = facts, table
        self._sides = []
        for part, rows in zip(table.parts, (table.first[used], table.second[used]), strict=True):
            both = np.concatenate([table.first[used], table.second[used]]) if table.symmetric else rows
            self._sides.append(_PartChoices(facts.name, part, np.unique(both)))

    def first(self) -> list[VertexChoice]:
        """Return the kernels to try first."""
        other = None if self._table.parts[0] is self._table.parts[1] else self._sides[1]
        return [
            self._of_parts(choice, scale, *weights, other)
            for choice, scale in self._sides[0].first()
            for weights in _PART_WEIGHTS
        ]

    def usual(self) -> VertexChoice:
        """Return the kernel to use if no edges can be held out."""
        return self.first()[1]

    def beside(self, choice: VertexChoice) -> list[VertexChoice]:
        """Return no kernels; widths between those of the parts are not tried."""
        return []

    def _of_parts(
        self, choice: VertexChoice, scale: float, constant: float, identity: float, other: "_PartChoices | None"
    ) -> VertexChoice:
        """Return the kernel of pairs by a kernel of their parts."""
        kernel = _with_effects(Scaled(choice.kernel, 1 / scale), constant, identity)
        second = None
        if other is not None:
            usual, own = other.usual()
            second = _with_effects(Scaled(usual.kernel, 1 / own), constant, identity)
        words = "".join(f" + {weight:g}{what}" for weight, what in ((constant, ""), (identity, " identity")) if weight)
        made = Parts(kernel, second).of_table(self._table, f"{self.facts.name}_kernel", bound)
        return VertexChoice(f"parts({choice.name}{words})", made, f"parts of {choice.family}", view=choice.view)


class _PartChoices:
    """The kernels of one part of pairs, with their mean diagonal values."""

    def __init__(self, name: str, table: VertexTable, rows: Array) -> None:
        facts = SideFacts.of(name, table.without_numbers(), rows)
        self._choices: SideChoices | MixedChoices
        self._features, self._rows = table.features[rows], rows
        if facts.kind in ("mixed", "text"):
            self._choices = MixedChoices(facts, table, rows)
        else:
            bind = partial(bound, table=table, argument=f"{name}_kernel")
            self._choices = SideChoices(facts, table.without_numbers().features[rows], "auto", "parts", bind)

    def first(self) -> Iterator[tuple[VertexChoice, float]]:
        """Yield the kernels to try, each with its scale."""
        for choice in self._choices.first():
            yield choice, matrix_of(choice, self._features, self._rows, HOST)[1]

    def usual(self) -> tuple[VertexChoice, float]:
        """Return the kernel to use if nothing was tried, and its scale."""
        names = self._choices.usual().name
        return next(pair for pair in self.first() if pair[0].name.startswith(names))


def _with_effects(kernel: Kernel, constant: float, identity: float) -> Kernel:
    """Return a kernel of parts with a constant, for the effects of single parts, and with their identity."""
    kernel = kernel + Constant(constant) if constant else kernel
    return kernel + Scaled(Identity(), identity) if identity else kernel


def views_of(table: VertexTable) -> Iterator[tuple[str, list[str], VertexTable]]:
    """Yield a title, the names of columns and their table: of the numbers, and of each column of strings."""
    if table.text is not None:
        yield table.text, [table.text], table
    columns = [str(column) for column in table.columns or ()]
    numbers = columns[: table.n_numbers]
    if numbers:
        names = [column for column in table.notes if column not in table.string_columns] or numbers
        yield ", ".join(names) if len(names) <= _SHOWN else "numbers", names, table.with_columns(numbers, (), {})
    for column in table.string_columns:
        part = table.with_columns([column], (column,), {})
        part.text, part.columns, part.string_columns = column, None, ()
        yield column, [column], part


def _binder(names: list[str], table: VertexTable, argument: str) -> Callable[[Kernel], Kernel]:
    """Return a function that makes a kernel of some columns a kernel of the whole table."""

    def bind(kernel: Kernel) -> Kernel:
        if isinstance(kernel, On) and kernel.names == WHOLE:
            return kernel.with_parameters(names=names).of_table(table, argument)
        return On(names, kernel).of_table(table, argument)

    return bind
