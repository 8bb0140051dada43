"""Commands with bad options and bad files: one line of error and exit code 2, or a result; inputs stay what they are."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

import vectrick as vt
from tests.cli.commands import write_data

VALUES = ["", "-1", "0", "nan", "inf", "1e400", "9" * 400, "x", "data", "data/edges.csv", "none.csv", "/dev/null", "é" * 200,
          "{{title}}", "'", "--", "gaussian(", "gaussian+", "linear*constant(nan)", "both,both", ",", "1,2,x", "[bold]"]  # fmt: skip
COMMANDS = {
    "fit": (["fit", "data", "-o", "out.vt"],
            ["--alpha", "--start-kernel", "--end-kernel", "--pairwise", "--loss", "--tol", "--max-iter", "--patience", "--seed",
             "--validation-fraction", "--label-column", "--start-column", "--positive", "--form", "--solver", "--dtype",
             "--threads", "--scoring", "--impute", "--checkpoint", "--report", "--start-features", "--end-matrix", "--edges",
             "--config", "-o"]),
    "predict": (["predict", "known.vt", "data/edges.csv", "-o", "out.csv"],
                ["--start-features", "--end-features", "--start-column", "--label-column", "--class", "--backend", "-o"]),
    "rank": (["rank", "known.vt", "--start", "d0"], ["--start", "--top", "--edges", "--label-column", "--start-features", "-o"]),
    "info": (["info", "data"], ["--label-column", "--start-features", "--edges", "--positive", "--impute"]),
    "evaluate": (["evaluate", "data", "--settings", "neither", "--folds", "2", "--baselines", "none"],
                 ["--settings", "--folds", "--repeats", "--baselines", "--baseline-edges", "--alpha", "--figure", "--checkpoint"]),
}  # fmt: skip
FILES = ["edges.csv", "start_features.csv", "end_features.csv"]


def prepared(place):
    """Return a folder with data and a model, made once."""
    home = Path(place) / "home"
    if not home.exists():
        home.mkdir()
        write_data(home / "data", m=20, q=15)
        run(["fit", "data", "-o", "known.vt"], home)
    return home


def run(arguments, cwd):
    """Run a command; its end must be one of those that are promised."""
    done = subprocess.run(
        [sys.executable, "-m", "vectrick", *arguments], cwd=cwd, capture_output=True, timeout=300, check=False
    )
    said = done.stderr.decode(errors="replace")
    assert done.returncode in (0, 2), f"{arguments} ended with {done.returncode}: {said}"
    assert "Traceback" not in said, f"{arguments}: {said}"
    return done


def digests(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir() if path.is_file()}


def damage(rng, path):
    """Change a file as files get changed: cut, doubled, with other bytes, cells or separators."""
    content = bytearray(path.read_bytes())
    kind, at = int(rng.integers(7)), int(rng.integers(len(content)))
    if kind == 0:
        content = content[:at]
    elif kind == 1:
        content[at : at + 1] = rng.bytes(int(rng.integers(1, 30)))
    elif kind == 2:
        content = content.replace(b",", b"\t" if rng.random() < 0.5 else b";")
    elif kind == 3:
        lines = content.split(b"\n")
        lines.insert(int(rng.integers(len(lines))), lines[int(rng.integers(len(lines)))])
        content = bytearray(b"\n".join(lines))
    elif kind == 4:
        cells = content.split(b",")
        cells[int(rng.integers(len(cells)))] = [b"", b"nan", b"inf", b'"', b"x", b"1e999", b"-0"][int(rng.integers(7))]
        content = bytearray(b",".join(cells))
    elif kind == 5:
        content = content[content.index(b"\n") + 1 :]
    else:
        content = bytearray()
    path.write_bytes(bytes(content))


def check_command(rng, place):
    """Run one command with an option or a file that is bad."""
    home, folder = prepared(place), Path(place) / "case"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(home, folder)
    base, options = COMMANDS[str(rng.choice(list(COMMANDS)))]
    if rng.random() < 0.5:
        arguments = [
            *base,
            str(rng.choice(options)),
            VALUES[int(rng.integers(len(VALUES)))],
            *(["--force"] * (base[0] in ("fit", "predict"))),
        ]
    else:
        damage(rng, folder / "data" / FILES[int(rng.integers(len(FILES)))])
        arguments = base
    before = digests(folder / "data")
    run(arguments, folder)
    assert digests(folder / "data") == before, f"{arguments} has changed its input"
    left = [name for name in os.listdir(folder) if name.startswith(".vectrick")]
    assert not left, f"{arguments} has left {left}"
    model = vt.load(folder / "known.vt")
    assert np.isfinite(model.predict_grid(model.start_table_, model.end_table_)).all()
