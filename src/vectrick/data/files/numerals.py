"""Words that represent numbers."""

import re
from collections.abc import Iterable

_COMMA = re.compile(r"\s*[<>=~≤≥]*\s*[+-]?(?=[^,]*,)(?=\D*\d)[\d.,']+([eE][+-]?\d+)?\s*")


def is_number(word: str) -> bool:
    """Return whether a word is a number other than NaN.

    >>> is_number("1e3"), is_number("3,5")
    (True, False)
    """
    try:
        return float(word) == float(word)
    except ValueError:
        return False


def refuse_commas(words: Iterable[str], where: str) -> None:
    """Raise an error for words that are numbers with commas, because they are not meant as classes or categories."""
    distinct = list(dict.fromkeys(words))
    with_comma = [word for word in distinct if _COMMA.fullmatch(word)]
    if with_comma and all(word in with_comma or is_number(word) for word in distinct):
        raise ValueError(
            f"{where} has numbers with commas, such as {with_comma[0]!r}; use a decimal point, and no separators of "
            "thousands"
        )
