"""The base class of experiments, and the table of their results with the finished tasks."""

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

Task = dict[str, Any]
Row = dict[str, Any]


@dataclass(frozen=True)
class Scale:
    """The size of a run: full or reduced, and the number of seeds."""

    quick: bool = False
    seeds: int = 5


class Experiment(ABC):
    """An experiment: its tasks, the result rows of each task, a figure, and a section of the README."""

    name: str
    title: str

    @abstractmethod
    def tasks(self, scale: Scale) -> list[Task]:
        """Return the tasks; the values of a task are its key in the table of results."""

    @abstractmethod
    def run(self, task: Task) -> list[Row]:
        """Run a task, and return its result rows."""

    @abstractmethod
    def figure(self, results: pd.DataFrame) -> Any:
        """Return the figure of the results."""

    @abstractmethod
    def section(self, results: pd.DataFrame) -> str:
        """Return the section of the README."""


class Results:
    """The result rows of an experiment in a CSV file; each addition replaces the whole file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.frame = pd.read_csv(path) if path.exists() else pd.DataFrame()

    def has(self, task: Task) -> bool:
        """Return whether a task is finished."""
        if self.frame.empty or not set(task) <= set(self.frame.columns):
            return False
        same = pd.Series(True, index=self.frame.index)
        for name, value in task.items():
            same &= self.frame[name] == value
        return bool(same.any())

    def add(self, task: Task, rows: list[Row]) -> None:
        """Add the rows of a task, and write the file."""
        new = pd.DataFrame([{**task, **row} for row in rows])
        self.frame = new if self.frame.empty else pd.concat([self.frame, new], ignore_index=True)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        beside = self.path.with_suffix(".part")
        self.frame.to_csv(beside, index=False, float_format="%.6g")
        os.replace(beside, self.path)
