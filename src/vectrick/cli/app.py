"""The Typer application: all commands, and the handling of signals and of output that cannot be written."""

import atexit
import errno
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType
from typing import Annotated, NoReturn

import typer

from vectrick._version import __version__
from vectrick.cli.command import EXIT_CODES, add_command
from vectrick.cli.commands import demo, doctor, evaluate, explain, fit, info, predict, rank, suggest, tune
from vectrick.cli.output import silence

_HELP = """Learn from labeled edges between two kinds of vertices, and predict edges between unseen vertices.

DATA is a folder with the files edges, start_features or start_kernel, and end_features or end_kernel, each as .csv,
.tsv (both also .gz) or .parquet. The edges have the columns start, end and label. A vertex table has the column id and
columns of numbers or categories. Molecules and proteins may be given as strings: start_smiles (also .smi),
end_sequences (also .fasta), and so on.
"""
_EPILOG = "Exit codes: " + "; ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES.items()) + "."

app = typer.Typer(
    help=_HELP, epilog=_EPILOG, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip
for module in (demo, fit, predict, rank, explain, suggest, evaluate, tune, info, doctor):
    add_command(app, module)


def _show_version(asked: bool) -> None:
    if asked:
        print(f"vectrick {__version__}")
        raise typer.Exit


@app.callback()
def _app(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Learn from labeled edges."""


app.info.help = _HELP


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    """Raise ``SystemExit``, so that unfinished files are removed."""
    raise SystemExit(128 + number)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; ``arguments`` default to the arguments of the process."""
    signal.signal(signal.SIGTERM, _terminate)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # the stream is closed
            nowhere = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (open until the process ends)
            atexit.register(nowhere.close)
            setattr(sys, name, nowhere)
    # OpenMP threads of the tree baseline that wait by spinning are very slow on a busy machine. If they sleep instead,
    # small data takes ten times as long. A short spin is fast in both cases.
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    try:
        app(list(arguments) if arguments is not None else sys.argv[1:], prog_name="vectrick")
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EPIPE):
            raise
        silence()  # the help or the version could not be printed
        with suppress(OSError):
            print(f"vectrick: {error.strerror or error}", file=sys.stderr, flush=True)
        raise SystemExit(2) from None
