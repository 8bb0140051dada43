"""Settings for all tests: a cache folder of their own, and a fixed profile for Hypothesis."""

import os
import subprocess
import tempfile

import pytest
from hypothesis import HealthCheck, settings

_folder = tempfile.TemporaryDirectory(prefix="vectrick-tests-")
os.environ["VECTRICK_CACHE_DIR"] = _folder.name
os.environ.pop("VECTRICK_NUM_THREADS", None)
os.environ.setdefault("GOMP_SPINCOUNT", "1000")  # tests run side by side, where threads that spin would crawl
os.environ.setdefault("OMP_NUM_THREADS", "1")  # of torch and scikit-learn; our own threads are not these
os.environ.setdefault("SCIPY_ARRAY_API", "1")  # else scikit-learn leaves out some of its checks

# Seeded, so that a run on unchanged code repeats; no deadline, because the first example compiles the kernels.
settings.register_profile("vectrick", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("vectrick")


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 300 KB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a small file system can be mounted by root only")
    yield folder
    subprocess.run(["umount", folder], check=True)
