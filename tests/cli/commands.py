"""Running commands as users do, in a process of their own; or in this one, where there are many to try."""

import contextlib
import io
import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd


def vectrick(*arguments, cwd, code=0, env=None, timeout=120):
    """Run a command; check its exit code, and that it never shows a traceback."""
    done = subprocess.run(
        [sys.executable, "-m", "vectrick", *map(str, arguments)],
        cwd=cwd, capture_output=True, text=True, timeout=timeout, env=env, check=False,
    )  # fmt: skip
    assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr
    return done


def inside(*arguments, cwd, code=0):
    """Run a command in this process, which takes a tenth of the time; check its exit code."""
    from vectrick.cli import main

    before, out, err, ended = os.getcwd(), io.StringIO(), io.StringIO(), 0
    os.chdir(cwd)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main([str(argument) for argument in arguments])
    except SystemExit as end:
        ended = end.code or 0
    finally:
        os.chdir(before)
    done = subprocess.CompletedProcess(arguments, ended, out.getvalue(), err.getvalue())
    assert ended == code, f"exit code {ended}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr
    return done


def as_json(*arguments, run=vectrick, **more):
    """Run a command with --json; return its result."""
    return json.loads(run(*arguments, "--json", **more).stdout)


def write_data(folder, m=60, q=40, classes=True, seed=0):
    """Write a data set that can be learned: features of two columns on each side, and a third of all edges."""
    rng = np.random.default_rng(seed)
    d, t = rng.standard_normal((m, 2)), rng.standard_normal((q, 2))
    start, end = np.divmod(rng.permutation(m * q)[: m * q // 3], q)
    value = (d[start] * t[end]).sum(axis=1) + d[start, 0]
    label = np.where(value > 0, 1, -1) if classes else 5 + value
    folder.mkdir(exist_ok=True)
    names = [f"d{i}" for i in range(m)], [f"t{j}" for j in range(q)]
    pd.DataFrame({"start": [names[0][i] for i in start], "end": [names[1][j] for j in end], "label": label}).to_csv(
        folder / "edges.csv", index=False
    )
    for side, ids, features in (("start", names[0], d), ("end", names[1], t)):
        pd.DataFrame({"id": ids, "f": features[:, 0], "g": features[:, 1]}).to_csv(
            folder / f"{side}_features.csv", index=False
        )
    return folder
