"""Settings for all tests: a cache folder of their own, a fixed profile for Hypothesis, and a browser."""

import os
import shutil
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


@pytest.fixture(scope="module")
def browser():
    """Headless Chromium, driven by Playwright."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        pytest.skip("no Chromium here, so that pages were not opened in a browser: install the package chromium")
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is not installed: pip install playwright"
    )
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield found
        found.close()
