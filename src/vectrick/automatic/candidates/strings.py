"""Candidate kernels for vertices that are strings: fingerprints of molecules, alignments of sequences."""

from collections.abc import Iterator
from importlib.util import find_spec

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.pairwise import euclidean_distances

from vectrick._typing import Array, Features
from vectrick.data.strings.molecules import rdkit
from vectrick.data.strings.table import strings_of
from vectrick.kernels import (
    Constant,
    Gaussian,
    Kernel,
    Linear,
    Molecule,
    Morgan,
    On,
    Radial,
    SmithWaterman,
    Spectrum,
    Standardized,
)
from vectrick.kernels.strings.views import DESCRIPTORS
from vectrick.kernels.tables.on import WHOLE

_LETTERS = (3, 5)  # lengths of parts of words


class Strings:
    """Candidate kernels and distances for a table of characters: strings of the kind "smiles", "sequence" or "text"."""

    def __init__(self, kind: str, table: Features) -> None:
        self.kind, self._all = kind, strings_of(table)
        self._aligned = kind == "sequence" and find_spec("parasail") is not None
        if kind == "smiles":
            rdkit()  # raises if RDKit is missing

    def kernels(self) -> Iterator[tuple[str, Kernel, str]]:
        """Yield names, kernels and their families."""
        if self.kind == "smiles":
            # Bits are the common choice; counts of larger neighborhoods, also by function, are often better.
            counts: Kernel = Morgan(3, 4096, counts=True) + Morgan(2, 2048, counts=True, functional=True)
            for name, once in (("morgan", Morgan()), ("morgan counts", counts)):
                twice = once * once
                yield name, once, name
                yield f"{name}^2", twice, name
                yield f"{name}^4", twice * twice, name
            paths, properties = Molecule("path"), Molecule("descriptors")
            yield "path", paths, "path"
            yield "path^2", paths * paths, "path"
            yield "descriptors", properties, "descriptors"
            linear: Kernel = Molecule("descriptors", kernel=Standardized(Linear() * Constant(1 / len(DESCRIPTORS))))
            yield "linear descriptors", linear, "descriptors"
            yield "path + linear descriptors", paths + linear, "path+descriptors"
            return
        if self.kind == "text":
            yield "words", On(WHOLE, TfidfVectorizer(sublinear_tf=True)), "words"
            letters = TfidfVectorizer(analyzer="char_wb", ngram_range=_LETTERS, sublinear_tf=True)
            yield "letters", On(WHOLE, letters), "letters"
            return
        words: Kernel = Spectrum()
        yield "spectrum", words, "spectrum"
        yield "spectrum^2", words * words, "spectrum"
        if self._aligned:
            scores: Kernel = SmithWaterman()
            yield "alignment", scores, "alignment"
            yield "alignment^2", scores * scores, "alignment"
            yield "spectrum + alignment", words + scores, "alignment+spectrum"

    @property
    def has_distances(self) -> bool:
        """Whether there are Gaussian kernels of these strings; text has too many words for them."""
        return self.kind != "text"

    @property
    def view_of_distances(self) -> str:
        """The view whose distances Gaussian kernels have."""
        return "alignment" if self._aligned else "morgan" if self.kind == "smiles" else "spectrum"

    def gaussian(self, gamma: float) -> Kernel:
        """Return the Gaussian kernel of the distances between strings."""
        if self._aligned:
            return Radial(SmithWaterman(), gamma)
        return (Morgan if self.kind == "smiles" else Spectrum)(kernel=Gaussian(gamma))

    def squared_distances(self, rows: Array) -> Array:
        """Return the squared distances between some strings, as used by `gaussian`."""
        some = [self._all[row] for row in rows.tolist()]
        if self._aligned:
            return np.maximum(2.0 - 2.0 * SmithWaterman().similarities(some, some), 0.0)
        features = (Morgan() if self.kind == "smiles" else Spectrum()).encode(some)
        return np.asarray(euclidean_distances(features, squared=True))
