"""Runs the experiments: ``make reproduce``, ``make reproduce-quick``. Finished tasks are not run again."""

import argparse
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

from experiments import (
    automatic,
    cold,
    convergence,
    libsvm_checker,
    libsvm_ki,
    pairwise,
    plots,
    published,
    suggest,
    tables,
    trust,
    tuned,
    vec_trick,
)
from experiments.experiment import Experiment, Results, Row, Scale, Task

HERE = Path(__file__).parent
EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (
        tables,
        tuned,
        automatic,
        pairwise,
        trust,
        suggest,
        cold,
        published,
        convergence,
        libsvm_ki,
        vec_trick,
        libsvm_checker,
    )
}
INTRODUCTION = """\
# The paper, reproduced

The experiments of Airola and Pahikkala, "Fast Kronecker product kernel methods via generalized vec trick", repeated
with vectrick. `make reproduce` runs all experiments (hours). Finished tasks are not run again; remove a CSV file to
repeat its experiment. `make reproduce-quick` runs all experiments at reduced size in a few minutes, and writes to
`experiments/quick`. `python -m experiments NAME` runs one experiment. `VECTRICK_DATA` names the folder of the real
data. The run generates this page.

vectrick ran on two cores of a server CPU (AMD EPYC); the paper's times are from its authors' desktop (Intel Core
i7-3770). White diamonds in the figures are the paper's numbers.
"""


def run(experiment: Experiment, scale: Scale, folder: Path, n_jobs: int = 1) -> None:
    """Run the unfinished tasks of an experiment, and draw its figure."""
    results = Results(folder / f"{experiment.name}.csv")
    left = [task for task in experiment.tasks(scale) if not results.has(task)]
    for number, (task, rows, seconds) in enumerate(finished(experiment, left, n_jobs), 1):
        results.add(task, rows)
        words = ", ".join(str(value) for value in task.values())
        print(f"{experiment.name}: {number} of {len(left)} ({words}), {seconds:.1f} s", file=sys.stderr, flush=True)
    if not results.frame.empty:
        plots.save(experiment.figure(results.frame), folder / experiment.name)


def finished(experiment: Experiment, tasks: list[Task], n_jobs: int) -> Iterator[tuple[Task, list[Row], float]]:
    """Yield finished tasks with their rows and seconds; with several jobs, each task has one thread."""
    if n_jobs == 1:
        yield from (timed(experiment.name, task) for task in tasks)
        return
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECTRICK_NUM_THREADS"):
        os.environ[name] = "1"
    from experiments.__main__ import timed as run_timed  # under a name that other processes can import

    with ProcessPoolExecutor(n_jobs, get_context("spawn")) as pool:
        for future in as_completed([pool.submit(run_timed, experiment.name, task) for task in tasks]):
            yield future.result()


def timed(name: str, task: Task) -> tuple[Task, list[Row], float]:
    """Run a task; return it with its rows and seconds."""
    begin = time.perf_counter()
    rows = EXPERIMENTS[name].run(task)
    return task, rows, time.perf_counter() - begin


def section_of(experiment: Experiment, folder: Path, pictures: str = "") -> str:
    """Return the section on an experiment from its results in a folder, or an empty text if there are none."""
    results = Results(folder / f"{experiment.name}.csv")
    if results.frame.empty:
        return ""
    name = f"{pictures}{experiment.name}"
    return (
        f"## {experiment.title}\n\n![{experiment.title}]({name}.png)\n\n"
        f"{experiment.section(results.frame)}\nAll numbers: [{experiment.name}.csv]({name}.csv)\n"
    )


def write_readme(folder: Path, page: Path) -> None:
    """Write the page from all available results."""
    relative = folder.relative_to(page.parent).as_posix()
    pictures = "" if relative == "." else f"{relative}/"
    sections = [section_of(experiment, folder, pictures) for experiment in EXPERIMENTS.values()]
    page.write_text("\n".join([INTRODUCTION, *filter(None, sections)]))


def main() -> None:
    parser = argparse.ArgumentParser(prog="experiments", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(EXPERIMENTS)}; default all")
    parser.add_argument("--quick", action="store_true", help="run at reduced size, and write to experiments/quick")
    parser.add_argument("--seeds", type=int, default=5, help="number of random splits of the vertices (default 5)")
    parser.add_argument(
        "--jobs", type=int, default=1, help="number of parallel tasks, each with one thread (default 1)"
    )
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.names) - set(EXPERIMENTS))
    if unknown:
        parser.error(f"there is no experiment {unknown[0]!r}; there are {', '.join(EXPERIMENTS)}")
    if arguments.seeds < 1:
        parser.error(f"--seeds is {arguments.seeds}, but it must be at least 1")
    if arguments.jobs < 1:
        parser.error(f"--jobs is {arguments.jobs}, but it must be at least 1")
    scale = Scale(arguments.quick, arguments.seeds)
    folder = HERE / ("quick" if scale.quick else "results")
    page = (HERE / "quick" if scale.quick else HERE) / "README.md"
    try:
        for name in arguments.names or EXPERIMENTS:
            run(EXPERIMENTS[name], scale, folder, arguments.jobs)
    except FileNotFoundError as error:
        parser.exit(2, f"experiments: {error}\n")
    except KeyboardInterrupt:
        parser.exit(130, "experiments: interrupted; finished tasks are saved\n")
    finally:
        folder.mkdir(parents=True, exist_ok=True)
        write_readme(folder, page)
    print(page)


if __name__ == "__main__":
    main()
