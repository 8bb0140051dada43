"""The machine and the day of a measurement, which every file of results says."""

import platform
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

import vectrick as vt
from vectrick.backends.threads import count_threads


def machine() -> dict[str, Any]:
    """Return what runs here: processor, threads, versions, and the day."""
    return {
        "cpu": _processor(),
        "threads": count_threads(),
        "date": date.today().isoformat(),
        "version": vt.__version__,
        "numpy": np.__version__,
    }


def _processor() -> str:
    """Return the name of the processor, where the system tells."""
    about = Path("/proc/cpuinfo")
    if about.exists():
        for line in about.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
