"""A labeled graph as it was read: edges, labels, and what was left out."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vectrick._typing import Array
from vectrick.data.censored import censored
from vectrick.data.edges import Edges


class Labeled:
    """Data whose labels are values, or classes with names."""

    classes: Any  # their names, or None
    label: str  # the column

    @property
    def has_classes(self) -> bool:
        """Whether the labels are classes, two or more."""
        return self.classes is not None

    def refuse_several_classes(self, what: str) -> None:
        """Refuse more than two classes for something that does not support them yet."""
        if self.classes is not None and len(self.classes) > 2:
            raise ValueError(f"{what} is for values or two classes, but column {self.label!r} has {len(self.classes)}")


@dataclass(frozen=True)
class Dataset(Labeled):
    """Labeled edges that were read from files.

    Attributes
    ----------
    X, y : Edges, array
        The edges, and their labels: numbers, or words if there are more than two classes.
    classes : tuple of str, optional
        The names of the classes, if there are classes. Of two classes, the positive one is last. If there are more
        than two, the labels are these names.
    kinds : dict
        "features", "kernel", "smiles" or "sequences" for "start" and "end".
    files : dict
        The files by their role.
    label : str
        The name of the label's column.
    dropped : list of str
        What was left out, and why, if that was allowed.
    bounds : array, optional
        Which labels are bounds, as `vt.censored` takes them.
    medians : dict
        The medians that filled gaps in the columns of the "start" and "end" tables.
    """

    X: Edges
    y: Array
    kinds: dict[str, str]
    files: dict[str, Path] = field(default_factory=dict)
    label: str = "label"
    classes: tuple[str, ...] | None = None
    dropped: list[str] = field(default_factory=list)
    medians: dict[str, dict[str, float]] = field(default_factory=dict)
    bounds: Array | None = None

    @property
    def target(self) -> Array:
        """The labels that models are trained with: ``y``, with bounds if there are any."""
        return self.y if self.bounds is None else censored(self.y, self.bounds)

    @property
    def is_binary(self) -> bool:
        """Whether the labels are two classes."""
        return self.classes is not None and len(self.classes) == 2

    @property
    def class_names(self) -> tuple[str, ...]:
        """The names of the classes; empty if the labels are values."""
        return self.classes or ()
