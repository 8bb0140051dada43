"""Protein sequences: validity, and FASTA files."""

import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FASTA = (".fasta", ".fa", ".faa", ".fasta.gz", ".fa.gz", ".faa.gz")
_OTHER = re.compile(r"[^A-Z]")


def plain_sequence(text: str) -> str:
    """Return a sequence in capital letters, without spaces and without a final stop sign.

    >>> plain_sequence("mkt ayi*")
    'MKTAYI'
    """
    return "".join(text.split()).upper().removesuffix("*")


def wrong_sequence(text: str) -> str | None:
    """Return the reason why a sequence is invalid, or None: the letters A to Z stand for amino acids or bases.

    >>> wrong_sequence("MKT-AYI"), wrong_sequence("MKT")
    ("has the letter '-' at 4, but letters are A to Z", None)
    """
    sequence = plain_sequence(text)
    if not sequence:
        return "is empty"
    other = _OTHER.search(sequence)
    return None if other is None else f"has the letter {other[0]!r} at {other.start() + 1}, but letters are A to Z"


def opened(path: Path) -> Any:
    """Open a text file that may be gzipped and may begin with a byte order mark."""
    return gzip.open(path, "rt", encoding="utf-8-sig") if path.suffix == ".gz" else path.open(encoding="utf-8-sig")


def read_fasta(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the ids and the sequences of a FASTA file; the id is the first word after ">"."""
    name, parts = None, list[str]()
    with opened(path) as lines:
        for number, line in enumerate(lines, 1):
            text = line.strip()
            if text.startswith(">"):
                if name is not None:
                    yield name, "".join(parts)
                words = text[1:].split()
                if not words:
                    raise ValueError(f"{path}: line {number} has no id after '>'")
                name, parts = words[0], []
            elif text and not text.startswith(";"):
                if name is None:
                    raise ValueError(
                        f"{path}: line {number} is {text[:30]!r}, but a FASTA file begins with '>' and an id"
                    )
                parts.append(text)
    if name is None:
        raise ValueError(f"{path} has no sequences: no line begins with '>'")
    yield name, "".join(parts)
