"""Candidates for tables of numbers and strings: the kernels of each view of the vertices."""

from collections.abc import Callable, Iterator

from vectrick._typing import Array
from vectrick.automatic.candidates.facts import SideFacts
from vectrick.automatic.candidates.vertex_kernels import SideChoices, VertexChoice
from vectrick.data import VertexTable
from vectrick.kernels import Constant, Kernel, On
from vectrick.kernels.tables.on import WHOLE
from vectrick.models.kernel_spec import VertexKernels

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
