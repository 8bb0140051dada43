"""A labeled graph read from files: options, edges and labels, and messages about rows that were left out."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vectrick._typing import Array
from vectrick.data.censored import censored
from vectrick.data.edges import Edges


@dataclass(frozen=True)
class TableOptions:
    """The file of the vertex table of one side (at most one of these), and its columns of ids."""

    features: Path | str | None
    kernel: Path | str | None
    smiles: Path | str | None
    sequences: Path | str | None
    column: str
    id_column: str | None

    @property
    def paths(self) -> dict[str, Path | str | None]:
        """The file of each kind of table."""
        return {"features": self.features, "kernel": self.kernel, "smiles": self.smiles, "sequences": self.sequences}


@dataclass(frozen=True)
class ReadOptions:
    """Options for reading a data set.

    Attributes
    ----------
    edges, start_features, end_features, start_matrix, end_matrix : path, optional
        Files; they replace files of the folder.
    start_smiles, end_smiles, start_sequences, end_sequences : path, optional
        Files of molecules or sequences.
    start_columns, end_columns : str, optional
        Two columns of ids, "drug_a,drug_b", for vertices that are pairs; instead of one column.
    start_column, end_column, label_column : str
        Names of the columns of the edges.
    start_id_column, end_id_column : str, optional
        Names of the id columns in the tables; by default "id", or the name of the edges' column.
    positive : str, optional
        The positive one of two classes; by default the larger number, a word such as "yes" or "active", or the later
        one in the alphabet.
    log : str, optional
        The unit of labels that are concentrations: "M", "mM", "uM", "nM" or "pM". They are replaced by their negative
        logarithms in mol/l, for example 9 - log10 of nM.
    relation_column : str, optional
        A column of the edges that marks bounds: "<", ">" or "=". Labels such as "> 10000" need no such column.
    drop_unknown : bool
        Whether to leave out edges whose ids have no features, instead of an error.
    skip_unlabeled : bool
        Whether to leave out edges without a label, instead of an error.
    impute : "median", optional
        The value that replaces missing values in tables, instead of an error.
    skip_invalid : bool
        Whether to leave out molecules and sequences that are invalid, with their edges, instead of an error.
    """

    edges: Path | str | None = None
    start_features: Path | str | None = None
    end_features: Path | str | None = None
    start_matrix: Path | str | None = None
    end_matrix: Path | str | None = None
    start_smiles: Path | str | None = None
    end_smiles: Path | str | None = None
    start_sequences: Path | str | None = None
    end_sequences: Path | str | None = None
    start_column: str = "start"
    end_column: str = "end"
    start_columns: str | None = None
    end_columns: str | None = None
    label_column: str = "label"
    start_id_column: str | None = None
    end_id_column: str | None = None
    positive: str | None = None
    log: str | None = None
    relation_column: str | None = None
    drop_unknown: bool = False
    skip_unlabeled: bool = False
    impute: str | None = None
    skip_invalid: bool = False

    def id_columns(self, side: str) -> tuple[str, ...]:
        """Return the columns of the edges that hold the ids of a side: one, or two for vertices that are pairs."""
        both = getattr(self, f"{side}_columns")
        return (getattr(self, f"{side}_column"),) if both is None else two_columns(both, side)

    @property
    def tables(self) -> dict[str, TableOptions]:
        """The table options of each side."""
        return {
            "start": TableOptions(
                self.start_features, self.start_matrix, self.start_smiles, self.start_sequences,
                self.start_column, self.start_id_column,
            ),
            "end": TableOptions(
                self.end_features, self.end_matrix, self.end_smiles, self.end_sequences,
                self.end_column, self.end_id_column,
            ),
        }  # fmt: skip


def two_columns(text: str, side: str) -> tuple[str, str]:
    """Return the two columns that a text names, ``drug_a,drug_b``.

    >>> two_columns("drug_a, drug_b", "start")
    ('drug_a', 'drug_b')
    """
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(names) or names[0] == names[1]:
        raise ValueError(f"--{side}-columns is {text!r}, but it must name two columns, such as 'drug_a,drug_b'")
    return names[0], names[1]


class Labeled:
    """Data whose labels are values, or classes with names."""

    classes: Any  # their names, or None
    label: str  # the column

    @property
    def has_classes(self) -> bool:
        """Whether the labels are classes, two or more."""
        return self.classes is not None

    def refuse_several_classes(self, what: str) -> None:
        """Raise an error for more than two classes; ``what`` names the part that does not support them yet."""
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
        Messages about edges that were left out, if the options allow it.
    bounds : array, optional
        Which labels are bounds, in the form that `vt.censored` takes.
    medians : dict
        The medians that replaced missing values in the columns of the "start" and "end" tables.
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
