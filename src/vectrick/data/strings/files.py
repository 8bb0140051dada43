"""Molecules and sequences in files: tables with SMILES strings or sequences, .smi files, FASTA files."""

import gzip
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vectrick._typing import ArrayLike
from vectrick._warnings import warn
from vectrick.data.files.columns import TableWarning
from vectrick.data.files.frames import ENDINGS, TableFile
from vectrick.data.strings.molecules import canonical, rdkit
from vectrick.data.strings.readable import first_unreadable, tell_skipped, unreadable
from vectrick.data.strings.sequences import FASTA, opened, plain_sequence, read_fasta
from vectrick.data.tables import VertexTable

SMI = (".smi", ".smi.gz", ".smiles")
_SHOWN, _SHOWN_CHARACTERS = 3, 40  # strings named in an error, and their characters
_ISOTOPE = re.compile(r"\[\d+[A-Za-z]")


@dataclass(frozen=True)
class StringKind:
    """A kind of strings: the names of its column and its vertices, and the endings of its files."""

    column: str
    noun: str
    endings: tuple[str, ...]
    word: str  # part of the name of its column


KINDS = {
    "smiles": StringKind("smiles", "molecules", SMI, "smi"),
    "sequences": StringKind("sequence", "sequences", FASTA, "seq"),
}


def read_strings(
    path: Path | str,
    side: str,
    kind: str,
    id_column: str | None = None,
    usual: str = "id",
    skip_invalid: bool = False,
    tell: bool = True,
) -> VertexTable:
    """Read the strings of a file: "smiles" or "sequences".

    Ids are in ``id_column``, by default in the column "id" or ``usual``. In a .smi file they follow the string, in a
    FASTA file the sign ">". Invalid strings raise an error; with ``skip_invalid`` they are left out, and the attribute
    ``skipped`` of the table holds their ids. With ``tell``, salts, isotopes and copies cause a warning.
    """
    source, known = Path(path), KINDS[kind]
    if kind == "smiles":
        rdkit()  # raises an error before anything is read if RDKit is missing
    ids, strings = _read(source, side, kind, id_column, usual)
    twice = [name for name, count in Counter(ids).items() if count > 1]
    if twice:
        raise ValueError(f"{source} has {len(twice)} ids more than once: {_listed(twice)}")
    wrong = unreadable(strings, known.column)
    if wrong and skip_invalid:
        tell_skipped(source.name, strings, known.column, wrong)
    elif wrong:
        first, count = first_unreadable(strings, known.column, wrong)
        raise ValueError(f"{source}: {first} ({count} are invalid); --skip-invalid leaves them out, with their edges")
    kept = [row for row in range(len(ids)) if row not in wrong]
    if kind == "sequences":
        strings = [plain_sequence(string) for string in strings]
    names = np.array([ids[row] for row in kept], object)
    table = string_table([strings[row] for row in kept], side, kind, names)
    if tell and kind == "smiles":
        _tell_of_molecules(source, names.tolist(), table.strings)
    table.skipped = [ids[row] for row in wrong]
    return table


def string_table(strings: list[str], side: str, kind: str, ids: ArrayLike | None) -> VertexTable:
    """Return the table of strings with ids."""
    table = VertexTable(strings, f"{side}_{kind}", ids)
    table.text = KINDS[kind].column
    return table


def named_or_given(text: str, kind: str) -> Path | None:
    """Return the file that a text names, or None if the text is a string of that kind."""
    known, path = KINDS[kind], Path(text)
    if path.name.endswith((*ENDINGS, *known.endings)):
        return path
    try:
        return path if path.is_file() else None
    except OSError:  # too long for a file name
        return None


def given_string(text: str, side: str, kind: str) -> VertexTable:
    """Return the table of one string that was given instead of a file; its id is the string itself."""
    wrong = unreadable([text], KINDS[kind].column)
    if wrong:
        shown = text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"
        raise ValueError(
            f"--{side}-{kind} is {shown!r}, but there is no such file, and as one of {KINDS[kind].noun} it {wrong[0]}"
        )
    return string_table([text], side, kind, np.array([text], object))


def _read(path: Path, side: str, kind: str, id_column: str | None, usual: str) -> tuple[list[str], list[str]]:
    """Return ids and strings."""
    known = KINDS[kind]
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    if not path.name.endswith(known.endings):
        if not path.name.endswith(ENDINGS):
            every = (*ENDINGS, *known.endings)
            raise ValueError(f"{path} has no {known.noun}: its name must end in {', '.join(every[:-1])} or {every[-1]}")
        return _read_table(path, side, kind, id_column, usual)
    try:
        rows = list(read_fasta(path)) if kind == "sequences" else _read_smi(path)
    except (UnicodeDecodeError, EOFError, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} cannot be read: {error}") from None
    return [name for name, _ in rows], [string for _, string in rows]


def _read_table(path: Path, side: str, kind: str, id_column: str | None, usual: str) -> tuple[list[str], list[str]]:
    source, known = TableFile(path), KINDS[kind]
    option = f"--{side}-id-column"
    column = source.need(id_column, option) if id_column is not None else None
    column = column or (usual if usual in source.columns else source.need("id", option))
    others = [name for name in source.columns if name != column]
    named = [name for name in others if known.word in name.lower()]
    if len(named) != 1 and len(others) != 1:
        what = "several columns" if named else "no column"
        raise ValueError(f"{path} has {what} with {known.word!r} in the name, but the {known.noun} must be in one")
    chosen = named[0] if len(named) == 1 else others[0]
    table = source.read([column, chosen], text=[column, chosen])
    return source.ids(table, column).to_pylist(), [word or "" for word in table.column(chosen).to_pylist()]


def _read_smi(path: Path) -> list[tuple[str, str]]:
    """Return ids and strings of lines that have a string, optionally followed by an id."""
    rows: list[tuple[str, str]] = []
    with opened(path) as lines:
        for line in lines:
            words = line.split(maxsplit=1)
            if words and not (not rows and "smiles" in words[0].lower()):  # a header
                rows.append((words[1].strip() if len(words) > 1 else words[0], words[0]))
    if not rows:
        raise ValueError(f"{path} has no molecules")
    return rows


def _tell_of_molecules(path: Path, ids: list[str], strings: list[str]) -> None:
    """Warn about salts, isotopes and repeated compounds."""
    remarks = []
    salts, isotopes = sum("." in s for s in strings), sum(_ISOTOPE.search(s) is not None for s in strings)
    if salts:
        remarks.append(f"{salts} are salts or mixtures, reduced to the largest organic fragment")
    if isotopes:
        remarks.append(f"{isotopes} have isotopes that are ignored")
    first: dict[str, str] = {}
    copies = [
        (first[same], name)
        for name, string in zip(ids, strings, strict=True)
        if first.setdefault(same := canonical(string), name) != name
    ]
    if copies:
        shown = ", ".join(f"{b!r} and {a!r}" for a, b in copies[:_SHOWN]) + (", …" if len(copies) > _SHOWN else "")
        remarks.append(
            f"{len(copies)} are the same compound as another one ({shown}): if a fold trains on one of them, the "
            "other is not new"
        )
    if remarks:
        warn(f"{path.name}: of {len(ids)} molecules, {'; '.join(remarks)}", TableWarning)


def _listed(words: list[str]) -> str:
    return ", ".join(map(repr, words[:_SHOWN])) + (", …" if len(words) > _SHOWN else "")
