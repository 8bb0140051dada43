"""The data of the experiments: real graphs from ``VECTRICK_DATA``, and the Checker simulation."""

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import vectrick as vt

Array = NDArray[Any]

FOLDER = Path(os.environ.get("VECTRICK_DATA", Path(__file__).parent.parent.parent / "shared" / "data"))
REAL = {"Ki": "ki", "GPCR": "gpcr", "IC": "ic", "E": "e"}
QUICK = {"Ki": 4, "GPCR": 1, "IC": 1, "E": 3}  # take every k-th vertex
CHECKER_TEST = 5000  # vertices on each side of the test graph, with 6 250 000 edges


def folder_of(data: str) -> Path:
    """Return the folder of a real data set; raise FileNotFoundError if it is missing."""
    return folder(REAL[data])


def folder(name: str) -> Path:
    """Return a folder of the real data; raise FileNotFoundError if it is missing."""
    found = FOLDER / name
    if not found.is_dir():
        raise FileNotFoundError(f"no folder {name!r} in {FOLDER}; set VECTRICK_DATA to the folder that holds it")
    return found


@lru_cache(1)
def real(data: str, quick: bool = False) -> tuple[vt.Edges, Array]:
    """Return edges and labels of a real data set; the features are the rows of the similarity matrices.

    The paper used a quarter of the edges of GPCR, IC and E. A quick run uses a
    part of the vertices of the two large data sets, Ki and E.
    """
    every = QUICK[data] if quick else 1
    folder = folder_of(data)
    matrices = [pd.read_csv(folder / f"{side}_kernel.csv.gz", index_col="id") for side in ("start", "end")]
    edges = pd.read_csv(folder / ("edges.csv.gz" if data == "Ki" else "edges_quarter.csv.gz"))
    start, end = (
        matrix.index.get_indexer(edges[side]) for matrix, side in zip(matrices, ("start", "end"), strict=True)
    )
    y = edges["label"].to_numpy(np.float64)
    kept = (start % every == 0) & (end % every == 0)
    features = [matrix.to_numpy(np.float64)[::every] for matrix in matrices]
    return vt.Edges(start[kept] // every, end[kept] // every, *features), y[kept]


def checker(m: int, seed: int) -> tuple[vt.Edges, Array]:
    """Return a Checker graph; each seed has different vertices."""
    return vt.datasets.make_checkerboard(m, random_state=seed)
