"""Checks of strings as molecules or sequences, and messages about invalid ones."""

from collections.abc import Callable, Sequence

import numpy as np

from vectrick._typing import Array
from vectrick._warnings import warn
from vectrick.data.files.columns import TEXT, TableWarning
from vectrick.data.strings.molecules import wrong_smiles
from vectrick.data.strings.sequences import plain_sequence, wrong_sequence
from vectrick.data.strings.table import LETTERS, kind_of_strings
from vectrick.data.tables import VertexTable

_SHOWN = 40  # characters of a string
_CHECKS: dict[str, tuple[str, Callable[[str], str | None]]] = {
    "smiles": ("molecules", wrong_smiles),
    "sequence": ("sequences", wrong_sequence),
}


def unreadable(strings: Sequence[str], kind: str) -> dict[int, str]:
    """Return the rows of strings that are not valid molecules ("smiles") or sequences, each with the reason.

    >>> unreadable(["CCO", "C1CC", ""], "smiles")
    {1: 'is no molecule', 2: 'is empty'}
    """
    wrong = _CHECKS[kind][1]
    return {row: why for row, string in enumerate(strings) if (why := wrong(string)) is not None}


def first_unreadable(strings: Sequence[str], kind: str, wrong: dict[int, str]) -> tuple[str, str]:
    """Return a description of the first unreadable row, and the number of unreadable rows in words."""
    row, why = next(iter(wrong.items()))
    shown = strings[row][:_SHOWN] + ("…" if len(strings[row]) > _SHOWN else "")
    first = f"row {row + 1}{f', {shown!r},' if shown.strip() else ''} {why}"
    return first, f"{len(wrong)} of {len(strings)} {_CHECKS[kind][0]}"


def tell_skipped(where: str, strings: Sequence[str], kind: str, wrong: dict[int, str]) -> None:
    """Warn about strings that were left out; raise an error if none remains."""
    first, count = first_unreadable(strings, kind, wrong)
    if len(wrong) == len(strings):
        raise ValueError(f"{where}: {first}, and no other row is valid")
    warn(f"{where}: {count} are invalid, and were left out: {first}", TableWarning)


def readable_part(table: VertexTable) -> tuple[VertexTable, Array]:
    """Return the vertices whose strings can be read, and the new position of each vertex, or -1 if it is left out.

    If the table has no ids, the former positions become ids, but they are not compared with ids of other tables.
    """
    wrong: set[int] = set()
    for column in [table.text] if table.text is not None else table.string_columns:
        if table.notes.get(column) == TEXT:
            continue
        strings = table.strings_in(column)
        plain = [string for string in strings if string and set(plain_sequence(string)) <= LETTERS]
        # A few strings that are not sequences do not turn all others into molecules.
        kind = kind_of_strings(plain if 2 * len(plain) > len(strings) else [s for s in strings if s], column)
        found = unreadable(strings, kind)
        if found:
            where = table.name if table.text is not None else f"{table.name}, column {column!r}"
            tell_skipped(where, strings, kind, found)
            wrong |= set(found)
    if not wrong:
        return table, np.arange(len(table))
    position = np.full(len(table), -1)
    rows = np.setdiff1d(np.arange(len(table)), list(wrong))
    position[rows] = np.arange(len(rows))
    part = table.take(rows)
    part.origin = None
    if part.ids is None:
        part.ids, part.is_named = rows, False
    return part, position
