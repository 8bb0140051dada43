"""Ends that nobody announces: kills while saving, Ctrl-C, forks beside threads; and threads that share everything."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_info

import vectrick as vt
from tests.soak.commands import prepared

SAVING = """
import sys, numpy as np, vectrick as vt
model = vt.load(sys.argv[1])
print("ready", flush=True)
while True:
    model.save(sys.argv[2])
"""


def check_kill(rng, place):
    """A file is the old or the new one whenever its writer is killed, and the next save cleans up."""
    home, folder = prepared(place), Path(place) / "kill"
    folder.mkdir(exist_ok=True)
    path = folder / "model.vt"
    process = subprocess.Popen([sys.executable, "-c", SAVING, home / "known.vt", path], stdout=subprocess.PIPE)
    process.stdout.readline()
    time.sleep(float(rng.random()) * 0.05)
    process.kill()
    process.wait()
    process.stdout.close()
    known = vt.load(home / "known.vt")
    if path.exists():
        written, expected = (
            model.predict_grid(model.start_table_, model.end_table_) for model in (vt.load(path), known)
        )
        assert (written == expected).all()
    known.save(path)
    assert os.listdir(folder) == ["model.vt"], os.listdir(folder)


def check_interrupt(rng, place):
    """Ctrl-C at any time ends a command with one of the promised codes, without a traceback."""
    home = prepared(place)
    commands = [
        ["fit", "data", "-o", "interrupted.vt", "--force", "--loss", "hinge", "--alpha", "1e-5", "--tol", "0", "--patience", "9999"],
        ["evaluate", "data", "--settings", "both", "--baselines", "none", "--repeats", "20"],
        ["predict", "known.vt", "--grid", "-o", "grid.csv", "--force"],
    ]  # fmt: skip
    arguments = commands[int(rng.integers(len(commands)))]
    process = subprocess.Popen([sys.executable, "-m", "vectrick", *arguments, "-v"], cwd=home, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)  # fmt: skip
    time.sleep(0.7 + 2 * float(rng.random()))
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    early = (
        "KeyboardInterrupt" in said and "vectrick" not in said.partition("Traceback")[0]
    )  # while Python itself loads
    # The last one is a process that had done its work, and was ending.
    assert process.returncode in (0, 3, 130, -signal.SIGINT) or early, (
        f"{arguments} ended with {process.returncode}: {said}"
    )
    assert "Traceback" not in said or early, said
    assert not [name for name in os.listdir(home) if name.startswith(".vectrick")]


def _problem(rng):
    X, _ = vt.datasets.make_checkerboard(40, 30, density=0.4, random_state=int(rng.integers(1000)))
    return X, rng.standard_normal(len(X))


def check_fork(rng, place):
    """A child that is forked while other threads compute gives the right result, and ends."""
    X, y = _problem(rng)
    model = vt.KronRidge("gaussian", "gaussian", n_threads=2).fit(X, y)
    expected, leave = model.predict(X), threading.Event()

    def busy():
        while not leave.is_set():
            vt.KronRidge("gaussian", "gaussian", max_iter=5, tol=0.5, n_threads=2).fit(X, y)

    workers = [threading.Thread(target=busy) for _ in range(2)]
    for worker in workers:
        worker.start()
    time.sleep(float(rng.random()) * 0.05)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        same = np.array_equal(vt.KronRidge("gaussian", "gaussian", n_threads=2).fit(X, y).predict(X), expected)
        os._exit(0 if same else 2)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    leave.set()
    for worker in workers:
        worker.join()
    assert status == 0, f"the child ended with {status}"


def check_threads(rng, place):
    """Threads that fit and predict at the same time get the bits that they get alone, and BLAS its threads back."""
    X, y = _problem(rng)
    before = [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]
    kinds = [vt.KronRidge, vt.KronSVM, vt.KronLogistic, vt.KronRanker]
    work = [(kinds[int(rng.integers(4))], float(rng.choice([0.1, 1.0]))) for _ in range(4)]

    def result(kind, alpha):
        return (
            kind("gaussian", "gaussian", alpha=alpha, max_iter=8, n_threads=2)
            .fit(X, np.sign(y))
            .predict_grid(X.start_table, X.end_table)
        )

    expected = [result(*one) for one in work]
    found = [None] * len(work)

    def run(i):
        found[i] = result(*work[i])

    workers = [threading.Thread(target=run, args=(i,)) for i in range(len(work))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    assert [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"] == before
