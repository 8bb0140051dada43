"""Features of vertices as plain numbers, for methods without kernels: strings become fingerprints or k-mer counts."""

from typing import Any

from vectrick.data import VertexTable
from vectrick.data.strings.table import kind_of_strings
from vectrick.kernels.strings.morgan import Morgan
from vectrick.kernels.strings.spectrum import Spectrum

_BITS, _LETTERS = 1024, 2  # few enough columns for trees and nearest neighbors


def plain_features(table: VertexTable) -> Any:
    """Return the features of a table; for strings, fingerprints of 1024 bits or counts of pairs of letters."""
    if table.text is None:
        return table.features
    strings = table.strings
    kind = kind_of_strings(strings, table.text)
    return (Morgan(n_bits=_BITS) if kind == "smiles" else Spectrum(_LETTERS)).encode(strings)
