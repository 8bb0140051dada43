"""The machine and the date of a measurement, for result files."""

import platform
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

import vectrick as vt
from vectrick.backends.threads import count_threads


def machine() -> dict[str, Any]:
    """Return the processor, the number of threads, versions, and the date."""
    return {
        "cpu": _processor(),
        "threads": count_threads(),
        "date": date.today().isoformat(),
        "version": vt.__version__,
        "numpy": np.__version__,
    }


def _processor() -> str:
    """Return the name of the processor, if the system provides it."""
    about = Path("/proc/cpuinfo")
    if about.exists():
        for line in about.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
