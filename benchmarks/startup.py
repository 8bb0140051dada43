"""Times a new process: import, first product with an empty and a filled cache; and measures its peak memory."""

import json
import os
import subprocess
import sys
import tempfile

_IMPORT = """
import time; start = time.perf_counter()
import vectrick
print(time.perf_counter() - start)
"""

_PRODUCT = """
import time
import numpy as np, vectrick as vt
g = np.random.default_rng(0); M, N = g.random((1000, 1000)), g.random((1000, 1000))
cells = g.choice(10**6, 20_000, replace=False); p, q = cells // 1000, cells % 1000; v = g.random(len(p))
start = time.perf_counter()
op = vt.kron(M, N)[(p, q), (p, q)]; op @ v
print(time.perf_counter() - start)
"""

# The graph is built in place, so that the memory for its construction does not hide the memory of the operator.
_MEMORY = """
import json, resource, threading, time
import numpy as np, psutil, vectrick as vt
m = 6400
g = np.random.default_rng(0)
M, N = g.random((m, m)), g.random((m, m))
p = np.repeat(np.arange(m), m // 4)
q = np.concatenate([g.choice(m, m // 4, replace=False) for _ in range(m)])
v = g.random(len(p))
vt.kron(M[:300, :300], N[:300, :300], path="sparse")[(p[:9] % 300, q[:9] % 300), (p[:9] % 300, q[:9] % 300)] @ v[:9]
process, peak, done = psutil.Process(), [0], threading.Event()
def watch():
    while not done.is_set():
        peak[0] = max(peak[0], process.memory_info().rss)
        time.sleep(0.002)
before = process.memory_info().rss
watcher = threading.Thread(target=watch); watcher.start()
op = vt.kron(M, N)[(p, q), (p, q)]; op @ v
done.set(); watcher.join()
print(json.dumps([(peak[0] - before) / op.plan.memory, op.plan.path, op.plan.memory]))
"""


def _run(script: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    return done.stdout.strip().splitlines()[-1]


def measure_startup() -> dict[str, tuple[float, float]]:
    """Return seconds and goals; each time is the shortest of three processes, also with an empty cache."""
    imports = min(float(_run(_IMPORT)) for _ in range(3))
    empty, filled = [], []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            caches = {"NUMBA_CACHE_DIR": folder, "VECTRICK_CACHE_DIR": folder}
            empty.append(float(_run(_PRODUCT, **caches)))
            filled.append(float(_run(_PRODUCT, **caches)))
    return {
        "import vectrick, s": (imports, 0.2),
        "first product with an empty cache, s": (min(empty), 1.5),
        "first product with a filled cache, s": (min(filled), 0.4),
    }


def measure_memory() -> dict[str, tuple[float, float]]:
    """Return the peak memory of a product with 6400 × 6400 vertices at 25 %, divided by the plan's estimate."""
    ratio, _, _ = json.loads(_run(_MEMORY))
    return {"6400 × 6400, 10.24 million edges: peak memory over the plan's estimate": (ratio, 1.2)}
