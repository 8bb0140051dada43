"""A kernel, or a scikit-learn transformer, on chosen columns of a vertex table."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import clone

from vectrick._typing import Array, Features
from vectrick.backends.arrays import to_host
from vectrick.data import VertexTable
from vectrick.data.files.columns import MISSING
from vectrick.data.mixed import block_of, numbers_of
from vectrick.data.strings.table import strings_of
from vectrick.kernels.base import KERNELS, Kernel
from vectrick.kernels.linear import Linear
from vectrick.kernels.strings.encoded import RECENT, Encoded, chosen_kernel

WHOLE = "*"  # stands for all columns
_SHOWN = 8  # columns named in an error


class On(Encoded):
    """A kernel of some columns of the vertex table, or of what a scikit-learn transformer makes of them.

    Kernels on different columns are added, multiplied and weighted like other kernels. A column is named as in the
    frame or the file: the columns of 0 and 1 of ``country`` and the features of a vector follow its name. A transformer
    learns from the training vertices; it gets the strings of a column of strings, or a matrix of numbers.

    The cost is that of the kernel, and O(size of the columns) to select them once.

    Parameters
    ----------
    names : str or list of str
        The columns; ``*`` stands for any characters, as in "embedding_*".
    view : Kernel, str or transformer
        The kernel of these columns, its name, or a scikit-learn transformer such as ``TfidfVectorizer()``.
    kernel : Kernel, optional
        The kernel of what a transformer returns, by default ``Linear()``.
    where, kind, n_numbers, is_fitted : optional
        The columns by number, what they hold, and whether the transformer is fitted; a fit sets them.

    Examples
    --------
    >>> import pandas as pd, vectrick as vt
    >>> users = pd.DataFrame({"id": ["a", "b"], "age": [30.0, 40.0], "country": ["FR", "DE"]})
    >>> kernel = vt.On("country", vt.Linear()) + 0.5 * vt.On("age", vt.Standardized(vt.Gaussian()))
    >>> model = vt.KronRidge(kernel, "linear").fit(vt.Edges.grid(users, [[1.0], [2.0]]), [1.0, 2.0, 0.0, 1.0])
    >>> model.predict_grid(users[:1], [[3.0]]).shape
    (1, 1)
    """

    name = "on"
    learned = ("where", "kind", "n_numbers", "is_fitted")
    reads = "any"  # what the columns hold is checked when they are known

    def __init__(
        self,
        names: str | Sequence[str],
        view: Any,
        kernel: Kernel | None = None,
        where: Sequence[int] | None = None,
        kind: str | None = None,
        n_numbers: int | None = None,
        is_fitted: bool = False,
    ) -> None:
        self.names = names
        self.view = view
        self.kernel = kernel
        self.where = where
        self.kind = kind
        self.n_numbers = n_numbers
        self.is_fitted = is_fitted

    @property
    def all_names(self) -> list[str]:
        """The names of the columns as a list."""
        return list(self.names) if isinstance(self.names, list | tuple) else [self.names]  # type: ignore[list-item]

    @property
    def inner(self) -> Kernel:
        """The kernel of what `encoded` returns."""
        return self.view if isinstance(self.view, Kernel) else chosen_kernel(self.kernel, Linear())

    def encoded(self, X: Features) -> Any:
        """Return the columns, or what the transformer makes of them."""
        block = self._block(X)
        if isinstance(self.view, Kernel):
            return block
        # With the transformer in the value, its identity is not reused while the value is cached.
        return RECENT.of(self, block, lambda: (self.view, self._transformed(block)), id(self.view))[1]

    def of_table(self, table: VertexTable, argument: str) -> "On":
        """Return the kernel with the places of its columns in a table; raise an error if it does not apply to them."""
        if self.where is not None and table.columns is None and table.text is None:  # bound before
            return self
        view = KERNELS[self.view]() if isinstance(self.view, str) and self.view in KERNELS.plain_names() else self.view
        _check_view(view, self.kernel, argument)
        names = self.all_names
        if not names or not all(isinstance(name, str) for name in names):
            raise ValueError(f"names of On is {self.names!r}, but it must be the name of a column, or several names")
        numbers, strings = _found(names, table, argument)
        if strings and (numbers or len(strings) > 1):
            raise ValueError(
                f"{argument} has On({self.names!r}), but {strings[0]!r} holds strings; give each column of strings an "
                "On of its own, and add them"
            )
        wanted = "text" if strings else "numbers"
        if isinstance(view, Kernel) and view.reads not in ("any", wanted):
            held = "strings" if strings else "numbers"
            if not strings and any(note.endswith("of 0 and 1") for note in map(table.notes.get, names) if note):
                held = "categories, because its name does not say that it has SMILES strings or sequences"
            raise ValueError(
                f"{argument} has On({self.names!r}, {view!r}), but {', '.join(map(repr, names))} of {table.name} holds "
                f"{held}; kernels of strings are vt.Molecule and vt.Morgan for SMILES strings, vt.Spectrum and "
                "vt.SmithWaterman for sequences, and TfidfVectorizer() of scikit-learn is for text"
            )
        where: tuple[int, ...]
        if strings:
            where, kind = (table.string_columns.index(strings[0]) if table.text is None else 0,), "strings"
        else:
            where, kind = tuple(numbers), "dense" if table.string_columns else "numbers"
        return self.with_parameters(view=view, where=where, kind=kind, n_numbers=table.n_numbers)

    def resolve(self, X: Features, positions: Array) -> "On":
        """Return the kernel with its view fitted to the training vertices."""
        block = self._block(X)
        if isinstance(self.view, Kernel):
            return self.with_parameters(view=self.view.resolve(block, positions))
        if self.is_fitted:
            return self
        settled = self.with_parameters(view=clone(self.view), is_fitted=True)
        with self._told():
            settled.view.fit(_as_input(block, self.kind))
        settled.kernel = settled.inner.resolve(settled.encoded(X), positions)
        return settled

    def _block(self, X: Any) -> Any:
        """Return the columns: numbers, or a table of characters."""
        if self.where is None or self.n_numbers is None:
            raise ValueError(
                f"On({self.names!r}) knows its columns only in a fit, which has a table with named columns"
            )
        where = [int(place) for place in self.where]
        if self.kind == "numbers":
            first, last = where[0], where[-1]
            return X[:, first : last + 1] if where == list(range(first, last + 1)) else X[:, where]
        n_numbers = int(self.n_numbers)
        if self.kind == "strings":
            if n_numbers == 0 and X.shape[1] == block_of(X[:0], 0, 0).shape[1]:
                return X
            return RECENT.of(self, X, lambda: block_of(X, n_numbers, where[0]), "block")
        return RECENT.of(self, X, lambda: numbers_of(X, n_numbers, where), "block")

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Add the columns and what they hold to the errors of a transformer."""
        try:
            yield
        except (ValueError, TypeError, AttributeError) as error:
            held = "strings, given as a list" if self.kind == "strings" else "numbers, given as a matrix"
            raise ValueError(
                f"{type(self.view).__name__} failed on {', '.join(map(repr, self.all_names))}, which holds {held} "
                f"(words of few values are columns of 0 and 1): {error}"
            ) from error

    def _transformed(self, block: Any) -> Any:
        with self._told():
            made = self.view.transform(_as_input(block, self.kind))
        made = csr_array(made) if issparse(made) else np.asarray(made)
        if made.ndim != 2 or made.dtype.kind not in "biuf" or made.shape[0] != block.shape[0]:
            raise ValueError(
                f"{type(self.view).__name__} on {self.names!r} returned {made.dtype} of shape {made.shape}, but it "
                f"must return a matrix of numbers with {block.shape[0]} rows"
            )
        return made.astype(np.float64)


