"""The soak: ``python -m tests.soak --minutes 10 --seed 0`` tries random cases until the time is over.

A case is a random problem against a dense solution, two ways to one answer, a call or a command with bad input, a
process that is killed or interrupted, a fork, or several threads. Each follows from the seed and its number, so that ``--case 123`` tries one of
them again. The first that finds something is shown, and the exit code is 1.
"""

import argparse
import collections
import os
import sys
import tempfile
import time
import traceback
import warnings

import numpy as np

from tests.soak import agreement, calls, commands, crashes, oracle
from tests.ways import take

# How often each kind of case is tried; commands and crashes take a second or more each.
KINDS = {
    "oracle": (oracle.check_problem, 60),
    "classes": (oracle.check_classes, 15),
    "splits": (agreement.check_splits, 12),
    "lakes": (agreement.check_lake, 12),
    "batches": (agreement.check_batches, 15),
    "explanations": (agreement.check_explanations, 12),
    "calls": (calls.check_call, 60),
    "commands": (commands.check_command, 4),
    "kills": (crashes.check_kill, 1),
    "interrupts": (crashes.check_interrupt, 1),
    "forks": (crashes.check_fork, 3),
    "threads": (crashes.check_threads, 6),
}


def run(number: int, seed: int, place: str) -> str:
    """Try one case; return its kind."""
    rng = np.random.default_rng([seed, number])
    weights = np.array([weight for _, weight in KINDS.values()], float)
    kind = list(KINDS)[int(rng.choice(len(KINDS), p=weights / weights.sum()))]
    take(str(rng.choice(["tiles", "products", "auto"])))  # all ways of fits, whatever the number of edges
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        KINDS[kind][0](rng, place)
    return kind


def main() -> int:
    """Try cases until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int, default=None, help="try only this case")
    options = parser.parse_args()
    begin, said, counts = time.monotonic(), 0.0, collections.Counter()
    with tempfile.TemporaryDirectory(prefix="vectrick-soak-") as place:
        os.environ.setdefault("VECTRICK_CACHE_DIR", place)
        os.chdir(place)  # where nothing can be lost
        number = 0 if options.case is None else options.case
        while options.case is not None or time.monotonic() < begin + 60 * options.minutes:
            try:
                counts[run(number, options.seed, place)] += 1
            except Exception:
                traceback.print_exc()
                print(f"found by: python -m tests.soak --seed {options.seed} --case {number}", file=sys.stderr)
                return 1
            number += 1
            if options.case is not None:
                break
            if time.monotonic() > said + 30:
                said = time.monotonic()
                print(f"{said - begin:.0f} s: {dict(counts)}", flush=True)
        os.chdir(os.path.dirname(place))
    print(f"{sum(counts.values())} cases in {time.monotonic() - begin:.0f} s, nothing found: {dict(counts)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
