"""Checkpoint files with finished results of long work, so that interrupted work continues where it stopped."""

import functools
import hashlib
import json
import time
import types
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from vectrick._files import write_text
from vectrick.backends import Backend
from vectrick.backends.arrays import to_host
from vectrick.data import Edges
from vectrick.training.parameters import DEFAULTS_OF_OLDER_FILES

_KIND, _FORMAT = "vectrick checkpoint of finished folds", 1
_PAUSE = 2.0  # seconds between two writings
_LARGEST = 1 << 30  # bytes of a file


class Finished:
    """Finished results in a file, by the fingerprint of the work.

    Parameters
    ----------
    path : path, optional
        The file; None stores nothing. An existing file is read. If it has results of other work, the first call of
        `work` raises an error.
    resume : bool
        Whether to read an existing file; otherwise it is replaced.
    """

    def __init__(self, path: Path | str | None = None, resume: bool = True) -> None:
        self.path = None if path is None else Path(path)
        self.results: dict[str, dict[str, Any]] = {}
        if self.path is not None and resume and self.path.exists():
            self.results = _read(self.path)
        self._is_unknown = bool(self.results)  # whether no result in the file has matched yet
        self._written = time.perf_counter()

    @classmethod
    def of(cls, checkpoint: "Finished | Path | str | None") -> "Finished":
        """Return the value of a parameter ``checkpoint`` as an object of this class."""
        return checkpoint if isinstance(checkpoint, Finished) else cls(checkpoint)

    def work(self, *what: object) -> "Work":
        """Return the finished results of some work; ``what`` is everything that the results depend on."""
        if self.path is None:
            return Work(self, {})
        key = fingerprint(*what)
        if self._is_unknown and key not in self.results:
            raise ValueError(
                f"{self.path} is the checkpoint of a run with other data or options: remove it to start again, or "
                "choose another name"
            )
        self._is_unknown = False
        return Work(self, self.results.setdefault(key, {}))

    def write(self, now: bool = False) -> None:
        """Write the file, unless it was written a moment ago."""
        if self.path is None or not (now or time.perf_counter() >= self._written + _PAUSE):
            return
        write_text(self.path, json.dumps({"kind": _KIND, "format": _FORMAT, "results": self.results}))
        self._written = time.perf_counter()

    def remove(self) -> None:
        """Remove the file when all work is finished."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)


class Work:
    """The finished results of one call, by name; as a context manager, it writes the file at the end."""

    def __init__(self, finished: Finished, results: dict[str, Any]) -> None:
        self.finished, self.results = finished, results

    def __enter__(self) -> "Work":
        return self

    def __exit__(self, *error: object) -> None:
        self.finished.write(now=True)

    def get(self, name: str, kind: type) -> Any:
        """Return a result (a number, a dict or a table of numbers), or None if it is not finished yet."""
        value = self.results.get(name)
        if value is None:
            return None
        if kind is np.ndarray and isinstance(value, list):
            return np.array(value, np.float64)
        if not isinstance(value, kind):
            raise ValueError(f"{self.finished.path} is damaged: the result of {name!r} is of another kind")
        return value

    def put(self, name: str, value: object) -> None:
        """Store a result."""
        self.results[name] = value.tolist() if isinstance(value, np.ndarray) else value
        self.finished.write()


def fingerprint(*what: object) -> str:
    """Return a digest of estimators, edges, arrays and plain values to identify a piece of work.

    >>> import numpy as np
    >>> fingerprint(np.arange(3), "auc") == fingerprint(np.arange(3), "auc") != fingerprint(np.arange(4), "auc")
    True
    """
    digest = hashlib.sha256()
    for item in what:
        _take_in(digest, item)
    return digest.hexdigest()


def _take_in(digest: Any, value: Any) -> None:
    digest.update(type(value).__name__.encode())
    if isinstance(value, Edges):
        for table in (value.start_table, value.end_table):
            _take_in(digest, [table.features, table.ids])
        _take_in(digest, value.start)
        _take_in(digest, value.end)
    elif hasattr(value, "get_params"):  # before arrays, since an estimator has a dtype as well
        # Neither threads nor progress messages change a result.
        parameters = value.get_params(deep=False)
        silent = {"n_threads", "verbose"}
        silent |= {name for name, value in DEFAULTS_OF_OLDER_FILES.items() if parameters.get(name) == value}
        _take_in(digest, {name: item for name, item in parameters.items() if name not in silent})
    elif issparse(value):
        for part in (value.data, value.indices, value.indptr):
            _take_in(digest, part)
    elif hasattr(to_host(value), "dtype"):
        array = np.asarray(to_host(value))
        array = array.astype(str) if array.dtype.kind in "OT" else array
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    elif isinstance(value, Backend):
        digest.update(repr(value).encode())
    elif isinstance(value, dict):
        for key in sorted(value, key=str):
            digest.update(str(key).encode())
            _take_in(digest, value[key])
    elif isinstance(value, list | tuple):
        digest.update(str(len(value)).encode())
        for item in value:
            _take_in(digest, item)
    elif isinstance(value, str | int | float | None):
        digest.update(repr(value).encode())
    elif isinstance(value, functools.partial):
        _take_in(digest, [value.func, list(value.args), value.keywords])
    elif isinstance(value, types.FunctionType):
        _take_in_code(digest, value.__code__)
        _take_in(digest, [value.__defaults__, value.__kwdefaults__])
        _take_in(digest, [cell.cell_contents for cell in value.__closure__ or ()])
    elif callable(value) and hasattr(value, "__name__") and getattr(value, "__self__", None) is None:
        digest.update(f"{getattr(value, '__module__', '')}.{value.__name__}".encode())  # a library function, or a class
    else:
        raise TypeError(f"{value!r} cannot be identified, so no checkpoint can be stored for it")


def _take_in_code(digest: Any, code: types.CodeType) -> None:
    """Add the code of a function to a digest, including the functions inside it."""
    digest.update(code.co_code + repr(code.co_names).encode())
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _take_in_code(digest, constant)
        else:
            digest.update(repr(constant).encode())


def _read(path: Path) -> dict[str, dict[str, Any]]:
    """Return the results in a file, after checking that they are plain numbers and text."""
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST:
            raise ValueError("it is not a regular file, or it is too large")
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["kind"] != _KIND or content["format"] != _FORMAT:
            raise ValueError("it is a file of another kind")
        results = content["results"]
        if not all(_is_result(value) for work in results.values() for value in work.values()):
            raise ValueError("its results are not plain numbers and text")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        why = str(error).partition("\n")[0][:100]
        raise ValueError(f"{path} is not a checkpoint of finished folds, or it is damaged: {why}") from None
    checked: dict[str, dict[str, Any]] = results
    return checked


def _is_result(value: object) -> bool:
    if isinstance(value, dict):
        return all(_is_number(item) or item is None or isinstance(item, str) for item in value.values())
    if isinstance(value, list):
        rows = [row for row in value if isinstance(row, list) and all(map(_is_number, row))]
        return len(rows) == len(value) and len({len(row) for row in rows}) == 1
    return _is_number(value)


def _is_number(value: object) -> bool:
    return type(value) is float or (type(value) is int and abs(value) < 2**53)
