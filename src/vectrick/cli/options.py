"""Options that several commands share: data files, vertices to predict, and checkpoints."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from vectrick.data.files.dataset import Dataset, ReadOptions
    from vectrick.estimators import FittedModel


def panel(title: str) -> Any:
    """Return a function that declares options in a panel of the help."""

    def option(*names: str, help: str, **more: Any) -> Any:
        return typer.Option(*names, help=help, rich_help_panel=title, **more)

    return option


_data, _training = panel("Data"), panel("Training")
_NEW = ("features", "smiles", "sequences")  # kinds of tables of new vertices


@dataclass(frozen=True)
class ColumnOptions:
    """The columns that hold ids."""

    start_column: Annotated[str, _data("--start-column", help="The column of start ids in the edges.")] = "start"
    end_column: Annotated[str, _data("--end-column", help="The column of end ids in the edges.")] = "end"
    start_columns: Annotated[
        str | None,
        _data("--start-columns", help="Two columns of ids, 'drug_a,drug_b', for start vertices that are pairs; their "
              "table has the parts."),
    ] = None  # fmt: skip
    end_columns: Annotated[str | None, _data("--end-columns", help="The same for end vertices.")] = None
    start_id_column: Annotated[
        str | None, _data("--start-id-column", help="The column of ids in the start table.", show_default="id")
    ] = None
    end_id_column: Annotated[
        str | None, _data("--end-id-column", help="The column of ids in the end table.", show_default="id")
    ] = None

    def id_columns(self, side: str) -> tuple[str, ...]:
        """Return the columns of the edges that hold the ids of a side: one, or two for vertices that are pairs."""
        from vectrick.data.files.dataset import two_columns

        both = getattr(self, f"{side}_columns")
        return (getattr(self, f"{side}_column"),) if both is None else two_columns(both, side)


@dataclass(frozen=True)
class DataOptions(ColumnOptions):
    """The files of a data set, and how they are read."""

    data: Annotated[Path | None, typer.Argument(help="The data set's folder.", show_default=False)] = None
    edges: Annotated[Path | None, _data("--edges", help="The file of edges, instead of the one in the folder.")] = None
    start_features: Annotated[
        Path | None, _data("--start-features", help="A file with features of the start vertices.")
    ] = None
    end_features: Annotated[Path | None, _data("--end-features", help="A file with features of the end vertices.")] = (
        None
    )
    start_matrix: Annotated[
        Path | None,
        _data(
            "--start-matrix",
            help="A file with a kernel matrix of the start vertices, like start_kernel in the "
            "folder; --start-kernel takes a function, not a file.",
        ),
    ] = None
    end_matrix: Annotated[Path | None, _data("--end-matrix", help="The same for the end vertices.")] = None
    start_smiles: Annotated[
        Path | None,
        _data(
            "--start-smiles", help="The start vertices as molecules: a table of ids and SMILES strings, or a .smi file."
        ),
    ] = None
    end_smiles: Annotated[Path | None, _data("--end-smiles", help="The same for the end vertices.")] = None
    start_sequences: Annotated[
        Path | None,
        _data("--start-sequences", help="The start vertices as sequences: a table of ids and sequences, or FASTA."),
    ] = None
    end_sequences: Annotated[Path | None, _data("--end-sequences", help="The same for the end vertices.")] = None
    skip_invalid: Annotated[
        bool,
        _data("--skip-invalid", help="Leave out invalid molecules and sequences, with their edges, and report "
              "their number."),
    ] = False  # fmt: skip
    label_column: Annotated[str, _data("--label-column", help="The column of labels in the edges.")] = "label"
    log: Annotated[
        str | None,
        _data("--log", metavar="UNIT", help="Labels are concentrations in this unit (M, mM, uM, nM, pM), such as Kd or "
              "IC50: convert them to -log10 of mol/l (for nM, 9 - log10)."),
    ] = None  # fmt: skip
    relation_column: Annotated[
        str | None,
        _data("--relation-column", help="The column that marks labels as bounds: <, > or =. Labels such as "
              "'> 10000' need no such column."),
    ] = None  # fmt: skip
    positive: Annotated[
        str | None, _data("--positive", help="The positive one of two labels.", show_default="the larger one")
    ] = None

    skip_unlabeled: Annotated[
        bool, _data("--skip-unlabeled", help="Leave out edges without a label, and report their number.")
    ] = False
    impute: Annotated[
        str | None, _data("--impute", help="Fill missing values in tables: 'median' uses the column's median.")
    ] = None

    @property
    def inputs(self) -> list[Path | None]:
        """The input files; no command may write to them."""
        named = [self.edges, self.start_features, self.end_features, self.start_matrix, self.end_matrix]
        named += [self.start_smiles, self.end_smiles, self.start_sequences, self.end_sequences]
        if self.data is None or not self.data.is_dir():
            return [*named, self.data]
        return [*named, *self.data.glob("edges*"), *self.data.glob("start_*"), *self.data.glob("end_*")]

    def read(self, **more: Any) -> "Dataset":
        """Read the data set."""
        from vectrick.data.files.folder import read_dataset

        if self.data is None and self.edges is None:
            raise ValueError("no data was given: name a folder, or the files with --edges, --start-features, ...")
        return read_dataset(self.data, self.options(**more))

    def options(self, **changed: Any) -> "ReadOptions":
        """Return the options for reading the files."""
        from vectrick.data.files.dataset import ReadOptions

        given = {name: value for name, value in vars(self).items() if name != "data"}
        return ReadOptions(**{**given, **changed})


def check_backend(backend: str, device: str | None) -> None:
    """Raise if the backend is not available, before any file is read."""
    if backend != "cpu" or device is not None:
        from vectrick.backends import settle_backend

        settle_backend(backend, device)


BACKEND = "Where to compute: cpu, torch, auto (torch if there is a GPU), or reference (simple and slow)."
DEVICE = "With torch: cuda, cuda:1, or cpu."


@dataclass(frozen=True)
class VertexOptions(ColumnOptions):
    """The vertices of edges to predict: vertices of the model, and new vertices from files."""

    start_features: Annotated[
        Path | None,
        _data("--start-features", help="New start vertices: their features, or kernel values with the model's."),
    ] = None
    end_features: Annotated[Path | None, _data("--end-features", help="The same for end vertices.")] = None
    start_smiles: Annotated[
        str | None,
        _data(
            "--start-smiles", help="New start vertices as molecules: a file with SMILES strings, or one SMILES string."
        ),
    ] = None
    end_smiles: Annotated[str | None, _data("--end-smiles", help="The same for end vertices.")] = None
    start_sequences: Annotated[
        str | None,
        _data("--start-sequences", help="New start vertices as sequences: a table, FASTA, or one sequence."),
    ] = None
    end_sequences: Annotated[str | None, _data("--end-sequences", help="The same for end vertices.")] = None
    skip_invalid: Annotated[
        bool,
        _data("--skip-invalid", help="Leave out invalid molecules and sequences, and report their number; their "
              "edges get no prediction."),
    ] = False  # fmt: skip
    of_class: Annotated[
        str | None, _data("--class", help="For a model of several classes, the class to score against the rest.")
    ] = None
    backend: Annotated[str, _data("--backend", help=BACKEND)] = "cpu"
    device: Annotated[str | None, _data("--device", help=DEVICE, show_default="a GPU, if any")] = None

    def __post_init__(self) -> None:
        check_backend(self.backend, self.device)
        for side in ("start", "end"):
            given = [f"--{side}-{kind}" for kind in _NEW if getattr(self, f"{side}_{kind}") is not None]
            if len(given) > 1:
                raise ValueError(f"{given[0]} and {given[1]} are both given, but the {side} vertices have one table")

    def new(self, side: str) -> tuple[str, Any] | None:
        """Return the kind of the new vertices of a side, and their file or string; None if there are none."""
        given = [(kind, getattr(self, f"{side}_{kind}")) for kind in _NEW]
        return next(((kind, value) for kind, value in given if value is not None), None)

    @property
    def has_new(self) -> tuple[bool, bool]:
        """Whether there are new start vertices, and new end vertices."""
        return self.new("start") is not None, self.new("end") is not None

    @property
    def inputs(self) -> list[Path | None]:
        """The input files; no command may write to them."""
        from vectrick.data.strings.files import named_or_given

        files: list[Path | None] = []
        for side in ("start", "end"):
            given = self.new(side)
            if given is not None:
                kind, value = given
                files.append(value if kind == "features" else named_or_given(value, kind))
        return files

    def load(self, path: Path) -> Any:
        """Load a model, or its one-vs-rest model of a class, and set the backend and the device of its predictions."""
        import vectrick as vt

        model = vt.load(path)
        if "backend" not in model.get_params(deep=False):
            raise ValueError(f"{path} holds a {type(model).__name__}, for Python only: use vt.load({str(path)!r})")
        model.set_params(backend=self.backend, device=self.device)
        if self.of_class is None:
            return model
        if not hasattr(model, "machines_"):
            raise ValueError(f"--class is {self.of_class!r}, but {path} is no model of several classes")
        machine = model.machine(self.of_class)
        # The errors on held-out edges are for all classes together.
        machine.about_ = {**model.about_, "classes": ["other", self.of_class], "calibration": None}
        return machine

    def tables(self, model: "FittedModel", only_new: bool = False) -> tuple[Any, Any]:
        """Return the tables of both sides; ``only_new`` leaves out the model's vertices on sides with new ones."""
        from vectrick.cli.vertices import vertex_table

        more = only_new, self.skip_invalid
        start = vertex_table(model, "start", self.new("start"), (self.start_id_column, self.start_column), *more)
        if model.start_table_ is model.end_table_ and not self.has_new[1]:
            return start, start  # one table serves both ends
        return start, vertex_table(model, "end", self.new("end"), (self.end_id_column, self.end_column), *more)


@dataclass(frozen=True)
class ResumeOptions:
    """A checkpoint file for finished results, from which interrupted work can be resumed."""

    checkpoint: Annotated[
        Path | None, _training("--checkpoint", help="A file that stores finished folds until all are done.")
    ] = None
    resume: Annotated[bool, _training("--resume", help="Resume from --checkpoint, if it exists.")] = False

    def finished(self, force: bool) -> Any:
        """Return the store of finished results; raise if its file cannot be written."""
        from vectrick._files import check_output
        from vectrick.persistence.checkpoints import Finished

        if self.checkpoint is None:
            if self.resume:
                raise ValueError("--resume is given, but there is no --checkpoint to go on from")
            return Finished()
        check_output(self.checkpoint, force or self.resume)
        return Finished(self.checkpoint, self.resume)

    @property
    def hint(self) -> str:
        """Advice on how to resume after an interruption."""
        return "" if self.checkpoint is None else f"; {self.checkpoint} has the finished work; --resume continues it"
