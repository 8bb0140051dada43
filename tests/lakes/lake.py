"""Small lakes for the tests, with the same edges in memory."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import vectrick as vt


@dataclass
class Lake:
    """A folder of Parquet files, and its edges in memory."""

    folder: Path
    users: np.ndarray
    items: np.ndarray
    start: np.ndarray
    end: np.ndarray
    y: np.ndarray
    weight: np.ndarray

    @property
    def X(self):
        return vt.Edges(self.start, self.end, self.users, self.items)

    @property
    def good(self):
        """Two classes of about equal size."""
        return (self.y > np.median(self.y)).astype(int)

    @property
    def grade(self):
        """Three classes."""
        return np.digitize(self.y, np.quantile(self.y, [0.3, 0.7]))

    def scan(self, label="y", **more):
        given = {"partition_edges": 150, "start_table": self.users, "end_table": self.items, **more}
        return vt.scan_edges(self.folder, start="user", end="item", label=label, **given)


def make_lake(folder, m=40, q=30, n=700, n_files=4, seed=0):
    """Write a lake whose labels are products of features, and noise."""
    rng = np.random.default_rng(seed)
    users, items = rng.standard_normal((m, 5)), rng.standard_normal((q, 4))
    pairs = rng.choice(m * q, n, replace=False)
    start, end = pairs // q, pairs % q
    core = rng.standard_normal((5, 4))
    y = np.einsum("ij,jk,ik->i", users[start], core, items[end]) + 2 + rng.standard_normal(n)
    lake = Lake(Path(folder), users, items, start, end, y, rng.random(n) + 0.5)
    frame = pd.DataFrame(
        {"user": start, "item": end, "y": y, "good": lake.good, "grade": lake.grade, "weight": lake.weight}
    )
    for number, rows in enumerate(np.array_split(np.arange(n), n_files)):
        frame.iloc[rows].to_parquet(lake.folder / f"part-{number}.parquet", row_group_size=100)
    return lake