def _as_input(block: Any, kind: str | None) -> Any:
    """Return columns as a transformer takes them: a list of strings, or a matrix."""
    if kind == "strings":
        return strings_of(block)
    return block if issparse(block) else np.asarray(to_host(block), np.float64)


def _reads_vertices(kernel: Kernel) -> bool:
    """Return whether a kernel, or one inside it, is not one of columns."""
    inside = (value for value in kernel.get_params(deep=False).values() if isinstance(value, Kernel))
    return kernel.name in ("on", "identity", "parts") or any(map(_reads_vertices, inside))


def _check_view(view: object, kernel: object, argument: str) -> None:
    """Raise an error if a view is not a kernel of columns, or a transformer."""
    if isinstance(view, Kernel):
        if kernel is not None:
            raise ValueError(f"kernel of On is {kernel!r}, but the view is a kernel already; leave one of them out")
        if view.is_matrix or view.needs_labels or _reads_vertices(view):
            raise ValueError(
                f"{argument} has an On with {view!r}, but this reads whole vertices; add it to the On, or multiply it"
            )
    elif isinstance(view, type) or not (hasattr(view, "fit") and hasattr(view, "transform")):
        raise ValueError(
            f"{argument} has an On with the view {view!r}, but it must be a kernel such as vt.Gaussian(), its name, or "
            "a scikit-learn transformer such as TfidfVectorizer()"
        )


def _found(names: Sequence[str], table: VertexTable, argument: str) -> tuple[list[int], list[str]]:
    """Return the places of columns of numbers, and the columns of strings."""
    if table.text is not None:
        if not set(names) <= {table.text, WHOLE}:
            raise ValueError(
                f"{argument} has On({list(names)}), but {table.name} has only the column {table.text!r}, of strings"
            )
        return [], [table.text]
    if table.columns is None:
        raise ValueError(
            f"{argument} has On({list(names)}), but {table.name} has no named columns; give a pandas, polars or Arrow "
            "frame"
        )
    numbers: list[int] = []
    strings: list[str] = []
    for name in names:
        matching = [place for place, column in enumerate(table.columns) if _matches(str(column), name)]
        if not matching:
            left_out = f" ({name!r}: {table.notes[name]})" if name in table.notes else ""
            known = [*dict.fromkeys(table.notes)] or [str(column) for column in table.columns]
            shown = ", ".join(map(repr, known[:_SHOWN])) + (", …" if len(known) > _SHOWN else "")
            raise ValueError(
                f"{argument} has On({name!r}), but {table.name} has no such column{left_out}; its columns are {shown}"
            )
        numbers += [place for place in matching if place < table.n_numbers and place not in numbers]
        strings += [table.columns[place] for place in matching if place >= table.n_numbers]
    return numbers, list(dict.fromkeys(strings))


def _matches(column: str, name: str) -> bool:
    """Return whether a feature comes from a column: it has its name, or it is one of several made of it."""
    if "*" in name:
        return fnmatchcase(column, name.replace("[", "[[]"))
    return column in (name, name + MISSING) or column.startswith((f"{name}=", f"{name}["))
