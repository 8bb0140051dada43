"""A fuzzer of model files: ``python -m tests.estimators.fuzz 500000`` tries so many mutated files.

Half of the mutants are damaged bytes, which the checksum must find, every one. The other half are given a checksum that
is right again, as somebody would who means harm: such a file is refused, or it is a model that predicts; nothing in it
may run, and no other error than `ModelFileError` may come out.
"""

import contextlib
import copy
import json
import os
import sys
import tempfile
import time
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import vectrick as vt
from vectrick.persistence import container

FORBIDDEN = (
    "exec",
    "compile",
    "import",
    "pickle.find_class",
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "socket.connect",
)
_ran: list[str] = []
_watching = False


def _audit(event, arguments):
    if event == "compile" and str(arguments[0]).startswith("b'def foo("):
        return  # inspect.signature reads the signature of a built-in in this way, when scikit-learn asks for it
    if _watching and event in FORBIDDEN:
        _ran.append(f"{event} {arguments!r:.200}")


def models():
    """Return small fitted models of every kind that a file can hold, each with edges to predict."""
    X, y = vt.datasets.make_checkerboard(12, 9, density=0.5, random_state=0)
    rng = np.random.default_rng(0)
    K = rng.standard_normal((12, 12))
    g = vt.Gaussian(0.01)
    named = vt.Edges([f"s{i}" for i in X.start], [f"é{i}" for i in X.end], X.start_table.features, X.end_table.features,
                     start_ids=[f"s{i}" for i in range(12)], end_ids=[f"é{i}" for i in range(9)])  # fmt: skip
    from scipy.sparse import csr_array

    sparse = vt.Edges(X.start, X.end, csr_array(rng.random((12, 5)) > 0.5, dtype=float), X.end_table.features)
    clipped, matrix = (vt.Edges(X.start, X.end, A, X.end_table.features) for A in (K + K.T, K @ K.T))
    made = [
        (vt.KronSVM(g, g, early_stopping=True, random_state=1), named),
        (vt.KronLogistic(vt.Standardized(g), g + vt.Constant(0.1)), named),
        (vt.KronRidge("linear", vt.Cosine() * vt.Polynomial(2), form="primal"), X),
        (vt.KronRanker("linear", "gaussian", form="primal", groups="start"), sparse),
        (vt.KronSVM("precomputed", g), clipped),
        (vt.KronSVM("precomputed", g, form="primal"), clipped),
        (vt.KronSVM("precomputed", g, form="primal"), matrix),
        (vt.KronRidge(vt.Tanimoto(), "linear"), sparse),
        *_of_strings(X),
        (vt.KronRidge(g + vt.Profile(vt.Cosine(), like=g), g), X),
        (vt.KronLogistic(g, g), named),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = [(model.fit(edges, y), edges) for model, edges in made[:-1]]
        several, edges = made[-1]
        return [*fitted, (several.fit(edges, np.arange(len(y)) % 3), edges)]


def _of_strings(X):
    """Return models of vertices that are strings, those for which the packages are there."""
    letters, rng = np.array(list("ACDEFGHIKLMNPQRSTVWY")), np.random.default_rng(1)
    sequences = ["".join(rng.choice(letters, int(rng.integers(8, 20)))) for _ in range(9)]
    molecules = [
        "CCO",
        "CCN",
        "c1ccccc1",
        "CC(=O)O",
        "[Na+].[Cl-]",
        "CCCC",
        "C1CCCCC1",
        "N#N",
        "O=C=O",
        "CS",
        "CCl",
        "CF",
    ]
    strings = vt.Edges(X.start, X.end, molecules, sequences)
    words = vt.Edges(X.start, X.end, X.start_table.features, sequences)
    made = [(vt.KronRidge("gaussian", vt.Spectrum(2), form="primal"), words)]
    if find_spec("parasail"):
        made.append((vt.KronRidge("gaussian", vt.SmithWaterman(kernel=vt.Gaussian(0.5)), loss="censored"), words))
    if find_spec("rdkit"):
        kernel = vt.Morgan(1, 64, counts=True) + vt.Constant(0.1)
        made.append((vt.KronRidge(kernel, vt.Spectrum(1, kernel=vt.Linear())), strings))
    return made


def damage(rng, content):
    """Return bytes that differ from the content in some way that files get damaged."""
    made = bytearray(content)
    kind = rng.integers(7)
    at = int(rng.integers(len(made)))
    if kind == 0:
        made[at] ^= 1 << int(rng.integers(8))
    elif kind == 1:
        made[at : at + int(rng.integers(1, 40))] = rng.bytes(int(rng.integers(1, 40)))
    elif kind == 2:
        made = made[:at]
    elif kind == 3:
        made += rng.bytes(int(rng.integers(1, 100)))
    elif kind == 4:
        made[at : at + 64] = bytes(len(made[at : at + 64]))
    elif kind == 5:
        other = int(rng.integers(len(made)))
        made[at : at + 8], made[other : other + 8] = made[other : other + 8], made[at : at + 8]
    else:
        made[:8] = int(rng.integers(0, 2**40)).to_bytes(8, "little")
    return bytes(made)


_VALUES = [
    None, True, -1, 0, 1, 2**31, 2**63, 10**30, -0.5, 1e308, float("nan"), "", "x", "__import__('os')", [], {}, [1],
    {"tensor": "a"}, "dual", "primal", "KronRidge", "Precomputed", "<f8", "start.used", [[1]] * 3,
]  # fmt: skip


def change(rng, value):
    """Return JSON with one of its values changed, removed, or exchanged for another kind."""
    places = list(_places(value))
    parent, key = places[int(rng.integers(len(places)))]
    kind = rng.integers(4)
    if kind == 0 and isinstance(parent, dict):
        del parent[key]
    elif kind == 1 and isinstance(parent[key], int | float) and not isinstance(parent[key], bool):
        parent[key] = parent[key] + int(rng.integers(-3, 4)) if rng.random() < 0.7 else parent[key] * 1000
    elif kind == 2:
        other, name = places[int(rng.integers(len(places)))]
        parent[key] = copy.deepcopy(other[name])
    else:
        parent[key] = copy.deepcopy(_VALUES[int(rng.integers(len(_VALUES)))])


def _places(value):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(items):
        yield value, key
        yield from _places(inner)


def forge(rng, content):
    """Return a changed file whose checksum is right."""
    length = int.from_bytes(content[:8], "little")
    table, data = json.loads(content[8 : 8 + length]), bytearray(content[8 + length :])
    about = json.loads(table["__metadata__"]["vectrick"])
    for _ in range(int(rng.integers(1, 4))):
        kind = rng.integers(3)
        if kind == 0 and data:
            at = int(rng.integers(len(data)))
            data[at : at + 8] = rng.bytes(8) if rng.random() < 0.5 else bytes([255] * 8)
        elif kind == 1:
            tensors = {name: entry for name, entry in table.items() if name != "__metadata__"}
            change(rng, tensors)
            table = {"__metadata__": table["__metadata__"], **tensors}
        else:
            change(rng, about)
    about = {"sha256": "0" * 64, **{name: value for name, value in about.items() if name != "sha256"}}
    table["__metadata__"] = {"vectrick": json.dumps(about)}
    header = json.dumps(table, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    made = bytearray(len(header).to_bytes(8, "little") + header + bytes(data))
    start = 8 + len(container._PREFIX)
    if bytes(made[8:start]) == container._PREFIX:
        made[start : start + 64] = container._digest(np.frombuffer(bytes(made), np.uint8))
    return bytes(made)


def fuzz(count, seed=0, folder=None):
    """Try mutants; return how many were refused and how many forged ones were models. Raise if one does harm."""
    global _watching
    sys.addaudithook(_audit)
    rng = np.random.default_rng(seed)
    found = {"damaged, refused": 0, "forged, refused": 0, "forged, a model": 0}
    with tempfile.TemporaryDirectory(dir=folder) as place, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        path = Path(place) / "model.vt"
        cases = []
        for model, edges in models():
            model.save(path)
            cases.append((path.read_bytes(), edges))
            repr(vt.load(path)._decide(edges)), repr(model)  # everything that is imported late is there now
        while sum(found.values()) < count:
            content, edges = cases[int(rng.integers(len(cases)))]
            is_forged = rng.random() < 0.5
            mutant = forge(rng, content) if is_forged else damage(rng, content)
            if mutant == content:
                continue
            path.write_bytes(mutant)
            _watching = True
            try:
                model = vt.load(path)
            except vt.ModelFileError:
                found["forged, refused" if is_forged else "damaged, refused"] += 1
                continue
            finally:
                _watching = False
            assert is_forged, f"a damaged file was accepted: {mutant!r}"
            with contextlib.suppress(ValueError, MemoryError):  # such as a table with another number of columns
                assert model._decide(edges).shape[:1] == (len(edges),)  # and a column for each of several classes
            found["forged, a model"] += 1
    assert not _ran, f"loading ran something: {_ran[:3]}"
    return found


if __name__ == "__main__":
    begin = time.perf_counter()
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    result = fuzz(int(sys.argv[1]), seed, "/dev/shm" if os.path.isdir("/dev/shm") else None)
    print(result, f"{time.perf_counter() - begin:.0f} s")
