"""``vectrick doctor``: versions and hardware of this machine, and self-tests of vectrick on it."""

import time
from typing import Any

from vectrick.cli.output import Output

EXAMPLE = "vectrick doctor"

_PACKAGES = (
    "numpy",
    "scipy",
    "numba",
    "scikit-learn",
    "pandas",
    "pyarrow",
    "narwhals",
    "safetensors",
    "plotly",
    "torch",
)


def run(out: Output) -> None:
    """Show versions, threads, BLAS and GPU, and test vectrick on this machine in about a second."""
    import platform

    from vectrick._version import __version__
    from vectrick.backends.memory import available_memory, format_bytes
    from vectrick.backends.threads import count_threads
    from vectrick.backends.torch.devices import describe_gpu

    facts: dict[str, Any] = {
        "vectrick": __version__,
        "python": f"{platform.python_version()} on {platform.system()} {platform.machine()}",
        "packages": {name: _version(name) for name in _PACKAGES},
        "threads": count_threads(None),
        "free_memory": format_bytes(available_memory()),
        "blas": _blas(),
        "gpu": describe_gpu(),
    }
    checks = _checks()
    out.result |= {**facts, "checks": {name: passed for name, passed, _ in checks}}
    packages = ", ".join(f"{name} {version}" for name, version in facts["packages"].items())
    tests = {name: f"{'passed' if passed else 'FAILED'}, {text}" for name, passed, text in checks}
    out.facts({**facts, "packages": packages, **tests})
    if not all(passed for _, passed, _ in checks):
        raise RuntimeError("a self-test failed")


def _version(name: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def _blas() -> str:
    import scipy.linalg  # noqa: F401 (the import loads its BLAS)
    from threadpoolctl import threadpool_info

    libraries = [library for library in threadpool_info() if library["user_api"] == "blas"]
    return ", ".join(
        dict.fromkeys(
            f"{each['internal_api']} {each['version']} ({each.get('architecture', '')})" for each in libraries
        )
    )


def _torch_checks(M: Any, N: Any, rows: Any, cols: Any, v: Any, exact: Any) -> list[tuple[str, bool, str]]:
    """Return the self-test of the torch backend, on a GPU if there is one; an empty list without torch."""
    from importlib.util import find_spec

    import vectrick as vt

    if find_spec("torch") is None:
        return []
    ops = [vt.kron(M, N, path=path, backend="torch")[rows, cols] for path in ("sparse", "dense")]
    error = max(float(abs(op @ v - exact).max()) for op in ops)
    return [(f"product on {ops[0].device}", error < 1e-12, f"largest difference {error:.1e}")]


def _checks() -> list[tuple[str, bool, str]]:
    """Run the self-tests, and return for each its name, whether it passed, and details."""
    import tempfile
    from pathlib import Path

    import numpy as np

    import vectrick as vt

    rng = np.random.default_rng(0)
    M, N = rng.standard_normal((7, 6)), rng.standard_normal((5, 8))
    rows, cols = (
        (rng.integers(7, size=20), rng.integers(5, size=20)),
        (rng.integers(6, size=30), rng.integers(8, size=30)),
    )
    v = rng.standard_normal(30)
    exact = np.kron(M, N)[np.ix_(rows[0] * 5 + rows[1], cols[0] * 8 + cols[1])] @ v
    error = max(float(np.abs(vt.kron(M, N, path=path)[rows, cols] @ v - exact).max()) for path in ("sparse", "dense"))
    checks = [("product against np.kron", error < 1e-12, f"largest difference {error:.1e}")]
    checks += _torch_checks(M, N, rows, cols, v, exact)

    X, y = vt.datasets.make_checkerboard(60, density=0.5, noise=0.0, random_state=0)
    model = vt.KronSVM(vt.Gaussian(1.0), vt.Gaussian(1.0), alpha=0.1).fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model.vt")
        same = vt.load(Path(folder) / "model.vt")
    equal = bool((same.decision_function(X) == model.decision_function(X)).all())
    checks.append(("model file", equal, "a loaded model predicts the same"))

    m, n = 1000, 250_000
    K = rng.standard_normal((m, m))
    op = vt.kron(K, K, path="sparse")[2 * (rng.integers(m, size=n),), 2 * (rng.integers(m, size=n),)]
    v = rng.standard_normal(n)
    op @ v
    begin = time.perf_counter()
    op @ v
    seconds = time.perf_counter() - begin
    rate = 4 * m * n / seconds / 1e9
    speed = f"{1000 * seconds:.0f} ms for 250 000 edges of 1000 × 1000 vertices, {rate:.0f} GF/s"
    checks.append(("speed", True, speed))
    return checks
