"""The real data sets, where they are to be had: ``VECTRICK_DATA``, by default ``../shared/data`` beside the project."""

import csv
import gzip
import os
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(os.environ.get("VECTRICK_DATA", Path(__file__).parent.parent.parent / "shared" / "data"))


def folder_of(name: str) -> Path:
    """Return the folder of a data set; skip the test if there is none."""
    folder = FOLDER / name
    if not folder.is_dir():
        pytest.skip(f"no data set {name!r} in {FOLDER}; set VECTRICK_DATA to the folder that holds it")
    return folder


def read_matrix(name: str, file: str):
    """Return a matrix of a data set."""
    return _read_kernel(folder_of(name) / f"{file}.csv.gz")[1]


def read_graph(name: str):
    """Return the kernels K and G, and the edges (start, end) with their labels; skip the test if there are none."""
    folder = folder_of(name)
    ids, kernels = zip(*(_read_kernel(folder / f"{side}_kernel.csv.gz") for side in ("start", "end")), strict=True)
    positions = [{vertex: number for number, vertex in enumerate(side)} for side in ids]
    with gzip.open(folder / "edges.csv.gz", "rt") as file:
        edges = list(csv.DictReader(file))
    start, end = (
        np.array([position[edge[side]] for edge in edges])
        for side, position in zip(("start", "end"), positions, strict=True)
    )
    return *kernels, start, end, np.array([float(edge["label"]) for edge in edges])


def _read_kernel(path: Path):
    with gzip.open(path, "rt") as file:
        ids = file.readline().rstrip("\n").split(",")[1:]
        return ids, np.array([np.fromstring(line.partition(",")[2], sep=",") for line in file])
